;;; files-test.el --- Tests of the files that outlive Emacs  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Code:

(require 'helper)

(defun neuron-council-test-record-file (n &optional text)
  "Return the file for the Nth id in the folder unsent, with TEXT in it if given."
  (let ((file (neuron-council-files-name (neuron-council-files-folder "unsent") (neuron-council-test-uuid n))))
    (when text
      (make-directory (file-name-directory file) t)
      (let ((coding-system-for-write 'utf-8-emacs-unix))
        (write-region text nil file nil 'quiet)))
    file))

(ert-deftest neuron-council-test-files-come-back ()
  (neuron-council-test-clean
    (let ((n 0))
      (dolist (value (list "東京 é 😀 \0 \x3fffff \"quoted\" \\ \n?" (encode-coding-string "é" 'utf-8) nil t 'symbol :key 1.5 -7
                           '(a . b) [1 (2 "x")] (make-string 24000 ?ø)))
        (let ((file (neuron-council-test-record-file (setq n (1+ n)))))
          (neuron-council-files-write file (list :id (neuron-council-test-uuid n) :value value))
          (let ((record (neuron-council-files-read file #'always)))
            (should (equal (plist-get record :value) value))
            (should (equal (plist-get record :version) 1)))))
      (should (equal n (length (neuron-council-files-list (neuron-council-files-folder "unsent"))))))))

(ert-deftest neuron-council-test-files-are-the-users-alone ()
  (neuron-council-test-clean
    (let ((process-environment (cons (concat "NEURON_HOME=" neuron-council-test-home "a/b") process-environment)))
      (with-file-modes #o777
        (let ((file (neuron-council-test-record-file 1)))
          (neuron-council-files-write file '(:claim "secret"))
          (should (equal (file-modes file) #o600))
          (should (equal (directory-files (file-name-directory file) nil "\\`[^.]") (list (file-name-nondirectory file))))
          (dolist (folder '("a" "a/b" "a/b/council" "a/b/council/unsent"))
            (should (equal (file-modes (concat neuron-council-test-home folder)) #o700))))))))

(ert-deftest neuron-council-test-files-are-never-overwritten ()
  (neuron-council-test-clean
    (let ((file (neuron-council-test-record-file 1)))
      (neuron-council-files-write file (list :id (neuron-council-test-uuid 1) :claim "first"))
      (should-error (neuron-council-files-write file '(:claim "second")) :type 'file-already-exists)
      (should (equal (plist-get (neuron-council-files-read file #'always) :claim) "first"))
      (should (equal (neuron-council-test-folder "unsent") (list (file-name-nondirectory file)))))))

(ert-deftest neuron-council-test-files-under-odd-settings ()
  "What a user has set for printing or coding must not spoil a file."
  (neuron-council-test-clean
    (let ((print-length 1) (print-level 1) (print-circle nil) (coding-system-for-write 'iso-latin-1)
          (coding-system-for-read 'iso-latin-1) (file (neuron-council-test-record-file 1)))
      (neuron-council-files-write file (list :id (neuron-council-test-uuid 1) :value '("東京" (1 (2 (3))))))
      (should (equal (plist-get (neuron-council-files-read file #'always) :value) '("東京" (1 (2 (3)))))))))

(ert-deftest neuron-council-test-files-that-are-broken-are-set-aside ()
  (neuron-council-test-clean
    (let ((n 0))
      (dolist (text (list "" "(" ")" "nil" "5" "\"text\"" "(:version 1)" "(:version 1 :id \"another\")"
                          "(:version 0 :id %S)" "(:version \"1\" :id %S)" "(:version 1 :id %S . 3)" "#1=(:version 1 :id %S . #1#)"
                          "(:version 1 :id %S) more" "(:version 1 :id %S :value #<buffer x>)" "\377\376\000"
                          (concat "(:version 1 :id %S :value " (make-string 100000 ?\())))
        (let ((file (neuron-council-test-record-file
                     (setq n (1+ n)) (replace-regexp-in-string "%S" (format "%S" (neuron-council-test-uuid n)) text t t))))
          (should-not (neuron-council-files-read file #'always))
          (should-not (file-exists-p file))
          (should (file-exists-p (concat file ".broken")))))
      (let ((file (neuron-council-test-record-file 1 "still broken")))
        (should-not (neuron-council-files-read file #'always))
        (should (= (1+ n) (length (neuron-council-test-folder "unsent")))))
      (should-not (neuron-council-files-list (neuron-council-files-folder "unsent"))))))

(ert-deftest neuron-council-test-files-that-are-too-deep-are-not-read ()
  "Emacs 28 dies of them, so another Emacs tries."
  (neuron-council-test-clean
    (let ((n 0))
      (dolist (unit '("'" "`" "," ",@" "#'" "#1=" "(" "[" "#s(x " "' " "'\n" "(?) " "(?( " "[?] " "'(" "(a . (" "(\"(\" '" "#(\"x\" "
                      "(\\) " "';)\n" "'#@1)" "(#!)\n" "(\"\\\")\" "))
        (neuron-council-test-record-file
         (setq n (1+ n)) (format "(:version 1 :id %S :value %sa" (neuron-council-test-uuid n)
                                 (apply #'concat (make-list 60000 unit)))))
      (with-temp-buffer
        (should (eql 0 (call-process
                        (expand-file-name invocation-name invocation-directory) nil t nil "-Q" "--batch"
                        "-L" (file-name-directory (locate-library "neuron-council")) "--eval"
                        (prin1-to-string
                         '(progn
                            (require 'neuron-council)
                            (dolist (file (neuron-council-files-list (neuron-council-files-folder "unsent")))
                              (when (neuron-council-files-read file #'always) (kill-emacs 3))))))))
        (should-not (string-match-p "overflow" (buffer-string))))
      (should-not (neuron-council-files-list (neuron-council-files-folder "unsent")))
      (should (= n (length (neuron-council-test-folder "unsent")))))))

(ert-deftest neuron-council-test-files-that-are-long-but-shallow-are-read ()
  (neuron-council-test-clean
    (let* ((shared (list "shared"))
           (deep (let ((value 'x)) (dotimes (_ 400) (setq value (list value))) value))
           (value (list (make-list 3000 ''quoted) (make-list 3000 shared) (make-list 3000 ''(quoted ,comma))
                        (number-sequence 0 3000) (make-list 3000 '(a ?b [c])) '\? 'valid? '\?x '\' '\( 'a\ b "?(" deep
                        (intern "a#b") (intern "#x") (make-symbol "gone") (make-bool-vector 9 t)))
           (file (neuron-council-test-record-file 1)))
      (neuron-council-files-storable (list value))
      (neuron-council-files-write file (list :id (neuron-council-test-uuid 1) :value (butlast value 2)))
      ;; `equal' itself goes no deeper than 200.
      (should (equal (neuron-council-files-print (plist-get (neuron-council-files-read file #'always) :value))
                     (neuron-council-files-print (butlast value 2))))
      ;; By hand, too.
      (let ((file (neuron-council-test-record-file
                   2 (format "(:version 1 :id %S\n :value ('a 'b `(c ,d ,@e) #'f))\n" (neuron-council-test-uuid 2)))))
        (should (equal (plist-get (neuron-council-files-read file #'always) :value) '('a 'b `(c ,d ,@e) #'f))))
      (should-error (neuron-council-files-storable (list (let ((value 'x)) (dotimes (_ 600) (setq value (list value))) value)))
                    :type 'neuron-council-error))))

(ert-deftest neuron-council-test-files-of-memories-that-are-odd ()
  "What a later reader could not take is set aside."
  (let ((whole '(:reason parked :claim "A claim" :confidence 0.5 :tags ("x") :summary "Some." :time 1.0 :store-args (1))))
    (should (neuron-council-held--valid-p whole))
    (should (neuron-council-unsent--valid-p whole))
    (dolist (key '(:time :summary))
      (should (neuron-council-held--valid-p (plist-put (copy-sequence whole) key nil))))
    (pcase-dolist (`(,key . ,values) '((:reason nil odd) (:claim nil 5) (:confidence nil "high") (:tags "x" (5) ("x" . "y"))
                                       (:summary 5 ("x")) (:time "now" (1)) (:store-args "x" (1 . 2))))
      (dolist (value values)
        (should-not (neuron-council-held--valid-p (plist-put (copy-sequence whole) key value)))))
    (pcase-dolist (`(,key . ,values) '((:claim nil 5) (:context 5 ("x")) (:time "now" (1))))
      (dolist (value values)
        (should-not (neuron-council-unsent--valid-p (plist-put (copy-sequence whole) key value)))))))

(ert-deftest neuron-council-test-files-in-a-folder-that-cannot-be-made ()
  "Keeping a memory there is an error, not an endless search for a free name."
  (neuron-council-test-clean
    (make-directory (concat neuron-council-test-home "council"))
    (write-region "" nil (concat neuron-council-test-home "council/held") nil 'quiet)
    (let ((tries 0) (write (symbol-function 'neuron-council-files-write)))
      (cl-letf (((symbol-function 'neuron-council-files-write)
                 (lambda (&rest arguments)
                   (when (> (setq tries (1+ tries)) 3) (error "It goes on for ever"))
                   (apply write arguments))))
        (should (memq 'file-error
                      (get (car (should-error
                                 (neuron-council-held-keep
                                  (list :id (neuron-council-test-uuid 1) :claim "A claim" :confidence 0.3 :tags nil
                                        :summary "Some.")
                                  '(node) 'rejected)))
                           'error-conditions)))))
    ;; The policy that holds memories stores one that it cannot hold.
    (let ((neuron-council-parked-policy 'hold)
          (neuron-council-server-command
           (neuron-council-test-command
            '(:verify [(:verdict (:confidence 0.3 :tags ["unverified" "council-flagged" "council-parked"]))]))))
      (should (eq 'stored (car (capture-memory-with-council "A claim" nil 'node)))))))

(ert-deftest neuron-council-test-files-are-never-evaluated ()
  (neuron-council-test-clean
    (let ((file (neuron-council-test-record-file
                 1 (format "(:version 1 :id %S :value (error \"evaluated\"))" (neuron-council-test-uuid 1)))))
      (should (equal (plist-get (neuron-council-files-read file #'always) :value) '(error "evaluated"))))))

(ert-deftest neuron-council-test-files-of-a-newer-version-are-left-alone ()
  (neuron-council-test-clean
    (let ((file (neuron-council-test-record-file 1 "(:version 2 :what t)")))
      (should-not (neuron-council-files-read file #'always))
      (should (file-exists-p file)))
    (should-not (neuron-council-files-read (neuron-council-test-record-file 2) #'always))))

(ert-deftest neuron-council-test-files-are-named-by-an-id ()
  (neuron-council-test-clean
    (dolist (id '(nil 5 "" "x" "../../etc/passwd" "00000000-0000-4000-8000-00000000000/" "00000000-0000-4000-8000-000000000001\n"))
      (should-error (neuron-council-files-name "/" id) :type 'neuron-council-error)
      (should-error (neuron-council-files-forget neuron-council-test-home id) :type 'neuron-council-error))))

(ert-deftest neuron-council-test-files-are-forgotten-with-all-that-is-left-of-them ()
  (neuron-council-test-clean
    (let ((file (neuron-council-test-record-file 1 "")) (other (neuron-council-test-record-file 2 "")))
      (dolist (end '(".broken" ".12.new")) (write-region "" nil (concat file end) nil 'quiet))
      (write-region "" nil (replace-regexp-in-string "\\.eld\\'" ".7.eld" file) nil 'quiet)
      (neuron-council-files-forget (neuron-council-files-folder "unsent") (neuron-council-test-uuid 1))
      (should (equal (neuron-council-test-folder "unsent") (list (file-name-nondirectory other))))
      (neuron-council-files-forget (neuron-council-files-folder "nowhere") (neuron-council-test-uuid 1)))))

(ert-deftest neuron-council-test-files-home ()
  "The home is the one that the server would take."
  (neuron-council-test-clean
    (pcase-dolist (`(,value . ,home) `((nil . ,(expand-file-name "~/.neuron/")) ("" . ,(expand-file-name "~/.neuron/"))
                                       ("/there" . "/there/") ("~/x" . ,(expand-file-name "~/x/"))
                                       ("x/y" . ,(expand-file-name "~/x/y/"))))
      (let ((process-environment (cons (if value (concat "NEURON_HOME=" value) "NEURON_HOME") process-environment))
            (default-directory "/ssh:nowhere.invalid:/tmp/"))
        (should (equal (neuron-council-process-home) home))))))

(ert-deftest neuron-council-test-files-home-of-a-server-that-runs ()
  "A buffer with an environment of its own must not part from its server."
  (neuron-council-test-with nil
    (neuron-council-verify "A claim")
    (let ((process-environment (cons "NEURON_HOME=/elsewhere" process-environment)))
      (should (equal (neuron-council-process-home) neuron-council-test-home))
      (neuron-council-stop)
      (should (equal (neuron-council-process-home) "/elsewhere/")))))

(ert-deftest neuron-council-test-files-name-of-a-host-without-one ()
  (dolist (name '(nil "" "a.host"))
    (cl-letf (((symbol-function 'system-name) (lambda () name))
              ((symbol-function 'file-symlink-p) #'ignore)
              (neuron-council-files--host nil))
      (should (nth 2 (neuron-council-files-parse
                      (neuron-council-files-own-name "/tmp/" (neuron-council-test-uuid 1))))))))

(ert-deftest neuron-council-test-files-of-no-process-are-free ()
  (should (neuron-council-files-free-p
           (neuron-council-files-name "/tmp/" (neuron-council-test-uuid 1) "99999999999999999999"))))

(ert-deftest neuron-council-test-files-pipe-is-not-read ()
  (skip-unless (executable-find "mkfifo"))
  (let* ((folder (file-name-as-directory (make-temp-file "neuron-council-test-" t)))
         (file (neuron-council-files-name folder (neuron-council-test-uuid 1))))
    (unwind-protect
        (progn
          (should (= 0 (call-process "mkfifo" nil nil nil file)))
          (should-not (neuron-council-files-read file #'always))
          (should (file-exists-p file)))
      (delete-directory folder t))))

;;; files-test.el ends here
