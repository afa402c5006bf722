;;; neuron-council-list.el --- The council's verdicts, to look through and decide on  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; The buffer "*neuron-council*" lists what the ledger has, the newest first, behind what awaits a person.  Added to it
;; are the memories that are held and the verdicts at hand that are in no ledger.
;;
;; Nothing here waits.  A request to the ledger has a kind: `fresh' takes the place of all that was loaded, `newer' is
;; merged into it, `more' goes on behind it.  What arrives while the list is shown is asked for twice a second at most;
;; lines that have not changed are left alone, so that point, marks and the place in the window stay.

;;; Code:

(eval-when-compile (require 'cl-lib))
(require 'tabulated-list)
(require 'neuron-council-held)
(require 'neuron-council-review)
(require 'neuron-council-row)
(require 'neuron-council-rpc)
(require 'neuron-council-text)
(require 'neuron-council-verdict)
(require 'neuron-council-verify)

(autoload 'neuron-council-menu "neuron-council-menu" nil t)
(declare-function neuron-council-report-show "neuron-council-report" (id-or-verdict))

(defcustom neuron-council-list-page 100
  "How many verdicts the list asks the ledger for at a time, 1 to 1000."
  :type '(integer :match (lambda (_ value) (and (integerp value) (<= 1 value 1000))))
  :safe #'natnump
  :package-version '(neuron-council . "0.1.0")
  :group 'neuron-council)

(defconst neuron-council-list--pause 0.5
  "Seconds between two looks at what has arrived.")

(defconst neuron-council-list--most 1000
  "How many verdicts the ledger gives at a time.")

(defconst neuron-council-list--filters
  '((all)
    (awaiting :status "parked" :reviewed :json-false)
    (flagged :tag "council-flagged")
    (parked :status "parked")
    (split :tag "council-split")
    (unavailable :tag "council-unavailable"))
  "What the list can be narrowed to, and how the ledger is asked for it.")

(defvar neuron-council-list-filter-history nil
  "What the list was narrowed to.")

(defvar neuron-council-list-text-history nil
  "Texts that claims were searched for.")

;;;; State

(defvar-local neuron-council-list--filter 'all
  "A key of `neuron-council-list--filters'.")

(defvar-local neuron-council-list--text nil
  "Text that the claims hold, nil for any.")

(defvar-local neuron-council-list--ledger nil
  "Verdicts of the ledger, the newest first, as far as they were loaded.")

(defvar-local neuron-council-list--awaiting nil
  "Verdicts of the ledger that await a person, the newest first.")

(defvar-local neuron-council-list--cursor nil
  "Where the ledger goes on behind what was loaded, nil at its end.")

(defvar-local neuron-council-list--counts nil
  "Counts of the whole ledger, a plist.")

(defvar-local neuron-council-list--answered nil
  "Non-nil once the ledger has answered under the present filter.")

(defvar-local neuron-council-list--problem nil
  "Why the ledger cannot be asked, nil when it can.")

(defvar-local neuron-council-list--unread nil
  "Why the held memories cannot be read, nil when they can.")

(defvar-local neuron-council-list--asking nil
  "The kind of the request that is under way, or nil.")

(defvar-local neuron-council-list--generation 0
  "Number of the last request; the answer to an earlier one is dropped.")

(defvar-local neuron-council-list--stale nil
  "Non-nil when something has arrived that is not shown.")

(defvar-local neuron-council-list--rows nil
  "Hash table of the rows shown, by key.")

(defvar-local neuron-council-list--printed nil
  "The entries that were printed last, in order.")

(defvar-local neuron-council-list--today nil
  "The date on which the rows were made.")

(defvar-local neuron-council-list--marks nil
  "Hash table of the marks, ?* or ?D, by key.")

(defvar-local neuron-council-list--work nil
  "What is being done to many verdicts, in words, or nil.")

(defvar-local neuron-council-list--header ""
  "The header line.")
(put 'neuron-council-list--header 'risky-local-variable t)

(defvar neuron-council-list--timer nil
  "Timer of the next look at what has arrived.")

(defvar neuron-council-list--held (list nil (make-hash-table :test #'equal) nil)
  "The memories that are held: a list of three.
First what tells whether they have changed, the folder and its time; then
what each file keeps, see `neuron-council-list--read-held'; then the
records, the newest first.")

;;;; Rows

(defun neuron-council-list--read-held (known)
  "Return a hash table from the files of the held memories to what they keep.
Each is a cons of the file's time and the record; those of KNOWN, such a
table, that have not changed are taken from there."
  (let ((table (make-hash-table :test #'equal)))
    (dolist (file (neuron-council-files-list (neuron-council-held-folder)) table)
      (let ((time (file-attribute-modification-time (file-attributes file)))
            (entry (gethash file known)))
        (puthash file (if (and entry (equal time (car entry))) entry (cons time (neuron-council-held-read file)))
                 table)))))

(defun neuron-council-list--newer-p (one other)
  "Return non-nil when the held memory ONE is newer than OTHER."
  (> (or (plist-get one :time) 0) (or (plist-get other :time) 0)))

(defun neuron-council-list--read-changed (folder)
  "Read the held memories in FOLDER, where they have changed."
  (let ((state (list folder (file-attribute-modification-time (file-attributes folder)))))
    (unless (equal state (car neuron-council-list--held))
      (let ((files (neuron-council-list--read-held (cadr neuron-council-list--held)))
            (records nil))
        (maphash (lambda (_ entry) (when (cdr entry) (push (cdr entry) records))) files)
        (setq neuron-council-list--held (list state files (sort records #'neuron-council-list--newer-p)))))))

(defun neuron-council-list--held ()
  "Return the memories that are held, the newest first."
  (setq neuron-council-list--unread nil)
  (condition-case problem
      (neuron-council-list--read-changed (neuron-council-held-folder))
    (file-error (setq neuron-council-list--unread (neuron-council-text-plain (error-message-string problem)))))
  (nth 2 neuron-council-list--held))

(defun neuron-council-list--shown-p (verdict)
  "Return non-nil when VERDICT, which the ledger did not give, fits the filter."
  (let* ((how (alist-get neuron-council-list--filter neuron-council-list--filters))
         (tag (plist-get how :tag)))
    (and (or (null tag) (member tag (neuron-council-verdict-tags verdict)))
         (or (null (plist-get how :status)) (neuron-council-row-parked-p verdict))
         (or (null (plist-get how :reviewed)) (null (neuron-council-row-decision verdict)))
         (or (null neuron-council-list--text)
             (let ((case-fold-search t) (claim (plist-get verdict :claim)))
               (and (stringp claim) (string-match-p (regexp-quote neuron-council-list--text) claim)))))))

(defun neuron-council-list--only-here-p (verdict)
  "Return non-nil when VERDICT, which is at hand, may be in no ledger."
  (or (not neuron-council-list--answered)
      neuron-council-list--problem
      (plist-get verdict :error)
      ;; What was looked up in the ledger says whom it supersedes.
      (not (plist-member verdict :supersedes))))

(defun neuron-council-list--each-verdict (held function)
  "Call FUNCTION with each verdict to be listed, maybe several of one id.
HELD are the held memories."
  (mapc function neuron-council-list--awaiting)
  (mapc function neuron-council-list--ledger)
  (dolist (verdict neuron-council-verdicts)
    (when (and (neuron-council-list--only-here-p verdict) (neuron-council-list--shown-p verdict))
      (funcall function verdict)))
  (dolist (record held)
    (let ((verdict (neuron-council-row-verdict-of-held record)))
      (when (neuron-council-list--shown-p verdict)
        (funcall function verdict)))))

(defun neuron-council-list--by-id (held)
  "Return a hash table from ids to the memories of HELD, in their order."
  (let ((table (make-hash-table :test #'equal)))
    (dolist (record (reverse held) table)
      (push record (gethash (plist-get record :id) table)))))

(defun neuron-council-list--collect ()
  "Return the rows to be listed, in order.
They are those of `neuron-council-list--rows' where these have not
changed, and take their place."
  (let* ((held (neuron-council-list--held))
         (by-id (neuron-council-list--by-id held))
         (today (format-time-string "%F"))
         ;; What was said of the time is not true any more on the next day.
         (shown (if (equal today neuron-council-list--today) neuron-council-list--rows
                  (make-hash-table :test #'equal)))
         (table (make-hash-table :test #'equal :size (+ 100 (hash-table-count shown))))
         (rows nil) (number 0))
    (neuron-council-list--each-verdict
     held
     (lambda (verdict)
       (let ((key (or (neuron-council-row-verdict-id verdict) (intern (format "row-%d" (setq number (1+ number)))))))
         (unless (gethash key table)
           (push (puthash key (neuron-council-row-of key verdict (and held (gethash key by-id))
                                                        (gethash key shown))
                          table)
                 rows)))))
    (setq neuron-council-list--today today
          neuron-council-list--rows table
          rows (nreverse rows))
    (neuron-council-row-sort rows)))

;;;; Display

(defun neuron-council-list--print-row (key columns)
  "Insert the row KEY with COLUMNS and its mark."
  (tabulated-list-print-entry key columns)
  (let ((mark (gethash key neuron-council-list--marks)))
    (when mark
      (forward-line -1)
      (neuron-council-list--show-mark mark)
      (forward-line 1))))

(defun neuron-council-list--tag (mark)
  "Return MARK, a character or nil, as it stands before a row."
  (if mark
      (propertize (string mark) 'face (if (eq mark ?D) 'error 'warning))
    " "))

(defun neuron-council-list--delete-line ()
  "Delete the line at point."
  (delete-region (line-beginning-position) (line-beginning-position 2)))

(defun neuron-council-list--replace-lines (entries end)
  "Make the lines from point to END, a marker, show ENTRIES.
Lines that have not changed are left alone.  Return a hash table from the
keys to where their lines begin now."
  (let ((left (make-hash-table :test #'equal))
        (places (make-hash-table :test #'equal)))
    (dolist (entry entries)
      (puthash (car entry) t left))
    (pcase-dolist (`(,key ,columns) entries)
      (while (and (< (point) end)
                  (let ((here (tabulated-list-get-id)))
                    (not (or (equal here key) (gethash here left)))))
        (neuron-council-list--delete-line))
      (let ((is-there (and (< (point) end) (equal key (tabulated-list-get-id)))))
        (remhash key left)
        (puthash key (point) places)
        (if (and is-there (eq columns (tabulated-list-get-entry)))
            (forward-line 1)
          (when is-there
            (neuron-council-list--delete-line))
          (funcall tabulated-list-printer key columns))))
    (delete-region (point) end)
    places))

(defun neuron-council-list--print (entries)
  "Make the buffer show ENTRIES.
Return a hash table from the keys of the lines that were looked at to
where they begin: all between the first and the last change."
  (let ((inhibit-read-only t)
        (shown neuron-council-list--printed)
        (new entries) (before 0) (after 0))
    (save-excursion
      (goto-char (point-min))
      (when (and (bobp) (eobp))
        (tabulated-list-print-fake-header))
      (unless (= (count-lines (point-min) (point-max)) (1+ (length shown)))
        ;; Something else has printed.
        (setq shown nil))
      (while (and shown new (eq (car shown) (car new)))
        (setq shown (cdr shown)
              new (cdr new)
              before (1+ before)))
      (let ((old-end (reverse shown)) (new-end (reverse new)))
        (while (and old-end new-end (eq (car old-end) (car new-end)))
          (setq old-end (cdr old-end)
                new-end (cdr new-end)
                after (1+ after)))
        (goto-char (point-max))
        (forward-line (- after))
        (let ((end (copy-marker (point) t)))
          (goto-char (point-min))
          (forward-line (1+ before))
          (prog1 (neuron-council-list--replace-lines (reverse new-end) end)
            (set-marker end nil)
            (set-buffer-modified-p nil)
            (setq neuron-council-list--printed (copy-sequence entries))))))))

(defun neuron-council-list--spot (position)
  "Return where POSITION is: key of the row, column, and a marker."
  (save-excursion
    (goto-char position)
    (list (tabulated-list-get-id) (current-column) (copy-marker position t))))

(defun neuron-council-list--back (spot places)
  "Return the position of SPOT, now that the rows have PLACES."
  (pcase-let ((`(,key ,column ,marker) spot))
    (let ((place (and key (gethash key places))))
      (prog1 (if (not place)
                 (marker-position marker)
               (save-excursion
                 (goto-char place)
                 (move-to-column column)
                 (point)))
        (set-marker marker nil)))))

(defun neuron-council-list--first-row ()
  "Return where the first row begins."
  (save-excursion
    (goto-char (point-min))
    (line-beginning-position 2)))

(defun neuron-council-list--keep-places (function)
  "Call FUNCTION, which returns the places of the rows; keep point and windows.
Where there was no row before, point goes to the first one."
  (let* ((empty (null neuron-council-list--printed))
         (point (neuron-council-list--spot (point)))
         (windows (mapcar (lambda (window)
                            (list window (neuron-council-list--spot (window-point window))
                                  (neuron-council-list--spot (window-start window))))
                          (get-buffer-window-list nil nil t)))
         (places (funcall function))
         (back (lambda (spot) (if empty (neuron-council-list--first-row) (neuron-council-list--back spot places)))))
    (goto-char (funcall back point))
    (pcase-dolist (`(,window ,its-point ,start) windows)
      (set-window-start window (if empty (point-min) (neuron-council-list--back start places)) t)
      (set-window-point window (funcall back its-point)))))

(defun neuron-council-list--sorted (entries)
  "Return ENTRIES, which are in the list's own order, as the user sorted them."
  (pcase-let ((`(,name . ,reversed) tabulated-list-sort-key)
              (column 0))
    (if (null name)
        entries
      (while (not (equal name (car (aref tabulated-list-format column))))
        (setq column (1+ column)))
      (let* ((given (nth 1 (cdr (aref tabulated-list-format column))))
             (before-p (if (functionp given)
                           given
                         (lambda (one other) (string< (aref (cadr one) column) (aref (cadr other) column))))))
        (sort entries (if reversed (lambda (one other) (funcall before-p other one)) before-p))))))

(defun neuron-council-list--render ()
  "Show what there is."
  (let ((entries (mapcar #'neuron-council-row-entry (neuron-council-list--collect))))
    (maphash (lambda (key _)
               (unless (gethash key neuron-council-list--rows)
                 (remhash key neuron-council-list--marks)))
             neuron-council-list--marks)
    (setq tabulated-list-entries (neuron-council-list--sorted entries))
    (neuron-council-list--keep-places (lambda () (neuron-council-list--print tabulated-list-entries)))
    (neuron-council-list--show-header)))

(defun neuron-council-list--counted ()
  "Return the counts of the ledger in words, a list; what is zero is left out."
  (let ((counts neuron-council-list--counts))
    (cl-flet ((say (key format &optional face)
                (let ((count (plist-get counts key)))
                  (and (natnump count)
                       (or (> count 0) (eq key :total))
                       (let ((text (format format count)))
                         (if face (propertize text 'face face) text))))))
      (let ((pending (plist-get counts :pending)))
        (list (say :awaiting "%d await you" 'neuron-council-row-awaiting)
              (say :flagged "%d flagged")
              (say :split "%d split")
              (say :unavailable (if (and (natnump pending) (> pending 0))
                                    (format "%%d unavailable (%d pending)" pending)
                                  "%d unavailable"))
              (say :total "%d in all"))))))

(defun neuron-council-list--show-header ()
  "Say in the header line what the ledger has and what is shown of it."
  (setq neuron-council-list--header
        (concat
         " "
         (mapconcat
          #'identity
          (delq nil
                (append
                 (and (null neuron-council-list--problem) (neuron-council-list--counted))
                 (list
                  (unless (eq neuron-council-list--filter 'all)
                    (propertize (format "only %s" neuron-council-list--filter) 'face 'bold))
                  (and neuron-council-list--text
                       (propertize (format "with \"%s\"" (neuron-council-text-plain neuron-council-list--text))
                                   'face 'bold))
                  neuron-council-list--work
                  (and neuron-council-list--unread
                       (propertize (concat "Held memories cannot be read: " neuron-council-list--unread)
                                   'face 'error))
                  (cond (neuron-council-list--asking "asking the ledger …")
                        (neuron-council-list--problem
                         (propertize (concat "The ledger cannot be asked: " neuron-council-list--problem)
                                     'face 'error))
                        (neuron-council-list--cursor
                         (format "%d shown, %s for more" (hash-table-count neuron-council-list--rows)
                                 (substitute-command-keys
                                  "\\<neuron-council-list-mode-map>\\[neuron-council-list-more]")))))))
          " · ")))
  (force-mode-line-update))

;;;; The ledger

(defun neuron-council-list--params (kind)
  "Return the parameters of a request of KIND for verdicts."
  (append
   (alist-get neuron-council-list--filter neuron-council-list--filters)
   (and neuron-council-list--text (list :text neuron-council-list--text))
   (list :counts t
         :limit (max 1 (min neuron-council-list--most
                            (max neuron-council-list-page
                                 (if (eq kind 'fresh) (length neuron-council-list--ledger) 0)))))
   (and (eq kind 'more) (list :cursor neuron-council-list--cursor))))

(defun neuron-council-list--first-params ()
  "Return the parameters of a request for what awaits a person, nil for none.
The ledger gives it behind what is newer, so it is asked for apart."
  (unless (eq neuron-council-list--filter 'awaiting)
    (append (list :status "parked" :reviewed :json-false :limit neuron-council-list-page)
            (and (memq neuron-council-list--filter '(flagged split unavailable))
                 (list :tag (plist-get (alist-get neuron-council-list--filter neuron-council-list--filters) :tag)))
            (and neuron-council-list--text (list :text neuron-council-list--text)))))

(defun neuron-council-list--submit (params callback)
  "Ask the ledger for a list with PARAMS; CALLBACK gets answer and condition."
  (let ((job (neuron-council-rpc-make-job :council/list params "the list" callback)))
    (setf (neuron-council-job-background job) t)
    (neuron-council-rpc-submit job)))

(defun neuron-council-list--listed (answer)
  "Return the verdicts of ANSWER that are any."
  (let ((verdicts (plist-get answer :verdicts)) (good nil))
    (dolist (verdict (and (proper-list-p verdicts) verdicts) (nreverse good))
      (when (and (proper-list-p verdict) (keywordp (car verdict)))
        (push verdict good)))))

(defun neuron-council-list--check-mode ()
  "Signal a `user-error' where the current buffer is no list."
  (unless (derived-mode-p 'neuron-council-list-mode)
    (user-error "This is for the list of verdicts: M-x neuron-council shows it")))

(defun neuron-council-list--ask (kind)
  "Ask the ledger for verdicts; KIND is `fresh', `newer' or `more'.
Return at once."
  (neuron-council-list--check-mode)
  (let ((generation (setq neuron-council-list--generation (1+ neuron-council-list--generation)))
        (buffer (current-buffer)))
    (setq neuron-council-list--asking kind
          neuron-council-list--stale nil)
    (neuron-council-list--show-header)
    (cl-flet ((wanted-p () (and (buffer-live-p buffer)
                                (= generation (buffer-local-value 'neuron-council-list--generation buffer)))))
      (neuron-council-list--submit
       (neuron-council-list--params kind)
       (lambda (answer condition)
         (when (wanted-p)
           (let ((first (and (null condition) (not (eq kind 'more)) (neuron-council-list--first-params))))
             (if (not first)
                 (neuron-council-list--answered kind answer nil condition)
               (neuron-council-list--submit
                first
                (lambda (awaiting condition)
                  (when (wanted-p)
                    (neuron-council-list--answered kind answer awaiting condition))))))))))))

(defun neuron-council-list--join (newer older)
  "Return a list of NEWER, a page of verdicts, and of what is behind it in OLDER.
Return nil where the two do not meet."
  (let ((last (neuron-council-row-verdict-id (car (last newer)))))
    (while (and older (not (equal last (neuron-council-row-verdict-id (car older)))))
      (setq older (cdr older)))
    (and last older (append newer (cdr older)))))

(defun neuron-council-list--take (kind answer awaiting)
  "Take in ANSWER to a request of KIND, and AWAITING, what awaits a person."
  (let* ((verdicts (neuron-council-list--listed answer))
         (joined (and (eq kind 'newer) (neuron-council-list--join verdicts neuron-council-list--ledger)))
         (cursor (plist-get answer :next_cursor)))
    (unless (> (length joined) (length verdicts))
      (setq neuron-council-list--cursor (and (stringp cursor) cursor)))
    (setq neuron-council-list--ledger (cond ((eq kind 'more) (append neuron-council-list--ledger verdicts))
                                            (t (or joined verdicts))))
    (unless (eq kind 'more)
      (setq neuron-council-list--awaiting (neuron-council-list--listed awaiting)))
    (let ((counts (plist-get answer :counts)))
      (setq neuron-council-list--counts (and (proper-list-p counts) counts)))))

(defun neuron-council-list--answered (kind answer awaiting condition)
  "Show the ANSWER to a request of KIND with AWAITING, or CONDITION."
  (setq neuron-council-list--asking nil
        neuron-council-list--problem (and condition (neuron-council-verdict-plain
                                                     (neuron-council-errors-text condition))))
  (unless condition
    (setq neuron-council-list--answered t)
    (neuron-council-list--take kind answer awaiting))
  (neuron-council-list--render)
  (when neuron-council-list--stale
    (neuron-council-list--soon)))

(defun neuron-council-list--start ()
  "Forget what was loaded, show what is here, and ask the ledger."
  (setq neuron-council-list--ledger nil
        neuron-council-list--awaiting nil
        neuron-council-list--cursor nil
        neuron-council-list--answered nil)
  (neuron-council-list--ask 'fresh)
  (neuron-council-list--render))

;;;; What arrives

(defun neuron-council-list--buffer ()
  "Return the buffer of the list, nil where there is none."
  (let ((buffer (get-buffer "*neuron-council*")))
    (and buffer
         (eq (buffer-local-value 'major-mode buffer) 'neuron-council-list-mode)
         buffer)))

(defun neuron-council-list--catch-up ()
  "Show what has arrived, where the list can be seen."
  (setq neuron-council-list--timer nil)
  (let ((buffer (neuron-council-list--buffer)))
    (when (and buffer (get-buffer-window buffer 'visible))
      (with-current-buffer buffer
        (when (and neuron-council-list--stale (not neuron-council-list--asking))
          (setq neuron-council-list--stale nil)
          ;; Nothing that arrives may start a server.
          (if (neuron-council-rpc-ready-p)
              (neuron-council-list--ask (if neuron-council-list--answered 'newer 'fresh))
            (neuron-council-list--render)))))))

(defun neuron-council-list--soon (&rest _)
  "Note that something has arrived, and look at it in a while if the list is seen."
  (let ((buffer (neuron-council-list--buffer)))
    (when buffer
      (with-current-buffer buffer
        (setq neuron-council-list--stale t))
      (when (and (not neuron-council-list--timer) (get-buffer-window buffer 'visible))
        (setq neuron-council-list--timer
              (run-at-time neuron-council-list--pause nil
                           #'neuron-council-errors-guard "the council's list" #'neuron-council-list--catch-up))))))

(defun neuron-council-list--seen (window)
  "Look at what has arrived, now that WINDOW shows the list."
  (when (and (window-live-p window)
             (buffer-local-value 'neuron-council-list--stale (window-buffer window)))
    (neuron-council-list--soon)))

(defun neuron-council-list--server-ready ()
  "Ask the server that has become ready, unless it has been asked."
  (let ((buffer (neuron-council-list--buffer)))
    (when (and buffer (not (buffer-local-value 'neuron-council-list--asking buffer)))
      (neuron-council-list--soon))))

(defun neuron-council-list--without (id verdicts)
  "Return those of VERDICTS that do not have ID."
  (delq nil (mapcar (lambda (verdict) (unless (equal id (plist-get verdict :id)) verdict)) verdicts)))

(defun neuron-council-list--removed (id)
  "List the verdict ID, which is forgotten, no more."
  (let ((buffer (neuron-council-list--buffer)))
    (when buffer
      (with-current-buffer buffer
        (setq neuron-council-list--ledger (neuron-council-list--without id neuron-council-list--ledger)
              neuron-council-list--awaiting (neuron-council-list--without id neuron-council-list--awaiting))
        (neuron-council-list--render)))))

(defun neuron-council-list--hear (method _params)
  "Note that METHOD announces a verdict, and leave it to others."
  (when (eq method 'council/reevaluated)
    (neuron-council-list--soon))
  nil)

(add-hook 'neuron-council-verdicts-hook #'neuron-council-list--soon)
(add-hook 'neuron-council-verdict-remove-functions #'neuron-council-list--removed)
(add-hook 'neuron-council-rpc-ready-hook #'neuron-council-list--server-ready)
(add-hook 'neuron-council-rpc-notification-functions #'neuron-council-list--hear)

(defun neuron-council-list--at-end ()
  "Load more where point has come to the last row."
  (when (and neuron-council-list--cursor (not neuron-council-list--asking)
             (not neuron-council-list--problem)
             (save-excursion (forward-line 1) (eobp)))
    (neuron-council-list--ask 'more)))

;;;; Marks

(defun neuron-council-list--mark (key mark)
  "Give the row KEY, at point, MARK, a character or nil."
  (if mark
      (puthash key mark neuron-council-list--marks)
    (remhash key neuron-council-list--marks))
  (neuron-council-list--show-mark mark))

(defun neuron-council-list--show-mark (mark)
  "Show MARK, a character or nil, before the row at point."
  (with-silent-modifications
    (tabulated-list-put-tag (neuron-council-list--tag mark))))

(defun neuron-council-list--each-line (function)
  "Call FUNCTION with the key of each row, point being on it."
  (neuron-council-list--check-mode)
  (save-excursion
    (goto-char (point-min))
    (while (not (eobp))
      (let ((key (tabulated-list-get-id)))
        (when key (funcall function key)))
      (forward-line 1))))

(defun neuron-council-list--mark-here (mark step)
  "Give the row at point MARK, a character or nil, and go STEP rows on."
  (neuron-council-list--check-mode)
  (let ((key (or (tabulated-list-get-id) (user-error "There is no verdict on this line"))))
    (neuron-council-list--mark key mark)
    (forward-line step)))

(defun neuron-council-list-mark ()
  "Mark the verdict at point and go to the next."
  (interactive nil neuron-council-list-mode)
  (neuron-council-list--mark-here ?* 1))

(defun neuron-council-list-flag ()
  "Flag the claim at point to be forgotten, and go to the next.
\\<neuron-council-list-mode-map>\\[neuron-council-list-execute] forgets it."
  (interactive nil neuron-council-list-mode)
  (neuron-council-list--mark-here ?D 1))

(defun neuron-council-list-unmark ()
  "Take the mark of the verdict at point away and go to the next."
  (interactive nil neuron-council-list-mode)
  (neuron-council-list--mark-here nil 1))

(defun neuron-council-list-unmark-backward ()
  "Go to the verdict before and take its mark away."
  (interactive nil neuron-council-list-mode)
  (neuron-council-list--check-mode)
  (forward-line -1)
  (when (tabulated-list-get-id)
    (neuron-council-list--mark-here nil 0)))

(defun neuron-council-list-unmark-all ()
  "Take all marks away."
  (interactive nil neuron-council-list-mode)
  (neuron-council-list--each-line
   (lambda (key)
     (when (gethash key neuron-council-list--marks)
       (neuron-council-list--mark key nil))))
  (clrhash neuron-council-list--marks))

(defun neuron-council-list-toggle-marks ()
  "Mark what is not marked, and the other way round.
What is flagged to be forgotten stays so."
  (interactive nil neuron-council-list-mode)
  (neuron-council-list--each-line
   (lambda (key)
     (let ((mark (gethash key neuron-council-list--marks)))
       (unless (eq mark ?D)
         (neuron-council-list--mark key (if mark nil ?*)))))))

(defun neuron-council-list--marked (mark)
  "Return the rows that have MARK, as they are listed."
  (let ((rows nil))
    (neuron-council-list--each-line
     (lambda (key)
       (when (eq mark (gethash key neuron-council-list--marks))
         (push (gethash key neuron-council-list--rows) rows))))
    (nreverse rows)))

(defun neuron-council-list--here ()
  "Return the row at point, or signal a `user-error'."
  (neuron-council-list--check-mode)
  (or (gethash (tabulated-list-get-id) neuron-council-list--rows)
      (user-error "There is no verdict on this line")))

(defun neuron-council-list--chosen ()
  "Return the rows that are marked, else the one at point."
  (or (neuron-council-list--marked ?*) (list (neuron-council-list--here))))

;;;; Doing something to many

(defun neuron-council-list--next (buffer verb rows function count failures)
  "Call FUNCTION for the first of ROWS, then go on with the others.
BUFFER is the list's, VERB says what is done, COUNT how many there were,
FAILURES are the conditions so far."
  (cond
   ((null rows) (neuron-council-list--done buffer verb count failures))
   (t
    (when (buffer-live-p buffer)
      (with-current-buffer buffer
        (setq neuron-council-list--work (format "%s %d of %d …" verb (- count (length rows) -1) count))
        (neuron-council-list--show-header)))
    (funcall function (car rows)
             (lambda (condition)
               (unless condition
                 (neuron-council-list--forget-mark buffer (car rows)))
               (let ((stopped (eq (car condition) 'neuron-council-cancelled)))
                 (neuron-council-list--next
                  buffer verb (if stopped nil (cdr rows)) function count
                  (append (and condition (make-list (if stopped (length rows) 1) condition)) failures))))))))

(defun neuron-council-list--forget-mark (buffer row)
  "Take the mark of ROW in BUFFER away; what was to be done to it is done."
  (when (buffer-live-p buffer)
    (with-current-buffer buffer
      (let ((key (neuron-council-row-key row)))
        (when (gethash key neuron-council-list--marks)
          (remhash key neuron-council-list--marks)
          (save-excursion
            (when (neuron-council-list--goto key)
              (neuron-council-list--show-mark nil))))))))

(defun neuron-council-list--goto (key)
  "Go to the row KEY; return non-nil if it is there."
  (let ((place (point-min)))
    (while (and place (not (equal key (get-text-property place 'tabulated-list-id))))
      (setq place (next-single-property-change place 'tabulated-list-id)))
    (and place (goto-char place))))

(defun neuron-council-list--done (buffer verb count failures)
  "Say that VERB is done to COUNT verdicts but for FAILURES, and refresh BUFFER."
  (when (buffer-live-p buffer)
    (with-current-buffer buffer
      (setq neuron-council-list--work nil)
      (neuron-council-list--show-header)
      ;; What has changed need not be new.
      (neuron-council-list--ask 'fresh)))
  (let ((failed (length failures)))
    (message "%s: %d done%s" verb (- count failed)
             (if failures
                 (format ", %d failed%s: %s" failed (if (> count 1) " and are still marked" "")
                         (neuron-council-errors-text (car (last failures))))
               ""))))

(defun neuron-council-list--do (verb rows function)
  "Do VERB to ROWS, one after the other, without waiting.
FUNCTION is called with the row and a function, which it must call once
and later with nil or the condition that it failed with."
  (when neuron-council-list--work
    (user-error "Still at work: %s; M-x neuron-council-cancel stops it" neuron-council-list--work))
  (neuron-council-list--next
   (current-buffer) verb rows
   (lambda (row callback)
     (if (stringp (neuron-council-row-key row))
         (funcall function row callback)
       (run-at-time 0 nil callback '(user-error "A verdict without an id cannot be decided on"))))
   (length rows) nil))

(defun neuron-council-list--confirm (what rows &optional always)
  "Ask once whether to WHAT with ROWS, where these are several or ALWAYS is set.
Signal a `user-error' for no."
  (when (or always (cdr rows))
    (unless (y-or-n-p (format "%s %s? " what (if (cdr rows) (format "%d verdicts" (length rows)) "this verdict")))
      (user-error "Nothing was done"))))

(defun neuron-council-list--review-each (verb decision rows note)
  "Record DECISION with NOTE on the verdicts of ROWS; VERB says so."
  (neuron-council-list--do
   verb rows
   (lambda (row callback)
     (neuron-council-review-submit (neuron-council-row-key row) decision note
                                   (lambda (_ condition) (funcall callback condition))))))

(defun neuron-council-list--decidable (rows)
  "Return ROWS; signal a `user-error' where a person can decide on none of them."
  (let ((possible nil))
    (dolist (row rows)
      (when (or (neuron-council-row-held row)
                (neuron-council-review-possible-p (neuron-council-row-verdict row)))
        (setq possible t)))
    (unless possible
      (user-error "Only a verdict that is parked, flagged or split awaits a decision"))
    rows))

(defun neuron-council-list-accept (rows &optional note)
  "Accept the marked verdicts, else the one at point: ROWS.
What that means is said of `neuron-council-accept'.  Several are asked
about once.  With a prefix argument, ask for NOTE."
  (interactive
   (let ((rows (neuron-council-list--decidable (neuron-council-list--chosen))))
     (neuron-council-list--confirm "Accept" rows)
     (list rows (neuron-council-review-read-note)))
   neuron-council-list-mode)
  (neuron-council-list--review-each "accepting" "accept" rows note))

(defun neuron-council-list-reject (rows &optional note)
  "Reject the marked verdicts, else the one at point: ROWS.
What that means is said of `neuron-council-reject'.  Several, and one
with a held memory, which is dropped for good, are asked about once.
With a prefix argument, ask for NOTE."
  (interactive
   (let* ((rows (neuron-council-list--decidable (neuron-council-list--chosen)))
          (held (delq nil (mapcar #'neuron-council-row-held rows))))
     (neuron-council-list--confirm (if held "Drop what is held for, and reject" "Reject") rows held)
     (list rows (neuron-council-review-read-note)))
   neuron-council-list-mode)
  (neuron-council-list--review-each "rejecting" "reject" rows note))

(defun neuron-council-list-restore (rows &optional note)
  "Store after all what a policy kept out: the marked ROWS, else the one at point.
Several are asked about once.  With a prefix argument, ask for NOTE."
  (interactive
   (let ((rows (neuron-council-list--chosen)))
     (dolist (row rows)
       (unless (memq (plist-get (car (neuron-council-row-held row)) :reason) '(rejected quarantined))
         (user-error "Only what a policy kept out or put into quarantine can be restored")))
     (neuron-council-list--confirm "Restore" rows)
     (list rows (neuron-council-review-read-note)))
   neuron-council-list-mode)
  (neuron-council-list--review-each "restoring" "accept" rows note))

;;;; Judging again

(defun neuron-council-list--fresh (claim context callback)
  "Have CLAIM judged against CONTEXT, past the cache; CALLBACK gets the condition."
  (neuron-council-verify-submit
   claim context (neuron-council-verify-new-id)
   (lambda (verdict condition)
     (unless (eq (car condition) 'neuron-council-cancelled)
       (neuron-council-verdict-add verdict :context context))
     (funcall callback condition))
   nil
   (lambda (job)
     (setf (neuron-council-job-params job) (append (neuron-council-job-params job) (list :fresh t))))))

(defun neuron-council-list--fresh-of (verdict callback)
  "Have the claim of VERDICT judged again against its context, then call CALLBACK.
VERDICT is what the server knows or what is at hand."
  (let ((claim (plist-get verdict :claim))
        (context (plist-get verdict :context)))
    (if (and (stringp claim) (plist-member verdict :context))
        (neuron-council-list--fresh claim (and (stringp context) context) callback)
      (run-at-time 0 nil callback
                   '(neuron-council-error "What the claim was judged against is not known: verify it anew")))))

(defun neuron-council-list--judge-again (row callback)
  "Have the claim of ROW judged again, then call CALLBACK with the condition.
One that nobody could judge is put before those that wait for that."
  (let* ((verdict (neuron-council-row-verdict row))
         (id (neuron-council-row-key row))
         (here (neuron-council-verdict-find id)))
    (cond
     ((plist-member here :context) (neuron-council-list--fresh-of here callback))
     ((and (equal (plist-get verdict :status) "unavailable") (not (plist-get verdict :error)))
      (neuron-council-review-reevaluate-submit (list id) (lambda (_ condition) (funcall callback condition))))
     (t
      (neuron-council-rpc-submit
       (neuron-council-rpc-make-job :council/show (list :id id) "looking it up"
                                    (lambda (answer condition)
                                      (if condition
                                          (funcall callback condition)
                                        (neuron-council-list--fresh-of answer callback)))))))))

(defun neuron-council-list-reverify (rows)
  "Have the claims of the marked ROWS judged again, else that at point.
Each is put before the council with its context, past the cache; one that
nobody could judge is judged again under its own id."
  (interactive
   (let ((rows (neuron-council-list--chosen)))
     (neuron-council-list--confirm "Judge again the claims of" rows)
     (list rows))
   neuron-council-list-mode)
  (neuron-council-list--do "judging again" rows #'neuron-council-list--judge-again))

;;;; Commands

(defun neuron-council-list-execute (rows)
  "Forget the claims that are flagged for it: those of ROWS.
Ask first.  Their verdicts and what is kept with them go too; memories
that were stored do not."
  (interactive
   (let ((rows (or (neuron-council-list--marked ?D) (user-error "No claim is flagged to be forgotten"))))
     (unless (yes-or-no-p (format "Forget %s, with all verdicts and what is kept with them? "
                                  (if (cdr rows) (format "%d claims" (length rows)) "this claim")))
       (user-error "Nothing was forgotten"))
     (list rows))
   neuron-council-list-mode)
  (neuron-council-list--do "forgetting" rows
                           (lambda (row callback)
                             (neuron-council-review-forget-submit
                              (neuron-council-row-key row) (plist-get (neuron-council-row-verdict row) :claim)
                              (lambda (_ condition) (funcall callback condition))))))

(defun neuron-council-list-show ()
  "Show the report of the verdict at point."
  (interactive nil neuron-council-list-mode)
  (let* ((row (neuron-council-list--here))
         (key (neuron-council-row-key row)))
    (neuron-council-report-show (if (stringp key) key (neuron-council-row-verdict row)))))

(defun neuron-council-list-mouse-show (event)
  "Show the report of the verdict that EVENT, a click, is on."
  (interactive "e" neuron-council-list-mode)
  (mouse-set-point event)
  (neuron-council-list-show))

(defun neuron-council-list-copy-id ()
  "Copy the ids of the marked verdicts, else of the one at point."
  (interactive nil neuron-council-list-mode)
  (let ((ids (delq nil (mapcar (lambda (row) (neuron-council-row-verdict-id (neuron-council-row-verdict row)))
                               (neuron-council-list--chosen)))))
    (unless ids (user-error "This verdict has no id"))
    (kill-new (mapconcat #'identity ids "\n"))
    (message "%s" (mapconcat #'identity ids " "))))

(defun neuron-council-list-more ()
  "Load the next verdicts of the ledger."
  (interactive nil neuron-council-list-mode)
  (neuron-council-list--check-mode)
  (cond (neuron-council-list--asking (user-error "The ledger is being asked"))
        (neuron-council-list--cursor (neuron-council-list--ask 'more))
        (t (user-error "The ledger has no more"))))

(defun neuron-council-list-refresh (&rest _)
  "Ask the ledger anew; marks, and what was loaded, stay."
  (interactive nil neuron-council-list-mode)
  (neuron-council-list--ask 'fresh)
  (neuron-council-list--render))

(defun neuron-council-list-sort (&optional number)
  "Sort by the column at point, the other way round the second time.
With a prefix argument NUMBER sort by that column, the first being 0; with
a negative one go back to the list's own order."
  (interactive "P" neuron-council-list-mode)
  (neuron-council-list--check-mode)
  (cond ((and number (< (prefix-numeric-value number) 0))
         (setq tabulated-list-sort-key nil)
         (tabulated-list-init-header)
         (let ((inhibit-read-only t))
           (erase-buffer))
         (neuron-council-list--render))
        (t (tabulated-list-sort (and number (prefix-numeric-value number))))))

;;;; Filters

(defun neuron-council-list-filter (filter)
  "Narrow the list to FILTER, a key of `neuron-council-list--filters'.
The text that claims are searched for stays, but for `all'."
  (interactive
   (list (intern (completing-read "Show: " (mapcar (lambda (row) (symbol-name (car row)))
                                                   neuron-council-list--filters)
                                  nil t nil 'neuron-council-list-filter-history "all")))
   neuron-council-list-mode)
  (neuron-council-list--check-mode)
  (setq neuron-council-list--filter filter)
  (when (eq filter 'all)
    (setq neuron-council-list--text nil))
  (neuron-council-list--start))

(defun neuron-council-list-filter-text (text)
  "Narrow the list to claims that hold TEXT; an empty one ends that."
  (interactive
   (list (read-string "Claims with: " nil 'neuron-council-list-text-history))
   neuron-council-list-mode)
  (neuron-council-list--check-mode)
  (setq neuron-council-list--text (if (equal text "") nil text))
  (neuron-council-list--start))

(defun neuron-council-list-filter-all ()
  "Show all verdicts."
  (interactive nil neuron-council-list-mode)
  (neuron-council-list-filter 'all))

(defun neuron-council-list-filter-awaiting ()
  "Show what awaits a person's decision."
  (interactive nil neuron-council-list-mode)
  (neuron-council-list-filter 'awaiting))

(defun neuron-council-list-filter-flagged ()
  "Show flagged verdicts."
  (interactive nil neuron-council-list-mode)
  (neuron-council-list-filter 'flagged))

(defun neuron-council-list-filter-parked ()
  "Show parked verdicts, decided or not."
  (interactive nil neuron-council-list-mode)
  (neuron-council-list-filter 'parked))

(defun neuron-council-list-filter-split ()
  "Show verdicts that the council was split on."
  (interactive nil neuron-council-list-mode)
  (neuron-council-list-filter 'split))

(defun neuron-council-list-filter-unavailable ()
  "Show verdicts on claims that nobody could judge."
  (interactive nil neuron-council-list-mode)
  (neuron-council-list-filter 'unavailable))

;;;; Mode

(defvar neuron-council-list-mode-map
  (let ((map (make-sparse-keymap)))
    (set-keymap-parent map tabulated-list-mode-map)
    (pcase-dolist (`(,key . ,command)
                   '(("\C-m" . neuron-council-list-show)
                     ("f" . neuron-council-list-show)
                     ([mouse-2] . neuron-council-list-mouse-show)
                     ("m" . neuron-council-list-mark)
                     ("u" . neuron-council-list-unmark)
                     ("\177" . neuron-council-list-unmark-backward)
                     ("U" . neuron-council-list-unmark-all)
                     ("t" . neuron-council-list-toggle-marks)
                     ("d" . neuron-council-list-flag)
                     ("x" . neuron-council-list-execute)
                     ("a" . neuron-council-list-accept)
                     ("r" . neuron-council-list-reject)
                     ("R" . neuron-council-list-restore)
                     ("e" . neuron-council-list-reverify)
                     ("w" . neuron-council-list-copy-id)
                     ("+" . neuron-council-list-more)
                     ("s" . neuron-council-list-sort)
                     ("S" . neuron-council-list-sort)
                     ("?" . neuron-council-menu)
                     ("/a" . neuron-council-list-filter-all)
                     ("//" . neuron-council-list-filter-all)
                     ("/f" . neuron-council-list-filter-flagged)
                     ("/p" . neuron-council-list-filter-parked)
                     ("/s" . neuron-council-list-filter-split)
                     ("/t" . neuron-council-list-filter-text)
                     ("/u" . neuron-council-list-filter-unavailable)
                     ("/w" . neuron-council-list-filter-awaiting)))
      (define-key map key command))
    map)
  "Keys of `neuron-council-list-mode'.")

(defun neuron-council-list--earlier-p (one other)
  "Return non-nil when the entry ONE is older than the entry OTHER."
  (cl-flet ((time (entry)
              (let ((row (gethash (car entry) neuron-council-list--rows)))
                (if row (neuron-council-row-time row) 0))))
    (< (time one) (time other))))

(defun neuron-council-list--index ()
  "Return an index of the claims for imenu."
  (let ((index nil))
    (neuron-council-list--each-line
     (lambda (key)
       (let ((row (gethash key neuron-council-list--rows)))
         (when row
           (push (cons (substring-no-properties (aref (cadr (neuron-council-row-entry row)) 5)) (point))
                 index)))))
    (nreverse index)))

(defun neuron-council-list--next-error (count &optional reset)
  "Go COUNT rows on, from the first one if RESET, and show the report."
  (when reset (goto-char (point-min)))
  (forward-line count)
  (unless (tabulated-list-get-id)
    (user-error "There are no more verdicts"))
  (neuron-council-list-show))

(defun neuron-council-list--bookmark ()
  "Return a bookmark of the list with its filter."
  (list (concat "neuron-council"
                (if (eq neuron-council-list--filter 'all) "" (format " %s" neuron-council-list--filter)))
        (cons 'filter neuron-council-list--filter)
        (cons 'text neuron-council-list--text)
        (cons 'handler #'neuron-council-list-jump)))

;;;###autoload
(defun neuron-council-list-jump (bookmark)
  "Show the list as BOOKMARK has it."
  (let ((filter (cdr (assq 'filter (cdr bookmark))))
        (text (cdr (assq 'text (cdr bookmark)))))
    (neuron-council-list)
    (setq neuron-council-list--filter (if (assq filter neuron-council-list--filters) filter 'all)
          neuron-council-list--text (and (stringp text) text))
    (neuron-council-list--start)))

(define-derived-mode neuron-council-list-mode tabulated-list-mode "Council"
  "Major mode of the list of the council's verdicts.
What awaits your decision comes first, then the newest.  Commands act on
the marked verdicts, else on the one at point.

\\{neuron-council-list-mode-map}"
  :interactive nil
  (setq tabulated-list-format (vector (list "When" 12 #'neuron-council-list--earlier-p)
                                      (list "Verdict" 18 t)
                                      (list "Conf" 4 t :right-align t)
                                      (list "Votes" 5 t)
                                      (list "Decision" 11 t)
                                      (list "Claim" 0 t))
        tabulated-list-padding 2
        tabulated-list-printer #'neuron-council-list--print-row
        neuron-council-list--rows (make-hash-table :test #'equal)
        neuron-council-list--marks (make-hash-table :test #'equal))
  ;; The header line says what the ledger has.
  (setq-local tabulated-list-use-header-line nil
              revert-buffer-function #'neuron-council-list-refresh
              next-error-function #'neuron-council-list--next-error
              imenu-create-index-function #'neuron-council-list--index
              bookmark-make-record-function #'neuron-council-list--bookmark)
  (tabulated-list-init-header)
  (setq header-line-format 'neuron-council-list--header)
  (add-hook 'window-buffer-change-functions #'neuron-council-list--seen nil t)
  (add-hook 'post-command-hook #'neuron-council-list--at-end nil t))

;;;###autoload
(defun neuron-council-list ()
  "List the council's verdicts, what awaits your decision first.
The ledger is asked without waiting; until it answers, and where there is
no server, the list has the verdicts at hand and the memories that are
held."
  (interactive)
  (let ((buffer (get-buffer-create "*neuron-council*")))
    (with-current-buffer buffer
      (unless (derived-mode-p 'neuron-council-list-mode)
        (neuron-council-list-mode))
      (neuron-council-list-refresh))
    (pop-to-buffer buffer)))

;;;###autoload
(defalias 'neuron-council #'neuron-council-list)

(provide 'neuron-council-list)
;;; neuron-council-list.el ends here
