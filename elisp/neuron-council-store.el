;;; neuron-council-store.el --- Store a memory as the verdict says  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; A verdict and the arguments of a store function go in; the policy decides whether the memory is stored, kept for a
;; person, or given to the quarantine function.  Nothing here asks the council.

;;; Code:

(require 'neuron-council-held)
(require 'neuron-council-verdict)

(defcustom neuron-council-store-function 'engram-write
  "The function that stores a memory the policy lets in.
It gets the arguments given to the capture, then :council-confidence (a
number), :council-tags (a list of strings) and :council-id (a string), see
`neuron-council-store-keywords'.  `neuron-council-org-store' is one that
keeps memories in an Org file."
  :type '(choice (function :tag "Function")
                 (const :tag "Entries of an Org file" neuron-council-org-store)
                 (symbol :tag "Function that is defined later"))
  :risky t
  :package-version '(neuron-council . "0.1.0")
  :group 'neuron-council-capture)

(defcustom neuron-council-store-keywords 'accepted
  "Which keywords of the verdict a store function gets behind its own arguments.
They are :council-confidence, :council-tags and :council-id.  With
`accepted' a function gets those it takes: all if it has a &rest
parameter, those it names if it has &key (all with &allow-other-keys),
else none.  Set it to nil where a &rest parameter is not a list of
keywords.  `neuron-council-store-verdict' is there in any case."
  :type '(choice (const :tag "Those it takes" accepted)
                 (const :tag "All" t)
                 (const :tag "None" nil))
  :risky t
  :package-version '(neuron-council . "0.1.0")
  :group 'neuron-council-capture)

(defcustom neuron-council-before-store-functions nil
  "Functions called before a memory is given to a store or quarantine function.
Each gets that FUNCTION and the list of its ARGUMENTS, those of the
verdict included.  An error in one is logged and shown, and the memory
is stored all the same."
  :type 'hook
  :risky t
  :package-version '(neuron-council . "0.1.0")
  :group 'neuron-council-capture)

(defcustom neuron-council-quarantine-function nil
  "The function that gets a flagged memory under the policy `quarantine'.
It is called as `neuron-council-store-function' is, in its place, and
\\[neuron-council-restore] stores the memory after all.  When nil,
`quarantine' does what `tag' does."
  :type '(choice (const :tag "None" nil)
                 (const :tag "Entries below a heading of an Org file" neuron-council-org-quarantine)
                 function)
  :risky t
  :package-version '(neuron-council . "0.1.0")
  :group 'neuron-council-capture)

(defcustom neuron-council-flagged-policy 'tag
  "What becomes of a memory that the council flagged.
One that is not stored can be, later, with \\[neuron-council-restore]: it
is kept in a file.  With `reject', what a file cannot keep (store arguments
that are buffers, markers or functions) is dropped, and a message says so;
where the file cannot be written, that is an error."
  :type '(choice (const :tag "Store it with its tags" tag)
                 (const :tag "Give it to the quarantine function" quarantine)
                 (const :tag "Do not store it" reject))
  :package-version '(neuron-council . "0.1.0")
  :group 'neuron-council-capture)

(defcustom neuron-council-parked-policy 'tag
  "What becomes of a memory on which the council leaves the decision to a person.
With `hold' it is kept in a file until \\[neuron-council-accept] stores it
or \\[neuron-council-reject] drops it.  What a file cannot keep (store
arguments that are buffers, markers or functions) is stored with its tags."
  :type '(choice (const :tag "Store it with its tags" tag)
                 (const :tag "Keep it until a person decides" hold))
  :package-version '(neuron-council . "0.1.0")
  :group 'neuron-council-capture)

(defconst neuron-council-store--policy
  '(("council-unavailable")
    ("council-parked" neuron-council-parked-policy tag hold)
    ("council-flagged" neuron-council-flagged-policy tag quarantine reject))
  "The storage policy, first match first: a tag, the option for it, its values.
Without an option, and where no tag matches, the memory is stored.")

;;;; Is everything set

(defun neuron-council-store-check ()
  "Signal a `user-error' where there is no function that stores a memory."
  (unless (functionp neuron-council-store-function)
    (user-error "The store function `%.60s' is not defined: set `neuron-council-store-function', \
for instance to `neuron-council-org-store'"
                neuron-council-store-function)))

(defun neuron-council-store-check-all ()
  "Signal a `user-error' where a memory could not be stored as the options say."
  (neuron-council-store-check)
  (pcase-dolist (`(,_ . ,row) neuron-council-store--policy)
    (when (and row (not (memq (symbol-value (car row)) (cdr row))))
      (user-error "`%s' is %.60S: set it to %s" (car row) (symbol-value (car row))
                  (mapconcat #'symbol-name (cdr row) " or "))))
  (when (and (eq neuron-council-flagged-policy 'quarantine) neuron-council-quarantine-function
             (not (functionp neuron-council-quarantine-function)))
    (user-error "The quarantine function `%.60s' is not defined: set `neuron-council-quarantine-function'"
                neuron-council-quarantine-function)))

;;;; The call

(defvar neuron-council-store-verdict nil
  "The verdict on the memory that is being stored, while its store function runs.
A plist with :id, :confidence and :tags at least; nil at any other time.")

(defun neuron-council-store--usage (function)
  "Return the parameters of FUNCTION as its documentation has them, or nil."
  (ignore-errors
    (let ((usage (car (help-split-fundoc (documentation function t) function))))
      (and usage (cdr (read (downcase usage)))))))

(defun neuron-council-store--named (parameters)
  "Return the keywords that PARAMETERS, a list of them from &key on, names."
  (mapcar (lambda (parameter)
            (let ((name (if (consp parameter) (car parameter) parameter)))
              (if (consp name) (car name) (intern (format ":%s" name)))))
          parameters))

(defun neuron-council-store--takes (function)
  "Return which keywords of a verdict FUNCTION takes."
  (let ((all '(:council-confidence :council-tags :council-id))
        (definition (indirect-function function)))
    (when (autoloadp definition)
      (autoload-do-load definition function))
    (let ((keys (cdr (memq '&key (neuron-council-store--usage function))))
          (parameters (help-function-arglist function)))
      (cond ((memq '&allow-other-keys keys) all)
            (keys (let ((named (neuron-council-store--named keys)))
                    (delq nil (mapcar (lambda (keyword) (car (memq keyword named))) all))))
            ((or (not (listp parameters)) (memq '&rest parameters)) all)))))

(defun neuron-council-store--keywords (function verdict)
  "Return what FUNCTION is to be told of VERDICT, a list of keywords and values."
  (let ((keywords nil))
    (dolist (keyword (pcase neuron-council-store-keywords
                       ('nil nil)
                       ('accepted (neuron-council-store--takes function))
                       (_ '(:council-confidence :council-tags :council-id))))
      (setq keywords (nconc keywords
                            (list keyword (plist-get verdict (pcase keyword
                                                               (:council-confidence :confidence)
                                                               (:council-tags :tags)
                                                               (_ :id)))))))
    keywords))

(defun neuron-council-store-call (function store-args verdict)
  "Have FUNCTION store a memory with STORE-ARGS, as judged by VERDICT.
Only :id, :confidence, :tags and maybe :claim of that are looked at.
Return what FUNCTION returned."
  (let ((arguments (append store-args (neuron-council-store--keywords function verdict))))
    (neuron-council-errors-run-hook 'neuron-council-before-store-functions function arguments)
    (let ((neuron-council-store-verdict verdict))
      (apply function arguments))))

;;;; The policy

(defun neuron-council-store--decide (tags)
  "Return what the policy says of a memory with TAGS, a symbol."
  (let ((row nil))
    (dolist (each (reverse neuron-council-store--policy))
      (when (member (car each) tags)
        (setq row each)))
    (let ((policy (if (cadr row) (symbol-value (cadr row)) 'tag)))
      (if (and (eq policy 'quarantine) (null neuron-council-quarantine-function)) 'tag policy))))

(defconst neuron-council-store--said
  '((parked . "The council leaves the decision on this memory to you: \\[neuron-council-accept] stores it, \
\\[neuron-council-reject] drops it")
    (rejected . "The council flagged this memory, so it is not stored; \\[neuron-council-restore] stores it after all")
    (quarantined . "The council flagged this memory, so it is in quarantine; \
\\[neuron-council-restore] stores it after all"))
  "What is said of a memory that is kept, by the reason for that.")

(defun neuron-council-store--say (reason)
  "Say that a memory is kept, not stored for REASON."
  (message "%s" (substitute-command-keys (alist-get reason neuron-council-store--said))))

(defun neuron-council-store--say-unavailable (verdict)
  "Say that a memory is stored though VERDICT is none, and why."
  (message "%s; the memory is stored with the tag council-unavailable"
           (replace-regexp-in-string "\\.\\'" "" (neuron-council-store-reason verdict))))

(defun neuron-council-store-reason (verdict)
  "Return the summary of VERDICT, as much of it as the echo area shows."
  (neuron-council-text-shorten (neuron-council-verdict-plain (plist-get verdict :summary)) 300))

(defun neuron-council-store--keep (verdict store-args reason memory)
  "Keep the memory of STORE-ARGS, not stored for REASON, with VERDICT.
MEMORY is its id or nil, see `neuron-council-held-keep'.  Return its file,
or nil where no file can keep it, and say so.  Signal
`neuron-council-error' for one that is rejected while the files of this
home cannot be written: it would be nowhere."
  (condition-case problem
      (neuron-council-held-keep verdict store-args reason memory)
    (error
     (neuron-council-log "%s cannot be kept: %s" (plist-get verdict :id) (car problem))
     (let ((text (neuron-council-errors-text problem)))
       (when (and (eq reason 'rejected) (memq 'file-error (get (car problem) 'error-conditions)))
         (signal 'neuron-council-error
                 (list (format "the council flagged this memory, but it cannot be kept in a file: %s" text))))
       (message "The memory cannot be kept for a later decision: %s" text)
       nil))))

(defun neuron-council-store--quarantine (verdict store-args memory)
  "Give MEMORY with STORE-ARGS to the quarantine function: VERDICT flags it.
Return what that returned.  Where it fails nothing is kept."
  (let ((file (neuron-council-store--keep verdict store-args 'quarantined memory))
        (given nil))
    (unwind-protect
        (prog1 (neuron-council-store-call neuron-council-quarantine-function store-args verdict)
          (setq given t)
          (when file (neuron-council-store--say 'quarantined)))
      (when (and file (not given))
        (neuron-council-files-delete file)))))

(defun neuron-council-store--show (verdict context)
  "Keep VERDICT, on a claim judged against CONTEXT, at hand for display.
One that was read back from a file is a part of what may be there already."
  (when (and (stringp (plist-get verdict :claim))
             (or (plist-member verdict :status) (not (neuron-council-verdict-find (plist-get verdict :id)))))
    (neuron-council-verdict-add verdict :context context)))

(defun neuron-council-store--by-policy (verdict store-args memory)
  "Do with MEMORY, that of STORE-ARGS, what the policy for VERDICT says.
Return a cons of what became of it, see `neuron-council-verdict--notes',
and of what the function that stored it returned."
  (let ((policy (neuron-council-store--decide (plist-get verdict :tags))))
    (cond
     ((and (eq policy 'hold) (neuron-council-store--keep verdict store-args 'parked memory))
      (neuron-council-store--say 'parked)
      '(held))
     ((eq policy 'reject)
      (when (neuron-council-store--keep verdict store-args 'rejected memory)
        (neuron-council-store--say 'rejected))
      '(rejected))
     ((eq policy 'quarantine)
      (cons 'quarantined (neuron-council-store--quarantine verdict store-args memory)))
     (t (cons 'stored (neuron-council-store-call neuron-council-store-function store-args verdict))))))

(defun neuron-council-store-judged (verdict context store-args &optional memory)
  "Store a memory with STORE-ARGS as the policy for VERDICT says.
CONTEXT is what its claim was judged against, MEMORY an id by which one
that is tried again is known.  Return what the store
function returned, nil where the policy stores nothing."
  (neuron-council-store--show verdict context)
  (let ((outcome '(unstored)))
    (unwind-protect
        (cdr (setq outcome (neuron-council-store--by-policy verdict store-args memory)))
      ;; Too late for C-g: what was stored must not be taken for unstored.
      (let ((inhibit-quit t))
        (neuron-council-verdict-note (plist-get verdict :id) :fate (car outcome))
        ;; Behind the store function, which may have saved a file and said so.
        (when (and (eq (car outcome) 'stored) (member "council-unavailable" (plist-get verdict :tags)))
          (neuron-council-store--say-unavailable verdict))))))

(provide 'neuron-council-store)
;;; neuron-council-store.el ends here
