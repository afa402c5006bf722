;;; neuron-council-text.el --- Text on its way to and from the council  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; What a user wrote is cleaned before it is sent; what a model wrote is made harmless before it is shown, and folded
;; to a width.  Nothing here knows about servers or verdicts.

;;; Code:

(defun neuron-council-text--beyond-p (text)
  "Return non-nil when TEXT has raw bytes or other characters beyond Unicode.
No regular expression says so in a millisecond: Emacs 28 finds nothing by
the class of them, and either Emacs takes long to compile its complement."
  (let ((at 0) (end (length text)))
    (while (and (< at end) (<= (aref text at) #x10ffff))
      (setq at (1+ at)))
    (< at end)))

(defun neuron-council-text--unsendable-p (text)
  "Return non-nil when UTF-8 or the JSON reader of Emacs cannot carry TEXT."
  (let ((case-fold-search nil))
    (or (string-match-p "\0" text)
        (and (string-match-p "[^[:ascii:]]" text)
             (or (string-match-p (rx (any (#xd800 . #xdfff))) text)
                 (neuron-council-text--beyond-p text))))))

(defun neuron-council-text-clean (text)
  "Return TEXT as the wire can carry it: decoded, without properties.
Unibyte TEXT is read as UTF-8.  What UTF-8 or the JSON reader of Emacs
cannot carry (U+0000, raw bytes, surrogates, characters beyond Unicode)
becomes U+FFFD."
  (let ((text (substring-no-properties
               (if (multibyte-string-p text) text (decode-coding-string text 'utf-8-unix)))))
    ;; Nearly every text is clean, and looking is ten times as fast as mending.
    (if (neuron-council-text--unsendable-p text)
        (concat (mapcar (lambda (char)
                          (if (or (= char 0) (<= #xd800 char #xdfff) (> char #x10ffff)) #xfffd char))
                        text))
      text)))

;;;; Plain text

(defconst neuron-council-text--misleading
  (rx (any (0 . 31) (127 . 159) (#x2028 . #x2029) (#xfff9 . #xfffb)
           ;; What Unicode calls default ignorable.
           #xad #x34f #x61c (#x115f . #x1160) (#x17b4 . #x17b5) (#x180b . #x180f) (#x200b . #x200f)
           (#x202a . #x202e) (#x2060 . #x206f) #x3164 (#xfe00 . #xfe0f) #xfeff #xffa0 (#xfff0 . #xfff8)
           (#x1bca0 . #x1bca3) (#x1d173 . #x1d17a) (#xe0000 . #xe0fff)))
  "Matches a character that could mislead on a display.
Such are the control characters, the separators of lines, the marks that
turn the direction of what follows, and whatever takes part in a text and
is not seen.")

(defconst neuron-council-text--joining
  '(arabic syriac nko mongolian devanagari bengali gurmukhi gujarati oriya tamil telugu kannada malayalam sinhala
           khmer burmese tibetan)
  "The scripts whose letters are written otherwise beside a joiner.")

(defun neuron-council-text--script (char)
  "Return the script of CHAR, which may be nil; `emoji' for any part of one."
  (cond ((memq char '(#xa9 #xae #xfe0f)) 'emoji)
        ((and char (not (string-match-p neuron-council-text--misleading (string char))))
         (let ((script (aref char-script-table char)))
           (if (eq script 'symbol) 'emoji script)))))

(defun neuron-council-text--needed-p (text at)
  "Return non-nil when the invisible character of TEXT at AT does its work there.
A joiner does between emoji, and as a non-joiner does between letters of
one of `neuron-council-text--joining'; a variation selector does behind
what has variants.  Anywhere else they serve to hide something."
  (let ((before (and (> at 0) (aref text (1- at))))
        (after (and (< (1+ at) (length text)) (aref text (1+ at)))))
    (pcase (aref text at)
      ((or #x200c #x200d)
       (let ((script (neuron-council-text--script before)))
         (and (eq script (neuron-council-text--script after))
              (or (memq script neuron-council-text--joining)
                  (and (eq script 'emoji) (= (aref text at) #x200d))))))
      ((or #xfe0e #xfe0f)
       (and (not (memq before '(#xfe0e #xfe0f)))
            (or (eq 'emoji (neuron-council-text--script before)) (eql after #x20e3))))
      ((or #x180b #x180c #x180d #x180f) (eq 'mongolian (neuron-council-text--script before)))
      ((and char (guard (<= #xe0100 char #xe01ef))) (eq 'han (neuron-council-text--script before))))))

(defun neuron-council-text--escape (char)
  "Return a visible form of CHAR, a misleading one."
  (cond ((< char 32) (format "^%c" (+ char 64)))
        ((= char 127) "^?")
        (t (format "\\u%04x" char))))

(defun neuron-council-text--escape-misleading (line)
  "Return LINE with all that could mislead in a visible form."
  (let ((parts nil) (start 0) (at nil))
    (while (setq at (string-match-p neuron-council-text--misleading line start))
      (push (substring line start at) parts)
      (push (if (neuron-council-text--needed-p line at)
                (string (aref line at))
              (neuron-council-text--escape (aref line at)))
            parts)
      (setq start (1+ at)))
    (apply #'concat (nreverse (cons (substring line start) parts)))))

(defun neuron-council-text--escape-bytes (line)
  "Return LINE with all that is beyond Unicode in a visible form."
  (if (neuron-council-text--beyond-p line)
      (mapconcat (lambda (char)
                   (if (> char #x10ffff) (format "\\x%x" (logand char #xff)) (string char)))
                 line "")
    line))

(defun neuron-council-text--one-line (text)
  "Return TEXT with single spaces for its white space, and none at its ends."
  ;; Each alternative takes all it can get and never goes back, so that no run of any length fills the stack.
  (let* ((line (replace-regexp-in-string "[\t\n\r\f\v][ \t\n\r\f\v]*\\| [ \t\n\r\f\v]+" " " text t t))
         (end (length line)))
    (substring line
               (if (string-prefix-p " " line) 1 0)
               (if (and (> end 1) (eq (aref line (1- end)) ?\s)) (1- end) end))))

(defun neuron-council-text-plain (text)
  "Return TEXT, which a model or a stranger wrote, on one line and as plain text.
White space becomes single spaces, and no property or control character
survives, so that nothing in it can act on a display.  Characters that
are not seen are shown by their codes, such as \\u200b, but for those that
emoji and the letters of some scripts are joined or varied with."
  (let ((case-fold-search nil)
        (text (substring-no-properties text)))
    (if (not (string-match-p "[^ -~]\\|  \\|\\` \\| \\'" text))
        text
      (neuron-council-text--escape-misleading
       (neuron-council-text--escape-bytes
        (neuron-council-text--one-line (if (multibyte-string-p text) text (concat (append text nil)))))))))

(defun neuron-council-text-quote (text)
  "Return TEXT so that `substitute-command-keys' gives it back as it is.
Emacs puts every tooltip through that."
  (replace-regexp-in-string "[\\`']" "\\\\=\\&" text))

(defun neuron-council-text-shorten (text length)
  "Return at most LENGTH characters of TEXT: its beginning and its end.
A message says first what happened, and last what to do about it."
  (if (<= (length text) length)
      text
    (let ((tail (/ length 3)))
      (concat (substring text 0 (- length tail 5)) " ... " (substring text (- tail))))))

;;;; Lines

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
