;;; neuron-council-log.el --- What the client did  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; A bounded log of ids, times and sizes, in which the server's stderr stands too.  Claims and contexts do not.

;;; Code:

(defconst neuron-council-log--size 100000
  "Characters that the log keeps, the newest.")

(defun neuron-council-log--revert (&rest _)
  "Go to the end of the log, which is never old."
  (goto-char (point-max)))

(defvar neuron-council-log-mode-map
  (let ((map (make-sparse-keymap)))
    (define-key map "o" #'occur)
    map)
  "Keys of the log.")

(define-derived-mode neuron-council-log-mode special-mode "Council-Log"
  "Major mode of the log: what the client did and what the server said.
\\<neuron-council-log-mode-map>\\[occur] lists the lines with a text, such as ERROR."
  :interactive nil
  (buffer-disable-undo)
  (setq-local window-point-insertion-type t)            ; every window at the end stays there
  (setq-local revert-buffer-function #'neuron-council-log--revert))

(defun neuron-council-log-insert (text)
  "Append TEXT to the log and drop what is too old."
  (with-current-buffer (neuron-council-log-buffer)
    (let ((inhibit-read-only t)
          (at-end (eobp)))
      (save-excursion
        (goto-char (point-max))
        (insert text)
        (when (> (buffer-size) (* 2 neuron-council-log--size))
          (delete-region (point-min) (- (point-max) neuron-council-log--size))))
      (when at-end (goto-char (point-max))))))

(defun neuron-council-log-buffer ()
  "Return the buffer of the log, made if need be."
  (or (get-buffer "*neuron-council log*")
      (with-current-buffer (get-buffer-create "*neuron-council log*")
        (neuron-council-log-mode)
        (current-buffer))))

(defun neuron-council-log (format &rest arguments)
  "Append a line to the log: the time, and FORMAT with ARGUMENTS.
Ids, times and sizes may stand in the log, claims and contexts not."
  (neuron-council-log-insert
   (concat (format-time-string "%H:%M:%S.%3N ") (apply #'format format arguments) "\n")))

;;;###autoload
(defun neuron-council-show-log ()
  "Show the log: what the client did and what the server wrote to stderr."
  (interactive)
  (pop-to-buffer (neuron-council-log-buffer))
  (goto-char (point-max)))

(provide 'neuron-council-log)
;;; neuron-council-log.el ends here
