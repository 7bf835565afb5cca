package replay

import (
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
	"github.com/permd/permd/decisions/effects/display"
)

// Explain explains a decision of the journal from its arguments, which are decided again by
// the rules of then; why is why that is not possible.
func Explain(ctx context.Context, s *cli.Streams, root string, rec *decisions.Record) (x *explain.Explanation, why string, err error) {
	j, err := openJournal(s, root)
	if err != nil {
		return nil, "", err
	}
	call, recent := j.kept.Of(rec.Decision.ID)
	if why := Undecidable(rec, call, j.off); why != "" {
		return undecided(ctx, rec, call), why, nil
	}
	by, err := newDecider(ctx, j.dirs, "", root != "")
	if err == nil { // otherwise the rules of then may still be good
		if d, made, why := by.Record(ctx, rec, call, recent); why == "" && d.Policy.Digest == rec.Decision.Policy.Digest {
			return recreated(ctx, rec, made, call, "the rules of then, which are those of now"), "", nil
		}
	}
	return j.explainEarlier(ctx, rec, call, recent)
}

func recreated(ctx context.Context, rec *decisions.Record, made *decisions.Deliberation, call *arguments.Call, by string) *explain.Explanation {
	x := explain.Record(ctx, rec, made)
	x.Call.Arguments, x.Recreated = shownArguments(call), by
	return x
}

// undecided explains what a record says alone.
func undecided(ctx context.Context, rec *decisions.Record, call *arguments.Call) *explain.Explanation {
	return recreated(ctx, rec, nil, call, "")
}

func shownArguments(call *arguments.Call) string {
	if call == nil || len(call.Input) == 0 {
		return ""
	}
	text, _ := display.Arguments(call.Input)
	return text
}

// explainEarlier explains a decision by rules that are no longer in force.
func (j *replayed) explainEarlier(ctx context.Context, rec *decisions.Record, call *arguments.Call, recent int) (x *explain.Explanation, why string, err error) {
	none := func(why string) (*explain.Explanation, string, error) {
		return undecided(ctx, rec, call), why, nil
	}
	e, err := j.earlierAt(ctx, rec.Time)
	if err != nil {
		return nil, "", err
	}
	defer e.close()
	if e.by == nil {
		return none(e.why)
	}
	d, made, why := e.by.Record(ctx, rec, call, recent)
	if why != "" {
		return none(why)
	}
	if d.Verdict != rec.Decision.Verdict || !slices.EqualFunc(d.Effects, rec.Decision.Effects, func(a, b decisions.EffectDecision) bool { return a.Verdict == b.Verdict && a.Row == b.Row }) {
		return none("the rules of then decide it otherwise now: files, choices, earlier calls or rules of its project that it depended on are others")
	}
	source := "the rules of then, " + e.words()
	if d.Policy.Digest != rec.Decision.Policy.Digest {
		source += "; those of its project, or permd's own, are others"
	}
	x = recreated(ctx, rec, made, call, source)
	x.MoveRules([2]string{e.dirs.Org, j.dirs.Org}, [2]string{e.dirs.Config, j.dirs.Config})
	return x, "", nil
}

// WhatIf explains how a past call would be decided if a file of rules were added to the
// person's own.
func WhatIf(ctx context.Context, s *cli.Streams, root string, rec *decisions.Record, file string) (*explain.Explanation, error) {
	j, err := openJournal(s, root)
	if err != nil {
		return nil, err
	}
	name := filepath.Base(file)
	switch filepath.Ext(name) {
	case ".yaml":
		name = filepath.Join("what-if", "rules.yaml")
	case ".rego":
		name = filepath.Join("what-if", name)
	default:
		return nil, cli.Failf(cli.ExitUsage, "name a list of rules (.yaml) or a file in Rego (.rego)", "%s is no file of rules", file)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("reading the rules: %w", err)
	}
	call, recent := j.kept.Of(rec.Decision.ID)
	dir, err := j.copyRules()
	if dir != "" {
		defer removeCopy(dir)
	}
	if err == nil {
		err = errors.Join(os.MkdirAll(filepath.Join(dir, "what-if"), 0o700), os.WriteFile(filepath.Join(dir, name), text, 0o600))
	}
	if err != nil {
		return nil, fmt.Errorf("copying rules: %w", err)
	}
	moved := [][2]string{{filepath.Join(dir, name), file}, {dir, filepath.Join(j.dirs.Config, account.PolicyDir)}}
	by, err := newDecider(ctx, j.dirs, dir, root != "")
	if err != nil {
		text := explain.Moved(moved...)(err.Error())
		if strings.Contains(text, file) {
			return nil, cli.Failf(cli.ExitCompile, "the file is read as one of your rules would be", "%s", text)
		}
		return nil, cli.Failf(cli.ExitCompile, "permd policy check shows all problems", "%s", text)
	}
	d, made, why := by.Record(ctx, rec, call, recent)
	if why != "" {
		return nil, cli.Failf(cli.ExitError, "explain the call itself: permd explain FILE", "the decision cannot be made again: %s", why)
	}
	d.ID, d.CallID = rec.Decision.ID, rec.Decision.CallID
	x := explain.Decision(ctx, d, made)
	x.Call.Arguments = shownArguments(call)
	x.Recreated = fmt.Sprintf("your rules and %s; it was %s", filepath.Base(file), rec.Decision.Verdict)
	x.MoveRules(moved...)
	return x, nil
}

// copyRules copies the person's rules into a temporary folder.
func (j *replayed) copyRules() (dir string, err error) {
	if dir, err = os.MkdirTemp("", "permd-replay-"); err != nil {
		return "", err
	}
	err = os.CopyFS(dir, os.DirFS(filepath.Join(j.dirs.Config, account.PolicyDir)))
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return dir, err
}

// removeCopy removes a temporary folder with all that was put into it; what cannot be
// removed stays in the folder of temporary files. It follows no link.
func removeCopy(dir string) {
	var made []string
	_ = filepath.WalkDir(dir, func(path string, _ fs.DirEntry, _ error) error {
		made = append(made, path)
		return nil
	})
	for _, path := range slices.Backward(made) {
		_ = os.Remove(path)
	}
}
