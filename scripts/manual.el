;;; manual.el --- Make the manual's Texinfo of its Org  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; emacs -Q --batch -l scripts/manual.el -f neuron-council-manual-and-exit [FILE]
;;
;; writes docs/neuron-council.texi, or FILE, of docs/neuron-council.org.  An archive makes the Info manual of the
;; former.  Versions of Org differ in what they write; the file in the repository is that of Emacs 28.

;;; Code:

(require 'ox-texinfo)

(defconst neuron-council-manual-source
  (expand-file-name "../docs/neuron-council.org" (file-name-directory (or load-file-name buffer-file-name)))
  "The manual.")

(defun neuron-council-manual-texinfo ()
  "Return the Texinfo of the manual, a string."
  (with-temp-buffer
    (insert-file-contents neuron-council-manual-source)
    (let ((default-directory (file-name-directory neuron-council-manual-source))
          (org-export-with-broken-links nil)
          (org-export-with-author t)
          (user-full-name ""))
      (org-mode)
      (org-export-as 'texinfo))))

(defun neuron-council-manual-and-exit ()
  "Write the Texinfo to the file of the command line and leave Emacs."
  (let ((target (expand-file-name (or (pop command-line-args-left)
                                      (concat (file-name-sans-extension neuron-council-manual-source) ".texi"))))
        (texinfo (neuron-council-manual-texinfo)))
    (with-temp-file target
      (insert texinfo))
    (kill-emacs 0)))

;;; manual.el ends here
