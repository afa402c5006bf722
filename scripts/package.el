;;; package.el --- Build the package as an archive does  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; emacs -Q --batch -l scripts/package.el -f neuron-council-package-build-and-exit FOLDER
;;
;; makes FOLDER/neuron-council-VERSION.tar of what the recipe in recipes/ lists and git knows, with the descriptor and the
;; Info manual that an archive adds, and prints its name.

;;; Code:

(require 'cl-lib)
(require 'lisp-mnt)
(require 'package)

(defconst neuron-council-package-checkout
  (expand-file-name ".." (file-name-directory (or load-file-name buffer-file-name)))
  "The checkout that is packaged.")

(defun neuron-council-package-run (folder program &rest arguments)
  "Run PROGRAM with ARGUMENTS in FOLDER; signal an error with what it said where it fails."
  (with-temp-buffer
    (let ((default-directory (file-name-as-directory folder)))
      (unless (eql 0 (apply #'call-process program nil t nil arguments))
        (error "%s failed: %s" program (buffer-string))))
    (split-string (buffer-string) "\0" t)))

(defun neuron-council-package-files ()
  "Return an alist from the files of the checkout to their places in the package.
In a recipe a pattern or a file goes to the top, a folder keeps its tree."
  (let ((patterns (plist-get (cdr (with-temp-buffer
                                    (insert-file-contents
                                     (expand-file-name "recipes/neuron-council" neuron-council-package-checkout))
                                    (read (current-buffer))))
                             :files))
        (known (neuron-council-package-run neuron-council-package-checkout "git" "ls-files" "-z"))
        (files nil))
    (dolist (pattern patterns)
      (let ((found nil))
        (dolist (file known)
          (cond ((string-prefix-p (concat pattern "/") file) (push (cons file file) found))
                ((string-match-p (concat "\\`" (wildcard-to-regexp pattern)) file)
                 (push (cons file (file-name-nondirectory file)) found))))
        (unless found (error "The recipe's %s matches no file" pattern))
        (setq files (append found files))))
    files))

(defun neuron-council-package-build (folder)
  "Make the package in FOLDER and return the name of its file."
  (let* ((main (expand-file-name "elisp/neuron-council.el" neuron-council-package-checkout))
         (description (with-temp-buffer
                        (insert-file-contents main)
                        (package-buffer-info)))
         (name (format "neuron-council-%s" (package-version-join (package-desc-version description))))
         (work (make-temp-file "neuron-council-package-" t))
         (root (expand-file-name name work))
         (tar (expand-file-name (concat name ".tar") folder)))
    (unwind-protect
        (progn
          (pcase-dolist (`(,file . ,place) (neuron-council-package-files))
            (let ((target (expand-file-name place root)))
              (make-directory (file-name-directory target) t)
              (copy-file (expand-file-name file neuron-council-package-checkout) target)))
          (let ((package-desc-file (expand-file-name "neuron-council-pkg.el" root)))
            (package-generate-description-file description package-desc-file))
          (if (executable-find "makeinfo")
              (progn
                (neuron-council-package-run root "makeinfo" "--no-split" "neuron-council.texi")
                (neuron-council-package-run root "install-info" "--dir=dir" "neuron-council.info"))
            (message "Without makeinfo (Debian: apt-get install texinfo) the package has no Info manual"))
          (make-directory folder t)
          (neuron-council-package-run work "tar" "--sort=name" "--owner=0" "--group=0" "-cf" tar name))
      (delete-directory work t))
    tar))

(defun neuron-council-package-build-and-exit ()
  "Make the package in the folder of the command line, print its name and leave Emacs."
  (princ (concat (neuron-council-package-build (expand-file-name (or (pop command-line-args-left) "dist"))) "\n"))
  (kill-emacs 0))

;;; package.el ends here
