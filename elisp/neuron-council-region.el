;;; neuron-council-region.el --- Judge the text in the region  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; The text that is judged is marked at once, its verdict is shown beside it and in the buffer "*neuron-council*".

;;; Code:

(eval-when-compile (require 'subr-x))
(require 'neuron-council-verify)
(require 'neuron-council-jobs)
(require 'neuron-council-report)

(defface neuron-council-pending '((t :inherit shadow :underline t))
  "Text that the council is judging."
  :group 'neuron-council)

(defface neuron-council-judged '((t :underline t))
  "Text that the council has judged; the face of the verdict is added."
  :group 'neuron-council)

(defvar neuron-council-context-history nil
  "The contexts that were typed, the newest first.")

(defvar neuron-council-region--map
  (let ((map (make-sparse-keymap)))
    (define-key map [mouse-1] #'neuron-council-show-verdict)
    map)
  "Keys of the note beside judged text.")

(defun neuron-council-region--overlays (beg end)
  "Return the overlays of the council between BEG and END."
  (let ((found nil))
    (dolist (overlay (overlays-in beg end) found)
      (when (overlay-get overlay 'neuron-council)
        (push overlay found)))))

(defun neuron-council-region--changed (overlay after &rest _)
  "Remove OVERLAY, whose text has changed, AFTER the change."
  (when after (delete-overlay overlay)))

(defun neuron-council-region--mark (beg end)
  "Mark the text between BEG and END as being judged; return the overlay."
  (mapc #'delete-overlay (neuron-council-region--overlays beg end))
  (let ((overlay (make-overlay beg end nil t)))
    (overlay-put overlay 'neuron-council t)
    (overlay-put overlay 'evaporate t)
    (overlay-put overlay 'modification-hooks '(neuron-council-region--changed))
    (neuron-council-region--note overlay "convening" 'neuron-council-pending)
    overlay))

(defun neuron-council-region--note (overlay text face)
  "Show TEXT in FACE beside the text of OVERLAY, if that is still there."
  (when (overlay-buffer overlay)
    (overlay-put overlay 'face (if (eq face 'neuron-council-pending) face (list face 'neuron-council-judged)))
    (overlay-put overlay 'after-string
                 (propertize (format " [council: %s]" text)
                             'face face
                             'cursor t
                             'mouse-face 'highlight
                             'help-echo "mouse-1: show the verdict"
                             'keymap neuron-council-region--map))))

(defun neuron-council-region--judged (overlay verdict condition)
  "Show VERDICT beside the text of OVERLAY and in the buffer of the verdicts.
With a CONDITION it is the unavailable one; cancelled, nothing is shown."
  (if (eq (car condition) 'neuron-council-cancelled)
      (delete-overlay overlay)
    (neuron-council-verdict-add verdict)
    (overlay-put overlay 'neuron-council-id (plist-get verdict :id))
    (neuron-council-region--note overlay (neuron-council-verdict-brief verdict) (neuron-council-verdict-face verdict))
    (unless noninteractive
      (message "Council: %s.  %s" (neuron-council-verdict-brief verdict)
               (neuron-council-text-plain (plist-get verdict :summary))))))

;;;###autoload
(defun neuron-council-verify-region (beg end &optional context)
  "Have the text between BEG and END judged against CONTEXT, and return at once.
With a prefix argument, ask for CONTEXT; else there is none.  The text is
marked, votes are shown as they come in, and the verdict is shown beside
the text and in the buffer \"*neuron-council*\", where
\\[neuron-council-show-verdict] leads.  A change of the text removes the mark.

Return a handle for `neuron-council-cancel'."
  (interactive
   (list (region-beginning) (region-end)
         (and current-prefix-arg (read-string "Context: " nil 'neuron-council-context-history))))
  (let ((claim (buffer-substring-no-properties beg end)))
    (unless (string-match-p "[^[:space:]]" claim)
      (user-error "There is no text to judge in the region"))
    (when (called-interactively-p 'interactive)
      (deactivate-mark))
    (let ((overlay (neuron-council-region--mark beg end)))
      (neuron-council-verify-submit
       claim context (neuron-council-verify-new-id)
       (lambda (verdict condition) (neuron-council-region--judged overlay verdict condition))
       (lambda (job)
         (neuron-council-region--note overlay (neuron-council-jobs--words job) 'neuron-council-pending))))))

;;;###autoload
(defun neuron-council-show-verdict (&optional event)
  "Show the verdict on the text at point or at EVENT, a click, else the newest."
  (interactive (list (and (mouse-event-p last-input-event) last-input-event)))
  (let ((place (and event (event-start event))))
    (neuron-council-report-show
     (with-current-buffer (if place (window-buffer (posn-window place)) (current-buffer))
       (let ((at (or (and place (posn-point place)) (point))))
         (when-let ((overlay (car (neuron-council-region--overlays (max (point-min) (1- at))
                                                                   (min (point-max) (1+ at))))))
           (overlay-get overlay 'neuron-council-id)))))))

;;;###autoload
(defun neuron-council-clear-marks ()
  "Remove the marks of judged text in this buffer; the verdicts stay."
  (interactive)
  (mapc #'delete-overlay (neuron-council-region--overlays (point-min) (point-max))))

(provide 'neuron-council-region)
;;; neuron-council-region.el ends here
