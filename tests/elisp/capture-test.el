;;; capture-test.el --- Tests of storing a memory behind the council  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Code:

(require 'helper)

(defun neuron-council-test-verdict (tags &optional confidence)
  "Return a script whose verdict has TAGS, a list, and CONFIDENCE."
  (list :verify (vector (list :verdict (list :tags (vconcat tags) :confidence (or confidence 0.3))))))

(ert-deftest neuron-council-test-capture-stores ()
  (neuron-council-test-with nil
    (let ((value (capture-memory-with-council "A claim" "A context" 'node :kind "fact")))
      (should (= 1 (length neuron-council-test-stored)))
      (should (equal value (cons 'stored (car neuron-council-test-stored))))
      (let ((stored (car neuron-council-test-stored)))
        (should (equal (seq-take stored 7)
                       '(node :kind "fact" :council-confidence 0.85 :council-tags ("verified"))))
        (should (equal (nthcdr 7 stored)
                       (list :council-id (plist-get (plist-get (car (neuron-council-test-seen "council/verify")) :params)
                                                    :id))))))))

(ert-deftest neuron-council-test-capture-without-store-args ()
  (neuron-council-test-with nil
    (capture-memory-with-council "A claim" nil)
    (should (equal (car (car neuron-council-test-stored)) :council-confidence))))

(ert-deftest neuron-council-test-capture-returns-nil-of-the-store ()
  (neuron-council-test-with nil
    (let* ((calls 0)
           (neuron-council-store-function (lambda (&rest _) (setq calls (1+ calls)) nil)))
      (should-not (capture-memory-with-council "A claim" nil))
      (should (= calls 1)))))

(ert-deftest neuron-council-test-capture-default-store-is-engram-write ()
  (should (eq (eval (car (get 'neuron-council-store-function 'standard-value)) t) 'engram-write)))

(ert-deftest neuron-council-test-capture-needs-a-store-function ()
  (neuron-council-test-with nil
    (let ((neuron-council-store-function 'engram-write-that-is-not-there))
      (dolist (capture '(capture-memory-with-council capture-memory-with-council-async))
        (should (string-match-p "engram-write-that-is-not-there.*neuron-council-store-function"
                                (error-message-string (should-error (funcall capture "A claim" nil) :type 'user-error))))))
    (should-not (get-process "neuron-council"))))

(ert-deftest neuron-council-test-capture-checks-its-options-first ()
  (neuron-council-test-with nil
    (let ((neuron-council-flagged-policy 'discard))
      (should-error (capture-memory-with-council "A claim" nil) :type 'user-error))
    (let ((neuron-council-parked-policy 'reject))
      (should-error (capture-memory-with-council "A claim" nil) :type 'user-error))
    (let ((neuron-council-flagged-policy 'quarantine)
          (neuron-council-quarantine-function 'quarantine-that-is-not-there))
      (should-error (capture-memory-with-council "A claim" nil) :type 'user-error))
    (should-not (get-process "neuron-council"))))

;;;; Policy

(defun neuron-council-test-quarantine (&rest arguments)
  "Return ARGUMENTS after the word quarantined."
  (cons 'quarantined arguments))

(ert-deftest neuron-council-test-capture-policies ()
  "Each row: tags, flagged policy, quarantine function, what became of it."
  (pcase-dolist (`(,tags ,flagged ,quarantine ,outcome)
                 '((("verified") reject nil stored)
                   (("council-split") reject nil stored)
                   (("council-split" "council-doubted") reject nil stored)
                   (("council-unavailable") reject nil stored)
                   (("unverified" "council-flagged") tag nil stored)
                   (("unverified" "council-flagged") reject nil nil)
                   (("unverified" "council-flagged") quarantine neuron-council-test-quarantine quarantined)
                   (("unverified" "council-flagged") quarantine nil stored)
                   ;; The first row that fits decides.
                   (("unverified" "council-flagged" "council-parked") reject nil stored)
                   (("unverified" "council-flagged" "council-parked") quarantine neuron-council-test-quarantine stored)
                   (("council-flagged" "council-unavailable") reject nil stored)))
    (neuron-council-test-with (neuron-council-test-verdict tags)
      (let* ((neuron-council-flagged-policy flagged)
             (neuron-council-quarantine-function quarantine)
             (value (capture-memory-with-council "A claim" nil 'node)))
        (should (eq (car value) outcome))
        (should (= (length neuron-council-test-stored) (if (eq outcome 'stored) 1 0)))
        (when value
          (should (eq (nth 1 value) 'node))
          (should (equal (plist-get (nthcdr 2 value) :council-tags) tags)))))))

(ert-deftest neuron-council-test-capture-fate-stands-beside-the-verdict ()
  "Each row: tags, parked and flagged policy, what is said of the memory."
  (pcase-dolist (`(,tags ,parked ,flagged ,fate)
                 '((("verified") hold reject stored)
                   (("council-flagged") tag tag stored)
                   (("council-flagged") tag reject rejected)
                   (("council-flagged") tag quarantine quarantined)
                   (("council-parked") hold tag held)
                   (("council-unavailable") hold reject stored)))
    (neuron-council-test-with (neuron-council-test-verdict tags)
      (let ((neuron-council-parked-policy parked)
            (neuron-council-flagged-policy flagged)
            (neuron-council-quarantine-function #'neuron-council-test-quarantine))
        (capture-memory-with-council "A claim" "A context" 'node)
        (should (equal fate (plist-get (car neuron-council-verdicts) :fate)))
        (should (equal "A context" (plist-get (car neuron-council-verdicts) :context)))
        (let ((neuron-council-store-function (lambda (&rest _) (error "The disk is full"))))
          (when (eq fate 'stored)
            (should-error (capture-memory-with-council "A claim" nil 'node))
            (should (eq 'unstored (plist-get (car neuron-council-verdicts) :fate)))))))))

(ert-deftest neuron-council-test-capture-policy-options-offer-what-works ()
  (should (equal (mapcar (lambda (choice) (car (last choice))) (cdr (get 'neuron-council-parked-policy 'custom-type)))
                 '(tag hold)))
  (should (equal (mapcar (lambda (choice) (car (last choice))) (cdr (get 'neuron-council-flagged-policy 'custom-type)))
                 '(tag quarantine reject))))

;;;; Nothing is lost

(defmacro neuron-council-test-fails-open (words kept &rest body)
  "Run BODY, which captures a memory with `node' once; it must be stored unjudged.
Some message must match WORDS.  The claim must be kept iff KEPT."
  (declare (indent 2))
  `(let ((messages nil))
     (cl-letf (((symbol-function 'message) (lambda (format &rest arguments)
                                             (push (apply #'format format arguments) messages))))
       ,@body)
     (should (= 1 (length neuron-council-test-stored)))
     (pcase-let ((`(node :council-confidence ,confidence :council-tags ,tags :council-id ,id)
                  (car neuron-council-test-stored)))
       (should (equal confidence 0.5))
       (should (equal tags '("council-unavailable")))
       (should (= 36 (length id)))
       (should (equal (neuron-council-test-folder "unsent") (and ,kept (list (concat id ".eld"))))))
     (should (cl-some (lambda (text) (string-match-p ,words text)) messages))))

(defmacro neuron-council-test-both-fail-open (script words &optional refused)
  "Capture a memory with a server that follows SCRIPT, waiting and not waiting.
Both must store it unjudged, and some message must match WORDS.  The claim
must be kept, but not if REFUSED."
  `(progn
     (neuron-council-test-with ,script
       (neuron-council-test-fails-open ,words ,(not refused)
         (should (eq 'stored (car (capture-memory-with-council "A claim" "A context" 'node))))))
     (neuron-council-test-with ,script
       (neuron-council-test-fails-open ,words ,(not refused)
         (capture-memory-with-council-async "A claim" "A context" 'node)
         (should-not neuron-council-test-stored)
         (neuron-council-test-until neuron-council-test-stored)))))

(ert-deftest neuron-council-test-capture-server-missing ()
  (neuron-council-test-clean
    (let ((neuron-council-server-command '("/nonexistent/neuron-council" "serve")))
      (neuron-council-test-fails-open "/nonexistent/neuron-council" t
        (should (eq 'stored (car (capture-memory-with-council "A claim" nil 'node)))))
      (setq neuron-council-test-stored nil)
      (delete-directory (concat neuron-council-test-home "council") t)
      (neuron-council-test-fails-open "/nonexistent/neuron-council" t
        (capture-memory-with-council-async "A claim" nil 'node)
        (neuron-council-test-until neuron-council-test-stored)))))

(ert-deftest neuron-council-test-capture-server-dead-at-start ()
  (neuron-council-test-both-fail-open '(:start (:exit 1 :stderr "no luck\n")) "no luck"))

(ert-deftest neuron-council-test-capture-server-dies-while-greeted ()
  (neuron-council-test-both-fail-open '(:initialize (:exit 3)) "exit status 3"))

(ert-deftest neuron-council-test-capture-server-dies-during-the-wait ()
  (neuron-council-test-both-fail-open '(:verify [(:exit 4)]) "exit status 4"))

(ert-deftest neuron-council-test-capture-server-refuses ()
  (neuron-council-test-both-fail-open '(:verify [(:error (:code -32602 :message "claim: no letter or digit"))])
                                      "no letter or digit" t))

(ert-deftest neuron-council-test-capture-server-cancels-by-itself ()
  (neuron-council-test-both-fail-open '(:verify [(:error (:code -32800 :message "shutting down"))]) "shutting down"))

(ert-deftest neuron-council-test-capture-server-answers-nonsense ()
  (neuron-council-test-both-fail-open '(:verify [(:result [1 2])]) "no verdict"))

(ert-deftest neuron-council-test-capture-server-of-another-protocol ()
  (neuron-council-test-both-fail-open
   '(:initialize (:result (:capabilities (:experimental (:neuronCouncil (:protocol 7)))))) "protocol 7"))

(ert-deftest neuron-council-test-capture-server-too-slow ()
  (let ((neuron-council-timeout 0.1))
    (neuron-council-test-both-fail-open '(:verify [(:delay 3600)]) "0.1 s")
    (neuron-council-test-both-fail-open '(:initialize "silent") "0.1 s")))

(ert-deftest neuron-council-test-capture-message-is-seen ()
  "It comes behind what the store function says, and has room for why and for what to do."
  (neuron-council-test-clean
    (let ((neuron-council-server-command '("/nonexistent/neuron-council" "serve"))
          (neuron-council-store-function (lambda (&rest _) (message "Wrote a file"))))
      (should (string-match-p "/nonexistent/.*; the memory is stored with the tag council-unavailable\\'"
                              (car (last (neuron-council-test-messages
                                           (capture-memory-with-council "A claim" nil 'node)))))))
    (let ((said (car (last (neuron-council-test-messages
                             (neuron-council-store-judged
                              (neuron-council-verdict-unavailable
                               "A claim" (neuron-council-test-uuid 1)
                               (list 'neuron-council-error
                                     (format "\"%s\" cannot be judged: mend it" (make-string 5000 ?x))))
                              nil '(node)))))))
      (should (< (length said) 400))
      (should (string-match-p "xxx \\.\\.\\. xxx.* cannot be judged: mend it; the memory is stored" said)))))

(ert-deftest neuron-council-test-capture-during-back-off ()
  (neuron-council-test-with '(:start (:exit 1))
    (dotimes (_ 2) (should-error (neuron-council-verify "A claim")))
    (neuron-council-test-fails-open "failed 2 times in a row" t
      (capture-memory-with-council "A claim" nil 'node))))

(ert-deftest neuron-council-test-capture-claims-that-cannot-be-judged ()
  (neuron-council-test-with nil
    (dolist (claim (list (make-string 8001 ?x) nil 5 '(a list)))
      (dolist (capture '(capture-memory-with-council capture-memory-with-council-async))
        (setq neuron-council-test-stored nil)
        (neuron-council-test-fails-open "claim: " nil
          (funcall capture claim nil 'node)
          (neuron-council-test-until neuron-council-test-stored))))))

(ert-deftest neuron-council-test-capture-unexpected-error ()
  (neuron-council-test-with nil
    (cl-letf (((symbol-function 'neuron-council-rpc-submit) (lambda (_) (error "A mistake of ours"))))
      (neuron-council-test-fails-open "A mistake of ours" t
        (capture-memory-with-council "A claim" nil 'node)))))

(ert-deftest neuron-council-test-capture-stopped-server-stores-what-waits ()
  (neuron-council-test-with '(:verify [(:delay 3600)])
    (neuron-council-test-fails-open "server was stopped" t
      (capture-memory-with-council-async "A claim" nil 'node)
      (neuron-council-test-until (neuron-council-test-seen "council/verify"))
      (neuron-council-stop)
      (neuron-council-test-until neuron-council-test-stored))))

(ert-deftest neuron-council-test-capture-leaving-emacs-stores-what-waits ()
  "A script that ends before the verdict is in must not lose the memory."
  (neuron-council-test-with '(:verify [(:delay 3600)])
    (let ((out (make-temp-file "neuron-council-test-")))
      (unwind-protect
          (progn
            (call-process
             (expand-file-name invocation-name invocation-directory) nil nil nil "-Q" "--batch"
             "-L" (file-name-directory (locate-library "neuron-council"))
             "--eval"
             (prin1-to-string
              `(progn
                 (require 'neuron-council)
                 (setq neuron-council-server-command ',neuron-council-server-command
                       neuron-council-store-function
                       (lambda (&rest arguments) (write-region (prin1-to-string arguments) nil ,out)))
                 (capture-memory-with-council-async "A claim" nil 'node))))
            (with-temp-buffer
              (insert-file-contents out)
              (should (equal (seq-take (read (current-buffer)) 5)
                             '(node :council-confidence 0.5 :council-tags ("council-unavailable")))))
            (should (= 1 (length (neuron-council-test-folder "unsent")))))
        (delete-file out)))))

(ert-deftest neuron-council-test-capture-program-that-cannot-run-in-batch ()
  "A server that ends at once must not take an Emacs in batch with it."
  (neuron-council-test-clean
    (let ((script (make-temp-file "neuron-council-test-" nil nil "#!/nonexistent/interpreter\n")))
      (set-file-modes script #o755)
      (unwind-protect
          (dolist (program (list script (executable-find "true")))
            (with-temp-buffer
              (should (eql 0 (call-process
                              ;; Python leaves SIGPIPE at its default in its children, as most shells do.
                              (executable-find "python3") nil t nil "-c"
                              "import subprocess, sys; sys.exit(subprocess.run(sys.argv[1:]).returncode)"
                              (expand-file-name invocation-name invocation-directory) "-Q" "--batch"
                              "-L" (file-name-directory (locate-library "neuron-council"))
                              "--eval"
                              (prin1-to-string
                               `(progn
                                  (require 'neuron-council)
                                  (setq neuron-council-server-command '(,program)
                                        neuron-council-store-function (lambda (&rest _) (message "memory stored")))
                                  (dotimes (_ 3) (capture-memory-with-council "A claim" nil)))))))
              (goto-char (point-min))
              (should (= 3 (how-many "memory stored$")))))
        (delete-file script)))))

;;;; Aborting

(ert-deftest neuron-council-test-capture-throw-stores-nothing ()
  (neuron-council-test-with-ready [(:delay 3600)]
    (with-timeout (0.1) (capture-memory-with-council "A claim" nil 'node))
    (should (equal (neuron-council-test-cancelled) (list (neuron-council-test-token 1))))
    (should-not (neuron-council-test-folder "unsent"))
    (should-not neuron-council-test-stored)))

(ert-deftest neuron-council-test-capture-quit-stores-nothing ()
  (neuron-council-test-with '(:verify [(:delay 3600)])
    (neuron-council-test-when (lambda () (neuron-council-test-seen "council/verify"))
                              (lambda () (signal 'quit nil)))
    (should (eq 'quit (condition-case nil
                          (capture-memory-with-council "A claim" nil 'node)
                        (quit 'quit))))
    (should (equal (neuron-council-test-cancelled) (list (neuron-council-test-token 0))))
    (should-not (neuron-council-test-folder "unsent"))
    (should-not neuron-council-test-stored)))

(ert-deftest neuron-council-test-capture-quit-in-a-hook-stores-nothing ()
  "Whoever waits for a memory and presses \\[keyboard-quit] has pressed it for that memory."
  (dolist (hook '(neuron-council-before-verify-functions neuron-council-after-verdict-functions
                  neuron-council-before-store-functions))
    (neuron-council-test-with nil
      (cl-progv (list hook) (list (list (lambda (&rest _) (setq quit-flag t) (ignore))))
        (should (eq 'quit (condition-case nil
                              (capture-memory-with-council "A claim" nil 'node)
                            (quit 'quit)))))
      (should-not neuron-council-test-stored)
      (should-not (neuron-council-test-folder "unsent")))))

(ert-deftest neuron-council-test-capture-async-quit-stores-nothing ()
  "C-g that is pressed while a memory is taken in, a server looked for say, is heard behind that."
  (dolist (command (list nil '("/nonexistent/neuron-council" "serve")))
    (neuron-council-test-with nil
      (let ((neuron-council-server-command (or command neuron-council-server-command))
            (neuron-council-before-verify-functions (list (lambda (&rest _) (setq quit-flag t)))))
        (should (eq 'quit (condition-case nil
                              (progn (capture-memory-with-council-async "A claim" nil 'node)
                                     (ignore))
                            (quit 'quit))))
        (neuron-council-test-until (null neuron-council-rpc-jobs)))
      (should-not neuron-council-test-stored)
      (should-not (neuron-council-test-folder "pending"))
      (should-not (neuron-council-test-folder "unsent")))))

(ert-deftest neuron-council-test-capture-quit-in-the-quarantine-keeps-nothing ()
  (neuron-council-test-with '(:verify [(:verdict (:confidence 0.3))])
    (dolist (leave (list (lambda (&rest _) (signal 'quit nil)) (lambda (&rest _) (error "No")) (lambda (&rest _) (throw 'out t))))
      (let ((neuron-council-flagged-policy 'quarantine)
            (neuron-council-quarantine-function leave))
        (catch 'out
          (condition-case nil
              (capture-memory-with-council "A claim" nil 'node)
            ((quit error))))
        (should-not (neuron-council-test-folder "held"))))))

(ert-deftest neuron-council-test-capture-async-cancel-stores-nothing ()
  (neuron-council-test-with '(:verify [(:delay 3600)])
    (let ((job (capture-memory-with-council-async "A claim" nil 'node)))
      (neuron-council-test-until (neuron-council-test-seen "council/verify"))
      (neuron-council-cancel job)
      (should (equal (neuron-council-test-cancelled) (list (neuron-council-test-token 0))))
      (neuron-council-test-until (null neuron-council-rpc-jobs))
      (should-not (neuron-council-test-folder "unsent"))
      (should-not neuron-council-test-stored))))

;;;; Asynchronous

(ert-deftest neuron-council-test-capture-async-stores-later ()
  (neuron-council-test-with nil
    (should (stringp (neuron-council-capture-memory-async "A claim" "A context" 'node :kind "fact")))
    (should-not neuron-council-test-stored)
    (neuron-council-test-until neuron-council-test-stored)
    (should (equal (seq-take (car neuron-council-test-stored) 5) '(node :kind "fact" :council-confidence 0.85)))))

(ert-deftest neuron-council-test-capture-async-rejects ()
  (neuron-council-test-with (neuron-council-test-verdict '("unverified" "council-flagged"))
    (let ((neuron-council-flagged-policy 'reject))
      (neuron-council-capture-memory-async "A claim" nil 'node)
      (neuron-council-test-until (null neuron-council-rpc-jobs))
      (should-not neuron-council-test-stored))))

(ert-deftest neuron-council-test-capture-async-error-of-the-store-is-shown ()
  (neuron-council-test-with nil
    (let ((messages nil)
          (neuron-council-store-function (lambda (&rest _) (error "The disk is full"))))
      (cl-letf (((symbol-function 'message) (lambda (format &rest arguments)
                                              (push (apply #'format format arguments) messages))))
        (neuron-council-capture-memory-async "A claim" nil 'node)
        (neuron-council-test-until (null neuron-council-rpc-jobs)))
      (should (cl-some (lambda (text) (string-match-p "The disk is full" text)) messages)))))

(ert-deftest neuron-council-test-capture-error-of-the-store-reaches-the-caller ()
  (neuron-council-test-with nil
    (let ((neuron-council-store-function (lambda (&rest _) (error "The disk is full"))))
      (should (equal (should-error (capture-memory-with-council "A claim" nil)) '(error "The disk is full"))))))

;;;; By hand

(ert-deftest neuron-council-test-remember ()
  "Claim and context are read, or the claim is the region."
  (neuron-council-test-with nil
    (cl-flet ((remember (&rest answers)
                (setq neuron-council-test-stored nil)
                (cl-letf (((symbol-function 'read-string) (lambda (&rest _) (pop answers))))
                  (call-interactively #'neuron-council-remember))
                (should-not answers)
                (neuron-council-test-until neuron-council-test-stored)
                (neuron-council-test-until (null neuron-council-rpc-jobs))
                (car neuron-council-test-stored)))
      (should (equal (seq-take (remember "A claim" "A context") 5)
                     '(:text "A claim" :context "A context" :council-confidence)))
      (should (equal (seq-take (remember "A claim" " ") 3) '(:text "A claim" :council-confidence)))
      (should-error (remember "  " "") :type 'user-error)
      (with-temp-buffer
        (transient-mark-mode 1)
        (insert (propertize "A claim and more" 'face 'bold))
        (set-mark 1)
        (goto-char 8)
        (should (equal-including-properties (cadr (remember "A context")) "A claim")))
      (let ((neuron-council-remember-arguments-function #'list))
        (should (equal (seq-take (remember "A claim" "A context") 3) '("A claim" "A context" :council-confidence)))))))

(ert-deftest neuron-council-test-remember-says-what-to-set ()
  (neuron-council-test-clean
    (let ((neuron-council-store-function 'engram-write-that-is-not-there))
      (should (string-match-p "neuron-council-store-function.*neuron-council-org-store"
                              (cadr (should-error (call-interactively #'neuron-council-remember) :type 'user-error)))))))

;;; capture-test.el ends here
