package replay

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/decisions"
)

// confirm replays the records with lines of rules.yaml added to the person's rules. proposed
// has the lines by the question that they would end, and denied the ids of the decisions that
// the rules on the disk deny without them. It returns why some are not what they should be:
// they compile, end their question, and allow nothing that is denied.
func (j *replayed) confirm(ctx context.Context, f decisions.RecordFilter, denied map[string]bool, proposed map[string]string) (bad map[string]string, err error) {
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
	ended, still := map[string]int{}, map[string]int{}
	loosened := ""
	err = j.replay(ctx, f, with, func(p *past) {
		if p.now == nil {
			return
		}
		if denied[p.rec.Decision.ID] && p.now.Verdict == decisions.Allow {
			loosened = p.rec.Decision.ID
		}
		var texts strings.Builder
		for i := range p.rec.Decision.Effects {
			if e := &p.rec.Decision.Effects[i]; e.Verdict == decisions.Ask {
				fmt.Fprintf(&texts, "%s\x00", e.Text)
			}
		}
		if p.rec.Decision.Verdict != decisions.Ask {
			return
		}
		if p.now.Verdict == decisions.Allow {
			ended[texts.String()]++
		} else {
			still[texts.String()]++
		}
	})
	if err != nil {
		return nil, err
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
