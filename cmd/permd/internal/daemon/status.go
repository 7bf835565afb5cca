package daemon

import (
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/permd/permd/cmd/permd/internal/arguments"
	"github.com/permd/permd/cmd/permd/internal/buildinfo"
	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/cmd/permd/internal/notify"
	"github.com/permd/permd/cmd/permd/internal/orgbundle"
	"github.com/permd/permd/cmd/permd/internal/records"
	"github.com/permd/permd/cmd/permd/internal/shadow"
	"github.com/permd/permd/decisions/effects/mounts"
	"github.com/permd/permd/decisions/journal"
	"github.com/permd/permd/decisions/journal/chain"
	"github.com/permd/permd/policy"
	"github.com/permd/permd/policy/decisionlogs"
	"github.com/permd/permd/remember"
	"github.com/permd/permd/socket/admin"
)

// Status is what `permd status` shows. Its JSON form is kept.
type Status struct {
	PID      int           `json:"pid"`
	Version  string        `json:"version"`
	Started  time.Time     `json:"started"`
	Degraded bool          `json:"degraded"`
	Digest   string        `json:"digest"`
	Socket   string        `json:"socket"`
	Admin    string        `json:"adminSocket"`
	HTTP     string        `json:"http,omitzero"`
	Sessions int           `json:"sessions"`
	Policy   policy.Status `json:"policy"`
	// Bundle is how rules of the organisation are delivered, nil if they are not.
	Bundle *orgbundle.Status `json:"bundle,omitzero"`
	// Control is what else the organisation's opa.yaml names, nil if there is none.
	Control *orgbundle.Control `json:"control,omitzero"`
	Journal journal.Status     `json:"journal"`
	// LogShare is what of a log of several people who asks may write, nil if there is no bound,
	// and LogSharesUsedUp are those who have used up theirs, for those who may see everything.
	LogShare        *LogShare `json:"logShare,omitzero"`
	LogSharesUsedUp []uint32  `json:"logSharesUsedUp,omitzero"`
	// Sent is how far the journal was sent to the organisation's service, nil if it is not to be.
	Sent *decisionlogs.Status `json:"decisionLogs,omitzero"`
	// Lost are heads that the journal had when the daemon started last, and does not have.
	Lost []chain.Head `json:"lostHeads,omitzero"`
	// Verified is what permd log verify found last, nil if it was not called yet.
	Verified *records.LastVerified `json:"verified,omitzero"`
	Memory   remember.Status       `json:"memory"`
	// Arguments are those of past calls on the disk.
	Arguments arguments.Status `json:"arguments,omitzero"`
	Unasked   []AgentRuns      `json:"unasked,omitzero"`
	// Shadow is the report on shadow rules without its groups, nil if there are no shadow rules.
	Shadow *shadow.Report `json:"shadow,omitzero"`
	// Notify is whether notifications of the desktop are shown, nil where the daemon serves
	// several people.
	Notify *notify.Status `json:"notify,omitzero"`
	// Pauses are the pauses and locks in force. Locked says why everything asks although
	// nobody locked permd, "" if it does not.
	Pauses []admin.Pause `json:"pauses,omitzero"`
	Locked string        `json:"locked,omitzero"`
	// NotPlain counts, since the start, the calls with shell text that not every shell
	// reads alike, by the construct.
	NotPlain map[string]int64 `json:"notPlain,omitzero"`
	// Unanswered are the file systems that do not answer.
	Unanswered []mounts.Stuck `json:"unanswered,omitzero"`
	// Stuck are the decisions that are under way for too long.
	Stuck []StuckDecisions `json:"stuck,omitzero"`
	// Sockets are problems of the files that clients connect to.
	Sockets []SocketProblem `json:"sockets,omitzero"`
	// SelfCheck is how the check failed that the service manager waits for, "" if it
	// passed or there is none.
	SelfCheck string `json:"selfCheck,omitzero"`
}

func (d *daemon) status() Status {
	s := Status{
		PID: os.Getpid(), Version: buildinfo.Version(), Started: d.started, Digest: d.rules.Digest(),
		Socket: d.sockets.Decision, Admin: d.sockets.Management, HTTP: d.sockets.HTTP, Sessions: d.engine.Sessions.Len(),
		Policy: d.rules.Status(), Bundle: d.rules.Bundle.Status(), Control: d.rules.Bundle.Control(), Shadow: d.shadow.Summary(), Journal: d.journal.Status(), Lost: d.lost, Memory: d.memory.Status(),
		Unasked: d.runs.list(), NotPlain: d.engine.NotPlain.Counts(),
		Unanswered: d.engine.Mounts.Stuck(), Stuck: d.stuck(time.Now()), Sockets: d.files.list(), SelfCheck: d.watchdog.failure(),
	}
	s.LogSharesUsedUp = d.shares.usedUp()
	s.Arguments, s.Sent = d.kept.Status(), d.sender.Status()
	s.Verified = records.Verified(d.dirs)
	s.Pauses, s.Locked = d.pausesInForce()
	s.Degraded = s.Locked != "" || s.Bundle != nil && s.Bundle.Expired || s.Control.Degraded() || s.Policy.Degraded() || s.Journal.Failing != "" || s.Journal.Stalled != "" ||
		s.Journal.Retention.Failing != "" || len(s.Memory.Degraded) > 0 || len(s.Unanswered) > 0 || len(s.Stuck) > 0 ||
		len(s.Sockets) > 0 || s.SelfCheck != "" || s.Arguments.Failing != ""
	return s
}

// Problems says, in sentences, what keeps the daemon from working as it should.
func (s *Status) Problems() (list []string) {
	if s.Journal.Failing != "" {
		list = append(list, "The journal cannot be written, so nothing is allowed: "+s.Journal.Failing)
	}
	for _, why := range s.Memory.Degraded {
		list = append(list, "Memory: "+why)
	}
	if s.Policy.Settings != "" {
		list = append(list, "Settings could not be read: "+s.Policy.Settings)
	}
	if s.Degraded && len(list) == 0 {
		list = append(list, "The daemon is degraded; permd status says more.")
	}
	if lines := WaitingLines(s.Policy.Waiting); lines != nil {
		list = append(list, "Changed"+strings.TrimPrefix(strings.Join(lines, "; "), "changed")+".")
	}
	return list
}

// maxErrorText is how much of a layer's error is shown, in characters: what
// the compiler would have taken instead can fill a screen.
const maxErrorText = 240

// LayerLine is a layer in one line, and what is wrong with it in a second.
func LayerLine(l *policy.LayerStatus) string {
	name := string(l.Layer)
	rules := fmt.Sprintf("%s (%d allow, %d ask, %d deny)", cli.Plural(l.Rules(), "rule"), l.Allow, l.Ask, l.Deny)
	if l.Programs > 0 {
		rules += ", " + cli.Plural(l.Programs, "program")
	}
	if l.Agents > 0 {
		rules += ", " + cli.Plural(l.Agents, "agent")
	}
	where := ""
	if len(l.Paths) > 0 {
		where = " in " + l.Paths[0]
	}
	if n := len(l.Warnings); n > 0 {
		where += ", " + cli.Plural(n, "warning")
	}
	where += trustText(l.Trust)
	switch l.State {
	case policy.StateDegraded:
		since := l.Since.Local().Format(time.DateTime)
		if l.Digest == "" {
			calls := "every call"
			if l.Project != "" {
				calls += " in " + l.Project
			}
			return fmt.Sprintf("%-8s no rules are in force, so %s asks, since %s:\n           %s", name, calls, since, cli.Clip(l.Error, maxErrorText))
		}
		return fmt.Sprintf("%-8s %s%s, the last that were good, since %s:\n           %s", name, rules, where, since, cli.Clip(l.Error, maxErrorText))
	case policy.StateAbsent:
		return fmt.Sprintf("%-8s no rules%s", name, where)
	case policy.StateOK:
	}
	return fmt.Sprintf("%-8s %s%s", name, rules, where)
}
