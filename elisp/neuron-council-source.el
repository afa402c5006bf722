;;; neuron-council-source.el --- Where the text of a claim stands  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; A source is a place in a buffer.  It follows the text while the buffer lives, and leads to the file afterwards.

;;; Code:

(defun neuron-council-source-make (position)
  "Return a source for POSITION in the current buffer."
  (list :marker (copy-marker position)
        :file (buffer-file-name (or (buffer-base-buffer) (current-buffer)))
        :position (if (markerp position) (marker-position position) position)))

(defun neuron-council-source--buffer (source)
  "Return the live buffer of SOURCE, nil where there is none."
  (let ((marker (plist-get source :marker)))
    (and (markerp marker) (marker-buffer marker))))

(defun neuron-council-source-name (source)
  "Return the name of the buffer or file of SOURCE, nil where both are gone."
  (let ((buffer (neuron-council-source--buffer source))
        (file (plist-get source :file)))
    (cond (buffer (buffer-name buffer))
          ((stringp file) (file-name-nondirectory file)))))

(defun neuron-council-source--seek (position claim)
  "Go to POSITION, or to CLAIM where that stands elsewhere now.
CLAIM is a string, or nil."
  (goto-char (min (max position (point-min)) (point-max)))
  (when (and claim (not (looking-at-p (regexp-quote claim))))
    (let ((here (point)))
      (goto-char (point-min))
      (goto-char (if (search-forward claim nil t) (match-beginning 0) here)))))

(defun neuron-council-source-visit (source &optional claim)
  "Display the place of SOURCE, where CLAIM stood, and go there.
Signal a `user-error' where it is gone."
  (let ((buffer (neuron-council-source--buffer source))
        (file (plist-get source :file))
        (position (plist-get source :position)))
    (cond
     (buffer
      (let ((marker (plist-get source :marker)))
        (pop-to-buffer buffer)
        (unless (<= (point-min) marker (point-max)) (widen))
        (goto-char marker)))
     ((and (stringp file) (file-readable-p file))
      (find-file-other-window file)
      (widen)
      (neuron-council-source--seek (if (integerp position) position 1) claim))
     ((stringp file) (user-error "The claim's file cannot be read: %s" file))
     (t (user-error "It is not known where this claim stands, or its buffer was killed")))))

(provide 'neuron-council-source)
;;; neuron-council-source.el ends here
