;;; neuron-council-program.el --- Where the council's server is  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; The server's program is looked for before it is started, on this machine, and by files alone as far as that goes;
;; after that, Pythons are asked whether they have it, see neuron-council-python.el.

;;; Code:

(eval-when-compile (require 'subr-x))
(require 'neuron-council-errors)

(autoload 'neuron-council-python-programs "neuron-council-python")
(autoload 'neuron-council-python-with-server "neuron-council-python")
(autoload 'neuron-council-python-words "neuron-council-python")

;;;; Options

(defcustom neuron-council-server-command nil
  "The server's program and all its arguments, as a list of strings.
For example (\"/opt/council/bin/neuron-council\" \"serve\").
When nil, the server is looked for: in the folder .venv of the checkout
this file belongs to, then in `neuron-council-server-directory', where
\\[neuron-council-install-server] puts it, then as neuron-council in the
variable `exec-path', then as a module of a Python (see
`neuron-council-python').  Used when a server is started, so after a
change use \\[neuron-council-restart]."
  :type '(choice (const :tag "Look for it" nil)
                 (repeat :tag "Program and arguments" string))
  :risky t
  :group 'neuron-council-server
  :package-version '(neuron-council . "0.1.0"))

(defcustom neuron-council-python nil
  "The Python, 3.11 or newer, that the server is installed with.
It is a file name or the name of a program in the variable `exec-path'.
A server that is installed as its module is found too.  When nil, it is
looked for as python3, python3.14 and so on down to python3.11, and python."
  :type '(choice (const :tag "Look for it" nil)
                 (string :tag "Program"))
  :risky t
  :group 'neuron-council-server
  :package-version '(neuron-council . "0.1.0"))

(defcustom neuron-council-server-directory (expand-file-name "neuron-council/" user-emacs-directory)
  "The folder that \\[neuron-council-install-server] installs the server in."
  :type 'directory
  :risky t
  :group 'neuron-council-server
  :package-version '(neuron-council . "0.1.0"))

;;;; Places

(defconst neuron-council-program--file (or load-file-name buffer-file-name)
  "This file, as it was loaded.")

(defun neuron-council-program-home ()
  "Return the user's folder, or the root where that is gone.
A program is started there, since the folder of the current buffer can be
gone or remote."
  ;; In a remote folder already the name of a local file would load TRAMP.
  (let ((default-directory "/"))
    (if (file-directory-p "~/") (expand-file-name "~/") "/")))

(defun neuron-council-program--executable (file)
  "Return FILE where it is an executable file, else nil."
  (and (file-regular-p file) (file-executable-p file) file))

(defun neuron-council-program-local (name)
  "Return the absolute name of the local program NAME, nil where there is none.
NAME is a file name or is looked up in the variable `exec-path'; it may be
whatever an option has."
  (cond ((not (stringp name)) nil)
        ((file-name-directory name) (neuron-council-program--executable (expand-file-name name "~/")))
        (t (executable-find name))))

(defun neuron-council-program-venv-file (venv name)
  "Return the program NAME of the virtual environment VENV, nil where it has none."
  (or (neuron-council-program--executable (expand-file-name (concat "bin/" name) venv))
      (neuron-council-program--executable (expand-file-name (concat "Scripts/" name ".exe") venv))))

(defun neuron-council-program--venv-command (venv)
  "Return the command of the server in the virtual environment VENV, or nil.
A VENV whose Python has gone cannot run it."
  (when-let ((program (neuron-council-program-venv-file venv "neuron-council")))
    (and (neuron-council-program-venv-file venv "python")
         (list program "serve"))))

(defun neuron-council-program-roots ()
  "Return the folders where this file's checkout can be: its own and the one above.
Package managers link only the .el file, so its link is followed."
  (let ((source (concat (file-name-sans-extension neuron-council-program--file) ".el"))
        (roots nil))
    (dolist (file (list source (file-truename source)))
      (let ((folder (file-name-directory file)))
        (push folder roots)
        (push (file-name-directory (directory-file-name folder)) roots)))
    (delete-dups (nreverse roots))))

(defun neuron-council-program-checkout ()
  "Return the folder with the server's sources that this file belongs to, or nil."
  (let ((found nil))
    (dolist (root (neuron-council-program-roots))
      (when (and (not found)
                 (file-exists-p (expand-file-name "pyproject.toml" root))
                 (file-directory-p (expand-file-name "server/neuron_council" root)))
        (setq found root)))
    found))

;;;; What was installed by command

(defconst neuron-council-program-stamp-file "installed.eld"
  "The file in `neuron-council-server-directory' that says what is installed.")

(defconst neuron-council-program-venv-pattern "\\`venv-[[:alnum:]]+\\'"
  "Regular expression of the folders' names in `neuron-council-server-directory'.")

(defun neuron-council-program-directory ()
  "Return `neuron-council-server-directory' as a folder's absolute name.
Signal `neuron-council-not-found' where it is none, or on another machine."
  (unless (stringp neuron-council-server-directory)
    (signal 'neuron-council-not-found '("`neuron-council-server-directory' is not the name of a folder: mend it")))
  (when (file-remote-p neuron-council-server-directory)
    (signal 'neuron-council-not-found
            '("`neuron-council-server-directory' is on another machine, but the server runs on this one: mend it")))
  (file-name-as-directory (expand-file-name neuron-council-server-directory "~/")))

(defun neuron-council-program-read (file)
  "Return the Lisp object in FILE, nil where there is none that can be read."
  (and (file-regular-p file)
       (ignore-errors
         (with-temp-buffer
           (let ((coding-system-for-read 'utf-8-emacs-unix))
             (insert-file-contents file))
           (read (current-buffer))))))

(defun neuron-council-program-stamp ()
  "Return what is installed by command, a property list, or nil.
It has :venv (a folder's absolute name), :python, :python-version,
:version and :source.  It is written last, so a virtual environment
without one is half made."
  (let* ((folder (neuron-council-program-directory))
         (stamp (neuron-council-program-read (concat folder neuron-council-program-stamp-file)))
         (name (and (proper-list-p stamp) (plist-get stamp :venv))))
    (when (and (stringp name) (string-match-p neuron-council-program-venv-pattern name))
      (plist-put stamp :venv (concat folder name "/")))))

;;;; The server's program

(defvar neuron-council-program-answers nil
  "Alist from names of Pythons to what they said in this session.")

(defun neuron-council-program-forget ()
  "Forget what Pythons said, so that they are asked again."
  (setq neuron-council-program-answers nil))

(defun neuron-council-program--option ()
  "Return `neuron-council-server-command', its program found, or signal why not."
  (unless (and (proper-list-p neuron-council-server-command)
               (not (memq nil (mapcar #'stringp neuron-council-server-command))))
    (signal 'neuron-council-not-found
            '("`neuron-council-server-command' is not a list of strings: set the program and each argument apart")))
  (cons (or (neuron-council-program-local (car neuron-council-server-command))
            (signal 'neuron-council-not-found
                    (list (format "there is no program %s: mend `neuron-council-server-command', \
or set it to nil and use M-x neuron-council-install-server"
                                  (car neuron-council-server-command)))))
        (cdr neuron-council-server-command)))

(defun neuron-council-program-find ()
  "Look for the server; return how it was found and its command, or nil.
How is a symbol: `option' (by `neuron-council-server-command'), `checkout'
\(beside this file), `installed' (by command), `path' (in the variable
`exec-path') or `module' (of a Python); the command is in the cdr.  Signal
`neuron-council-not-found' where the option is wrong.  This waits at most
two seconds, for Pythons that were not asked before."
  (let ((default-directory (neuron-council-program-home))
        command stamp)
    (cond
     (neuron-council-server-command
      (cons 'option (neuron-council-program--option)))
     ((progn (dolist (root (neuron-council-program-roots))
               (setq command (or command (neuron-council-program--venv-command (expand-file-name ".venv" root)))))
             command)
      (cons 'checkout command))
     ((and (setq stamp (neuron-council-program-stamp))
           (setq command (neuron-council-program--venv-command (plist-get stamp :venv))))
      (cons 'installed command))
     ((setq command (executable-find "neuron-council"))
      (list 'path command "serve"))
     ((setq command (neuron-council-python-with-server))
      (list 'module command "-m" "neuron_council" "serve")))))

(defun neuron-council-program-install-command ()
  "Return what installs or updates the server: a command of Emacs or a shell."
  (let ((checkout (neuron-council-program-checkout)))
    (pcase (car (ignore-errors (neuron-council-program-find)))
      ('option "mend `neuron-council-server-command', or set it to nil and use M-x neuron-council-install-server")
      ((and 'checkout (guard checkout))
       (format "make -C %s setup" (shell-quote-argument (directory-file-name checkout))))
      ('installed "M-x neuron-council-upgrade-server")
      (_ "M-x neuron-council-install-server"))))

(defun neuron-council-program-places ()
  "Return where the server is looked for, in this order.
It is an alist from kinds of places to places, all of them strings."
  (let ((pythons (neuron-council-python-programs)))
    (list (cons ".venv of the checkout"
                (mapconcat (lambda (root) (expand-file-name ".venv" root)) (neuron-council-program-roots) ", "))
          (cons "neuron-council-server-directory"
                (condition-case problem
                    (neuron-council-program-directory)
                  (neuron-council-not-found (neuron-council-errors-text problem))))
          (cons "exec-path" (mapconcat (lambda (folder) (or folder ".")) exec-path ", "))
          (cons "module of a Python"
                (cond (pythons (mapconcat #'neuron-council-python-words pythons ", "))
                      (neuron-council-python (format "there is no program %s (`neuron-council-python')"
                                                     neuron-council-python))
                      (t "there is none in exec-path (`neuron-council-python' can name one)"))))))

(defvar neuron-council-program--logged nil
  "The places that were logged last, as they are the same at every try.")

(defun neuron-council-program--not-found ()
  "Log where the server was looked for, and signal that it is not there."
  (let ((places (neuron-council-program-places)))
    (unless (equal places neuron-council-program--logged)
      (setq neuron-council-program--logged places)
      (neuron-council-log "No server was found in:")
      (pcase-dolist (`(,kind . ,place) places)
        (neuron-council-log "  %s: %s" kind place))))
  (signal 'neuron-council-not-found
          '("no server is installed: M-x neuron-council-install-server installs it, \
M-x neuron-council-doctor says where it was looked for")))

(defun neuron-council-program-command ()
  "Return the command that starts the server, its program found.
Signal `neuron-council-not-found' where there is none."
  (or (cdr (neuron-council-program-find))
      (neuron-council-program--not-found)))

(provide 'neuron-council-program)
;;; neuron-council-program.el ends here
