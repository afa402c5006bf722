;;; neuron-council-reevaluated.el --- Verdicts that come after a memory was stored  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; A memory whose claim nobody could judge is stored with the tag council-unavailable, and the claim is judged later.
;; The server announces such a verdict until it is acknowledged; here it reaches whoever can find the memory.

;;; Code:

(require 'neuron-council-verify)

(defcustom neuron-council-reevaluated-functions nil
  "Functions that take in the verdict on a claim nobody could judge before.
Each is called with ID and VERDICT: ID is the :council-id that the memory
was stored with, VERDICT a plist as `neuron-council-verify' gives it,
whose own :id is another one.  It should give the memory :confidence and
:tags of VERDICT.

When there is a function and none of them signals an error, the verdict
has been taken in.  Otherwise they are called again after the next start
of the server, so a function may be called twice with the same ID."
  :type 'hook
  :risky t
  :group 'neuron-council-capture
  :package-version '(neuron-council . "0.1.0"))

(defconst neuron-council-reevaluated--pause 0.1
  "Seconds without an announcement after which the past ones are acknowledged.
A verdict that supersedes several is acknowledged once for all of them,
so the last of them must have come.")

(defvar neuron-council-reevaluated--outcomes nil
  "Alist from the ids of new verdicts to whether they were taken in.")

(defvar neuron-council-reevaluated--timer nil
  "Timer of the next acknowledgement.")

(defun neuron-council-reevaluated-run (id verdict)
  "Run `neuron-council-reevaluated-functions' with ID and VERDICT.
Return non-nil when there is a function and none of them failed."
  (neuron-council-verdict-supersede id verdict)
  (neuron-council-errors-run-hook 'neuron-council-reevaluated-functions id verdict))

(defun neuron-council-reevaluated--announced (id verdict)
  "Take in VERDICT, which supersedes the one with ID."
  (let ((new (plist-get verdict :id)) (taken nil))
    (unwind-protect
        (with-temp-buffer
          (setq taken (neuron-council-reevaluated-run id verdict)))
      (setf (alist-get new neuron-council-reevaluated--outcomes nil nil #'equal)
            (and taken (alist-get new neuron-council-reevaluated--outcomes t nil #'equal)))
      (when neuron-council-reevaluated--timer
        (cancel-timer neuron-council-reevaluated--timer))
      (setq neuron-council-reevaluated--timer
            (run-at-time neuron-council-reevaluated--pause nil #'neuron-council-reevaluated--acknowledge)))))

(defun neuron-council-reevaluated--acknowledge ()
  "Tell the server which verdicts were taken in.
A server that is gone announces them again."
  (let ((ids nil))
    (pcase-dolist (`(,id . ,taken) neuron-council-reevaluated--outcomes)
      (when taken (push id ids)))
    (setq neuron-council-reevaluated--outcomes nil
          neuron-council-reevaluated--timer nil)
    (when (and ids (neuron-council-process-ready-p))
      (let ((job (neuron-council-rpc-make-job
                  :council/acknowledge (list :ids (vconcat ids)) "acknowledgement"
                  (lambda (_ condition)
                    (when condition
                      (neuron-council-log "%d verdicts were not acknowledged: %s" (length ids)
                                              (car condition)))))))
        (setf (neuron-council-job-background job) t)
        (neuron-council-rpc-submit job)))))

(defun neuron-council-reevaluated--hear (method params)
  "Take in the notification METHOD with PARAMS, later, if it announces a verdict."
  (when (eq method 'council/reevaluated)
    (let ((id (plist-get params :supersedes))
          (verdict (neuron-council-verdict-check (plist-get params :verdict))))
      (run-at-time 0 nil #'neuron-council-errors-guard "the announcement of a verdict"
                   #'neuron-council-reevaluated--announced id verdict)
      t)))

(add-hook 'neuron-council-rpc-notification-functions #'neuron-council-reevaluated--hear)

(provide 'neuron-council-reevaluated)
;;; neuron-council-reevaluated.el ends here
