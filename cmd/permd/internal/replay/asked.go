package replay

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/permd/permd/cmd/permd/internal/account"
	"github.com/permd/permd/cmd/permd/internal/arguments"
	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/cmd/permd/internal/explain"
	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/pattern"
	"github.com/permd/permd/internal/xdg"
)

// alike is past calls of a project with the same effects in the same folders, which the rules
// decide alike now.
type alike struct {
	project string
	below   bool   // a run that is asked about is in another folder than the project's own
	asked   string // the effects that are asked about, as a text; "" if none is
	texts   []string
	newest  *decisions.Record
	now     *decisions.Decision
	made    *decisions.Deliberation // slim
	ids     []string                // of those that were asked, the newest last
	count   int                     // of them
	yes, no []string                // ids of those that a person answered
}

// maxIDs bounds the ids that are kept of calls that are alike.
const maxIDs = 20

// history is past calls, those that are alike together.
type history struct {
	list []*alike
	at   map[string]*alike
	// remembered are the effects that a choice has allowed, with its id: they may be asked
	// no more.
	remembered map[string]string
	// rejected are the effects that a choice has rejected, and that were not asked about since.
	rejected map[string]bool
	// equal are the calls that were asked, or that the rules on the disk deny, by what their
	// decision with lines added can depend on (see confirm).
	equal     map[string]*equal
	kept      *arguments.Kept
	undecided Report
}

// add adds a record.
func (h *history) add(p *past) {
	h.addRejects(p.rec)
	if p.now == nil {
		h.undecided.add(p)
		return
	}
	h.addEqual(p)
	var key, asked strings.Builder
	var texts []string
	below := false
	fmt.Fprintf(&key, "%s\x00%s\x00", p.rec.Project, p.now.Verdict)
	for i := range p.now.Effects {
		e := &p.now.Effects[i]
		fmt.Fprintf(&key, "%s\x00%s\x00%s\x00", e.Text, e.Verdict, strings.Join(e.Tags, " "))
		if e.Verdict == decisions.Ask {
			fmt.Fprintf(&asked, "%s\x00", e.Text)
			texts = append(texts, e.Text)
			if run := p.made.Effect(i).Run; run != nil {
				fmt.Fprintf(&key, "in %s\x00", run.Cwd)
				below = below || run.Cwd != p.rec.Project
			}
		}
		if e.ChoiceID != "" && e.Verdict == decisions.Allow {
			h.remembered[p.rec.Project+"\x00"+e.Text] = e.ChoiceID
		}
	}
	a := h.at[key.String()]
	if a == nil {
		p.made.Slim()
		a = &alike{project: p.rec.Project, below: below, now: p.now, made: p.made, texts: texts}
		if p.now.Verdict == decisions.Ask {
			a.asked = asked.String()
		}
		h.at[key.String()], h.list = a, append(h.list, a)
	}
	a.newest = p.rec
	if p.rec.Decision.Verdict != decisions.Ask {
		return
	}
	a.count++
	keep := func(list *[]string) {
		if *list = append(*list, p.rec.Decision.ID); len(*list) > maxIDs {
			*list = (*list)[1:]
		}
	}
	keep(&a.ids)
	if answer := p.rec.Answer; answer != nil {
		if answer.Verdict == decisions.Allow {
			keep(&a.yes)
		} else {
			keep(&a.no)
		}
	}
}

// addRejects notes what choices rejected in a record, and that they did not reject what it asks.
func (h *history) addRejects(rec *decisions.Record) {
	for i := range rec.Decision.Effects {
		e := &rec.Decision.Effects[i]
		switch at := rec.Project + "\x00" + e.Text; {
		case e.Row == decisions.RowReject:
			h.rejected[at] = true
		case e.Verdict == decisions.Ask:
			delete(h.rejected, at)
		}
	}
}

// rejectedSince reports whether a choice rejects some of what is asked about.
func (h *history) rejectedSince(a *alike) bool {
	return slices.ContainsFunc(a.texts, func(text string) bool { return h.rejected[a.project+"\x00"+text] })
}

// lookBack replays the selected records by the rules on the disk.
func lookBack(ctx context.Context, s *cli.Streams, root string, f decisions.RecordFilter) (*history, *replayed, error) {
	j, err := openJournal(s, root)
	if err != nil {
		return nil, nil, err
	}
	by, err := newDecider(ctx, j.dirs, "", root != "")
	if err != nil {
		return nil, nil, err
	}
	h := &history{at: map[string]*alike{}, remembered: map[string]string{}, rejected: map[string]bool{}, equal: map[string]*equal{}, kept: j.kept}
	if err := j.replay(ctx, f, by, h.add); err != nil {
		return nil, nil, err
	}
	h.undecided.sort()
	return h, j, nil
}

// danger says why nothing is proposed that would allow such a call unasked, "" if nothing
// speaks against it.
func (a *alike) danger() string {
	if len(a.now.Defects) > 0 {
		return "the request is defective: " + a.now.Defects[0].Text
	}
	for i := range a.made.Len() {
		e := a.made.Effect(i)
		switch {
		case e.Kind == effects.KindUnknown:
			return "a part of it is not understood: " + a.made.Result(i).Reason
		case e.Tags.Has(effects.Secret):
			return "it touches a secret"
		case e.Guarded() != 0:
			return "it touches what is guarded: " + strings.Join(e.Guarded().Names(), ", ")
		case e.Kind == effects.KindState, e.Kind == effects.KindMode, e.Kind == effects.KindQuestion:
			return "it is a question, a switch of mode, or changes the state of the machine: a person decides that each time"
		}
		switch d := a.made.Result(i); {
		case d.Verdict == decisions.Allow:
		case e.Kind == effects.KindDelete && e.File != nil && !e.File.Recursive:
			return "it deletes one file, and a line holds for a folder of that name too, with all that is in it; an answer to the question can be for the file alone"
		case d.Row <= decisions.RowFirmAsk:
			return d.Reason
		case e.Kind == effects.KindUse:
			return "it uses a tool, and a line holds for all of its arguments; an answer to the question can be for these alone"
		}
	}
	return ""
}

// proposal is lines that would allow calls.
type proposal struct {
	lines    []*pattern.Pattern
	yaml     string
	commands [][]string
	bound    bool // the commands remember it only while what it runs stays as it is
}

// propose returns the smallest lines that allow a call, or why there are none. They have
// been tried on all calls: they allow those that share its question, and no other.
func (h *history) propose(ctx context.Context, a *alike, as decisions.LineKind) (p *proposal, why string) {
	if why := a.danger(); why != "" {
		return nil, why
	}
	now := *a.now
	now.Widths = a.newest.Decision.Widths // what was offered
	x := explain.Decision(ctx, &now, a.made)
	for i := range x.Suggestions {
		s := &x.Suggestions[i]
		if as == decisions.AsRule && !s.Rules || as == decisions.AsChoice && s.Cmds == nil {
			continue
		}
		p := &proposal{yaml: s.YAML(), commands: s.Cmds, bound: s.Bound}
		for _, l := range s.Lines {
			line, err := pattern.Parse(l.Kind, l.Line)
			if err != nil {
				return nil, "no line can express it"
			}
			p.lines = append(p.lines, line)
		}
		if others, bad := h.others(a, p.lines, as); bad != "" {
			return nil, bad
		} else if others > 0 {
			why = fmt.Sprintf("the narrowest line would also end %s", cli.Plural(others, "other question"))
			continue
		}
		return p, ""
	}
	if why == "" {
		why = "no line of rules.yaml can express it"
		if len(x.Obstacles) > 0 {
			why = x.Obstacles[0].Text
		}
	}
	return nil, why
}

// others counts the calls that lines would allow although they ask something else, or are
// of another project for a choice. bad is set if a call is denied and would be allowed, or
// the lines do not allow the call itself.
func (h *history) others(a *alike, lines []*pattern.Pattern, as decisions.LineKind) (n int, bad string) {
	for _, o := range h.list {
		if o.now.Verdict == decisions.Allow || as == decisions.AsChoice && o.project != a.project {
			continue
		}
		allowed := true
		for _, e := range o.made.With(lines, as) {
			allowed = allowed && e.Verdict == decisions.Allow
		}
		switch {
		case !allowed && o == a:
			return 0, "no line allows it"
		case allowed && o.now.Verdict == decisions.Deny:
			return 0, "the narrowest line would allow what is denied: " + o.now.Reason
		case allowed && o.asked != a.asked:
			n++
		}
	}
	return n, ""
}

// youReject says why nothing is proposed for what a choice rejects.
const youReject = "a remembered answer rejects it by now"

// Question is a question that was asked several times. Its JSON form is stable.
type Question struct {
	Asked   []string `json:"asked"` // the effects
	Reason  string   `json:"reason"`
	Count   int      `json:"count"`
	Yes     int      `json:"yes"` // answers
	No      int      `json:"no"`
	IDs     []string `json:"decisionIds"`
	Rules   string   `json:"rules,omitzero"`   // lines of rules.yaml that would end it, in every project
	WhyNone string   `json:"whyNone,omitzero"` // why there are no such lines
	// Commands remember it for its project, where that is bound to the files that say what it
	// runs. Rules hold whatever these say.
	Commands [][]string `json:"commands,omitzero"`

	lines []*pattern.Pattern // of Rules
}

// WhyAsked returns the most frequent questions of the selected records, at most n, with the
// smallest rules that would end them, and the number of decisions that are not known.
func WhyAsked(ctx context.Context, s *cli.Streams, root string, f decisions.RecordFilter, n int) ([]*Question, []*NotDecided, error) {
	h, j, err := lookBack(ctx, s, root, f)
	if err != nil {
		return nil, nil, err
	}
	at := map[string]*Question{}
	of := map[*Question]*alike{}
	var list []*Question
	for _, a := range h.list {
		if a.asked == "" || a.count == 0 {
			continue
		}
		q := at[a.asked]
		if q == nil {
			q = &Question{Asked: a.texts, Reason: a.now.Reason}
			at[a.asked], of[q], list = q, a, append(list, q)
		}
		q.Count, q.Yes, q.No = q.Count+a.count, q.Yes+len(a.yes), q.No+len(a.no)
		q.IDs = append(q.IDs, a.ids...)
		q.IDs = q.IDs[max(0, len(q.IDs)-maxIDs):]
	}
	slices.SortStableFunc(list, func(a, b *Question) int { return cmp.Compare(b.Count, a.Count) })
	list = list[:min(len(list), n)]
	proposed := map[string]string{}
	for _, q := range list {
		if q.No > 0 {
			q.WhyNone = "you said no " + times(q.No)
			continue
		}
		if h.rejectedSince(of[q]) {
			q.WhyNone = youReject
			continue
		}
		p, why := h.propose(ctx, of[q], decisions.AsRule)
		if q.WhyNone = why; p != nil {
			q.Rules, proposed[of[q].asked] = p.yaml, p.yaml
			if q.lines = p.lines; p.bound {
				q.Commands = p.commands
			}
		}
	}
	bad, err := j.confirm(ctx, h, proposed)
	if err != nil {
		return nil, nil, err
	}
	for _, q := range list {
		if why := bad[of[q].asked]; why != "" {
			q.Rules, q.Commands, q.WhyNone = "", nil, why
		}
	}
	return list, h.undecided.Undecided, nil
}

// freeFile returns a list of rules that is not there yet, to paste lines into; the person's own if
// there are so many. A list takes each key once.
func freeFile(dirs xdg.Dirs) string {
	in := filepath.Join(dirs.Config, account.PolicyDir)
	for _, name := range []string{"rules.yaml", "asked/rules.yaml", "asked-again/rules.yaml"} {
		file := filepath.Join(in, filepath.FromSlash(name))
		if _, err := os.Lstat(file); errors.Is(err, fs.ErrNotExist) {
			return file
		}
	}
	return filepath.Join(in, "rules.yaml")
}
