package daemon

import (
	"context"
	"time"

	"github.com/permd/permd/cmd/permd/internal/arguments"
)

// retryAfter is when what could not be kept is kept again, if it does not change before.
const retryAfter = time.Minute

// keepRevisions keeps the rules that decided, to explain decisions later.
func (d *daemon) keepRevisions(ctx context.Context) {
	last, failed := "", false
	if was, now := arguments.LatestRevision(arguments.Dir(d.dirs.Data), d.rules.Digest()); d.rules.Holds() && was != "" && was != now {
		d.log.Warn("the rules in force since the start are not the last of before it: what is on the disk at the start does not wait", "before", was, "now", now, "see", "permd policy replay")
	}
	onChange(ctx, d.revised, func() bool {
		d.kept.Changed()
		digest := d.rules.Digest()
		if digest == "" || digest == last {
			return true
		}
		r, err := arguments.ReadRevision(digest, d.dirs.Org, d.dirs.Config)
		if d.rules.Status().Waiting != nil { // the files are not those in force
			r, err = &arguments.Revision{Digest: digest, Mixed: true}, nil
		}
		if err == nil && digest != d.rules.Digest() {
			return true // the next change is known already
		}
		if err == nil {
			// They have decided since then, and not only since they are kept.
			err = d.kept.SaveRevision(r, time.Unix(0, d.since.Load()), d.rules.Settings.Journal.Age())
		}
		if err == nil {
			last = digest
		} else if !failed {
			d.log.Warn("decisions by the rules of now cannot be explained after these change", "error", err)
		}
		failed = err != nil
		return !failed
	})
}

// onChange calls do at once and after each change until ctx ends. If do fails it is called
// again after the next change, or retryAfter later.
func onChange(ctx context.Context, changed <-chan struct{}, do func() (ok bool)) {
	for {
		var again <-chan time.Time
		if !do() {
			again = time.After(retryAfter)
		}
		select {
		case <-ctx.Done():
			return
		case <-changed:
		case <-again:
		}
	}
}
