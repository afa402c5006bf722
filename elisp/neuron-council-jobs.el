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
  :group 'neuron-council)

(defface neuron-council-progress '((t :inherit mode-line-emphasis))
  "The council's progress in the mode line."
  :group 'neuron-council)

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

(defun neuron-council-jobs--words (job)
  "Return what is to be said of JOB."
  (or (neuron-council-job-note job) "convening"))

(defun neuron-council-jobs--show ()
  "Show what every job has got to."
  (unless (or noninteractive (not neuron-council-show-progress))
    (let ((awaited nil) (others nil))
      (dolist (job neuron-council-rpc-jobs)
        (cond ((neuron-council-job-background job))
              ((neuron-council-job-callback job) (unless (neuron-council-rpc-job-done-p job) (push job others)))
              ((not awaited) (setq awaited job))))
      (neuron-council-jobs--show-mode-line others)
      (neuron-council-jobs--echo (and awaited (concat "Council: " (neuron-council-jobs--words awaited)))))))

(defun neuron-council-jobs--show-mode-line (jobs)
  "Show JOBS, the oldest first, in the mode line."
  (setq neuron-council-jobs--mode-line
        (and jobs
             (propertize (format " Council%s: %s" (if (cdr jobs) (format " (%d)" (length jobs)) "")
                                 (truncate-string-to-width (neuron-council-jobs--words (car jobs)) 40 nil nil t))
                         'face 'neuron-council-progress
                         'mouse-face 'mode-line-highlight
                         'help-echo "mouse-1: cancel"
                         'local-map neuron-council-jobs--mode-line-map)))
  (when jobs
    (setq global-mode-string (or global-mode-string '("")))
    (unless (memq 'neuron-council-jobs--mode-line global-mode-string)
      (setq global-mode-string (append global-mode-string '(neuron-council-jobs--mode-line)))))
  (force-mode-line-update t))

(defun neuron-council-jobs--echo (text)
  "Show TEXT in the echo area and not in its log; take the last one away if nil."
  (unless (equal text neuron-council-jobs--echoed)
    (let ((message-log-max nil))
      (cond (text (message "%s" text))
            ((equal (current-message) neuron-council-jobs--echoed) (message nil))))
    (setq neuron-council-jobs--echoed text)))

(add-hook 'neuron-council-rpc-jobs-hook #'neuron-council-jobs--show)

(defun neuron-council-jobs--read ()
  "Return the job to cancel, read from the user where there are several."
  (let ((choices nil))
    (dolist (job neuron-council-rpc-jobs)
      (unless (or (neuron-council-rpc-job-done-p job) (neuron-council-job-background job))
        (push (cons (format "%d: %s" (1+ (length choices))
                            (truncate-string-to-width (neuron-council-job-label job) 70 nil nil t))
                    job)
              choices)))
    (cond ((null choices) (user-error "The council is judging nothing"))
          ((null (cdr choices)) (cdar choices))
          (t (cdr (assoc (completing-read "Cancel: " (reverse choices) nil t) choices))))))

;;;###autoload
(defun neuron-council-cancel (job)
  "Cancel JOB; its models stop, and a memory waiting for it is not stored.
JOB is what an asynchronous function of the council returned.  Return
non-nil if it was still running.  Interactively, ask which one where
there are several."
  (interactive (list (neuron-council-jobs--read)))
  (unless (neuron-council-rpc-job-done-p job)
    (neuron-council-rpc-cancel job '(neuron-council-cancelled "cancelled"))
    (when (called-interactively-p 'interactive)
      (message "Cancelled"))
    t))

(provide 'neuron-council-jobs)
;;; neuron-council-jobs.el ends here
