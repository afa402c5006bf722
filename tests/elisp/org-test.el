;;; org-test.el --- Tests of memories and captures in Org files  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Code:

(require 'helper)
(require 'neuron-council-org)
(require 'org-agenda)
(require 'ol-bibtex)

(defvar neuron-council-test-hacked nil
  "What hostile text has managed to have evaluated.")

(defmacro neuron-council-test-org (script &rest body)
  "Run BODY with a server that follows SCRIPT; memories go to an Org file of its own."
  (declare (indent 1) (debug t))
  `(neuron-council-test-with ,script
     (let* ((folder (file-name-as-directory (make-temp-file "neuron-council-org-" t)))
            (neuron-council-org-file (concat folder "memories.org"))
            (neuron-council-store-function #'neuron-council-org-store)
            (neuron-council-quarantine-function #'neuron-council-org-quarantine)
            (neuron-council-org--files nil)
            (org-agenda-files nil)
            (org-agenda-skip-unavailable-files t)
            (org-capture-bookmark nil)
            (org-id-track-globally nil)
            (org-directory folder)
            (backup-inhibited t))
       (unwind-protect
           (progn ,@body)
         (dolist (buffer (buffer-list))
           (when (and (buffer-file-name buffer) (string-prefix-p folder (buffer-file-name buffer)))
             (with-current-buffer buffer
               (set-buffer-modified-p nil)
               (kill-buffer))))
         (delete-directory folder t)))))

(defun neuron-council-test-saved (&optional file)
  "Return the text of FILE, by default that of the memories, as it is on disk."
  (let ((file (or file (neuron-council-org-file))))
    (with-temp-buffer
      (let ((coding-system-for-read 'utf-8-unix))
        (when (file-exists-p file) (insert-file-contents file)))
      (buffer-string))))

(defun neuron-council-test-outline (&optional file)
  "Return the headings of FILE, by default that of the memories, as it is on disk.
Each is a list of its level, its title and the properties of the council."
  (let ((text (neuron-council-test-saved file)) (outline nil))
    (with-temp-buffer
      (insert text)
      (org-mode)
      (org-map-entries
       (lambda ()
         (push (list (org-current-level) (org-get-heading t t t t)
                     (org-entry-get nil "COUNCIL_CONFIDENCE") (org-entry-get nil "COUNCIL_TAGS"))
               outline))))
    (nreverse outline)))

(defun neuron-council-test-ids (&optional file)
  "Return the ids of the entries of FILE, by default that of the memories."
  (let ((text (neuron-council-test-saved file)) (start 0) (ids nil))
    (while (string-match "^ *:COUNCIL_ID: +\\(.*\\)$" text start)
      (push (match-string 1 text) ids)
      (setq start (match-end 0)))
    (nreverse ids)))

;;;; The store function

(ert-deftest neuron-council-test-org-stores ()
  (neuron-council-test-org nil
    (let ((id (capture-memory-with-council "Ana lives in Lisbon." "Chat of Monday"
                                           :text "Ana lives in Lisbon." :context "Chat of Monday" :kind 'fact)))
      (should (equal (neuron-council-test-ids) (list id)))
      (should (string-match-p
               (concat "\\`#\\+title: Memories\n\n\\* Ana lives in Lisbon\\.\n:PROPERTIES:\n"
                       ":CREATED: +\\[[0-9]\\{4\\}-[0-9][0-9]-[0-9][0-9] [^]\n]* [0-9][0-9]:[0-9][0-9]\\]\n"
                       ":COUNCIL_CONFIDENCE: 0\\.85\n:COUNCIL_TAGS: verified\n:COUNCIL_ID: " id "\n:END:\n"
                       ":CONTEXT:\n: Chat of Monday\n:END:\n:ARGUMENTS:\n: (:kind fact)\n:END:\n\\'")
               (neuron-council-test-saved)))
      (should-not (buffer-modified-p (find-buffer-visiting neuron-council-org-file))))))

(ert-deftest neuron-council-test-org-without-arguments ()
  "What was judged is what is stored where the arguments hold no text."
  (neuron-council-test-org '(:verify [nil (:verdict (:tags ["council-parked"] :confidence 0.3))])
    (capture-memory-with-council "Ana lives in Lisbon." nil)
    (let ((neuron-council-parked-policy 'hold))
      (capture-memory-with-council "Ana lives in Porto." nil))
    (neuron-council-accept (plist-get (car (neuron-council-held-records)) :id))
    (should (equal (mapcar #'cadr (neuron-council-test-outline)) '("Ana lives in Lisbon." "Ana lives in Porto.")))
    (should (equal (cadddr (cadr (neuron-council-test-outline))) "council-parked human-accepted"))
    (should-error (neuron-council-org-store :kind 'fact) :type 'neuron-council-error)))

(ert-deftest neuron-council-test-org-stores-once ()
  "The same memory with the same id is one entry; another one with this id is another."
  (neuron-council-test-org nil
    (cl-flet ((store (text confidence tag)
                (neuron-council-org-store :text text :council-confidence confidence :council-tags (list tag)
                                          :council-id (neuron-council-test-uuid 1))))
      (should (equal (store "Ana\nlives" 0.5 "council-unavailable") (neuron-council-test-uuid 1)))
      (store "Ana\nlives" 0.85 "verified")
      (should (equal (neuron-council-test-outline) '((1 "Ana lives" "0.85" "verified"))))
      (store "Ana lives" 0.65 "council-split")
      (should (equal (neuron-council-test-outline)
                     '((1 "Ana lives" "0.65" "council-split"))))
      (store "Ana laughs" 0.65 "council-split")
      (should (= 2 (length (neuron-council-test-outline)))))
    ;; Without a verdict nothing tells two memories apart.
    (dotimes (_ 2) (neuron-council-org-store "By hand"))
    (should (= 4 (length (neuron-council-test-outline))))))

(ert-deftest neuron-council-test-org-quarantine-and-back ()
  (neuron-council-test-org '(:verify [nil (:verdict (:confidence 0.3))])
    (let ((neuron-council-flagged-policy 'quarantine))
      (neuron-council-org-store "First")
      (capture-memory-with-council "Claim 1" nil "Claim 1")
      (capture-memory-with-council "Claim 2" nil "Claim 2")
      (capture-memory-with-council "Quarantine" nil "Quarantine")
      (should (equal (neuron-council-test-outline)
                     `((1 "First" nil nil) (1 "Claim 1" "0.85" "verified") (1 "Quarantine" nil nil)
                       (2 "Claim 2" "0.30" "unverified council-flagged")
                       (2 ,(concat "\u200b" "Quarantine") "0.30" "unverified council-flagged"))))
      (should (eq 'quarantined (plist-get (car neuron-council-verdicts) :fate)))
      (neuron-council-org-store "Last")
      (neuron-council-restore (plist-get (cl-find "Claim 2" (neuron-council-held-records)
                                                  :key (lambda (record) (plist-get record :claim)) :test #'equal)
                                         :id))
      (should (equal (mapcar (lambda (entry) (list (car entry) (cadr entry))) (neuron-council-test-outline))
                     `((1 "First") (1 "Claim 1") (1 "Quarantine") (2 ,(concat "\u200b" "Quarantine")) (1 "Last")
                       (1 "Claim 2"))))
      (should (string-match-p "human-accepted" (cadddr (car (last (neuron-council-test-outline)))))))))

(ert-deftest neuron-council-test-org-moves-nothing-away ()
  "An entry moves whole, with its children, wherever it and the quarantine stand."
  (pcase-dolist (`(,before ,quarantine ,after)
                 '(("* A\n:PROPERTIES:\n:COUNCIL_ID: %s\n:END:\ntext\n** B\n*bold*\n* Quarantine\n** Q\n" t
                    "* Quarantine\n** Q\n** A\n:PROPERTIES:\n:COUNCIL_ID: %s\n:END:\ntext\n*** B\n*bold*\n")
                   ;; Right behind the quarantine, and last in the file, without a newline.
                   ("* Quarantine\n** Q\n* A\n:PROPERTIES:\n:COUNCIL_ID: %s\n:END:\n** B" t
                    "* Quarantine\n** Q\n** A\n:PROPERTIES:\n:COUNCIL_ID: %s\n:END:\n*** B\n")
                   ("* Quarantine\n** A\n:PROPERTIES:\n:COUNCIL_ID: %s\n:END:\n*** B\n** Q\n* C" nil
                    "* Quarantine\n** Q\n* C\n* A\n:PROPERTIES:\n:COUNCIL_ID: %s\n:END:\n** B\n")
                   ("* Quarantine\n** A\n:PROPERTIES:\n:COUNCIL_ID: %s\n:END:\n" nil
                    "* Quarantine\n* A\n:PROPERTIES:\n:COUNCIL_ID: %s\n:END:\n")
                   ("* Quarantine\n** A\n:PROPERTIES:\n:COUNCIL_ID: %s\n:END:\n" t
                    "* Quarantine\n** A\n:PROPERTIES:\n:COUNCIL_ID: %s\n:END:\n")))
    (neuron-council-test-org nil
      (let ((id (neuron-council-test-uuid 1)))
        (write-region (format before id) nil neuron-council-org-file nil 'quiet)
        (should (= 1 (neuron-council-org--update id (lambda () (neuron-council-org--move quarantine)))))
        (should (equal (neuron-council-test-saved) (format after id)))))))

;;;; Hostile text

(defconst neuron-council-test-hostile
  '("* Not a heading" "** TODO Not one either" "TODO Not to be done" "COMMENT Not commented" "NEXT step" "DONE"
    "[#A] Not urgent" "A claim :tag:" "A claim :tag:other:" ":tag:" ":PROPERTIES:" ":END:" "text\n:END:\n* Escaped"
    ":LOGBOOK:\nCLOCK: [2026-01-01 Thu 10:00]--[2026-01-01 Thu 11:00] =>  1:00\n:END:"
    "DEADLINE: <2031-12-02 Tue>" "SCHEDULED: <2031-12-02 Tue +1d>" "On <2031-12-02 Tue> and [2031-12-02 Tue]"
    "[[elisp:(setq neuron-council-test-hacked 'bracket)][Click]]" "elisp:(setq neuron-council-test-hacked 'plain)"
    "<elisp:(setq neuron-council-test-hacked 'angle)>" "[[shell:touch hacked]]" "https://example.org/a"
    "<<target>> and <<<radio>>>" "src_emacs-lisp{(setq neuron-council-test-hacked 'inline)}" "call_hack()"
    "#+begin_src emacs-lisp\n(setq neuron-council-test-hacked 'block)\n#+end_src"
    "#+begin_src emacs-lisp :eval yes\n(setq neuron-council-test-hacked 'half"
    "#+call: hack()" "#+PROPERTY: header-args :eval yes" "#+TODO: Ana | lives" "#+SETUPFILE: /etc/passwd"
    "#+MACRO: hack (eval (setq neuron-council-test-hacked 'macro))" "{{{hack}}} {{{time(%Y)}}} @@html:<b>@@"
    "<%%(setq neuron-council-test-hacked 'sexp)>" "%%(setq neuron-council-test-hacked 'diary)"
    "&%%(setq neuron-council-test-hacked 'diary)" "[fn:1] Not a footnote" "[fn:: inline]" "[cite:@key]" "[1/2] [50%]"
    "- [ ] Not an item" "| a | table |\n#+TBLFM: @1$1='(setq neuron-council-test-hacked 'table)"
    "# Local Variables:\n# eval: (setq neuron-council-test-hacked 'local)\n# End:"
    "Local Variables:\neval: (setq neuron-council-test-hacked 'local)\nEnd:"
    "-*- eval: (setq neuron-council-test-hacked 'mode) -*-" "*bold* \\alpha $x$ a_b ^c" "two\n\n\nparagraphs\n"
    "é\u200b\u202e日本 \t\tx  y" "a\rb\r\nc" "a\0b\fc\eb" "a\377b")
  "Texts that would mean something to Org.")

(defun neuron-council-test-tree (text)
  "Return the parse tree of TEXT, an Org file."
  (with-temp-buffer
    (insert text)
    (let ((org-inhibit-startup t)) (org-mode))
    (org-element-parse-buffer)))

(defun neuron-council-test-types (tree)
  "Return the types of all that TREE holds."
  (let ((types nil))
    (org-element-map tree (append org-element-all-elements org-element-all-objects)
      (lambda (element) (push (org-element-type element) types)))
    (delete-dups types)))

(ert-deftest neuron-council-test-org-hostile-text-is-text ()
  "Whatever is stored is one entry of one heading, a drawer and lines of text."
  (dolist (place '(text around))
    (neuron-council-test-org nil
      (dolist (hostile neuron-council-test-hostile)
        (neuron-council-org-store
         :text (if (eq place 'text) hostile "A claim")
         :context (and (eq place 'around) hostile) :more (and (eq place 'around) (list hostile))
         :council-confidence 0.85 :council-tags '("verified") :council-id (neuron-council-verify-new-id)))
      (let* ((tree (neuron-council-test-tree (neuron-council-test-saved))) (count 0))
        (should-not (cl-set-difference (neuron-council-test-types tree)
                                       '(section keyword headline property-drawer node-property drawer fixed-width
                                                 ;; How text looks, not what it does.
                                                 bold italic underline verbatim code strike-through subscript superscript
                                                 entity latex-fragment)))
        (should (= 1 (length (org-element-map tree 'keyword #'identity))))
        (org-element-map tree 'headline
          (lambda (headline)
            (setq count (1+ count))
            (should (= 1 (org-element-property :level headline)))
            (should-not (org-element-property :todo-keyword headline))
            (should-not (org-element-property :tags headline))
            (should-not (org-element-property :priority headline))
            (should-not (org-element-property :commentedp headline))
            (should-not (org-element-property :deadline headline))
            (should (equal "0.85" (org-element-property :COUNCIL_CONFIDENCE headline)))))
        (should (= count (length neuron-council-test-hostile)))))))

(ert-deftest neuron-council-test-org-hostile-text-does-nothing ()
  "Neither visiting, nor clicking, nor evaluating, nor the agenda, nor an export acts on it."
  (neuron-council-test-org nil
    (setq neuron-council-test-hacked nil)
    (dolist (hostile neuron-council-test-hostile)
      (neuron-council-org-store :text hostile :context hostile))
    (let ((org-link-elisp-confirm-function nil) (org-link-shell-confirm-function nil) (org-confirm-babel-evaluate nil)
          (enable-local-eval t) (enable-local-variables :all) (asked nil)
          (org-agenda-files (list (neuron-council-org-file)))
          (org-agenda-span 'day) (org-agenda-start-day "2031-12-02") (org-agenda-include-inactive-timestamps t)
          (org-agenda-sticky nil) (count 0))
      (kill-buffer (find-buffer-visiting neuron-council-org-file))
      (cl-letf (((symbol-function 'browse-url) (lambda (url &rest _) (push url asked))))
        (with-current-buffer (find-file-noselect neuron-council-org-file)
          (should-not neuron-council-test-hacked)
          (goto-char (point-min))
          (while (re-search-forward "^\\*\\|elisp\\|shell\\|https\\|src\\|call\\|hack\\|fn:\\|cite\\|Local" nil t)
            (setq count (1+ count))
            (save-excursion
              (goto-char (match-beginning 0))
              (ignore-errors (org-open-at-point))
              (ignore-errors (org-babel-execute-src-block-maybe))))
          (should (> count 100))
          (ignore-errors (org-babel-execute-buffer))
          (set-buffer-modified-p nil))
        (save-window-excursion
          (org-agenda-list nil "2031-12-02" 'day)
          (should-not (string-match-p "Not \\|claim\\|sexp\\|diary\\|On " (with-current-buffer "*Org Agenda*"
                                                                             (buffer-string))))
          (kill-buffer "*Org Agenda*")))
      (should-not asked)
      (should-not neuron-council-test-hacked))))

(ert-deftest neuron-council-test-org-text-comes-back ()
  "What stands below the heading is the text to the letter, but for what Emacs itself would act on."
  (neuron-council-test-org nil
    (dolist (text '("One line of text that is longer than a heading should be, so that it stands below it, too, in full length"
                    "# not a comment\n\n  indented\n\ttab\n* star\n: colon\n:: two" "elisp:(foo) [[a][b]]" "é日本"))
      (ignore-errors (kill-buffer (find-buffer-visiting neuron-council-org-file)))
      (when (file-exists-p neuron-council-org-file) (delete-file neuron-council-org-file))
      (neuron-council-org-store :text (concat text "\nend") :context "Not of the claim")
      (neuron-council-org-store :text (concat text "\nend"))
      (should (string-suffix-p (concat (mapconcat (lambda (line) (if (equal line "") ":" (concat ": " line)))
                                                  (split-string (concat text "\nend") "\n") "\n")
                                       "\n")
                               (neuron-council-test-saved)))
      ;; And it is judged as what it is.
      (with-current-buffer (find-file-noselect neuron-council-org-file)
        (goto-char (point-min))
        (org-next-visible-heading 1)
        (should (equal (concat text "\nend")
                       (neuron-council-org--claim (point) (save-excursion (outline-next-heading) (point)))))))))

;;;; The file

(ert-deftest neuron-council-test-org-buffer-of-the-user ()
  "Point, narrowing and changes of the user stay; what he changed is saved with the memory."
  (neuron-council-test-org nil
    (write-region "* Mine\ntext\n* Other\n" nil neuron-council-org-file nil 'quiet)
    (with-current-buffer (find-file-noselect neuron-council-org-file)
      (goto-char (point-min))
      (search-forward "text")
      (insert " changed")
      (org-narrow-to-subtree)
      (read-only-mode 1)
      (let ((here (point)))
        (neuron-council-org-store "A claim")
        (should (= here (point)))
        (should (buffer-narrowed-p))
        (should buffer-read-only)
        (should (equal (neuron-council-test-saved)
                       (replace-regexp-in-string "\\`" "" (save-restriction (widen) (buffer-string)))))
        (should (string-match-p "\\`\\* Mine\ntext changed\n\\* Other\n\\* A claim\n" (neuron-council-test-saved)))))))

(ert-deftest neuron-council-test-org-file-that-changed-on-disk ()
  (neuron-council-test-org nil
    (neuron-council-org-store "Claim 1")
    (let ((file-text (neuron-council-test-saved)))
      (write-region (concat file-text "* From elsewhere\n") nil neuron-council-org-file nil 'quiet)
      (set-file-times neuron-council-org-file (time-add nil 10))
      (neuron-council-org-store "Claim 2")
      (should (equal (mapcar #'cadr (neuron-council-test-outline)) '("Claim 1" "From elsewhere" "Claim 2")))
      ;; Gone from the disk: it is made again.
      (delete-file neuron-council-org-file)
      (neuron-council-org-store "Claim 3")
      (should (= 4 (length (neuron-council-test-outline))))
      (with-current-buffer (find-buffer-visiting neuron-council-org-file)
        (goto-char (point-max))
        (insert "* Unsaved\n")
        (write-region "* From elsewhere\n" nil neuron-council-org-file nil 'quiet)
        (set-file-times neuron-council-org-file (time-add nil 20))
        (should (string-match-p "on disk and in Emacs"
                                (neuron-council-test-text
                                 (should-error (neuron-council-org-store "Claim 4") :type 'neuron-council-error))))
        (should (equal (neuron-council-test-saved) "* From elsewhere\n"))
        (should-not (save-excursion (goto-char (point-min)) (search-forward "Claim 4" nil t)))))))

(ert-deftest neuron-council-test-org-file-that-cannot-be-written ()
  "The error says why; a memory captured in the background is kept and can be stored later."
  (neuron-council-test-org nil
    (neuron-council-org-store "Claim 0")
    (kill-buffer (find-buffer-visiting neuron-council-org-file))
    (let ((lock (concat folder ".#memories.org")))
      (make-symbolic-link "someone@elsewhere.1:1" lock)
      (should (string-match-p "someone.* is editing it"
                              (neuron-council-test-text
                               (should-error (neuron-council-org-store "Claim 1") :type 'neuron-council-error))))
      (should (cl-some (lambda (text) (string-match-p "is editing it.*is kept" text))
                       (neuron-council-test-messages
                         (capture-memory-with-council-async "Claim 2" nil "Claim 2")
                         (neuron-council-test-until (null neuron-council-rpc-jobs)))))
      (should (= 1 (length (neuron-council-test-folder "pending"))))
      (delete-file lock))
    (cl-letf (((symbol-function 'file-writable-p) #'ignore))
      (should (string-match-p "write-protected"
                              (neuron-council-test-text
                               (should-error (neuron-council-org-store "Claim 3") :type 'neuron-council-error)))))
    (with-current-buffer (find-file-noselect neuron-council-org-file)
      (add-hook 'write-file-functions (lambda () (not (yes-or-no-p "Really? "))) nil t)
      (should-error (neuron-council-org-store "Claim 4" :council-id (neuron-council-test-uuid 4))
                    :type 'neuron-council-error)
      (kill-local-variable 'write-file-functions))
    ;; A second try does not double what the first one has inserted.
    (neuron-council-org-store "Claim 4" :council-id (neuron-council-test-uuid 4))
    (let ((neuron-council-org-file "/proc/nowhere/memories.org"))
      (should-error (neuron-council-org-store "Claim 5") :type 'neuron-council-error))
    (neuron-council-resume-pending)
    (neuron-council-test-until (null (neuron-council-test-folder "pending")))
    (should (equal (mapcar #'cadr (neuron-council-test-outline)) '("Claim 0" "Claim 4" "Claim 2")))))

(ert-deftest neuron-council-test-org-file-with-another-coding ()
  (neuron-council-test-org nil
    (let ((coding-system-for-write 'latin-1-unix))
      (write-region "* Caf\u00e9\n" nil neuron-council-org-file nil 'quiet))
    (let ((coding-system-for-read 'latin-1-unix))
      (find-file-noselect neuron-council-org-file))
    (neuron-council-org-store "Ana in 日本")
    (should (string-match-p "Caf\u00e9" (neuron-council-test-saved)))
    (should (string-match-p "Ana in 日本" (neuron-council-test-saved)))
    ;; A file that insists on another one: that is a question.
    (kill-buffer (find-buffer-visiting neuron-council-org-file))
    (let ((coding-system-for-write 'latin-1-unix))
      (write-region "# -*- coding: latin-1 -*-\n* Caf\u00e9\n" nil neuron-council-org-file nil 'quiet))
    (should (string-match-p "ask something" (neuron-council-test-text
                                             (should-error (neuron-council-org-store "Ana in 日本")
                                                           :type 'neuron-council-error))))))

(ert-deftest neuron-council-test-org-save-that-fails ()
  "What is not saved is not there: an error, a throw or \\[keyboard-quit] in the save leaves the buffer as it was."
  (neuron-council-test-org nil
    (neuron-council-org-store "A first" :council-id (neuron-council-test-uuid 1))
    (with-current-buffer (find-buffer-visiting (neuron-council-org-file))
      (dolist (mine '("" "* My own\n"))
        (goto-char (point-max))
        (insert mine)
        (let ((before (buffer-string)) (modified (buffer-modified-p)))
          (dolist (leave (list (lambda () (error "No")) (lambda () (signal 'quit nil)) (lambda () (throw 'out t))))
            (let ((write-file-functions (list leave)))
              (catch 'out
                (condition-case nil
                    (capture-memory-with-council "A claim" nil "A claim")
                  ((error quit)))))
            (should (equal (buffer-string) before))
            (should (eq (buffer-modified-p) modified))))))
    (neuron-council-org-store "A second" :council-id (neuron-council-test-uuid 2))
    (should (equal (mapcar #'cadr (neuron-council-test-outline)) '("A first" "My own" "A second")))))

(ert-deftest neuron-council-test-org-is-moved-in-one-save ()
  "No death between lets a memory stand in its file twice."
  (neuron-council-test-org nil
    (neuron-council-org-quarantine "A claim" :council-id (neuron-council-test-uuid 1))
    (let* ((saves 0)
           (after-save-hook (list (lambda ()
                                    (setq saves (1+ saves))
                                    (should (= 1 (how-many "A claim" (point-min) (point-max))))))))
      (neuron-council-org-store "A claim" :council-id (neuron-council-test-uuid 1))
      (neuron-council-org-quarantine "A claim" :council-id (neuron-council-test-uuid 1))
      (should (= saves 2)))
    (should (equal (mapcar #'cadr (neuron-council-test-outline)) '("Quarantine" "A claim")))))

(ert-deftest neuron-council-test-org-disk-that-is-full ()
  "The memories on the disk are not cut off; links to their file stay links."
  (neuron-council-test-org nil
    (let* ((write (symbol-function 'write-region))
           (linked (concat folder "linked.org")))
      (neuron-council-org-store "A first" :council-id (neuron-council-test-uuid 1))
      (let ((before (neuron-council-test-saved)))
        (cl-letf (((symbol-function 'write-region)
                   (lambda (_start _end file &rest _)
                     (funcall write "* A f" nil file nil 'quiet)
                     (signal 'file-error (list "Write error" "No space left on device" file)))))
          (should-error (neuron-council-org-store "A second" :council-id (neuron-council-test-uuid 2))
                        :type 'neuron-council-error))
        (should (equal (neuron-council-test-saved) before))
        (should (equal (directory-files folder nil "\\`[^.]") '("memories.org"))))
      (kill-buffer (find-buffer-visiting (neuron-council-org-file)))
      (dolist (link (list #'make-symbolic-link #'add-name-to-file))
        (rename-file (neuron-council-org-file) linked)
        (funcall link linked (neuron-council-org-file))
        (neuron-council-org-store (symbol-name link) :council-id (neuron-council-test-uuid 3))
        (should (equal (neuron-council-test-saved) (neuron-council-test-saved linked)))
        (should (string-match-p (symbol-name link) (neuron-council-test-saved linked)))
        (kill-buffer (find-buffer-visiting linked))
        (delete-file (neuron-council-org-file))
        (rename-file linked (neuron-council-org-file))))))

(ert-deftest neuron-council-test-org-relative-file ()
  (neuron-council-test-org nil
    (let ((neuron-council-org-file "notes/memories.org"))
      (neuron-council-org-store "A claim")
      (should (file-exists-p (concat folder "notes/memories.org"))))))

;;;; Later verdicts and decisions

(ert-deftest neuron-council-test-org-reevaluated ()
  (neuron-council-test-org nil
    (let ((other (concat folder "other.org")) (id (neuron-council-test-uuid 1)))
      (neuron-council-org-store "Claim 1" :council-confidence 0.5 :council-tags '("council-unavailable" "human-accepted")
                                :council-id id)
      (neuron-council-org-store "Claim 2" :council-confidence 0.5 :council-tags '("council-unavailable")
                                :council-id (neuron-council-test-uuid 2))
      (write-region (format "* A task\n:PROPERTIES:\n:COUNCIL_ID: %s\n:END:\n%s\n" id id) nil other nil 'quiet)
      (let ((org-agenda-files (list other))
            (verdict (list :id (neuron-council-test-uuid 9) :confidence 0.3 :tags '("unverified" "council-flagged"))))
        (dotimes (_ 2) (should (= 2 (neuron-council-org-reevaluated id verdict))))
        (should (equal (neuron-council-test-outline)
                       '((1 "Claim 1" "0.30" "unverified council-flagged human-accepted")
                         (1 "Claim 2" "0.50" "council-unavailable"))))
        (should (equal (neuron-council-test-outline other) '((1 "A task" "0.30" "unverified council-flagged"))))
        ;; It is found by its new verdict, too, and goes where the policy says.
        (let ((neuron-council-flagged-policy 'quarantine))
          (neuron-council-org-reevaluated (neuron-council-test-uuid 9) verdict))
        (should (equal (mapcar #'cadr (neuron-council-test-outline)) '("Claim 2" "Quarantine" "Claim 1")))
        (should (= 1 (length (neuron-council-test-outline other))))
        (should (zerop (neuron-council-org-reevaluated (neuron-council-test-uuid 5) verdict)))))))

(ert-deftest neuron-council-test-org-reevaluated-by-the-server ()
  "An entry that nobody could judge gets its verdict from the next server."
  (neuron-council-test-org nil
    (let ((neuron-council-reevaluated-functions (list #'neuron-council-org-reevaluated)))
      (let ((neuron-council-server-command '("/nonexistent/neuron-council" "serve")))
        (capture-memory-with-council "A claim" nil "A claim"))
      (should (equal (neuron-council-test-outline) '((1 "A claim" "0.50" "council-unavailable"))))
      (neuron-council-process-ensure)
      (neuron-council-test-until (null (neuron-council-test-folder "unsent")))
      (should (equal (neuron-council-test-outline) '((1 "A claim" "0.85" "verified")))))))

(ert-deftest neuron-council-test-org-reviewed ()
  (neuron-council-test-org nil
    (let ((id (neuron-council-test-uuid 1)))
      (neuron-council-org-store "A claim" :council-confidence 0.3 :council-tags '("council-flagged") :council-id id)
      (pcase-dolist (`(,decision ,outline)
                     '(("reject" ((1 "Quarantine" nil nil) (2 "A claim" "0.30" "council-flagged human-rejected")))
                       ("reject" ((1 "Quarantine" nil nil) (2 "A claim" "0.30" "council-flagged human-rejected")))
                       ("accept" ((1 "Quarantine" nil nil) (1 "A claim" "0.30" "council-flagged human-accepted")))))
        (neuron-council-org-reviewed id decision nil)
        (should (equal (neuron-council-test-outline) outline))))))

;;;; Capture

(defmacro neuron-council-test-capturing (script templates &rest body)
  "Run BODY with `org-capture' judged by a server that follows SCRIPT.
Each of TEMPLATES is a key, a type, a template and more properties; they
file to the heading Inbox of inbox.org, whose name is in INBOX."
  (declare (indent 2) (debug t))
  `(neuron-council-test-org ,script
     (let* ((inbox (concat folder "inbox.org"))
            (org-capture-templates
             (mapcar (lambda (each)
                       (append (list (nth 0 each) "A template" (nth 1 each) (list 'file+headline inbox "Inbox")
                                     (nth 2 each))
                               (nthcdr 3 each)))
                     ,templates)))
       (write-region "* Inbox\n" nil inbox nil 'quiet)
       (unwind-protect
           (progn
             (neuron-council-org-capture-mode 1)
             ,@body)
         (neuron-council-org-capture-mode -1)
         (dolist (buffer (buffer-list))
           (when (string-prefix-p "CAPTURE-" (buffer-name buffer)) (kill-buffer buffer)))))))

(defun neuron-council-test-capture-buffer ()
  "Return the buffer of the capture that is open, or nil."
  (cl-find-if (lambda (buffer) (string-prefix-p "CAPTURE-" (buffer-name buffer))) (buffer-list)))

(defun neuron-council-test-finalize ()
  "Finalize the capture that is open."
  (with-current-buffer (neuron-council-test-capture-buffer)
    (org-capture-finalize)))

(ert-deftest neuron-council-test-org-capture-is-judged-before-it-is-filed ()
  (neuron-council-test-capturing nil '(("a" entry "* TODO Ana lives in Lisbon. :people:\nSCHEDULED: <2031-12-02 Tue>
:PROPERTIES:\n:KIND: fact\n:END:\n:NOTES:\nhidden\n:END:\nShe [[https://example.org][said]] so.\n** More\n%?" :council t)
                                        ("b" entry "* Not judged"))
    (org-capture nil "a")
    (should-not (neuron-council-test-seen "council/verify"))
    (neuron-council-test-finalize)
    (should (equal (mapcar (lambda (message) (plist-get (plist-get message :params) :claim))
                           (neuron-council-test-seen "council/verify"))
                   '("Ana lives in Lisbon.\nShe said so.\nMore")))
    (should-not (neuron-council-test-capture-buffer))
    (should (equal (neuron-council-test-outline inbox)
                   '((1 "Inbox" nil nil) (2 "Ana lives in Lisbon." "0.85" "verified") (3 "More" nil nil))))
    (should (equal (neuron-council-test-ids inbox) (list (plist-get (car neuron-council-verdicts) :id))))
    (should (string-match-p ":KIND: +fact" (neuron-council-test-saved inbox)))
    (org-capture nil "b")
    (neuron-council-test-finalize)
    (should (= 1 (length (neuron-council-test-seen "council/verify"))))
    ;; All but those that say no.
    (let ((neuron-council-org-capture-all t)
          (org-capture-templates (mapcar (lambda (each) (append each '(:council nil))) org-capture-templates)))
      (org-capture nil "b")
      (neuron-council-test-finalize)
      (setcdr (last (car (last org-capture-templates)) 3) nil)
      (should (= 1 (length (neuron-council-test-seen "council/verify"))))
      (setcar (last org-capture-templates) (list "b" "A template" 'entry (list 'file+headline inbox "Inbox") "* Judged"))
      (org-capture nil "b")
      (neuron-council-test-finalize)
      (should (= 2 (length (neuron-council-test-seen "council/verify")))))))

(ert-deftest neuron-council-test-org-capture-context ()
  "The region that was active is what the claim is judged against."
  (neuron-council-test-capturing nil '(("a" entry "* Ana lives in Lisbon." :council t :immediate-finish t))
    (let ((org-capture-initial "Ana: I live in Lisbon."))
      (org-capture nil "a"))
    (org-capture nil "a")
    (let ((neuron-council-org-capture-context-function (lambda () "Something else")))
      (org-capture nil "a"))
    (let ((neuron-council-org-capture-context-function (lambda () (error "A mistake"))))
      (should (cl-some (lambda (text) (string-match-p "context-function.*A mistake" text))
                       (neuron-council-test-messages (org-capture nil "a")))))
    (should (equal (mapcar (lambda (message) (plist-get (plist-get message :params) :context))
                           (neuron-council-test-seen "council/verify"))
                   '("Ana: I live in Lisbon." nil "Something else" nil)))
    (should (= 5 (length (neuron-council-test-outline inbox))))))

(ert-deftest neuron-council-test-org-capture-quit-loses-nothing ()
  (neuron-council-test-capturing '(:verify [(:delay 3600) nil]) '(("a" entry "* A claim" :council t))
    (org-capture nil "a")
    (neuron-council-test-when (lambda () (neuron-council-test-seen "council/verify"))
                              (lambda () (signal 'quit nil)))
    (should (eq 'quit (condition-case nil (neuron-council-test-finalize) (quit 'quit))))
    (should (equal (neuron-council-test-cancelled) (list (neuron-council-test-token 0))))
    (should (neuron-council-test-capture-buffer))
    (with-current-buffer (neuron-council-test-capture-buffer)
      (should org-capture-mode)
      (should (buffer-narrowed-p))
      (should (equal (string-trim (buffer-string)) "** A claim")))
    (neuron-council-test-finalize)
    (should (equal (cdr (neuron-council-test-outline inbox)) '((2 "A claim" "0.85" "verified"))))))

(ert-deftest neuron-council-test-org-capture-aborted-is-not-judged ()
  (neuron-council-test-capturing nil '(("a" entry "* A claim" :council t) ("e" entry "* %?" :council t))
    (org-capture nil "a")
    (with-current-buffer (neuron-council-test-capture-buffer)
      (org-capture-kill))
    ;; Nor is one without a word.
    (org-capture nil "e")
    (neuron-council-test-finalize)
    (should-not (get-process "neuron-council"))
    (should (equal (neuron-council-test-outline inbox) '((1 "Inbox" nil nil) (2 "" nil nil))))))

(ert-deftest neuron-council-test-org-capture-flagged ()
  "Each row: policy, type, finished at once, outcome."
  (pcase-dolist (`(,policy ,type ,immediate ,outcome)
                 '((tag entry nil filed) (tag entry t filed) (tag plain nil filed)
                   (quarantine entry nil moved) (quarantine entry t moved)
                   (reject entry nil refused) (reject entry t moved)
                   (quarantine plain nil refused) (reject item nil refused) (reject plain t filed)))
    (neuron-council-test-capturing '(:verify [(:verdict (:confidence 0.3))])
        (list (list "a" type (pcase type ('entry "* A claim\nBody") ('item "- A claim") (_ "A claim\n"))
                    :council t :immediate-finish immediate))
      (let ((neuron-council-flagged-policy policy)
            (neuron-council-quarantine-function nil)
            (flagged (and (eq type 'entry) '("0.30" "unverified council-flagged"))))
        (org-capture nil "a")
        (pcase outcome
          ('refused
           (should (string-match-p "flagged this (0.30.*file it again"
                                   (cadr (should-error (neuron-council-test-finalize) :type 'user-error))))
           (should (neuron-council-test-capture-buffer))
           ;; What is changed is judged again.
           (with-current-buffer (neuron-council-test-capture-buffer)
             (goto-char (point-max))
             (insert " changed"))
           (should-error (neuron-council-test-finalize) :type 'user-error)
           (should (= 2 (length (neuron-council-test-seen "council/verify"))))
           (neuron-council-test-finalize))
          (_ (unless immediate (neuron-council-test-finalize))))
        (should-not (neuron-council-test-capture-buffer))
        (should (= (if (eq outcome 'refused) 2 1) (length (neuron-council-test-seen "council/verify"))))
        (should (equal (neuron-council-test-outline inbox)
                       (if (and (eq type 'entry) (not (eq outcome 'moved)))
                           `((1 "Inbox" nil nil) (2 "A claim" ,@flagged))
                         '((1 "Inbox" nil nil)))))
        (if (eq outcome 'moved)
            (progn
              (should (equal (neuron-council-test-outline) `((1 "Quarantine" nil nil) (2 "A claim" ,@flagged))))
              (should (string-match-p "Body" (neuron-council-test-saved)))
              (should-not (string-match-p "Body" (neuron-council-test-saved inbox))))
          (should (string-match-p "A claim" (neuron-council-test-saved inbox)))
          (should-not (file-exists-p neuron-council-org-file)))))))

(ert-deftest neuron-council-test-org-capture-without-a-server ()
  (neuron-council-test-capturing nil '(("a" entry "* A claim" :council t :immediate-finish t))
    (let ((neuron-council-server-command '("/nonexistent/neuron-council" "serve")))
      (org-capture nil "a"))
    (should (equal (cdr (neuron-council-test-outline inbox)) '((2 "A claim" "0.50" "council-unavailable"))))
    ;; Once there is one, the entry gets its verdict.
    (neuron-council-process-ensure)
    (neuron-council-test-until (null (neuron-council-test-folder "unsent")))
    (should (equal (cdr (neuron-council-test-outline inbox)) '((2 "A claim" "0.85" "verified"))))))

(ert-deftest neuron-council-test-org-capture-in-the-background ()
  "It is filed at once, and gets its verdict where it stands by then."
  (neuron-council-test-capturing '(:verify [nil (:verdict (:confidence 0.3)) (:delay 3600)])
      '(("a" entry "* Claim 1" :council async :immediate-finish t :kill-buffer t)
        ("b" entry "* Claim 2" :council t :immediate-finish t)
        ("c" entry "* Claim 3" :council t :immediate-finish t)
        ("p" plain "Claim 4" :council async :immediate-finish t))
    (let ((neuron-council-org-capture-asynchronous t) (neuron-council-flagged-policy 'reject))
      (dolist (key '("a" "b" "c")) (org-capture nil key))
      (should (equal (neuron-council-test-outline inbox)
                     '((1 "Inbox" nil nil) (2 "Claim 1" nil "council-pending") (2 "Claim 2" nil "council-pending")
                       (2 "Claim 3" nil "council-pending"))))
      (should (= 3 (length (neuron-council-test-folder "unsent"))))
      (neuron-council-test-until (= 1 (length neuron-council-rpc-jobs)))
      (should (equal (neuron-council-test-outline inbox)
                     '((1 "Inbox" nil nil) (2 "Claim 1" "0.85" "verified") (2 "Claim 3" nil "council-pending"))))
      (should (equal (neuron-council-test-outline)
                     '((1 "Quarantine" nil nil) (2 "Claim 2" "0.30" "unverified council-flagged"))))
      (neuron-council-cancel (car neuron-council-rpc-jobs))
      (neuron-council-test-until (null neuron-council-rpc-jobs))
      (should (equal (car (last (neuron-council-test-outline inbox))) '(2 "Claim 3" nil nil)))
      (should-not (neuron-council-test-folder "unsent")))))

(ert-deftest neuron-council-test-org-capture-message-is-seen ()
  "What became of a capture is said behind Org's own message that it saved the file."
  (pcase-dolist (`(,verify ,policy ,words)
                 '(([nil] tag "\\`Council: 0.85 verified\\'")
                   ([(:verdict (:confidence 0.3))] tag "\\`Council: 0.30 unverified, council-flagged\\'")
                   ([(:verdict (:confidence 0.3))] quarantine "flagged; the entry is in quarantine\\'")
                   ([(:error (:code -32603 :message "broken"))] tag "\\`Council unavailable: broken\\'")))
    (neuron-council-test-capturing (list :verify verify) '(("a" entry "* A claim" :council t :immediate-finish t))
      (let* ((neuron-council-flagged-policy policy)
             (said (neuron-council-test-messages
                     (cl-letf* ((save (symbol-function 'save-buffer))
                                ((symbol-function 'save-buffer)
                                 (lambda (&rest arguments)
                                   (apply save arguments)
                                   (unless save-silently (message "Wrote a file")))))
                       (org-capture nil "a")))))
        (should (cl-some (lambda (text) (string-prefix-p "Wrote " text)) said))
        (should (string-match-p words (car (last said))))))))

(ert-deftest neuron-council-test-org-file-that-cannot-be-read ()
  "An entry that may be in it is neither lost nor taken for missing."
  (neuron-council-test-org nil
    (let* ((other (concat folder "other.org")) (org-agenda-files (list other)) (id (neuron-council-test-uuid 1))
           (reads t)
           (insert (symbol-function 'insert-file-contents-literally)))
      (write-region (format "* A claim\n:PROPERTIES:\n:COUNCIL_ID: %s\n:END:\n" id) nil other nil 'quiet)
      (cl-letf (((symbol-function 'insert-file-contents-literally)
                 (lambda (file &rest arguments)
                   (if (or reads (not (equal file other)))
                       (apply insert file arguments)
                     (signal 'file-error (list "Opening input file" "Permission denied" file))))))
        (setq reads nil)
        (should (string-match-p "cannot be looked for: .*Permission denied.*other.org"
                                (neuron-council-test-text
                                 (should-error (neuron-council-org-reevaluated id '(:id "new" :confidence 0.3 :tags ("x")))
                                               :type 'neuron-council-error))))
        (setq reads t)
        (should (= 1 (neuron-council-org-reevaluated id '(:id "new" :confidence 0.3 :tags ("x")))))
        (should (equal (neuron-council-test-outline other) '((1 "A claim" "0.30" "x"))))))))

(ert-deftest neuron-council-test-org-verdict-that-cannot-be-noted ()
  "It comes again at the next start of the server, to the entry that it is on."
  (neuron-council-test-org nil
    (write-region "* A claim\n" nil neuron-council-org-file nil 'quiet)
    (let ((neuron-council-reevaluated-functions (list #'neuron-council-org-reevaluated)))
      (cl-letf (((symbol-function 'neuron-council-org--judged) (lambda (&rest _) (error "The disk is full"))))
        (with-current-buffer (find-file-noselect neuron-council-org-file)
          (goto-char (point-min))
          (neuron-council-org-check)
          (save-buffer))
        (neuron-council-test-until (null neuron-council-rpc-jobs)))
      (should (neuron-council-unsent-keeps-p (car (neuron-council-test-ids))))
      (should (equal (neuron-council-test-outline) '((1 "A claim" nil "council-pending"))))
      (neuron-council-restart)
      (neuron-council-test-until (null (neuron-council-test-folder "unsent")))
      (should (equal (neuron-council-test-outline) '((1 "A claim" "0.85" "verified")))))))

(ert-deftest neuron-council-test-org-capture-mode-leaves-no-trace ()
  (neuron-council-test-clean
    (let ((hooks (list org-capture-prepare-finalize-hook org-capture-after-finalize-hook
                       neuron-council-reevaluated-functions)))
      (neuron-council-org-capture-mode 1)
      (should (memq #'neuron-council-org--before-finalize org-capture-prepare-finalize-hook))
      (should-not (get-process "neuron-council"))
      (neuron-council-org-capture-mode -1)
      (should (equal hooks (list org-capture-prepare-finalize-hook org-capture-after-finalize-hook
                                 neuron-council-reevaluated-functions))))))

(ert-deftest neuron-council-test-org-check ()
  (neuron-council-test-org nil
    (write-region "* Above\n* Ana lives in Lisbon.\nReally.\n** Child\nNot judged.\n" nil neuron-council-org-file nil 'quiet)
    (with-temp-buffer (should-error (neuron-council-org-check) :type 'user-error))
    (with-current-buffer (find-file-noselect neuron-council-org-file)
      (goto-char (point-min))
      (search-forward "Really")
      (should (neuron-council-rpc-find (neuron-council-org-check))))
    (neuron-council-test-until (null neuron-council-rpc-jobs))
    (should (equal (mapcar (lambda (message) (plist-get (plist-get message :params) :claim))
                           (neuron-council-test-seen "council/verify"))
                   '("Ana lives in Lisbon.\nReally.")))
    (should (equal (neuron-council-test-outline)
                   '((1 "Above" nil nil) (1 "Ana lives in Lisbon." "0.85" "verified") (2 "Child" nil nil))))))

;;;; Loading

(ert-deftest neuron-council-test-org-is-not-loaded-with-the-package ()
  (with-temp-buffer
    (should (equal 0 (call-process (expand-file-name invocation-name invocation-directory) nil t nil "-Q" "--batch"
                                   "-L" (file-name-directory (locate-library "neuron-council"))
                                   "--eval" "(progn (require 'neuron-council) (require 'neuron-council-guard)
                                                    (princ (list (featurep 'org) (featurep 'seq))))")))
    (should (string-prefix-p "(nil" (buffer-string)))))

;;; org-test.el ends here
