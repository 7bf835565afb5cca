package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/remember"
	"github.com/permd/permd/socket/admin"
	"github.com/permd/permd/socket/native"
)

// keepHarnesses lets sessions of harnesses outlive their connections, and their
// questions be answered on the management socket.
func (d *daemon) keepHarnesses() {
	d.lasting = &native.PersistentSessions{Sessions: d.sessions, Now: wallClock, Digest: contentDigest, OnEnd: func(o decisions.Owner) {
		if keeper := d.keeper(); keeper != nil {
			// What could not be stored holds in memory, and a restart ends all
			// choices of sessions.
			_ = keeper.EndConnection(context.Background(), o)
		}
	}}
	d.engine.Answered = d.lasting.TakeGrant
	d.engine.Digest = contentState
}

// wallClock is the time without the reading that stands still while the machine
// sleeps: a yes for half an hour must not outlive a night.
func wallClock() time.Time { return time.Now().Round(0) }

// contentState tells a file's content from any other: by its hash, and where that
// would take too long by what the file system says of the file. Whoever writes to
// it changes that, but not within the same tick of its clock.
func contentState(path string, limit int64) (state string, size int64, err error) {
	if state, size, err = contentDigest(path, limit); !errors.Is(err, errLong) {
		return state, size, err
	}
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		return "", 0, fmt.Errorf("looking at a file: %w", err)
	}
	const rest = 2 * time.Second
	if time.Since(time.Unix(0, st.Ctim.Nano())).Abs() < rest {
		return "", 0, errors.New("looking at a file: it was changed just now")
	}
	return fmt.Sprintf("file %d %d %d %d", st.Dev, st.Ino, st.Size, st.Ctim.Nano()), 0, nil
}

// errLong means that a file is longer than what may be read.
var errLong = errors.New("it is too long")

// contentDigest is the hash of a regular file's content, and its length.
func contentDigest(path string, limit int64) (digest string, size int64, err error) {
	// A pipe must not hold the answer up.
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return "", 0, fmt.Errorf("hashing a file: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", 0, fmt.Errorf("hashing a file: %w", err)
	}
	switch {
	case !info.Mode().IsRegular():
		return "", 0, decisions.ErrNoContent
	case info.Size() > limit:
		return "", 0, fmt.Errorf("hashing a file: %w", errLong)
	}
	sum := sha256.New()
	// It may grow meanwhile.
	if size, err = io.Copy(sum, io.LimitReader(f, limit+1)); err != nil || size > limit {
		return "", size, fmt.Errorf("hashing a file: it cannot be read to its end: %w", cmp.Or(err, io.ErrShortBuffer))
	}
	return hex.EncodeToString(sum.Sum(nil)), size, nil
}

// questions are the questions of harnesses in the words of the management
// methods.
type questions struct{ d *daemon }

// Questions returns the questions that wait.
func (q questions) Questions(uid *uint32) []admin.Question {
	list := []admin.Question{}
	for _, o := range q.d.lasting.Questions(uid) {
		w := admin.Question{
			DecisionID: o.Decision.ID, UID: o.UID, Harness: o.Harness, Session: o.Session, Tool: o.Tool, Cwd: o.Cwd,
			Asked: o.Asked, Reason: o.Decision.Reason, Effects: []string{}, Widths: []decisions.Width{},
		}
		w.Widths = append(w.Widths, o.Decision.Widths...)
		for i := range o.Decision.Effects {
			w.Effects = append(w.Effects, o.Decision.Effects[i].Text)
		}
		list = append(list, w)
	}
	return list
}

// Allow answers a question with yes.
func (q questions) Allow(ctx context.Context, uid *uint32, a admin.Approval) (admin.Approved, error) {
	if a.Width == "" {
		until, err := q.d.lasting.AllowOnce(uid, a.DecisionID)
		if errors.Is(err, native.ErrNoQuestion) {
			return admin.Approved{}, admin.ErrNoQuestion
		}
		if err == nil {
			q.d.answered(ctx, a.DecisionID, decisions.Allow, nil)
		}
		return admin.Approved{Until: until, Stored: []decisions.Kept{}}, err
	}
	if a.ExpiresIn > int64(remember.MaxExpiry/time.Second) {
		return admin.Approved{}, fmt.Errorf("%w: the time limit must be at most ten years", admin.ErrRefused)
	}
	kept, err := q.d.lasting.AllowAlways(ctx, uid, q.d.keeper(), decisions.Answer{
		DecisionID: a.DecisionID, Width: a.Width, Scope: a.Scope, For: time.Duration(a.ExpiresIn) * time.Second,
	})
	switch {
	case errors.Is(err, native.ErrNoQuestion):
		return admin.Approved{}, admin.ErrNoQuestion
	case errors.Is(err, decisions.ErrNotKept):
		return admin.Approved{}, fmt.Errorf("%w: %w", admin.ErrRefused, err)
	case err != nil:
		return admin.Approved{}, err
	}
	q.d.answered(ctx, a.DecisionID, decisions.Allow, kept)
	q.confirm(ctx, kept)
	return admin.Approved{Stored: kept}, nil
}

// confirm makes choices count at once: it is a person who speaks here, over the
// management socket, and not a client that reports one.
func (q questions) confirm(ctx context.Context, kept []decisions.Kept) {
	var ids []string
	for i := range kept {
		if kept[i].Unconfirmed {
			ids = append(ids, kept[i].ID)
		}
	}
	if ids == nil {
		return
	}
	if err := q.d.memory.Confirm(ctx, ids...); err != nil {
		q.d.log.Warn("choices of a person are not confirmed", "error", err)
		return
	}
	for i := range kept {
		kept[i].Unconfirmed = false
	}
}
