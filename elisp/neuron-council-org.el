;;; neuron-council-org.el --- Memories and captures in Org files  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; Two things: a store function that keeps memories as entries of an Org file, for who has no other memory, and the
;; council in front of `org-capture'.
;;
;; What is stored is text.  In a heading, whatever Org would act on is broken by a zero width space; below it, the text
;; stands in lines that begin with a colon, in which Org acts on nothing.
;;
;; Entries are known by the property COUNCIL_ID.  Nothing here asks a question, since it may run at any time: where a
;; file cannot be changed without one, an error says so.

;;; Code:

(eval-when-compile (require 'subr-x))
(require 'neuron-council-capture)
(require 'neuron-council-guard)
(require 'org)
(require 'org-capture)

(defcustom neuron-council-org-file (locate-user-emacs-file "memories.org")
  "The Org file in which `neuron-council-org-store' keeps memories.
A relative name is looked for in `org-directory'.  The file is made by the
first memory."
  :type 'file
  :risky t
  :package-version '(neuron-council . "0.1.0")
  :group 'neuron-council-capture)

(defcustom neuron-council-org-quarantine-heading "Quarantine"
  "The heading below which flagged memories and captures are kept.
It stands in `neuron-council-org-file', and is made when it is needed."
  :type 'string
  :package-version '(neuron-council . "0.1.0")
  :group 'neuron-council-capture)

;;;; Text that Org does not act on

(defconst neuron-council-org--break "\u200b"
  "The zero width space, with which Org says that something is text.")

(defconst neuron-council-org--active
  '(;; Links, time stamps, cookies, priorities, footnotes, citations.
    "\\(\\[\\)\\(?:[[0-9/%#]\\|fn:\\|cite\\)"
    ;; Links in angles, time stamps, targets, expressions that the agenda would evaluate.
    "\\(<\\)[^ ]"
    ;; Source code and calls within a line, which are evaluated; macros and export snippets, which are expanded.
    "\\(\\<\\(?:src\\|call\\)\\)_" "\\({\\){{" "\\(@\\)@"
    ;; Links without brackets.
    "\\(\\<[[:alpha:]][[:alnum:]+-]*\\):[^ ]"
    ;; Variables that Emacs sets when it visits a file.
    "\\(\\<Local\\) Variables:" "\\(-\\*\\)-"
    ;; Tags.
    ":\\(\\)\\'")
  "What Org acts on in a heading: a break behind the group makes it text.")

(defconst neuron-council-org--active-anywhere
  '("\\([[<]\\)\\(?:[0-9]\\{4\\}\\|%%\\)" "\\(\\<Local\\) Variables:")
  "What the agenda and Emacs act on wherever it stands.")

(defun neuron-council-org--inert (text regexps)
  "Return TEXT with a break in what REGEXPS match."
  (with-temp-buffer
    (let ((case-fold-search t))
      (insert text)
      (dolist (regexp regexps)
        (goto-char (point-min))
        (while (re-search-forward regexp nil t)
          (goto-char (match-end 1))
          (insert neuron-council-org--break))))
    (buffer-string)))

(defun neuron-council-org--keyword-p (title)
  "Return non-nil when TITLE may begin with a keyword, as TODO or COMMENT are.
A file may have keywords of its own, which are upper case mostly."
  (let* ((word (car (split-string title)))
         (found (let ((case-fold-search nil)) (and word (string-match-p "\\`[[:upper:]]\\{2,\\}\\'" word)))))
    (dolist (sequence (default-value 'org-todo-keywords) found)
      (dolist (keyword sequence)
        (when (and (stringp keyword) (equal word (car (split-string keyword "("))))
          (setq found t))))))

(defun neuron-council-org--title (text)
  "Return TEXT as the title of an entry: one line that Org does not act on."
  (let* ((plain (truncate-string-to-width (neuron-council-text-plain text) 120 nil nil "…"))
         (title (neuron-council-org--inert plain neuron-council-org--active)))
    (if (or (neuron-council-org--keyword-p title) (equal title neuron-council-org-quarantine-heading))
        (concat neuron-council-org--break title)
      title)))

(defun neuron-council-org--literal (text)
  "Return TEXT as lines that Org does not act on."
  (mapconcat (lambda (line) (if (equal line "") ":\n" (concat ": " line "\n")))
             (split-string (neuron-council-org--inert (neuron-council-text-clean text)
                                                      neuron-council-org--active-anywhere)
                           "\r\n\\|[\r\n]")
             ""))

;;;; Files

(defun neuron-council-org-file ()
  "Return the name of the file of memories, with its folder."
  (expand-file-name neuron-council-org-file
                    (if (and (boundp 'org-directory) (stringp org-directory)) org-directory "~/")))

(defun neuron-council-org--refuse (file why)
  "Signal that FILE cannot be changed, and WHY."
  (signal 'neuron-council-error (list (format "%s cannot be changed: %s" (abbreviate-file-name file) why))))

(defun neuron-council-org--visit (file)
  "Return a buffer of FILE that can be changed, made if need be."
  (let ((locker (file-locked-p file))
        (buffer (or (find-buffer-visiting file)
                    (let ((enable-local-variables :safe)
                          (large-file-warning-threshold nil))
                      (make-directory (file-name-directory file) t)
                      (find-file-noselect file t)))))
    (with-current-buffer buffer
      (cond ((stringp locker)
             (neuron-council-org--refuse file (format "%s is editing it" locker)))
            ((not (file-writable-p file))
             (neuron-council-org--refuse file "it is write-protected"))
            ((or (verify-visited-file-modtime buffer) (not (file-exists-p file))))
            ((buffer-modified-p)
             (neuron-council-org--refuse file "it was changed on disk and in Emacs; save the buffer or revert it"))
            (t (revert-buffer t t t)))
      (unless (derived-mode-p 'org-mode)
        (org-mode)))
    buffer))

(defun neuron-council-org--save-whole ()
  "Save the current buffer under another name, which is then that of its file.
So no death and no full disk cuts the file off."
  (let (;; A file of several names would become one for each.
        (file-precious-flag (not (> (or (file-nlinks buffer-file-name) 1) 1)))
        (file-preserve-symlinks-on-save t))
    (condition-case problem
        (save-buffer)
      (file-error
       ;; Emacs leaves behind what it has begun to write.
       (let ((draft (car (last problem))))
         (when (and (stringp draft)
                    (string-prefix-p (expand-file-name "tmp" (file-name-directory buffer-file-name)) draft)
                    (not (equal draft buffer-file-name)))
           (ignore-errors (delete-file draft))))
       (signal (car problem) (cdr problem))))))

(defun neuron-council-org--save ()
  "Save the current buffer without a word."
  (when (unencodable-char-position (point-min) (point-max) (or buffer-file-coding-system 'undecided))
    (set-buffer-file-coding-system 'utf-8))
  (let ((save-silently t)
        ;; In batch, even an empty message is a line.
        (inhibit-message (or inhibit-message noninteractive)))
    (neuron-council-org--save-whole)))

(defun neuron-council-org--call-in (file function)
  "Call FUNCTION in a buffer of FILE, widened, save it, and return the value.
Where that cannot be done without a question, signal `neuron-council-error'.
Where the buffer cannot be saved, it is left as it was before."
  (condition-case problem
      (let ((inhibit-interaction t))
        (with-current-buffer (neuron-council-org--visit file)
          (save-excursion
            (atomic-change-group
              (prog1 (org-with-wide-buffer
                      (let ((inhibit-read-only t))
                        (funcall function)))
                (neuron-council-org--save))))))
    (inhibited-interaction
     (neuron-council-org--refuse file "Emacs would have to ask something; save a buffer of it to see what"))
    ((file-error text-read-only)
     (neuron-council-org--refuse file (error-message-string problem)))))

(defmacro neuron-council-org--with-file (file &rest body)
  "Run BODY in a buffer of FILE as `neuron-council-org--call-in' does."
  (declare (indent 1) (debug t))
  `(neuron-council-org--call-in ,file (lambda () ,@body)))

;;;; Entries

(defun neuron-council-org--entries (id)
  "Return markers of the entries in this buffer whose verdict is or was ID."
  (let ((found nil)
        (case-fold-search t))
    (org-with-wide-buffer
     (goto-char (point-min))
     (while (re-search-forward (concat "^[ \t]*:COUNCIL_\\(?:ID\\|REEVALUATED\\):[ \t]+" (regexp-quote id) "[ \t]*$")
                               nil t)
       (save-excursion
         (when (and (ignore-errors (org-back-to-heading t))
                    (member id (list (org-entry-get nil "COUNCIL_ID") (org-entry-get nil "COUNCIL_REEVALUATED"))))
           (push (point-marker) found)))))
    (delete-dups (nreverse found))))

(defun neuron-council-org--tags ()
  "Return the council's tags of the entry at point."
  (org-entry-get-multivalued-property nil "COUNCIL_TAGS"))

(defun neuron-council-org--set-tags (tags)
  "Give the entry at point TAGS."
  (apply #'org-entry-put-multivalued-property nil "COUNCIL_TAGS" (mapcar #'neuron-council-verdict-plain tags)))

(defun neuron-council-org--set-verdict (verdict)
  "Give the entry at point the properties of VERDICT."
  (when (numberp (plist-get verdict :confidence))
    (org-entry-put nil "COUNCIL_CONFIDENCE" (format "%.2f" (plist-get verdict :confidence))))
  (when (plist-get verdict :tags)
    (neuron-council-org--set-tags (neuron-council-verdict-tags verdict)))
  (when (plist-get verdict :id)
    (org-entry-put nil "COUNCIL_ID" (neuron-council-verdict-plain (plist-get verdict :id)))))

(defun neuron-council-org--end ()
  "Go to the end of the buffer, to the beginning of a line."
  (goto-char (point-max))
  (unless (bolp) (insert "\n")))

(defun neuron-council-org--quarantine-start ()
  "Go to the quarantine heading of this buffer, made if need be."
  (goto-char (or (org-find-exact-headline-in-buffer neuron-council-org-quarantine-heading nil t)
                 (progn
                   (neuron-council-org--end)
                   (insert "* " neuron-council-org-quarantine-heading "\n")
                   (forward-line -1)
                   (point)))))

(defun neuron-council-org--go-to-place (quarantine)
  "Go to where an entry is to be put, in QUARANTINE or not; return its level."
  (if (not quarantine)
      (progn
        (neuron-council-org--end)
        1)
    (neuron-council-org--quarantine-start)
    (prog1 (org-get-valid-level (org-current-level) 1)
      (org-end-of-subtree t t)
      (unless (bolp) (insert "\n")))))

(defun neuron-council-org--quarantined-p ()
  "Return non-nil when the entry at point is in quarantine."
  (save-excursion
    (and (org-up-heading-safe)
         (equal (org-get-heading t t t t) neuron-council-org-quarantine-heading))))

(defun neuron-council-org--own-p ()
  "Return non-nil when this buffer is that of the file of memories."
  (eq (or (buffer-base-buffer) (current-buffer)) (find-buffer-visiting (neuron-council-org-file))))

(defun neuron-council-org--shifted (tree stars)
  "Return TREE, the text of an entry, with so many more STARS in each heading."
  (replace-regexp-in-string "^\\*+ "
                            (lambda (heading)
                              (concat (make-string (max 1 (+ (1- (length heading)) stars)) ?*) " "))
                            tree))

(defun neuron-council-org--put (tree level quarantine)
  "Insert TREE, the text of an entry of LEVEL, in QUARANTINE or not."
  (let ((stars (- (neuron-council-org--go-to-place quarantine) level)))
    (insert (neuron-council-org--shifted tree stars))))

(defun neuron-council-org--move (quarantine)
  "Move the entry at point to the file of memories, into QUARANTINE or out of it.
From another file, it is put there and saved before it is deleted here."
  (unless (and (neuron-council-org--own-p)
               (eq (and quarantine t) (and (neuron-council-org--quarantined-p) t)))
    (org-back-to-heading t)
    (save-excursion (neuron-council-org--end))
    ;; The copy may be put right before it.
    (let* ((start (copy-marker (point) t))
           (end (copy-marker (save-excursion (org-end-of-subtree t t))))
           (level (org-current-level))
           (tree (buffer-substring-no-properties start end)))
      (if (neuron-council-org--own-p)
          (save-excursion (neuron-council-org--put tree level quarantine))
        (neuron-council-org--with-file (neuron-council-org-file)
          (neuron-council-org--put tree level quarantine)))
      (delete-region start end)
      (set-marker start nil)
      (set-marker end nil))))

;;;; The store function

(defun neuron-council-org--parse (arguments)
  "Return a plist of what ARGUMENTS of a store function hold.
It has :text, :context, :verdict, and :rest, a list of all other arguments."
  (let* ((found (neuron-council-guard-arguments arguments))
         (verdict nil) (rest nil))
    (while arguments
      (let ((argument (pop arguments)))
        (pcase argument
          (:council-confidence (setq verdict (plist-put verdict :confidence (pop arguments))))
          (:council-tags (setq verdict (plist-put verdict :tags (pop arguments))))
          (:council-id (setq verdict (plist-put verdict :id (pop arguments))))
          ((and (pred keywordp)
                (guard (and found (car arguments) (memq (car arguments) (list (car found) (cdr found))))))
           (pop arguments))
          (_ (unless (and found (eq argument (car found)))
               (push argument rest))))))
    (list :text (or (car found) (plist-get neuron-council-store-verdict :claim)) :context (cdr found)
          :verdict verdict :rest (nreverse rest))))

(defun neuron-council-org--drawer (name text)
  "Return a drawer NAME that holds TEXT."
  (concat ":" name ":\n" (neuron-council-org--literal text) ":END:\n"))

(defun neuron-council-org--body (memory title)
  "Return what stands below TITLE in the entry of MEMORY."
  (let ((text (plist-get memory :text)))
    (concat (unless (equal text title) (neuron-council-org--literal text))
            (when (plist-get memory :context)
              (neuron-council-org--drawer "CONTEXT" (plist-get memory :context)))
            (when (plist-get memory :rest)
              (let ((print-length nil) (print-level nil) (print-escape-newlines t))
                (neuron-council-org--drawer "ARGUMENTS" (prin1-to-string (plist-get memory :rest))))))))

(defun neuron-council-org--known (id title body)
  "Return a marker of the entry of the verdict ID with TITLE and BODY, or nil."
  (let ((found nil))
    (dolist (marker (and id (neuron-council-org--entries id)) found)
      (goto-char marker)
      (when (and (equal (org-get-heading t t t t) title)
                 (string-search body (buffer-substring-no-properties
                                      (point) (save-excursion (org-end-of-subtree t t)))))
        (setq found (or found marker))))))

(defun neuron-council-org--insert (title body quarantine)
  "Insert an entry with TITLE and BODY, in QUARANTINE or not, and go to it."
  (when (= (buffer-size) 0)
    ;; Nothing of a memory may stand in the first line: Emacs looks for variables there.
    (insert "#+title: Memories\n\n"))
  (let ((level (neuron-council-org--go-to-place quarantine))
        (start (point)))
    (insert (make-string level ?*) " " title "\n" body)
    (goto-char start)
    (org-entry-put nil "CREATED" (format-time-string (org-time-stamp-format t t)))))

(defun neuron-council-org--keep (arguments quarantine)
  "Keep the memory of ARGUMENTS in the file, in QUARANTINE or not."
  (let* ((memory (neuron-council-org--parse arguments))
         (text (plist-get memory :text))
         (id (plist-get (plist-get memory :verdict) :id)))
    (unless (stringp text)
      (signal 'neuron-council-error '("no text is among the arguments of `neuron-council-org-store'")))
    (let* ((title (neuron-council-org--title text))
           (body (neuron-council-org--body memory title)))
      (neuron-council-org--with-file (neuron-council-org-file)
        (let ((known (neuron-council-org--known id title body)))
          (if (not known)
              (progn
                (neuron-council-org--insert title body quarantine)
                (neuron-council-org--set-verdict (plist-get memory :verdict)))
            (goto-char known)
            (neuron-council-org--set-verdict (plist-get memory :verdict))
            (neuron-council-org--move quarantine)))))
    id))

;;;###autoload
(defun neuron-council-org-store (&rest arguments)
  "Store a memory as an entry of `neuron-council-org-file', and save the file.
For `neuron-council-store-function'.  The text is that behind :text (or a
like keyword, see `neuron-council-guard-arguments'), else the first string
of ARGUMENTS, else the claim that was judged.  The entry has it as its
heading on one line, the whole text and the context below, and the
properties CREATED, COUNCIL_CONFIDENCE, COUNCIL_TAGS and COUNCIL_ID; what
else is among ARGUMENTS stands below it, too.

The same memory with the same :council-id is stored once: its properties
are set anew, and from quarantine it is moved out.  Return the id.  Where
the file cannot be changed without a question (it is write-protected,
edited by another Emacs, or was changed on disk and in Emacs), signal
`neuron-council-error'.  Changes of yours in a buffer of the file are
saved with the memory."
  (neuron-council-org--keep arguments nil))

;;;###autoload
(defun neuron-council-org-quarantine (&rest arguments)
  "Store a memory as `neuron-council-org-store' does, but in quarantine.
For `neuron-council-quarantine-function'.  The entry stands below
`neuron-council-org-quarantine-heading'; ARGUMENTS are the same."
  (neuron-council-org--keep arguments t))

;;;; What is said of an entry later

(defvar neuron-council-org--files nil
  "Files in which this Emacs has filed a captured entry that is being judged.")

(defun neuron-council-org--candidates ()
  "Return the files that may hold an entry of the council."
  (delete-dups
   (append (list (neuron-council-org-file))
           (delq nil (copy-sequence neuron-council-org--files))
           (delq nil (mapcar #'buffer-file-name (org-buffer-list 'files t)))
           (ignore-errors (mapcar #'expand-file-name (org-agenda-files t))))))

(defun neuron-council-org--holds-p (file id)
  "Return non-nil when FILE, or a buffer of it, has the text ID.
Signal `file-error' where that cannot be told."
  (let ((buffer (find-buffer-visiting file)))
    (with-temp-buffer
      (cond (buffer (set-buffer buffer))
            ;; Nothing is read from a pipe or a device.
            ((file-regular-p file) (insert-file-contents-literally file)))
      (org-with-wide-buffer
       (goto-char (point-min))
       (search-forward id nil t)))))

(defun neuron-council-org--update (id function)
  "Call FUNCTION at each entry of the verdict ID; return how many there are.
The files looked at are `neuron-council-org-file', those of the agenda, and
those of Org buffers.  Where none of them has an entry, but one could not
be read, signal `neuron-council-error': the entry may be there."
  (let ((count 0) (problem nil))
    (dolist (file (neuron-council-org--candidates))
      (when (condition-case caught
                (neuron-council-org--holds-p file id)
              (file-error (setq problem caught)
                          nil))
        (neuron-council-org--with-file file
          (dolist (marker (neuron-council-org--entries id))
            (setq count (1+ count))
            (goto-char marker)
            (funcall function)))))
    (when (and problem (= count 0))
      (signal 'neuron-council-error
              (list (format "the entry cannot be looked for: %s" (error-message-string problem)))))
    count))

(defun neuron-council-org--flagged-p (verdict policies)
  "Return non-nil when VERDICT flags its claim and one of POLICIES is in force.
One that is parked is left to a person."
  (let ((tags (neuron-council-verdict-tags verdict)))
    (and (memq neuron-council-flagged-policy policies)
         (member "council-flagged" tags)
         (not (member "council-parked" tags))
         (not (member "council-unavailable" tags)))))

;;;###autoload
(defun neuron-council-org-reevaluated (id verdict)
  "Give the entries of the memory ID the confidence and the tags of VERDICT.
For `neuron-council-reevaluated-functions'.  COUNCIL_ID stays what it was,
COUNCIL_REEVALUATED is the id of VERDICT.  A memory of
`neuron-council-org-file' that is flagged now goes to quarantine where
`neuron-council-flagged-policy' says quarantine."
  (neuron-council-org--update
   id
   (lambda ()
     (let ((human (delq nil (mapcar (lambda (tag) (and (string-prefix-p "human-" tag) tag))
                                    (neuron-council-org--tags)))))
       (neuron-council-org--set-verdict (list :confidence (plist-get verdict :confidence)
                                              :tags (append (neuron-council-verdict-tags verdict) human)))
       (org-entry-put nil "COUNCIL_REEVALUATED" (neuron-council-verdict-plain (plist-get verdict :id)))
       (when (and (neuron-council-org--own-p) (neuron-council-org--flagged-p verdict '(quarantine)))
         (neuron-council-org--move t))))))

;;;###autoload
(defun neuron-council-org-reviewed (id decision &optional _verdict)
  "Note DECISION, \"accept\" or \"reject\", at the entries of the verdict ID.
For `neuron-council-reviewed-functions'.  The tag human-accepted or
human-rejected is added to COUNCIL_TAGS.  In `neuron-council-org-file', an
entry that is accepted leaves the quarantine, one that is rejected goes
there."
  (let ((accepted (equal (format "%s" decision) "accept")))
    (neuron-council-org--update
     id
     (lambda ()
       (neuron-council-org--set-tags
        (append (delete "human-accepted" (delete "human-rejected" (neuron-council-org--tags)))
                (list (if accepted "human-accepted" "human-rejected"))))
       (when (neuron-council-org--own-p)
         (neuron-council-org--move (not accepted)))))))

;;;; Captured entries

(defcustom neuron-council-org-capture-all nil
  "Whether every capture is judged before it is filed.
A template with the property `:council nil' is not, one with `:council t'
is in any case; `:council sync' and `:council async' say besides whether
to wait for the verdict.  `neuron-council-org-capture-mode' must be on."
  :type 'boolean
  :safe #'booleanp
  :package-version '(neuron-council . "0.1.0")
  :group 'neuron-council-capture)

(defcustom neuron-council-org-capture-asynchronous nil
  "Whether a capture is filed at once, and judged behind your back.
The entry has COUNCIL_TAGS council-pending until its verdict is in.
Otherwise filing waits for the verdict; \\[keyboard-quit] ends the wait,
and the capture stays as it is."
  :type 'boolean
  :safe #'booleanp
  :package-version '(neuron-council . "0.1.0")
  :group 'neuron-council-capture)

(defcustom neuron-council-org-capture-context-function #'neuron-council-org-capture-initial
  "What a captured entry is judged against.
A function that is called in the capture buffer without arguments and
returns a string, or nil for no context."
  :type '(choice (const :tag "The region that was active" neuron-council-org-capture-initial)
                 (const :tag "Nothing" ignore)
                 function)
  :risky t
  :package-version '(neuron-council . "0.1.0")
  :group 'neuron-council-capture)

(defvar-local neuron-council-org--refused nil
  "The claim of this capture that was flagged, and that filing it again lets pass.")

(defun neuron-council-org-capture-initial ()
  "Return the text that was in the region when the capture began, or nil."
  (let ((initial (plist-get org-capture-current-plist :initial)))
    (and (stringp initial) (string-match-p "[^[:space:]]" initial) initial)))

(defun neuron-council-org--clean-body ()
  "Delete what is no text of an entry from the current buffer."
  (let ((case-fold-search t))
    (goto-char (point-min))
    (while (re-search-forward "^[ \t]*:[-_[:word:]]+:[ \t]*$" nil t)
      (let ((start (match-beginning 0)))
        (if (re-search-forward "^[ \t]*:END:[ \t]*\\(?:\n\\|\\'\\)" nil t)
            (delete-region start (point))
          (goto-char (point-max)))))
    (dolist (regexp (list "^[ \t]*\\(?:CLOCK\\|SCHEDULED\\|DEADLINE\\|CLOSED\\):.*\\(?:\n\\|\\'\\)"
                          "^[ \t]*#\\+.*\\(?:\n\\|\\'\\)"))
      (goto-char (point-min))
      (while (re-search-forward regexp nil t)
        (replace-match "")))
    ;; Once a line: behind such a beginning there may be another, which is text.
    (goto-char (point-min))
    (while (not (eobp))
      (cond ((looking-at "[ \t]*:\\(?: \\|$\\)")
             (replace-match ""))
            (t (when (looking-at "\\*+ ")
                 (replace-match ""))
               (insert (org-link-display-format (delete-and-extract-region (point) (line-end-position))))))
      (forward-line))))

(defun neuron-council-org--joined (text)
  "Return TEXT without the breaks that made it text."
  (replace-regexp-in-string neuron-council-org--break "" text))

(defun neuron-council-org--claim (start end)
  "Return the text between START and END as a claim, nil if there is none.
It is the title and the body, without properties, drawers, planning and
clock lines, a link by what it shows."
  (let* ((title (save-excursion
                  (goto-char start)
                  (and (org-at-heading-p) (org-get-heading t t t t))))
         (body (buffer-substring-no-properties
                (if title (save-excursion (goto-char start) (min end (line-beginning-position 2))) start)
                end))
         (text (string-trim (with-temp-buffer
                              (insert body)
                              (neuron-council-org--clean-body)
                              (neuron-council-org--joined (buffer-string)))))
         (title (and title (neuron-council-org--joined (org-link-display-format title))))
         ;; A memory that does not fit into its title stands below it, whole.
         (claim (if (or (null title)
                        (string-prefix-p (replace-regexp-in-string "…\\'" "" title) (neuron-council-text-plain text)))
                    text
                  (string-trim (concat (substring-no-properties title) "\n" text)))))
    (and (string-match-p "[[:alnum:]]" claim) claim)))

(defun neuron-council-org--submit (claim context)
  "Have CLAIM judged against CONTEXT; the entry at point gets the verdict later.
Return the handle."
  (let ((id (neuron-council-verify-new-id))
        (file (buffer-file-name (or (buffer-base-buffer) (current-buffer)))))
    (neuron-council-org--set-tags '("council-pending"))
    (org-entry-put nil "COUNCIL_ID" id)
    (when file (push file neuron-council-org--files))
    (neuron-council-unsent-submit
     claim context id
     (lambda (verdict condition)
       (setq neuron-council-org--files (delete file neuron-council-org--files))
       (let ((neuron-council-org--files (cons file neuron-council-org--files)))
         (neuron-council-org--judged id verdict condition context))))))

(defun neuron-council-org--judged (id verdict condition context)
  "Give the entry known as ID its VERDICT, on a claim judged against CONTEXT.
With CONDITION it is no real one."
  (if (eq (car condition) 'neuron-council-cancelled)
      (neuron-council-org--update id (lambda ()
                                       (org-entry-delete nil "COUNCIL_TAGS")
                                       (org-entry-delete nil "COUNCIL_ID")))
    (neuron-council-verdict-add verdict :context context)
    (let ((count (neuron-council-org--update
                  id
                  (lambda ()
                    (neuron-council-org--set-verdict verdict)
                    (when (neuron-council-org--flagged-p verdict '(quarantine reject))
                      (neuron-council-org--move t))))))
      (if (= count 0)
          (message "The entry that was judged cannot be found any more: %s" (neuron-council-verdict-brief verdict))
        (neuron-council-verdict-note (plist-get verdict :id) :fate 'stored)
        (message "%s" (neuron-council-org--words verdict))))))

(defun neuron-council-org--how ()
  "Return how the current capture is to be judged: `sync', `async' or nil."
  (let ((value (if (plist-member org-capture-current-plist :council)
                   (plist-get org-capture-current-plist :council)
                 neuron-council-org-capture-all)))
    (cond ((memq value '(nil sync async)) value)
          (neuron-council-org-capture-asynchronous 'async)
          (t 'sync))))

(defun neuron-council-org--context ()
  "Return what the current capture is judged against, nil where that fails."
  (condition-case problem
      (funcall neuron-council-org-capture-context-function)
    (error
     (message "Error in `neuron-council-org-capture-context-function': %s" (error-message-string problem))
     nil)))

(defun neuron-council-org--before-finalize ()
  "Have the capture of this buffer judged before it is filed."
  (let* ((how (and (not org-note-abort) (neuron-council-org--how)))
         (claim (and how (neuron-council-org--claim (point-min) (point-max))))
         (entry (eq (plist-get org-capture-current-plist :type) 'entry)))
    (when (and claim (not (equal claim neuron-council-org--refused)))
      (save-excursion
        (goto-char (point-min))
        (if (and entry (eq how 'async))
            (neuron-council-org--submit claim (neuron-council-org--context))
          (neuron-council-org--check claim (neuron-council-org--context) entry))))))

(defun neuron-council-org--check (claim context entry)
  "Have CLAIM, that of the current capture, judged against CONTEXT, and wait.
ENTRY is non-nil where it can have properties."
  (let* ((verdict (neuron-council-capture-judge claim context))
         (brief (neuron-council-verdict-brief verdict)))
    (neuron-council-verdict-add verdict :context context)
    (when entry
      (neuron-council-org--set-verdict verdict))
    (cond ((and entry (neuron-council-org--flagged-p
                       verdict (if (plist-get org-capture-current-plist :immediate-finish)
                                   '(quarantine reject)
                                 '(quarantine))))
           (neuron-council-org--hand-over
            :neuron-council-id (plist-get verdict :id)
            :neuron-council-said (format "Council: %s; the entry is in quarantine" brief)))
          ((and (not (plist-get org-capture-current-plist :immediate-finish))
                (neuron-council-org--flagged-p verdict '(quarantine reject)))
           (setq neuron-council-org--refused claim)
           (user-error "The council flagged this (%s); \
file it again to file it all the same, or change it to have it judged again" brief))
          (t
           (neuron-council-verdict-note (plist-get verdict :id) :fate 'stored)
           (neuron-council-org--hand-over :neuron-council-said (neuron-council-org--words verdict))))))

(defun neuron-council-org--words (verdict)
  "Return what is said of an entry with VERDICT."
  (if (equal (plist-get verdict :status) "unavailable")
      (neuron-council-store-reason verdict)
    (concat "Council: " (neuron-council-verdict-brief verdict))))

(defun neuron-council-org--hand-over (&rest properties)
  "Give PROPERTIES to the hook behind the filing of the current capture."
  (while properties
    (setq-local org-capture-current-plist
                (plist-put org-capture-current-plist (pop properties) (pop properties)))))

(defun neuron-council-org--after-finalize ()
  "Move the entry that was filed to quarantine if its verdict says so.
Say what became of it, now that Org has said that it saved the file."
  (let ((id (plist-get org-capture-plist :neuron-council-id))
        (said (plist-get org-capture-plist :neuron-council-said)))
    (setq org-capture-plist (plist-put (plist-put org-capture-plist :neuron-council-id nil)
                                       :neuron-council-said nil))
    (unless org-note-abort
      ;; Who refiles an entry has decided where it goes.
      (if (and id (bound-and-true-p org-capture-is-refiling))
          (setq said nil)
        (when id
          (neuron-council-org--update id (lambda () (neuron-council-org--move t)))
          (neuron-council-verdict-note id :fate 'quarantined)))
      (when said (message "%s" said)))))

(defalias 'neuron-council-org--capture-reevaluated #'neuron-council-org-reevaluated)

;;;###autoload
(define-minor-mode neuron-council-org-capture-mode
  "Toggle judging what `org-capture' captures before it is filed.
Those templates are judged that have `:council t' among their properties,
or all, see `neuron-council-org-capture-all'.  An entry gets the
properties COUNCIL_CONFIDENCE, COUNCIL_TAGS and COUNCIL_ID.  One that is
flagged is filed like any other, moved below
`neuron-council-org-quarantine-heading', or refused until it is filed a
second time, as `neuron-council-flagged-policy' says `tag', `quarantine'
or `reject'.  In the background, or with :immediate-finish, nobody is
there to file it again, so `reject' moves it, too.

Items, table lines and plain text have no properties: the verdict is
shown, and `quarantine' does what `reject' does.

Nothing is lost where there is no verdict: the entry is filed with the tag
council-unavailable, and gets its verdict when there is a server, as long
as its file is one of the agenda or visited then."
  :global t
  :group 'neuron-council-capture
  (pcase-dolist (`(,hook . ,function)
                 '((org-capture-prepare-finalize-hook . neuron-council-org--before-finalize)
                   (org-capture-after-finalize-hook . neuron-council-org--after-finalize)
                   ;; Not the user's own member of this hook: turning the mode off must leave that.
                   (neuron-council-reevaluated-functions . neuron-council-org--capture-reevaluated)))
    (if neuron-council-org-capture-mode
        (add-hook hook function)
      (remove-hook hook function))))

;;;###autoload
(defun neuron-council-org-check ()
  "Have the Org entry at point judged, and give it the verdict when it is in.
Its children are not looked at.  Return a handle for `neuron-council-cancel'."
  (interactive)
  (unless (and (derived-mode-p 'org-mode) (buffer-file-name (or (buffer-base-buffer) (current-buffer))))
    (user-error "This is no buffer of an Org file"))
  (save-excursion
    (org-back-to-heading t)
    (let ((claim (neuron-council-org--claim
                  (point) (save-excursion (outline-next-heading) (point)))))
      (unless claim
        (user-error "There is nothing to judge in this entry"))
      (neuron-council-rpc-handle (neuron-council-org--submit claim nil)))))

(provide 'neuron-council-org)
;;; neuron-council-org.el ends here
