;;; text-test.el --- Tests of the text on its way to and from the council  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Code:

(require 'helper)

(ert-deftest neuron-council-test-text-clean-keeps-text ()
  (dolist (text '("" "plain" "über 東京 😀" "a\nb\tc\r\n"))
    (should (equal (neuron-council-text-clean text) text))))

(ert-deftest neuron-council-test-text-clean-decodes-unibyte ()
  (should (equal (neuron-council-text-clean (encode-coding-string "né 東 😀" 'utf-8)) "né 東 😀"))
  (should (multibyte-string-p (neuron-council-text-clean (encode-coding-string "né" 'utf-8)))))

(ert-deftest neuron-council-test-text-clean-replaces-what-json-cannot-carry ()
  (should (equal (neuron-council-text-clean "a\0b") "a\ufffdb"))
  (should (equal (neuron-council-text-clean "\xe9\x80") "\ufffd\ufffd"))
  (should (equal (neuron-council-text-clean (string ?a (unibyte-char-to-multibyte #xff) ?b)) "a\ufffdb"))
  (should (equal (neuron-council-text-clean (string #xd800 ?a #xdfff)) "\ufffda\ufffd"))
  (should (equal (neuron-council-text-clean (string #x110000)) "\ufffd")))

(ert-deftest neuron-council-test-text-clean-drops-properties ()
  (should-not (text-properties-at 0 (neuron-council-text-clean (propertize "abc" 'face 'bold 'invisible t)))))

(ert-deftest neuron-council-test-text-clean-can-always-be-serialized ()
  (dotimes (n 300)
    (let ((text (concat (list ?a (* n 14000) ?b))))
      (should (json-serialize (list :t (neuron-council-text-clean text)))))))

(ert-deftest neuron-council-test-text-plain-shows-control-characters ()
  (should (equal (neuron-council-text-plain "a\e[31mred\a") "a^[[31mred^G"))
  (should (equal (neuron-council-text-plain "\x7f") "^?"))
  (should (equal (neuron-council-text-plain "a\u202etxt.exe") "a\\u202etxt.exe"))
  (should (equal (neuron-council-text-plain "a\u0085b\u2028c") "a\\u0085b\\u2028c"))
  (should (equal (neuron-council-text-plain "one\n\n two\tthree ") "one two three"))
  (should (equal (neuron-council-text-plain "é 東京 😀") "é 東京 😀")))

(ert-deftest neuron-council-test-text-plain-shows-what-is-not-seen ()
  "Nobody can hide a difference, or a message, in what has no width."
  (dolist (char '(#xad #x34f #x61c #x115f #x3164 #x180e #x200b #x200c #x200d #x200e #x2060 #x2062 #x206a #xfe00 #xfe0f
                  #xfeff #xfff9 #x1d173 #xe0001 #xe0061 #xe0100))
    (let ((code (format "\\u%04x" char)))
      (should (equal (neuron-council-text-plain (format "pay%cpal" char)) (format "pay%spal" code)))
      (should (equal (neuron-council-text-plain (string char)) code))
      (should (equal (neuron-council-text-plain (string char char)) (concat code code))))))

(ert-deftest neuron-council-test-text-plain-keeps-joiners-that-join ()
  (dolist (text (list "می\u200cخواهم" "क्\u200dष" "ක්\u200dර" "👩\u200d👩\u200d👧" "❤\ufe0f\u200d🔥" "1\ufe0f\u20e3" "©\ufe0f"
                      "葛\U000e0100"))
    (should (equal (neuron-council-text-plain text) text)))
  ;; One that joins nothing hides something.
  (should (equal (neuron-council-text-plain "می\u200cx") "می\\u200cx"))
  (should (equal (neuron-council-text-plain "😀\u200d") "😀\\u200d"))
  (should (equal (neuron-council-text-plain "😀\u200cx") "😀\\u200cx"))
  (should (equal (neuron-council-text-plain "👩\u200d\u200d👩") "👩\\u200d\\u200d👩"))
  (should (equal (neuron-council-text-plain "😀\ufe0f\ufe0f") "😀\ufe0f\\ufe0f"))
  ;; The tags that a flag is made of can spell any message.
  (should (string-match-p "\\\\ue0067" (neuron-council-text-plain "🏴\U000e0067"))))

(ert-deftest neuron-council-test-text-clean-looks-before-it-mends ()
  "Clean text costs a search, not a list of its characters."
  (let ((text (apply #'concat (make-list 20000 "some plain text with é and 東京 in it. 0123456789abcde")))
        (best 1000))
    (dotimes (_ 3)
      (setq best (min best (* 1000 (neuron-council-test-seconds (neuron-council-text-clean text))))))
    (message "A megabyte of clean text takes %.1f ms" best)
    (let ((conses cons-cells-consed))
      (neuron-council-text-clean text)
      (should (< (- cons-cells-consed conses) 1000)))))

(ert-deftest neuron-council-test-text-plain-drops-properties ()
  (let ((text (neuron-council-text-plain (propertize "click" 'keymap (make-sparse-keymap) 'display "other"))))
    (should-not (text-properties-at 0 text))))

(ert-deftest neuron-council-test-text-fold-keeps-to-the-width ()
  (dolist (text (list (make-string 500 ?x)
                      (apply #'concat (make-list 60 "some words of text "))
                      (apply #'concat (make-list 90 "東京都"))
                      "short"))
    (dolist (width '(20 40 80))
      (let ((lines (split-string (neuron-council-text-fold text "    " width) "\n" t)))
        (should lines)
        (dolist (line lines)
          (should (string-prefix-p "    " line))
          (should (<= (string-width line) width)))
        (should (equal (replace-regexp-in-string " " "" (apply #'concat lines))
                       (replace-regexp-in-string " " "" text)))))))

(ert-deftest neuron-council-test-text-fold-of-nothing-is-nothing ()
  (should (equal (neuron-council-text-fold " \n" "  " 80) "")))

(ert-deftest neuron-council-test-text-long-hostile-text-is-quick ()
  (dolist (text (list (make-string 32000 ?x) (make-string 32000 ?\e) (make-string 32000 #x200d) (apply #'concat (make-list 16000 "x "))))
    (should (< (neuron-council-test-seconds (neuron-council-text-fold text "  " 80))
               neuron-council-test-never))))

;; A pattern that goes back over what it has passed overflows the matcher's stack, which has room for 40,000 places.
(ert-deftest neuron-council-test-text-of-any-length-is-no-trouble ()
  (dolist (unit '("\n" " " "\t" "x\n" "\n\n "))
    (should (< (length (neuron-council-text-plain (apply #'concat (make-list (/ 200000 (length unit)) unit))))
               200000))))

(ert-deftest neuron-council-test-text-shorten-keeps-both-ends ()
  (should (equal (neuron-council-text-shorten "short" 20) "short"))
  (dolist (length '(20 21 100))
    (let ((text (neuron-council-text-shorten (concat "What? " (make-string 500 ?x) " Cure.") length)))
      (should (= (length text) length))
      (should (string-match-p "\\`What\\?.* \\.\\.\\. .*Cure\\.\\'" text)))))

(ert-deftest neuron-council-test-text-quote-survives-a-tooltip ()
  (dolist (text '("plain" "\\[kill-emacs] \\{global-map} \\<global-map> \\=" "`code' it's ‘so’" "C:\\dir" ""))
    (should (equal (substitute-command-keys (neuron-council-text-quote text)) text))))

;;; text-test.el ends here
