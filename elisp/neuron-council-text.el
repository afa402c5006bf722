;;; neuron-council-text.el --- Text on its way to and from the council  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; What a user wrote is cleaned before it is sent; what a model wrote is made harmless before it is shown, and folded
;; to a width.  Nothing here knows about servers or verdicts.

;;; Code:

(defun neuron-council-text-clean (text)
  "Return TEXT as the wire can carry it: decoded, without properties.
Unibyte TEXT is read as UTF-8.  What UTF-8 or the JSON reader of Emacs
cannot carry (U+0000, raw bytes, surrogates, characters beyond Unicode)
becomes U+FFFD."
  (concat (mapcar (lambda (char)
                    (if (or (= char 0) (<= #xd800 char #xdfff) (> char #x10ffff)) #xfffd char))
                  (if (multibyte-string-p text) text (decode-coding-string text 'utf-8-unix)))))

(defun neuron-council-text--escape (char)
  "Return a visible form of CHAR where CHAR itself could mislead, else nil.
Such are the control characters, the separators of lines and the marks
that turn the direction of what follows."
  (cond ((< char 32) (format "^%c" (+ char 64)))
        ((= char 127) "^?")
        ((or (<= 128 char 159) (memq char '(#x61c #x200e #x200f #xfeff))
             (<= #x2028 char #x202e) (<= #x2066 char #x2069) (<= #xe0000 char #xe007f))
         (format "\\u%04x" char))
        ((> char #x10ffff) (format "\\x%x" (logand char #xff)))))

(defun neuron-council-text-plain (text)
  "Return TEXT, which a model or a stranger wrote, on one line and as plain text.
White space becomes single spaces, and no property or control character
survives, so that nothing in it can act on a display."
  (mapconcat (lambda (char) (or (neuron-council-text--escape char) (string char)))
             (mapconcat #'identity (split-string (substring-no-properties text) "[ \t\n\r\f\v]+" t) " ")
             ""))

(defun neuron-council-text--break (word width)
  "Split WORD into pieces of at most WIDTH columns."
  (let ((pieces nil) (start 0) (columns 0))
    (dotimes (at (length word))
      (let ((add (char-width (aref word at))))
        (when (and (> (+ columns add) width) (> at start))
          (push (substring word start at) pieces)
          (setq start at
                columns 0))
        (setq columns (+ columns add))))
    (nreverse (cons (substring word start) pieces))))

(defun neuron-council-text-fold (text indent width)
  "Return TEXT as plain lines of at most WIDTH columns, INDENT in front of each.
A word that is wider than a line is broken.  Empty TEXT gives no line."
  (let* ((room (max 10 (- width (string-width indent))))
         (lines nil) (line nil) (columns 0))
    (dolist (word (split-string (neuron-council-text-plain text) " " t))
      (dolist (piece (if (> (string-width word) room) (neuron-council-text--break word room) (list word)))
        (let ((wide (string-width piece)))
          (when (and line (> (+ columns 1 wide) room))
            (push (nreverse line) lines)
            (setq line nil
                  columns 0))
          (setq columns (+ columns wide (if line 1 0)))
          (push piece line))))
    (when line (push (nreverse line) lines))
    (mapconcat (lambda (words) (concat indent (mapconcat #'identity words " ") "\n")) (nreverse lines) "")))

(provide 'neuron-council-text)
;;; neuron-council-text.el ends here
