;;; install-real-test.el --- The real server, installed by the real pip  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; pip installs from wheels that wheels.py makes of what is installed here, so no network is asked.

;;; Code:

(require 'real)
(require 'neuron-council-install)

(defvar neuron-council-test-wheels nil
  "The folder of the wheels.")

(defmacro neuron-council-test-with-index (&rest body)
  "Run BODY where the package index is a folder of wheels, and nothing is installed by command."
  (declare (indent 0) (debug t))
  `(neuron-council-test-with-council nil
     (let* ((root (file-name-as-directory (make-temp-file "neuron-council-test-" t)))
            (neuron-council-test-wheels (concat root "wheels"))
            (neuron-council-program--file (concat root "elisp/neuron-council-program.elc"))
            (neuron-council-server-command nil)
            (neuron-council-python neuron-council-test-python)
            (neuron-council-server-directory (concat root "neuron-council/"))
            (neuron-council-install-source nil)
            (neuron-council-install-extras nil)
            (process-environment (append (list "PIP_NO_INDEX=1" "PIP_NO_COMPILE=1" "PIP_CONFIG_FILE=/dev/null"
                                               (concat "PIP_FIND_LINKS=" neuron-council-test-wheels))
                                         process-environment)))
       (unwind-protect
           (progn
             (should (eql 0 (call-process (expand-file-name ".venv/bin/python" neuron-council-test-checkout) nil nil nil
                                          (expand-file-name "wheels.py" neuron-council-test-directory)
                                          neuron-council-test-wheels)))
             ,@body)
         (delete-directory root t)))))

(defun neuron-council-test-really (function)
  "Call FUNCTION, see the installation end, and return what its buffer says."
  (let ((deadline (+ (float-time) 120)))
    (funcall function)
    (while (and neuron-council-install--run (< (float-time) deadline))
      (accept-process-output nil 0.1))
    (with-current-buffer "*neuron-council install*" (buffer-string))))

(ert-deftest neuron-council-test-install-real ()
  "A failure is understood, a success takes the place of the server that runs, and can be uninstalled."
  (neuron-council-test-with-index
    (let ((wheel (car (directory-files neuron-council-test-wheels t "\\`pygls")))
          (exec-path (cons (expand-file-name ".venv/bin" neuron-council-test-checkout) exec-path)))
      (should (equal (plist-get (neuron-council-verify "A claim about something.") :status) "emitted"))
      (rename-file wheel (concat root "aside"))
      (let ((text (neuron-council-test-really #'neuron-council-install-server)))
        (should (string-match-p "No matching distribution found for pygls" text))
        (should (string-match-p "was not installed: the package index lacks a package" text)))
      (should-not (neuron-council-program-stamp))
      (should (plist-get (neuron-council-rpc-status) :state))
      (rename-file (concat root "aside") wheel)
      (let ((text (neuron-council-test-really #'neuron-council-install-server)))
        (should (string-match-p "server 0\\.1\\.0 is installed.*next request starts it" text)))
      (should-not (plist-get (neuron-council-rpc-status) :state))
      (should (equal (plist-get (neuron-council-verify "Another claim, about a thing.") :status) "emitted"))
      (should (string-prefix-p (concat neuron-council-server-directory "venv-")
                               (car (plist-get (neuron-council-rpc-status) :command))))
      (cl-letf (((symbol-function 'yes-or-no-p) #'always))
        (neuron-council-uninstall-server))
      (should-not (plist-get (neuron-council-rpc-status) :state))
      (should-not (file-exists-p neuron-council-server-directory)))))

;;; install-real-test.el ends here
