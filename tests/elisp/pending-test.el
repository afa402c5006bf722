;;; pending-test.el --- Tests of memories that wait for their verdict  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Code:

(require 'real)

(defun neuron-council-test-pending-keep (n &rest more)
  "Keep the memory \"Claim N\" as the Nth that an earlier Emacs left, with MORE in its record."
  (neuron-council-files-write
   (neuron-council-files-name (neuron-council-pending-folder) (neuron-council-test-uuid n))
   (append more (list :id (neuron-council-test-uuid n) :claim (format "Claim %d" n) :context nil :time (float n)
                      :store-args (list n)))))

(defun neuron-council-test-stored-first ()
  "Return the first argument of each memory that was stored, in that order."
  (reverse (mapcar #'car neuron-council-test-stored)))

(defun neuron-council-test-asked ()
  "Return the claims that the server was asked about, in that order."
  (mapcar (lambda (message) (plist-get (plist-get message :params) :claim))
          (neuron-council-test-seen "council/verify")))

(defun neuron-council-test-pending-over ()
  "Wait until no memory waits and no file is left."
  (neuron-council-test-until (and (null neuron-council-pending--queue) (null neuron-council-rpc-jobs)
                                  (null (neuron-council-test-folder "pending")))))

(defun neuron-council-test-in-emacs (&rest forms)
  "Return the process of another Emacs that evaluates FORMS, the package loaded."
  (make-process :name "child" :noquery t :connection-type 'pipe :buffer nil
                :command (list (expand-file-name invocation-name invocation-directory) "-Q" "--batch"
                               "-L" (file-name-directory (locate-library "neuron-council"))
                               "--eval" (prin1-to-string `(progn (require 'neuron-council)
                                                                 (setq neuron-council-server-command
                                                                       ',neuron-council-server-command)
                                                                 ,@forms)))))

;;;; Order

(ert-deftest neuron-council-test-pending-in-order ()
  "A verdict that comes first waits for those before it, whatever the policy."
  (neuron-council-test-with-gate gate
    (neuron-council-test-with `(:verify [(:gate ,gate) (:verdict (:confidence 0.3)) nil])
      (let* ((neuron-council-flagged-policy 'quarantine)
             (neuron-council-quarantine-function #'neuron-council-test-store))
        (dolist (n '(1 2 3 4))
          (capture-memory-with-council-async (format "Claim %d" n) nil n))
        (neuron-council-test-until (cl-some #'neuron-council-pending--memory-verdict neuron-council-pending--queue))
        (should-not neuron-council-test-stored)
        (should (= 4 (length (neuron-council-test-folder "pending"))))
        (neuron-council-test-pass gate)
        (neuron-council-test-pending-over)
        (should (equal (neuron-council-test-stored-first) '(1 2 3 4)))
        (should (equal (mapcar (lambda (stored) (plist-get (cdr stored) :council-tags))
                               (reverse neuron-council-test-stored))
                       '(("verified") ("unverified" "council-flagged") ("verified") ("verified"))))))))

(ert-deftest neuron-council-test-pending-earlier-ones-have-a-time-limit ()
  (neuron-council-test-with-ready [(:delay 3600) nil]
    (let ((neuron-council-timeout 0.1))
      (capture-memory-with-council-async "Claim 1" nil 1))
    (capture-memory-with-council-async "Claim 2" nil 2)
    (neuron-council-test-until (= 2 (length neuron-council-test-stored)))
    (should (equal (neuron-council-test-stored-first) '(1 2)))
    (should (equal (plist-get (cdr (car (last neuron-council-test-stored))) :council-tags) '("council-unavailable")))))

(ert-deftest neuron-council-test-pending-a-few-at-a-time ()
  "A flood must not run into the server's deadline, nor hold up who waits for an answer."
  (neuron-council-test-with nil
    (let* ((most 0)
           (count (lambda (&rest _)
                    (setq most (max most (cl-count-if (lambda (job) (memq (neuron-council-job-state job) '(queued sent)))
                                                      neuron-council-rpc-jobs))))))
      (advice-add 'neuron-council-rpc-submit :after count)
      (unwind-protect
          (progn
            (dotimes (n 7) (capture-memory-with-council-async (format "Claim %d" n) nil n))
            (should (= 7 (length neuron-council-rpc-jobs)))
            (neuron-council-test-pending-over))
        (advice-remove 'neuron-council-rpc-submit count))
      (should (= most 2))
      (should (equal (neuron-council-test-stored-first) '(0 1 2 3 4 5 6)))
      (dolist (message (neuron-council-test-seen "council/verify"))
        (should (eq t (plist-get (plist-get message :params) :background)))))))

(ert-deftest neuron-council-test-pending-clock-that-is-set-back ()
  (neuron-council-test-with nil
    (let ((now 2000000000.0))
      (cl-letf (((symbol-function 'float-time) (lambda (&rest _) (setq now (- now 50)))))
        (dolist (n '(1 2 3)) (capture-memory-with-council-async (format "Claim %d" n) nil n)))
      (neuron-council-test-pending-over)
      (should (equal (neuron-council-test-stored-first) '(1 2 3))))))

(ert-deftest neuron-council-test-pending-store-function-that-waits ()
  "What comes in while a memory is being stored is stored behind it, once."
  (neuron-council-test-with-ready [nil]
    (let* ((inside 0)
           (neuron-council-store-function
            (lambda (&rest arguments)
              (should (= 1 (setq inside (1+ inside))))
              (neuron-council-test-until (cl-every #'neuron-council-pending--memory-verdict
                                                   neuron-council-pending--queue))
              (setq inside (1- inside))
              (apply #'neuron-council-test-store arguments))))
      (dolist (n '(1 2 3)) (capture-memory-with-council-async (format "Claim %d" n) nil n))
      (neuron-council-test-pending-over)
      (should (equal (neuron-council-test-stored-first) '(1 2 3))))))

(ert-deftest neuron-council-test-pending-in-its-buffer ()
  (neuron-council-test-with nil
    (let* ((names nil)
           (neuron-council-store-function (lambda (&rest _) (push (buffer-name) names))))
      (with-temp-buffer
        (rename-buffer "gone by then")
        (capture-memory-with-council-async "Claim 1" nil))
      (with-temp-buffer
        (rename-buffer "there")
        (capture-memory-with-council-async "Claim 2" nil)
        (neuron-council-test-pending-over))
      (should (equal (car names) "there"))
      (should-not (equal (cadr names) "there")))))

;;;; Cancelling

(ert-deftest neuron-council-test-pending-stop ()
  "Stopping the server stores what waits, in order, and starts no other server."
  (neuron-council-test-with '(:verify [(:delay 3600)])
    (dolist (n '(1 2 3 4)) (capture-memory-with-council-async (format "Claim %d" n) nil n))
    (neuron-council-test-until (= 2 (length (neuron-council-test-asked))))
    (neuron-council-stop)
    (neuron-council-test-pending-over)
    (accept-process-output nil 0.05)
    (should (equal (neuron-council-test-stored-first) '(1 2 3 4)))
    (should-not (get-process "neuron-council"))
    (should (= 4 (length (neuron-council-test-folder "unsent"))))
    (should (= 2 (length (neuron-council-test-asked))))))

(ert-deftest neuron-council-test-pending-cancel-one-that-has-not-its-turn ()
  (neuron-council-test-with nil
    (let ((jobs (mapcar (lambda (n) (capture-memory-with-council-async (format "Claim %d" n) nil n)) '(1 2 3 4))))
      (should (eq 'made (neuron-council-job-state (neuron-council-rpc-find (nth 2 jobs)))))
      (should (neuron-council-cancel (nth 2 jobs)))
      (should (neuron-council-cancel (nth 0 jobs)))
      (neuron-council-test-pending-over)
      (should (equal (neuron-council-test-stored-first) '(2 4)))
      (should-not (member "Claim 3" (neuron-council-test-asked)))
      (should-not (neuron-council-test-folder "unsent")))))

(ert-deftest neuron-council-test-pending-forget ()
  (neuron-council-test-with nil
    (dolist (n '(1 2 3)) (capture-memory-with-council-async (format "Claim %d" n) nil n))
    (neuron-council-pending-forget (neuron-council-pending--memory-id (nth 1 neuron-council-pending--queue)))
    (should (= 2 (length (neuron-council-test-folder "pending"))))
    (neuron-council-test-pending-over)
    (should (equal (neuron-council-test-stored-first) '(1 3)))))

;;;; Files

(ert-deftest neuron-council-test-pending-is-kept-before-it-is-sent ()
  (neuron-council-test-with nil
    (let ((seen nil) (submit (symbol-function 'neuron-council-rpc-submit)))
      (cl-letf (((symbol-function 'neuron-council-rpc-submit)
                 (lambda (job &rest more)
                   (let* ((name (car (neuron-council-test-folder "pending")))
                          (file (concat neuron-council-test-home "council/pending/" name)))
                     (setq seen (list name (file-modes file) (file-modes (file-name-directory file))
                                      (with-temp-buffer (insert-file-contents file) (read (current-buffer)))
                                      (neuron-council-job-params job))))
                   (apply submit job more))))
        (capture-memory-with-council-async (propertize "A claim" 'face 'bold) "A context" 'node :kind "fact"))
      (pcase-let* ((`(,name ,mode ,folder-mode ,record ,params) seen)
                   (id (plist-get params :id)))
        (should (equal name (neuron-council-test-taken id)))
        (should (= mode #o600))
        (should (= folder-mode #o700))
        (should (equal (plist-get record :claim) "A claim"))
        (should (equal (plist-get record :context) "A context"))
        (should (equal (plist-get record :store-args) '(node :kind "fact")))
        ;; One file for one claim.
        (should-not (neuron-council-test-folder "unsent"))
        (neuron-council-test-pending-over)
        (should (equal id (plist-get (cdddr (car neuron-council-test-stored)) :council-id)))
        (should-not (neuron-council-test-folder "unsent"))))))

(ert-deftest neuron-council-test-pending-costs-little ()
  "Submitting the largest memory writes one file."
  (neuron-council-test-with-ready [nil]
    (let ((best 1000) (files 0))
      (cl-letf* ((write (symbol-function 'write-region))
                 ((symbol-function 'write-region)
                  (lambda (&rest arguments)
                    (setq files (1+ files))
                    (apply write arguments))))
        (dotimes (n 10)
          (let ((start (float-time (get-internal-run-time))))
            (capture-memory-with-council-async (make-string 8000 ?é) (make-string 24000 ?x) n
                                               :text (make-string 8000 ?é))
            (setq best (min best (* 1000 (- (float-time (get-internal-run-time)) start)))))))
      (message "Submitting a memory takes %.2f ms" best)
      (should (= files 10)))
    (neuron-council-test-pending-over)))

(ert-deftest neuron-council-test-pending-what-no-file-keeps ()
  "It is judged and stored by this Emacs, in its turn, and at exit at the latest."
  (neuron-council-test-with nil
    (let ((marker (with-temp-buffer (point-marker))) (text "kept"))
      (capture-memory-with-council-async "Claim 1" nil (current-buffer))
      (capture-memory-with-council-async "Claim 2" nil marker)
      (capture-memory-with-council-async "Claim 3" nil (lambda () text))
      (capture-memory-with-council-async "Claim 4" nil 4)
      (should (= 1 (length (neuron-council-test-folder "pending"))))
      (neuron-council-test-pending-over)
      (pcase (neuron-council-test-stored-first)
        (`(,buffer ,marker-then ,function 4)
         (should (eq buffer (current-buffer)))
         (should (eq marker-then marker))
         (should (equal (funcall function) "kept")))
        (other (ert-fail other))))
    ;; Where no server judged it, its claim waits for one.
    (neuron-council-stop)
    (let ((neuron-council-server-command '("/nonexistent/neuron-council" "serve")))
      (capture-memory-with-council-async "Claim 5" "A context" (current-buffer))
      (neuron-council-test-pending-over))
    (should (= 1 (length (neuron-council-test-folder "unsent"))))))

(ert-deftest neuron-council-test-pending-home-that-cannot-be-written ()
  (neuron-council-test-with nil
    (let ((process-environment (cons "NEURON_HOME=/proc/nowhere" process-environment)))
      (should (cl-some (lambda (text) (string-match-p "cannot be kept in a file" text))
                       (neuron-council-test-messages
                         (capture-memory-with-council-async "A claim" nil 'node))))
      (neuron-council-test-until neuron-council-test-stored)
      (should (equal (plist-get (cdr (car neuron-council-test-stored)) :council-tags) '("verified"))))))

(ert-deftest neuron-council-test-pending-becomes-unsent ()
  "Without a server the memory is stored, and its claim waits for one, in one file."
  (neuron-council-test-with nil
    (let ((neuron-council-server-command '("/nonexistent/neuron-council" "serve")))
      (capture-memory-with-council-async "Claim 1" "A context" 'node)
      (neuron-council-test-pending-over))
    (let ((id (plist-get (cdr (car neuron-council-test-stored)) :council-id)) (heard nil))
      (should (equal (neuron-council-test-folder "unsent") (list (concat id ".eld"))))
      (let ((neuron-council-reevaluated-functions (list (lambda (id _) (push id heard)))))
        (neuron-council-process-ensure)
        (neuron-council-test-until (null (neuron-council-test-folder "unsent"))))
      (should (equal heard (list id)))
      (should (equal (neuron-council-test-asked) '("Claim 1")))
      (should (= 1 (length neuron-council-test-stored))))))

;;;; Store functions that fail

(ert-deftest neuron-council-test-pending-store-function-that-fails ()
  "The memory is kept with its verdict; the next ones are stored; it can be tried again."
  (dolist (fail (list (lambda () (error "The disk is full")) (lambda () (signal 'quit nil)) (lambda () (throw 'out t))))
    (dolist (argument (list "kept in a file" (current-buffer)))
      (neuron-council-test-with '(:verify [(:verdict (:confidence 0.3)) nil])
        (let* ((broken t)
               (neuron-council-store-function
                (lambda (&rest arguments)
                  (when (and broken (equal (car arguments) argument)) (funcall fail))
                  (apply #'neuron-council-test-store arguments)))
               (messages (neuron-council-test-messages
                           (catch 'out
                             (capture-memory-with-council-async "Claim 1" nil argument)
                             (neuron-council-test-until (null neuron-council-rpc-jobs)))
                           (capture-memory-with-council-async "Claim 2" nil 2)
                           (neuron-council-test-until (and neuron-council-test-stored (null neuron-council-rpc-jobs))))))
          (should (cl-some (lambda (text) (string-match-p "could not be stored: .*it is kept.*resume-pending" text))
                           messages))
          (should (equal (neuron-council-test-stored-first) '(2)))
          (should-not (string-match-p "Claim" (with-current-buffer (neuron-council-log-buffer)
                                                (let ((case-fold-search nil)) (buffer-string)))))
          (should (= (if (stringp argument) 1 0) (length (neuron-council-test-folder "pending"))))
          (should (eq 'unstored (plist-get (cl-find "Claim 1" neuron-council-verdicts
                                                    :key (lambda (each) (plist-get each :claim)) :test #'equal)
                                           :fate)))
          (should (neuron-council-pending-p))
          (setq broken nil)
          (should (= 1 (neuron-council-resume-pending)))
          (neuron-council-test-pending-over)
          (should-not (neuron-council-pending-p))
          (should (equal (neuron-council-test-stored-first) (list 2 argument)))
          ;; Its verdict was known: the council was not asked again.
          (should (equal (neuron-council-test-asked) '("Claim 1" "Claim 2")))
          (should (equal (plist-get (cdr (car neuron-council-test-stored)) :council-tags)
                         '("unverified" "council-flagged"))))))))

(ert-deftest neuron-council-test-pending-unjudged-and-not-stored ()
  "A memory that was neither judged nor stored is judged at the next try."
  (neuron-council-test-with nil
    (let ((neuron-council-server-command '("/nonexistent/neuron-council" "serve"))
          (neuron-council-store-function (lambda (&rest _) (error "The disk is full"))))
      (capture-memory-with-council-async "Claim 1" nil 1)
      (neuron-council-test-until (null neuron-council-rpc-jobs)))
    (should (= 1 (length (neuron-council-test-folder "pending"))))
    (should-not (neuron-council-test-folder "unsent"))
    (neuron-council-resume-pending)
    (neuron-council-test-pending-over)
    (should (equal (plist-get (cdr (car neuron-council-test-stored)) :council-tags) '("verified")))))

(ert-deftest neuron-council-test-pending-quarantine-that-fails ()
  "However often it is tried again, one memory is kept to be restored."
  (neuron-council-test-with '(:verify [(:verdict (:confidence 0.3))])
    (let* ((broken t)
           (neuron-council-flagged-policy 'quarantine)
           (neuron-council-quarantine-function (lambda (&rest arguments)
                                                 (when broken (error "The disk is full"))
                                                 (apply #'neuron-council-test-store arguments))))
      (capture-memory-with-council-async "Claim 1" nil 1)
      (neuron-council-test-until (null neuron-council-rpc-jobs))
      (should-not (neuron-council-test-folder "held"))
      (neuron-council-resume-pending)
      (should-not (neuron-council-test-folder "held"))
      (setq broken nil)
      (neuron-council-resume-pending)
      (neuron-council-test-pending-over)
      (should (equal (neuron-council-test-stored-first) '(1)))
      (should (= 1 (length (neuron-council-test-folder "held")))))))

(ert-deftest neuron-council-test-pending-quit-behind-the-store ()
  "What was stored is not stored again, though \\[keyboard-quit] was pressed in its last moment."
  (neuron-council-test-with nil
    (neuron-council-test-pending-keep 1 :verdict (list :id (neuron-council-test-uuid 1) :claim "Claim 1" :confidence 0.3
                                                       :tags '("council-flagged") :summary "s"))
    (neuron-council-test-pending-keep 2 :verdict (list :id (neuron-council-test-uuid 2) :claim "Claim 2" :confidence 0.3
                                                       :tags '("council-flagged") :summary "s"))
    (let ((neuron-council-store-function (lambda (&rest arguments)
                                           (apply #'neuron-council-test-store arguments)
                                           (setq quit-flag t))))
      (should (eq 'quit (condition-case nil (neuron-council-resume-pending) (quit 'quit)))))
    (neuron-council-test-until (= 2 (length neuron-council-test-stored)))
    (neuron-council-test-pending-over)
    (should-not (neuron-council-pending-p))
    (should (equal (neuron-council-test-stored-first) '(1 2)))))

(ert-deftest neuron-council-test-pending-throw-does-not-stop-the-queue ()
  "Those behind a memory whose store function is left by a throw are stored."
  (neuron-council-test-with nil
    (dolist (n '(1 2 3))
      (neuron-council-test-pending-keep n :verdict (list :id (neuron-council-test-uuid n) :claim "A claim" :confidence 0.3
                                                         :tags '("council-flagged") :summary "s")))
    (let ((neuron-council-store-function (lambda (&rest arguments)
                                           (when (equal (car arguments) 1) (throw 'out nil))
                                           (apply #'neuron-council-test-store arguments))))
      (catch 'out (neuron-council-resume-pending))
      (neuron-council-test-until (= 2 (length neuron-council-test-stored))))
    (should (equal (neuron-council-test-stored-first) '(2 3)))
    (should (= 1 (length (neuron-council-test-folder "pending"))))))

(ert-deftest neuron-council-test-pending-submission-that-is-left ()
  "A throw through the submission, of somebody's `with-timeout' say, is nobody's wish to store nothing."
  (neuron-council-test-with nil
    (cl-letf (((symbol-function 'neuron-council-program-command) (lambda () (throw 'out nil))))
      (catch 'out (capture-memory-with-council-async "Claim 1" nil 1))
      (neuron-council-test-until neuron-council-test-stored))
    (should (equal (plist-get (cdr (car neuron-council-test-stored)) :council-tags) '("council-unavailable")))
    (should (= 1 (length (neuron-council-test-folder "unsent"))))))

(ert-deftest neuron-council-test-pending-file-that-cannot-be-taken ()
  "It is said, and keeps nothing else from being stored."
  (neuron-council-test-with nil
    (dolist (n '(1 2))
      (neuron-council-test-pending-keep n :verdict (list :id (neuron-council-test-uuid n) :claim "A claim" :confidence 0.3
                                                         :tags '("council-flagged") :summary "s")))
    (let ((neuron-council-store-function (lambda (&rest _) (error "Not now"))))
      (capture-memory-with-council-async "Claim 3" nil (current-buffer))
      (neuron-council-test-until (null neuron-council-rpc-jobs)))
    (let* ((rename (symbol-function 'rename-file))
           (said (neuron-council-test-messages
                   (cl-letf (((symbol-function 'rename-file)
                              (lambda (file &rest more)
                                (if (string-match-p (neuron-council-test-uuid 1) file)
                                    (signal 'file-error '("Renaming" "Read-only file system"))
                                  (apply rename file more)))))
                     (neuron-council-resume-pending)))))
      (should (cl-some (lambda (text) (string-match-p "cannot be taken up: .*Read-only" text)) said)))
    (should (equal (neuron-council-test-stored-first) (list 2 (current-buffer))))
    (should (= 1 (length (neuron-council-test-folder "pending"))))))

(ert-deftest neuron-council-test-pending-home-that-is-deleted ()
  "Neither the memory nor its claim is lost with the folder in which they were kept."
  (neuron-council-test-with nil
    (let ((neuron-council-server-command '("/nonexistent/neuron-council" "serve"))
          (neuron-council-store-function (lambda (&rest _) (error "The disk is full"))))
      (capture-memory-with-council-async "Claim 1" nil 1)
      (delete-directory (concat neuron-council-test-home "council") t)
      (neuron-council-test-until (null neuron-council-rpc-jobs)))
    (should (neuron-council-pending-p))
    (let ((neuron-council-server-command '("/nonexistent/neuron-council" "serve")))
      (neuron-council-resume-pending)
      (delete-directory (concat neuron-council-test-home "council") t)
      (neuron-council-test-pending-over))
    (should (equal (neuron-council-test-stored-first) '(1)))
    (should (= 1 (length (neuron-council-test-folder "unsent"))))))

(ert-deftest neuron-council-test-pending-folder-that-is-full ()
  "A memory that can be neither stored nor kept with its verdict is there for another try, once."
  (dolist (command (list nil '("/nonexistent/neuron-council" "serve")))
    (neuron-council-test-with '(:verify [(:verdict (:confidence 0.3))])
      (let ((neuron-council-server-command (or command neuron-council-server-command))
            (neuron-council-store-function
             (lambda (&rest _)
               (delete-directory (concat neuron-council-test-home "council") t)
               (write-region "" nil (concat neuron-council-test-home "council") nil 'quiet)
               (error "The disk is full"))))
        (capture-memory-with-council-async "Claim 1" nil 1)
        (neuron-council-test-until (null neuron-council-rpc-jobs)))
      (delete-file (concat neuron-council-test-home "council"))
      (should (= 1 (neuron-council-resume-pending)))
      (neuron-council-test-pending-over)
      (should (equal (neuron-council-test-stored-first) '(1)))
      (should (zerop (neuron-council-resume-pending))))))

(ert-deftest neuron-council-test-pending-unstored-is-one-file ()
  "At no moment two files hold a memory, so that no death between lets it be stored twice."
  (neuron-council-test-with nil
    (let ((most 0)
          (neuron-council-store-function (lambda (&rest _) (error "The disk is full"))))
      (cl-letf* ((delete (symbol-function 'delete-file))
                 (rename (symbol-function 'rename-file))
                 (count (lambda () (setq most (max most (length (neuron-council-files-list
                                                                 (neuron-council-pending-folder)))))))
                 ((symbol-function 'delete-file) (lambda (&rest all) (funcall count) (apply delete all) (funcall count)))
                 ((symbol-function 'rename-file) (lambda (&rest all) (funcall count) (apply rename all) (funcall count))))
        (capture-memory-with-council-async "Claim 1" nil 1)
        (neuron-council-test-until (null neuron-council-rpc-jobs)))
      (should (= most 1))
      (should (= 1 (length (neuron-council-test-folder "pending")))))))

(ert-deftest neuron-council-test-pending-forget-what-no-file-keeps ()
  (neuron-council-test-with nil
    (let* ((neuron-council-store-function (lambda (&rest _) (error "Not now")))
           (job (neuron-council-rpc-find
                 (capture-memory-with-council-async "Claim 1" nil (current-buffer)))))
      (neuron-council-test-until (null neuron-council-rpc-jobs))
      (should (neuron-council-pending-p))
      (neuron-council-pending-forget (plist-get (neuron-council-job-params job) :id)))
    (should-not (neuron-council-pending-p))
    (should (zerop (neuron-council-resume-pending)))))

;;;; Another life

(ert-deftest neuron-council-test-pending-of-another-host ()
  "What an Emacs on another host works on is left alone for a day; old names go on working."
  (neuron-council-test-with nil
    (let ((folder (neuron-council-pending-folder)) (live (start-process "other" nil "sleep" "3600")))
      (unwind-protect
          (cl-flet ((keep (n owner)
                      (neuron-council-test-pending-keep n)
                      (rename-file (neuron-council-files-name folder (neuron-council-test-uuid n))
                                   (neuron-council-files-name folder (neuron-council-test-uuid n) owner))))
            ;; The same number means another process there, and here one that has ended.
            (keep 1 "99999999@elsewhere-17")
            (keep 2 (format "99999999@%s" (neuron-council-files--host)))
            (keep 3 99999999)
            (keep 4 (process-id live))
            (keep 5 (format "%d@%s" (process-id live) (neuron-council-files--host)))
            (keep 6 (format "%d@elsewhere-17" (emacs-pid)))
            (let ((said (let ((noninteractive nil) (neuron-council-show-progress nil))
                          (neuron-council-test-messages (call-interactively #'neuron-council-resume-pending)))))
              (should (string-match-p "\\`2 memories are taken up.*another host (2) are, a day after" (car (last said)))))
            (neuron-council-test-until (= 2 (length neuron-council-test-stored)))
            (should (equal (neuron-council-test-stored-first) '(2 3)))
            (should (= 4 (length (neuron-council-test-folder "pending"))))
            ;; A day later.
            (cl-letf (((symbol-value 'neuron-council-files--abandoned) -60))
              (should (equal (cl-count-if (lambda (text) (string-match-p "on elsewhere-17 has left for a day" text))
                                          (neuron-council-test-messages (neuron-council-resume-pending)))
                             2)))
            (neuron-council-test-until (= 4 (length neuron-council-test-stored)))
            (should (equal (neuron-council-test-stored-first) '(2 3 1 6)))
            (should (= 2 (length (neuron-council-test-folder "pending")))))
        (delete-process live)))))

(ert-deftest neuron-council-test-pending-survives-kill-9 ()
  "The next Emacs stores what the dead one left: once, in order, with the same ids, before its own."
  (neuron-council-test-with '(:verify [(:delay 3600)])
    (let* ((child (neuron-council-test-in-emacs
                   '(setq neuron-council-store-function #'ignore)
                   '(dolist (n '(1 2 3)) (capture-memory-with-council-async (format "Claim %d" n) nil n :text "é\n\"x\""))
                   '(while t (accept-process-output nil 0.1))))
           (names (neuron-council-test-until (let ((names (neuron-council-test-folder "pending")))
                                               (and (= 3 (cl-count-if (lambda (name) (string-suffix-p ".eld" name))
                                                                      names))
                                                    (= 3 (length names))
                                                    names))))
           (ids (mapcar (lambda (name) (substring name 0 36)) names)))
      (should (equal names (mapcar (lambda (id) (neuron-council-test-taken id (process-id child))) ids)))
      ;; A living Emacs keeps its own.
      (should (zerop (neuron-council-resume-pending)))
      (signal-process child 'SIGKILL)
      (neuron-council-test-until (not (process-live-p child)))
      (should (equal names (neuron-council-test-folder "pending")))
      (let ((neuron-council-server-command (neuron-council-test-command nil)))
        (capture-memory-with-council-async "Claim 4" nil 4)
        (neuron-council-test-until (= 4 (length neuron-council-test-stored)))
        (neuron-council-test-pending-over)
        ;; It was asked about before a server was ready, and still stored behind the older ones.
        (should (equal (neuron-council-test-stored-first) '(1 2 3 4)))
        (dolist (stored (cdr neuron-council-test-stored))
          (should (equal (plist-get (cdr stored) :text) "é\n\"x\""))
          (should (member (plist-get (cdr stored) :council-id) ids)))
        (should-not (neuron-council-test-folder "unsent"))))))

(ert-deftest neuron-council-test-pending-killed-while-it-is-kept ()
  "A memory that is held or in quarantine is kept once, though Emacs died before it left the queue."
  (dolist (seam '((setq neuron-council-flagged-policy 'quarantine
                        neuron-council-quarantine-function (lambda (&rest _) (signal-process (emacs-pid) 'SIGKILL)))
                  (progn (setq neuron-council-flagged-policy 'reject)
                         (advice-add 'neuron-council-files-delete :before
                                     (lambda (&rest _) (signal-process (emacs-pid) 'SIGKILL))))))
    (neuron-council-test-with '(:verify [(:verdict (:confidence 0.3))])
      (dotimes (_ 2)
        (let ((child (neuron-council-test-in-emacs
                      '(setq neuron-council-store-function #'ignore)
                      seam
                      '(capture-memory-with-council-async "Claim 1" nil 1)
                      '(while t (accept-process-output nil 0.1)))))
          (neuron-council-test-until (not (process-live-p child)))))
      ;; The second died over what the first had left.
      (should (neuron-council-test-folder "held"))
      (should (= 2 (length (neuron-council-test-folder "pending"))))
      (let ((neuron-council-flagged-policy (if (eq (car seam) 'setq) 'quarantine 'reject))
            (neuron-council-quarantine-function #'neuron-council-test-store))
        (should (= 2 (neuron-council-resume-pending)))
        (neuron-council-test-pending-over))
      (should (= 2 (length (neuron-council-test-folder "held")))))))

(ert-deftest neuron-council-test-pending-earlier-lives-come-first ()
  (neuron-council-test-with nil
    (dolist (n '(2 1 3)) (neuron-council-test-pending-keep n))
    (neuron-council-test-pending-keep 4 :verdict (list :id (neuron-council-test-uuid 4) :claim "Claim 4" :confidence 0.3
                                                       :tags '("council-flagged") :summary "s"))
    (should (= 4 (neuron-council-resume-pending)))
    (capture-memory-with-council-async "Claim 5" nil 5)
    (should-not neuron-council-test-stored)
    (neuron-council-test-pending-over)
    (should (equal (neuron-council-test-stored-first) '(1 2 3 4 5)))
    (should (equal (sort (neuron-council-test-asked) #'string<) '("Claim 1" "Claim 2" "Claim 3" "Claim 5")))
    (should (equal (mapcar (lambda (stored) (plist-get (cdr stored) :council-id)) (cdr neuron-council-test-stored))
                   (mapcar #'neuron-council-test-uuid '(4 3 2 1))))))

(ert-deftest neuron-council-test-pending-resumes-when-a-server-is-ready ()
  (neuron-council-test-with nil
    (neuron-council-test-pending-keep 1)
    (let ((neuron-council-store-function 'engram-write-that-is-not-there))
      (should (cl-some (lambda (text) (string-match-p "Memories wait.*engram-write-that-is-not-there" text))
                       (neuron-council-test-messages
                         (neuron-council-process-ensure)
                         (neuron-council-test-until (neuron-council-process-ready-p))
                         (neuron-council-test-until messages))))
      (should (neuron-council-test-folder "pending")))
    (neuron-council-restart)
    (neuron-council-test-pending-over)
    (should (equal (neuron-council-test-stored-first) '(1)))))

(ert-deftest neuron-council-test-pending-file-that-cannot-be-deleted ()
  "Its memory is stored once in this Emacs, however often a server starts."
  (neuron-council-test-with nil
    (cl-letf (((symbol-function 'neuron-council-files-delete)
               (lambda (file) (signal 'file-error (list "Removing" "Read-only file system" file)))))
      (capture-memory-with-council-async "A claim" nil 1)
      (neuron-council-test-until neuron-council-test-stored)
      (neuron-council-test-until (null neuron-council-rpc-jobs))
      (should (neuron-council-test-folder "pending"))
      (neuron-council-restart)
      (neuron-council-test-until (neuron-council-process-ready-p))
      (should (= 0 (neuron-council-resume-pending)))
      (neuron-council-test-until (null neuron-council-rpc-jobs)))
    (should (equal (neuron-council-test-stored-first) '(1)))))

(ert-deftest neuron-council-test-pending-two-editors ()
  "Two Emacsen that start at once store each memory once."
  (neuron-council-test-with nil
    (let ((out (make-temp-file "neuron-council-test-")) (children nil))
      (unwind-protect
          (progn
            (dotimes (n 8) (neuron-council-test-pending-keep n))
            (dotimes (_ 2)
              (push (neuron-council-test-in-emacs
                     `(setq neuron-council-store-function
                            (lambda (n &rest _) (write-region (format "%d\n" n) nil ,out t 'quiet)))
                     '(neuron-council-resume-pending)
                     '(while (neuron-council-files-list (neuron-council-pending-folder))
                        (accept-process-output nil 0.05)))
                    children))
            (neuron-council-test-until (not (cl-some #'process-live-p children)))
            (should (equal (mapcar #'process-exit-status children) '(0 0)))
            (with-temp-buffer
              (insert-file-contents out)
              (should (equal (sort (split-string (buffer-string) "\n" t) #'string<)
                             '("0" "1" "2" "3" "4" "5" "6" "7")))))
        (delete-file out)))))

(ert-deftest neuron-council-test-pending-files-that-are-broken ()
  "They are set aside, and the rest is stored."
  (neuron-council-test-with nil
    (let ((folder (neuron-council-pending-folder)))
      (neuron-council-test-pending-keep 3)
      (write-region "(:version 1" nil (concat folder (neuron-council-test-uuid 1) ".eld") nil 'quiet)
      (neuron-council-test-pending-keep 2 :verdict '(:tags "odd"))
      (write-region "mine" nil (concat folder "notes.txt") nil 'quiet)
      (should (= 1 (neuron-council-resume-pending)))
      (neuron-council-test-until neuron-council-test-stored)
      (should (equal (neuron-council-test-stored-first) '(3)))
      (should (= 2 (cl-count-if (lambda (name) (string-suffix-p ".broken" name)) (directory-files folder)))))))

(ert-deftest neuron-council-test-pending-polite-exit ()
  "All are stored at once and in order, those that have not their turn too; their claims wait for a server."
  (neuron-council-test-with '(:verify [(:delay 3600)])
    (let ((out (make-temp-file "neuron-council-test-")))
      (unwind-protect
          (let ((child (neuron-council-test-in-emacs
                        `(setq neuron-council-store-function
                               (let ((failed nil))
                                 (lambda (what &rest _)
                                   ;; What no file keeps is tried a last time.
                                   (when (and (bufferp what) (not failed))
                                     (setq failed t)
                                     (error "Not now"))
                                   (write-region (format "%s\n" what) nil ,out t 'quiet))))
                        '(capture-memory-with-council-async "Claim 0" nil (current-buffer))
                        '(dolist (n '(1 2 3 4)) (capture-memory-with-council-async (format "Claim %d" n) nil n)))))
            (neuron-council-test-until (not (process-live-p child)))
            (should (equal 0 (process-exit-status child)))
            (with-temp-buffer
              (insert-file-contents out)
              (should (equal (buffer-string) "1\n2\n3\n4\n*scratch*\n")))
            (should-not (neuron-council-test-folder "pending"))
            (should (= 5 (length (neuron-council-test-folder "unsent")))))
        (delete-file out)))))

(ert-deftest neuron-council-test-pending-judged-once ()
  "With the real server: a memory whose Emacs was killed is judged once, and stored once with the verdict."
  (neuron-council-test-with-council '(:default (:delay 3600))
    (let ((child (neuron-council-test-in-emacs
                  '(setq neuron-council-store-function #'ignore)
                  '(capture-memory-with-council-async "Ana lives in Lisbon." nil :text "Ana")
                  '(while t (accept-process-output nil 0.1)))))
      (neuron-council-test-until (neuron-council-test-chats "Ana lives in Lisbon."))
      (signal-process child 'SIGKILL)
      (neuron-council-test-until (not (process-live-p child)))
      (let ((id (substring (car (neuron-council-test-folder "pending")) 0 36)))
        (neuron-council-test-ollama nil)
        (should (= 1 (neuron-council-resume-pending)))
        (neuron-council-test-pending-over)
        (should (equal neuron-council-test-stored
                       (list (list :text "Ana" :council-confidence 0.85 :council-tags '("verified") :council-id id))))
        (should (= 3 (length (neuron-council-test-chats "Ana lives in Lisbon."))))
        ;; Had Emacs died between the store and the deletion, the ledger would know the answer.
        (neuron-council-files-write (neuron-council-files-name (neuron-council-pending-folder) id)
                                    (list :id id :claim "Ana lives in Lisbon." :context nil :time 1.0
                                          :store-args '(:text "Ana")))
        (neuron-council-resume-pending)
        (neuron-council-test-until (= 2 (length neuron-council-test-stored)))
        (should (equal (car neuron-council-test-stored) (cadr neuron-council-test-stored)))
        (should (= 3 (length (neuron-council-test-chats "Ana lives in Lisbon."))))))))

;;; pending-test.el ends here
