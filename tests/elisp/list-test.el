;;; list-test.el --- Tests of the list of verdicts  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Code:

(require 'real)
(require 'neuron-council-bulk)
(require 'neuron-council-list)

(defun neuron-council-test-list-buffer ()
  "Return the buffer of the list."
  (get-buffer "*neuron-council*"))

(defun neuron-council-test-list-settled-p ()
  "Return non-nil when the list has no request or work under way."
  (with-current-buffer (neuron-council-test-list-buffer)
    (and (not neuron-council-list--asking) (not neuron-council-list--work)
         (null neuron-council-rpc-jobs))))

(defmacro neuron-council-test-listing (script &rest body)
  "Run BODY in the list, shown in the selected window, with a server of SCRIPT."
  (declare (indent 1) (debug t))
  `(neuron-council-test-with ,script
     (save-window-excursion
       (let ((neuron-council-list--pause 0.05))
         (neuron-council-list)
         (unwind-protect
             (progn
               (neuron-council-test-until (neuron-council-test-list-settled-p))
               ,@body)
           (when neuron-council-list--timer
             (cancel-timer neuron-council-list--timer)
             (setq neuron-council-list--timer nil)))))))

(defun neuron-council-test-list-do (command &rest arguments)
  "Call COMMAND, with ARGUMENTS or interactively, and wait until the list is settled."
  (if arguments (apply command arguments) (call-interactively command))
  (neuron-council-test-until (neuron-council-test-list-settled-p)))

(defun neuron-council-test-list-ids ()
  "Return the numbers of the ids in the list, in order; other keys as they are."
  (let ((ids nil))
    (neuron-council-table-each
     (lambda (key)
       (push (if (and (stringp key) (string-match "\\`00000000-0000-4000-8000-\\([0-9]+\\)\\'" key))
                 (string-to-number (match-string 1 key))
               key)
             ids)))
    (nreverse ids)))

(defun neuron-council-test-list-goto (n)
  "Go to the verdict with the id of N."
  (should (neuron-council-table-goto (neuron-council-test-uuid n))))

(defun neuron-council-test-list-column (name)
  "Go to the column NAME of the row at point."
  (beginning-of-line)
  (while (not (equal name (get-text-property (point) 'tabulated-list-column-name)))
    (forward-char)))

(defun neuron-council-test-list-line ()
  "Return the line at point without its properties, white space as single spaces."
  (replace-regexp-in-string " +" " " (buffer-substring-no-properties (line-beginning-position) (line-end-position))))

(defun neuron-council-test-list-header ()
  "Return the header line as text."
  (substring-no-properties neuron-council-list--header))

(defun neuron-council-test-list-asked ()
  "Return the parameters of the lists that the server was asked for, without tokens."
  (mapcar (lambda (message) (cl-loop for (key value) on (plist-get message :params) by #'cddr
                                     unless (eq key :workDoneToken) append (list key value)))
          (neuron-council-test-seen "council/list")))

(defmacro neuron-council-test-answering (answer &rest body)
  "Run BODY where every question is answered by ANSWER; return the questions."
  (declare (indent 1))
  `(let ((questions nil))
     (cl-letf (((symbol-function 'y-or-n-p) (lambda (prompt) (push prompt questions) ,answer))
               ((symbol-function 'yes-or-no-p) (lambda (prompt) (push prompt questions) ,answer)))
       ,@body)
     (nreverse questions)))

;;;; What is listed

(ert-deftest neuron-council-test-list-shows-the-ledger ()
  (neuron-council-test-listing '(:ledger 25)
    (should (derived-mode-p 'neuron-council-list-mode))
    ;; What awaits a person comes first.
    (should (equal (neuron-council-test-list-ids) (append '(20 10 0) (number-sequence 24 21 -1) (number-sequence 19 11 -1)
                                                          (number-sequence 9 1 -1))))
    (neuron-council-test-list-goto 10)
    (should (equal (neuron-council-test-list-line) " 2023-11-14 parked, split 0.65 3/3 you Claim 10"))
    (save-excursion
      (neuron-council-test-list-column "Verdict")
      (should (eq 'neuron-council-doubtful (get-text-property (point) 'face))))
    (neuron-council-test-list-goto 9)
    (should (equal (neuron-council-test-list-line) " 2023-11-14 verified 0.85 3/3 Claim 9"))
    (should (equal (neuron-council-test-list-header)
                   " 3 await you · 3 split · 25 in all"))
    (goto-char (point-min))
    (should (equal (neuron-council-test-list-line) " When Verdict Conf Votes Decision Claim "))))

(ert-deftest neuron-council-test-list-does-not-wait ()
  (neuron-council-test-with '(:ledger 3)
    (save-window-excursion
      (neuron-council)
      (should (equal (neuron-council-test-list-header) " asking the ledger …"))
      (should (equal (neuron-council-test-list-ids) nil))
      (neuron-council-test-until (neuron-council-test-list-settled-p))
      (should (equal (neuron-council-test-list-ids) '(0 2 1)))
      ;; Point is where the commands act.
      (should (equal (tabulated-list-get-id) (neuron-council-test-uuid 0)))
      (should (equal (tabulated-list-get-id (window-point)) (neuron-council-test-uuid 0)))
      (should (= (window-start) (point-min))))))

(ert-deftest neuron-council-test-list-without-a-server ()
  "What is here is listed, and why there is no more is said."
  (neuron-council-test-clean
    (neuron-council-held-keep (list :id (neuron-council-test-uuid 1) :claim "Held" :confidence 0.65
                                    :tags '("council-parked") :summary "s")
                              '(a) 'parked)
    (let ((neuron-council-server-command '("/nowhere/neuron-council")))
      (neuron-council-verdict-add (list :id (neuron-council-test-uuid 2) :claim "At hand" :confidence 0.85
                                        :tags '("verified") :summary "s" :status "emitted"))
      (save-window-excursion
        (neuron-council-list)
        (neuron-council-test-until (neuron-council-test-list-settled-p))
        (should (equal (neuron-council-test-list-ids) '(1 2)))
        (should (string-match-p "The ledger cannot be asked: there is no program /nowhere/neuron-council"
                                (neuron-council-test-list-header)))
        (neuron-council-test-list-goto 1)
        (should (string-match-p "parked 0\\.65 you: held Held" (neuron-council-test-list-line)))
        (neuron-council-test-list-do #'neuron-council-list-filter-awaiting)
        (should (equal (neuron-council-test-list-ids) '(1)))
        (neuron-council-test-list-do #'neuron-council-list-filter-text "HAND")
        (should (equal (neuron-council-test-list-ids) nil))
        (neuron-council-test-list-do #'neuron-council-list-filter-all)
        (should (equal (neuron-council-test-list-ids) '(1 2)))))))

(ert-deftest neuron-council-test-list-adds-what-the-ledger-does-not-have ()
  (neuron-council-test-listing '(:ledger 2)
    (neuron-council-verdict-add (neuron-council-verdict-unavailable "Never sent" (neuron-council-test-uuid 77)
                                                                    '(neuron-council-error "no server")))
    ;; What was looked up is in the ledger, further down.
    (neuron-council-verdict-add (list :id (neuron-council-test-uuid 78) :claim "Old" :confidence 0.85 :tags '("verified")
                                      :summary "s" :supersedes nil))
    (neuron-council-held-keep (list :id (neuron-council-test-uuid 79) :claim "Kept out" :confidence 0.3
                                    :tags '("unverified" "council-flagged") :summary "s")
                              '(a) 'rejected)
    (neuron-council-held-keep (list :id (neuron-council-test-uuid 1) :claim "Claim 1" :confidence 0.85
                                    :tags '("verified") :summary "s")
                              '(a) 'quarantined)
    (neuron-council-test-list-do #'neuron-council-list-refresh)
    (should (equal (sort (neuron-council-test-list-ids) #'<) '(0 1 77 79)))
    (neuron-council-test-list-goto 77)
    (should (string-match-p "unavailable 0\\.50 a server Never sent" (neuron-council-test-list-line)))
    (neuron-council-test-list-goto 79)
    (should (string-match-p "flagged 0\\.30 kept out Kept out" (neuron-council-test-list-line)))
    (neuron-council-test-list-goto 1)
    (should (string-match-p "verified 0\\.85 3/3 quarantined Claim 1" (neuron-council-test-list-line)))))

(ert-deftest neuron-council-test-list-says-what-was-superseded ()
  (let ((verdict (neuron-council-verdict-unavailable "A claim" "old" '(neuron-council-error "no server"))))
    (cl-flet ((what (verdict) (substring-no-properties (neuron-council-row--what verdict)))
              (fits (verdict) (with-temp-buffer
                                (neuron-council-filter-set 'unavailable nil)
                                (neuron-council-filter-fits-p verdict))))
      (should (equal (what verdict) "unavailable"))
      (should (fits verdict))
      (setq verdict (append '(:superseded_by "new") verdict))
      (should (equal (what verdict) "unavailable, superseded"))
      (should-not (fits verdict)))))

(ert-deftest neuron-council-test-list-pages ()
  (let ((neuron-council-list-page 10))
    (neuron-council-test-listing '(:ledger 35)
      ;; The one that awaits further down is shown with the first page.
      (should (equal (neuron-council-test-list-ids) (append '(30 20 10 0) (number-sequence 34 31 -1)
                                                            (number-sequence 29 25 -1))))
      (should (string-match-p "13 shown, \\+ for more\\'" (neuron-council-test-list-header)))
      (neuron-council-test-list-do #'neuron-council-list-more)
      (should (= 22 (length (neuron-council-test-list-ids))))
      ;; Reaching the end loads more.
      (goto-char (point-max))
      (forward-line -1)
      (let ((here (tabulated-list-get-id)))
        (run-hooks 'post-command-hook)
        (should (eq neuron-council-list--asking 'more))
        (neuron-council-test-until (neuron-council-test-list-settled-p))
        (should (equal here (tabulated-list-get-id))))
      (neuron-council-test-list-do #'neuron-council-list-more)
      (should (equal (sort (neuron-council-test-list-ids) #'<) (number-sequence 0 34)))
      (should-not (string-match-p "for more" (neuron-council-test-list-header)))
      (should-error (call-interactively #'neuron-council-list-more) :type 'user-error)
      (run-hooks 'post-command-hook)
      (should-not neuron-council-list--asking)
      ;; As many are asked for again.
      (neuron-council-test-list-do #'revert-buffer)
      (should (= 35 (length (neuron-council-test-list-ids)))))))

(ert-deftest neuron-council-test-list-filters ()
  (neuron-council-test-listing
      (list :ledger (vector (list :id (neuron-council-test-uuid 1) :claim "Tea 1" :status "parked" :tags ["council-parked"])
                            (list :id (neuron-council-test-uuid 2) :claim "Tea 2" :tags ["unverified" "council-flagged"])
                            (list :id (neuron-council-test-uuid 3) :claim "Rain" :tags ["council-split"])
                            (list :id (neuron-council-test-uuid 4) :claim "Tea 4" :status "unavailable"
                                  :tags ["council-unavailable"])
                            (list :id (neuron-council-test-uuid 5) :claim "Snow" :status "parked" :tags ["council-parked"]
                                  :review '(:decision "accept" :note nil :at 5))))
    (should (equal (neuron-council-test-list-ids) '(1 2 3 4 5)))
    (pcase-dolist (`(,keys ,ids ,said) '(("/f" (2) "only flagged") ("/s" (3) "only split") ("/p" (1 5) "only parked")
                                         ("/u" (4) "only unavailable") ("/w" (1) "only awaiting")
                                         ("//" (1 2 3 4 5) nil)))
      (neuron-council-test-list-do (key-binding (kbd (mapconcat #'string keys " "))))
      (should (equal (neuron-council-test-list-ids) ids))
      (should (eq (and said t) (and (string-match-p "only" (neuron-council-test-list-header)) t)))
      (should (string-match-p (or said "") (neuron-council-test-list-header))))
    (neuron-council-test-list-do #'neuron-council-list-filter-text "tea")
    (should (equal (neuron-council-test-list-ids) '(1 2 4)))
    (should (string-match-p "with \"tea\"" (neuron-council-test-list-header)))
    (neuron-council-test-list-do #'neuron-council-list-filter-flagged)
    (should (equal (neuron-council-test-list-ids) '(2)))
    (should (equal (plist-get (car (last (neuron-council-test-list-asked))) :tag) "council-flagged"))
    (neuron-council-test-list-do #'neuron-council-list-filter 'all)
    (should (= 5 (length (neuron-council-test-list-ids))))
    ;; A filter that is changed before the answer: the earlier answer is dropped.
    (call-interactively #'neuron-council-list-filter-split)
    (neuron-council-test-list-do #'neuron-council-list-filter-flagged)
    (should (equal (neuron-council-test-list-ids) '(2)))))

(ert-deftest neuron-council-test-list-sort ()
  (neuron-council-test-listing '(:ledger 12)
    (let ((order (neuron-council-test-list-ids)))
      (neuron-council-test-list-goto 5)
      (neuron-council-test-list-column "When")
      (call-interactively (key-binding (kbd "s")))
      (should (equal (neuron-council-test-list-ids) (number-sequence 0 11)))
      (should (equal (tabulated-list-get-id) (neuron-council-test-uuid 5)))
      (neuron-council-list-mark)
      (neuron-council-list-sort 0)
      (should (equal (neuron-council-test-list-ids) (number-sequence 11 0 -1)))
      (should (equal (mapcar #'neuron-council-row-key (neuron-council-list-marked ?*)) (list (neuron-council-test-uuid 5))))
      ;; It stays when verdicts come and go, and can be taken back.
      (neuron-council-test-list-do #'neuron-council-list-refresh)
      (should (equal (neuron-council-test-list-ids) (number-sequence 11 0 -1)))
      (neuron-council-list-sort -1)
      (should (equal (neuron-council-test-list-ids) order))
      (neuron-council-test-list-goto 5)
      (should (string-prefix-p "*" (neuron-council-test-list-line))))))

;;;; Marks and decisions

(ert-deftest neuron-council-test-list-marks ()
  (neuron-council-test-listing '(:ledger 6)
    (cl-flet ((marked (mark) (mapcar (lambda (row) (string-to-number (substring (neuron-council-row-key row) -3)))
                                     (neuron-council-list-marked mark))))
      (goto-char (point-min))
      (should-error (neuron-council-list-mark) :type 'user-error)
      (forward-line 1)
      (neuron-council-list-mark)
      (neuron-council-list-mark)
      (neuron-council-list-flag)
      (should (equal (list (marked ?*) (marked ?D)) '((0 5) (4))))
      (should (equal (tabulated-list-get-id) (neuron-council-test-uuid 3)))
      ;; They stay when the list is asked for again and when it is sorted.
      (neuron-council-test-list-do #'neuron-council-list-refresh)
      (tabulated-list-sort 0)
      (should (equal (list (marked ?*) (marked ?D)) '((0 5) (4))))
      (neuron-council-test-list-goto 5)
      (should (string-prefix-p "* " (neuron-council-test-list-line)))
      (should-not (buffer-modified-p))
      (neuron-council-list-toggle-marks)
      (should (equal (list (marked ?*) (marked ?D)) '((1 2 3) (4))))
      (neuron-council-test-list-goto 1)
      (neuron-council-list-unmark)
      (should (equal (marked ?*) '(2 3)))
      (neuron-council-test-list-goto 3)
      (neuron-council-list-unmark-backward)
      (should (equal (marked ?*) '(3)))
      (neuron-council-list-unmark-all)
      (should-not (or (marked ?*) (marked ?D)))
      (should-not (save-excursion (goto-char (point-min)) (re-search-forward "^[*D]" nil t)))
      ;; What is not listed any more is not marked any more.
      (neuron-council-test-list-goto 0)
      (neuron-council-list-mark)
      (neuron-council-test-list-do #'neuron-council-list-filter-text "Claim 3")
      (neuron-council-test-list-do #'neuron-council-list-filter-text "")
      (should-not (marked ?*)))))

(ert-deftest neuron-council-test-list-decide-at-point ()
  (neuron-council-test-listing '(:ledger 21)
    (neuron-council-test-list-goto 10)
    (let ((current-prefix-arg '(4)))
      (cl-letf (((symbol-function 'read-string) (lambda (&rest _) "Seen")))
        (should-not (neuron-council-test-answering (error "Not asked for one")
                      (neuron-council-test-list-do (key-binding (kbd "a")))))))
    (let ((params (plist-get (car (neuron-council-test-seen "council/review")) :params)))
      (should (equal (list (plist-get params :id) (plist-get params :decision) (plist-get params :note))
                     (list (neuron-council-test-uuid 10) "accept" "Seen"))))
    ;; It does not await any more; point stays with it.
    (should (equal (cl-subseq (neuron-council-test-list-ids) 0 3) '(20 0 19)))
    (should (equal (tabulated-list-get-id) (neuron-council-test-uuid 10)))
    (should (string-match-p "accepted Claim 10" (neuron-council-test-list-line)))
    (should (string-match-p "2 await you" (neuron-council-test-list-header)))
    ;; One may think again.
    (neuron-council-test-list-do (key-binding (kbd "r")))
    (should (string-match-p "rejected Claim 10" (neuron-council-test-list-line)))
    (neuron-council-test-list-goto 9)
    (dolist (keys '("a" "r" "R"))
      (should-error (call-interactively (key-binding (kbd keys))) :type 'user-error))
    (should (= 2 (length (neuron-council-test-seen "council/review"))))))

(ert-deftest neuron-council-test-list-decide-on-many ()
  "One question, no waiting, and what failed stays marked."
  (neuron-council-test-listing '(:ledger 60)
    (should (equal (cl-subseq (neuron-council-test-list-ids) 0 6) '(50 40 30 20 10 0)))
    (goto-char (point-min))
    (forward-line 1)
    ;; The last one, 59, is none that a person can decide on.
    (dotimes (_ 7) (neuron-council-list-mark))
    (should (equal (neuron-council-test-answering nil
                     (should-error (call-interactively #'neuron-council-list-reject) :type 'user-error))
                   '("Reject 7 verdicts? ")))
    (should-not (neuron-council-test-seen "council/review"))
    (let ((said nil))
      (should (equal (neuron-council-test-answering t
                       (setq said (neuron-council-test-messages
                                    (call-interactively #'neuron-council-list-accept)
                                    (should (string-match-p "accepting 1 of 7" (neuron-council-test-list-header)))
                                    (should-error (call-interactively #'neuron-council-list-accept) :type 'user-error)
                                    (neuron-council-test-until (neuron-council-test-list-settled-p)))))
                     '("Accept 7 verdicts? " "Accept 7 verdicts? ")))
      (should (member "Accepted: 6 of 7 claims; still marked is \"Claim 59\": Nothing was changed: \
Only a verdict that is parked, flagged or split." said)))
    (should (= 7 (length (neuron-council-test-seen "council/review"))))
    (should (equal (mapcar #'neuron-council-row-key (neuron-council-list-marked ?*))
                   (list (neuron-council-test-uuid 59))))
    (should (string-prefix-p " 6 split" (neuron-council-test-list-header)))))

(ert-deftest neuron-council-test-list-decide-with-a-dying-server ()
  (neuron-council-test-listing '(:ledger 30 :answers (:council/review (:exit 1)))
    (goto-char (point-min))
    (forward-line 1)
    (dotimes (_ 3) (neuron-council-list-mark))
    (let ((said nil))
      (neuron-council-test-answering t
        (setq said (neuron-council-test-messages (neuron-council-test-list-do #'neuron-council-list-accept))))
      (should (cl-some (lambda (text) (string-match-p "\\`Accepted: 0 of 3 claims; still marked are 3, the first \"Claim 20\": nothing was changed" text))
                       said)))
    (should (= 3 (length (neuron-council-list-marked ?*))))))

(ert-deftest neuron-council-test-list-held-memories ()
  (neuron-council-test-listing '(:ledger 21)
    (pcase-dolist (`(,n ,reason) '((0 parked) (10 parked) (20 rejected)))
      (neuron-council-held-keep (list :id (neuron-council-test-uuid n) :claim "Claim" :confidence 0.65
                                      :tags '("council-parked") :summary "s")
                                (list 'node n) reason))
    (neuron-council-test-list-do #'neuron-council-list-refresh)
    (neuron-council-test-list-goto 0)
    (should (string-match-p "you: held" (neuron-council-test-list-line)))
    (neuron-council-test-list-do #'neuron-council-list-accept)
    (should (equal (cl-subseq (car neuron-council-test-stored) 0 2) '(node 0)))
    ;; A rejected one is gone for good, so that is asked.
    (neuron-council-test-list-goto 10)
    (should-error (call-interactively #'neuron-council-list-restore) :type 'user-error)
    (should (equal (neuron-council-test-answering t (neuron-council-test-list-do #'neuron-council-list-reject))
                   '("Drop what is held for, and reject this verdict? ")))
    (should (string-match-p "rejected" (neuron-council-test-list-line)))
    (neuron-council-test-list-goto 20)
    (neuron-council-test-list-do (key-binding (kbd "R")))
    (should (equal (cl-subseq (car neuron-council-test-stored) 0 2) '(node 20)))
    (should-not (neuron-council-test-folder "held"))))

(ert-deftest neuron-council-test-list-cancel-stops-many ()
  "What was not decided on stays marked."
  (neuron-council-test-with '(:ledger 30 :verify [(:silent t)])
    (save-window-excursion
      (neuron-council-list)
      (neuron-council-test-until (neuron-council-test-list-settled-p))
      (neuron-council-list-toggle-marks)
      (neuron-council-test-answering t (call-interactively #'neuron-council-list-reverify))
      (let ((job (neuron-council-test-until
                  (cl-find :council/verify neuron-council-rpc-jobs :key #'neuron-council-job-method))))
        (should (equal (plist-get (neuron-council-job-params job) :fresh) t))
        (neuron-council-cancel job))
      (neuron-council-test-until (neuron-council-test-list-settled-p))
      (should (= 30 (length (neuron-council-list-marked ?*))))
      (should-not neuron-council-verdicts))))

;;;; What is said

(ert-deftest neuron-council-test-list-says-what-was-done ()
  "One claim is named, several are counted; the reason stands last and whole."
  (cl-flet ((row (claim) (neuron-council-row-of "id" (list :id "id" :claim claim) nil nil)))
    (let ((short (row "Tea is\tgrown")) (long (row (mapconcat #'number-to-string (number-sequence 1000 1100) " ")))
          (problem '(neuron-council-error "the server died; M-x neuron-council-doctor says more")))
      (pcase-dolist (`(,rows ,failures ,said)
                     `(((,short) nil "Accepted: \"Tea is grown\"")
                       ((,short ,long) nil "Accepted: 2 claims")
                       ((,long) ((,long . ,problem)) "Not accepted: \"1000 1001 1002 1003 1004 1…098 1099 1100\": \
the server died; M-x neuron-council-doctor says more")
                       ((,short ,long ,short) ((,short . ,problem)) "Accepted: 2 of 3 claims; still marked is \
\"Tea is grown\": the server died; M-x neuron-council-doctor says more")
                       ((,short ,long) ((,short . ,problem) (,long . ,problem)) "Accepted: 0 of 2 claims; still marked \
are 2, the first \"Tea is grown\": the server died; M-x neuron-council-doctor says more")))
        (should (equal said (neuron-council-bulk--words "accepted" rows failures)))))))

(ert-deftest neuron-council-test-list-keeps-no-forgotten-claim-in-messages ()
  (neuron-council-test-listing '(:ledger 3)
    (neuron-council-test-list-goto 2)
    (neuron-council-list-flag)
    (let ((logged 'unknown))
      (cl-letf (((symbol-function 'message) (lambda (&rest _) (setq logged message-log-max))))
        (neuron-council-test-answering t (neuron-council-test-list-do #'neuron-council-list-execute)))
      (should-not logged))))

;;;; Judging again and forgetting

(ert-deftest neuron-council-test-list-reverify ()
  (neuron-council-test-listing
      (list :verify [(:verdict (:confidence 0.3))]
            :ledger (vector (list :id (neuron-council-test-uuid 1) :claim "Tea" :tags ["verified"])
                            (list :id (neuron-council-test-uuid 2) :claim "Away" :status "unavailable"
                                  :tags ["council-unavailable"])))
    (neuron-council-test-list-goto 1)
    (neuron-council-test-list-do (key-binding (kbd "e")))
    (let ((params (plist-get (car (neuron-council-test-seen "council/verify")) :params)))
      (should (equal (plist-get params :claim) "Tea"))
      (should (equal (plist-get params :context) "The context of Tea"))
      (should (equal (plist-get params :fresh) t)))
    (should (= 3 (length (neuron-council-test-list-ids))))
    (should (equal (plist-get (car neuron-council-verdicts) :context) "The context of Tea"))
    (neuron-council-test-list-goto 2)
    (neuron-council-test-list-do #'neuron-council-list-reverify)
    (should (equal (plist-get (plist-get (car (neuron-council-test-seen "council/reevaluate")) :params) :ids)
                   (list (neuron-council-test-uuid 2))))
    ;; One that is only here, and whose context is not known, is not judged against nothing.
    (neuron-council-verdict-add (neuron-council-verdict-unavailable "Never sent" (neuron-council-test-uuid 77)
                                                                    '(neuron-council-error "no server")))
    (neuron-council-test-list-do #'neuron-council-list-refresh)
    (neuron-council-test-list-goto 77)
    (let ((said (neuron-council-test-messages (neuron-council-test-list-do #'neuron-council-list-reverify))))
      (should (cl-some (lambda (text) (string-match-p "\\`Not judged again: \"Never sent\": No verdict has the id" text)) said)))
    (neuron-council-verdict-note (neuron-council-test-uuid 77) :context nil)
    (neuron-council-test-list-do #'neuron-council-list-reverify)
    (should (equal (plist-get (plist-get (cadr (neuron-council-test-seen "council/verify")) :params) :claim)
                   "Never sent"))))

(ert-deftest neuron-council-test-list-forget ()
  (neuron-council-test-listing '(:ledger 5)
    (should-error (call-interactively #'neuron-council-list-execute) :type 'user-error)
    (dolist (n '(3 1))
      (neuron-council-test-list-goto n)
      (neuron-council-list-flag))
    (should (= 1 (length (neuron-council-test-answering nil
                           (should-error (call-interactively #'neuron-council-list-execute) :type 'user-error)))))
    (should (= 5 (length (neuron-council-test-list-ids))))
    (should (equal (neuron-council-test-answering t (neuron-council-test-list-do (key-binding (kbd "x"))))
                   '("Forget 2 claims, with all verdicts and what is kept with them? ")))
    (should (equal (neuron-council-test-list-ids) '(0 4 2)))
    (should (equal (mapcar (lambda (message) (plist-get (plist-get message :params) :id))
                           (neuron-council-test-seen "council/forget"))
                   (list (neuron-council-test-uuid 3) (neuron-council-test-uuid 1))))))

(ert-deftest neuron-council-test-list-forgets-at-once ()
  "What is forgotten elsewhere is not shown any longer, whatever the server does."
  (neuron-council-test-listing '(:ledger 12)
    (let ((before (neuron-council-test-list-ids)))
      (neuron-council-test-list-goto 10)
      (neuron-council-verdict-remove (neuron-council-test-uuid 0))
      (should (equal (neuron-council-test-list-ids) (remq 0 before)))
      (should (equal (tabulated-list-get-id) (neuron-council-test-uuid 10)))
      (neuron-council-verdict-remove (neuron-council-test-uuid 7))
      (should (equal (neuron-council-test-list-ids) (remq 7 (remq 0 before)))))))

;;;; What arrives

(defun neuron-council-test-list-arrive (count)
  "Have COUNT claims judged as if by others, and kept at hand."
  (dotimes (n count)
    (neuron-council-verify-async (format "New %d" n) nil #'neuron-council-verdict-add)))

(ert-deftest neuron-council-test-list-takes-in-what-arrives ()
  "Point, marks and the place in the window stay, and so does what was loaded."
  (let ((neuron-council-list-page 10))
    (neuron-council-test-listing '(:ledger 40)
      (neuron-council-test-list-do #'neuron-council-list-more)
      (neuron-council-test-list-goto 27)
      (neuron-council-list-mark)
      (neuron-council-test-list-goto 25)
      (move-to-column 7)
      (let ((start (save-excursion (neuron-council-test-list-goto 29) (point)))
            (count (length (neuron-council-test-list-ids))))
        (set-window-start nil start)
        (set-window-point nil (point))
        (neuron-council-test-list-arrive 3)
        (neuron-council-test-until (= (+ 3 count) (length (neuron-council-test-list-ids))))
        (neuron-council-test-until (neuron-council-test-list-settled-p))
        (should (equal (tabulated-list-get-id) (neuron-council-test-uuid 25)))
        (should (= 7 (current-column)))
        (should (equal (tabulated-list-get-id (window-start)) (neuron-council-test-uuid 29)))
        (should (equal (tabulated-list-get-id (window-point)) (neuron-council-test-uuid 25)))
        (should (equal (mapcar #'neuron-council-row-key (neuron-council-list-marked ?*))
                       (list (neuron-council-test-uuid 27))))
        (should (string-match-p "43 in all" (neuron-council-test-list-header)))
        (neuron-council-test-list-do #'neuron-council-list-more)
        (neuron-council-test-list-do #'neuron-council-list-more)
        (should (= 43 (length (delete-dups (neuron-council-test-list-ids)))))))))

(ert-deftest neuron-council-test-list-waits-for-who-is-typing ()
  (neuron-council-test-listing '(:ledger 4)
    (let ((asked (length (neuron-council-test-list-asked)))
          (idle nil) (looks 0) (original (symbol-function 'neuron-council-list--typing-p)))
      (cl-letf (((symbol-function 'current-idle-time) (lambda () idle))
                ((symbol-function 'neuron-council-list--typing-p)
                 (lambda ()
                   (setq looks (1+ looks))
                   (let ((noninteractive nil)) (funcall original)))))
        (neuron-council-verdict-add (neuron-council-verify "New"))
        ;; While a command runs, and right behind a key.
        (neuron-council-test-until (> looks 1))
        (setq idle '(0 0 100000 0)
              looks 0)
        (neuron-council-test-until (> looks 1))
        (should (= asked (length (neuron-council-test-list-asked))))
        (should-not neuron-council-list--asking)
        (setq idle '(0 1 0 0))
        (neuron-council-test-until (= 5 (length (neuron-council-test-list-ids))))))))

(ert-deftest neuron-council-test-list-that-is-not-seen-waits ()
  (neuron-council-test-listing '(:ledger 4)
    (let ((asked (length (neuron-council-test-list-asked)))
          (list-buffer (current-buffer)))
      (with-temp-buffer
        (set-window-buffer nil (current-buffer))
        (neuron-council-verdict-add (neuron-council-verify "New"))
        (neuron-council-test-until (buffer-local-value 'neuron-council-list--stale list-buffer))
        (should-not neuron-council-list--timer)
        (should (= asked (length (neuron-council-test-list-asked)))))
      (set-window-buffer nil list-buffer)
      (run-hook-with-args 'window-buffer-change-functions (selected-window))
      (with-current-buffer list-buffer
        (neuron-council-test-until (= 5 (length (neuron-council-test-list-ids))))))))

(ert-deftest neuron-council-test-list-starts-no-server-by-itself ()
  (neuron-council-test-listing '(:ledger 4)
    (neuron-council-stop)
    (neuron-council-verdict-add (neuron-council-verdict-unavailable "Never sent" (neuron-council-test-uuid 77)
                                                                    '(neuron-council-error "no server")))
    (neuron-council-test-until (memq 77 (neuron-council-test-list-ids)))
    (should-not (get-process "neuron-council"))
    ;; Once there is one again, it is asked.
    (neuron-council-verify "Another")
    (neuron-council-test-until (string-match-p "5 in all" (neuron-council-test-list-header)))))

(ert-deftest neuron-council-test-list-hears-announcements ()
  (neuron-council-test-listing '(:ledger 4)
    (let ((asked (length (neuron-council-test-list-asked))))
      (should-not (run-hook-with-args-until-success 'neuron-council-rpc-notification-functions 'something/else nil))
      (should-not neuron-council-list--timer)
      (should-not (neuron-council-list--hear 'council/reevaluated nil))
      (neuron-council-test-until (< asked (length (neuron-council-test-list-asked))))
      (neuron-council-test-until (neuron-council-test-list-settled-p)))))

(ert-deftest neuron-council-test-list-arrivals-cost-no-pause ()
  "50 verdicts arrive while 500 are shown; only what is new is printed, and one look is taken at many."
  (neuron-council-test-listing '(:ledger 500)
    (let ((neuron-council-list-page 500))
      (neuron-council-test-list-do #'neuron-council-list-refresh))
    (should (= 500 (length (neuron-council-test-list-ids))))
    (let ((printed 0))
      (cl-letf* ((print (symbol-function 'tabulated-list-print-entry))
                 ((symbol-function 'tabulated-list-print-entry)
                  (lambda (&rest arguments)
                    (setq printed (1+ printed))
                    (apply print arguments))))
        (neuron-council-test-list-arrive 50)
        (neuron-council-test-until (= 550 (length (neuron-council-test-list-ids))))
        (neuron-council-test-until (neuron-council-test-list-settled-p)))
      ;; Each once as what is at hand, and once as what the ledger has.
      (should (<= 50 printed 100)))
    (dotimes (_ 50) (neuron-council-list--soon))
    (should (= 1 (cl-count #'neuron-council-list--catch-up timer-list
                           :key (lambda (timer) (nth 1 (timer--args timer))))))))

;;;; Odd things

(ert-deftest neuron-council-test-list-counts-no-votes-that-nobody-gave ()
  (cl-flet ((votes (&rest fields)
              (aref (cadr (neuron-council-row-entry
                           (neuron-council-row-of "id" (append fields '(:council_votes ("uncertain" "plausible"))) nil nil)))
                    3)))
    (should (equal "1/2" (votes)))
    (should (equal "1/2" (votes :votes '((:failure (:kind "timeout")) (:failure nil)))))
    (should (equal "" (votes :votes '((:failure (:kind "not-asked")) (:failure (:kind "not-asked"))))))
    (should (equal "" (votes :tags '("council-unavailable"))))))

(ert-deftest neuron-council-test-list-odd-verdicts ()
  "Whatever the ledger or Emacs has, what can be shown is shown."
  (let* ((odd (list nil t 7 -1.5 1e300 "" "text\nwith\tlines \u202e" "council-parked" '(1 2) '(:a 1) '(nil "council-flagged")
                    '((:deep (:deeper "x"))) (make-string 9000 ?é)))
         (keys '(:id :at :claim :confidence :tags :council_votes :status :review :supersedes :error :summary))
         (random-verdict (lambda ()
                           (let ((verdict nil))
                             (dolist (key keys verdict)
                               (when (> (random 4) 0)
                                 (setq verdict (append verdict (list key (nth (random (length odd)) odd))))))))))
    (random "list")
    (neuron-council-test-listing '(:ledger 3)
      (dotimes (round 30)
        (setq neuron-council-list--ledger nil
              neuron-council-verdicts nil)
        (let ((answer (list :verdicts (append (list 7 nil "x") (mapcar (lambda (_) (funcall random-verdict)) (make-list 12 0)))
                            :next_cursor (nth (random (length odd)) odd)
                            :counts (nth (random (length odd)) odd)))
              (at-hand (funcall random-verdict)))
          (setq neuron-council-verdicts (list at-hand (plist-put (funcall random-verdict) :id "an-id")))
          (neuron-council-list--answered (if (< round 15) 'fresh 'newer) answer (list :verdicts 5) nil))
        (should (>= (length (neuron-council-test-list-ids)) 3))
        (should (= (1+ (length (neuron-council-test-list-ids))) (count-lines (point-min) (point-max))))
        (goto-char (point-min))
        (should-not (re-search-forward "[\u202e\t]" nil t))
        (neuron-council-list-toggle-marks)
        (should (neuron-council-list--index))))))

(ert-deftest neuron-council-test-list-odd-answers ()
  (dolist (answer '((:result 7) (:result []) (:result nil) (:result (:verdicts "x" :counts 5 :next_cursor 7))
                    (:error (:code -32803 :message "The ledger is\ncorrupt.")) (:exit 1)))
    (neuron-council-test-listing (list :answers (list :council/list answer))
      (should (equal (neuron-council-test-list-ids) nil))
      (when (plist-get answer :error)
        (should (string-match-p "cannot be asked: The ledger is corrupt\\." (neuron-council-test-list-header))))
      ;; Keys on a list without a row.
      (goto-char (point-max))
      (dolist (keys '("m" "a" "r" "R" "e" "w" "RET" "x" "d" "u"))
        (should-error (call-interactively (key-binding (kbd keys))) :type 'user-error)))))

(ert-deftest neuron-council-test-list-rows-without-an-id ()
  (neuron-council-test-listing '(:ledger [(:id 7 :claim "No id" :tags ["council-flagged"])])
    (should (string-match-p "No id" (neuron-council-test-list-line)))
    (should-error (neuron-council-list-copy-id) :type 'user-error)
    (let ((said (neuron-council-test-messages (neuron-council-test-list-do #'neuron-council-list-accept))))
      (should (cl-some (lambda (text) (string-match-p "\\`Not accepted: \"No id\": .* has no id: verify it anew" text)) said)))
    (let ((shown nil))
      (cl-letf (((symbol-function 'neuron-council-report-show) (lambda (what) (setq shown what))))
        (neuron-council-list-show))
      (should (equal (plist-get shown :claim) "No id")))))

(ert-deftest neuron-council-test-list-killed-during-work ()
  (neuron-council-test-listing '(:ledger 30)
    (neuron-council-list-toggle-marks)
    (let ((said (neuron-council-test-messages
                  (neuron-council-test-answering t (call-interactively #'neuron-council-list-accept))
                  (kill-buffer)
                  (neuron-council-test-until (null neuron-council-rpc-jobs))
                  (neuron-council-test-until (= 30 (length (neuron-council-test-seen "council/review")))))))
      (should-not (cl-some (lambda (text) (string-match-p "error in" text)) said)))
    (neuron-council-test-until (null neuron-council-rpc-jobs))))

(ert-deftest neuron-council-test-list-commands-elsewhere ()
  "In any other buffer they say where they belong, and change nothing."
  (neuron-council-test-with nil
    (with-temp-buffer
      (insert "text")
      (let ((commands nil))
        (mapatoms (lambda (symbol)
                    (when (and (string-prefix-p "neuron-council-list-" (symbol-name symbol)) (commandp symbol)
                               (not (memq symbol '(neuron-council-list-mode neuron-council-list-mouse-show))))
                      (push symbol commands))))
        (should (> (length commands) 20))
        (cl-letf (((symbol-function 'completing-read) (lambda (&rest _) "all"))
                  ((symbol-function 'read-string) (lambda (&rest _) "tea")))
          (dolist (command commands)
            (should (string-match-p "M-x neuron-council"
                                    (error-message-string (should-error (call-interactively command)
                                                                        :type 'user-error)))))))
      (should (equal (buffer-string) "text"))
      (should-not neuron-council-rpc-jobs))))

;;;; At home in Emacs

(ert-deftest neuron-council-test-list-looks ()
  "Show, copy, index, next error, bookmark."
  (neuron-council-test-listing '(:ledger 12)
    (let ((shown nil))
      (cl-letf (((symbol-function 'neuron-council-report-show) (lambda (what) (push what shown))))
        (neuron-council-test-list-goto 7)
        (call-interactively (key-binding (kbd "RET")))
        (next-error)
        (should (equal shown (list (neuron-council-test-uuid 6) (neuron-council-test-uuid 7))))))
    (call-interactively (key-binding (kbd "w")))
    (should (equal (current-kill 0) (neuron-council-test-uuid 6)))
    (let ((index (funcall imenu-create-index-function)))
      (should (= 12 (length index)))
      (goto-char (cdr (assoc "Claim 3" index)))
      (should (equal (tabulated-list-get-id) (neuron-council-test-uuid 3))))
    (neuron-council-test-list-do #'neuron-council-list-filter-parked)
    (neuron-council-test-list-do #'neuron-council-list-filter-text "Claim 1")
    (let ((bookmark (funcall bookmark-make-record-function)))
      (neuron-council-test-list-do #'neuron-council-list-filter-all)
      (neuron-council-test-list-do (cdr (assq 'handler bookmark)) bookmark)
      (should (equal (neuron-council-test-list-ids) '(10))))
    (should (eq (key-binding (kbd "q")) 'quit-window))
    (should (eq (key-binding (kbd "g")) 'revert-buffer))
    (should (eq (key-binding (kbd "?")) 'neuron-council-menu))))

;;;; With the real server

(ert-deftest neuron-council-test-list-of-the-real-ledger ()
  (neuron-council-test-with-council '(:models (:neuron-ft:latest (:ballot "uncertain" :score 3)
                                               :dolphin3:8b (:ballot "confabulation" :score 1)))
    (let ((ids (mapcar (lambda (claim) (plist-get (neuron-council-verify claim) :id))
                       '("Tea is grown in Asia." "Tea is a hot drink." "Rain falls upwards."))))
      (save-window-excursion
        (neuron-council-list)
        (neuron-council-test-until (neuron-council-test-list-settled-p))
        (should (equal (neuron-council-test-list-ids) (reverse ids)))
        (should (string-match-p "\\` 3 await you .* 3 in all" (neuron-council-test-list-header)))
        (neuron-council-test-list-do #'neuron-council-list-filter-text "tea")
        (should (equal (neuron-council-test-list-ids) (list (nth 1 ids) (nth 0 ids))))
        (neuron-council-list-toggle-marks)
        (neuron-council-test-answering t (neuron-council-test-list-do #'neuron-council-list-accept))
        (should-not (neuron-council-list-marked ?*))
        (neuron-council-test-list-do #'neuron-council-list-filter-awaiting)
        (neuron-council-test-list-do #'neuron-council-list-filter-text "")
        (should (equal (neuron-council-test-list-ids) (list (nth 2 ids))))
        (should (string-match-p "\\` 1 await you .* 3 in all" (neuron-council-test-list-header)))
        ;; Judged again it is another verdict on the same claim.
        (neuron-council-test-list-do #'neuron-council-list-reverify)
        (neuron-council-test-list-do #'neuron-council-list-filter-all)
        (should (= 4 (length (neuron-council-test-list-ids))))
        ;; Both go when it is forgotten.
        (neuron-council-table-goto (nth 2 ids))
        (neuron-council-list-flag)
        (neuron-council-test-answering t (neuron-council-test-list-do #'neuron-council-list-execute))
        (should (equal (neuron-council-test-list-ids) (list (nth 1 ids) (nth 0 ids))))))))

(ert-deftest neuron-council-test-list-tooltips-are-plain-text ()
  "Emacs puts a tooltip through `substitute-command-keys'."
  (let ((hostile "\\[kill-emacs] \\<global-map> `code' it's"))
    (neuron-council-test-listing (list :ledger (vector (list :id "an-id" :claim hostile :tags (vector hostile))))
      (let ((at (point-min)) (shown nil))
        (while (setq at (next-single-property-change at 'help-echo))
          (let ((help (get-text-property at 'help-echo)))
            (when help (push (substitute-command-keys help) shown))))
        (should (member (concat "Claim: " hostile) shown))
        (should (member (concat "Verdict: " hostile) shown))))))

;; Root, who may read everything, cannot see a folder that is closed.
(ert-deftest neuron-council-test-list-of-held-memories-that-cannot-be-read ()
  (neuron-council-test-listing '(:ledger 2)
    (cl-letf (((symbol-function 'file-attributes)
               (lambda (file &rest _) (signal 'file-error (list "Getting attributes" "Permission denied" file)))))
      (neuron-council-test-list-do #'neuron-council-list-refresh)
      (should (equal (neuron-council-test-list-ids) '(0 1)))
      (should (string-match-p "Held memories cannot be read: .*denied" (neuron-council-test-list-header))))
    (neuron-council-test-list-do #'neuron-council-list-refresh)
    (should-not (string-match-p "Held" (neuron-council-test-list-header)))))

;;; list-test.el ends here
