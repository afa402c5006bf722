;;; replay-test.el --- Tests of checking evidence again  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Code:

(require 'real)
(require 'neuron-council-replay)
(require 'neuron-council-report)

(defun neuron-council-test-replay ()
  "Check the whole ledger and return what is said."
  (car (neuron-council-test-messages
         (call-interactively #'neuron-council-replay)
         (neuron-council-test-until (null neuron-council-rpc-jobs)))))

(ert-deftest neuron-council-test-replay-of-all ()
  (pcase-dolist (`(,answer ,said)
                 '(((:result (:checked 1 :identical 1 :differing []))
                    "1 verdict checked again, each with the outcome that was recorded")
                   ((:result (:checked 9 :identical 7 :differing ["id-1" "id-2"]
                              :reasons (:id-1 ["status was a, is b." "tags was c, is\n%s."] :id-2 ["No."])))
                    "2 of 9 verdicts have another outcome today: id-1: status was a, is b. tags was c, is %s.  \
M-x neuron-council-show shows it")
                   ((:result (:checked 0 :identical 0 :differing [])) "The ledger has no verdict to check")
                   ((:result 5) "the server's answer cannot be read; M-x neuron-council-doctor says more")
                   ((:error (:code -32803 :message "The ledger is corrupt.")) "The evidence cannot be checked: \
The ledger is corrupt.")))
    (neuron-council-test-with (list :answers (list :council/replay answer))
      (should (equal said (neuron-council-test-replay)))
      (should-not (plist-member (plist-get (car (neuron-council-test-seen "council/replay")) :params) :id)))))

(ert-deftest neuron-council-test-replay-of-the-real-ledger ()
  "What the server decided it decides again, until somebody changes what it has recorded."
  (neuron-council-test-with-council '(:models (:dolphin3:8b (:ballot "confabulation" :score 1)))
    (save-window-excursion
      (let ((id (plist-get (neuron-council-verify "Tea is grown in Asia.") :id)))
        (should (equal (neuron-council-test-replay) "1 verdict checked again, each with the outcome that was recorded"))
        (neuron-council-report-show id)
        (neuron-council-test-until (null neuron-council-rpc-jobs))
        (neuron-council-report-replay)
        (neuron-council-test-until (null neuron-council-rpc-jobs))
        (should (string-search "the evidence has the same outcome." (buffer-string)))
        (neuron-council-stop)
        (neuron-council-test-until (not (get-process "neuron-council")))
        (should (eql 0 (call-process (expand-file-name ".venv/bin/python" neuron-council-test-checkout) nil nil nil
                                     "-c" "import sqlite3, sys; ledger = sqlite3.connect(sys.argv[1]); \
ledger.execute('UPDATE verdict SET confidence = 0.99'); ledger.commit()"
                                     (concat neuron-council-test-home "council/ledger.db"))))
        (neuron-council-report-replay)
        (neuron-council-test-until (null neuron-council-rpc-jobs))
        (should (string-match-p "ANOTHER outcome today:\n    confidence was 0\\.99, is 0\\." (buffer-string)))))))

;;; replay-test.el ends here
