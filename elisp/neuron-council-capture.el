;;; neuron-council-capture.el --- Judge a memory before it is stored  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; The gate in front of a memory: a claim is judged, the policy decides, the store function stores.  Whatever keeps the
;; council from judging does not keep the memory from being stored.

;;; Code:

(eval-when-compile (require 'subr-x))
(require 'neuron-council-pending)
(require 'neuron-council-store)
(require 'neuron-council-unsent)

;;;; By program

(defun neuron-council-capture-judge (claim context)
  "Have CLAIM judged against CONTEXT, wait, and return the verdict.
Where the council cannot judge it, that is one tagged council-unavailable;
what it could have judged is kept for a server.  \\[keyboard-quit] and
`neuron-council-cancel' end it by a quit and by `neuron-council-cancelled'."
  (let ((id (neuron-council-verify-new-id))
        (since (float-time)))
    (condition-case problem
        (neuron-council-unsent-wait claim context id)
      (neuron-council-cancelled (signal (car problem) (cdr problem)))
      (error (neuron-council-verdict-unavailable claim id problem since)))))

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
  (neuron-council-store-check-all)
  (neuron-council-store-judged (neuron-council-capture-judge claim context) context store-args))

;;;###autoload
(defun neuron-council-capture-memory-async (claim context &rest store-args)
  "Do what `neuron-council-capture-memory' does without waiting.
Return a handle at once.  The memory with STORE-ARGS is stored when the
verdict on CLAIM against CONTEXT is in, behind the memories captured
before it, in the current buffer if that is alive then.
`neuron-council-cancel' with the handle aborts: nothing is stored.  A
memory still waiting when Emacs is left is stored with the tag
council-unavailable.

Until it is stored the memory is kept in a file, so that it outlives the
death of Emacs; the next one stores it, with the same :council-id, when
its server is ready (or at \\[neuron-council-resume-pending]).  It is
stored twice only where Emacs died between the store and the deletion of
the file.  What a file cannot keep (arguments that are buffers, markers or
functions) waits in this Emacs alone.

An error of the store function is logged and shown, and the memory kept
until it can be stored."
  (neuron-council-store-check-all)
  (neuron-council-pending-submit claim context store-args))

;;;; By hand

(defcustom neuron-council-remember-arguments-function #'neuron-council-capture-arguments
  "What \\[neuron-council-remember] gives to the store function.
The function is called with the claim and the context, the latter maybe
nil, and returns a list of arguments."
  :type '(choice (const :tag ":text CLAIM, and :context CONTEXT" neuron-council-capture-arguments)
                 (const :tag "CLAIM alone" list)
                 function)
  :risky t
  :package-version '(neuron-council . "0.1.0")
  :group 'neuron-council-capture)

(defun neuron-council-capture-arguments (claim context)
  "Return arguments that store CLAIM and CONTEXT, which may be nil, as keywords."
  (append (list :text claim) (and context (list :context context))))

(defun neuron-council-capture--read ()
  "Return a claim, that in the region if it is active, and a context."
  (let ((claim (if (use-region-p)
                   (buffer-substring-no-properties (region-beginning) (region-end))
                 (read-string "Remember: " nil 'neuron-council-claim-history))))
    (when (string-blank-p claim)
      (user-error "There is nothing to remember"))
    (list claim (neuron-council-verify-read-context))))

;;;###autoload
(defun neuron-council-remember (claim context)
  "Have CLAIM judged against CONTEXT behind your back, then store it.
The memory goes to `neuron-council-store-function', with the arguments of
`neuron-council-remember-arguments-function'.  Return what
`neuron-council-capture-memory-async' returns.

Interactively, CLAIM is the text of the region if that is active, else it
is read; so is CONTEXT, which may be empty."
  (interactive (progn (neuron-council-store-check-all)
                      (neuron-council-capture--read)))
  (prog1 (apply #'neuron-council-capture-memory-async claim context
                (funcall neuron-council-remember-arguments-function claim context))
    (when (called-interactively-p 'interactive)
      (message "The council is asked; the memory is stored when it has answered"))))

(provide 'neuron-council-capture)
;;; neuron-council-capture.el ends here
