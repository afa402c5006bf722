;;; manual-test.el --- Tests of the manual against what it tells of  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; The manual is read as Org text.  A heading with the property KEYMAP has, as items of lists, keys of that map with
;; their commands, behind those of PREFIX if it has that; TRANSIENT is the same for a menu.

;;; Code:

(require 'helper)
(require 'transient)

(load (expand-file-name "scripts/manual.el" neuron-council-test-checkout) nil t)

(dolist (file (directory-files (file-name-directory (locate-library "neuron-council")) nil
                               "\\`neuron-council.*\\.el\\'"))
  (require (intern (file-name-sans-extension file))))

(defconst neuron-council-test-manual-text
  (with-temp-buffer
    (insert-file-contents neuron-council-manual-source)
    (buffer-string))
  "The manual.")

;;;; What the package defines

(defun neuron-council-test-manual-definitions ()
  "Return the entries of `load-history' of the package."
  (let ((entries nil))
    (pcase-dolist (`(,file . ,definitions) load-history)
      (when (and (stringp file)
                 (string-match-p "\\`neuron-council[^/]*\\.elc?\\'" (file-name-nondirectory file)))
        (setq entries (append definitions entries))))
    entries))

(defun neuron-council-test-manual-public (symbols)
  "Return those of SYMBOLS that are public, sorted."
  (sort (delete-dups (cl-remove-if (lambda (symbol) (string-search "--" (symbol-name symbol))) symbols))
        #'string<))

(defun neuron-council-test-manual-defined (type)
  "Return the public symbols that the package defines as TYPE, nil for variables."
  (neuron-council-test-manual-public
   (delq nil (mapcar (lambda (entry)
                       (cond ((null type) (and (symbolp entry) entry))
                             ((eq type (car-safe entry)) (cdr entry))))
                     (neuron-council-test-manual-definitions)))))

(defun neuron-council-test-manual-commands ()
  "Return the public commands of the package, major modes and menus not counted."
  (cl-remove-if-not (lambda (symbol)
                      (and (commandp symbol)
                           (not (get symbol 'derived-mode-parent))
                           (not (and (boundp symbol) (keymapp (symbol-value symbol))))))
                    (neuron-council-test-manual-defined 'defun)))

(defun neuron-council-test-manual-hooks ()
  "Return the public hooks of the package."
  (cl-remove-if-not (lambda (symbol) (string-match-p "-\\(?:hook\\|functions\\)\\'" (symbol-name symbol)))
                    (neuron-council-test-manual-defined nil)))

;;;; What the manual has

(defun neuron-council-test-manual-matches (regexp &optional text)
  "Return what the first group of REGEXP matches in TEXT, the manual if nil."
  (let ((text (or text neuron-council-test-manual-text)) (case-fold-search nil) (start 0) (found nil))
    (while (string-match regexp text start)
      (push (match-string 1 text) found)
      (setq start (match-end 0)))
    (nreverse found)))

(defun neuron-council-test-manual-index (keyword)
  "Return the entries that the manual gives by KEYWORD, such as \"findex\"."
  (neuron-council-test-manual-matches (format "^[ \t]*#\\+%s: +\\(.*?\\)[ \t]*$" keyword)))

(defun neuron-council-test-manual-unindexed (symbols keyword)
  "Return those of SYMBOLS that have no entry by KEYWORD."
  (let ((entries (neuron-council-test-manual-index keyword)))
    (cl-remove-if (lambda (symbol) (member (symbol-name symbol) entries)) symbols)))

(defun neuron-council-test-manual-pairs (text)
  "Return the keys in TEXT behind which their commands stand, as conses with these."
  (let ((start 0) (pairs nil))
    (while (string-match "{{{kbd(\\([^{}]*\\))}}} (~\\([^~ ]+\\)~)" text start)
      (push (cons (match-string 1 text) (intern (match-string 2 text))) pairs)
      (setq start (match-end 0)))
    (nreverse pairs)))

(defun neuron-council-test-manual-items (property)
  "Return the items of lists below headings with PROPERTY, as their keys.
These are lists of the property's value, that of PREFIX, and of pairs of
keys and commands."
  (let ((rows nil))
    (with-temp-buffer
      (insert neuron-council-test-manual-text)
      (goto-char (point-min))
      (while (re-search-forward "^\\*+ .*\n:PROPERTIES:\n\\(\\(?::[A-Z]+:.*\n\\)+?\\):END:\n" nil t)
        (let* ((drawer (match-string 1))
               (value (car (neuron-council-test-manual-matches (format "^:%s: +\\(.*\\)$" property) drawer)))
               (prefix (car (neuron-council-test-manual-matches "^:PREFIX: +\\(.*\\)$" drawer)))
               (end (save-excursion (if (re-search-forward "^\\*+ " nil t) (match-beginning 0) (point-max)))))
          (when value
            (while (re-search-forward "^- \\(.*\\) ::" end t)
              (push (list (intern value) prefix (neuron-council-test-manual-pairs (match-string 1))) rows))
            (goto-char end)))))
    (nreverse rows)))

(defun neuron-council-test-manual-key (key &optional prefix)
  "Return KEY, as the manual writes it, without PREFIX, as Emacs names it."
  (let ((key (if prefix (substring key (1+ (length prefix))) key)))
    (pcase key
      ("S-TAB" "<backtab>")
      ((rx bos "mouse-") (format "<%s>" key))
      (_ (key-description (kbd key))))))

(defun neuron-council-test-manual-map (name)
  "Return the keymap NAME; that of a mode has a parent once the mode was used."
  (let ((mode (intern (string-remove-suffix "-map" (symbol-name name)))))
    (when (get mode 'derived-mode-parent)
      (with-temp-buffer (funcall mode)))
    (symbol-value name)))

(defun neuron-council-test-manual-bindings (map &optional prefix)
  "Return the keys of MAP alone that run commands of the package, behind PREFIX."
  (let ((found nil))
    (map-keymap-internal
     (lambda (event binding)
       (let ((key (string-trim (concat prefix " " (key-description (vector event))))))
         (cond ((keymapp binding)
                (unless (memq event '(menu-bar remap))
                  (setq found (append (neuron-council-test-manual-bindings binding key) found))))
               ((and (symbolp binding) (string-prefix-p "neuron-council" (symbol-name binding)))
                (push (cons key binding) found)))))
     map)
    found))

;;;; Tests

(ert-deftest neuron-council-test-manual-indexes-everything ()
  "Every command, option, hook and face can be looked up."
  (should (> (length (neuron-council-test-manual-commands)) 60))
  (should-not (neuron-council-test-manual-unindexed (neuron-council-test-manual-commands) "findex"))
  (let ((options (cl-remove-if-not #'custom-variable-p (neuron-council-test-manual-defined nil))))
    (should (> (length options) 30))
    (should-not (neuron-council-test-manual-unindexed options "vindex")))
  (should (memq 'neuron-council-verdicts-hook (neuron-council-test-manual-hooks)))
  (should-not (neuron-council-test-manual-unindexed (neuron-council-test-manual-hooks) "vindex"))
  (should (memq 'neuron-council-flagged (neuron-council-test-manual-defined 'defface)))
  (should-not (neuron-council-test-manual-unindexed (neuron-council-test-manual-defined 'defface) "vindex")))

(ert-deftest neuron-council-test-manual-indexes-nothing-else ()
  (dolist (entry (neuron-council-test-manual-index "findex"))
    (should (fboundp (intern entry))))
  (dolist (entry (neuron-council-test-manual-index "vindex"))
    (should (or (boundp (intern entry)) (facep (intern entry)))))
  (dolist (keyword '("findex" "vindex" "kindex" "cindex"))
    (let ((entries (neuron-council-test-manual-index keyword)))
      (should entries)
      (should (equal entries (delete-dups (copy-sequence entries)))))))

(ert-deftest neuron-council-test-manual-names-what-is-there ()
  (let ((names (neuron-council-test-manual-matches
                (concat "\\(?:\\`\\|[^-/_[:alnum:]]\\)\\(neuron-council-[a-z]\\(?:[a-z-]*[a-z]\\)?\\)"
                        "\\(?:[^-_[:alnum:]]\\|\\'\\)"))))
    (should (> (length names) 300))
    (dolist (name (delete-dups names))
      (let ((symbol (intern name)))
        (unless (or (fboundp symbol) (boundp symbol) (facep symbol) (get symbol 'error-conditions))
          (ert-fail (list name "is not there")))))))

(ert-deftest neuron-council-test-manual-tells-the-keys ()
  "What is told of a map is in it, and what is in it is told."
  (let ((told nil))
    (pcase-dolist (`(,map ,prefix ,pairs) (neuron-council-test-manual-items "KEYMAP"))
      (pcase-dolist (`(,key . ,command) pairs)
        (let ((key (neuron-council-test-manual-key key prefix)))
          (should (equal (list map key command)
                         (list map key (lookup-key (neuron-council-test-manual-map map) (kbd key)))))
          (push (list map key) told))))
    (dolist (map (list 'neuron-council-command-map 'neuron-council-report-mode-map 'neuron-council-list-mode-map
                       'neuron-council-doctor-mode-map 'neuron-council-install-mode-map 'neuron-council-region-map))
      (pcase-dolist (`(,key . ,_) (neuron-council-test-manual-bindings (symbol-value map)))
        (unless (member (list map key) told)
          (ert-fail (list map key "is not told")))))))

(ert-deftest neuron-council-test-manual-indexes-the-keys ()
  (let ((entries (neuron-council-test-manual-index "kindex")))
    (pcase-dolist (`(,_ ,_ ,pairs) (neuron-council-test-manual-items "KEYMAP"))
      (pcase-dolist (`(,key . ,_) pairs)
        (should (cl-find-if (lambda (entry) (or (equal entry key) (string-prefix-p (concat key " (") entry)))
                            entries))))))

(ert-deftest neuron-council-test-manual-tells-the-menu ()
  (let ((rows (neuron-council-test-manual-items "TRANSIENT")))
    (should rows)
    (pcase-dolist (`(,menu ,_ ,pairs) rows)
      (pcase-dolist (`(,key . ,command) pairs)
        (should (memq command (flatten-tree (transient-get-suffix menu key))))))))

(ert-deftest neuron-council-test-manual-tells-keys-elsewhere ()
  "Keys of the prefix map and commands to be typed are right wherever they stand."
  (dolist (key (neuron-council-test-manual-matches "{{{kbd(C-c n \\(.*?\\))}}}"))
    (should (commandp (lookup-key neuron-council-command-map (kbd key)))))
  (pcase-dolist (`(,key . ,command) (neuron-council-test-manual-pairs neuron-council-test-manual-text))
    (when (string-prefix-p "C-c n " key)
      (should (eq command (lookup-key neuron-council-command-map (kbd (substring key 6)))))))
  (dolist (command (neuron-council-test-manual-matches "{{{kbd(M-x \\(.*?\\))}}}"))
    (should (commandp (intern command)))))

(ert-deftest neuron-council-test-manual-lisp-can-be-read ()
  (let ((blocks (neuron-council-test-manual-matches
                 "^#\\+begin_src emacs-lisp\n\\(\\(?:.\\|\n\\)*?\\)#\\+end_src")))
    (should (> (length blocks) 5))
    (dolist (text blocks)
      (with-temp-buffer
        (insert text)
        (emacs-lisp-mode)
        (check-parens)
        (goto-char (point-min))
        (while (progn (forward-comment (buffer-size)) (not (eobp)))
          (should (consp (read (current-buffer)))))))))

(ert-deftest neuron-council-test-manual-tells-the-settings ()
  "Every key that docs/configuration.md tells is told."
  (let ((keys (with-temp-buffer
                (insert-file-contents (expand-file-name "docs/configuration.md" neuron-council-test-checkout))
                (neuron-council-test-manual-matches "^| `\\([a-z_]+\\)` |" (buffer-string)))))
    (should (> (length keys) 10))
    (dolist (key keys)
      (should (string-search (format "~%s~" key) neuron-council-test-manual-text)))))

(ert-deftest neuron-council-test-manual-has-the-version ()
  (should (equal (neuron-council-test-manual-matches "version \\([0-9][0-9.]*[0-9]\\)\\.$")
                 (list neuron-council-version))))

;; Another version of Org writes otherwise.
(when (= emacs-major-version 28)
  (ert-deftest neuron-council-test-manual-is-made-anew ()
    "The Texinfo in the repository is that of the Org text."
    (with-temp-buffer
      (insert-file-contents (expand-file-name "docs/neuron-council.texi" neuron-council-test-checkout))
      ;; Not `equal' on both: a difference would be a hundred kilobytes of explanation.
      (should (string-equal (secure-hash 'sha256 (buffer-string))
                            (secure-hash 'sha256 (neuron-council-manual-texinfo)))))))

(ert-deftest neuron-council-test-manual-makes-info ()
  "Neither Org nor makeinfo has anything to say, and Info has every node."
  (let ((texinfo (neuron-council-manual-texinfo))
        (folder (make-temp-file "neuron-council-manual-" t)))
    (unwind-protect
        (let ((file (expand-file-name "manual.texi" folder))
              (info (expand-file-name "manual.info" folder)))
          ;; A skipped test counts as failed, and who tests may have no way to install it.
          (unless (or (executable-find "makeinfo") (getenv "CI"))
            (message "There is no makeinfo (Debian: apt-get install texinfo)")
            (ert-pass))
          (let ((coding-system-for-write 'utf-8))
            (write-region texinfo nil file nil 'quiet))
          (with-temp-buffer
            (should (equal (list (call-process "makeinfo" nil t nil "--no-split" "-o" info file) (buffer-string))
                           '(0 ""))))
          (with-temp-buffer
            (insert-file-contents info)
            (dolist (title (neuron-council-test-manual-matches "^\\*+ \\(.*\\)$"))
              (goto-char (point-min))
              (should (equal title (and (search-forward (format "Node: %s," title) nil t) title))))))
      (delete-directory folder t))))

(provide 'manual-test)
;;; manual-test.el ends here
