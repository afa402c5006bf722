;;; report-test.el --- Tests of verdicts as people read them  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Code:

(require 'helper)
(require 'bookmark)
(require 'neuron-council-format)
(require 'neuron-council-report)
(require 'neuron-council-report-org)

(defconst neuron-council-test-parked
  '(:id "550e8400-e29b-41d4-a716-446655440000" :claim "The tower is 330 m high." :confidence 0.65
    :council_votes ("plausible" "uncertain" "plausible")
    :summary "2/3 council members agree this is plausible."
    :tags ("council-split" "council-parked") :latency_ms 12340 :status "parked" :tier "T4" :majority "plausible"
    :cached t :warnings ("neuron-ft:latest is not installed: ollama pull neuron-ft")
    :votes ((:member "neuron" :model "neuron:latest" :role "member" :vote "plausible"
             :axes (:coherent 5 :factual 4 :grounded nil) :confidence 0.9 :strength 4.5
             :probabilities (:plausible 0.93 :uncertain 0.05 :confabulation 0.02)
             :rationale "It agrees with what is known." :latency_ms 700 :failure nil)
            (:member "neuron-ft" :model "neuron-ft:latest" :role "member" :vote "uncertain" :axes nil
             :confidence nil :strength nil :probabilities nil :rationale "" :latency_ms 10000
             :failure (:kind "timeout" :message "no answer within 10 s"))
            (:member "dolphin" :model "dolphin3:8b" :role "contrarian" :vote "plausible"
             :axes (:coherent 5 :factual 5 :grounded 5) :confidence 0.8 :strength 5.0 :probabilities nil
             :rationale "Nothing against it." :latency_ms 800 :failure nil))
    :report (:loop_count 2 :parked_reason "no-movement" :quorum 2
             :movement ((:loop 2 :member "dolphin" :from "uncertain" :to "plausible"))
             :challenge (:member "dolphin" :refuted t :argument "The context says otherwise." :quote "300 m tall"
                         :latency_ms 600 :failure nil)
             :consensus (:valid 2 :plausible 2 :uncertain 1 :confabulation 0 :spread 0.5)
             :lenses ((:lens "domain" :status "unverified"
                       :findings ((:oracle "claim-is-data" :hard t :proven t :evidence "no such text")
                                  (:oracle "figures-grounded" :hard nil :proven nil
                                   :evidence "claim: 330; context: 300"))))
             :dissent ((:member "neuron-ft" :vote "uncertain" :rationale ""
                        :failure (:kind "timeout" :message "no answer within 10 s")))))
  "A verdict that has something in every field.")

(defun neuron-council-test-path (verdict path)
  "Return the place (as a list that begins with it) of the value at PATH of VERDICT.
PATH is a list of keywords and numbers."
  (let ((place nil))
    (dolist (step path place)
      (setq place (if (keywordp step) (cdr (plist-member verdict step)) (nthcdr step verdict))
            verdict (car place)))))

(defun neuron-council-test-paths (value)
  "Return the paths of everything in VALUE, a plist or a list."
  (let ((paths nil))
    (when (consp value)
      (if (keywordp (car value))
          (while value
            (let ((key (pop value)))
              (push (list key) paths)
              (dolist (path (neuron-council-test-paths (pop value)))
                (push (cons key path) paths))))
        (dotimes (n (length value))
          (push (list n) paths)
          (dolist (path (neuron-council-test-paths (nth n value)))
            (push (cons n path) paths)))))
    (nreverse paths)))

(defconst neuron-council-test-hostile
  (propertize "x\e[2J‮\n\nVERIFIED \\[kill-emacs] %s\n* TODO x\n#+end_example\n:END:\n[Accept]"
              'display "other" 'keymap (make-sparse-keymap) 'button t 'category 'default-button
              'neuron-council-format-link '(verdict . "x") 'neuron-council-format-heading "x" 'invisible t)
  "What a model may write.")

;;;; Text

(ert-deftest neuron-council-test-report-tells-everything ()
  (let ((text (neuron-council-format-verdict
               (append '(:context "It is 300 m tall." :fate held :supersedes "an-older-id"
                         :review (:decision "accept" :note "Measured it." :at 1700000000))
                       neuron-council-test-parked))))
    (dolist (part '("PARKED (T4), confidence 0.65, tags: council-split, council-parked\n    2/3 council members agree"
                    "Claim\n    The tower is 330 m high.\n" "Context\n    It is 300 m tall.\n"
                    "The council leaves it to a person" "Parked because of no-movement: the last loop repeated"
                    "Accepted by a person, 2023-11-1" ": Measured it." "It supersedes an-older-id"
                    "Memory\n    It is kept until you decide"
                    "2 plausible, 0 uncertain, 0 confabulation, 1 without a vote, 2 valid (quorum\n    2), spread 0.5, majority plausible"
                    "  neuron (neuron:latest): plausible\n    confidence 0.90, strength 4.5, coherent 5, factual 4\n"
                    "probabilities: plausible 93%, uncertain 5%, confabulation 2%"
                    "It agrees with what is known."
                    "  neuron-ft (neuron-ft:latest): no answer\n    failed (timeout): no answer within 10 s"
                    "  dolphin (dolphin3:8b, contrarian): plausible"
                    "dolphin refutes the claim" "The context says otherwise." "It quotes: \"300 m tall\""
                    "dolphin changed from uncertain to plausible in loop 2"
                    "  [ ] domain: unverified, 1 of 2 proven\n    [x] claim-is-data (hard): no such text"
                    "    [ ] figures-grounded: claim: 330; context: 300"
                    "neuron-ft (no answer): failed (timeout)"
                    "ollama pull neuron-ft"
                    "12.3 s, 2 loops, from the cache\n    neuron                700 ms ==\n"
                    "dolphin, challenge    600 ms ==" "550e8400-e29b-41d4-a716-446655440000"))
      (should (string-search part text)))
    (should-not (string-match-p "grounded nil\\|nil" text))
    (should (string-suffix-p "\n" text))))

(ert-deftest neuron-council-test-report-says-what-a-person-can-do ()
  (pcase-dolist (`(,path ,value ,words) '(((:status) "emitted" "The checker verified the decision")
                                          ((:status) "rejected" "A hard check failed")
                                          ((:status) "unavailable" "M-x neuron-council-doctor")
                                          ((:report :parked_reason) "loops" "as often as they may")
                                          ((:report :parked_reason) "no-quorum" "too few members")
                                          ((:report :parked_reason) "deadline" "`deadline_s' in council.toml")
                                          ((:votes 1 :failure :kind) "unparsable" "keeps to a JSON schema")
                                          ((:votes 1 :failure :kind) "http-error" "log of the backend")
                                          ((:fate) rejected "restore stores it after all")
                                          ((:fate) unstored "M-x neuron-council-resume-pending")))
    (let ((verdict (append (copy-tree neuron-council-test-parked) (list :fate nil))))
      (setcar (neuron-council-test-path verdict path) value)
      (should (string-search words (replace-regexp-in-string
                                    "[ \n]+" " " (neuron-council-format-verdict verdict)))))))

(ert-deftest neuron-council-test-report-gives-no-vote-to-who-gave-none ()
  "A member that failed is counted as uncertain, and said no such thing."
  (pcase-dolist (`(,kind ,words) '(("model-not-found" "not asked") ("unreachable" "not asked") ("not-asked" "not asked")
                                   ("unparsable" "no valid answer") ("timeout" "no answer") ("http-error" "no answer")
                                   (7 "no answer")))
    (let ((verdict (copy-tree neuron-council-test-parked)))
      (dolist (vote (plist-get verdict :votes))
        (plist-put vote :vote "uncertain")
        (plist-put vote :failure (list :kind kind :message "why")))
      (plist-put verdict :majority "uncertain")
      (plist-put (plist-get verdict :report) :consensus '(:valid 0 :plausible 0 :uncertain 3 :confabulation 0))
      (plist-put (plist-get verdict :report) :movement nil)
      (let ((text (neuron-council-format-verdict verdict)))
        (should (string-search (format "  neuron (neuron:latest): %s\n    failed (%s): why" words kind) text))
        (should (string-search "0 plausible, 0 uncertain, 0 confabulation, 3 without a vote, 0 valid" text))
        (should (string-match-p "majority uncertain,[ \n]+with those who gave no vote" text))
        (should-not (string-search ": uncertain" text))))))

(ert-deftest neuron-council-test-report-says-what-is-not-there ()
  (let ((verdict (copy-tree neuron-council-test-parked)))
    (setf (plist-get (plist-get verdict :report) :dissent) nil
          (plist-get (plist-get verdict :report) :challenge) nil)
    (let ((text (neuron-council-format-verdict verdict)))
      (should (string-match-p "^Dissent\n    none$" text))
      (should (string-match-p "^Challenge\n    none was due$" text)))))

(ert-deftest neuron-council-test-report-of-an-unavailable-verdict ()
  (let ((text (neuron-council-format-verdict
               (neuron-council-verdict-unavailable "A claim" "some-id" '(neuron-council-error "the server died")))))
    (should (string-match-p "^UNAVAILABLE, confidence 0.50, tags: council-unavailable$" text))
    (should (string-match-p "the server died" text))
    (should (string-search "There is no verdict of the council, and none comes by itself" text))
    (should (string-match-p "A claim" text))
    (should-not (string-match-p "Votes\\|Lenses\\|Dissent\\|Challenge" text))))

(ert-deftest neuron-council-test-report-promises-only-what-is-kept ()
  (let ((verdict (neuron-council-verdict-unavailable "A claim" "some-id" '(neuron-council-error "away"))))
    (cl-letf (((symbol-function 'neuron-council-unsent-keeps-p) (lambda (id) (equal id "some-id"))))
      (should (string-search "The claim is kept and judged when there is one" (neuron-council-format-verdict verdict))))
    (cl-letf (((symbol-function 'neuron-council-unsent-keeps-p) (lambda (_) (error "Permission denied"))))
      (should (string-search "none comes by itself" (neuron-council-format-verdict verdict))))
    ;; What the server says of itself it keeps to.
    (should (string-search "It is judged when the backend is back"
                           (neuron-council-format-verdict '(:status "unavailable" :tags ("council-unavailable")))))))

(ert-deftest neuron-council-test-report-of-megabytes ()
  "However long a text is, it is shown soon, and that it goes on is said."
  (pcase-dolist (`(,path ,char) '(((:claim) #x202e) ((:summary) ?x) ((:tags 0) ?x) ((:votes 0 :member) ?x)
                                  ((:votes 0 :rationale) ?x) ((:report :challenge :quote) ?x)
                                  ((:report :lenses 0 :findings 0 :evidence) ?x)))
    (let ((verdict (copy-tree neuron-council-test-parked)))
      (setcar (neuron-council-test-path verdict path) (make-string 1000000 char))
      (let (text)
        (should (< (neuron-council-test-seconds (setq text (neuron-council-format-verdict verdict)))
                   neuron-council-test-never))
        (should (string-match-p "\\.\\.\\. (950000 characters more)" (replace-regexp-in-string "\n +" " " text)))))))

(ert-deftest neuron-council-test-report-in-a-narrow-window ()
  (save-window-excursion
    (delete-other-windows)
    (split-window-horizontally 30)
    (neuron-council-test-clean
      (let ((display-buffer-overriding-action '(display-buffer-same-window)))
        (neuron-council-report-show neuron-council-test-parked)
        (should (< (window-body-width) 40))
        (should word-wrap)
        (goto-char (point-min))
        (while (not (eobp))
          (unless (looking-at-p " +\\[Accept")
            (end-of-line)
            (should (<= (current-column) (window-body-width))))
          (forward-line))))))

(ert-deftest neuron-council-test-report-of-a-verdict-without-an-id ()
  "Whatever else has none, it is this one that is shown."
  (neuron-council-test-clean
    (neuron-council-verdict-add (append '(:id nil :claim "Another claim") neuron-council-test-parked))
    (save-window-excursion
      (neuron-council-report-show (append '(:id nil :claim "The claim at hand") neuron-council-test-parked))
      (should (string-match-p "The claim at hand" (buffer-string))))))

(ert-deftest neuron-council-test-report-lines-keep-to-the-width ()
  (let ((verdict (copy-tree neuron-council-test-parked)))
    (setf (plist-get verdict :claim) (apply #'concat (make-list 300 "東京 and words ")))
    (setf (plist-get (car (plist-get verdict :votes)) :rationale) (make-string 1000 ?x)
          (plist-get (car (plist-get verdict :votes)) :member) (make-string 200 ?m))
    (dolist (width '(nil 60 120))
      (dolist (line (split-string (neuron-council-format-verdict verdict width) "\n"))
        (should (<= (string-width line) (or width 80)))))))

(ert-deftest neuron-council-test-report-shows-model-text-as-plain-text ()
  (dolist (path (append '((:claim) (:summary)) (neuron-council-test-paths neuron-council-test-parked)))
    (let ((verdict (copy-tree neuron-council-test-parked)))
      (when (stringp (car (neuron-council-test-path verdict path)))
        (setcar (neuron-council-test-path verdict path) neuron-council-test-hostile)
        (let ((text (neuron-council-format-verdict verdict)))
          (should-not (string-match-p "[\0-\t\v-\37\177‮]" text))
          (should-not (string-match-p "^VERIFIED" text))
          (let ((at 0))
            (while at
              (let ((properties (text-properties-at at text)))
                (dolist (property '(display keymap button category invisible))
                  (should-not (plist-get properties property)))
                (should-not (equal "x" (plist-get properties 'neuron-council-format-heading)))
                (should-not (equal '(verdict . "x") (plist-get properties 'neuron-council-format-link))))
              (setq at (next-property-change at text)))))))))

(ert-deftest neuron-council-test-report-headings-cannot-be-forged ()
  (dolist (path (neuron-council-test-paths neuron-council-test-parked))
    (let ((verdict (copy-tree neuron-council-test-parked)))
      (setcar (neuron-council-test-path verdict path) neuron-council-test-hostile)
      (let ((text (neuron-council-format-verdict verdict))
            (at 0))
        (while (string-match "^\\(?:  \\)?[^ \n]" text at)
          (should (get-text-property (match-beginning 0) 'neuron-council-format-heading text))
          (setq at (match-end 0)))))))

(defconst neuron-council-test-odd-values
  (list nil 5 -1.0e+20 "x" '(1) '(:a 1) [1 2] (make-string 2000 ?y) neuron-council-test-hostile
        (string ?a (unibyte-char-to-multibyte #xff)) "\xff")
  "What may stand where something else is expected.")

(defun neuron-council-test-odd (values function)
  "Call FUNCTION with verdicts in which one of VALUES stands, for every field."
  (let ((gc-cons-threshold 100000000))
    (dolist (path (neuron-council-test-paths neuron-council-test-parked))
      (dolist (value values)
        (let ((verdict (copy-tree neuron-council-test-parked)))
          (setcar (neuron-council-test-path verdict path) value)
          (funcall function verdict))))))

(ert-deftest neuron-council-test-report-text-of-odd-verdicts ()
  (neuron-council-test-odd
   neuron-council-test-odd-values
   (lambda (verdict)
     (should-not (cl-find-if (lambda (line) (> (string-width line) 80))
                             (split-string (neuron-council-format-verdict verdict) "\n")))))
  (dolist (verdict '(nil (1) 5 "x" (:id) (:id 5 :tags "x" :review 5 :supersedes (1) :context 7 :fate 9)
                         (:status "parked" :review (:decision 5 :at "x" :note (1)) :source 5)
                         (:review (:decision "accept" :at 1.0e30))))
    (should (stringp (neuron-council-format-verdict verdict)))))

(ert-deftest neuron-council-test-report-faces ()
  (pcase-dolist (`(,tags ,face) '((("verified") neuron-council-verified)
                                  (("council-split") neuron-council-doubtful)
                                  (("council-split" "council-parked") neuron-council-doubtful)
                                  (("unverified" "council-flagged" "council-parked") neuron-council-doubtful)
                                  (("unverified" "council-flagged") neuron-council-flagged)
                                  (("council-unavailable") neuron-council-unavailable)
                                  (5 neuron-council-doubtful)))
    (should (eq face (neuron-council-verdict-face (list :tags tags)))))
  ;; Colours belong to the themes: every face of a verdict inherits its own.
  (dolist (face '(neuron-council-heading neuron-council-figures neuron-council-proven neuron-council-unproven))
    (should (face-attribute face :inherit))
    (should (equal (face-attribute face :foreground) 'unspecified))))

(ert-deftest neuron-council-test-report-faces-end-with-the-text ()
  (let ((text (neuron-council-format-verdict neuron-council-test-parked 60)) (at 0))
    (should (get-text-property 0 'face text))
    (while (setq at (string-search "\n" text at))
      (should-not (get-text-property at 'face text))
      (setq at (1+ at)))))

;;;; Org

(ert-deftest neuron-council-test-report-as-org ()
  (let ((text (neuron-council-report-as-org neuron-council-test-parked)))
    (should (string-prefix-p "* Council verdict: parked
:PROPERTIES:
:COUNCIL_ID: 550e8400-e29b-41d4-a716-446655440000
:COUNCIL_CONFIDENCE: 0.65
:COUNCIL_TAGS: council-split council-parked
:END:
#+begin_example
PARKED (T4)" text))
    (should (string-search "\n** Claim\n#+begin_example\n    The tower is 330 m high.\n#+end_example\n" text))
    (should-not (text-properties-at 0 text))))

(ert-deftest neuron-council-test-report-as-org-is-no-markup ()
  (require 'org)
  (require 'org-element)
  (with-temp-buffer
    (delay-mode-hooks (org-mode))
    (dolist (text (list neuron-council-test-hostile "* x" "#+end_example" ":END:" ",* x" "<<t>> :tag:"))
      ;; Every text of the verdict is hostile.
      (let ((verdict (copy-tree neuron-council-test-parked)))
        (dolist (path (neuron-council-test-paths verdict))
          (when (stringp (car (neuron-council-test-path verdict path)))
            (setcar (neuron-council-test-path verdict path) text)))
        (erase-buffer)
        (insert (neuron-council-report-as-org verdict))
        (let ((titles nil))
          (org-element-map (org-element-parse-buffer 'element) '(headline paragraph keyword)
            (lambda (element)
              ;; Below the headings stand drawers and example blocks alone.
              (should (eq (org-element-type element) 'headline))
              (push (org-element-property :raw-value element) titles)))
          (should (equal (nreverse titles)
                         '("Council verdict: odd" "Claim" "Warnings" "Votes" "Challenge" "Changed votes"
                           "Lenses" "Dissent" "Time"))))))))

;;;; The buffer

(defmacro neuron-council-test-report (script &rest body)
  "Run BODY with a server that follows SCRIPT; the windows are as before then."
  (declare (indent 1) (debug t))
  `(neuron-council-test-with ,script
     (save-window-excursion ,@body)))

(defun neuron-council-test-report-add (n &rest notes)
  "Keep a verdict whose id is made of N at hand, with NOTES."
  (apply #'neuron-council-verdict-add (append (list :id (format "id-%d" n)) neuron-council-test-parked) notes))

(defun neuron-council-test-report-stored (&rest fields)
  "Return a script in which the ledger has a verdict with FIELDS."
  (let ((verdict (copy-sequence neuron-council-test-parked)))
    (while fields
      (setq verdict (plist-put verdict (pop fields) (pop fields))))
    (list :answers (list :council/show (list :result verdict)))))

(defun neuron-council-test-report-at (text)
  "Go to TEXT in the buffer."
  (goto-char (point-min))
  (search-forward text)
  (goto-char (match-beginning 0)))

(defun neuron-council-test-report-visible-p (text)
  "Return non-nil when TEXT is in the buffer and not folded."
  (save-excursion
    (neuron-council-test-report-at text)
    (not (invisible-p (point)))))

(ert-deftest neuron-council-test-report-buffer ()
  (neuron-council-test-report nil
    (dotimes (n 4) (neuron-council-test-report-add n))
    (should (eq (neuron-council-report-show "id-1") (current-buffer)))
    (should (equal (buffer-name) "*neuron-council report*"))
    (should buffer-read-only)
    (should (derived-mode-p 'neuron-council-report-mode 'special-mode))
    (should (string-match-p "\\`PARKED (T4)" (buffer-string)))
    (should (string-match-p "verdict 3 of 4 at hand" (neuron-council-report--header)))
    (neuron-council-report-next)
    (should (equal neuron-council-report--id "id-0"))
    (should-error (neuron-council-report-next) :type 'user-error)
    (neuron-council-report-previous 3)
    (should (equal neuron-council-report--id "id-3"))
    (should-error (neuron-council-report-previous) :type 'user-error)
    (neuron-council-report-back)
    (should (equal neuron-council-report--id "id-0"))
    (neuron-council-report-back)
    (should (equal neuron-council-report--id "id-1"))
    (should-error (neuron-council-report-back) :type 'user-error)
    (neuron-council-report-forward)
    (should (equal neuron-council-report--id "id-0"))
    (neuron-council-report-copy-id)
    (should (equal (current-kill 0) "id-0"))
    (neuron-council-report-copy-as-org)
    (should (string-search ":COUNCIL_ID: id-0" (current-kill 0)))
    ;; Nothing of this asked the server.
    (should-not neuron-council-process--server)
    (should-not (buffer-modified-p))))

(ert-deftest neuron-council-test-report-buffer-shows-the-newest-or-none ()
  (neuron-council-test-report nil
    (neuron-council-report-show)
    (should (string-match-p "No verdict yet" (buffer-string)))
    (dolist (command '(neuron-council-report-accept neuron-council-report-forget neuron-council-report-copy-id
                       neuron-council-report-reverify neuron-council-report-source neuron-council-report-next))
      (should-error (funcall command) :type 'user-error))
    (revert-buffer)
    (neuron-council-test-report-add 1)
    (neuron-council-test-report-add 2)
    (neuron-council-report-show)
    (should (equal neuron-council-report--id "id-2"))))

(ert-deftest neuron-council-test-report-of-a-verdict-itself ()
  (neuron-council-test-report nil
    (neuron-council-report-show neuron-council-test-parked)
    (should (string-match-p "\\`PARKED (T4)" (buffer-string)))
    (neuron-council-report-show '(:summary "No id"))
    (should (string-search "No id" (buffer-string)))))

(ert-deftest neuron-council-test-report-folds ()
  (neuron-council-test-report nil
    (let ((verdict (copy-tree neuron-council-test-parked)))
      (push '(:lens "coherence" :status "verified"
              :findings ((:oracle "quorum-met" :hard nil :proven t :evidence "2 of 2")))
            (plist-get (plist-get verdict :report) :lenses))
      (neuron-council-verdict-add verdict))
    (neuron-council-report-show)
    ;; What is proven is folded, what is not is open.
    (should-not (neuron-council-test-report-visible-p "quorum-met"))
    (should (neuron-council-test-report-visible-p "figures-grounded"))
    (should (neuron-council-test-report-visible-p "It agrees with"))
    (neuron-council-test-report-at "[x] coherence")
    (neuron-council-report-tab)
    (should (neuron-council-test-report-visible-p "quorum-met"))
    (neuron-council-test-report-at "  neuron (")
    (neuron-council-report-return)
    (should-not (neuron-council-test-report-visible-p "It agrees with"))
    (should (neuron-council-test-report-visible-p "Nothing against"))
    ;; Drawn anew, it is folded as before, and point stays.
    (neuron-council-verdict-note neuron-council-report--id :review '(:decision "reject"))
    (neuron-council-report--changed)
    (should (string-search "Rejected by a person" (buffer-string)))
    (should (neuron-council-test-report-visible-p "quorum-met"))
    (should-not (neuron-council-test-report-visible-p "It agrees with"))
    (goto-char (point-min))
    (search-forward "Claim")
    (neuron-council-report-tab)
    (should-not (neuron-council-test-report-visible-p "The tower is"))
    ;; A section that is folded keeps its distance from the next.
    (should (neuron-council-test-report-visible-p "\n\nWarnings"))
    (neuron-council-report-fold-all)
    (should (neuron-council-test-report-visible-p "The tower is"))
    (should (neuron-council-test-report-visible-p "It agrees with"))
    (neuron-council-report-fold-all)
    (should-not (neuron-council-test-report-visible-p "Nothing against"))
    (neuron-council-report-fold-all)
    (goto-char (point-min))
    (outline-next-visible-heading 2)
    (should (looking-at-p "Warnings"))
    (outline-previous-visible-heading 1)
    (should (looking-at-p "Claim"))
    (forward-line)
    (should-error (neuron-council-report-return) :type 'user-error)
    (should (equal (mapcar #'car (funcall imenu-create-index-function))
                   '("Outcome" "Claim" "Warnings" "Votes" "neuron" "neuron-ft" "dolphin" "Challenge" "Changed votes"
                     "Lenses" "coherence" "domain" "Dissent" "Time")))))

(ert-deftest neuron-council-test-report-of-what-was-superseded ()
  "It promises no verdict that is there already, and leads to it."
  (let* ((verdict '(:id "old" :claim "A claim" :status "unavailable" :confidence 0.5 :tags ("council-unavailable")))
         (text (neuron-council-format-verdict (append '(:superseded_by "new") verdict))))
    (should (string-search "the claim was judged later" text))
    (should (string-search "It was superseded by new" text))
    (should-not (string-search "when the backend is back" text))
    (should (string-search "when the backend is back" (neuron-council-format-verdict verdict)))
    (neuron-council-test-clean
      (neuron-council-verdict-add verdict)
      (neuron-council-verdict-supersede "old" '(:id "new" :claim "A claim" :status "emitted"))
      (should (equal (plist-get (neuron-council-verdict-find "old") :superseded_by) "new"))
      (should (equal (plist-get (neuron-council-verdict-find "new") :supersedes) "old")))))

(ert-deftest neuron-council-test-report-of-tries-in-vain ()
  (cl-flet ((text (waiting) (neuron-council-format-verdict (list :status "unavailable" :waiting waiting))))
    (should (string-search "Tried in vain once; M-x neuron-council-reevaluate" (text '(:attempts 1 :due 0))))
    (should (string-match-p "Tried in vain 3 times, again from [0-9 :-]+ on;"
                            (replace-regexp-in-string "\n *" " " (text (list :attempts 3 :due (+ (float-time) 900))))))
    (dolist (waiting '(nil (:attempts 0 :due 0) (:attempts "3") 7 (:attempts 1.5)))
      (should-not (string-search "in vain" (text waiting))))))

(ert-deftest neuron-council-test-report-buttons ()
  (neuron-council-test-report '(:answers (:council/health (:result (:members [(:id "neuron" :model "neuron:latest"
                                                                               :installed t :loaded t)]))))
    (neuron-council-test-report-add 1)
    (neuron-council-test-report-add 2 :supersedes "id-1")
    (neuron-council-report-show)
    (goto-char (point-min))
    (let ((labels nil) (at (point-min)))
      (while (setq at (next-button at))
        (push (button-label at) labels))
      (should (equal (nreverse labels)
                     '("id-1" "[Accept]" "[Reject]" "[Re-verify]" "[Replay]" "[Copy as Org]"
                       "neuron:latest" "neuron-ft:latest" "dolphin3:8b"))))
    (neuron-council-test-report-at "neuron:latest")
    (should (member "neuron is neuron:latest: installed and loaded"
                    (neuron-council-test-messages
                      (push-button)
                      (neuron-council-test-until (null neuron-council-rpc-jobs)))))
    (neuron-council-test-report-at "id-1")
    (push-button)
    (should (equal neuron-council-report--id "id-1"))))

(ert-deftest neuron-council-test-report-looks-up-what-is-not-at-hand ()
  (neuron-council-test-report (neuron-council-test-report-stored :id "far" :context "300 m" :supersedes nil :review nil)
    (neuron-council-report-show "far")
    (should (string-match-p "\\`Looking up far" (buffer-string)))
    (should (string-match-p "looking it up" (neuron-council-report--header)))
    (neuron-council-test-until neuron-council-report--verdict)
    (should (string-match-p "\\`PARKED" (buffer-string)))
    (should (string-search "Context\n    300 m" (buffer-string)))
    (should (equal "far" (plist-get (car neuron-council-verdicts) :id)))
    (should-not neuron-council-report--busy)))

(ert-deftest neuron-council-test-report-of-an-unknown-id ()
  (neuron-council-test-report '(:answers (:council/show (:error (:code -32001 :message "no such verdict"))))
    (neuron-council-report-show "far")
    (neuron-council-test-until (null neuron-council-rpc-jobs))
    (should (string-match-p "\\`The ledger knows no verdict far" (buffer-string)))
    (neuron-council-test-report-add 1)
    (neuron-council-report-next)
    (should (equal neuron-council-report--id "id-1"))))

(ert-deftest neuron-council-test-report-without-a-server ()
  (neuron-council-test-report nil
    (let ((neuron-council-server-command '("/no/such/program")))
      (neuron-council-report-show "far")
      (neuron-council-test-until (null neuron-council-rpc-jobs))
      (should (string-match-p "\\`far cannot be looked up: " (buffer-string))))))

(ert-deftest neuron-council-test-report-of-an-answer-that-is-no-verdict ()
  (neuron-council-test-report '(:answers (:council/show (:result (:id 5))))
    (neuron-council-report-show "far")
    (neuron-council-test-until (null neuron-council-rpc-jobs))
    (should (string-match-p "is no verdict" (buffer-string)))
    (should-not neuron-council-verdicts)))

(ert-deftest neuron-council-test-report-drops-a-late-answer ()
  (neuron-council-test-report (neuron-council-test-report-stored :id "far")
    (neuron-council-test-report-add 1)
    (neuron-council-report-show "far")
    (neuron-council-report-show "id-1")
    (neuron-council-test-until (null neuron-council-rpc-jobs))
    (should (equal neuron-council-report--id "id-1"))
    (should (string-match-p "\\`PARKED" (buffer-string)))
    ;; A buffer that is gone is not missed.
    (neuron-council-report-show "far")
    (kill-buffer)
    (neuron-council-test-until (null neuron-council-rpc-jobs))))

(ert-deftest neuron-council-test-report-revert-asks-for-the-review ()
  (neuron-council-test-report (neuron-council-test-report-stored
                               :id "id-1" :supersedes "old" :review '(:decision "accept" :note "Yes" :at 7))
    (neuron-council-test-report-add 1 :fate 'stored)
    (neuron-council-test-report-add 2)
    (neuron-council-report-show "id-1")
    (revert-buffer)
    (neuron-council-test-until (null neuron-council-rpc-jobs))
    (should (string-search "Accepted by a person" (buffer-string)))
    (should (string-search "It was stored with its tags" (buffer-string)))
    (should-not neuron-council-report--busy)
    ;; It does not become the newest by being looked at.
    (should (equal (mapcar (lambda (verdict) (plist-get verdict :id)) neuron-council-verdicts) '("id-2" "id-1")))))

(ert-deftest neuron-council-test-report-revert-keeps-point ()
  (neuron-council-test-report '(:answers (:council/show (:error (:code -32001 :message "no such verdict"))))
    (neuron-council-test-report-add 1)
    (neuron-council-report-show "id-1")
    (neuron-council-test-report-at "figures-grounded")
    (set-window-point nil (point))
    (revert-buffer)
    (should (looking-at-p "figures-grounded"))
    (neuron-council-test-until (null neuron-council-rpc-jobs))
    (should (looking-at-p "figures-grounded"))
    (should (equal neuron-council-report--busy "the ledger does not know it"))))

(ert-deftest neuron-council-test-report-draws-nothing-that-is-not-seen ()
  (neuron-council-test-report nil
    (neuron-council-test-report-add 0)
    (neuron-council-report-show)
    (let ((drawn 0))
      (cl-letf* ((draw (symbol-function 'neuron-council-report--render))
                 ((symbol-function 'neuron-council-report--render)
                  (lambda (&rest arguments) (setq drawn (1+ drawn)) (apply draw arguments))))
        (dotimes (n 40)
          (neuron-council-test-report-add (1+ n))
          (run-hooks 'neuron-council-verdicts-hook))
        (should (= drawn 0))
        (neuron-council-verdict-note "id-0" :fate 'accepted)
        (run-hooks 'neuron-council-verdicts-hook)
        (should (= drawn 1))
        (should (string-search "You accepted it" (buffer-string)))
        (let ((buffer (current-buffer)))
          (switch-to-buffer "*scratch*")
          (neuron-council-verdict-note "id-0" :fate 'dropped)
          (run-hooks 'neuron-council-verdicts-hook)
          (should (= drawn 1))
          (set-buffer buffer)
          (run-hook-with-args 'window-buffer-change-functions (selected-window))
          (should (= drawn 2))
          (should (string-search "You rejected it" (buffer-string))))))))

(ert-deftest neuron-council-test-report-forgets ()
  (neuron-council-test-report '(:answers (:council/forget (:result (:forgotten 1))))
    (neuron-council-verdict-add neuron-council-test-parked)
    (neuron-council-report-show)
    (cl-letf (((symbol-function 'yes-or-no-p) #'ignore))
      (should-error (neuron-council-report-forget) :type 'user-error))
    (should (string-search "The tower" (buffer-string)))
    (cl-letf (((symbol-function 'yes-or-no-p) #'always))
      (neuron-council-report-forget))
    (should (equal (buffer-string) "This verdict was forgotten.\n"))
    (should-not neuron-council-verdicts)))

(ert-deftest neuron-council-test-report-decides ()
  (neuron-council-test-report (neuron-council-test-report-stored :id "id-1" :review '(:decision "accept" :at 7))
    (neuron-council-test-report-add 1)
    (neuron-council-report-show)
    (let ((decided nil))
      (cl-letf (((symbol-function 'neuron-council-accept) (lambda (&rest arguments) (push (cons 'accept arguments) decided)))
                ((symbol-function 'neuron-council-reject) (lambda (&rest arguments) (push (cons 'reject arguments) decided)))
                ((symbol-function 'neuron-council-restore)
                 (lambda (&rest arguments) (push (cons 'restore arguments) decided)))
                ((symbol-function 'neuron-council-report--held) (lambda (_) '(rejected)))
                ((symbol-function 'y-or-n-p) #'ignore))
        (call-interactively #'neuron-council-report-accept)
        (neuron-council-report-restore "note")
        ;; A memory that would be dropped is asked about.
        (should-error (neuron-council-report-reject) :type 'user-error)
        (cl-letf (((symbol-function 'y-or-n-p) #'always))
          (neuron-council-report-reject "no")))
      (should (equal decided '((reject "id-1" "no") (restore "id-1" "note") (accept "id-1" nil)))))
    (neuron-council-test-until (null neuron-council-rpc-jobs))
    (should (string-search "Accepted by a person" (buffer-string)))))

(ert-deftest neuron-council-test-report-tells-of-a-held-memory ()
  (neuron-council-test-report nil
    (let ((id (neuron-council-test-uuid 1)))
      (neuron-council-verdict-add (append (list :id id) neuron-council-test-parked))
      (pcase-dolist (`(,reason ,words ,button) '((parked "kept until you decide" "[Accept]")
                                                 (rejected "flagged and not stored" "[Restore]")
                                                 (quarantined "put in quarantine" "[Restore]")))
        (neuron-council-held-keep (neuron-council-verdict-find id) '("text") reason)
        (neuron-council-report-show id)
        (should (string-search words (buffer-string)))
        (should (string-search button (buffer-string)))
        (mapc #'neuron-council-held-drop (neuron-council-held-records id))))))

(ert-deftest neuron-council-test-report-reverifies ()
  (neuron-council-test-with-gate gate
    (neuron-council-test-report `(:verify [(:gate ,gate :notes ["neuron: plausible 100%p (1/3)"])])
      (neuron-council-test-report-add 1 :context "300 m")
      (neuron-council-report-show)
      (neuron-council-report-reverify)
      (neuron-council-test-pass gate)
      (neuron-council-test-until (string-match-p "judging it anew: neuron: plausible 100%%p (1/3)"
                                                 (neuron-council-report--header)))
      (neuron-council-test-pass gate)
      (neuron-council-test-until (null neuron-council-rpc-jobs))
      (should-not (equal neuron-council-report--id "id-1"))
      (should (string-match-p "\\`EMITTED (T3)" (buffer-string)))
      (should (string-search "300 m" (buffer-string)))
      (should (string-match-p "Judged anew: 0.85 verified" (neuron-council-report--header)))
      (let ((params (plist-get (car (neuron-council-test-seen "council/verify")) :params)))
        (should (eq t (plist-get params :fresh)))
        (should (equal (plist-get params :claim) "The tower is 330 m high."))
        (should (equal (plist-get params :context) "300 m")))
      (neuron-council-report-back)
      (should (equal neuron-council-report--id "id-1")))))

(ert-deftest neuron-council-test-report-reverifies-against-the-context-of-the-ledger ()
  (neuron-council-test-report (neuron-council-test-report-stored :id "id-1" :context "Of old")
    (neuron-council-test-report-add 1)
    (neuron-council-report-show)
    (neuron-council-report-reverify)
    (neuron-council-test-until (neuron-council-test-seen "council/verify"))
    (should (equal "Of old" (plist-get (plist-get (car (neuron-council-test-seen "council/verify")) :params) :context)))
    (neuron-council-test-until (null neuron-council-rpc-jobs))))

(ert-deftest neuron-council-test-report-never-reverifies-without-the-context ()
  (neuron-council-test-report '(:answers (:council/show (:error (:code -32001 :message "no such verdict"))))
    (neuron-council-test-report-add 1)
    (neuron-council-report-show)
    (neuron-council-report-reverify)
    (neuron-council-test-until (null neuron-council-rpc-jobs))
    (should (string-match-p "the context is not known: C-u e asks" (neuron-council-report--header)))
    (should-not (neuron-council-test-seen "council/verify"))
    (cl-letf (((symbol-function 'read-string) (lambda (&rest _) "")))
      (neuron-council-report-reverify t))
    (neuron-council-test-until (null neuron-council-rpc-jobs))
    (should (neuron-council-test-seen "council/verify"))
    (should (plist-member neuron-council-report--verdict :context))))

(ert-deftest neuron-council-test-report-keeps-a-verdict-that-cannot-be-judged-anew ()
  (neuron-council-test-report '(:verify [(:error (:code -32603 :message "broken"))])
    (neuron-council-test-report-add 1 :context nil)
    (neuron-council-report-show)
    (neuron-council-report-reverify)
    (neuron-council-test-until (null neuron-council-rpc-jobs))
    (should (equal neuron-council-report--id "id-1"))
    (should (string-match-p "Not judged anew: broken" (neuron-council-report--header)))
    (should (= 1 (length neuron-council-verdicts)))))

(ert-deftest neuron-council-test-report-replays ()
  (pcase-dolist (`(,answer ,header ,text)
                 '(((:result (:checked 1 :identical 1 :differing [] :reasons nil)) "the same outcome"
                    "Replay\n    Decided again without a model, the evidence has the same outcome.\n")
                   ((:result (:checked 1 :identical 0 :differing ["id-1"]
                              :reasons (:id-1 ["status was parked, is emitted." "tags was a\u200b, is b."])))
                    "ANOTHER outcome today"
                    "today:\n    status was parked, is emitted.\n    tags was a\\u200b, is b.\n")
                   ((:result (:checked 1 :identical 0 :differing 5 :reasons "x")) "ANOTHER outcome" "ANOTHER outcome today:\n")
                   ((:result 5) "not checked" nil)
                   ((:result (:checked 0 :identical 0)) "not checked" nil)
                   ((:error (:code -32001 :message "No verdict has the id id-1.")) "not checked" nil)))
    (neuron-council-test-report (list :answers (list :council/replay answer))
      (neuron-council-test-report-add 1)
      (neuron-council-report-show)
      (search-forward "Nothing against")
      (let ((said (neuron-council-test-messages
                    (call-interactively (key-binding (kbd "c")))
                    (should (string-match-p "checking its evidence" (neuron-council-report--header)))
                    (neuron-council-test-until (null neuron-council-rpc-jobs)))))
        (should (string-search header (neuron-council-report--header)))
        (if text
            (should (string-search text (buffer-string)))
          (should-not (string-search "\nReplay" (buffer-string)))
          (should (string-match-p "The evidence was not checked: ." (car said)))))
      (should (looking-back "Nothing against" (line-beginning-position)))
      (should (equal "id-1" (plist-get (plist-get (car (neuron-council-test-seen "council/replay")) :params) :id)))
      ;; What is at hand no longer is shown all the same.
      (when text
        (setq neuron-council-verdicts nil)
        (neuron-council-report-replay)
        (neuron-council-test-until (null neuron-council-rpc-jobs))
        (should (string-search text (buffer-string)))))))

(ert-deftest neuron-council-test-report-without-evidence-is-not-replayed ()
  (neuron-council-test-report nil
    (neuron-council-verdict-add (neuron-council-verdict-unavailable "A claim" "id-9" '(neuron-council-error "away")))
    (neuron-council-report-show)
    (should-not (string-search "[Replay]" (buffer-string)))
    (neuron-council-test-report-add 1)
    (neuron-council-report-show)
    (should (string-search "[Replay]" (buffer-string)))))

(ert-deftest neuron-council-test-report-leads-to-the-source ()
  (neuron-council-test-report nil
    (let ((file (make-temp-file "neuron-council-source" nil ".txt" "Before. The tower is 330 m high. After.")))
      (unwind-protect
          (progn
            (with-current-buffer (find-file-noselect file)
              (neuron-council-test-report-add 1 :source (neuron-council-source-make 9))
              (goto-char (point-min))
              (insert "More. "))
            (neuron-council-report-show "id-1")
            (should (string-search "[Source]" (buffer-string)))
            (neuron-council-report-source)
            (should (equal buffer-file-name file))
            (should (looking-at-p "The tower"))
            (save-buffer)
            (kill-buffer)
            (neuron-council-report-show "id-1")
            (neuron-council-report-source)
            (should (equal buffer-file-name file))
            (should (looking-at-p "The tower"))
            (kill-buffer)
            (delete-file file)
            (neuron-council-report-show "id-1")
            (should-error (neuron-council-report-source) :type 'user-error)
            (neuron-council-test-report-add 2)
            (neuron-council-report-show "id-2")
            (should-not (string-search "[Source]" (buffer-string)))
            (should-error (neuron-council-report-source) :type 'user-error))
        (when (file-exists-p file) (delete-file file))))))

(ert-deftest neuron-council-test-report-bookmark ()
  (neuron-council-test-report nil
    (neuron-council-test-report-add 1)
    (neuron-council-test-report-add 2)
    (neuron-council-report-show "id-1")
    (let ((bookmark (funcall bookmark-make-record-function)))
      ;; The text of the claim is in no file that forgetting does not reach.
      (should-not (string-search "tower" (format "%S" bookmark)))
      (neuron-council-report-show "id-2")
      (save-current-buffer
        (funcall (alist-get 'handler (cdr bookmark)) bookmark)
        (should (equal neuron-council-report--id "id-1"))))))

(ert-deftest neuron-council-test-report-buffer-of-odd-verdicts ()
  (neuron-council-test-report nil
    (neuron-council-report-show)
    (neuron-council-test-odd
     (list 5 '(1) neuron-council-test-hostile)
     (lambda (verdict)
       (neuron-council-report--visit (plist-get verdict :id) (append '(:source 5 :fate (1)) verdict))
       (should (> (buffer-size) 20))
       (neuron-council-report--header)))))

(ert-deftest neuron-council-test-report-keeps-the-place ()
  "A reader stays in the section, folded or not, whatever comes above it."
  (neuron-council-test-report nil
    (save-window-excursion
      (neuron-council-test-report-add 1)
      (neuron-council-report-show)
      (search-forward "Challenge\n")
      (beginning-of-line 0)
      (neuron-council-report-tab)
      (goto-char (point-min))
      (search-forward "Nothing against")
      (set-window-start nil (save-excursion (search-backward "  dolphin (") (point)))
      (set-window-point nil (point))
      (neuron-council-verdict-note "id-1" :review '(:decision "accept" :note "Seen" :at 1700000000) :fate 'stored)
      (neuron-council-test-until (string-search "Accepted by a person" (buffer-string)))
      (dolist (at (list (point) (window-point)))
        (goto-char at)
        (should (looking-back "Nothing against" (line-beginning-position))))
      (goto-char (window-start))
      (should (looking-at-p "  dolphin ("))
      (search-forward "Challenge\n")
      (should (outline-invisible-p (point)))
      ;; In a section that becomes shorter, one stays in that.
      (goto-char (point-min))
      (search-forward "Seen")
      (beginning-of-line)
      (neuron-council-verdict-note "id-1" :review nil)
      (neuron-council-test-until (not (string-search "Seen" (buffer-string))))
      (should (search-forward "\nClaim\n" nil t)))))

(ert-deftest neuron-council-test-report-drawn-again-is-the-same ()
  "However often it is drawn, nothing is left behind of what was there before."
  (neuron-council-test-report nil
    (neuron-council-test-report-add 1)
    (neuron-council-report-show)
    (let ((text (buffer-substring-no-properties (point-min) (point-max)))
          (overlays (length (overlays-in (point-min) (point-max)))))
      (dotimes (_ 5) (neuron-council-report--render))
      (should (equal text (buffer-substring-no-properties (point-min) (point-max))))
      (should (= overlays (length (overlays-in (point-min) (point-max))))))))

(ert-deftest neuron-council-test-report-keys ()
  (should (equal (mapcar (lambda (key) (lookup-key neuron-council-report-mode-map (kbd key)))
                         '("n" "p" "a" "r" "e" "x" "TAB" "RET"))
                 '(neuron-council-report-next neuron-council-report-previous neuron-council-report-accept
                   neuron-council-report-reject neuron-council-report-reverify neuron-council-report-forget
                   neuron-council-report-tab neuron-council-report-return)))
  (dolist (key '("g" "q" "h"))
    (should (commandp (lookup-key neuron-council-report-mode-map (kbd key))))))

;;; report-test.el ends here
