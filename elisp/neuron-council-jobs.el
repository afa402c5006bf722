;;; neuron-council-jobs.el --- See and cancel what the council is judging  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; Progress goes to the echo area while Emacs waits for a verdict, else to the mode line.

;;; Code:

(require 'neuron-council-rpc)

(defcustom neuron-council-show-progress t
  "Whether votes are shown as they come in, in the echo area or the mode line."
  :type 'boolean
  :safe #'booleanp
  :group 'neuron-council-list
  :package-version '(neuron-council . "0.1.0"))

(defface neuron-council-progress '((t :inherit mode-line-emphasis))
  "The council's progress in the mode line."
  :group 'neuron-council-faces
  :package-version '(neuron-council . "0.1.0"))

(defvar neuron-council-jobs--mode-line nil
  "What the mode line shows of jobs that nobody waits for, nil without such.")
(put 'neuron-council-jobs--mode-line 'risky-local-variable t)

(defvar neuron-council-jobs--echoed nil
  "The text that was put into the echo area last.")

(defvar neuron-council-jobs--mode-line-map
  (let ((map (make-sparse-keymap)))
    (define-key map [mode-line mouse-1] #'neuron-council-cancel)
    map)
  "Keys of the progress in the mode line.")

(defun neuron-council-jobs-words (job)
  "Return what JOB has got to: its last vote, else a word for its state.
It fits into a line, whatever a server says."
  (truncate-string-to-width (or (neuron-council-job-note job)
                                (pcase (neuron-council-job-state job)
                                  ('made "waiting")
                                  ('queued "starting")
                                  ('sent "convening")
                                  (_ "done")))
                            60 nil nil t))

(defun neuron-council-jobs--show ()
  "Show what every job has got to."
  (unless (or noninteractive (not neuron-council-show-progress))
    (let ((awaited nil) (others nil))
      (dolist (job neuron-council-rpc-jobs)
        (cond ((neuron-council-job-background job))
              ((neuron-council-job-callback job) (unless (neuron-council-rpc-job-done-p job) (push job others)))
              ((not awaited) (setq awaited job))))
      (neuron-council-jobs-mode-line-set 'neuron-council-jobs--mode-line (neuron-council-jobs--line others))
      (neuron-council-jobs--echo (and awaited (concat "Council: " (neuron-council-jobs-words awaited)))))))

(defun neuron-council-jobs--foremost (jobs)
  "Return the first of JOBS on which a vote has come in, else the first."
  (let ((rest jobs))
    (while (and rest (not (neuron-council-job-note (car rest))))
      (setq rest (cdr rest)))
    (car (or rest jobs))))

(defun neuron-council-jobs--line (jobs)
  "Return the text for JOBS, the oldest first, in the mode line, nil for none."
  (and jobs
       (propertize (format " Council%s: %s" (if (cdr jobs) (format "(%d)" (length jobs)) "")
                           (truncate-string-to-width (neuron-council-jobs-words (neuron-council-jobs--foremost jobs))
                                                     40 nil nil t))
                   'face 'neuron-council-progress
                   'mouse-face 'mode-line-highlight
                   'help-echo "mouse-1: list what the council is judging, to cancel it"
                   'local-map neuron-council-jobs--mode-line-map)))

(defun neuron-council-jobs-mode-line-set (variable line)
  "Set VARIABLE, which the mode line shows from now on, to LINE, nil for nothing."
  (unless (equal-including-properties line (symbol-value variable))
    (set variable line)
    (setq global-mode-string (or global-mode-string '("")))
    (unless (memq variable global-mode-string)
      (setq global-mode-string (append global-mode-string (list variable))))
    (force-mode-line-update t)))

(defun neuron-council-jobs--echo (text)
  "Show TEXT in the echo area and not in its log; take the last one away if nil."
  (unless (equal text neuron-council-jobs--echoed)
    (let ((message-log-max nil))
      (cond (text (message "%s" text))
            ((equal (current-message) neuron-council-jobs--echoed) (message nil))))
    (setq neuron-council-jobs--echoed text)))

(add-hook 'neuron-council-rpc-jobs-hook #'neuron-council-jobs--show)

(defun neuron-council-jobs--choices ()
  "Return an alist from lines to the jobs that a person can cancel, oldest first."
  (let ((choices nil) (number 0))
    (dolist (job (reverse neuron-council-rpc-jobs))
      (unless (or (neuron-council-rpc-job-done-p job) (neuron-council-job-background job))
        (setq number (1+ number))
        (push (cons (format "%d: %s" number (truncate-string-to-width (neuron-council-job-label job) 70 nil nil t))
                    job)
              choices)))
    (nreverse choices)))

(defun neuron-council-jobs--table (choices)
  "Return a completion table of CHOICES that says what each has got to."
  (lambda (string predicate action)
    (if (eq action 'metadata)
        (list 'metadata
              '(category . neuron-council-check)
              (cons 'annotation-function
                    (lambda (line)
                      (let ((job (cdr (assoc line choices))))
                        (and job (concat "  " (neuron-council-jobs-words job)))))))
      (complete-with-action action choices string predicate))))

(defvar neuron-council-cancel-history nil
  "What was cancelled, the newest first.")

(defun neuron-council-jobs--read (&optional ask)
  "Return the job to cancel, read from the user where there are several.
With ASK, it is read where there is but one, too."
  (let ((choices (neuron-council-jobs--choices)))
    (cond ((null choices) (user-error "The council is judging nothing"))
          ((not (or ask (cdr choices))) (cdar choices))
          (t (cdr (assoc (completing-read "Cancel: " (neuron-council-jobs--table choices) nil t nil
                                           'neuron-council-cancel-history)
                          choices))))))

;;;###autoload
(defun neuron-council-cancel (handle)
  "Cancel HANDLE; its models stop, and a memory waiting for it is not stored.
HANDLE is what an asynchronous function of the council returned.  Return
non-nil if it was still running.  Interactively, ask which one where
there are several, and after a click in any case."
  (interactive (list (neuron-council-jobs--read (mouse-event-p last-nonmenu-event))))
  (let* ((job (neuron-council-rpc-find handle))
         (running (and job (not (neuron-council-rpc-job-done-p job)))))
    (when running
      (neuron-council-rpc-cancel job '(neuron-council-cancelled "cancelled")))
    (when (called-interactively-p 'interactive)
      (message (cond (running "Cancelled")
                     (handle "It has ended already")
                     (t "Nothing is cancelled"))))
    running))

(provide 'neuron-council-jobs)
;;; neuron-council-jobs.el ends here
