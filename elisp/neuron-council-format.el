;;; neuron-council-format.el --- The text of a verdict  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; A verdict becomes sections: a heading in the first column, below it headings of parts in the third, and everything
;; else in the fifth or further right, so that no text of a model can look like a heading.  All of it is plain text,
;; see `neuron-council-text-plain'; the text properties on it are ours:
;;
;;   neuron-council-format-heading    on a heading: its name
;;   neuron-council-format-folded     on a heading: non-nil when a reader need not see its text at first
;;   neuron-council-format-link       on a name: (model . MEMBER) or (verdict . ID)
;;
;; A verdict may be odd, of another version or of a broken server: what can be shown of it is shown, nothing signals.

;;; Code:

(require 'neuron-council-text)
(require 'neuron-council-unsent)
(require 'neuron-council-verdict)

(defface neuron-council-heading '((t :inherit bold))
  "A heading in a verdict."
  :group 'neuron-council-faces
  :package-version '(neuron-council . "0.1.0"))

(defface neuron-council-figures '((t :inherit shadow))
  "Figures beside what a member or a lens says."
  :group 'neuron-council-faces
  :package-version '(neuron-council . "0.1.0"))

(defface neuron-council-proven '((t :inherit success))
  "The mark of what the checker found proven."
  :group 'neuron-council-faces
  :package-version '(neuron-council . "0.1.0"))

(defface neuron-council-unproven '((t :inherit error))
  "The mark of what the checker found not proven, and of a failure."
  :group 'neuron-council-faces
  :package-version '(neuron-council . "0.1.0"))

(defconst neuron-council-format--lines-shown 12
  "A context of more lines is folded at first.")

;;;; Words

(defconst neuron-council-format--statuses
  '(("emitted" . "The checker verified the decision; the tags say how far to believe the claim.")
    ("rejected" . "A hard check failed: it should not be believed as it stands.  The lenses say which, and why.")
    ("parked" . "The council leaves it to a person: accept or reject it.")
    ("unavailable" . "No member could be asked.  It is judged when the backend is back; \
M-x neuron-council-doctor says what to mend."))
  "What a status means, and what a person can do.")

(defconst neuron-council-format--parked-reasons
  '(("loops" . "the members debated as often as they may, and a lens still does not verify it; \
more context may settle it.")
    ("no-movement" . "the last loop repeated the votes and the challenge of the one before, \
so that another would change nothing.")
    ("no-quorum" . "too few members can still give a vote; mend what the failed ones name, then re-verify it.")
    ("deadline" . "the time was up before the debate was over; raise `deadline_s' in council.toml \
or name faster models, then re-verify it."))
  "Why a claim was debated no further, and what a person can do.")

(defconst neuron-council-format--cures
  '(("busy" . "Ask again in a moment, or lower `max_parallel_per_model' in council.toml.")
    ("http-error" . "The log of the backend may say more.")
    ("malformed" . "Is the member's `base_url' in council.toml that of such a backend?")
    ("unparsable" . "A model that keeps to a JSON schema does better; name one in council.toml.")
    ("too-large" . "A model that keeps to a JSON schema does better; name one in council.toml."))
  "What a person can do about failures whose message does not say it.")

(defconst neuron-council-format--unvoted
  '(("model-not-found" . "not asked") ("not-loaded" . "not asked") ("unauthorized" . "not asked")
    ("unreachable" . "not asked") ("context-overflow" . "not asked") ("not-asked" . "not asked")
    ("malformed" . "no valid answer") ("unparsable" . "no valid answer") ("too-large" . "no valid answer"))
  "What is said of a member by the failure that it has in place of a vote.
Of any other failure it is that there was no answer.")

(defconst neuron-council-format--fates
  '((stored . "It was stored with its tags.")
    (unstored . "The store function failed, and it is kept; M-x neuron-council-resume-pending tries again.")
    (held . "It is kept until you decide: accept stores it, reject drops it.")
    (quarantined . "It was flagged and put in quarantine; restore stores it after all.")
    (rejected . "It was flagged and not stored; restore stores it after all.")
    (accepted . "You accepted it, and it was stored.")
    (restored . "You restored it, and it was stored.")
    (dropped . "You rejected it, and it was not stored."))
  "What became of a memory, by the symbols of `neuron-council-verdict-note'.")

(defun neuron-council-format--words (value table)
  "Return what TABLE has for VALUE, nil without."
  (cdr (assoc value table)))

;;;; Values of a verdict

(defun neuron-council-format--rows (value)
  "Return VALUE as a list of rows."
  (if (proper-list-p value) value (list value)))

(defun neuron-council-format--number (format value)
  "Return VALUE by FORMAT if it is a number, else nil."
  (and (numberp value) (format format value)))

(defun neuron-council-format--seconds (milliseconds)
  "Return MILLISECONDS in words, nil where it is no number."
  (cond ((not (numberp milliseconds)) nil)
        ((< milliseconds 1000) (format "%.0f ms" milliseconds))
        (t (format "%.1f s" (/ milliseconds 1000.0)))))

(defun neuron-council-format--join (&rest parts)
  "Join the PARTS that say something by commas."
  (mapconcat #'identity (delete "" (delq nil parts)) ", "))

(defun neuron-council-format--name (value)
  "Return VALUE as a name, which is never empty."
  (let ((name (neuron-council-verdict-plain value)))
    (if (equal name "") "?" name)))

(defun neuron-council-format--vote-face (vote)
  "Return the face for VOTE, a word."
  (pcase vote
    ("plausible" 'neuron-council-verified)
    ("uncertain" 'neuron-council-doubtful)
    ("confabulation" 'neuron-council-flagged)))

(defun neuron-council-format--status-face (status)
  "Return the face for STATUS, that of a lens."
  (pcase status
    ("verified" 'neuron-council-proven)
    ("unverified" 'neuron-council-doubtful)
    (_ 'neuron-council-unproven)))

;;;; Lines

(defun neuron-council-format--in-face (face lines)
  "Put FACE below the faces that LINES have; return LINES.
The ends of the lines stay without one.  A terminal gets a line whose end
has a face filled up with spaces, and where it finds the line wider than
Emacs does, as with some emoji, these would run over into the next."
  (let ((at 0))
    (while (string-match ".+" lines at)
      (setq at (match-end 0))
      (add-face-text-property (match-beginning 0) at face t lines))
    lines))

(defun neuron-council-format--lines (value width &optional face)
  "Return VALUE as lines of WIDTH columns under a heading, in FACE."
  (let ((lines (neuron-council-text-fold (neuron-council-verdict-text value) "    " width)))
    (if face (neuron-council-format--in-face face lines) lines)))

(defun neuron-council-format--hang (first text width)
  "Return TEXT as lines of WIDTH columns that hang below FIRST, some columns."
  (let* ((indent (make-string (max 4 (string-width first)) ?\s))
         (lines (neuron-council-text-fold text indent width)))
    (if (equal lines "")
        ""
      (concat first (substring lines (length indent))))))

(defun neuron-council-format--mark (text before part &rest properties)
  "Put PROPERTIES on PART in TEXT, where it stands behind BEFORE; return TEXT.
Where a fold has parted it, there is nothing to mark."
  (let ((at (and (not (equal part "")) (string-search (concat before part) text))))
    (when at
      (add-text-properties (+ at (length before)) (+ at (length before) (length part)) properties text))
    text))

(defun neuron-council-format--heading (lines name &optional folded)
  "Return LINES as a heading called NAME, whose text is FOLDED at first."
  (neuron-council-format--in-face 'neuron-council-heading lines)
  (add-text-properties 0 (length lines)
                       (list 'neuron-council-format-heading name 'neuron-council-format-folded folded) lines)
  lines)

(defun neuron-council-format--all (function value width)
  "Return the lines of WIDTH columns that FUNCTION makes of the rows of VALUE."
  (mapconcat (lambda (row)
               (if (consp row) (funcall function row width) (neuron-council-format--lines row width)))
             (neuron-council-format--rows value) ""))

(defun neuron-council-format--failure (failure)
  "Return FAILURE in words, nil for nil."
  (when failure
    (let ((kind (plist-get failure :kind)))
      (concat (format "failed (%s): " (neuron-council-format--name kind))
              (neuron-council-verdict-plain (if (consp failure) (plist-get failure :message) failure))
              (let ((cure (neuron-council-format--words kind neuron-council-format--cures)))
                (and cure (concat " " cure)))))))

;;;; Votes and challenge

(defun neuron-council-format--scores (plist format)
  "Return the names and numbers of PLIST in words, the numbers by FORMAT."
  (let ((words nil))
    (while (and (consp plist) (consp (cdr plist)))
      (let ((name (pop plist))
            (score (neuron-council-format--number format (pop plist))))
        (when (and score (keywordp name))
          (push (format "%s %s" (substring (symbol-name name) 1) score) words))))
    (mapconcat #'identity (nreverse words) ", ")))

(defun neuron-council-format--odds (odds)
  "Return ODDS, a plist of probabilities, in words."
  (let ((percent nil))
    (dolist (key '(:plausible :uncertain :confabulation))
      (when (numberp (plist-get odds key))
        (setq percent (append percent (list key (* 100.0 (plist-get odds key)))))))
    (if percent
        (concat "probabilities: " (neuron-council-format--scores percent "%.0f%%"))
      "")))

(defun neuron-council-format--ballot (vote)
  "Return in words how VOTE, or a dissent, was.
The server counts a member that failed as uncertain; it said no such thing."
  (let ((failure (plist-get vote :failure)))
    (if (null failure)
        (neuron-council-format--name (plist-get vote :vote))
      (or (neuron-council-format--words (plist-get failure :kind) neuron-council-format--unvoted) "no answer"))))

(defun neuron-council-format--vote (vote width)
  "Return lines of WIDTH columns for VOTE."
  (let* ((failure (plist-get vote :failure))
         (member (neuron-council-format--name (plist-get vote :member)))
         (model (neuron-council-verdict-plain (plist-get vote :model)))
         (ballot (neuron-council-format--ballot vote))
         (role (and (equal (plist-get vote :role) "contrarian") "contrarian"))
         (heading (neuron-council-format--hang
                   "  " (format "%s (%s): %s" member (neuron-council-format--join model role) ballot) width)))
    (neuron-council-format--mark heading "(" model 'neuron-council-format-link (cons 'model member))
    (neuron-council-format--mark heading "): " ballot 'face
                                 (if failure
                                     'neuron-council-unproven
                                   (neuron-council-format--vote-face (plist-get vote :vote))))
    (concat
     (neuron-council-format--heading heading (concat "vote " member))
     (neuron-council-format--lines (neuron-council-format--failure failure) width 'neuron-council-unproven)
     (neuron-council-format--lines
      (neuron-council-format--join
       (neuron-council-format--number "confidence %.2f" (plist-get vote :confidence))
       (neuron-council-format--number "strength %.1f" (plist-get vote :strength))
       (neuron-council-format--scores (plist-get vote :axes) "%s"))
      width 'neuron-council-figures)
     (neuron-council-format--lines (neuron-council-format--odds (plist-get vote :probabilities)) width
                                   'neuron-council-figures)
     (neuron-council-format--lines (plist-get vote :rationale) width))))

(defun neuron-council-format--failed (verdict)
  "Return how many members of VERDICT gave no vote."
  (let ((failed 0))
    (dolist (vote (neuron-council-format--rows (plist-get verdict :votes)) failed)
      (when (and (consp vote) (plist-get vote :failure)) (setq failed (1+ failed))))))

(defun neuron-council-format--majority (verdict given)
  "Return the majority of VERDICT in words; GIVEN were uncertain, nil if unknown."
  (let ((majority (plist-get verdict :majority))
        (members (length (neuron-council-format--rows (plist-get verdict :votes)))))
    (concat "majority "
            (if majority (neuron-council-verdict-plain majority) "none")
            (if (and (equal majority "uncertain") (numberp given) (<= (* 2 given) members))
                ", with those who gave no vote"
              ""))))

(defun neuron-council-format--consensus (verdict)
  "Return the count of the votes of VERDICT in words."
  (let* ((report (plist-get verdict :report))
         (consensus (plist-get report :consensus))
         (failed (neuron-council-format--failed verdict))
         (uncertain (plist-get consensus :uncertain))
         (given (and (numberp uncertain) (max 0 (- uncertain failed)))))
    (if (not (consp consensus))
        ""
      (neuron-council-format--join
       (neuron-council-format--number "%s plausible" (plist-get consensus :plausible))
       (neuron-council-format--number "%s uncertain" given)
       (neuron-council-format--number "%s confabulation" (plist-get consensus :confabulation))
       (and (> failed 0) (format "%d without a vote" failed))
       (concat (neuron-council-format--number "%s valid" (plist-get consensus :valid))
               (neuron-council-format--number " (quorum %s)" (plist-get report :quorum)))
       (neuron-council-format--number "spread %.1f" (plist-get consensus :spread))
       (neuron-council-format--majority verdict given)))))

(defun neuron-council-format--challenge (challenge width)
  "Return lines of WIDTH columns for CHALLENGE."
  (let ((quote (neuron-council-verdict-plain (plist-get challenge :quote))))
    (concat
     (neuron-council-format--lines
      (concat (neuron-council-format--name (plist-get challenge :member)) " "
              (or (neuron-council-format--failure (plist-get challenge :failure))
                  (if (plist-get challenge :refuted) "refutes the claim" "does not refute the claim")))
      width)
     (neuron-council-format--lines (plist-get challenge :argument) width)
     (if (equal quote "")
         ""
       (neuron-council-format--hang "    It quotes: " (concat "\"" quote "\"") width)))))

(defun neuron-council-format--move (move width)
  "Return lines of WIDTH columns for MOVE, a changed vote."
  (neuron-council-format--lines
   (format "%s changed from %s to %s in loop %s"
           (neuron-council-format--name (plist-get move :member)) (neuron-council-format--name (plist-get move :from))
           (neuron-council-format--name (plist-get move :to)) (neuron-council-format--name (plist-get move :loop)))
   width))

(defun neuron-council-format--dissent (dissent width)
  "Return lines of WIDTH columns for DISSENT, a vote against the majority."
  (let ((failure (plist-get dissent :failure)))
    (neuron-council-format--lines
     (format (if failure "%s (%s): %s" "%s voted %s: %s")
             (neuron-council-format--name (plist-get dissent :member))
             (neuron-council-format--ballot dissent)
             (or (neuron-council-format--failure failure)
                 (neuron-council-verdict-plain (plist-get dissent :rationale))))
     width)))

;;;; Lenses

(defun neuron-council-format--box (checked)
  "Return a box, CHECKED or not, that does not need its colour."
  (propertize (if checked "[x]" "[ ]") 'face (if checked 'neuron-council-proven 'neuron-council-unproven)))

(defun neuron-council-format--finding (finding width)
  "Return lines of WIDTH columns for FINDING, what an oracle decided and on what."
  (let* ((oracle (neuron-council-format--name (plist-get finding :oracle)))
         (proven (plist-get finding :proven))
         (lines (neuron-council-format--hang
                 (concat "    " (neuron-council-format--box proven) " ")
                 (format "%s%s: %s" oracle (if (plist-get finding :hard) " (hard)" "")
                         (neuron-council-verdict-plain (plist-get finding :evidence)))
                 width)))
    (unless proven
      (neuron-council-format--mark lines "] " oracle 'face 'neuron-council-unproven))
    lines))

(defun neuron-council-format--lens (lens width)
  "Return lines of WIDTH columns for LENS: its status and its findings."
  (let* ((name (neuron-council-format--name (plist-get lens :lens)))
         (status (neuron-council-format--name (plist-get lens :status)))
         (findings (neuron-council-format--rows (plist-get lens :findings)))
         (proven 0))
    (dolist (finding findings)
      (when (and (consp finding) (plist-get finding :proven)) (setq proven (1+ proven))))
    (let ((verified (and (equal status "verified") (= proven (length findings))))
          (heading (neuron-council-format--hang
                    (concat "  " (neuron-council-format--box (equal status "verified")) " ")
                    (format "%s: %s, %d of %d proven" name status proven (length findings))
                    width)))
      (neuron-council-format--mark heading ": " status 'face (neuron-council-format--status-face status))
      (concat (neuron-council-format--heading heading (concat "lens " name) verified)
              (neuron-council-format--all #'neuron-council-format--finding findings width)))))

;;;; What stands beside the votes

(defun neuron-council-format--parked (report)
  "Return why the claim of REPORT was debated no further, nil if it was not."
  (let ((reason (plist-get report :parked_reason)))
    (when reason
      (let ((words (neuron-council-format--words reason neuron-council-format--parked-reasons)))
        (format "Parked because of %s%s" (neuron-council-verdict-plain reason) (if words (concat ": " words) ""))))))

(defun neuron-council-format--review (review)
  "Return REVIEW, a person's decision, in words; nil for nil."
  (when review
    (let ((decision (plist-get review :decision))
          (at (plist-get review :at))
          (note (neuron-council-verdict-plain (plist-get review :note))))
      (concat
       (pcase decision
         ("accept" "Accepted")
         ("reject" "Rejected")
         (_ (format "Decided (%s)" (neuron-council-verdict-plain (if (consp review) decision review)))))
       " by a person"
       ;; Seconds far off the calendar cannot be formatted.
       (or (ignore-errors (and (numberp at) (format-time-string ", %Y-%m-%d %H:%M" at))) "")
       (if (equal note "") "." (concat ": " note))))))

(defun neuron-council-format--other (words id width)
  "Return a line of WIDTH columns with WORDS and the ID of another verdict."
  (let ((id (neuron-council-verdict-plain id)))
    (if (equal id "")
        ""
      (neuron-council-format--mark
       (neuron-council-format--lines (concat words id) width)
       words id 'neuron-council-format-link (cons 'verdict id)))))

(defun neuron-council-format--tries (waiting)
  "Return how often a claim was tried in vain, and when it is tried again.
WAITING is what the ledger says of it while it is in the queue; nil where it
was not tried yet."
  (let ((attempts (and (proper-list-p waiting) (plist-get waiting :attempts)))
        (due (and (proper-list-p waiting) (plist-get waiting :due))))
    (when (and (integerp attempts) (> attempts 0))
      (concat
       (format "Tried in vain %s" (if (= attempts 1) "once" (format "%d times" attempts)))
       (or (ignore-errors (and (numberp due) (> due (float-time))
                               (format-time-string ", again from %Y-%m-%d %H:%M on" due)))
           "")
       "; M-x neuron-council-reevaluate tries it at once."))))

(defun neuron-council-format--time (verdict width)
  "Return lines of WIDTH columns for how long VERDICT took, and its id."
  (let* ((report (plist-get verdict :report))
         (loops (plist-get report :loop_count))
         (challenge (plist-get report :challenge))
         (rows (append (neuron-council-format--latencies (plist-get verdict :votes) "")
                       (neuron-council-format--latencies (and (consp challenge) (list challenge)) ", challenge"))))
    (concat
     (neuron-council-format--lines
      (neuron-council-format--join
       (neuron-council-format--seconds (plist-get verdict :latency_ms))
       (and (numberp loops) (format "%s loop%s" loops (if (eql loops 1) "" "s")))
       (and (plist-get verdict :cached) "from the cache"))
      width)
     (neuron-council-format--bars rows width)
     (neuron-council-format--lines (concat "id " (neuron-council-verdict-plain (plist-get verdict :id))) width
                                   'neuron-council-figures))))

(defun neuron-council-format--latencies (rows suffix)
  "Return names, with SUFFIX, and milliseconds of ROWS, for those that took any."
  (let ((found nil))
    (dolist (row (neuron-council-format--rows rows))
      (let ((taken (and (consp row) (plist-get row :latency_ms))))
        (when (and (numberp taken) (< 0 taken 1.0e12))
          (push (cons (concat (neuron-council-format--name (plist-get row :member)) suffix) taken) found))))
    (nreverse found)))

(defun neuron-council-format--bars (rows width)
  "Return ROWS, names and milliseconds, as aligned lines of WIDTH columns."
  (let* ((widest (max 6 (min 20 (- width 20))))
         (names (mapcar (lambda (row) (truncate-string-to-width (car row) widest nil nil t)) rows))
         (longest (apply #'max 1 (mapcar #'cdr rows)))
         (column (apply #'max 0 (mapcar #'string-width names)))
         (room (max 1 (min 30 (- width column 16)))))
    (mapconcat
     (lambda (row)
       (let ((name (pop names)))
         (concat "    " name (make-string (- column (string-width name)) ?\s)
                 (format " %9s " (neuron-council-format--seconds (cdr row)))
                 (propertize (make-string (max 1 (round (* room (/ (cdr row) (float longest))))) ?=)
                             'face 'neuron-council-figures)
                 "\n")))
     rows "")))

(defun neuron-council-format--replay (replay width)
  "Return lines of WIDTH columns for REPLAY, how the evidence was decided again.
It is what `neuron-council-replay-outcome' returns, or nil."
  (cond ((null replay) "")
        ((plist-get replay :same)
         (neuron-council-format--lines "Decided again without a model, the evidence has the same outcome." width
                                       'neuron-council-proven))
        (t (concat
            (neuron-council-format--lines
             "Decided again without a model, the evidence has ANOTHER outcome today:" width
             'neuron-council-unproven)
            (neuron-council-format--all #'neuron-council-format--lines (plist-get replay :reasons) width)))))

;;;; The whole

(defun neuron-council-format--status (verdict)
  "Return what the status of VERDICT means, and what a person can do."
  (cond
   ((neuron-council-verdict-superseded-p verdict) "Nobody could be asked then; the claim was judged later.")
   ;; The server judges again what it has; of a verdict that Emacs made itself it knows nothing.
   ((not (plist-get verdict :error))
    (neuron-council-format--words (plist-get verdict :status) neuron-council-format--statuses))
   ((ignore-errors (neuron-council-unsent-keeps-p (plist-get verdict :id)))
    "No server could be asked.  The claim is kept and judged when there is one; \
M-x neuron-council-doctor says what to mend.")
   (t "There is no verdict of the council, and none comes by itself: the reason is among the warnings.  \
Verify it again when that is mended; M-x neuron-council-doctor may say how.")))

(defun neuron-council-format--headline (verdict width)
  "Return lines of WIDTH columns that say what VERDICT comes to."
  (let* ((face (neuron-council-verdict-face verdict))
         (tier (plist-get verdict :tier))
         (lines (neuron-council-format--hang
                 ""
                 (neuron-council-format--join
                  (concat (upcase (neuron-council-format--name (plist-get verdict :status)))
                          (if tier (format " (%s)" (neuron-council-verdict-plain tier)) ""))
                  (neuron-council-format--number "confidence %.2f" (plist-get verdict :confidence))
                  (concat "tags: "
                          (mapconcat #'neuron-council-verdict-plain (neuron-council-verdict-tags verdict) ", ")))
                 width)))
    (neuron-council-format--in-face face lines)))

(defun neuron-council-format--outcome (verdict width)
  "Return lines of WIDTH columns for what VERDICT means to a person."
  (concat
   (neuron-council-format--lines (plist-get verdict :summary) width)
   (neuron-council-format--lines (neuron-council-format--status verdict) width)
   (neuron-council-format--lines (neuron-council-format--parked (plist-get verdict :report)) width)
   (neuron-council-format--lines (neuron-council-format--review (plist-get verdict :review)) width)
   (neuron-council-format--lines (neuron-council-format--tries (plist-get verdict :waiting)) width)
   (neuron-council-format--other "It supersedes " (plist-get verdict :supersedes) width)
   (neuron-council-format--other "It was superseded by " (plist-get verdict :superseded_by) width)))

(defun neuron-council-format--bodies (verdict width)
  "Return the titles and lines of WIDTH columns of VERDICT, in order."
  (let* ((report (plist-get verdict :report))
         (challenge (plist-get report :challenge)))
    (list
     (cons "Claim" (neuron-council-format--lines (plist-get verdict :claim) width))
     (cons "Context" (neuron-council-format--lines (plist-get verdict :context) width))
     (cons "Memory" (neuron-council-format--lines
                     (neuron-council-format--words (plist-get verdict :fate) neuron-council-format--fates) width))
     (cons "Warnings" (neuron-council-format--all #'neuron-council-format--lines (plist-get verdict :warnings) width))
     (cons "Votes"
           (concat (neuron-council-format--lines (neuron-council-format--consensus verdict) width
                                                 'neuron-council-figures)
                   (neuron-council-format--all #'neuron-council-format--vote (plist-get verdict :votes) width)))
     (cons "Challenge"
           (cond (challenge (neuron-council-format--all #'neuron-council-format--challenge (list challenge) width))
                 (report "    none was due\n")
                 (t "")))
     (cons "Changed votes"
           (neuron-council-format--all #'neuron-council-format--move (plist-get report :movement) width))
     (cons "Lenses" (neuron-council-format--all #'neuron-council-format--lens (plist-get report :lenses) width))
     (cons "Dissent"
           (cond ((plist-get report :dissent)
                  (neuron-council-format--all #'neuron-council-format--dissent (plist-get report :dissent) width))
                 (report "    none\n")
                 (t "")))
     (cons "Replay" (neuron-council-format--replay (plist-get verdict :replay) width))
     (cons "Time" (neuron-council-format--time verdict width)))))

(defun neuron-council-format-sections (verdict width)
  "Return the sections of VERDICT, each a heading and its text, in order.
Both are strings of whole lines of WIDTH columns; the text properties are
those that the head of this file tells.  The first section is the outcome,
a section without text is left out."
  (let ((sections nil))
    (pcase-dolist (`(,title . ,body) (neuron-council-format--bodies verdict width))
      (unless (equal body "")
        (push (cons (neuron-council-format--heading
                     (concat title "\n") title
                     (and (equal title "Context")
                          (> (length body) (* width neuron-council-format--lines-shown))))
                    body)
              sections)))
    (cons (cons (neuron-council-format--heading (neuron-council-format--headline verdict width) "Outcome")
                (neuron-council-format--outcome verdict width))
          (nreverse sections))))

;;;###autoload
(defun neuron-council-format-verdict (verdict &optional width)
  "Return VERDICT, a plist as `neuron-council-verify' gives it, as a text.
It tells the outcome, the claim, what became of the memory, every vote
with its rationale, the challenge, what each lens found, the dissent and
the time, in lines of WIDTH columns (80 if nil).  What models wrote in it
is plain text."
  (mapconcat (lambda (section) (concat (car section) (cdr section)))
             (neuron-council-format-sections verdict (or width 80))
             "\n"))

(provide 'neuron-council-format)
;;; neuron-council-format.el ends here
