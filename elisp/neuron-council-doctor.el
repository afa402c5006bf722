;;; neuron-council-doctor.el --- What stands and what is to be mended  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; A buffer with checks: property lists of :area, :name, :state ("ok", "warning" or "error"), :says, and of what mends
;; it: :cure (words) and :command (a symbol) or :mend (a function, :does its words).  They are what the program's own
;; `doctor --json' answers with, so its checks stand beside those made here.
;;
;; What files and variables tell is there at once, whatever else is broken.  The program and a server that runs are
;; asked in the background.  Nothing is started that would go on running, and no claim is read.

;;; Code:

(eval-when-compile (require 'subr-x))
(require 'json)
(require 'neuron-council-files)
(require 'neuron-council-install)
(require 'neuron-council-place)
(require 'neuron-council-program)
(require 'neuron-council-python)
(require 'neuron-council-rpc)
(require 'neuron-council-text)

(defvar neuron-council-store-function)
(defvar neuron-council-flagged-policy)
(defvar neuron-council-parked-policy)
(defvar neuron-council-guard-mode)
(defvar neuron-council-reevaluated-functions)

(defconst neuron-council-doctor--program-limit 20
  "Seconds that the program's own doctor may take.")

(defconst neuron-council-doctor--health-limit 5
  "Seconds that a server may take to say how it is.")

;;;; Checks

(defun neuron-council-doctor--check (name state says &rest mending)
  "Return the check NAME in STATE, of which SAYS is said.
MENDING is the rest of its property list."
  (append (list :name name :state state :says says) mending))

(defun neuron-council-doctor--ok (name format &rest arguments)
  "Return the check NAME that found nothing wrong, saying FORMAT with ARGUMENTS."
  (neuron-council-doctor--check name "ok" (apply #'format format arguments)))

(defun neuron-council-doctor--ago (time)
  "Return how long ago TIME, seconds since the epoch, was."
  (format-seconds "%Y, %D, %H, %M, %z%S" (max 0 (- (float-time) time))))

;;;;; Emacs

(declare-function package-desc-version "package")
(declare-function package-version-join "package")

(defun neuron-council-doctor--jsonrpc-version ()
  "Return the version of the jsonrpc library, a string, or nil."
  (require 'package)
  (require 'finder-inf nil t)
  (let ((installed (cadr (assq 'jsonrpc (bound-and-true-p package-alist))))
        (built-in (cdr (assq 'jsonrpc (bound-and-true-p package--builtins)))))
    (cond (installed (package-version-join (package-desc-version installed)))
          ((vectorp built-in) (package-version-join (aref built-in 0))))))

(defun neuron-council-doctor--emacs ()
  "Return checks of Emacs."
  (list
   (neuron-council-doctor--ok "Emacs" "%s, %s, %s" emacs-version system-configuration
                              (cond (noninteractive "in batch") ((daemonp) "daemon")
                                    (window-system (symbol-name window-system)) (t "in a terminal")))
   (let ((file (locate-library "jsonrpc")))
     (if file
         (neuron-council-doctor--ok "jsonrpc" "%s, %s" (or (neuron-council-doctor--jsonrpc-version) "version unknown")
                                    file)
       (neuron-council-doctor--check "jsonrpc" "error" "the library is missing"
                                     :cure "It is a part of Emacs: install Emacs whole")))
   (if (and (fboundp 'json-parse-string) (fboundp 'json-available-p) (json-available-p))
       (neuron-council-doctor--ok "JSON" "read by Emacs itself")
     (neuron-council-doctor--check "JSON" "warning" "this Emacs has no JSON of its own, so answers are read slowly"
                                   :cure "Install an Emacs that was built with it"))))

;;;;; Package

(defun neuron-council-doctor--copies ()
  "Return the folders in `load-path' that have this package, each but once."
  (let ((folders nil))
    (dolist (folder load-path)
      (when (and (stringp folder)
                 (or (file-exists-p (expand-file-name "neuron-council.el" folder))
                     (file-exists-p (expand-file-name "neuron-council.elc" folder))))
        (push (file-name-as-directory (file-truename folder)) folders)))
    (delete-dups (nreverse folders))))

(defun neuron-council-doctor--stale (folder)
  "Return the compiled files in FOLDER that are older than their sources."
  (let ((stale nil))
    (dolist (file (and (file-directory-p folder) (directory-files folder t "\\`neuron-council.*\\.elc\\'")))
      (let ((source (substring file 0 -1)))
        (when (file-newer-than-file-p (file-truename source) file)
          (push (file-name-nondirectory file) stale))))
    (nreverse stale)))

(defun neuron-council-doctor--loaded-from ()
  "Return the folders that files of the package were loaded from."
  (let ((folders nil))
    (dolist (entry load-history)
      (when (and (stringp (car entry))
                 (string-match-p "\\`neuron-council[^/]*\\.elc?\\'" (file-name-nondirectory (car entry)))
                 (not (string-suffix-p "-autoloads.el" (car entry))))
        (push (file-name-directory (car entry)) folders)))
    (delete-dups folders)))

(defun neuron-council-doctor--loadable ()
  "Return a check that the whole package can be loaded."
  (condition-case problem
      (progn (require 'neuron-council)
             (neuron-council-doctor--ok "neuron-council.el" "%s, %s" neuron-council-version
                                        (file-name-directory neuron-council-program--file)))
    (error (neuron-council-doctor--check
            "neuron-council.el" "error" (concat "cannot be loaded: " (error-message-string problem))
            :cure "Install the package anew, then restart Emacs"))))

(defun neuron-council-doctor--package ()
  "Return checks of this package as it is loaded."
  (let ((loaded (neuron-council-doctor--loaded-from))
        (copies (neuron-council-doctor--copies))
        (stale (neuron-council-doctor--stale (file-name-directory neuron-council-program--file))))
    (delq nil
          (list
           (neuron-council-doctor--loadable)
           (when (cdr loaded)
             (neuron-council-doctor--check
              "loaded twice" "error" (concat "parts of it come from " (mapconcat #'identity loaded " and from "))
              :cure "Restart Emacs, so that all parts come from one folder"))
           (when (cdr copies)
             (neuron-council-doctor--check
              "load-path" "warning" (concat "several folders have the package: " (mapconcat #'identity copies ", "))
              :cure "Keep one: delete the other package, or take its folder out of `load-path'"))
           (when stale
             (neuron-council-doctor--check
              "compiled files" "error" (concat "older than their sources: " (mapconcat #'identity stale ", "))
              :cure "Compile them anew (M-x byte-recompile-directory), then restart Emacs"))))))

;;;;; Options

(declare-function widget-convert "wid-edit" (type &rest args))
(declare-function widget-apply "wid-edit" (widget property &rest args))

(defun neuron-council-doctor--group-options (group)
  "Return the options of GROUP and of the groups in it, as far as they are loaded."
  (let ((options nil))
    (pcase-dolist (`(,member ,kind) (get group 'custom-group) (nreverse options))
      (pcase kind
        ('custom-variable (push member options))
        ('custom-group (setq options (append (reverse (neuron-council-doctor--group-options member)) options)))))))

(defun neuron-council-doctor--options ()
  "Return checks of the options whose value their type does not allow."
  ;; It has the types of hooks.
  (require 'cus-edit)
  (let ((checks nil))
    (dolist (option (neuron-council-doctor--group-options 'neuron-council))
      (unless (widget-apply (widget-convert (get option 'custom-type)) :match (default-value option))
        (push (neuron-council-doctor--check
               "option" "error" (format "`%s' has a value that it cannot have" option)
               :cure "Mend it" :does "customize" :mend (lambda () (customize-option option)))
              checks)))
    (or checks (list (neuron-council-doctor--ok "options" "each has a value that it can have")))))

;;;;; Finding the server

(defconst neuron-council-doctor--ways
  '((option . "by `neuron-council-server-command'") (checkout . "in the checkout's .venv")
    (installed . "installed by command") (path . "in `exec-path'") (module . "as a module of a Python"))
  "What the ways of finding the server are called.")

(defun neuron-council-doctor--find ()
  "Look for the server without waiting for a Python; return what was found.
It is in the car, and what was signalled in the cdr."
  (condition-case problem
      (let ((neuron-council-python-patience 0))
        (list (neuron-council-program-find)))
    (error (cons nil problem))))

(defun neuron-council-doctor--waiting-p ()
  "Return non-nil while a Python has not answered yet."
  (let ((waiting nil))
    (dolist (program (neuron-council-python-programs))
      (let ((python (cdr (assoc program neuron-council-program-answers))))
        (unless (and python (neuron-council-python-answered python))
          (setq waiting t))))
    waiting))

(defun neuron-council-doctor--program ()
  "Return checks of where the server is."
  (pcase-let ((`(,found . ,problem) (neuron-council-doctor--find)))
    (append
     (list
      (cond (found (neuron-council-doctor--ok "server" "%s: %s" (alist-get (car found) neuron-council-doctor--ways)
                                              (mapconcat #'shell-quote-argument (cdr found) " ")))
            (problem (neuron-council-doctor--check "server" "error" (neuron-council-errors-text problem)
                                                   :cure "Mend the option"
                                                   :does "customize" :mend #'neuron-council-doctor--customize))
            ((neuron-council-doctor--waiting-p) (neuron-council-doctor--ok "server" "is being looked for"))
            (t (neuron-council-doctor--check "server" "error" "is not installed" :cure "Install it"
                                             :command #'neuron-council-install-server))))
     (neuron-council-doctor--installed)
     (unless found
       (mapcar (lambda (place) (neuron-council-doctor--ok "looked in" "%s: %s" (car place) (cdr place)))
               (neuron-council-program-places)))
     (neuron-council-doctor--pythons found)
     (neuron-council-doctor--environment))))

(defun neuron-council-doctor--customize ()
  "Show the options of the council."
  (customize-group 'neuron-council))

(defun neuron-council-doctor--installed ()
  "Return checks of what was installed by command."
  (let* ((stamp (ignore-errors (neuron-council-program-stamp)))
         (venv (plist-get stamp :venv))
         (says (format "%s, with Python %s, from %s" (plist-get stamp :version) (plist-get stamp :python-version)
                       (plist-get stamp :source))))
    (cond ((null stamp) nil)
          ((not (and (neuron-council-program-venv-file venv "neuron-council")
                     (neuron-council-program-venv-file venv "python")))
           (list (neuron-council-doctor--check
                  "installed" "error" (format "%s cannot run: it is not whole, or its Python (%s) has gone" venv
                                              (plist-get stamp :python))
                  :cure "Install it anew" :command #'neuron-council-upgrade-server)))
          ((not (equal (plist-get stamp :version) neuron-council-version))
           (list (neuron-council-doctor--check
                  "installed" "warning" (format "%s; this package has version %s" says neuron-council-version)
                  :cure "Upgrade it" :command #'neuron-council-upgrade-server)))
          (t (list (neuron-council-doctor--ok "installed" "%s" says))))))

(defconst neuron-council-doctor--usual-folders
  '("/usr/local/bin" "/opt/homebrew/bin" "/opt/local/bin" "~/.local/bin" "~/.pyenv/shims" "~/.asdf/shims" "/usr/bin")
  "Folders that an Emacs which was not started from a shell may not look into.")

(defun neuron-council-doctor--overlooked ()
  "Return the usual folders, with a Python or a server, that are overlooked.
They are not in the variable `exec-path'."
  (let ((known (mapcar (lambda (folder) (file-name-as-directory (expand-file-name (or folder "."))))
                       exec-path))
        (overlooked nil))
    (dolist (folder neuron-council-doctor--usual-folders)
      (let ((folder (file-name-as-directory (expand-file-name folder))))
        (when (and (not (member folder known))
                   (or (file-executable-p (concat folder "python3"))
                       (file-executable-p (concat folder "neuron-council"))))
          (push folder overlooked))))
    (nreverse overlooked)))

(defun neuron-council-doctor--pythons (found)
  "Return checks of the Pythons there are; FOUND is non-nil where a server was."
  (let ((fits nil) (overlooked (neuron-council-doctor--overlooked)))
    (dolist (program (neuron-council-python-programs))
      (let ((python (cdr (assoc program neuron-council-program-answers))))
        (when (and (not fits) python (neuron-council-python-new-enough-p python))
          (setq fits python))))
    (list
     (cond (fits (neuron-council-doctor--ok "Python" "%s, %s" (neuron-council-python-version fits)
                                            (neuron-council-python-executable fits)))
           ((neuron-council-doctor--waiting-p) (neuron-council-doctor--ok "Python" "is being asked"))
           (t (neuron-council-doctor--check
               "Python" (if found "ok" "error")
               (format "no %s or newer: %s" neuron-council-python-minimum
                       (cdr (assoc "module of a Python" (neuron-council-program-places))))
               :cure (unless found "Install one, or name it in `neuron-council-python'"))))
     (if (and overlooked (not found) (not fits))
         (neuron-council-doctor--check
          "exec-path" "warning"
          (format "lacks %s, where a Python or a server is: an Emacs that was not started from a shell has a short PATH"
                  (mapconcat #'identity overlooked " and "))
          :cure (format "Put into your init file: (add-to-list 'exec-path %S)" (car overlooked)))
       (neuron-council-doctor--ok "exec-path" "%s" (mapconcat (lambda (folder) (or folder ".")) exec-path ", "))))))

(defun neuron-council-doctor--environment ()
  "Return checks of variables that lead a Python astray."
  (delq nil
        (mapcar
         (pcase-lambda (`(,name ,state ,what))
           (let ((value (getenv name)))
             (when (and value (not (string-empty-p value))
                        (not (and (equal name "VIRTUAL_ENV") (file-directory-p value))))
               (neuron-council-doctor--check
                name state (format "is %s: %s" value what)
                :cure (format "Unset it: (setenv %S nil), and in what starts Emacs" name)
                :does "unset it here" :mend (lambda () (setenv name nil))))))
         '(("PYTHONHOME" "error" "every Python looks for its library there")
           ("PYTHONPATH" "warning" "modules there come before the server's own")
           ("VIRTUAL_ENV" "warning" "there is no such folder")))))

;;;;; Server

(defun neuron-council-doctor--server ()
  "Return checks of the server as this Emacs knows it."
  (let* ((status (neuron-council-rpc-status))
         (deaths (plist-get status :deaths))
         (command (plist-get status :command))
         (found (cdar (neuron-council-doctor--find))))
    (delq nil
          (list
           (if (plist-get status :state)
               (neuron-council-doctor--ok
                "process" "%s, process %d, for %s; version %s, protocol %s"
                (if (eq (plist-get status :state) 'ready) "is ready" "is starting") (plist-get status :pid)
                (neuron-council-doctor--ago (plist-get status :started)) (or (plist-get status :version) "unknown")
                (or (plist-get status :protocol) "unknown"))
             (neuron-council-doctor--ok "process" "is not running; the first request starts it"))
           (when (and command found (not (equal command found)))
             (neuron-council-doctor--check
              "command" "warning" (format "%s is running, another one would be started now"
                                          (mapconcat #'shell-quote-argument command " "))
              :cure "Start that" :command #'neuron-council-restart))
           (when (plist-get status :state)
             (neuron-council-doctor--ok "requests" "%d under way" (plist-get status :waiting)))
           (when (and (plist-get deaths :count) (> (plist-get deaths :count) 0))
             (neuron-council-doctor--check
              "deaths" (if (and (> (plist-get deaths :count) 1) (null (plist-get status :state))) "error" "warning")
              (format "%d in a row, the last %s ago: %s" (plist-get deaths :count)
                      (neuron-council-doctor--ago (plist-get deaths :at)) (plist-get deaths :reason))
              :cure "See what it said, mend that, then M-x neuron-council-restart"
              :command #'neuron-council-show-log))
           (when neuron-council-initialization-options
             (neuron-council-doctor--ok
              "settings" "`neuron-council-initialization-options' is set, over council.toml; the checks of the program \
do not know of it"))
           (when (and (numberp neuron-council-timeout) (< neuron-council-timeout 60))
             (neuron-council-doctor--check
              "timeout" "warning" (format "`neuron-council-timeout' is %s, less than the minute that a claim may take \
(deadline_s)" neuron-council-timeout)
              :cure "Set it to 75, or deadline_s in council.toml to less"))))))

;;;;; Home

(defun neuron-council-doctor--modes (name file mode)
  "Return a check NAME, that only the owner can read FILE, or nil without it.
MODE is the mode that FILE should have."
  (let ((modes (file-modes file)))
    (when modes
      (if (zerop (logand modes #o077))
          (neuron-council-doctor--ok name "%s, mode %04o" file modes)
        (neuron-council-doctor--check
         name "warning" (format "%s, mode %04o: others may read it" file modes)
         :cure (format "chmod %o %s" mode (shell-quote-argument (directory-file-name file)))
         :does "do that" :mend (lambda () (set-file-modes file mode)))))))

(defun neuron-council-doctor--closed (name folder)
  "Return a check NAME that FOLDER is none, or is closed to the user; else nil."
  (let ((file (directory-file-name folder)))
    (cond ((not (or (file-exists-p file) (file-symlink-p file))) nil)
          ((not (file-directory-p file))
           (neuron-council-doctor--check name "error" (format "%s is no folder" file) :cure "Move it away"))
          ((not (and (file-readable-p file) (file-accessible-directory-p file) (file-writable-p file)))
           (neuron-council-doctor--check name "error" (format "%s is closed to you" file)
                                         :cure (format "chmod u+rwx %s, or chown it" (shell-quote-argument file)))))))

(defun neuron-council-doctor--home ()
  "Return checks of NEURON_HOME, where claims are kept."
  (let* ((home (neuron-council-process-home))
         (closed (neuron-council-doctor--closed "NEURON_HOME" home)))
    (cond
     (closed (list closed))
     ((not (file-exists-p home))
      (list (neuron-council-doctor--ok "NEURON_HOME" "%s does not exist yet" home)))
     (t (delq nil (list (neuron-council-doctor--modes "NEURON_HOME" home #o700)
                        (neuron-council-doctor--modes "council" (concat home "council/") #o700)
                        (neuron-council-doctor--modes "council.toml" (concat home "council.toml") #o600)))))))

;;;;; Memories

(defconst neuron-council-doctor--folders
  '(("unsent" . "claims that no server has answered for; they are sent when one is ready")
    ("pending" . "memories that wait for their verdict to be stored")
    ("held" . "memories that wait for your decision"))
  "What the files in the folders of records are.")

(defun neuron-council-doctor--folder (name what)
  "Return checks of the folder NAME of records, which are WHAT."
  (let* ((folder (neuron-council-files-folder name))
         (files (and (file-directory-p folder) (directory-files folder nil "\\`[^.]")))
         (records (length (delq nil (mapcar (lambda (file) (string-suffix-p ".eld" file)) files))))
         (broken (length (delq nil (mapcar (lambda (file) (string-match-p "\\.broken" file)) files))))
         (given-up (length (delq nil (mapcar (lambda (file) (string-suffix-p ".given-up" file)) files)))))
    (append
     (list (if (zerop records)
               (neuron-council-doctor--ok name "0")
             (neuron-council-doctor--ok name "%d %s" records what)))
     (when (> broken 0)
       (list (neuron-council-doctor--check
              name "warning" (format "%d files in %s hold no record and were set aside" broken folder)
              :cure "Save from them what you need, then delete the files that end in .broken")))
     (when (> given-up 0)
       (list (neuron-council-doctor--check
              name "warning"
              (format "%d claims in %s crashed every server that had them, and are not judged" given-up folder)
              :cure "Take .given-up off the name of a file to have it tried again, or forget the claim"))))))

(defun neuron-council-doctor--records ()
  "Return checks of what waits in files."
  (let ((checks nil))
    (pcase-dolist (`(,name . ,what) neuron-council-doctor--folders)
      (let ((closed (neuron-council-doctor--closed name (neuron-council-files-folder name))))
        (setq checks
              (append checks
                      (if closed
                          (list closed)
                        (condition-case problem
                            (neuron-council-doctor--folder name what)
                          (file-error
                           (list (neuron-council-doctor--check name "error" (error-message-string problem)
                                                               :cure "Mend what it names")))))))))
    checks))

(defun neuron-council-doctor--memories ()
  "Return checks of storing memories."
  (let ((store (bound-and-true-p neuron-council-store-function)))
    (append
     (list
      (cond ((functionp store)
             (neuron-council-doctor--ok "store function" "%s" (if (symbolp store) store "a function")))
            (t (neuron-council-doctor--check
                "store function" "warning" (format "%s is not defined, so no memory can be captured" store)
                :cure "Load what defines it, or set `neuron-council-store-function' (to `neuron-council-org-store' if \
you have no memory of your own)" :does "customize" :mend #'neuron-council-doctor--customize)))
      (neuron-council-doctor--ok "guard" "`neuron-council-guard-mode' is %s"
                                 (if (bound-and-true-p neuron-council-guard-mode) "on" "off"))
      (neuron-council-doctor--ok "policies" "flagged: %s, parked: %s" (bound-and-true-p neuron-council-flagged-policy)
                                 (bound-and-true-p neuron-council-parked-policy))
      (neuron-council-doctor--ok "late verdicts" "%s in `neuron-council-reevaluated-functions'"
                                 (let ((functions (remq t (bound-and-true-p neuron-council-reevaluated-functions))))
                                   (pcase (length functions)
                                     (0 "no function") (1 "1 function") (count (format "%d functions" count))))))
     (neuron-council-doctor--records))))

;;;; What is asked in the background

(defvar-local neuron-council-doctor--turn 0
  "How often this buffer has looked; answers of earlier turns do not count.")

(defvar-local neuron-council-doctor--answers nil
  "Alist from `health' and `program' to their checks.")

(defun neuron-council-doctor--answered (buffer turn who checks)
  "Show CHECKS, which WHO answered in TURN, in BUFFER."
  (when (and (buffer-live-p buffer) (= turn (buffer-local-value 'neuron-council-doctor--turn buffer)))
    (with-current-buffer buffer
      (when who
        (setf (alist-get who neuron-council-doctor--answers) checks))
      (neuron-council-doctor--render))))

(defun neuron-council-doctor--member-checks (members backends)
  "Return checks of MEMBERS, rows of a server's health, whose models BACKENDS run.
Null and false are both nil here, so while one of these is away nothing
is known of a model that is not said to be there."
  (let* ((known (not (memq nil (mapcar (lambda (backend) (plist-get backend :reachable)) backends))))
         (word (lambda (value) (cond (value "yes") (known "no") (t "not known")))))
    (mapcar (lambda (member)
              (let ((installed (plist-get member :installed)))
                (neuron-council-doctor--check
                 (format "%s" (plist-get member :id)) (if installed "ok" "warning")
                 (format "%s; installed: %s; loaded: %s" (plist-get member :model) (funcall word installed)
                         (funcall word (plist-get member :loaded)))
                 :cure (and known (not installed) "Install the model, or name another one in council.toml"))))
            members)))

(defun neuron-council-doctor--health-checks (health)
  "Return checks of HEALTH, the answer of a server.
Signal an error where it cannot be read."
  (unless (and (proper-list-p health) (stringp (plist-get health :version)))
    (error "The server's answer cannot be read"))
  (append
   (list (if (equal (plist-get health :version) neuron-council-version)
             (neuron-council-doctor--ok "version" "%s" (plist-get health :version))
           (neuron-council-doctor--check
            "version" "warning" (format "%s; this package has %s" (plist-get health :version) neuron-council-version)
            :cure (neuron-council-program-install-command))))
   (mapcar (lambda (backend)
             (if (plist-get backend :reachable)
                 (neuron-council-doctor--ok "backend" "%s answers%s" (plist-get backend :url)
                                            (if (plist-get backend :version)
                                                (format ", version %s" (plist-get backend :version))
                                              ""))
               (neuron-council-doctor--check "backend" "error" (format "%s does not answer" (plist-get backend :url))
                                             :cure "Start it, or mend base_url in council.toml")))
           (plist-get health :backends))
   (neuron-council-doctor--member-checks (plist-get health :members) (plist-get health :backends))
   (list (neuron-council-doctor--ok "claims" "%s under way, %s wait to be judged again"
                                    (plist-get health :in_flight) (plist-get health :pending)))))

(defun neuron-council-doctor--ask-health ()
  "Ask a running server how it is; return what is shown meanwhile, or nil."
  (when (plist-get (neuron-council-rpc-status) :state)
    (let* ((buffer (current-buffer))
           (turn neuron-council-doctor--turn)
           (job (neuron-council-rpc-make-job
                 :council/health nil "How the server is"
                 (lambda (health condition)
                   (neuron-council-doctor--answered
                    buffer turn 'health
                    (condition-case problem
                        (if condition
                            (signal (car condition) (cdr condition))
                          (neuron-council-doctor--health-checks health))
                      (error (list (neuron-council-doctor--check
                                    "health" "error" (neuron-council-errors-text problem)
                                    :cure "Start it anew" :command #'neuron-council-restart)))))))))
      (setf (neuron-council-job-background job) t
            (neuron-council-job-seconds job) neuron-council-doctor--health-limit)
      (neuron-council-rpc-submit job)
      (list (neuron-council-doctor--ok "health" "is being asked")))))

(defun neuron-council-doctor--program-checks (said status errors)
  "Return the checks that the program SAID, which ended with STATUS.
ERRORS is what it wrote to stderr."
  (let* ((json-object-type 'plist) (json-array-type 'list) (json-null nil) (json-false nil)
         (answer (ignore-errors (json-read-from-string said)))
         (checks (and (memq status '(0 1)) (proper-list-p answer) (plist-get answer :checks))))
    (if (and (consp checks) (proper-list-p checks))
        (delq nil
              (mapcar (lambda (check)
                        (and (proper-list-p check)
                             ;; Which Emacs is in the shell's PATH does not matter in one that runs.
                             (not (equal (plist-get check :area) "Emacs"))
                             (list :area (plist-get check :area) :name (plist-get check :name)
                                   :state (plist-get check :state) :says (plist-get check :says)
                                   :cure (plist-get check :cure))))
                      checks))
      (list (neuron-council-doctor--check
             "program" "error"
             (format "does not run (%s)%s" (if (integerp status) (format "exit status %d" status) status)
                     (let ((line (car (last (split-string errors "\n" t "[ \t\r]+")))))
                       (if line (concat ": " line) "")))
             :cure (concat "Install it anew: " (neuron-council-program-install-command)))))))

(defun neuron-council-doctor--ask-program ()
  "Ask the program for its own checks; return what is shown meanwhile, or nil."
  (let ((command (cdar (neuron-council-doctor--find))))
    ;; Whatever else the option names, its arguments are not known.
    (when (equal (car (last command)) "serve")
      (let ((buffer (current-buffer)) (turn neuron-council-doctor--turn)
            (said "") (errors "") (limit nil)
            (default-directory (neuron-council-program-home))
            (process-environment (append '("PYTHONUTF8=1") process-environment)))
        (condition-case problem
            (let* ((stderr (make-pipe-process :name "neuron-council doctor stderr" :noquery t :buffer nil
                                              :coding 'utf-8-unix :sentinel #'ignore
                                              :filter (lambda (_ text) (setq errors (concat errors text)))))
                   (process
                    (make-process
                     :name "neuron-council doctor" :noquery t :connection-type 'pipe :coding 'utf-8-unix
                     :command (append (butlast command) '("doctor" "--json")) :stderr stderr
                     :filter (lambda (_ text) (setq said (concat said text)))
                     :sentinel
                     (lambda (process _)
                       (unless (process-live-p process)
                         (cancel-timer limit)
                         ;; What it wrote to stderr may come a moment later.
                         (run-at-time
                          0.05 nil #'neuron-council-errors-guard "the doctor"
                          (lambda ()
                            (delete-process stderr)
                            (neuron-council-doctor--answered
                             buffer turn 'program
                             (neuron-council-doctor--program-checks
                              said (if (eq (process-status process) 'exit) (process-exit-status process)
                                     (format "no answer within %d s" neuron-council-doctor--program-limit))
                              errors)))))))))
              (setq limit (run-at-time neuron-council-doctor--program-limit nil #'delete-process process))
              (list (neuron-council-doctor--ok "program" "is being asked")))
          (error (list (neuron-council-doctor--check "program" "error" (error-message-string problem)
                                                     :cure (neuron-council-program-install-command)))))))))

(defun neuron-council-doctor--ask-pythons ()
  "Ask the Pythons there are, and look again when one has answered."
  (let ((buffer (current-buffer)) (turn neuron-council-doctor--turn))
    (dolist (program (neuron-council-python-programs))
      (neuron-council-python-ask program (lambda (_) (neuron-council-doctor--answered buffer turn nil nil))))))

;;;; The buffer

(defface neuron-council-doctor-area '((t :inherit bold))
  "The heading of an area of the doctor's checks."
  :group 'neuron-council-faces
  :package-version '(neuron-council . "0.1.0"))

(defconst neuron-council-doctor--areas
  '(("Emacs" . neuron-council-doctor--emacs)
    ("Package" . neuron-council-doctor--package)
    ("Options" . neuron-council-doctor--options)
    ("Program" . neuron-council-doctor--program)
    ("Server" . neuron-council-doctor--server)
    ("Home" . neuron-council-doctor--home)
    ("Memories" . neuron-council-doctor--memories))
  "Alist from areas to functions that return their checks at once.")

(defun neuron-council-doctor--areas-checks ()
  "Return all that is known: lists of an area and its checks."
  (let ((areas nil))
    (pcase-dolist (`(,area . ,function) neuron-council-doctor--areas)
      (push (cons area
                  (condition-case problem
                      (funcall function)
                    (error (list (neuron-council-doctor--check
                                  area "error" (concat "cannot be looked at: " (neuron-council-errors-text problem))
                                  :cure "Restart Emacs; if it stays, report it with this text")))))
            areas))
    (let ((health (alist-get 'health neuron-council-doctor--answers)))
      (when health (push (cons "Health of the server" health) areas)))
    (dolist (check (alist-get 'program neuron-council-doctor--answers))
      (let ((area (concat "The program: " (or (plist-get check :area) "doctor"))))
        (unless (equal area (caar areas))
          (push (list area) areas))
        (setcdr (car areas) (append (cdar areas) (list check)))))
    (nreverse areas)))

(defun neuron-council-doctor--plain (text)
  "Return TEXT, maybe a stranger's, as it can be shown and given away.
The user's folder is written ~, and a URL loses its password."
  (let ((home (expand-file-name "~/"))
        (plain (neuron-council-text-plain (format "%s" text))))
    (replace-regexp-in-string
     "://[^/@ ]*@" "://" (if (equal home "/") plain (replace-regexp-in-string (regexp-quote home) "~/" plain t t)))))

(defun neuron-council-doctor--insert-button (label action)
  "Insert a button LABEL that calls ACTION, then looks again."
  (insert " ")
  (insert-text-button (format "[%s]" label) 'follow-link t
                      'action (lambda (_)
                                (let ((buffer (current-buffer)))
                                  (funcall action)
                                  (when (buffer-live-p buffer)
                                    (with-current-buffer buffer (neuron-council-doctor--look)))))))

(defun neuron-council-doctor--insert (area check)
  "Insert CHECK, one of AREA."
  (let ((start (point))
        (state (plist-get check :state)))
    (insert "  " (pcase state
                   ("ok" (propertize "ok     " 'font-lock-face 'success))
                   ("warning" (propertize "warning" 'font-lock-face 'warning))
                   (_ (propertize "ERROR  " 'font-lock-face 'error)))
            "  " (neuron-council-doctor--plain (plist-get check :name))
            ": " (neuron-council-doctor--plain (plist-get check :says)) "\n")
    (when (plist-get check :cure)
      (insert "           -> " (neuron-council-doctor--plain (plist-get check :cure)))
      (when (plist-get check :command)
        (neuron-council-doctor--insert-button (format "M-x %s" (plist-get check :command))
                                              (lambda () (call-interactively (plist-get check :command)))))
      (when (plist-get check :mend)
        (neuron-council-doctor--insert-button (plist-get check :does) (plist-get check :mend)))
      (insert "\n"))
    (unless (equal state "ok")
      (put-text-property start (1+ start) 'neuron-council-doctor-problem t))
    (put-text-property start (1+ start) 'neuron-council-doctor-anchor (list area (plist-get check :name)))
    (put-text-property start (point) 'wrap-prefix "             ")))

(defun neuron-council-doctor--count (areas state)
  "Return how many checks of AREAS are in STATE, \"error\" or \"warning\"."
  (let ((count 0))
    (dolist (area areas)
      (dolist (check (cdr area))
        (when (equal state (plist-get check :state)) (setq count (1+ count)))))
    count))

(defun neuron-council-doctor--draw ()
  "Draw the current buffer, which shows all that is known."
  (let* ((inhibit-read-only t)
         (areas (neuron-council-doctor--areas-checks))
         (errors (neuron-council-doctor--count areas "error"))
         (warnings (neuron-council-doctor--count areas "warning")))
    (erase-buffer)
    (insert (propertize "Neuron Council: what stands and what is to be mended"
                        'font-lock-face 'neuron-council-doctor-area)
            "\n"
            (pcase errors (0 "Nothing to mend") (1 "1 thing to mend") (_ (format "%d things to mend" errors)))
            (pcase warnings (0 "") (1 ", 1 warning") (_ (format ", %d warnings" warnings)))
            ".\n")
    (pcase-dolist (`(,area . ,checks) areas)
      (insert "\n" (propertize (neuron-council-doctor--plain area) 'font-lock-face 'neuron-council-doctor-area
                               'neuron-council-doctor-anchor (list area))
              "\n")
      (dolist (check checks)
        (neuron-council-doctor--insert area check)))
    (set-buffer-modified-p nil)))

(defun neuron-council-doctor--render ()
  "Show all that is known in the current buffer; a reader stays at a check."
  (neuron-council-place-keep 'neuron-council-doctor-anchor #'neuron-council-doctor--draw))

(defun neuron-council-doctor--look (&rest _)
  "Look at everything anew, in the current buffer."
  (setq neuron-council-doctor--turn (1+ neuron-council-doctor--turn)
        neuron-council-doctor--answers nil)
  (neuron-council-doctor--ask-pythons)
  (setf (alist-get 'health neuron-council-doctor--answers) (neuron-council-doctor--ask-health)
        (alist-get 'program neuron-council-doctor--answers) (neuron-council-doctor--ask-program))
  (neuron-council-doctor--render))

(defun neuron-council-doctor--check-mode ()
  "Signal a `user-error' where the current buffer is not the doctor's."
  (unless (derived-mode-p 'neuron-council-doctor-mode)
    (user-error "This is for the doctor's buffer: M-x neuron-council-doctor shows it")))

(defun neuron-council-doctor-next (&optional count)
  "Go to the next problem, the COUNTth; backward where COUNT is negative."
  (interactive "p" neuron-council-doctor-mode)
  (neuron-council-doctor--check-mode)
  (let* ((count (or count 1))
         (step (if (< count 0) -1 1)))
    (dotimes (_ (abs count))
      (let ((start (point)))
        (beginning-of-line)
        (while (and (zerop (forward-line step))
                    (not (eobp))
                    (not (get-text-property (point) 'neuron-council-doctor-problem))))
        (unless (get-text-property (point) 'neuron-council-doctor-problem)
          (goto-char start)
          (user-error "No further problem"))))))

(defun neuron-council-doctor-previous (&optional count)
  "Go to the previous problem, the COUNTth."
  (interactive "p" neuron-council-doctor-mode)
  (neuron-council-doctor-next (- (or count 1))))

(defun neuron-council-doctor-return ()
  "Go to the button that mends the check at point."
  (interactive nil neuron-council-doctor-mode)
  (neuron-council-doctor--check-mode)
  (let* ((start (save-excursion
                  (end-of-line)
                  (previous-single-char-property-change (point) 'neuron-council-doctor-anchor)))
         (button (save-excursion
                   (goto-char (max (1- start) (point-min)))
                   (next-button (point))))
         (end (next-single-property-change (min (1+ start) (point-max)) 'neuron-council-doctor-anchor nil (point-max))))
    (unless (and button (< (button-start button) end))
      (user-error "%s" (substitute-command-keys "No button mends this; \\<neuron-council-doctor-mode-map>\
\\[neuron-council-doctor-next] goes to the next problem, \\[forward-button] to the next button")))
    (goto-char (button-start button))
    (message "%s" (substitute-command-keys "\\[push-button] presses the button"))))

(defun neuron-council-doctor-copy ()
  "Copy what the doctor says, as text, for a report of a fault."
  (interactive nil neuron-council-doctor-mode)
  (neuron-council-doctor--check-mode)
  (kill-new (buffer-substring-no-properties (point-min) (point-max)))
  (message "Copied; it holds names of files, but no claim"))

(defvar neuron-council-doctor-mode-map
  (let ((map (make-sparse-keymap)))
    (set-keymap-parent map (make-composed-keymap button-buffer-map special-mode-map))
    (define-key map "\C-m" #'neuron-council-doctor-return)
    (define-key map "n" #'neuron-council-doctor-next)
    (define-key map "p" #'neuron-council-doctor-previous)
    (define-key map "w" #'neuron-council-doctor-copy)
    (define-key map "L" #'neuron-council-show-log)
    map)
  "Keys of `neuron-council-doctor-mode'.")

(define-derived-mode neuron-council-doctor-mode special-mode "Council-Doctor"
  "Mode of the buffer that says what stands and what is to be mended.

\\{neuron-council-doctor-mode-map}"
  :interactive nil
  (buffer-disable-undo)
  (setq-local revert-buffer-function #'neuron-council-doctor--look
              word-wrap t
              truncate-lines nil
              header-line-format (substitute-command-keys "\\<neuron-council-doctor-mode-map>\
\\[revert-buffer] look again   \\[neuron-council-doctor-next] \\[neuron-council-doctor-previous] problems   \
\\[forward-button] RET mend   \\[neuron-council-doctor-copy] copy   \
\\[neuron-council-show-log] log   \\[quit-window] leave")
              imenu-generic-expression '((nil "^\\([^ \n].*\\)$" 1))))

;;;###autoload
(defun neuron-council-doctor ()
  "Show what stands and what is to be mended, and how.
The checks of Emacs, of the package, of where the server is looked for and
of files are there at once; the program and a running server are asked in
the background.  Nothing that is shown holds a claim."
  (interactive)
  (let ((buffer (get-buffer-create "*neuron-council doctor*")))
    (with-current-buffer buffer
      (unless (derived-mode-p 'neuron-council-doctor-mode)
        (neuron-council-doctor-mode))
      (setq default-directory (neuron-council-program-home))
      (neuron-council-doctor--look))
    (pop-to-buffer buffer)))

(provide 'neuron-council-doctor)
;;; neuron-council-doctor.el ends here
