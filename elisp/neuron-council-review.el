;;; neuron-council-review.el --- What a person decides  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; A person decides on a memory that the council's verdict kept from being stored, and on what the ledger remembers.
;; This file alone can review a verdict.  No function that stores what a program proposes may use it.

;;; Code:

(require 'neuron-council-capture)
(require 'neuron-council-report)

(defun neuron-council-review--request (method id note &rest params)
  "Send METHOD with ID and PARAMS, wait for the answer, return it.
NOTE is what a person sees meanwhile."
  (let ((job (neuron-council-rpc-make-job method (append (list :id id) params) note)))
    (setf (neuron-council-job-note job) note)
    (neuron-council-rpc-await job)))

;;;; Choosing

(defun neuron-council-review--label (verdict)
  "Return the claim of VERDICT on one line."
  (truncate-string-to-width (neuron-council-text-plain (or (plist-get verdict :claim) "")) 70 nil nil t))

(defun neuron-council-review--choose (prompt verdicts &optional other)
  "Return an id, chosen among VERDICTS by their claims, with PROMPT.
These are property lists; tags and summary stand beside the claim.  With
OTHER non-nil, an id that is typed will do too."
  (let ((choices nil))
    (dolist (verdict (reverse verdicts))
      (let* ((label (neuron-council-review--label verdict))
             (unique label)
             (count 1))
        (while (assoc unique choices)
          (setq unique (format "%s (%d)" label (setq count (1+ count)))))
        (push (cons unique verdict) choices)))
    (let* ((completion-extra-properties
            (list :annotation-function
                  (lambda (choice)
                    (let ((verdict (cdr (assoc choice choices))))
                      (concat "  " (neuron-council-verdict-brief verdict) "  "
                              (neuron-council-text-plain (or (plist-get verdict :summary) "")))))))
           (choice (completing-read prompt
                                    (lambda (text predicate action)
                                      (if (eq action 'metadata)
                                          '(metadata (category . neuron-council-verdict)
                                                     (display-sort-function . identity))
                                        (complete-with-action action choices text predicate)))
                                    nil (not other)))
           (verdict (cdr (assoc choice choices))))
      (if verdict (plist-get verdict :id) choice))))

(defun neuron-council-review--held (reasons)
  "Return a memory for each verdict that is kept for one of REASONS."
  (let ((found nil) (ids nil))
    (dolist (record (neuron-council-held-records))
      (let ((id (plist-get record :id)))
        (when (and (memq (plist-get record :reason) reasons) (not (member id ids)))
          (push id ids)
          (push record found))))
    (nreverse found)))

(defun neuron-council-review--read (prompt reasons)
  "Return arguments for a decision: an id, read with PROMPT, and a note.
The memories to choose among are those kept for one of REASONS.  The note
is asked for with a prefix argument."
  (let ((records (or (neuron-council-review--held reasons) (user-error "No memory awaits this decision"))))
    (list (neuron-council-review--choose prompt records)
          (and current-prefix-arg (read-string "Note: ")))))

;;;; Deciding

(defun neuron-council-review--record (id decision note)
  "Have the server record DECISION and NOTE on the verdict ID.
Return nil where it is none that a person can review, and signal
`neuron-council-error' where that is not known."
  (condition-case problem
      (progn
        (apply #'neuron-council-review--request :council/review id "recording the decision"
               :decision decision (and note (list :note note)))
        t)
    (neuron-council-error
     (if (or (eq (car problem) 'neuron-council-unknown)
             (and (eq (car problem) 'neuron-council-refused)
                  (string-prefix-p "id:" (neuron-council-errors-text problem))))
         nil
       (signal (car problem)
               (list (concat "nothing was changed: " (neuron-council-errors-text problem))))))))

(defun neuron-council-review--decided (id decision)
  "Say that DECISION on the verdict ID was made before.
Signal a `user-error' where it was not, and cannot be made."
  (let ((made (condition-case nil
                  (plist-get (plist-get (neuron-council-review--request :council/show id "looking it up")
                                        :review)
                             :decision)
                (neuron-council-unknown nil))))
    (if (equal made decision)
        (message "That was done before: the decision on %s is %s" id decision)
      (user-error "No memory is kept under the id %s%s" id
                  (if made (format "; the decision on it is %s" made) "")))
    nil))

(defun neuron-council-review--store (id note)
  "Accept the verdict ID with NOTE, and store the memories that are kept with it.
Return what the store function returned for the newest."
  (let ((records (neuron-council-held-records id))
        (value nil))
    (if (null records)
        (neuron-council-review--decided id "accept")
      (neuron-council-capture-check-store)
      (unless (neuron-council-review--record id "accept" note)
        (message "The ledger cannot record the decision on %s, the memory is stored all the same" id))
      (dolist (record (reverse records) value)
        (setq value (neuron-council-capture-call neuron-council-store-function (plist-get record :store-args)
                                                 (plist-get record :confidence)
                                                 (append (plist-get record :tags) (list "human-accepted"))
                                                 id))
        (neuron-council-held-drop record)))))

;;;###autoload
(defun neuron-council-accept (id &optional note)
  "Store the memory that is held with the parked verdict ID.
The decision is recorded with NOTE beside the verdict; then the memory is
stored by `neuron-council-store-function', with the tag human-accepted.
Return what that returned.  While the server cannot record it, nothing is
changed.  Accepting again does nothing.

Interactively, choose among the memories that are held; with a prefix
argument, ask for NOTE."
  (interactive (neuron-council-review--read "Accept: " '(parked)))
  (neuron-council-review--store id note))

;;;###autoload
(defun neuron-council-restore (id &optional note)
  "Store the memory that a policy rejected or quarantined with the verdict ID.
It is accepted as by `neuron-council-accept', with NOTE; what the
quarantine function did with it is not undone.

Interactively, choose among these memories; with a prefix argument, ask
for NOTE."
  (interactive (neuron-council-review--read "Restore: " '(rejected quarantined)))
  (neuron-council-review--store id note))

;;;###autoload
(defun neuron-council-reject (id &optional note)
  "Do not store the memory that is held with the parked verdict ID.
The decision is recorded with NOTE beside the verdict; then the memory is
kept no longer.  While the server cannot record it, nothing is changed.

Interactively, choose among the memories that are held; with a prefix
argument, ask for NOTE."
  (interactive (neuron-council-review--read "Reject: " '(parked)))
  (let ((records (neuron-council-held-records id)))
    (if (null records)
        (neuron-council-review--decided id "reject")
      (unless (neuron-council-review--record id "reject" note)
        (signal 'neuron-council-error
                (list (format "nothing was changed: the ledger cannot record a decision on %s; \
M-x neuron-council-forget removes the memory" id))))
      (mapc #'neuron-council-held-drop records)
      (message "Rejected"))
    nil))

;;;; The ledger

(defun neuron-council-review--read-any (prompt)
  "Return an id, read with PROMPT, of a verdict that is at hand or any other."
  (neuron-council-review--choose
   prompt (append neuron-council-verdicts (neuron-council-review--held '(parked rejected quarantined)))
   t))

;;;###autoload
(defun neuron-council-show (id)
  "Show the verdict ID of the ledger in the buffer \"*neuron-council*\"."
  (interactive (list (neuron-council-review--read-any "Show (claim or id): ")))
  (neuron-council-verdict-add
   (neuron-council-verdict-check (neuron-council-review--request :council/show id "looking it up")))
  (neuron-council-report-show id))

;;;###autoload
(defun neuron-council-forget (id)
  "Forget the verdict ID, its claim, and what is kept with it.
Every verdict on the same claim is forgotten with it; memories that were
stored are not.  Interactively, ask first."
  (interactive
   (let ((id (neuron-council-review--read-any "Forget (claim or id): ")))
     (if (yes-or-no-p "Forget this claim, its verdicts and what is kept with them? ")
         (list id)
       (user-error "Nothing was forgotten"))))
  (neuron-council-unsent-forget id)
  (neuron-council-files-forget (neuron-council-held-folder) id)
  (neuron-council-verdict-remove id)
  (condition-case problem
      (neuron-council-review--request :council/forget id "forgetting")
    (neuron-council-unknown nil)
    (neuron-council-error
     (signal (car problem)
             (list (format "the ledger may still hold %s, forget it again: %s" id
                           (neuron-council-errors-text problem))))))
  (message "Forgotten"))

(provide 'neuron-council-review)
;;; neuron-council-review.el ends here
