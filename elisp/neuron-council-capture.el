;;; neuron-council-capture.el --- Judge a memory before it is stored  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; The gate in front of a memory: a claim is judged, the policy decides, the store function stores.  Whatever keeps the
;; council from judging does not keep the memory from being stored.

;;; Code:

(require 'neuron-council-held)
(require 'neuron-council-unsent)

(defcustom neuron-council-store-function 'engram-write
  "The function that stores a memory the policy lets in.
It gets the arguments given to the capture, then :council-confidence (a
number), :council-tags (a list of strings) and :council-id (a string)."
  :type '(choice (function :tag "Function")
                 (symbol :tag "Function that is defined later"))
  :risky t
  :group 'neuron-council)

(defcustom neuron-council-quarantine-function nil
  "The function that gets a flagged memory under the policy `quarantine'.
It is called as `neuron-council-store-function' is, in its place, and
\\[neuron-council-restore] stores the memory after all.  When nil,
`quarantine' does what `tag' does."
  :type '(choice (const :tag "None" nil) function)
  :risky t
  :group 'neuron-council)

(defcustom neuron-council-flagged-policy 'tag
  "What becomes of a memory that the council flagged.
One that is not stored can be, later, with \\[neuron-council-restore]."
  :type '(choice (const :tag "Store it with its tags" tag)
                 (const :tag "Give it to the quarantine function" quarantine)
                 (const :tag "Do not store it" reject))
  :group 'neuron-council)

(defcustom neuron-council-parked-policy 'tag
  "What becomes of a memory on which the council leaves the decision to a person.
With `hold' it is kept in a file until \\[neuron-council-accept] stores it
or \\[neuron-council-reject] drops it.  What a file cannot keep (store
arguments that are buffers, markers or functions) is stored with its tags."
  :type '(choice (const :tag "Store it with its tags" tag)
                 (const :tag "Keep it until a person decides" hold))
  :group 'neuron-council)

(defconst neuron-council-capture--policy
  '(("council-unavailable")
    ("council-parked" neuron-council-parked-policy tag hold)
    ("council-flagged" neuron-council-flagged-policy tag quarantine reject))
  "The storage policy, first match first: a tag, the option for it, its values.
Without an option, and where no tag matches, the memory is stored.")

(defun neuron-council-capture-check-store ()
  "Signal a `user-error' where there is no function that stores a memory."
  (unless (functionp neuron-council-store-function)
    (user-error "The store function `%s' is not defined: set `neuron-council-store-function'"
                neuron-council-store-function)))

(defun neuron-council-capture--check ()
  "Signal a `user-error' where a memory could not be stored as the options say."
  (neuron-council-capture-check-store)
  (pcase-dolist (`(,_ . ,row) neuron-council-capture--policy)
    (when (and row (not (memq (symbol-value (car row)) (cdr row))))
      (user-error "`%s' is %S: set it to %s" (car row) (symbol-value (car row))
                  (mapconcat #'symbol-name (cdr row) " or "))))
  (when (and (eq neuron-council-flagged-policy 'quarantine) neuron-council-quarantine-function
             (not (functionp neuron-council-quarantine-function)))
    (user-error "The quarantine function `%s' is not defined: set `neuron-council-quarantine-function'"
                neuron-council-quarantine-function)))

(defun neuron-council-capture--decide (tags)
  "Return what the policy says of a memory with TAGS, a symbol."
  (let ((row nil))
    (dolist (each (reverse neuron-council-capture--policy))
      (when (member (car each) tags)
        (setq row each)))
    (let ((policy (if (cadr row) (symbol-value (cadr row)) 'tag)))
      (if (and (eq policy 'quarantine) (null neuron-council-quarantine-function)) 'tag policy))))

(defun neuron-council-capture-call (function store-args confidence tags id)
  "Have FUNCTION store a memory with STORE-ARGS, as judged by the verdict ID.
CONFIDENCE and TAGS are what it came to; return what FUNCTION returned."
  (apply function (append store-args
                          (list :council-confidence confidence :council-tags tags :council-id id))))

(defun neuron-council-capture--keep (verdict store-args reason said)
  "Keep the memory of STORE-ARGS, not stored for REASON, with VERDICT.
Say SAID then.  Return nil where it cannot be kept, and say so."
  (condition-case problem
      (progn
        (neuron-council-held-keep verdict store-args reason)
        (message "%s" (substitute-command-keys said))
        t)
    (error
     (neuron-council-log "%s cannot be kept: %s" (plist-get verdict :id) (car problem))
     (message "The memory cannot be kept for a later decision: %s" (neuron-council-errors-text problem))
     nil)))

(defun neuron-council-capture--store (verdict store-args)
  "Store a memory with STORE-ARGS as the policy for VERDICT says.
Return what the store function returned, nil where the policy stores
nothing."
  (let* ((tags (plist-get verdict :tags))
         (call (lambda (function)
                 (neuron-council-capture-call function store-args (plist-get verdict :confidence) tags
                                              (plist-get verdict :id)))))
    (when (member "council-unavailable" tags)
      (message "%s; the memory is stored with the tag council-unavailable"
               (replace-regexp-in-string "\\.\\'" "" (neuron-council-text-plain (plist-get verdict :summary)))))
    (pcase (neuron-council-capture--decide tags)
      ('hold
       (unless (neuron-council-capture--keep
                verdict store-args 'parked
                "The council leaves the decision on this memory to you: \\[neuron-council-accept] stores it, \
\\[neuron-council-reject] drops it")
         (funcall call neuron-council-store-function)))
      ('reject
       (neuron-council-capture--keep
        verdict store-args 'rejected
        "The council flagged this memory, so it is not stored; \\[neuron-council-restore] stores it after all")
       nil)
      ('quarantine
       (neuron-council-capture--keep
        verdict store-args 'quarantined
        "The council flagged this memory, so it is in quarantine; \\[neuron-council-restore] stores it after all")
       (funcall call neuron-council-quarantine-function))
      (_ (funcall call neuron-council-store-function)))))

;;;###autoload
(defun neuron-council-capture-memory (claim context &rest store-args)
  "Have CLAIM judged against CONTEXT, then store a memory as the policy says.
CONTEXT is a string or nil.  The memory is stored by calling
`neuron-council-store-function' with STORE-ARGS followed by
:council-confidence, :council-tags and :council-id; return what that
returned, or nil where the policy rejected the memory or holds it for a
person to decide.

The policies are `neuron-council-flagged-policy' and
`neuron-council-parked-policy'.  When the council cannot judge CLAIM (no
server, no answer within `neuron-council-timeout', a claim that it
refuses), the memory is stored with the tag council-unavailable and a
message says why.  What it could have judged is judged when a server is
ready, see `neuron-council-reevaluated-functions'.

This waits for the verdict.  \\[keyboard-quit] aborts: nothing is stored,
and the models are stopped.  `neuron-council-capture-memory-async' does
not wait."
  (neuron-council-capture--check)
  (let ((id (neuron-council-verify-new-id))
        (since (float-time)))
    (neuron-council-capture--store
     (condition-case problem
         (neuron-council-unsent-wait claim context id)
       (neuron-council-cancelled (signal (car problem) (cdr problem)))
       (error (neuron-council-verdict-unavailable claim id problem since)))
     store-args)))

;;;###autoload
(defun neuron-council-capture-memory-async (claim context &rest store-args)
  "Do what `neuron-council-capture-memory' does without waiting.
Return a handle at once.  The memory with STORE-ARGS is stored when the
verdict on CLAIM against CONTEXT is in, in the current buffer if that is
alive then; an error of the store function is caught, logged and shown.
`neuron-council-cancel' with the handle aborts: nothing is stored.  A
memory still waiting when Emacs is left is stored with the tag
council-unavailable."
  (neuron-council-capture--check)
  (neuron-council-unsent-submit claim context (neuron-council-verify-new-id)
                                (lambda (verdict condition)
                                  (unless (eq (car condition) 'neuron-council-cancelled)
                                    (neuron-council-capture--store verdict store-args)))))

(provide 'neuron-council-capture)
;;; neuron-council-capture.el ends here
