;;; region-test.el --- Tests of judging the region and of showing progress  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Code:

(require 'helper)

(defmacro neuron-council-test-in-text (&rest body)
  "Run BODY in a buffer with a claim between BEG and END."
  (declare (indent 0))
  `(with-temp-buffer
     (insert "Before. The claim in the text. After.")
     (let ((beg 9) (end 31))
       ,@body)))

(defun neuron-council-test-note ()
  "Return the note beside the judged text of the current buffer."
  (let ((overlays (neuron-council-region--overlays (point-min) (point-max))))
    (should (= 1 (length overlays)))
    (substring-no-properties (overlay-get (car overlays) 'after-string))))

(ert-deftest neuron-council-test-region-shows-the-verdict ()
  (neuron-council-test-with '(:verify [(:notes ["neuron: plausible (1/3)"] :delay 0.4)])
    (neuron-council-test-in-text
      (council-verify-region beg end "A context")
      (should (equal (neuron-council-test-note) " [council: convening]"))
      (neuron-council-test-until (equal (neuron-council-test-note) " [council: neuron: plausible (1/3)]"))
      (neuron-council-test-until (equal (neuron-council-test-note) " [council: 0.85 verified]"))
      (let ((overlay (car (neuron-council-region--overlays (point-min) (point-max)))))
        (should (equal (list (overlay-start overlay) (overlay-end overlay)) (list beg end)))
        (should (memq 'neuron-council-verified (overlay-get overlay 'face))))
      (with-current-buffer (neuron-council-report-buffer)
        (should (string-match-p "The claim in the text\\." (buffer-string)))
        (should (string-match-p "neuron sees nothing against it" (buffer-string))))
      (let ((params (plist-get (car (neuron-council-test-seen "council/verify")) :params)))
        (should (equal (plist-get params :claim) "The claim in the text."))
        (should (equal (plist-get params :context) "A context")))
      (should (equal (buffer-string) "Before. The claim in the text. After.")))))

(ert-deftest neuron-council-test-region-without-a-server ()
  (neuron-council-test-clean
    (let ((neuron-council-server-command '("/nonexistent/neuron-council" "serve")))
      (neuron-council-test-in-text
        (council-verify-region beg end)
        (neuron-council-test-until (equal (neuron-council-test-note) " [council: 0.50 council-unavailable]"))
        (with-current-buffer (neuron-council-report-buffer)
          (should (string-match-p "/nonexistent/neuron-council" (buffer-string))))))))

(ert-deftest neuron-council-test-region-in-a-buffer-that-was-killed ()
  (neuron-council-test-with '(:verify [(:delay 0.3)])
    (neuron-council-test-in-text (council-verify-region beg end))
    (neuron-council-test-until neuron-council-verdicts)
    (with-current-buffer (neuron-council-report-buffer)
      (should (string-match-p "The claim in the text\\." (buffer-string))))))

(ert-deftest neuron-council-test-region-changed-text-loses-its-mark ()
  (neuron-council-test-with '(:verify [(:delay 0.3)])
    (neuron-council-test-in-text
      (council-verify-region beg end)
      (goto-char (+ beg 3))
      (insert "other ")
      (should-not (neuron-council-region--overlays (point-min) (point-max)))
      (neuron-council-test-until neuron-council-verdicts)
      (should-not (neuron-council-region--overlays (point-min) (point-max))))))

(ert-deftest neuron-council-test-region-judged-again-has-one-mark ()
  (neuron-council-test-with nil
    (neuron-council-test-in-text
      (council-verify-region beg end)
      (council-verify-region beg end)
      (neuron-council-test-until (= 2 (length neuron-council-verdicts)))
      (should (equal (neuron-council-test-note) " [council: 0.85 verified]"))
      (neuron-council-clear-marks)
      (should-not (neuron-council-region--overlays (point-min) (point-max))))))

(ert-deftest neuron-council-test-region-cancelled ()
  (neuron-council-test-with '(:verify [(:delay 30)])
    (neuron-council-test-in-text
      (council-verify-region beg end)
      (neuron-council-test-until (neuron-council-test-seen "council/verify"))
      (call-interactively #'neuron-council-cancel)
      (neuron-council-test-until (null (neuron-council-region--overlays (point-min) (point-max))))
      (should (equal (neuron-council-test-cancelled) (list (neuron-council-test-token 0))))
      (should-not neuron-council-verdicts))))

(ert-deftest neuron-council-test-region-interactively ()
  (neuron-council-test-with nil
    (neuron-council-test-in-text
      (set-mark beg)
      (goto-char end)
      (call-interactively #'council-verify-region)
      (neuron-council-test-until neuron-council-verdicts)
      (let ((params (plist-get (car (neuron-council-test-seen "council/verify")) :params)))
        (should (equal (plist-get params :claim) "The claim in the text."))
        (should-not (plist-member params :context)))
      (save-window-excursion
        (goto-char end)
        (call-interactively #'neuron-council-show-verdict)
        (should (equal (neuron-council-report--id) (plist-get (car neuron-council-verdicts) :id)))))))

(ert-deftest neuron-council-test-region-without-text ()
  (neuron-council-test-clean
    (with-temp-buffer
      (insert " \n ")
      (should-error (council-verify-region (point-min) (point-max)) :type 'user-error)
      (should-error (council-verify-region 1 1) :type 'user-error))))

(ert-deftest neuron-council-test-region-drops-properties ()
  (neuron-council-test-with nil
    (with-temp-buffer
      (insert (propertize "A claim with invisible text" 'invisible t 'face 'bold))
      (council-verify-region (point-min) (point-max))
      (neuron-council-test-until neuron-council-verdicts)
      (should (equal (plist-get (car neuron-council-verdicts) :claim) "A claim with invisible text")))))

;;;; Progress

(defmacro neuron-council-test-shown (&rest body)
  "Run BODY as if Emacs were not in batch; return what the echo area showed.
The newest comes first."
  `(let ((noninteractive nil) (shown nil))
     (cl-letf (((symbol-function 'message) (lambda (format &rest arguments)
                                             (when format (push (apply #'format format arguments) shown))))
               ((symbol-function 'force-mode-line-update) #'ignore))
       ,@body)
     shown))

(ert-deftest neuron-council-test-progress-of-a-wait-is-echoed ()
  (neuron-council-test-with '(:verify [(:notes ["neuron: plausible (1/3)"] :delay 0.4)])
    (let ((shown (neuron-council-test-shown (neuron-council-verify "A claim"))))
      (should (equal (reverse shown) '("Council: convening" "Council: neuron: plausible (1/3)"))))))

(ert-deftest neuron-council-test-progress-of-the-others-is-in-the-mode-line ()
  (neuron-council-test-with '(:verify [(:notes ["neuron: 100% plausible (1/3)"] :delay 0.5)])
    (let ((global-mode-string nil) (neuron-council-jobs--mode-line nil) (done nil))
      (neuron-council-test-shown
       (neuron-council-verify-async "A claim" nil (lambda (_) (setq done t)))
       (should (memq 'neuron-council-jobs--mode-line global-mode-string))
       (should (equal (substring-no-properties neuron-council-jobs--mode-line) " Council: convening"))
       (neuron-council-test-until (equal (substring-no-properties (or neuron-council-jobs--mode-line ""))
                                         " Council: neuron: 100% plausible (1/3)"))
       (neuron-council-test-until done)
       (should-not neuron-council-jobs--mode-line)))))

(ert-deftest neuron-council-test-progress-can-be-turned-off ()
  (neuron-council-test-with '(:verify [(:notes ["neuron: plausible (1/3)"] :delay 0.2)])
    (let ((neuron-council-show-progress nil))
      (should-not (neuron-council-test-shown (neuron-council-verify "A claim"))))))

(ert-deftest neuron-council-test-progress-is-silent-in-batch ()
  (neuron-council-test-with '(:verify [(:notes ["neuron: plausible (1/3)"] :delay 0.2)])
    (cl-letf (((symbol-function 'message) (lambda (&rest _) (error "Something was said"))))
      (should (neuron-council-verify "A claim")))))

;;; region-test.el ends here
