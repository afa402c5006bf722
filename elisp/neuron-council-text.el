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

(defconst neuron-council-text--misleading
  ;; The class of all Unicode, negated: a class of what is beyond it matches nothing in Emacs 28.
  (rx (or (any (0 . 31) (127 . 159) #x61c #x200e #x200f (#x2028 . #x202e) (#x2066 . #x2069) #xfeff
               (#xe0000 . #xe007f))
          (not (any (0 . #x10ffff)))))
  "Matches a character that could mislead on a display.
Such are the control characters, the separators of lines, the marks that
turn the direction of what follows, and raw bytes.")

(defun neuron-council-text--escape (text)
  "Return a visible form of TEXT, one misleading character."
  (let ((char (aref text 0)))
    (cond ((< char 32) (format "^%c" (+ char 64)))
          ((= char 127) "^?")
          ((> char #x10ffff) (format "\\x%x" (logand char #xff)))
          (t (format "\\u%04x" char)))))

(defun neuron-council-text-plain (text)
  "Return TEXT, which a model or a stranger wrote, on one line and as plain text.
White space becomes single spaces, and no property or control character
survives, so that nothing in it can act on a display."
  (let* ((characters (if (multibyte-string-p text) text (apply #'string (append text nil))))
         (line (mapconcat #'identity
                          (split-string (substring-no-properties characters) "[ \t\n\r\f\v]+" t) " ")))
    (if (string-match-p neuron-council-text--misleading line)
        (replace-regexp-in-string neuron-council-text--misleading #'neuron-council-text--escape line t t)
      line)))

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
