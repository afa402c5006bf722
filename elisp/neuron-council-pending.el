;;; neuron-council-pending.el --- Memories that wait for their verdict  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; A memory captured asynchronously waits in a queue, the oldest first, and is stored when its verdict and those of all
;; before it are in.  Each request has its own time limit, so that none waits for ever.
;;
;; What waits is kept in a file, ID.PID@HOST.eld while an Emacs works on it, else ID.eld; the renaming decides between
;; two of them.  A file is deleted behind the store, so a memory is stored once, or twice with one id where Emacs died
;; between the two.  Where the claim reached no server, its file becomes one of neuron-council-unsent.el instead.
;;
;; A memory that could not be stored leaves the queue and keeps its file, with the verdict, for the next try.

;;; Code:

(eval-when-compile (require 'cl-lib))
(require 'neuron-council-store)
(require 'neuron-council-unsent)

(defconst neuron-council-pending--at-a-time 2
  "How many claims are before the council at a time.
A flood of them would run into the server's deadline, and be flagged for that.")

(cl-defstruct (neuron-council-pending--memory (:constructor neuron-council-pending--make-memory) (:copier nil))
  "A memory that waits."
  id claim context store-args
  time                                  ; of its capture, seconds since the epoch
  buffer                                ; where it is stored, if that is alive
  file                                  ; nil where a file cannot keep it
  job                                   ; nil where the verdict was known from the start
  verdict                               ; nil until it is in
  condition)                            ; why there is no verdict of the council

(defvar neuron-council-pending--queue nil
  "The memories that wait, the oldest first.")

(defvar neuron-council-pending--unstored nil
  "The memories that could not be stored, and that no file keeps.")

(defvar neuron-council-pending--storing nil
  "Non-nil while a memory is being stored: a store function may wait for something.")

(defvar neuron-council-pending--timer nil
  "Timer of the next look at what can be sent.")

;;;; Files

(defun neuron-council-pending-folder ()
  "Return the folder of the memories that wait."
  (neuron-council-files-folder "pending"))

(defun neuron-council-pending--valid-p (record)
  "Return non-nil when RECORD holds a memory."
  (let ((verdict (plist-get record :verdict)))
    (and (plist-member record :store-args)
         (proper-list-p (plist-get record :store-args))
         (numberp (plist-get record :time))
         (or (null verdict)
             (and (proper-list-p verdict) (proper-list-p (plist-get verdict :tags))
                  (stringp (plist-get verdict :id)) (stringp (plist-get verdict :summary))
                  (numberp (plist-get verdict :confidence)))))))

(defun neuron-council-pending--write (memory file)
  "Write MEMORY to FILE, with its verdict if the council gave one.
What is there is replaced.  Signal an error where that cannot be."
  (let ((verdict (and (not (neuron-council-pending--memory-condition memory))
                      (neuron-council-pending--memory-verdict memory))))
    (pcase-let ((`(,claim ,context ,store-args)
                 (neuron-council-files-storable (list (neuron-council-pending--memory-claim memory)
                                                      (neuron-council-pending--memory-context memory)
                                                      (neuron-council-pending--memory-store-args memory)))))
      (neuron-council-files-write
       file
       (append (list :id (neuron-council-pending--memory-id memory) :claim claim :context context
                     :time (neuron-council-pending--memory-time memory) :store-args store-args)
               (and verdict
                    (list :verdict (list :id (plist-get verdict :id) :claim (plist-get verdict :claim)
                                         :confidence (plist-get verdict :confidence)
                                         :tags (plist-get verdict :tags) :summary (plist-get verdict :summary)))))
       nil t))))

(defun neuron-council-pending--keep (memory)
  "Keep MEMORY in a file; where that cannot be, it waits in this Emacs alone."
  (condition-case problem
      (let ((file (neuron-council-files-own-name (neuron-council-pending-folder)
                                                 (neuron-council-pending--memory-id memory))))
        (neuron-council-pending--write memory file)
        (setf (neuron-council-pending--memory-file memory) file))
    (error
     (neuron-council-log "%s waits in this Emacs alone: %s" (neuron-council-pending--memory-id memory) (car problem))
     (when (memq 'file-error (get (car problem) 'error-conditions))
       (message "Neuron Council: the memory cannot be kept in a file until it is stored: %s"
                (neuron-council-errors-text problem))))))

(defun neuron-council-pending--free-p (file)
  "Return non-nil when nobody works on the memory in FILE."
  (and (not (member (car (neuron-council-files-parse file)) neuron-council-pending--done))
       (not (neuron-council-pending--find (car (neuron-council-files-parse file))))
       (neuron-council-files-free-p file)))

(defun neuron-council-pending--take (file)
  "Take FILE, and return its memory.
Return nil where another Emacs works on it, it is broken, or cannot be
taken, which is said."
  (when (neuron-council-pending--free-p file)
    (let ((id (car (neuron-council-files-parse file))))
      (condition-case problem
          (let* ((taken (neuron-council-files-take file))
                 (record (neuron-council-files-read taken #'neuron-council-pending--valid-p)))
            (when record
              (neuron-council-pending--make-memory
               :id id :claim (plist-get record :claim) :context (plist-get record :context)
               :store-args (plist-get record :store-args) :time (plist-get record :time)
               :verdict (plist-get record :verdict) :file taken)))
        (file-missing nil)
        (file-error
         (neuron-council-log "%s cannot be taken up: %s" id (car problem))
         (message "A memory that waits cannot be taken up: %s" (neuron-council-errors-text problem))
         nil)))))

(defun neuron-council-pending--leave-claim (memory)
  "Leave the claim of MEMORY, which is stored, for the next start of a server."
  (let* ((folder (neuron-council-unsent-folder))
         (file (neuron-council-pending--memory-file memory))
         (target (neuron-council-files-name folder (neuron-council-pending--memory-id memory))))
    (with-file-modes #o700
      (make-directory folder t))
    (if (and file (file-exists-p file))
        (rename-file file target t)
      (neuron-council-files-write target (list :id (neuron-council-pending--memory-id memory)
                                               :claim (neuron-council-pending--memory-claim memory)
                                               :context (neuron-council-pending--memory-context memory)
                                               :time (neuron-council-pending--memory-time memory))))))

(defvar neuron-council-pending--done nil
  "The ids of memories that are done with, whose files could not be deleted.")

(defun neuron-council-pending--delete (memory)
  "Delete the file of MEMORY, if it has one."
  (let ((file (neuron-council-pending--memory-file memory)))
    (when file
      (push (neuron-council-pending--memory-id memory) neuron-council-pending--done)
      (neuron-council-errors-guard "forgetting a memory that waited" #'neuron-council-files-delete file)
      (unless (file-exists-p file)
        (pop neuron-council-pending--done)))))

;;;; The queue

(defun neuron-council-pending--find (id)
  "Return the memory of this Emacs that is known as ID, or nil."
  (let ((found nil))
    (dolist (memory (append neuron-council-pending--queue neuron-council-pending--unstored) found)
      (when (equal id (neuron-council-pending--memory-id memory))
        (setq found memory)))))

(defun neuron-council-pending--now ()
  "Return the time, but later than that of each memory that waits.
A clock can be set back."
  (let ((last (car (last neuron-council-pending--queue))))
    (if last
        (max (float-time) (+ (neuron-council-pending--memory-time last) 1e-6))
      (float-time))))

(defun neuron-council-pending--enqueue (memories)
  "Put MEMORIES into the queue, each behind the older ones."
  (setq neuron-council-pending--queue
        (sort (append neuron-council-pending--queue memories nil)
              (lambda (one other)
                (< (neuron-council-pending--memory-time one) (neuron-council-pending--memory-time other))))))

(defun neuron-council-pending--make-job (memory)
  "Give MEMORY a job that has its claim judged when its turn has come.
It can be seen and cancelled from now on, and is ended when Emacs is left."
  (let ((job (neuron-council-verify-make
              (neuron-council-pending--memory-claim memory) (neuron-council-pending--memory-context memory)
              (neuron-council-pending--memory-id memory)
              (lambda (verdict condition) (neuron-council-pending--judged memory verdict condition))
              nil t)))
    (setf (neuron-council-pending--memory-job memory) job)
    (unless (neuron-council-rpc-job-done-p job)
      (neuron-council-rpc-enqueue job))))

(defun neuron-council-pending--send ()
  "Submit what has its turn now."
  (setq neuron-council-pending--timer nil)
  (let ((room neuron-council-pending--at-a-time) (next nil))
    (dolist (memory neuron-council-pending--queue)
      (cond ((neuron-council-pending--memory-verdict memory))
            ((eq (neuron-council-job-state (neuron-council-pending--memory-job memory)) 'made)
             (push memory next))
            (t (setq room (1- room)))))
    (dolist (memory (nreverse next))
      (when (> room 0)
        (setq room (1- room))
        ;; Who leaves this by a throw is somebody else, who knows nothing of the memory.
        (neuron-council-rpc-submit (neuron-council-pending--memory-job memory)
                                   (list 'neuron-council-error "its submission was left by a throw"))))))

(defun neuron-council-pending--judged (memory verdict condition)
  "Take in VERDICT on the claim of MEMORY, and CONDITION where it is no real one."
  (if (eq (car condition) 'neuron-council-cancelled)
      (progn
        (setq neuron-council-pending--queue (delq memory neuron-council-pending--queue))
        (neuron-council-pending--delete memory))
    (setf (neuron-council-pending--memory-verdict memory) verdict
          (neuron-council-pending--memory-condition memory) condition))
  ;; Not now: when Emacs is left this runs too, and no server may be started then.
  (unless neuron-council-pending--timer
    (setq neuron-council-pending--timer
          (run-at-time 0 nil #'neuron-council-errors-guard "submitting a claim" #'neuron-council-pending--send)))
  (neuron-council-pending--store-in-turn))

(defun neuron-council-pending--next ()
  "Return the memory at the head of the queue if its verdict is in."
  (let ((memory (car neuron-council-pending--queue)))
    (and memory (neuron-council-pending--memory-verdict memory) memory)))

(defun neuron-council-pending--store-in-turn ()
  "Store the memories from the head of the queue whose verdicts are in."
  (unless neuron-council-pending--storing
    (unwind-protect
        (let ((neuron-council-pending--storing t))
          (while (neuron-council-pending--next)
            (neuron-council-pending--store (neuron-council-pending--next))))
      ;; Left by C-g, or by a throw of the store function.
      (when (neuron-council-pending--next)
        (run-at-time 0 nil #'neuron-council-errors-guard "storing memories"
                     #'neuron-council-pending--store-in-turn)))))

(defun neuron-council-pending--store (memory)
  "Store MEMORY, whose verdict is in, and take it out of the queue."
  (let ((problem (list 'neuron-council-error "the store function was left by a throw"))
        (inhibited inhibit-quit)
        (inhibit-quit t))
    (unwind-protect
        (condition-case caught
            (with-temp-buffer
              (when (buffer-live-p (neuron-council-pending--memory-buffer memory))
                (set-buffer (neuron-council-pending--memory-buffer memory)))
              ;; C-g comes too late for what is stored.
              (let ((inhibit-quit inhibited))
                (neuron-council-store-judged (neuron-council-pending--memory-verdict memory)
                                             (neuron-council-pending--memory-context memory)
                                             (neuron-council-pending--memory-store-args memory)
                                             (neuron-council-pending--memory-id memory)))
              (setq problem nil))
          ((error quit) (setq problem caught)))
      (setq neuron-council-pending--queue (delq memory neuron-council-pending--queue))
      (if problem
          (neuron-council-pending--not-stored memory problem)
        (neuron-council-pending--stored memory)))))

(defun neuron-council-pending--stored (memory)
  "Keep MEMORY, which is stored, no longer.
Its claim stays if nobody could judge it."
  (if (memq (car (neuron-council-pending--memory-condition memory))
            '(nil neuron-council-refused neuron-council-unknown))
      (neuron-council-pending--delete memory)
    (neuron-council-errors-guard "keeping a claim" #'neuron-council-pending--leave-claim memory)))

(defun neuron-council-pending--free (memory)
  "Leave MEMORY, which could not be stored, in a file that any Emacs may take."
  (let* ((file (neuron-council-pending--memory-file memory))
         (free (neuron-council-files-name (file-name-directory file) (neuron-council-pending--memory-id memory))))
    (condition-case problem
        (progn
          (unless (and (neuron-council-pending--memory-condition memory) (file-exists-p file))
            (neuron-council-pending--write memory file))
          (rename-file file free t))
      (error
       (neuron-council-log "%s cannot be kept: %s" (neuron-council-pending--memory-id memory) (car problem))
       (unless (file-exists-p file)
         (push memory neuron-council-pending--unstored))))))

(defun neuron-council-pending--not-stored (memory problem)
  "Keep MEMORY, which PROBLEM kept from being stored, for another try."
  (neuron-council-log "%s could not be stored: %s" (neuron-council-pending--memory-id memory) (car problem))
  (message "A memory could not be stored: %s; it is kept, and %s tries again"
           (neuron-council-text-plain (neuron-council-errors-text problem))
           (substitute-command-keys "\\[neuron-council-resume-pending]"))
  (if (neuron-council-pending--memory-file memory)
      (neuron-council-pending--free memory)
    (push memory neuron-council-pending--unstored)))

(defun neuron-council-pending--leave ()
  "Store what has its verdict before Emacs is left.
What no file keeps and could not be stored is tried a last time."
  (neuron-council-pending--store-in-turn)
  (let ((memories (reverse neuron-council-pending--unstored)))
    (setq neuron-council-pending--unstored nil)
    (mapc #'neuron-council-pending--store memories)))

;;;; For others

(defun neuron-council-pending-submit (claim context store-args)
  "Have CLAIM judged against CONTEXT, then store a memory with STORE-ARGS.
Return a handle for `neuron-council-cancel' at once; see
`neuron-council-capture-memory-async'.  Where \\[keyboard-quit] is pressed
meanwhile, nothing is stored."
  (let ((inhibit-quit t)
        (memory (neuron-council-pending--make-memory
                 :id (neuron-council-verify-new-id) :claim claim :context context :store-args store-args
                 :time (neuron-council-pending--now) :buffer (current-buffer))))
    ;; Behind the hook that ends all jobs.
    (add-hook 'kill-emacs-hook #'neuron-council-pending--leave t)
    (neuron-council-pending--keep memory)
    (neuron-council-pending--make-job memory)
    (neuron-council-pending--enqueue (list memory))
    (neuron-council-pending--send)
    (when quit-flag
      (neuron-council-pending-forget (neuron-council-pending--memory-id memory)))
    (neuron-council-rpc-handle (neuron-council-pending--memory-job memory))))

(defun neuron-council-pending-p ()
  "Return non-nil when memories wait that nobody works on, or that failed."
  (or neuron-council-pending--unstored
      (let ((found nil))
        (dolist (file (neuron-council-files-list (neuron-council-pending-folder)) found)
          (setq found (or found (neuron-council-pending--free-p file)))))))

(defun neuron-council-pending--resume ()
  "Take up what an earlier Emacs left and what could not be stored.
Return the number of these memories."
  (let ((inhibit-quit t)
        (memories (delq nil (mapcar #'neuron-council-pending--take
                                    (neuron-council-files-list (neuron-council-pending-folder))))))
    (setq memories (append memories neuron-council-pending--unstored)
          neuron-council-pending--unstored nil)
    (dolist (memory memories)
      (unless (neuron-council-pending--memory-verdict memory)
        (neuron-council-pending--make-job memory)))
    (neuron-council-pending--enqueue memories)
    (neuron-council-pending--send)
    (length memories)))

;;;###autoload
(defun neuron-council-resume-pending ()
  "Take up the memories that wait to be stored, and return how many there are.
They are those of an Emacs that died before their verdicts were in, and
those on which the store function failed.  Where they are not judged yet,
they are; each is stored when its verdict is in, the oldest first.

Whether an Emacs on another host that shares NEURON_HOME has died cannot
be told: what that has taken is taken up a day later."
  (interactive)
  (neuron-council-store-check-all)
  (let ((count (neuron-council-pending--resume)))
    (neuron-council-pending--store-in-turn)
    (when (called-interactively-p 'interactive)
      (message "%s%s"
               (pcase count
                 (0 "No memory waits to be stored")
                 (1 "One memory is taken up, and stored when its verdict is in")
                 (_ (format "%d memories are taken up, and stored when their verdicts are in" count)))
               (pcase (neuron-council-files-busy-elsewhere (neuron-council-pending-folder))
                 (0 "")
                 (others (format "; those of an Emacs on another host (%d) are, a day after it took them" others)))))
    count))

(defun neuron-council-pending-look ()
  "Resume what waits, if it can be stored; wait for nothing and signal nothing."
  (when (neuron-council-pending-p)
    (condition-case problem
        (neuron-council-resume-pending)
      (error
       (neuron-council-log "The memories that wait cannot be stored yet: %s" (car problem))
       (message "Memories wait to be stored, but: %s" (neuron-council-errors-text problem))))))

(defun neuron-council-pending-forget (id)
  "Store the memory known as ID no more, and delete what is kept of it."
  (let ((memory (neuron-council-pending--find id)))
    (when memory
      (when (neuron-council-pending--memory-job memory)
        (neuron-council-rpc-cancel (neuron-council-pending--memory-job memory)
                                   '(neuron-council-cancelled "forgotten")))
      (setq neuron-council-pending--queue (delq memory neuron-council-pending--queue)
            neuron-council-pending--unstored (delq memory neuron-council-pending--unstored))))
  (neuron-council-files-forget (neuron-council-pending-folder) id))

(add-hook 'neuron-council-rpc-ready-hook #'neuron-council-pending-look)

(provide 'neuron-council-pending)
;;; neuron-council-pending.el ends here
