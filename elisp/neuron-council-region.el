;;; neuron-council-region.el --- Judge the text in the region  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; Text that is judged carries a mark, an overlay, until it is edited: a face and a note beside it, a tooltip, and keys
;; that open the report.  `neuron-council-region-judge' is what `neuron-council-verify-region' and
;; `neuron-council-verify-buffer' share.
;;
;; A mark is only a display.  Whatever happens to it, the verdict joins the verdicts at hand.

;;; Code:

(require 'neuron-council-jobs)
(require 'neuron-council-source)
(require 'neuron-council-text)
(require 'neuron-council-verdict)
(require 'neuron-council-verify)

(declare-function neuron-council-claims-at-point "neuron-council-claims")
(declare-function neuron-council-report-show "neuron-council-report")
(declare-function org-show-context "org")
(declare-function org-fold-show-context "org-fold")

(autoload 'neuron-council-claims-at-point "neuron-council-claims")
(autoload 'neuron-council-report-show "neuron-council-report")

;;;; Options

(defcustom neuron-council-region-note t
  "What stands beside judged text until that is edited.
The marks of `neuron-council-verify-buffer' have the confidence at most."
  :type '(choice (const :tag "Votes as they come in, then confidence and tags" t)
                 (const :tag "The confidence" brief)
                 (const :tag "Nothing" nil))
  :package-version '(neuron-council . "0.1.0")
  :group 'neuron-council-region)

(defcustom neuron-council-region-fringe nil
  "The fringe in which judged text has an indicator, nil for none."
  :type '(choice (const :tag "No indicator" nil) (const left-fringe) (const right-fringe))
  :package-version '(neuron-council . "0.1.0")
  :group 'neuron-council-region)

(defcustom neuron-council-return-shows-verdict 'read-only
  "Where RET on judged text opens the report.
\\`C-c RET' and the middle mouse button open it everywhere; in text that
can be edited, RET is for editing unless this is t."
  :type '(choice (const :tag "Where the text is read-only" read-only)
                 (const :tag "On all judged text" t)
                 (const :tag "Nowhere" nil))
  :package-version '(neuron-council . "0.1.0")
  :group 'neuron-council-region)

(defcustom neuron-council-next-error-tags '("council-flagged" "council-parked")
  "Tags of the verdicts to whose text \\[next-error] leads.
It does so while marks of `neuron-council-verify-buffer' are there;
`neuron-council-next-mark' leads to every mark."
  :type '(set (const "council-flagged") (const "council-parked") (const "council-split")
              (const "council-doubted") (const "council-unavailable") (const "verified"))
  :package-version '(neuron-council . "0.1.0")
  :group 'neuron-council-region)

;;;; Faces

(defface neuron-council-pending '((t :inherit shadow :underline t))
  "Text that the council is judging."
  :group 'neuron-council-faces
  :package-version '(neuron-council . "0.1.0"))

(defface neuron-council-judged-verified
  '((((type graphic) (supports :underline (:style wave))) :underline (:style wave :color "ForestGreen"))
    (t :inherit neuron-council-verified :underline t))
  "Judged text that every member and every lens let pass."
  :group 'neuron-council-faces
  :package-version '(neuron-council . "0.1.0"))

(defface neuron-council-judged-doubtful
  '((((type graphic) (supports :underline (:style wave))) :underline (:style wave :color "DarkOrange"))
    (t :inherit neuron-council-doubtful :underline t))
  "Judged text with doubts."
  :group 'neuron-council-faces
  :package-version '(neuron-council . "0.1.0"))

(defface neuron-council-judged-flagged
  '((((type graphic) (supports :underline (:style wave))) :underline (:style wave :color "Red1"))
    (t :inherit neuron-council-flagged :underline t))
  "Judged text that the council flagged."
  :group 'neuron-council-faces
  :package-version '(neuron-council . "0.1.0"))

(defface neuron-council-judged-unavailable
  '((((type graphic) (supports :underline (:style wave))) :underline (:style wave :color "Gray50"))
    (t :inherit neuron-council-unavailable :underline t))
  "Text that could not be judged."
  :group 'neuron-council-faces
  :package-version '(neuron-council . "0.1.0"))

(defconst neuron-council-region--looks
  '((neuron-council-verified neuron-council-judged-verified filled-rectangle)
    (neuron-council-doubtful neuron-council-judged-doubtful question-mark)
    (neuron-council-flagged neuron-council-judged-flagged exclamation-mark)
    (neuron-council-unavailable neuron-council-judged-unavailable hollow-square))
  "By the face of the verdict: the face of judged text, the bitmap in the fringe.")

;;;; Keys

(defun neuron-council-region--read-only-p (command)
  "Return COMMAND where the text at point cannot be edited."
  (and (or buffer-read-only (get-char-property (point) 'read-only)) command))

(defun neuron-council-region--return (command)
  "Return COMMAND where `neuron-council-return-shows-verdict' lets RET run it."
  (if (eq neuron-council-return-shows-verdict 'read-only)
      (neuron-council-region--read-only-p command)
    (and neuron-council-return-shows-verdict command)))

(defvar neuron-council-region-map
  (let ((map (make-sparse-keymap)))
    (define-key map (kbd "C-c RET") #'neuron-council-show-verdict)
    (define-key map [mouse-2] #'neuron-council-show-verdict)
    (define-key map (kbd "RET")
      '(menu-item "" neuron-council-show-verdict :filter neuron-council-region--return))
    (define-key map [mouse-1]
      '(menu-item "" neuron-council-show-verdict :filter neuron-council-region--read-only-p))
    map)
  "Keys on judged text.
Text that can be edited keeps RET and the first mouse button for editing.")

(defvar neuron-council-region-note-map
  (let ((map (make-sparse-keymap)))
    (define-key map [mouse-1] #'neuron-council-show-verdict)
    (define-key map [mouse-2] #'neuron-council-show-verdict)
    map)
  "Keys of the note beside judged text.")

(defvar neuron-council-mark-repeat-map
  (let ((map (make-sparse-keymap)))
    (define-key map "n" #'neuron-council-next-mark)
    (define-key map "p" #'neuron-council-previous-mark)
    map)
  "Keys that go on walking the marks where `repeat-mode' is on.")

;;;; Marks

(defun neuron-council-region-overlays (beg end)
  "Return the marks between BEG and END, the first one first."
  (let ((found nil))
    (dolist (overlay (overlays-in beg end))
      (when (overlay-get overlay 'neuron-council)
        (push overlay found)))
    (sort found (lambda (a b) (< (overlay-start a) (overlay-start b))))))

(defun neuron-council-region-fresh-p (overlay)
  "Return non-nil while OVERLAY is on the text for which it was made."
  (let ((buffer (overlay-buffer overlay)))
    (and buffer
         (with-current-buffer buffer
           (save-restriction
             (widen)
             (equal (overlay-get overlay 'neuron-council)
                    (buffer-substring-no-properties (overlay-start overlay) (overlay-end overlay))))))))

(defun neuron-council-region--everywhere (overlay beg end)
  "Return OVERLAY and its copies between BEG and END in indirect buffers.
A buffer that is cloned has the overlays too."
  (let* ((buffer (overlay-buffer overlay))
         (base (and buffer (or (buffer-base-buffer buffer) buffer)))
         (text (overlay-get overlay 'neuron-council))
         (found (list overlay)))
    (dolist (other (and base (buffer-list)) found)
      (when (and (not (eq other buffer)) (eq base (or (buffer-base-buffer other) other)))
        (with-current-buffer other
          (dolist (copy (overlays-in beg end))
            (when (eq text (overlay-get copy 'neuron-council))
              (push copy found))))))))

(defun neuron-council-region-remove (overlay &optional beg end)
  "Remove the mark OVERLAY and its copies between BEG and END, its own text if nil."
  (let ((buffer (overlay-buffer overlay)))
    (when buffer
      (mapc #'delete-overlay
            (neuron-council-region--everywhere overlay (or beg (overlay-start overlay))
                                               (or end (overlay-end overlay))))
      (with-current-buffer buffer
        (neuron-council-region--restore-next-error)))))

(defun neuron-council-region--changed (overlay after beg end &optional _)
  "Remove OVERLAY where its text, changed from BEG to END, differs AFTER that.
What changes properties alone, as fontifying does, leaves it."
  (when (and after (not (neuron-council-region-fresh-p overlay)))
    (neuron-council-region-remove overlay beg (1+ end))))

(defun neuron-council-region--touched (overlay after beg end &optional _)
  "Remove OVERLAY where text inserted beside it joins a word of its text.
That text is from BEG to END, AFTER it has been inserted."
  (when (and after (overlay-buffer overlay) (< beg end))
    (let ((at (if (= beg (overlay-end overlay)) beg end)))
      (when (and (< (point-min) at (point-max))
                 (eq ?w (char-syntax (char-before at)))
                 (eq ?w (char-syntax (char-after at))))
        (neuron-council-region-remove overlay)))))

(defun neuron-council-region-mark (beg end note)
  "Make a mark, not yet visible, on the text from BEG to END and return it.
NOTE is what shall stand beside it, as `neuron-council-region-note' says.
Marks that were there are removed."
  (mapc #'delete-overlay (neuron-council-region-overlays beg end))
  (let ((overlay (make-overlay beg end nil t)))
    (overlay-put overlay 'neuron-council (buffer-substring-no-properties beg end))
    (overlay-put overlay 'neuron-council-note note)
    (overlay-put overlay 'evaporate t)
    (overlay-put overlay 'modification-hooks '(neuron-council-region--changed))
    (overlay-put overlay 'insert-in-front-hooks '(neuron-council-region--touched))
    (overlay-put overlay 'insert-behind-hooks '(neuron-council-region--touched))
    overlay))

(defun neuron-council-region--note (overlay text face)
  "Show TEXT in FACE beside the text of OVERLAY, nothing if nil."
  (overlay-put overlay 'after-string
               (and text
                    ;; More would move the text behind it off the screen.
                    (propertize (format " [%s]" (truncate-string-to-width text 60 nil nil t))
                                'face face
                                'cursor t
                                'mouse-face 'highlight
                                'help-echo #'neuron-council-region--note-help
                                'neuron-council-overlay overlay
                                'keymap neuron-council-region-note-map))))

(defun neuron-council-region--show-pending (overlay words)
  "Show that the text of OVERLAY is being judged; WORDS say how far it has got."
  (overlay-put overlay 'face 'neuron-council-pending)
  (overlay-put overlay 'help-echo "The council is judging this text")
  (neuron-council-region--note overlay
                               (and (eq t (overlay-get overlay 'neuron-council-note)) (concat "council: " words))
                               'neuron-council-pending))

(defun neuron-council-region--note-words (overlay verdict)
  "Return what shall be said of VERDICT beside OVERLAY, nil for nothing."
  (pcase (overlay-get overlay 'neuron-council-note)
    ('t (concat "council: " (neuron-council-verdict-brief verdict)))
    ('brief (format "%.2f" (plist-get verdict :confidence)))))

(defun neuron-council-region--show-verdict (overlay verdict)
  "Show VERDICT on the text of OVERLAY."
  (pcase-let* ((face (neuron-council-verdict-face verdict))
               (`(,judged ,bitmap) (cdr (assq face neuron-council-region--looks))))
    (overlay-put overlay 'neuron-council-verdict verdict)
    (overlay-put overlay 'face judged)
    (overlay-put overlay 'mouse-face 'highlight)
    (overlay-put overlay 'keymap neuron-council-region-map)
    (overlay-put overlay 'help-echo #'neuron-council-region--help)
    (when neuron-council-region-fringe
      (overlay-put overlay 'before-string
                   (propertize "!" 'display (list neuron-council-region-fringe bitmap face))))
    (neuron-council-region--note overlay (neuron-council-region--note-words overlay verdict) face)))

(defun neuron-council-region-verdict (overlay)
  "Return the verdict on the text of OVERLAY, as it is known now, or nil."
  (let ((verdict (overlay-get overlay 'neuron-council-verdict)))
    (and verdict (or (neuron-council-verdict-find (plist-get verdict :id)) verdict))))

(defun neuron-council-region--help (_window overlay _position)
  "Return the tooltip of judged text, on which OVERLAY is."
  (let ((verdict (and (overlayp overlay) (neuron-council-region-verdict overlay))))
    (and verdict
         (concat (neuron-council-text-quote
                  (format "%s\n%s" (neuron-council-verdict-brief verdict)
                          (neuron-council-verdict-plain (plist-get verdict :summary))))
                 "\nmouse-2, C-c RET: report"))))

(defun neuron-council-region--note-help (_window string _position)
  "Return the tooltip of STRING, a note beside judged text."
  (let ((overlay (and (stringp string) (get-text-property 0 'neuron-council-overlay string))))
    (and overlay
         (or (neuron-council-region--help nil overlay nil) "The council is judging this text"))))

(defun neuron-council-region--each (id function)
  "Call FUNCTION with every mark of the verdict ID, in its buffer."
  (dolist (buffer (buffer-list))
    (with-current-buffer buffer
      (save-restriction
        (widen)
        (dolist (overlay (neuron-council-region-overlays (point-min) (point-max)))
          (when (equal id (plist-get (overlay-get overlay 'neuron-council-verdict) :id))
            (funcall function overlay)))))))

(defun neuron-council-region--forgotten (id)
  "Remove the marks of the verdict ID, which is forgotten."
  (neuron-council-region--each id #'neuron-council-region-remove))

(defun neuron-council-region--superseded (id verdict)
  "Show VERDICT on the text of the verdict ID, whose place it takes."
  (neuron-council-region--each id (lambda (overlay) (neuron-council-region--show-verdict overlay verdict))))

(add-hook 'neuron-council-verdict-remove-functions #'neuron-council-region--forgotten)
(add-hook 'neuron-council-verdict-supersede-functions #'neuron-council-region--superseded)

;;;; Judging

(defun neuron-council-region--judged (overlay verdict)
  "Show VERDICT on the text of OVERLAY, which is removed where it has changed.
A verdict that cannot be shown must not leave text that looks as if the
council were still at it."
  (when (overlay-buffer overlay)
    (if (not (neuron-council-region-fresh-p overlay))
        (neuron-council-region-remove overlay)
      (condition-case problem
          (dolist (each (neuron-council-region--everywhere overlay (overlay-start overlay) (overlay-end overlay)))
            (neuron-council-region--show-verdict each verdict))
        (error
         (neuron-council-region-remove overlay)
         (signal (car problem) (cdr problem)))))))

(defun neuron-council-region-judge (overlay claim context function &optional background)
  "Have CLAIM, the text of OVERLAY, judged against CONTEXT; return the job at once.
The mark shows how far it has got, then the verdict, which joins those at
hand.  FUNCTION is called last, once and later, with the verdict and a
condition as `neuron-council-verify-submit' has it.  A job in the
BACKGROUND is shown by its mark alone, and what somebody waits for goes
first."
  (let ((source (with-current-buffer (overlay-buffer overlay)
                  (neuron-council-source-make (overlay-start overlay)))))
    (neuron-council-region--show-pending overlay "convening")
    (neuron-council-verify-submit
     claim context (neuron-council-verify-new-id)
     (lambda (verdict condition)
       (if (eq (car condition) 'neuron-council-cancelled)
           (neuron-council-region-remove overlay)
         (neuron-council-errors-guard "the verdicts at hand" #'neuron-council-verdict-add verdict
                                      :context context :source source)
         (neuron-council-errors-guard "a council display" #'neuron-council-region--judged overlay
                                      (or (neuron-council-verdict-find (plist-get verdict :id)) verdict)))
       (funcall function verdict condition))
     (lambda (job)
       (when (and (overlay-buffer overlay) (not (neuron-council-rpc-job-done-p job)))
         (neuron-council-region--show-pending overlay (neuron-council-jobs-words job))))
     (lambda (job) (setf (neuron-council-job-background job) background))
     background)))

(defun neuron-council-region-check-buffer ()
  "Signal a `user-error' in a buffer of the council's own.
Whoever is led there by a verdict may press the key once more."
  (when (string-prefix-p "*neuron-council" (buffer-name))
    (user-error "This is a buffer of the council; go to the text that is to be judged")))

(defun neuron-council-region--field ()
  "Return the bounds of the input field at point, nil where there is none."
  (if (minibufferp)
      (cons (minibuffer-prompt-end) (point-max))
    (let ((beg (field-beginning)) (end (field-end)))
      (unless (or (eq (field-at-pos (point)) 'output)
                  (and (= beg (point-min)) (= end (point-max))))
        (cons beg end)))))

(defun neuron-council-region--sentence ()
  "Return the bounds of the sentence at point, within its field."
  (save-restriction
    (narrow-to-region (field-beginning) (field-end))
    (neuron-council-claims-at-point)))

(defun neuron-council-region--bounds ()
  "Return the bounds of what the user means: region, field or sentence."
  (neuron-council-region-check-buffer)
  (cond
   ;; Without `transient-mark-mode' the region is there as soon as there is a mark.
   ((if transient-mark-mode (use-region-p) (and mark-active (/= (point) (mark))))
    (when (region-noncontiguous-p)
      (user-error "The council judges text, not rectangles"))
    (cons (region-beginning) (region-end)))
   ((neuron-council-region--field))
   ((neuron-council-region--sentence))
   (t (user-error "There is no text to judge here"))))

(defun neuron-council-region--trim (beg end)
  "Return the bounds of the text from BEG to END without white space around it."
  (save-excursion
    (goto-char (max beg end))
    (skip-chars-backward " \t\n\r\f" (min beg end))
    (let ((last (point)))
      (goto-char (min beg end))
      (skip-chars-forward " \t\n\r\f" last)
      (cons (point) last))))

(defun neuron-council-region--claim (beg end context)
  "Return the text from BEG to END, to be judged against CONTEXT.
Signal a `user-error' where the council cannot judge it, before all of it
is looked at."
  (let ((limit (neuron-council-verify-limit 'claim)))
    (when (> (- end beg) limit)
      (user-error "These are %d characters, the council reads %d at a time" (- end beg) limit)))
  (when (> (length context) (neuron-council-verify-limit 'context))
    (user-error "The context has %d characters, the council reads %d"
                (length context) (neuron-council-verify-limit 'context)))
  (let ((claim (buffer-substring-no-properties beg end)))
    (unless (string-match-p "[[:alnum:]]" claim)
      (user-error "There is no text to judge, a claim has letters or digits"))
    claim))

(defun neuron-council-region-read-context ()
  "Read a context where there is a prefix argument; return nil for none."
  (and current-prefix-arg (neuron-council-verify-read-context)))

(defun neuron-council-region--tell (verdict)
  "Say VERDICT in the echo area, on one line; the report has the whole."
  (message "%s" (truncate-string-to-width
                 (format "Council: %s.  %s" (neuron-council-verdict-brief verdict)
                         (neuron-council-verdict-plain (plist-get verdict :summary)))
                 (max 20 (1- (frame-width))) nil nil t)))

;;;###autoload
(defun neuron-council-verify-region (beg end &optional context)
  "Have the text between BEG and END judged against CONTEXT, and return at once.
Interactively that is the active region, else the field at point (a form,
the minibuffer, the input of a shell), else the sentence at point; with a
prefix argument CONTEXT is asked for, else there is none.

Meanwhile the mode line shows the votes as they come in.  Then the text
has a face, a note and a tooltip until it is edited.  On it, \\`C-c RET'
or the middle mouse button opens the report, and so does \\`RET' where it
is read-only, see `neuron-council-return-shows-verdict'; beside it, a
click on the note.  \\[neuron-council-clear-marks] removes the marks.

Signal a `user-error' for text that the council cannot judge.  Return a
handle for `neuron-council-cancel'."
  (interactive
   (pcase-let ((`(,beg . ,end) (neuron-council-region--bounds)))
     (list beg end (neuron-council-region-read-context))))
  (neuron-council-region-check-buffer)
  (pcase-let* ((`(,beg . ,end) (neuron-council-region--trim beg end))
               (claim (neuron-council-region--claim beg end context)))
    (when (called-interactively-p 'interactive)
      (deactivate-mark))
    (neuron-council-rpc-handle
     (neuron-council-region-judge (neuron-council-region-mark beg end neuron-council-region-note) claim context
                                  (lambda (verdict condition)
                                    (unless (or noninteractive (eq (car condition) 'neuron-council-cancelled))
                                      (neuron-council-region--tell verdict)))))))

;;;; Going to marks and to reports

(defun neuron-council-region--at (position)
  "Return the mark at or beside POSITION, nil if there is none."
  (let ((marks (neuron-council-region-overlays (max (point-min) (1- position)) (min (point-max) (1+ position))))
        (found nil))
    (dolist (mark marks (or found (car marks)))
      (when (and (not found) (<= (overlay-start mark) position) (< position (overlay-end mark)))
        (setq found mark)))))

;;;###autoload
(defun neuron-council-show-verdict (&optional event)
  "Show the verdict on the text at point or at EVENT, a click, else the newest."
  (interactive (list (and (mouse-event-p last-input-event) last-input-event)))
  (let* ((place (and event (event-start event)))
         (mark (with-current-buffer (if place (window-buffer (posn-window place)) (current-buffer))
                 (neuron-council-region--at (or (and place (posn-point place)) (point)))))
         (verdict (and mark (neuron-council-region-verdict mark))))
    (when (and mark (not verdict))
      (user-error "The council is still judging this text"))
    (neuron-council-report-show verdict)))

(defun neuron-council-region--reveal ()
  "Show the text at point where it is folded away."
  (when (invisible-p (point))
    (cond ((not (derived-mode-p 'org-mode))
           (dolist (overlay (overlays-at (point)))
             (let ((open (overlay-get overlay 'isearch-open-invisible)))
               (when open (funcall open overlay)))))
          ((fboundp 'org-fold-show-context) (org-fold-show-context))
          ((fboundp 'org-show-context) (org-show-context)))))

(defun neuron-council-region-judged-marks (tags)
  "Return the marks whose verdicts have one of TAGS, any for t.
The first one in the buffer comes first."
  (let ((found nil))
    (dolist (mark (neuron-council-region-overlays (point-min) (point-max)) (nreverse found))
      (let ((verdict (overlay-get mark 'neuron-council-verdict))
            (wanted (eq tags t)))
        (dolist (tag (plist-get verdict :tags))
          (when (and (listp tags) (member tag tags)) (setq wanted t)))
        (when (and verdict wanted) (push mark found))))))

(defun neuron-council-region--go (count tags from)
  "Go to the COUNTth mark behind FROM whose verdict has one of TAGS, any for t.
A negative COUNT counts backwards; 0 is the mark at FROM."
  (let* ((before nil) (here nil) (after nil))
    (dolist (mark (neuron-council-region-judged-marks tags))
      (cond ((< from (overlay-start mark)) (push mark after))
            ((and (= count 0) (<= from (overlay-end mark))) (setq here mark))
            ((< (overlay-start mark) from) (push mark before))))
    (let ((mark (cond ((= count 0) here)
                      ((> count 0) (nth (1- count) (reverse after)))
                      (t (nth (- -1 count) before)))))
      (unless mark
        (user-error (if (or before here after) "No more marks of the council in this direction"
                      "No mark of the council here")))
      (push-mark nil t)
      (goto-char (overlay-start mark))
      (neuron-council-region--reveal)
      (unless noninteractive
        (neuron-council-region--tell (neuron-council-region-verdict mark))))))

;;;###autoload
(defun neuron-council-next-mark (&optional count)
  "Go to the next text in this buffer that was judged, or COUNT of them on."
  (interactive "p")
  (neuron-council-region--go (or count 1) t (point)))

;;;###autoload
(defun neuron-council-previous-mark (&optional count)
  "Go to the previous text in this buffer that was judged, or COUNT of them back."
  (interactive "p")
  (neuron-council-region--go (- (or count 1)) t (point)))

(put 'neuron-council-next-mark 'repeat-map 'neuron-council-mark-repeat-map)
(put 'neuron-council-previous-mark 'repeat-map 'neuron-council-mark-repeat-map)

(defvar-local neuron-council-region--next-error nil
  "What `next-error-function' was: a list of whether it was local, and its value.")

(defvar-local neuron-council-region--walked nil
  "Non-nil once \\[next-error] has led to a mark of the last run.")

(defun neuron-council-region-next-error (&optional count reset)
  "Go to the COUNTth text that needs a look, from the first one on with RESET.
This is the `next-error-function' of a buffer with marks; see
`neuron-council-next-error-tags'."
  (unless (eq (window-buffer) (current-buffer))
    (pop-to-buffer (current-buffer)))
  ;; Marks whose text was deleted as a whole have gone unheard.
  (neuron-council-region--restore-next-error)
  (let ((count (or count 1)))
    (neuron-council-region--go count neuron-council-next-error-tags
                               ;; After a run point stands anywhere, often behind all that it judged.
                               (if (or reset (and (> count 0) (not neuron-council-region--walked)))
                                   (1- (point-min))
                                 (point))))
  (setq neuron-council-region--walked t))

(defun neuron-council-region-use-next-error ()
  "Have \\[next-error] walk the marks of the current buffer while there are some.
A buffer that cannot be edited and has errors of its own, such as one of
`compile', is left alone."
  (unless (or neuron-council-region--next-error (and buffer-read-only next-error-function))
    (setq neuron-council-region--next-error
          (list (local-variable-p 'next-error-function) next-error-function))
    (setq-local next-error-function #'neuron-council-region-next-error)
    ;; The verdict is told instead of the name of the buffer.
    (setq-local next-error-verbose nil))
  (when neuron-council-region--next-error
    (setq next-error-last-buffer (current-buffer)
          neuron-council-region--walked nil)))

(defun neuron-council-region--restore-next-error ()
  "Give `next-error-function' back when no mark is left in the current buffer."
  (when (and neuron-council-region--next-error
             (save-restriction
               (widen)
               (null (neuron-council-region-overlays (point-min) (point-max)))))
    (pcase-let ((`(,local ,value) neuron-council-region--next-error))
      (when (eq next-error-function #'neuron-council-region-next-error)
        (if local
            (setq-local next-error-function value)
          (kill-local-variable 'next-error-function))))
    (kill-local-variable 'next-error-verbose)
    (kill-local-variable 'neuron-council-region--next-error)))

;;;###autoload
(defun neuron-council-clear-marks ()
  "Remove the marks of judged text in the active region, else in this buffer.
The verdicts stay, and what is being judged goes on; claims of
`neuron-council-verify-buffer' that wait for their turn are dropped."
  (interactive)
  (save-restriction
    (if (use-region-p)
        (narrow-to-region (region-beginning) (region-end))
      (widen))
    (mapc #'delete-overlay (neuron-council-region-overlays (point-min) (point-max))))
  (neuron-council-region--restore-next-error))

(provide 'neuron-council-region)
;;; neuron-council-region.el ends here
