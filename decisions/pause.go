package decisions

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/internal/wordset"
)

// Pause is what a person has set for all calls of theirs, over the management socket: for a
// time they are not asked what rules ask by default, or, if it is a lock, nothing is allowed
// without being asked about. It overrides results of the table; their order is the same.
type Pause struct {
	// Locked is set if all that would be allowed asks. Then no other member counts.
	Locked bool
	// Org is why the organisation has locked permd, "" if a person has.
	Org string
	// Project limits a pause to calls in one project, by its key (MemoryQuery.Key); it is
	// "" for all.
	Project string
	// Only limits it to some kinds of work, nil for all.
	Only []Activity
	// Unknown extends it to what is not understood, but not to shell text that is not plain, and
	// to programs that permd does not know with words, which may be a command (see passedOn).
	Unknown bool
	// Left is how much of it is left.
	Left time.Duration
}

// Activity is a kind of work that a pause can be limited to.
type Activity string

// The kinds of work.
const (
	Edits Activity = "edits" // writing files of the project
	Tests Activity = "tests" // running its tests
)

// Activities lists the kinds of work.
var Activities = []Activity{Edits, Tests}

// over returns what follows of a call's conclusion under the pause: c itself if that is the
// same. c may be used for other requests, so it is not changed. passedOn says why the pause does
// not cover what else the call may do, "" if it does; nil for nothing else.
func (p *Pause) over(m *evaluation, c *conclusion, passedOn func(results []effectResult) string) *conclusion {
	switch {
	case c.decision.Verdict == Deny, len(c.results) == 0:
		return c
	case p.Locked:
	case c.decision.Verdict == Allow, p.Project != "" && p.Project != m.projectOf():
		return c
	}
	results := slices.Clone(c.results)
	changed := false
	// An inherent effect belongs to its run, so runs come first.
	for _, inherent := range []bool{false, true} {
		for i := range results {
			e, o := &c.all[i], &results[i]
			switch {
			case e.Inherent() != inherent:
			case p.Locked:
				changed = o.lock(p.Org) || changed
			default:
				changed = p.apply(m, c, i, results) || changed
			}
		}
	}
	held := p.holds(c.all, results)
	if !changed && !held {
		return c
	}
	under := &conclusion{effectResults: &effectResults{all: c.all, inputs: c.inputs, results: results}, decision: c.decision}
	d := &under.decision
	d.conclude(c.all, results)
	if d.Verdict == Allow && passedOn != nil {
		if why := passedOn(results); why != "" {
			under.results, under.decision = c.results, c.decision
			d.Reason += "; the pause does not cover it: " + why
			return under
		}
	}
	if held {
		d.Reason += "; the pause does not cover it: the words of a program that permd does not know may be a command (permd pause --unknown)"
	}
	if d.Verdict == Allow {
		d.By, d.Reason = ByPause, fmt.Sprintf("permd is paused, %s left; otherwise it asks: %s", inWords(p.Left), c.decision.Reason)
	}
	return under
}

// holds reports whether effects ask that the pause would allow if it extended to what is not
// understood: programs that permd does not know, with words.
func (p *Pause) holds(all []effects.Effect, results []effectResult) bool {
	if p.Locked || p.Unknown || p.Only != nil {
		return false
	}
	for i := range results {
		if e := &all[i]; results[i].verdict == Ask && pausable(results[i].row) && e.Kind == effects.KindRun && e.Run != nil && passesCommands(e.Run) {
			return true
		}
	}
	return false
}

// projectOf returns what a choice for the project of the call would be bound to.
func (m *evaluation) projectOf() string {
	q := MemoryQuery{Project: m.res.Project, ProjectKey: m.projectKey}
	return q.Key()
}

// lock makes a result ask, and reports whether it can. org is Pause.Org.
func (o *effectResult) lock(org string) bool {
	who, until := "permd is locked", " until you run permd unlock in a terminal"
	if org != "" {
		who, until = "the organisation has locked permd (lock): "+org, ""
	}
	switch {
	case o.verdict == Deny, o.row == RowFailure:
		return false
	case o.verdict == Allow:
		o.reason, o.rules, o.choice, o.note = who+until, nil, nil, ""
	default:
		o.reason = who + ": " + o.reason
	}
	o.verdict, o.by, o.needed = Ask, ByLock, NeededByRule
	return true
}

// apply allows an effect of a call if the table asks about it at a row that a pause
// overrides, and reports whether it did.
func (p *Pause) apply(m *evaluation, c *conclusion, i int, results []effectResult) bool {
	e, o := &c.all[i], results[i]
	asks := o.verdict == Ask && pausable(o.row)
	if p.Unknown && o.row == RowPerson && e.Kind == effects.KindUnknown && e.Cause == "" {
		// What the table says of it otherwise may still stop it.
		v := c.inputs[i]
		v.understood = true
		other := precede(e, &v)
		asks = other.verdict == Allow || other.verdict == Ask && pausable(other.row)
	}
	switch {
	case !asks:
		return false
	case e.Kind == effects.KindUnknown && (!p.Unknown || e.Cause != ""):
		return false
	case e.Run != nil && e.Run.Own != effects.OwnNone:
		return false // permd itself asks each time
	case e.Kind == effects.KindRun && e.Run != nil && !p.Unknown && passesCommands(e.Run):
		return false // its words may be a command that org asks about
	case e.Run != nil && e.Run.Cwd == "":
		return false // what denies say of its words could not be checked, as they are paths of no known folder
	case p.covers(e), e.Inherent() && o.row >= RowBase && results[e.Via.Effect].by == ByPause:
	default:
		return false
	}
	o.verdict, o.by, o.needed, o.message, o.note, o.rules = Allow, ByPause, NotNeeded, "", "", nil
	o.reason = "paused: " + o.reason
	results[i] = o
	return true
}

// pausable reports whether a pause answers what asks at a row.
func pausable(row int) bool { return row == RowAsk || row == RowBase || row == RowDefault }

// covers reports whether an effect belongs to the work that a pause is limited to.
func (p *Pause) covers(e *effects.Effect) bool {
	if p.Only == nil {
		return true
	}
	return slices.ContainsFunc(p.Only, func(a Activity) bool {
		switch a {
		case Edits:
			return e.Kind == effects.KindWrite && e.Tags.Has(effects.InProject)
		case Tests:
			return e.Run != nil && e.Kind == effects.KindRun && e.Tags.Has(effects.InProject) && isTest(e.Run)
		}
		return false
	})
}

// Programs that do nothing but run tests, and programs with a sub-command that does.
var (
	testPrograms    = wordset.Fields("ava bats ctest jest mocha nox phpunit py.test pytest rspec tox vitest")
	testSubcommands = wordset.Of("go test", "cargo test", "npm test", "pnpm test", "yarn test", "bun test", "deno test", "dotnet test",
		"mix test", "swift test", "zig test", "dart test", "flutter test")
	// testGoals are the programs that are told what to run, and the sub-commands of others
	// that are.
	testGoals = wordset.Of("make", "just", "task", "rake", "mvn", "gradle", "npm run", "pnpm run", "yarn run", "bun run", "deno task")
)

// testOptions are options of programs that run tests by which they run no others than the
// project's: how many, how often, and what is printed.
var testOptions = wordset.Of("-v", "-q", "-x", "-s", "-race", "-short", "-failfast", "-count", "-run", "-timeout", "--verbose", "--quiet", "--release")

// isTest reports whether a run runs the project's tests, as its words say. What the tests
// are is up to the project. Words that may lead to others are none of its: options that are
// not known to be plain, files of words, and paths that leave the folder.
func isTest(r *effects.Run) bool {
	name := r.Program
	if r.Subcommand != "" {
		name += " " + r.Subcommand
	}
	goals := testGoals.Has(name)
	if !goals && !testPrograms.Has(r.Program) && !testSubcommands.Has(name) || goals && len(r.Operands) == 0 {
		return false
	}
	for _, word := range r.Args {
		option, _, _ := strings.Cut(word, "=")
		switch {
		case word == effects.DynamicWord, strings.HasPrefix(word, "@"), strings.HasPrefix(word, "/"), strings.HasPrefix(word, "~"), strings.Contains(word, ".."+"/"),
			word == "..", strings.HasSuffix(word, "/.."), strings.Contains(word, "://"):
			return false
		case strings.HasPrefix(word, "-") && (goals || !testOptions.Has(option)):
			return false
		}
	}
	return !goals || !slices.ContainsFunc(r.Operands, func(goal string) bool {
		return goal != "test" && goal != "tests" && goal != "check" && !strings.HasPrefix(goal, "test:")
	})
}

// inWords returns a time to go in hours and minutes, rounded up.
func inWords(left time.Duration) string {
	minutes := int((left + time.Minute - 1) / time.Minute)
	if minutes >= 60 {
		return fmt.Sprintf("%d h %d min", minutes/60, minutes%60)
	}
	return fmt.Sprintf("%d min", minutes)
}
