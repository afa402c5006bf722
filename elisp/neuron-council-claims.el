;;; neuron-council-claims.el --- Judge every claim of a buffer  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; First part: what the claims of a text are.  It is read line by line into blocks (paragraphs and list items, without
;; headings, code, drawers, tables and the like), and blocks are split into sentences.  Org, Markdown and the comments
;; of programs are told apart by regular expressions alone; their modes need not be installed.
;;
;; Second part: a run, which puts the claims before the council, a few at a time.  Every claim is a mark from the
;; start, not yet visible, so that it follows the text and is gone when the text has been edited before its turn.

;;; Code:

(eval-when-compile (require 'cl-lib))
(require 'neuron-council-region)

;;;; Options

(defcustom neuron-council-claims-unit 'auto
  "What counts as one claim of a buffer."
  :type '(choice (const :tag "List items, and the sentences of other text" auto)
                 (const :tag "Sentences, those of list items too" sentence)
                 (const :tag "List items, nothing else" item)
                 (const :tag "Paragraphs and list items" paragraph)
                 (const :tag "Lines" line))
  :safe #'symbolp
  :package-version '(neuron-council . "0.1.0")
  :group 'neuron-council-region)

(defcustom neuron-council-claims-context nil
  "What a claim of a buffer is judged against when no context is given.
`paragraph' is the rest of its paragraph or list item, `heading' the
headings above it.  A function is called in the buffer with the bounds of
the claim and returns a string, or nil for none."
  :type '(choice (const :tag "Nothing" nil)
                 (const :tag "The rest of its paragraph" paragraph)
                 (const :tag "The headings above it" heading)
                 (function :tag "What a function returns"))
  :risky t
  :package-version '(neuron-council . "0.1.0")
  :group 'neuron-council-region)

(defcustom neuron-council-claims-shortest 12
  "Columns that the text of a claim of a buffer has at least.
What is shorter, such as \"Yes, indeed.\", is passed over."
  :type 'natnum
  :safe #'natnump
  :package-version '(neuron-council . "0.1.0")
  :group 'neuron-council-region)

(defcustom neuron-council-claims-at-a-time 4
  "How many claims of a buffer are with the server at once.
Requests for one claim go first at the models whatever this is."
  :type 'natnum
  :safe #'natnump
  :package-version '(neuron-council . "0.1.0")
  :group 'neuron-council-region)

(defcustom neuron-council-claims-confirm 20
  "A run of more claims than this has to be confirmed; nil for no such question."
  :type '(choice natnum (const :tag "Never ask" nil))
  :package-version '(neuron-council . "0.1.0")
  :group 'neuron-council-region)

(defcustom neuron-council-claims-abbreviations
  '("approx" "bzw" "ca" "cf" "dr" "dra" "e.g" "eq" "etc" "exmo" "fig" "i.e" "jr" "mr" "mrs" "ms" "nr" "no" "p" "pp"
    "prof" "sec" "sr" "sra" "st" "vgl" "vol" "vs" "z.b")
  "Words in lower case whose final period does not end a sentence."
  :type '(repeat string)
  :package-version '(neuron-council . "0.1.0")
  :group 'neuron-council-region)

;;;; Lines

(defconst neuron-council-claims--item
  "[ \t]*\\(?:[-+*•‣◦]\\|[0-9]\\{1,3\\}[.)]\\)[ \t]+\\(?:\\[[ xX-]\\][ \t]+\\)?"
  "What a list item begins with.")

(defconst neuron-council-claims--org
  '(("\\*+ ")
    ("[ \t]*#\\+begin_\\(src\\|example\\|export\\|comment\\)\\_>" . "^[ \t]*#\\+end_%s\\_>")
    ("[ \t]*#\\(?:\\+\\|[ \t]\\|$\\)")
    ("[ \t]*:[^: \t\n]+:[ \t]*$" . "^[ \t]*:END:[ \t]*$")
    ("[ \t]*:\\(?:[ \t]\\|$\\)")
    ("[ \t]*\\\\begin{\\([^}\n]+\\)}" . "^[ \t]*\\\\end{%s}")
    ("[ \t]*|")
    ("[ \t]*-----+[ \t]*$")
    ("[ \t]*\\(?:CLOCK\\|CLOSED\\|DEADLINE\\|SCHEDULED\\):"))
  "What lines of Org that are no prose begin with, and how the last of them looks.
In the latter, %s is the first group of the former, quoted.  Without it,
one line is no prose.")

(defconst neuron-council-claims--markdown
  '(("\\`\\(---\\|\\+\\+\\+\\)[ \t]*$" . "^%s[ \t]*$")
    ("[ \t]*\\(```+\\|~~~+\\)" . "^[ \t]*%s")
    ("[ \t]*<!--" . "^.*-->")
    ("[ \t]*#\\{1,6\\}\\(?:[ \t]\\|$\\)")
    ("[ \t]*|")
    ("[ \t]*\\(?:[-=*_~^] ?\\)\\{3,\\}[ \t]*$")
    ("[ \t]*</?[a-zA-Z][^>\n]*>[ \t]*$")
    ("[ \t]*\\[[^]\n]+\\]:")
    (".*-\\*-.*-\\*-"))
  "The same for Markdown, which is what text of other modes is read as.")

(defun neuron-council-claims--kinds ()
  "Return the rows that fit the current buffer, nil for a program."
  (cond ((derived-mode-p 'org-mode) neuron-council-claims--org)
        ((derived-mode-p 'prog-mode) nil)
        (t neuron-council-claims--markdown)))

(defun neuron-council-claims--skip (kinds end)
  "Move over what is no prose at point, the beginning of a line, as KINDS say.
Stay before END.  Return non-nil where there was such."
  (let ((row nil) (case-fold-search t))
    (while (and kinds (not row))
      (when (looking-at (caar kinds)) (setq row (car kinds)))
      (setq kinds (cdr kinds)))
    (when row
      (let ((group (regexp-quote (or (match-string 1) ""))))
        (forward-line)
        ;; What is never closed is one line.
        (when (cdr row)
          (save-match-data
            (when (re-search-forward (replace-regexp-in-string "%s" group (cdr row) t t) end t)
              (forward-line)))))
      t)))

(defconst neuron-council-claims--quote "[ \t]*\\(?:>[ \t]?\\)*[ \t]*"
  "What stands before the prose in a line of text.")

(defun neuron-council-claims--comment ()
  "Return the end of what stands before the prose of a comment in this line.
Return nil where no comment stands alone in it."
  (save-excursion
    (back-to-indentation)
    (let ((beg (cond ((looking-at-p "#!\\|.*-\\*-") nil)
                     ((and comment-start-skip (looking-at comment-start-skip)) (match-end 0))
                     (t (looking-at "[*|]*[ \t]*") (match-end 0)))))
      ;; A string may look like a comment.
      (and beg (nth 4 (syntax-ppss beg)) beg))))

(defun neuron-council-claims--prose (kinds)
  "Return where the prose in the line at point begins, nil where there is none.
KINDS is nil in a program."
  (let ((beg (if kinds
                 (progn (looking-at neuron-council-claims--quote) (match-end 0))
               (neuron-council-claims--comment))))
    (and beg (< beg (line-end-position))
         (save-excursion (goto-char beg) (re-search-forward "[[:alnum:]]" (line-end-position) t))
         beg)))

;;;; Blocks

(defun neuron-council-claims--underlined-p (block)
  "Return non-nil where BLOCK, which ends before this line, is a heading above it."
  (and (looking-at "[ \t]*\\(?:===+\\|---+\\|~~~+\\)[ \t]*$")
       (= (count-lines (cadr block) (cddr block)) 1)
       (eq (car block) 'text)))

(defun neuron-council-claims--blocks (beg end)
  "Return the blocks of prose between BEG and END: lists (KIND BEG . END).
KIND is `item' or `text'.  Reading begins before BEG, where it must, to
know what BEG is in."
  (let ((kinds (neuron-council-claims--kinds)) (blocks nil) (open nil))
    (save-excursion
      (goto-char (point-min))
      (while (< (point) end)
        (let ((at (point)) prose)
          (cond
           ((looking-at-p "[ \t]*$") (setq open nil) (forward-line))
           ((and kinds open (neuron-council-claims--underlined-p (car blocks)))
            (pop blocks)
            (setq open nil)
            (forward-line))
           ((and kinds (neuron-council-claims--skip kinds (point-max))) (setq open nil))
           ((setq prose (neuron-council-claims--prose kinds))
            (goto-char prose)
            (cond ((looking-at neuron-council-claims--item)
                   (push (cons 'item (cons (match-end 0) (line-end-position))) blocks))
                  (open (setcdr (cdar blocks) (line-end-position)))
                  (t (push (cons 'text (cons (point) (line-end-position))) blocks)))
            (setq open t)
            (forward-line))
           (t (setq open nil) (forward-line)))
          (when (= at (point)) (goto-char end)))))
    (neuron-council-claims--clip (nreverse blocks) beg end)))

(defun neuron-council-claims--clip (blocks beg end)
  "Return what of BLOCKS is between BEG and END."
  (let ((clipped nil))
    (pcase-dolist (`(,kind ,from . ,to) blocks)
      (let ((from (max from beg)) (to (min to end)))
        (when (< from to)
          (push (cons kind (cons from to)) clipped))))
    (nreverse clipped)))

;;;; Sentences

(defconst neuron-council-claims--stop
  "[.?!…]+[]\"'”’»)}*_~]*\\(?:[ \t\n]\\|$\\)\\|[。．？！｡]+[」』）”’]*"
  "What may end a sentence.")

(defun neuron-council-claims--stop-p (beg stop end)
  "Return non-nil where STOP, in a sentence from BEG, ends it; END ends its block.
Initials, abbreviations and what goes on in lower case do not."
  (save-excursion
    (goto-char stop)
    (let* ((single (looking-at-p "\\.[^.?!…]"))
           (word (progn (skip-chars-backward "^ \t\n([{\"'“‘«" beg)
                        (downcase (buffer-substring-no-properties (point) stop))))
           (next (progn (goto-char stop)
                        (skip-chars-forward "^ \t\n" end)
                        (skip-chars-forward " \t\n" end)
                        (and (< (point) end) (char-after)))))
      (not (or (and single (or (string-match-p "\\`[[:alpha:]]\\'" word)
                               (member word neuron-council-claims-abbreviations)))
               (and next (/= next (upcase next))))))))

(defun neuron-council-claims--sentences (beg end)
  "Return the bounds of the sentences between BEG and END."
  (let ((found nil))
    (save-excursion
      (goto-char beg)
      (while (re-search-forward neuron-council-claims--stop end t)
        (let ((stop (match-beginning 0)))
          (skip-chars-backward " \t\n" stop)
          (when (or (string-match-p "[。．？！｡]" (string (char-after stop)))
                    (neuron-council-claims--stop-p beg stop end))
            (push (cons beg (point)) found)
            (skip-chars-forward " \t\n" end)
            (setq beg (point)))))
      (when (< beg end) (push (cons beg end) found)))
    (nreverse found)))

(defun neuron-council-claims--lines (beg end)
  "Return the bounds of the lines between BEG and END."
  (let ((found nil))
    (save-excursion
      (goto-char beg)
      (while (< (point) end)
        (push (cons (point) (min end (line-end-position))) found)
        (forward-line)
        (skip-chars-forward " \t" end)))
    (nreverse found)))

(defun neuron-council-claims--split (block unit)
  "Return the bounds of the claims in BLOCK, each of them one UNIT."
  (pcase-let ((`(,kind . (,beg . ,end)) block))
    (pcase unit
      ('sentence (neuron-council-claims--sentences beg end))
      ('item (and (eq kind 'item) (list (cons beg end))))
      ('paragraph (list (cons beg end)))
      ('line (neuron-council-claims--lines beg end))
      (_ (if (eq kind 'item)
             (list (cons beg end))
           (neuron-council-claims--sentences beg end))))))

(defun neuron-council-claims-at-point ()
  "Return the bounds of the sentence at point, nil where there is no text.
A sentence that ends at point is at it too."
  (let* ((limit (neuron-council-verify-limit 'claim))
         (here (point))
         (found nil))
    (save-restriction
      ;; Whoever points at a sentence means it, whatever stands far above.
      (narrow-to-region (save-excursion
                          (if (re-search-backward "^[ \t]*$" (max (point-min) (- here limit)) t)
                              (point)
                            (max (point-min) (- here limit))))
                        (save-excursion
                          (if (re-search-forward "^[ \t]*$" (min (point-max) (+ here limit)) t)
                              (point)
                            (min (point-max) (+ here limit)))))
      (dolist (block (neuron-council-claims--blocks (point-min) (point-max)))
        (dolist (sentence (neuron-council-claims--split block 'sentence))
          (when (and (<= (car sentence) here) (<= here (cddr block)))
            (setq found sentence)))))
    (or found
        (save-excursion
          (beginning-of-line)
          (skip-chars-forward "-*#>+;/ \t" (line-end-position))
          (and (< (point) (line-end-position))
               (cons (point) (line-end-position)))))))

;;;; Claims

(cl-defstruct (neuron-council-claims--claim (:constructor neuron-council-claims--make-claim) (:copier nil))
  "One claim of a buffer."
  text                                  ; as it is sent
  context                               ; string or nil
  mark)                                 ; overlay on the text as it stands

(defun neuron-council-claims--text (beg end)
  "Return the text from BEG to END in one line, without what begins its lines."
  (let ((kinds (neuron-council-claims--kinds)) (lines nil))
    (save-excursion
      (pcase-dolist (`(,from . ,to) (neuron-council-claims--lines beg end))
        (goto-char from)
        (push (buffer-substring-no-properties
               (if (eq from beg)
                   from
                 (beginning-of-line)
                 (min to (or (neuron-council-claims--prose kinds) from)))
               to)
              lines)))
    ;; The end of a comment belongs to the program.
    (replace-regexp-in-string "[ \t]*\\(?:\\*/\\)?[ \t]*\\'" "" (mapconcat #'identity (nreverse lines) " "))))

(defun neuron-council-claims--rest (beg end block)
  "Return the text of BLOCK but for that from BEG to END."
  (let ((before (neuron-council-claims--text (cadr block) beg))
        (after (neuron-council-claims--text end (cddr block))))
    (mapconcat #'identity (delete "" (list before (replace-regexp-in-string "\\`[ \t]+" "" after))) " ")))

(defun neuron-council-claims--headings (beg)
  "Return the headings above BEG, the topmost first, nil where there are none."
  (let ((regexp (if (derived-mode-p 'org-mode) "^\\(\\*+\\)[ \t]+\\(.+\\)$" "^\\(#\\{1,6\\}\\)[ \t]+\\(.+\\)$"))
        (level 1000)
        (headings nil))
    (save-excursion
      (goto-char beg)
      (while (and (> level 1) (re-search-backward regexp nil t))
        (when (< (length (match-string 1)) level)
          (setq level (length (match-string 1)))
          (push (match-string-no-properties 2) headings))))
    (and headings (mapconcat #'identity headings " / "))))

(defun neuron-council-claims--context (beg end block)
  "Return what the claim from BEG to END of BLOCK is judged against, or nil."
  (let ((context (pcase neuron-council-claims-context
                   ('nil nil)
                   ('paragraph (neuron-council-claims--rest beg end block))
                   ('heading (neuron-council-claims--headings beg))
                   (function (save-excursion (funcall function beg end))))))
    (and (stringp context)
         (string-match-p "[[:alnum:]]" context)
         (<= (length context) (neuron-council-verify-limit 'context))
         context)))

(defun neuron-council-claims--collect (beg end context)
  "Return the claims between BEG and END, and how many are too long to be judged.
CONTEXT is that of all of them; where it is nil, each has its own."
  (let ((claims nil) (long 0))
    (dolist (block (neuron-council-claims--blocks beg end))
      (pcase-dolist (`(,from . ,to) (neuron-council-claims--split block neuron-council-claims-unit))
        (if (> (- to from) (neuron-council-verify-limit 'claim))
            (setq long (1+ long))
          (let ((text (neuron-council-claims--text from to)))
            (when (and (string-match-p "[[:alpha:]]" text)
                       (>= (string-width text) neuron-council-claims-shortest))
              (push (neuron-council-claims--make-claim
                     :text text
                     :context (or context (neuron-council-claims--context from to block))
                     :mark (cons from to))
                    claims))))))
    (cons (nreverse claims) long)))

;;;; Runs

(cl-defstruct (neuron-council-claims--run (:constructor neuron-council-claims--make-run) (:copier nil))
  "The claims of a buffer on their way through the council."
  job                                   ; stands for the run where jobs are shown and cancelled
  waiting                               ; claims
  jobs                                  ; that are with the server
  total                                 ; claims at the start
  (long 0)                              ; claims that cannot be judged
  (edited 0)                            ; claims whose text changed before their turn
  (judged 0)
  (failed 0)                            ; claims without a verdict
  (in-a-row 0)                          ; claims without a verdict since the last one with
  (tags nil))                           ; alist from a tag to how many verdicts had it

(defconst neuron-council-claims--failures 3
  "After so many claims in a row without a verdict a run ends.")

(defun neuron-council-claims--count (run tag)
  "Return how many verdicts of RUN had TAG."
  (alist-get tag (neuron-council-claims--run-tags run) 0 nil #'equal))

(defun neuron-council-claims--progress (run)
  "Return in words how far RUN has got."
  (format "%d/%d judged, %d flagged" (neuron-council-claims--run-judged run) (neuron-council-claims--run-total run)
          (neuron-council-claims--count run "council-flagged")))

(defun neuron-council-claims--ended-p (run)
  "Return non-nil when RUN is over."
  (neuron-council-rpc-job-done-p (neuron-council-claims--run-job run)))

(defun neuron-council-claims--submit (run claim)
  "Have CLAIM judged as one of RUN."
  (let ((job nil))
    (setq job (neuron-council-region-judge
               (neuron-council-claims--claim-mark claim)
               (neuron-council-claims--claim-text claim) (neuron-council-claims--claim-context claim)
               (lambda (verdict condition)
                 (cl-callf2 delq job (neuron-council-claims--run-jobs run))
                 (neuron-council-claims--judged run verdict condition))
               t))
    (push job (neuron-council-claims--run-jobs run))))

(defun neuron-council-claims--room-p (run)
  "Return non-nil when RUN may submit a claim.
After a claim without a verdict, those that are out have to be back first:
the server may be gone."
  (let ((out (length (neuron-council-claims--run-jobs run))))
    (if (= 0 (neuron-council-claims--run-in-a-row run))
        (< out (max 1 neuron-council-claims-at-a-time))
      (= out 0))))

(defun neuron-council-claims--feed (run)
  "Submit claims of RUN while there is room, or end it when none is left."
  (while (and (neuron-council-claims--run-waiting run)
              (neuron-council-claims--room-p run))
    (let ((claim (pop (neuron-council-claims--run-waiting run))))
      (if (neuron-council-region-fresh-p (neuron-council-claims--claim-mark claim))
          (neuron-council-claims--submit run claim)
        (cl-incf (neuron-council-claims--run-edited run)))))
  (unless (or (neuron-council-claims--run-waiting run) (neuron-council-claims--run-jobs run))
    (neuron-council-rpc-end (neuron-council-claims--run-job run) run nil)))

(defun neuron-council-claims--judged (run verdict condition)
  "Count VERDICT, or CONDITION where there is none, and go on with RUN."
  (unless (neuron-council-claims--ended-p run)
    (cl-incf (neuron-council-claims--run-judged run))
    (dolist (tag (plist-get verdict :tags))
      (cl-incf (alist-get tag (neuron-council-claims--run-tags run) 0 nil #'equal)))
    (if (not (or condition (equal (plist-get verdict :status) "unavailable")))
        (setf (neuron-council-claims--run-in-a-row run) 0)
      (cl-incf (neuron-council-claims--run-failed run))
      (unless (eq (car condition) 'neuron-council-refused)
        (cl-incf (neuron-council-claims--run-in-a-row run))))
    (setf (neuron-council-job-note (neuron-council-claims--run-job run)) (neuron-council-claims--progress run))
    (if (and (>= (neuron-council-claims--run-in-a-row run) neuron-council-claims--failures)
             (null (neuron-council-claims--run-jobs run)))
        (neuron-council-rpc-end (neuron-council-claims--run-job run) nil
                                (or condition
                                    (list 'neuron-council-error
                                          (neuron-council-verdict-plain (plist-get verdict :summary)))))
      (neuron-council-claims--feed run))))

(defun neuron-council-claims--stop (run)
  "Withdraw what RUN has not had judged."
  (dolist (job (neuron-council-claims--run-jobs run))
    (neuron-council-rpc-cancel job '(neuron-council-cancelled "cancelled")))
  (dolist (claim (neuron-council-claims--run-waiting run))
    (neuron-council-region-remove (neuron-council-claims--claim-mark claim))))

(defun neuron-council-claims--outcome (run)
  "Return in words what became of the claims of RUN."
  (let ((words nil))
    (pcase-dolist (`(,count . ,what)
                   (list (cons (neuron-council-claims--count run "council-flagged") "flagged")
                         (cons (neuron-council-claims--count run "council-parked") "parked")
                         (cons (neuron-council-claims--count run "council-split") "split")
                         (cons (neuron-council-claims--run-failed run) "not available")
                         (cons (neuron-council-claims--run-edited run) "edited meanwhile")
                         (cons (neuron-council-claims--run-long run) "too long")))
      (when (> count 0) (push (format "%d %s" count what) words)))
    (format "%d of %d claims judged, %s" (neuron-council-claims--run-judged run)
            (neuron-council-claims--run-total run)
            (if words (mapconcat #'identity (nreverse words) ", ") "none flagged"))))

(defun neuron-council-claims--ended (run condition)
  "Say what became of RUN, which CONDITION may have ended early."
  (when condition
    (neuron-council-claims--stop run))
  (unless noninteractive
    (message "Council: %s%s" (neuron-council-claims--outcome run)
             (cond ((eq (car condition) 'neuron-council-cancelled) "; cancelled")
                   (condition (concat "; ended, " (neuron-council-errors-text condition)))
                   ((> (+ (neuron-council-claims--count run "council-flagged")
                          (neuron-council-claims--count run "council-parked"))
                       0)
                    (substitute-command-keys "; \\[next-error] leads to them"))
                   (t "")))))

(defun neuron-council-claims--start (claims long)
  "Put CLAIMS before the council, beside which LONG others are too long.
Return the job of the run."
  (dolist (claim claims)
    (pcase-let ((`(,beg . ,end) (neuron-council-claims--claim-mark claim)))
      (setf (neuron-council-claims--claim-mark claim)
            (neuron-council-region-mark beg end (and neuron-council-region-note 'brief)))))
  (let* ((run (neuron-council-claims--make-run :waiting claims :total (length claims) :long long))
         (job (neuron-council-rpc-make-job :council/verify nil
                                           (format "%d claims of %s" (length claims) (buffer-name))
                                           (lambda (_ condition) (neuron-council-claims--ended run condition)))))
    (setf (neuron-council-claims--run-job run) job
          (neuron-council-job-note job) (neuron-council-claims--progress run))
    (neuron-council-rpc-enqueue job)
    (neuron-council-region-use-next-error)
    (neuron-council-claims--feed run)
    job))

(defun neuron-council-claims--likely-time (count)
  "Return in words how long COUNT claims may take, going by the verdicts at hand."
  (let ((sum 0) (known 0))
    (dolist (verdict neuron-council-verdicts)
      (let ((latency (plist-get verdict :latency_ms)))
        (when (and (numberp latency) (> latency 0) (not (plist-get verdict :cached)))
          (setq sum (+ sum latency)
                known (1+ known)))))
    (if (= known 0)
        "some seconds each"
      (let ((seconds (/ (* count sum) known 1000.0)))
        (if (< seconds 90)
            (format "about %d s" (max 1 (round seconds)))
          (format "about %d min" (round (/ seconds 60.0))))))))

(defun neuron-council-claims--confirm (count)
  "Return non-nil when COUNT claims are to be judged, asking if they are many."
  (or (null neuron-council-claims-confirm)
      (<= count neuron-council-claims-confirm)
      (y-or-n-p (format "Have the council judge %d claims (%s)? " count (neuron-council-claims--likely-time count)))))

;;;###autoload
(defun neuron-council-verify-buffer (&optional beg end context)
  "Have every claim between BEG and END judged against CONTEXT, and return at once.
BEG and END are by default the bounds of the accessible part of the
buffer; interactively, those of the active region if there is one.  With a
prefix argument CONTEXT is asked for.  What a claim is, and what it is
judged against by default, say `neuron-council-claims-unit' and
`neuron-council-claims-context'.  Headings, code, drawers and tables have
no claims; in a program the comments have.

A few claims at a time are with the server, and those of others go first.
Each is marked as `neuron-council-verify-region' does it when its verdict
is in; one whose text is edited before its turn is passed over.
\\[next-error] and \\[previous-error] walk the flagged ones, and
`neuron-council-next-mark' all of them.

Signal a `user-error' where there is no claim.  Return a handle with which
`neuron-council-cancel' ends the whole run, nil where the user declined."
  (interactive
   (let ((region (use-region-p)))
     (list (and region (region-beginning)) (and region (region-end)) (neuron-council-region-read-context))))
  (neuron-council-region-check-buffer)
  (when (> (length context) (neuron-council-verify-limit 'context))
    (user-error "The context has %d characters, the council reads %d"
                (length context) (neuron-council-verify-limit 'context)))
  (pcase-let ((`(,claims . ,long) (neuron-council-claims--collect (or beg (point-min)) (or end (point-max)) context)))
    (cond
     ((null claims)
      (user-error "There is no claim to judge here%s" (if (> long 0) (format ", %d are too long" long) "")))
     ((or (not (called-interactively-p 'interactive))
          (neuron-council-claims--confirm (length claims)))
      (when (called-interactively-p 'interactive)
        (deactivate-mark))
      (neuron-council-rpc-handle (neuron-council-claims--start claims long))))))

(provide 'neuron-council-claims)
;;; neuron-council-claims.el ends here
