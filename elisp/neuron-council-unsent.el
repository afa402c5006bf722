;;; neuron-council-unsent.el --- Claims that reached no server  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; The claim of a memory is kept in a file from before it is sent until the server has answered it, so that no death
;; between loses it; then the server has it, in its ledger or in its queue.  What is left, because no answer came, is
;; submitted, with its id, when a server is ready, behind whatever a person asks.  Its memory is stored by then, so a
;; verdict is not enough: the file stays until some function of `neuron-council-reevaluated-functions' has taken the
;; verdict in.  It goes, too, when the server refuses the claim, and when a person takes it back or has it forgotten.
;;
;; Over a claim that the server dies of it would die at every start, and take with it what a person asks meanwhile.  So
;; one over which it died is submitted with no other of these beside it, and given up when the server has crashed three
;; times with no other claim at all: its file stays, under another name.
;;
;; Where the folder cannot be written, that is said once, and claims are judged all the same.
;;
;; A file is ID.eld, or ID.PID@HOST.eld while an Emacs works on it; the renaming decides between two of them.

;;; Code:

(require 'neuron-council-files)
(require 'neuron-council-reevaluated)
(require 'neuron-council-verify)

(defconst neuron-council-unsent--at-a-time 2
  "How many of these claims are submitted at a time.")

(defconst neuron-council-unsent--deaths-limit 3
  "A claim is given up after so many crashes of a server that had no other.")

(defvar neuron-council-unsent--alone nil
  "The id of the claim that is being judged with no other beside it, or nil.")

(defvar neuron-council-unsent--taken nil
  "Alist from the ids this Emacs works on to their files.")

(defvar neuron-council-unsent--waiting nil
  "Files of the claims that are still to be submitted to this server.")

(defvar neuron-council-unsent--timer nil
  "Timer of the next look at what can be submitted.")

;;;; Files

(defun neuron-council-unsent-folder ()
  "Return the folder of the claims that reached no server."
  (neuron-council-files-folder "unsent"))

(defun neuron-council-unsent--valid-p (record)
  "Return non-nil when RECORD has a claim and no context but a string."
  (and (stringp (plist-get record :claim))
       (or (null (plist-get record :context)) (stringp (plist-get record :context)))
       (or (null (plist-get record :time)) (numberp (plist-get record :time)))
       (or (null (plist-get record :deaths)) (natnump (plist-get record :deaths)))))

(defvar neuron-council-unsent--said nil
  "Non-nil once this Emacs has said that a claim cannot be kept.")

(defun neuron-council-unsent--try (function &rest arguments)
  "Call FUNCTION with ARGUMENTS, which does something to the file of a claim.
Where that fails it is logged, and said the first time."
  (condition-case problem
      (apply function arguments)
    (error
     (neuron-council-log "A claim cannot be kept: %s" (car problem))
     (unless neuron-council-unsent--said
       (setq neuron-council-unsent--said t)
       (message "Neuron Council: claims that no server has judged cannot be kept: %s"
                (neuron-council-errors-text problem))))))

(defun neuron-council-unsent--keep (job)
  "Keep the claim of JOB, which is about to be submitted.
Where that cannot be done it is submitted all the same."
  (let* ((params (neuron-council-job-params job))
         (id (plist-get params :id)))
    (neuron-council-unsent--try
     (lambda ()
       (let ((file (neuron-council-files-own-name (neuron-council-unsent-folder) id)))
         ;; First, since C-g may come while it is written.
         (push (cons id file) neuron-council-unsent--taken)
         (neuron-council-files-write file (list :id id :claim (plist-get params :claim)
                                                :context (plist-get params :context) :time (float-time))))))))

(defun neuron-council-unsent--file (id)
  "Return the file of the claim ID, which this Emacs works on no more, or nil."
  (let ((taken (assoc id neuron-council-unsent--taken)))
    (setq neuron-council-unsent--taken (delq taken neuron-council-unsent--taken))
    (cdr taken)))

(defun neuron-council-unsent--drop (id)
  "Delete the file of the claim ID."
  (let ((file (neuron-council-unsent--file id)))
    (when file
      (neuron-council-unsent--try #'neuron-council-files-delete file))))

(defun neuron-council-unsent--release (id)
  "Leave the file of the claim ID for the next start of a server."
  (let ((file (neuron-council-unsent--file id)))
    (when (and file (file-exists-p file))
      (neuron-council-unsent--try #'rename-file file (neuron-council-files-name (file-name-directory file) id)))))

(defun neuron-council-unsent--settle (id condition)
  "End the work on the claim ID, as its job ended: with CONDITION, or an answer.
Its file is dropped where the server has the claim, where nobody could judge it
and where it was taken back."
  (let ((inhibit-quit t))
    (if (memq (car condition) '(nil quit neuron-council-cancelled neuron-council-refused neuron-council-unknown))
        (neuron-council-unsent--drop id)
      (neuron-council-unsent--release id))))

(defun neuron-council-unsent-keeps-p (id)
  "Return non-nil when the claim ID is kept, to be judged when a server is ready.
ID may be anything."
  (and (neuron-council-files-id-p id)
       (neuron-council-files-list (neuron-council-unsent-folder) id)
       t))

;;;; Claims of captures

(defun neuron-council-unsent-wait (claim context id)
  "Have CLAIM judged against CONTEXT as ID, keep it meanwhile, and wait.
Return the verdict, or signal what `neuron-council-verify-wait' signals;
the claim stays in its file where it reached no server."
  (let ((condition '(quit)))
    (unwind-protect
        (condition-case problem
            (prog1 (neuron-council-verify-wait claim context id #'neuron-council-unsent--keep)
              (setq condition nil))
          (error
           (setq condition problem)
           (signal (car problem) (cdr problem))))
      (neuron-council-unsent--settle id condition))))

(defun neuron-council-unsent-submit (claim context id function)
  "Have CLAIM judged against CONTEXT as ID, keep it meanwhile; return the job.
FUNCTION is called as `neuron-council-verify-submit' does; the claim stays
in its file where it reached no server, or where FUNCTION fails."
  (neuron-council-verify-submit claim context id
                                (lambda (verdict condition)
                                  (let ((settled (list 'neuron-council-error "its verdict was not taken in")))
                                    (unwind-protect
                                        (progn
                                          (funcall function verdict condition)
                                          (setq settled nil))
                                      (neuron-council-unsent--settle id (or condition settled)))))
                                nil #'neuron-council-unsent--keep))

;;;; Claims of earlier times

(defun neuron-council-unsent--free-p (file)
  "Return non-nil when nobody works on FILE."
  (and (not (assoc (car (neuron-council-files-parse file)) neuron-council-unsent--taken))
       (neuron-council-files-free-p file)))

(defun neuron-council-unsent--take (file)
  "Take FILE and return its record.
Return nil where another Emacs was first, or FILE is broken."
  (when (neuron-council-unsent--free-p file)
    (let ((id (car (neuron-council-files-parse file))))
      (condition-case nil
          (let* ((taken (neuron-council-files-take file))
                 (record (neuron-council-files-read taken #'neuron-council-unsent--valid-p)))
            (when record
              (push (cons id taken) neuron-council-unsent--taken))
            record)
        (file-missing nil)))))

(defun neuron-council-unsent--submit (record)
  "Submit the claim of RECORD, which this Emacs has taken."
  (let ((id (plist-get record :id)))
    (when (plist-get record :deaths)
      (setq neuron-council-unsent--alone id))
    (neuron-council-verify-submit
     (plist-get record :claim) (plist-get record :context) id
     (lambda (verdict condition)
       (when (equal id neuron-council-unsent--alone)
         (setq neuron-council-unsent--alone nil))
       (if (eq (car condition) 'neuron-council-died)
           (neuron-council-unsent--died record (memq 'crashed condition))
         (neuron-council-unsent--judged id verdict condition)))
     nil
     (lambda (job) (setf (neuron-council-job-background job) t))
     t)))

(defun neuron-council-unsent--died (record guilty)
  "Note that the server died while it had the claim of RECORD.
GUILTY is non-nil when it crashed and had no other.  The file is left for
the next start, or given up."
  (let* ((id (plist-get record :id))
         (deaths (+ (or (plist-get record :deaths) 0) (if guilty 1 0)))
         (file (cdr (assoc id neuron-council-unsent--taken))))
    (when (and file (file-exists-p file))
      (neuron-council-unsent--try
       #'neuron-council-files-write file
       (list :id id :claim (plist-get record :claim) :context (plist-get record :context)
             :time (plist-get record :time) :deaths deaths)
       nil t))
    (if (< deaths neuron-council-unsent--deaths-limit)
        (neuron-council-unsent--release id)
      (neuron-council-unsent--give-up id deaths))))

(defun neuron-council-unsent--give-up (id deaths)
  "Submit the claim ID, over which DEATHS servers died, no more, and say so."
  (let ((file (neuron-council-unsent--file id)))
    (when (and file (file-exists-p file))
      (let ((name (concat (neuron-council-files-name (file-name-directory file) id) ".given-up")))
        (neuron-council-unsent--try #'rename-file file name t)
        (neuron-council-log "The unsent claim %s is given up: %d servers crashed over it" id deaths)
        (message "Neuron Council: %d servers crashed over a claim, so it is not judged; it is kept in %s \
(M-x neuron-council-show-log says why they died)"
                 deaths (abbreviate-file-name name))))))

(defun neuron-council-unsent--judged (id verdict condition)
  "Take in VERDICT on the claim ID, or CONDITION where there is none."
  (neuron-council-unsent--soon)
  (cond
   (condition
    (when (memq (car condition) '(neuron-council-refused neuron-council-unknown))
      (neuron-council-log "The unsent claim %s is given up: the server refused it" id))
    (neuron-council-unsent--settle id condition))
   ((equal (plist-get verdict :status) "unavailable")
    ;; The server will announce a verdict, under the id of this one.
    (if (equal (plist-get verdict :id) id)
        (neuron-council-unsent--drop id)
      (neuron-council-unsent--release id)))
   (t
    (let ((taken nil))
      (unwind-protect
          (setq taken (neuron-council-reevaluated-run id verdict))
        (if taken
            (neuron-council-unsent--drop id)
          (neuron-council-unsent--release id)))))))

(defun neuron-council-unsent--room-p ()
  "Return non-nil when another claim can be submitted: no person waits."
  (let ((room (if neuron-council-unsent--alone 0 neuron-council-unsent--at-a-time)))
    (dolist (job neuron-council-rpc-jobs)
      (cond ((not (neuron-council-job-background job))
             ;; Where it has ended its callback is still to run, and may ask for more.
             (setq room 0))
            ((eq (neuron-council-job-method job) :council/verify)
             (setq room (1- room)))))
    (> room 0)))

(defun neuron-council-unsent--idle-p ()
  "Return non-nil when none of these claims is being judged."
  (let ((idle t))
    (dolist (job neuron-council-rpc-jobs idle)
      (when (and (neuron-council-job-background job) (eq (neuron-council-job-method job) :council/verify))
        (setq idle nil)))))

(defun neuron-council-unsent--put-off (record)
  "Let RECORD, which must be judged alone, come behind the other claims."
  (let ((id (plist-get record :id)))
    (neuron-council-unsent--release id)
    (setq neuron-council-unsent--waiting
          (append neuron-council-unsent--waiting
                  (list (neuron-council-files-name (neuron-council-unsent-folder) id))))))

(defun neuron-council-unsent--next ()
  "Submit what can be submitted now."
  (setq neuron-council-unsent--timer nil)
  (let ((going t))
    (while (and going neuron-council-unsent--waiting (neuron-council-process-ready-p)
                (neuron-council-unsent--room-p))
      (let ((record (neuron-council-unsent--take (pop neuron-council-unsent--waiting))))
        (cond ((null record))
              ((or (null (plist-get record :deaths)) (neuron-council-unsent--idle-p))
               (neuron-council-unsent--submit record))
              (t (neuron-council-unsent--put-off record)
                 ;; What is being judged comes back here when it has ended.
                 (setq going nil)))))))

(defun neuron-council-unsent--soon ()
  "Look in a moment for what can be submitted."
  (when (and neuron-council-unsent--waiting (not neuron-council-unsent--timer))
    (setq neuron-council-unsent--timer
          (run-at-time 0 nil #'neuron-council-errors-guard "submitting a claim" #'neuron-council-unsent--next))))

(defun neuron-council-unsent--look ()
  "Look for claims that reached no server, now that one is ready."
  (setq neuron-council-unsent--waiting (neuron-council-files-list (neuron-council-unsent-folder)))
  (neuron-council-unsent--soon))

(defun neuron-council-unsent-forget (id)
  "Delete what is kept of the claim ID, and submit it no more."
  (dolist (job (copy-sequence neuron-council-rpc-jobs))
    (when (and (neuron-council-job-background job)
               (equal id (plist-get (neuron-council-job-params job) :id)))
      (neuron-council-rpc-cancel job '(neuron-council-cancelled "forgotten"))))
  (neuron-council-files-forget (neuron-council-unsent-folder) id))

(add-hook 'neuron-council-rpc-ready-hook #'neuron-council-unsent--look)
(add-hook 'neuron-council-rpc-jobs-hook #'neuron-council-unsent--soon)

(provide 'neuron-council-unsent)
;;; neuron-council-unsent.el ends here
