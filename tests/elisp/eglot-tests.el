;;; eglot-tests.el --- Tests: eglot with the server as a language server  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; For Emacsen that come with eglot (29 and later), so test_eglot.py runs them, not test_ert.py.  The server is the
;; checkout's own, its models are a scripted Ollama.

;;; Code:

(require 'real)
(require 'eglot)
(require 'flymake)

(defconst eglot-tests-text "Notes.\n\n😀 Tea is a drink. Water is wet.\n"
  "The text that is edited.")

(defmacro eglot-tests-with (script &rest body)
  "Run BODY in a buffer that eglot manages, the models following SCRIPT."
  (declare (indent 1) (debug t))
  `(neuron-council-test-with-council ,script
     (let* ((folder (make-temp-file "eglot-tests-" t))
            (eglot-server-programs `((text-mode . ,neuron-council-server-command)))
            (eglot-autoshutdown nil)
            (inhibit-message t)
            (buffer (progn
                      (with-temp-file (expand-file-name "notes.txt" folder) (insert eglot-tests-text))
                      (find-file-noselect (expand-file-name "notes.txt" folder)))))
       (with-current-buffer buffer
         (unwind-protect
             (progn
               (eglot-ensure)
               (run-hooks 'post-command-hook) ; where eglot-ensure waits for a command, and in batch there is none
               (neuron-council-test-until (eglot-managed-p))
               (flymake-start)
               ,@body)
           (when (eglot-current-server)
             (eglot-shutdown (eglot-current-server)))
           (set-buffer-modified-p nil)
           (kill-buffer)
           (delete-directory folder t))))))

(defun eglot-tests-bounds (text)
  "Return the bounds of TEXT in the buffer."
  (goto-char (point-min))
  (search-forward text)
  (cons (match-beginning 0) (match-end 0)))

(defun eglot-tests-run (text kind)
  "Run the code action of KIND on TEXT."
  (let* ((bounds (eglot-tests-bounds text))
         (actions (eglot-code-actions (car bounds) (cdr bounds) kind)))
    (should (= 1 (length actions)))
    (eglot-execute (eglot-current-server) (car actions))))

(defun eglot-tests-shown ()
  "Return the diagnostics of the council in the buffer."
  (seq-filter (lambda (each) (string-prefix-p "neuron-council" (flymake-diagnostic-text each)))
              (flymake-diagnostics)))

(defun eglot-tests-hover ()
  "Return what eldoc would show of the text at point, nil for nothing."
  (eglot--signal-textDocument/didChange) ; what eglot does once Emacs is idle, which it never is in batch
  (let ((answer 'none))
    (should (eglot-hover-eldoc-function (lambda (text &rest _) (setq answer text))))
    (neuron-council-test-until (not (eq answer 'none)))
    (and answer (substring-no-properties answer))))

(ert-deftest eglot-tests-verify ()
  "A selection is judged, marked, explained on hover, followed, and cleared by its first edit."
  (eglot-tests-with '(:default (:ballot "confabulation" :score 1))
    (eglot-tests-run "Tea is a drink." "neuron-council.verify")
    (neuron-council-test-until (eglot-tests-shown))
    (let ((shown (car (eglot-tests-shown)))
          (bounds (eglot-tests-bounds "Tea is a drink.")))
      (should (equal bounds (cons (flymake-diagnostic-beg shown) (flymake-diagnostic-end shown))))
      (should (eq 'eglot-warning (flymake-diagnostic-type shown)))
      (should (string-match-p "0/3 council members agree" (flymake-diagnostic-text shown)))
      (should (string-match-p "council-flagged" (flymake-diagnostic-text shown))))
    (let ((report (eglot-tests-hover)))
      (should (string-match-p "neuron-ft: confabulation" report))
      (should (string-match-p "faithfulness: " report)))
    ;; An edit before it moves it; one of it clears it.
    (goto-char (point-min))
    (insert "A line.\nAnother 😀 line, ")
    (eglot-tests-bounds "Tea is")
    (should (string-match-p "confabulation" (eglot-tests-hover)))
    (should (eglot-tests-shown))
    (insert " surely")
    (should-not (eglot-tests-hover))
    (neuron-council-test-until (null (eglot-tests-shown)))))

(ert-deftest eglot-tests-progress-and-stop ()
  "The votes are progress; an edit of what is being judged stops the models."
  (eglot-tests-with nil
    (eglot-tests-run "Tea is a drink." "neuron-council.verify")
    (neuron-council-test-until (eglot-tests-shown)) ; so that every model is loaded
    (neuron-council-test-ollama '(:models (:neuron-ft:latest (:delay 20) :dolphin3:8b (:delay 20))))
    (eglot-tests-run "Water is wet." "neuron-council.verify")
    (let ((reporters (eglot--progress-reporters (eglot-current-server))))
      (neuron-council-test-until (cl-some (lambda (each) (member 33 (flatten-tree each)))
                                          (hash-table-values reporters)))
      (should (cl-every (lambda (token) (string-prefix-p "neuron-council-" token)) (hash-table-keys reporters))))
    (eglot-tests-bounds "Water is")
    (insert "n't")
    (should-not (eglot-tests-hover))
    (neuron-council-test-until
     (= 2 (cl-count "client-closed" (neuron-council-test-ollama-log)
                    :key (lambda (call) (plist-get call :outcome)) :test #'equal)))
    (should (= 1 (length (eglot-tests-shown))))))

(ert-deftest eglot-tests-clear ()
  "What was judged can be cleared by a code action."
  (eglot-tests-with nil
    (eglot-tests-run "Water is wet." "neuron-council.verify")
    (neuron-council-test-until (eglot-tests-shown))
    (should (eq 'eglot-note (flymake-diagnostic-type (car (eglot-tests-shown)))))
    (eglot-tests-run "is wet" "neuron-council.clear")
    (neuron-council-test-until (null (eglot-tests-shown)))))

(provide 'eglot-tests)
;;; eglot-tests.el ends here
