;;; neuron-council-review.el --- What a person decides  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; A person decides on what the council doubted: the decision stands in the ledger beside the verdict, and a memory that
;; was held for it is stored or dropped.  This file alone can review a verdict.  No function that stores what a program
;; proposes may use it.
;;
;; Each decision is one request and what follows from its answer, see `neuron-council-review-submit'; the commands wait
;; for it, the list does not.

;;; Code:

(eval-when-compile (require 'subr-x))
(require 'neuron-council-held)
(require 'neuron-council-pending)
(require 'neuron-council-store)
(require 'neuron-council-verdict)

(declare-function neuron-council-report-show "neuron-council-report" (id-or-verdict))

(defcustom neuron-council-reviewed-functions nil
  "Functions that hear what a person decided on a verdict.
Each is called with ID, DECISION and VERDICT: ID is the :council-id of the
memories it is about, DECISION is \"accept\" or \"reject\", VERDICT a plist
with :claim, :confidence, :tags and, where the ledger has it, :review and
all other fields.  It should find the memory that was stored with ID and
mend what it says of itself: add the tag human-accepted, or take the
memory out.

They run behind the store function, which has stored a held memory with
the tag human-accepted, and again when the decision is made anew.  An
error in one is caught, logged and shown; it undoes nothing."
  :type 'hook
  :options '(neuron-council-org-reviewed)
  :risky t
  :package-version '(neuron-council . "0.1.0")
  :group 'neuron-council-capture)

;;;; Choosing

(defvar neuron-council-note-history nil
  "The notes to decisions that were typed, the newest first.")

(defvar neuron-council-verdict-history nil
  "The claims or ids by which verdicts were chosen, the newest first.")

(defun neuron-council-review-read-note ()
  "Return a note for a decision, read where there is a prefix argument, else nil."
  (and current-prefix-arg (read-string "Note: " nil 'neuron-council-note-history)))

(defun neuron-council-review--label (verdict)
  "Return the claim of VERDICT on one line."
  (truncate-string-to-width (neuron-council-verdict-plain (plist-get verdict :claim)) 70 nil nil t))

(defun neuron-council-review--annotation (verdict)
  "Return what stands beside the claim of VERDICT, on one line."
  (truncate-string-to-width
   (concat "  "
           (pcase (plist-get verdict :reason)
             ('nil "")
             ('parked "memory held, ")
             (reason (format "memory %s, " reason)))
           (neuron-council-verdict-brief verdict) "  " (neuron-council-verdict-plain (plist-get verdict :summary)))
   100 nil nil t))

(defun neuron-council-review--choices (verdicts)
  "Return an alist from the claims of VERDICTS, each told apart, to these.
Of equal claims the first one has the plain name."
  (let ((choices nil))
    (dolist (verdict verdicts (nreverse choices))
      (let* ((label (neuron-council-review--label verdict))
             (unique label)
             (count 1))
        (while (assoc unique choices)
          (setq unique (format "%s (%d)" label (setq count (1+ count)))))
        (push (cons unique verdict) choices)))))

(defun neuron-council-review--typed-id (text verdicts)
  "Return the id that TEXT is, or begins: that of one of VERDICTS.
Signal a `user-error' where it is none."
  (let ((text (downcase (replace-regexp-in-string "[ \t]+" "" text))) (found nil))
    (when (string-match-p "\\`[[:xdigit:]-]\\{4,\\}\\'" text)
      (dolist (verdict verdicts)
        (when (string-prefix-p text (format "%s" (plist-get verdict :id)))
          (push (plist-get verdict :id) found))))
    (cond ((neuron-council-files-id-p text) text)
          ((and found (null (cdr (delete-dups found)))) (car found))
          (t (user-error "%s: choose a claim, or type an id; M-x neuron-council lists what the ledger has"
                         (if (equal text "") "Nothing was chosen"
                           (format "`%s' is no claim at hand and no id"
                                   (truncate-string-to-width text 40 nil nil t))))))))

(defun neuron-council-review--choose (prompt verdicts &optional other)
  "Return an id, chosen among VERDICTS by their claims, with PROMPT.
These are property lists; what is kept, tags and summary stand beside the
claim.  With OTHER non-nil, an id that is typed will do too, of VERDICTS
its first four digits."
  (let* ((choices (neuron-council-review--choices verdicts))
         (completion-extra-properties
          (list :annotation-function
                (lambda (choice) (neuron-council-review--annotation (cdr (assoc choice choices))))))
         (choice (completing-read prompt
                                  (lambda (text predicate action)
                                    (if (eq action 'metadata)
                                        '(metadata (category . neuron-council-verdict)
                                                   (display-sort-function . identity))
                                      (complete-with-action action choices text predicate)))
                                  nil (not other) nil 'neuron-council-verdict-history))
         (verdict (cdr (assoc choice choices))))
    (if verdict (plist-get verdict :id) (neuron-council-review--typed-id choice verdicts))))

(defun neuron-council-review--held (reasons)
  "Return a memory for each verdict that is kept for one of REASONS."
  (let ((found nil) (ids nil))
    (dolist (record (neuron-council-held-records))
      (let ((id (plist-get record :id)))
        (when (and (memq (plist-get record :reason) reasons) (not (member id ids)))
          (push id ids)
          (push record found))))
    (nreverse found)))

(defconst neuron-council-review--tags '("council-parked" "council-flagged" "council-split")
  "Tags of which a verdict needs one to be decided on by a person.")

(defun neuron-council-review-possible-p (verdict)
  "Return non-nil when a person can decide on VERDICT: the council doubted it."
  (let ((possible nil))
    (dolist (tag (neuron-council-verdict-tags verdict) possible)
      (when (member tag neuron-council-review--tags)
        (setq possible t)))))

(defun neuron-council-review--undecided ()
  "Return the verdicts at hand that a person can decide on and has not."
  (let ((found nil))
    (dolist (verdict neuron-council-verdicts (nreverse found))
      (when (and (neuron-council-review-possible-p verdict) (null (plist-get verdict :review)))
        (push verdict found)))))

(defun neuron-council-review--read (prompt reasons &optional others)
  "Return arguments for a decision: an id, read with PROMPT, and a note.
To choose among are the memories kept for one of REASONS, and OTHERS,
which are verdicts; with OTHERS, any id will do too.  The note is asked
for with a prefix argument."
  (let* ((held (neuron-council-review--held reasons))
         (ids (mapcar (lambda (record) (plist-get record :id)) held))
         (choices held))
    (dolist (verdict others)
      (unless (member (plist-get verdict :id) ids)
        (setq choices (append choices (list verdict)))))
    (unless choices
      (user-error "Nothing at hand awaits this decision; M-x neuron-council lists what the ledger has"))
    (list (neuron-council-review--choose prompt choices (and others t))
          (neuron-council-review-read-note))))

;;;; Deciding

(defun neuron-council-review--job (method id note params &optional callback)
  "Return a job, not yet submitted, for METHOD with ID and PARAMS.
NOTE is what a person sees meanwhile; CALLBACK is that of
`neuron-council-rpc-make-job'."
  (let ((job (neuron-council-rpc-make-job method (append (list :id id) params) note callback)))
    (setf (neuron-council-job-note job) note)
    job))

(defun neuron-council-review--decision-job (id decision note &optional callback)
  "Return a job that records DECISION and NOTE on the verdict ID, for CALLBACK.
Signal a `user-error' where the memory could not be stored."
  (when (and (equal decision "accept") (neuron-council-held-records id))
    (neuron-council-store-check))
  (neuron-council-review--job :council/review id "recording the decision"
                              (append (list :decision decision) (and note (list :note note)))
                              callback))

(defun neuron-council-review--unrecorded (id decision condition held)
  "Take CONDITION, which kept DECISION on the verdict ID from being recorded.
HELD says whether a memory is held with it.  Return nil where the memory
is to be stored all the same: the ledger lost what a person can accept.
Else signal why nothing was changed."
  (let ((text (neuron-council-errors-text condition)))
    (cond
     ((not (or (eq (car condition) 'neuron-council-unknown)
               (and (eq (car condition) 'neuron-council-refused) (string-prefix-p "id:" text))))
      (signal (car condition) (list (concat "nothing was changed: " text))))
     ((not held)
      (user-error "Nothing was changed: %s" (replace-regexp-in-string "\\`id: *" "" text)))
     ((equal decision "reject")
      (signal 'neuron-council-error
              (list (format "nothing was changed: the ledger cannot record a decision on %s; \
M-x neuron-council-forget removes the memory" id))))
     (t
      (message "The ledger cannot record the decision on %s, the memory is stored all the same" id)
      nil))))

(defun neuron-council-review--store-one (record id)
  "Store the memory RECORD, held with the verdict ID.
Return a cons of what the store function returned, and of the error that
kept its file from being deleted, if any."
  (let ((inhibited inhibit-quit)
        (inhibit-quit t))
    (cons
     ;; C-g comes too late for what is stored.
     (let ((inhibit-quit inhibited))
       (neuron-council-store-call
        neuron-council-store-function (plist-get record :store-args)
        (list :id id :claim (plist-get record :claim) :confidence (plist-get record :confidence)
              :tags (append (plist-get record :tags) (list "human-accepted")))))
     (condition-case problem
         (progn (neuron-council-held-drop record) nil)
       (error problem)))))

(defun neuron-council-review--store (records id)
  "Store the memories RECORDS, held with the verdict ID, the oldest first.
Return a cons as `neuron-council-review--store-one' does: the value for the
newest, and the last error."
  (let ((value nil) (problem nil))
    (dolist (record (reverse records) (cons value problem))
      (let ((outcome (neuron-council-review--store-one record id)))
        (setq value (car outcome)
              problem (or (cdr outcome) problem))))))

(defun neuron-council-review--fate (decision records)
  "Return notes on what DECISION made of the memories RECORDS, nil for none."
  (and records
       (list :fate (cond ((equal decision "reject") 'dropped)
                         ((eq (plist-get (car records) :reason) 'parked) 'accepted)
                         (t 'restored)))))

(defun neuron-council-review--finish (id decision note answer condition)
  "Do what DECISION with NOTE on the verdict ID means, once the ledger has it.
ANSWER is the server's, CONDITION why there is none.  Return a plist of
:memories, how many were stored or dropped, and :value, what the store
function returned for the newest.  Signal `neuron-council-error' at last
where a memory is stored, but could not be dropped."
  (let* ((records (neuron-council-held-records id))
         (recorded (or (null condition) (neuron-council-review--unrecorded id decision condition records)))
         (outcome nil))
    (if (equal decision "accept")
        (setq outcome (neuron-council-review--store records id))
      (mapc #'neuron-council-held-drop records))
    (apply #'neuron-council-verdict-note id
           :review (or (and recorded (plist-get answer :review))
                       (list :decision decision :note note :at (float-time)))
           (neuron-council-review--fate decision records))
    (neuron-council-errors-run-hook 'neuron-council-reviewed-functions id decision
                                    (if (plist-get answer :claim)
                                        answer
                                      (or (neuron-council-verdict-find id) (car records))))
    (when (cdr outcome)
      (signal 'neuron-council-error
              (list (format "the memory is stored, but still held, and another decision would store it again: %s"
                            (neuron-council-errors-text (cdr outcome))))))
    (list :memories (length records) :value (car outcome))))

(defun neuron-council-review--wait (id decision note)
  "Record DECISION with NOTE on the verdict ID, wait, and do what follows.
Return what `neuron-council-review--finish' returns."
  (let ((job (neuron-council-review--decision-job id decision note))
        (answer nil) (condition nil))
    (condition-case problem
        (setq answer (neuron-council-rpc-await job))
      (neuron-council-error (setq condition problem)))
    (neuron-council-review--finish id decision note answer condition)))

(defun neuron-council-review-submit (id decision note callback)
  "Record DECISION with NOTE on the verdict ID, and return at once.
DECISION is \"accept\" or \"reject\", NOTE a string or nil; what follows is
as in `neuron-council-accept' and `neuron-council-reject'.  CALLBACK is
called once and later with a plist and a condition, one of which is nil.
The plist has :memories, how many held ones were stored or dropped, and
:value, what the store function returned.  Return the job, nil where
there is nothing to cancel.  Only a person's command may call this."
  (condition-case problem
      (let ((job (neuron-council-review--decision-job
                  id decision note
                  (lambda (answer condition)
                    (let ((result nil))
                      (condition-case problem
                          (setq result (neuron-council-review--finish id decision note answer condition)
                                condition nil)
                        ((error quit) (setq condition problem)))
                      (funcall callback result condition))))))
        (neuron-council-rpc-submit job)
        job)
    (error
     (run-at-time 0 nil #'neuron-council-errors-guard "a council callback" callback nil problem)
     nil)))

(defun neuron-council-review--say (decision result)
  "Say that DECISION is made, with RESULT of `neuron-council-review--finish'."
  (let ((memories (plist-get result :memories)))
    (message "%s%s" (if (equal decision "accept") "Accepted" "Rejected")
             (cond ((zerop memories) "; no memory was held for it, the ledger has the decision")
                   ((equal decision "reject") "")
                   ((= memories 1) "; the memory is stored")
                   (t (format "; %d memories are stored" memories))))))

;;;###autoload
(defun neuron-council-accept (id &optional note)
  "Accept what the council doubted: the parked, flagged or split verdict ID.
The decision is recorded with NOTE beside the verdict.  Memories that are
held with it are then stored by `neuron-council-store-function', with the
tag human-accepted; return what that returned for the newest.  At last
`neuron-council-reviewed-functions' run, so that a memory which was
stored before can be given that tag.  While the server cannot record it,
nothing is changed.  A later decision takes the place of an earlier one.

Interactively, choose among the memories that are held and the verdicts
at hand; with a prefix argument, ask for NOTE."
  (interactive (neuron-council-review--read "Accept (claim or id): " '(parked) (neuron-council-review--undecided)))
  (let ((result (neuron-council-review--wait id "accept" note)))
    (neuron-council-review--say "accept" result)
    (plist-get result :value)))

;;;###autoload
(defun neuron-council-restore (id &optional note)
  "Store the memory that a policy rejected or quarantined with the verdict ID.
It is accepted as by `neuron-council-accept', with NOTE; what the
quarantine function did with it is not undone.

Interactively, choose among these memories; with a prefix argument, ask
for NOTE."
  (interactive (neuron-council-review--read "Restore: " '(rejected quarantined)))
  (unless (neuron-council-held-records id)
    (user-error "No memory is kept under the id %s" id))
  (neuron-council-accept id note))

;;;###autoload
(defun neuron-council-reject (id &optional note)
  "Reject what the council doubted: the parked, flagged or split verdict ID.
The decision is recorded with NOTE beside the verdict.  Memories that are
held with it are then kept no longer, and at last
`neuron-council-reviewed-functions' run, so that a memory which was
stored before can be taken out.  While the server cannot record it,
nothing is changed.  A later decision takes the place of an earlier one.

Interactively, choose among the memories that are held and the verdicts
at hand; with a prefix argument, ask for NOTE."
  (interactive (neuron-council-review--read "Reject (claim or id): " '(parked) (neuron-council-review--undecided)))
  (neuron-council-review--say "reject" (neuron-council-review--wait id "reject" note))
  nil)

;;;; The ledger

(defun neuron-council-review--read-any (prompt)
  "Return an id, read with PROMPT, of a verdict that is at hand or any other."
  (neuron-council-review--choose
   prompt (append neuron-council-verdicts (neuron-council-review--held '(parked rejected quarantined)))
   t))

;;;###autoload
(defun neuron-council-show (id)
  "Show the report of the verdict ID, which may be any of the ledger.
Interactively, choose by the claim among the verdicts at hand, or type an
id."
  (interactive (list (neuron-council-review--read-any "Show (claim or id): ")))
  (neuron-council-report-show id))

(defun neuron-council-review-reevaluate-submit (ids callback)
  "Have the unavailable verdicts IDS judged again, all if nil; return the job.
CALLBACK gets how many claims that are and a condition, one of them nil."
  (let ((job (neuron-council-rpc-make-job
              :council/reevaluate (and ids (list :ids (vconcat ids))) "judging again"
              (lambda (answer condition)
                (let ((queued (plist-get answer :queued)))
                  (funcall callback (and (null condition) (if (natnump queued) queued 0)) condition))))))
    (neuron-council-rpc-submit job)
    job))

;;;###autoload
(defun neuron-council-reevaluate (&optional ids)
  "Have the claims that nobody could judge judged again as soon as may be.
IDS are those of their verdicts, a list; nil, as interactively, for all.
This does not wait: the verdicts come when the models are back, see
`neuron-council-reevaluated-functions'."
  (interactive)
  (neuron-council-review-reevaluate-submit
   ids
   (lambda (queued condition)
     (message "%s" (cond (condition (concat "The council cannot judge again: " (neuron-council-errors-text condition)))
                         ((zerop queued) "No claim awaits its judgement")
                         ((= queued 1) "One claim is judged again")
                         (t (format "%d claims are judged again" queued)))))))

(defun neuron-council-review--forget-here (id &optional claim)
  "Forget what this Emacs keeps of the verdict ID, and of others on its CLAIM.
Signal `neuron-council-error' for an ID that is none."
  (neuron-council-unsent-forget id)
  (neuron-council-pending-forget id)
  (let ((claim (or claim (plist-get (or (neuron-council-verdict-find id) (car (neuron-council-held-records id)))
                                    :claim))))
    (neuron-council-files-forget (neuron-council-held-folder) id)
    (neuron-council-verdict-remove id)
    (dolist (verdict neuron-council-verdicts)
      (when (and claim (equal claim (plist-get verdict :claim)))
        (neuron-council-verdict-remove (plist-get verdict :id))))))

(defun neuron-council-review--forget-job (id &optional callback)
  "Return a job that has the ledger forget the verdict ID, for CALLBACK."
  (neuron-council-review--job :council/forget id "forgetting" nil callback))

(defun neuron-council-review--unforgotten (id condition)
  "Return nil where CONDITION says that the ledger has no verdict ID.
Else return a condition that says what may be left."
  (unless (eq (car condition) 'neuron-council-unknown)
    (list (car condition)
          (format "the ledger may still hold %s, forget it again: %s" id (neuron-council-errors-text condition)))))

(defun neuron-council-review-forget-submit (id claim callback)
  "Forget the verdict ID as `neuron-council-forget' does, and return at once.
CLAIM is its claim, nil where that is not known here.  CALLBACK gets t and
a condition, one of which is nil, once and later."
  (condition-case problem
      (progn
        (neuron-council-review--forget-here id claim)
        (neuron-council-rpc-submit
         (neuron-council-review--forget-job
          id
          (lambda (_ condition)
            (let ((left (and condition (neuron-council-review--unforgotten id condition))))
              (funcall callback (null left) left))))))
    (error (run-at-time 0 nil #'neuron-council-errors-guard "a council callback" callback nil problem))))

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
  (neuron-council-review--forget-here id)
  (condition-case problem
      (neuron-council-rpc-await (neuron-council-review--forget-job id))
    (neuron-council-error
     (let ((left (neuron-council-review--unforgotten id problem)))
       (when left
         (signal (car left) (cdr left))))))
  (message "Forgotten"))

(provide 'neuron-council-review)
;;; neuron-council-review.el ends here
