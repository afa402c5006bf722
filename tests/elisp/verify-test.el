;;; verify-test.el --- Tests of verifying a claim  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Code:

(require 'helper)

(ert-deftest neuron-council-test-verify-returns-a-plist ()
  (neuron-council-test-with '(:verify [(:verdict (:warnings ["mend this"] :cached :json-false))])
    (let ((verdict (council-verify "A claim" "A context")))
      (should (equal (plist-get verdict :confidence) 0.85))
      (should (equal (plist-get verdict :tags) '("verified")))
      (should (equal (plist-get verdict :council_votes) '("plausible" "plausible" "plausible")))
      (should (equal (plist-get verdict :warnings) '("mend this")))
      (should (plist-member verdict :cached))
      (should-not (plist-get verdict :cached))
      (let ((vote (car (plist-get verdict :votes))))
        (should (equal (plist-get vote :member) "neuron"))
        (should (plist-member vote :failure))
        (should-not (plist-get vote :failure))
        (should (plist-member (plist-get vote :axes) :grounded)))
      (let ((report (plist-get verdict :report)))
        (should (equal (plist-get report :dissent) nil))
        (should (eq t (plist-get (car (plist-get (car (plist-get report :lenses)) :findings)) :proven)))))))

(ert-deftest neuron-council-test-verify-sends-the-request ()
  (neuron-council-test-with nil
    (neuron-council-verify "A claim" "A context")
    (neuron-council-verify "A claim")
    (let ((params (mapcar (lambda (message) (plist-get message :params))
                          (neuron-council-test-seen "council/verify"))))
      (should (equal (plist-get (car params) :claim) "A claim"))
      (should (equal (plist-get (car params) :context) "A context"))
      (should-not (plist-member (cadr params) :context))
      (should-not (equal (plist-get (car params) :workDoneToken) (plist-get (cadr params) :workDoneToken)))
      (dolist (each params)
        (should (string-match-p
                 "\\`[0-9a-f]\\{8\\}-[0-9a-f]\\{4\\}-4[0-9a-f]\\{3\\}-[89ab][0-9a-f]\\{3\\}-[0-9a-f]\\{12\\}\\'"
                 (plist-get each :id)))))))

(ert-deftest neuron-council-test-verify-ids-differ-even-when-random-is-seeded ()
  (let ((ids nil))
    (dotimes (_ 200)
      (random "the same seed")
      (push (neuron-council-verify-new-id) ids))
    (should (= 200 (length (delete-dups ids))))
    (random t)))

(ert-deftest neuron-council-test-verify-cleans-texts ()
  (neuron-council-test-with nil
    (let ((verdict (neuron-council-verify (propertize "né\0\x3fffff 東" 'face 'bold)
                                          (encode-coding-string "東京 \xff" 'utf-8))))
      (should (equal (plist-get verdict :claim) "né\ufffd\ufffd 東")))
    (neuron-council-verify (encode-coding-string "né 😀" 'utf-8))
    (neuron-council-verify "\xe9 raw")
    (let ((params (mapcar (lambda (message) (plist-get message :params))
                          (neuron-council-test-seen "council/verify"))))
      (should (string-prefix-p "東京 " (plist-get (nth 0 params) :context)))
      (should (equal (plist-get (nth 1 params) :claim) "né 😀"))
      (should (equal (plist-get (nth 2 params) :claim) "\ufffd raw")))))

(ert-deftest neuron-council-test-verify-refuses-what-is-no-string ()
  (neuron-council-test-with nil
    (dolist (claim '(nil 5 a-symbol ("list") [1]))
      (should-error (neuron-council-verify claim) :type 'neuron-council-refused))
    (should-error (neuron-council-verify "A claim" 5) :type 'neuron-council-refused)
    (should-not (get-process "neuron-council"))))

(ert-deftest neuron-council-test-verify-refuses-what-is-too-long ()
  (neuron-council-test-with nil
    (should (string-match-p "8001.*8000" (neuron-council-test-text
                                          (should-error (neuron-council-verify (make-string 8001 ?é))
                                                        :type 'neuron-council-refused))))
    (should-error (neuron-council-verify "A claim" (make-string 24001 ?x)) :type 'neuron-council-refused)
    (should-not (get-process "neuron-council"))
    (should (neuron-council-verify (make-string 8000 ?é) (make-string 24000 ?東)))))

(ert-deftest neuron-council-test-verify-counts-before-it-looks ()
  "Megabytes are refused at once, with their length, and kept nowhere."
  (neuron-council-test-with nil
    (dolist (text (list (string-to-multibyte (make-string 5000000 ?x)) (make-string 5000000 ?é)
                        (make-string 5000000 ?x) (encode-coding-string (make-string 2500000 ?é) 'utf-8)))
      (let ((characters string-chars-consed))
        (should (string-match-p
                 "\\`claim: 5000000 \\(characters\\|bytes\\) are too many.*8000"
                 (neuron-council-test-text (should-error (neuron-council-verify text)
                                                         :type 'neuron-council-refused))))
        ;; Nothing of them was copied.
        (should (< (- string-chars-consed characters) 1000000)))
      (let ((verdict nil))
        (neuron-council-verify-async "A claim" text (lambda (it) (setq verdict it)))
        (should (string-match-p "\\`context: 5000000 .*24000" (plist-get (neuron-council-test-until verdict) :error)))
        (setq verdict nil)
        (neuron-council-verify-async text nil (lambda (it) (setq verdict it)))
        (should (= 8000 (length (plist-get (neuron-council-test-until verdict) :claim))))))
    ;; What is short in characters may be long in bytes.
    (should (neuron-council-verify (encode-coding-string (make-string 8000 ?東) 'utf-8)))
    (should (string-match-p "8001 characters"
                            (neuron-council-test-text (should-error (neuron-council-verify
                                                                     (encode-coding-string (make-string 8001 ?é) 'utf-8))))))))

(ert-deftest neuron-council-test-verify-errors-are-short ()
  "An error may quote megabytes."
  (let ((verdict (neuron-council-verdict-unavailable "A claim" "id" (list 'wrong-type-argument 'listp
                                                                          (make-string 5000000 ?x)))))
    (should (< (length (plist-get verdict :error)) 500))
    (should (< (length (plist-get verdict :summary)) 600)))
  (let ((claim (propertize (make-string 9000 ?x) 'face 'bold)))
    (should (equal-including-properties
             (plist-get (neuron-council-verdict-unavailable claim "id" '(error "no")) :claim) (make-string 8000 ?x)))))

(ert-deftest neuron-council-test-verdict-needs-what-it-is-known-by ()
  "A verdict without it is none, and a memory is stored all the same."
  (let ((whole '(:id "id" :summary "All agree." :claim "A claim" :confidence 0.85 :tags ("verified"))))
    (should (neuron-council-verdict-check whole))
    (should (neuron-council-verdict-check (plist-put (copy-sequence whole) :tags nil)))
    (let ((odd nil))
      (pcase-dolist (`(,key . ,values) '((:id nil 5 ("id")) (:summary nil 5) (:claim nil 5) (:confidence nil "high")
                                         (:tags "verified" (5) ("verified" . "x") (nil))))
        (dolist (value values)
          (let ((verdict (plist-put (copy-sequence whole) key value)))
            (should-error (neuron-council-verdict-check verdict) :type 'neuron-council-error)
            (when (and (listp value) (proper-list-p value) value)
              (setq value (vconcat value)))
            (unless (consp value)
              (push (list :verdict (list key value)) odd)))))
      (neuron-council-test-with (list :verify (vconcat odd))
        (dolist (_ odd)
          (setq neuron-council-test-stored nil)
          (should (eq 'stored (car (capture-memory-with-council "A claim" nil 'node))))
          (should (equal (plist-get (cdar neuron-council-test-stored) :council-tags) '("council-unavailable"))))
        (should (= (length odd) (length (neuron-council-test-seen "council/verify"))))))))

;;;; Hooks

(ert-deftest neuron-council-test-verify-hooks ()
  (neuron-council-test-with '(:verify [nil nil (:error (:code -32603 :message "broken")) (:delay 3600)])
    (let* ((heard nil)
           (neuron-council-before-verify-functions (list (lambda (claim context) (push (list claim context) heard))))
           (neuron-council-after-verdict-functions
            (list (lambda (verdict) (push (plist-get verdict :tags) heard)))))
      (neuron-council-verify "A claim" "A context")
      (should (equal heard '(("verified") ("A claim" "A context"))))
      (setq heard nil)
      (neuron-council-verify-async "A claim" nil (lambda (verdict) (push (plist-get verdict :claim) heard)))
      (neuron-council-test-until (= 3 (length heard)))
      ;; Before whoever asked.
      (should (equal heard '("A claim" ("verified") ("A claim" nil))))
      ;; Where there is no verdict there is nothing to hear.
      (setq heard nil)
      (should-error (neuron-council-verify "A claim"))
      (should-error (neuron-council-verify 5))
      (neuron-council-cancel (neuron-council-verify-async "Another" nil #'ignore))
      (neuron-council-test-until (null neuron-council-rpc-jobs))
      (should (equal heard '(("Another" nil) (5 nil) ("A claim" nil)))))))

(defun neuron-council-test-quitting (&rest _)
  "Quit, as a function does in which somebody presses \\[keyboard-quit]."
  (signal 'quit nil))

(defun neuron-council-test-verify-and-store (claim context _)
  "Have CLAIM judged against CONTEXT, and store the tags of the verdict when it is in."
  (neuron-council-verify-async claim context
                               (lambda (verdict)
                                 (neuron-council-test-store nil :council-tags (plist-get verdict :tags)))))

(ert-deftest neuron-council-test-verify-hooks-that-fail ()
  "They are named, keep no other function from being called, and lose no memory."
  (neuron-council-test-with nil
    (dolist (hook '(neuron-council-before-verify-functions neuron-council-after-verdict-functions))
      (pcase-dolist (`(,failing . ,capture)
                     (list (cons (lambda () "takes no argument") #'capture-memory-with-council)
                           (cons (lambda () "takes no argument") #'neuron-council-test-verify-and-store)
                           ;; Nobody waits for it, so nobody has pressed C-g.
                           (cons #'neuron-council-test-quitting #'neuron-council-test-verify-and-store)))
        (let ((inhibit-quit (eq hook 'neuron-council-before-verify-functions)))
          (setq neuron-council-test-stored nil)
          (let ((called nil))
            (cl-progv (list hook) (list (list failing (lambda (&rest _) (setq called t))))
              (should (cl-some (lambda (text)
                                 (string-match-p (format "error in %s of `%s'"
                                                         (if (symbolp failing) failing "a function") hook)
                                                 (subst-char-in-string ?‘ ?` (subst-char-in-string ?’ ?' text))))
                               (neuron-council-test-messages
                                 (funcall capture "A claim" nil 'node)
                                 (neuron-council-test-until neuron-council-test-stored))))
              (should called)
              (should (equal (plist-get (cdar neuron-council-test-stored) :council-tags) '("verified"))))))))))

(ert-deftest neuron-council-test-verify-errors-are-one-family ()
  (should (memq 'neuron-council-error (get 'neuron-council-refused 'error-conditions)))
  (should (memq 'error (get 'neuron-council-error 'error-conditions))))

;;;; Asynchronous

(ert-deftest neuron-council-test-async-calls-back-once-and-later ()
  (neuron-council-test-with nil
    (let ((calls nil))
      (council-verify-async "A claim" "A context" (lambda (&rest arguments) (push arguments calls)))
      (should-not calls)
      (neuron-council-test-until calls)
      (neuron-council-verify "Another claim")
      (should (= 1 (length calls)))
      (should (= 1 (length (car calls))))
      (should (equal (plist-get (caar calls) :confidence) 0.85)))))

(ert-deftest neuron-council-test-async-without-a-server ()
  (neuron-council-test-clean
    (let ((neuron-council-server-command '("/nonexistent/neuron-council" "serve"))
          (verdicts nil))
      (council-verify-async "A claim" nil (lambda (verdict) (push verdict verdicts)))
      (should-not verdicts)
      (neuron-council-test-until verdicts)
      (let ((verdict (car verdicts)))
        (should (string-match-p "/nonexistent" (plist-get verdict :error)))
        (should (equal (plist-get verdict :tags) '("council-unavailable")))
        (should (equal (plist-get verdict :confidence) 0.5))
        (should (equal (plist-get verdict :status) "unavailable"))
        (should (equal (plist-get verdict :claim) "A claim"))
        (should (string-prefix-p "Council unavailable: " (plist-get verdict :summary)))
        (should (= 36 (length (plist-get verdict :id))))))))

(ert-deftest neuron-council-test-async-refused ()
  (neuron-council-test-with '(:verify [(:error (:code -32602 :message "claim: no letter or digit"))])
    (dolist (claim '("..." nil 7))
      (let ((verdict nil))
        (council-verify-async claim nil (lambda (it) (setq verdict it)))
        (should-not verdict)
        (should (stringp (plist-get (neuron-council-test-until verdict) :error)))))))

(ert-deftest neuron-council-test-async-timeout ()
  (neuron-council-test-with-ready [(:delay 3600)]
    (let ((verdict nil))
      (let ((neuron-council-timeout 2))
        (council-verify-async "A claim" nil (lambda (it) (setq verdict it))))
      (should (string-match-p "2 s" (plist-get (neuron-council-test-until verdict) :error)))
      (should (equal (neuron-council-test-cancelled) (list (neuron-council-test-token 1)))))))

(ert-deftest neuron-council-test-async-death ()
  (neuron-council-test-with '(:verify [(:exit 1)])
    (let ((verdicts nil))
      (council-verify-async "A claim" nil (lambda (it) (push it verdicts)))
      (should (string-match-p "died" (plist-get (car (neuron-council-test-until verdicts)) :error))))))

(ert-deftest neuron-council-test-async-errors-of-the-callback-are-caught ()
  (neuron-council-test-with nil
    (let ((calls 0))
      (council-verify-async "A claim" nil (lambda (_) (setq calls (1+ calls)) (error "A mistake")))
      (council-verify-async "A claim" nil (lambda () (setq calls (1+ calls))))
      (council-verify-async "A claim" nil (lambda (_) (throw 'nowhere nil)))
      (neuron-council-test-until (null neuron-council-rpc-jobs))
      (should (= calls 1))
      (with-current-buffer (neuron-council-log-buffer)
        (should (string-match-p "Error in a council callback" (buffer-string))))
      (should (neuron-council-verify "A claim")))))

(ert-deftest neuron-council-test-async-needs-a-callback ()
  "What is no function is an error at once: later nobody would hear it."
  (neuron-council-test-with nil
    (dolist (callback '(nil 5 "text" neuron-council-test-no-such-function))
      (should-error (neuron-council-verify-async "A claim" nil callback) :type 'wrong-type-argument))
    (should-not neuron-council-rpc-jobs)
    (should-not (get-process "neuron-council"))))

(ert-deftest neuron-council-test-async-quit-in-a-callback-is-its-own ()
  "Whoever waits meanwhile has not pressed \\[keyboard-quit]."
  (neuron-council-test-with-gate gate
    (neuron-council-test-with `(:verify [nil (:gate ,gate)])
      (neuron-council-verify-async "Quick" nil (lambda (_)
                                                 (neuron-council-test-pass gate)
                                                 (signal 'quit nil)))
      (should (eq 'stored (car (capture-memory-with-council "Slow" nil 'node))))
      (should (equal (plist-get (cdar neuron-council-test-stored) :council-tags) '("verified"))))))

(ert-deftest neuron-council-test-async-runs-in-the-buffer-of-the-call ()
  (neuron-council-test-with nil
    (let ((buffers nil) (here (generate-new-buffer "here")) (gone (generate-new-buffer "gone")))
      (dolist (buffer (list here gone))
        (with-current-buffer buffer
          (council-verify-async "A claim" nil (lambda (_) (push (current-buffer) buffers)))))
      (kill-buffer gone)
      (neuron-council-test-until (= 2 (length buffers)))
      (should (memq here buffers))
      (kill-buffer here))))

(ert-deftest neuron-council-test-async-callback-may-wait ()
  (neuron-council-test-with nil
    (let ((second nil))
      (council-verify-async "First" nil (lambda (_) (setq second (council-verify "Second"))))
      (should (equal (plist-get (neuron-council-test-until second) :claim) "Second")))))

(ert-deftest neuron-council-test-async-cancel ()
  (neuron-council-test-with '(:verify [(:delay 3600)])
    (let* ((verdicts nil)
           (job (council-verify-async "A claim" nil (lambda (it) (push it verdicts)))))
      (neuron-council-test-until (neuron-council-test-seen "council/verify"))
      (should (neuron-council-cancel job))
      (should-not (neuron-council-cancel job))
      (should-not verdicts)
      (should (equal (neuron-council-test-cancelled) (list (neuron-council-test-token 0))))
      (should (equal (plist-get (car (neuron-council-test-until verdicts)) :error) "cancelled"))
      (should (= 1 (length verdicts))))))

(ert-deftest neuron-council-test-async-cancel-before-it-is-sent ()
  (neuron-council-test-with nil
    (let ((job (council-verify-async "A claim" nil #'ignore)))
      (neuron-council-cancel job)
      (should (neuron-council-verify "Another claim"))
      (should (= 1 (length (neuron-council-test-seen "council/verify"))))
      (should-not (neuron-council-test-seen "window/workDoneProgress/cancel")))))

(ert-deftest neuron-council-test-cancel-without-a-job ()
  (neuron-council-test-clean
    (should-error (call-interactively #'neuron-council-cancel) :type 'user-error)))

;;; verify-test.el ends here
