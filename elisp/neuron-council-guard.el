;;; neuron-council-guard.el --- Judge every memory before it is stored  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; `neuron-council-guard-mode' puts the council in front of the store function by advice, so that whoever calls that
;; function need not know of the council.

;;; Code:

(require 'neuron-council-capture)

(defcustom neuron-council-guard-asynchronous nil
  "Whether the guard lets a call of the store function return at once.
When nil, the call waits for the verdict and returns what the store
function returns; \\[keyboard-quit] aborts it, and nothing is stored.

Otherwise it returns a handle for `neuron-council-cancel', and the memory
is stored as `neuron-council-capture-memory-async' does it: behind those
before it, and by the next Emacs if this one dies.  Choose this where a
memory is stored by a timer or a process filter: Emacs would stand still."
  :type 'boolean
  :safe #'booleanp
  :package-version '(neuron-council . "0.1.0")
  :group 'neuron-council-capture)

(defcustom neuron-council-guard-arguments-function #'neuron-council-guard-arguments
  "How claim and context are found in the arguments of the store function.
It is called with the list of them and returns a cons of two strings, the
latter maybe nil, or nil where there is no claim.  A memory without a
claim is stored as one that nobody could judge, with a message."
  :type '(choice (const :tag "Keywords, else the first string" neuron-council-guard-arguments)
                 (const :tag "Keywords alone" neuron-council-guard-keywords)
                 (const :tag "The first string, and the second as context" neuron-council-guard-strings)
                 function)
  :risky t
  :package-version '(neuron-council . "0.1.0")
  :group 'neuron-council-capture)

;;;; The arguments

(defconst neuron-council-guard--claim-keywords '(:claim :text :content :body :memory)
  "Keywords of a claim, the surest first.")

(defconst neuron-council-guard--context-keywords '(:context :source :evidence :origin)
  "Keywords of a context, the surest first.")

(defun neuron-council-guard--string-p (value)
  "Return non-nil when VALUE is a string with something in it."
  (and (stringp value) (string-match-p "[^[:space:]]" value)))

(defun neuron-council-guard--keyword (keywords arguments)
  "Return the string behind the first of KEYWORDS that ARGUMENTS have, or nil."
  (let ((found nil))
    (dolist (keyword (reverse keywords) found)
      (let ((value (cadr (memq keyword arguments))))
        (when (neuron-council-guard--string-p value)
          (setq found value))))))

(defun neuron-council-guard-keywords (arguments)
  "Find claim and context in ARGUMENTS by their keywords.
The claim is behind :claim, :text, :content, :body or :memory, the context
behind :context, :source, :evidence or :origin; of several, the first of
this list counts.  ARGUMENTS may be one property list, too."
  (let* ((arguments (if (and (null (cdr arguments)) (consp (car arguments))) (car arguments) arguments))
         (claim (and (proper-list-p arguments)
                     (neuron-council-guard--keyword neuron-council-guard--claim-keywords arguments))))
    (and claim (cons claim (neuron-council-guard--keyword neuron-council-guard--context-keywords arguments)))))

(defun neuron-council-guard--positional (arguments)
  "Return the strings of ARGUMENTS that stand before the first keyword."
  (let ((strings nil))
    (while (and arguments (not (keywordp (car arguments))))
      (when (neuron-council-guard--string-p (car arguments))
        (push (car arguments) strings))
      (setq arguments (cdr arguments)))
    (nreverse strings)))

(defun neuron-council-guard-strings (arguments)
  "Take the first string of ARGUMENTS as the claim, the second as the context.
Those behind a keyword do not count."
  (let ((strings (neuron-council-guard--positional arguments)))
    (and strings (cons (car strings) (cadr strings)))))

(defun neuron-council-guard-arguments (arguments)
  "Find claim and context in ARGUMENTS as store functions are usually called.
That is by `neuron-council-guard-keywords'; without a keyword for it, the
claim is the first string before any keyword:

  (engram-write :text CLAIM :context CONTEXT :kind \\='fact)
  (engram-write CLAIM :source CONTEXT)
  (engram-write \\='fact CLAIM)"
  (or (neuron-council-guard-keywords arguments)
      (let ((claim (car (neuron-council-guard--positional arguments))))
        (and claim
             (cons claim (neuron-council-guard--keyword neuron-council-guard--context-keywords arguments))))))

(defun neuron-council-guard--find (arguments)
  "Return claim and context of ARGUMENTS as the option says, nil without a claim."
  (condition-case problem
      (let ((found (funcall neuron-council-guard-arguments-function arguments)))
        (and (consp found) (neuron-council-guard--string-p (car found)) found))
    (error
     (neuron-council-log "Error in `neuron-council-guard-arguments-function': %s" (car problem))
     nil)))

;;;; The advice

(defvar neuron-council-guard--advised nil
  "The store function that is guarded, a symbol, or nil.")

(defun neuron-council-guard--unjudged (arguments)
  "Store a memory with ARGUMENTS, in which no claim was found."
  (neuron-council-store-judged
   (neuron-council-verdict-unavailable
    nil (neuron-council-verify-new-id)
    (list 'neuron-council-error "no claim is among the arguments (`neuron-council-guard-arguments-function')"))
   nil arguments))

(defun neuron-council-guard--nested-p ()
  "Return non-nil when a store function is running and has called this.
A timer that comes due while a store function waits is not a part of that,
but sees the variables that are bound for it."
  (and neuron-council-store-verdict
       (not (eq 'timer
                (catch 'neuron-council-guard--caller
                  (mapbacktrace (lambda (_evaluated function &rest _)
                                  (pcase function
                                    ('timer-event-handler (throw 'neuron-council-guard--caller 'timer))
                                    ('neuron-council-store-call (throw 'neuron-council-guard--caller 'store)))))
                  nil)))))

(defun neuron-council-guard--around (store &rest arguments)
  "Have a memory judged before it is stored with ARGUMENTS by STORE.
What is judged already goes straight to STORE."
  (if (or (neuron-council-guard--nested-p)
          (memq :council-confidence arguments))
      (apply store arguments)
    (neuron-council-store-check-all)
    (pcase (neuron-council-guard--find arguments)
      (`(,claim . ,context)
       (if neuron-council-guard-asynchronous
           (neuron-council-pending-submit claim context arguments)
         (apply #'neuron-council-capture-memory claim context arguments)))
      (_ (neuron-council-guard--unjudged arguments)))))

(defun neuron-council-guard--check (function)
  "Signal a `user-error' where FUNCTION cannot be guarded."
  (cond ((not (and function (symbolp function)))
         (user-error "Only a function with a name can be guarded: \
define one, and set `neuron-council-store-function' to it"))
        ((and (fboundp function) (not (functionp function)))
         (user-error "`%s' is no function and cannot be guarded: set `neuron-council-store-function'" function))))

(defun neuron-council-guard--advise (function)
  "Guard FUNCTION, a symbol that may be defined later, and no other; nil for none."
  (when (and neuron-council-guard--advised (not (eq function neuron-council-guard--advised)))
    (advice-remove neuron-council-guard--advised #'neuron-council-guard--around))
  (setq neuron-council-guard--advised function)
  ;; Again where it is the same: `fset' takes advice away.
  (when function
    (advice-add function :around #'neuron-council-guard--around '((depth . -90)))))

(defun neuron-council-guard--watch (_symbol function operation where)
  "Guard FUNCTION, which OPERATION makes the store function.
A value for the buffer WHERE alone is not looked at."
  (unless where
    (neuron-council-errors-guard
     "the guard of the store function"
     (lambda ()
       (let ((function (if (eq operation 'makunbound) nil function)))
         (condition-case problem
             (progn
               (neuron-council-guard--check function)
               (neuron-council-guard--advise function))
           (user-error
            (neuron-council-guard--advise nil)
            (message "Memories are not guarded now: %s" (error-message-string problem)))))))))

(defun neuron-council-guard--enable ()
  "Guard the store function, and take up what waits to be stored."
  (neuron-council-guard--check neuron-council-store-function)
  (add-variable-watcher 'neuron-council-store-function #'neuron-council-guard--watch)
  (neuron-council-guard--advise neuron-council-store-function)
  (when (and (functionp neuron-council-store-function) (neuron-council-pending-p))
    (run-at-time 0 nil #'neuron-council-pending-look)))

(defun neuron-council-guard--disable ()
  "Leave the store function as it was."
  (remove-variable-watcher 'neuron-council-store-function #'neuron-council-guard--watch)
  (neuron-council-guard--advise nil))

;;;###autoload
(define-minor-mode neuron-council-guard-mode
  "Toggle judging every memory before it is stored.
Every call of `neuron-council-store-function' goes through the council
then, as by `neuron-council-capture-memory': the claim is judged, the
storage policy decides, and the function is called as the caller did, with
:council-confidence, :council-tags and :council-id behind the arguments
where it takes them (see `neuron-council-store-keywords').  The callers
need no change, and the function may be defined or redefined later (behind
`fset', which takes advice away, turn the mode on again).

`neuron-council-guard-arguments-function' says where claim and context
are, `neuron-council-guard-asynchronous' whether the caller waits.  What
the function itself stores, what was judged before, and what a person
accepts is not judged again.

Turning this on starts nothing, unless memories that an earlier Emacs left
wait to be stored: these are taken up a moment later."
  :global t
  :group 'neuron-council-capture
  (if (not neuron-council-guard-mode)
      (neuron-council-guard--disable)
    (let ((enabled nil))
      (unwind-protect
          (progn
            (neuron-council-guard--enable)
            (setq enabled t))
        (unless enabled
          (setq neuron-council-guard-mode nil))))))

(defun neuron-council-guard-unload-function ()
  "Turn the mode off before the file is unloaded."
  (neuron-council-guard-mode -1)
  nil)

(provide 'neuron-council-guard)
;;; neuron-council-guard.el ends here
