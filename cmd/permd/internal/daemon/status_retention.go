package daemon

import (
	"fmt"
	"time"

	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/decisions/journal"
	"github.com/permd/permd/decisions/journal/chain"
)

// RetentionLines describes what the journal keeps and has removed, and any problem with
// that. It returns none if there is nothing to report.
func RetentionLines(r *journal.Retention) (lines []string) {
	if r.Removed > 0 {
		lines = append(lines, fmt.Sprintf("%s until %s were removed, the others are kept since %s (limits: %d MiB, %s)",
			cli.Plural(int(r.Removed), "decision"), r.RemovedUntil.Local().Format(time.DateTime), r.Since.Local().Format(time.DateTime),
			r.MaxBytes>>20, cli.Plural(int(r.MaxAgeS/(24*3600)), "day")))
	}
	if r.LowSpace {
		lines = append(lines, LowSpace(r))
	}
	if r.Failing != "" {
		lines = append(lines, "old decisions cannot be removed: "+r.Failing)
	}
	return lines
}

// LostLine says that the journal does not have a head that it had.
func LostLine(h *chain.Head) string {
	at := ""
	if !h.Time.IsZero() {
		at = " at " + h.Time.Local().Format(time.DateTime)
	}
	return fmt.Sprintf("the journal was changed, cut off or replaced, or a power cut took its end: it had the head %s%s, with decision %d; permd log verify says more", cli.Short(h.Hash), at, h.Seq)
}

// LowSpace warns that the disk will be full.
func LowSpace(r *journal.Retention) string {
	return fmt.Sprintf("the disk has only %d MiB left: when it is full, nothing is allowed", r.Free>>20)
}
