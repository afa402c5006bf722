;;; menu-test.el --- Tests of the menu  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Code:

(require 'helper)
(require 'neuron-council-menu)

(defconst neuron-council-test-health
  '(:status "ok" :version "0.1.0" :pending 3 :in_flight 0
    :backends [(:url "http://a" :reachable t :version "1") (:url "http://b" :reachable :json-false :version nil)]
    :members [(:id "a" :model "a:latest" :installed t :loaded t)])
  "What the scripted server says of itself.")

(defmacro neuron-council-test-menu (health &rest body)
  "Run BODY where a server that is ready answers HEALTH."
  (declare (indent 1) (debug t))
  `(neuron-council-test-with (list :answers (list :council/health (list :result ,health)))
     (neuron-council-verify "Are you there")
     (let ((neuron-council-menu--patience 20)
           (neuron-council-menu--health nil))
       (neuron-council-menu--look)
       ,@body)))

(defmacro neuron-council-test-in-menu (text &rest body)
  "Show the menu and run BODY with its text as TEXT."
  (declare (indent 1) (debug t))
  `(unwind-protect
       (progn
         (neuron-council-menu)
         (let ((,text (with-current-buffer " *transient*" (buffer-string))))
           ,@body))
     (when transient--prefix
       (transient--emergency-exit))))

(ert-deftest neuron-council-test-menu-title ()
  (neuron-council-test-menu neuron-council-test-health
    (should (equal (substring-no-properties (neuron-council-menu--title))
                   "Neuron Council: server 0.1.0 runs, 1/2 backends up, 3 pending\n"))
    (should (equal (substring-no-properties (neuron-council-menu--counted "again" (neuron-council-menu--pending)))
                   "again (3)"))
    (neuron-council-stop)
    (neuron-council-menu--look)
    (should (equal (substring-no-properties (neuron-council-menu--title)) "Neuron Council: server is not running\n"))))

(ert-deftest neuron-council-test-menu-names-missing-models ()
  (neuron-council-test-menu '(:version "0.1.0" :backends [(:url "u" :reachable t)]
                              :members [(:model "a:latest" :installed t) (:model "b\n:latest" :installed :json-false)])
    (should (equal (substring-no-properties (neuron-council-menu--title))
                   "Neuron Council: server 0.1.0 runs, 1/1 backends up, missing: b :latest\n"))))

(ert-deftest neuron-council-test-menu-odd-health ()
  (dolist (health '(7 nil "x" (:backends 5 :members "m" :pending -1) (:backends "b" :members [(:installed :json-false)])
                    (:backends [7 nil (:reachable 9)] :members [1 "two" (:a 1)])))
    (neuron-council-test-menu health
      (should (string-prefix-p "Neuron Council: server 0.1.0 runs" (neuron-council-menu--title))))))

(ert-deftest neuron-council-test-menu-starts-no-server ()
  (neuron-council-test-with nil
    (neuron-council-menu--look)
    (should-not (get-process "neuron-council"))
    (should (equal neuron-council-rpc-jobs nil))
    (should (string-match-p "not running" (neuron-council-menu--title)))))

(ert-deftest neuron-council-test-menu-does-not-wait-for-long ()
  (neuron-council-test-menu neuron-council-test-health
    (let ((neuron-council-menu--patience 0.05))
      (cl-letf (((symbol-function 'neuron-council-rpc-submit) #'ignore))
        (should (< (neuron-council-test-seconds (neuron-council-menu--look)) neuron-council-test-never)))
      (should-not neuron-council-menu--health))))

(ert-deftest neuron-council-test-menu-after-deaths ()
  (neuron-council-test-with '(:start (:stderr "no" :exit 1))
    (dotimes (_ 2)
      (should-error (neuron-council-verify "Are you there")))
    (should (string-match-p "server failed 2 times in a row" (neuron-council-menu--title)))))

(ert-deftest neuron-council-test-menu-sets-the-policy ()
  (let ((neuron-council-flagged-policy 'tag)
        (neuron-council-parked-policy 'tag)
        (neuron-council-quarantine-function nil))
    (should (equal (mapcar #'car (neuron-council-menu--choices 'neuron-council-flagged-policy)) '(tag quarantine reject)))
    (should (string-match-p "Store it with its tags"
                            (neuron-council-menu--describe "flagged:" 'neuron-council-flagged-policy)))
    ;; Without a function for it, quarantine is passed over.
    (neuron-council-menu-flagged)
    (should (eq neuron-council-flagged-policy 'reject))
    (neuron-council-menu-flagged)
    (should (eq neuron-council-flagged-policy 'tag))
    (setq neuron-council-quarantine-function #'ignore)
    (neuron-council-menu-flagged)
    (should (eq neuron-council-flagged-policy 'quarantine))
    (neuron-council-menu-parked)
    (should (eq neuron-council-parked-policy 'hold))
    (setq neuron-council-parked-policy 'nonsense)
    (should (string-match-p "nonsense" (neuron-council-menu--describe "parked:" 'neuron-council-parked-policy)))
    (neuron-council-menu-parked)
    (should (eq neuron-council-parked-policy 'tag))))

(ert-deftest neuron-council-test-menu-sets-modes-and-switches ()
  (neuron-council-test-clean
    (require 'neuron-council-guard)
    (let ((neuron-council-guard-asynchronous nil))
      (neuron-council-menu-guard-waits)
      (should (equal (substring-no-properties (neuron-council-menu--describe "x" 'neuron-council-guard-asynchronous))
                     "x on"))
      (neuron-council-menu-guard-waits)
      (should-not neuron-council-guard-asynchronous))
    (let ((neuron-council-store-function 'neuron-council-test-store))
      (unwind-protect
          (progn
            (neuron-council-menu-guard)
            (should neuron-council-guard-mode)
            (should (advice--p (advice--symbol-function 'neuron-council-test-store)))
            (neuron-council-menu-guard)
            (should-not neuron-council-guard-mode)
            (should-not (advice--p (advice--symbol-function 'neuron-council-test-store))))
        (neuron-council-guard-mode -1)))
    (should (equal (substring-no-properties (neuron-council-menu--describe "x" 'neuron-council-no-such-option))
                   "x off"))))

(ert-deftest neuron-council-test-menu-shows-all-commands ()
  "Each stands in the menu, with its key, and is one."
  (neuron-council-test-menu neuron-council-test-health
    (neuron-council-test-in-menu text
      (dolist (line '("Neuron Council: server" "Verify" "Review" "Look" "Memory policy" "Server" "v a claim"
                      "b the buffer" "e judge pending again (3)" "l all verdicts" "t guard off" "o check Org captures off" "F flagged:" "I install"))
        (should (string-match-p (regexp-quote line) text)))
      (let ((suffixes transient--suffixes))
        (should (> (length suffixes) 28))
        (dolist (suffix suffixes)
          (should (commandp (oref suffix command))))
        (let ((keys (mapcar (lambda (suffix) (oref suffix key)) suffixes)))
          (should (equal keys (delete-dups (copy-sequence keys)))))
        ;; A key that somebody knows from the prefix must not do something else here.
        (dolist (suffix suffixes)
          (let ((known (lookup-key neuron-council-command-map (oref suffix key))))
            (when (and (commandp known) (not (equal (oref suffix key) "t")))
              (should (eq known (oref suffix command))))))))))

(ert-deftest neuron-council-test-menu-alone-loads-transient ()
  (dolist (file (directory-files (expand-file-name "elisp" neuron-council-test-checkout) t "\\.el\\'"))
    (with-temp-buffer
      (insert-file-contents file)
      (should (eq (and (re-search-forward "(require 'transient)" nil t) t)
                  (equal (file-name-nondirectory file) "neuron-council-menu.el"))))))

;;; menu-test.el ends here
