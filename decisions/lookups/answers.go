package lookups

import (
	"errors"
	"io/fs"
	"slices"
	"syscall"

	"github.com/permd/permd/decisions/effects"
)

// errLate is the error of a look after the deadline of the decision.
var errLate = errors.New("looking at files: deciding took too long")

// late returns an error if there is no time for another look.
func (r *Recorder) late() error {
	if r.ctx == nil || r.ctx.Err() == nil {
		return nil
	}
	r.uncomparable = true
	if r.unanswered == "" {
		r.unanswered = "permd had no time to look at all files"
	}
	return errLate
}

// note takes in the error of a look.
func (r *Recorder) note(path string, err error) {
	if err != nil && r.unanswered == "" && !errors.Is(err, fs.ErrNotExist) {
		r.unanswered = unansweredBy(path, err)
	}
}

// unansweredBy returns why a path is not known after an error, "" if the error says what
// is there.
func unansweredBy(path string, err error) string {
	var silent *effects.NoAnswerError
	switch {
	case errors.As(err, &silent):
		return silent.Error()
	case !answers(err):
		return "the file system has an error: " + path
	}
	return ""
}

// answers reports whether an error other than fs.ErrNotExist is an answer: that a path
// is of another kind, or may not be looked at by permd. Errors that are not the system's
// are permd's own bounds.
func answers(err error) bool {
	var no syscall.Errno
	return errors.Is(err, fs.ErrPermission) || !errors.As(err, &no) || slices.Contains(answerErrors, no)
}

var answerErrors = []syscall.Errno{
	syscall.ENOTDIR, syscall.EISDIR, syscall.ELOOP, syscall.ENAMETOOLONG, syscall.EINVAL, syscall.ENXIO, syscall.ENODEV,
	syscall.EFBIG, syscall.EOVERFLOW, syscall.ENOTSUP,
}
