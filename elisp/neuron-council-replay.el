;;; neuron-council-replay.el --- Check the evidence of a verdict again  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; The ledger keeps what a verdict was decided on, and the checker decides it again without a model.  The same outcome
;; shows that nobody has changed either; where it is another, the server says what.

;;; Code:

(require 'neuron-council-rpc)
(require 'neuron-council-verdict)

(defun neuron-council-replay--reasons (answer id)
  "Return what ANSWER of council/replay says of the verdict ID, plain strings."
  (let ((reasons (plist-get (plist-get answer :reasons) (intern (concat ":" id)))))
    (mapcar #'neuron-council-verdict-plain (and (proper-list-p reasons) reasons))))

(defun neuron-council-replay-outcome (answer id)
  "Return what ANSWER of council/replay to the verdict ID comes to.
It is a plist of :same, non-nil where the outcome is what was recorded,
and :reasons, strings.  Signal `neuron-council-error' where ANSWER does not
tell."
  (unless (and (proper-list-p answer) (eql 1 (plist-get answer :checked)))
    (signal 'neuron-council-error
            '("the server did not check it; is it older than this package? M-x neuron-council-doctor says so")))
  (list :same (eql 1 (plist-get answer :identical)) :reasons (neuron-council-replay--reasons answer id)))

(defun neuron-council-replay--words (answer)
  "Return in words what ANSWER of council/replay says of the whole ledger."
  (let ((checked (plist-get answer :checked))
        (differing (plist-get answer :differing)))
    (cond
     ((not (natnump checked)) "the server's answer cannot be read; M-x neuron-council-doctor says more")
     ((zerop checked) "The ledger has no verdict to check")
     ((not (and differing (proper-list-p differing)))
      (format "%d verdict%s checked again, each with the outcome that was recorded" checked (if (= checked 1) "" "s")))
     (t (let ((id (neuron-council-verdict-plain (car differing))))
          (format "%d of %d verdicts have another outcome today: %s: %s  M-x neuron-council-show shows it"
                  (length differing) checked id
                  (mapconcat #'identity (neuron-council-replay--reasons answer id) " ")))))))

;;;###autoload
(defun neuron-council-replay ()
  "Have the evidence of all verdicts in the ledger checked again.
No model is asked: the checker decides on what is stored, and the outcome
should be what was recorded.  This does not wait.  In a report,
\\<neuron-council-report-mode-map>\\[neuron-council-report-replay] does it for one verdict."
  (interactive)
  (let ((job (neuron-council-rpc-make-job
              :council/replay nil "checking the evidence again"
              (lambda (answer condition)
                (message "%s" (if condition
                                  (concat "The evidence cannot be checked: " (neuron-council-errors-text condition))
                                (neuron-council-replay--words answer)))))))
    (setf (neuron-council-job-note job) "checking the evidence again")
    (neuron-council-rpc-submit job)
    job))

(provide 'neuron-council-replay)
;;; neuron-council-replay.el ends here
