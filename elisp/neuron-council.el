;;; neuron-council.el --- A council of local models before a memory  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;; Author: The Neuron Council maintainers
;; Version: 0.1.0
;; Package-Requires: ((emacs "28.1"))
;; Keywords: tools, convenience

;;; Commentary:

;; A gate in front of a long-term memory.  Before a claim is stored, three local language models judge it, and a checker
;; that calls no model decides what may be believed.
;;
;;   (neuron-council-verify CLAIM CONTEXT)            waits, returns a verdict: a plist with :confidence, :tags ...
;;   (neuron-council-verify-async CLAIM CONTEXT FUNCTION)
;;   (neuron-council-capture-memory CLAIM CONTEXT . STORE-ARGS)   judges, then stores as the policy says
;;   (neuron-council-capture-memory-async CLAIM CONTEXT . STORE-ARGS)
;;   M-x neuron-council-verify-region                 judges the text in the region
;;   M-x neuron-council-accept, -reject, -restore     decide on a memory that was not stored
;;   neuron-council-reevaluated-functions             hear of verdicts that come after a memory was stored
;;
;; `council-verify', `council-verify-async', `council-verify-region' and `capture-memory-with-council' are other names
;; of these.  The server is started by the first request; see `neuron-council-server-command'.
;;
;; `neuron-council-command-map' has the commands on keys; bind it to a prefix of your own:
;;
;;   (global-set-key (kbd "C-c n") neuron-council-command-map)

;;; Code:

(require 'neuron-council-capture)
(require 'neuron-council-jobs)
(require 'neuron-council-region)
(require 'neuron-council-review)
(require 'neuron-council-rpc)
(require 'neuron-council-verify)

;; What is seldom used is loaded when it is.
(autoload 'neuron-council-format-verdict "neuron-council-format")
(autoload 'neuron-council-report-as-org "neuron-council-report-org")
(autoload 'neuron-council-report-bookmark-jump "neuron-council-report")
(autoload 'neuron-council-report-show "neuron-council-report")

(defgroup neuron-council nil
  "A council of local models in front of a memory."
  :group 'tools
  :prefix "neuron-council-")

;;;###autoload
(defun neuron-council-verify (claim &optional context)
  "Have CLAIM judged against CONTEXT, wait, and return the verdict.
Both are strings; CONTEXT may be nil.  The verdict is a plist of the
fields of the server's answer, among them :confidence (0 to 1), :tags (a
list of strings), :status, :summary, :council_votes, :votes and :report.
Every array is a list, null and false are nil.

\\[keyboard-quit] ends the wait and stops the models.  Without a verdict
an error is signalled: `neuron-council-refused' for a CLAIM that cannot be
judged (too long, without a letter), else `neuron-council-error', of which
the former is a child.

Interactively, read both and show the verdict."
  (interactive
   (list (read-string "Claim: ")
         (let ((context (read-string "Context (empty for none): " nil 'neuron-council-context-history)))
           (unless (equal context "") context))))
  (let ((id (neuron-council-verify-new-id)))
    (if (not (called-interactively-p 'interactive))
        (neuron-council-verify-wait claim context id)
      (condition-case problem
          (neuron-council-verdict-add (neuron-council-verify-wait claim context id) :context context)
        (neuron-council-error (user-error "%s" (neuron-council-errors-text problem))))
      (neuron-council-report-show id))))

;;;; Names without the prefix

(defcustom neuron-council-define-aliases t
  "Whether loading the package defines the short names too.
They are `council-verify', `council-verify-async', `council-verify-region',
`capture-memory-with-council' and `capture-memory-with-council-async'.  A
name that something else has taken is left alone.  Set this before the
package is loaded."
  :type 'boolean
  :group 'neuron-council)

;;;###autoload (autoload 'council-verify "neuron-council" nil t)
;;;###autoload (autoload 'council-verify-async "neuron-council")
;;;###autoload (autoload 'council-verify-region "neuron-council" nil t)
;;;###autoload (autoload 'capture-memory-with-council "neuron-council")
;;;###autoload (autoload 'capture-memory-with-council-async "neuron-council")
(when neuron-council-define-aliases
  (pcase-dolist (`(,alias . ,function)
                 '((council-verify . neuron-council-verify)
                   (council-verify-async . neuron-council-verify-async)
                   (council-verify-region . neuron-council-verify-region)
                   (capture-memory-with-council . neuron-council-capture-memory)
                   (capture-memory-with-council-async . neuron-council-capture-memory-async)))
    (when (or (not (fboundp alias))
              (and (autoloadp (symbol-function alias))
                   (equal (nth 1 (symbol-function alias)) "neuron-council")))
      (defalias alias function))))

;;;; Keys

;;;###autoload (autoload 'neuron-council-command-map "neuron-council" nil nil 'keymap)
(defvar neuron-council-command-map
  (let ((map (make-sparse-keymap)))
    (define-key map "v" #'neuron-council-verify)
    (define-key map "r" #'neuron-council-verify-region)
    (define-key map "s" #'neuron-council-show-verdict)
    (define-key map "c" #'neuron-council-clear-marks)
    (define-key map "k" #'neuron-council-cancel)
    (define-key map "a" #'neuron-council-accept)
    (define-key map "x" #'neuron-council-reject)
    (define-key map "u" #'neuron-council-restore)
    (define-key map "l" #'neuron-council-show-log)
    (define-key map "q" #'neuron-council-stop)
    (define-key map "g" #'neuron-council-restart)
    map)
  "Commands of the council, for a prefix key.")
(fset 'neuron-council-command-map neuron-council-command-map)

(provide 'neuron-council)
;;; neuron-council.el ends here
