;;; neuron-council-rpc.el --- Requests to the council's server  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; A request is a job.  `neuron-council-rpc-submit' sends it or queues it until the server has answered `initialize';
;; it never waits and never signals.  A job ends exactly once, with a result or with a condition: by the server's
;; answer, the server's death, its deadline or its cancellation.  `neuron-council-rpc-await' is the only wait.

;;; Code:

(eval-when-compile
  (require 'cl-lib)
  (require 'subr-x))
(require 'neuron-council-errors)
(require 'neuron-council-process)
(require 'neuron-council-program)
(require 'neuron-council-text)

(declare-function jsonrpc-async-request "jsonrpc")
(declare-function jsonrpc-notify "jsonrpc")

;;;; Options

(defcustom neuron-council-timeout 75
  "Seconds to wait for a verdict, the server's start included.
It should be larger than the server's own `deadline_s' (60)."
  :type 'number
  :safe #'numberp
  :group 'neuron-council-server
  :package-version '(neuron-council . "0.1.0"))

;;;; JSON

(defun neuron-council-rpc--lisp (value)
  "Return VALUE of a reply as Lisp: arrays as lists, null and false as nil."
  (cond ((vectorp value) (mapcar #'neuron-council-rpc--lisp value))
        ((consp value) (mapcar #'neuron-council-rpc--lisp value))
        ((eq value :json-false) nil)
        (t value)))

;;;; Jobs

(cl-defstruct (neuron-council-job (:constructor neuron-council-rpc--make-job) (:copier nil) :noinline)
  "One request to the council, from its making to its end."
  method                                ; keyword
  params                                ; plist, a string at :workDoneToken
  label                                 ; a few words for a person, maybe model or user text
  callback                              ; called once with RESULT and CONDITION, one of them nil; nil if waited for
  watcher                               ; called with the job whenever `note' has changed
  background                            ; non-nil for one that no person asked for
  buffer                                ; where `callback' runs, if it is still alive
  heard                                 ; the server's count of messages when it was sent
  (state 'made)                         ; made, queued, sent, done
  server                                ; the server it was given to
  timer                                 ; its deadline
  started                               ; seconds since the epoch
  seconds                               ; that it may take
  note                                  ; what the server last said about it
  noted                                 ; non-nil when `watcher' has not seen that yet
  result
  condition)

(defvar neuron-council-rpc-jobs nil
  "Jobs that have not ended, or whose callback has not run; the newest first.")

(defvar neuron-council-rpc-jobs-hook nil
  "Run when a job begins, gets on, ends or is delivered; must be quick.")

(defvar neuron-council-rpc-ready-hook nil
  "Run when a server has become ready, behind the jobs that waited for it.")

(defvar neuron-council-rpc-notification-functions nil
  "Called with the method and the parameters of a notification until one knows it.
They run in the process filter, from before the first message of a
server, so they must be quick and wait for nothing.")

(defvar neuron-council-rpc--tokens 0
  "How many tokens this Emacs has made.")

(defun neuron-council-rpc-make-job (method params label &optional callback watcher)
  "Make a job for METHOD with PARAMS, called LABEL where a person sees it.
CALLBACK gets the result and the condition, one of which is nil, once and
later, in the current buffer if that is alive; it is nil for a job that
will be waited for.  WATCHER gets the job as it gets on."
  (neuron-council-rpc--make-job
   :method method :label label :callback callback :watcher watcher
   :buffer (current-buffer) :started (float-time) :seconds neuron-council-timeout
   :params (append params (list :workDoneToken (format "emacs-%d-%d" (emacs-pid)
                                                       (setq neuron-council-rpc--tokens
                                                             (1+ neuron-council-rpc--tokens)))))))

(defun neuron-council-rpc-job-done-p (job)
  "Return non-nil when JOB has ended."
  (eq (neuron-council-job-state job) 'done))

(defun neuron-council-rpc-handle (job)
  "Return what stands for JOB outside of the package: a string, which prints short."
  (neuron-council-rpc--token job))

(defun neuron-council-rpc-find (handle)
  "Return the job that HANDLE stands for, nil where it has ended; a job is its own."
  (if (neuron-council-job-p handle)
      handle
    (let ((found nil))
      (dolist (job neuron-council-rpc-jobs found)
        (when (equal handle (neuron-council-rpc--token job))
          (setq found job))))))

(defun neuron-council-rpc--token (job)
  "Return the token by which the server knows JOB."
  (plist-get (neuron-council-job-params job) :workDoneToken))

(defun neuron-council-rpc-deliver (job)
  "Give the outcome of JOB to its callback, the first time it is asked to."
  (when (memq job neuron-council-rpc-jobs)
    (setq neuron-council-rpc-jobs (delq job neuron-council-rpc-jobs))
    (neuron-council-rpc--changed)
    (with-temp-buffer
      (when (buffer-live-p (neuron-council-job-buffer job))
        (set-buffer (neuron-council-job-buffer job)))
      (neuron-council-errors-guard "a council callback" (neuron-council-job-callback job)
                                   (neuron-council-job-result job) (neuron-council-job-condition job)))))

(defvar neuron-council-rpc--undelivered nil
  "Jobs that have ended and are still to be delivered, the first to end first.")

(defvar neuron-council-rpc--deliver-timer nil
  "Timer of the next delivery.")

(defun neuron-council-rpc--deliver-soon ()
  "Deliver in a moment what has ended."
  (unless neuron-council-rpc--deliver-timer
    (setq neuron-council-rpc--deliver-timer (run-at-time 0 nil #'neuron-council-rpc--deliver-next))))

(defun neuron-council-rpc--deliver-next ()
  "Deliver the job that ended first.
The next has a timer of its own, so that many at once hold up no key."
  (setq neuron-council-rpc--deliver-timer nil)
  (let ((job (pop neuron-council-rpc--undelivered)))
    ;; First, since a callback may wait, or leave by a throw.
    (when neuron-council-rpc--undelivered
      (neuron-council-rpc--deliver-soon))
    (when job
      (neuron-council-rpc-deliver job))))

(defun neuron-council-rpc-end (job result condition)
  "End JOB with RESULT, or with CONDITION, unless it has ended."
  (unless (neuron-council-rpc-job-done-p job)
    (setf (neuron-council-job-state job) 'done
          (neuron-council-job-result job) result
          (neuron-council-job-condition job) condition)
    (when (neuron-council-job-timer job)
      (cancel-timer (neuron-council-job-timer job)))
    (neuron-council-log "%s %s after %.2f s" (neuron-council-rpc--token job)
                        (if condition (car condition) "answered")
                        (- (float-time) (neuron-council-job-started job)))
    (if (not (neuron-council-job-callback job))
        (setq neuron-council-rpc-jobs (delq job neuron-council-rpc-jobs))
      (setq neuron-council-rpc--undelivered (nconc neuron-council-rpc--undelivered (list job)))
      (neuron-council-rpc--deliver-soon))
    (neuron-council-rpc--changed)))

(defun neuron-council-rpc-enqueue (job)
  "Put JOB, which will be submitted later, among the jobs.
So it can be seen and cancelled, and ends where the server is stopped or
Emacs is left."
  (add-hook 'kill-emacs-hook #'neuron-council-rpc--leave)
  (unless (memq job neuron-council-rpc-jobs)
    (push job neuron-council-rpc-jobs))
  (neuron-council-rpc--changed))

(defun neuron-council-rpc-give-up (job condition)
  "End JOB with CONDITION, whether it was submitted or not.
Its callback hears of it in either case."
  (unless (neuron-council-rpc-job-done-p job)
    (neuron-council-rpc-enqueue job)
    (neuron-council-rpc-cancel job condition)))

(defun neuron-council-rpc-cancel (job condition)
  "End JOB with CONDITION and tell the server, so that the models stop."
  (unless (neuron-council-rpc-job-done-p job)
    (let ((sent (eq (neuron-council-job-state job) 'sent))
          (server (neuron-council-job-server job)))
      (neuron-council-rpc-end job nil condition)
      (when (and sent (neuron-council-process-live-p server))
        (neuron-council-process-write server #'jsonrpc-notify :window/workDoneProgress/cancel
                                      (list :token (neuron-council-rpc--token job)))))))

(defun neuron-council-rpc--check-seconds (job)
  "Signal `neuron-council-error' where the seconds that JOB may take are nonsense."
  (let ((seconds (neuron-council-job-seconds job)))
    (unless (and (numberp seconds) (< 0 seconds 1.0e+INF))
      (signal 'neuron-council-error
              (list (format "`neuron-council-timeout' is %.40S: set it to a number of seconds above 0" seconds))))))

(defun neuron-council-rpc--due (job)
  "Time JOB out, but first let in what the server has said meanwhile.
An Emacs that was busy has not read it yet."
  (setf (neuron-council-job-timer job)
        (run-at-time 0.05 nil #'neuron-council-rpc--timed-out job)))

(defun neuron-council-rpc--timed-out (job)
  "Cancel JOB, whose time is over.
A server that has said nothing at all meanwhile is left: a stray line on
its stdout makes jsonrpc.el deaf to it for good."
  (let* ((server (neuron-council-job-server job))
         (deaf (and (eq (neuron-council-job-state job) 'sent)
                    (eql (neuron-council-job-heard job) (neuron-council-process-server-heard server)))))
    (neuron-council-rpc-cancel
     job
     (list 'neuron-council-error
           (format (if (eq (neuron-council-job-state job) 'queued)
                       "the server did not get ready within %s s (`neuron-council-timeout')"
                     "no answer within %s s (`neuron-council-timeout')")
                   (neuron-council-job-seconds job))))
    (when deaf
      (neuron-council-process-fail server (list 'neuron-council-error "nothing was heard from the server any more")))))

(defun neuron-council-rpc--take-answer (job answer take)
  "End JOB by TAKE, which returns the result and the condition in ANSWER."
  (setf (neuron-council-process-server-answered (neuron-council-job-server job)) t)
  (if (neuron-council-rpc-job-done-p job)
      (neuron-council-log "%s was answered too late" (neuron-council-rpc--token job))
    (apply #'neuron-council-rpc-end job
           (condition-case problem
               (funcall take answer)
             (error (list nil (list 'neuron-council-error
                                    (format "the server's answer cannot be read: %s"
                                            (error-message-string problem)))))))))

(defun neuron-council-rpc--send (job)
  "Send JOB to its server, which is ready."
  (let ((server (neuron-council-job-server job)))
    (setf (neuron-council-job-state job) 'sent
          (neuron-council-job-heard job) (neuron-council-process-server-heard server))
    (neuron-council-rpc--changed)
    (condition-case problem
        (neuron-council-process-write
         server #'jsonrpc-async-request (neuron-council-job-method job) (neuron-council-job-params job)
         :success-fn (neuron-council-process-hearing
                      server (lambda (result)
                               (neuron-council-rpc--take-answer
                                job result (lambda (it) (list (neuron-council-rpc--lisp it) nil)))))
         :error-fn (neuron-council-process-hearing
                    server (lambda (answer)
                             (unless (neuron-council-process-death-p server answer)
                               (neuron-council-rpc--take-answer
                                job answer (lambda (it) (list nil (neuron-council-process-answer-condition it)))))))
         ;; Ours comes first; this one only makes jsonrpc.el forget.
         :timeout (+ (neuron-council-job-seconds job) 60)
         :timeout-fn #'ignore)
      (error (neuron-council-rpc-end job nil (list 'neuron-council-error (error-message-string problem)))))))

(defun neuron-council-rpc--give (job)
  "Give JOB to the server, which is started if there is none."
  (let ((server (neuron-council-process-ensure)))
    (setf (neuron-council-job-server job) server)
    (when (eq (neuron-council-process-server-state server) 'ready)
      (neuron-council-rpc--send job))))

(defun neuron-council-rpc-submit (job &optional left)
  "Send JOB, or queue it until the server is ready.
Whatever stands in the way is the condition that JOB ends with.  Where this
is left otherwise, by \\[keyboard-quit] or a throw, that is LEFT, or when
LEFT is nil, `neuron-council-cancelled'."
  (neuron-council-rpc-enqueue job)
  (setf (neuron-council-job-state job) 'queued)
  (let ((given nil))
    (unwind-protect
        (condition-case problem
            (progn
              (neuron-council-rpc--check-seconds job)
              (when (neuron-council-job-callback job)
                (setf (neuron-council-job-timer job)
                      (run-at-time (neuron-council-job-seconds job) nil #'neuron-council-rpc--due job)))
              (neuron-council-rpc--give job)
              (setq given t))
          (neuron-council-error (neuron-council-rpc-end job nil problem))
          (error (neuron-council-rpc-end job nil (list 'neuron-council-error (error-message-string problem)))))
      (unless given
        (neuron-council-rpc-cancel job (or left '(neuron-council-cancelled "cancelled")))))))

(defun neuron-council-rpc-await (job)
  "Submit JOB, wait for its end, return its result or signal its condition.
The wait lasts as long as JOB may take and can be quit.
When it ends in any other way than by an answer, the job is cancelled."
  (let ((start (float-time)))
    (unwind-protect
        (progn
          (neuron-council-rpc-submit job)
          ;; No window is redrawn during the wait, and what the command has put there is not on the screen yet.
          (unless (or noninteractive (neuron-council-rpc-job-done-p job))
            (redisplay))
          (while (not (neuron-council-rpc-job-done-p job))
            (let ((left (- (+ start (neuron-council-job-seconds job)) (float-time))))
              (if (<= left 0)
                  (neuron-council-rpc--timed-out job)
                ;; A timer or a filter that waits here has C-g blocked.
                (let ((inhibit-quit nil))
                  (neuron-council-process-wait (neuron-council-job-server job) (min left 0.1)))))))
      (neuron-council-rpc-cancel job '(neuron-council-cancelled "cancelled")))
    (when (neuron-council-job-condition job)
      (signal (car (neuron-council-job-condition job)) (cdr (neuron-council-job-condition job))))
    (neuron-council-job-result job)))

;;;; What the server says

(defun neuron-council-rpc--ready (server)
  "Send the jobs that waited for SERVER, which takes requests from now on."
  (dolist (job (reverse neuron-council-rpc-jobs))
    (when (and (eq (neuron-council-job-server job) server)
               (eq (neuron-council-job-state job) 'queued))
      (neuron-council-rpc--send job)))
  (when (neuron-council-process-live-p server)
    (run-at-time 0 nil #'neuron-council-errors-guard "the start of the council's server"
                 #'run-hooks 'neuron-council-rpc-ready-hook)))

(add-hook 'neuron-council-process--ready-functions #'neuron-council-rpc--ready)

(defun neuron-council-rpc--notified (method params)
  "Handle the notification METHOD with PARAMS from the server."
  (pcase method
    ('$/progress
     (let ((token (plist-get params :token))
           (text (plist-get (plist-get params :value) :message)))
       (when (stringp text)
         (dolist (job neuron-council-rpc-jobs)
           (when (equal token (neuron-council-rpc--token job))
             (neuron-council-rpc--noted job (neuron-council-text-plain text)))))))
    (_ (unless (run-hook-with-args-until-success 'neuron-council-rpc-notification-functions
                                                 method (neuron-council-rpc--lisp params))
         (neuron-council-log "The server sent %s" method)))))

(add-hook 'neuron-council-process--notification-functions #'neuron-council-rpc--notified)

;;;; Display

(defconst neuron-council-rpc--display-pause 0.1
  "Seconds between two displays of what jobs have got to.")

(defvar neuron-council-rpc--display-timer nil
  "Timer of the next display of what jobs have got to.")

(defvar neuron-council-rpc--displayed 0
  "When that was displayed last, in seconds since the epoch.")

(defun neuron-council-rpc--noted (job note)
  "Keep NOTE as what JOB has got to, and show it soon."
  (setf (neuron-council-job-note job) note
        (neuron-council-job-noted job) t)
  (neuron-council-rpc--changed))

(defun neuron-council-rpc--changed ()
  "Show soon what jobs have got to, ten times a second at most."
  (unless neuron-council-rpc--display-timer
    (let ((left (- (+ neuron-council-rpc--displayed neuron-council-rpc--display-pause) (float-time))))
      (setq neuron-council-rpc--display-timer
            (run-at-time (max 0 (min left neuron-council-rpc--display-pause)) nil #'neuron-council-rpc--display)))))

(defun neuron-council-rpc--display ()
  "Show what jobs have got to: to their watchers, then to all who want to know."
  (setq neuron-council-rpc--display-timer nil
        neuron-council-rpc--displayed (float-time))
  (dolist (job neuron-council-rpc-jobs)
    (when (and (neuron-council-job-noted job) (neuron-council-job-watcher job)
               (not (neuron-council-rpc-job-done-p job)))
      (setf (neuron-council-job-noted job) nil)
      (neuron-council-errors-guard "a council display" (neuron-council-job-watcher job) job)))
  (neuron-council-errors-guard "a council display" #'run-hooks 'neuron-council-rpc-jobs-hook))

;;;; The end

(defun neuron-council-rpc--ended (server condition)
  "End the jobs of SERVER, which has ended, with CONDITION.
Where several claims were with it, its crash is not known to be of one."
  (let ((jobs nil) (claims 0))
    (dolist (job neuron-council-rpc-jobs)
      (when (eq (neuron-council-job-server job) server)
        (push job jobs)
        (when (and (eq (neuron-council-job-method job) :council/verify) (not (neuron-council-rpc-job-done-p job)))
          (setq claims (1+ claims)))))
    (when (> claims 1)
      (setq condition (remq 'crashed condition)))
    (dolist (job jobs)
      (neuron-council-rpc-end job nil condition))))

(add-hook 'neuron-council-process--ended-functions #'neuron-council-rpc--ended)

(defun neuron-council-rpc-stop (reason)
  "Ask the server to leave, and end it if it does not; every job ends with REASON.
This takes one and a half seconds at most."
  (neuron-council-process-stop reason)
  (dolist (job (reverse neuron-council-rpc-jobs))
    (neuron-council-rpc-end job nil (list 'neuron-council-error reason))))

(defun neuron-council-rpc-retire (reason)
  "Have the server leave for REASON without waiting for it.
Nothing happens where a job is under way.  Return non-nil where a server
was told; the next request starts another."
  (unless (memq nil (mapcar #'neuron-council-rpc-job-done-p neuron-council-rpc-jobs))
    (neuron-council-process-retire reason)))

(defun neuron-council-rpc--leave ()
  "End every job and deliver the outcomes, since Emacs leaves.
There is no event loop any more that would do it later, and a memory that
waits for its verdict would be lost."
  (dolist (job (reverse neuron-council-rpc-jobs))
    (neuron-council-rpc-end job nil '(neuron-council-error "Emacs was left before the verdict"))
    (when (neuron-council-job-callback job)
      (neuron-council-rpc-deliver job))))

;;;; State

(defun neuron-council-rpc-status ()
  "Return what is known of the server, as a property list; start nothing.
:state is `starting' or `ready', nil without a live server, of which then
come :pid, :command (a list), :home, :started (seconds since the epoch),
and :version and :protocol as it gave them.  :waiting is how many jobs
have not ended.  :deaths is nil, or a property list of the deaths in a
row: :count, :at (seconds since the epoch), :command and :reason."
  (append (list :waiting (length (delq t (mapcar #'neuron-council-rpc-job-done-p neuron-council-rpc-jobs))))
          (neuron-council-process-status)))

;;;; Commands

;;;###autoload
(defun neuron-council-stop ()
  "Stop the council's server; the next request starts it again.
Claims being judged are given up; a memory among them is stored with the
tag council-unavailable."
  (interactive)
  (let ((running (plist-get (neuron-council-process-status) :state)))
    (neuron-council-rpc-stop "the server was stopped")
    (unless noninteractive
      (message (if running "The council's server is stopped" "No server of the council was running")))))

;;;###autoload
(defun neuron-council-restart ()
  "Stop the council's server if it runs, and start it with the options set now.
Earlier deaths of it are forgotten."
  (interactive)
  (neuron-council-rpc-stop "the server was restarted")
  (neuron-council-process-forget-deaths)
  (neuron-council-program-forget)
  (neuron-council-process-ensure)
  (unless noninteractive (message "The council's server is starting")))

(provide 'neuron-council-rpc)
;;; neuron-council-rpc.el ends here
