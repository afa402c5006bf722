;;; region-test.el --- Tests of judging the region  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Code:

(require 'helper)

(defmacro neuron-council-test-in-text (&rest body)
  "Run BODY in a buffer with a claim between BEG and END."
  (declare (indent 0))
  `(with-temp-buffer
     (insert "Before. The claim in the text. After.")
     (let ((beg 9) (end 31))
       (ignore beg end)
       ,@body)))

(defun neuron-council-test-marks ()
  "Return the marks of the current buffer."
  (neuron-council-region-overlays (point-min) (point-max)))

(defun neuron-council-test-mark ()
  "Return the only mark of the current buffer."
  (should (= 1 (length (neuron-council-test-marks))))
  (car (neuron-council-test-marks)))

(defun neuron-council-test-note ()
  "Return the note beside the judged text of the current buffer, or nil."
  (let ((note (overlay-get (neuron-council-test-mark) 'after-string)))
    (and note (substring-no-properties note))))

(defun neuron-council-test-judged ()
  "Return the verdict on the judged text of the current buffer, nil before it is in."
  (neuron-council-region-verdict (neuron-council-test-mark)))

(defun neuron-council-test-claims ()
  "Return the claims that the server was asked about, in order."
  (mapcar (lambda (message) (plist-get (plist-get message :params) :claim))
          (neuron-council-test-seen "council/verify")))

(defmacro neuron-council-test-held-back (step &rest body)
  "Run BODY with a server that follows STEP, behind the gate that is bound to `gate'."
  (declare (indent 1))
  `(neuron-council-test-with-gate gate
     (neuron-council-test-with (list :verify (vector (append (list :gate gate) ,step)))
       ,@body)))

(defmacro neuron-council-test-report (&rest body)
  "Run BODY and return the verdicts whose reports it opened, the oldest first."
  `(let ((opened nil))
     (cl-letf (((symbol-function 'neuron-council-report-show) (lambda (&optional verdict) (push verdict opened))))
       ,@body)
     (nreverse opened)))

(ert-deftest neuron-council-test-region-shows-the-verdict ()
  (neuron-council-test-held-back '(:notes ["neuron: plausible (1/3)"])
    (neuron-council-test-in-text
      (council-verify-region beg end "A context")
      (should (equal (neuron-council-test-note) " [council: convening]"))
      (neuron-council-test-pass gate)
      (neuron-council-test-until (equal (neuron-council-test-note) " [council: neuron: plausible (1/3)]"))
      (should (eq 'neuron-council-pending (overlay-get (neuron-council-test-mark) 'face)))
      (neuron-council-test-pass gate)
      (neuron-council-test-until (equal (neuron-council-test-note) " [council: 0.85 verified]"))
      (let ((overlay (neuron-council-test-mark)))
        (should (equal (list (overlay-start overlay) (overlay-end overlay)) (list beg end)))
        (should (eq 'neuron-council-judged-verified (overlay-get overlay 'face))))
      (let ((verdict (neuron-council-test-judged)))
        (should (eq verdict (car neuron-council-verdicts)))
        (should (equal (plist-get verdict :claim) "The claim in the text."))
        (should (equal (plist-get verdict :context) "A context"))
        (should (equal beg (marker-position (plist-get (plist-get verdict :source) :marker)))))
      (let ((params (plist-get (car (neuron-council-test-seen "council/verify")) :params)))
        (should (equal (plist-get params :claim) "The claim in the text."))
        (should (equal (plist-get params :context) "A context")))
      (should (equal (buffer-string) "Before. The claim in the text. After.")))))

(ert-deftest neuron-council-test-region-without-a-server ()
  (neuron-council-test-clean
    (let ((neuron-council-server-command '("/nonexistent/neuron-council" "serve")))
      (neuron-council-test-in-text
        (council-verify-region beg end)
        (neuron-council-test-until (equal (neuron-council-test-note) " [council: 0.50 council-unavailable]"))
        (should (string-match-p "/nonexistent/neuron-council" (plist-get (neuron-council-test-judged) :summary)))))))

(ert-deftest neuron-council-test-region-in-a-buffer-that-was-killed ()
  (neuron-council-test-held-back nil
    (neuron-council-test-in-text (council-verify-region beg end))
    (neuron-council-test-pass gate)
    (neuron-council-test-until neuron-council-verdicts)
    (should (equal (plist-get (car neuron-council-verdicts) :claim) "The claim in the text."))))

(ert-deftest neuron-council-test-region-judged-again-has-one-mark ()
  (neuron-council-test-with nil
    (neuron-council-test-in-text
      (council-verify-region beg end)
      (council-verify-region beg end)
      (neuron-council-test-until (= 2 (length neuron-council-verdicts)))
      (should (equal (neuron-council-test-note) " [council: 0.85 verified]"))
      (neuron-council-clear-marks)
      (should-not (neuron-council-test-marks)))))

(ert-deftest neuron-council-test-region-cancelled ()
  (neuron-council-test-with '(:verify [(:silent t)])
    (neuron-council-test-in-text
      (council-verify-region beg end)
      (neuron-council-test-until (neuron-council-test-seen "council/verify"))
      (call-interactively #'neuron-council-cancel)
      (neuron-council-test-until (null (neuron-council-test-marks)))
      (should (equal (neuron-council-test-cancelled) (list (neuron-council-test-token 0))))
      (should-not neuron-council-verdicts))))

(ert-deftest neuron-council-test-region-drops-properties ()
  (neuron-council-test-with nil
    (with-temp-buffer
      (insert (propertize "A claim with invisible text" 'invisible t 'face 'bold))
      (council-verify-region (point-min) (point-max))
      (neuron-council-test-until neuron-council-verdicts)
      (should (equal (plist-get (car neuron-council-verdicts) :claim) "A claim with invisible text")))))

;;;; What is judged

(ert-deftest neuron-council-test-region-interactively ()
  (dolist (transient-mark-mode '(nil t))
    (neuron-council-test-with nil
      (neuron-council-test-in-text
        (set-mark beg)
        (goto-char end)
        (call-interactively #'council-verify-region)
        (neuron-council-test-until neuron-council-verdicts)
        (let ((params (plist-get (car (neuron-council-test-seen "council/verify")) :params)))
          (should (equal (plist-get params :claim) "The claim in the text."))
          (should-not (plist-member params :context)))
        (should (equal (list (neuron-council-test-judged))
                       (neuron-council-test-report (call-interactively #'neuron-council-show-verdict))))))))

(ert-deftest neuron-council-test-region-with-a-context-that-is-asked-for ()
  (neuron-council-test-with nil
    (neuron-council-test-in-text
      (let ((current-prefix-arg '(4)) (transient-mark-mode t))
        (goto-char beg)
        (cl-letf (((symbol-function 'read-string) (lambda (&rest _) "What is known")))
          (call-interactively #'council-verify-region)))
      (neuron-council-test-until neuron-council-verdicts)
      (should (equal (plist-get (car neuron-council-verdicts) :context) "What is known")))))

(ert-deftest neuron-council-test-region-else-the-sentence ()
  (let ((transient-mark-mode t))
    (neuron-council-test-in-text
      (dolist (at '(9 15 30))
        (goto-char at)
        (should (equal (cons beg end) (neuron-council-region--bounds))))
      (goto-char 3)
      (should (equal '(1 . 8) (neuron-council-region--bounds)))
      (erase-buffer)
      (insert "* Heading of it\n\nFoo.\n")
      (goto-char 5)
      (should (equal '(3 . 16) (neuron-council-region--bounds)))
      (goto-char 17)
      (should-error (neuron-council-region--bounds) :type 'user-error))))

(ert-deftest neuron-council-test-region-else-the-field ()
  (let ((transient-mark-mode t))
    (with-temp-buffer
      (insert (propertize "Output. More of it.\n" 'field 'output) (propertize "> " 'field 'prompt)
              "One sentence. Another one.")
      (should (equal (cons 23 (point-max)) (neuron-council-region--bounds)))
      (goto-char 10)
      (should (equal '(9 . 20) (neuron-council-region--bounds))))
    (with-temp-buffer
      (insert "Name:  ")
      (let ((field (make-overlay 6 (point-max))))
        (overlay-put field 'field 'a-field)
        (save-excursion (goto-char 7) (insert "The claim. Its rest."))
        (insert "\nTail")
        (goto-char 10)
        (pcase-let ((`(,beg . ,end) (neuron-council-region--bounds)))
          (should (equal "The claim. Its rest." (string-trim (buffer-substring beg end)))))))))

(ert-deftest neuron-council-test-region-is-trimmed ()
  (neuron-council-test-with nil
    (with-temp-buffer
      (insert "  \n The claim.\n\n")
      (council-verify-region (point-max) (point-min))
      (should (equal '(5 . 15) (cons (overlay-start (neuron-council-test-mark))
                                     (overlay-end (neuron-council-test-mark)))))
      (neuron-council-test-until (neuron-council-test-judged))
      (should (equal '("The claim.") (neuron-council-test-claims))))))

(ert-deftest neuron-council-test-region-that-cannot-be-judged ()
  (neuron-council-test-clean
    (with-temp-buffer
      (insert " \n ")
      (should-error (council-verify-region (point-min) (point-max)) :type 'user-error)
      (should-error (council-verify-region 1 1) :type 'user-error)
      (insert "-- ?!")
      (should-error (council-verify-region (point-min) (point-max)) :type 'user-error)
      (insert "A claim")
      (should-error (council-verify-region (point-min) (point-max) (make-string 24001 ?x)) :type 'user-error)
      (should-not (neuron-council-test-marks)))
    (with-temp-buffer
      (rename-buffer "*neuron-council test*")
      (insert "The claim in a report.")
      (should (string-match-p "buffer of the council"
                              (cadr (should-error (council-verify-region (point-min) (point-max))
                                                  :type 'user-error)))))
    (should-not neuron-council-rpc-jobs)))

(ert-deftest neuron-council-test-region-of-megabytes-is-refused-at-once ()
  (neuron-council-test-clean
    (with-temp-buffer
      (dotimes (_ 50000) (insert "A line of an enormous text that nobody reads.\n"))
      ;; It is not cleaned first.
      (cl-letf (((symbol-function 'neuron-council-text-clean) (lambda (_) (error "It is cleaned"))))
        (should (string-match-p "8000" (cadr (should-error (council-verify-region (point-min) (point-max))
                                                           :type 'user-error)))))
      (should-not (neuron-council-test-marks))
      (should-not neuron-council-rpc-jobs))))

;;;; Edits

(ert-deftest neuron-council-test-region-changed-text-loses-its-mark ()
  (dolist (change (list (lambda (beg _) (goto-char (+ beg 3)) (insert "other "))
                        (lambda (beg _) (delete-region beg (1+ beg)))
                        (lambda (_ end) (goto-char end) (delete-char -1))
                        (lambda (beg end) (kill-region beg end) (goto-char beg) (yank))
                        (lambda (beg end) (upcase-region beg end))
                        (lambda (_ _) (erase-buffer))
                        ;; What is joined to a word of it makes another claim of it.
                        (lambda (beg _) (goto-char beg) (insert "un"))))
    (neuron-council-test-held-back nil
      (neuron-council-test-in-text
        (let ((kill-ring nil) (kill-ring-yank-pointer nil))
          (council-verify-region beg end)
          (funcall change beg end)
          (should-not (neuron-council-test-marks))
          (neuron-council-test-pass gate)
          (neuron-council-test-until neuron-council-verdicts)
          (should (equal (plist-get (car neuron-council-verdicts) :claim) "The claim in the text."))
          (should-not (neuron-council-test-marks)))))))

(ert-deftest neuron-council-test-region-other-changes-leave-the-mark ()
  (neuron-council-test-with nil
    (neuron-council-test-in-text
      (council-verify-region beg end)
      (goto-char beg)
      (insert "Inserted before. ")
      (goto-char (overlay-end (neuron-council-test-mark)))
      (insert " Inserted behind.")
      (put-text-property (point-min) (point-max) 'face 'bold)
      (goto-char (point-max))
      (insert " End.")
      (neuron-council-test-until (neuron-council-test-judged))
      (put-text-property (point-min) (point-max) 'face 'italic)
      (let ((mark (neuron-council-test-mark)))
        (should (equal "The claim in the text." (buffer-substring-no-properties (overlay-start mark)
                                                                                (overlay-end mark))))))))

(ert-deftest neuron-council-test-region-undo-does-not-bring-the-mark-back ()
  (neuron-council-test-with nil
    (with-temp-buffer
      (buffer-enable-undo)
      (insert "The claim in the text.")
      (undo-boundary)
      (council-verify-region 1 (point-max))
      (neuron-council-test-until (neuron-council-test-judged))
      (delete-region 1 5)
      (primitive-undo 1 buffer-undo-list)
      (should (equal "The claim in the text." (buffer-string)))
      (should-not (neuron-council-test-marks)))))

(ert-deftest neuron-council-test-region-changed-unheard-is-not-marked ()
  (neuron-council-test-held-back nil
    (neuron-council-test-in-text
      (council-verify-region beg end)
      (let ((inhibit-modification-hooks t))
        (subst-char-in-region beg end ?T ?t))
      (neuron-council-test-pass gate)
      (neuron-council-test-until neuron-council-verdicts)
      (should-not (neuron-council-test-marks)))))

(ert-deftest neuron-council-test-region-while-the-buffer-is-narrowed ()
  (neuron-council-test-with nil
    (neuron-council-test-in-text
      (council-verify-region beg end)
      (narrow-to-region 1 12)
      (neuron-council-test-until neuron-council-verdicts)
      (neuron-council-test-until (overlay-get (neuron-council-test-mark) 'neuron-council-verdict))
      (goto-char 11)
      (insert "x")
      (widen)
      (should-not (neuron-council-test-marks))
      (council-verify-region 1 7)
      (narrow-to-region 20 25)
      (neuron-council-clear-marks)
      (widen)
      (should-not (neuron-council-test-marks)))))

(ert-deftest neuron-council-test-region-in-indirect-buffers ()
  (neuron-council-test-held-back nil
    (neuron-council-test-in-text
      (council-verify-region beg end)
      (let ((clone (make-indirect-buffer (current-buffer) (generate-new-buffer-name "clone") t)))
        (unwind-protect
            (progn
              (neuron-council-test-pass gate)
              (neuron-council-test-until (neuron-council-test-judged))
              (with-current-buffer clone
                (should (eq (neuron-council-test-judged) (car neuron-council-verdicts)))
                (goto-char (+ beg 3))
                (insert "x")
                (should-not (neuron-council-test-marks)))
              (should-not (neuron-council-test-marks)))
          (kill-buffer clone))))))

(ert-deftest neuron-council-test-region-that-is-read-only ()
  (neuron-council-test-with nil
    (neuron-council-test-in-text
      (setq buffer-read-only t)
      (council-verify-region beg end)
      (neuron-council-test-until (neuron-council-test-judged))
      (should-not (buffer-modified-p (prog1 (current-buffer) (set-buffer-modified-p nil)))))))

(ert-deftest neuron-council-test-region-of-a-forgotten-verdict-loses-its-mark ()
  (neuron-council-test-with nil
    (neuron-council-test-in-text
      (council-verify-region beg end)
      (neuron-council-test-until (neuron-council-test-judged))
      (narrow-to-region 1 5)
      (with-temp-buffer
        (neuron-council-verdict-remove (plist-get (car neuron-council-verdicts) :id)))
      (widen)
      (should-not (neuron-council-test-marks)))))

(ert-deftest neuron-council-test-region-after-revert-is-marked-only-where-it-is-the-same ()
  (neuron-council-test-with nil
    (let ((file (make-temp-file "neuron-council-test-" nil ".txt" "The first claim.\n\nThe second claim.\n")))
      (unwind-protect
          (with-current-buffer (find-file-noselect file)
            (council-verify-region 1 17)
            (council-verify-region 19 36)
            (neuron-council-test-until (= 2 (length neuron-council-verdicts)))
            (with-temp-file file (insert "The first claim.\n\nThe second one.\n"))
            (revert-buffer t t t)
            (dolist (mark (neuron-council-test-marks))
              (should (neuron-council-region-fresh-p mark)))
            (should-not (neuron-council-region-overlays 18 (point-max)))
            (kill-buffer))
        (delete-file file)))))

;;;; What is shown

(ert-deftest neuron-council-test-region-note-is-short ()
  "A note of any length would move the text behind it off the screen."
  (neuron-council-test-with `(:verify [(:verdict (:tags ,(vconcat (make-list 50 "council-flagged"))))])
    (with-temp-buffer
      (insert "The claim.")
      (council-verify-region 1 (point-max))
      (neuron-council-test-until neuron-council-verdicts)
      (neuron-council-test-until
       (string-match-p "0.85" (overlay-get (car (neuron-council-region-overlays 1 (point-max))) 'after-string)))
      (should (< (string-width (overlay-get (car (neuron-council-region-overlays 1 (point-max))) 'after-string)) 70)))))

(ert-deftest neuron-council-test-region-mark-follows-a-later-verdict ()
  "What nobody could judge at first carries the verdict that comes when the models are back."
  (neuron-council-test-with '(:verify [(:verdict (:status "unavailable" :tags ["council-unavailable"] :confidence 0.5))])
    (with-temp-buffer
      (insert "The claim.")
      (council-verify-region 1 (point-max))
      (neuron-council-test-until neuron-council-verdicts)
      (let* ((mark (car (neuron-council-region-overlays 1 (point-max))))
             (first (car neuron-council-verdicts))
             (later (append (list :id (neuron-council-test-uuid 7) :confidence 0.85 :tags (list "verified")) first)))
        (neuron-council-test-until (overlay-get mark 'neuron-council-verdict))
        (neuron-council-reevaluated-run (plist-get first :id) later)
        (should (string-match-p "0.85 verified" (overlay-get mark 'after-string)))
        (should (equal (plist-get (neuron-council-region-verdict mark) :supersedes) (plist-get first :id)))
        (should (plist-get (neuron-council-region-verdict mark) :source))))))

(ert-deftest neuron-council-test-region-note-is-an-option ()
  (dolist (row '((t " [council: convening]" " [council: 0.85 verified]") (brief nil " [0.85]") (nil nil nil)))
    (let ((neuron-council-region-note (car row)))
      (neuron-council-test-with nil
        (neuron-council-test-in-text
          (council-verify-region beg end)
          (should (equal (neuron-council-test-note) (nth 1 row)))
          (neuron-council-test-until (neuron-council-test-judged))
          (should (equal (neuron-council-test-note) (nth 2 row))))))))

(ert-deftest neuron-council-test-region-fringe-is-an-option ()
  (let ((neuron-council-region-fringe 'right-fringe))
    (neuron-council-test-with '(:verify [(:verdict (:confidence 0.3))])
      (neuron-council-test-in-text
        (council-verify-region beg end)
        (neuron-council-test-until (neuron-council-test-judged))
        (should (equal '(right-fringe exclamation-mark neuron-council-flagged)
                       (get-text-property 0 'display (overlay-get (neuron-council-test-mark) 'before-string))))))))

(defun neuron-council-test-tooltip (mark)
  "Return what Emacs shows as the tooltip of MARK."
  (substring-no-properties
   (substitute-command-keys (funcall (overlay-get mark 'help-echo) nil mark (overlay-start mark)))))

(ert-deftest neuron-council-test-region-tooltip-is-plain-text ()
  (let ((summary "1/3 agree `this' \\[find-file] \\<global-map> is plausible.\n\\=Really. %s"))
    (neuron-council-test-with `(:verify [(:verdict (:confidence 0.3 :summary ,summary))])
      (neuron-council-test-in-text
        (council-verify-region beg end)
        (should (stringp (overlay-get (neuron-council-test-mark) 'help-echo)))
        (neuron-council-test-until (neuron-council-test-judged))
        (should (equal (neuron-council-test-tooltip (neuron-council-test-mark))
                       (concat "0.30 unverified, council-flagged\n"
                               "1/3 agree `this' \\[find-file] \\<global-map> is plausible. \\=Really. %s\n"
                               "mouse-2, C-c RET: report")))
        (goto-char beg)
        (should (string-match-p "0.30 unverified" (help-at-pt-kbd-string)))
        (let ((note (overlay-get (neuron-council-test-mark) 'after-string)))
          (should (string-match-p "0.30 unverified"
                                  (funcall (get-text-property 0 'help-echo note) nil note 0))))))))

(ert-deftest neuron-council-test-region-odd-verdicts-break-nothing ()
  (dolist (changes '((:tags [1 nil "verified"]) (:tags []) (:confidence 7) (:votes 3) (:status [1]) (:report "no")
                     (:claim nil)))
    (neuron-council-test-with `(:verify [(:verdict ,changes) nil])
      (neuron-council-test-in-text
        (council-verify-region beg end)
        (neuron-council-test-until neuron-council-verdicts)
        (neuron-council-test-until (neuron-council-test-judged))
        (should (stringp (neuron-council-test-tooltip (neuron-council-test-mark))))
        (should (stringp (neuron-council-test-note)))
        (council-verify-region 1 7)
        (neuron-council-test-until (= 2 (length neuron-council-verdicts)))))))

(ert-deftest neuron-council-test-region-verdict-that-cannot-be-shown-is-kept ()
  (neuron-council-test-with nil
    (neuron-council-test-in-text
      (cl-letf (((symbol-function 'neuron-council-verdict-brief) (lambda (_) (error "Odd")))
                ((symbol-function 'message) #'ignore))
        (council-verify-region beg end)
        (neuron-council-test-until neuron-council-verdicts)
        (should-not (neuron-council-test-marks))))))

;;;; Keys

(ert-deftest neuron-council-test-region-keys ()
  (neuron-council-test-with nil
    (neuron-council-test-in-text
      (save-window-excursion
        (switch-to-buffer (current-buffer))
        (council-verify-region beg end)
        (neuron-council-test-until (neuron-council-test-judged))
        (goto-char (+ beg 3))
        (should (eq 'neuron-council-show-verdict (key-binding (kbd "C-c RET"))))
        (should (eq 'neuron-council-show-verdict (key-binding [mouse-2])))
        (should-not (eq 'neuron-council-show-verdict (key-binding (kbd "RET"))))
        (should-not (eq 'neuron-council-show-verdict (key-binding [mouse-1])))
        (let ((neuron-council-return-shows-verdict t))
          (should (eq 'neuron-council-show-verdict (key-binding (kbd "RET")))))
        (setq buffer-read-only t)
        (should (eq 'neuron-council-show-verdict (key-binding (kbd "RET"))))
        (should (eq 'neuron-council-show-verdict (key-binding [mouse-1])))
        (let ((neuron-council-return-shows-verdict nil))
          (should-not (eq 'neuron-council-show-verdict (key-binding (kbd "RET")))))
        ;; Behind the text, editing goes on as ever.
        (goto-char end)
        (should-not (eq 'neuron-council-show-verdict (key-binding (kbd "RET"))))))))

(ert-deftest neuron-council-test-show-verdict ()
  (neuron-council-test-with '(:verify [nil nil (:silent t)])
    (neuron-council-test-in-text
      (council-verify-region beg end)
      (neuron-council-test-until (neuron-council-test-judged))
      (council-verify-region 1 8)
      (neuron-council-test-until (= 2 (length neuron-council-verdicts)))
      (pcase-let ((`(,newer ,older) neuron-council-verdicts))
        (goto-char (1- end))
        (should (equal (list older) (neuron-council-test-report (neuron-council-show-verdict))))
        (goto-char end)
        (should (equal (list older) (neuron-council-test-report (neuron-council-show-verdict))))
        (goto-char 2)
        (should (equal (list newer) (neuron-council-test-report (neuron-council-show-verdict))))
        ;; A verdict that is at hand no longer is on its text still.
        (setq neuron-council-verdicts nil)
        (should (equal (list newer) (neuron-council-test-report (neuron-council-show-verdict))))
        (goto-char (point-max))
        (should (equal '(nil) (neuron-council-test-report (neuron-council-show-verdict))))
        (council-verify-region 32 (point-max))
        (should-error (neuron-council-show-verdict) :type 'user-error)))))

;;;; Walking

(ert-deftest neuron-council-test-marks-are-walked ()
  (neuron-council-test-with '(:verify [nil (:verdict (:confidence 0.3))])
    (neuron-council-test-in-text
      (should-error (neuron-council-next-mark) :type 'user-error)
      (council-verify-region 1 8)
      (neuron-council-test-until neuron-council-verdicts)
      (council-verify-region beg end)
      (neuron-council-test-until (= 2 (length neuron-council-verdicts)))
      (council-verify-region 32 (point-max))
      (neuron-council-test-until (= 3 (length neuron-council-verdicts)))
      (goto-char (point-min))
      (should (equal '(9 32) (list (progn (neuron-council-next-mark) (point))
                                   (progn (neuron-council-next-mark) (point)))))
      (should-error (neuron-council-next-mark) :type 'user-error)
      (neuron-council-previous-mark 2)
      (should (= 1 (point)))
      (should-error (neuron-council-previous-mark) :type 'user-error)
      (neuron-council-next-mark 2)
      (should (= 32 (point)))
      (should (eq (default-value 'next-error-function) next-error-function))
      (let ((neuron-council-next-error-tags '("verified")))
        (neuron-council-region-next-error -1)
        (should (= 1 (point)))))))

(ert-deftest neuron-council-test-marks-in-folded-text-are-shown ()
  (neuron-council-test-with nil
    (with-temp-buffer
      (insert "* Heading\n\nThe claim in the text.\n")
      (outline-mode)
      (council-verify-region 12 34)
      (neuron-council-test-until (neuron-council-test-judged))
      (goto-char (point-min))
      (outline-hide-body)
      (should (invisible-p 12))
      (neuron-council-next-mark)
      (should (= 12 (point)))
      (should-not (invisible-p 12)))))

;;; region-test.el ends here
