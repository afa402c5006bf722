;;; neuron-council-row.el --- A verdict on one line  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; What the list says of a verdict, of a memory that is held, and of both together.  Any field may be missing or odd:
;; what can be said is said.

;;; Code:

(eval-when-compile (require 'cl-lib))
(require 'neuron-council-text)
(require 'neuron-council-verdict)

(defface neuron-council-row-awaiting '((t :inherit warning))
  "What awaits a person's decision, in the list."
  :package-version '(neuron-council . "0.1.0")
  :group 'neuron-council-faces)

(defconst neuron-council-row--claim-size 300
  "Characters of a claim that are shown; the report has all of it.")

(defconst neuron-council-row--quoted-size 40
  "Characters of a claim that are quoted in a message.")

(cl-defstruct (neuron-council-row (:constructor neuron-council-row--make) (:copier nil))
  "A line of the list."
  key                                   ; the id, else a symbol
  verdict                               ; plist of the ledger, of those at hand, or made of a held memory
  held                                  ; memories that are held with it, the newest first
  signature                             ; all that the rest is made of and can change
  awaits                                ; non-nil when it awaits a person
  time                                  ; when the verdict was given, see `neuron-council-row--time'
  entry)                                ; (KEY COLUMNS) of `tabulated-list-entries'

(defun neuron-council-row-verdict-id (verdict)
  "Return the id of VERDICT, nil where it has none."
  (let ((id (plist-get verdict :id)))
    (and (stringp id) (not (equal id "")) id)))

(defun neuron-council-row--time (verdict)
  "Return when VERDICT was given, in seconds; one that is only here is the newest."
  (let ((at (plist-get verdict :at)))
    (if (and (numberp at) (< (abs at) 1e11)) at 1e11)))

(defun neuron-council-row-decision (verdict)
  "Return what a person decided on VERDICT, a string, or nil."
  (let ((review (plist-get verdict :review)))
    (and (proper-list-p review)
         (car (member (plist-get review :decision) '("accept" "reject"))))))

(defun neuron-council-row-parked-p (verdict)
  "Return non-nil when VERDICT is parked."
  (or (equal (plist-get verdict :status) "parked")
      (and (member "council-parked" (neuron-council-verdict-tags verdict)) t)))

(defun neuron-council-row--awaiting-p (verdict held)
  "Return non-nil when VERDICT awaits a person, or one of the memories HELD does."
  (or (eq (plist-get (car held) :reason) 'parked)
      (and (null (neuron-council-row-decision verdict))
           (neuron-council-row-parked-p verdict))))

(defun neuron-council-row--when (verdict)
  "Return when VERDICT was given: the time of today, else the date."
  (let ((at (plist-get verdict :at)))
    (condition-case nil
        (let ((date (format-time-string "%F" at)))
          (cond ((not (numberp at)) "this session")
                ((equal date (format-time-string "%F")) (format-time-string "%H:%M" at))
                (t date)))
      (error ""))))

(defun neuron-council-row--explained (column text)
  "Return TEXT of COLUMN with a tooltip that says it whole.
That of `tabulated-list-mode' would let what models wrote act on it."
  (propertize text 'help-echo (neuron-council-text-quote (concat column ": " text))))

(defun neuron-council-row--what (verdict)
  "Return what VERDICT is, in words: its tags and its status."
  (let ((words nil))
    (dolist (tag (neuron-council-verdict-tags verdict))
      (let ((word (replace-regexp-in-string "\\`council-" "" (neuron-council-verdict-plain tag))))
        (unless (member word (cons "" words)) (push word words))))
    (when (cdr words)
      ;; Its confidence says as much.
      (setq words (delete "unverified" words)))
    (setq words (nreverse words))
    (dolist (first '("parked" "rejected"))
      (when (or (member first words) (equal first (plist-get verdict :status)))
        (setq words (cons first (delete first words)))))
    (when (neuron-council-verdict-superseded-p verdict)
      (setq words (append words '("superseded"))))
    (neuron-council-row--explained
     "Verdict" (propertize (if words
                               (mapconcat #'identity words ", ")
                             (neuron-council-verdict-plain (plist-get verdict :status)))
                           'face (neuron-council-verdict-face verdict)))))

(defun neuron-council-row--confidence (verdict)
  "Return the confidence of VERDICT, an empty string where it has none."
  (let ((confidence (plist-get verdict :confidence)))
    (if (numberp confidence) (format "%.2f" (max -9 (min 99 confidence))) "")))

(defun neuron-council-row--unasked-p (verdict)
  "Return non-nil when VERDICT is known to have been given without a vote.
The server counts a member that was not asked as uncertain."
  (let ((votes (plist-get verdict :votes)))
    (or (member "council-unavailable" (neuron-council-verdict-tags verdict))
        (and votes (proper-list-p votes)
             (not (memq nil (mapcar (lambda (vote) (and (proper-list-p vote) (plist-get vote :failure))) votes)))))))

(defun neuron-council-row--votes (verdict)
  "Return how many members found the claim of VERDICT plausible, of how many."
  (let ((votes (plist-get verdict :council_votes)) (plausible 0))
    (if (or (not (and votes (proper-list-p votes))) (neuron-council-row--unasked-p verdict))
        ""
      (dolist (vote votes)
        (when (equal vote "plausible") (setq plausible (1+ plausible))))
      (format "%d/%d" plausible (length votes)))))

(defun neuron-council-row--review (row)
  "Return what ROW awaits, or what was decided on it."
  (let* ((verdict (neuron-council-row-verdict row))
         (reason (plist-get (car (neuron-council-row-held row)) :reason)))
    (cond
     ((eq reason 'parked) (propertize "you: held" 'face 'neuron-council-row-awaiting))
     ((eq reason 'rejected) "kept out")
     (reason "quarantined")
     ((equal (neuron-council-row-decision verdict) "accept") "accepted")
     ((neuron-council-row-decision verdict) "rejected")
     ((neuron-council-row-awaits row) (propertize "you" 'face 'neuron-council-row-awaiting))
     ((plist-get verdict :error) "a server")
     (t ""))))

(defun neuron-council-row--claim (verdict)
  "Return the beginning of the claim of VERDICT on one line."
  (let* ((text (neuron-council-verdict-text (plist-get verdict :claim)))
         (long (> (length text) neuron-council-row--claim-size))
         (plain (neuron-council-text-plain (if long (substring text 0 neuron-council-row--claim-size) text))))
    (neuron-council-row--explained "Claim" (propertize (if long (concat plain "…") plain) 'mouse-face 'highlight))))

(defun neuron-council-row-quote (row)
  "Return the claim of ROW in quotation marks, its middle cut out where it is long."
  (let* ((plain (neuron-council-verdict-plain (plist-get (neuron-council-row-verdict row) :claim)))
         (room neuron-council-row--quoted-size)
         (end (/ room 3)))
    (format "\"%s\"" (if (<= (length plain) room)
                         plain
                       (concat (substring plain 0 (- room end 1)) "…" (substring plain (- end)))))))

(defun neuron-council-row--columns (row)
  "Return the columns of ROW, a vector."
  (let ((verdict (neuron-council-row-verdict row)))
    (vector (neuron-council-row--when verdict)
            (neuron-council-row--what verdict)
            (neuron-council-row--confidence verdict)
            (neuron-council-row--votes verdict)
            (neuron-council-row--review row)
            (neuron-council-row--claim verdict))))

(defun neuron-council-row--signature (verdict held)
  "Return all that can change in the columns of VERDICT with HELD."
  (list (neuron-council-row-decision verdict) (plist-get (car held) :reason)
        (plist-get verdict :at) (plist-get verdict :tags) (plist-get verdict :status)
        (plist-get verdict :superseded_by)))

(defun neuron-council-row--new (key verdict held signature)
  "Return a row KEY of VERDICT with HELD and SIGNATURE."
  (let ((row (neuron-council-row--make
              :key key :verdict verdict :held held :signature signature
              :awaits (neuron-council-row--awaiting-p verdict held) :time (neuron-council-row--time verdict))))
    (setf (neuron-council-row-entry row) (list key (neuron-council-row--columns row)))
    row))

(defun neuron-council-row-of (key verdict held row)
  "Return a row KEY of VERDICT with HELD: ROW, where it says the same."
  (if (and row (eq verdict (neuron-council-row-verdict row)) (eq held (neuron-council-row-held row)))
      row
    (let ((signature (neuron-council-row--signature verdict held)))
      (if (not (and row (equal signature (neuron-council-row-signature row))))
          (neuron-council-row--new key verdict held signature)
        (setf (neuron-council-row-verdict row) verdict
              (neuron-council-row-held row) held)
        row))))

(defun neuron-council-row-verdict-of-held (record)
  "Return what the held memory RECORD knows of its verdict."
  (list :id (plist-get record :id) :claim (plist-get record :claim) :confidence (plist-get record :confidence)
        :tags (plist-get record :tags) :summary (plist-get record :summary) :at (plist-get record :time)
        :status (and (eq (plist-get record :reason) 'parked) "parked")))

(defun neuron-council-row--before-p (one other)
  "Return non-nil when the row ONE is listed before the row OTHER by default."
  (let ((awaits (neuron-council-row-awaits one)))
    (if (eq (null awaits) (null (neuron-council-row-awaits other)))
        (> (neuron-council-row-time one) (neuron-council-row-time other))
      awaits)))

(defun neuron-council-row--ordered-p (rows)
  "Return non-nil when ROWS are in order."
  (while (and (cdr rows) (not (neuron-council-row--before-p (cadr rows) (car rows))))
    (setq rows (cdr rows)))
  (null (cdr rows)))

(defun neuron-council-row-sort (rows)
  "Return ROWS in order: what awaits a person first, then the newest.
Those of the ledger mostly are in order; the list ROWS is lost."
  (if (neuron-council-row--ordered-p rows) rows (sort rows #'neuron-council-row--before-p)))

(provide 'neuron-council-row)
;;; neuron-council-row.el ends here
