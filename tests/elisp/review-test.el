;;; review-test.el --- Tests of memories that a person decides on  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Code:

(require 'helper)
(require 'neuron-council-review)

(defconst neuron-council-test-parked
  (list :id (neuron-council-test-uuid 1) :tags ["council-split" "council-parked"] :confidence 0.65 :status "parked"
        :tier "T4" :summary "2/3 council members agree.")
  "Fields of a parked verdict.")

(defconst neuron-council-test-flagged
  (list :id (neuron-council-test-uuid 2) :tags ["unverified" "council-flagged"] :confidence 0.3)
  "Fields of a flagged verdict.")

(defmacro neuron-council-test-holding (fields answers &rest body)
  "Run BODY with a server whose verdicts have FIELDS and that gives ANSWERS.
Every policy keeps memories from being stored."
  (declare (indent 2))
  `(neuron-council-test-with (list :verify (vector (list :verdict ,fields)) :answers ,answers)
     (let ((neuron-council-parked-policy 'hold)
           (neuron-council-flagged-policy 'reject))
       ,@body)))

(defun neuron-council-test-held ()
  "Return the files of the memories that are held."
  (neuron-council-test-folder "held"))

(defun neuron-council-test-restart ()
  "Forget all that Emacs has in memory but what the test looks at."
  (let ((stored neuron-council-test-stored))
    (neuron-council-test-reset)
    (setq neuron-council-test-stored stored)))

(defun neuron-council-test-reviews ()
  "Return the parameters of the reviews that the server was sent, without tokens."
  (mapcar (lambda (message) (cl-loop for (key value) on (plist-get message :params) by #'cddr
                                     unless (eq key :workDoneToken) append (list key value)))
          (neuron-council-test-seen "council/review")))

(ert-deftest neuron-council-test-hold-keeps-the-memory ()
  (neuron-council-test-holding neuron-council-test-parked nil
    (let ((value 'unset))
      (should (cl-some (lambda (text) (string-match-p "neuron-council-accept.*neuron-council-reject" text))
                       (neuron-council-test-messages
                         (setq value (capture-memory-with-council "A claim" nil :text "東京" :list '(1 "two" (three)))))))
      (should-not value))
    (should-not neuron-council-test-stored)
    (should (equal (neuron-council-test-held) (list (concat (neuron-council-test-uuid 1) ".eld"))))
    (let ((file (concat neuron-council-test-home "council/held/" (car (neuron-council-test-held)))))
      (should (equal (file-modes file) #o600))
      (should (equal (file-modes (file-name-directory file)) #o700)))
    ;; Waiting or not.
    (capture-memory-with-council-async "A claim" nil :text "Osaka")
    (neuron-council-test-until (= 2 (length (neuron-council-test-held))))
    (should-not neuron-council-test-stored)
    (should-not (neuron-council-test-folder "unsent"))))

(ert-deftest neuron-council-test-hold-accept ()
  (neuron-council-test-holding neuron-council-test-parked nil
    (capture-memory-with-council "A claim" nil :text (propertize "東京" 'face 'bold) :list '(1 "two" (three)))
    (neuron-council-test-restart)
    (let ((value (neuron-council-accept (neuron-council-test-uuid 1) "I know it")))
      (should (equal value (list 'stored :text "東京" :list '(1 "two" (three))
                                 :council-confidence 0.65
                                 :council-tags '("council-split" "council-parked" "human-accepted")
                                 :council-id (neuron-council-test-uuid 1))))
      (should (equal neuron-council-test-stored (list (cdr value)))))
    (should (equal (neuron-council-test-reviews)
                   (list (list :id (neuron-council-test-uuid 1) :decision "accept" :note "I know it"))))
    (should-not (neuron-council-test-held))))

(ert-deftest neuron-council-test-hold-accept-again ()
  "It stores nothing twice; a later decision takes the place of an earlier one."
  (neuron-council-test-holding neuron-council-test-parked nil
    (capture-memory-with-council "A claim" nil 'node)
    (neuron-council-accept (neuron-council-test-uuid 1))
    (should-not (neuron-council-accept (neuron-council-test-uuid 1)))
    (should-not (neuron-council-reject (neuron-council-test-uuid 1) "Seen it"))
    (should (= 1 (length neuron-council-test-stored)))
    (should (equal (mapcar (lambda (params) (plist-get params :decision)) (neuron-council-test-reviews))
                   '("accept" "accept" "reject")))))

(ert-deftest neuron-council-test-hold-unknown-id ()
  "So are verdicts that nobody can decide on; either is the user's to mend."
  (dolist (answer '((:code -32001 :message "No verdict has the id x.")
                    (:code -32602 :message "id: Only a verdict that is parked, flagged or split awaits a decision.")))
    (neuron-council-test-holding nil (list :council/review (list :error answer))
      (dolist (decide '(neuron-council-accept neuron-council-reject neuron-council-restore))
        (let ((text (neuron-council-test-text (should-error (funcall decide (neuron-council-test-uuid 9))
                                                            :type 'user-error))))
          (unless (eq decide 'neuron-council-restore)
            (should (string-match-p "\\`Nothing was changed: \\(?:No verdict has\\|Only a verdict\\)" text)))))
      (should (= 2 (length (neuron-council-test-reviews)))))))

(ert-deftest neuron-council-test-hold-reject ()
  (neuron-council-test-holding neuron-council-test-parked nil
    (capture-memory-with-council "A claim" nil 'node)
    (neuron-council-test-restart)
    (should-not (neuron-council-reject (neuron-council-test-uuid 1)))
    (should (equal (neuron-council-test-reviews)
                   (list (list :id (neuron-council-test-uuid 1) :decision "reject"))))
    (should-not (neuron-council-test-held))
    (should-not neuron-council-test-stored)))

(ert-deftest neuron-council-test-hold-nothing-changes-without-the-server ()
  (dolist (answer '((:exit 1) (:error (:code -32803 :message "the ledger cannot be used"))
                    (:error (:code -32602 :message "note: must be at most 8,000 characters long"))))
    (neuron-council-test-holding neuron-council-test-parked (list :council/review answer)
      (capture-memory-with-council "A claim" nil 'node)
      (dolist (decide '(neuron-council-accept neuron-council-reject neuron-council-restore))
        (should (string-match-p "nothing was changed: "
                                (neuron-council-test-text (should-error (funcall decide (neuron-council-test-uuid 1))
                                                                        :type 'neuron-council-error)))))
      (should (= 1 (length (neuron-council-test-held))))
      (should-not neuron-council-test-stored))))

(ert-deftest neuron-council-test-hold-verdict-that-the-ledger-lost ()
  "The memory can be stored, and is rejected only by forgetting it."
  (neuron-council-test-holding neuron-council-test-parked
      '(:council/review (:error (:code -32001 :message "No verdict")) :council/forget (:error (:code -32001 :message "No")))
    (capture-memory-with-council "A claim" nil 'first)
    (should (string-match-p "neuron-council-forget"
                            (neuron-council-test-text (should-error (neuron-council-reject (neuron-council-test-uuid 1))
                                                                    :type 'neuron-council-error))))
    (should (= 1 (length (neuron-council-test-held))))
    (should (neuron-council-accept (neuron-council-test-uuid 1)))
    (should-not (neuron-council-test-held))
    (capture-memory-with-council "A claim" nil 'second)
    (neuron-council-forget (neuron-council-test-uuid 1))
    (should-not (neuron-council-test-held))))

(ert-deftest neuron-council-test-hold-store-that-fails-loses-nothing ()
  (neuron-council-test-holding neuron-council-test-parked nil
    (capture-memory-with-council "A claim" nil 'node)
    (let ((neuron-council-store-function (lambda (&rest _) (error "The disk is full"))))
      (should (equal (should-error (neuron-council-accept (neuron-council-test-uuid 1))) '(error "The disk is full"))))
    (let ((neuron-council-store-function 'engram-write-that-is-not-there))
      (should-error (neuron-council-accept (neuron-council-test-uuid 1)) :type 'user-error))
    (should (= 1 (length (neuron-council-test-reviews))))
    (should (equal 'stored (car (neuron-council-accept (neuron-council-test-uuid 1)))))))

(ert-deftest neuron-council-test-hold-several-memories-of-one-verdict ()
  "Equal claims share a verdict; none of their memories replaces another."
  (neuron-council-test-holding neuron-council-test-parked nil
    (dolist (node '(one two three)) (capture-memory-with-council "A claim" nil node))
    (should (= 3 (length (neuron-council-test-held))))
    (should (= 1 (length (neuron-council-review--held '(parked)))))
    (neuron-council-accept (neuron-council-test-uuid 1))
    (should (equal (sort (mapcar #'car neuron-council-test-stored) #'string<) '(one three two)))
    (should (= 1 (length (neuron-council-test-reviews))))
    (should-not (neuron-council-test-held))))

(ert-deftest neuron-council-test-hold-what-no-file-can-keep ()
  "It is stored with its tags under `hold', and not at all under `reject'."
  (let ((circle (list 1)))
    (setcdr circle circle)
    (neuron-council-test-holding neuron-council-test-parked nil
      (let ((count 0))
        (dolist (argument (list (current-buffer) (list (point-marker)) (vector (lambda () 1)) (lambda () count) #'car-safe
                                circle (symbol-function 'car) (make-symbol "fresh")))
          (unless (symbolp argument)
            (setq count (1+ count))
            (let ((said (neuron-council-test-messages
                          (should (eq 'stored (car (capture-memory-with-council "A claim" nil argument)))))))
              (should (cl-some (lambda (text) (string-match-p "cannot be kept" text)) said)))
            (should (= count (length neuron-council-test-stored)))
            (should (equal (plist-get (cdr (car neuron-council-test-stored)) :council-tags)
                           '("council-split" "council-parked")))))
        (should (= count 6)))
      (should-not (neuron-council-test-held)))
    (neuron-council-test-holding neuron-council-test-flagged nil
      (should-not (capture-memory-with-council "A claim" nil (current-buffer)))
      (should-not neuron-council-test-stored))))

(ert-deftest neuron-council-test-hold-home-that-cannot-be-written ()
  (neuron-council-test-holding neuron-council-test-parked nil
    (let ((process-environment (cons "NEURON_HOME=/proc/nowhere" process-environment)))
      (should (eq 'stored (car (capture-memory-with-council "A claim" nil 'node))))))
  ;; One that is rejected would be nowhere: whoever captured it must know.
  (neuron-council-test-holding neuron-council-test-flagged nil
    (let ((process-environment (cons "NEURON_HOME=/proc/nowhere" process-environment)))
      (should (string-match-p "flagged.*cannot be kept in a file: .*/proc/nowhere"
                              (neuron-council-test-text
                               (should-error (capture-memory-with-council "A claim" nil 'node)
                                             :type 'neuron-council-error)))))
    (should-not neuron-council-test-stored)))

(ert-deftest neuron-council-test-hold-answer-without-an-id ()
  "What cannot be named cannot be held; a name from outside leads nowhere else."
  (dolist (id '("../../../escaped" nil))
    (neuron-council-test-holding (plist-put (copy-sequence neuron-council-test-parked) :id id) nil
      (should (eq 'stored (car (capture-memory-with-council "A claim" nil 'node))))
      (should-not (directory-files-recursively neuron-council-test-home "escaped")))))

(ert-deftest neuron-council-test-hold-broken-files ()
  (neuron-council-test-holding neuron-council-test-parked nil
    (capture-memory-with-council "A claim" nil 'node)
    (let ((folder (neuron-council-held-folder)))
      (write-region "(:version 1 :reason" nil (concat folder (neuron-council-test-uuid 5) ".eld") nil 'quiet)
      (write-region (format "(:version 1 :id %S :reason parked :claim \"c\" :confidence 1 :tags nil :store-args 5)"
                            (neuron-council-test-uuid 6))
                    nil (concat folder (neuron-council-test-uuid 6) ".eld") nil 'quiet)
      (should (= 1 (length (neuron-council-held-records))))
      (should (= 2 (cl-count-if (lambda (name) (string-suffix-p ".broken" name)) (neuron-council-test-held)))))
    (should (neuron-council-accept (neuron-council-test-uuid 1)))))

(ert-deftest neuron-council-test-hold-record-that-names-a-file ()
  "What a record says of a file leads to no other."
  (neuron-council-test-holding neuron-council-test-parked nil
    (let ((other (concat neuron-council-test-home "precious")))
      (write-region "" nil other nil 'quiet)
      (neuron-council-files-write
       (neuron-council-files-name (neuron-council-held-folder) (neuron-council-test-uuid 1))
       (list :id (neuron-council-test-uuid 1) :file other :reason 'parked :claim "A claim" :confidence 0.5 :tags nil
             :store-args '(node)))
      (neuron-council-accept (neuron-council-test-uuid 1))
      (should (file-exists-p other))
      (should-not (neuron-council-test-held)))))

(ert-deftest neuron-council-test-hold-record-that-cannot-be-deleted ()
  "All are stored, and it is said that another decision would store them again."
  (neuron-council-test-holding neuron-council-test-parked nil
    (dolist (node '(one two)) (capture-memory-with-council "A claim" nil node))
    (let ((heard nil) (delete (symbol-function 'delete-file)))
      (cl-letf (((symbol-function 'delete-file)
                 (lambda (file &rest more)
                   (if (string-prefix-p (neuron-council-held-folder) file)
                       (signal 'file-error (list "Removing old name" "Read-only file system" file))
                     (apply delete file more)))))
        (let ((neuron-council-reviewed-functions (list (lambda (id &rest _) (push id heard)))))
          (should (string-match-p "is stored, but still held.*again.*Read-only"
                                  (neuron-council-test-text
                                   (should-error (neuron-council-accept (neuron-council-test-uuid 1))
                                                 :type 'neuron-council-error))))))
      (should (equal heard (list (neuron-council-test-uuid 1)))))
    (should (equal (sort (mapcar #'car neuron-council-test-stored) #'string<) '(one two)))))

(ert-deftest neuron-council-test-hold-quit-behind-the-store ()
  "What was stored is held no longer, though \\[keyboard-quit] was pressed in its last moment."
  (neuron-council-test-holding neuron-council-test-parked nil
    (capture-memory-with-council "A claim" nil 'one)
    (let ((neuron-council-store-function (lambda (&rest arguments)
                                           (apply #'neuron-council-test-store arguments)
                                           (setq quit-flag t))))
      (should (eq 'quit (condition-case nil (neuron-council-accept (neuron-council-test-uuid 1)) (quit 'quit)))))
    (should (= 1 (length neuron-council-test-stored)))
    (should-not (neuron-council-test-held))))

;;;; Reject and quarantine

(ert-deftest neuron-council-test-restore-what-was-rejected ()
  (neuron-council-test-holding neuron-council-test-flagged
      '(:council/show (:result (:confidence 0.3 :tags ["council-flagged"] :review (:decision "accept"))))
    (should-not (capture-memory-with-council "A claim" nil 'node))
    (should-not neuron-council-test-stored)
    (neuron-council-test-restart)
    (should (equal (neuron-council-restore (neuron-council-test-uuid 2))
                   (list 'stored 'node :council-confidence 0.3
                         :council-tags '("unverified" "council-flagged" "human-accepted")
                         :council-id (neuron-council-test-uuid 2))))
    (should-error (neuron-council-restore (neuron-council-test-uuid 2)) :type 'user-error)
    (should (= 1 (length neuron-council-test-stored)))
    (should (= 1 (length (neuron-council-test-reviews))))))

(ert-deftest neuron-council-test-restore-what-was-quarantined ()
  (neuron-council-test-holding neuron-council-test-flagged nil
    (let* ((quarantined nil)
           (neuron-council-flagged-policy 'quarantine)
           (neuron-council-quarantine-function (lambda (&rest arguments) (push arguments quarantined) 'there)))
      (should (eq 'there (capture-memory-with-council "A claim" nil 'node)))
      (should (= 1 (length quarantined)))
      (should (eq 'stored (car (neuron-council-restore (neuron-council-test-uuid 2)))))
      (should (= 1 (length quarantined)))
      ;; Where the quarantine fails the caller hears of it, as with a store function: nothing is kept that a second
      ;; try would keep again.
      (let ((neuron-council-quarantine-function (lambda (&rest _) (error "No room"))))
        (should (equal (should-error (capture-memory-with-council "A claim" nil 'node)) '(error "No room"))))
      (should-not (neuron-council-test-held))
      (let ((neuron-council-quarantine-function nil))
        (should (eq 'stored (car (capture-memory-with-council "A claim" nil 'node))))
        (should-not (neuron-council-test-held))))))

;;;; Memories that were stored before

(defmacro neuron-council-test-hearing (heard &rest body)
  "Run BODY with a function that pushes what it is told of decisions on HEARD."
  (declare (indent 1))
  `(let* ((,heard nil)
          (neuron-council-reviewed-functions
           (list (lambda (&rest _) (error "A soul without this memory"))
                 (lambda (id decision verdict) (push (list id decision (plist-get verdict :tags)) ,heard)))))
     ,@body))

(ert-deftest neuron-council-test-review-of-a-stored-memory ()
  "The decision is recorded and told; an error of one who hears it hides nothing."
  (neuron-council-test-with
      (list :verify (vector (list :verdict neuron-council-test-flagged))
            :answers (list :council/review
                           (list :result (append (list :claim "A claim" :summary "1/3."
                                                       :review '(:decision "accept" :note "Seen" :at 7))
                                                 neuron-council-test-flagged))))
    (neuron-council-test-hearing heard
      (should (eq 'stored (car (capture-memory-with-council "A claim" nil 'node))))
      (let ((said (neuron-council-test-messages
                    (should-not (neuron-council-accept (neuron-council-test-uuid 2) "Seen")))))
        (should (cl-some (lambda (text) (string-match-p "no memory was held" text)) said))
        (should (cl-some (lambda (text) (string-match-p "a function of .neuron-council-reviewed-functions.*without this"
                                                        text))
                         said)))
      (neuron-council-reject (neuron-council-test-uuid 2))
      (should (equal (reverse heard)
                     (list (list (neuron-council-test-uuid 2) "accept" '("unverified" "council-flagged"))
                           (list (neuron-council-test-uuid 2) "reject" '("unverified" "council-flagged")))))
      (should (= 1 (length neuron-council-test-stored)))
      (should (equal (plist-get (plist-get (neuron-council-verdict-find (neuron-council-test-uuid 2)) :review) :note)
                     "Seen")))))

(ert-deftest neuron-council-test-review-of-a-held-memory-is-told-too ()
  "What is told of it is what is known of it, also where the ledger lost the verdict."
  (dolist (answer '(nil (:council/review (:error (:code -32001 :message "No verdict")))))
    (neuron-council-test-holding neuron-council-test-parked answer
      (neuron-council-test-hearing heard
        (capture-memory-with-council "A claim" nil 'node)
        (neuron-council-test-restart)
        (neuron-council-accept (neuron-council-test-uuid 1))
        (should (equal heard (list (list (neuron-council-test-uuid 1) "accept" '("council-split" "council-parked")))))
        (should (member "human-accepted" (plist-get (cdr (car neuron-council-test-stored)) :council-tags)))))))

(ert-deftest neuron-council-test-review-without-the-ledger-tells-nobody ()
  (neuron-council-test-with (list :answers '(:council/review (:exit 1)))
    (neuron-council-test-hearing heard
      (should-error (neuron-council-accept (neuron-council-test-uuid 2)) :type 'neuron-council-error)
      (should-not heard))))

;;;; Without waiting

(defun neuron-council-test-outcomes (calls)
  "Make each of CALLS, functions of a callback, and return their outcomes in order."
  (let ((outcomes nil))
    (dolist (call calls)
      (let ((done nil))
        (funcall call (lambda (result condition)
                        (push (if condition (list 'failed (car condition) (neuron-council-errors-text condition))
                                result)
                              outcomes)
                        (setq done t)))
        (should-not done)
        (neuron-council-test-until done)))
    (nreverse outcomes)))

(ert-deftest neuron-council-test-review-submit ()
  (neuron-council-test-holding neuron-council-test-parked nil
    (capture-memory-with-council "A claim" nil 'one)
    (capture-memory-with-council "A claim" nil 'two)
    (let ((outcomes (neuron-council-test-outcomes
                     (list (apply-partially #'neuron-council-review-submit (neuron-council-test-uuid 1) "accept" "Yes")
                           (apply-partially #'neuron-council-review-submit (neuron-council-test-uuid 1) "reject" nil)))))
      (should (equal (plist-get (car outcomes) :memories) 2))
      (should (eq 'stored (car (plist-get (car outcomes) :value))))
      (should (equal (cadr outcomes) '(:memories 0 :value nil))))
    (should-not (neuron-council-test-held))
    (should (equal (neuron-council-test-reviews)
                   (list (list :id (neuron-council-test-uuid 1) :decision "accept" :note "Yes")
                         (list :id (neuron-council-test-uuid 1) :decision "reject"))))))

(ert-deftest neuron-council-test-review-submit-failures ()
  "They come to the callback, never to the caller, and lose nothing."
  (neuron-council-test-holding neuron-council-test-parked nil
    (capture-memory-with-council "A claim" nil 'one)
    (let* ((neuron-council-store-function (lambda (&rest _) (error "The disk is full")))
           (outcomes (neuron-council-test-outcomes
                      (list (apply-partially #'neuron-council-review-submit (neuron-council-test-uuid 1) "accept" nil)
                            (lambda (callback)
                              (let ((neuron-council-store-function 'not-there))
                                (neuron-council-review-submit (neuron-council-test-uuid 1) "accept" nil callback)))))))
      (should (equal (car outcomes) '(failed error "The disk is full")))
      (should (eq 'user-error (nth 1 (cadr outcomes)))))
    (should (= 1 (length (neuron-council-test-held))))
    (let ((neuron-council-store-function (lambda (&rest _) (signal 'quit nil))))
      (should (equal '(failed quit "Quit")
                     (car (neuron-council-test-outcomes
                           (list (apply-partially #'neuron-council-review-submit
                                                  (neuron-council-test-uuid 1) "accept" nil)))))))
    (should (= 1 (length (neuron-council-test-held)))))
  (neuron-council-test-holding neuron-council-test-parked '(:council/review (:exit 1))
    (capture-memory-with-council "A claim" nil 'one)
    (let ((outcome (car (neuron-council-test-outcomes
                         (list (apply-partially #'neuron-council-review-submit
                                                (neuron-council-test-uuid 1) "reject" nil))))))
      (should (string-match-p "nothing was changed: the server died" (nth 2 outcome))))
    (should (= 1 (length (neuron-council-test-held))))))

(ert-deftest neuron-council-test-reevaluate ()
  (neuron-council-test-with '(:answers (:council/reevaluate (:result (:queued 2))))
    (let ((said (neuron-council-test-messages
                  (neuron-council-reevaluate)
                  (neuron-council-reevaluate (list (neuron-council-test-uuid 3)))
                  (neuron-council-test-until (null neuron-council-rpc-jobs)))))
      (should (equal (delete-dups said) '("2 claims are judged again"))))
    (should (equal (mapcar (lambda (message) (plist-get (plist-get message :params) :ids))
                           (neuron-council-test-seen "council/reevaluate"))
                   (list nil (list (neuron-council-test-uuid 3)))))))

(ert-deftest neuron-council-test-forget-submit ()
  (neuron-council-test-holding neuron-council-test-parked nil
    (capture-memory-with-council "A claim" nil 'node)
    (should (equal (neuron-council-test-outcomes
                    (list (apply-partially #'neuron-council-review-forget-submit (neuron-council-test-uuid 1) nil)))
                   '(t)))
    (should-not (neuron-council-test-held))
    (should-not (neuron-council-verdict-find (neuron-council-test-uuid 1)))
    (should (eq 'failed (caar (neuron-council-test-outcomes
                               (list (apply-partially #'neuron-council-review-forget-submit "../x" nil))))))))

(ert-deftest neuron-council-test-forget-all-on-a-claim ()
  "Other verdicts at hand on the claim are forgotten with it, as in the ledger."
  (neuron-council-test-with nil
    (pcase-dolist (`(,n ,claim) '((1 "Tea") (2 "Rain") (3 "Tea") (4 nil)))
      (neuron-council-verdict-add (list :id (neuron-council-test-uuid n) :claim claim :confidence 1 :tags nil :summary "s")))
    (cl-flet ((left () (mapcar (lambda (verdict) (plist-get verdict :claim)) neuron-council-verdicts)))
      (neuron-council-forget (neuron-council-test-uuid 3))
      (should (equal (left) '(nil "Rain")))
      (neuron-council-forget (neuron-council-test-uuid 4))
      (should (equal (left) '("Rain")))
      ;; One that is not at hand itself.
      (neuron-council-test-outcomes
       (list (apply-partially #'neuron-council-review-forget-submit (neuron-council-test-uuid 9) "Rain")))
      (should-not (left)))))

;;;; As commands

(defmacro neuron-council-test-choosing (choose &rest body)
  "Run BODY where CHOOSE, a function of the candidates, answers `completing-read'.
The annotations of all candidates go to ANNOTATIONS."
  (declare (indent 1))
  `(let ((annotations nil))
     (cl-letf (((symbol-function 'completing-read)
                (lambda (_ table &rest _)
                  (let ((all (all-completions "" table)))
                    (setq annotations (mapcar (plist-get completion-extra-properties :annotation-function) all))
                    (funcall ,choose all)))))
       ,@body)))

(ert-deftest neuron-council-test-choosing-takes-the-held-one-by-its-plain-name ()
  "Of two verdicts on one claim, the one whose memory is held comes first and says so."
  (let* ((held (list :id (neuron-council-test-uuid 1) :claim "A claim" :reason 'parked :confidence 0.65 :tags nil))
         (other (list :id (neuron-council-test-uuid 2) :claim "A claim" :confidence 0.65 :tags nil))
         (choices (neuron-council-review--choices (list held other))))
    (should (equal (list (cons "A claim" held) (cons "A claim (2)" other)) choices))
    (should (string-match-p "memory held" (neuron-council-review--annotation held)))
    (should-not (string-match-p "memory" (neuron-council-review--annotation other)))))

(ert-deftest neuron-council-test-choosing-by-what-is-typed ()
  (let ((verdicts (list (list :id "550e8400-e29b-41d4-a716-446655440000" :claim "A")
                        (list :id "550e8400-e29b-41d4-a716-446655440001" :claim "B")
                        (list :id "660e8400-e29b-41d4-a716-446655440002" :claim "C"))))
    (should (equal "660e8400-e29b-41d4-a716-446655440002" (neuron-council-review--typed-id " 660E " verdicts)))
    (should (equal (neuron-council-test-uuid 5) (neuron-council-review--typed-id (neuron-council-test-uuid 5) verdicts)))
    (dolist (text '("" "Porto" "550e" "66" "660e8400-e29b-41d4-a716-446655440002x"))
      (should-error (neuron-council-review--typed-id text verdicts) :type 'user-error))))

(ert-deftest neuron-council-test-decide-by-choosing ()
  (neuron-council-test-holding neuron-council-test-parked nil
    (capture-memory-with-council "The first\nclaim" nil 'node)
    (neuron-council-test-choosing (lambda (all)
                                    (should (equal all '("The first claim")))
                                    (car all))
      (let ((current-prefix-arg '(4)))
        (cl-letf (((symbol-function 'read-string) (lambda (&rest _) "Because")))
          (call-interactively #'neuron-council-accept)))
      (should (string-match-p "0.65 council-split, council-parked  2/3 council members agree" (car annotations))))
    (should (equal (plist-get (car (neuron-council-test-reviews)) :note) "Because"))
    (should (= 1 (length neuron-council-test-stored)))
    (dolist (command '(neuron-council-accept neuron-council-reject neuron-council-restore))
      (should-error (call-interactively command) :type 'user-error))))

(ert-deftest neuron-council-test-decide-on-what-is-at-hand ()
  "Verdicts that a person can decide on can be chosen, once."
  (neuron-council-test-with '(:verify [(:verdict (:confidence 0.65)) (:verdict (:confidence 0.85))])
    (dolist (claim '("Tea is split" "Tea is hot"))
      (neuron-council-verdict-add (neuron-council-verify claim)))
    (neuron-council-test-choosing (lambda (all)
                                    (should (equal all '("Tea is split")))
                                    (car all))
      (call-interactively #'neuron-council-reject))
    (should (equal (plist-get (car (neuron-council-test-reviews)) :decision) "reject"))
    (should-error (call-interactively #'neuron-council-reject) :type 'user-error)))

(ert-deftest neuron-council-test-choosing-among-odd-verdicts ()
  (neuron-council-test-clean
    (dolist (odd '((:id "one" :claim nil) (:id "two" :claim 7 :tags "council-flagged" :summary [1])
                   (:id "three" :claim (a . b) :confidence "high" :tags (nil 5 "council-split"))))
      (neuron-council-verdict-add odd))
    (neuron-council-test-choosing #'car
      (should (equal (length (neuron-council-review--undecided)) 2))
      (should (equal (neuron-council-review--read-any "Which: ") "three"))
      (should (= 3 (length annotations))))))

(ert-deftest neuron-council-test-show-and-forget-as-commands ()
  (neuron-council-test-holding neuron-council-test-parked nil
    (capture-memory-with-council "A claim" nil 'node)
    (neuron-council-test-choosing #'car
      (let ((shown nil))
        (cl-letf (((symbol-function 'neuron-council-report-show) (lambda (id) (push id shown))))
          (call-interactively #'neuron-council-show))
        (should (equal shown (list (neuron-council-test-uuid 1)))))
      (cl-letf (((symbol-function 'yes-or-no-p) #'ignore))
        (should-error (call-interactively #'neuron-council-forget) :type 'user-error))
      (should (= 1 (length (neuron-council-test-held))))
      (should-not (neuron-council-test-seen "council/forget"))
      (cl-letf (((symbol-function 'yes-or-no-p) #'always))
        (call-interactively #'neuron-council-forget)))
    (should (equal (plist-get (plist-get (car (neuron-council-test-seen "council/forget")) :params) :id)
                   (neuron-council-test-uuid 1)))
    (should-not (neuron-council-test-held))
    (should-not neuron-council-verdicts)))

(ert-deftest neuron-council-test-forget-without-the-server ()
  "What is here is gone, and what may be left is said."
  (neuron-council-test-holding neuron-council-test-parked '(:council/forget (:exit 1))
    (capture-memory-with-council "A claim" nil 'node)
    (should (string-match-p "may still hold"
                            (neuron-council-test-text (should-error (neuron-council-forget (neuron-council-test-uuid 1))
                                                                    :type 'neuron-council-error))))
    (should-not (neuron-council-test-held))
    (should-error (neuron-council-forget "../x") :type 'neuron-council-error)))

;;;; Who may review

(ert-deftest neuron-council-test-review-is-out-of-the-captures-reach ()
  "Only the commands' own file can review; those for people alone may lead there."
  (let ((for-people '("review" "bulk" "list" "menu" "report")))
    (dolist (file (directory-files (expand-file-name "elisp" neuron-council-test-checkout) t "\\.el\\'"))
      (let ((noun (replace-regexp-in-string "\\`neuron-council-?" "" (file-name-base file))))
        (with-temp-buffer
          (insert-file-contents file)
          (unless (equal noun "review")
            (should-not (search-forward "council/review" nil t)))
          (unless (member noun for-people)
            (dolist (use '(;; Documentation may name the commands.
                           "neuron-council-review-" "([^)]*(neuron-council-\\(accept\\|restore\\|reject\\)\\_>"))
              (goto-char (point-min))
              (should-not (re-search-forward use nil t)))
            (goto-char (point-min))
            ;; The package's own file puts the commands on keys.
            (should (or (equal noun "")
                        (not (re-search-forward "(require 'neuron-council-\\(review\\|bulk\\|list\\|menu\\|report\\))" nil t))))))))))

;;; review-test.el ends here
