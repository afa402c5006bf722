;;; neuron-council-table.el --- Lines that are redrawn in place and can be marked  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; What the list needs of tabulated-list.el and does not get from it: a table of hundreds of lines is shown anew by the
;; lines that have changed, so that point, marks and the place in every window stay.

;;; Code:

(require 'tabulated-list)

(defvar-local neuron-council-table--printed nil
  "The entries that were printed last, in order.")

(defvar-local neuron-council-table--marks nil
  "Hash table of the marks, ?* or ?D, by key.")

;;;; Marks

(defun neuron-council-table--tag (mark)
  "Return MARK, a character or nil, as it stands before a row."
  (if mark
      (propertize (string mark) 'face (if (eq mark ?D) 'error 'warning))
    " "))

(defun neuron-council-table--show-mark (mark)
  "Show MARK, a character or nil, before the row at point."
  (with-silent-modifications
    (tabulated-list-put-tag (neuron-council-table--tag mark))))

(defun neuron-council-table-mark-of (key)
  "Return the mark of the line KEY, a character or nil."
  (gethash key neuron-council-table--marks))

(defun neuron-council-table-mark (key mark)
  "Give the line KEY, at point, MARK, a character or nil."
  (if mark
      (puthash key mark neuron-council-table--marks)
    (remhash key neuron-council-table--marks))
  (neuron-council-table--show-mark mark))

(defun neuron-council-table-unmark (key)
  "Take the mark of the line KEY away, wherever it stands."
  (when (neuron-council-table-mark-of key)
    (save-excursion
      (if (neuron-council-table-goto key)
          (neuron-council-table-mark key nil)
        (remhash key neuron-council-table--marks)))))

(defun neuron-council-table-marked (mark)
  "Return the keys of the lines that have MARK, in order."
  (let ((keys nil))
    (neuron-council-table-each (lambda (key) (when (eq mark (neuron-council-table-mark-of key)) (push key keys))))
    (nreverse keys)))

;;;; Lines

(defun neuron-council-table-each (function)
  "Call FUNCTION with the key of each line, point being on it."
  (save-excursion
    (goto-char (point-min))
    (while (not (eobp))
      (let ((key (tabulated-list-get-id)))
        (when key (funcall function key)))
      (forward-line 1))))

(defun neuron-council-table-goto (key)
  "Go to the line KEY; return non-nil if it is there."
  (let ((place (point-min)))
    (while (and place (not (equal key (get-text-property place 'tabulated-list-id))))
      (setq place (next-single-property-change place 'tabulated-list-id)))
    (and place (goto-char place))))

;;;; Printing

(defun neuron-council-table--print-row (key columns)
  "Insert the row KEY with COLUMNS and its mark."
  (tabulated-list-print-entry key columns)
  (let ((mark (gethash key neuron-council-table--marks)))
    (when mark
      (forward-line -1)
      (neuron-council-table--show-mark mark)
      (forward-line 1))))

(defun neuron-council-table--delete-line ()
  "Delete the line at point."
  (delete-region (line-beginning-position) (line-beginning-position 2)))

(defun neuron-council-table--replace-lines (entries end)
  "Make the lines from point to END, a marker, show ENTRIES.
Lines that have not changed are left alone.  Return a hash table from the
keys to where their lines begin now."
  (let ((left (make-hash-table :test #'equal))
        (places (make-hash-table :test #'equal)))
    (dolist (entry entries)
      (puthash (car entry) t left))
    (pcase-dolist (`(,key ,columns) entries)
      (while (and (< (point) end)
                  (let ((here (tabulated-list-get-id)))
                    (not (or (equal here key) (gethash here left)))))
        (neuron-council-table--delete-line))
      (let ((is-there (and (< (point) end) (equal key (tabulated-list-get-id)))))
        (remhash key left)
        (puthash key (point) places)
        (if (and is-there (eq columns (tabulated-list-get-entry)))
            (forward-line 1)
          (when is-there
            (neuron-council-table--delete-line))
          (funcall tabulated-list-printer key columns))))
    (delete-region (point) end)
    places))

(defun neuron-council-table--print (entries)
  "Make the buffer show ENTRIES.
Return a hash table from the keys of the lines that were looked at to
where they begin: all between the first and the last change."
  (let ((inhibit-read-only t)
        (shown neuron-council-table--printed)
        (new entries) (before 0) (after 0))
    (save-excursion
      (goto-char (point-min))
      (when (and (bobp) (eobp))
        (tabulated-list-print-fake-header))
      (unless (= (count-lines (point-min) (point-max)) (1+ (length shown)))
        ;; Something else has printed.
        (setq shown nil))
      (while (and shown new (eq (car shown) (car new)))
        (setq shown (cdr shown)
              new (cdr new)
              before (1+ before)))
      (let ((old-end (reverse shown)) (new-end (reverse new)))
        (while (and old-end new-end (eq (car old-end) (car new-end)))
          (setq old-end (cdr old-end)
                new-end (cdr new-end)
                after (1+ after)))
        (goto-char (point-max))
        (forward-line (- after))
        (let ((end (copy-marker (point) t)))
          (goto-char (point-min))
          (forward-line (1+ before))
          (prog1 (neuron-council-table--replace-lines (reverse new-end) end)
            (set-marker end nil)
            (set-buffer-modified-p nil)
            (setq neuron-council-table--printed (copy-sequence entries))))))))

;;;; Places

(defun neuron-council-table--spot (position)
  "Return where POSITION is: key of the row, column, and a marker."
  (save-excursion
    (goto-char position)
    (list (tabulated-list-get-id) (current-column) (copy-marker position t))))

(defun neuron-council-table--back (spot places)
  "Return the position of SPOT, now that the rows have PLACES."
  (pcase-let ((`(,key ,column ,marker) spot))
    (let ((place (and key (gethash key places))))
      (prog1 (if (not place)
                 (marker-position marker)
               (save-excursion
                 (goto-char place)
                 (move-to-column column)
                 (point)))
        (set-marker marker nil)))))

(defun neuron-council-table--first-row ()
  "Return where the first row begins."
  (save-excursion
    (goto-char (point-min))
    (line-beginning-position 2)))

(defun neuron-council-table--keep-places (function)
  "Call FUNCTION, which returns the places of the rows; keep point and windows.
Where there was no row before, point goes to the first one."
  (let* ((empty (null neuron-council-table--printed))
         (point (neuron-council-table--spot (point)))
         (windows (mapcar (lambda (window)
                            (list window (neuron-council-table--spot (window-point window))
                                  (neuron-council-table--spot (window-start window))))
                          (get-buffer-window-list nil nil t)))
         (places (funcall function))
         (back (lambda (spot) (if empty (neuron-council-table--first-row) (neuron-council-table--back spot places)))))
    (goto-char (funcall back point))
    (pcase-dolist (`(,window ,its-point ,start) windows)
      (set-window-start window (if empty (point-min) (neuron-council-table--back start places)) t)
      (set-window-point window (funcall back its-point)))))

;;;; The table

(defun neuron-council-table--sorted (entries)
  "Return ENTRIES, which are in the list's own order, as the user sorted them."
  (pcase-let ((`(,name . ,reversed) tabulated-list-sort-key)
              (column 0))
    (if (null name)
        entries
      (while (not (equal name (car (aref tabulated-list-format column))))
        (setq column (1+ column)))
      (let* ((given (nth 1 (cdr (aref tabulated-list-format column))))
             (before-p (if (functionp given)
                           given
                         (lambda (one other) (string< (aref (cadr one) column) (aref (cadr other) column))))))
        (sort entries (if reversed (lambda (one other) (funcall before-p other one)) before-p))))))

(defun neuron-council-table-init ()
  "Make the current buffer, which `tabulated-list-mode' has set up, such a table."
  (setq tabulated-list-printer #'neuron-council-table--print-row
        neuron-council-table--marks (make-hash-table :test #'equal)))

(defun neuron-council-table-show (entries)
  "Make the buffer show ENTRIES, each a list of key and columns.
Those that are `eq' to what is shown are left alone.  The order is the
user's where one was chosen; marks of lines that have gone go too."
  (let ((keys (make-hash-table :test #'equal :size (1+ (length entries)))))
    (dolist (entry entries)
      (puthash (car entry) t keys))
    (maphash (lambda (key _) (unless (gethash key keys) (remhash key neuron-council-table--marks)))
             neuron-council-table--marks))
  (setq tabulated-list-entries (neuron-council-table--sorted entries))
  (neuron-council-table--keep-places (lambda () (neuron-council-table--print tabulated-list-entries))))

(provide 'neuron-council-table)
;;; neuron-council-table.el ends here
