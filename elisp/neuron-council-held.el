;;; neuron-council-held.el --- Memories that were not stored  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; A memory that the policy did not store is kept with what it takes to store it: the arguments of the store function
;; and what these are followed by.  What becomes of it a person decides, see neuron-council-review.el; until then it
;; stays.  What a file cannot keep (arguments that are buffers, a folder that cannot be written) is an error of whoever
;; wants it kept.
;;
;; The files are ID.eld, and ID.2.eld and so on for further memories with the same verdict.

;;; Code:

(require 'neuron-council-files)
(require 'neuron-council-verdict)

(defun neuron-council-held-folder ()
  "Return the folder of the memories that were not stored."
  (neuron-council-files-folder "held"))

(defun neuron-council-held--valid-p (record)
  "Return non-nil when RECORD can be decided on."
  (and (memq (plist-get record :reason) '(parked rejected quarantined))
       (stringp (plist-get record :claim))
       (numberp (plist-get record :confidence))
       (neuron-council-verdict-tags-p (plist-get record :tags))
       (or (null (plist-get record :time)) (numberp (plist-get record :time)))
       (or (null (plist-get record :summary)) (stringp (plist-get record :summary)))
       (proper-list-p (plist-get record :store-args))))

(defun neuron-council-held-keep (verdict store-args reason &optional memory)
  "Keep the memory of STORE-ARGS, which was not stored for REASON, with VERDICT.
REASON is `parked', `rejected' or `quarantined'.  MEMORY is an id of the
memory itself, under which it is kept once, nil for a new one.  Return the
file; signal an error where it cannot be kept."
  (let ((record (list :id (plist-get verdict :id) :reason reason :claim (plist-get verdict :claim)
                      :confidence (plist-get verdict :confidence) :tags (plist-get verdict :tags)
                      :summary (plist-get verdict :summary) :time (float-time) :memory memory
                      :store-args (neuron-council-files-storable store-args)))
        (folder (neuron-council-held-folder))
        (number nil)
        (kept nil))
    (while (null kept)
      (let ((file (neuron-council-files-name folder (plist-get verdict :id) number)))
        (condition-case problem
            (progn
              (neuron-council-files-write file record t)
              (setq kept file))
          ;; A folder that cannot be made is said in the same way as a name that is taken.
          (file-already-exists
           (cond ((not (file-exists-p file)) (signal (car problem) (cdr problem)))
                 ((and memory (equal memory (plist-get (neuron-council-held-read file) :memory)))
                  (setq kept file))
                 (t (setq number (1+ (or number 1)))))))))
    kept))

(defun neuron-council-held-read (file)
  "Return the memory that FILE keeps, with :file, or nil where it keeps none."
  (let ((record (neuron-council-files-read file #'neuron-council-held--valid-p)))
    ;; In front: it must not matter what the record itself says.
    (and record (append (list :file file) record))))

(defun neuron-council-held-records (&optional id)
  "Return the memories that are kept, those with the verdict ID if given.
They are property lists as `neuron-council-held-keep' makes them, with
:file; the newest is the first."
  (let ((records nil))
    (dolist (file (neuron-council-files-list (neuron-council-held-folder) id))
      (let ((record (neuron-council-held-read file)))
        (when record
          (push record records))))
    (sort records (lambda (one other)
                    (> (or (plist-get one :time) 0) (or (plist-get other :time) 0))))))

(defun neuron-council-held-drop (record)
  "Keep the memory RECORD no longer."
  (neuron-council-files-delete (plist-get record :file)))

(provide 'neuron-council-held)
;;; neuron-council-held.el ends here
