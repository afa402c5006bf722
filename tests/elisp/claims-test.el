;;; claims-test.el --- Tests of judging every claim of a buffer  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Code:

(require 'helper)
(require 'neuron-council-claims)

(defmacro neuron-council-test-in-mode (mode text &rest body)
  "Run BODY in a buffer with TEXT in MODE, which loads nothing and runs no hook."
  (declare (indent 2))
  `(with-temp-buffer
     (insert ,text)
     (delay-mode-hooks (funcall ,mode))
     (goto-char (point-min))
     ,@body))

(define-derived-mode neuron-council-test-org-mode text-mode "Org"
  "What passes for Org without loading it.")
(put 'neuron-council-test-org-mode 'derived-mode-parent 'org-mode)

(defun neuron-council-test-texts (mode text &optional unit)
  "Return the claims of TEXT in MODE, each of them one UNIT."
  (let ((neuron-council-claims-unit (or unit 'auto)))
    (neuron-council-test-in-mode mode text
      (mapcar #'neuron-council-claims--claim-text
              (car (neuron-council-claims--collect (point-min) (point-max) nil))))))

;;;; What a claim is

(ert-deftest neuron-council-test-claims-of-text ()
  (should (equal (neuron-council-test-texts #'text-mode "\
The tower is in Paris. It was built in 1889.  Was it
really? \"It was!\" said Dr. Smith, e.g. to J. Doe, who
left at 3.14 p.m. approx. then. The end (of it.) The very end…

Another paragraph without a stop
")
                 '("The tower is in Paris." "It was built in 1889." "Was it really?"
                   "\"It was!\" said Dr. Smith, e.g. to J. Doe, who left at 3.14 p.m. approx. then."
                   "The end (of it.)" "The very end…" "Another paragraph without a stop")))
  (should (equal (neuron-council-test-texts #'text-mode "東京は日本の首都である。富士山は高い山である！")
                 '("東京は日本の首都である。" "富士山は高い山である！"))))

(ert-deftest neuron-council-test-claims-too-short-or-without-a-letter ()
  (should (equal (neuron-council-test-texts #'text-mode "Yes. 12345 67890 12345. A longer claim here. OK.")
                 '("A longer claim here.")))
  (let ((neuron-council-claims-shortest 0))
    (should (equal (neuron-council-test-texts #'text-mode "Yes. 12345 67890.") '("Yes.")))))

(defconst neuron-council-test-markdown "\
---
title: A front matter that is no claim
---

# A heading that is no claim

The first sentence. The second
sentence of it.

A heading underlined
--------------------

- The first item. It has two sentences.
- [ ] The second item
  goes on here.
  * A nested item here.
1. A numbered item here.

> A quotation that goes
> on for a while. And ends there.

```python
print(\"This is code. Not a claim.\")
```

| A table | of no claims |
<!-- A comment. It has
no claims. -->
[link]: https://example.org/not-a-claim
* * *
The last sentence.
"
  "Text with what Markdown has.")

(ert-deftest neuron-council-test-claims-of-markdown ()
  (should (equal (neuron-council-test-texts #'text-mode neuron-council-test-markdown)
                 '("The first sentence." "The second sentence of it."
                   "The first item. It has two sentences." "The second item goes on here." "A nested item here."
                   "A numbered item here."
                   "A quotation that goes on for a while." "And ends there."
                   "The last sentence."))))

(defconst neuron-council-test-org "\
#+title: A title that is no claim
* A heading that is no claim
SCHEDULED: <2026-01-01 Thu>
:PROPERTIES:
:SOURCE: A property that is no claim
:END:
The first sentence. The second one of
the paragraph.
# A comment that is no claim.
- The first item. It has two sentences.
- [X] The second item
  goes on.

  Its second paragraph.
** Another heading, no claim
#+begin_src python
print(\"Code that is no claim.\")
#+end_src
#+BEGIN_QUOTE
What is quoted is a claim.
#+END_QUOTE
: Fixed width is no claim.
| A table | no claim |
-----
#+begin_example
Never closed is one line only.
"
  "Text with what Org has.")

(ert-deftest neuron-council-test-claims-of-org ()
  (should (equal (neuron-council-test-texts #'neuron-council-test-org-mode neuron-council-test-org)
                 '("The first sentence." "The second one of the paragraph."
                   "The first item. It has two sentences." "The second item goes on." "Its second paragraph."
                   "What is quoted is a claim." "Never closed is one line only."))))

(ert-deftest neuron-council-test-claims-by-unit ()
  (let ((text "The first sentence. The second\nsentence of it.\n\n- An item of it. It goes\n  on for long.\n"))
    (pcase-dolist (`(,unit . ,claims)
                   '((sentence "The first sentence." "The second sentence of it." "An item of it."
                               "It goes on for long.")
                     (item "An item of it. It goes on for long.")
                     (paragraph "The first sentence. The second sentence of it."
                                "An item of it. It goes on for long.")
                     (line "The first sentence. The second" "sentence of it." "An item of it. It goes"
                           "on for long.")))
      (should (equal (neuron-council-test-texts #'text-mode text unit) claims)))))

(ert-deftest neuron-council-test-claims-of-programs ()
  (should (equal (neuron-council-test-texts #'emacs-lisp-mode "\
;;; a.el --- A line with -*- lexical-binding: t; -*-
;; The first comment goes
;; on here. And it ends.

(defun a () \"
;; A string is no comment.
\" 'b) ; A comment beside code.
")
                 '("The first comment goes on here." "And it ends.")))
  (should (equal (neuron-council-test-texts #'c-mode "\
/* The comment of a program
 * goes on here. It ends there. */
int main(void) { return 0; }
")
                 '("The comment of a program goes on here." "It ends there."))))

(ert-deftest neuron-council-test-claims-of-a-part ()
  (neuron-council-test-in-mode #'text-mode "```\nThe code is not closed here.\nIt ends here now.\n```\nA claim of it. Another claim.\n"
    (search-forward "It ends")
    (pcase-let ((`(,claims . 0) (neuron-council-claims--collect (point) (point-max) nil)))
      (should (equal '("A claim of it." "Another claim.") (mapcar #'neuron-council-claims--claim-text claims))))
    (search-forward "A claim of")
    (should (equal '("Another claim.")
                   (mapcar #'neuron-council-claims--claim-text
                           (car (neuron-council-claims--collect (point) (point-max) nil)))))))

(ert-deftest neuron-council-test-claims-too-long-are-counted ()
  (neuron-council-test-in-mode #'text-mode (concat (make-string 8001 ?x) ". A claim of it.")
    (pcase-let ((`(,claims . ,long) (neuron-council-claims--collect (point-min) (point-max) nil)))
      (should (= 1 long))
      (should (equal '("A claim of it.") (mapcar #'neuron-council-claims--claim-text claims))))))

(ert-deftest neuron-council-test-claims-have-a-context ()
  (dolist (row '((nil nil) (paragraph "The first one. And last.") (heading "A heading / Below it")
                 ((lambda (beg end) (format "%d-%d" beg end)) "49-64")
                 ((lambda (_ _) nil) nil)))
    (let ((neuron-council-claims-context (car row)))
      (neuron-council-test-in-mode #'text-mode
          "# Other\n# A heading\n## Below it\n\nThe first one. The second\none. And last.\n"
        (let ((claim (nth 1 (car (neuron-council-claims--collect (point-min) (point-max) nil)))))
          (should (equal "The second one." (neuron-council-claims--claim-text claim)))
          (should (equal (cadr row) (neuron-council-claims--claim-context claim))))
        (should (equal "Given" (neuron-council-claims--claim-context
                                (caar (neuron-council-claims--collect (point-min) (point-max) "Given")))))))))

(ert-deftest neuron-council-test-claims-of-a-large-buffer-are-found-soon ()
  (neuron-council-test-in-mode #'text-mode ""
    (dotimes (n 4000)
      (insert (format "- Item %d is a claim of the list.\n\nParagraph %d has a claim. It has another one.\n\n" n n)))
    (let ((seconds (neuron-council-test-seconds
                     (should (= 12000 (length (car (neuron-council-claims--collect (point-min) (point-max) nil))))))))
      (should (< seconds neuron-council-test-never)))
    (goto-char (/ (point-max) 2))
    ;; The claim at point is found from what is around it, not from all.
    (narrow-to-region (- (point) 2000) (+ (point) 2000))
    (let ((near (neuron-council-claims-at-point)))
      (widen)
      (should (equal near (neuron-council-claims-at-point))))))

;;;; Runs

(defun neuron-council-test-marks ()
  "Return the marks of the current buffer."
  (neuron-council-region-overlays (point-min) (point-max)))

(defun neuron-council-test-seen-claims ()
  "Return the claims that the server was asked about, in order."
  (mapcar (lambda (message) (plist-get (plist-get message :params) :claim))
          (neuron-council-test-seen "council/verify")))

(defmacro neuron-council-test-in-claims (count &rest body)
  "Run BODY in a buffer with COUNT claims, one a line."
  (declare (indent 1))
  `(with-temp-buffer
     (dotimes (n ,count) (insert (format "- The claim with the number %d.\n" n)))
     (goto-char (point-min))
     ,@body))

(defmacro neuron-council-test-run (&rest body)
  "Run BODY, whose value is a run or its handle, and wait for its end.
Return what was said."
  `(let ((noninteractive nil) (neuron-council-show-progress nil))
     (neuron-council-test-messages
       (let ((job (progn ,@body)))
         (neuron-council-test-until (not (memq (neuron-council-rpc-find job) neuron-council-rpc-jobs)))))))

(ert-deftest neuron-council-test-run-judges-every-claim ()
  (neuron-council-test-with '(:verify [nil (:verdict (:confidence 0.3)) (:verdict (:confidence 0.65)) nil])
    (let ((neuron-council-claims-at-a-time 1))
      (neuron-council-test-in-claims 6
        (should (equal (neuron-council-test-run (neuron-council-verify-buffer nil nil "A context"))
                       (list (concat "Council: 6 of 6 claims judged, 1 flagged, 1 split; "
                                     (substitute-command-keys "\\[next-error] leads to them")))))
        (should (equal (neuron-council-test-seen-claims)
                       (mapcar (lambda (n) (format "The claim with the number %d." n)) (number-sequence 0 5))))
        (dolist (message (neuron-council-test-seen "council/verify"))
          (should (eq t (plist-get (plist-get message :params) :background)))
          (should (equal "A context" (plist-get (plist-get message :params) :context))))
        (should (= 6 (length neuron-council-verdicts)))
        (should (equal (mapcar (lambda (mark) (substring-no-properties (overlay-get mark 'after-string)))
                               (neuron-council-test-marks))
                       '(" [0.85]" " [0.30]" " [0.65]" " [0.85]" " [0.85]" " [0.85]")))
        (should (equal "The claim with the number 0."
                       (let ((mark (car (neuron-council-test-marks))))
                         (buffer-substring (overlay-start mark) (overlay-end mark)))))))))

(ert-deftest neuron-council-test-run-has-a-few-claims-at-the-server ()
  (neuron-council-test-with '(:verify [(:silent t)])
    (let ((neuron-council-claims-at-a-time 3))
      (neuron-council-test-in-claims 8
        (let ((job (neuron-council-rpc-find (neuron-council-verify-buffer))))
          (neuron-council-test-until (= 3 (length (neuron-council-test-seen "council/verify"))))
          ;; What waits for its turn is not to be seen.
          (should (= 3 (length (delq nil (mapcar (lambda (mark) (overlay-get mark 'face))
                                                 (neuron-council-test-marks))))))
          (should (= 8 (length (neuron-council-test-marks))))
          ;; One job stands for all of them.
          (should (equal (list job) (let ((shown nil))
                                      (dolist (each neuron-council-rpc-jobs shown)
                                        (unless (neuron-council-job-background each) (push each shown))))))
          (should (equal "0/8 judged, 0 flagged" (neuron-council-job-note job)))
          (should (equal '("Council: 0 of 8 claims judged, none flagged; cancelled")
                         (neuron-council-test-run (neuron-council-cancel job) job)))
          (neuron-council-test-until (null (neuron-council-test-marks)))
          (neuron-council-test-until (null neuron-council-rpc-jobs))
          (neuron-council-test-until (= 3 (length (neuron-council-test-cancelled))))
          (should (= 3 (length (neuron-council-test-seen "council/verify"))))
          (should-not neuron-council-verdicts))))))

(ert-deftest neuron-council-test-run-passes-over-what-was-edited ()
  (neuron-council-test-with nil
    (let ((neuron-council-claims-at-a-time 1))
      (neuron-council-test-in-claims 4
        (should (equal '("Council: 3 of 4 claims judged, 1 edited meanwhile")
                       (neuron-council-test-run
                        (prog1 (neuron-council-verify-buffer)
                          (search-forward "number 2")
                          (insert "2")))))
        (should (equal '("The claim with the number 0." "The claim with the number 1." "The claim with the number 3.")
                       (neuron-council-test-seen-claims)))
        (should (= 3 (length (neuron-council-test-marks))))))))

(ert-deftest neuron-council-test-run-outlives-its-buffer ()
  (neuron-council-test-with nil
    (let (job)
      (neuron-council-test-in-claims 6
        (setq job (neuron-council-verify-buffer)))
      (should (equal '("Council: 4 of 6 claims judged, 2 edited meanwhile") (neuron-council-test-run job)))
      (should (= 4 (length neuron-council-verdicts))))))

(ert-deftest neuron-council-test-run-ends-when-nothing-can-be-judged ()
  (neuron-council-test-clean
    (let ((neuron-council-server-command '("/nonexistent/neuron-council" "serve")))
      (neuron-council-test-in-claims 12
        (let ((said (car (neuron-council-test-run (neuron-council-verify-buffer)))))
          (should (string-match-p "\\`Council: 4 of 12 claims judged, 4 not available; ended, .*/nonexistent/" said)))
        (should (= 4 (length (neuron-council-test-marks))))))))

(ert-deftest neuron-council-test-run-goes-on-after-a-failure ()
  (neuron-council-test-with '(:verify [nil (:error (:code -32603 :message "Odd")) (:error (:code -32602 :message "claim"))
                                       (:error (:code -32602 :message "claim")) (:error (:code -32602 :message "claim"))
                                       nil])
    (let ((neuron-council-claims-at-a-time 2))
      (neuron-council-test-in-claims 9
        (should (equal '("Council: 9 of 9 claims judged, 4 not available")
                       (neuron-council-test-run (neuron-council-verify-buffer))))))))

(ert-deftest neuron-council-test-run-odd-verdicts-end-nothing ()
  (neuron-council-test-with '(:verify [(:verdict (:tags [1 nil])) (:verdict (:status [])) (:result 3) (:result nil) nil])
    (neuron-council-test-in-claims 8
      (should (string-match-p "8 of 8 claims judged" (car (neuron-council-test-run (neuron-council-verify-buffer))))))))

(ert-deftest neuron-council-test-run-of-nothing ()
  (neuron-council-test-clean
    (with-temp-buffer
      (insert "# Heading of it\n\n```\nThis is code.\n```\n")
      (should-error (neuron-council-verify-buffer) :type 'user-error)
      (rename-buffer "*neuron-council a test*")
      (insert "A claim is here.")
      (should-error (neuron-council-verify-buffer) :type 'user-error))
    (should-not neuron-council-rpc-jobs)))

(ert-deftest neuron-council-test-run-is-confirmed ()
  (neuron-council-test-with nil
    (let ((asked nil) (answer nil) (neuron-council-claims-confirm 3)
          (noninteractive nil) (neuron-council-show-progress nil) (inhibit-message t))
      (cl-letf (((symbol-function 'y-or-n-p) (lambda (prompt) (push prompt asked) answer)))
        (neuron-council-test-in-claims 3
          (call-interactively #'neuron-council-verify-buffer)
          (neuron-council-test-until (null neuron-council-rpc-jobs))
          (should-not asked))
        (neuron-council-test-in-claims 4
          (should-not (call-interactively #'neuron-council-verify-buffer))
          (should (equal asked '("Have the council judge 4 claims (about 6 s)? ")))
          (should-not neuron-council-rpc-jobs)
          (should-not (neuron-council-test-marks))
          (let ((neuron-council-claims-confirm nil))
            (call-interactively #'neuron-council-verify-buffer))
          (setq answer t)
          (call-interactively #'neuron-council-verify-buffer)
          (neuron-council-verify-buffer)
          (should (= 2 (length asked)))
          (neuron-council-test-until (null neuron-council-rpc-jobs)))))))

(ert-deftest neuron-council-test-run-in-the-region ()
  (neuron-council-test-with nil
    (neuron-council-test-in-claims 4
      (let ((transient-mark-mode t))
        (forward-line 1)
        (set-mark (point))
        (forward-line 2)
        (call-interactively #'neuron-council-verify-buffer))
      (neuron-council-test-until (null neuron-council-rpc-jobs))
      (should (equal '("The claim with the number 1." "The claim with the number 2.")
                     (neuron-council-test-seen-claims))))))

;;;; Walking

(ert-deftest neuron-council-test-next-error-walks-the-flagged ()
  (neuron-council-test-with '(:verify [nil (:verdict (:confidence 0.3)) nil
                                       (:verdict (:confidence 0.3 :tags ["unverified" "council-flagged" "council-parked"]))
                                       (:verdict (:confidence 0.65)) (:verdict (:confidence 0.3)) nil])
    (let ((neuron-council-claims-at-a-time 1) (next-error-last-buffer nil)
          (line (lambda () (1- (line-number-at-pos)))))
      (neuron-council-test-in-claims 8
        (setq-local next-error-function #'ignore)
        (let ((job (neuron-council-rpc-find (neuron-council-verify-buffer))))
          (neuron-council-test-until (not (memq job neuron-council-rpc-jobs))))
        (save-window-excursion
          (switch-to-buffer (current-buffer))
          ;; Where one has just typed; the first step leads to the first one all the same.
          (goto-char (point-max))
          (should (equal '(1 3 5) (list (progn (next-error) (funcall line)) (progn (next-error) (funcall line))
                                        (progn (next-error) (funcall line)))))
          (should-error (next-error) :type 'user-error)
          (previous-error 2)
          (should (= 1 (funcall line)))
          (should-error (previous-error) :type 'user-error)
          (next-error 2)
          (first-error)
          (should (= 1 (funcall line)))
          ;; From elsewhere, too.
          (let ((home (current-buffer)))
            (with-temp-buffer
              (switch-to-buffer (current-buffer))
              (next-error)
              (should (eq home (window-buffer)))
              (should (= 3 (with-current-buffer home (funcall line)))))))
        (neuron-council-clear-marks)
        (should (eq #'ignore next-error-function))
        (should-not (local-variable-p 'neuron-council-region--next-error))))))

(ert-deftest neuron-council-test-next-error-is-given-back-after-the-last-edit ()
  (neuron-council-test-with nil
    (neuron-council-test-in-claims 2
      (neuron-council-verify-buffer)
      (should (eq #'neuron-council-region-next-error next-error-function))
      (neuron-council-test-until (null neuron-council-rpc-jobs))
      (search-forward "number")
      (insert "s")
      (should (eq #'neuron-council-region-next-error next-error-function))
      (search-forward "number")
      (insert "s")
      (should-not (local-variable-p 'next-error-function))
      (should-not (local-variable-p 'next-error-verbose))
      (neuron-council-verify-buffer)
      (erase-buffer)
      (should-error (neuron-council-region-next-error) :type 'user-error)
      (should-not (local-variable-p 'next-error-function)))))

(ert-deftest neuron-council-test-next-error-of-a-list-of-errors-is-left-alone ()
  (neuron-council-test-with nil
    (neuron-council-test-in-claims 2
      (setq-local next-error-function #'ignore)
      (setq buffer-read-only t)
      (let ((next-error-last-buffer nil))
        (neuron-council-verify-buffer)
        (should (eq #'ignore next-error-function))
        (should-not next-error-last-buffer)
        (neuron-council-test-until (null neuron-council-rpc-jobs))))))

;;; claims-test.el ends here
