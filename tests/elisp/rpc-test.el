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
                                       (:error (:code -32603))])
    (should (equal (neuron-council-test-text (should-error (neuron-council-verify "A") :type 'neuron-council-refused))
                   "claim: over 8,000 characters"))
    (let ((condition (should-error (neuron-council-verify "A") :type 'neuron-council-error)))
      (should (equal condition '(neuron-council-error "broken"))))
    (should-error (neuron-council-verify "A") :type 'neuron-council-error)))

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

(ert-deftest neuron-council-test-rpc-log-holds-no-claim ()
  (neuron-council-test-with '(:verify [nil (:error (:code -32603 :message "broken"))])
    (neuron-council-verify "A secret claim" "A secret context")
    (should-error (neuron-council-verify "A secret claim"))
    (dolist (buffer (buffer-list))
      (when (string-match-p "neuron-council" (buffer-name buffer))
        (with-current-buffer buffer
          (should-not (string-match-p "secret" (buffer-string))))))))

;;; rpc-test.el ends here
