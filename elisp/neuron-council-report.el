;;; neuron-council-report.el --- Verdicts as people read them  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; `neuron-council-format-verdict' makes a text of a verdict, the buffer "*neuron-council*" holds the newest ones.
;; Every claim, rationale and quotation in them is plain text: see `neuron-council-text-plain'.

;;; Code:

(eval-when-compile (require 'subr-x))
(require 'neuron-council-text)
(require 'neuron-council-verdict)

(defface neuron-council-heading '((t :inherit bold))
  "A heading in a verdict."
  :group 'neuron-council)

;;;; Text

(defun neuron-council-report--seconds (milliseconds)
  "Return MILLISECONDS in words, an empty string for nil."
  (cond ((null milliseconds) "")
        ((< milliseconds 1000) (format "%d ms" milliseconds))
        (t (format "%.1f s" (/ milliseconds 1000.0)))))

(defun neuron-council-report--join (&rest parts)
  "Join the PARTS that say something by commas."
  (mapconcat #'identity (delete "" (delq nil parts)) ", "))

(defun neuron-council-report--failure (failure)
  "Return FAILURE in words, nil for nil."
  (and failure (format "failed (%s): %s" (plist-get failure :kind) (plist-get failure :message))))

(defun neuron-council-report--axes (axes)
  "Return AXES, a plist of scores, in words."
  (let ((words nil))
    (while axes
      (let ((name (substring (symbol-name (pop axes)) 1))
            (score (pop axes)))
        (when score
          (push (format "%s %s" name score) words))))
    (mapconcat #'identity (nreverse words) ", ")))

(defun neuron-council-report--vote (vote width)
  "Return lines of WIDTH columns for VOTE."
  (let ((failure (plist-get vote :failure)))
    (concat
     (neuron-council-text-fold
      (concat (plist-get vote :member)
              (format " (%s)" (neuron-council-report--join (plist-get vote :model)
                                                           (and (equal (plist-get vote :role) "contrarian")
                                                                "contrarian")))
              ": " (plist-get vote :vote))
      "  " width)
     (neuron-council-text-fold (or (neuron-council-report--failure failure) "") "      " width)
     (neuron-council-text-fold
      (neuron-council-report--join
       (and (plist-get vote :confidence) (format "confidence %.2f" (plist-get vote :confidence)))
       (neuron-council-report--axes (plist-get vote :axes))
       (and (plist-get vote :strength) (format "strength %.1f" (plist-get vote :strength)))
       (unless (equal (plist-get failure :kind) "not-asked")
         (neuron-council-report--seconds (plist-get vote :latency_ms))))
      "      " width)
     (neuron-council-text-fold (or (plist-get vote :rationale) "") "      " width))))

(defun neuron-council-report--challenge (challenge width)
  "Return lines of WIDTH columns for CHALLENGE, an empty string for nil."
  (if (null challenge)
      ""
    (concat
     (neuron-council-text-fold
      (concat (plist-get challenge :member) " "
              (neuron-council-report--join
               (or (neuron-council-report--failure (plist-get challenge :failure))
                   (if (plist-get challenge :refuted) "refutes the claim" "does not refute the claim"))
               (neuron-council-report--seconds (plist-get challenge :latency_ms))))
      "  " width)
     (neuron-council-text-fold (or (plist-get challenge :argument) "") "      " width)
     (if (member (plist-get challenge :quote) '(nil ""))
         ""
       (neuron-council-text-fold (format "It quotes: \"%s\"" (plist-get challenge :quote)) "      " width)))))

(defun neuron-council-report--lens (lens width)
  "Return lines of WIDTH columns for LENS: its status and its findings."
  (concat
   (neuron-council-text-fold (format "%s: %s" (plist-get lens :lens) (plist-get lens :status)) "  " width)
   (mapconcat
    (lambda (finding)
      (let ((mark (if (plist-get finding :proven) "    [x] " "    [ ] ")))
        (concat mark
                (substring (neuron-council-text-fold
                            (format "%s%s: %s" (plist-get finding :oracle)
                                    (if (plist-get finding :hard) " (hard)" "") (plist-get finding :evidence))
                            (make-string (length mark) ?\s) width)
                           (length mark)))))
    (plist-get lens :findings) "")))

(defun neuron-council-report--dissent (dissent width)
  "Return lines of WIDTH columns for DISSENT, a vote against the majority."
  (neuron-council-text-fold
   (format "%s voted %s: %s" (plist-get dissent :member) (plist-get dissent :vote)
           (or (neuron-council-report--failure (plist-get dissent :failure)) (plist-get dissent :rationale) ""))
   "  " width))

(defun neuron-council-report--move (move width)
  "Return lines of WIDTH columns for MOVE, a changed vote."
  (neuron-council-text-fold
   (format "%s changed from %s to %s in loop %s" (plist-get move :member) (plist-get move :from)
           (plist-get move :to) (plist-get move :loop))
   "  " width))

(defun neuron-council-report--all (function rows width)
  "Return the lines of WIDTH columns that FUNCTION makes of all ROWS."
  (mapconcat (lambda (row) (funcall function row width)) rows ""))

(defun neuron-council-report--sections (verdict width)
  "Return the titles and lines of WIDTH columns of VERDICT, in order."
  (let* ((report (plist-get verdict :report))
         (loops (plist-get report :loop_count))
         (fold (lambda (text width) (neuron-council-text-fold (or text "") "  " width))))
    (list
     (cons "Claim" (funcall fold (plist-get verdict :claim) width))
     (cons "Votes" (neuron-council-report--all #'neuron-council-report--vote (plist-get verdict :votes) width))
     (cons "Challenge" (neuron-council-report--challenge (plist-get report :challenge) width))
     (cons "Changed votes"
           (neuron-council-report--all #'neuron-council-report--move (plist-get report :movement) width))
     (cons "Lenses" (neuron-council-report--all #'neuron-council-report--lens (plist-get report :lenses) width))
     (cons "Dissent"
           (cond ((null report) "")
                 ((plist-get report :dissent)
                  (neuron-council-report--all #'neuron-council-report--dissent (plist-get report :dissent) width))
                 (t "  none\n")))
     (cons "Warnings" (neuron-council-report--all fold (plist-get verdict :warnings) width))
     (cons "Time"
           (concat
            (funcall fold
                     (neuron-council-report--join
                      (neuron-council-report--seconds (plist-get verdict :latency_ms))
                      (and loops (format "%d loop%s" loops (if (= loops 1) "" "s")))
                      (and (plist-get report :parked_reason)
                           (format "parked because of %s" (plist-get report :parked_reason)))
                      (and (plist-get verdict :cached) "from the cache"))
                     width)
            (funcall fold (concat "id " (plist-get verdict :id)) width))))))

;;;###autoload
(defun neuron-council-format-verdict (verdict &optional width)
  "Return VERDICT, a plist as `neuron-council-verify' gives it, as a text.
It tells the outcome, the claim, every vote with its rationale, the
challenge, what each lens found, the dissent and the time, in lines of
WIDTH columns (80 if nil).  What models wrote in it is plain text."
  (let ((width (or width 80)))
    (concat
     (propertize (neuron-council-text-fold
                  (format "%s%s, confidence %.2f, tags: %s" (upcase (format "%s" (plist-get verdict :status)))
                          (if (plist-get verdict :tier) (format " (%s)" (plist-get verdict :tier)) "")
                          (plist-get verdict :confidence) (mapconcat #'identity (plist-get verdict :tags) ", "))
                  "" width)
                 'face (neuron-council-verdict-face verdict))
     (neuron-council-text-fold (or (plist-get verdict :summary) "") "" width)
     (mapconcat (lambda (section)
                  (if (equal (cdr section) "")
                      ""
                    (concat (propertize (concat (car section) "\n") 'face 'neuron-council-heading)
                            (cdr section))))
                (neuron-council-report--sections verdict width)
                ""))))

;;;; Buffer

(defvar neuron-council-verdict-mode-map
  (let ((map (make-sparse-keymap)))
    (define-key map "n" #'neuron-council-next-verdict)
    (define-key map "p" #'neuron-council-previous-verdict)
    (define-key map "w" #'neuron-council-copy-id)
    map)
  "Keys of `neuron-council-verdict-mode'.")

(define-derived-mode neuron-council-verdict-mode special-mode "Council"
  "Major mode of the buffer that holds the council's verdicts, the newest first.

\\{neuron-council-verdict-mode-map}"
  (buffer-disable-undo)
  (setq-local truncate-lines nil)
  (setq-local revert-buffer-function (lambda (&rest _) (neuron-council-report--render)))
  (setq-local imenu-create-index-function #'neuron-council-report--index))

(defun neuron-council-report-buffer ()
  "Return the buffer of the verdicts, made if need be."
  (or (get-buffer "*neuron-council*")
      (with-current-buffer (get-buffer-create "*neuron-council*")
        (neuron-council-verdict-mode)
        (neuron-council-report--render)
        (current-buffer))))

(defun neuron-council-report--id ()
  "Return the id of the verdict at point, nil where there is none."
  (get-text-property (point) 'neuron-council-id))

(defun neuron-council-report--render ()
  "Fill the current buffer with the verdicts; point stays on its verdict."
  (let ((id (neuron-council-report--id))
        (inhibit-read-only t))
    (erase-buffer)
    (dolist (verdict neuron-council-verdicts)
      (insert (propertize (concat (neuron-council-format-verdict verdict) "\n")
                          'neuron-council-id (plist-get verdict :id))))
    (when (bobp) (insert "No verdict yet.\n"))
    (goto-char (point-min))
    (neuron-council-report--goto id)))

(defun neuron-council-report--place (id)
  "Return where the verdict ID begins, nil if it is not there."
  (let ((place (point-min)))
    (while (and place (not (equal id (get-text-property place 'neuron-council-id))))
      (setq place (next-single-property-change place 'neuron-council-id)))
    place))

(defun neuron-council-report--goto (id)
  "Move to the verdict ID if it is there; return non-nil then."
  (when-let ((place (neuron-council-report--place id)))
    (goto-char place)))

(defun neuron-council-report--changed ()
  "Render the buffer anew, if it is there: the verdicts at hand have changed."
  (when-let ((buffer (get-buffer "*neuron-council*")))
    (with-current-buffer buffer
      (neuron-council-report--render))))

(add-hook 'neuron-council-verdicts-hook #'neuron-council-report--changed)

(defun neuron-council-report-show (&optional id)
  "Display the buffer of the verdicts, at the verdict ID or at the newest."
  (let ((buffer (neuron-council-report-buffer)))
    (pop-to-buffer buffer)
    (neuron-council-report--render)
    (goto-char (point-min))
    (neuron-council-report--goto id)
    (when-let ((window (get-buffer-window buffer)))
      (set-window-start window (point)))
    buffer))

(defun neuron-council-report--index ()
  "Return an index of the verdicts for Imenu."
  (mapcar (lambda (verdict)
            (cons (truncate-string-to-width
                   (concat (neuron-council-verdict-brief verdict) " "
                           (neuron-council-verdict-plain (plist-get verdict :claim)))
                   100 nil nil t)
                  (neuron-council-report--place (plist-get verdict :id))))
          neuron-council-verdicts))

(defun neuron-council-next-verdict (&optional count)
  "Move to the next verdict, or COUNT verdicts on."
  (interactive "p" neuron-council-verdict-mode)
  (let* ((ids (mapcar (lambda (verdict) (plist-get verdict :id)) neuron-council-verdicts))
         (here (neuron-council-report--id))
         (at (and here (- (length ids) (length (member here ids)))))
         (to (if at (+ at (or count 1)) 0)))
    (unless (and (<= 0 to) (nth to ids))
      (user-error "No more verdicts"))
    (neuron-council-report--goto (nth to ids))))

(defun neuron-council-previous-verdict (&optional count)
  "Move to the previous verdict, or COUNT verdicts back."
  (interactive "p" neuron-council-verdict-mode)
  (neuron-council-next-verdict (- (or count 1))))

(defun neuron-council-copy-id ()
  "Copy the id of the verdict at point."
  (interactive nil neuron-council-verdict-mode)
  (let ((id (or (neuron-council-report--id) (user-error "No verdict here"))))
    (kill-new id)
    (message "%s" id)))

(provide 'neuron-council-report)
;;; neuron-council-report.el ends here
