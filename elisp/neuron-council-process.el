;;; neuron-council-process.el --- The process of the council's server  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; One server process for one Emacs, from its start to its end, spoken to through jsonrpc.el.  What is said to it and
;; what it says is the business of neuron-council-rpc.el, which hears of it by the hooks here.
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

(defconst neuron-council-process--protocol 1
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
  :group 'neuron-council-server
  :package-version '(neuron-council . "0.1.0"))

(defcustom neuron-council-events-buffer-size 0
  "Characters of traffic to keep in the buffer \"*neuron-council events*\".
The traffic holds claims and contexts; 0 keeps nothing.  Used when a
server is started."
  :type 'natnum
  :safe #'natnump
  :group 'neuron-council-server
  :package-version '(neuron-council . "0.1.0"))

(defun neuron-council-process--json (value)
  "Return VALUE as jsonrpc.el takes it: a list without keywords is an array.
Signal an error that says what in VALUE JSON has no word for."
  (cond ((stringp value) (neuron-council-text-clean value))
        ((or (memq value '(nil t :json-false))
             (and (integerp value) (<= (- (expt 2 63)) value (1- (expt 2 63))))
             (and (floatp value) (= 0 (- value value))))
         value)
        ((vectorp value) (vconcat (mapcar #'neuron-council-process--json value)))
        ((not (proper-list-p value)) (error "%.40S is no text, number or list" value))
        ((keywordp (car value)) (neuron-council-process--json-table value))
        (t (vconcat (mapcar #'neuron-council-process--json value)))))

(defun neuron-council-process--json-table (value)
  "Return VALUE, a list that begins with a keyword, as a table of JSON."
  (let ((table nil))
    (while value
      (let ((key (pop value)))
        (unless (and (keywordp key) value)
          (error "%.40S is no key with a value" key))
        (push key table)
        (push (neuron-council-process--json (pop value)) table)))
    (nreverse table)))

(defun neuron-council-process--json-options ()
  "Return `neuron-council-initialization-options' as jsonrpc.el takes them.
Signal `neuron-council-error' where they are nonsense."
  (let ((options neuron-council-initialization-options))
    (condition-case problem
        (if (and options (not (keywordp (car-safe options))))
            (error "%.40S is no property list" options)
          (neuron-council-process--json options))
      (error (signal 'neuron-council-error
                     (list (format "`neuron-council-initialization-options': %s"
                                   (error-message-string problem))))))))

(defun neuron-council-process--check-options ()
  "Return the options that a server is told.
Signal `neuron-council-error' where one that it is started with is nonsense."
  (unless (natnump neuron-council-events-buffer-size)
    (signal 'neuron-council-error
            (list (format "`neuron-council-events-buffer-size' is %.40S: set it to a whole number, 0 for no buffer"
                          neuron-council-events-buffer-size))))
  (neuron-council-process--json-options))

;;;; State

(cl-defstruct (neuron-council-process-server (:constructor neuron-council-process--make-server)
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

(defvar neuron-council-process--server nil
  "The server that was started last.")

(defvar neuron-council-process--stopping nil
  "Why the server is being stopped, nil while it is not.
Meanwhile no other is started, by a callback that asks for more, say.")

(defvar neuron-council-process--deaths nil
  "The deaths in a row: a plist of :count, :at, :command and :reason, or nil.")

(defvar neuron-council-process--ready-functions nil
  "Called with a server that takes requests from now on; must be quick.")

(defvar neuron-council-process--ended-functions nil
  "Called with a server that has ended and the condition that says why.")

(defvar neuron-council-process--notification-functions nil
  "Called with the method and the parameters of each notification of a server.
They run in the process filter, from before the first message of a
server, so they must be quick and wait for nothing.")

(defun neuron-council-process-live-p (server)
  "Return non-nil while SERVER, which may be nil, can be written to."
  (and server
       (not (eq (neuron-council-process-server-state server) 'ended))
       ;; One that is stopped takes no more than a dead one.
       (eq 'run (process-status (neuron-council-process-server-process server)))
       ;; Without its buffer a process lives a little longer, but jsonrpc.el hears it no more.
       (buffer-live-p (process-buffer (neuron-council-process-server-process server)))))

(defun neuron-council-process-ready-p ()
  "Return non-nil while a server takes requests."
  (and (neuron-council-process-live-p neuron-council-process--server)
       (eq (neuron-council-process-server-state neuron-council-process--server) 'ready)))

(defun neuron-council-process-home ()
  "Return the NEURON_HOME of the server that lives, else of the next one."
  (if (neuron-council-process-live-p neuron-council-process--server)
      (neuron-council-process-server-home neuron-council-process--server)
    (let ((home (getenv "NEURON_HOME")))
      ;; The server runs in the user's folder.
      (file-name-as-directory (expand-file-name (if (member home '(nil "")) ".neuron" home) "~/")))))

(defun neuron-council-process-status ()
  "Return what is known of the server, as a property list; start nothing.
:state is `starting' or `ready', nil without a live server, of which then
come :pid, :command (a list), :home, :started (seconds since the epoch),
and :version and :protocol as it gave them.  :deaths is nil, or a property
list of the deaths in a row: :count, :at (seconds since the epoch),
:command and :reason."
  (let ((server neuron-council-process--server))
    (append
     (and (neuron-council-process-live-p server)
          (list :state (neuron-council-process-server-state server)
                :pid (process-id (neuron-council-process-server-process server))
                :command (neuron-council-process-server-command server)
                :home (neuron-council-process-server-home server)
                :started (neuron-council-process-server-started server)
                :version (neuron-council-process-server-version server)
                :protocol (neuron-council-process-server-protocol server)))
     (list :deaths (copy-sequence neuron-council-process--deaths)))))

(defun neuron-council-process-forget-deaths ()
  "Let the next request start a server at once, whatever became of the last ones."
  (setq neuron-council-process--deaths nil))

;;;; Messages

;; No constant, nor is the next such limit: a test of a server that never does need not wait so long.
(defvar neuron-council-process--write-limit 1
  "Seconds a write to the server may take.
Its stdin is read by a thread that does nothing else.")

(defun neuron-council-process-write (server function &rest arguments)
  "Have FUNCTION of jsonrpc.el write ARGUMENTS to SERVER.
A server that is found dead then, or does not read, is ended, with its
jobs.  Signal an error of any other kind."
  (let ((written nil))
    (condition-case problem
        (with-timeout (neuron-council-process--write-limit)
          (apply function (neuron-council-process-server-connection server) arguments)
          (setq written t))
      (error
       (when (neuron-council-process-live-p server)
         (signal (car problem) (cdr problem)))))
    (cond (written)
          ((neuron-council-process-live-p server)
           (neuron-council-process-fail server (list 'neuron-council-error "the server does not read what it is sent")))
          (t (neuron-council-process--died server)))))

(defun neuron-council-process-wait (server seconds)
  "Wait until SERVER has said something, for SECONDS at most.
SERVER may be nil.  Whatever else has happened meanwhile was let in."
  (let ((process (and server (neuron-council-process-server-process server))))
    ;; Without a process to wait for, Emacs waits for 10 ms more behind each output.
    (accept-process-output (and process (process-live-p process) process) seconds)))

(defun neuron-council-process-hearing (server function)
  "Return FUNCTION of one argument, but let each call count as heard from SERVER."
  (lambda (argument)
    (setf (neuron-council-process-server-heard server) (1+ (neuron-council-process-server-heard server)))
    (neuron-council-errors-guard "an answer of the council's server" function argument)))

(defun neuron-council-process-death-p (server answer)
  "Return non-nil when ANSWER, an error, is how jsonrpc.el tells SERVER's death.
`neuron-council-process--died' words that better."
  (and (eql (plist-get answer :code) -1)
       (not (neuron-council-process-live-p server))))

(defun neuron-council-process-answer-condition (answer)
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

;;;; Start

(defconst neuron-council-process--start-limit 30
  "Seconds a server may take to answer `initialize'.
It starts in less than one; its models are loaded afterwards.")

(defconst neuron-council-process--deaths-limit 5
  "After so many deaths in a row a server is no longer started by itself.")

(defun neuron-council-process-ensure ()
  "Return a live server, started if there is none.
Signal `neuron-council-error' where that cannot be, now or for good."
  (let ((server neuron-council-process--server))
    (when (and server (not (eq (neuron-council-process-server-state server) 'ended))
               (not (neuron-council-process-live-p server)))
      (neuron-council-process--died server))
    (when neuron-council-process--stopping
      (signal 'neuron-council-error (list neuron-council-process--stopping)))
    (if (neuron-council-process-live-p server)
        server
      ;; A folder that is gone or remote must not matter.
      (let* ((default-directory (if (file-directory-p "~/") (expand-file-name "~/") "/"))
             (options (neuron-council-process--check-options))
             (command (neuron-council-program-command)))
        (neuron-council-process--back-off command)
        (require 'jsonrpc)
        ;; Quit in the midst, it would be a process that nobody knows.
        (let ((inhibit-quit t))
          (setq neuron-council-process--server (neuron-council-process--start command options)))))))

(defun neuron-council-process--back-off (command)
  "Signal `neuron-council-error' when COMMAND died too often to be run now."
  (let* ((deaths neuron-council-process--deaths)
         (count (or (plist-get deaths :count) 0)))
    (when (and (>= count 2) (equal command (plist-get deaths :command)))
      (let* ((stopped (>= count neuron-council-process--deaths-limit))
             (left (- (+ (plist-get deaths :at) (min 60 (expt 2 (- count 2)))) (float-time))))
        (when (or stopped (> left 0))
          (signal 'neuron-council-error
                  (list (format "the server failed %d times in a row, it is not started again %s \
(M-x neuron-council-restart starts it now, M-x neuron-council-show-log shows what it said); the last time %s"
                                count (if stopped "by itself" (format "for %.0f s" (max 1 left)))
                                (plist-get deaths :reason)))))))))

(defun neuron-council-process--name ()
  "Return a name for a server that none has which is still leaving."
  (let ((name "neuron-council") (count 1))
    (while (get-process name)
      (setq count (1+ count)
            name (format "neuron-council-%d" count)))
    name))

(defun neuron-council-process--connect (server)
  "Start the process of SERVER and set its connection to it."
  (let* ((name (neuron-council-process--name))
         ;; Emacs would wait up to 50 ms before it reads an answer behind others.
         (process-adaptive-read-buffering nil)
         ;; jsonrpc.el would copy every line of a stderr buffer into its events, without bound.
         (stderr (make-pipe-process :name (concat name " stderr") :noquery t :coding 'utf-8-unix
                                    :buffer (get-buffer-create (format " *%s stderr pipe*" name))
                                    :filter (lambda (_ text) (neuron-council-process--hear server text))
                                    :sentinel #'ignore))
         (slots (list
                 :name name
                 :process (lambda ()
                            (let ((process-environment
                                   (append '("PYTHONUNBUFFERED=1" "PYTHONUTF8=1") process-environment)))
                              (setf (neuron-council-process-server-process server)
                                    (make-process :name name :command (neuron-council-process-server-command server)
                                                  :connection-type 'pipe :coding 'utf-8-emacs-unix
                                                  :noquery t :stderr stderr))))
                 :notification-dispatcher (lambda (_ method params)
                                            (setf (neuron-council-process-server-heard server)
                                                  (1+ (neuron-council-process-server-heard server)))
                                            (neuron-council-errors-guard
                                             "a council notification" #'run-hook-with-args
                                             'neuron-council-process--notification-functions method params))
                 :on-shutdown (lambda (_) (neuron-council-process--died server))))
         (size neuron-council-events-buffer-size)
         (connection nil))
    (setf (neuron-council-process-server-stderr server) stderr)
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
        (when (neuron-council-process-server-process server)
          (delete-process (neuron-council-process-server-process server)))))
    (setf (neuron-council-process-server-connection server) connection)))

(defun neuron-council-process--shield (process)
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

(defun neuron-council-process--start (command options)
  "Start the server by COMMAND and return it.
It is greeted later, and told OPTIONS then."
  (let ((server (neuron-council-process--make-server :command command :home (neuron-council-process-home)
                                                     :options options :started (float-time))))
    (neuron-council-process--connect server)
    (neuron-council-process--shield (neuron-council-process-server-process server))
    (set-process-thread (neuron-council-process-server-stderr server) nil)
    (neuron-council-log "Started %s as process %d" (car command)
                        (process-id (neuron-council-process-server-process server)))
    (add-hook 'kill-emacs-hook #'neuron-council-process--leave t)   ; behind what ends the requests
    (setf (neuron-council-process-server-timers server)
          ;; A program that cannot run is dead within milliseconds, and writing to it then would end an Emacs in batch
          ;; by SIGPIPE.  So it is written to a moment later, if it lives.
          (list (run-at-time 0.02 nil #'neuron-council-process--greet server)
                (run-at-time neuron-council-process--start-limit nil #'neuron-council-process--start-timed-out server)))
    server))

(defun neuron-council-process--greet (server)
  "Send `initialize' to SERVER."
  (condition-case problem
      (neuron-council-process-write
       server #'jsonrpc-async-request :initialize
       (list :processId (emacs-pid)
             :rootUri nil
             :clientInfo (list :name "neuron-council.el"
                               :version (format "%s (Emacs %s)" neuron-council-version emacs-version))
             :capabilities (list :experimental
                                 (list :neuronCouncil (list :protocol neuron-council-process--protocol)))
             :initializationOptions (neuron-council-process-server-options server))
       :success-fn (neuron-council-process-hearing
                    server (lambda (result) (neuron-council-process--greeted server result)))
       :error-fn (neuron-council-process-hearing
                  server (lambda (answer) (neuron-council-process--not-greeted server answer)))
       :timeout (+ neuron-council-process--start-limit 60)
       :timeout-fn #'ignore)
    (error (neuron-council-process-fail server (list 'neuron-council-error
                                                     (format "the server cannot be greeted: %s"
                                                             (error-message-string problem)))))))

(defun neuron-council-process--not-greeted (server answer)
  "End SERVER, which answered `initialize' with ANSWER, an error.
That is no death: it will start when its configuration is mended."
  (unless (neuron-council-process-death-p server answer)
    (neuron-council-process--finish
     server (list 'neuron-council-error
                  (concat "the server cannot start: " (cadr (neuron-council-process-answer-condition answer)))))))

(defun neuron-council-process--greeted (server result)
  "Make SERVER ready, which answered `initialize' with RESULT, and send its jobs."
  (when (eq (neuron-council-process-server-state server) 'starting)
    (let* ((council (plist-get (plist-get (plist-get result :capabilities) :experimental) :neuronCouncil))
           (protocol (plist-get council :protocol))
           (version (plist-get (plist-get result :serverInfo) :version)))
      (setf (neuron-council-process-server-protocol server) protocol
            (neuron-council-process-server-version server) version)
      (if (equal protocol neuron-council-process--protocol)
          (neuron-council-process--ready server)
        (neuron-council-process--finish
         server (list 'neuron-council-error
                      (format "the server (version %s) speaks protocol %s, neuron-council.el %s speaks %d; \
update the server: %s"
                              (or version "unknown") (or protocol "unknown") neuron-council-version
                              neuron-council-process--protocol (neuron-council-program-install-command))))))))

(defun neuron-council-process--ready (server)
  "Let SERVER, which has been greeted, take requests."
  (let ((version (neuron-council-process-server-version server)))
    (neuron-council-log "The server is ready, version %s%s" version
                        (if (equal version neuron-council-version)
                            ""
                          (format "; neuron-council.el has version %s" neuron-council-version))))
  (mapc #'cancel-timer (neuron-council-process-server-timers server))
  (setf (neuron-council-process-server-state server) 'ready)
  (neuron-council-process-write server #'jsonrpc-notify :initialized (make-hash-table))
  (run-hook-with-args 'neuron-council-process--ready-functions server))

(defun neuron-council-process--start-timed-out (server)
  "Give SERVER up, which has not answered `initialize'."
  (neuron-council-process-fail server (list 'neuron-council-error
                                            (format "the server did not answer within %d s of its start"
                                                    neuron-council-process--start-limit))))

;;;; End

(defun neuron-council-process--hear (server text)
  "Log TEXT, which SERVER wrote to its stderr, and keep the end of it."
  (neuron-council-log-insert text)
  (let ((said (concat (neuron-council-process-server-said server) text)))
    (setf (neuron-council-process-server-said server) (substring said (max 0 (- (length said) 2000))))))

(defun neuron-council-process--last-words (server)
  "Return the last line SERVER wrote to its stderr, nil if there is none."
  (let ((stderr (neuron-council-process-server-stderr server)))
    ;; The death is often known before the reason has been read.  A child of the server may keep the pipe open, though.
    (dotimes (_ 20)
      (when (process-live-p stderr)
        (accept-process-output stderr 0.005 nil t))))
  (let ((line (car (last (split-string (neuron-council-process-server-said server) "\n" t "[ \t\r]+")))))
    (and line (neuron-council-text-plain line))))

(defun neuron-council-process--crashed-p (process)
  "Return non-nil unless PROCESS ended because it was told to, as at a logout."
  (not (memq (process-exit-status process)
             (if (eq (process-status process) 'signal) '(1 2 15) '(0 129 130 143)))))

(defun neuron-council-process--died (server)
  "Bury SERVER, whose process has ended by itself."
  (unless (eq (neuron-council-process-server-state server) 'ended)
    (let* ((process (neuron-council-process-server-process server))
           (how (pcase (process-status process)
                  ('exit (format "exit status %d" (process-exit-status process)))
                  ('signal (format "signal %d" (process-exit-status process)))
                  ('stop "it was stopped")
                  (_ "its buffer was killed")))
           (words (neuron-council-process--last-words server)))
      (neuron-council-process-fail
       server
       `(neuron-council-died ,(format "the server died (%s)%s" how (if words (concat ": " words) ""))
                             ,@(and (neuron-council-process--crashed-p process) '(crashed)))))))

(defun neuron-council-process-fail (server condition)
  "End SERVER for CONDITION, and count it as a death."
  (unless (eq (neuron-council-process-server-state server) 'ended)
    (neuron-council-process--count-death server (cadr condition))
    (neuron-council-process--finish server condition)))

(defun neuron-council-process--count-death (server reason)
  "Count the death of SERVER for REASON; long life or an answer ends the row."
  (let* ((deaths neuron-council-process--deaths)
         (in-a-row (and (equal (neuron-council-process-server-command server) (plist-get deaths :command))
                        (not (neuron-council-process-server-answered server))
                        (< (- (float-time) (neuron-council-process-server-started server)) 60))))
    (setq neuron-council-process--deaths
          (list :count (1+ (if in-a-row (plist-get deaths :count) 0)) :at (float-time)
                :command (neuron-council-process-server-command server) :reason reason))))

(defun neuron-council-process--finish (server condition)
  "End SERVER and its process; CONDITION says why."
  (setf (neuron-council-process-server-state server) 'ended)
  (neuron-council-log "Server ended: %s" (cadr condition))
  (mapc #'cancel-timer (neuron-council-process-server-timers server))
  (delete-process (neuron-council-process-server-process server))
  (delete-process (neuron-council-process-server-stderr server))
  (run-hook-with-args 'neuron-council-process--ended-functions server condition))

(defun neuron-council-process--wait-until (server seconds predicate)
  "Wait until PREDICATE, about SERVER, returns non-nil; return that.
The wait lasts SECONDS at most."
  (let ((deadline (+ (float-time) seconds)) (value nil))
    (while (and (not (setq value (funcall predicate))) (< (float-time) deadline))
      (neuron-council-process-wait server 0.02))
    value))

(defvar neuron-council-process--leave-limit 1.5
  "Seconds a server has to leave when it is asked to.")

(defun neuron-council-process-stop (reason)
  "Ask the server to leave for REASON, and end it if it does not.
This takes `neuron-council-process--leave-limit' at most."
  (let ((server neuron-council-process--server))
    (when (and server (not (eq (neuron-council-process-server-state server) 'ended)))
      (let ((ready (eq (neuron-council-process-server-state server) 'ready))
            (neuron-council-process--stopping reason))
        (setf (neuron-council-process-server-state server) 'ended)
        (unwind-protect
            (condition-case problem
                (neuron-council-process--see-off server ready)
              (error (neuron-council-log "The server could not be asked to leave: %s" (car problem))))
          (neuron-council-process--finish server (list 'neuron-council-error reason)))))))

(defun neuron-council-process--see-off (server ready)
  "Ask SERVER to leave and wait a moment until it has.
READY is non-nil where it takes requests."
  (let ((process (neuron-council-process-server-process server))
        (connection (neuron-council-process-server-connection server))
        (answered nil))
    (with-timeout (neuron-council-process--leave-limit)
      (when (and ready (process-live-p process))
        (jsonrpc-async-request connection :shutdown nil
                               :success-fn (lambda (_) (setq answered t))
                               :error-fn (lambda (_) (setq answered t))
                               :timeout 2 :timeout-fn #'ignore)
        (neuron-council-process--wait-until server (/ neuron-council-process--leave-limit 1.5)
                                            (lambda () (or answered (not (process-live-p process))))))
      (when (process-live-p process)
        (neuron-council-process--dismiss server)
        (neuron-council-process--wait-until server (/ neuron-council-process--leave-limit 3.0)
                                            (lambda () (not (process-live-p process))))))))

(defun neuron-council-process--dismiss (server)
  "Tell SERVER to leave, without waiting for it."
  (jsonrpc-notify (neuron-council-process-server-connection server) :exit nil)
  (process-send-eof (neuron-council-process-server-process server)))

(defun neuron-council-process-retire (reason)
  "Have the server leave for REASON without waiting for it.
Return non-nil where there is one; the next request starts another."
  (let ((server neuron-council-process--server))
    (when (neuron-council-process-live-p server)
      (setf (neuron-council-process-server-state server) 'ended)
      (mapc #'cancel-timer (neuron-council-process-server-timers server))
      (condition-case problem
          (with-timeout (neuron-council-process--write-limit)
            (neuron-council-process--dismiss server))
        (error (neuron-council-log "The server could not be asked to leave: %s" (car problem))))
      (setf (neuron-council-process-server-timers server)
            (list (run-at-time 2 nil #'neuron-council-errors-guard "the end of the council's server"
                               #'neuron-council-process--finish server (list 'neuron-council-error reason))))
      t)))

(defun neuron-council-process--leave ()
  "Tell the server that Emacs leaves."
  (when (neuron-council-process-live-p neuron-council-process--server)
    (ignore-errors
      (with-timeout (neuron-council-process--write-limit)
        (jsonrpc-notify (neuron-council-process-server-connection neuron-council-process--server) :exit nil)))))

(provide 'neuron-council-process)
;;; neuron-council-process.el ends here
