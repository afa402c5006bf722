;;; neuron-council-menu.el --- Everything the council can do, in a menu  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; A transient with all commands and the state they act on.  Nothing else of the package loads transient.el.

;;; Code:

(require 'transient)
(require 'neuron-council-rpc)
(require 'neuron-council-store)
(require 'neuron-council-verdict)

(eval-and-compile
  (pcase-dolist (`(,file . ,commands)
                 '(("neuron-council" neuron-council-verify)
                   ("neuron-council-capture" neuron-council-remember)
                   ("neuron-council-claims" neuron-council-verify-buffer)
                   ("neuron-council-doctor" neuron-council-doctor)
                   ("neuron-council-guard" neuron-council-guard-mode)
                   ("neuron-council-install" neuron-council-install-server neuron-council-upgrade-server
                    neuron-council-uninstall-server)
                   ("neuron-council-jobs" neuron-council-cancel)
                   ("neuron-council-list" neuron-council)
                   ("neuron-council-log" neuron-council-show-log)
                   ("neuron-council-org" neuron-council-org-capture-mode)
                   ("neuron-council-pending" neuron-council-resume-pending)
                   ("neuron-council-replay" neuron-council-replay)
                   ("neuron-council-region" neuron-council-verify-region neuron-council-show-verdict
                    neuron-council-clear-marks)
                   ("neuron-council-review" neuron-council-accept neuron-council-reject neuron-council-restore
                    neuron-council-forget neuron-council-reevaluate neuron-council-show)))
    (dolist (command commands)
      (autoload command file nil t))))

;;;; State

(defconst neuron-council-menu--patience 0.2
  "Seconds that the menu waits for the server to say how it is.")

(defvar neuron-council-menu--health nil
  "The last answer of council/health, nil where there is none.")

(defun neuron-council-menu--look ()
  "Ask a server that is ready how it is, and wait a moment for the answer.
Input ends the wait."
  (setq neuron-council-menu--health nil)
  (when (neuron-council-process-ready-p)
    (let* ((answered nil)
           (deadline (+ (float-time) neuron-council-menu--patience))
           (job (neuron-council-rpc-make-job
                 :council/health nil "health"
                 (lambda (answer _)
                   (setq answered t
                         neuron-council-menu--health (and (proper-list-p answer) answer))))))
      (setf (neuron-council-job-background job) t)
      (neuron-council-rpc-submit job)
      (while (and (not answered) (< (float-time) deadline) (not (input-pending-p)))
        (accept-process-output nil 0.01)))))

(defun neuron-council-menu--rows (key)
  "Return the rows that the server's health has under KEY, those that are any."
  (let ((value (plist-get neuron-council-menu--health key)) (rows nil))
    (dolist (row (and (proper-list-p value) value) (nreverse rows))
      (when (and (consp row) (proper-list-p row)) (push row rows)))))

(defun neuron-council-menu--backends ()
  "Return in words how many backends are up, nil where that is not known."
  (let ((backends (neuron-council-menu--rows :backends)) (up 0))
    (dolist (backend backends)
      (when (plist-get backend :reachable)
        (setq up (1+ up))))
    (and backends
         (propertize (format "%d/%d backends up" up (length backends))
                     'face (if (= up (length backends)) 'success 'error)))))

(defun neuron-council-menu--missing ()
  "Return in words which models are not installed, nil for none."
  (let ((missing nil))
    (dolist (member (neuron-council-menu--rows :members))
      (when (and (plist-member member :installed) (null (plist-get member :installed)))
        (push (neuron-council-verdict-plain (plist-get member :model)) missing)))
    ;; Null is also what cannot be known.
    (and missing (neuron-council-menu--all-up-p)
         (propertize (concat "missing: " (mapconcat #'identity (nreverse missing) ", ")) 'face 'error))))

(defun neuron-council-menu--all-up-p ()
  "Return non-nil when every backend is up."
  (let ((up t))
    (dolist (backend (neuron-council-menu--rows :backends) up)
      (unless (plist-get backend :reachable) (setq up nil)))))

(defun neuron-council-menu--server ()
  "Return the state of the server in words."
  (let* ((status (neuron-council-rpc-status))
         (deaths (plist-get (plist-get status :deaths) :count)))
    (pcase (plist-get status :state)
      ('ready (propertize (format "server %s runs" (neuron-council-verdict-plain (plist-get status :version)))
                          'face 'success))
      ('starting "server is starting")
      (_ (if deaths
             (propertize (format "server failed %s in a row" (if (= deaths 1) "once" (format "%d times" deaths)))
                         'face 'error)
           "server is not running")))))

(defun neuron-council-menu--pending ()
  "Return how many claims are still to be judged, nil where that is not known."
  (let ((pending (plist-get neuron-council-menu--health :pending)))
    (and (natnump pending) pending)))

(defun neuron-council-menu--running ()
  "Return how many claims are being judged for this Emacs."
  (plist-get (neuron-council-rpc-status) :waiting))

(defun neuron-council-menu--title ()
  "Return the title of the menu: how the council is."
  (let ((pending (neuron-council-menu--pending)))
    (concat "Neuron Council: "
            (mapconcat #'identity
                       (delq nil (list (neuron-council-menu--server)
                                       (neuron-council-menu--backends)
                                       (and pending (> pending 0) (format "%d pending" pending))
                                       (neuron-council-menu--missing)))
                       ", ")
            "\n")))

(defun neuron-council-menu--with (text value)
  "Return TEXT with VALUE, in words, behind it."
  (concat text " " (propertize value 'face 'transient-value)))

(defun neuron-council-menu--counted (text count)
  "Return TEXT with COUNT behind it, where that is a number above zero."
  (if (and count (> count 0))
      (neuron-council-menu--with text (format "(%d)" count))
    text))

;;;; Options

(defun neuron-council-menu--choices (option)
  "Return the values that OPTION can be set to here, an alist from them to words."
  (let ((type (get option 'custom-type)) (choices nil))
    (if (eq type 'boolean)
        '((nil . "off") (t . "on"))
      (dolist (choice (cdr type) (nreverse choices))
        (when (eq (car-safe choice) 'const)
          (push (cons (car (last choice)) (plist-get (cdr choice) :tag)) choices))))))

(defun neuron-council-menu--describe (text option)
  "Return TEXT with the value of OPTION behind it; without one it is off."
  (let ((value (and (boundp option) (symbol-value option))))
    (neuron-council-menu--with
     text (cond ((cdr (assq value (neuron-council-menu--choices option))))
                (value (format "%S" value))
                (t "off")))))

(defun neuron-council-menu--cycle (option)
  "Set OPTION to the next of its values, for this session."
  (let* ((values (mapcar #'car (neuron-council-menu--choices option)))
         (value (or (cadr (memq (symbol-value option) values)) (car values))))
    (when (and (eq value 'quarantine) (null neuron-council-quarantine-function))
      ;; It would do what `tag' does.
      (setq value (or (cadr (memq value values)) (car values))))
    (customize-set-variable option value)))

(defmacro neuron-council-menu--define-option (command text option library docstring)
  "Define COMMAND, with DOCSTRING, which gives OPTION of LIBRARY its next value.
OPTION is of a few values, a mode being one of two.  TEXT and the value
stand in the menu."
  (declare (indent 4))
  `(transient-define-suffix ,command ()
     ,docstring
     :transient t
     :description (lambda () (neuron-council-menu--describe ,text ',option))
     (interactive)
     (require ',library)
     (neuron-council-menu--cycle ',option)))

(neuron-council-menu--define-option neuron-council-menu-flagged
    "flagged:" neuron-council-flagged-policy neuron-council-store
  "Choose what becomes of a flagged memory, for this session.")

(neuron-council-menu--define-option neuron-council-menu-parked
    "parked:" neuron-council-parked-policy neuron-council-store
  "Choose what becomes of a memory that is left to a person, for this session.")

(neuron-council-menu--define-option neuron-council-menu-guard
    "guard" neuron-council-guard-mode neuron-council-guard
  "Turn the guard of the store function on or off, for this session.")

(neuron-council-menu--define-option neuron-council-menu-guard-waits
    "the caller goes on meanwhile" neuron-council-guard-asynchronous neuron-council-guard
  "Choose whether the guard's caller goes on or waits for the verdict, for this session.")

(neuron-council-menu--define-option neuron-council-menu-org
    "check Org captures" neuron-council-org-capture-mode neuron-council-org
  "Turn the check of entries that are captured with Org on or off, for this session.")

(transient-define-suffix neuron-council-menu-options ()
  "Customize all options."
  :description "all options"
  (interactive)
  (customize-group 'neuron-council))

;;;; The menu

;;;###autoload (autoload 'neuron-council-menu "neuron-council-menu" nil t)
(transient-define-prefix neuron-council-menu ()
  "Everything the council can do, and how it is."
  [:description neuron-council-menu--title
   ["Verify"
    ("v" "a claim" neuron-council-verify)
    ("r" "region or sentence" neuron-council-verify-region)
    ("b" "the buffer" neuron-council-verify-buffer)
    ("c" "clear marks" neuron-council-clear-marks)
    ("k" neuron-council-cancel
     :description (lambda () (neuron-council-menu--counted "cancel" (neuron-council-menu--running))))
    ("R" "all evidence again" neuron-council-replay)]
   ["Review"
    ("a" "accept" neuron-council-accept)
    ("x" "reject" neuron-council-reject)
    ("u" "restore" neuron-council-restore)
    ("f" "forget" neuron-council-forget)
    ("e" neuron-council-reevaluate
     :description (lambda () (neuron-council-menu--counted "judge pending again" (neuron-council-menu--pending))))]
   ["Look"
    ("l" "all verdicts" neuron-council)
    ("s" "verdict at point" neuron-council-show-verdict)
    ("i" "any verdict" neuron-council-show)
    ("L" "log" neuron-council-show-log)
    ("d" "doctor" neuron-council-doctor)]]
  [["Memory policy"
    ("t" neuron-council-menu-guard)
    ("W" neuron-council-menu-guard-waits)
    ("F" neuron-council-menu-flagged)
    ("P" neuron-council-menu-parked)
    ("o" neuron-council-menu-org)
    ("w" "remember a claim" neuron-council-remember)
    ("S" "store what waits" neuron-council-resume-pending)]
   ["Server"
    ("g" "restart" neuron-council-restart)
    ("q" "stop" neuron-council-stop)
    ("I" "install" neuron-council-install-server)
    ("U" "upgrade" neuron-council-upgrade-server)
    ("D" "uninstall" neuron-council-uninstall-server)
    ("O" neuron-council-menu-options)]]
  (interactive)
  (neuron-council-menu--look)
  (transient-setup 'neuron-council-menu))

(provide 'neuron-council-menu)
;;; neuron-council-menu.el ends here
