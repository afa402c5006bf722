;;; neuron-council-program.el --- Where the council's server is  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; The server's program is looked for before it is started, on this machine and by files alone where that does.

;;; Code:

(eval-when-compile (require 'subr-x))
(require 'neuron-council-errors)

(defcustom neuron-council-server-command nil
  "The server's program and all its arguments, as a list of strings.
For example (\"/opt/council/bin/neuron-council\" \"serve\").
When nil, the server is looked for: in the folder .venv of the checkout
this file belongs to, then as neuron-council in the variable `exec-path',
then as a module of python3.  Used when a server is started, so
after a change use \\[neuron-council-restart]."
  :type '(choice (const :tag "Look for it" nil)
                 (repeat :tag "Program and arguments" string))
  :risky t
  :group 'neuron-council)

(defconst neuron-council-program--file (or load-file-name buffer-file-name)
  "This file, as it was loaded.")

(defvar neuron-council-program--interpreters nil
  "Alist from a python3 to the interpreter behind it that has the module.")

(defun neuron-council-program--local (name)
  "Return the absolute name of the local program NAME, nil where there is none."
  (if (string-match-p "/" name)
      (let ((file (expand-file-name name)))
        (and (file-regular-p file) (file-executable-p file) file))
    (executable-find name)))

(defun neuron-council-program--roots ()
  "Return the folders a checkout's .venv may stand in, by this file's place.
Package managers link only the .el file, so its link is followed."
  (let* ((source (concat (file-name-sans-extension neuron-council-program--file) ".el"))
         (folders (delete-dups (list (file-name-directory source)
                                     (file-name-directory (file-truename source))))))
    (delete-dups (apply #'append (mapcar (lambda (folder)
                                           (list folder (file-name-directory (directory-file-name folder))))
                                         folders)))))

(defun neuron-council-program--interpreter ()
  "Return a Python interpreter that has the server as a module, or nil."
  (when-let ((python (executable-find "python3")))
    (or (cdr (assoc python neuron-council-program--interpreters))
        (with-temp-buffer
          ;; A version manager's python3 is a slow script; the interpreter itself knows its name.
          (when (and (eql 0 (call-process python nil '(t nil) nil "-c"
                                          "import importlib.util as u, sys; \
print(sys.executable if u.find_spec('neuron_council') else '', end='')"))
                     (> (buffer-size) 0))
            (push (cons python (buffer-string)) neuron-council-program--interpreters)
            (buffer-string))))))

(defun neuron-council-program-install-command ()
  "Return the shell command that would install the server."
  (let ((checkout nil))
    (dolist (root (neuron-council-program--roots))
      (when (and (not checkout) (file-exists-p (expand-file-name "pyproject.toml" root)))
        (setq checkout root)))
    (if checkout
        (format "make -C %s setup" (shell-quote-argument (directory-file-name checkout)))
      "python3 -m pip install neuron-council")))

(defun neuron-council-program-command ()
  "Return the command that starts the server, its program found.
Signal `neuron-council-not-found' where there is none."
  (cond
   (neuron-council-server-command
    (unless (and (proper-list-p neuron-council-server-command)
                 (null (delq t (mapcar #'stringp neuron-council-server-command))))
      (signal 'neuron-council-not-found
              '("`neuron-council-server-command' is not a list of strings: set the program and each argument apart")))
    (cons (or (neuron-council-program--local (car neuron-council-server-command))
              (signal 'neuron-council-not-found
                      (list (format "there is no program %s: mend `neuron-council-server-command', \
or set it to nil and run: %s"
                                    (car neuron-council-server-command) (neuron-council-program-install-command)))))
          (cdr neuron-council-server-command)))
   ((let ((found nil))
      (dolist (root (neuron-council-program--roots))
        (setq found (or found (neuron-council-program--local (expand-file-name ".venv/bin/neuron-council" root)))))
      (setq found (or found (executable-find "neuron-council")))
      (and found (list found "serve"))))
   ((when-let ((python (neuron-council-program--interpreter)))
      (list python "-m" "neuron_council" "serve")))
   (t
    (neuron-council-log "Looked for the server in %s; exec-path is %s" (neuron-council-program--roots) exec-path)
    (signal 'neuron-council-not-found
            (list (format "no server is installed: run `%s', or set `neuron-council-server-command'"
                          (neuron-council-program-install-command)))))))

(provide 'neuron-council-program)
;;; neuron-council-program.el ends here
