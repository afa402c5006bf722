;;; reevaluated-test.el --- Tests of verdicts that come late  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Code:

(require 'helper)

(defun neuron-council-test-news (&rest pairs)
  "Return announcements for PAIRS of the superseded verdict's and the new one's id."
  (let ((news nil))
    (while pairs
      (push (list :supersedes (pop pairs) :verdict (list :id (pop pairs))) news))
    (vconcat (nreverse news))))

(defun neuron-council-test-acknowledged ()
  "Return the ids that the server was told are known, a list for each time."
  (mapcar (lambda (message) (plist-get (plist-get message :params) :ids))
          (neuron-council-test-seen "council/acknowledge")))

(defmacro neuron-council-test-announced (news &rest body)
  "Run BODY with a server that announces NEWS right behind its first reply."
  (declare (indent 1))
  `(neuron-council-test-with (list :announce ,news)
     (let ((heard nil) (neuron-council-reevaluated-functions nil))
       ,@body)))

(defun neuron-council-test-no-more-news ()
  "Wait until every announcement has been handled and acknowledged, or not."
  (neuron-council-test-until (and (neuron-council-process-ready-p) neuron-council-reevaluated--timer))
  (neuron-council-test-until (null neuron-council-reevaluated--timer))
  ;; The server has read all that was sent before this.
  (neuron-council-verify "A claim"))

(ert-deftest neuron-council-test-reevaluated-reaches-the-hook ()
  (neuron-council-test-announced (neuron-council-test-news "old" "new" "older" "newer")
    (let ((filter nil))
      (add-hook 'neuron-council-reevaluated-functions
                (lambda (id verdict) (push (list id (plist-get verdict :id) (plist-get verdict :tags) filter) heard)))
      (cl-letf* ((hear (symbol-function 'neuron-council-reevaluated--hear))
                 ((symbol-function 'neuron-council-reevaluated--hear)
                  (lambda (&rest arguments)
                    (setq filter 'inside)
                    (prog1 (apply hear arguments) (setq filter 'outside)))))
        (neuron-council-process-ensure)
        (neuron-council-test-no-more-news))
      (should (equal (nreverse heard) '(("old" "new" ("verified") outside) ("older" "newer" ("verified") outside))))
      (should (equal (mapcar (lambda (ids) (sort ids #'string<)) (neuron-council-test-acknowledged)) '(("new" "newer")))))))

(ert-deftest neuron-council-test-reevaluated-is-not-acknowledged-for-nobody ()
  (neuron-council-test-announced (neuron-council-test-news "old" "new")
    (neuron-council-process-ensure)
    (neuron-council-test-no-more-news)
    (should-not (neuron-council-test-acknowledged))))

(ert-deftest neuron-council-test-reevaluated-error-is-named-and-not-acknowledged ()
  (neuron-council-test-announced (neuron-council-test-news "old" "new" "older" "newer")
    (defun neuron-council-test-failing (id _)
      "Fail for the ID old."
      (when (equal id "old") (error "A secret of the claim")))
    (setq neuron-council-reevaluated-functions
          (list #'neuron-council-test-failing (lambda (id _) (push id heard))))
    (should (cl-some (lambda (text) (string-match-p "neuron-council-test-failing.*A secret of the claim" text))
                     (neuron-council-test-messages
                       (neuron-council-process-ensure)
                       (neuron-council-test-no-more-news))))
    (should (equal heard '("older" "old")))
    (should (equal (neuron-council-test-acknowledged) '(("newer"))))
    (with-current-buffer (neuron-council-log-buffer)
      (should (string-match-p "Error in neuron-council-test-failing" (buffer-string)))
      (should-not (string-match-p "secret" (buffer-string))))))

(ert-deftest neuron-council-test-reevaluated-one-verdict-for-several ()
  "A verdict is acknowledged for all that it supersedes, so all must know it."
  (neuron-council-test-announced (neuron-council-test-news "one" "new" "two" "new" "three" "new" "four" "other")
    (setq neuron-council-reevaluated-functions
          (list (lambda (id _) (push id heard) (when (equal id "two") (error "A mistake")))))
    (neuron-council-process-ensure)
    (neuron-council-test-no-more-news)
    (should (equal heard '("four" "three" "two" "one")))
    (should (equal (neuron-council-test-acknowledged) '(("other"))))))

(ert-deftest neuron-council-test-reevaluated-quit-is-its-own ()
  "It is no success, keeps no other function from hearing, and ends no wait."
  (neuron-council-test-with-gate gate
    (neuron-council-test-with `(:announce ,(neuron-council-test-news "old" "new") :verify [(:gate ,gate)])
      (let* ((heard nil)
             (neuron-council-reevaluated-functions
              (list (lambda (&rest _) (signal 'quit nil))
                    (lambda (id _)
                      (push id heard)
                      (neuron-council-test-pass gate)))))
        (should (neuron-council-verify "A claim"))
        (should (equal heard '("old")))
        (neuron-council-test-until (null neuron-council-reevaluated--timer))
        (neuron-council-verify "Another claim")
        (should-not (neuron-council-test-acknowledged))))))

(ert-deftest neuron-council-test-reevaluated-throw-is-no-success ()
  (neuron-council-test-announced (neuron-council-test-news "old" "new")
    (setq neuron-council-reevaluated-functions
          (list (lambda (id _) (push id heard) (throw 'neuron-council-test-out t))))
    (catch 'neuron-council-test-out
      (neuron-council-process-ensure)
      (neuron-council-test-until nil))
    (neuron-council-test-no-more-news)
    (should (equal heard '("old")))
    (should-not (neuron-council-test-acknowledged))))

(ert-deftest neuron-council-test-reevaluated-that-is-no-verdict ()
  (neuron-council-test-announced [(:supersedes "old" :verdict (:confidence "high")) (:supersedes "old" :verdict (:id "new"))]
    (setq neuron-council-reevaluated-functions (list (lambda (_ verdict) (push (plist-get verdict :id) heard))))
    (neuron-council-process-ensure)
    (neuron-council-test-no-more-news)
    (should (equal heard '("new")))))

(ert-deftest neuron-council-test-reevaluated-server-that-is-gone-starts-no-other ()
  (neuron-council-test-announced (neuron-council-test-news "old" "new")
    (setq neuron-council-reevaluated-functions (list (lambda (&rest _) (signal-process (get-process "neuron-council") 'SIGKILL))))
    (neuron-council-process-ensure)
    (neuron-council-test-until (and neuron-council-process--server
                                    (eq 'ended (neuron-council-process-server-state neuron-council-process--server))))
    (neuron-council-test-until (null neuron-council-reevaluated--timer))
    (should-not (get-process "neuron-council"))))

;;; reevaluated-test.el ends here
