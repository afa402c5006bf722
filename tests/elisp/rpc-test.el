;;; rpc-test.el --- Tests of requests and their answers  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Code:

(require 'helper)

;;;; Waiting

(ert-deftest neuron-council-test-rpc-slow-answer ()
  (neuron-council-test-with-ready [(:delay 3600)]
    (let ((neuron-council-timeout 0.1))
      (should (string-match-p "no answer within 0.1 s"
                              (neuron-council-test-text
                               (should-error (neuron-council-verify "A claim") :type 'neuron-council-error)))))
    (should (equal (neuron-council-test-cancelled) (list (neuron-council-test-token 1))))))

(ert-deftest neuron-council-test-rpc-throw-cancels ()
  (neuron-council-test-with-ready [(:delay 3600)]
    (should (eq 'out (with-timeout (0.1 'out) (neuron-council-verify "A claim"))))
    (should (equal (neuron-council-test-cancelled) (list (neuron-council-test-token 1))))
    (should-not neuron-council-rpc-jobs)))

(ert-deftest neuron-council-test-rpc-late-answer-is-dropped ()
  "A server that is told to stop answers that, when nobody waits any more."
  (neuron-council-test-with-ready [(:delay 3600) nil]
    (let ((neuron-council-timeout 2))
      (should-error (neuron-council-verify "A claim")))
    (should (equal (plist-get (neuron-council-verify "Another claim") :claim) "Another claim"))
    (neuron-council-test-until (with-current-buffer (neuron-council-log-buffer)
                                 (string-match-p "was answered too late" (buffer-string))))))

(ert-deftest neuron-council-test-rpc-waits-inside-a-timer ()
  (neuron-council-test-with-gate gate
    (neuron-council-test-with `(:verify [(:gate ,gate) nil])
      (let ((inner nil))
        (run-at-time 0 nil (lambda ()
                             (setq inner (neuron-council-verify "Inner"))
                             (neuron-council-test-pass gate)))
        (should (equal (plist-get (neuron-council-verify "Outer") :claim) "Outer"))
        (should (equal (plist-get inner :claim) "Inner"))))))

(ert-deftest neuron-council-test-rpc-async-answer-during-a-wait ()
  (neuron-council-test-with-gate gate
    (neuron-council-test-with `(:verify [nil (:gate ,gate)])
      (neuron-council-verify-async "Quick" nil (lambda (_) (neuron-council-test-pass gate)))
      (should (neuron-council-verify "Slow")))))

(ert-deftest neuron-council-test-rpc-answer-that-an-emacs-at-work-has-not-read ()
  "It came in time, so it counts."
  (let ((answered (make-temp-name (expand-file-name "neuron-council-test-" temporary-file-directory))))
    (unwind-protect
        (neuron-council-test-with-ready (vector (list :answered answered))
          (let ((verdict nil) (due (+ (float-time) 0.1)))
            (let ((neuron-council-timeout 0.1))
              (neuron-council-verify-async "A claim" nil (lambda (it) (setq verdict it))))
            ;; Nothing is read and no timer runs here.
            (while (or (< (float-time) due) (not (file-exists-p answered))))
            (should-not (plist-get (neuron-council-test-until verdict) :error))))
      (ignore-errors (delete-file answered)))))

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
  (dolist (where '(neuron-council-program-command neuron-council-process--start neuron-council-process-write
                   neuron-council-unsent--keep))
    (neuron-council-test-with nil
      (when (eq where 'neuron-council-process-write) (neuron-council-verify "Are you there"))
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
      (let ((neuron-council-timeout 0.1))
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
  (neuron-council-test-with-gate gate
    (neuron-council-test-with
        `(:verify [(:notes ["neuron: plausible (1/3)" "dolphin: \u001b[31muncertain (2/3)"] :gate ,gate)])
      (neuron-council-test-pass gate 2)
      (let ((note nil) (done nil))
        (neuron-council-verify-submit "A claim" nil "id" (lambda (&rest _) (setq done t))
                                      (lambda (job) (setq note (neuron-council-job-note job))))
        (neuron-council-test-until (equal note "dolphin: ^[[31muncertain (2/3)"))
        (neuron-council-test-pass gate)
        (neuron-council-test-until done)))))

(ert-deftest neuron-council-test-rpc-flood-of-progress ()
  "What is shown depends on the time that passes, not on what comes in."
  (neuron-council-test-with '(:verify [(:flood 1000)])
    (let ((shown 0) (done nil) (seconds nil))
      (setq seconds (neuron-council-test-seconds
                      (neuron-council-verify-submit "A claim" nil "id" (lambda (&rest _) (setq done t))
                                                    (lambda (_) (setq shown (1+ shown))))
                      (neuron-council-test-until done)))
      (should (<= shown (+ 1 (/ seconds neuron-council-rpc--display-pause)))))))

;;; rpc-test.el ends here
