;;; jobs-test.el --- Tests of showing and cancelling what is judged  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Code:

(require 'helper)

;;;; Progress

(defmacro neuron-council-test-shown (&rest body)
  "Run BODY as if Emacs were not in batch; return what the echo area showed.
The newest comes first."
  `(let ((noninteractive nil) (shown nil))
     (cl-letf (((symbol-function 'message) (lambda (format &rest arguments)
                                             (when format (push (apply #'format format arguments) shown))))
               ((symbol-function 'force-mode-line-update) #'ignore))
       ,@body)
     shown))

(ert-deftest neuron-council-test-progress-of-a-wait-is-echoed ()
  (neuron-council-test-with-gate start
    (neuron-council-test-with-gate gate
      (neuron-council-test-with `(:initialize (:gate ,start) :verify [(:notes ["neuron: plausible (1/3)"] :gate ,gate)])
        (let ((shown (neuron-council-test-shown
                       (neuron-council-test-when (lambda () (equal (car shown) "Council: starting"))
                                                 (lambda () (neuron-council-test-pass start)))
                       (neuron-council-test-pass gate)
                       (neuron-council-test-when (lambda () (string-prefix-p "Council: neuron" (or (car shown) "")))
                                                 (lambda () (neuron-council-test-pass gate)))
                       (neuron-council-verify "A claim"))))
          ;; What lasts no tenth of a second may be seen or not.
          (should (equal (remove "Council: convening" (reverse shown))
                         '("Council: starting" "Council: neuron: plausible (1/3)"))))))))

(defmacro neuron-council-test-mode-line (&rest body)
  "Run BODY as if Emacs were not in batch, with a mode line of its own.
There, (LINE) returns what that shows, and UPDATES counts its redrawings."
  (declare (indent 0))
  `(let ((global-mode-string nil) (neuron-council-jobs--mode-line nil) (noninteractive nil) (updates 0)
         (inhibit-message t) (message-log-max nil))
     (cl-letf (((symbol-function 'force-mode-line-update) (lambda (&rest _) (setq updates (1+ updates)))))
       (cl-flet ((line () (substring-no-properties (or neuron-council-jobs--mode-line ""))))
         ,@body))
     (ignore updates)))

(ert-deftest neuron-council-test-progress-of-the-others-is-in-the-mode-line ()
  (neuron-council-test-with-gate start
    (neuron-council-test-with-gate gate
      (neuron-council-test-with
          `(:initialize (:gate ,start) :verify [nil (:gate ,gate :notes ["neuron: 100% plausible (1/3)"])])
        (neuron-council-test-mode-line
          (let ((done 0))
            (dotimes (_ 3)
              (neuron-council-verify-async "A claim" nil (lambda (_) (setq done (1+ done)))))
            (neuron-council-test-until (equal (line) " Council(3): starting"))
            (should (memq 'neuron-council-jobs--mode-line global-mode-string))
            (should (get 'neuron-council-jobs--mode-line 'risky-local-variable))
            (neuron-council-test-pass start)
            (neuron-council-test-until (equal (line) " Council(2): convening"))
            (neuron-council-test-pass gate)
            (neuron-council-test-until (equal (line) " Council(2): neuron: 100% plausible (1/3)"))
            (should (eq #'neuron-council-cancel
                        (lookup-key (get-text-property 1 'local-map neuron-council-jobs--mode-line)
                                    [mode-line mouse-1])))
            ;; The one with a vote says more than the oldest one.
            (setf (neuron-council-job-note (car (last neuron-council-rpc-jobs))) nil)
            (neuron-council-jobs--show)
            (should (equal (line) " Council(2): neuron: 100% plausible (1/3)"))
            (neuron-council-cancel (car (last neuron-council-rpc-jobs)))
            (neuron-council-test-until (equal (line) " Council: neuron: 100% plausible (1/3)"))
            (neuron-council-test-pass gate)
            (neuron-council-test-until (= done 3))
            (neuron-council-test-until (null neuron-council-jobs--mode-line))))))))

(ert-deftest neuron-council-test-progress-fits-into-a-line ()
  (neuron-council-test-with-gate gate
    (neuron-council-test-with `(:verify [(:notes [,(make-string 5000 ?東)] :gate ,gate)])
      (neuron-council-test-pass gate)
      (let ((shown (neuron-council-test-shown
                     (neuron-council-test-when (lambda () (string-prefix-p "Council: 東" (or (car shown) "")))
                                               (lambda () (neuron-council-test-pass gate)))
                     (neuron-council-verify "A claim"))))
        (dolist (text shown)
          (should (< (string-width text) 80)))))))

(defun neuron-council-test-noted ()
  "Return non-nil when the only job has got on and all has been done to show that."
  (and neuron-council-rpc-jobs (neuron-council-job-note (car neuron-council-rpc-jobs))
       (null neuron-council-rpc--display-timer)))

(ert-deftest neuron-council-test-progress-costs-little ()
  "However much comes, the mode line is drawn ten times a second at most."
  (neuron-council-test-with '(:verify [(:flood 50)])
    (neuron-council-test-mode-line
      (let ((done 0) (start (float-time)))
        (dotimes (n 30)
          (neuron-council-verify-async (format "Claim %d" n) nil (lambda (_) (setq done (1+ done)))))
        (neuron-council-test-until (= done 30))
        (neuron-council-test-until (null neuron-council-jobs--mode-line))
        (should (<= 1 updates (+ 2 (* 10 (- (float-time) start)))))))))

(ert-deftest neuron-council-test-progress-can-be-turned-off ()
  (neuron-council-test-with-gate gate
    (neuron-council-test-with `(:verify [(:notes ["neuron: plausible (1/3)"] :gate ,gate)])
      (neuron-council-test-pass gate)
      (let ((neuron-council-show-progress nil))
        (should-not (neuron-council-test-shown
                      (neuron-council-test-when #'neuron-council-test-noted (lambda () (neuron-council-test-pass gate)))
                      (neuron-council-verify "A claim")))))))

(ert-deftest neuron-council-test-progress-is-silent-in-batch ()
  (neuron-council-test-with-gate gate
    (neuron-council-test-with `(:verify [(:notes ["neuron: plausible (1/3)"] :gate ,gate)])
      (neuron-council-test-pass gate)
      (cl-letf (((symbol-function 'message) (lambda (&rest _) (error "Something was said"))))
        (neuron-council-test-when #'neuron-council-test-noted (lambda () (neuron-council-test-pass gate)))
        (should (neuron-council-verify "A claim"))))))

;;;; Cancelling

(defmacro neuron-council-test-asked (answer &rest body)
  "Run BODY, in which ANSWER, a function of the table, answers each question."
  (declare (indent 1))
  `(cl-letf (((symbol-function 'completing-read) (lambda (_ table &rest _) (funcall ,answer table))))
     ,@body))

(ert-deftest neuron-council-test-cancel-offers-what-runs ()
  (neuron-council-test-with '(:verify [(:notes ["neuron: plausible (1/3)"] :delay 3600) (:delay 3600)])
    (dolist (claim '("Ana lives in Lisbon." "Ana lives\n in Porto."))
      (neuron-council-verify-async claim nil #'ignore))
    (neuron-council-test-until (cl-some #'neuron-council-job-note neuron-council-rpc-jobs))
    (let ((last-nonmenu-event ?k) (cancelled nil))
      (neuron-council-test-asked (lambda (table)
                                   (let ((metadata (completion-metadata "" table nil)))
                                     (should (eq 'neuron-council-check (completion-metadata-get metadata 'category)))
                                     (should (equal (all-completions "" table)
                                                    '("1: Ana lives in Lisbon." "2: Ana lives in Porto.")))
                                     (should (equal (mapcar (completion-metadata-get metadata 'annotation-function)
                                                            (all-completions "" table))
                                                    '("  neuron: plausible (1/3)" "  convening"))))
                                   "2: Ana lives in Porto.")
        (call-interactively #'neuron-council-cancel))
      (should (equal (neuron-council-test-cancelled) (list (neuron-council-test-token 1))))
      ;; With one left there is nothing to ask, but a click may have been a slip.
      (neuron-council-test-asked (lambda (_) (setq cancelled 'asked) "")
        (let ((last-nonmenu-event '(mouse-1 nil)))
          (should-not (call-interactively #'neuron-council-cancel)))
        (should (eq cancelled 'asked))
        (neuron-council-test-until (= 1 (length neuron-council-rpc-jobs))))
      (neuron-council-test-asked (lambda (_) (error "Asked"))
        (should (call-interactively #'neuron-council-cancel)))
      (neuron-council-test-until (null neuron-council-rpc-jobs))
      (should-error (call-interactively #'neuron-council-cancel) :type 'user-error))))

(ert-deftest neuron-council-test-cancel-of-what-waits-for-its-turn ()
  "A job that is to be submitted later can be seen, cancelled and stopped."
  (neuron-council-test-clean
    (let* ((ended nil)
           (make (lambda () (let ((job (neuron-council-verify-make "A claim" nil "id"
                                                                   (lambda (_ condition) (push (car condition) ended)))))
                              (neuron-council-rpc-enqueue job)
                              job))))
      (let ((job (funcall make)))
        (should (equal (neuron-council-jobs-words job) "waiting"))
        (should (eq job (neuron-council-jobs--read)))
        (neuron-council-cancel job)
        (neuron-council-test-until (equal ended '(neuron-council-cancelled))))
      (funcall make)
      (neuron-council-stop)
      (neuron-council-test-until (equal ended '(neuron-council-error neuron-council-cancelled)))
      (should-not neuron-council-rpc-jobs)
      (should-not (get-process "neuron-council")))))

;;; jobs-test.el ends here
