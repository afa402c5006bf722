;;; neuron-council-report.el --- The report on a verdict  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; The buffer "*neuron-council report*" shows one verdict, in the words of neuron-council-format.el.  What is not at
;; hand is asked of the ledger, and nothing here waits for an answer.  Sections fold by outline.el.
;;
;; Buttons are made of names that the configuration gives and of ids, never of what a model wrote.

;;; Code:

(require 'button)
(require 'easymenu)
(require 'outline)
(require 'neuron-council-format)
(require 'neuron-council-held)
(require 'neuron-council-place)
(require 'neuron-council-source)
(require 'neuron-council-verify)

(declare-function bookmark-prop-get "bookmark")

(autoload 'neuron-council-accept "neuron-council-review" nil t)
(autoload 'neuron-council-cancel "neuron-council-jobs" nil t)
(autoload 'neuron-council-forget "neuron-council-review" nil t)
(autoload 'neuron-council-menu "neuron-council-menu" nil t)
(autoload 'neuron-council-reject "neuron-council-review" nil t)
(autoload 'neuron-council-replay-outcome "neuron-council-replay")
(autoload 'neuron-council-report-as-org "neuron-council-report-org")
(autoload 'neuron-council-restore "neuron-council-review" nil t)
(autoload 'neuron-council-review-possible-p "neuron-council-review")
(autoload 'neuron-council-review-read-note "neuron-council-review")

(defvar neuron-council-report-mode-map)

(defconst neuron-council-report--name "*neuron-council report*"
  "The name of the buffer.")

(defconst neuron-council-report--widest 100
  "Columns of a report in a window that is wider.")

(defvar-local neuron-council-report--id nil
  "The id of the verdict that is shown or looked up, nil for none.")

(defvar-local neuron-council-report--verdict nil
  "The verdict that is shown, nil while there is none.")

(defvar-local neuron-council-report--said nil
  "What is shown in place of a verdict, a string.")

(defvar-local neuron-council-report--busy nil
  "What the header line says besides, a string or nil.")

(defvar-local neuron-council-report--job nil
  "The job that looks the verdict up, nil for none.")

(defvar-local neuron-council-report--stale nil
  "Non-nil when the verdict has changed since it was drawn.")

(defvar-local neuron-council-report--back nil
  "The ids that were shown before, the last one first.")

(defvar-local neuron-council-report--forward nil
  "The ids that `neuron-council-report-back' came from, the last one first.")

;;;; Drawing

(defun neuron-council-report--width ()
  "Return how many columns a line may have."
  (let ((window (get-buffer-window nil t)))
    (if window
        (max 20 (min neuron-council-report--widest (1- (window-body-width window))))
      80)))

(defun neuron-council-report--held (id)
  "Return the reasons for which memories are kept with the verdict ID."
  ;; A folder that cannot be read must not hide the verdict.
  (mapcar (lambda (record) (plist-get record :reason))
          (ignore-errors (and (stringp id) (neuron-council-held-records id)))))

(defun neuron-council-report--with-fate (verdict held)
  "Return VERDICT with what became of its memory, which is HELD for reasons.
A file tells it after a restart of Emacs too."
  (if (or (plist-get verdict :fate) (null held))
      verdict
    (append (list :fate (if (eq (car held) 'parked) 'held (car held))) verdict)))

(defun neuron-council-report--actions (verdict held)
  "Return what can be done with VERDICT, whose memories are HELD for reasons.
These are labels, commands and what they do."
  (append
   (when (or (memq 'parked held)
             (and (null (plist-get verdict :review)) (neuron-council-review-possible-p verdict)))
     '(("Accept" neuron-council-report-accept "record that a person accepts it, and store the memory")
       ("Reject" neuron-council-report-reject "record that a person rejects it, and drop the memory")))
   (when (or (memq 'rejected held) (memq 'quarantined held))
     '(("Restore" neuron-council-report-restore "store the memory after all")))
   '(("Re-verify" neuron-council-report-reverify "have the claim judged anew"))
   ;; Without a report of the server's there is no evidence.
   (when (plist-get verdict :report)
     '(("Replay" neuron-council-report-replay "check its evidence again, without a model")))
   (when (neuron-council-source-name (plist-get verdict :source))
     '(("Source" neuron-council-report-source "visit the text of the claim")))
   '(("Copy as Org" neuron-council-report-copy-as-org "copy the report as Org text"))))

(defun neuron-council-report--insert-actions (actions)
  "Insert buttons for ACTIONS on a line."
  (insert "   ")
  (pcase-dolist (`(,label ,command ,help) actions)
    (insert " ")
    (insert-text-button (format "[%s]" label)
                        'action (lambda (_) (call-interactively command))
                        'follow-link t
                        'help-echo (let ((key (where-is-internal command neuron-council-report-mode-map t)))
                                     (concat (if key (concat (key-description key) ": ") "") help))))
  (insert "\n"))

(define-button-type 'neuron-council-report-link
  'action (lambda (button) (neuron-council-report--follow (button-get button 'neuron-council-format-link)))
  'face 'button
  'follow-link t
  'help-echo "mouse-2, RET: show more of it")

(defun neuron-council-report--link ()
  "Make buttons of the links in the buffer."
  (let ((at (point-min)))
    (while at
      (let ((end (next-single-property-change at 'neuron-council-format-link)))
        (when (and end (get-text-property at 'neuron-council-format-link))
          (remove-text-properties at end '(face nil))
          (make-text-button at end 'type 'neuron-council-report-link))
        (setq at end)))))

(defun neuron-council-report--insert (verdict)
  "Insert the report on VERDICT."
  (let ((held (neuron-council-report--held (plist-get verdict :id))))
    (dolist (section (neuron-council-format-sections (neuron-council-report--with-fate verdict held)
                                                     (neuron-council-report--width)))
      (let ((first (bobp)))
        (unless first (insert "\n"))
        (insert (car section) (cdr section))
        (when first
          (neuron-council-report--insert-actions (neuron-council-report--actions verdict held)))))
    (neuron-council-report--link)))

(defun neuron-council-report--draw (folds)
  "Draw the buffer; FOLDS says what is folded, see `neuron-council-report--fold'."
  (let ((inhibit-read-only t))
    (setq neuron-council-report--stale nil)
    (erase-buffer)
    (if neuron-council-report--verdict
        (neuron-council-report--insert neuron-council-report--verdict)
      (insert (or neuron-council-report--said "No verdict yet.") "\n"))
    (neuron-council-report--fold folds)
    (set-buffer-modified-p nil)))

(defun neuron-council-report--render (&optional anew)
  "Draw the buffer; with ANEW it shows something else than before.
Otherwise a reader stays in the section and what is folded stays so."
  (if (not anew)
      (let ((folds (neuron-council-report--folds)))
        (neuron-council-place-keep 'neuron-council-format-heading
                                   (lambda () (neuron-council-report--draw folds))))
    (neuron-council-report--draw nil)
    (dolist (window (get-buffer-window-list nil nil t))
      (set-window-start window (point-min))
      (set-window-point window (point-min)))
    (goto-char (point-min))))

(defun neuron-council-report--header ()
  "Return the header line: which verdict this is, and what goes on."
  (let ((others (member neuron-council-report--id
                        (mapcar (lambda (verdict) (plist-get verdict :id)) neuron-council-verdicts)))
        (count (length neuron-council-verdicts)))
    ;; A percent sign would be a construct of the mode line.
    (replace-regexp-in-string
     "%" "%%"
     (concat " Council"
             (cond ((and others neuron-council-report--id)
                    (format ", verdict %d of %d at hand" (- count (length others) -1) count))
                   (neuron-council-report--id ", from the ledger"))
             (and neuron-council-report--busy (concat "   " neuron-council-report--busy)))
     t t)))

(defun neuron-council-report--say (text)
  "Say TEXT, or nothing for nil, in the header line."
  (setq neuron-council-report--busy text)
  (force-mode-line-update))

;;;; Folding

(defun neuron-council-report--headings ()
  "Return the names and positions of the headings, in order."
  (let ((at (point-min)) (headings nil))
    (while at
      (let ((name (get-text-property at 'neuron-council-format-heading)))
        (when name (push (cons name at) headings)))
      (setq at (next-single-property-change at 'neuron-council-format-heading)))
    (nreverse headings)))

(defun neuron-council-report--folds ()
  "Return the names of the headings and whether they are folded."
  (mapcar (lambda (heading)
            (cons (car heading)
                  (save-excursion
                    (goto-char (cdr heading))
                    (and (outline-invisible-p (line-end-position)) t))))
          (neuron-council-report--headings)))

(defun neuron-council-report--fold (folds)
  "Fold what FOLDS says, and what a reader need not see at first."
  (save-excursion
    (dolist (heading (reverse (neuron-council-report--headings)))
      (let ((known (assoc (car heading) folds)))
        (when (if known (cdr known) (get-text-property (cdr heading) 'neuron-council-format-folded))
          (goto-char (cdr heading))
          (outline-hide-subtree))))))

(defun neuron-council-report--level ()
  "Return the level of the heading at point."
  (if (eq (char-after) ?\s) 2 1))

(defun neuron-council-report--check-mode ()
  "Signal a `user-error' where the current buffer is no report."
  (unless (derived-mode-p 'neuron-council-report-mode)
    (user-error "This is for the report on a verdict: M-x neuron-council-show shows one")))

(defun neuron-council-report-tab ()
  "Fold or unfold the section at point; elsewhere go to the next button."
  (interactive nil neuron-council-report-mode)
  (neuron-council-report--check-mode)
  (if (outline-on-heading-p)
      (let ((inhibit-message t))
        (outline-cycle))
    (forward-button 1 t nil t)))

(defun neuron-council-report-fold-all ()
  "Fold every section, or unfold them all when one is folded."
  (interactive nil neuron-council-report-mode)
  (neuron-council-report--check-mode)
  (if (rassq t (neuron-council-report--folds))
      (outline-show-all)
    (outline-hide-sublevels 1)))

(defun neuron-council-report-return ()
  "Fold or unfold the section at point."
  (interactive nil neuron-council-report-mode)
  (if (outline-on-heading-p)
      (neuron-council-report-tab)
    (user-error "There is no button or heading here")))

(defun neuron-council-report--index ()
  "Return an index of the sections for Imenu."
  (mapcar (lambda (heading)
            (cons (replace-regexp-in-string "\\`\\(?:vote\\|lens\\) " "" (car heading)) (cdr heading)))
          (neuron-council-report--headings)))

;;;; What is shown

(defun neuron-council-report--visit (id &optional verdict)
  "Show the verdict ID in the current buffer, or VERDICT itself.
What is not at hand is looked up meanwhile."
  (unless (equal id neuron-council-report--id)
    (when neuron-council-report--job
      (neuron-council-rpc-cancel neuron-council-report--job '(neuron-council-cancelled "something else is shown")))
    (setq neuron-council-report--job nil
          neuron-council-report--busy nil))
  (setq neuron-council-report--id id
        neuron-council-report--verdict (or (neuron-council-verdict-find id) verdict)
        neuron-council-report--said nil)
  (when (and id (null neuron-council-report--verdict))
    (setq neuron-council-report--said (format "Looking up %s ..." (neuron-council-verdict-plain id)))
    (neuron-council-report--look-up))
  (neuron-council-report--render t))

(defun neuron-council-report--go (id &optional verdict)
  "Show the verdict ID, or VERDICT itself, and remember what was shown before."
  (when (and neuron-council-report--id (not (equal neuron-council-report--id id)))
    (push neuron-council-report--id neuron-council-report--back)
    (setq neuron-council-report--forward nil)
    (let ((old (nthcdr 99 neuron-council-report--back)))
      (when old (setcdr old nil))))
  (neuron-council-report--visit id verdict))

(defun neuron-council-report--ask (method params note function)
  "Ask the server METHOD with PARAMS, and say NOTE in the header line meanwhile.
FUNCTION gets the result and the condition, later and in this buffer if it
lives and still shows the same verdict.  Return the job."
  (let* ((buffer (current-buffer))
         (id neuron-council-report--id)
         (job (neuron-council-rpc-make-job
               method params note
               (lambda (result condition)
                 (when (buffer-live-p buffer)
                   (with-current-buffer buffer
                     (when (equal id neuron-council-report--id)
                       (neuron-council-report--say nil)
                       (funcall function result condition))))))))
    (setf (neuron-council-job-note job) note)
    (neuron-council-report--say (concat note " ..."))
    (neuron-council-rpc-submit job)
    job))

(defun neuron-council-report--look-up ()
  "Ask the ledger for the verdict that is to be shown."
  (unless neuron-council-report--job
    (setq neuron-council-report--job
          (neuron-council-report--ask :council/show (list :id neuron-council-report--id) "looking it up"
                                      #'neuron-council-report--looked-up))))

(defun neuron-council-report--looked-up (verdict condition)
  "Show VERDICT, which the ledger has, or why it has none: CONDITION."
  (setq neuron-council-report--job nil)
  (unless condition
    (condition-case problem
        (neuron-council-verdict-check verdict)
      (neuron-council-error (setq condition problem))))
  (cond
   ((null condition) (neuron-council-report--take verdict))
   (neuron-council-report--verdict
    (neuron-council-report--say
     (if (eq (car condition) 'neuron-council-unknown) "the ledger does not know it" "the ledger gave no answer"))
    (message "%s" (neuron-council-errors-text condition)))
   (t
    (setq neuron-council-report--said
          (if (eq (car condition) 'neuron-council-unknown)
              (format "The ledger knows no verdict %s: it was forgotten, or the id is of another ledger."
                      (neuron-council-verdict-plain neuron-council-report--id))
            (format "%s cannot be looked up: %s" (neuron-council-verdict-plain neuron-council-report--id)
                    (neuron-council-errors-text condition))))
    (neuron-council-report--render t))))

(defun neuron-council-report--take (verdict)
  "Show VERDICT as the ledger has it, and keep it at hand.
One that is at hand stays in its place, and takes over what has changed."
  (let ((id neuron-council-report--id)
        (anew (null neuron-council-report--verdict)))
    (if (neuron-council-verdict-find id)
        (apply #'neuron-council-verdict-note id
               (append (apply #'append (mapcar (lambda (key) (list key (plist-get verdict key)))
                                               '(:review :supersedes :superseded_by :waiting)))
                       (and (plist-member verdict :context) (list :context (plist-get verdict :context)))))
      (neuron-council-verdict-add verdict))
    (setq neuron-council-report--verdict (or (neuron-council-verdict-find id) verdict))
    (neuron-council-report--render anew)))

(defun neuron-council-report--changed ()
  "Draw the report anew if its verdict has changed and somebody sees it."
  (let ((buffer (get-buffer neuron-council-report--name)))
    (when buffer
      (with-current-buffer buffer
        (let ((now (neuron-council-verdict-find neuron-council-report--id))
              (seen (get-buffer-window buffer 'visible)))
          (when (and now neuron-council-report--id (not (eq now neuron-council-report--verdict)))
            (setq neuron-council-report--verdict now
                  neuron-council-report--stale t)
            (when seen (neuron-council-report--render)))
          (when seen (force-mode-line-update)))))))

(defun neuron-council-report--forgotten (id)
  "Show the verdict ID no longer."
  (let ((buffer (get-buffer neuron-council-report--name)))
    (when buffer
      (with-current-buffer buffer
        (setq neuron-council-report--back (delete id neuron-council-report--back)
              neuron-council-report--forward (delete id neuron-council-report--forward))
        (when (equal id neuron-council-report--id)
          (neuron-council-report--visit nil)
          (setq neuron-council-report--said "This verdict was forgotten.")
          (neuron-council-report--render t))))))

(defun neuron-council-report--seen (_window)
  "Draw what has changed while nobody saw the buffer."
  (when neuron-council-report--stale
    (neuron-council-report--render)))

(add-hook 'neuron-council-verdicts-hook #'neuron-council-report--changed)
(add-hook 'neuron-council-verdict-remove-functions #'neuron-council-report--forgotten)

;;;; Mode

(defvar neuron-council-report-mode-map
  (let ((map (make-sparse-keymap)))
    (pcase-dolist (`(,key . ,command)
                   '(("n" . neuron-council-report-next)
                     ("p" . neuron-council-report-previous)
                     ("l" . neuron-council-report-back)
                     ("r" . neuron-council-report-reject)
                     ("a" . neuron-council-report-accept)
                     ("u" . neuron-council-report-restore)
                     ("e" . neuron-council-report-reverify)
                     ("c" . neuron-council-report-replay)
                     ("x" . neuron-council-report-forget)
                     ("v" . neuron-council-report-source)
                     ("w" . neuron-council-report-copy-id)
                     ("o" . neuron-council-report-copy-as-org)
                     ("k" . neuron-council-cancel)
                     ("?" . neuron-council-menu)
                     ("TAB" . neuron-council-report-tab)
                     ("<backtab>" . neuron-council-report-fold-all)
                     ("RET" . neuron-council-report-return)
                     ("M-n" . outline-next-visible-heading)
                     ("M-p" . outline-previous-visible-heading)
                     ("C-c C-b" . neuron-council-report-back)
                     ("C-c C-f" . neuron-council-report-forward)))
      (define-key map (kbd key) command))
    map)
  "Keys of `neuron-council-report-mode'.")

(easy-menu-define neuron-council-report-mode-menu neuron-council-report-mode-map
  "Menu of `neuron-council-report-mode'."
  '("Council"
    ["Next Verdict" neuron-council-report-next]
    ["Previous Verdict" neuron-council-report-previous]
    ["Back" neuron-council-report-back :enable neuron-council-report--back]
    ["Forward" neuron-council-report-forward :enable neuron-council-report--forward]
    "---"
    ["Accept" neuron-council-report-accept :enable neuron-council-report--verdict]
    ["Reject" neuron-council-report-reject :enable neuron-council-report--verdict]
    ["Restore" neuron-council-report-restore :enable neuron-council-report--verdict]
    ["Re-verify" neuron-council-report-reverify :enable neuron-council-report--verdict]
    ["Replay" neuron-council-report-replay :enable neuron-council-report--verdict]
    ["Forget" neuron-council-report-forget :enable neuron-council-report--verdict]
    "---"
    ["Visit Source" neuron-council-report-source :enable neuron-council-report--verdict]
    ["Copy Id" neuron-council-report-copy-id :enable neuron-council-report--id]
    ["Copy as Org" neuron-council-report-copy-as-org :enable neuron-council-report--verdict]
    "---"
    ["Fold All" neuron-council-report-fold-all]
    ["Ask the Ledger Again" revert-buffer :enable neuron-council-report--id]
    ["All Commands" neuron-council-menu]))

(define-derived-mode neuron-council-report-mode special-mode "Council-Report"
  "Major mode of the report on one verdict of the council.
Everything a model or a stranger wrote stands in it as plain text.

\\{neuron-council-report-mode-map}"
  :interactive nil
  (buffer-disable-undo)
  (setq-local truncate-lines nil
              word-wrap t
              ;; A claim in Hebrew stands where every claim does.
              bidi-paragraph-direction 'left-to-right
              bookmark-make-record-function #'neuron-council-report--bookmark
              header-line-format '(:eval (neuron-council-report--header))
              imenu-create-index-function #'neuron-council-report--index
              outline-blank-line t
              outline-heading-end-regexp "\n"
              outline-level #'neuron-council-report--level
              outline-regexp "\\(?:  \\)?[^ \n]"
              revert-buffer-function #'neuron-council-report--revert)
  (add-to-invisibility-spec '(outline . t))
  (add-hook 'window-buffer-change-functions #'neuron-council-report--seen nil t))

(defun neuron-council-report--buffer ()
  "Return the buffer of the report, made if need be."
  (or (get-buffer neuron-council-report--name)
      (with-current-buffer (get-buffer-create neuron-council-report--name)
        (neuron-council-report-mode)
        (neuron-council-report--render t)
        (current-buffer))))

(defun neuron-council-report--revert (&rest _)
  "Draw the report anew, and ask the ledger what has changed beside the verdict."
  (neuron-council-report--render)
  (when neuron-council-report--id
    (neuron-council-report--look-up)))

;;;###autoload
(defun neuron-council-report-show (&optional verdict)
  "Display the report on VERDICT, an id or a verdict, nil for the newest.
One that is not at hand is looked up in the ledger; this does not wait for
it.  Return the buffer, \"*neuron-council report*\"."
  (let* ((verdict (or verdict (car neuron-council-verdicts)))
         (id (if (consp verdict) (plist-get verdict :id) verdict))
         (buffer (neuron-council-report--buffer)))
    (pop-to-buffer buffer)
    (with-current-buffer buffer
      (neuron-council-report--go id (and (consp verdict) verdict)))
    buffer))

(defun neuron-council-report--bookmark ()
  "Return a bookmark of the verdict: its id, and no text of it."
  (let ((id (neuron-council-report--shown-id)))
    `(,(concat "council " id)
      (id . ,id)
      (handler . neuron-council-report-bookmark-jump))))

;;;###autoload
(defun neuron-council-report-bookmark-jump (bookmark)
  "Go to the report that BOOKMARK is of."
  (set-buffer (neuron-council-report--buffer))
  (neuron-council-report--go (bookmark-prop-get bookmark 'id)))

;;;; Commands

(defun neuron-council-report--shown-id ()
  "Return the id of the verdict that is shown, or signal a `user-error'."
  (if (stringp neuron-council-report--id) neuron-council-report--id (user-error "No verdict is shown here")))

(defun neuron-council-report--shown ()
  "Return the verdict that is shown, or signal a `user-error'."
  (or neuron-council-report--verdict (user-error "No verdict is shown here")))

(defun neuron-council-report-next (&optional count)
  "Show the next verdict at hand, which is older, or COUNT verdicts on."
  (interactive "p" neuron-council-report-mode)
  (neuron-council-report--check-mode)
  (let* ((ids (mapcar (lambda (verdict) (plist-get verdict :id)) neuron-council-verdicts))
         (rest (member neuron-council-report--id ids))
         (to (if rest (+ (- (length ids) (length rest)) (or count 1)) 0)))
    (unless (and (<= 0 to) (nth to ids))
      (user-error "No more verdicts at hand"))
    (neuron-council-report--go (nth to ids))))

(defun neuron-council-report-previous (&optional count)
  "Show the previous verdict at hand, which is newer, or COUNT verdicts back."
  (interactive "p" neuron-council-report-mode)
  (neuron-council-report-next (- (or count 1))))

(defun neuron-council-report-back ()
  "Show the verdict that was shown before this one."
  (interactive nil neuron-council-report-mode)
  (let ((id (or (pop neuron-council-report--back) (user-error "Nothing was shown before"))))
    (when neuron-council-report--id
      (push neuron-council-report--id neuron-council-report--forward))
    (neuron-council-report--visit id)))

(defun neuron-council-report-forward ()
  "Show the verdict that `neuron-council-report-back' came from."
  (interactive nil neuron-council-report-mode)
  (let ((id (or (pop neuron-council-report--forward) (user-error "Nothing was shown after this"))))
    (when neuron-council-report--id
      (push neuron-council-report--id neuron-council-report--back))
    (neuron-council-report--visit id)))

(defun neuron-council-report-copy-id ()
  "Copy the id of the verdict."
  (interactive nil neuron-council-report-mode)
  (let ((id (neuron-council-report--shown-id)))
    (kill-new id)
    (message "%s" id)))

(defun neuron-council-report-copy-as-org ()
  "Copy the report as Org text."
  (interactive nil neuron-council-report-mode)
  (kill-new (neuron-council-report-as-org (neuron-council-report--shown)))
  (message "Copied the report as Org text"))

(defun neuron-council-report-source ()
  "Visit the text of the claim."
  (interactive nil neuron-council-report-mode)
  (let ((verdict (neuron-council-report--shown)))
    (neuron-council-source-visit (plist-get verdict :source) (plist-get verdict :claim))))

(defun neuron-council-report-accept (&optional note)
  "Accept the verdict as a person, with NOTE, and store the memory kept with it.
With a prefix argument, ask for NOTE."
  (interactive (list (neuron-council-review-read-note)) neuron-council-report-mode)
  (neuron-council-accept (neuron-council-report--shown-id) note)
  (neuron-council-report--revert))

(defun neuron-council-report-reject (&optional note)
  "Reject the verdict as a person, with NOTE, and drop the memory kept with it.
With a prefix argument, ask for NOTE.  Where a memory is kept, ask first."
  (interactive (list (neuron-council-review-read-note)) neuron-council-report-mode)
  (let ((id (neuron-council-report--shown-id)))
    (when (and (neuron-council-report--held id)
               (not (y-or-n-p "Reject it, and drop the memory that is kept? ")))
      (user-error "Nothing was rejected"))
    (neuron-council-reject id note)
    (neuron-council-report--revert)))

(defun neuron-council-report-restore (&optional note)
  "Store the memory that a policy rejected or quarantined, with NOTE.
With a prefix argument, ask for NOTE."
  (interactive (list (neuron-council-review-read-note)) neuron-council-report-mode)
  (neuron-council-restore (neuron-council-report--shown-id) note)
  (neuron-council-report--revert))

(defun neuron-council-report-forget ()
  "Forget the verdict, its claim, and what is kept with it; ask first."
  (interactive nil neuron-council-report-mode)
  (let ((id (neuron-council-report--shown-id)))
    (unless (yes-or-no-p "Forget this claim, its verdicts and what is kept with them? ")
      (user-error "Nothing was forgotten"))
    (neuron-council-forget id)))

;;;; Re-verify

(defun neuron-council-report-reverify (&optional ask)
  "Have the claim judged anew, past the cache, and show the new verdict then.
It is judged against the same context; with a prefix argument ASK for
another one."
  (interactive "P" neuron-council-report-mode)
  (let ((verdict (neuron-council-report--shown)))
    (unless (stringp (plist-get verdict :claim))
      (user-error "The text of this claim is not at hand"))
    (cond
     (ask
      (let ((known (plist-get verdict :context)))
        (neuron-council-report--judge verdict (neuron-council-verify-read-context (and (stringp known) known)))))
     ((plist-member verdict :context)
      (neuron-council-report--judge verdict (plist-get verdict :context)))
     (t
      (neuron-council-report--ask
       :council/show (list :id (neuron-council-report--shown-id)) "looking up the context"
       (lambda (stored condition)
         (if (or condition (not (plist-member stored :context)))
             (neuron-council-report--say
              (substitute-command-keys
               "the context is not known: \\<neuron-council-report-mode-map>\
\\[universal-argument] \\[neuron-council-report-reverify] asks for it"))
           (neuron-council-report--judge verdict (plist-get stored :context)))))))))

(defun neuron-council-report--judge (verdict context)
  "Have the claim of VERDICT judged against CONTEXT, and say how it gets on."
  (let ((buffer (current-buffer)))
    (neuron-council-report--say "judging it anew ...")
    (neuron-council-verify-submit
     (plist-get verdict :claim) context (neuron-council-verify-new-id)
     (lambda (new condition) (neuron-council-report--judged buffer verdict context new condition))
     (lambda (job)
       (neuron-council-report--in buffer verdict
         (lambda () (neuron-council-report--say (concat "judging it anew: " (neuron-council-job-note job))))))
     (lambda (job)
       (setf (neuron-council-job-params job) (append (neuron-council-job-params job) '(:fresh t)))))))

(defun neuron-council-report--in (buffer verdict function)
  "Call FUNCTION in BUFFER if that still shows VERDICT; return non-nil then."
  (declare (indent 2))
  (when (buffer-live-p buffer)
    (with-current-buffer buffer
      (when (equal neuron-council-report--id (plist-get verdict :id))
        (funcall function)
        t))))

(defun neuron-council-report--judged (buffer verdict context new condition)
  "Show NEW in BUFFER in place of VERDICT, whose claim was judged anew.
CONTEXT is what it was judged against.  With a CONDITION there is no new
verdict; BUFFER may show something else by now."
  (unless condition
    (neuron-council-verdict-add new :context context :source (plist-get verdict :source)))
  (let ((said (cond ((null condition) (concat "Judged anew: " (neuron-council-verdict-brief new)))
                    ((eq (car condition) 'neuron-council-cancelled) "Not judged anew: cancelled")
                    (t (concat "Not judged anew: " (neuron-council-errors-text condition))))))
    (unless (neuron-council-report--in buffer verdict
              (lambda ()
                (unless condition
                  (neuron-council-report--go (plist-get new :id)))
                (neuron-council-report--say said)))
      (message "%s" said))))

;;;; Replay

(defun neuron-council-report-replay ()
  "Have the evidence of the verdict checked again, without a model.
The report then says whether the outcome is what was recorded, and what
differs where it is not."
  (interactive nil neuron-council-report-mode)
  (neuron-council-report--check-mode)
  (neuron-council-report--shown)
  (neuron-council-report--ask :council/replay (list :id (neuron-council-report--shown-id)) "checking its evidence"
                              #'neuron-council-report--replayed))

(defun neuron-council-report--replayed (answer condition)
  "Show ANSWER, what became of checking the evidence again, or CONDITION."
  (condition-case problem
      (let* ((outcome (if condition
                          (signal (car condition) (cdr condition))
                        (neuron-council-replay-outcome answer neuron-council-report--id))))
        (neuron-council-verdict-note neuron-council-report--id :replay outcome)
        (setq neuron-council-report--verdict
              (or (neuron-council-verdict-find neuron-council-report--id)
                  (plist-put (copy-sequence neuron-council-report--verdict) :replay outcome)))
        (neuron-council-report--render)
        (neuron-council-report--say (if (plist-get outcome :same)
                                        "the evidence gives the same outcome"
                                      "the evidence gives ANOTHER outcome today, see Replay")))
    (neuron-council-error
     (neuron-council-report--say "its evidence was not checked")
     (message "The evidence was not checked: %s" (neuron-council-errors-text problem)))))

;;;; Links

(defun neuron-council-report--follow (link)
  "Show what LINK leads to: another verdict, or what is known of a model."
  (pcase link
    (`(verdict . ,id) (neuron-council-report--go id))
    (`(model . ,member)
     (neuron-council-report--ask
      :council/health nil (format "asking for the model of %s" member)
      (lambda (health condition)
        (message "%s" (if condition
                          (neuron-council-errors-text condition)
                        (neuron-council-report--model health member))))))))

(defun neuron-council-report--model (health member)
  "Return what HEALTH tells of the model of MEMBER."
  (let ((row nil) (rows (plist-get health :members)))
    (dolist (each (and (proper-list-p rows) rows))
      (when (equal member (neuron-council-verdict-plain (plist-get each :id)))
        (setq row each)))
    (if (null row)
        (format "No member of the board is called %s now" member)
      (format "%s is %s: %s" member (neuron-council-verdict-plain (plist-get row :model))
              (cond ((plist-get row :loaded) "installed and loaded")
                    ((plist-get row :installed) "installed, not loaded")
                    (t "not installed, or its backend cannot be reached"))))))

(provide 'neuron-council-report)
;;; neuron-council-report.el ends here
