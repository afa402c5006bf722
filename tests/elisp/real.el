;;; real.el --- The real server and its scripted models, for tests  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; The server is the checkout's own, its models are a scripted Ollama (tests/stub_ollama.py).

;;; Code:

(require 'helper)
(require 'url)

(defvar neuron-council-test-port nil
  "The port of the scripted Ollama.")

(defun neuron-council-test-server-program ()
  "Return the checkout's server program, or skip the test where it is not installed."
  (let ((program (expand-file-name ".venv/bin/neuron-council" neuron-council-test-checkout)))
    (unless (file-executable-p program)
      (message "No server at .venv/bin/neuron-council: run `make setup'")
      (ert-skip "the server is not installed: run `make setup'"))
    program))

(defun neuron-council-test-ollama (script)
  "Give the scripted Ollama SCRIPT, a plist."
  (let ((url-request-method "POST")
        (url-request-data (encode-coding-string (json-encode (or script (make-hash-table))) 'utf-8))
        (url-request-extra-headers '(("Content-Type" . "application/json")))
        (url-proxy-services nil)
        (url-show-status nil))
    (kill-buffer (url-retrieve-synchronously
                  (format "http://127.0.0.1:%d/stub/config" neuron-council-test-port) t t 10))))

(defun neuron-council-test-ollama-log ()
  "Return the calls that the scripted Ollama has got; :end of one that runs is nil."
  (let ((url-proxy-services nil)
        (url-show-status nil))
    (with-current-buffer (url-retrieve-synchronously
                          (format "http://127.0.0.1:%d/stub/log" neuron-council-test-port) t t 10)
      (unwind-protect
          (progn
            (goto-char (point-min))
            (re-search-forward "\r?\n\r?\n")
            (json-parse-buffer :object-type 'plist :array-type 'list :null-object nil))
        (kill-buffer)))))

(defun neuron-council-test-start-ollama ()
  "Start the scripted Ollama of this Emacs, unless it runs."
  (unless neuron-council-test-port
    (make-process :name "stub-ollama" :connection-type 'pipe :noquery t :buffer nil
                  :command (list (expand-file-name ".venv/bin/python" neuron-council-test-checkout)
                                 (expand-file-name "tests/stub_ollama.py" neuron-council-test-checkout))
                  :filter (lambda (_ text)
                            (when (string-match "\"port\": *\\([0-9]+\\)" text)
                              (setq neuron-council-test-port (string-to-number (match-string 1 text))))))
    (neuron-council-test-until neuron-council-test-port)))

(defun neuron-council-test-call-with-models (script function)
  "Call FUNCTION where the council is the real one, whose models follow SCRIPT."
  (let ((neuron-council-server-command (list (neuron-council-test-server-program) "serve")))
    (neuron-council-test-start-ollama)
    (neuron-council-test-ollama (append (list :resident (make-hash-table)) script))
    (let ((process-environment (cons (format "OLLAMA_HOST=127.0.0.1:%d" neuron-council-test-port)
                                     process-environment)))
      (funcall function))))

(defmacro neuron-council-test-with-council (script &rest body)
  "Run BODY with the real server, whose models follow SCRIPT, a plist."
  (declare (indent 1) (debug t))
  `(neuron-council-test-clean
     (neuron-council-test-call-with-models ,script (lambda ()
                                                     (unwind-protect (progn ,@body)
                                                       (neuron-council-test-reset))))))

(defvar neuron-council-test--shared-home nil
  "The NEURON_HOME of the server that several tests share.")

(defun neuron-council-test--share-home ()
  "Return the NEURON_HOME of the shared server, a folder that goes when Emacs does."
  (or neuron-council-test--shared-home
      (let ((home (file-name-as-directory (make-temp-file "neuron-council-home-" t))))
        (add-hook 'kill-emacs-hook (lambda () (delete-directory home t)) 90)
        (setq neuron-council-test--shared-home home))))

(defmacro neuron-council-test-with-shared-council (script &rest body)
  "Run BODY with the real server that the test before it has left, if that is one.
Its models follow SCRIPT, a plist.  What was judged before is in its
ledger, and BODY must leave nothing that is being judged."
  (declare (indent 1) (debug t))
  `(let* ((neuron-council-store-function #'neuron-council-test-store)
          (neuron-council-test-home (neuron-council-test--share-home))
          (process-environment (cons (concat "NEURON_HOME=" neuron-council-test-home) process-environment)))
     (unless (equal neuron-council-test-home (plist-get (neuron-council-process-status) :home))
       (neuron-council-test-reset))
     (neuron-council-test-call-with-models ,script (lambda () ,@body))
     (neuron-council-test-until (null neuron-council-rpc-jobs))
     (neuron-council-test-forget)))

(defun neuron-council-test-chats (&optional part)
  "Return the calls that asked a model, those with PART in the prompt if given."
  (cl-remove-if-not
   (lambda (call)
     (and (equal (plist-get call :path) "/api/chat")
          (plist-get (plist-get call :body) :messages)
          (or (null part)
              (cl-some (lambda (message) (string-match-p (regexp-quote part) (plist-get message :content)))
                       (plist-get (plist-get call :body) :messages)))))
   (neuron-council-test-ollama-log)))

(provide 'real)
;;; real.el ends here
