;;; process-test.el --- Tests of the server's process, from start to end  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Code:

(require 'helper)

;;;; Start

(ert-deftest neuron-council-test-process-initialize ()
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

(ert-deftest neuron-council-test-process-empty-objects-are-objects ()
  (neuron-council-test-with nil
    (neuron-council-verify "A claim")
    (with-temp-buffer
      (insert-file-contents neuron-council-test-log)
      (should (search-forward "\"method\": \"initialized\", \"params\": {}" nil t)))))

(ert-deftest neuron-council-test-process-one-server-for-many-requests ()
  (neuron-council-test-with nil
    (dotimes (_ 3) (neuron-council-verify "A claim"))
    (should (= 1 (length (neuron-council-test-seen "initialize"))))
    (should (= 3 (length (neuron-council-test-seen "council/verify"))))))

(ert-deftest neuron-council-test-process-requests-queue-until-initialize-is-answered ()
  (neuron-council-test-with nil
    (let ((answers nil))
      (dotimes (n 5)
        (neuron-council-verify-async (format "Claim %d" n) nil
                                     (lambda (verdict) (push (plist-get verdict :claim) answers))))
      (should (eq 'starting (neuron-council-process-server-state neuron-council-process--server)))
      (should-not answers)
      (neuron-council-test-until (= 5 (length answers)))
      (should (equal (mapcar (lambda (message) (plist-get (plist-get message :params) :claim))
                             (neuron-council-test-seen "council/verify"))
                     '("Claim 0" "Claim 1" "Claim 2" "Claim 3" "Claim 4"))))))

(ert-deftest neuron-council-test-process-child-environment ()
  (neuron-council-test-clean
    (let* ((process-environment (cons "NEURON_HOME=/somewhere" process-environment))
           (neuron-council-server-command
            (list (executable-find "sh") "-c" "echo \"$NEURON_HOME $PYTHONUTF8 $PYTHONUNBUFFERED\" >&2; exit 3")))
      (should (string-match-p "exit status 3.*/somewhere 1 1"
                              (neuron-council-test-text
                               (should-error (neuron-council-verify "A claim") :type 'neuron-council-error)))))))

(ert-deftest neuron-council-test-process-starts-from-a-folder-that-is-gone ()
  (neuron-council-test-with nil
    (let ((default-directory (file-name-as-directory (make-temp-file "gone" t))))
      (delete-directory default-directory)
      (should (neuron-council-verify "A claim")))))

(ert-deftest neuron-council-test-process-starts-from-a-remote-folder ()
  (neuron-council-test-with nil
    (let ((default-directory "/ssh:nowhere.invalid:/tmp/"))
      (should (neuron-council-verify "A claim")))))

(ert-deftest neuron-council-test-process-works-under-odd-codings ()
  (neuron-council-test-with nil
    (let ((coding-system-for-read 'iso-latin-1)
          (coding-system-for-write 'iso-latin-1))
      (should (equal (plist-get (neuron-council-verify "東京 is a city, né 😀") :claim) "東京 is a city, né 😀")))))

;;;; Handshake

(ert-deftest neuron-council-test-process-wrong-protocol ()
  (neuron-council-test-with '(:initialize (:result (:capabilities (:experimental (:neuronCouncil (:protocol 2)))
                                                    :serverInfo (:name "neuron-council" :version "9.9"))))
    (let ((text (neuron-council-test-text (should-error (neuron-council-verify "A claim") :type 'neuron-council-error))))
      (should (string-match-p "9\\.9.*protocol 2" text))
      (should (string-match-p "neuron-council.el 0\\.1\\.0 speaks 1" text))
      (should (string-match-p "update the server" text)))
    (should-not (get-process "neuron-council"))))

(ert-deftest neuron-council-test-process-another-program ()
  (neuron-council-test-with '(:initialize (:result (:capabilities (:hoverProvider t))))
    (should-error (neuron-council-verify "A claim") :type 'neuron-council-error)))

(ert-deftest neuron-council-test-process-configuration-fault ()
  (neuron-council-test-with '(:initialize (:error (:code -32803 :message "council.toml: max_loops: 9 is not 1..3")))
    (should (string-match-p "max_loops: 9"
                            (neuron-council-test-text
                             (should-error (neuron-council-verify "A claim") :type 'neuron-council-error))))
    (should-not (get-process "neuron-council"))))

(ert-deftest neuron-council-test-process-initialize-is-never-answered ()
  (neuron-council-test-with '(:initialize "silent")
    (let ((neuron-council-timeout 0.1))
      (should (string-match-p "did not get ready within 0.1 s"
                              (neuron-council-test-text
                               (should-error (neuron-council-verify "A claim") :type 'neuron-council-error)))))
    (neuron-council-process--start-timed-out neuron-council-process--server)
    (should-not (get-process "neuron-council"))))

;;;; Death

(ert-deftest neuron-council-test-process-dead-at-start ()
  (neuron-council-test-with '(:start (:stderr "Traceback\nModuleNotFoundError: nothing here\n" :exit 7))
    (let ((text nil))
      (should (< (neuron-council-test-seconds
                   (setq text (neuron-council-test-text
                               (should-error (neuron-council-verify "A claim") :type 'neuron-council-error))))
                 neuron-council-test-never))
      (should (string-match-p "exit status 7" text))
      (should (string-match-p "ModuleNotFoundError: nothing here" text))
      (with-current-buffer (neuron-council-log-buffer)
        (should (string-match-p "Traceback" (buffer-string)))))))

(ert-deftest neuron-council-test-process-program-that-cannot-run ()
  "A script whose interpreter is gone is found, but does not run."
  (neuron-council-test-clean
    (let ((script (make-temp-file "neuron-council-test-" nil nil "#!/nonexistent/interpreter\n")))
      (unwind-protect
          (let ((neuron-council-server-command (list script)))
            (set-file-modes script #o755)
            (should-error (neuron-council-verify "A claim") :type 'neuron-council-error))
        (delete-file script)))))

(ert-deftest neuron-council-test-process-program-that-ends-at-once ()
  (neuron-council-test-clean
    (dolist (name '("true" "false"))
      (setq neuron-council-process--deaths nil)
      (let ((neuron-council-server-command (list (executable-find name))))
        (should-error (neuron-council-verify "A claim") :type 'neuron-council-error)))))

(ert-deftest neuron-council-test-process-death-during-a-request ()
  (neuron-council-test-with '(:verify [(:exit 5 :stderr "out of memory\n")])
    (let ((text nil))
      (should (< (neuron-council-test-seconds
                   (setq text (neuron-council-test-text
                               (should-error (neuron-council-verify "A claim") :type 'neuron-council-error))))
                 neuron-council-test-never))
      (should (string-match-p "died (exit status 5): out of memory" text))
      ;; It is not sent again.
      (should (= 1 (length (neuron-council-test-seen "council/verify")))))))

(ert-deftest neuron-council-test-process-death-ends-every-job ()
  (neuron-council-test-with '(:verify [(:delay 3600) (:delay 3600) (:exit 1)])
    (let ((errors nil))
      (dotimes (_ 3)
        (neuron-council-verify-async "A claim" nil (lambda (verdict) (push (plist-get verdict :error) errors))))
      (neuron-council-test-until (= 3 (length errors)))
      (dolist (text errors) (should (string-match-p "died" text)))
      (should-not neuron-council-rpc-jobs))))

(ert-deftest neuron-council-test-process-starts-again-after-a-death ()
  (neuron-council-test-with nil
    (dotimes (n 4)
      (should (neuron-council-verify "A claim"))
      (should (= (1+ n) (length (neuron-council-test-seen "initialize"))))
      (signal-process (get-process "neuron-council") 'SIGKILL)
      (neuron-council-test-until (not (process-live-p (get-process "neuron-council")))))))

(ert-deftest neuron-council-test-process-next-start-uses-the-command-set-then ()
  (neuron-council-test-with '(:start (:exit 1))
    (should-error (neuron-council-verify "A claim"))
    (should-error (neuron-council-verify "A claim"))
    (let ((neuron-council-server-command (neuron-council-test-command nil)))
      (should (neuron-council-verify "A claim")))))

(ert-deftest neuron-council-test-process-back-off ()
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

(ert-deftest neuron-council-test-process-long-life-ends-the-row ()
  (neuron-council-test-with '(:verify [(:exit 1)])
    (dotimes (_ 4)
      (let ((now (float-time)))
        (should (neuron-council-process-ensure))
        (setf (neuron-council-process-server-started neuron-council-process--server) (- now 61))
        (should (string-match-p "died" (neuron-council-test-text (should-error (neuron-council-verify "A claim")))))))))

(ert-deftest neuron-council-test-process-killed-process-buffer-is-a-death ()
  (neuron-council-test-with nil
    (should (neuron-council-verify "A claim"))
    (kill-buffer (process-buffer (get-process "neuron-council")))
    (should (neuron-council-verify "A claim"))
    (should (= 2 (length (neuron-council-test-seen "initialize"))))))

(ert-deftest neuron-council-test-process-killed-log-does-no-harm ()
  (neuron-council-test-with '(:verify [(:stderr "line\n" :stderr_size 300000)])
    (should (neuron-council-verify "A claim"))
    (dolist (buffer (buffer-list))
      (when (string-match-p "neuron-council \\(log\\|events\\)" (buffer-name buffer))
        (kill-buffer buffer)))
    (should (neuron-council-verify "A claim"))
    (should (= 1 (length (neuron-council-test-seen "initialize"))))))

(ert-deftest neuron-council-test-process-stderr-is-bounded ()
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

(ert-deftest neuron-council-test-process-death-that-a-write-finds-out ()
  "It is the death of the server, wherever it happens, and no other error."
  (require 'jsonrpc)
  (dolist (method '(:initialize :initialized :council/verify :window/workDoneProgress/cancel))
    (neuron-council-test-with '(:verify [(:delay 3600)])
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

(ert-deftest neuron-council-test-process-death-with-a-child-that-lives ()
  "A child of the server may keep its stderr open; that delays nothing."
  (neuron-council-test-clean
    (let ((neuron-council-server-command
           (list (executable-find "sh") "-c" "sleep 3600 >/dev/null </dev/null & echo $! reasons >&2; exit 3"))
          (text nil))
      (should (< (neuron-council-test-seconds
                   (setq text (neuron-council-test-text
                               (should-error (neuron-council-verify "A claim") :type 'neuron-council-error))))
                 neuron-council-test-never))
      (should (string-match "exit status 3.*: \\([0-9]+\\) reasons" text))
      (signal-process (string-to-number (match-string 1 text)) 'SIGKILL))))

(defun neuron-council-test-deafen ()
  "Let the server stop at the next message: it waits to write that to its log."
  (delete-file neuron-council-test-log)
  (call-process "mkfifo" nil nil nil neuron-council-test-log))

(ert-deftest neuron-council-test-process-server-that-does-not-read ()
  "A full pipe holds up nobody for long, and ends the server."
  (neuron-council-test-with-ready [nil]
    (let ((process (get-process "neuron-council")) (errors nil))
      (neuron-council-test-deafen)
      (let ((neuron-council-process--write-limit 0.1))
        (dotimes (_ 6)
          (should (< (neuron-council-test-seconds
                       (neuron-council-verify-async (make-string 8000 ?x) (make-string 24000 ?x)
                                                    (lambda (verdict) (push (plist-get verdict :error) errors))))
                     neuron-council-test-never))))
      (delete-file neuron-council-test-log)
      (write-region "" nil neuron-council-test-log nil 'quiet)
      (should-not (process-live-p process))
      (neuron-council-test-until errors)
      (should (cl-some (lambda (text) (and text (string-match-p "does not read" text))) errors))
      (should (neuron-council-verify "A claim")))))

(ert-deftest neuron-council-test-process-server-that-is-stopped ()
  "It is left; the next call has another."
  (neuron-council-test-with-ready [nil]
    (let ((process (get-process "neuron-council")))
      (signal-process process 'SIGSTOP)
      (neuron-council-test-until (eq 'stop (process-status process)))
      (should (neuron-council-verify "A claim"))
      (should-not (process-live-p process))
      (should (= 2 (length (neuron-council-test-seen "initialize")))))))

(ert-deftest neuron-council-test-process-server-that-is-not-heard-any-more ()
  "Stray text on stdout makes jsonrpc.el deaf; then there is another server."
  (neuron-council-test-with-ready (vector (list :raw (make-string 200 ?x)) nil)
    (let ((conditions nil))
      (cl-flet ((submit () (neuron-council-verify-submit "A claim" nil (neuron-council-verify-new-id)
                                                         (lambda (_ condition) (push condition conditions)))))
        (let ((job (submit)))
          (neuron-council-test-until (with-current-buffer (process-buffer (get-process "neuron-council"))
                                       (> (buffer-size) 200)))
          (neuron-council-rpc--timed-out job))
        ;; The server was heard to begin, so it may be slow.
        (should (neuron-council-process-ready-p))
        (let ((job (submit)))
          (neuron-council-test-until (= 3 (length (neuron-council-test-seen "council/verify"))))
          (should-not (neuron-council-rpc-job-done-p job))
          (neuron-council-rpc--timed-out job))
        (should-not (neuron-council-process-ready-p))
        (neuron-council-test-until (= 2 (length conditions)))))
    (should (neuron-council-verify "A claim"))
    (should (= 2 (length (neuron-council-test-seen "initialize"))))))

;;;; Options that are nonsense

(defun neuron-council-test-nonsense (option values)
  "Fail unless each of VALUES of OPTION is one clear error that names it.
VALUES is an alist from them to a regular expression of what it says.  It
must be at once, count as no death, and cost no memory."
  (neuron-council-test-with nil
    (pcase-dolist (`(,value . ,words) values)
      (cl-progv (list option) (list value)
        (dotimes (_ 3)
          (let ((text (neuron-council-test-text (should-error (neuron-council-verify "A claim")
                                                              :type 'neuron-council-error))))
            (should (string-match-p (format "`%s'" option) text))
            (should (string-match-p words text))
            (should (< (length text) 300))))
        (should-not neuron-council-process--deaths)
        (should-not neuron-council-rpc-jobs)
        (should-not (get-process "neuron-council"))
        (dolist (capture '(capture-memory-with-council capture-memory-with-council-async))
          (setq neuron-council-test-stored nil)
          (should (cl-some (lambda (text) (string-match-p (format "`%s'.*the memory is stored" option) text))
                           (neuron-council-test-messages
                             (funcall capture "A claim" nil 'node)
                             (neuron-council-test-until neuron-council-test-stored)
                             (neuron-council-test-until (null neuron-council-rpc-jobs)))))
          (should (equal (plist-get (cdar neuron-council-test-stored) :council-tags) '("council-unavailable"))))))
    ;; The next call needs no cure but the option's.
    (should (neuron-council-verify "A claim"))))

(ert-deftest neuron-council-test-process-timeout-that-is-nonsense ()
  (neuron-council-test-nonsense
   'neuron-council-timeout
   (mapcar (lambda (value) (cons value "seconds above 0"))
           (list 'foo "75" nil 0 -1 0.0 1.0e+INF -1.0e+INF 0.0e+NaN '(75)))))

(ert-deftest neuron-council-test-process-timeout-that-is-huge ()
  (neuron-council-test-with nil
    (let ((neuron-council-timeout 1e300) (done nil))
      (should (neuron-council-verify "A claim"))
      (neuron-council-verify-async "A claim" nil (lambda (verdict) (setq done verdict)))
      (should-not (plist-get (neuron-council-test-until done) :error)))))

(ert-deftest neuron-council-test-process-initialization-options-that-are-nonsense ()
  (let ((circle (list :council 1)))
    (setcdr (cdr circle) circle)
    (neuron-council-test-nonsense
     'neuron-council-initialization-options
     `((foo . "foo is no property list") (5 . "5 is no") ("text" . "is no property list")
       (("council") . "is no property list") ((:council) . ":council is no key with a value")
       ((:council 1 :ollama) . ":ollama is no key") ((:council 1 ollama 2) . "ollama is no key")
       ((:council foo) . "foo is no text, number or list") ((:council (:deadline_s . 30)) . "is no text")
       ((:council (1 . 2)) . "is no text") ((:council 0.0e+NaN) . "NaN is no")
       ((:council 1.0e+INF) . "INF is no") ((:council ,(expt 2 70)) . "is no text, number")
       ((:council ,(current-buffer)) . "is no text") (,circle . "property list\\|is no text")
       ((:council ,(make-list 100000 'foo)) . "foo is no text")))))

(ert-deftest neuron-council-test-process-events-buffer-size-that-is-nonsense ()
  (neuron-council-test-nonsense 'neuron-council-events-buffer-size
                                (mapcar (lambda (value) (cons value "a whole number")) '(foo -1 1.5 "0" nil))))

(ert-deftest neuron-council-test-process-configuration-fault-is-no-death ()
  "When the file is mended, the next call must not be told to wait."
  (neuron-council-test-with '(:initialize (:error (:code -32803 :message "council.toml: max_loops: 9 is not 1..3")))
    (dotimes (_ 4)
      (should (string-match-p "\\`the server cannot start: council.toml"
                              (neuron-council-test-text (should-error (neuron-council-verify "A claim"))))))
    (should-not neuron-council-process--deaths)))

;;;; Stop, leave

(ert-deftest neuron-council-test-process-stop-is-polite ()
  (neuron-council-test-with nil
    (neuron-council-verify "A claim")
    (neuron-council-stop)
    (should (equal (mapcar (lambda (message) (plist-get message :method)) (last (neuron-council-test-seen) 2))
                   '("shutdown" "exit")))
    (should-not neuron-council-process--deaths)
    (should (neuron-council-verify "A claim"))))

(ert-deftest neuron-council-test-process-stop-ends-a-server-that-stays ()
  (neuron-council-test-with '(:shutdown "silent")
    (neuron-council-verify "A claim")
    (let ((process (get-process "neuron-council"))
          (neuron-council-process--leave-limit 0.1))
      (should (< (neuron-council-test-seconds (neuron-council-stop)) neuron-council-test-never))
      (should-not (process-live-p process)))))

(ert-deftest neuron-council-test-process-stop-starts-no-other ()
  "What asks for more when its answer comes in the midst of the stop gets none."
  (neuron-council-test-with nil
    (let* ((errors nil)
           (ask (lambda (&rest _)
                  (neuron-council-verify-async "More" nil (lambda (verdict)
                                                            (push (plist-get verdict :error) errors))))))
      (neuron-council-verify "A claim")
      (advice-add 'neuron-council-process-wait :before ask)
      (unwind-protect
          (neuron-council-stop)
        (advice-remove 'neuron-council-process-wait ask))
      (neuron-council-test-until (and errors (null neuron-council-rpc-jobs)))
      (should (equal (delete-dups errors) '("the server was stopped")))
      (should-not (get-process "neuron-council"))
      (should (= 1 (length (neuron-council-test-seen "initialize")))))))

(ert-deftest neuron-council-test-process-stop-without-a-server ()
  (neuron-council-test-clean
    (neuron-council-stop)
    (should-not (get-process "neuron-council"))))

(ert-deftest neuron-council-test-process-leaving-emacs-is-quick-and-delivers ()
  (neuron-council-test-with '(:verify [(:delay 3600)] :shutdown "silent")
    (let ((errors nil))
      (neuron-council-verify-async "A claim" nil (lambda (verdict) (push (plist-get verdict :error) errors)))
      (neuron-council-test-until (neuron-council-test-seen "council/verify"))
      ;; First the requests end, then the server is told.
      (should (memq #'neuron-council-process--leave (memq #'neuron-council-rpc--leave kill-emacs-hook)))
      (should (< (neuron-council-test-seconds (neuron-council-rpc--leave) (neuron-council-process--leave))
                 neuron-council-test-never))
      (should (equal (length errors) 1))
      (neuron-council-test-until (neuron-council-test-seen "exit"))
      (neuron-council-test-until (null neuron-council-rpc--deliver-timer))
      (should (equal (length errors) 1))
      (neuron-council-process--finish neuron-council-process--server '(neuron-council-error "over")))))

(ert-deftest neuron-council-test-process-leaving-emacs-without-a-server ()
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

(ert-deftest neuron-council-test-process-leaving-emacs-while-the-server-does-not-read ()
  (neuron-council-test-with-ready [nil]
    (let ((process (get-process "neuron-council")) (left nil)
          (neuron-council-process--write-limit 0.1))
      (neuron-council-test-deafen)
      (neuron-council-rpc-submit (neuron-council-rpc-make-job :council/health nil "" #'ignore))
      (cl-letf (((symbol-function 'jsonrpc-notify)
                 (lambda (&rest _)
                   ;; More than a pipe holds, and what is waiting there.
                   (process-send-string process (make-string 400000 ?x))
                   (setq left t))))
        (should (< (neuron-council-test-seconds (neuron-council-process--leave)) neuron-council-test-never)))
      (should-not left))
    (neuron-council-process--finish neuron-council-process--server '(neuron-council-error "over"))))

;;;; State

(ert-deftest neuron-council-test-process-status ()
  (neuron-council-test-with '(:verify [nil (:exit 3)])
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
    (neuron-council-process-forget-deaths)
    (should (equal (neuron-council-rpc-status) '(:waiting 0 :deaths nil)))))

(ert-deftest neuron-council-test-process-retire ()
  (neuron-council-test-with '(:verify [nil nil nil])
    (should-not (neuron-council-rpc-retire "upgraded"))
    (neuron-council-verify "A claim")
    (let ((process (get-process "neuron-council")) (done nil))
      (neuron-council-verify-async "A claim" nil (lambda (_) (setq done t)))
      (should-not (neuron-council-rpc-retire "upgraded"))
      (neuron-council-test-until (and done (null neuron-council-rpc-jobs)))
      (should (neuron-council-rpc-retire "upgraded"))
      (should-not (neuron-council-process-ready-p))
      ;; The one that leaves is in nobody's way.
      (should (neuron-council-verify "A claim"))
      (neuron-council-test-until (not (process-live-p process)))
      (should (neuron-council-verify "A claim"))
      (should (= 2 (length (neuron-council-test-seen "initialize"))))
      (should-not neuron-council-process--deaths))))

(ert-deftest neuron-council-test-process-stop-says-what-it-did ()
  (neuron-council-test-with nil
    (let ((noninteractive nil) (neuron-council-show-progress nil))
      (should (equal (neuron-council-test-messages (neuron-council-stop)) '("No server of the council was running")))
      (neuron-council-verify "A claim")
      (should (equal (car (last (neuron-council-test-messages (neuron-council-stop))))
                     (format-message "The council's server is stopped"))))))

(ert-deftest neuron-council-test-process-log-is-a-buffer-like-others ()
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

(ert-deftest neuron-council-test-process-log-holds-no-claim ()
  (neuron-council-test-with '(:verify [nil (:error (:code -32603 :message "broken"))])
    (neuron-council-verify "A secret claim" "A secret context")
    (should-error (neuron-council-verify "A secret claim"))
    (dolist (buffer (buffer-list))
      (when (string-match-p "neuron-council" (buffer-name buffer))
        (with-current-buffer buffer
          (should-not (string-match-p "secret" (buffer-string))))))))

;;; process-test.el ends here
