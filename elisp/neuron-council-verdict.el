;;; neuron-council-verdict.el --- Verdicts, and those at hand  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; A verdict is a plist of the fields of the server's answer as keywords; what models and users wrote in it is data,
;; to be shown through `neuron-council-text-plain' alone.

;;; Code:

(require 'neuron-council-errors)
(require 'neuron-council-text)

(defconst neuron-council-verdict-claim-limit 8000
  "Characters of a claim that the council reads.")

(defun neuron-council-verdict-tags-p (tags)
  "Return non-nil when TAGS are the tags of a verdict, a list of strings."
  (and (proper-list-p tags) (null (delq t (mapcar #'stringp tags)))))

(defun neuron-council-verdict-check (verdict)
  "Return VERDICT if it can be one, else signal `neuron-council-error'.
Whatever is to be stored, kept or found again by it must be there."
  (unless (and (consp verdict) (stringp (plist-get verdict :id)) (stringp (plist-get verdict :summary))
               (stringp (plist-get verdict :claim)) (numberp (plist-get verdict :confidence))
               (neuron-council-verdict-tags-p (plist-get verdict :tags)))
    (signal 'neuron-council-error '("the server's answer is no verdict; is it of the same version as this package?")))
  verdict)

(defun neuron-council-verdict-claim-kept (claim)
  "Return CLAIM as a verdict keeps it: no properties, and what the council reads."
  (if (stringp claim)
      (substring-no-properties claim 0 (min (length claim) neuron-council-verdict-claim-limit))
    claim))

(defun neuron-council-verdict-unavailable (claim id condition &optional since)
  "Return the verdict on CLAIM, known as ID, that CONDITION stands in the way of.
It has the fields of a verdict of the server that could ask no member, :at,
the time, and :error with what CONDITION says.  A CLAIM too long for the
council is cut off.  SINCE is when the wait began."
  (let ((text (neuron-council-errors-text condition)))
    (list :id id :claim (neuron-council-verdict-claim-kept claim) :confidence 0.5 :council_votes nil
          :summary (concat "Council unavailable: " text) :tags (list "council-unavailable")
          :latency_ms (if since (round (* 1000 (- (float-time) since))) 0)
          :status "unavailable" :tier nil :majority nil :cached nil :warnings nil :votes nil :report nil
          :at (float-time) :error text)))

;;;; In a word

(defface neuron-council-verified '((t :inherit success))
  "A claim that every member and every lens let pass."
  :group 'neuron-council-faces
  :package-version '(neuron-council . "0.1.0"))

(defface neuron-council-doubtful '((t :inherit warning))
  "A claim with doubts: a split vote, or one that is left to a person."
  :group 'neuron-council-faces
  :package-version '(neuron-council . "0.1.0"))

(defface neuron-council-flagged '((t :inherit error))
  "A claim that the council flagged."
  :group 'neuron-council-faces
  :package-version '(neuron-council . "0.1.0"))

(defface neuron-council-unavailable '((t :inherit shadow))
  "A claim that could not be judged."
  :group 'neuron-council-faces
  :package-version '(neuron-council . "0.1.0"))

(defconst neuron-council-verdict--faces
  '(("council-unavailable" . neuron-council-unavailable)
    ("council-parked" . neuron-council-doubtful)
    ("council-flagged" . neuron-council-flagged)
    ("verified" . neuron-council-verified))
  "The face of a verdict by its tags, first match first.")

(defun neuron-council-verdict-tags (verdict)
  "Return the tags of VERDICT, which may be odd, as a list."
  (let ((tags (plist-get verdict :tags)))
    (if (proper-list-p tags) tags (list tags))))

(defun neuron-council-verdict-face (verdict)
  "Return the face that says what VERDICT is."
  (let ((face 'neuron-council-doubtful))
    (dolist (row (reverse neuron-council-verdict--faces) face)
      (when (member (car row) (neuron-council-verdict-tags verdict))
        (setq face (cdr row))))))

(defconst neuron-council-verdict--longest 50000
  "Characters of one text of a verdict that are shown.
The longest that the server takes, a context, has 24,000.")

(defun neuron-council-verdict-text (value)
  "Return VALUE of a verdict as text, an empty string for nil.
What is too long to be shown is cut off, and its length is told."
  (let* ((text (cond ((stringp value) value) (value (format "%s" value)) (t "")))
         (more (- (length text) neuron-council-verdict--longest)))
    (if (> more 0)
        (format "%s ... (%d characters more)" (substring text 0 neuron-council-verdict--longest) more)
      text)))

(defun neuron-council-verdict-plain (value)
  "Return VALUE of a verdict as plain text, an empty string for nil."
  (neuron-council-text-plain (neuron-council-verdict-text value)))

(defun neuron-council-verdict-brief (verdict)
  "Return confidence and tags of VERDICT, in a few words."
  (let ((confidence (plist-get verdict :confidence)))
    (concat (if (numberp confidence) (format "%.2f " confidence) "")
            (mapconcat #'neuron-council-verdict-plain (neuron-council-verdict-tags verdict) ", "))))

(defun neuron-council-verdict-superseded-p (verdict)
  "Return non-nil when another verdict has taken the place of VERDICT."
  (let ((id (plist-get verdict :superseded_by)))
    (and (stringp id) (not (equal id "")))))

;;;; Verdicts at hand

(defcustom neuron-council-verdicts-kept 50
  "How many verdicts this Emacs keeps at hand, the newest."
  :type 'natnum
  :safe #'natnump
  :group 'neuron-council-list
  :package-version '(neuron-council . "0.1.0"))

(defvar neuron-council-verdicts nil
  "The verdicts that this Emacs has asked for or looked up, the newest first.")

(defvar neuron-council-verdicts-hook nil
  "Run when `neuron-council-verdicts' has changed; must be quick.
It runs a moment after the change, once for all changes of that moment.")

(defvar neuron-council-verdict--timer nil
  "Timer of the next run of `neuron-council-verdicts-hook'.")

(defun neuron-council-verdict--changed ()
  "Run `neuron-council-verdicts-hook' in a moment."
  (unless neuron-council-verdict--timer
    (setq neuron-council-verdict--timer
          (run-at-time 0 nil (lambda ()
                               (setq neuron-council-verdict--timer nil)
                               (neuron-council-errors-guard "a council display"
                                                            #'run-hooks 'neuron-council-verdicts-hook))))))

(defun neuron-council-verdict-find (id)
  "Return the verdict ID if it is at hand, else nil; nil is no id."
  (let ((rest (and id neuron-council-verdicts)))
    (while (and rest (not (equal id (plist-get (car rest) :id))))
      (setq rest (cdr rest)))
    (car rest)))

(defconst neuron-council-verdict--notes '(:context :source :fate)
  "What this Emacs may know of a verdict besides the server's answer.
:context is the context that the claim was judged against, nil for none;
:source is where the claim stands, see `neuron-council-source-make';
:fate is what became of the memory: `stored', `held', `quarantined',
`rejected', `accepted', `restored' or `dropped'.")

(defun neuron-council-verdict--with-notes (verdict notes)
  "Return VERDICT with the keywords and values of NOTES, a plist, in it."
  (let ((verdict (copy-sequence verdict)))
    (while notes
      (setq verdict (plist-put verdict (pop notes) (pop notes))))
    verdict))

(defun neuron-council-verdict-add (verdict &rest notes)
  "Keep VERDICT at hand as the newest, in place of an earlier one with its id.
NOTES are keywords of `neuron-council-verdict--notes' and their values, to
be kept with it; those of the earlier one are kept too."
  (let* ((kept (if (natnump neuron-council-verdicts-kept) (max 1 neuron-council-verdicts-kept) 50))
         (earlier (neuron-council-verdict-find (plist-get verdict :id)))
         (others (delq earlier (copy-sequence neuron-council-verdicts))))
    (dolist (key neuron-council-verdict--notes)
      (when (and (plist-member earlier key) (not (plist-member verdict key)) (not (plist-member notes key)))
        (setq notes (append notes (list key (plist-get earlier key))))))
    (let ((all (cons (neuron-council-verdict--with-notes verdict notes) others)))
      (setcdr (nthcdr (1- (min kept (length all))) all) nil)
      (setq neuron-council-verdicts all)))
  (neuron-council-verdict--changed))

(defun neuron-council-verdict-note (id &rest notes)
  "Keep NOTES with the verdict ID if it is at hand, in its place.
They are keywords and values as `neuron-council-verdict-add' takes them,
or fields of the verdict that have changed, such as :review."
  (let ((verdict (neuron-council-verdict-find id)))
    (when verdict
      (setq neuron-council-verdicts
            (mapcar (lambda (each)
                      (if (eq each verdict) (neuron-council-verdict--with-notes verdict notes) each))
                    neuron-council-verdicts))
      (neuron-council-verdict--changed))))

(defvar neuron-council-verdict-remove-functions nil
  "Called with the id of a verdict that is forgotten; must be quick.
What is shown of the verdict has to go.")

(defun neuron-council-verdict-remove (id)
  "Forget the verdict ID: keep it at hand no longer, and show it no longer."
  (setq neuron-council-verdicts (delq (neuron-council-verdict-find id) (copy-sequence neuron-council-verdicts)))
  (neuron-council-errors-guard "a council display" #'run-hook-with-args
                               'neuron-council-verdict-remove-functions id)
  (neuron-council-verdict--changed))

(defvar neuron-council-verdict-supersede-functions nil
  "Called with the id of a verdict and the verdict that takes its place.
They must be quick; what is shown of the former has to follow.")

(defun neuron-council-verdict-supersede (id verdict)
  "Let VERDICT take the place of the verdict ID, where that is shown."
  (let ((earlier (neuron-council-verdict-find id)))
    (when earlier
      (apply #'neuron-council-verdict-add verdict :supersedes id
             (apply #'append (mapcar (lambda (key) (and (plist-member earlier key) (list key (plist-get earlier key))))
                                     neuron-council-verdict--notes)))
      (neuron-council-verdict-note id :superseded_by (plist-get verdict :id))))
  (neuron-council-errors-guard "a council display" #'run-hook-with-args
                               'neuron-council-verdict-supersede-functions id verdict))

(provide 'neuron-council-verdict)
;;; neuron-council-verdict.el ends here
