package importing

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/permd/permd/cmd/permd/internal/account"
	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/cmd/permd/internal/engine"
	"github.com/permd/permd/cmd/permd/internal/records"
	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects/display"
	"github.com/permd/permd/policy/imports"
)

// Comparison compares the settings of another tool with the imported rules, on past
// decisions. Its JSON form is stable.
type Comparison struct {
	Decisions int `json:"decisions"`
	Same      int `json:"same"`
	Stricter  int `json:"stricter"` // permd is
	Looser    int `json:"looser"`   // permd is
	// Silent counts decisions for which the settings have no rule.
	Silent int `json:"silent"`
	// Unknown counts decisions whose record does not contain enough: something is masked
	// or truncated, or an earlier permd wrote it without details.
	Unknown int          `json:"unknown"`
	Rows    []Difference `json:"rows"` // that differ
}

// Difference is a decision on which the settings and the rules differ.
type Difference struct {
	DecisionID string               `json:"decisionId"`
	Time       time.Time            `json:"time"`
	Call       string               `json:"call"`
	Tool       imports.ToolDecision `json:"peer"` // the name of the first version, which scripts read
	Permd      decisions.Verdict    `json:"permd"`
	Reason     string               `json:"reason"`
	Recorded   decisions.Verdict    `json:"recorded"`
	Answered   *decisions.Verdict   `json:"answered,omitzero"`
	Looser     bool                 `json:"looser,omitzero"`
}

// Compare compares the settings with the imported rules, on the decisions in the journal
// that match the filter.
func (report *Report) Compare(ctx context.Context, s cli.Streams, root string, f decisions.RecordFilter) error {
	log, err := records.Open(ctx, root)
	if err != nil {
		return err
	}
	defer log.Close()
	recs, err := log.Newest(ctx, f)
	if err != nil {
		return fmt.Errorf("reading the journal: %w", err)
	}
	recs = slices.DeleteFunc(recs, func(r *decisions.Record) bool { return r.Unreadable != "" })
	with, done, err := report.caller(ctx, s, root)
	if err != nil {
		return err
	}
	defer done()
	check := &Comparison{Decisions: len(recs), Rows: []Difference{}}
	home := (&account.Users{}).Lookup(uint32(os.Geteuid())).Home
	r := &replayer{caller: with, sessions: map[string]bool{}}
	for _, rec := range recs {
		if err := r.compare(ctx, check, report.Import, rec, home); err != nil {
			return err
		}
	}
	report.Check = check
	if s.JSON {
		return cli.PrintJSON(s.Out, report)
	}
	report.notes(s)
	for _, row := range check.Rows {
		what := cli.Either(row.Looser, "permd is looser", "permd is stricter")
		fmt.Fprintf(s.Out, "%s  %s\n    %s: %s says %s (%s), permd %s (%s)\n", row.DecisionID, row.Call, what, report.Tool.Name(),
			row.Tool.Verdict, row.Tool.At, row.Permd, display.Display(row.Reason))
	}
	fmt.Fprintf(s.Out, "%s: %d the same, %d where permd is stricter, %d where it is looser; no rule of %s speaks of %d, and %d cannot be told\n",
		cli.Plural(check.Decisions, "decision"), check.Same, check.Stricter, check.Looser, report.Tool.Name(), check.Silent, check.Unknown)
	return nil
}

// caller returns an engine in this process with the imported rules instead of the user's
// own.
func (report *Report) caller(ctx context.Context, s cli.Streams, systemRoot string) (*engine.Caller, func(), error) {
	dirs, err := account.Dirs(systemRoot)
	if err != nil {
		return nil, nil, err
	}
	root, err := os.MkdirTemp("", "permd-import-")
	if err != nil {
		return nil, nil, fmt.Errorf("making a folder for the rules: %w", err)
	}
	rules := filepath.Join(root, account.PolicyDir)
	done := func() {
		removeScratch(rules, report.Import)
		_ = os.Remove(filepath.Join(root, account.SettingsName)) // leftovers are in the folder of temporary files
		_ = os.Remove(root)
	}
	err = errors.Join(copySettings(filepath.Join(dirs.Config, account.SettingsName), filepath.Join(root, account.SettingsName)), os.Mkdir(rules, 0o700))
	for _, f := range report.Files {
		err = errors.Join(err, os.WriteFile(filepath.Join(rules, f.Name), []byte(f.Text), 0o600))
	}
	if err != nil {
		done()
		return nil, nil, fmt.Errorf("writing rules: %w", err)
	}
	dirs.Config = root
	caller, err := engine.Local(ctx, dirs, systemRoot != "", s.Err, nil)
	if err != nil {
		done()
		return nil, nil, err
	}
	return caller, done, nil
}

// copySettings copies the user's settings, if there are any.
func copySettings(from, to string) error {
	data, err := account.ReadSettingsFile(from)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return os.WriteFile(to, data, 0o600)
}
