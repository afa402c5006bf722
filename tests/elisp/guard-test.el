;;; guard-test.el --- Tests of the guard of the store function  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Code:

(require 'helper)
(require 'neuron-council-guard)

(defmacro neuron-council-test-guarding (script definition &rest body)
  "Run BODY with `engram-write' defined by DEFINITION and guarded.
The server follows SCRIPT.  Afterwards there is neither mode nor function."
  (declare (indent 2) (debug t))
  `(neuron-council-test-with ,script
     (let ((neuron-council-store-function 'engram-write))
       (unwind-protect
           (progn
             ,definition
             (neuron-council-guard-mode 1)
             ,@body)
         (neuron-council-guard-mode -1)
         (fmakunbound 'engram-write)))))

(defun neuron-council-test-call (function &rest arguments)
  "Call FUNCTION, unknown to the compiler, with ARGUMENTS."
  (apply function arguments))

(defun neuron-council-test-engram (&rest _)
  "Define `engram-write' as souls do."
  (defalias 'engram-write (lambda (&rest arguments) (apply #'neuron-council-test-store arguments))))

(defun neuron-council-test-judged ()
  "Return claims and contexts that the server was asked about."
  (mapcar (lambda (message)
            (let ((params (plist-get message :params)))
              (cons (plist-get params :claim) (plist-get params :context))))
          (neuron-council-test-seen "council/verify")))

;;;; The call

(ert-deftest neuron-council-test-guard-waits-and-stores ()
  (neuron-council-test-guarding nil (neuron-council-test-engram)
    (let ((value (neuron-council-test-call 'engram-write :text "A claim" :source "A context" :kind 'fact)))
      (should (equal (neuron-council-test-judged) '(("A claim" . "A context"))))
      (should (= 1 (length neuron-council-test-stored)))
      (should (equal value (cons 'stored (car neuron-council-test-stored))))
      (should (equal (seq-take (cdr value) 10)
                     '(:text "A claim" :source "A context" :kind fact :council-confidence 0.85
                             :council-tags ("verified"))))
      (should (stringp (plist-get (cdr value) :council-id)))
      (should (eq 'stored (plist-get (car neuron-council-verdicts) :fate)))
      (should (equal "A context" (plist-get (car neuron-council-verdicts) :context))))))

(ert-deftest neuron-council-test-guard-policies ()
  (neuron-council-test-guarding '(:verify [(:verdict (:confidence 0.3))]) (neuron-council-test-engram)
    (let ((neuron-council-flagged-policy 'reject))
      (should-not (neuron-council-test-call 'engram-write "A claim"))
      (should-not neuron-council-test-stored)
      (should (equal (plist-get (car (neuron-council-held-records)) :store-args) '("A claim"))))
    ;; The quarantine function may well use the store function.
    (let ((neuron-council-flagged-policy 'quarantine)
          (neuron-council-quarantine-function
           (lambda (&rest arguments) (apply #'neuron-council-test-call 'engram-write 'quarantine arguments))))
      (neuron-council-test-call 'engram-write "A claim")
      (should (equal (seq-take (car neuron-council-test-stored) 2) '(quarantine "A claim")))
      (should (= 2 (length (neuron-council-test-judged)))))))

(ert-deftest neuron-council-test-guard-judges-once ()
  "What the captures, a person, or the function itself store is not judged again."
  (neuron-council-test-guarding '(:verify [nil nil (:verdict (:confidence 0.3)) nil])
      (defalias 'engram-write
        (lambda (&rest arguments)
          (if (eq (car arguments) 'deep)
              (apply #'neuron-council-test-store (cdr arguments))
            (apply #'neuron-council-test-call 'engram-write 'deep arguments))))
    (capture-memory-with-council "Claim 1" nil :text "Claim 1")
    (should (= 1 (length (neuron-council-test-judged))))
    (capture-memory-with-council-async "Claim 2" nil :text "Claim 2")
    (neuron-council-test-until (null neuron-council-rpc-jobs))
    (should (= 2 (length (neuron-council-test-judged))))
    (let ((neuron-council-flagged-policy 'reject))
      (neuron-council-test-call 'engram-write :text "Claim 3"))
    (should (= 3 (length (neuron-council-test-judged))))
    (neuron-council-restore (plist-get (car (neuron-council-held-records)) :id))
    (should (= 3 (length (neuron-council-test-judged))))
    ;; A soul that asks the council itself, as the seed's example does.
    (neuron-council-test-call 'engram-write :text "Claim 4" :council-confidence 0.65 :council-tags '("council-split"))
    (should (= 3 (length (neuron-council-test-judged))))
    (should (equal (mapcar (lambda (stored) (plist-get stored :text)) neuron-council-test-stored)
                   '("Claim 4" "Claim 3" "Claim 2" "Claim 1")))
    ;; The next one is judged again.
    (neuron-council-test-call 'engram-write :text "Claim 5")
    (should (= 4 (length (neuron-council-test-judged))))))

(ert-deftest neuron-council-test-guard-quit-stores-nothing ()
  (neuron-council-test-guarding '(:verify [(:delay 3600)]) (neuron-council-test-engram)
    (neuron-council-test-when (lambda () (neuron-council-test-seen "council/verify"))
                              (lambda () (signal 'quit nil)))
    (should (eq 'quit (condition-case nil
                          (neuron-council-test-call 'engram-write "A claim")
                        (quit 'quit))))
    (should (equal (neuron-council-test-cancelled) (list (neuron-council-test-token 0))))
    (should-not neuron-council-test-stored)
    (should-not (neuron-council-test-folder "unsent"))))

(ert-deftest neuron-council-test-guard-without-a-server ()
  (neuron-council-test-guarding nil (neuron-council-test-engram)
    (let ((neuron-council-server-command '("/nonexistent/neuron-council" "serve")))
      (should (eq 'stored (car (neuron-council-test-call 'engram-write "A claim")))))
    (should (equal (plist-get (cdr (car neuron-council-test-stored)) :council-tags) '("council-unavailable")))
    (should (= 1 (length (neuron-council-test-folder "unsent"))))))

(ert-deftest neuron-council-test-guard-error-of-the-store-reaches-the-caller ()
  (neuron-council-test-guarding nil (defalias 'engram-write (lambda (&rest _) (error "The disk is full")))
    (should (equal (should-error (neuron-council-test-call 'engram-write "A claim")) '(error "The disk is full")))
    (should-not neuron-council-store-verdict)))

(ert-deftest neuron-council-test-guard-asynchronous ()
  "The call returns a handle at once; the memories are stored in order."
  (neuron-council-test-guarding nil (neuron-council-test-engram)
    (let ((neuron-council-guard-asynchronous t))
      (let ((job (neuron-council-test-call 'engram-write :text "Claim 1")))
        (should (< (length (prin1-to-string job)) 40))
        (should (neuron-council-rpc-find job)))
      (should-not (neuron-council-cancel (let ((job (neuron-council-test-call 'engram-write :text "Claim 2")))
                                           (should (neuron-council-cancel job))
                                           job)))
      (neuron-council-test-call 'engram-write :text "Claim 3")
      (should-not neuron-council-test-stored)
      (should (= 3 (length (neuron-council-test-folder "pending"))))
      (neuron-council-test-until (= 2 (length neuron-council-test-stored)))
      (neuron-council-test-until (null neuron-council-rpc-jobs))
      (should (equal (mapcar (lambda (stored) (plist-get stored :text)) neuron-council-test-stored)
                     '("Claim 3" "Claim 1")))
      (should-not (neuron-council-test-folder "pending")))))

(ert-deftest neuron-council-test-guard-timer-inside-a-store-function ()
  "What a timer stores while a store function waits is judged; what that itself stores is not."
  (let ((due nil))
    (neuron-council-test-guarding nil
        (defalias 'engram-write
          (lambda (text &rest arguments)
            (when (equal text "Waits")
              (neuron-council-test-call 'engram-write "Nested")
              (run-at-time 0 nil (lambda ()
                                   (neuron-council-test-call 'engram-write "Of a timer")
                                   (setq due t)))
              (neuron-council-test-until due))
            (apply #'neuron-council-test-store text arguments)))
      (neuron-council-test-call 'engram-write "Waits")
      (should (equal (mapcar #'car (neuron-council-test-judged)) '("Waits" "Of a timer")))
      (should (equal (mapcar #'car neuron-council-test-stored) '("Waits" "Of a timer" "Nested")))
      (should-not neuron-council-store-verdict))))

;;;; Claim and context

(ert-deftest neuron-council-test-guard-arguments ()
  (pcase-dolist (`(,arguments ,usual ,keywords ,strings)
                 '((("A claim") ("A claim") nil ("A claim"))
                   ((fact "A claim") ("A claim") nil ("A claim"))
                   ((fact "A claim" "Ana" :source "Chat") ("A claim" . "Chat") nil ("A claim" . "Ana"))
                   ((:text "A claim" :kind fact) ("A claim") ("A claim") nil)
                   (("id-1" :content "A claim" :context "Chat") ("A claim" . "Chat") ("A claim" . "Chat") ("id-1"))
                   ((:source "Chat" :claim "A claim" :text "Long") ("A claim" . "Chat") ("A claim" . "Chat") nil)
                   (((:text "A claim" :source "Chat")) ("A claim" . "Chat") ("A claim" . "Chat") nil)
                   ((:text ("not" "a string") :body "A claim" :source nil) ("A claim") ("A claim") nil)
                   ((:kind "fact") nil nil nil)
                   (("  ") nil nil nil)
                   ((5 (a . b)) nil nil nil)
                   (((a . b)) nil nil nil)
                   (nil nil nil nil)))
    (should (equal (neuron-council-guard-arguments arguments) usual))
    (should (equal (neuron-council-guard-keywords arguments) keywords))
    (should (equal (neuron-council-guard-strings arguments) strings))))

(ert-deftest neuron-council-test-guard-no-claim ()
  "A memory without a claim is stored, as one that nobody could judge, and that is said."
  (dolist (asynchronous '(nil t))
    (neuron-council-test-guarding nil (neuron-council-test-engram)
      (let ((neuron-council-guard-asynchronous asynchronous))
        (dolist (function (list #'neuron-council-guard-arguments #'ignore (lambda (_) 'odd) (lambda (_) (list 5))
                                (lambda (_) (error "A mistake"))))
          (setq neuron-council-test-stored nil)
          (let ((neuron-council-guard-arguments-function function))
            (should (cl-some (lambda (text) (string-match-p "no claim.*neuron-council-guard-arguments-function" text))
                             (neuron-council-test-messages (neuron-council-test-call 'engram-write 5)))))
          (pcase neuron-council-test-stored
            (`((5 :council-confidence 0.5 :council-tags ("council-unavailable") :council-id ,(pred stringp))))
            (other (ert-fail other)))))
      (should-not (get-process "neuron-council"))
      (should-not neuron-council-verdicts))))

;;;; What store functions take

(ert-deftest neuron-council-test-guard-store-functions-as-they-are ()
  "Each gets what it takes of the verdict; all can see it."
  (let ((seen nil) (rows nil))
    (cl-flet ((see (&rest arguments)
                (push arguments seen)
                (should (equal (plist-get neuron-council-store-verdict :tags) '("verified")))
                (should (stringp (plist-get neuron-council-store-verdict :id)))))
      (pcase-dolist (`(,form . ,keywords)
                     `(((defun engram-write (text &rest plist) (funcall ',#'see text plist))
                        :council-confidence :council-tags :council-id)
                       ((defun engram-write (text &optional kind) (funcall ',#'see text kind)))
                       ((defun engram-write (text) (funcall ',#'see text nil)))
                       ((cl-defun engram-write (text &key kind) "Store." (funcall ',#'see text kind)))
                       ((cl-defun engram-write (text &key kind council-tags (council-confidence 1.0))
                          (funcall ',#'see text (list :council-confidence council-confidence
                                                     :council-tags council-tags)))
                        :council-confidence :council-tags)
                       ((cl-defun engram-write (text &rest all &key ((:council-id id)) &allow-other-keys)
                          (ignore id) (funcall ',#'see text all))
                        :council-confidence :council-tags :council-id)))
        (push (cons form keywords) rows))
      (neuron-council-test-with nil
        (let ((neuron-council-store-function 'engram-write) (count 0))
          (dolist (row rows)
            (dolist (compiled '(nil t))
              (unwind-protect
                  (progn
                    (eval (car row) t)
                    (when compiled (byte-compile 'engram-write))
                    (neuron-council-guard-mode 1)
                    (setq seen nil)
                    (neuron-council-test-call 'engram-write "A claim")
                    (should (equal (caar seen) "A claim"))
                    (let ((plist (cadr (car seen))) (got nil))
                      (while plist
                        (push (pop plist) got)
                        (should (pop plist)))
                      (should (equal (nreverse got) (cdr row))))
                    (should-not neuron-council-store-verdict)
                    (should (= (setq count (1+ count)) (length (neuron-council-test-judged)))))
                (neuron-council-guard-mode -1)
                (fmakunbound 'engram-write)))))))))

(ert-deftest neuron-council-test-guard-keywords-option ()
  (neuron-council-test-guarding nil (neuron-council-test-engram)
    (let ((neuron-council-store-keywords nil))
      (neuron-council-test-call 'engram-write "A claim" "tag")
      (should (equal (car neuron-council-test-stored) '("A claim" "tag")))))
  (neuron-council-test-guarding nil (defalias 'engram-write (lambda (text) text))
    (let ((neuron-council-store-keywords t))
      (should-error (neuron-council-test-call 'engram-write "A claim") :type 'wrong-number-of-arguments))))

(ert-deftest neuron-council-test-guard-before-store-functions ()
  (neuron-council-test-guarding nil (neuron-council-test-engram)
    (let* ((heard nil)
           (neuron-council-before-store-functions
            (list (lambda (&rest _) (error "A mistake"))
                  (lambda (function arguments) (push (cons function arguments) heard)))))
      (should (cl-some (lambda (text) (string-match-p "neuron-council-before-store-functions.*A mistake" text))
                       (neuron-council-test-messages (neuron-council-test-call 'engram-write "A claim"))))
      (should (equal heard (list (cons 'engram-write (car neuron-council-test-stored))))))))

;;;; On and off

(ert-deftest neuron-council-test-guard-enabling-does-nothing-else ()
  (neuron-council-test-clean
    (let ((neuron-council-store-function 'engram-write) (timers (copy-sequence timer-list)))
      (unwind-protect
          (progn
            (neuron-council-guard-mode 1)
            (should neuron-council-guard-mode)
            (should-not (fboundp 'engram-write))
            (should-not (get-process "neuron-council"))
            (should (equal timers timer-list))
            (should-not (directory-files neuron-council-test-home nil "\\`[^.]")))
        (neuron-council-guard-mode -1)))))

(ert-deftest neuron-council-test-guard-leaves-no-trace ()
  (dolist (definition (list (lambda (&rest arguments) (apply #'neuron-council-test-store arguments))
                            'neuron-council-test-store
                            '(autoload "nowhere" nil nil nil)))
    (neuron-council-test-clean
      (let ((neuron-council-store-function 'engram-write))
        (unwind-protect
            (progn
              (fset 'engram-write definition)
              (let ((watchers (get-variable-watchers 'neuron-council-store-function))
                    (exit-hook kill-emacs-hook))
                (dotimes (_ 2) (neuron-council-guard-mode 1))
                (should (advice-member-p #'neuron-council-guard--around 'engram-write))
                (neuron-council-guard-mode -1)
                (should (eq (symbol-function 'engram-write) definition))
                (should-not (advice-member-p #'neuron-council-guard--around 'engram-write))
                (should (equal watchers (get-variable-watchers 'neuron-council-store-function)))
                (should (equal exit-hook kill-emacs-hook))))
          (neuron-council-guard-mode -1)
          (fmakunbound 'engram-write))))))

(ert-deftest neuron-council-test-guard-function-that-is-defined-later ()
  (neuron-council-test-guarding nil nil
    (should-not (fboundp 'engram-write))
    (neuron-council-test-engram)
    (neuron-council-test-call 'engram-write "Claim 1")
    (should (= 1 (length (neuron-council-test-judged))))
    ;; And again, as when a file is evaluated anew.
    (defalias 'engram-write (lambda (&rest arguments) (apply #'neuron-council-test-store 'new arguments)))
    (neuron-council-test-call 'engram-write "Claim 2")
    (should (= 2 (length (neuron-council-test-judged))))
    (should (equal (seq-take (car neuron-council-test-stored) 2) '(new "Claim 2")))
    (let ((definition (lambda (&rest _) 'plain)))
      (defalias 'engram-write definition)
      (neuron-council-guard-mode -1)
      (should (eq (symbol-function 'engram-write) definition)))))

(ert-deftest neuron-council-test-guard-function-that-is-autoloaded ()
  (let ((file (make-temp-file "neuron-council-test-" nil ".el"
                              ";;; -*- lexical-binding: t -*-
(defun engram-write (text &rest plist) (apply #'neuron-council-test-store 'loaded text plist))")))
    (unwind-protect
        (neuron-council-test-guarding nil (autoload 'engram-write file)
          (neuron-council-test-call 'engram-write "Claim 1" :kind 'fact)
          (should (equal (seq-take (car neuron-council-test-stored) 6)
                         '(loaded "Claim 1" :kind fact :council-confidence 0.85)))
          (should (= 1 (length (neuron-council-test-judged))))
          (neuron-council-test-call 'engram-write "Claim 2")
          (should (= 2 (length (neuron-council-test-judged)))))
      (delete-file file))))

(ert-deftest neuron-council-test-guard-function-whose-cell-is-set ()
  "`fset' takes the guard away; to turn the mode on again, or set the option, guards again."
  (neuron-council-test-guarding nil (neuron-council-test-engram)
    (dolist (again (list (lambda () (neuron-council-guard-mode 1))
                         (lambda () (setq neuron-council-store-function 'engram-write))))
      (fset 'engram-write #'neuron-council-test-store)
      (should-not (advice-member-p #'neuron-council-guard--around 'engram-write))
      (funcall again)
      (neuron-council-test-call 'engram-write "A claim")
      (should (equal (plist-get (cdr (car neuron-council-test-stored)) :council-tags) '("verified"))))))

(ert-deftest neuron-council-test-guard-another-store-function ()
  "The guard follows the option, for as long as it is bound."
  (neuron-council-test-guarding nil (neuron-council-test-engram)
    (cl-flet ((guarded-p (function) (advice-member-p #'neuron-council-guard--around function)))
      (unwind-protect
          (progn
            (defalias 'mind-write #'neuron-council-test-engram)
            (let ((neuron-council-store-function 'mind-write))
              (should (guarded-p 'mind-write))
              (should-not (guarded-p 'engram-write)))
            (should (guarded-p 'engram-write))
            (should-not (guarded-p 'mind-write))
            (customize-set-variable 'neuron-council-store-function 'mind-write)
            (should (guarded-p 'mind-write))
            ;; A function without a name leaves nothing to guard, and that is said.
            (should (cl-some (lambda (text) (string-match-p "not guarded now: .*a name" text))
                             (neuron-council-test-messages
                               (setq neuron-council-store-function (lambda (&rest _) nil)))))
            (should-not (guarded-p 'mind-write))
            (setq neuron-council-store-function 'engram-write)
            (should (guarded-p 'engram-write))
            (with-temp-buffer
              (setq-local neuron-council-store-function 'mind-write)
              (should (guarded-p 'engram-write))))
        (fmakunbound 'mind-write)))))

(ert-deftest neuron-council-test-guard-what-cannot-be-guarded ()
  (pcase-dolist (`(,function . ,words) `((,(lambda (&rest _) nil) . "a name") (nil . "a name")
                                         (when . "`when' is no function")))
    (neuron-council-test-clean
      (let ((neuron-council-store-function function) (watchers (get-variable-watchers 'neuron-council-store-function)))
        (let ((text (cadr (should-error (neuron-council-guard-mode 1) :type 'user-error))))
          (should (string-match-p words (subst-char-in-string ?‘ ?` (subst-char-in-string ?’ ?' text)))))
        (should-not neuron-council-guard-mode)
        (should (equal watchers (get-variable-watchers 'neuron-council-store-function)))))))

(ert-deftest neuron-council-test-guard-unload ()
  (neuron-council-test-guarding nil (neuron-council-test-engram)
    (should-not (neuron-council-guard-unload-function))
    (should-not neuron-council-guard-mode)
    (should-not (advice-member-p #'neuron-council-guard--around 'engram-write))))

;;;; Another life

(ert-deftest neuron-council-test-guard-resumes-what-was-left ()
  "A memory of an Emacs that died is stored when the mode is turned on, without a wait."
  (neuron-council-test-with nil
    (neuron-council-files-write
     (neuron-council-files-name (neuron-council-pending-folder) (neuron-council-test-uuid 1) 99999999)
     (list :id (neuron-council-test-uuid 1) :claim "Claim 1" :context nil :time 1.0 :store-args '("Claim 1" :kind fact)))
    (let ((neuron-council-store-function 'engram-write))
      (unwind-protect
          (progn
            ;; Without the function they wait on; the start of a server is the next occasion.
            (neuron-council-guard-mode 1)
            (accept-process-output nil 0.05)
            (should-not (get-process "neuron-council"))
            (neuron-council-guard-mode -1)
            (neuron-council-test-engram)
            (neuron-council-guard-mode 1)
            (should-not (get-process "neuron-council"))
            (should-not neuron-council-test-stored)
            (neuron-council-test-until neuron-council-test-stored)
            (neuron-council-test-until (null neuron-council-rpc-jobs))
            (should (equal (seq-take (car neuron-council-test-stored) 4) '("Claim 1" :kind fact :council-confidence)))
            (should (equal (plist-get (cdr (car neuron-council-test-stored)) :council-id) (neuron-council-test-uuid 1)))
            (should-not (neuron-council-test-folder "pending")))
        (neuron-council-guard-mode -1)
        (fmakunbound 'engram-write)))))

;;; guard-test.el ends here
