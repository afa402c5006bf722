;;; package-test.el --- Tests of the package as it is loaded and installed  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Code:

(require 'helper)
(require 'lisp-mnt)

(defun neuron-council-test-emacs (&rest forms)
  "Evaluate FORMS in a fresh Emacs that can load the package; return what it printed."
  (with-temp-buffer
    (let ((status (call-process (expand-file-name invocation-name invocation-directory) nil t nil "-Q" "--batch"
                                "-L" (file-name-directory (locate-library "neuron-council"))
                                "--eval" (prin1-to-string (cons 'progn forms)))))
      (unless (equal status 0)
        (error "The fresh Emacs failed: %s" (buffer-string))))
    (string-trim (buffer-string))))

(defconst neuron-council-test-sources
  (directory-files (expand-file-name "elisp" neuron-council-test-checkout) t "\\.el\\'")
  "The source files of the package.")

(ert-deftest neuron-council-test-package-load-does-nothing ()
  (let ((files (directory-files (expand-file-name "~") nil)))
    (should (equal (neuron-council-test-emacs
                    '(let ((hooks kill-emacs-hook) (timers timer-list))
                       (require 'neuron-council)
                       (princ (list (process-list) (equal hooks kill-emacs-hook) (equal timers timer-list)
                                    (featurep 'jsonrpc) global-mode-string
                                    (get-buffer "*neuron-council log*")))))
                   "(nil t t nil nil nil)"))
    (should (equal files (directory-files (expand-file-name "~") nil)))))

(ert-deftest neuron-council-test-package-load-is-quick ()
  "Compiled, it loads in less than 10 ms of processor time.
On a slow machine it is a quarter of what the library jsonrpc takes."
  (should (string-suffix-p ".elc" (locate-library "neuron-council")))
  (let ((best 1000) (slow 1000))
    (dotimes (_ 5)
      (pcase-let ((`(,package ,jsonrpc)
                   (read (neuron-council-test-emacs
                          ;; A collection that fell into it would clear away what Emacs had left before.
                          '(setq gc-cons-threshold most-positive-fixnum)
                          '(princ (mapcar
                                   (lambda (library)
                                     (let ((start (float-time (get-internal-run-time))))
                                       (require library)
                                       (* 1000 (- (float-time (get-internal-run-time)) start))))
                                   '(neuron-council jsonrpc)))))))
        (setq best (min best package)
              slow (min slow jsonrpc))))
    (message "The package is loaded in %.1f ms, jsonrpc in %.1f ms" best slow)
    (should (< best (max 10 (/ slow 4))))))

(ert-deftest neuron-council-test-package-versions-agree ()
  (with-temp-buffer
    (insert-file-contents (expand-file-name "elisp/neuron-council.el" neuron-council-test-checkout))
    (should (equal (lm-header "Version") neuron-council-version))
    (should (equal (lm-header "Package-Requires") "((emacs \"28.1\"))")))
  (with-temp-buffer
    (insert-file-contents (expand-file-name "server/neuron_council/__init__.py" neuron-council-test-checkout))
    (should (re-search-forward "^__version__ = \"\\(.*\\)\"" nil t))
    (should (equal (match-string 1) neuron-council-version))))

(ert-deftest neuron-council-test-package-aliases ()
  (pcase-dolist (`(,alias . ,function) '((council-verify . neuron-council-verify)
                                         (council-verify-async . neuron-council-verify-async)
                                         (council-verify-region . neuron-council-verify-region)
                                         (capture-memory-with-council . neuron-council-capture-memory)
                                         (capture-memory-with-council-async . neuron-council-capture-memory-async)))
    (should (eq (symbol-function alias) function)))
  (should (commandp 'council-verify))
  (should (commandp 'council-verify-region)))

(ert-deftest neuron-council-test-package-aliases-leave-others-alone ()
  (should (equal (neuron-council-test-emacs '(defun council-verify () "theirs")
                                            '(require 'neuron-council)
                                            '(princ (council-verify)))
                 "theirs"))
  (should (equal (neuron-council-test-emacs '(setq neuron-council-define-aliases nil)
                                            '(require 'neuron-council)
                                            '(princ (fboundp 'council-verify)))
                 "nil")))

(ert-deftest neuron-council-test-package-autoloads ()
  "The generated autoloads know every name, and the first call through one works."
  (let ((folder (file-name-as-directory (make-temp-file "neuron-council-test-" t))))
    (unwind-protect
        (progn
          (dolist (file neuron-council-test-sources) (copy-file file folder))
          (should
           (string-suffix-p
            "claim: not a string"
            (neuron-council-test-emacs
             '(require 'package)
             `(package-generate-autoloads "neuron-council" ,folder)
             `(setq load-path (cons ,folder (delete ,(file-name-directory (locate-library "neuron-council"))
                                                    load-path)))
             `(load ,(concat folder "neuron-council-autoloads") nil t)
             '(dolist (name '(council-verify council-verify-async council-verify-region capture-memory-with-council
                                             capture-memory-with-council-async neuron-council-verify
                                             neuron-council-verify-async neuron-council-verify-region
                                             neuron-council-capture-memory neuron-council-capture-memory-async
                                             neuron-council-cancel neuron-council-stop neuron-council-restart
                                             neuron-council-accept neuron-council-reject neuron-council-restore
                                             neuron-council-show neuron-council-forget
                                             neuron-council-show-log neuron-council-show-verdict
                                             neuron-council-clear-marks neuron-council-format-verdict))
                (unless (autoloadp (symbol-function name)) (error "%s is not autoloaded" name)))
             '(unless (commandp 'council-verify-region) (error "No command"))
             '(condition-case problem
                  (council-verify 5)
                (neuron-council-refused (princ (cadr problem))))))))
      (delete-directory folder t))))

(ert-deftest neuron-council-test-package-keys ()
  (should (keymapp neuron-council-command-map))
  (should (keymapp 'neuron-council-command-map))
  ;; which-key shows the label, everything else knows the command.
  (map-keymap (lambda (key binding)
                (pcase-let ((`(,label . ,command) binding))
                  (should (< 0 (length label) 25))
                  (should (commandp command))
                  (should (eq command (lookup-key neuron-council-command-map (vector key))))
                  (should (equal (where-is-internal command neuron-council-command-map t) (vector key)))))
              neuron-council-command-map)
  (require 'neuron-council-report)
  (map-keymap (lambda (_ command) (when (symbolp command) (should (commandp command)))) neuron-council-report-mode-map)
  ;; No global binding, and C-c with a letter is the user's.
  (should-not (where-is-internal 'neuron-council-verify global-map)))

;; M-x offers them everywhere.
(ert-deftest neuron-council-test-package-commands-of-a-mode-leave-other-buffers-alone ()
  (dolist (part '(doctor install list report))
    (require (intern (format "neuron-council-%s" part))))
  (let ((prefix "\\`neuron-council-\\(?:doctor\\|list\\|report\\)-") (commands nil))
    (mapatoms (lambda (symbol)
                (when (and (string-prefix-p "neuron-council-" (symbol-name symbol)) (get symbol 'derived-mode-parent))
                  (should-not (commandp symbol)))
                (when (and (commandp symbol) (string-match-p prefix (symbol-name symbol))
                           ;; What a click runs.
                           (not (member (cadr (interactive-form symbol)) '("e" "@e"))))
                  (push symbol commands))))
    (should (> (length commands) 40))
    (neuron-council-test-clean
      (neuron-council-verdict-add '(:id "an-id" :claim "A claim"))
      (dolist (command commands)
        (ert-info ((symbol-name command))
          (with-temp-buffer
            (insert "What I have written\n  in lines\n")
            (goto-char (point-min))
            (cl-letf (((symbol-function 'read-string) (lambda (&rest _) "x"))
                      ((symbol-function 'completing-read) (lambda (&rest _) "all")))
              (should-error (call-interactively command) :type 'user-error))
            (should (equal (buffer-string) "What I have written\n  in lines\n"))
            (should-not (overlays-in (point-min) (point-max)))))))))

(defun neuron-council-test-groups (symbol)
  "Return the groups of the package that have the option or face SYMBOL."
  (cl-remove-if-not (lambda (group) (assq symbol (get group 'custom-group)))
                    (cons 'neuron-council (mapcar #'car (get 'neuron-council 'custom-group)))))

(ert-deftest neuron-council-test-package-options ()
  "Every option has a type that its value fits, a group and a docstring."
  (require 'cus-edit)
  (let ((count 0))
    (mapatoms
     (lambda (symbol)
       (when (and (string-prefix-p "neuron-council-" (symbol-name symbol)) (custom-variable-p symbol)
                  (get symbol 'custom-type))
         (setq count (1+ count))
         (should (widget-apply (widget-convert (get symbol 'custom-type)) :match
                               (eval (car (get symbol 'standard-value)) t)))
         (should (documentation-property symbol 'variable-documentation))
         (should (= 1 (length (neuron-council-test-groups symbol)))))))
    (should (> count 8)))
  (let ((type (widget-convert (get 'neuron-council-server-command 'custom-type))))
    (should (widget-apply type :match '("program" "serve")))
    (should-not (widget-apply type :match "program serve")))
  (should (equal neuron-council-timeout 75)))

(defun neuron-council-test-calls (function form)
  "Return the calls of FUNCTION in FORM."
  (let ((found nil))
    (when (consp form)
      (when (and (eq (car form) function) (proper-list-p form)) (push form found))
      (while (consp form)
        (setq found (append (neuron-council-test-calls function (pop form)) found))))
    found))

(ert-deftest neuron-council-test-package-prompts-have-histories ()
  "Whatever reads a line from the user keeps it in a history of the package."
  (let ((prompts 0))
    (dolist (file neuron-council-test-sources)
      (with-temp-buffer
        (insert-file-contents file)
        (let ((forms (read (concat "(" (buffer-string) ")"))))
          (pcase-dolist (`(,function . ,place) '((read-string . 3) (completing-read . 6)))
            (dolist (call (neuron-council-test-calls function forms))
              (setq prompts (1+ prompts))
              (ert-info ((format "%s: %S" (file-name-nondirectory file) call))
                (let ((history (nth place call)))
                  (should (eq (car-safe history) 'quote))
                  (should (string-match-p "\\`neuron-council-.*-history\\'" (symbol-name (cadr history)))))))))))
    (should (> prompts 5))))

(ert-deftest neuron-council-test-package-options-and-faces-say-since-when ()
  (dolist (file neuron-council-test-sources)
    (with-temp-buffer
      (insert-file-contents file)
      (dolist (form (read (concat "(" (buffer-string) ")")))
        (when (memq (car-safe form) '(defcustom defface))
          (ert-info ((format "%s: %s" (file-name-nondirectory file) (cadr form)))
            (should (memq :package-version form))
            (should (memq :group form))))))))

(ert-deftest neuron-council-test-package-customize-knows-all-options ()
  "It shows the options of parts that are not loaded, whoever adds others."
  (let ((all nil))
    (dolist (file neuron-council-test-sources)
      (with-temp-buffer
        (insert-file-contents file)
        (while (re-search-forward "^(def\\(?:custom\\|face\\) \\(\\S-+\\)" nil t)
          (push (intern (match-string 1)) all))))
    ;; Emacs 30 says something of its own before.
    (should (string-suffix-p
             "lacks (theirs)"
             (neuron-council-test-emacs
              '(put 'neuron-council 'custom-loads '(theirs))
              '(require 'neuron-council)
              ;; There is no such file, so whoever sees it last has lost nothing.
              `(let ((lacking (memq 'theirs (get 'neuron-council 'custom-loads)))
                     (shown nil))
                 (dolist (group '(neuron-council neuron-council-server neuron-council-capture neuron-council-region
                                  neuron-council-list neuron-council-faces))
                   (custom-load-symbol group)
                   (unless (get group 'group-documentation) (push group lacking))
                   (setq shown (append (get group 'custom-group) shown)))
                 (dolist (symbol ',all)
                   (unless (assq symbol shown) (push symbol lacking)))
                 (princ (format "lacks %s" lacking))))))))

(ert-deftest neuron-council-test-package-groups-lead-to-the-manual ()
  (let ((text (with-temp-buffer
                (insert-file-contents (expand-file-name "docs/neuron-council.org" neuron-council-test-checkout))
                (buffer-string))))
    (pcase-dolist (`(,group ,kind) (get 'neuron-council 'custom-group))
      (when (eq kind 'custom-group)
        (pcase (car (get group 'custom-links))
          (`(info-link ,node) (should (string-match-p (format "^\\*+ %s$" (substring node (length "(neuron-council)")))
                                                      text)))
          (_ (ert-fail group)))))))

(ert-deftest neuron-council-test-package-names ()
  "Every definition has the package's prefix."
  (dolist (file neuron-council-test-sources)
    (with-temp-buffer
      (insert-file-contents file)
      (should (looking-at ".*-\\*- lexical-binding: t; -\\*-"))
      ;; A defvar without a value only says that another file has the variable.
      (while (re-search-forward "^(\\(?:cl-\\)?def[a-z]+ '?(?\\([^ ()\n]+\\)[ \n]" nil t)
        (should (string-prefix-p "neuron-council" (match-string 1)))))))

;;; package-test.el ends here
