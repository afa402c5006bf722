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
;;   M-x neuron-council-verify-region, -verify-buffer   judge the text at point, or every claim of a buffer
;;   M-x neuron-council                               look through the verdicts, and decide on what was parked
;;   M-x neuron-council-guard-mode                    put the council in front of a memory that knows nothing of it
;;   M-x neuron-council-remember                      put a memory of yours before the council
;;   M-x neuron-council-menu                          everything else
;;   M-x neuron-council-install-server, -doctor       get the server, see what is wrong with a set-up
;;
;;   (neuron-council-verify CLAIM CONTEXT)            waits, returns a verdict: a plist with :confidence, :tags ...
;;   (neuron-council-verify-async CLAIM CONTEXT FUNCTION)
;;   (neuron-council-capture-memory CLAIM CONTEXT . STORE-ARGS)   judges, then stores as the policy says
;;   (neuron-council-capture-memory-async CLAIM CONTEXT . STORE-ARGS)
;;
;; `council-verify', `council-verify-async', `council-verify-region' and `capture-memory-with-council' are other names
;; of these.  The server is started by the first request.  The Info manual (neuron-council) has the rest.
;;
;; `neuron-council-command-map' has the commands on keys; bind it to a prefix of your own:
;;
;;   (global-set-key (kbd "C-c n") 'neuron-council-command-map)

;;; Code:

(require 'neuron-council-capture)
(require 'neuron-council-jobs)
(require 'neuron-council-rpc)
(require 'neuron-council-verify)
(require 'neuron-council-waiting)

;;;; What is loaded when it is used

(autoload 'neuron-council-verify-buffer "neuron-council-claims" nil t)
(autoload 'neuron-council-doctor "neuron-council-doctor" nil t)
(autoload 'neuron-council-format-verdict "neuron-council-format")
(autoload 'neuron-council-guard-mode "neuron-council-guard" nil t)
(autoload 'neuron-council-install-server "neuron-council-install" nil t)
(autoload 'neuron-council-upgrade-server "neuron-council-install" nil t)
(autoload 'neuron-council-uninstall-server "neuron-council-install" nil t)
(autoload 'neuron-council "neuron-council-list" nil t)
(autoload 'neuron-council-list "neuron-council-list" nil t)
(autoload 'neuron-council-list-jump "neuron-council-list")
(autoload 'neuron-council-menu "neuron-council-menu" nil t)
(autoload 'neuron-council-org-capture-mode "neuron-council-org" nil t)
(autoload 'neuron-council-org-check "neuron-council-org" nil t)
(autoload 'neuron-council-org-store "neuron-council-org")
(autoload 'neuron-council-org-quarantine "neuron-council-org")
(autoload 'neuron-council-org-reevaluated "neuron-council-org")
(autoload 'neuron-council-org-reviewed "neuron-council-org")
(autoload 'neuron-council-verify-region "neuron-council-region" nil t)
(autoload 'neuron-council-show-verdict "neuron-council-region" nil t)
(autoload 'neuron-council-next-mark "neuron-council-region" nil t)
(autoload 'neuron-council-previous-mark "neuron-council-region" nil t)
(autoload 'neuron-council-clear-marks "neuron-council-region" nil t)
(autoload 'neuron-council-replay "neuron-council-replay" nil t)
(autoload 'neuron-council-report-show "neuron-council-report")
(autoload 'neuron-council-report-bookmark-jump "neuron-council-report")
(autoload 'neuron-council-report-as-org "neuron-council-report-org")
(autoload 'neuron-council-accept "neuron-council-review" nil t)
(autoload 'neuron-council-reject "neuron-council-review" nil t)
(autoload 'neuron-council-restore "neuron-council-review" nil t)
(autoload 'neuron-council-show "neuron-council-review" nil t)
(autoload 'neuron-council-reevaluate "neuron-council-review" nil t)
(autoload 'neuron-council-forget "neuron-council-review" nil t)

(defgroup neuron-council nil
  "A council of local models in front of a memory."
  :group 'tools
  :link '(info-link "(neuron-council)")
  :prefix "neuron-council-")

(defgroup neuron-council-server nil
  "How the server is found, installed and asked."
  :group 'neuron-council
  :link '(info-link "(neuron-council)Running the Server")
  :prefix "neuron-council-")

(defgroup neuron-council-capture nil
  "What is stored, and what becomes of a memory that the council doubts."
  :group 'neuron-council
  :link '(info-link "(neuron-council)Guarding a Memory")
  :prefix "neuron-council-")

(defgroup neuron-council-region nil
  "Claims in a text, and their marks."
  :group 'neuron-council
  :link '(info-link "(neuron-council)Checking Text")
  :prefix "neuron-council-")

(defgroup neuron-council-list nil
  "The list of verdicts, the report and what is shown meanwhile."
  :group 'neuron-council
  :link '(info-link "(neuron-council)The Council List")
  :prefix "neuron-council-")

(defgroup neuron-council-faces nil
  "Faces of verdicts."
  :group 'neuron-council
  :group 'faces
  :link '(info-link "(neuron-council)Faces")
  :prefix "neuron-council-")

;; Customize shows the options of files that are not loaded yet, too.
;;;###autoload
(pcase-dolist (`(,group . ,parts)
               '((neuron-council neuron-council)
                 (neuron-council-server neuron-council neuron-council-install)
                 (neuron-council-capture neuron-council neuron-council-guard neuron-council-org neuron-council-review)
                 (neuron-council-region neuron-council neuron-council-claims neuron-council-region)
                 (neuron-council-list neuron-council neuron-council-list)
                 (neuron-council-faces neuron-council neuron-council-doctor neuron-council-format neuron-council-region
                                       neuron-council-row)))
  (dolist (part parts)
    (custom-add-load group part)))

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
  (interactive (list (read-string "Claim: " nil 'neuron-council-claim-history)
                     (neuron-council-verify-read-context)))
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
  :group 'neuron-council
  :package-version '(neuron-council . "0.1.0"))

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
    (pcase-dolist (`(,key ,label ,command)
                   '(("v" "verify a claim" neuron-council-verify)
                     ("r" "verify the region" neuron-council-verify-region)
                     ("b" "verify the buffer" neuron-council-verify-buffer)
                     ("s" "verdict at point" neuron-council-show-verdict)
                     ("i" "any verdict" neuron-council-show)
                     ("n" "next mark" neuron-council-next-mark)
                     ("p" "previous mark" neuron-council-previous-mark)
                     ("c" "clear marks" neuron-council-clear-marks)
                     ("k" "cancel" neuron-council-cancel)
                     ("w" "remember a claim" neuron-council-remember)
                     ("l" "all verdicts" neuron-council)
                     ("m" "menu" neuron-council-menu)
                     ("a" "accept" neuron-council-accept)
                     ("x" "reject" neuron-council-reject)
                     ("u" "restore" neuron-council-restore)
                     ("f" "forget" neuron-council-forget)
                     ("e" "judge pending again" neuron-council-reevaluate)
                     ("t" "guard on or off" neuron-council-guard-mode)
                     ("d" "doctor" neuron-council-doctor)
                     ("L" "log" neuron-council-show-log)
                     ("q" "stop the server" neuron-council-stop)
                     ("g" "restart the server" neuron-council-restart)))
      (define-key map key (cons label command)))
    map)
  "Commands of the council, for a prefix key.")
(fset 'neuron-council-command-map neuron-council-command-map)

(provide 'neuron-council)
;;; neuron-council.el ends here
