;;; unsent-test.el --- Tests of claims that reached no server  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Code:

(require 'helper)

(defun neuron-council-test-unsent (n &optional pid)
  "Keep the claim \"Claim N\" as the Nth that reached no server, taken by PID."
  (neuron-council-files-write
   (neuron-council-files-name (neuron-council-unsent-folder) (neuron-council-test-uuid n) pid)
   (list :id (neuron-council-test-uuid n) :claim (format "Claim %d" n) :context (and (> n 5) "A context") :time 1.0)))

(defun neuron-council-test-claims ()
  "Return the claims that the server was sent, in order."
  (mapcar (lambda (message) (plist-get (plist-get message :params) :claim))
          (neuron-council-test-seen "council/verify")))

(defun neuron-council-test-settled ()
  "Wait until nothing is under way any more."
  (neuron-council-test-until (and (neuron-council-process-ready-p) (null neuron-council-rpc-jobs)
                                  (null neuron-council-unsent--waiting) (null neuron-council-unsent--taken))))

(defmacro neuron-council-test-hearing (&rest body)
  "Run BODY, ids and verdicts of the hook going to HEARD, the newest first."
  (declare (indent 0) (debug t))
  `(let* ((heard nil)
          (neuron-council-reevaluated-functions (list (lambda (id verdict) (push (cons id verdict) heard)))))
     ,@body))

(ert-deftest neuron-council-test-unsent-is-kept-before-it-is-sent ()
  (neuron-council-test-with nil
    (let ((seen nil) (submit (symbol-function 'neuron-council-rpc-submit)))
      (cl-letf (((symbol-function 'neuron-council-rpc-submit)
                 (lambda (job)
                   (let ((names (neuron-council-test-folder "unsent")))
                     (push (with-temp-buffer
                             (insert-file-contents (concat neuron-council-test-home "council/unsent/" (car names)))
                             (list names (read (current-buffer)) (neuron-council-job-params job)))
                           seen))
                   (funcall submit job))))
        (capture-memory-with-council (propertize "A \0claim" 'face 'bold) "A context" 'node))
      (pcase-let* ((`(,names ,record ,params) (pop seen))
                   (id (plist-get params :id)))
        (should (equal names (list (neuron-council-test-taken id))))
        (should (equal (seq-take record 8)
                       (list :version 1 :id id :claim "A \ufffdclaim" :context "A context")))
        (should (< (- (float-time) (plist-get record :time)) 60))
        (should (equal id (plist-get (cdr (car neuron-council-test-stored)) :council-id))))
      (should-not (neuron-council-test-folder "unsent")))))

(ert-deftest neuron-council-test-unsent-costs-little ()
  "Keeping and dropping the largest claim waits for no disk."
  (neuron-council-test-clean
    (let ((best 1000) (n 0) (waited nil))
      (cl-letf* ((write (symbol-function 'write-region))
                 ((symbol-function 'write-region)
                  (lambda (&rest arguments)
                    (unless write-region-inhibit-fsync (setq waited t))
                    (apply write arguments))))
        (dotimes (_ 30)
          (let ((job (neuron-council-verify-job (make-string 8000 ?é) (make-string 24000 ?x)
                                                (neuron-council-test-uuid (setq n (1+ n))) nil)))
            (setq best (min best (* 1000 (neuron-council-test-seconds
                                           (neuron-council-unsent--keep job)
                                           (neuron-council-unsent--drop (neuron-council-test-uuid n)))))))))
      (message "Keeping a claim takes %.2f ms" best)
      (should-not waited)
      (should-not (neuron-council-test-folder "unsent")))))

(ert-deftest neuron-council-test-unsent-promise-is-kept ()
  "Only what is kept can be said to be judged later."
  (neuron-council-test-with nil
    (let ((neuron-council-server-command '("/nonexistent/neuron-council" "serve")) (verdict nil))
      (neuron-council-verify-async "A claim" nil (lambda (it) (setq verdict it)))
      (should-not (neuron-council-unsent-keeps-p (plist-get (neuron-council-test-until verdict) :id)))
      (capture-memory-with-council "A claim" nil 'node)
      (let ((id (plist-get (cdar neuron-council-test-stored) :council-id)))
        (should (neuron-council-unsent-keeps-p id))
        (neuron-council-unsent-forget id)
        (should-not (neuron-council-unsent-keeps-p id)))
      (let ((process-environment (cons "NEURON_HOME=/proc/nowhere" process-environment)))
        (capture-memory-with-council "A claim" nil 'node)
        (should-not (neuron-council-unsent-keeps-p (plist-get (cdar neuron-council-test-stored) :council-id)))))
    (dolist (id '(nil 5 "id" "../../x")) (should-not (neuron-council-unsent-keeps-p id)))))

(ert-deftest neuron-council-test-unsent-home-that-cannot-be-written ()
  (neuron-council-test-with nil
    (let ((process-environment (cons "NEURON_HOME=/proc/nowhere" process-environment)))
      (should (eq 'stored (car (capture-memory-with-council "A claim" nil 'node))))
      (should (equal (plist-get (cdr (car neuron-council-test-stored)) :council-tags) '("verified"))))))

(ert-deftest neuron-council-test-unsent-says-once-that-it-cannot-keep ()
  (neuron-council-test-with nil
    (let* ((process-environment (cons "NEURON_HOME=/proc/nowhere" process-environment))
           (said (neuron-council-test-messages
                   (dotimes (_ 3)
                     (neuron-council-unsent-wait "A claim" nil (neuron-council-verify-new-id))))))
      (should (= 1 (length said)))
      (should (string-match-p "cannot be kept: .*/proc/nowhere" (car said)))
      ;; The log has each.
      (with-current-buffer (neuron-council-log-buffer)
        (should (= 3 (how-many "A claim cannot be kept" (point-min) (point-max))))))))

(ert-deftest neuron-council-test-unsent-answers ()
  "What the server says of a claim decides whether it is kept."
  (neuron-council-test-with
      `(:verify [nil
                 (:verdict (:confidence 0.3 :id ,(neuron-council-test-uuid 77)))
                 (:verdict (:status "unavailable" :tags ["council-unavailable"] :confidence 0.5))
                 (:verdict (:status "unavailable" :tags ["council-unavailable"] :confidence 0.5
                            :id ,(neuron-council-test-uuid 77)))
                 (:error (:code -32602 :message "claim: no letter or digit"))
                 (:error (:code -32001 :message "forgotten"))
                 (:error (:code -32603 :message "broken"))
                 (:error (:code -32800 :message "shutting down"))
                 (:result [1 2])])
    (neuron-council-test-hearing
      (dolist (n '(1 2 3 4 5 6 7 8)) (neuron-council-test-unsent n))
      (neuron-council-verify "A claim of a person")
      (neuron-council-test-settled)
      (should (equal (neuron-council-test-claims)
                     (cons "A claim of a person" (mapcar (lambda (n) (format "Claim %d" n)) '(1 2 3 4 5 6 7 8)))))
      (dolist (message (cdr (neuron-council-test-seen "council/verify")))
        (let* ((params (plist-get message :params))
               (n (string-to-number (substring (plist-get params :claim) 6))))
          (should (equal (plist-get params :id) (neuron-council-test-uuid n)))
          ;; Whoever waits for an answer comes first at the models, too.
          (should (eq t (plist-get params :background)))
          (should (equal (plist-get params :context) (and (> n 5) "A context")))))
      ;; The hook knows the memory by the id of the claim, whatever the verdict's own is.
      (should (equal (mapcar #'car heard) (list (neuron-council-test-uuid 1))))
      (should (equal (plist-get (cdar heard) :id) (neuron-council-test-uuid 77)))
      (should (equal (plist-get (cdar heard) :tags) '("unverified" "council-flagged")))
      (should (equal (neuron-council-test-folder "unsent")
                     (mapcar (lambda (n) (concat (neuron-council-test-uuid n) ".eld")) '(3 6 7 8))))
      (with-current-buffer (neuron-council-log-buffer)
        (dolist (n '(4 5))
          (should (string-match-p (format "%s is given up" (neuron-council-test-uuid n)) (buffer-string))))
        (let ((case-fold-search nil))
          (should-not (string-match-p "Claim" (buffer-string))))))))

(ert-deftest neuron-council-test-unsent-needs-the-hook ()
  "A claim stays until some function has taken its verdict in, and all have."
  (neuron-council-test-with nil
    (neuron-council-test-unsent 1)
    (neuron-council-test-hearing
      (let ((hear (car neuron-council-reevaluated-functions)))
        (pcase-dolist (`(,functions ,kept)
                       `((nil t)
                         ((,(lambda (&rest _) (error "A mistake")) ,hear) t)
                         ((,(lambda () nil) ,hear) t)
                         ((,hear ,(lambda (&rest _) (throw 'nowhere nil))) t)
                         ((,hear ignore) nil)))
          (setq neuron-council-reevaluated-functions functions)
          (neuron-council-restart)
          (neuron-council-test-until (and (neuron-council-process-ready-p) (neuron-council-test-seen "council/verify")))
          (write-region "" nil neuron-council-test-log nil 'quiet)
          (neuron-council-test-settled)
          (should (equal (neuron-council-test-folder "unsent")
                         (and kept (list (concat (neuron-council-test-uuid 1) ".eld")))))))
      ;; A function that fails keeps none of the others from being called.
      (should (= 4 (length heard))))))

(ert-deftest neuron-council-test-unsent-comes-behind-a-person ()
  (neuron-council-test-with '(:verify [(:delay 0.1) (:delay 0.1) nil])
    (neuron-council-test-hearing
      (dolist (n '(1 2 3 4 5)) (neuron-council-test-unsent n))
      (let* ((most 0)
             (count (lambda (_)
                      (setq most (max most (cl-count-if #'neuron-council-job-background neuron-council-rpc-jobs))))))
        (advice-add 'neuron-council-rpc-submit :after count)
        (unwind-protect
            (let ((answered nil))
              (council-verify-async
               "Person 1" nil
               (lambda (_)
                 (council-verify-async "Person 2" nil
                                       (lambda (_) (setq answered (neuron-council-test-claims))))))
              (should (equal (neuron-council-test-until answered) '("Person 1" "Person 2")))
              (neuron-council-test-settled)
              (should (equal (cddr (neuron-council-test-claims)) '("Claim 1" "Claim 2" "Claim 3" "Claim 4" "Claim 5")))
              (should (= most 2))
              (should (= 5 (length heard))))
          (advice-remove 'neuron-council-rpc-submit count))))))

(ert-deftest neuron-council-test-unsent-is-nothing-to-see-or-cancel ()
  (neuron-council-test-with '(:verify [(:delay 3600)])
    (neuron-council-test-unsent 1)
    (neuron-council-process-ensure)
    (neuron-council-test-until (neuron-council-test-seen "council/verify"))
    (should-error (neuron-council-jobs--read) :type 'user-error)
    (let ((noninteractive nil) (neuron-council-show-progress t))
      (neuron-council-jobs--show)
      (should-not neuron-council-jobs--mode-line))
    ;; Stopping the server, or leaving Emacs, leaves it for the next start.
    (neuron-council-stop)
    (neuron-council-test-until (null neuron-council-rpc-jobs))
    (should (equal (neuron-council-test-folder "unsent") (list (concat (neuron-council-test-uuid 1) ".eld"))))))

(ert-deftest neuron-council-test-unsent-whose-files-are-whose ()
  (neuron-council-test-clean
    (let ((live (start-process "other" nil "sleep" "3600")))
      (unwind-protect
          (cl-flet ((free-p (n) (neuron-council-unsent--free-p
                                 (car (neuron-council-files-list (neuron-council-unsent-folder)
                                                                 (neuron-council-test-uuid n))))))
            (neuron-council-test-unsent 1)
            (neuron-council-test-unsent 2 (process-id live))
            (neuron-council-test-unsent 3 99999999)
            (neuron-council-test-unsent 4 (emacs-pid))
            (should (free-p 1))
            (should-not (free-p 2))
            (should (free-p 3))
            (neuron-council-test-unsent 5 "99999999@elsewhere")
            (neuron-council-test-unsent 6 (format "99999999@%s" (neuron-council-files--host)))
            (should-not (free-p 5))
            (should (free-p 6))
            (cl-letf (((symbol-value 'neuron-council-files--abandoned) -60))
              (should (free-p 5)))
            ;; An earlier Emacs may have had the same number.
            (should (free-p 4))
            (push (list (neuron-council-test-uuid 4)) neuron-council-unsent--taken)
            (should-not (free-p 4))
            (cl-letf (((symbol-function 'process-attributes)
                       (lambda (_) `((start . ,(time-add nil 60))))))
              (should (free-p 2)))
            (should (neuron-council-unsent--take (car (neuron-council-files-list (neuron-council-unsent-folder)
                                                                                 (neuron-council-test-uuid 1)))))
            (should-not (neuron-council-unsent--take (neuron-council-files-name (neuron-council-unsent-folder)
                                                                                (neuron-council-test-uuid 9)))))
        (delete-process live)))))

(ert-deftest neuron-council-test-unsent-files-that-are-broken ()
  "They are set aside, and the rest is submitted."
  (neuron-council-test-with nil
    (neuron-council-test-hearing
      (neuron-council-test-unsent 3)
      (let ((folder (neuron-council-unsent-folder)))
        (write-region "(:version 1" nil (concat folder (neuron-council-test-uuid 1) ".eld") nil 'quiet)
        (write-region (format "(:version 1 :id %S :claim 7)" (neuron-council-test-uuid 2))
                      nil (concat folder (neuron-council-test-uuid 2) ".99999999.eld") nil 'quiet)
        (dolist (name '("notes.txt" "notes.eld" "00000000-0000-4000-8000-000000000005.eld.5.new"))
          (write-region "mine" nil (concat folder name) nil 'quiet))
        (make-directory (concat folder (neuron-council-test-uuid 4) ".eld"))
        (should (neuron-council-verify "A claim"))
        (neuron-council-test-settled)
        (should (= 1 (length heard)))
        (should (equal (cdr (neuron-council-test-claims)) '("Claim 3")))
        (should (= 2 (cl-count-if (lambda (name) (string-suffix-p ".broken" name)) (directory-files folder))))
        (should (file-exists-p (concat folder "notes.txt")))
        (should (file-exists-p (concat folder "notes.eld")))))))

(ert-deftest neuron-council-test-unsent-is-forgotten-while-it-is-submitted ()
  (neuron-council-test-with '(:verify [(:delay 3600)] :answers (:council/forget (:error (:code -32001 :message "unknown"))))
    (neuron-council-test-unsent 1)
    (neuron-council-process-ensure)
    (neuron-council-test-until (neuron-council-test-seen "council/verify"))
    (neuron-council-forget (neuron-council-test-uuid 1))
    (should (equal (neuron-council-test-cancelled) (list (neuron-council-test-token 0))))
    (should-not (neuron-council-test-folder "unsent"))
    (neuron-council-test-until (null neuron-council-rpc-jobs))
    (should-not (neuron-council-test-folder "unsent"))))

(ert-deftest neuron-council-test-unsent-claim-that-ends-the-server ()
  "It is given up after the third time, not lost, and costs no other claim its verdict."
  (neuron-council-test-with '(:fatal "Claim 2")
    (neuron-council-test-hearing
      (dolist (n '(1 2 3)) (neuron-council-test-unsent n))
      (let ((said nil) (starts 0) (name (concat (neuron-council-test-uuid 2) ".eld.given-up")))
        (while (and (not (member name (neuron-council-test-folder "unsent"))) (< starts 9))
          (setq starts (1+ starts)
                said (neuron-council-test-messages
                       (neuron-council-restart)
                       (neuron-council-test-until (not (plist-get (neuron-council-process-status) :state)))
                       (neuron-council-test-until (null neuron-council-rpc-jobs)))))
        ;; At the first it may have another beside it.
        (should (<= 3 starts 4))
        (should (cl-some (lambda (text) (string-match-p "3 servers crashed over a claim.*given-up" text)) said))
        (neuron-council-restart)
        (neuron-council-test-settled)
        (should (neuron-council-process-ready-p))
        (should (equal (sort (mapcar #'car heard) #'string<)
                       (list (neuron-council-test-uuid 1) (neuron-council-test-uuid 3))))
        (should (equal (neuron-council-test-folder "unsent") (list name)))
        (should (= starts (cl-count "Claim 2" (neuron-council-test-claims) :test #'equal)))
        (neuron-council-unsent-forget (neuron-council-test-uuid 2))
        (should-not (neuron-council-test-folder "unsent"))))))

(ert-deftest neuron-council-test-unsent-claim-is-not-guilty-of-another ()
  "A person's claim ends the server; the one beside it is not given up for that."
  (neuron-council-test-with '(:fatal "Killer" :verify [(:delay 3600)])
    (neuron-council-test-unsent 1)
    (dotimes (n 4)
      (neuron-council-restart)
      (neuron-council-test-until
       (= (1+ n) (cl-count "Claim 1" (neuron-council-test-claims) :test #'equal)))
      (neuron-council-verify-async "Killer" nil #'ignore)
      (neuron-council-test-until (not (plist-get (neuron-council-process-status) :state)))
      (neuron-council-test-until (null neuron-council-rpc-jobs)))
    (should (equal (neuron-council-test-folder "unsent") (list (concat (neuron-council-test-uuid 1) ".eld"))))))

(ert-deftest neuron-council-test-unsent-claim-outlives-a-server-that-is-told-to-end ()
  (neuron-council-test-with '(:verify [(:delay 3600)])
    (neuron-council-test-unsent 1)
    (dotimes (n 4)
      (neuron-council-restart)
      (neuron-council-test-until
       (= (1+ n) (cl-count "Claim 1" (neuron-council-test-claims) :test #'equal)))
      (signal-process (neuron-council-process-server-process neuron-council-process--server) 'TERM)
      (neuron-council-test-until (not (plist-get (neuron-council-process-status) :state)))
      (neuron-council-test-until (null neuron-council-rpc-jobs)))
    (should (equal (neuron-council-test-folder "unsent") (list (concat (neuron-council-test-uuid 1) ".eld"))))))

;;; unsent-test.el ends here
