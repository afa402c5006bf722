;;; neuron-council-list.el --- The council's verdicts, to look through and decide on  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; The buffer "*neuron-council*" lists what the ledger has, the newest first, behind what awaits a person.  Added to it
;; are the memories that are held and the verdicts at hand that are in no ledger.
;;
;; How it is drawn, marked and narrowed is in neuron-council-table.el, -row.el and -filter.el; what is done to many
;; verdicts at once, in -bulk.el.
;;
;; Nothing here waits.  A request to the ledger has a kind: `fresh' takes the place of all that was loaded, `newer' is
;; merged into it, `more' goes on behind it.  What arrives while the list is shown is asked for twice a second at most,
;; and not while somebody is typing.

;;; Code:

(eval-when-compile (require 'cl-lib))
(require 'neuron-council-filter)
(require 'neuron-council-review)
(require 'neuron-council-row)
(require 'neuron-council-rpc)
(require 'neuron-council-table)
(require 'neuron-council-text)
(require 'neuron-council-verdict)
(require 'neuron-council-verify)
(require 'neuron-council-waiting)

(autoload 'neuron-council-list-accept "neuron-council-bulk" nil '(neuron-council-list-mode))
(autoload 'neuron-council-list-reject "neuron-council-bulk" nil '(neuron-council-list-mode))
(autoload 'neuron-council-list-restore "neuron-council-bulk" nil '(neuron-council-list-mode))
(autoload 'neuron-council-list-reverify "neuron-council-bulk" nil '(neuron-council-list-mode))
(autoload 'neuron-council-list-execute "neuron-council-bulk" nil '(neuron-council-list-mode))
(autoload 'neuron-council-menu "neuron-council-menu" nil t)
(declare-function neuron-council-report-show "neuron-council-report" (id-or-verdict))

(defcustom neuron-council-list-page 100
  "How many verdicts the list asks the ledger for at a time, 1 to 1000."
  :type '(integer :match (lambda (_ value) (and (integerp value) (<= 1 value 1000))))
  :safe #'natnump
  :package-version '(neuron-council . "0.1.0")
  :group 'neuron-council-list)

(defconst neuron-council-list--pause 0.5
  "Seconds between two looks at what has arrived.")

(defconst neuron-council-list--rest 0.2
  "Seconds without a key before the list shows what has arrived.
Drawing it in a terminal takes some milliseconds, which a typist can feel.")

(defconst neuron-council-list--most 1000
  "How many verdicts the ledger gives at a time.")

(defvar neuron-council-list-filter-history nil
  "What the list was narrowed to.")

(defvar neuron-council-list-text-history nil
  "Texts that claims were searched for.")

;;;; State

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

(defvar-local neuron-council-list--today nil
  "The date on which the rows were made.")

(defvar-local neuron-council-list--work nil
  "What is being done to many verdicts, in words, or nil.")

(defvar-local neuron-council-list--header ""
  "The header line.")
(put 'neuron-council-list--header 'risky-local-variable t)

(defvar neuron-council-list--timer nil
  "Timer of the next look at what has arrived.")

;;;; Rows

(defun neuron-council-list--held ()
  "Return the memories that are held, the newest first."
  (setq neuron-council-list--unread nil)
  (condition-case problem
      (neuron-council-waiting-held)
    (file-error (setq neuron-council-list--unread (neuron-council-text-plain (error-message-string problem)))
                nil)))

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
    (when (and (neuron-council-list--only-here-p verdict) (neuron-council-filter-fits-p verdict))
      (funcall function verdict)))
  (dolist (record held)
    (let ((verdict (neuron-council-row-verdict-of-held record)))
      (when (neuron-council-filter-fits-p verdict)
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

(defun neuron-council-list--render ()
  "Show what there is."
  (neuron-council-table-show (mapcar #'neuron-council-row-entry (neuron-council-list--collect)))
  (neuron-council-list--show-header))

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
                 (neuron-council-filter-words)
                 (list
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
   (neuron-council-filter-params)
   (list :counts t
         :limit (max 1 (min neuron-council-list--most
                            (max neuron-council-list-page
                                 (if (eq kind 'fresh) (length neuron-council-list--ledger) 0)))))
   (and (eq kind 'more) (list :cursor neuron-council-list--cursor))))

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

(defun neuron-council-list-work (text)
  "Say in the header line what is done to many verdicts: TEXT, nil for none."
  (setq neuron-council-list--work text)
  (neuron-council-list--show-header))

(defun neuron-council-list-check-idle ()
  "Signal a `user-error' while something is being done to many verdicts."
  (when neuron-council-list--work
    (user-error "Still at work: %s; M-x neuron-council-cancel stops it" neuron-council-list--work)))

(defun neuron-council-list--check-mode ()
  "Signal a `user-error' where the current buffer is no list."
  (unless (derived-mode-p 'neuron-council-list-mode)
    (user-error "This is for the list of verdicts: M-x neuron-council shows it")))

(defun neuron-council-list-ask (kind)
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
           ;; The ledger gives it behind what is newer, so it is asked for apart.
           (let ((first (and (null condition) (not (eq kind 'more)) (neuron-council-filter-awaiting-params))))
             (if (not first)
                 (neuron-council-list--answered kind answer nil condition)
               (neuron-council-list--submit
                (append first (list :limit neuron-council-list-page))
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
  (neuron-council-list-ask 'fresh)
  (neuron-council-list--render))

;;;; What arrives

(defun neuron-council-list--buffer ()
  "Return the buffer of the list, nil where there is none."
  (let ((buffer (get-buffer "*neuron-council*")))
    (and buffer
         (eq (buffer-local-value 'major-mode buffer) 'neuron-council-list-mode)
         buffer)))

(defun neuron-council-list--look-in (seconds)
  "Look at what has arrived in SECONDS."
  (setq neuron-council-list--timer
        (run-at-time seconds nil #'neuron-council-errors-guard "the council's list" #'neuron-council-list--catch-up)))

(defun neuron-council-list--typing-p ()
  "Return non-nil while somebody is pressing keys, or a command runs."
  (and (not noninteractive)
       (< (float-time (or (current-idle-time) 0)) neuron-council-list--rest)))

(defun neuron-council-list--catch-up ()
  "Show what has arrived, where the list can be seen."
  (setq neuron-council-list--timer nil)
  (let ((buffer (neuron-council-list--buffer)))
    (cond
     ((not (and buffer (get-buffer-window buffer 'visible))))
     ((neuron-council-list--typing-p) (neuron-council-list--look-in neuron-council-list--rest))
     (t
      (with-current-buffer buffer
        (when (and neuron-council-list--stale (not neuron-council-list--asking))
          (setq neuron-council-list--stale nil)
          ;; Nothing that arrives may start a server.
          (if (neuron-council-process-ready-p)
              (neuron-council-list-ask (if neuron-council-list--answered 'newer 'fresh))
            (neuron-council-list--render))))))))

(defun neuron-council-list--soon (&rest _)
  "Note that something has arrived, and look at it in a while if the list is seen."
  (let ((buffer (neuron-council-list--buffer)))
    (when buffer
      (with-current-buffer buffer
        (setq neuron-council-list--stale t))
      (when (and (not neuron-council-list--timer) (get-buffer-window buffer 'visible))
        (neuron-council-list--look-in neuron-council-list--pause)))))

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
    (neuron-council-list-ask 'more)))

;;;; Marks

(defun neuron-council-list--mark-here (mark step)
  "Give the row at point MARK, a character or nil, and go STEP rows on."
  (neuron-council-list--check-mode)
  (let ((key (or (tabulated-list-get-id) (user-error "There is no verdict on this line"))))
    (neuron-council-table-mark key mark)
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
  (neuron-council-list--check-mode)
  (neuron-council-table-each #'neuron-council-table-unmark))

(defun neuron-council-list-toggle-marks ()
  "Mark what is not marked, and the other way round.
What is flagged to be forgotten stays so."
  (interactive nil neuron-council-list-mode)
  (neuron-council-list--check-mode)
  (neuron-council-table-each
   (lambda (key)
     (let ((mark (neuron-council-table-mark-of key)))
       (unless (eq mark ?D)
         (neuron-council-table-mark key (if mark nil ?*)))))))

(defun neuron-council-list-marked (mark)
  "Return the rows that have MARK, as they are listed."
  (neuron-council-list--check-mode)
  (mapcar (lambda (key) (gethash key neuron-council-list--rows)) (neuron-council-table-marked mark)))

(defun neuron-council-list--here ()
  "Return the row at point, or signal a `user-error'."
  (neuron-council-list--check-mode)
  (or (gethash (tabulated-list-get-id) neuron-council-list--rows)
      (user-error "There is no verdict on this line")))

(defun neuron-council-list-chosen ()
  "Return the rows that are marked, else the one at point."
  (or (neuron-council-list-marked ?*) (list (neuron-council-list--here))))

;;;; Commands

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
                               (neuron-council-list-chosen)))))
    (unless ids (user-error "This verdict has no id"))
    (kill-new (mapconcat #'identity ids "\n"))
    (message "%s" (mapconcat #'identity ids " "))))

(defun neuron-council-list-more ()
  "Load the next verdicts of the ledger."
  (interactive nil neuron-council-list-mode)
  (neuron-council-list--check-mode)
  (cond (neuron-council-list--asking (user-error "The ledger is being asked"))
        (neuron-council-list--cursor (neuron-council-list-ask 'more))
        (t (user-error "The ledger has no more"))))

(defun neuron-council-list-refresh (&rest _)
  "Ask the ledger anew; marks, and what was loaded, stay."
  (interactive nil neuron-council-list-mode)
  (neuron-council-list-ask 'fresh)
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
  "Narrow the list to FILTER, one of `neuron-council-filter-names'.
The text that claims are searched for stays, but for `all'."
  (interactive
   (list (intern (completing-read "Show: " (mapcar #'symbol-name (neuron-council-filter-names))
                                  nil t nil 'neuron-council-list-filter-history "all")))
   neuron-council-list-mode)
  (neuron-council-list--check-mode)
  (neuron-council-filter-set filter (unless (eq filter 'all) neuron-council-filter-text))
  (neuron-council-list--start))

(defun neuron-council-list-filter-text (text)
  "Narrow the list to claims that hold TEXT; an empty one ends that."
  (interactive
   (list (read-string "Claims with: " nil 'neuron-council-list-text-history))
   neuron-council-list-mode)
  (neuron-council-list--check-mode)
  (neuron-council-filter-set neuron-council-filter-name text)
  (neuron-council-list--start))

(defmacro neuron-council-list--define-filter (command filter docstring)
  "Define COMMAND, which narrows the list to FILTER, with DOCSTRING."
  (declare (indent 2))
  `(defun ,command ()
     ,docstring
     (interactive nil neuron-council-list-mode)
     (neuron-council-list-filter ',filter)))

(neuron-council-list--define-filter neuron-council-list-filter-all all
  "Show all verdicts.")

(neuron-council-list--define-filter neuron-council-list-filter-awaiting awaiting
  "Show what awaits a person's decision.")

(neuron-council-list--define-filter neuron-council-list-filter-flagged flagged
  "Show flagged verdicts.")

(neuron-council-list--define-filter neuron-council-list-filter-parked parked
  "Show parked verdicts, decided or not.")

(neuron-council-list--define-filter neuron-council-list-filter-split split
  "Show verdicts that the council was split on.")

(neuron-council-list--define-filter neuron-council-list-filter-unavailable unavailable
  "Show verdicts on claims that nobody could judge.")

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
    (neuron-council-table-each
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
                (if (eq neuron-council-filter-name 'all) "" (format " %s" neuron-council-filter-name)))
        (cons 'filter neuron-council-filter-name)
        (cons 'text neuron-council-filter-text)
        (cons 'handler #'neuron-council-list-jump)))

;;;###autoload
(defun neuron-council-list-jump (bookmark)
  "Show the list as BOOKMARK has it."
  (neuron-council-list)
  (neuron-council-filter-set (cdr (assq 'filter (cdr bookmark))) (cdr (assq 'text (cdr bookmark))))
  (neuron-council-list--start))

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
        neuron-council-list--rows (make-hash-table :test #'equal))
  (neuron-council-table-init)
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
