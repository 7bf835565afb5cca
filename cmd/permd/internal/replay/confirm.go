package replay

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/decisions"
)

// equal is calls that lines added to the rules decide alike: the same call of a person in a project,
// whose effects were decided by the same rows. Such lines only allow, and what an allow changes
// depends on the row alone, whatever made a rule fire.
type equal struct {
	rec    *decisions.Record // one of them
	count  int
	asked  string // what was asked then, as a text; "" if it was not
	denied bool   // by the rules on the disk
}

// addEqual notes a call that lines must end, or must not allow.
func (h *history) addEqual(p *past) {
	then, now := &p.rec.Decision, p.now
	if then.Verdict != decisions.Ask && now.Verdict != decisions.Deny {
		return
	}
	var key, asked strings.Builder
	call, _ := h.kept.Of(then.ID)
	fmt.Fprintf(&key, "%p\x00%d\x00%d\x00%s\x00%s\x00%s\x00", call, p.rec.Peer.UID, p.rec.Peer.GID, p.rec.Project, then.Verdict, then.Policy.Digest)
	for _, list := range [][]decisions.EffectDecision{then.Effects, now.Effects} {
		fmt.Fprintf(&key, "%d\x00", len(list))
		for i := range list {
			e := &list[i]
			fmt.Fprintf(&key, "%s\x00%s\x00%s\x00%d\x00%s\x00%s\x00", e.Kind, e.Text, e.Verdict, e.Row, e.ChoiceID, strings.Join(e.Tags, " "))
		}
	}
	if q := h.equal[key.String()]; q != nil {
		q.count++
		return
	}
	q := &equal{rec: p.rec, count: 1, denied: now.Verdict == decisions.Deny}
	if then.Verdict == decisions.Ask {
		for i := range then.Effects {
			if e := &then.Effects[i]; e.Verdict == decisions.Ask {
				fmt.Fprintf(&asked, "%s\x00", e.Text)
			}
		}
		q.asked = asked.String()
	}
	h.equal[key.String()] = q
}

// confirm decides the calls of a history with lines of rules.yaml added to the person's rules, equal
// ones once. proposed has the lines by the question that they would end. It returns why some are
// not what they should be: they compile, end their question, and allow nothing that is denied.
func (j *replayed) confirm(ctx context.Context, h *history, proposed map[string]string) (bad map[string]string, err error) {
	bad = map[string]string{}
	if len(proposed) == 0 {
		return bad, nil
	}
	dir, err := j.copyRules()
	if dir != "" {
		defer removeCopy(dir)
	}
	n := 0
	for _, yaml := range proposed {
		n++
		one := filepath.Join(dir, "proposed", strconv.Itoa(n))
		if err == nil {
			err = os.MkdirAll(one, 0o700)
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(one, "rules.yaml"), []byte(yaml), 0o600)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("writing rules to try: %w", err)
	}
	with, err := newDecider(ctx, j.dirs, dir, j.root != "")
	if err != nil {
		return nil, fmt.Errorf("trying the lines: %w", err)
	}
	workers, err := with.forks()
	if err != nil {
		return nil, err
	}
	list := slices.Collect(maps.Values(h.equal))
	page := make([]past, len(list))
	for i, q := range list {
		page[i].rec = q.rec
	}
	j.decide(ctx, workers, page)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	ended, still := map[string]int{}, map[string]int{}
	loosened := ""
	for i, q := range list {
		now := page[i].now
		switch {
		case now == nil:
			continue
		case q.denied && now.Verdict == decisions.Allow:
			loosened = max(loosened, q.rec.Decision.ID)
		}
		switch {
		case q.asked == "":
		case now.Verdict == decisions.Allow:
			ended[q.asked] += q.count
		default:
			still[q.asked] += q.count
		}
	}
	for asked := range proposed {
		switch {
		case loosened != "":
			bad[asked] = "in a replay a call that is denied would be allowed: " + loosened
		case still[asked] > 0 || ended[asked] == 0:
			bad[asked] = fmt.Sprintf("in a replay the narrowest lines would end %d of %s", ended[asked], cli.Plural(ended[asked]+still[asked], "such question"))
		}
	}
	return bad, nil
}
