;;; neuron-council-files.el --- What must outlive Emacs  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; A record is a property list in a file of its own, in a folder under NEURON_HOME, for the user's eyes alone.  The file
;; is named ID.eld or ID.NUMBER.eld after a verdict; when that is forgotten, the server removes ID.* too.  While an
;; Emacs works on it, it is ID.PID@HOST.eld after that; an older version of the package has left out the host.
;;
;; A file is written under another name and renamed, so that nobody reads half of one.  It is read back as data, never
;; evaluated, and set aside where it is no record.

;;; Code:

(require 'neuron-council-rpc)

(defconst neuron-council-files--version 1
  "The version of the records that are written.")

(defconst neuron-council-files--id "[[:xdigit:]]\\{8\\}\\(?:-[[:xdigit:]]\\{4\\}\\)\\{3\\}-[[:xdigit:]]\\{12\\}"
  "Regular expression of a verdict's id, a UUID.")

(defun neuron-council-files-id-p (text)
  "Return non-nil when TEXT is the id of a verdict, a UUID."
  (and (stringp text) (string-match-p (concat "\\`" neuron-council-files--id "\\'") text)))

(defun neuron-council-files-folder (name)
  "Return the folder NAME of records, which may not be there yet."
  (expand-file-name (concat "council/" name "/") (neuron-council-process-home)))

(defun neuron-council-files-name (folder id &optional number)
  "Return the file in FOLDER for the verdict ID and NUMBER.
NUMBER may be a string, the process that works on the file and its host.
Signal `neuron-council-error' for an ID that is no UUID."
  (unless (neuron-council-files-id-p id)
    (signal 'neuron-council-error (list (format "%.80s is no id of a verdict" id))))
  (concat folder id (and number (format ".%s" number)) ".eld"))

(defun neuron-council-files-parse (file)
  "Return a list of what stands in the name of FILE, nil for any other file.
That is the id, the number and the host, of which the latter may be nil."
  (let ((name (file-name-nondirectory file)))
    (when (string-match (concat "\\`\\(" neuron-council-files--id "\\)"
                                "\\(?:\\.\\([0-9]+\\)\\(?:@\\([[:alnum:]_-]+\\)\\)?\\)?\\.eld\\'")
                        name)
      (list (match-string 1 name)
            (and (match-beginning 2) (string-to-number (match-string 2 name)))
            (match-string 3 name)))))

(defun neuron-council-files-list (folder &optional id)
  "Return the files of records in FOLDER, those of the verdict ID if given."
  (let ((files nil))
    (when (file-directory-p folder)
      (dolist (file (directory-files folder t "\\.eld\\'"))
        (let ((parsed (neuron-council-files-parse file)))
          (when (and parsed (or (null id) (equal id (car parsed))))
            (push file files)))))
    (nreverse files)))

(defun neuron-council-files-print (record)
  "Return the text of RECORD, which `read' takes back."
  (let ((print-length nil)
        (print-level nil)
        (print-circle t)
        (print-gensym t)
        (print-quoted t)
        (print-escape-newlines t)
        (print-escape-control-characters t)
        (print-escape-nonascii t)
        (float-output-format nil))
    (prin1-to-string (append (list :version neuron-council-files--version) record))))

(defun neuron-council-files--data (value)
  "Return VALUE without text properties; signal `neuron-council-error' for code.
Code in a file would run when the memory is stored."
  (cond ((stringp value) (substring-no-properties value))
        ((and (functionp value) (not (symbolp value)))
         (signal 'neuron-council-error '("a function is among its arguments")))
        ((proper-list-p value) (mapcar #'neuron-council-files--data value))
        ((consp value)
         (cons (neuron-council-files--data (car value)) (neuron-council-files--data (cdr value))))
        ((vectorp value) (vconcat (mapcar #'neuron-council-files--data value)))
        (t value)))

(defun neuron-council-files-storable (args)
  "Return ARGS as a file can keep them, or signal `neuron-council-error'.
What is printed must come back by `read' as the same text: buffers and
markers do not."
  (let* ((data (neuron-council-files--data args))
         (text (neuron-council-files-print data)))
    (unless (equal text (with-temp-buffer
                          (insert text)
                          (neuron-council-files-print (nthcdr 2 (neuron-council-files--parse-buffer)))))
      (signal 'neuron-council-error '("its arguments cannot be written to a file and read back")))
    data))

(defun neuron-council-files-write (file record &optional durable replace)
  "Write RECORD to FILE; signal an error where that fails.
FILE must not exist, unless REPLACE is non-nil.  With DURABLE, wait until
the disk has it; else it survives the death of Emacs, not of the machine."
  (let ((draft (format "%s.%d.new" file (emacs-pid)))
        (text (neuron-council-files-print record)))
    (with-file-modes #o700
      (make-directory (file-name-directory file) t))
    (unwind-protect
        (progn
          (with-file-modes #o600
            (let ((coding-system-for-write 'utf-8-emacs-unix)
                  (write-region-inhibit-fsync (not durable))
                  (write-region-annotate-functions nil)
                  (write-region-post-annotation-function nil))
              (write-region text nil draft nil 'quiet)))
          (rename-file draft file replace))
      (when (file-exists-p draft)
        (delete-file draft)))))

(defun neuron-council-files--set-aside (file)
  "Rename FILE, which holds no record, so that it is neither read again nor lost."
  (let ((aside (concat file ".broken")))
    (when (file-exists-p aside)
      (setq aside (make-temp-name (concat aside "."))))
    (rename-file file aside)
    (neuron-council-log "%s holds no record; it is %s now" (file-name-nondirectory file)
                            (file-name-nondirectory aside))))

;;;; Reading

(defconst neuron-council-files--depth 500
  "How deep a record may be nested: `read' recurses, and can end Emacs.")

(defconst neuron-council-files--prefix
  (rx (or (any "'`") (: "," (? "@")) "#'" (: "#" (+ digit) "="))
      (* (any " \t\n\r\f")))
  "Matches what nests the text behind it as a parenthesis does.")

(defun neuron-council-files--skip-string ()
  "Move from behind the first quotation mark of a string to its end."
  (while (progn (skip-chars-forward "^\\\\\"")
                (eq (char-after) ?\\))
    (goto-char (min (point-max) (+ (point) 2))))
  (unless (eobp) (forward-char)))

(defun neuron-council-files--skip-prefixes ()
  "Move over the prefixes at point, one character at least; return their number."
  (let ((count 0))
    (while (looking-at neuron-council-files--prefix)
      (setq count (1+ count))
      (goto-char (match-end 0)))
    (when (= count 0) (forward-char))
    count))

(defun neuron-council-files--shallow-p ()
  "Return non-nil when `read' would not nest the text of the buffer too deep.
What no record has, comments and characters, is refused: it would make
parentheses hard to count."
  (let ((depth 0) (outer nil) (run 0) (sound t))
    (goto-char (point-min))
    (while (and sound (re-search-forward "[][()\"\\'`,;#?]" nil t))
      (pcase (char-before)
        (?\" (neuron-council-files--skip-string))
        (?\\ (unless (eobp) (forward-char)))
        ((or ?\( ?\[) (push depth outer)
                      (setq depth (+ depth run 1)
                            run 0))
        ((or ?\) ?\]) (setq depth (or (pop outer) 0)
                            run 0))
        (?\; (setq sound nil))
        ;; Within a symbol it is a letter like any other.
        (?? (setq sound (not (memq (char-before (1- (point))) (append '(nil) " \t\n\r\f\"'`,()[]" nil)))))
        (_ (backward-char)
           (if (looking-at-p "#[@!|$]")
               (setq sound nil)
             (let ((count (neuron-council-files--skip-prefixes)))
               (when (> count 0) (setq run count))))))
      (setq sound (and sound (<= (+ depth run) neuron-council-files--depth))))
    sound))

(defun neuron-council-files--parse-buffer ()
  "Return the property list that the buffer holds and nothing else, or nil."
  (when (neuron-council-files--shallow-p)
    (goto-char (point-min))
    (condition-case nil
        (let ((value (read (current-buffer))))
          (and (proper-list-p value) (looking-at-p "[ \n]*\\'") value))
      (error nil))))

(defun neuron-council-files--parse-text (file)
  "Return the property list that FILE holds and nothing else, or nil."
  (with-temp-buffer
    (when (and (file-exists-p file) (not (file-regular-p file)))
      ;; A pipe or a device would have Emacs wait for ever.
      (signal 'file-error (list "Opening input file" "not a regular file" file)))
    (let ((coding-system-for-read 'utf-8-emacs-unix))
      (insert-file-contents file))
    (neuron-council-files--parse-buffer)))

(defun neuron-council-files-read (file valid-p)
  "Return the record in FILE, of which VALID-P must be true, or nil.
A file that holds none is set aside.  One that cannot be opened, or that a
newer version of the package has written, is left alone."
  (condition-case problem
      (let ((record (neuron-council-files--parse-text file)))
        (cond ((let ((version (plist-get record :version)))
                 (and (integerp version) (> version neuron-council-files--version)))
               (neuron-council-log "%s was written by a newer version" (file-name-nondirectory file))
               nil)
              ((and (equal (plist-get record :version) neuron-council-files--version)
                    (equal (plist-get record :id) (car (neuron-council-files-parse file)))
                    (funcall valid-p record))
               record)
              (t (neuron-council-files--set-aside file)
                 nil)))
    (file-error
     (unless (eq (car problem) 'file-missing)
       (neuron-council-log "%s cannot be read: %s" (file-name-nondirectory file) (car problem)))
     nil)))

;;;; Whose a file is, and its end

(defconst neuron-council-files--abandoned (* 24 60 60)
  "Seconds after which what an Emacs on another host has taken is nobody's.
Whether that Emacs lives cannot be told from here.")

(defvar neuron-council-files--host nil
  "The host of this Emacs in the name of a file, nil before it is known.")

(defun neuron-council-files--host ()
  "Return what tells the processes of this host from those of others.
It is the name of the host, and the number of the name space of processes
where there are such: containers may share a name, and begin to count anew."
  (or neuron-council-files--host
      (setq neuron-council-files--host
            (let ((host (replace-regexp-in-string "[^A-Za-z0-9_]+" "-" (or (system-name) "")))
                  (space (file-symlink-p "/proc/self/ns/pid")))
              (concat (if (equal host "") "host" (substring host 0 (min 60 (length host))))
                      (and space (string-match "[0-9]+" space)
                           (concat "-" (match-string 0 space))))))))

(defun neuron-council-files-own-name (folder id)
  "Return the file in FOLDER for the verdict ID while this Emacs works on it."
  (neuron-council-files-name folder id (format "%d@%s" (emacs-pid) (neuron-council-files--host))))

(defun neuron-council-files--changed (file)
  "Return when FILE was taken, nil where it is gone."
  (file-attribute-status-change-time (file-attributes file)))

(defun neuron-council-files--gone-p (pid file)
  "Return non-nil when the process PID of this host, which took FILE, has ended."
  (let* ((attributes (and (fixnump pid) (ignore-errors (process-attributes pid))))
         (start (alist-get 'start attributes)))
    (or (null attributes)
        (equal (alist-get 'state attributes) "Z")
        ;; The number may be another process's by now.  Starting times are not exact.
        (let ((changed (neuron-council-files--changed file)))
          (and start changed (time-less-p (time-add changed 10) start))))))

(defun neuron-council-files--foreign-p (file)
  "Return non-nil when an Emacs on another host has taken FILE."
  (let ((host (nth 2 (neuron-council-files-parse file))))
    (and host (not (equal host (neuron-council-files--host))))))

(defun neuron-council-files-free-p (file)
  "Return non-nil when no other Emacs works on FILE.
What one on another host has taken is free a day later."
  (let ((pid (nth 1 (neuron-council-files-parse file))))
    (cond ((null pid) t)
          ((neuron-council-files--foreign-p file)
           (let ((changed (neuron-council-files--changed file)))
             (and changed (time-less-p (time-add changed neuron-council-files--abandoned) nil))))
          (t (or (= pid (emacs-pid)) (neuron-council-files--gone-p pid file))))))

(defun neuron-council-files-busy-elsewhere (folder)
  "Return how many files of FOLDER an Emacs on another host may work on."
  (let ((count 0))
    (dolist (file (neuron-council-files-list folder) count)
      (when (and (neuron-council-files--foreign-p file) (not (neuron-council-files-free-p file)))
        (setq count (1+ count))))))

(defun neuron-council-files-take (file)
  "Rename FILE, which is free, to what this Emacs works on; return that.
Signal `file-missing' where another Emacs was first."
  (pcase-let* ((`(,id ,pid ,host) (neuron-council-files-parse file))
               (taken (neuron-council-files-own-name (file-name-directory file) id)))
    (unless (equal file taken)
      (rename-file file taken t))
    (when (neuron-council-files--foreign-p file)
      (neuron-council-log "%s is taken up: process %d on %s has left it for a day" id pid host)
      (message "Neuron Council: what process %d on %s has left for a day is taken up" pid host))
    taken))

(defun neuron-council-files-delete (file)
  "Delete FILE, which may be gone already."
  (condition-case nil
      (delete-file file)
    (file-missing nil)))

(defun neuron-council-files-forget (folder id)
  "Delete all that FOLDER holds of the verdict ID, broken files too."
  (neuron-council-files-name folder id)
  (when (file-directory-p folder)
    (mapc #'neuron-council-files-delete
          (directory-files folder t (concat "\\`" (regexp-quote id) "\\.")))))

(provide 'neuron-council-files)
;;; neuron-council-files.el ends here
