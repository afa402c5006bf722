;;; neuron-council-waiting.el --- The memories that wait, and how many they are  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; Memories wait for a person (neuron-council-held.el) or for their verdict (neuron-council-pending.el).  The mode line
;; says how many, where there are any; what it says is looked up when Emacs is idle, after something has happened.

;;; Code:

(require 'neuron-council-held)
(require 'neuron-council-jobs)
(require 'neuron-council-pending)

(defcustom neuron-council-show-waiting t
  "Whether the mode line says how many memories wait.
They wait for your decision or for their verdict; where none does, the
mode line says nothing."
  :type 'boolean
  :safe #'booleanp
  :group 'neuron-council-list
  :package-version '(neuron-council . "0.1.0"))

;;;; Memories that are held

(defvar neuron-council-waiting--held (list nil (make-hash-table :test #'equal) nil)
  "The memories that are held: a list of three.
First what tells whether they have changed, the folder and its time; then
what each file keeps, see `neuron-council-waiting--read'; then the records,
the newest first.")

(defun neuron-council-waiting--read (known)
  "Return a hash table from the files of the held memories to what they keep.
Each is a cons of the file's time and the record; those of KNOWN, such a
table, that have not changed are taken from there."
  (let ((table (make-hash-table :test #'equal)))
    (dolist (file (neuron-council-files-list (neuron-council-held-folder)) table)
      (let ((time (file-attribute-modification-time (file-attributes file)))
            (entry (gethash file known)))
        (puthash file (if (and entry (equal time (car entry))) entry (cons time (neuron-council-held-read file)))
                 table)))))

(defun neuron-council-waiting--newer-p (one other)
  "Return non-nil when the held memory ONE is newer than OTHER."
  (> (or (plist-get one :time) 0) (or (plist-get other :time) 0)))

(defun neuron-council-waiting--state (folder)
  "Return what tells whether the files in FOLDER have changed."
  (list folder (file-attribute-modification-time (file-attributes folder))))

(defun neuron-council-waiting-held ()
  "Return the memories that are held, the newest first.
Only what has changed is read.  Signal `file-error' where the folder
cannot be read."
  (let ((state (neuron-council-waiting--state (neuron-council-held-folder))))
    (unless (equal state (car neuron-council-waiting--held))
      (let ((files (neuron-council-waiting--read (cadr neuron-council-waiting--held)))
            (records nil))
        (maphash (lambda (_ entry) (when (cdr entry) (push (cdr entry) records))) files)
        (setq neuron-council-waiting--held
              (list state files (sort records #'neuron-council-waiting--newer-p)))))
    (nth 2 neuron-council-waiting--held)))

;;;; The mode line

(defvar neuron-council-waiting--mode-line nil
  "What the mode line says of the memories that wait, nil where none does.")
(put 'neuron-council-waiting--mode-line 'risky-local-variable t)

(defvar neuron-council-waiting--map
  (let ((map (make-sparse-keymap)))
    (define-key map [mode-line mouse-1] 'neuron-council)
    map)
  "Keys of what the mode line says.")

(defvar neuron-council-waiting--timer nil
  "Timer of the next look.")

(defun neuron-council-waiting--count ()
  "Return how many memories await a person, and how many their verdict, a cons.
While something is being judged, that is shown in place of the latter."
  (let ((held 0))
    (dolist (record (neuron-council-waiting-held))
      (when (eq (plist-get record :reason) 'parked)
        (setq held (1+ held))))
    (cons held (if neuron-council-rpc-jobs
                   0
                 (length (neuron-council-files-list (neuron-council-pending-folder)))))))

(defun neuron-council-waiting--line (held pending)
  "Return what the mode line says of HELD and PENDING memories, nil for none."
  (unless (= 0 held pending)
    (propertize (concat " Council["
                        (if (> held 0) (format "%d held" held) "")
                        (if (and (> held 0) (> pending 0)) ", " "")
                        (if (> pending 0) (format "%d pending" pending) "")
                        "]")
                'mouse-face 'mode-line-highlight
                'local-map neuron-council-waiting--map
                ;; Emacs puts it through `substitute-command-keys'.
                'help-echo (concat (if (> held 0) (format "Memories that await your decision: %d\n" held) "")
                                   (if (> pending 0) (format "Memories that wait for their verdict: %d\n" pending) "")
                                   "mouse-1, \\[neuron-council]: list the verdicts"))))

(defun neuron-council-waiting--look ()
  "Have the mode line say how many memories wait."
  (setq neuron-council-waiting--timer nil)
  (neuron-council-jobs-mode-line-set
   'neuron-council-waiting--mode-line
   (and neuron-council-show-waiting
        (pcase-let ((`(,held . ,pending) (ignore-errors (neuron-council-waiting--count))))
          (and held (neuron-council-waiting--line held pending))))))

(defun neuron-council-waiting--soon ()
  "Look how many memories wait when Emacs is idle for a moment."
  (unless (or noninteractive neuron-council-waiting--timer)
    (setq neuron-council-waiting--timer (run-with-idle-timer 0.3 nil #'neuron-council-waiting--look))))

(add-hook 'neuron-council-verdicts-hook #'neuron-council-waiting--soon)
(add-hook 'neuron-council-rpc-jobs-hook #'neuron-council-waiting--soon)

(provide 'neuron-council-waiting)
;;; neuron-council-waiting.el ends here
