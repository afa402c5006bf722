;;; neuron-council-program.el --- Where the council's server is  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; The server's program is looked for before it is started, on this machine, and by files alone as far as that goes.
;; Only whether a Python has the server as a module cannot be told from files: the Python is asked in the background
;; and once, and nobody waits for it longer than two seconds.

;;; Code:

(eval-when-compile
  (require 'cl-lib)
  (require 'subr-x))
(require 'neuron-council-errors)

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
  :group 'neuron-council
  :package-version '(neuron-council . "0.1.0"))

(defcustom neuron-council-python nil
  "The Python, 3.11 or newer, that the server is installed with.
It is a file name or the name of a program in the variable `exec-path'.
A server that is installed as its module is found too.  When nil, it is
looked for as python3, python3.14 and so on down to python3.11, and python."
  :type '(choice (const :tag "Look for it" nil)
                 (string :tag "Program"))
  :risky t
  :group 'neuron-council
  :package-version '(neuron-council . "0.1.0"))

(defcustom neuron-council-server-directory (expand-file-name "neuron-council/" user-emacs-directory)
  "The folder that \\[neuron-council-install-server] installs the server in."
  :type 'directory
  :risky t
  :group 'neuron-council
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
NAME is a file name or is looked up in the variable `exec-path'."
  (if (file-name-directory name)
      (neuron-council-program--executable (expand-file-name name "~/"))
    (executable-find name)))

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
Signal `neuron-council-not-found' where it is on another machine."
  (when (file-remote-p neuron-council-server-directory)
    (signal 'neuron-council-not-found
            '("`neuron-council-server-directory' is on another machine, but the server runs on this one: mend it")))
  (file-name-as-directory (expand-file-name neuron-council-server-directory "~/")))

(defun neuron-council-program-stamp ()
  "Return what is installed by command, a property list, or nil.
It has :venv (a folder's absolute name), :python, :python-version,
:version and :source.  It is written last, so a virtual environment
without one is half made."
  (let ((file (concat (neuron-council-program-directory) neuron-council-program-stamp-file)))
    (when (file-readable-p file)
      (let* ((stamp (with-temp-buffer
                      (let ((coding-system-for-read 'utf-8-emacs-unix))
                        (insert-file-contents file))
                      (ignore-errors (read (current-buffer)))))
             (name (and (proper-list-p stamp) (plist-get stamp :venv))))
        (when (and (stringp name) (string-match-p neuron-council-program-venv-pattern name))
          (plist-put stamp :venv (concat (neuron-council-program-directory) name "/")))))))

;;;; Pythons

(defconst neuron-council-program-python-minimum "3.11"
  "The oldest Python that runs the server.")

(defconst neuron-council-program--python-names
  '("python3" "python3.14" "python3.13" "python3.12" "python3.11" "python")
  "What a Python may be called; the first that fits is taken.")

(defconst neuron-council-program--question "\
import importlib.util, os, sys
has = lambda name: '1' if importlib.util.find_spec(name) else ''
words = 'neuron-council', '%d.%d.%d' % sys.version_info[:3], has('neuron_council'), \
'1' if has('venv') and has('ensurepip') else '', sys.executable
sys.stdout.buffer.write(os.fsencode('\\t'.join(words) + '\\n'))"
  "What a Python is asked.
A version manager's python3 is a slow script; the interpreter itself
knows its name.")

(defconst neuron-council-program--patience 2
  "Seconds that anybody waits for the answer of a Python.")

(defconst neuron-council-program--limit 30
  "Seconds that a Python may take to answer.")

(defconst neuron-council-program--doubt 10
  "Seconds for which it is believed that a Python has no server.")

(cl-defstruct (neuron-council-program-python (:constructor neuron-council-program--make-python) (:copier nil))
  "A program that calls itself Python, and what it said of itself."
  program                               ; absolute name
  process                               ; that asks it, or nil
  asked                                 ; seconds since the epoch
  answered                              ; the same, nil before the first answer
  timer
  waiting                               ; functions to call with it
  executable                            ; the interpreter behind the program
  version                               ; nil where it is no Python
  module                                ; non-nil where it has the server
  venv)                                 ; non-nil where it can make virtual environments

(defvar neuron-council-program--interpreters nil
  "Alist from the names of programs to what they said, of this session.")

(defun neuron-council-program-pythons ()
  "Return the absolute names of the programs that may be a Python, the best first."
  (let ((names (if neuron-council-python (list neuron-council-python) neuron-council-program--python-names)))
    (delete-dups (delq nil (mapcar #'neuron-council-program-local names)))))

(defun neuron-council-program-python-new-enough-p (python)
  "Return non-nil when PYTHON said a version that runs the server."
  (let ((version (neuron-council-program-python-version python)))
    (and version (version<= neuron-council-program-python-minimum version))))

(defun neuron-council-program--heard (python said)
  "Keep what PYTHON SAID, and call who waits for it."
  (let ((found (string-match "^neuron-council\t\\([0-9.]+\\)\t\\(1?\\)\t\\(1?\\)\t\\(.+\\)$" said))
        (waiting (neuron-council-program-python-waiting python)))
    (setf (neuron-council-program-python-version python) (and found (match-string 1 said))
          (neuron-council-program-python-module python) (and found (equal (match-string 2 said) "1"))
          (neuron-council-program-python-venv python) (and found (equal (match-string 3 said) "1"))
          (neuron-council-program-python-executable python) (and found (match-string 4 said))
          (neuron-council-program-python-answered python) (float-time)
          (neuron-council-program-python-process python) nil
          (neuron-council-program-python-waiting python) nil)
    (when (neuron-council-program-python-timer python)
      (cancel-timer (neuron-council-program-python-timer python))
      (setf (neuron-council-program-python-timer python) nil))
    (dolist (function (reverse waiting))
      (neuron-council-errors-guard "what a Python said" function python))))

(defun neuron-council-program--start (python)
  "Ask PYTHON in the background."
  (let ((said "")
        (default-directory (neuron-council-program-home)))
    (setf (neuron-council-program-python-asked python) (float-time))
    (condition-case nil
        (let ((process (make-process :name "neuron-council python" :noquery t :connection-type 'pipe
                                     :command (list (neuron-council-program-python-program python)
                                                    "-c" neuron-council-program--question)
                                     :coding 'utf-8-unix
                                     :filter (lambda (_ text) (setq said (concat said text)))
                                     :sentinel (lambda (process _)
                                                 (unless (process-live-p process)
                                                   (neuron-council-program--heard python said))))))
          (set-process-thread process nil)
          (setf (neuron-council-program-python-process python) process
                (neuron-council-program-python-timer python)
                (run-at-time neuron-council-program--limit nil #'delete-process process)))
      (error (neuron-council-program--heard python "")))))

(defun neuron-council-program-ask (program &optional function)
  "Ask the Python PROGRAM about itself in the background; return what is known.
Call FUNCTION with the same record when it has answered."
  (let ((python (or (cdr (assoc program neuron-council-program--interpreters))
                    (let ((new (neuron-council-program--make-python :program program)))
                      (push (cons program new) neuron-council-program--interpreters)
                      new))))
    (when function
      (push function (neuron-council-program-python-waiting python)))
    (unless (neuron-council-program-python-process python)
      (neuron-council-program--start python))
    python))

(defun neuron-council-program--known (program)
  "Return what is known of the Python PROGRAM, asking it where that is too little.
An old answer without a server is given again while it is asked anew."
  (let* ((python (cdr (assoc program neuron-council-program--interpreters)))
         (answered (and python (neuron-council-program-python-answered python))))
    (if (and answered (or (neuron-council-program-python-module python)
                          (< (- (float-time) answered) neuron-council-program--doubt)))
        python
      (neuron-council-program-ask program))))

(defun neuron-council-program--wait (python)
  "Wait for the first answer of PYTHON, but not for long."
  (let (left process)
    (while (and (not (neuron-council-program-python-answered python))
                (setq process (neuron-council-program-python-process python))
                (> (setq left (- (+ (neuron-council-program-python-asked python) neuron-council-program--patience)
                                 (float-time)))
                   0))
      (accept-process-output process (min left 0.1) nil t))))

(defun neuron-council-program--module ()
  "Return the interpreter that has the server as a module, or nil."
  (let ((found nil))
    (dolist (python (mapcar #'neuron-council-program--known (neuron-council-program-pythons)))
      (unless found
        (neuron-council-program--wait python)
        (when (and (neuron-council-program-python-module python)
                   (neuron-council-program-python-new-enough-p python))
          (setq found (neuron-council-program-python-executable python)))))
    found))

(defun neuron-council-program-forget ()
  "Forget what Pythons said, so that they are asked again."
  (setq neuron-council-program--interpreters nil))

;;;; The server's program

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
     ((setq command (neuron-council-program--module))
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

(defun neuron-council-program--python-words (program)
  "Return what is known of the Python PROGRAM, for a person."
  (let ((python (cdr (assoc program neuron-council-program--interpreters))))
    (format "%s (%s)" program
            (cond ((not (and python (neuron-council-program-python-answered python))) "has not answered yet")
                  ((not (neuron-council-program-python-version python)) "does not run")
                  ((not (neuron-council-program-python-new-enough-p python))
                   (format "%s is too old" (neuron-council-program-python-version python)))
                  ((neuron-council-program-python-module python) "has it")
                  (t (format "%s, without it" (neuron-council-program-python-version python)))))))

(defun neuron-council-program-places ()
  "Return where the server is looked for, in this order.
It is an alist from kinds of places to places, all of them strings."
  (let ((pythons (neuron-council-program-pythons)))
    (list (cons ".venv of the checkout"
                (mapconcat (lambda (root) (expand-file-name ".venv" root)) (neuron-council-program-roots) ", "))
          (cons "neuron-council-server-directory" (neuron-council-program-directory))
          (cons "exec-path" (mapconcat (lambda (folder) (or folder ".")) exec-path ", "))
          (cons "module of a Python"
                (cond (pythons (mapconcat #'neuron-council-program--python-words pythons ", "))
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
