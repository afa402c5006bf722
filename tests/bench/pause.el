;;; pause.el --- How long verdicts that arrive hold Emacs  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; The Emacs side of emacs_pause.py, which says what is measured.  What it needs comes through the environment:
;; PAUSE_COMMAND, the server's command as a JSON array, PAUSE_OUT, the file that gets the outcome as a JSON object, and
;; PAUSE_APART, the seconds between two requests of the first half.

;;; Code:

(require 'json)
(require 'neuron-council)
(require 'neuron-council-claims)
(require 'neuron-council-list)
(require 'neuron-council-report)

(defconst pause-half 25
  "How many claims are of a buffer that is judged as a whole, and how many are not.")

(defvar pause-apart (string-to-number (getenv "PAUSE_APART"))
  "Seconds between two requests for a region, 0 to make them all at once.")

(defvar pause-commands nil
  "The probes before and after each request for a region, the newest first.")

(defvar pause-probes nil
  "The probes that were taken, the newest first.")

(defvar pause-verdicts 0
  "How many verdicts have come.")

(defun pause-sentence (n)
  "Return the claim N of a usual length."
  (format "The lighthouse number %d of the harbour of Ostby was lit by its keeper in 1871, say the minutes of the board, \
and it has not been dark for a single night since." n))

(defconst pause-context
  (mapconcat (lambda (n) (format "Minute %d of the harbour board names the lighthouse, its keeper and the oil it burns." n))
             (number-sequence 1 25) " ")
  "A context of 2 KB.")

(defun pause-buffer (name)
  "Return the buffer NAME with a paragraph for each claim."
  (with-current-buffer (get-buffer-create name)
    (text-mode)
    (dotimes (n pause-half)
      (insert (pause-sentence n) "\n\n"))
    (goto-char (point-min))
    (current-buffer)))

(defun pause-count (&rest _)
  "Count a verdict that has come."
  (setq pause-verdicts (1+ pause-verdicts)))

(defun pause-request (buffer n)
  "Have the paragraph N of BUFFER judged, and note how long the request takes."
  (with-current-buffer buffer
    (save-excursion
      (goto-char (point-min))
      (search-forward (format "number %d " n))
      (let ((before (pause-now)))
        (council-verify-region (line-beginning-position) (line-end-position) pause-context)
        (push (vector before (pause-now)) pause-commands)))))

(defun pause-start ()
  "Put all claims before the council, and return at once."
  (let ((one (get-buffer "one")) (many (get-buffer "many")))
    (with-current-buffer many
      (neuron-council-verify-buffer nil nil pause-context))
    (dotimes (n pause-half)
      (if (> pause-apart 0)
          (run-at-time (* n pause-apart) nil #'pause-request one n)
        (pause-request one n)))))

(defun pause-prepare ()
  "Start the server, and show the texts, the list of the verdicts and a report."
  (setq neuron-council-server-command (json-parse-string (getenv "PAUSE_COMMAND") :array-type 'list))
  (neuron-council-verify (pause-sentence 1000))
  (setq inhibit-startup-screen t)
  (let ((buffers (list (pause-buffer "many") (pause-buffer "one")
                       (save-window-excursion (neuron-council-list) (current-buffer))
                       (save-window-excursion (neuron-council-report-show)))))
    (delete-other-windows)
    (set-window-buffer (split-window-right) (nth 2 buffers))
    (set-window-buffer (split-window) (nth 1 buffers))
    (set-window-buffer (selected-window) (car buffers))
    (set-window-buffer (split-window (get-buffer-window (nth 2 buffers))) (nth 3 buffers)))
  (advice-add 'neuron-council-verdict-add :after #'pause-count))

(defun pause-done-p ()
  "Return non-nil when every verdict has come and been shown."
  (and (>= pause-verdicts (* 2 pause-half)) (null neuron-council-rpc-jobs)))

(defun pause-collection ()
  "Return the probes before and after collecting the garbage of this Emacs where there is none."
  (garbage-collect)
  (let ((before (pause-now)))
    (garbage-collect)
    (vector before (pause-now))))

(defun pause-write ()
  "Write the outcome."
  (let ((coding-system-for-write 'utf-8))
    (write-region (json-encode (list :verdicts pause-verdicts
                                     :flagged (length (with-current-buffer "many"
                                                        (neuron-council-region-judged-marks '("council-flagged"))))
                                     :commands (vconcat pause-commands)
                                     :probes (vconcat (reverse pause-probes))
                                     :collection (pause-collection)))
                  nil (getenv "PAUSE_OUT") nil 'silent)))

(defun pause-now ()
  "Return a probe: the time, and what this Emacs has used of the processor and for collecting garbage, all in seconds."
  (vector (float-time) (float-time (get-internal-run-time)) gc-elapsed))

(defun pause-probe ()
  "Take a probe."
  (interactive)
  (push (pause-now) pause-probes))

;;;; In batch

(defun pause-batch ()
  "Look a thousand times a second whether Emacs is held, until all verdicts are in."
  (pause-prepare)
  (pause-start)
  (pause-probe)
  (while (not (pause-done-p))
    (accept-process-output nil 0.001)
    (pause-probe))
  (pause-write))

;;;; In a terminal

(defvar pause-map
  (let ((map (make-sparse-keymap)))
    (define-key map "z" #'pause-probe)
    (define-key map "s" (lambda () (interactive) (pause-start)))
    (define-key map "w" (lambda () (interactive) (pause-write) (kill-emacs)))
    map)
  "The keys that emacs_pause.py presses.")

(defun pause-terminal ()
  "Be ready for the keys of `pause-map', and say so by files beside the outcome."
  (pause-prepare)
  (setq overriding-terminal-local-map pause-map)
  (let ((out (getenv "PAUSE_OUT")))
    (write-region "" nil (concat out ".ready") nil 'silent)
    (run-at-time 0.1 0.1 (lambda ()
                           (when (and (pause-done-p) (not (file-exists-p (concat out ".done"))))
                             (write-region "" nil (concat out ".done") nil 'silent))))))

;;; pause.el ends here
