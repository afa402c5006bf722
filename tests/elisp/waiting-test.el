;;; waiting-test.el --- Tests of what is said of memories that wait  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Code:

(require 'helper)

(defmacro neuron-council-test-waiting (&rest body)
  "Run BODY with a mode line of its own, as in an Emacs that a person uses."
  (declare (indent 0))
  `(neuron-council-test-clean
     (let ((global-mode-string '("" other))
           (noninteractive nil)
           (neuron-council-show-progress nil)
           (neuron-council-waiting--mode-line nil)
           (neuron-council-waiting--timer nil)
           (neuron-council-waiting--held (list nil (make-hash-table :test #'equal) nil)))
       (unwind-protect (progn ,@body)
         (when neuron-council-waiting--timer (cancel-timer neuron-council-waiting--timer))))))

(defun neuron-council-test-waiting-keep (n reason)
  "Keep a memory with the verdict of the number N for REASON."
  (neuron-council-held-keep (list :id (neuron-council-test-uuid n) :claim "A claim" :confidence 0.65
                                  :tags '("council-parked") :summary "s")
                            '(a) reason))

(defun neuron-council-test-waiting-line ()
  "Return what the mode line says after a look."
  (neuron-council-waiting--look)
  (and neuron-council-waiting--mode-line (substring-no-properties neuron-council-waiting--mode-line)))

(ert-deftest neuron-council-test-waiting-is-counted ()
  (neuron-council-test-waiting
    (should-not (neuron-council-test-waiting-line))
    (should (equal global-mode-string '("" other)))
    (neuron-council-test-waiting-keep 1 'parked)
    (should (equal " Council[1 held]" (neuron-council-test-waiting-line)))
    (should (equal global-mode-string '("" other neuron-council-waiting--mode-line)))
    ;; What a policy kept out awaits nobody.
    (neuron-council-test-waiting-keep 2 'rejected)
    (neuron-council-test-waiting-keep 3 'parked)
    (let ((file (concat (neuron-council-pending-folder) (neuron-council-test-uuid 4) ".eld")))
      (make-directory (neuron-council-pending-folder) t)
      (write-region "" nil file nil 'quiet)
      (should (equal " Council[2 held, 1 pending]" (neuron-council-test-waiting-line)))
      (let ((help (get-text-property 1 'help-echo neuron-council-waiting--mode-line)))
        (should (string-match-p "await your decision: 2\n.*their verdict: 1\nmouse-1, M-x neuron-council: list"
                                (substitute-command-keys help))))
      (should (eq 'neuron-council (lookup-key (get-text-property 1 'local-map neuron-council-waiting--mode-line)
                                              [mode-line mouse-1])))
      (let ((neuron-council-rpc-jobs '(job)))
        (should (equal " Council[2 held]" (neuron-council-test-waiting-line))))
      (mapc #'neuron-council-held-drop (neuron-council-held-records))
      (should (equal " Council[1 pending]" (neuron-council-test-waiting-line)))
      (delete-file file))
    (should-not (neuron-council-test-waiting-line))
    (should (equal global-mode-string '("" other neuron-council-waiting--mode-line)))))

(ert-deftest neuron-council-test-waiting-is-an-option ()
  (neuron-council-test-waiting
    (neuron-council-test-waiting-keep 1 'parked)
    (let ((neuron-council-show-waiting nil))
      (should-not (neuron-council-test-waiting-line)))
    (should (neuron-council-test-waiting-line))))

(ert-deftest neuron-council-test-waiting-that-cannot-be-read ()
  (neuron-council-test-waiting
    (neuron-council-test-waiting-keep 1 'parked)
    (cl-letf (((symbol-function 'file-attributes)
               (lambda (file &rest _) (signal 'file-error (list "Getting attributes" "Permission denied" file)))))
      (should-not (neuron-council-test-waiting-line)))))

(ert-deftest neuron-council-test-waiting-is-looked-at-when-something-happens ()
  "One look is taken at whatever happens until Emacs is idle."
  (neuron-council-test-waiting
    (dotimes (n 3)
      (neuron-council-verdict-add (list :id (neuron-council-test-uuid n) :claim "A claim")))
    (neuron-council-test-until neuron-council-waiting--timer)
    (should (= 1 (cl-count #'neuron-council-waiting--look timer-idle-list :key #'timer--function)))
    (run-hooks 'neuron-council-rpc-jobs-hook)
    (should (= 1 (cl-count #'neuron-council-waiting--look timer-idle-list :key #'timer--function)))
    (timer-event-handler neuron-council-waiting--timer)
    (should-not neuron-council-waiting--timer)))

(ert-deftest neuron-council-test-waiting-reads-only-what-has-changed ()
  (neuron-council-test-waiting
    (neuron-council-test-waiting-keep 1 'parked)
    (neuron-council-test-waiting-line)
    (neuron-council-test-waiting-keep 2 'parked)
    (let ((read nil) (original (symbol-function 'neuron-council-held-read)))
      (cl-letf (((symbol-function 'neuron-council-held-read)
                 (lambda (file) (push (file-name-base file) read) (funcall original file))))
        (dotimes (_ 3)
          (should (equal " Council[2 held]" (neuron-council-test-waiting-line)))))
      (should (equal read (list (neuron-council-test-uuid 2)))))))

;;; waiting-test.el ends here
