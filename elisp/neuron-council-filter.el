;;; neuron-council-filter.el --- What a list of verdicts is narrowed to  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; A filter is a name, and a text that claims hold.  The ledger is asked by it; what the ledger does not have is held
;; against it here.

;;; Code:

(require 'neuron-council-row)
(require 'neuron-council-text)
(require 'neuron-council-verdict)

(defconst neuron-council-filter--table
  '((all)
    (awaiting :status "parked" :reviewed :json-false)
    (flagged :tag "council-flagged")
    (parked :status "parked")
    (split :tag "council-split")
    (unavailable :tag "council-unavailable"))
  "What a list can be narrowed to, and how the ledger is asked for it.")

(defvar-local neuron-council-filter-name 'all
  "What the list is narrowed to, one of `neuron-council-filter-names'.")

(defvar-local neuron-council-filter-text nil
  "Text that the claims hold, nil for any.")

(defun neuron-council-filter-names ()
  "Return the symbols that a list can be narrowed to."
  (mapcar #'car neuron-council-filter--table))

(defun neuron-council-filter-set (name text)
  "Narrow the list of the current buffer to NAME and to claims with TEXT.
What is no name or no text, as in an old bookmark, is for everything."
  (setq neuron-council-filter-name (if (memq name (neuron-council-filter-names)) name 'all)
        neuron-council-filter-text (and (stringp text) (not (equal text "")) text)))

(defun neuron-council-filter-params ()
  "Return how the ledger is asked for what the list is narrowed to."
  (append (alist-get neuron-council-filter-name neuron-council-filter--table)
          (and neuron-council-filter-text (list :text neuron-council-filter-text))))

(defun neuron-council-filter-awaiting-params ()
  "Return how the ledger is asked for what of it awaits a person.
Nil where that is all that the list is narrowed to."
  (unless (eq neuron-council-filter-name 'awaiting)
    (let ((tag (plist-get (alist-get neuron-council-filter-name neuron-council-filter--table) :tag)))
      (append (alist-get 'awaiting neuron-council-filter--table)
              (and tag (list :tag tag))
              (and neuron-council-filter-text (list :text neuron-council-filter-text))))))

(defun neuron-council-filter-fits-p (verdict)
  "Return non-nil when VERDICT, which the ledger did not give, fits the filter."
  (let* ((how (alist-get neuron-council-filter-name neuron-council-filter--table))
         (tag (plist-get how :tag)))
    (and (or (null tag) (member tag (neuron-council-verdict-tags verdict)))
         (not (and (eq neuron-council-filter-name 'unavailable) (neuron-council-verdict-superseded-p verdict)))
         (or (null (plist-get how :status)) (neuron-council-row-parked-p verdict))
         (or (null (plist-get how :reviewed)) (null (neuron-council-row-decision verdict)))
         (or (null neuron-council-filter-text)
             (let ((case-fold-search t) (claim (plist-get verdict :claim)))
               (and (stringp claim) (string-match-p (regexp-quote neuron-council-filter-text) claim)))))))

(defun neuron-council-filter-words ()
  "Return what the list is narrowed to in words, a list, nil for nothing."
  (delq nil
        (list (unless (eq neuron-council-filter-name 'all)
                (propertize (format "only %s" neuron-council-filter-name) 'face 'bold))
              (and neuron-council-filter-text
                   (propertize (format "with \"%s\"" (neuron-council-text-plain neuron-council-filter-text))
                               'face 'bold)))))

(provide 'neuron-council-filter)
;;; neuron-council-filter.el ends here
