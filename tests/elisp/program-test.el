;;; program-test.el --- Tests of finding the server  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Code:

(require 'helper)
(require 'neuron-council-python)

(defun neuron-council-test-python-script (version module &optional executable)
  "Return the text of a python3 of VERSION that has the server if MODULE.
It says that it is EXECUTABLE."
  (format "#!/bin/sh\necho noise >&2\nprintf 'neuron-council\\t%s\\t%s\\t1\\t%s\\n'\n"
          version (if module "1" "") (or executable "/real/python")))

(defun neuron-council-test-program (file &optional text)
  "Make FILE an executable script of TEXT."
  (make-directory (file-name-directory file) t)
  (write-region (or text "#!/bin/sh\n") nil file nil 'quiet)
  (set-file-modes file #o755))

(defmacro neuron-council-test-installed (files &rest body)
  "Run BODY where the package stands in a fresh folder ROOT with programs FILES.
The variable `exec-path' is ROOT/path/ alone.  A file is a name, or a list
of name and text."
  (declare (indent 1) (debug t))
  `(neuron-council-test-clean
     (let* ((root (file-name-as-directory (file-truename (make-temp-file "neuron-council-test-" t))))
            (neuron-council-program--file (concat root "elisp/neuron-council-program.elc"))
            (neuron-council-program-answers nil)
            (neuron-council-program--logged nil)
            (neuron-council-server-command nil)
            (neuron-council-python nil)
            (neuron-council-server-directory (concat root "emacs/neuron-council/"))
            (exec-path (list (concat root "path/"))))
       (unwind-protect
           (progn
             (dolist (file ,files)
               (if (consp file)
                   (neuron-council-test-program (concat root (car file)) (cadr file))
                 (neuron-council-test-program (concat root file))))
             ,@body)
         (delete-directory root t)))))

(defun neuron-council-test-stamp (root venv)
  "Write the stamp under ROOT that says VENV is what is installed."
  (let ((file (concat root "emacs/neuron-council/installed.eld")))
    (make-directory (file-name-directory file) t)
    (write-region (prin1-to-string (list :venv venv :version "0.1.0")) nil file nil 'quiet)))

(defun neuron-council-test-signalled ()
  "Return what is said when the server is looked for in vain."
  (neuron-council-test-text (should-error (neuron-council-program-command) :type 'neuron-council-not-found)))

;;;; The option

(ert-deftest neuron-council-test-program-missing ()
  (neuron-council-test-clean
    (dolist (program '("/nonexistent/neuron-council" "no-such-neuron-council-program"))
      (let* ((neuron-council-server-command (list program "serve"))
             (text (neuron-council-test-text (should-error (neuron-council-verify "A claim")
                                                           :type 'neuron-council-error))))
        (should (string-match-p (regexp-quote program) text))
        (should (string-match-p "neuron-council-server-command" text))))
    (should-not neuron-council-process--deaths)))

(ert-deftest neuron-council-test-program-malformed-option ()
  (neuron-council-test-clean
    (dolist (command '("neuron-council serve" (neuron-council) ("neuron-council" . "serve") ("neuron-council" nil)))
      (let ((neuron-council-server-command command))
        (should (string-match-p "list of strings"
                                (neuron-council-test-text (should-error (neuron-council-verify "A claim")
                                                                        :type 'neuron-council-error))))))))

;;;; The order

(ert-deftest neuron-council-test-program-order ()
  (let ((files `(".venv/bin/neuron-council" ".venv/bin/python"
                 "emacs/neuron-council/venv-1a/bin/neuron-council" "emacs/neuron-council/venv-1a/bin/python"
                 "path/neuron-council"
                 ("path/python3" ,(neuron-council-test-python-script "3.11.2" t)))))
    (neuron-council-test-installed files
      (neuron-council-test-stamp root "venv-1a")
      (let ((venv (concat root "emacs/neuron-council/venv-1a/")))
        (should (equal (neuron-council-program-find) (list 'checkout (concat root ".venv/bin/neuron-council") "serve")))
        (should-not neuron-council-program-answers)
        ;; An environment whose Python has gone does not count.
        (delete-file (concat root ".venv/bin/python"))
        (should (equal (neuron-council-program-find) (list 'installed (concat venv "bin/neuron-council") "serve")))
        (delete-file (concat venv "bin/python"))
        (should (equal (neuron-council-program-find) (list 'path (concat root "path/neuron-council") "serve")))
        (delete-file (concat root "path/neuron-council"))
        (should (equal (neuron-council-program-find) '(module "/real/python" "-m" "neuron_council" "serve")))
        (delete-file (concat root "path/python3"))
        (should-not (neuron-council-program-find))
        (should-error (neuron-council-program-command) :type 'user-error)))))

(ert-deftest neuron-council-test-program-beside-the-file ()
  (neuron-council-test-installed '("elisp/.venv/bin/neuron-council" "elisp/.venv/bin/python" ".venv/bin/neuron-council"
                                   ".venv/bin/python")
    (should (equal (neuron-council-program-command) (list (concat root "elisp/.venv/bin/neuron-council") "serve")))))

(ert-deftest neuron-council-test-program-follows-a-linked-source ()
  "A package manager's folder holds links to the .el files and its own .elc."
  (neuron-council-test-installed '("checkout/.venv/bin/neuron-council" "checkout/.venv/bin/python"
                                   "checkout/pyproject.toml" "checkout/server/neuron_council/__init__.py"
                                   "checkout/elisp/neuron-council-program.el")
    (make-directory (concat root "elisp/"))
    (make-symbolic-link (concat root "checkout/elisp/neuron-council-program.el")
                        (concat root "elisp/neuron-council-program.el"))
    (should (equal (neuron-council-program-command) (list (concat root "checkout/.venv/bin/neuron-council") "serve")))
    (should (equal (neuron-council-program-checkout) (concat root "checkout/")))
    (should (equal (neuron-council-program-install-command)
                   (format "make -C %scheckout setup" root)))))

(ert-deftest neuron-council-test-program-windows-layout ()
  (neuron-council-test-installed '(".venv/Scripts/neuron-council.exe" ".venv/Scripts/python.exe")
    (should (equal (neuron-council-program-command)
                   (list (concat root ".venv/Scripts/neuron-council.exe") "serve")))))

(ert-deftest neuron-council-test-program-half-made-or-odd-installs-do-not-count ()
  (neuron-council-test-installed '("emacs/neuron-council/venv-1a/bin/neuron-council"
                                   "emacs/neuron-council/venv-1a/bin/python"
                                   "elsewhere/bin/neuron-council" "elsewhere/bin/python")
    (should-not (neuron-council-program-find))
    (dolist (stamp '("" "(" "nil" "5" "(:venv)" "(:venv . 5)" "(:venv 5)" "(:venv \"../../elsewhere\")"
                     "(:venv \"venv-2b\")" "#.(error \"Evaluated\")"))
      (write-region stamp nil (concat neuron-council-server-directory "installed.eld") nil 'quiet)
      (should-not (neuron-council-program-find)))
    (neuron-council-test-stamp root "venv-1a")
    (should (eq (car (neuron-council-program-find)) 'installed))
    (should (equal (neuron-council-program-install-command) "M-x neuron-council-upgrade-server"))))

(ert-deftest neuron-council-test-program-stamp-that-is-no-file ()
  (neuron-council-test-installed nil
    (make-directory (concat neuron-council-server-directory neuron-council-program-stamp-file) t)
    (should-not (neuron-council-program-stamp))
    (should-not (neuron-council-program-find))))

(ert-deftest neuron-council-test-program-folder-that-is-none ()
  (neuron-council-test-installed nil
    (dolist (value '(nil 5))
      (let ((neuron-council-server-directory value))
        (should (string-match-p "neuron-council-server-directory"
                                (neuron-council-test-text (should-error (neuron-council-program-find)
                                                                        :type 'neuron-council-not-found))))
        (should (assoc "neuron-council-server-directory" (neuron-council-program-places)))))))

(ert-deftest neuron-council-test-program-remote-and-missing-folders-do-not-matter ()
  (neuron-council-test-installed `(("path/python3" ,(neuron-council-test-python-script "3.11.2" t)))
    (dolist (default-directory '("/nonexistent/folder/" "/ssh:nobody@nowhere.invalid:/home/"))
      (neuron-council-program-forget)
      (should (equal (car (neuron-council-program-command)) "/real/python")))
    (should-not (featurep 'tramp))
    (let ((neuron-council-server-directory "/ssh:nobody@nowhere.invalid:/x/"))
      (should (string-match-p "another machine" (neuron-council-test-signalled))))))

;;;; Pythons

(ert-deftest neuron-council-test-program-python-is-asked-once ()
  (neuron-council-test-installed `(("path/python3" ,(concat (neuron-council-test-python-script "3.11.2" t)
                                                            "echo asked >>\"$0.log\"\n")))
    (dotimes (_ 5) (neuron-council-program-command))
    (neuron-council-test-until (file-exists-p (concat root "path/python3.log")))
    (should (equal (with-temp-buffer (insert-file-contents (concat root "path/python3.log")) (buffer-string))
                   "asked\n"))))

(ert-deftest neuron-council-test-program-python-without-the-server ()
  "That is believed for a while, then asked again without a wait."
  (neuron-council-test-installed `(("path/python3" ,(neuron-council-test-python-script "3.12.1" nil)))
    (let ((script (concat root "path/python3")))
      (neuron-council-test-signalled)
      (neuron-council-test-program script (neuron-council-test-python-script "3.12.1" t))
      (neuron-council-test-signalled)
      (let ((neuron-council-python--doubt 0))
        (neuron-council-test-signalled)
        (should (neuron-council-python-process (cdr (assoc script neuron-council-program-answers)))))
      (neuron-council-test-until (eq 'module (car (neuron-council-program-find)))))))

(ert-deftest neuron-council-test-program-exec-path-counts-at-once ()
  (neuron-council-test-installed `(("other/python3" ,(neuron-council-test-python-script "3.12.1" t)))
    (neuron-council-test-signalled)
    (push (concat root "other/") exec-path)
    (should (neuron-council-program-command))))

(ert-deftest neuron-council-test-program-the-first-python-that-fits ()
  (neuron-council-test-installed `(("path/python3" ,(neuron-council-test-python-script "3.9.2" t "/too/old"))
                                   ("path/python3.13" ,(neuron-council-test-python-script "3.13.0" nil "/without"))
                                   ("path/python3.12" "#!/bin/sh\nexit 127\n")
                                   ("path/python3.11" ,(neuron-council-test-python-script "3.11.0" t "/the/one")))
    (should (equal (neuron-council-program-command) '("/the/one" "-m" "neuron_council" "serve")))
    (let ((neuron-council-python "python3.13"))
      (neuron-council-test-signalled))
    (let ((neuron-council-python (concat root "path/python3.11")))
      (should (equal (car (neuron-council-program-command)) "/the/one")))
    (let ((neuron-council-python "/no/such/python"))
      (neuron-council-test-signalled)
      (should (string-match-p "no program /no/such/python"
                              (cdr (assoc "module of a Python" (neuron-council-program-places))))))))

(ert-deftest neuron-council-test-program-python-that-hangs ()
  "It is waited for once and not long, and what it says at last counts."
  (neuron-council-test-installed `(("path/python3" ,(concat "#!/bin/sh\n"
                                                            "while [ ! -e \"$0.go\" ]; do sleep 0.05; done\n"
                                                            (neuron-council-test-python-script "3.11.0" t))))
    (let ((neuron-council-python-patience 0.1))
      (should (< 0.09 (neuron-council-test-seconds (neuron-council-test-signalled)) neuron-council-test-never))
      (cl-letf (((symbol-function 'accept-process-output) (lambda (&rest _) (error "It is waited for again"))))
        (neuron-council-test-signalled))
      (write-region "" nil (concat root "path/python3.go") nil 'quiet)
      (neuron-council-test-until (eq 'module (car (neuron-council-program-find)))))))

(ert-deftest neuron-council-test-program-python-that-never-answers-is-ended ()
  (neuron-council-test-installed '(("path/python3" "#!/bin/sh\nexec sleep 600\n"))
    (let ((neuron-council-python-patience 0.1)
          (neuron-council-python--limit 0.3))
      (neuron-council-test-signalled)
      (neuron-council-test-until (not (get-process "neuron-council python")))
      (let ((python (cdr (assoc (concat root "path/python3") neuron-council-program-answers))))
        (should (neuron-council-python-answered python))
        (should-not (neuron-council-python-version python))))))

(ert-deftest neuron-council-test-program-real-python ()
  "A real one answers with its own name, not with that of a version manager's script."
  (neuron-council-test-clean
    (let ((python nil))
      (neuron-council-python-ask (executable-find "python3") (lambda (answer) (setq python answer)))
      (neuron-council-test-until python)
      (should (equal (neuron-council-python-executable python) neuron-council-test-python))
      (should (string-match-p "\\`3\\.[0-9]+\\.[0-9]+\\'" (neuron-council-python-version python)))
      (should-not (neuron-council-python-timer python)))))

;;;; What is said

(ert-deftest neuron-council-test-program-not-installed-is-said-briefly ()
  (neuron-council-test-installed `(("path/python3" ,(neuron-council-test-python-script "3.9.2" nil)))
    (let ((text (neuron-council-test-signalled)))
      (should (< (length text) 140))
      (should (string-match-p "neuron-council-install-server" text))
      (should (string-match-p "neuron-council-doctor" text)))
    (dotimes (_ 3) (neuron-council-test-signalled))
    (let ((log (with-current-buffer (neuron-council-log-buffer) (buffer-string))))
      (dolist (part (list root "path/python3 (3.9.2 is too old)" "exec-path" neuron-council-server-directory))
        (should (string-match-p (regexp-quote part) log)))
      (should (= 1 (cl-count "No server was found" (split-string log "\n") :test #'string-search))))))

(ert-deftest neuron-council-test-program-capture-does-not-wait-for-a-python ()
  "A memory is stored at once where no server is installed."
  (neuron-council-test-installed `(("path/python3" ,(neuron-council-test-python-script "3.11.2" nil)))
    (neuron-council-test-signalled)
    (let ((neuron-council-python-patience 600))
      (neuron-council-capture-memory-async "A claim" nil 'node)
      (neuron-council-test-until neuron-council-test-stored))))

;;; program-test.el ends here
