package policy

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects/programs"
	"github.com/permd/permd/decisions/effects/tools"
	"github.com/permd/permd/policy/diag"
	"github.com/permd/permd/policy/input"
	"github.com/permd/permd/policy/settings"
	"github.com/permd/permd/policy/source"
	"github.com/permd/permd/rego"
)

// CheckReport is what Check finds.
type CheckReport struct {
	Layer    decisions.Layer `json:"layer"`
	Files    int             `json:"files"`
	Rules    int             `json:"rules"`
	Programs []ProgramInfo   `json:"programs,omitzero"` // programs that the folder describes
	Problems []diag.Problem  `json:"problems"`          // errors, warnings and notes, ordered by place
}

// Passed reports whether there is no error.
func (r *CheckReport) Passed() bool { return !diag.List(r.Problems).Failed() }

// RuleInfo describes one rule.
type RuleInfo struct {
	ID      string          `json:"id"`
	Title   string          `json:"title,omitzero"`
	Layer   decisions.Layer `json:"layer"`
	Set     decisions.Set   `json:"set"`
	At      string          `json:"at"`              // file:line
	Reason  string          `json:"reason,omitzero"` // "" if it is only known when the rule fires
	UID     *uint32         `json:"uid,omitzero"`
	Project string          `json:"project,omitzero"`
}

// Folder is a folder of rules to check, test or list, without a store.
type Folder struct {
	Dir string
	// Layer is the layer that the rules are meant for; "" takes it from the
	// package of the first .rego file, or user when there is none.
	Layer  decisions.Layer
	Schema []byte // JSON schema of the input
	// Table and Profiles are used to derive effects. Checks that need them are
	// skipped when they are nil.
	Table    *programs.Table
	Profiles *tools.Profiles
	// Org is the admins' folder; the programs it describes are known to the
	// layers below it. "" for none.
	Org string
	// Profile selects the files of the base layer that Test runs; "" is
	// settings.ProfileBalanced, as for the daemon.
	Profile string
}

// Check compiles the folder's rules as the daemon would, except for the
// ownership of files, which cannot be checked before they are installed. The
// error is non-nil only if the folder cannot be read or holds no rules.
func (f Folder) Check() (*CheckReport, error) {
	u, schema, err := f.open()
	if err != nil {
		return nil, err
	}
	c, ps := compile(u, schema)
	if c != nil {
		ps = append(ps, f.advise(u, c)...)
	}
	report := &CheckReport{Layer: u.layer, Files: len(u.files), Problems: ps.Sorted()}
	if report.Problems == nil {
		report.Problems = []diag.Problem{}
	}
	if c != nil {
		report.Rules, report.Programs = len(c.list()), c.programs
	}
	return report, nil
}

// Test runs the folder's tests (*_test.rego). If the rules do not compile the
// error is an *Error; failing tests are in the report.
func (f Folder) Test(ctx context.Context) (*TestReport, error) {
	u, schema, err := f.open()
	if err != nil {
		return nil, err
	}
	if u.layer == decisions.Base {
		// The profiles' rules contradict each other, so the daemon loads those of one.
		u.files = slices.DeleteFunc(u.files, func(file source.File) bool {
			return !rego.InProfile(path.Join("base", file.Rel), cmp.Or(f.Profile, settings.ProfileBalanced))
		})
	}
	// Rules that the daemon would refuse must not pass their tests.
	if _, ps := compile(u, schema); ps.Failed() {
		return nil, ps.Err(u.layer)
	}
	report, ps := runTests(ctx, u, schema, true)
	if ps.Failed() {
		return nil, ps.Err(u.layer)
	}
	return report, nil
}

// List returns the folder's rules ordered by file and line. If they do not
// compile the error is an *Error.
func (f Folder) List() ([]RuleInfo, error) {
	u, schema, err := f.open()
	if err != nil {
		return nil, err
	}
	c, ps := compile(u, schema)
	if ps.Failed() {
		return nil, ps.Err(u.layer)
	}
	return c.list(), nil
}

// Programs returns the programs that the folder describes. If it does not
// compile the error is an *Error.
func (f Folder) Programs() ([]ProgramInfo, error) {
	u, schema, err := f.open()
	if err != nil {
		return nil, err
	}
	c, ps := compile(u, schema)
	if ps.Failed() {
		return nil, ps.Err(u.layer)
	}
	return c.programs, nil
}

// List returns the rules that are in use, from org to base.
func (s *Store) List() []RuleInfo {
	st := s.state.Load()
	out := []RuleInfo{}
	add := func(n *layerState) {
		if n.active == nil {
			return
		}
		for _, info := range n.active.list() {
			if n.layer == decisions.User || n.layer == decisions.Project {
				uid := n.uid
				info.UID, info.Project = &uid, n.project
			}
			out = append(out, info)
		}
	}
	add(st.org)
	for _, n := range st.users {
		add(n)
	}
	for _, n := range st.projects {
		add(n)
	}
	add(st.base)
	return out
}

func (l *compiledLayer) list() []RuleInfo {
	out := make([]RuleInfo, 0, len(l.rules))
	for _, r := range l.rules {
		info := RuleInfo{ID: r.ref.ID, Title: r.ref.Title, Layer: l.layer, Set: r.set, At: r.ref.At}
		if r.fixed != nil {
			info.Reason = r.fixed.reason
		}
		out = append(out, info)
	}
	return slices.Compact(out) // one list entry may be several rules
}

// open reads the folder.
func (f Folder) open() (unit, *input.Schema, error) {
	schema, err := input.ParseSchema(f.Schema)
	if err != nil {
		return unit{}, nil, err
	}
	dir, err := filepath.Abs(f.Dir)
	if err != nil {
		return unit{}, nil, fmt.Errorf("finding the folder of rules: %w", err)
	}
	t, err := source.Read(dir, source.Access{Writable: true})
	if err != nil {
		var ps diag.List
		ps.AddErr(err)
		return unit{}, nil, &diag.Error{Layer: f.Layer, Problems: ps}
	}
	if len(t.Files) == 0 {
		return unit{}, nil, fmt.Errorf("no .rego file, no %s and no file in %s/ in %s", source.ListName, source.ProgramsDir, f.Dir)
	}
	u := unit{layer: f.Layer, files: t.Files, table: f.Table}
	for i := range u.files { // relative to the folder as the caller named it
		u.files[i].Name = filepath.Join(f.Dir, u.files[i].Rel)
	}
	if u.layer == "" {
		u.layer = layerOf(u.files)
		if filepath.Base(dir) == ".permd" {
			u.layer = decisions.Project
		}
	}
	if !slices.Contains(decisions.Layers, u.layer) {
		return unit{}, nil, errors.New("the layer must be org, user, project or base")
	}
	if u.layer == decisions.User && f.Org != "" && u.table != nil {
		if err := f.underOrg(&u); err != nil {
			return unit{}, nil, err
		}
	}
	return u, schema, nil
}

// underOrg applies the programs that org describes. A folder that may not be
// read is ignored here: the daemon reads it itself.
func (f Folder) underOrg(u *unit) error {
	t, err := source.Read(f.Org, source.Access{Writable: true})
	if err != nil {
		return nil //nolint:nilerr // see the function's comment
	}
	var out compiledLayer
	var ps diag.List
	org := unit{layer: decisions.Org, files: t.Files, table: u.table}
	if org.programs(&out, &ps); ps.Failed() {
		return ps.Err(decisions.Org)
	}
	u.table = org.table
	return nil
}

// layerOf returns the layer named by the package of the first file that has
// one.
func layerOf(files []source.File) decisions.Layer {
	for _, f := range files {
		if f.IsList() || f.IsPrograms() {
			continue
		}
		for line := range strings.Lines(string(f.Data)) {
			name, ok := strings.CutPrefix(strings.TrimSpace(line), "package permd.")
			if !ok {
				continue
			}
			if i := strings.IndexAny(name, ". \t#"); i >= 0 {
				name = name[:i]
			}
			name = strings.TrimSuffix(name, "_test")
			if layer := decisions.Layer(name); slices.Contains(decisions.Layers, layer) {
				return layer
			}
		}
	}
	return decisions.User
}
