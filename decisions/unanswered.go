package decisions

import (
	"errors"
	"io/fs"
	"slices"
	"syscall"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/display"
)

// A look at the file system may fail without saying anything about the path: the file
// system does not answer, a disk has an error, or the daemon has no descriptors left. No
// conclusion from such a failure may make a call milder, and there are many places that
// look. So what was not answered is noted where all looks of a call pass, and is an
// unknown effect of the call.

// errLate is the error of a look after the deadline of the decision.
var errLate = errors.New("looking at files: deciding took too long")

// late returns an error if there is no time for another look.
func (o *recordingFS) late() error {
	if o.ctx == nil || o.ctx.Err() == nil {
		return nil
	}
	o.uncomparable = true
	if o.unanswered == "" {
		o.unanswered = "permd had no time to look at all files"
	}
	return errLate
}

// note takes in the error of a look.
func (o *recordingFS) note(path string, err error) {
	if err != nil && o.unanswered == "" && !errors.Is(err, fs.ErrNotExist) {
		o.unanswered = unansweredBy(path, err)
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

// addTo adds an effect for what was not answered, unless there is one, and gives all such
// effects the cause that no rule covers. It reports whether it has added one.
func (o *recordingFS) addTo(r *effects.Result) bool {
	why := o.unanswered
	if why == "" {
		return false
	}
	said := func(e effects.Effect) bool { return e.Kind == effects.KindUnknown && e.Why == why }
	if slices.ContainsFunc(r.Effects, said) {
		r.Effects = slices.Clone(r.Effects)
		for i := range r.Effects {
			if e := &r.Effects[i]; said(*e) && e.Cause == "" {
				e.Cause = effects.CauseUnanswered
			}
		}
		return false
	}
	why = display.Display(why)
	r.Effects = append(slices.Clip(r.Effects), effects.Effect{Kind: effects.KindUnknown, Why: why, Text: why, Cause: effects.CauseUnanswered})
	return true
}
