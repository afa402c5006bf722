;;; neuron-council-rpc.el --- The council's server and the requests to it  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; One server process for one Emacs, started by the first request and spoken to through jsonrpc.el.
;;
;; A request is a job.  `neuron-council-rpc-submit' sends it or queues it until the server has answered `initialize';
;; it never waits and never signals.  A job ends exactly once, with a result or with a condition: by the server's
;; answer, the server's death, its deadline or its cancellation.  `neuron-council-rpc-await' is the only wait.
;;
;; jsonrpc.el is used through its public functions only, and its own waits (`jsonrpc-request', `jsonrpc-shutdown') not
;; at all: they cannot be left with C-g from a timer, and hold back the answers to other requests.  It is loaded with
;; the first server, since it takes ten times as long to load as this package.

;;; Code:

(eval-when-compile
  (require 'cl-lib)
  (require 'subr-x))
(require 'neuron-council-errors)
(require 'neuron-council-program)
(require 'neuron-council-text)

(declare-function jsonrpc-async-request "jsonrpc")
(declare-function jsonrpc-notify "jsonrpc")
(declare-function make-instance "eieio")

(defconst neuron-council-version "0.1.0"
  "Version of the package; the server's is compared with it.")

(defconst neuron-council-rpc--protocol 1
  "The version of the wire that this client speaks.")

;;;; Options

(defcustom neuron-council-initialization-options nil
  "What the server is told at its start, over its file and its environment.
A property list of the tables and keys of council.toml, for example

  (:council (:deadline_s 30) :ollama (:num_ctx 4096)
   :member ((:id \"a\" :model \"a:latest\" :role \"member\")))

A list that begins with a keyword is a table, any other list an array.
Used when a server is started, so after a change use
\\[neuron-council-restart]."
  :type '(plist :key-type (symbol :tag "Table") :value-type (sexp :tag "Keys and values"))
  :risky t
  :group 'neuron-council
  :package-version '(neuron-council . "0.1.0"))

(defcustom neuron-council-timeout 75
  "Seconds to wait for a verdict, the server's start included.
It should be larger than the server's own `deadline_s' (60)."
  :type 'number
  :safe #'numberp
  :group 'neuron-council
  :package-version '(neuron-council . "0.1.0"))

(defcustom neuron-council-events-buffer-size 0
  "Characters of traffic to keep in the buffer \"*neuron-council events*\".
The traffic holds claims and contexts; 0 keeps nothing.  Used when a
server is started."
  :type 'natnum
  :safe #'natnump
  :group 'neuron-council
  :package-version '(neuron-council . "0.1.0"))

;;;; JSON

(defun neuron-council-rpc--lisp (value)
  "Return VALUE of a reply as Lisp: arrays as lists, null and false as nil."
  (cond ((vectorp value) (mapcar #'neuron-council-rpc--lisp value))
        ((consp value) (mapcar #'neuron-council-rpc--lisp value))
        ((eq value :json-false) nil)
        (t value)))

(defun neuron-council-rpc--json (value)
  "Return VALUE as jsonrpc.el takes it: a list without keywords is an array.
Signal an error that says what in VALUE JSON has no word for."
  (cond ((stringp value) (neuron-council-text-clean value))
        ((or (memq value '(nil t :json-false))
             (and (integerp value) (<= (- (expt 2 63)) value (1- (expt 2 63))))
             (and (floatp value) (= 0 (- value value))))
         value)
        ((vectorp value) (vconcat (mapcar #'neuron-council-rpc--json value)))
        ((not (proper-list-p value)) (error "%.40S is no text, number or list" value))
        ((keywordp (car value)) (neuron-council-rpc--json-table value))
        (t (vconcat (mapcar #'neuron-council-rpc--json value)))))

(defun neuron-council-rpc--json-table (value)
  "Return VALUE, a list that begins with a keyword, as a table of JSON."
  (let ((table nil))
    (while value
      (let ((key (pop value)))
        (unless (and (keywordp key) value)
          (error "%.40S is no key with a value" key))
        (push key table)
        (push (neuron-council-rpc--json (pop value)) table)))
    (nreverse table)))

(defun neuron-council-rpc--json-options ()
  "Return `neuron-council-initialization-options' as jsonrpc.el takes them.
Signal `neuron-council-error' where they are nonsense."
  (let ((options neuron-council-initialization-options))
    (condition-case problem
        (if (and options (not (keywordp (car-safe options))))
            (error "%.40S is no property list" options)
          (neuron-council-rpc--json options))
      (error (signal 'neuron-council-error
                     (list (format "`neuron-council-initialization-options': %s"
                                   (error-message-string problem))))))))

;;;; Jobs

(cl-defstruct (neuron-council-rpc--server (:constructor neuron-council-rpc--make-server)
                                          (:copier nil) (:predicate nil) :noinline)
  "One process of the server."
  command
  home                                  ; its NEURON_HOME
  connection
  process
  stderr                                ; pipe process
  (said "")                             ; the end of what came through it
  (state 'starting)                     ; starting, ready, ended
  started                               ; seconds since the epoch
  answered                              ; non-nil once it has answered a job
  (heard 0)                             ; how many messages have come from it
  options                               ; what it is told by `initialize'
  version                               ; what it said to that, and
  protocol
  timers)

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
  "Run when a job begins, gets on or ends; must be quick.")

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

(defun neuron-council-rpc--token (job)
  "Return the token by which the server knows JOB."
  (plist-get (neuron-council-job-params job) :workDoneToken))

(defun neuron-council-rpc-deliver (job)
  "Give the outcome of JOB to its callback, the first time it is asked to."
  (when (memq job neuron-council-rpc-jobs)
    (setq neuron-council-rpc-jobs (delq job neuron-council-rpc-jobs))
    (with-temp-buffer
      (when (buffer-live-p (neuron-council-job-buffer job))
        (set-buffer (neuron-council-job-buffer job)))
      (neuron-council-errors-guard "a council callback" (neuron-council-job-callback job)
                                   (neuron-council-job-result job) (neuron-council-job-condition job)))))

(defvar neuron-council-rpc--ended nil
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
  (let ((job (pop neuron-council-rpc--ended)))
    ;; First, since a callback may wait, or leave by a throw.
    (when neuron-council-rpc--ended
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
      (setq neuron-council-rpc--ended (nconc neuron-council-rpc--ended (list job)))
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
      (when (and sent (neuron-council-rpc--live-p server))
        (neuron-council-rpc--write server #'jsonrpc-notify :window/workDoneProgress/cancel
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
                    (eql (neuron-council-job-heard job) (neuron-council-rpc--server-heard server)))))
    (neuron-council-rpc-cancel
     job
     (list 'neuron-council-error
           (format (if (eq (neuron-council-job-state job) 'queued)
                       "the server did not get ready within %s s (`neuron-council-timeout')"
                     "no answer within %s s (`neuron-council-timeout')")
                   (neuron-council-job-seconds job))))
    (when deaf
      (neuron-council-rpc--fail server (list 'neuron-council-error "nothing was heard from the server any more")))))

(defun neuron-council-rpc--answer-condition (answer)
  "Return the condition for ANSWER, the error object of a reply."
  (let ((code (plist-get answer :code))
        (text (plist-get answer :message)))
    (list (pcase code
            (-32602 'neuron-council-refused)
            (-32001 'neuron-council-unknown)
            (_ 'neuron-council-error))
          (cond ((eql code -32601)
                 (format "the server does not know this request; it is older than neuron-council.el %s: update it, %s"
                         neuron-council-version (neuron-council-program-install-command)))
                ((stringp text) (neuron-council-text-plain text))
                (t (format "the server answered error %s" code))))))

(defun neuron-council-rpc--take-answer (job answer take)
  "End JOB by TAKE, which returns the result and the condition in ANSWER."
  (setf (neuron-council-rpc--server-answered (neuron-council-job-server job)) t)
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
          (neuron-council-job-heard job) (neuron-council-rpc--server-heard server))
    (neuron-council-rpc--changed)
    (condition-case problem
        (neuron-council-rpc--write
         server #'jsonrpc-async-request (neuron-council-job-method job) (neuron-council-job-params job)
         :success-fn (neuron-council-rpc--hearing
                      server (lambda (result)
                               (neuron-council-rpc--take-answer
                                job result (lambda (it) (list (neuron-council-rpc--lisp it) nil)))))
         :error-fn (neuron-council-rpc--hearing
                    server (lambda (answer)
                             (unless (neuron-council-rpc--death-p server answer)
                               (neuron-council-rpc--take-answer
                                job answer (lambda (it) (list nil (neuron-council-rpc--answer-condition it)))))))
         ;; Ours comes first; this one only makes jsonrpc.el forget.
         :timeout (+ (neuron-council-job-seconds job) 60)
         :timeout-fn #'ignore)
      (error (neuron-council-rpc-end job nil (list 'neuron-council-error (error-message-string problem)))))))

(defun neuron-council-rpc--give (job)
  "Give JOB to the server, which is started if there is none."
  (let ((server (neuron-council-rpc--ensure)))
    (setf (neuron-council-job-server job) server)
    (when (eq (neuron-council-rpc--server-state server) 'ready)
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
                  (accept-process-output nil (min left 0.1)))))))
      (neuron-council-rpc-cancel job '(neuron-council-cancelled "cancelled")))
    (when (neuron-council-job-condition job)
      (signal (car (neuron-council-job-condition job)) (cdr (neuron-council-job-condition job))))
    (neuron-council-job-result job)))

;;;; Server

(defvar neuron-council-rpc--server nil
  "The server that was started last.")

(defvar neuron-council-rpc--deaths nil
  "The deaths in a row: a plist of :count, :at, :command and :reason, or nil.")

(defconst neuron-council-rpc--start-limit 30
  "Seconds a server may take to answer `initialize'.
It starts in less than one; its models are loaded afterwards.")

(defconst neuron-council-rpc--deaths-limit 5
  "After so many deaths in a row a server is no longer started by itself.")

(defun neuron-council-rpc--live-p (server)
  "Return non-nil while SERVER, which may be nil, can be written to."
  (and server
       (not (eq (neuron-council-rpc--server-state server) 'ended))
       ;; One that is stopped takes no more than a dead one.
       (eq 'run (process-status (neuron-council-rpc--server-process server)))
       ;; Without its buffer a process lives a little longer, but jsonrpc.el hears it no more.
       (buffer-live-p (process-buffer (neuron-council-rpc--server-process server)))))

(defun neuron-council-rpc-ready-p ()
  "Return non-nil while a server takes requests."
  (and (neuron-council-rpc--live-p neuron-council-rpc--server)
       (eq (neuron-council-rpc--server-state neuron-council-rpc--server) 'ready)))

(defun neuron-council-rpc-home ()
  "Return the NEURON_HOME of the server that lives, else of the next one."
  (if (neuron-council-rpc--live-p neuron-council-rpc--server)
      (neuron-council-rpc--server-home neuron-council-rpc--server)
    (let ((home (getenv "NEURON_HOME")))
      ;; The server runs in the user's folder.
      (file-name-as-directory (expand-file-name (if (member home '(nil "")) ".neuron" home) "~/")))))

(defun neuron-council-rpc--ensure ()
  "Return a live server, started if there is none.
Signal `neuron-council-error' where that cannot be, now or for good."
  (let ((server neuron-council-rpc--server))
    (when (and server (not (eq (neuron-council-rpc--server-state server) 'ended))
               (not (neuron-council-rpc--live-p server)))
      (neuron-council-rpc--died server))
    (if (neuron-council-rpc--live-p server)
        server
      ;; A folder that is gone or remote must not matter.
      (let* ((default-directory (if (file-directory-p "~/") (expand-file-name "~/") "/"))
             (options (neuron-council-rpc--check-options))
             (command (neuron-council-program-command)))
        (neuron-council-rpc--back-off command)
        (require 'jsonrpc)
        ;; Quit in the midst, it would be a process that nobody knows.
        (let ((inhibit-quit t))
          (setq neuron-council-rpc--server (neuron-council-rpc--start command options)))))))

(defun neuron-council-rpc--check-options ()
  "Return the options that a server is told.
Signal `neuron-council-error' where one that it is started with is nonsense."
  (unless (natnump neuron-council-events-buffer-size)
    (signal 'neuron-council-error
            (list (format "`neuron-council-events-buffer-size' is %.40S: set it to a whole number, 0 for no buffer"
                          neuron-council-events-buffer-size))))
  (neuron-council-rpc--json-options))

(defconst neuron-council-rpc--write-limit 1
  "Seconds a write to the server may take.
Its stdin is read by a thread that does nothing else.")

(defun neuron-council-rpc--write (server function &rest arguments)
  "Have FUNCTION of jsonrpc.el write ARGUMENTS to SERVER.
A server that is found dead then, or does not read, is ended, with its
jobs.  Signal an error of any other kind."
  (let ((written nil))
    (condition-case problem
        (with-timeout (neuron-council-rpc--write-limit)
          (apply function (neuron-council-rpc--server-connection server) arguments)
          (setq written t))
      (error
       (when (neuron-council-rpc--live-p server)
         (signal (car problem) (cdr problem)))))
    (cond (written)
          ((neuron-council-rpc--live-p server)
           (neuron-council-rpc--fail server (list 'neuron-council-error "the server does not read what it is sent")))
          (t (neuron-council-rpc--died server)))))

(defun neuron-council-rpc--hearing (server function)
  "Return FUNCTION of one argument, but let each call count as heard from SERVER."
  (lambda (argument)
    (setf (neuron-council-rpc--server-heard server) (1+ (neuron-council-rpc--server-heard server)))
    (neuron-council-errors-guard "an answer of the council's server" function argument)))

(defun neuron-council-rpc--death-p (server answer)
  "Return non-nil when ANSWER, an error, is how jsonrpc.el tells SERVER's death.
`neuron-council-rpc--died' words that better."
  (and (eql (plist-get answer :code) -1)
       (not (neuron-council-rpc--live-p server))))

(defun neuron-council-rpc--back-off (command)
  "Signal `neuron-council-error' when COMMAND died too often to be run now."
  (let* ((deaths neuron-council-rpc--deaths)
         (count (or (plist-get deaths :count) 0)))
    (when (and (>= count 2) (equal command (plist-get deaths :command)))
      (let* ((stopped (>= count neuron-council-rpc--deaths-limit))
             (left (- (+ (plist-get deaths :at) (min 60 (expt 2 (- count 2)))) (float-time))))
        (when (or stopped (> left 0))
          (signal 'neuron-council-error
                  (list (format "the server failed %d times in a row, it is not started again %s \
(M-x neuron-council-restart starts it now, M-x neuron-council-show-log shows what it said); the last time %s"
                                count (if stopped "by itself" (format "for %.0f s" (max 1 left)))
                                (plist-get deaths :reason)))))))))

(defun neuron-council-rpc--count-death (server reason)
  "Count the death of SERVER for REASON; long life or an answer ends the row."
  (let* ((deaths neuron-council-rpc--deaths)
         (in-a-row (and (equal (neuron-council-rpc--server-command server) (plist-get deaths :command))
                        (not (neuron-council-rpc--server-answered server))
                        (< (- (float-time) (neuron-council-rpc--server-started server)) 60))))
    (setq neuron-council-rpc--deaths
          (list :count (1+ (if in-a-row (plist-get deaths :count) 0)) :at (float-time)
                :command (neuron-council-rpc--server-command server) :reason reason))))

(defun neuron-council-rpc--name ()
  "Return a name for a server that none has which is still leaving."
  (let ((name "neuron-council") (count 1))
    (while (get-process name)
      (setq count (1+ count)
            name (format "neuron-council-%d" count)))
    name))

(defun neuron-council-rpc--connect (server)
  "Start the process of SERVER and set its connection to it."
  (let* ((name (neuron-council-rpc--name))
         ;; jsonrpc.el would copy every line of a stderr buffer into its events, without bound.
         (stderr (make-pipe-process :name (concat name " stderr") :noquery t :coding 'utf-8-unix
                                    :buffer (get-buffer-create (format " *%s stderr pipe*" name))
                                    :filter (lambda (_ text) (neuron-council-rpc--hear server text))
                                    :sentinel #'ignore))
         (slots (list
                 :name name
                 :process (lambda ()
                            (let ((process-environment
                                   (append '("PYTHONUNBUFFERED=1" "PYTHONUTF8=1") process-environment)))
                              (setf (neuron-council-rpc--server-process server)
                                    (make-process :name name :command (neuron-council-rpc--server-command server)
                                                  :connection-type 'pipe :coding 'utf-8-emacs-unix
                                                  :noquery t :stderr stderr))))
                 :notification-dispatcher (lambda (_ method params)
                                            (setf (neuron-council-rpc--server-heard server)
                                                  (1+ (neuron-council-rpc--server-heard server)))
                                            (neuron-council-errors-guard "a council notification"
                                                                         #'neuron-council-rpc--notified method params))
                 :on-shutdown (lambda (_) (neuron-council-rpc--died server))))
         (size neuron-council-events-buffer-size)
         (connection nil))
    (setf (neuron-council-rpc--server-stderr server) stderr)
    (unwind-protect
        (setq connection
              ;; The keyword has changed between versions; a failed try starts nothing.
              (condition-case nil
                  (apply #'make-instance 'jsonrpc-process-connection
                         :events-buffer-config (list :size size :format 'full) slots)
                (invalid-slot-name
                 (apply #'make-instance 'jsonrpc-process-connection :events-buffer-scrollback-size size slots))))
      (unless connection
        (delete-process stderr)
        (when (neuron-council-rpc--server-process server)
          (delete-process (neuron-council-rpc--server-process server)))))
    (setf (neuron-council-rpc--server-connection server) connection)))

(defun neuron-council-rpc--shield (process)
  "Let no error in jsonrpc.el out of the filter and sentinel of PROCESS.
On Emacs 28 an unexpected message is such an error, and the messages
behind it are read only when the filter runs again."
  (let ((filter (process-filter process))
        (sentinel (process-sentinel process)))
    (set-process-filter
     process
     (lambda (process text)
       (let ((unread nil) (again t))
         (while again
           (setq again nil)
           (condition-case problem
               (funcall filter process text)
             (error
              (neuron-council-log "The server sent an unreadable message: %s" (car problem))
              (let ((left (buffer-size (process-buffer process))))
                (setq again (or (null unread) (< left unread))
                      unread left
                      text ""))))))))
    (set-process-sentinel
     process
     (lambda (process change)
       (let ((inhibit-message t)
             (message-log-max nil))
         (neuron-council-errors-guard "a council sentinel" sentinel process change))))
    ;; Any Lisp thread may wait for a verdict.
    (set-process-thread process nil)))

(defun neuron-council-rpc--start (command options)
  "Start the server by COMMAND and return it.
It is greeted later, and told OPTIONS then."
  (let ((server (neuron-council-rpc--make-server :command command :home (neuron-council-rpc-home)
                                                 :options options :started (float-time))))
    (neuron-council-rpc--connect server)
    (neuron-council-rpc--shield (neuron-council-rpc--server-process server))
    (set-process-thread (neuron-council-rpc--server-stderr server) nil)
    (neuron-council-log "Started %s as process %d" (car command)
                        (process-id (neuron-council-rpc--server-process server)))
    (add-hook 'kill-emacs-hook #'neuron-council-rpc--leave)
    (setf (neuron-council-rpc--server-timers server)
          ;; A program that cannot run is dead within milliseconds, and writing to it then would end an Emacs in batch
          ;; by SIGPIPE.  So it is written to a moment later, if it lives.
          (list (run-at-time 0.02 nil #'neuron-council-rpc--greet server)
                (run-at-time neuron-council-rpc--start-limit nil #'neuron-council-rpc--start-timed-out server)))
    server))

(defun neuron-council-rpc--greet (server)
  "Send `initialize' to SERVER."
  (condition-case problem
      (neuron-council-rpc--write
       server #'jsonrpc-async-request :initialize
       (list :processId (emacs-pid)
             :rootUri nil
             :clientInfo (list :name "neuron-council.el"
                               :version (format "%s (Emacs %s)" neuron-council-version emacs-version))
             :capabilities (list :experimental
                                 (list :neuronCouncil (list :protocol neuron-council-rpc--protocol)))
             :initializationOptions (neuron-council-rpc--server-options server))
       :success-fn (neuron-council-rpc--hearing
                    server (lambda (result) (neuron-council-rpc--greeted server result)))
       :error-fn (neuron-council-rpc--hearing
                  server (lambda (answer) (neuron-council-rpc--not-greeted server answer)))
       :timeout (+ neuron-council-rpc--start-limit 60)
       :timeout-fn #'ignore)
    (error (neuron-council-rpc--fail server (list 'neuron-council-error
                                                  (format "the server cannot be greeted: %s"
                                                          (error-message-string problem)))))))

(defun neuron-council-rpc--not-greeted (server answer)
  "End SERVER, which answered `initialize' with ANSWER, an error.
That is no death: it will start when its configuration is mended."
  (unless (neuron-council-rpc--death-p server answer)
    (neuron-council-rpc--finish
     server (list 'neuron-council-error
                  (concat "the server cannot start: " (cadr (neuron-council-rpc--answer-condition answer)))))))

(defun neuron-council-rpc--greeted (server result)
  "Make SERVER ready, which answered `initialize' with RESULT, and send its jobs."
  (when (eq (neuron-council-rpc--server-state server) 'starting)
    (let* ((council (plist-get (plist-get (plist-get result :capabilities) :experimental) :neuronCouncil))
           (protocol (plist-get council :protocol))
           (version (plist-get (plist-get result :serverInfo) :version)))
      (setf (neuron-council-rpc--server-protocol server) protocol
            (neuron-council-rpc--server-version server) version)
      (if (equal protocol neuron-council-rpc--protocol)
          (neuron-council-rpc--ready server)
        (neuron-council-rpc--finish
         server (list 'neuron-council-error
                      (format "the server (version %s) speaks protocol %s, neuron-council.el %s speaks %d; \
update the server: %s"
                              (or version "unknown") (or protocol "unknown") neuron-council-version
                              neuron-council-rpc--protocol (neuron-council-program-install-command))))))))

(defun neuron-council-rpc--ready (server)
  "Send the jobs that waited for SERVER, which takes requests from now on."
  (let ((version (neuron-council-rpc--server-version server)))
    (neuron-council-log "The server is ready, version %s%s" version
                        (if (equal version neuron-council-version)
                            ""
                          (format "; neuron-council.el has version %s" neuron-council-version))))
  (mapc #'cancel-timer (neuron-council-rpc--server-timers server))
  (setf (neuron-council-rpc--server-state server) 'ready)
  (neuron-council-rpc--write server #'jsonrpc-notify :initialized (make-hash-table))
  (dolist (job (reverse neuron-council-rpc-jobs))
    (when (and (eq (neuron-council-job-server job) server)
               (eq (neuron-council-job-state job) 'queued))
      (neuron-council-rpc--send job)))
  (when (neuron-council-rpc--live-p server)
    (run-at-time 0 nil #'neuron-council-errors-guard "the start of the council's server"
                 #'run-hooks 'neuron-council-rpc-ready-hook)))

(defun neuron-council-rpc--start-timed-out (server)
  "Give SERVER up, which has not answered `initialize'."
  (neuron-council-rpc--fail server (list 'neuron-council-error
                                         (format "the server did not answer within %d s of its start"
                                                 neuron-council-rpc--start-limit))))

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

;;;; The end of a server

(defun neuron-council-rpc--hear (server text)
  "Log TEXT, which SERVER wrote to its stderr, and keep the end of it."
  (neuron-council-log-insert text)
  (let ((said (concat (neuron-council-rpc--server-said server) text)))
    (setf (neuron-council-rpc--server-said server) (substring said (max 0 (- (length said) 2000))))))

(defun neuron-council-rpc--last-words (server)
  "Return the last line SERVER wrote to its stderr, nil if there is none."
  (let ((stderr (neuron-council-rpc--server-stderr server)))
    ;; The death is often known before the reason has been read.  A child of the server may keep the pipe open, though.
    (dotimes (_ 20)
      (when (process-live-p stderr)
        (accept-process-output stderr 0.005 nil t))))
  (let ((line (car (last (split-string (neuron-council-rpc--server-said server) "\n" t "[ \t\r]+")))))
    (and line (neuron-council-text-plain line))))

(defun neuron-council-rpc--died (server)
  "Bury SERVER, whose process has ended by itself."
  (unless (eq (neuron-council-rpc--server-state server) 'ended)
    (let* ((process (neuron-council-rpc--server-process server))
           (how (pcase (process-status process)
                  ('exit (format "exit status %d" (process-exit-status process)))
                  ('signal (format "signal %d" (process-exit-status process)))
                  ('stop "it was stopped")
                  (_ "its buffer was killed")))
           (words (neuron-council-rpc--last-words server)))
      (neuron-council-rpc--fail server
                                (list 'neuron-council-error
                                      (format "the server died (%s)%s" how (if words (concat ": " words) "")))))))

(defun neuron-council-rpc--fail (server condition)
  "End SERVER and its jobs with CONDITION, and count it as a death."
  (unless (eq (neuron-council-rpc--server-state server) 'ended)
    (neuron-council-rpc--count-death server (cadr condition))
    (neuron-council-rpc--finish server condition)))

(defun neuron-council-rpc--finish (server condition)
  "End SERVER, its process and its jobs, the latter with CONDITION."
  (setf (neuron-council-rpc--server-state server) 'ended)
  (neuron-council-log "Server ended: %s" (cadr condition))
  (mapc #'cancel-timer (neuron-council-rpc--server-timers server))
  (delete-process (neuron-council-rpc--server-process server))
  (delete-process (neuron-council-rpc--server-stderr server))
  (dolist (job (reverse neuron-council-rpc-jobs))
    (when (eq (neuron-council-job-server job) server)
      (neuron-council-rpc-end job nil condition))))

(defun neuron-council-rpc--wait-until (seconds predicate)
  "Wait at most SECONDS until PREDICATE returns non-nil; return that."
  (let ((deadline (+ (float-time) seconds)) (value nil))
    (while (and (not (setq value (funcall predicate))) (< (float-time) deadline))
      (accept-process-output nil 0.02))
    value))

(defun neuron-council-rpc-stop (reason)
  "Ask the server to leave, and end it if it does not; every job ends with REASON.
This takes one and a half seconds at most."
  (let ((server neuron-council-rpc--server))
    (when (and server (not (eq (neuron-council-rpc--server-state server) 'ended)))
      (let ((ready (eq (neuron-council-rpc--server-state server) 'ready)))
        (setf (neuron-council-rpc--server-state server) 'ended)
        (unwind-protect
            (condition-case problem
                (neuron-council-rpc--see-off server ready)
              (error (neuron-council-log "The server could not be asked to leave: %s" (car problem))))
          (neuron-council-rpc--finish server (list 'neuron-council-error reason)))))
    (dolist (job (reverse neuron-council-rpc-jobs))
      (neuron-council-rpc-end job nil (list 'neuron-council-error reason)))))

(defun neuron-council-rpc--see-off (server ready)
  "Ask SERVER to leave and wait a moment until it has.
READY is non-nil where it takes requests."
  (let ((process (neuron-council-rpc--server-process server))
        (connection (neuron-council-rpc--server-connection server))
        (answered nil))
    (with-timeout (1.5)
      (when (and ready (process-live-p process))
        (jsonrpc-async-request connection :shutdown nil
                               :success-fn (lambda (_) (setq answered t))
                               :error-fn (lambda (_) (setq answered t))
                               :timeout 2 :timeout-fn #'ignore)
        (neuron-council-rpc--wait-until 1 (lambda () (or answered (not (process-live-p process))))))
      (when (process-live-p process)
        (neuron-council-rpc--dismiss server)
        (neuron-council-rpc--wait-until 0.5 (lambda () (not (process-live-p process))))))))

(defun neuron-council-rpc--dismiss (server)
  "Tell SERVER to leave, without waiting for it."
  (jsonrpc-notify (neuron-council-rpc--server-connection server) :exit nil)
  (process-send-eof (neuron-council-rpc--server-process server)))

(defun neuron-council-rpc-retire (reason)
  "Have the server leave for REASON without waiting for it.
Nothing happens where a job is under way.  Return non-nil where a server
was told; the next request starts another."
  (let ((server neuron-council-rpc--server))
    (when (and (neuron-council-rpc--live-p server)
               (not (memq nil (mapcar #'neuron-council-rpc-job-done-p neuron-council-rpc-jobs))))
      (setf (neuron-council-rpc--server-state server) 'ended)
      (mapc #'cancel-timer (neuron-council-rpc--server-timers server))
      (condition-case problem
          (with-timeout (neuron-council-rpc--write-limit)
            (neuron-council-rpc--dismiss server))
        (error (neuron-council-log "The server could not be asked to leave: %s" (car problem))))
      (setf (neuron-council-rpc--server-timers server)
            (list (run-at-time 2 nil #'neuron-council-errors-guard "the end of the council's server"
                               #'neuron-council-rpc--finish server (list 'neuron-council-error reason))))
      t)))

(defun neuron-council-rpc--leave ()
  "End every job, deliver the outcomes, and tell the server that Emacs leaves.
There is no event loop any more that would do it later, and a memory that
waits for its verdict would be lost."
  (dolist (job (reverse neuron-council-rpc-jobs))
    (neuron-council-rpc-end job nil '(neuron-council-error "Emacs was left before the verdict"))
    (when (neuron-council-job-callback job)
      (neuron-council-rpc-deliver job)))
  (when (neuron-council-rpc--live-p neuron-council-rpc--server)
    (ignore-errors
      (with-timeout (0.5)
        (jsonrpc-notify (neuron-council-rpc--server-connection neuron-council-rpc--server) :exit nil)))))

;;;; State

(defun neuron-council-rpc-status ()
  "Return what is known of the server, as a property list; start nothing.
:state is `starting' or `ready', nil without a live server, of which then
come :pid, :command (a list), :home, :started (seconds since the epoch),
and :version and :protocol as it gave them.  :waiting is how many jobs
have not ended.  :deaths is nil, or a property list of the deaths in a
row: :count, :at (seconds since the epoch), :command and :reason."
  (let ((server neuron-council-rpc--server))
    (append
     (and (neuron-council-rpc--live-p server)
          (list :state (neuron-council-rpc--server-state server)
                :pid (process-id (neuron-council-rpc--server-process server))
                :command (neuron-council-rpc--server-command server)
                :home (neuron-council-rpc--server-home server)
                :started (neuron-council-rpc--server-started server)
                :version (neuron-council-rpc--server-version server)
                :protocol (neuron-council-rpc--server-protocol server)))
     (list :waiting (length (delq t (mapcar #'neuron-council-rpc-job-done-p neuron-council-rpc-jobs)))
           :deaths (copy-sequence neuron-council-rpc--deaths)))))

(defun neuron-council-rpc-forget-deaths ()
  "Let the next request start a server at once, whatever became of the last ones."
  (setq neuron-council-rpc--deaths nil))

;;;; Commands

;;;###autoload
(defun neuron-council-stop ()
  "Stop the council's server; the next request starts it again.
Claims being judged are given up; a memory among them is stored with the
tag council-unavailable."
  (interactive)
  (let ((running (neuron-council-rpc--live-p neuron-council-rpc--server)))
    (neuron-council-rpc-stop "the server was stopped")
    (unless noninteractive
      (message (if running "The council's server is stopped" "No server of the council was running")))))

;;;###autoload
(defun neuron-council-restart ()
  "Stop the council's server if it runs, and start it with the options set now.
Earlier deaths of it are forgotten."
  (interactive)
  (neuron-council-rpc-stop "the server was restarted")
  (neuron-council-rpc-forget-deaths)
  (neuron-council-program-forget)
  (neuron-council-rpc--ensure)
  (unless noninteractive (message "The council's server is starting")))

(provide 'neuron-council-rpc)
;;; neuron-council-rpc.el ends here
