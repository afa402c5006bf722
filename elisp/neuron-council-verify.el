;;; neuron-council-verify.el --- Put a claim before the council  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; A claim goes in, a verdict comes out: a plist with the fields of the server's answer as keywords.

;;; Code:

(require 'neuron-council-rpc)
(require 'neuron-council-verdict)

(defconst neuron-council-verify--limits `((claim . ,neuron-council-verdict-claim-limit) (context . 24000))
  "Characters that the protocol allows; more is not even sent.")

(defun neuron-council-verify-limit (name)
  "Return how many characters the field NAME may have, `claim' or `context'."
  (alist-get name neuron-council-verify--limits))

;;;; What a person types

(defvar neuron-council-claim-history nil
  "The claims that were typed, the newest first.")

(defvar neuron-council-context-history nil
  "The contexts that were typed, the newest first.")

(defun neuron-council-verify-read-context (&optional initial)
  "Return a context, read from the user with INITIAL; nil where it is blank."
  (let ((context (read-string "Context (empty for none): " initial 'neuron-council-context-history)))
    (unless (string-match-p "\\`[[:space:]]*\\'" context) context)))

;;;; Hooks

(defcustom neuron-council-before-verify-functions nil
  "Functions that hear of a claim before it is put before the council.
Each is called with CLAIM and CONTEXT as they were given, CONTEXT may be
nil.  What they return is of no account, and an error in one of them is
named and keeps nothing from being judged."
  :type 'hook
  :risky t
  :group 'neuron-council
  :package-version '(neuron-council . "0.1.0"))

(defcustom neuron-council-after-verdict-functions nil
  "Functions that hear of a verdict when the council has given it.
Each is called with VERDICT, a plist as `neuron-council-verify' returns
it, before whoever asked for it.  They must not change it.  They do not
hear where there is no verdict (without a server, say), and of one that
comes after a memory was stored `neuron-council-reevaluated-functions'
hear.  An error in one of them is named and keeps nothing from being stored."
  :type 'hook
  :risky t
  :group 'neuron-council
  :package-version '(neuron-council . "0.1.0"))

;;;; Jobs

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

(defun neuron-council-verify--refuse (name length unit)
  "Signal that the field NAME has LENGTH of UNIT, which are too many."
  (signal 'neuron-council-refused
          (list (format "%s: %d %s are too many, the council reads %d characters"
                        name length unit (neuron-council-verify-limit name)))))

(defun neuron-council-verify--text (name text)
  "Return TEXT cleaned, or signal that it cannot be the field NAME of a request.
TEXT is counted before it is looked at, since it may be any size."
  (unless (stringp text)
    (signal 'neuron-council-refused (list (format "%s: not a string" name))))
  (let ((limit (neuron-council-verify-limit name)))
    (cond ((multibyte-string-p text)
           (when (> (length text) limit)
             (neuron-council-verify--refuse name (length text) "characters")))
          ;; No character of UTF-8 has more than four bytes.
          ((> (length text) (* 4 limit))
           (neuron-council-verify--refuse name (length text) "bytes")))
    (let ((clean (neuron-council-text-clean text)))
      (when (> (length clean) limit)
        (neuron-council-verify--refuse name (length clean) "characters"))
      clean)))

(defun neuron-council-verify--label (claim)
  "Return the beginning of CLAIM as plain text, for a list of what is judged."
  (neuron-council-text-plain (substring claim 0 (min (length claim) 200))))

(defun neuron-council-verify-job (claim context id callback &optional watcher background)
  "Return a job, not yet submitted, that has CLAIM judged against CONTEXT as ID.
CALLBACK and WATCHER are those of `neuron-council-rpc-make-job'.  With
BACKGROUND, every claim that somebody waits for goes first.  Signal
`neuron-council-refused' when the texts cannot be sent."
  (let ((text (neuron-council-verify--text 'claim claim)))
    (neuron-council-rpc-make-job
     :council/verify
     (append (list :claim text :id id)
             (and context (list :context (neuron-council-verify--text 'context context)))
             (and background (list :background t)))
     (neuron-council-verify--label text) callback watcher)))

(defun neuron-council-verify--callback (claim id function)
  "Return a callback that gives FUNCTION a verdict on CLAIM, known as ID.
FUNCTION is called as that of `neuron-council-verify-make'."
  (let ((since (float-time))
        (claim (neuron-council-verdict-claim-kept claim)))
    (lambda (verdict condition)
      (unless condition
        (condition-case problem
            (neuron-council-verdict-check verdict)
          (neuron-council-error (setq condition problem))))
      (if condition
          (funcall function (neuron-council-verdict-unavailable claim id condition since) condition)
        (neuron-council-errors-run-hook 'neuron-council-after-verdict-functions verdict)
        (funcall function verdict nil)))))

(defun neuron-council-verify-make (claim context id function &optional watcher background)
  "Return a job that has CLAIM judged against CONTEXT as ID once it is submitted.
FUNCTION is called once and later with a verdict and a condition: with a
condition the verdict is the unavailable one.  WATCHER gets the job as it
gets on.  With BACKGROUND, what somebody waits for goes first.  Nothing is
signalled: where the texts cannot be sent, the job has ended already."
  (neuron-council-errors-run-hook 'neuron-council-before-verify-functions claim context)
  (let ((callback (neuron-council-verify--callback claim id function)))
    (condition-case problem
        (neuron-council-verify-job claim context id callback watcher background)
      (error
       (let ((job (neuron-council-rpc-make-job :council/verify nil "" callback)))
         (neuron-council-rpc-give-up job problem)
         job)))))

(defun neuron-council-verify-submit (claim context id function &optional watcher prepare background)
  "Have CLAIM judged against CONTEXT as ID, and return the job at once.
FUNCTION, WATCHER and BACKGROUND are those of `neuron-council-verify-make';
PREPARE gets the job before it is submitted.  Nothing is signalled, and
where this is left with \\[keyboard-quit] the job is cancelled."
  (let ((job (neuron-council-verify-make claim context id function watcher background)))
    (unless (neuron-council-rpc-job-done-p job)
      (let ((condition '(neuron-council-cancelled "cancelled")))
        (unwind-protect
            (condition-case problem
                (progn
                  (when prepare (funcall prepare job))
                  (neuron-council-rpc-submit job)
                  (setq condition nil))
              (error (setq condition problem)))
          (when condition
            (neuron-council-rpc-give-up job condition)))))
    job))

(defun neuron-council-verify-wait (claim context id &optional prepare)
  "Have CLAIM judged against CONTEXT as ID, and wait for the verdict.
PREPARE gets the job before it is submitted.  Return the verdict, or
signal `neuron-council-error' or one of its children."
  (neuron-council-errors-run-hook 'neuron-council-before-verify-functions claim context)
  (let ((job (neuron-council-verify-job claim context id nil)))
    (when prepare (funcall prepare job))
    (let ((verdict (neuron-council-verdict-check (neuron-council-rpc-await job))))
      (neuron-council-errors-run-hook 'neuron-council-after-verdict-functions verdict)
      verdict)))

;;;###autoload
(defun neuron-council-verify-async (claim context callback)
  "Have CLAIM judged against CONTEXT, a string or nil, and return at once.
This never waits, not for the server's start either, and never signals
what becomes of CLAIM: CALLBACK is called with one argument, the verdict,
exactly once and later, in the current buffer if that is alive then; an
error in it is caught and logged.  The verdict is that of
`neuron-council-verify'; where there is none, it is tagged
council-unavailable and has :error, a string that says why.  A CALLBACK
that is no function is an error at once.

Return a handle for `neuron-council-cancel'."
  (unless (functionp callback)
    (signal 'wrong-type-argument (list 'functionp callback)))
  (neuron-council-rpc-handle
   (neuron-council-verify-submit claim context (neuron-council-verify-new-id)
                                 (lambda (verdict _) (funcall callback verdict)))))

(provide 'neuron-council-verify)
;;; neuron-council-verify.el ends here
