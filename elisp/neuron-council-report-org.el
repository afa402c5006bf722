;;; neuron-council-report-org.el --- The report on a verdict as Org text  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; A heading with properties, and below it what neuron-council-format.el says, section by section, in example blocks:
;; no text of a model is ever markup, and no heading, drawer or block is begun or ended by one.

;;; Code:

(require 'neuron-council-format)

(defun neuron-council-report-org--property (name value)
  "Return a line of a drawer that gives the property NAME the VALUE, if it has one."
  (let ((text (neuron-council-verdict-plain value)))
    (if (equal text "") "" (format ":%s: %s\n" name text))))

(defun neuron-council-report-org--literal (lines)
  "Return LINES as an example block."
  (concat "#+begin_example\n"
          ;; As Org itself does it: a comma before what would end the block or begin a heading.
          (replace-regexp-in-string "^[ \t]*\\(,*\\(?:\\*\\|#\\+\\)\\)" ",\\1" lines nil nil 1)
          "#+end_example\n"))

(defun neuron-council-report-org--status (verdict)
  "Return the status of VERDICT as a word that is no markup."
  (let ((status (plist-get verdict :status)))
    (if (and (stringp status) (string-match-p "\\`[a-z]\\{1,20\\}\\'" status)) status "odd")))

;;;###autoload
(defun neuron-council-report-as-org (verdict)
  "Return the report on VERDICT as Org text.
It is a subtree with the properties COUNCIL_ID, COUNCIL_CONFIDENCE and
COUNCIL_TAGS; what models and users wrote stands in example blocks."
  (let ((sections (neuron-council-format-sections verdict 80)))
    (substring-no-properties
     (concat
      (format "* Council verdict: %s\n:PROPERTIES:\n" (neuron-council-report-org--status verdict))
      (neuron-council-report-org--property "COUNCIL_ID" (plist-get verdict :id))
      (neuron-council-report-org--property "COUNCIL_CONFIDENCE" (plist-get verdict :confidence))
      (neuron-council-report-org--property
       "COUNCIL_TAGS" (mapconcat #'neuron-council-verdict-plain (neuron-council-verdict-tags verdict) " "))
      ":END:\n"
      (neuron-council-report-org--literal (concat (caar sections) (cdar sections)))
      (mapconcat (lambda (section)
                   (concat "** " (car section) (neuron-council-report-org--literal (cdr section))))
                 (cdr sections) "")))))

(provide 'neuron-council-report-org)
;;; neuron-council-report-org.el ends here
