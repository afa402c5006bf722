;;; lost-test.el --- Tests that nothing is lost, with the real server  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; Editor and server die between a request and its answer, at every point there is.  Whatever happens, each claim is
;; judged, once, and its verdict finds the memory.

;;; Code:

(require 'real)

(defvar neuron-council-test-heard nil
  "What `neuron-council-reevaluated-functions' were told, the newest first: ids and verdicts.")

(defun neuron-council-test-hear (id verdict)
  "Keep VERDICT as the one on the memory ID."
  (push (cons id verdict) neuron-council-test-heard))

(defmacro neuron-council-test-losing (script &rest body)
  "Run BODY with the real server, models following SCRIPT, and a hook that hears."
  (declare (indent 1))
  `(neuron-council-test-with-council ,script
     (let ((neuron-council-test-heard nil)
           (neuron-council-reevaluated-functions (list #'neuron-council-test-hear)))
       ,@body)))

(defun neuron-council-test-stored-id ()
  "Return the id of the memory stored last, which must be an unjudged one."
  (let ((stored (cdr (car neuron-council-test-stored))))
    (should (equal (plist-get stored :council-tags) '("council-unavailable")))
    (plist-get stored :council-id)))

(defun neuron-council-test-found (id)
  "Start a server; it must judge the unsent claim ID, and the hook hear of it once."
  (neuron-council-process-ensure)
  (neuron-council-test-until neuron-council-test-heard)
  (neuron-council-test-until (null (neuron-council-test-folder "unsent")))
  (should (equal (mapcar #'car neuron-council-test-heard) (list id)))
  (should (equal (plist-get (cdar neuron-council-test-heard) :tags) '("verified")))
  (should (equal (plist-get (cdar neuron-council-test-heard) :claim) "Ana lives in Lisbon.")))

(defun neuron-council-test-judged-once (&optional claim)
  "Fail unless each of the three members was asked once about CLAIM.
Without a context that has something to quote there is no challenge."
  (should (= 3 (length (neuron-council-test-chats (or claim "Ana lives in Lisbon."))))))

(defun neuron-council-test-child (&rest forms)
  "Start another Emacs that evaluates FORMS with the package loaded; return its process."
  (make-process :name "child" :noquery t :buffer nil :connection-type 'pipe
                :command (list (expand-file-name invocation-name invocation-directory) "-Q" "--batch"
                               "-L" (file-name-directory (locate-library "neuron-council"))
                               "--eval" (prin1-to-string
                                         `(progn
                                            (require 'neuron-council)
                                            (setq neuron-council-server-command ',neuron-council-server-command
                                                  neuron-council-store-function #'ignore)
                                            ,@forms)))))

(ert-deftest neuron-council-test-lost-server-that-was-missing ()
  (neuron-council-test-losing nil
    (let ((neuron-council-server-command '("/nonexistent/neuron-council" "serve")))
      (capture-memory-with-council "Ana lives in Lisbon." "Ana: I live in Lisbon." 'node))
    (let ((id (neuron-council-test-stored-id)))
      (neuron-council-test-found id)
      (neuron-council-test-judged-once))))

(ert-deftest neuron-council-test-lost-server-killed-before-it-stored ()
  (neuron-council-test-losing '(:default (:delay 3600))
    (capture-memory-with-council-async "Ana lives in Lisbon." "Ana: I live in Lisbon." 'node)
    (neuron-council-test-until (neuron-council-test-chats))
    (signal-process (get-process "neuron-council") 'SIGKILL)
    (neuron-council-test-until neuron-council-test-stored)
    (neuron-council-test-ollama nil)
    (neuron-council-test-found (neuron-council-test-stored-id))
    (neuron-council-test-judged-once)))

(ert-deftest neuron-council-test-lost-server-killed-after-it-stored ()
  (neuron-council-test-losing nil
    (let ((neuron-council-server-command
           (append (list neuron-council-test-python "-I" "-S"
                         (expand-file-name "lossy_server.py" neuron-council-test-directory))
                   neuron-council-server-command)))
      (capture-memory-with-council "Ana lives in Lisbon." "Ana: I live in Lisbon." 'node))
    (let ((chats (length (neuron-council-test-chats))))
      (should (> chats 2))
      (neuron-council-test-found (neuron-council-test-stored-id))
      ;; The ledger knew the answer.
      (should (= chats (length (neuron-council-test-chats)))))))

(ert-deftest neuron-council-test-lost-editor-killed-in-the-wait ()
  (neuron-council-test-losing '(:default (:delay 3600))
    (let ((child (neuron-council-test-child
                  '(capture-memory-with-council "Ana lives in Lisbon." "Ana: I live in Lisbon." 'node))))
      (neuron-council-test-until (neuron-council-test-chats))
      (let ((name (car (neuron-council-test-folder "unsent"))))
        (should (string-match (format "\\`\\(.*\\)\\.%d@.*\\.eld\\'" (process-id child)) name))
        (let ((id (match-string 1 name)))
          (signal-process child 'SIGKILL)
          (neuron-council-test-until (not (process-live-p child)))
          (should (equal (neuron-council-test-folder "unsent") (list name)))
          (neuron-council-test-ollama nil)
          (neuron-council-test-found id)
          (neuron-council-test-judged-once))))))

(ert-deftest neuron-council-test-lost-announcements ()
  "Announced at every start until a function has taken it in, then never again."
  (neuron-council-test-losing nil
    (let ((process-environment (cons "OLLAMA_HOST=127.0.0.1:9" process-environment)))
      (capture-memory-with-council "Ana lives in Lisbon." "Ana: I live in Lisbon." 'node)
      ;; The server's queue has it.
      (should-not (neuron-council-test-folder "unsent"))
      (neuron-council-stop))
    (let* ((id (neuron-council-test-stored-id))
           (announced 0)
           (count (lambda (method _) (when (eq method 'council/reevaluated) (setq announced (1+ announced))) nil)))
      (add-hook 'neuron-council-rpc-notification-functions count)
      (unwind-protect
          (cl-flet ((start (functions)
                      (setq neuron-council-reevaluated-functions functions)
                      (neuron-council-restart)))
            (start (list #'neuron-council-test-hear (lambda (&rest _) (error "A mistake"))))
            (neuron-council-test-until (and (= announced 1) neuron-council-reevaluated--timer))
            (neuron-council-test-until (null neuron-council-reevaluated--timer))
            (should (equal (mapcar #'car neuron-council-test-heard) (list id)))
            (setq neuron-council-test-heard nil)
            (start (list #'neuron-council-test-hear))
            (neuron-council-test-until (and (= announced 2) neuron-council-test-heard))
            (neuron-council-test-until (and (null neuron-council-reevaluated--timer) (null neuron-council-rpc-jobs)))
            (start (list #'neuron-council-test-hear))
            ;; The ledger answers in the order in which it is asked, and was asked first for what is to be announced.
            (dotimes (_ 2) (neuron-council-rpc-await (neuron-council-rpc-make-job :council/list nil "")))
            (should (= announced 2))
            (should (equal (mapcar #'car neuron-council-test-heard) (list id)))
            (neuron-council-test-judged-once))
        (remove-hook 'neuron-council-rpc-notification-functions count)))))

(ert-deftest neuron-council-test-lost-two-editors ()
  "Two Emacsen that start at once submit each claim once."
  (neuron-council-test-losing nil
    (let ((ids nil) (out (make-temp-file "neuron-council-test-")))
      (dotimes (n 6)
        (push (neuron-council-test-uuid n) ids)
        (neuron-council-files-write (neuron-council-files-name (neuron-council-unsent-folder) (car ids))
                                    (list :id (car ids) :claim (format "Claim number %d." n))))
      (let ((children nil))
        (dotimes (_ 2)
          (push (neuron-council-test-child
                 `(add-hook 'neuron-council-reevaluated-functions
                            (lambda (id _) (write-region (concat id "\n") nil ,out t 'quiet)))
                 '(neuron-council-process-ensure)
                 '(while (neuron-council-files-list (neuron-council-unsent-folder))
                    (accept-process-output nil 0.05)))
                children))
        (neuron-council-test-until (not (cl-some #'process-live-p children)))
        (should (equal (mapcar #'process-exit-status children) '(0 0))))
      (with-temp-buffer
        (insert-file-contents out)
        (should (equal (sort (split-string (buffer-string) "\n" t) #'string<) (reverse ids))))
      (delete-file out)
      (dotimes (n 6)
        (neuron-council-test-judged-once (format "Claim number %d." n))))))

(ert-deftest neuron-council-test-lost-decisions ()
  "Hold, accept, reject, restore and forget, with the ledger, across restarts."
  (neuron-council-test-losing '(:models (:neuron-ft:latest (:ballot "uncertain") :dolphin3:8b (:ballot "confabulation")))
    (let ((neuron-council-parked-policy 'hold) (neuron-council-flagged-policy 'reject) (ids nil))
      (dolist (claim '("Ana lives in Lisbon." "Ana lives in Porto." "Ana lives in Faro."))
        (should-not (capture-memory-with-council claim nil :text claim)))
      (should-not neuron-council-test-stored)
      (setq ids (mapcar (lambda (record) (plist-get record :id)) (neuron-council-held-records)))
      (should (equal (mapcar (lambda (record) (plist-get record :reason)) (neuron-council-held-records))
                     '(parked parked parked)))
      (neuron-council-test-reset)
      (pcase-let ((`(,faro ,porto ,lisbon) ids))
        (neuron-council-accept lisbon "She told me")
        (should (equal (seq-take (car neuron-council-test-stored) 2) '(:text "Ana lives in Lisbon.")))
        (should (member "human-accepted" (plist-get (car neuron-council-test-stored) :council-tags)))
        (neuron-council-reject porto)
        (should-not (neuron-council-accept lisbon))
        (should (= 1 (length neuron-council-test-stored)))
        (should-error (neuron-council-restore porto) :type 'user-error)
        (cl-flet ((review (id) (plist-get (neuron-council-rpc-await
                                           (neuron-council-rpc-make-job :council/show (list :id id) ""))
                                          :review)))
          (should (equal (plist-get (review lisbon) :decision) "accept"))
          (should (equal (plist-get (review lisbon) :note) "She told me"))
          (should (equal (plist-get (review porto) :decision) "reject"))
          (should (equal (neuron-council-test-folder "held") (list (concat faro ".eld"))))
          (neuron-council-forget faro)
          (should-not (neuron-council-test-folder "held"))
          (should-error (review faro) :type 'neuron-council-unknown)
          (neuron-council-test-ollama '(:default (:ballot "confabulation")))
          (should-not (capture-memory-with-council "Ana lives on Mars." nil :text "Mars"))
          (let ((mars (plist-get (car (neuron-council-held-records)) :id)))
            (should (equal 'stored (car (neuron-council-restore mars))))
            (should-error (neuron-council-restore mars) :type 'user-error)
            (should (= 2 (length neuron-council-test-stored)))
            (should (equal (plist-get (review mars) :decision) "accept"))
            (save-window-excursion
              (neuron-council-show mars)
              (with-current-buffer "*neuron-council report*"
                (neuron-council-test-until (string-match-p "Ana lives on Mars\\." (buffer-string)))))))))))

;;; lost-test.el ends here
