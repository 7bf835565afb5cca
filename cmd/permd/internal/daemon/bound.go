package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/paths"
	"github.com/permd/permd/decisions/pattern"
	"github.com/permd/permd/decisions/targets"
	"github.com/permd/permd/remember"
	"github.com/permd/permd/socket/admin"
)

// A run that executes files of the project is only remembered with their content, which a
// line does not say. A person who adds such a line means the files of now: the command is
// decided as if an agent asked for it, and what an answer of always would store is stored.

// boundTool is what shell text is decided as, as permd try does.
const boundAgent, boundTool = "claude-agent-acp", "Bash"

// addBound stores the choices for a line about such a run. The error says why it cannot.
func (m choices) addBound(ctx context.Context, uid uint32, n admin.NewChoice, limit time.Duration) ([]remember.Choice, error) {
	answer, list, err := m.boundAnswer(ctx, uid, n, limit)
	if err != nil || answer == nil {
		return list, err
	}
	kept, err := m.d.memory.Keep(ctx, *answer)
	if err != nil {
		return nil, err
	}
	for i := range kept {
		c, err := m.d.memory.Get(kept[i].ID)
		if err != nil {
			return nil, err
		}
		c.Earlier = kept[i].Earlier
		list = append(list, c)
	}
	return list, nil
}

// withoutRepeating joins two errors about one line. The second says again why only if that is not
// what the first says.
func withoutRepeating(first, second error) error {
	text := second.Error()
	if head, why, ok := strings.Cut(text, ": "); ok && strings.Contains(first.Error(), why) {
		text = head
	}
	return fmt.Errorf("%w; %s", first, text)
}

// boundAnswer returns the answer that stores such a line, or the choices that allow the run
// already. The error says why there is neither.
func (m choices) boundAnswer(ctx context.Context, uid uint32, n admin.NewChoice, limit time.Duration) (*decisions.Answer, []remember.Choice, error) {
	refuse := func(format string, args ...any) (*decisions.Answer, []remember.Choice, error) {
		return nil, nil, fmt.Errorf(format, args...)
	}
	line, err := pattern.Parse(effects.KindRun, n.Line)
	if err != nil {
		return nil, nil, err
	}
	words := []string{line.Run.Program}
	for _, w := range line.Run.Words {
		word, literal := w.Literal()
		if !literal {
			return refuse("a word with a * is not remembered with content")
		}
		words = append(words, word)
	}
	d, err := m.decideAlone(ctx, uid, cli.QuoteAll(words), n.Dir)
	switch {
	case err != nil:
		return nil, nil, err
	case d.Verdict == decisions.Deny:
		return refuse("it is denied: %s", d.Reason)
	case d.Verdict == decisions.Allow && d.By != decisions.ByMemory:
		return refuse("it is allowed already: %s", d.Reason)
	case d.Verdict == decisions.Allow:
		return nil, m.ofDecision(d), nil
	case d.Offer == nil || len(d.Offer.Sets) == 0:
		return refuse("an answer to it would not be remembered either: %s", cmp.Or(d.NotRemembered, "it cannot be told apart from others"))
	}
	set := d.Offer.Sets[0]
	if line.Run.Rest {
		i := slices.IndexFunc(d.Offer.Sets, func(s decisions.OfferSet) bool {
			return slices.Contains(strings.Split(s.Rule, "\n"), "run "+line.String())
		})
		if i < 0 {
			return refuse("that is wider than what an answer to it is remembered as: %s", offered(d))
		}
		set = d.Offer.Sets[i]
	}
	// The line is about runs, so nothing else is stored for it.
	set.Items = slices.DeleteFunc(slices.Clone(set.Items), func(item decisions.OfferItem) bool { return item.Query.Effect.Kind != effects.KindRun })
	if !slices.ContainsFunc(set.Items, func(item decisions.OfferItem) bool {
		r := item.Query.Effect.Run
		return r != nil && (r.Script != nil || targets.BoundToFiles(r))
	}) {
		return refuse("it runs no file of the project that could be told")
	}
	return &decisions.Answer{
		Verdict: decisions.Allow, Offer: &decisions.Offer{Sets: []decisions.OfferSet{set}}, Scope: n.Scope, For: limit,
	}, nil, nil
}

// decideAlone decides a command as an agent's in a folder, and records nothing.
func (m choices) decideAlone(ctx context.Context, uid uint32, command, dir string) (*decisions.Decision, error) {
	alone, err := m.d.engine.Decisions.With(func(c *decisions.Config) {
		c.Detach()
		c.Pause = nil
	})
	if err != nil {
		return nil, err
	}
	input, err := json.Marshal(map[string]string{"command": command})
	if err != nil {
		return nil, err
	}
	user := m.d.engine.Users.Lookup(uid)
	// As at the start of a session: the rules of a project are loaded before its first call.
	project := paths.FindProject(m.d.engine.FS, dir, user.Home)
	if err := m.d.rules.Prepare(ctx, uid, project); err != nil {
		m.d.log.Warn("the rules for a project could not all be read", "project", project, "error", err)
	}
	got := alone.Decide(ctx, &decisions.Request{Call: effects.Call{
		ID: "add", Protocol: "permd", Agent: effects.Party{Name: boundAgent}, Tool: effects.Tool{Name: boundTool},
		Input: input, Cwd: dir, User: user,
	}, Peer: decisions.Peer{UID: uid}})
	switch {
	case len(got) != 1:
		return nil, errors.New("permd could not decide it")
	case got[0].By == decisions.ByFailure:
		return nil, errors.New("permd could not decide it: " + got[0].Reason)
	}
	return got[0], nil
}

// ofDecision returns the choices that allowed a call.
func (m choices) ofDecision(d *decisions.Decision) (list []remember.Choice) {
	for i := range d.Effects {
		c, err := m.d.memory.Get(d.Effects[i].ChoiceID)
		c.Earlier = true
		if err == nil && !slices.ContainsFunc(list, func(o remember.Choice) bool { return o.ID == c.ID }) {
			list = append(list, c)
		}
	}
	return list
}

// offered lists the rules of the widths.
func offered(d *decisions.Decision) string {
	var rules []string
	for _, w := range d.Widths {
		rules = append(rules, strings.ReplaceAll(w.Rule, "\n", " and "))
	}
	return strings.Join(rules, ", or ")
}
