package replay

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/permd/permd/cmd/permd/internal/account"
	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/cmd/permd/internal/explain"
	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/display"
	"github.com/permd/permd/decisions/pattern"
)

// leastYes is how often a person must have said yes.
const leastYes = 3

// Suggestion is what a person could remember, since they approved it again and again. Its
// JSON form is stable.
type Suggestion struct {
	Asked    []string `json:"asked"` // the effects
	Projects []string `json:"projects"`
	Yes      int      `json:"yes"`
	Evidence []string `json:"decisionIds"` // that were approved
	// Commands remember it for the project; Rules are lines of rules.yaml, where it was
	// approved in several projects. One of them is set, or WhyNone.
	Commands [][]string `json:"commands,omitzero"`
	Rules    string     `json:"rules,omitzero"`
	WhyNone  string     `json:"whyNone,omitzero"`

	asked string
}

// Suggest returns what was approved again and again and never rejected, as choices or rules
// that allow exactly that.
func Suggest(ctx context.Context, s *cli.Streams, root string, f decisions.RecordFilter) ([]*Suggestion, []*NotDecided, error) {
	h, j, err := lookBack(ctx, s, root, f)
	if err != nil {
		return nil, nil, err
	}
	questions := map[string][]*alike{}
	var order []string
	for _, a := range h.list {
		if a.asked == "" || a.count == 0 || h.rememberedSince(a) || h.rejectedSince(a) {
			continue
		}
		if questions[a.asked] == nil {
			order = append(order, a.asked)
		}
		questions[a.asked] = append(questions[a.asked], a)
	}
	var list []*Suggestion
	proposed := map[string]string{}
	for _, asked := range order {
		if one := h.suggest(ctx, questions[asked]); one != nil {
			list = append(list, one)
			if one.Rules != "" {
				proposed[asked] = one.Rules
			}
		}
	}
	bad, err := j.confirm(ctx, h, proposed)
	if err != nil {
		return nil, nil, err
	}
	for _, one := range list {
		if why := bad[one.asked]; why != "" {
			one.Rules, one.WhyNone = "", why
		}
	}
	slices.SortStableFunc(list, func(a, b *Suggestion) int { return cmp.Compare(b.Yes, a.Yes) })
	return list, h.undecided.Undecided, nil
}

// suggest returns the suggestion for calls with the same question, nil if there were too
// few answers, or one was no.
func (h *history) suggest(ctx context.Context, same []*alike) *Suggestion {
	one := &Suggestion{Asked: same[0].texts, asked: same[0].asked}
	for _, a := range same {
		if len(a.no) > 0 {
			return nil
		}
		if len(a.yes) == 0 {
			continue
		}
		one.Yes += len(a.yes)
		one.Evidence = append(one.Evidence, a.yes...)
		if !slices.Contains(one.Projects, a.project) {
			one.Projects = append(one.Projects, a.project)
		}
	}
	if one.Yes < leastYes {
		return nil
	}
	as := decisions.AsChoice
	if len(one.Projects) > 1 {
		as = decisions.AsRule
	}
	approved := approvedOf(same)
	p, why := (*proposal)(nil), "it is no call of a project, so that a choice would hold everywhere"
	if as == decisions.AsRule || approved.project != "" {
		p, why = h.propose(ctx, approved, as)
	}
	if p != nil && approved.below && (as == decisions.AsRule || p.everywhere(approved.project)) {
		p, why = nil, "you approved it in another folder than the project's own, and a line holds in all of them; an answer to the question can be for that folder alone"
	}
	switch one.WhyNone = why; {
	case p == nil:
	case as == decisions.AsRule:
		one.Rules = p.yaml
	default:
		one.Commands = p.commands
	}
	return one
}

// approvedOf returns approved calls, if there are any those of the project's own folder.
func approvedOf(same []*alike) *alike {
	var one *alike
	for _, a := range same {
		if len(a.yes) > 0 && (one == nil || one.below && !a.below) {
			one = a
		}
	}
	return one
}

// everywhere reports whether a command remembers a run for all folders of the project.
func (p *proposal) everywhere(project string) bool {
	return slices.ContainsFunc(p.commands, func(c []string) bool {
		return slices.Contains(c, string(effects.KindRun)) && slices.Contains(c, project)
	})
}

// rememberedSince reports whether choices allow what is asked about.
func (h *history) rememberedSince(a *alike) bool {
	return !slices.ContainsFunc(a.texts, func(text string) bool { return h.remembered[a.project+"\x00"+text] == "" })
}

// PrintQuestions prints questions, each on an entry, and what would end them.
func PrintQuestions(s *cli.Streams, root string, list []*Question, undecided []*NotDecided) error {
	if s.JSON {
		return cli.PrintJSONLines(s.Out, list)
	}
	w := cli.Folded(s.Out, 6)
	var lines []*pattern.Pattern
	for _, q := range list {
		answers := ""
		if q.Yes+q.No > 0 {
			answers = fmt.Sprintf(" (yes %d, no %d)", q.Yes, q.No)
		}
		fmt.Fprintf(w, "%s  %s%s\n    %s\n", times(q.Count), shown(q.Asked), answers, display.Display(q.Reason))
		switch {
		case q.Rules == "":
			fmt.Fprintf(w, "    no line is proposed: %s\n", display.Display(q.WhyNone))
		case q.Commands != nil:
			fmt.Fprintln(w, "    this ends it, while the files that say what it runs stay as they are:")
			printCommands(s, q.Commands)
			fmt.Fprintf(w, "    so would this in rules.yaml, in every project and whatever these files say:\n")
			fmt.Fprint(s.Out, q.Rules)
		default:
			fmt.Fprintln(w, "    the lines below end it:", shownLines(q.lines))
			lines = append(lines, q.lines...)
		}
	}
	if len(lines) > 0 {
		dirs, err := account.Dirs(root)
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "\nIn %s, for every project:\n", freeFile(dirs))
		fmt.Fprint(s.Out, explain.AllowYAML(lines))
	}
	if len(list) == 0 {
		fmt.Fprintln(s.Out, "no questions")
	}
	printLeftOut(s, undecided)
	return nil
}

// printLeftOut prints of which decisions nothing is known.
func printLeftOut(s *cli.Streams, undecided []*NotDecided) {
	w := cli.Folded(s.Err, 6)
	for _, n := range undecided {
		fmt.Fprintf(w, "permd: %s left out: %s\n", cli.Plural(n.Count, "decision"), n.Why)
	}
}

// printCommands prints commands to paste, which are not folded.
func printCommands(s *cli.Streams, list [][]string) {
	for _, c := range list {
		fmt.Fprintf(s.Out, "    %s\n", cli.QuoteAll(c))
	}
}

// shownLines is lines on one line.
func shownLines(lines []*pattern.Pattern) string {
	var list []string
	for _, p := range lines {
		list = append(list, string(p.Kind)+" "+p.String())
	}
	return display.Display(strings.Join(list, "; "))
}

// PrintSuggestions prints suggestions, and which calls they do not know.
func PrintSuggestions(s *cli.Streams, list []*Suggestion, undecided []*NotDecided) error {
	if s.JSON {
		return cli.PrintJSONLines(s.Out, list)
	}
	w := cli.Folded(s.Out, 6)
	for _, one := range list {
		fmt.Fprintf(w, "approved %s, never rejected  %s\n", times(one.Yes), shown(one.Asked))
		fmt.Fprintf(w, "    decisions %s\n", strings.Join(one.Evidence, " "))
		printCommands(s, one.Commands)
		switch {
		case one.Rules != "":
			fmt.Fprintf(w, "    it was in %s; in rules.yaml, for every project:\n", cli.Plural(len(one.Projects), "project"))
			fmt.Fprint(s.Out, one.Rules)
		case one.WhyNone != "":
			fmt.Fprintf(w, "    nothing is proposed: %s\n", display.Display(one.WhyNone))
		}
	}
	if len(list) == 0 {
		fmt.Fprintln(cli.Folded(s.Out, 4), "no suggestions: nothing that is known was approved three times and never rejected")
	}
	printLeftOut(s, undecided)
	return nil
}

func times(n int) string { return cli.Plural(n, "time") }

// shown is effects on one line.
func shown(texts []string) string {
	text := strings.Join(texts[:min(len(texts), 3)], "; ")
	if n := len(texts) - 3; n > 0 {
		text += fmt.Sprintf("; and %d more", n)
	}
	return display.Display(text)
}
