;;; doctor-test.el --- Tests of the doctor  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Code:

(require 'helper)
(require 'neuron-council-doctor)

(defmacro neuron-council-test-doctor (&rest body)
  "Run BODY where nothing is installed and the variable `exec-path' is ROOT/path/ alone."
  (declare (indent 0) (debug t))
  `(neuron-council-test-clean
     (let* ((root (file-name-as-directory (file-truename (make-temp-file "neuron-council-test-" t))))
            (neuron-council-program--file (concat root "elisp/neuron-council-program.elc"))
            (neuron-council-program-answers nil)
            (neuron-council-server-command nil)
            (neuron-council-python nil)
            (neuron-council-server-directory (concat root "emacs/neuron-council/"))
            (neuron-council-doctor--usual-folders nil)
            (neuron-council-doctor--program-limit 300)
            (neuron-council-initialization-options nil)
            (process-environment (append '("PYTHONHOME" "PYTHONPATH" "VIRTUAL_ENV") process-environment))
            (exec-path (list (concat root "path/"))))
       (make-directory (concat root "elisp/"))
       (unwind-protect
           (progn ,@body)
         (when (get-buffer "*neuron-council doctor*") (kill-buffer "*neuron-council doctor*"))
         (neuron-council-test-until (not (get-process "neuron-council doctor")))
         (delete-directory root t)))))

(defun neuron-council-test-script (file &rest lines)
  "Make FILE a script of LINES."
  (make-directory (file-name-directory file) t)
  (write-region (concat "#!/bin/sh\n" (string-join lines "\n") "\n") nil file nil 'quiet)
  (set-file-modes file #o755))

(defun neuron-council-test-diagnosis ()
  "Run the doctor, wait for all answers, and return what it says."
  (let ((neuron-council-doctor--health-limit 300))
    (neuron-council-doctor))
  (with-current-buffer "*neuron-council doctor*"
    (neuron-council-test-until (not (string-match-p "is being \\(asked\\|looked for\\)" (buffer-string))))
    (buffer-substring-no-properties (point-min) (point-max))))

(defun neuron-council-test-line (name text)
  "Return the line of TEXT on NAME, with the one below if that is its cure."
  (and (string-match (concat "^  [a-zA-Z]+ +" (regexp-quote name) ": .*\\(?:\n +-> .*\\)?") text)
       (match-string 0 text)))

(defmacro neuron-council-test-press (label)
  "Press the button LABEL of the doctor's buffer."
  `(with-current-buffer "*neuron-council doctor*"
     (goto-char (point-min))
     (search-forward ,label)
     (push-button (1- (point)))))

;;;; Where nothing works

(ert-deftest neuron-council-test-doctor-without-anything ()
  (neuron-council-test-doctor
    (let ((text (neuron-council-test-diagnosis)))
      (should (string-match-p "things to mend" text))
      (dolist (area '("Emacs" "Package" "Program" "Server" "Home" "Memories"))
        (should (string-match-p (format "^%s$" area) text)))
      (should (string-match-p "ERROR +server: is not installed\n +-> .*\\[M-x neuron-council-install-server\\]"
                              (neuron-council-test-line "server" text)))
      (dolist (part (list emacs-version (regexp-quote (concat root "path/")) "looked in: .*\\.venv" "jsonrpc: 1\\."))
        (should (string-match-p part text)))
      (should (string-match-p "ERROR.*neuron-council-python" (neuron-council-test-line "Python" text)))
      (should (string-match-p "not running" (neuron-council-test-line "process" text)))
      (should-not (get-process "neuron-council"))
      (with-current-buffer "*neuron-council doctor*"
        (should (derived-mode-p 'special-mode))
        (should buffer-read-only)))))

(ert-deftest neuron-council-test-doctor-button-acts ()
  (neuron-council-test-doctor
    (neuron-council-test-diagnosis)
    (let ((called nil))
      (cl-letf (((symbol-function 'neuron-council-install-server)
                 (lambda () (interactive) (setq called t))))
        (neuron-council-test-press "[M-x neuron-council-install-server"))
      (should called))))

(ert-deftest neuron-council-test-doctor-area-that-cannot-be-looked-at ()
  (neuron-council-test-doctor
    (cl-letf (((symbol-function 'neuron-council-process-home) (lambda () (error "No home today"))))
      (let ((text (neuron-council-test-diagnosis)))
        (should (string-match-p "cannot be looked at: No home today" (neuron-council-test-line "Home" text)))
        (should (neuron-council-test-line "process" text))))))

(ert-deftest neuron-council-test-doctor-wrong-option ()
  (neuron-council-test-doctor
    (let ((neuron-council-server-command '("/no/such/program" "serve")))
      (should (string-match-p "ERROR.*/no/such/program.*\n.*\\[customize\\]"
                              (neuron-council-test-line "server" (neuron-council-test-diagnosis)))))))

(ert-deftest neuron-council-test-doctor-python-that-is-too-old ()
  (neuron-council-test-doctor
    (neuron-council-test-script (concat root "path/python3") "printf 'neuron-council\\t3.8.1\\t\\t1\\t/old\\n'")
    (should (string-match-p "ERROR.*3.8.1 is too old" (neuron-council-test-line "Python" (neuron-council-test-diagnosis))))))

(ert-deftest neuron-council-test-doctor-short-path ()
  (neuron-council-test-doctor
    (neuron-council-test-script (concat root "brew/python3") "")
    (let ((neuron-council-doctor--usual-folders (list (concat root "brew") (concat root "none"))))
      (let ((line (neuron-council-test-line "exec-path" (neuron-council-test-diagnosis))))
        (should (string-match-p "warning.*brew/" line))
        (should (string-match-p "add-to-list 'exec-path" line))
        (should-not (string-match-p "none" line))))))

;; Whatever is set or lies about, the other checks are there.
(ert-deftest neuron-council-test-doctor-foreign-things-in-the-places ()
  (neuron-council-test-doctor
    (make-directory (concat neuron-council-server-directory "installed.eld") t)
    (make-directory (concat neuron-council-test-home "council/") t)
    (write-region "" nil (concat neuron-council-test-home "council/held") nil 'quiet)
    (make-symbolic-link "/no/such/folder" (concat neuron-council-test-home "council/pending"))
    (let ((text (neuron-council-test-diagnosis)))
      (should (neuron-council-test-line "process" text))
      (should (string-match-p "ERROR.*held is no folder\n.*Move it away" (neuron-council-test-line "held" text)))
      (should (string-match-p "ERROR.*pending is no folder" (neuron-council-test-line "pending" text)))
      (should (equal "  ok       unsent: 0" (neuron-council-test-line "unsent" text))))
    (let ((process-environment (cons (format "NEURON_HOME=%sa file" root) process-environment)))
      (write-region "" nil (concat root "a file") nil 'quiet)
      (should (string-match-p "ERROR.*a file is no folder"
                              (neuron-council-test-line "NEURON_HOME" (neuron-council-test-diagnosis)))))))

(ert-deftest neuron-council-test-doctor-folders-that-are-closed ()
  (neuron-council-test-doctor
    (let ((home (concat root "it's home")))
      (make-directory (concat home "/council/held") t)
      (cl-letf* ((process-environment (cons (concat "NEURON_HOME=" home) process-environment))
                 (original (symbol-function 'file-writable-p))
                 ((symbol-function 'file-writable-p) (lambda (file) (and (not (equal file home)) (funcall original file))))
                 ((symbol-function 'directory-files)
                  (lambda (folder &rest _) (signal 'file-error (list "Opening directory" "Permission denied" folder)))))
        (let ((text (neuron-council-test-diagnosis)))
          (should (string-match-p (regexp-quote (concat "chmod u+rwx " (shell-quote-argument home)))
                                  (neuron-council-test-line "NEURON_HOME" text)))
          ;; The areas that are left are looked at all the same.
          (should (neuron-council-test-line "policies" text))
          (should (string-match-p "ERROR.*Permission denied" (neuron-council-test-line "held" text))))))))

(ert-deftest neuron-council-test-doctor-options-that-are-nonsense ()
  (pcase-dolist (`(,option ,value) '((neuron-council-server-directory nil) (neuron-council-server-directory 5)
                                     (neuron-council-timeout nil) (neuron-council-timeout "75")
                                     (neuron-council-server-command "neuron-council serve")
                                     (neuron-council-flagged-policy 'discard) (neuron-council-python 5)))
    (neuron-council-test-doctor
      (cl-progv (list option) (list value)
        (let ((text (neuron-council-test-diagnosis)))
          (should (string-match-p (format "ERROR +\\(?:option\\|server\\): `%s'.*\n.*\\[customize\\]" option) text))
          (should-not (string-match-p "cannot be looked at" text))
          (should (neuron-council-test-line "policies" text)))))))

;;;; The package

(ert-deftest neuron-council-test-doctor-copies-and-stale-files ()
  (neuron-council-test-doctor
    (let ((load-path (cons (concat root "elisp") load-path)))
      (dolist (name '("neuron-council.elc" "neuron-council-x.el" "neuron-council-x.elc" "neuron-council-y.el"
                      "neuron-council-y.elc"))
        (write-region "" nil (concat root "elisp/" name) nil 'quiet))
      (set-file-times (concat root "elisp/neuron-council-x.elc") '(0 1000))
      (let ((text (neuron-council-test-diagnosis)))
        (should (string-match-p "ERROR.*neuron-council-x.elc$" (car (split-string (neuron-council-test-line
                                                                                   "compiled files" text) "\n"))))
        (should (string-match-p (concat "warning.*" (regexp-quote root) "elisp/, /")
                                (neuron-council-test-line "load-path" text)))))))

(ert-deftest neuron-council-test-doctor-parts-of-two-packages ()
  (neuron-council-test-doctor
    (let ((load-history (cons (list "/elsewhere/neuron-council-rpc.elc") load-history)))
      (should (string-match-p "ERROR.*/elsewhere/.*\n.*Restart"
                              (neuron-council-test-line "loaded twice" (neuron-council-test-diagnosis)))))))

;;;; What was installed

(ert-deftest neuron-council-test-doctor-installed ()
  (neuron-council-test-doctor
    (let ((venv (concat neuron-council-server-directory "venv-1a/"))
          (stamp (concat neuron-council-server-directory "installed.eld")))
      (neuron-council-test-script (concat venv "bin/neuron-council") "exit 1")
      (neuron-council-test-script (concat venv "bin/python") "")
      (write-region "(:venv \"venv-1a\" :version \"0.0.1\" :python \"/py\" :python-version \"3.11.1\")" nil stamp nil 'quiet)
      (should (string-match-p "warning.*0\\.0\\.1.*\n.*neuron-council-upgrade-server"
                              (neuron-council-test-line "installed" (neuron-council-test-diagnosis))))
      (delete-file (concat venv "bin/python"))
      (should (string-match-p "ERROR.*(/py) has gone\n.*neuron-council-upgrade-server"
                              (neuron-council-test-line "installed" (neuron-council-test-diagnosis)))))))

;;;; The program

(ert-deftest neuron-council-test-doctor-program-says ()
  (neuron-council-test-doctor
    (let ((user (expand-file-name "~/")))
      (neuron-council-test-script
       (concat root "path/neuron-council")
       "[ \"$*\" = 'doctor --json' ] || exit 9"
       "echo warned >&2"
       (concat "cat <<'E'\n"
               (json-encode
                `(:healthy :json-false
                           :checks [(:area "models" :name "http://me:secret@h:1" :state "error"
                                           :says "cannot\u001b[31m be reached" :cure "Start it")
                                    (:area "models" :name "m" :state "ok" :says ,(concat user "x.gguf") :cure nil)
                                    (:area "ledger" :name "file" :state "warning" :says "broad" :cure "chmod")
                                    (:area "Emacs" :name "Emacs" :state "error" :says "none on PATH" :cure "Install")
                                    5 nil (:area nil :name 7)]))
               "\nE")
       "exit 1")
      (let ((text (neuron-council-test-diagnosis)))
        (should (string-match-p "^The program: models$" text))
        (should (string-match-p "ERROR.*cannot\\^\\[\\[31m be reached\n.*Start it"
                                (neuron-council-test-line "http://h:1" text)))
        (should (equal "  ok       m: ~/x.gguf" (neuron-council-test-line "m" text)))
        (should (string-match-p "warning.*broad" (neuron-council-test-line "file" text)))
        (should-not (string-match-p "secret\\|none on PATH" text))))))

(ert-deftest neuron-council-test-doctor-program-is-broken ()
  (neuron-council-test-doctor
    (let ((program (concat root "path/neuron-council")))
      (pcase-dolist (`(,line ,expected) '(("echo 'ModuleNotFoundError: pygls' >&2; exit 1" "exit status 1.*pygls")
                                          ("echo '[1, 2]'" "exit status 0")
                                          ("echo '{\"checks\": 5}'" "exit status 0")
                                          ("echo usage >&2; exit 2" "exit status 2.*usage")))
        (neuron-council-test-script program line)
        (let ((line (neuron-council-test-line "program" (neuron-council-test-diagnosis))))
          (should (string-match-p (concat "ERROR.*" expected) line))
          (should (string-match-p "-> .*neuron-council-install-server" line))))
      (write-region "#!/no/such/interpreter\n" nil program nil 'quiet)
      (should (string-match-p "ERROR" (neuron-council-test-line "program" (neuron-council-test-diagnosis))))
      (neuron-council-test-script program "exec sleep 60")
      (let ((neuron-council-doctor--program-limit 0.3))
        (should (string-match-p "ERROR.*no answer within"
                                (neuron-council-test-line "program" (neuron-council-test-diagnosis))))))))

(ert-deftest neuron-council-test-doctor-does-not-wait ()
  (neuron-council-test-doctor
    (neuron-council-test-script (concat root "path/python3") "exec sleep 60")
    (neuron-council-test-script (concat root "path/neuron-council") "exec sleep 60")
    (neuron-council-doctor)
    (with-current-buffer "*neuron-council doctor*"
      (should (string-match-p "program: is being asked" (buffer-string)))
      ;; What was asked in an earlier turn does not count.
      (let ((earlier (get-process "neuron-council doctor")) (answers nil)
            (answered (symbol-function 'neuron-council-doctor--answered)))
        (neuron-council-test-script (concat root "path/neuron-council") "echo nonsense; exit 5")
        (cl-letf (((symbol-function 'neuron-council-doctor--answered)
                   (lambda (buffer turn part checks)
                     (when (eq part 'program) (push turn answers))
                     (funcall answered buffer turn part checks))))
          (revert-buffer)
          (neuron-council-test-until (string-match-p "exit status 5" (buffer-string)))
          (delete-process earlier)
          (neuron-council-test-until (= 2 (length answers))))
        (should (= 2 (length (delete-dups answers))))
        (should (string-match-p "exit status 5" (buffer-string)))))
    (dolist (process (process-list))
      (when (string-prefix-p "neuron-council python" (process-name process)) (delete-process process)))))

;;;; The server

(ert-deftest neuron-council-test-doctor-server-that-runs ()
  (neuron-council-test-with
      '(:answers (:council/health (:result (:status "ok" :version "0.0.9"
                                            :backends [(:url "http://h:1" :reachable t :version "0.5")
                                                       (:url "http://g:2" :reachable :json-false :version nil)]
                                            :members [(:id "neuron" :model "neuron:latest" :installed t :loaded :json-false)
                                                      (:id "dolphin" :model "d\u001b:8b" :installed :json-false)]
                                            :pending 3 :in_flight 1))))
    (unwind-protect
        (progn
          (neuron-council-verify "A claim that is secret")
          (let ((text (neuron-council-test-diagnosis)))
            (should (string-match-p (format "is ready, process %d" (process-id (get-process "neuron-council")))
                                    (neuron-council-test-line "process" text)))
            (should (string-match-p "warning.*0\\.0\\.9" (neuron-council-test-line "version" text)))
            (should (string-match-p "http://h:1 answers, version 0\\.5" text))
            (should (string-match-p "ERROR +backend: http://g:2 does not answer" text))
            (should (string-match-p "ok .*installed: yes; loaded: not known" (neuron-council-test-line "neuron" text)))
            ;; Whether a model is there cannot be known of a backend that is away.
            (should (string-match-p "warning.*d^\\[:8b; installed: not known; loaded: not known\\'" (neuron-council-test-line "dolphin" text)))
            (should (string-match-p "1 under way, 3 wait" (neuron-council-test-line "claims" text)))
            (should-not (string-match-p "secret" text))
            (with-current-buffer "*neuron-council doctor*"
              (should-not (buffer-modified-p)))
            (should (= 1 (length (neuron-council-test-seen "initialize"))))))
      (when (get-buffer "*neuron-council doctor*") (kill-buffer "*neuron-council doctor*")))))

(ert-deftest neuron-council-test-doctor-server-that-does-not-answer ()
  (neuron-council-test-with
      '(:answers (:council/health (:error (:code -32603 :message "broken"))))
    (neuron-council-verify "A claim")
    (should (string-match-p "ERROR.*broken\n.*neuron-council-restart"
                            (neuron-council-test-line "health" (neuron-council-test-diagnosis))))
    (kill-buffer "*neuron-council doctor*"))
  (neuron-council-test-with '(:answers (:council/health (:result 5)))
    (neuron-council-verify "A claim")
    (should (string-match-p "ERROR" (neuron-council-test-line "health" (neuron-council-test-diagnosis))))
    (kill-buffer "*neuron-council doctor*")))

(ert-deftest neuron-council-test-doctor-server-that-dies ()
  (neuron-council-test-with '(:start (:stderr "It is all too much\n" :exit 3))
    (dotimes (_ 2)
      (should-error (neuron-council-verify "A claim") :type 'neuron-council-error))
    (let ((line (neuron-council-test-line "deaths" (neuron-council-test-diagnosis))))
      (should (string-match-p "ERROR.*2 in a row.*exit status 3.*It is all too much\n.*neuron-council-show-log" line)))
    (should-not (get-process "neuron-council"))
    (kill-buffer "*neuron-council doctor*")))

;;;; The home, memories and variables

(ert-deftest neuron-council-test-doctor-modes ()
  (neuron-council-test-doctor
    (let ((file (concat neuron-council-test-home "council.toml")))
      (write-region "" nil file nil 'quiet)
      (set-file-modes file #o644)
      (set-file-modes neuron-council-test-home #o755)
      (let ((text (neuron-council-test-diagnosis)))
        (should (string-match-p "warning.*mode 0755.*\n +-> chmod 700 /.*[^/] \\[do that\\]"
                                (neuron-council-test-line "NEURON_HOME" text)))
        (should (string-match-p "warning.*mode 0644.*\n +-> chmod 600 "
                                (neuron-council-test-line "council.toml" text))))
      (with-current-buffer "*neuron-council doctor*"
        (goto-char (point-min))
        (search-forward "chmod 600")
        (search-forward "[do that")
        (push-button (1- (point)))
        (should (= #o600 (file-modes file)))
        (should (string-match-p "ok +council.toml" (buffer-string)))))))

(ert-deftest neuron-council-test-doctor-memories ()
  (neuron-council-test-doctor
    (let ((folder (concat neuron-council-test-home "council/")))
      (dolist (name '("unsent" "held")) (make-directory (concat folder name) t))
      (dotimes (n 2)
        (write-region "" nil (format "%sunsent/%s.eld" folder (neuron-council-test-uuid n)) nil 'quiet))
      (write-region "" nil (format "%sheld/%s.eld.broken" folder (neuron-council-test-uuid 5)) nil 'quiet)
      (let* ((neuron-council-store-function 'no-such-function-anywhere)
             (text (neuron-council-test-diagnosis)))
        (should (string-match-p "2 claims that no server" (neuron-council-test-line "unsent" text)))
        (should (string-match-p "warning +held: 1 files" text))
        (should (string-match-p "warning.*no-such-function-anywhere is not defined"
                                (neuron-council-test-line "store function" text)))))))

(ert-deftest neuron-council-test-doctor-environment ()
  (neuron-council-test-doctor
    (setenv "PYTHONHOME" "/gone/python")
    (setenv "VIRTUAL_ENV" root)
    (let ((text (neuron-council-test-diagnosis)))
      (should (string-match-p "ERROR.*/gone/python.*\n.*setenv.*\\[unset it here\\]"
                              (neuron-council-test-line "PYTHONHOME" text)))
      (should-not (neuron-council-test-line "VIRTUAL_ENV" text)))
    (setenv "VIRTUAL_ENV" "/gone/venv")
    (should (string-match-p "warning.*no such folder" (neuron-council-test-line "VIRTUAL_ENV" (neuron-council-test-diagnosis))))
    (neuron-council-test-press "[unset it here")
    (should-not (getenv "PYTHONHOME"))))

;;;; The buffer

(ert-deftest neuron-council-test-doctor-keys ()
  (neuron-council-test-doctor
    (neuron-council-test-diagnosis)
    (with-current-buffer "*neuron-council doctor*"
      (pcase-dolist (`(,key . ,command) '(("g" . revert-buffer) ("q" . quit-window) ("w" . neuron-council-doctor-copy)
                                          ("n" . neuron-council-doctor-next) ("p" . neuron-council-doctor-previous)
                                          ("TAB" . forward-button)))
        (should (eq (key-binding (kbd key)) command)))
      (goto-char (point-min))
      (let ((places nil))
        (condition-case nil
            (while t
              (neuron-council-doctor-next)
              (should (looking-at-p "  \\(ERROR\\|warning\\) "))
              (push (point) places))
          (user-error nil))
        (should (= (length places) (how-many "^  \\(ERROR\\|warning\\) " (point-min) (point-max))))
        (should (> (length places) 1))
        (neuron-council-doctor-previous)
        (should (= (point) (nth 1 places))))
      (neuron-council-test-messages (neuron-council-doctor-copy))
      (should (equal (current-kill 0) (buffer-substring-no-properties (point-min) (point-max)))))))

(ert-deftest neuron-council-test-doctor-keeps-the-place ()
  "Point and windows stay at their check, also where there are more above than before."
  (neuron-council-test-doctor
    (save-window-excursion
      (neuron-council-test-diagnosis)
      (set-buffer "*neuron-council doctor*")
      (goto-char (point-min))
      (search-forward "Memories")
      (revert-buffer)
      (should (equal "Memories" (buffer-substring-no-properties (line-beginning-position) (line-end-position))))
      (search-backward "process: is not running")
      (set-window-start nil (save-excursion (search-backward "Server") (point)))
      (set-window-point nil (point))
      (let ((line (line-number-at-pos)))
        (setenv "PYTHONHOME" "/gone")
        (setenv "PYTHONPATH" "/gone")
        (revert-buffer)
        (should (= (+ 4 line) (line-number-at-pos)))
        (dolist (at (list (point) (window-point)))
          (goto-char at)
          (should (looking-at-p "process: is not running")))
        (goto-char (window-start))
        (should (looking-at-p "Server\n"))
        ;; A check that has gone.
        (goto-char (point-min))
        (search-forward "PYTHONPATH: ")
        (setenv "PYTHONPATH" nil)
        (revert-buffer)
        (should-not (bobp))))))

(ert-deftest neuron-council-test-doctor-return-goes-to-what-mends ()
  (neuron-council-test-doctor
    (neuron-council-test-diagnosis)
    (with-current-buffer "*neuron-council doctor*"
      (goto-char (point-min))
      (search-forward "server: is not")
      (should (equal (neuron-council-test-messages (call-interactively (key-binding (kbd "RET"))))
                     '("RET presses the button")))
      (should (equal "[M-x neuron-council-install-server]" (button-label (button-at (point)))))
      (should (eq (key-binding (kbd "RET")) 'push-button))
      (dolist (text '("looked in" "exec-path" "Neuron Council" "Memories"))
        (goto-char (point-min))
        (search-forward text)
        (should (equal (cadr (should-error (call-interactively (key-binding (kbd "RET"))) :type 'user-error))
                       "No button mends this; n goes to the next problem, TAB to the next button"))))))

;;; doctor-test.el ends here
