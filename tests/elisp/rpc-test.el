;;; rpc-test.el --- Tests of the server's life and of its requests  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Code:

(require 'helper)

;;;; Start

(ert-deftest neuron-council-test-rpc-initialize ()
  (neuron-council-test-with nil
    (let ((neuron-council-initialization-options '(:council (:deadline_s 30) :member ((:id "a") (:id "b")) :list ("x"))))
      (neuron-council-verify "A claim"))
    (let* ((seen (neuron-council-test-seen))
           (params (plist-get (car seen) :params)))
      (should (equal (mapcar (lambda (message) (plist-get message :method)) seen)
                     '("initialize" "initialized" "council/verify")))
      (should (equal (plist-get params :processId) (emacs-pid)))
      (should (equal (plist-get (plist-get params :clientInfo) :name) "neuron-council.el"))
      (should (equal (plist-get params :capabilities) '(:experimental (:neuronCouncil (:protocol 1)))))
      (should (equal (plist-get params :initializationOptions)
                     '(:council (:deadline_s 30) :member ((:id "a") (:id "b")) :list ("x")))))))

(ert-deftest neuron-council-test-rpc-empty-objects-are-objects ()
  (neuron-council-test-with nil
    (neuron-council-verify "A claim")
    (with-temp-buffer
      (insert-file-contents neuron-council-test-log)
      (should (search-forward "\"method\": \"initialized\", \"params\": {}" nil t)))))

(ert-deftest neuron-council-test-rpc-one-server-for-many-requests ()
  (neuron-council-test-with nil
    (dotimes (_ 3) (neuron-council-verify "A claim"))
    (should (= 1 (length (neuron-council-test-seen "initialize"))))
    (should (= 3 (length (neuron-council-test-seen "council/verify"))))))

(ert-deftest neuron-council-test-rpc-requests-queue-until-initialize-is-answered ()
  (neuron-council-test-with '(:initialize (:delay 0.3))
    (let ((answers nil))
      (dotimes (n 5)
        (neuron-council-verify-async (format "Claim %d" n) nil
                                     (lambda (verdict) (push (plist-get verdict :claim) answers))))
      (should (eq 'starting (neuron-council-rpc--server-state neuron-council-rpc--server)))
      (should-not answers)
      (neuron-council-test-until (= 5 (length answers)))
      (should (equal (mapcar (lambda (message) (plist-get (plist-get message :params) :claim))
                             (neuron-council-test-seen "council/verify"))
                     '("Claim 0" "Claim 1" "Claim 2" "Claim 3" "Claim 4"))))))

(ert-deftest neuron-council-test-rpc-child-environment ()
  (neuron-council-test-clean
    (let* ((process-environment (cons "NEURON_HOME=/somewhere" process-environment))
           (neuron-council-server-command
            (list (executable-find "sh") "-c" "echo \"$NEURON_HOME $PYTHONUTF8 $PYTHONUNBUFFERED\" >&2; exit 3")))
      (should (string-match-p "exit status 3.*/somewhere 1 1"
                              (neuron-council-test-text
                               (should-error (neuron-council-verify "A claim") :type 'neuron-council-error)))))))

(ert-deftest neuron-council-test-rpc-starts-from-a-folder-that-is-gone ()
  (neuron-council-test-with nil
    (let ((default-directory (file-name-as-directory (make-temp-file "gone" t))))
      (delete-directory default-directory)
      (should (neuron-council-verify "A claim")))))

(ert-deftest neuron-council-test-rpc-starts-from-a-remote-folder ()
  (neuron-council-test-with nil
    (let ((default-directory "/ssh:nowhere.invalid:/tmp/"))
      (should (neuron-council-verify "A claim")))))

(ert-deftest neuron-council-test-rpc-works-under-odd-codings ()
  (neuron-council-test-with nil
    (let ((coding-system-for-read 'iso-latin-1)
          (coding-system-for-write 'iso-latin-1))
      (should (equal (plist-get (neuron-council-verify "東京 is a city, né 😀") :claim) "東京 is a city, né 😀")))))

;;;; Handshake

(ert-deftest neuron-council-test-rpc-wrong-protocol ()
  (neuron-council-test-with '(:initialize (:result (:capabilities (:experimental (:neuronCouncil (:protocol 2)))
                                                    :serverInfo (:name "neuron-council" :version "9.9"))))
    (let ((text (neuron-council-test-text (should-error (neuron-council-verify "A claim") :type 'neuron-council-error))))
      (should (string-match-p "9\\.9.*protocol 2" text))
      (should (string-match-p "neuron-council.el 0\\.1\\.0 speaks 1" text))
      (should (string-match-p "update the server" text)))
    (should-not (get-process "neuron-council"))))

(ert-deftest neuron-council-test-rpc-another-program ()
  (neuron-council-test-with '(:initialize (:result (:capabilities (:hoverProvider t))))
    (should-error (neuron-council-verify "A claim") :type 'neuron-council-error)))

(ert-deftest neuron-council-test-rpc-configuration-fault ()
  (neuron-council-test-with '(:initialize (:error (:code -32803 :message "council.toml: max_loops: 9 is not 1..3")))
    (should (string-match-p "max_loops: 9"
                            (neuron-council-test-text
                             (should-error (neuron-council-verify "A claim") :type 'neuron-council-error))))
    (should-not (get-process "neuron-council"))))

(ert-deftest neuron-council-test-rpc-initialize-is-never-answered ()
  (neuron-council-test-with '(:initialize "silent")
    (let ((neuron-council-timeout 0.4))
      (should (string-match-p "did not get ready within 0.4 s"
                              (neuron-council-test-text
                               (should-error (neuron-council-verify "A claim") :type 'neuron-council-error)))))
    (neuron-council-rpc--start-timed-out neuron-council-rpc--server)
    (should-not (get-process "neuron-council"))))

;;;; Death

(ert-deftest neuron-council-test-rpc-dead-at-start ()
  (neuron-council-test-with '(:start (:stderr "Traceback\nModuleNotFoundError: nothing here\n" :exit 7))
    (let ((text nil))
      (should (< (neuron-council-test-seconds
                   (setq text (neuron-council-test-text
                               (should-error (neuron-council-verify "A claim") :type 'neuron-council-error))))
                 5))
      (should (string-match-p "exit status 7" text))
      (should (string-match-p "ModuleNotFoundError: nothing here" text))
      (with-current-buffer (neuron-council-log-buffer)
        (should (string-match-p "Traceback" (buffer-string)))))))

(ert-deftest neuron-council-test-rpc-program-that-cannot-run ()
  "A script whose interpreter is gone is found, but does not run."
  (neuron-council-test-clean
    (let ((script (make-temp-file "neuron-council-test-" nil nil "#!/nonexistent/interpreter\n")))
      (unwind-protect
          (let ((neuron-council-server-command (list script)))
            (set-file-modes script #o755)
            (should-error (neuron-council-verify "A claim") :type 'neuron-council-error))
        (delete-file script)))))

(ert-deftest neuron-council-test-rpc-program-that-ends-at-once ()
  (neuron-council-test-clean
    (dolist (name '("true" "false"))
      (setq neuron-council-rpc--deaths nil)
      (let ((neuron-council-server-command (list (executable-find name))))
        (should-error (neuron-council-verify "A claim") :type 'neuron-council-error)))))

(ert-deftest neuron-council-test-rpc-death-during-a-request ()
  (neuron-council-test-with '(:verify [(:exit 5 :stderr "out of memory\n")])
    (let ((text nil))
      (should (< (neuron-council-test-seconds
                   (setq text (neuron-council-test-text
                               (should-error (neuron-council-verify "A claim") :type 'neuron-council-error))))
                 5))
      (should (string-match-p "died (exit status 5): out of memory" text))
      ;; It is not sent again.
      (should (= 1 (length (neuron-council-test-seen "council/verify")))))))

(ert-deftest neuron-council-test-rpc-death-ends-every-job ()
  (neuron-council-test-with '(:verify [(:delay 30) (:delay 30) (:exit 1)])
    (let ((errors nil))
      (dotimes (_ 3)
        (neuron-council-verify-async "A claim" nil (lambda (verdict) (push (plist-get verdict :error) errors))))
      (neuron-council-test-until (= 3 (length errors)))
      (dolist (text errors) (should (string-match-p "died" text)))
      (should-not neuron-council-rpc-jobs))))

(ert-deftest neuron-council-test-rpc-starts-again-after-a-death ()
  (neuron-council-test-with nil
    (dotimes (n 4)
      (should (neuron-council-verify "A claim"))
      (should (= (1+ n) (length (neuron-council-test-seen "initialize"))))
      (signal-process (get-process "neuron-council") 'SIGKILL)
      (neuron-council-test-until (not (process-live-p (get-process "neuron-council")))))))

(ert-deftest neuron-council-test-rpc-next-start-uses-the-command-set-then ()
  (neuron-council-test-with '(:start (:exit 1))
    (should-error (neuron-council-verify "A claim"))
    (should-error (neuron-council-verify "A claim"))
    (let ((neuron-council-server-command (neuron-council-test-command nil)))
      (should (neuron-council-verify "A claim")))))

(ert-deftest neuron-council-test-rpc-back-off ()
  (neuron-council-test-with '(:start (:exit 1 :stderr "no luck\n"))
    (let ((now (float-time)))
      (cl-flet ((try (seconds)
                  (cl-letf (((symbol-function 'float-time) (lambda (&rest _) (+ now seconds))))
                    (let* ((neuron-council-timeout 1e9)
                           (condition (should-error (neuron-council-verify "A claim") :type 'neuron-council-error)))
                      (neuron-council-test-text condition)))))
        ;; The first call after a death starts a server; from the second death on there is a pause.
        (should (string-match-p "^the server died" (try 0)))
        (should (string-match-p "^the server died" (try 0)))
        (should (string-match-p "failed 2 times in a row.*not started again for 1 s.*no luck" (try 0)))
        (should (string-match-p "^the server died" (try 1.1)))
        (should (string-match-p "failed 3 times.*for 2 s" (try 1.1)))
        (should (string-match-p "^the server died" (try 3.2)))
        (should (string-match-p "^the server died" (try 7.3)))
        ;; After five it is left to the user.
        (should (string-match-p "failed 5 times.*by itself.*neuron-council-restart.*neuron-council-show-log"
                                (try 100000)))))
    (let ((neuron-council-server-command (neuron-council-test-command nil)))
      (neuron-council-restart)
      (should (neuron-council-verify "A claim")))))

(ert-deftest neuron-council-test-rpc-long-life-ends-the-row ()
  (neuron-council-test-with '(:verify [(:exit 1)])
    (dotimes (_ 4)
      (let ((now (float-time)))
        (should (neuron-council-rpc--ensure))
        (setf (neuron-council-rpc--server-started neuron-council-rpc--server) (- now 61))
        (should (string-match-p "died" (neuron-council-test-text (should-error (neuron-council-verify "A claim")))))))))

(ert-deftest neuron-council-test-rpc-killed-process-buffer-is-a-death ()
  (neuron-council-test-with nil
    (should (neuron-council-verify "A claim"))
    (kill-buffer (process-buffer (get-process "neuron-council")))
    (should (neuron-council-verify "A claim"))
    (should (= 2 (length (neuron-council-test-seen "initialize"))))))

(ert-deftest neuron-council-test-rpc-killed-log-does-no-harm ()
  (neuron-council-test-with '(:verify [(:stderr "line\n" :stderr_size 300000)])
    (should (neuron-council-verify "A claim"))
    (dolist (buffer (buffer-list))
      (when (string-match-p "neuron-council \\(log\\|events\\)" (buffer-name buffer))
        (kill-buffer buffer)))
    (should (neuron-council-verify "A claim"))
    (should (= 1 (length (neuron-council-test-seen "initialize"))))))

(ert-deftest neuron-council-test-rpc-stderr-is-bounded ()
  (neuron-council-test-with '(:verify [(:stderr "a line of text\n" :stderr_size 2000000)])
    (dotimes (_ 2) (should (neuron-council-verify "A claim")))
    (dolist (buffer (buffer-list))
      (when (string-match-p "neuron-council" (buffer-name buffer))
        (should (< (buffer-size buffer) 250000))))))

(defun neuron-council-test-dead-when (method write)
  "Return WRITE, which writes a message of METHOD, but let the server die at that."
  (lambda (connection this &rest arguments)
    (when (eq this method)
      (let ((process (get-process "neuron-council")))
        ;; The sentinel would be late; this is how a write finds it out first.
        (set-process-sentinel process #'ignore)
        (delete-process process)
        (error "Process neuron-council not running: killed")))
    (apply write connection this arguments)))

(ert-deftest neuron-council-test-rpc-death-that-a-write-finds-out ()
  "It is the death of the server, wherever it happens, and no other error."
  (require 'jsonrpc)
  (dolist (method '(:initialize :initialized :council/verify :window/workDoneProgress/cancel))
    (neuron-council-test-with '(:verify [(:delay 30)])
      (cl-letf (((symbol-function 'jsonrpc-async-request)
                 (neuron-council-test-dead-when method (symbol-function 'jsonrpc-async-request)))
                ((symbol-function 'jsonrpc-notify)
                 (neuron-council-test-dead-when method (symbol-function 'jsonrpc-notify))))
        (let* ((conditions nil)
               (function (lambda (_ condition) (push condition conditions)))
               (job (neuron-council-verify-submit "A claim" nil "id" function)))
          (neuron-council-verify-submit "Another claim" nil "other" function)
          (when (eq method :window/workDoneProgress/cancel)
            (neuron-council-test-until (= 2 (length (neuron-council-test-seen "council/verify"))))
            (neuron-council-cancel job))
          (neuron-council-test-until (= 2 (length conditions)))
          (dolist (condition conditions)
            (should (or (eq 'neuron-council-cancelled (car condition))
                        (string-match-p "\\`the server died" (neuron-council-test-text condition)))))
          (should-not neuron-council-rpc-jobs))))))

(ert-deftest neuron-council-test-rpc-death-with-a-child-that-lives ()
  "A child of the server may keep its stderr open; that delays nothing."
  (neuron-council-test-clean
    (let ((neuron-council-server-command
           (list (executable-find "sh") "-c" "sleep 30 >/dev/null </dev/null & echo $! reasons >&2; exit 3"))
          (text nil))
      (should (< (neuron-council-test-seconds
                   (setq text (neuron-council-test-text
                               (should-error (neuron-council-verify "A claim") :type 'neuron-council-error))))
                 0.8))
      (should (string-match "exit status 3.*: \\([0-9]+\\) reasons" text))
      (signal-process (string-to-number (match-string 1 text)) 'SIGKILL))))

(ert-deftest neuron-council-test-rpc-server-that-does-not-read ()
  "A full pipe holds up nobody for long, and ends the server."
  (neuron-council-test-with-ready [nil]
    (let ((process (get-process "neuron-council")) (errors nil))
      ;; It stops at the first message that it cannot keep.
      (delete-file neuron-council-test-log)
      (call-process "mkfifo" nil nil nil neuron-council-test-log)
      (dotimes (_ 6)
        (should (< (neuron-council-test-seconds
                     (neuron-council-verify-async (make-string 8000 ?x) (make-string 24000 ?x)
                                                  (lambda (verdict) (push (plist-get verdict :error) errors))))
                   5)))
      (delete-file neuron-council-test-log)
      (write-region "" nil neuron-council-test-log nil 'quiet)
      (should-not (process-live-p process))
      (neuron-council-test-until errors)
      (should (cl-some (lambda (text) (and text (string-match-p "does not read" text))) errors))
      (should (neuron-council-verify "A claim")))))

(ert-deftest neuron-council-test-rpc-server-that-is-stopped ()
  "It is left; the next call has another."
  (neuron-council-test-with-ready [nil]
    (let ((process (get-process "neuron-council")))
      (signal-process process 'SIGSTOP)
      (neuron-council-test-until (eq 'stop (process-status process)))
      (should (neuron-council-verify "A claim"))
      (should-not (process-live-p process))
      (should (= 2 (length (neuron-council-test-seen "initialize")))))))

(ert-deftest neuron-council-test-rpc-server-that-is-not-heard-any-more ()
  "Stray text on stdout makes jsonrpc.el deaf; then there is another server."
  (neuron-council-test-with-ready (vector (list :raw (make-string 200 ?x)) nil)
    (let ((neuron-council-timeout 0.4))
      ;; The server was heard to begin, so it may be slow.
      (should-error (neuron-council-verify "A claim") :type 'neuron-council-error)
      (should (= 1 (length (neuron-council-test-seen "initialize"))))
      (let ((done nil))
        (neuron-council-verify-async "A claim" nil (lambda (_) (setq done t)))
        (neuron-council-test-until done)))
    (should-not (neuron-council-rpc-ready-p))
    (should (neuron-council-verify "A claim"))
    (should (= 2 (length (neuron-council-test-seen "initialize"))))))

;;;; Options that are nonsense

(defun neuron-council-test-nonsense (option value words)
  "Fail unless VALUE of OPTION is one clear error that names it and says WORDS.
It must be at once, count as no death, and cost no memory."
  (neuron-council-test-with nil
    (cl-progv (list option) (list value)
      (dotimes (_ 3)
        (let ((text (neuron-council-test-text (should-error (neuron-council-verify "A claim")
                                                            :type 'neuron-council-error))))
          (should (string-match-p (format "`%s'" option) text))
          (should (string-match-p words text))
          (should (< (length text) 300))))
      (should-not neuron-council-rpc--deaths)
      (should-not neuron-council-rpc-jobs)
      (should-not (get-process "neuron-council"))
      (dolist (capture '(capture-memory-with-council capture-memory-with-council-async))
        (setq neuron-council-test-stored nil)
        (should (cl-some (lambda (text) (string-match-p (format "`%s'.*the memory is stored" option) text))
                         (neuron-council-test-messages
                           (funcall capture "A claim" nil 'node)
                           (neuron-council-test-until neuron-council-test-stored)
                           (neuron-council-test-until (null neuron-council-rpc-jobs)))))
        (should (equal (plist-get (cdar neuron-council-test-stored) :council-tags) '("council-unavailable")))))
    ;; The next call needs no cure but the option's.
    (should (neuron-council-verify "A claim"))))

(ert-deftest neuron-council-test-rpc-timeout-that-is-nonsense ()
  (dolist (value (list 'foo "75" nil 0 -1 0.0 1.0e+INF -1.0e+INF 0.0e+NaN '(75)))
    (neuron-council-test-nonsense 'neuron-council-timeout value "seconds above 0")))

(ert-deftest neuron-council-test-rpc-timeout-that-is-huge ()
  (neuron-council-test-with nil
    (let ((neuron-council-timeout 1e300) (done nil))
      (should (neuron-council-verify "A claim"))
      (neuron-council-verify-async "A claim" nil (lambda (verdict) (setq done verdict)))
      (should-not (plist-get (neuron-council-test-until done) :error)))))

(ert-deftest neuron-council-test-rpc-initialization-options-that-are-nonsense ()
  (let ((circle (list :council 1)))
    (setcdr (cdr circle) circle)
    (pcase-dolist (`(,value . ,words)
                   `((foo . "foo is no property list") (5 . "5 is no") ("text" . "is no property list")
                     (("council") . "is no property list") ((:council) . ":council is no key with a value")
                     ((:council 1 :ollama) . ":ollama is no key") ((:council 1 ollama 2) . "ollama is no key")
                     ((:council foo) . "foo is no text, number or list") ((:council (:deadline_s . 30)) . "is no text")
                     ((:council (1 . 2)) . "is no text") ((:council 0.0e+NaN) . "NaN is no")
                     ((:council 1.0e+INF) . "INF is no") ((:council ,(expt 2 70)) . "is no text, number")
                     ((:council ,(current-buffer)) . "is no text") (,circle . "property list\\|is no text")
                     ((:council ,(make-list 100000 'foo)) . "foo is no text")))
      (neuron-council-test-nonsense 'neuron-council-initialization-options value words))))

(ert-deftest neuron-council-test-rpc-events-buffer-size-that-is-nonsense ()
  (dolist (value '(foo -1 1.5 "0" nil))
    (neuron-council-test-nonsense 'neuron-council-events-buffer-size value "a whole number")))

(ert-deftest neuron-council-test-rpc-configuration-fault-is-no-death ()
  "When the file is mended, the next call must not be told to wait."
  (neuron-council-test-with '(:initialize (:error (:code -32803 :message "council.toml: max_loops: 9 is not 1..3")))
    (dotimes (_ 4)
      (should (string-match-p "\\`the server cannot start: council.toml"
                              (neuron-council-test-text (should-error (neuron-council-verify "A claim"))))))
    (should-not neuron-council-rpc--deaths)))

;;;; Waiting

(ert-deftest neuron-council-test-rpc-slow-answer ()
  (neuron-council-test-with-ready [(:delay 30)]
    (let ((neuron-council-timeout 0.3))
      (should (string-match-p "no answer within 0.3 s"
                              (neuron-council-test-text
                               (should-error (neuron-council-verify "A claim") :type 'neuron-council-error)))))
    (should (equal (neuron-council-test-cancelled) (list (neuron-council-test-token 1))))))

(ert-deftest neuron-council-test-rpc-throw-cancels ()
  (neuron-council-test-with-ready [(:delay 30)]
    (should (eq 'out (with-timeout (0.3 'out) (neuron-council-verify "A claim"))))
    (should (equal (neuron-council-test-cancelled) (list (neuron-council-test-token 1))))
    (should-not neuron-council-rpc-jobs)))

(ert-deftest neuron-council-test-rpc-late-answer-is-dropped ()
  (neuron-council-test-with-ready [(:silent t) nil]
    (let ((neuron-council-timeout 0.3))
      (should-error (neuron-council-verify "A claim")))
    (should (equal (plist-get (neuron-council-verify "Another claim") :claim) "Another claim"))))

(ert-deftest neuron-council-test-rpc-waits-inside-a-timer ()
  (neuron-council-test-with '(:verify [(:delay 0.3) (:delay 0.1)])
    (let ((inner nil))
      (run-at-time 0.1 nil (lambda () (setq inner (neuron-council-verify "Inner"))))
      (should (equal (plist-get (neuron-council-verify "Outer") :claim) "Outer"))
      (should (equal (plist-get (neuron-council-test-until inner) :claim) "Inner")))))

(ert-deftest neuron-council-test-rpc-async-answer-during-a-wait ()
  (neuron-council-test-with '(:verify [nil (:delay 0.6)])
    (let ((answered nil))
      (neuron-council-verify-async "Quick" nil (lambda (_) (setq answered t)))
      (neuron-council-verify "Slow")
      (should answered))))

(ert-deftest neuron-council-test-rpc-answer-that-an-emacs-at-work-has-not-read ()
  "It came in time, so it counts."
  (neuron-council-test-with-ready [(:delay 0.1)]
    (let ((verdict nil))
      (let ((neuron-council-timeout 0.4))
        (neuron-council-verify-async "A claim" nil (lambda (it) (setq verdict it))))
      (let ((end (+ (float-time) 0.8)))
        (while (< (float-time) end)))
      (should-not (plist-get (neuron-council-test-until verdict) :error)))))

(ert-deftest neuron-council-test-rpc-many-outcomes-hold-up-nothing ()
  "Each is delivered by itself, in the order in which they came."
  (neuron-council-test-clean
    (let ((neuron-council-server-command '("/nonexistent/neuron-council" "serve")) (claims nil) (between 0) (tick nil))
      (dotimes (n 20)
        (neuron-council-verify-async (number-to-string n) nil
                                     (lambda (verdict) (push (plist-get verdict :claim) claims))))
      (setq tick (run-at-time 0 0.0001 (lambda () (when (< 0 (length claims) 20) (setq between (1+ between))))))
      (unwind-protect
          (neuron-council-test-until (= 20 (length claims)))
        (cancel-timer tick))
      (should (equal (nreverse claims) (mapcar #'number-to-string (number-sequence 0 19))))
      (should (> between 0)))))

(ert-deftest neuron-council-test-rpc-submit-that-is-left ()
  "A job whose submission is left by a quit or a throw has ended."
  (dolist (leave (list (lambda (&rest _) (signal 'quit nil)) (lambda (&rest _) (throw 'neuron-council-test-out t))))
    (neuron-council-test-with nil
      (let* ((condition nil)
             (job (neuron-council-rpc-make-job :council/list nil "" (lambda (_ it) (setq condition it)))))
        (cl-letf (((symbol-function 'neuron-council-program-command) leave))
          (catch 'neuron-council-test-out
            (condition-case nil (neuron-council-rpc-submit job) (quit nil))))
        (should (neuron-council-rpc-job-done-p job))
        (should (equal (neuron-council-test-until condition) '(neuron-council-cancelled "cancelled")))
        (should-not neuron-council-rpc-jobs)))))

(ert-deftest neuron-council-test-rpc-quit-on-the-way-to-the-server ()
  "Whatever is left with C-g leaves no job, and stores nothing."
  (dolist (where '(neuron-council-program-command neuron-council-rpc--start neuron-council-rpc--write
                   neuron-council-unsent--keep))
    (neuron-council-test-with nil
      (when (eq where 'neuron-council-rpc--write) (neuron-council-verify "Are you there"))
      (let ((conditions nil))
        (cl-letf (((symbol-function where) (lambda (&rest _) (signal 'quit nil))))
          (should (eq 'quit (condition-case nil
                                (neuron-council-unsent-submit "A claim" nil (neuron-council-verify-new-id)
                                                              (lambda (_ condition) (push condition conditions)))
                              (quit 'quit))))
          (should (eq 'quit (condition-case nil (capture-memory-with-council "A claim" nil 'node) (quit 'quit)))))
        (neuron-council-test-until (null neuron-council-rpc-jobs))
        (should (equal (mapcar #'car conditions) '(neuron-council-cancelled)))
        (should-not neuron-council-test-stored)
        (should-not (neuron-council-test-folder "unsent"))
        (should (neuron-council-verify "A claim"))))))

;;;; Odd messages

(ert-deftest neuron-council-test-rpc-surplus-key-ends-in-a-timeout ()
  (dolist (step '((:extra t) (:extra "error" :error (:code -32603 :message "no"))))
    (neuron-council-test-with-ready (vector step nil)
      (let ((neuron-council-timeout 0.4))
        (should-error (neuron-council-verify "A claim") :type 'neuron-council-error))
      (should (neuron-council-verify "Another claim")))))

(ert-deftest neuron-council-test-rpc-message-behind-an-unreadable-one ()
  (neuron-council-test-with
      (list :verify (vector (list :raw "Content-Length: 38\r\n\r\n{\"jsonrpc\":\"2.0\",\"id\":99,\"surplus\":1}  ")))
    (should (neuron-council-verify "A claim"))))

(ert-deftest neuron-council-test-rpc-result-that-is-no-verdict ()
  (dolist (result '("text" 5 [1 2] (:tags ["verified"]) [] (:confidence "high")))
    (neuron-council-test-with (list :verify (vector (list :result result)))
      (should-error (neuron-council-verify "A claim") :type 'neuron-council-error))))

(ert-deftest neuron-council-test-rpc-errors ()
  (neuron-council-test-with '(:verify [(:error (:code -32602 :message "claim: over 8,000 characters"))
                                       (:error (:code -32603 :message "broken"))
                                       (:error (:code -32603))
                                       (:error (:code -32601 :message "Method Not Found: council/verify"))])
    (should (equal (neuron-council-test-text (should-error (neuron-council-verify "A") :type 'neuron-council-refused))
                   "claim: over 8,000 characters"))
    (let ((condition (should-error (neuron-council-verify "A") :type 'neuron-council-error)))
      (should (equal condition '(neuron-council-error "broken"))))
    (should-error (neuron-council-verify "A") :type 'neuron-council-error)
    (should (string-match-p "older than neuron-council.el .*: update it, "
                            (neuron-council-test-text (should-error (neuron-council-verify "A")))))))

(ert-deftest neuron-council-test-rpc-error-with-the-code-of-a-death ()
  "jsonrpc.el says -1 for a death; of a server that lives it is an answer."
  (neuron-council-test-with '(:verify [(:error (:code -1 :message "odd"))])
    (should (equal (should-error (neuron-council-verify "A claim")) '(neuron-council-error "odd"))))
  (neuron-council-test-with '(:initialize (:error (:code -1 :message "odd")))
    (should (string-match-p "cannot start: odd" (neuron-council-test-text
                                                 (should-error (neuron-council-verify "A claim")))))))

(ert-deftest neuron-council-test-rpc-answer-that-cannot-be-read ()
  "One that is nested too deep for Lisp, say, ends its job."
  (neuron-council-test-with-ready [nil]
    (cl-letf (((symbol-function 'neuron-council-rpc--lisp) (lambda (_) (error "Too deep"))))
      (should (equal (should-error (neuron-council-verify "A claim"))
                     '(neuron-council-error "the server's answer cannot be read: Too deep"))))
    (should-not neuron-council-rpc-jobs)))

(ert-deftest neuron-council-test-rpc-progress ()
  (neuron-council-test-with '(:verify [(:notes ["neuron: plausible (1/3)" "dolphin: \u001b[31muncertain (2/3)"] :delay 0.5)])
    (let ((notes nil) (done nil))
      (neuron-council-verify-submit "A claim" nil "id" (lambda (&rest _) (setq done t))
                                    (lambda (job) (push (neuron-council-job-note job) notes)))
      (neuron-council-test-until done)
      (should (equal (car notes) "dolphin: ^[[31muncertain (2/3)")))))

(ert-deftest neuron-council-test-rpc-flood-of-progress ()
  (neuron-council-test-with '(:verify [(:flood 3000)])
    (let ((shown 0))
      (neuron-council-verify-submit "A claim" nil "id" (lambda (&rest _) (setq shown (list shown)))
                                    (lambda (_) (when (numberp shown) (setq shown (1+ shown)))))
      (neuron-council-test-until (listp shown))
      (should (< (car shown) 100)))))

;;;; Stop, leave

(ert-deftest neuron-council-test-rpc-stop-is-polite ()
  (neuron-council-test-with nil
    (neuron-council-verify "A claim")
    (neuron-council-stop)
    (should (equal (mapcar (lambda (message) (plist-get message :method)) (last (neuron-council-test-seen) 2))
                   '("shutdown" "exit")))
    (should-not neuron-council-rpc--deaths)
    (should (neuron-council-verify "A claim"))))

(ert-deftest neuron-council-test-rpc-stop-ends-a-server-that-stays ()
  (neuron-council-test-with '(:shutdown "silent")
    (neuron-council-verify "A claim")
    (let ((process (get-process "neuron-council")))
      (should (< (neuron-council-test-seconds (neuron-council-stop)) 4))
      (should-not (process-live-p process)))))

(ert-deftest neuron-council-test-rpc-stop-without-a-server ()
  (neuron-council-test-clean
    (neuron-council-stop)
    (should-not (get-process "neuron-council"))))

(ert-deftest neuron-council-test-rpc-leaving-emacs-is-quick-and-delivers ()
  (neuron-council-test-with '(:verify [(:delay 30)] :shutdown "silent")
    (let ((errors nil))
      (neuron-council-verify-async "A claim" nil (lambda (verdict) (push (plist-get verdict :error) errors)))
      (neuron-council-test-until (neuron-council-test-seen "council/verify"))
      (should (memq #'neuron-council-rpc--leave kill-emacs-hook))
      (should (< (neuron-council-test-seconds (neuron-council-rpc--leave)) 0.9))
      (should (equal (length errors) 1))
      (neuron-council-test-until (neuron-council-test-seen "exit"))
      (neuron-council-test-until (not (memq t (mapcar (lambda (timer) (eq (timer--function timer)
                                                                           #'neuron-council-rpc-deliver))
                                                      timer-list))))
      (should (equal (length errors) 1)))))

(ert-deftest neuron-council-test-rpc-leaving-emacs-without-a-server ()
  "An Emacs that is left before the callback could run calls it."
  (neuron-council-test-clean
    (dolist (claim '("A claim" 5))
      (let ((out (make-temp-file "neuron-council-test-")))
        (unwind-protect
            (progn
              (call-process
               (expand-file-name invocation-name invocation-directory) nil nil nil "-Q" "--batch"
               "-L" (file-name-directory (locate-library "neuron-council")) "--eval"
               (prin1-to-string
                `(progn
                   (require 'neuron-council)
                   (setq neuron-council-server-command '("/nonexistent/neuron-council" "serve"))
                   (neuron-council-verify-async ,claim nil
                                                (lambda (verdict)
                                                  (write-region (plist-get verdict :error) nil ,out t))))))
              (with-temp-buffer
                (insert-file-contents out)
                (should (string-match-p "/nonexistent/\\|not a string" (buffer-string)))))
          (delete-file out))))))

(ert-deftest neuron-council-test-rpc-leaving-emacs-while-the-server-does-not-read ()
  (neuron-council-test-with-ready [nil]
    (signal-process (get-process "neuron-council") 'SIGSTOP)
    (cl-letf (((symbol-function 'jsonrpc-notify)
               (lambda (&rest _) (process-send-string (get-process "neuron-council") (make-string 200000 ?x)))))
      (should (< (neuron-council-test-seconds (neuron-council-rpc--leave)) 2)))
    (neuron-council-rpc--finish neuron-council-rpc--server '(neuron-council-error "over"))))

;;;; State

(ert-deftest neuron-council-test-rpc-status ()
  (neuron-council-test-with '(:initialize (:delay 0.2) :verify [nil (:exit 3)])
    (should (equal (neuron-council-rpc-status) '(:waiting 0 :deaths nil)))
    (should-not (get-process "neuron-council"))
    (neuron-council-verify-async "A claim" nil #'ignore)
    (should (equal (plist-get (neuron-council-rpc-status) :state) 'starting))
    (should (equal (plist-get (neuron-council-rpc-status) :waiting) 1))
    (neuron-council-test-until (null neuron-council-rpc-jobs))
    (let ((status (neuron-council-rpc-status)))
      (should (equal (plist-get status :state) 'ready))
      (should (equal (plist-get status :pid) (process-id (get-process "neuron-council"))))
      (should (equal (plist-get status :command) neuron-council-server-command))
      (should (equal (plist-get status :home) neuron-council-test-home))
      (should (equal (list (plist-get status :version) (plist-get status :protocol)) '("0.1.0" 1))))
    (should-error (neuron-council-verify "A claim"))
    (let ((status (neuron-council-rpc-status)))
      (should-not (plist-get status :state))
      (should (equal (plist-get (plist-get status :deaths) :count) 1))
      (should (string-match-p "exit status 3" (plist-get (plist-get status :deaths) :reason))))
    (neuron-council-rpc-forget-deaths)
    (should (equal (neuron-council-rpc-status) '(:waiting 0 :deaths nil)))))

(ert-deftest neuron-council-test-rpc-retire ()
  (neuron-council-test-with '(:verify [nil (:delay 0.3) nil])
    (should-not (neuron-council-rpc-retire "upgraded"))
    (neuron-council-verify "A claim")
    (let ((process (get-process "neuron-council")) (done nil))
      (neuron-council-verify-async "A claim" nil (lambda (_) (setq done t)))
      (should-not (neuron-council-rpc-retire "upgraded"))
      (neuron-council-test-until (and done (null neuron-council-rpc-jobs)))
      (should (< (neuron-council-test-seconds (should (neuron-council-rpc-retire "upgraded"))) 0.2))
      (should-not (neuron-council-rpc-ready-p))
      ;; The one that leaves is in nobody's way.
      (should (neuron-council-verify "A claim"))
      (neuron-council-test-until (not (process-live-p process)))
      (should (neuron-council-verify "A claim"))
      (should (= 2 (length (neuron-council-test-seen "initialize"))))
      (should-not neuron-council-rpc--deaths))))

(ert-deftest neuron-council-test-rpc-stop-says-what-it-did ()
  (neuron-council-test-with nil
    (let ((noninteractive nil) (neuron-council-show-progress nil))
      (should (equal (neuron-council-test-messages (neuron-council-stop)) '("No server of the council was running")))
      (neuron-council-verify "A claim")
      (should (equal (car (last (neuron-council-test-messages (neuron-council-stop))))
                     (format-message "The council's server is stopped"))))))

(ert-deftest neuron-council-test-rpc-log-is-a-buffer-like-others ()
  (neuron-council-test-clean
    (neuron-council-log "A line")
    (with-current-buffer (neuron-council-log-buffer)
      (should (derived-mode-p 'special-mode))
      (goto-char (point-min))
      (revert-buffer)
      (should (eobp))
      ;; Whoever reads the end sees what comes, whoever reads elsewhere stays.
      (neuron-council-log "Another line")
      (should (eobp))
      (goto-char (point-min))
      (neuron-council-log-insert (make-string 300000 ?x))
      (should (= (point) (point-min)))
      (should (<= (buffer-size) 200000)))))

(ert-deftest neuron-council-test-rpc-log-holds-no-claim ()
  (neuron-council-test-with '(:verify [nil (:error (:code -32603 :message "broken"))])
    (neuron-council-verify "A secret claim" "A secret context")
    (should-error (neuron-council-verify "A secret claim"))
    (dolist (buffer (buffer-list))
      (when (string-match-p "neuron-council" (buffer-name buffer))
        (with-current-buffer buffer
          (should-not (string-match-p "secret" (buffer-string))))))))

;;; rpc-test.el ends here
