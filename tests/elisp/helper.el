;;; helper.el --- What the tests of the client share  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; `neuron-council-test-with' runs its body with a scripted server in its own clean state; see fake_server.py for the
;; scripts.  Nothing here waits for a fixed time: `neuron-council-test-until' waits for a condition.

;;; Code:

(require 'ert)
(require 'cl-lib)
(require 'json)
(require 'subr-x)
(require 'neuron-council)

(defconst neuron-council-test-never 20
  "Seconds that tell what is done at once from what waits, on any machine.")

;; A server need not be quick in tests: they have their own limits where they want one to be too slow.
(setq neuron-council-process--write-limit neuron-council-test-never
      neuron-council-process--leave-limit (* 3 neuron-council-test-never))

(defconst neuron-council-test-directory (file-name-directory (or load-file-name buffer-file-name))
  "The folder of the tests.")

(defconst neuron-council-test-checkout (expand-file-name "../../" neuron-council-test-directory)
  "The checkout that is tested.")

(defvar neuron-council-test-log nil
  "The file in which the scripted server keeps what it read.")

(defvar neuron-council-test-home nil
  "The NEURON_HOME of the server and of this Emacs.")

(defvar neuron-council-test-stored nil
  "What was stored, the newest first: lists of arguments.")

(defun neuron-council-test-store (&rest arguments)
  "Store ARGUMENTS and return them after the word stored."
  (push arguments neuron-council-test-stored)
  (cons 'stored arguments))

(defun neuron-council-test-reset ()
  "Forget every server, job, death and verdict."
  (neuron-council-rpc-stop "the test is over")
  (when (processp (get-process "neuron-council"))
    (error "A server outlived its test"))
  (neuron-council-program-forget)
  (setq neuron-council-process--server nil)
  (neuron-council-test-forget))

(defun neuron-council-test-forget ()
  "Forget all that tests leave behind but the server."
  (setq neuron-council-process--deaths nil
        neuron-council-rpc-jobs nil
        neuron-council-rpc--undelivered nil
        neuron-council-unsent--said nil
        neuron-council-unsent--taken nil
        neuron-council-unsent--alone nil
        neuron-council-unsent--waiting nil
        neuron-council-pending--queue nil
        neuron-council-pending--unstored nil
        neuron-council-reevaluated--outcomes nil
        neuron-council-verdicts nil
        neuron-council-test-stored nil)
  (dolist (name '("*neuron-council*" "*neuron-council report*" "*neuron-council log*"))
    (when (get-buffer name) (kill-buffer name))))

(defmacro neuron-council-test-clean (&rest body)
  "Run BODY without a server, memories going to `neuron-council-test-stored'.
NEURON_HOME is a folder of its own, `neuron-council-test-home'."
  (declare (indent 0) (debug t))
  `(let* ((neuron-council-store-function #'neuron-council-test-store)
          (neuron-council-test-log (make-temp-file "neuron-council-test-"))
          (neuron-council-test-home (file-name-as-directory (make-temp-file "neuron-council-home-" t)))
          (process-environment (cons (concat "NEURON_HOME=" neuron-council-test-home) process-environment)))
     (unwind-protect
         (progn (neuron-council-test-reset) ,@body)
       (neuron-council-test-reset)
       (delete-file neuron-council-test-log)
       (delete-directory neuron-council-test-home t))))

(defconst neuron-council-test-python
  (with-temp-buffer
    (call-process "python3" nil t nil "-c" "import sys; print(sys.executable, end='')")
    (buffer-string))
  "The interpreter behind python3, which may be a version manager's slow script.")

(defun neuron-council-test-command (script)
  "Return the command of a server that follows SCRIPT, a plist."
  (list neuron-council-test-python "-I" "-S" (expand-file-name "fake_server.py" neuron-council-test-directory)
        neuron-council-test-log (json-encode script)))

(defmacro neuron-council-test-with (script &rest body)
  "Run BODY with a server that follows SCRIPT, a plist."
  (declare (indent 1) (debug t))
  `(neuron-council-test-clean
     (let ((neuron-council-server-command (neuron-council-test-command ,script)))
       ,@body)))

(defmacro neuron-council-test-with-ready (steps &rest body)
  "Run BODY with a server that is ready and follows STEPS, a vector, from now on.
The request that made it ready counts for `neuron-council-test-token'."
  (declare (indent 1) (debug t))
  `(neuron-council-test-with (list :verify (vconcat [nil] ,steps))
     (neuron-council-verify "Are you there")
     ,@body))

(defun neuron-council-test-seen (&optional method)
  "Return the messages the server read, as plists, only those of METHOD if given."
  (with-temp-buffer
    (insert-file-contents neuron-council-test-log)
    (let ((messages nil))
      (while (not (eobp))
        (let ((message (json-parse-buffer :object-type 'plist :array-type 'list :null-object nil :false-object nil)))
          (when (or (null method) (equal method (plist-get message :method)))
            (push message messages)))
        (forward-line 1))
      (nreverse messages))))

(defmacro neuron-council-test-until (condition)
  "Wait until CONDITION holds and return its value; fail after two minutes."
  (declare (debug t))
  `(let ((deadline (+ (float-time) 120)) (value nil))
     (while (not (setq value ,condition))
       (when (> (float-time) deadline)
         (error "Waited in vain for %S" ',condition))
       (accept-process-output nil 0.02))
     value))

;;;; Gates

(defmacro neuron-council-test-with-gate (gate &rest body)
  "Run BODY with GATE bound to a new file, the gate of a step of the server."
  (declare (indent 1) (debug t))
  `(let ((,gate (make-temp-file "neuron-council-gate-")))
     (unwind-protect (progn ,@body)
       (delete-file ,gate))))

(defun neuron-council-test-pass (gate &optional count)
  "Let one more note or answer of the server through GATE, or COUNT of them."
  (write-region (make-string (or count 1) ?.) nil gate t 'quiet))


(defun neuron-council-test-token (n)
  "Return the token of the request to verify that the server read as Nth."
  (plist-get (plist-get (nth n (neuron-council-test-seen "council/verify")) :params) :workDoneToken))

(defun neuron-council-test-cancelled ()
  "Return the tokens the server was told to cancel, once it has read everything."
  (neuron-council-test-until (neuron-council-test-seen "window/workDoneProgress/cancel"))
  (mapcar (lambda (message) (plist-get (plist-get message :params) :token))
          (neuron-council-test-seen "window/workDoneProgress/cancel")))

(defun neuron-council-test-folder (name)
  "Return the names of the files in the folder NAME of the home, or nil."
  (let ((folder (concat neuron-council-test-home "council/" name)))
    (and (file-directory-p folder) (directory-files folder nil "\\`[^.]"))))

(defun neuron-council-test-taken (id &optional pid)
  "Return the name of the file on ID that this Emacs works on, or the process PID."
  (format "%s.%d@%s.eld" id (or pid (emacs-pid)) (neuron-council-files--host)))

(defun neuron-council-test-uuid (n)
  "Return an id for N, a whole number; those of greater numbers sort later."
  (format "00000000-0000-4000-8000-%012d" n))

(defmacro neuron-council-test-messages (&rest body)
  "Run BODY and return the messages it showed, the oldest first."
  (declare (indent 0) (debug t))
  `(let ((messages nil))
     (cl-letf (((symbol-function 'message)
                (lambda (format &rest arguments)
                  (when format (push (apply #'format-message format arguments) messages)))))
       ,@body)
     (nreverse messages)))

(defmacro neuron-council-test-seconds (&rest body)
  "Run BODY and return how many seconds that took."
  (declare (indent 0) (debug t))
  `(let ((start (float-time)))
     ,@body
     (- (float-time) start)))

(defun neuron-council-test-text (condition)
  "Return the words of CONDITION, what `should-error' returned."
  (neuron-council-errors-text condition))

(defun neuron-council-test-run-and-exit ()
  "Run every test, print one line of counts last, and leave Emacs.
Where NEURON_COUNCIL_STRICT is set a skipped test is a failed one."
  (let* ((stats (ert-run-tests-batch t))
         (skipped (ert-stats-skipped stats))
         ;; A test that was quit is among neither the expected nor the unexpected ones.
         (failed (- (ert-stats-total stats) (ert-stats-completed-expected stats)
                    (if (getenv "NEURON_COUNCIL_STRICT") 0 skipped))))
    (message "%d passed, %d failed" (ert-stats-completed-expected stats) failed)
    (kill-emacs (if (or (> failed 0) (zerop (ert-stats-total stats))) 1 0))))

(defun neuron-council-test-when (condition action)
  "Call ACTION from a timer once CONDITION, a function, returns non-nil."
  (run-at-time 0.02 nil (lambda ()
                          (if (funcall condition)
                              (funcall action)
                            (neuron-council-test-when condition action)))))

(provide 'helper)
;;; helper.el ends here
