;;; neuron-council-errors.el --- What can go wrong, and in which words  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; The tree of errors: `neuron-council-error' is the root of what the package signals.

;;; Code:

(require 'neuron-council-log)
(require 'neuron-council-text)

(define-error 'neuron-council-error "Neuron Council")
(define-error 'neuron-council-refused "Neuron Council" 'neuron-council-error)
(define-error 'neuron-council-unknown "Neuron Council" 'neuron-council-error)
(define-error 'neuron-council-died "Neuron Council" 'neuron-council-error)
(define-error 'neuron-council-cancelled "Neuron Council" 'neuron-council-error)
(define-error 'neuron-council-not-found "Neuron Council" '(neuron-council-error user-error))

(defconst neuron-council-errors--length 400
  "Characters of what an error says, at most: some quote a whole text.
So many the echo area shows, where it may take a quarter of 24 lines.")

(defun neuron-council-errors-text (condition)
  "Return what CONDITION, an error that was caught, says to a person."
  (let ((text (if (and (memq 'neuron-council-error (get (car condition) 'error-conditions))
                       (stringp (cadr condition)))
                  (cadr condition)
                (error-message-string condition))))
    (neuron-council-text-shorten text neuron-council-errors--length)))

(defun neuron-council-errors-guard (what function &rest arguments)
  "Call FUNCTION with ARGUMENTS; log an error of it as one of WHAT.
Nothing of ours may let an error out to jsonrpc.el: Emacs 28 freezes for
two seconds then, or ends where it runs in batch."
  (condition-case problem
      (apply function arguments)
    ;; A quit in it is its own: whoever waits meanwhile has not pressed C-g.
    ((error quit)
     (neuron-council-log "Error in %s: %s" what (car problem))
     (message "Neuron Council: error in %s: %s" what (neuron-council-errors-text problem)))))

;;;; Hooks

(defun neuron-council-errors--run-one (hook function arguments)
  "Call FUNCTION of HOOK with ARGUMENTS; return non-nil unless it fails.
A failure is logged and shown by the names of both."
  (condition-case problem
      (progn (apply function arguments) t)
    ((error quit)
     ;; Where C-g is not held back, somebody waits here and has pressed it.
     (when (and (eq (car problem) 'quit) (not inhibit-quit))
       (signal 'quit nil))
     (let ((name (if (symbolp function) function "a function")))
       (neuron-council-log "Error in %s of `%s': %s" name hook (car problem))
       (message "Neuron Council: error in %s of `%s': %s" name hook (neuron-council-errors-text problem)))
     nil)))

(defun neuron-council-errors-run-hook (hook &rest arguments)
  "Run the abnormal HOOK, a symbol, with ARGUMENTS.
What one function signals keeps no other from being called, but
\\[keyboard-quit] of who waits for them goes through.  Return non-nil when
there is a function and none of them failed."
  (let ((called nil) (failed nil))
    (run-hook-wrapped hook (lambda (function)
                             (setq called t)
                             (unless (neuron-council-errors--run-one hook function arguments)
                               (setq failed t))
                             nil))
    (and called (not failed))))

(provide 'neuron-council-errors)
;;; neuron-council-errors.el ends here
