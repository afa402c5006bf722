;;; neuron-council-capture.el --- Judge a memory before it is stored  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; The gate in front of a memory: a claim is judged, the policy decides, the store function stores.  Whatever keeps the
;; council from judging does not keep the memory from being stored.

;;; Code:

(require 'neuron-council-verify)

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
It is called as `neuron-council-store-function' is, in its place.  When
nil, `quarantine' does what `tag' does."
  :type '(choice (const :tag "None" nil) function)
  :risky t
  :group 'neuron-council)

(defcustom neuron-council-flagged-policy 'tag
  "What becomes of a memory that the council flagged."
  :type '(choice (const :tag "Store it with its tags" tag)
                 (const :tag "Give it to the quarantine function" quarantine)
                 (const :tag "Do not store it" reject))
  :group 'neuron-council)

(defcustom neuron-council-parked-policy 'tag
  "What becomes of a memory on which the council leaves the decision to a person."
  :type '(choice (const :tag "Store it with its tags" tag))
  :group 'neuron-council)

(defconst neuron-council-capture--policy
  '(("council-unavailable")
    ("council-parked" neuron-council-parked-policy tag)
    ("council-flagged" neuron-council-flagged-policy tag quarantine reject))
  "The storage policy, first match first: a tag, the option for it, its values.
Without an option, and where no tag matches, the memory is stored.")

(defun neuron-council-capture--check ()
  "Signal a `user-error' where a memory could not be stored as the options say."
  (unless (functionp neuron-council-store-function)
    (user-error "The store function `%s' is not defined: set `neuron-council-store-function'"
                neuron-council-store-function))
  (pcase-dolist (`(,_ . ,row) neuron-council-capture--policy)
    (when (and row (not (memq (symbol-value (car row)) (cdr row))))
      (user-error "`%s' is %S: set it to %s" (car row) (symbol-value (car row))
                  (mapconcat #'symbol-name (cdr row) " or "))))
  (when (and (eq neuron-council-flagged-policy 'quarantine) neuron-council-quarantine-function
             (not (functionp neuron-council-quarantine-function)))
    (user-error "The quarantine function `%s' is not defined: set `neuron-council-quarantine-function'"
                neuron-council-quarantine-function)))

(defun neuron-council-capture--function (tags)
  "Return the function that the policy has store a memory with TAGS, or nil."
  (let ((row nil))
    (dolist (each (reverse neuron-council-capture--policy))
      (when (member (car each) tags)
        (setq row each)))
    (pcase (and (cadr row) (symbol-value (cadr row)))
      ('reject nil)
      ('quarantine (or neuron-council-quarantine-function neuron-council-store-function))
      (_ neuron-council-store-function))))

(defun neuron-council-capture--store (verdict store-args)
  "Store a memory with STORE-ARGS as the policy for VERDICT says.
Return what the store function returned, nil where the policy rejects."
  (let* ((tags (plist-get verdict :tags))
         (function (neuron-council-capture--function tags)))
    (when (member "council-unavailable" tags)
      (message "%s; the memory is stored with the tag council-unavailable"
               (replace-regexp-in-string "\\.\\'" "" (neuron-council-text-plain (plist-get verdict :summary)))))
    (when function
      (apply function (append store-args
                              (list :council-confidence (plist-get verdict :confidence)
                                    :council-tags tags
                                    :council-id (plist-get verdict :id)))))))

;;;###autoload
(defun neuron-council-capture-memory (claim context &rest store-args)
  "Have CLAIM judged against CONTEXT, then store a memory as the policy says.
CONTEXT is a string or nil.  The memory is stored by calling
`neuron-council-store-function' with STORE-ARGS followed by
:council-confidence, :council-tags and :council-id; return what that
returned, or nil where the policy rejected the memory.

The policies are `neuron-council-flagged-policy' and
`neuron-council-parked-policy'.  When the council cannot judge CLAIM (no
server, no answer within `neuron-council-timeout', a claim that it
refuses), the memory is stored with the tag council-unavailable and a
message says why.

This waits for the verdict.  \\[keyboard-quit] aborts: nothing is stored,
and the models are stopped.  `neuron-council-capture-memory-async' does
not wait."
  (neuron-council-capture--check)
  (let ((id (neuron-council-verify-new-id))
        (since (float-time)))
    (neuron-council-capture--store
     (condition-case problem
         (neuron-council-verify-wait claim context id)
       (neuron-council-cancelled (signal (car problem) (cdr problem)))
       (error (neuron-council-verify-unavailable claim id problem since)))
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
  (neuron-council-verify-submit claim context (neuron-council-verify-new-id)
                                (lambda (verdict condition)
                                  (unless (eq (car condition) 'neuron-council-cancelled)
                                    (neuron-council-capture--store verdict store-args)))))

(provide 'neuron-council-capture)
;;; neuron-council-capture.el ends here
