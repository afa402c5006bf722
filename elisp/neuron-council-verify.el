;;; neuron-council-verify.el --- Put a claim before the council  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; A claim goes in, a verdict comes out: a plist with the fields of the server's answer as keywords.

;;; Code:

(require 'neuron-council-rpc)
(require 'neuron-council-verdict)

(defconst neuron-council-verify--limits '((claim . 8000) (context . 24000))
  "Characters that the protocol allows; more is not even sent.")

(defvar neuron-council-verify--ids 0
  "How many ids this Emacs has made.")

(defun neuron-council-verify-new-id ()
  "Return a random UUID (version 4).
`random' alone will not do: an init file may have seeded it, and the
server takes a known id for a known claim."
  (setq neuron-council-verify--ids (1+ neuron-council-verify--ids))
  (let ((digits (secure-hash 'sha256 (format "%s %s %s %s %s" neuron-council-verify--ids (random) (current-time)
                                             (emacs-pid) (system-name)))))
    (format "%s-%s-4%s-%x%s-%s" (substring digits 0 8) (substring digits 8 12) (substring digits 12 15)
            (logior 8 (logand 3 (string-to-number (substring digits 15 16) 16)))
            (substring digits 16 19) (substring digits 19 31))))

(defun neuron-council-verify--text (name text)
  "Return TEXT cleaned, or signal that it cannot be the field NAME of a request."
  (unless (stringp text)
    (signal 'neuron-council-refused (list (format "%s: not a string" name))))
  (let ((clean (neuron-council-text-clean text))
        (limit (alist-get name neuron-council-verify--limits)))
    (when (> (length clean) limit)
      (signal 'neuron-council-refused
              (list (format "%s: %d characters are too many, the council reads %d" name (length clean) limit))))
    clean))

(defun neuron-council-verify-job (claim context id callback &optional watcher)
  "Return a job, not yet submitted, that has CLAIM judged against CONTEXT as ID.
CALLBACK and WATCHER are those of `neuron-council-rpc-make-job'.  Signal
`neuron-council-refused' when the texts cannot be sent."
  (neuron-council-rpc-make-job
   :council/verify
   (append (list :claim (neuron-council-verify--text 'claim claim) :id id)
           (and context (list :context (neuron-council-verify--text 'context context))))
   (neuron-council-text-plain claim) callback watcher))

(defun neuron-council-verify-submit (claim context id function &optional watcher prepare)
  "Have CLAIM judged against CONTEXT as ID, and return the job at once.
FUNCTION is called once and later with a verdict and a condition: with a
condition the verdict is the unavailable one.  WATCHER gets the job as it
gets on, PREPARE before it is submitted.  Nothing is signalled."
  (let* ((since (float-time))
         (callback (lambda (verdict condition)
                     (unless condition
                       (condition-case problem
                           (neuron-council-verdict-check verdict)
                         (neuron-council-error (setq condition problem))))
                     (funcall function
                              (if condition
                                  (neuron-council-verdict-unavailable claim id condition since)
                                verdict)
                              condition))))
    (condition-case problem
        (let ((job (neuron-council-verify-job claim context id callback watcher)))
          (when prepare (funcall prepare job))
          (neuron-council-rpc-submit job)
          job)
      (neuron-council-error
       (let ((job (neuron-council-rpc-make-job :council/verify nil "" callback)))
         (add-hook 'kill-emacs-hook #'neuron-council-rpc--leave)
         (push job neuron-council-rpc-jobs)
         (neuron-council-rpc-end job nil problem)
         job)))))

(defun neuron-council-verify-wait (claim context id &optional prepare)
  "Have CLAIM judged against CONTEXT as ID, and wait for the verdict.
PREPARE gets the job before it is submitted.  Return the verdict, or
signal `neuron-council-error' or one of its children."
  (let ((job (neuron-council-verify-job claim context id nil)))
    (when prepare (funcall prepare job))
    (neuron-council-verdict-check (neuron-council-rpc-await job))))

;;;###autoload
(defun neuron-council-verify-async (claim context callback)
  "Have CLAIM judged against CONTEXT, a string or nil, and return at once.
This never waits, not for the server's start either, and never signals
what becomes of CLAIM: CALLBACK is called with one argument, the verdict,
exactly once and later, in the current buffer if that is alive then; an
error in it is caught and logged.  The verdict is that of
`neuron-council-verify'; where there is none, it is tagged
council-unavailable and has :error, a string that says why.

Return a handle for `neuron-council-cancel'."
  (neuron-council-verify-submit claim context (neuron-council-verify-new-id)
                                (lambda (verdict _) (funcall callback verdict))))

(provide 'neuron-council-verify)
;;; neuron-council-verify.el ends here
