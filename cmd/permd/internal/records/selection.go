package records

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/pflag"

	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/decisions"
)

// Deciders are who can have decided.
var Deciders = []string{
	string(decisions.ByPolicy), string(decisions.ByMemory), string(decisions.ByHuman), string(decisions.ByDefault),
	string(decisions.ByFailure), string(decisions.ByPause), string(decisions.ByLock),
}

// lookBack is how far back records are read if nothing says so.
const lookBack = 7 * 24 * time.Hour

// Selection is the options that select decisions.
type Selection struct {
	decisions.RecordFilter
	verdict, by  string
	since, until cli.Moment
	// assumed is set if a limit in time was assumed that nobody gave.
	assumed bool
}

// Flags adds the options.
func (o *Selection) Flags(f *pflag.FlagSet) {
	f.StringVar(&o.verdict, "verdict", "", "only decisions with this `verdict`: allow, ask or deny")
	f.StringVar(&o.by, "decided-by", "", "only decisions by this `decider`: "+strings.Join(Deciders, ", "))
	f.StringVar(&o.Agent, "agent", "", "only calls of the agent with this `name`")
	f.StringVar(&o.Session, "session", "", "only decisions of the session with this `id`")
	f.StringVar(&o.Tool, "tool", "", "only decisions about the tool with this `name`")
	f.StringVar(&o.Project, "project", "", "only calls in this `directory`'s project, or in one below it")
	f.StringVar(&o.Path, "path", "", "only calls that touch a path with this `text` in it")
	f.StringVar(&o.Host, "host", "", "only calls that reach the host with this `name`, or one below it")
	f.BoolVar(&o.Unapproved, "unasked", false, "only calls that ran without a request, or although they were denied")
}

// SinceFlag adds the option for the earliest time.
func (o *Selection) SinceFlag(f *pflag.FlagSet, before string) {
	f.Var(&o.since, "since", before+"only decisions since this `time`: 24h or 7d ago, a day or a time")
}

// Times adds the options for a range of times.
func (o *Selection) Times(f *pflag.FlagSet) {
	o.SinceFlag(f, "")
	f.Var(&o.until, "until", "only decisions before this `time`")
}

// ReadsRecords reports whether records have to be read to find what is selected.
func (o *Selection) ReadsRecords() bool { return o.Project != "" || o.Path != "" || o.Host != "" }

// Filter returns the filter that the options describe, relative to now. If reads is set,
// records have to be read, and without a time only those of the last days are.
func (o *Selection) Filter(now time.Time, reads bool) (decisions.RecordFilter, error) {
	f := o.RecordFilter
	f.Verdict, f.By = decisions.Verdict(o.verdict), decisions.DecidedBy(o.by)
	switch f.Verdict {
	case "", decisions.Allow, decisions.Ask, decisions.Deny:
	default:
		return f, cli.Failf(cli.ExitUsage, "one of: allow, ask, deny", "unknown verdict %q", o.verdict)
	}
	if o.by != "" && !slices.Contains(Deciders, o.by) {
		return f, cli.Failf(cli.ExitUsage, "one of: "+strings.Join(Deciders, ", "), "nobody decides as %q", o.by)
	}
	for _, text := range []string{o.Agent, o.Session, o.Tool, o.Project, o.Path, o.Host} {
		if !utf8.ValidString(text) {
			return f, cli.Failf(cli.ExitUsage, "names in the log are UTF-8", "%q is not UTF-8", text)
		}
	}
	if f.Project != "" {
		var err error
		if f.Project, err = filepath.Abs(f.Project); err != nil {
			return f, err
		}
		if real, err := filepath.EvalSymlinks(f.Project); err == nil { // it may be gone
			f.Project = real
		}
	}
	var err error
	if f.Path, err = absolute(f.Path); err != nil {
		return f, err
	}
	f.Host = strings.TrimSuffix(f.Host, ".")
	f.Since, f.Until = o.since.At(now), o.until.At(now)
	switch {
	case f.Since.After(now):
		return f, cli.Failf(cli.ExitUsage, "write how long ago, such as 7d, or a time that has been", "--since is in the future: %s", f.Since.Local().Format(time.DateTime))
	case !f.Since.IsZero() && !f.Until.IsZero() && !f.Since.Before(f.Until):
		return f, cli.Failf(cli.ExitUsage, "--since is the earlier one", "--until is not after --since")
	}
	if o.assumed = (reads || o.ReadsRecords()) && f.Since.IsZero() && f.After == 0 && f.Before == 0; o.assumed {
		f.Since = now.Add(-lookBack)
		if !f.Until.IsZero() {
			f.Since = f.Until.Add(-lookBack)
		}
	}
	return f, nil
}

// Assumed says which limit in time was assumed, "" if none was.
func (o *Selection) Assumed() string {
	if !o.assumed {
		return ""
	}
	return "only 7 days of records were read; --since reads more"
}

// absolute returns a text of a path as records have it, where it begins as lists show paths: with
// the current directory, the one above or the home. A slash at its end stays: ./src/ is no ./src2.
func absolute(text string) (string, error) {
	var dir string
	var err error
	switch first, _, _ := strings.Cut(text, "/"); first {
	case ".", "..":
		dir, err = os.Getwd()
	case "~":
		dir, err = os.UserHomeDir()
		text = strings.TrimPrefix(text, "~")
	default:
		return text, nil
	}
	at := filepath.Join(dir, text)
	if strings.HasSuffix(text, "/") && at != "/" {
		at += "/"
	}
	return at, err
}
