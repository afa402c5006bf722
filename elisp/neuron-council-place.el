;;; neuron-council-place.el --- Where a reader is in a buffer that is redrawn  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; The report and the doctor's buffer are erased and drawn anew while somebody reads them, with more or less above the
;; place than before.  A place is told by its anchor, the last line at or above it that has a value of a text property,
;; and by how far it is below that.

;;; Code:

(defun neuron-council-place--anchor (property)
  "Return the value of PROPERTY that anchors the line at point, and its distance.
That is in lines, from the top of the buffer where there is no anchor."
  (save-excursion
    (beginning-of-line)
    (let ((line (line-number-at-pos))
          (value nil))
      (while (not (or (setq value (get-text-property (point) property)) (bobp)))
        (forward-line -1))
      ;; An anchor may be of several lines.
      (while (and value (not (bobp)) (equal value (get-text-property (line-beginning-position 0) property)))
        (forward-line -1))
      (cons value (- line (line-number-at-pos))))))

(defun neuron-council-place--goto (anchor property)
  "Go to the line that ANCHOR tells by PROPERTY, or to the nearest there is.
Return nil where the anchor has gone."
  (pcase-let ((`(,value . ,distance) anchor))
    (goto-char (point-min))
    (while (not (or (equal value (get-text-property (point) property)) (eobp)))
      (goto-char (next-single-property-change (point) property nil (point-max))))
    (unless (eobp)
      (let ((here value))
        (while (and (> distance 0) (or (null here) (equal value here)) (zerop (forward-line 1)))
          (setq distance (1- distance)
                here (get-text-property (point) property)))
        (unless (or (null here) (equal value here))
          ;; What is anchored has become shorter.
          (forward-line -1)))
      t)))

(defun neuron-council-place--here (property)
  "Return where point is by PROPERTY: anchor, number of the line, column."
  (list (neuron-council-place--anchor property) (line-number-at-pos) (current-column)))

(defun neuron-council-place--return (place property)
  "Go to PLACE, as `neuron-council-place--here' gave it for PROPERTY."
  (pcase-let ((`(,anchor ,line ,column) place))
    (unless (neuron-council-place--goto anchor property)
      (goto-char (point-min))
      (forward-line (1- line)))
    (move-to-column column)
    (point)))

(defun neuron-council-place-keep (property function)
  "Call FUNCTION, which draws the current buffer anew by the anchors of PROPERTY.
Point, also that of every window, and what each window begins with stay."
  (let ((here (neuron-council-place--here property))
        (windows (mapcar (lambda (window)
                           (cons window (mapcar (lambda (position)
                                                  (save-excursion
                                                    (goto-char position)
                                                    (neuron-council-place--here property)))
                                                (list (window-start window) (window-point window)))))
                         (get-buffer-window-list nil nil t))))
    (funcall function)
    (pcase-dolist (`(,window ,start ,point) windows)
      (set-window-start window (neuron-council-place--return start property) t)
      (set-window-point window (neuron-council-place--return point property)))
    (neuron-council-place--return here property)))

(provide 'neuron-council-place)
;;; neuron-council-place.el ends here
