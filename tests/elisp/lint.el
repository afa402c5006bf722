;;; lint.el --- Lint the client in batch  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; One function, `neuron-council-lint-and-exit', that puts the files of the command line through every linter there is.

;;; Code:

(require 'bytecomp)
(require 'checkdoc)
(require 'cl-lib)

(defconst neuron-council-lint-allowed
  '(;; The data of package-lint 0.16 end with Emacs 27.
    "This makes the package uninstallable in all released Emacs versions."
    ;; The package has no home on the web yet.
    "Package should have a Homepage or URL header.")
  "Findings of package-lint that are none, each with its reason.")

(defvar neuron-council-lint-findings 0
  "How many findings there were.")

(defun neuron-council-lint-report (file line format &rest arguments)
  "Print the finding FORMAT with ARGUMENTS in LINE of FILE, and count it."
  (setq neuron-council-lint-findings (1+ neuron-council-lint-findings))
  (message "%s:%s: %s" file line (apply #'format format arguments)))

(defun neuron-council-lint-compile (files)
  "Byte-compile FILES with every warning an error."
  (let ((byte-compile-error-on-warn t))
    (dolist (file files)
      (unless (byte-compile-file file)
        (neuron-council-lint-report file 1 "does not compile without a warning")))))

(defun neuron-council-lint-checkdoc (files)
  "Put FILES through checkdoc."
  ;; It takes every verb of a docstring's first line for the main one.
  (let ((checkdoc-verb-check-experimental-flag nil)
        (checkdoc-create-error-function
         (lambda (text start _end &optional _unfixable)
           (neuron-council-lint-report (buffer-name) (line-number-at-pos start) "%s" text)
           nil)))
    (dolist (file files)
      (with-current-buffer (find-file-noselect file)
        (checkdoc-current-buffer t)))))

(defvar package-lint-main-file)
(declare-function package-lint-buffer "package-lint")

(defun neuron-council-lint-package (files)
  "Put FILES through package-lint, but for `neuron-council-lint-allowed'."
  (let ((package-lint-main-file "neuron-council.el"))
    (dolist (file files)
      (with-current-buffer (find-file-noselect file)
        (pcase-dolist (`(,line ,_ ,_ ,text) (package-lint-buffer))
          (unless (member text neuron-council-lint-allowed)
            (neuron-council-lint-report file line "%s" text)))))))

(declare-function relint-buffer "relint")

(defun neuron-council-lint-relint (files)
  "Put the regular expressions of FILES through relint."
  (dolist (file files)
    (with-current-buffer (find-file-noselect file)
      (dolist (finding (relint-buffer (current-buffer)))
        (neuron-council-lint-report file 0 "%s" finding)))))

(defun neuron-council-lint-width (files)
  "Look for lines of FILES that are wider than 120 columns."
  (dolist (file files)
    (with-current-buffer (find-file-noselect file)
      (goto-char (point-min))
      (while (not (eobp))
        (end-of-line)
        (when (> (current-column) 120)
          (neuron-council-lint-report file (line-number-at-pos) "is %d columns wide" (current-column)))
        (forward-line)))))

(defun neuron-council-lint-and-exit ()
  "Lint the files of the command line, and leave Emacs with 1 if there are findings."
  (let ((files command-line-args-left) (missing nil))
    (setq command-line-args-left nil)
    (neuron-council-lint-width files)
    (neuron-council-lint-compile files)
    (neuron-council-lint-checkdoc files)
    (pcase-dolist (`(,library . ,function)
                   `((package-lint . neuron-council-lint-package)
                     ;; Debian 12's relint cannot be read by a newer Emacs than Debian's own.
                     ,@(and (< emacs-major-version 29) '((relint . neuron-council-lint-relint)))))
      (if (require library nil t)
          (funcall function files)
        (push library missing)
        (message "Not checked: %s is missing (Debian: apt-get install elpa-%s)" library library)))
    (message "Emacs %s: %d files, %d findings" emacs-version (length files) neuron-council-lint-findings)
    (kill-emacs (if (or (> neuron-council-lint-findings 0) (and missing (getenv "NEURON_COUNCIL_STRICT"))) 1 0))))

(provide 'lint)
;;; lint.el ends here
