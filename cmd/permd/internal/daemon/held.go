package daemon

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/permd/permd/cmd/permd/internal/arguments"
	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/cmd/permd/internal/records"
	"github.com/permd/permd/cmd/permd/internal/replay"
	"github.com/permd/permd/policy"
	"github.com/permd/permd/policy/settings"
)

// tryHeld replays past decisions by changed rules that wait for it, until ctx ends.
func (d *daemon) tryHeld(ctx context.Context) {
	trials := &replay.Trials{
		Page: records.Journal{Reader: d.journal.Reader}.Page, Folder: arguments.Dir(d.dirs.Data), Flush: d.kept.Flush,
		Engine: d.engine, Off: func() bool { return !d.rules.KeepsArguments() },
	}
	onChange(ctx, d.held, func() bool {
		d.rules.TryHeld(ctx, trials.Run)
		return true
	})
}

// WaitingLines say which changed rules wait, why, and what to do; the first of them is the news.
func WaitingLines(w *policy.Waiting) []string {
	if w == nil {
		return nil
	}
	what := "changed " + strings.Join(w.Parts, " and ") + " rules"
	if len(w.Parts) == 1 && w.Parts[0] == "settings" {
		what = "changed settings"
	}
	first := fmt.Sprintf("%s wait since %s: ", what, w.Since.Local().Format(time.DateTime))
	next := "permd policy replay shows what would differ, permd reload puts them in force"
	switch t := w.Trial; {
	case w.Mode == settings.ReloadManual:
		first += `reload is "manual"`
	case t == nil:
		first += "past decisions are being replayed by them"
		next = "they come into force by themselves if these allow nothing more"
	case t.Why != "":
		first += t.Why
	default:
		first += fmt.Sprintf("of the latest %s they would allow %s", cli.Plural(t.Decided, "decision"),
			cli.Plural(t.Loosened, "call")+" that "+cli.Either(t.Loosened == 1, "is", "are")+" asked or denied, such as "+cli.Short(t.Example))
	}
	return []string{first, next}
}
