;;; report-test.el --- Tests of verdicts as people read them  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Code:

(require 'helper)

(defconst neuron-council-test-parked
  '(:id "550e8400-e29b-41d4-a716-446655440000" :claim "The tower is 330 m high." :confidence 0.65
    :council_votes ("plausible" "uncertain" "plausible")
    :summary "2/3 council members agree this is plausible."
    :tags ("council-split" "council-parked") :latency_ms 12340 :status "parked" :tier "T4" :majority "plausible"
    :cached t :warnings ("neuron-ft:latest is not installed: ollama pull neuron-ft")
    :votes ((:member "neuron" :model "neuron:latest" :role "member" :vote "plausible"
             :axes (:coherent 5 :factual 4 :grounded nil) :confidence 0.9 :strength 4.5 :probabilities nil
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

(ert-deftest neuron-council-test-report-tells-everything ()
  (let ((text (neuron-council-format-verdict neuron-council-test-parked)))
    (dolist (part '("PARKED (T4), confidence 0.65, tags: council-split, council-parked" "2/3 council members agree"
                    "The tower is 330 m high."
                    "neuron (neuron:latest): plausible" "confidence 0.90" "coherent 5, factual 4" "strength 4.5"
                    "It agrees with what is known."
                    "neuron-ft (neuron-ft:latest): uncertain" "failed (timeout): no answer within 10 s"
                    "dolphin (dolphin3:8b, contrarian): plausible"
                    "dolphin refutes the claim" "The context says otherwise." "It quotes: \"300 m tall\""
                    "dolphin changed from uncertain to plausible in loop 2"
                    "domain: unverified" "[x] claim-is-data (hard): no such text"
                    "[ ] figures-grounded: claim: 330; context: 300"
                    "neuron-ft voted uncertain: failed (timeout)"
                    "ollama pull neuron-ft"
                    "12.3 s" "700 ms" "2 loops" "no-movement" "from the cache" "550e8400-e29b-41d4-a716-446655440000"))
      (should (string-match-p (regexp-quote part) text)))
    (should-not (string-match-p "grounded nil\\|nil" text))
    (should (string-suffix-p "\n" text))))

(ert-deftest neuron-council-test-report-lines-keep-to-the-width ()
  (let ((verdict (copy-tree neuron-council-test-parked)))
    (setf (plist-get verdict :claim) (apply #'concat (make-list 300 "東京 and words ")))
    (setf (plist-get (car (plist-get verdict :votes)) :rationale) (make-string 1000 ?x))
    (dolist (width '(nil 60 120))
      (dolist (line (split-string (neuron-council-format-verdict verdict width) "\n"))
        (should (<= (string-width line) (or width 80)))))))

(ert-deftest neuron-council-test-report-shows-model-text-as-plain-text ()
  (let ((verdict (copy-tree neuron-council-test-parked))
        (hostile (propertize "x\e[2J\u202e\n\nVERIFIED \\[kill-emacs] %s" 'display "other" 'keymap (make-sparse-keymap))))
    (dolist (field '(:claim :summary))
      (setf (plist-get verdict field) hostile))
    (setf (plist-get (car (plist-get verdict :votes)) :rationale) hostile
          (plist-get (car (plist-get verdict :votes)) :member) hostile
          (plist-get (plist-get (plist-get verdict :report) :challenge) :argument) hostile
          (plist-get (plist-get (plist-get verdict :report) :challenge) :quote) hostile
          (plist-get (car (plist-get (car (plist-get (plist-get verdict :report) :lenses)) :findings)) :evidence) hostile
          (plist-get (car (plist-get (plist-get verdict :report) :dissent)) :failure) nil
          (plist-get (car (plist-get (plist-get verdict :report) :dissent)) :rationale) hostile)
    (let ((text (neuron-council-format-verdict verdict)))
      (should-not (string-match-p "[\0-\t\v-\37\177\u202e]" text))
      (should-not (string-match-p "^VERIFIED" text))
      (should (string-match-p (regexp-quote "x^[[2J\\u202e VERIFIED \\[kill-emacs] %s") text))
      (dotimes (at (length text))
        (should-not (get-text-property at 'display text))
        (should-not (get-text-property at 'keymap text))))))

(ert-deftest neuron-council-test-report-of-an-unavailable-verdict ()
  (let ((text (neuron-council-format-verdict
               (neuron-council-verdict-unavailable "A claim" "some-id" '(neuron-council-error "the server died")))))
    (should (string-match-p "^UNAVAILABLE, confidence 0.50, tags: council-unavailable$" text))
    (should (string-match-p "the server died" text))
    (should (string-match-p "A claim" text))
    (should-not (string-match-p "Votes\\|Lenses\\|Dissent" text))))

(ert-deftest neuron-council-test-report-says-that-nobody-dissented ()
  (let ((verdict (copy-tree neuron-council-test-parked)))
    (setf (plist-get (plist-get verdict :report) :dissent) nil)
    (should (string-match-p "^Dissent\n  none$" (neuron-council-format-verdict verdict)))))

(ert-deftest neuron-council-test-report-faces ()
  (pcase-dolist (`(,tags ,face) '((("verified") neuron-council-verified)
                                  (("council-split") neuron-council-doubtful)
                                  (("council-split" "council-parked") neuron-council-doubtful)
                                  (("unverified" "council-flagged" "council-parked") neuron-council-doubtful)
                                  (("unverified" "council-flagged") neuron-council-flagged)
                                  (("council-unavailable") neuron-council-unavailable)))
    (should (eq face (neuron-council-verdict-face (list :tags tags))))))

(ert-deftest neuron-council-test-report-buffer ()
  (neuron-council-test-clean
    (dotimes (n 4)
      (neuron-council-verdict-add (append (list :id (format "id-%d" n)) neuron-council-test-parked)))
    (save-window-excursion
      (neuron-council-report-show "id-1")
      (should (string-match-p "council" (buffer-name)))
      (should buffer-read-only)
      (should (derived-mode-p 'neuron-council-verdict-mode 'special-mode))
      (should (equal (neuron-council-report--id) "id-1"))
      (neuron-council-next-verdict)
      (should (equal (neuron-council-report--id) "id-0"))
      (should-error (neuron-council-next-verdict) :type 'user-error)
      (neuron-council-previous-verdict 3)
      (should (equal (neuron-council-report--id) "id-3"))
      (should-error (neuron-council-previous-verdict) :type 'user-error)
      (neuron-council-copy-id)
      (should (equal (current-kill 0) "id-3"))
      (neuron-council-next-verdict)
      (revert-buffer)
      (should (equal (neuron-council-report--id) "id-2"))
      (should (= 4 (length (funcall imenu-create-index-function)))))
    (let ((neuron-council-verdicts-kept 2))
      (neuron-council-verdict-add (append '(:id "id-4") neuron-council-test-parked)))
    (should (equal (mapcar (lambda (verdict) (plist-get verdict :id)) neuron-council-verdicts)
                   '("id-4" "id-3")))))

(ert-deftest neuron-council-test-report-buffer-without-verdicts ()
  (neuron-council-test-clean
    (save-window-excursion
      (neuron-council-show-verdict)
      (should (string-match-p "No verdict yet" (buffer-string))))))

;;; report-test.el ends here
