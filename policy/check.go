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
	"github.com/permd/permd/policy/rules"
	"github.com/permd/permd/policy/settings"
	"github.com/permd/permd/policy/source"
	"github.com/permd/permd/rego"
)

// CheckReport is what Check finds.
type CheckReport struct {
	Layer    decisions.Layer     `json:"layer"`
	Files    int                 `json:"files"`
	Rules    int                 `json:"rules"`
	Programs []rules.ProgramInfo `json:"programs,omitzero"` // programs that the folder describes
	Problems []diag.Problem      `json:"problems"`          // errors, warnings and notes, ordered by place
}

// Passed reports whether there is no error.
func (r *CheckReport) Passed() bool { return !diag.List(r.Problems).Failed() }

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
	c, ps := rules.Compile(u, schema)
	if c != nil {
		ps = append(ps, rules.Advise(u, c, f.Profiles)...)
	}
	report := &CheckReport{Layer: u.Layer, Files: len(u.Files), Problems: ps.Sorted()}
	if report.Problems == nil {
		report.Problems = []diag.Problem{}
	}
	if c != nil {
		report.Rules, report.Programs = len(c.List()), c.Programs
	}
	return report, nil
}

// Test runs the folder's tests (*_test.rego). If the rules do not compile the
// error is an *Error; failing tests are in the report.
func (f Folder) Test(ctx context.Context) (*rules.TestReport, error) {
	u, schema, err := f.open()
	if err != nil {
		return nil, err
	}
	if u.Layer == decisions.Base {
		// The profiles' rules contradict each other, so the daemon loads those of one.
		u.Files = slices.DeleteFunc(u.Files, func(file source.File) bool {
			return !rego.InProfile(path.Join("base", file.Rel), cmp.Or(f.Profile, settings.ProfileBalanced))
		})
	}
	// Rules that the daemon would refuse must not pass their tests.
	if _, ps := rules.Compile(u, schema); ps.Failed() {
		return nil, ps.Err(u.Layer)
	}
	report, ps := rules.Test(ctx, u, schema, true)
	if ps.Failed() {
		return nil, ps.Err(u.Layer)
	}
	return report, nil
}

// List returns the folder's rules ordered by file and line. If they do not
// compile the error is an *Error.
func (f Folder) List() ([]rules.RuleInfo, error) {
	u, schema, err := f.open()
	if err != nil {
		return nil, err
	}
	c, ps := rules.Compile(u, schema)
	if ps.Failed() {
		return nil, ps.Err(u.Layer)
	}
	return c.List(), nil
}

// Programs returns the programs that the folder describes. If it does not
// compile the error is an *Error.
func (f Folder) Programs() ([]rules.ProgramInfo, error) {
	u, schema, err := f.open()
	if err != nil {
		return nil, err
	}
	c, ps := rules.Compile(u, schema)
	if ps.Failed() {
		return nil, ps.Err(u.Layer)
	}
	return c.Programs, nil
}

// List returns the rules that are in use, from org to base.
func (s *Store) List() []rules.RuleInfo {
	st := s.state.Load()
	out := []rules.RuleInfo{}
	add := func(n *layerState) {
		if n.active == nil {
			return
		}
		for _, info := range n.active.List() {
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

// open reads the folder.
func (f Folder) open() (rules.Unit, *input.Schema, error) {
	schema, err := input.ParseSchema(f.Schema)
	if err != nil {
		return rules.Unit{}, nil, err
	}
	dir, err := filepath.Abs(f.Dir)
	if err != nil {
		return rules.Unit{}, nil, fmt.Errorf("finding the folder of rules: %w", err)
	}
	t, err := source.Read(dir, source.Access{Writable: true})
	if err != nil {
		var ps diag.List
		ps.AddErr(err)
		return rules.Unit{}, nil, &diag.Error{Layer: f.Layer, Problems: ps}
	}
	if len(t.Files) == 0 {
		return rules.Unit{}, nil, fmt.Errorf("no .rego file, no %s and no file in %s/ in %s", source.ListName, source.ProgramsDir, f.Dir)
	}
	u := rules.Unit{Layer: f.Layer, Files: t.Files, Table: f.Table}
	for i := range u.Files { // relative to the folder as the caller named it
		u.Files[i].Name = filepath.Join(f.Dir, u.Files[i].Rel)
	}
	if u.Layer == "" {
		u.Layer = layerOf(u.Files)
		if filepath.Base(dir) == ".permd" {
			u.Layer = decisions.Project
		}
	}
	if !slices.Contains(decisions.Layers, u.Layer) {
		return rules.Unit{}, nil, errors.New("the layer must be org, user, project or base")
	}
	if u.Layer == decisions.User && f.Org != "" && u.Table != nil {
		if err := f.underOrg(&u); err != nil {
			return rules.Unit{}, nil, err
		}
	}
	return u, schema, nil
}

// underOrg applies the programs that org describes. A folder that may not be
// read is ignored here: the daemon reads it itself.
func (f Folder) underOrg(u *rules.Unit) error {
	t, err := source.Read(f.Org, source.Access{Writable: true})
	if err != nil {
		return nil //nolint:nilerr // see the function's comment
	}
	var out rules.Layer
	var ps diag.List
	org := rules.Unit{Layer: decisions.Org, Files: t.Files, Table: u.Table}
	if org.Programs(&out, &ps); ps.Failed() {
		return ps.Err(decisions.Org)
	}
	u.Table = org.Table
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
