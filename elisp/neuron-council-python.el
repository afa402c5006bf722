;;; neuron-council-python.el --- What a Python says of itself  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; Whether a Python has the server as a module cannot be told from files, and neither can its version.  It is asked in
;; the background and once, and nobody waits for it longer than two seconds: it may be a version manager's script that
;; hangs.  This is loaded where no server was found by files, to install one, and by the doctor.

;;; Code:

(eval-when-compile (require 'cl-lib))
(require 'neuron-council-errors)
(require 'neuron-council-program)

(defconst neuron-council-python-minimum "3.11"
  "The oldest Python that runs the server.")

(defconst neuron-council-python--names
  '("python3" "python3.14" "python3.13" "python3.12" "python3.11" "python")
  "What a Python may be called; the first that fits is taken.")

(defconst neuron-council-python--question "\
import importlib.util, os, sys
has = lambda name: '1' if importlib.util.find_spec(name) else ''
words = 'neuron-council', '%d.%d.%d' % sys.version_info[:3], has('neuron_council'), \
'1' if has('venv') and has('ensurepip') else '', sys.executable
sys.stdout.buffer.write(os.fsencode('\\t'.join(words) + '\\n'))"
  "What a Python is asked.
A version manager's python3 is a slow script; the interpreter itself
knows its name.")

(defconst neuron-council-python-patience 2
  "Seconds that anybody waits for the answer of a Python.")

(defconst neuron-council-python--limit 30
  "Seconds that a Python may take to answer.")

(defconst neuron-council-python--doubt 10
  "Seconds for which it is believed that a Python has no server.")

(cl-defstruct (neuron-council-python (:constructor neuron-council-python--make) (:copier nil))
  "A program that calls itself Python, and what it said of itself."
  program                               ; absolute name
  process                               ; that asks it, or nil
  asked                                 ; seconds since the epoch
  answered                              ; the same, nil before the first answer
  timer
  waiting                               ; functions to call with it
  executable                            ; the interpreter behind the program
  version                               ; nil where it is no Python
  module                                ; non-nil where it has the server
  venv)                                 ; non-nil where it can make virtual environments

(defun neuron-council-python-programs ()
  "Return the absolute names of the programs that may be a Python, the best first."
  (let ((names (if neuron-council-python (list neuron-council-python) neuron-council-python--names)))
    (delete-dups (delq nil (mapcar #'neuron-council-program-local names)))))

(defun neuron-council-python-new-enough-p (python)
  "Return non-nil when PYTHON said a version that runs the server."
  (let ((version (neuron-council-python-version python)))
    (and version (version<= neuron-council-python-minimum version))))

(defun neuron-council-python--heard (python said)
  "Keep what PYTHON SAID, and call who waits for it."
  (let ((found (string-match "^neuron-council\t\\([0-9.]+\\)\t\\(1?\\)\t\\(1?\\)\t\\(.+\\)$" said))
        (waiting (neuron-council-python-waiting python)))
    (setf (neuron-council-python-version python) (and found (match-string 1 said))
          (neuron-council-python-module python) (and found (equal (match-string 2 said) "1"))
          (neuron-council-python-venv python) (and found (equal (match-string 3 said) "1"))
          (neuron-council-python-executable python) (and found (match-string 4 said))
          (neuron-council-python-answered python) (float-time)
          (neuron-council-python-process python) nil
          (neuron-council-python-waiting python) nil)
    (when (neuron-council-python-timer python)
      (cancel-timer (neuron-council-python-timer python))
      (setf (neuron-council-python-timer python) nil))
    (dolist (function (reverse waiting))
      (neuron-council-errors-guard "what a Python said" function python))))

(defun neuron-council-python--start (python)
  "Ask PYTHON in the background."
  (let ((said "")
        (default-directory (neuron-council-program-home)))
    (setf (neuron-council-python-asked python) (float-time))
    (condition-case nil
        (let ((process (make-process :name "neuron-council python" :noquery t :connection-type 'pipe
                                     :command (list (neuron-council-python-program python)
                                                    "-c" neuron-council-python--question)
                                     :coding 'utf-8-unix
                                     :filter (lambda (_ text) (setq said (concat said text)))
                                     :sentinel (lambda (process _)
                                                 (unless (process-live-p process)
                                                   (neuron-council-python--heard python said))))))
          (set-process-thread process nil)
          (setf (neuron-council-python-process python) process
                (neuron-council-python-timer python)
                (run-at-time neuron-council-python--limit nil #'delete-process process)))
      (error (neuron-council-python--heard python "")))))

(defun neuron-council-python-ask (program &optional function)
  "Ask the Python PROGRAM about itself in the background; return what is known.
Call FUNCTION with the same record when it has answered."
  (let ((python (or (cdr (assoc program neuron-council-program-answers))
                    (let ((new (neuron-council-python--make :program program)))
                      (push (cons program new) neuron-council-program-answers)
                      new))))
    (when function
      (push function (neuron-council-python-waiting python)))
    (unless (neuron-council-python-process python)
      (neuron-council-python--start python))
    python))

(defun neuron-council-python--known (program)
  "Return what is known of the Python PROGRAM, asking it where that is too little.
An old answer without a server is given again while it is asked anew."
  (let* ((python (cdr (assoc program neuron-council-program-answers)))
         (answered (and python (neuron-council-python-answered python))))
    (if (and answered (or (neuron-council-python-module python)
                          (< (- (float-time) answered) neuron-council-python--doubt)))
        python
      (neuron-council-python-ask program))))

(defun neuron-council-python--wait (python)
  "Wait for the first answer of PYTHON, but not for long."
  (let (left process)
    (while (and (not (neuron-council-python-answered python))
                (setq process (neuron-council-python-process python))
                (> (setq left (- (+ (neuron-council-python-asked python) neuron-council-python-patience)
                                 (float-time)))
                   0))
      (accept-process-output process (min left 0.1) nil t))))

(defun neuron-council-python-with-server ()
  "Return the interpreter that has the server as a module, or nil."
  (let ((found nil))
    (dolist (python (mapcar #'neuron-council-python--known (neuron-council-python-programs)))
      (unless found
        (neuron-council-python--wait python)
        (when (and (neuron-council-python-module python)
                   (neuron-council-python-new-enough-p python))
          (setq found (neuron-council-python-executable python)))))
    found))

(defun neuron-council-python-words (program)
  "Return what is known of the Python PROGRAM, for a person."
  (let ((python (cdr (assoc program neuron-council-program-answers))))
    (format "%s (%s)" program
            (cond ((not (and python (neuron-council-python-answered python))) "has not answered yet")
                  ((not (neuron-council-python-version python)) "does not run")
                  ((not (neuron-council-python-new-enough-p python))
                   (format "%s is too old" (neuron-council-python-version python)))
                  ((neuron-council-python-module python) "has it")
                  (t (format "%s, without it" (neuron-council-python-version python)))))))

(provide 'neuron-council-python)
;;; neuron-council-python.el ends here
