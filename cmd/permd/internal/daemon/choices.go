package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/author"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/display"
	"github.com/permd/permd/decisions/effects/paths"
	"github.com/permd/permd/decisions/pattern"
	"github.com/permd/permd/internal/processname"
	"github.com/permd/permd/remember"
	"github.com/permd/permd/socket/admin"
)

// flushEvery is how often use counts of choices are stored.
const flushEvery = 3 * time.Minute

// flushUseCounts stores the use counts of choices now and then.
func (d *daemon) flushUseCounts(ctx context.Context) {
	tick := time.NewTicker(flushEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if err := d.memory.Flush(ctx); err != nil {
				d.log.Warn("use counts of choices not stored", "error", err)
			}
		}
	}
}

// errNotLogged refuses a person's allow that cannot be logged.
var errNotLogged = errors.New("the answer could not be logged, so it does not count (on_log_failure)")

// notLoggedKey is the key of a context for an *atomic.Bool, which is set where an answer that
// counts could not be logged.
type notLoggedKey struct{}

// recordAnswer records a person's answer in the journal. The answer counts even if that
// fails, since the choices that it made name the decision as well; but an allow does
// not count if the settings require all of them to be logged.
func (d *daemon) recordAnswer(ctx context.Context, id string, v decisions.Verdict, by author.Identity, kept []decisions.StoredChoice) error {
	if by.Via == author.Client {
		by.Process = processname.Of(by.PID) // that of others may have ended since they answered
	}
	a := decisions.HumanAnswer{Time: d.now(), Verdict: v, Author: &by}
	for i := range kept {
		a.Choices = append(a.Choices, kept[i].ID)
	}
	err := d.journal.Answer(ctx, id, a)
	if err == nil {
		return nil
	}
	if v == decisions.Allow && d.rules.Settings.OnLogFailure == decisions.Deny {
		d.log.Error("a person's allow is refused: it could not be logged", "decision", id, "error", err)
		return errNotLogged
	}
	if missed, ok := ctx.Value(notLoggedKey{}).(*atomic.Bool); ok {
		missed.Store(true)
	}
	d.log.Warn("a person's answer is not in the journal", "decision", id, "error", err)
	return nil
}

// recordRun records that the call of a question was reported to have run. Nothing depends
// on it.
func (d *daemon) recordRun(ctx context.Context, id string) {
	if err := d.journal.Ran(ctx, id, d.now()); err != nil {
		d.log.Warn("that the call of a question has run is not in the journal", "decision", id, "error", err)
	}
}

// recordEnd records how the call of a decision ended. Nothing depends on it.
func (d *daemon) recordEnd(ctx context.Context, id, as string) error {
	err := d.journal.Ended(ctx, id, decisions.Ending{Time: d.now(), As: as})
	if err != nil {
		d.log.Warn("how a call ended is not in the journal", "decision", id, "error", err)
	}
	return err
}

// takenBackTime is how long that yeses were taken back may take to be logged.
const takenBackTime = 10 * time.Second

// recordTakenBack records that yeses for once to questions were taken back, also for a client
// that is gone. They count no more whether or not it can be logged.
func (d *daemon) recordTakenBack(ctx context.Context, by author.Identity, ids []string) {
	if len(ids) == 0 {
		return
	}
	as := decisions.EndedTakenBack
	if who, err := json.Marshal(by); err == nil {
		as += " " + string(who)
	}
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), takenBackTime)
	defer cancel()
	for _, id := range ids {
		if d.recordEnd(limited, id, as) == nil {
			continue
		}
		if missed, ok := ctx.Value(notLoggedKey{}).(*atomic.Bool); ok {
			missed.Store(true)
		}
	}
}

// choices is the memory in the words of the management methods.
type choices struct{ d *daemon }

func (m choices) wireAll(list []remember.Choice) []admin.Choice {
	out := make([]admin.Choice, len(list))
	for i := range list {
		out[i] = m.wire(&list[i])
	}
	return out
}

func (m choices) wire(c *remember.Choice) admin.Choice {
	var parts []admin.ChoicePart
	for i := range c.Parts {
		p := &c.Parts[i]
		parts = append(parts, admin.ChoicePart{Kind: string(p.Kind), Rule: p.Rule, Line: p.ByLine()})
	}
	ends, refused := m.d.rules.Standing(c, m.d.now())
	return admin.Choice{
		Refused: refused,
		Parts:   parts, Changed: c.Changed, BoundTo: c.BoundTo, BoundText: c.BoundText,
		ID: c.ID, Verdict: c.Verdict, Kind: string(c.Kind), Rule: c.Label, Line: c.ByLine,
		Scope: string(c.Scope.Kind), Of: c.Scope.Key, Pins: pinsInWords(c), UID: c.UID, DecisionID: c.DecisionID,
		Created: c.Created, Expires: ends, Confirmed: c.Confirmed, Unconfirmed: m.d.memory.Unconfirmed(c),
		Matches: c.Matches, LastMatched: c.LastMatched, Earlier: c.Earlier,
	}
}

// pinsInWords describes what a choice is bound to in addition to its rule line.
func pinsInWords(c *remember.Choice) []string {
	var words []string
	if c.MoreOptions() {
		words = append(words, admin.MoreOptions)
	}
	if len(c.Parts) > 0 && c.Changed == "" {
		return words // a reject denies what its lines match, wherever it was made
	}
	p := &c.Pins
	add := func(is bool, format string, args ...any) {
		if is {
			for i, arg := range args {
				if text, ok := arg.(string); ok {
					args[i] = display.Display(text) // the name of a folder may hold a secret
				}
			}
			words = append(words, fmt.Sprintf(format, args...))
		}
	}
	add(p.Project != "" && p.Project != c.Scope.Key, "in the project %s", p.Project)
	add(p.Cwd != "", "run in %s", p.Cwd)
	add(p.Stdin != "" && p.Stdin != string(effects.StdinNone), "standard input: %s", p.Stdin)
	add(p.Script != "", "while %s is as on %s (hash %s)", cmp.Or(c.BoundTo, p.Script), c.Created.Local().Format("2006-01-02 15:04"), cli.Short(p.SHA256))
	add(p.Below, "with all that is below")
	// The line of a delete is about what is below as well: rm -r of that path.
	add(c.Kind == effects.KindDelete && c.Verdict == decisions.Allow && !c.ByLine && !p.Below, "without what is below")
	add(p.Method != "", "method class %s", p.Method)
	add(p.Arguments, "with the very arguments")
	add(p.Given != "", "while it is given %s", p.Given)
	add(p.For != "", "for %s, as the caller says", p.For)
	add(p.Destructive, "also while its server says that it may destroy something")
	add(p.Claimed, "known from the agent's words alone")
	add(p.Call != "", "only in the very call that it was said of")
	return words
}

// Forget revokes choices.
func (m choices) Forget(ctx context.Context, ids []string) (bool, error) {
	_, err := m.d.memory.Forget(ctx, ids...)
	if errors.Is(err, remember.ErrPending) {
		m.d.log.Error("a revocation holds, but is not stored", "error", err)
		return false, nil
	}
	return err == nil, err
}

// refused returns the error for a choice that is not remembered, which is said once.
func refused(err error) error {
	return fmt.Errorf("%w: %s", admin.ErrRefused, strings.TrimPrefix(err.Error(), remember.ErrNotRemembered.Error()+": "))
}

// Confirm makes choices count that a client reported.
func (m choices) Confirm(ctx context.Context, ids []string) error {
	err := m.d.memory.Confirm(ctx, ids...)
	if errors.Is(err, remember.ErrNotRemembered) {
		return refused(err)
	}
	return err
}

// changeOf returns a change as the memory takes it.
func (m choices) changeOf(uid uint32, c *admin.ChangedChoices) (remember.Change, error) {
	limit, err := remember.Expiry(c.ExpiresIn)
	if err != nil {
		return remember.Change{}, fmt.Errorf("%w: %w", admin.ErrRefused, err)
	}
	change := remember.Change{Scope: remember.ScopeKind(c.Scope), For: limit, Forever: c.Forever, Line: c.Line, Home: m.d.engine.Users.Lookup(uid).Home}
	if change.Scope == remember.ForProject && c.Dir != "" {
		change.Project = paths.ProjectKey(m.d.engine.FS, paths.FindProject(m.d.engine.FS, c.Dir, m.d.engine.Users.Lookup(uid).Home))
	}
	return change, nil
}

// Change gives choices another line, scope or time limit.
func (m choices) Change(ctx context.Context, uid uint32, c admin.ChangedChoices) ([]admin.Choice, error) {
	change, err := m.changeOf(uid, &c)
	if err != nil {
		return nil, err
	}
	list, err := m.d.memory.Change(ctx, c.IDs, change)
	if bad, ok := errors.AsType[*pattern.Error](err); ok {
		return nil, badLine(bad)
	}
	switch {
	case errors.Is(err, remember.ErrNotFound):
		return nil, fmt.Errorf("%w: a choice has ended meanwhile", admin.ErrRefused)
	case errors.Is(err, remember.ErrNotRemembered), errors.Is(err, remember.ErrTooMany), errors.Is(err, remember.ErrOff):
		return nil, refused(err)
	case err != nil:
		m.d.log.Warn("choices not changed", "error", err)
		return nil, err
	}
	out := make([]admin.Choice, len(list))
	for i := range list {
		out[i] = m.wire(&list[i])
		m.d.log.Info("a person has changed a choice", "choice", out[i].ID, "scope", out[i].Scope)
	}
	return out, nil
}

// Add stores a choice that a person made in words; a run that is bound to content may
// need several.
func (m choices) Add(ctx context.Context, uid uint32, n admin.NewChoice) (all, added []admin.Choice, err error) {
	list, err := m.add(ctx, uid, n)
	if err != nil {
		return nil, nil, err
	}
	for i := range list {
		c := m.wire(&list[i])
		if all = append(all, c); !list[i].Earlier {
			added = append(added, c)
		}
	}
	return all, added, nil
}

// lineOf returns a choice in words as the memory takes it.
func (m choices) lineOf(uid uint32, n *admin.NewChoice) (remember.Line, error) {
	user := m.d.engine.Users.Lookup(uid)
	l := remember.Line{
		UID: uid, Verdict: n.Verdict, Kind: effects.Kind(n.Kind), Line: n.Line,
		Scope: remember.ScopeKind(n.Scope), Home: user.Home,
	}
	limit, err := remember.Expiry(n.ExpiresIn)
	if err != nil {
		return l, fmt.Errorf("%w: %w", admin.ErrRefused, err)
	}
	l.For = limit
	if l.Scope == remember.ForProject {
		l.Project = paths.ProjectKey(m.d.engine.FS, paths.FindProject(m.d.engine.FS, n.Dir, user.Home))
	}
	return l, nil
}

// badLine is the error for a line that cannot be read.
func badLine(bad *pattern.Error) error {
	err := fmt.Errorf("%w: %w", admin.ErrRefused, bad)
	if fix := bad.Hint(); fix != "" {
		err = fmt.Errorf("%w; %s", err, fix)
	}
	return err
}

func (m choices) add(ctx context.Context, uid uint32, n admin.NewChoice) ([]remember.Choice, error) {
	l, err := m.lineOf(uid, &n)
	if err != nil {
		return nil, err
	}
	c, err := m.d.memory.Add(ctx, l)
	if bad, ok := errors.AsType[*pattern.Error](err); ok {
		return nil, badLine(bad)
	}
	if errors.Is(err, remember.ErrNotRemembered) && l.Kind == effects.KindRun && l.Verdict == decisions.Allow {
		list, why := m.addBound(ctx, uid, n, l.For)
		if why == nil {
			return list, nil
		}
		err = withoutRepeating(err, why)
	}
	if errors.Is(err, remember.ErrNotRemembered) || errors.Is(err, remember.ErrTooMany) || errors.Is(err, remember.ErrOff) {
		return nil, refused(err)
	}
	if err != nil {
		return nil, err
	}
	return []remember.Choice{c}, nil
}
