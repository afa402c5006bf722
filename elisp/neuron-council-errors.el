;;; neuron-council-errors.el --- What can go wrong, and in which words  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; The tree of errors: `neuron-council-error' is the root of what the package signals.

;;; Code:

(require 'neuron-council-log)

(define-error 'neuron-council-error "Neuron Council")
(define-error 'neuron-council-refused "Neuron Council" 'neuron-council-error)
(define-error 'neuron-council-unknown "Neuron Council" 'neuron-council-error)
(define-error 'neuron-council-cancelled "Neuron Council" 'neuron-council-error)
(define-error 'neuron-council-not-found "Neuron Council" '(neuron-council-error user-error))

(defun neuron-council-errors-text (condition)
  "Return what CONDITION, an error that was caught, says to a person."
  (if (and (memq 'neuron-council-error (get (car condition) 'error-conditions)) (stringp (cadr condition)))
      (cadr condition)
    (error-message-string condition)))

(defun neuron-council-errors-guard (what function &rest arguments)
  "Call FUNCTION with ARGUMENTS; log an error of it as one of WHAT.
Nothing of ours may let an error out to jsonrpc.el: Emacs 28 freezes for
two seconds then, or ends where it runs in batch."
  (condition-case problem
      (apply function arguments)
    ;; A quit in it is its own: whoever waits meanwhile has not pressed C-g.
    ((error quit)
     (neuron-council-log "Error in %s: %s" what (car problem))
     (message "Neuron Council: error in %s: %s" what (error-message-string problem)))))

(provide 'neuron-council-errors)
;;; neuron-council-errors.el ends here
