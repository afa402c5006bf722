;;; neuron-council-bulk.el --- Decide on many verdicts at once  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; The commands of the list that do something to the marked verdicts, else to the one at point: accept, reject, restore,
;; judge again, forget.  It is done to one after the other and without waiting; what failed stays marked, and the last
;; message says why.

;;; Code:

(eval-when-compile (require 'cl-lib))
(require 'neuron-council-list)

;;;; One after the other

(defun neuron-council-bulk--words (done rows failures)
  "Return in words that ROWS are DONE, such as \"accepted\", but for FAILURES.
These are conses of a row and the condition that it failed with.  A claim
is shortened, and the reason, which ends in what mends it, comes last, so
that an echo area has room for all of it."
  (let ((count (length rows)) (failed (length failures))
        (done-first (concat (upcase (substring done 0 1)) (substring done 1)))
        (reason (if failures (concat ": " (neuron-council-errors-text (cdar failures))) ""))
        (claim (neuron-council-row-quote (or (caar failures) (car rows)))))
    (cond
     ((= count 1) (concat (if failures (concat "Not " done) done-first) ": " claim reason))
     ((= failed 0) (format "%s: %d claims" done-first count))
     (t (concat (format "%s: %d of %d claims; still marked " done-first (- count failed) count)
                (if (= failed 1) "is " (format "are %d, the first " failed))
                claim reason)))))

(defun neuron-council-bulk--do (doing done rows function)
  "Do something to ROWS, one after the other, without waiting.
DOING says what in the header line, DONE in the message at the end, such
as \"accepting\" and \"accepted\".  FUNCTION is called with the row and a
function, which it must call once and later with nil or the condition that
it failed with; a cancellation is one for all rows that are left."
  (neuron-council-list-check-idle)
  (let ((buffer (current-buffer)) (left rows) (failures nil))
    (cl-labels ((in-list (function &rest arguments)
                  (when (buffer-live-p buffer)
                    (with-current-buffer buffer (apply function arguments))))
                (next ()
                  (if left
                      (let ((row (car left)))
                        (in-list #'neuron-council-list-work
                                 (format "%s %d of %d …" doing (- (length rows) (length left) -1) (length rows)))
                        (if (stringp (neuron-council-row-key row))
                            (funcall function row #'answered)
                          (run-at-time 0 nil #'answered
                                       '(user-error "The ledger cannot have it, it has no id: verify it anew"))))
                    (in-list #'neuron-council-list-work nil)
                    ;; What has changed need not be new.
                    (in-list #'neuron-council-list-ask 'fresh)
                    (let ((message-log-max (and failures message-log-max)))
                      (message "%s" (neuron-council-bulk--words done rows (reverse failures))))))
                (answered (condition)
                  (let ((stopped (eq (car condition) 'neuron-council-cancelled)))
                    (if (null condition)
                        (in-list #'neuron-council-table-unmark (neuron-council-row-key (car left)))
                      (dolist (row (if stopped left (list (car left))))
                        (push (cons row condition) failures)))
                    (setq left (unless stopped (cdr left)))
                    (next))))
      (next))))

(defun neuron-council-bulk--confirm (what rows &optional always)
  "Ask once whether to WHAT with ROWS, where these are several or ALWAYS is set.
Signal a `user-error' for no."
  (when (or always (cdr rows))
    (unless (y-or-n-p (format "%s %s? " what (if (cdr rows) (format "%d verdicts" (length rows)) "this verdict")))
      (user-error "Nothing was done"))))

(defun neuron-council-bulk--review (doing done decision rows note)
  "Record DECISION with NOTE on the verdicts of ROWS; DOING and DONE say so."
  (neuron-council-bulk--do
   doing done rows
   (lambda (row callback)
     (neuron-council-review-submit (neuron-council-row-key row) decision note
                                   (lambda (_ condition) (funcall callback condition))))))

;;;; Deciding

(defun neuron-council-bulk--decidable (rows)
  "Return ROWS; signal a `user-error' where a person can decide on none of them."
  (let ((possible nil))
    (dolist (row rows)
      (when (or (neuron-council-row-held row)
                (neuron-council-review-possible-p (neuron-council-row-verdict row)))
        (setq possible t)))
    (unless possible
      (user-error "Only a verdict that is parked, flagged or split awaits a decision"))
    rows))

(defun neuron-council-list-accept (rows &optional note)
  "Accept the marked verdicts, else the one at point: ROWS.
What that means is said of `neuron-council-accept'.  Several are asked
about once.  With a prefix argument, ask for NOTE."
  (interactive
   (let ((rows (neuron-council-bulk--decidable (neuron-council-list-chosen))))
     (neuron-council-bulk--confirm "Accept" rows)
     (list rows (neuron-council-review-read-note)))
   neuron-council-list-mode)
  (neuron-council-bulk--review "accepting" "accepted" "accept" rows note))

(defun neuron-council-list-reject (rows &optional note)
  "Reject the marked verdicts, else the one at point: ROWS.
What that means is said of `neuron-council-reject'.  Several, and one
with a held memory, which is dropped for good, are asked about once.
With a prefix argument, ask for NOTE."
  (interactive
   (let* ((rows (neuron-council-bulk--decidable (neuron-council-list-chosen)))
          (held (delq nil (mapcar #'neuron-council-row-held rows))))
     (neuron-council-bulk--confirm (if held "Drop what is held for, and reject" "Reject") rows held)
     (list rows (neuron-council-review-read-note)))
   neuron-council-list-mode)
  (neuron-council-bulk--review "rejecting" "rejected" "reject" rows note))

(defun neuron-council-list-restore (rows &optional note)
  "Store after all what a policy kept out: the marked ROWS, else the one at point.
Several are asked about once.  With a prefix argument, ask for NOTE."
  (interactive
   (let ((rows (neuron-council-list-chosen)))
     (dolist (row rows)
       (unless (memq (plist-get (car (neuron-council-row-held row)) :reason) '(rejected quarantined))
         (user-error "Only what a policy kept out or put into quarantine can be restored")))
     (neuron-council-bulk--confirm "Restore" rows)
     (list rows (neuron-council-review-read-note)))
   neuron-council-list-mode)
  (neuron-council-bulk--review "restoring" "restored" "accept" rows note))

;;;; Judging again

(defun neuron-council-bulk--fresh (claim context callback)
  "Have CLAIM judged against CONTEXT, past the cache; CALLBACK gets the condition."
  (neuron-council-verify-submit
   claim context (neuron-council-verify-new-id)
   (lambda (verdict condition)
     (unless (eq (car condition) 'neuron-council-cancelled)
       (neuron-council-verdict-add verdict :context context))
     (funcall callback condition))
   nil
   (lambda (job)
     (setf (neuron-council-job-params job) (append (neuron-council-job-params job) (list :fresh t))))))

(defun neuron-council-bulk--fresh-of (verdict callback)
  "Have the claim of VERDICT judged again against its context, then call CALLBACK.
VERDICT is what the server knows or what is at hand."
  (let ((claim (plist-get verdict :claim))
        (context (plist-get verdict :context)))
    (if (and (stringp claim) (plist-member verdict :context))
        (neuron-council-bulk--fresh claim (and (stringp context) context) callback)
      (run-at-time 0 nil callback
                   '(neuron-council-error "What the claim was judged against is not known: verify it anew")))))

(defun neuron-council-bulk--judge-again (row callback)
  "Have the claim of ROW judged again, then call CALLBACK with the condition.
One that nobody could judge is put before those that wait for that."
  (let* ((verdict (neuron-council-row-verdict row))
         (id (neuron-council-row-key row))
         (here (neuron-council-verdict-find id)))
    (cond
     ((plist-member here :context) (neuron-council-bulk--fresh-of here callback))
     ((and (equal (plist-get verdict :status) "unavailable")
           (not (plist-get verdict :error)) (not (neuron-council-verdict-superseded-p verdict)))
      (neuron-council-review-reevaluate-submit (list id) (lambda (_ condition) (funcall callback condition))))
     (t
      (neuron-council-rpc-submit
       (neuron-council-rpc-make-job :council/show (list :id id) "looking it up"
                                    (lambda (answer condition)
                                      (if condition
                                          (funcall callback condition)
                                        (neuron-council-bulk--fresh-of answer callback)))))))))

(defun neuron-council-list-reverify (rows)
  "Have the claims of the marked ROWS judged again, else that at point.
Each is put before the council with its context, past the cache; one that
nobody could judge is judged again under its own id."
  (interactive
   (let ((rows (neuron-council-list-chosen)))
     (neuron-council-bulk--confirm "Judge again the claims of" rows)
     (list rows))
   neuron-council-list-mode)
  (neuron-council-bulk--do "judging again" "judged again" rows #'neuron-council-bulk--judge-again))

;;;; Forgetting

(defun neuron-council-list-execute (rows)
  "Forget the claims that are flagged for it: those of ROWS.
Ask first.  Their verdicts and what is kept with them go too; memories
that were stored do not."
  (interactive
   (let ((rows (or (neuron-council-list-marked ?D) (user-error "No claim is flagged to be forgotten"))))
     (unless (yes-or-no-p (format "Forget %s, with all verdicts and what is kept with them? "
                                  (if (cdr rows) (format "%d claims" (length rows)) "this claim")))
       (user-error "Nothing was forgotten"))
     (list rows))
   neuron-council-list-mode)
  (neuron-council-bulk--do "forgetting" "forgotten" rows
                           (lambda (row callback)
                             (neuron-council-review-forget-submit
                              (neuron-council-row-key row) (plist-get (neuron-council-row-verdict row) :claim)
                              (lambda (_ condition) (funcall callback condition))))))

(provide 'neuron-council-bulk)
;;; neuron-council-bulk.el ends here
