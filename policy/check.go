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
	"github.com/permd/permd/internal/lexpath"
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
	Agents   []rules.AgentInfo   `json:"agents,omitzero"`   // agents that the folder describes
	Problems []diag.Problem      `json:"problems"`          // errors, warnings and notes, ordered by place
	// Tests is how many tests ran; none do if the rules do not compile. FailedTests are
	// those of them that did not pass, each of which is an error among the problems.
	Tests       int `json:"tests"`
	FailedTests int `json:"failedTests"`
}

// Passed reports whether there is no error: the daemon would use the rules.
func (r *CheckReport) Passed() bool { return !diag.List(r.Problems).Failed() }

// Folder is a folder of rules to check, test or list, without a store.
type Folder struct {
	Dir string
	// Layer is the layer that the rules are meant for; "" takes it from the
	// folder or from the package of the first .rego file, and else it is user.
	Layer  decisions.Layer
	Schema []byte // JSON schema of the input
	// Table and Profiles are used to derive effects. Checks that need them are
	// skipped when they are nil.
	Table    *programs.Table
	Profiles *tools.Profiles
	// Org is the admins' folder; the programs it describes are known to the
	// layers below it, and its denies are compared with their allows. "" for none.
	Org string
	// User is the folder of the person's own rules, "" if it does not matter. Rules in it
	// and in Org are of that layer.
	User string
	// Profile selects the files of the base layer that Test runs; "" is
	// settings.ProfileBalanced, as for the daemon.
	Profile string
}

// Check compiles and tests the folder's rules as the daemon would, except for the
// ownership of files, which cannot be checked before they are installed. The
// error is non-nil only if the folder cannot be read or holds no rules.
func (f Folder) Check(ctx context.Context) (*CheckReport, error) {
	u, schema, err := f.open()
	if err != nil {
		return nil, err
	}
	report := &CheckReport{Layer: u.Layer, Files: len(u.Files)}
	c, ps := rules.Compile(u, schema)
	ps = append(ps, f.unread()...)
	if c != nil {
		report.Rules, report.Programs = len(c.List()), c.Programs
		report.Agents = c.Agents
		ps = append(ps, rules.Advise(u, c, c.ProfilesOver(u.Profiles))...)
		if org := f.orgAbove(&u); org != nil {
			ps = append(ps, rules.AdviseUnder(org, c)...)
		}
		tests, problems := f.test(ctx, u, schema, false)
		ps = append(ps, problems...)
		if tests != nil {
			failed := rules.Failures(tests.Results)
			ps = append(ps, failed...)
			report.Tests, report.FailedTests = len(tests.Results), len(failed)
		}
	}
	if report.Problems = ps.Sorted(); report.Problems == nil {
		report.Problems = []diag.Problem{}
	}
	return report, nil
}

// Test runs the folder's tests (*_test.rego and *_test.yaml). If the rules do not compile
// the error is an *Error; failing tests are in the report.
func (f Folder) Test(ctx context.Context) (*rules.TestReport, error) {
	u, schema, err := f.open()
	if err != nil {
		return nil, err
	}
	// Rules that the daemon would refuse must not pass their tests.
	if _, ps := rules.Compile(f.inProfile(u), schema); ps.Failed() {
		return nil, ps.Err(u.Layer)
	}
	report, ps := f.test(ctx, u, schema, true)
	if ps.Failed() {
		return nil, ps.Err(u.Layer)
	}
	return report, nil
}

// inProfile returns a unit without the files that the profile leaves out. The rules of the
// base layer's profiles contradict each other, so the daemon loads those of one.
func (f Folder) inProfile(u rules.Unit) rules.Unit {
	if u.Layer == decisions.Base {
		u.Files = slices.DeleteFunc(slices.Clone(u.Files), func(file source.File) bool {
			return !rego.InProfile(path.Join("base", file.Rel), cmp.Or(f.Profile, settings.ProfileBalanced))
		})
	}
	return u
}

// test runs the tests of rules that compile. Those in Rego are of the rules as they are
// written; calls are decided as the daemon would, which takes only denies and asks of a
// project.
func (f Folder) test(ctx context.Context, u rules.Unit, schema *input.Schema, coverage bool) (*rules.TestReport, diag.List) {
	u = f.inProfile(u)
	report, ps := rules.Test(ctx, u, schema, coverage)
	if ps.Failed() || !slices.ContainsFunc(u.Files, source.File.IsCalls) {
		return report, ps
	}
	of := u
	if u.Layer == decisions.Project {
		of.ListsOnly = true
		of.Files = slices.DeleteFunc(slices.Clone(u.Files), func(file source.File) bool { return file.Rel != source.ListName && !file.IsCalls() })
	}
	table, err := orShipped(f.Table, programs.Shipped)
	if err != nil {
		ps.AddErr(err)
		return nil, ps
	}
	profiles, err := orShipped(f.Profiles, func() (*tools.Profiles, error) { return tools.ParseProfiles(rego.Profiles()) })
	if err != nil {
		ps.AddErr(err)
		return nil, ps
	}
	if of.Table == nil {
		of.Table = table
	}
	c, problems := rules.Compile(of, schema)
	if problems.Failed() {
		return nil, append(ps, problems...)
	}
	results, problems := callTests(ctx, &of, c, rego.Base(), schema, profiles)
	report.Results = append(report.Results, results...)
	return report, append(ps, problems...)
}

// orShipped returns what is given, or what permd ships if that is nil.
func orShipped[T any](given *T, shipped func() (*T, error)) (*T, error) {
	if given != nil {
		return given, nil
	}
	return shipped()
}

// compile compiles the folder's rules. If they do not compile the error is an *Error.
func (f Folder) compile() (*rules.Layer, error) {
	u, schema, err := f.open()
	if err != nil {
		return nil, err
	}
	c, ps := rules.Compile(u, schema)
	if ps.Failed() {
		return nil, ps.Err(u.Layer)
	}
	return c, nil
}

// List returns the folder's rules ordered by file and line. If they do not
// compile the error is an *Error.
func (f Folder) List() ([]rules.RuleInfo, error) {
	c, err := f.compile()
	if err != nil {
		return nil, err
	}
	return c.List(), nil
}

// Programs returns the programs that the folder describes. If it does not
// compile the error is an *Error.
func (f Folder) Programs() ([]rules.ProgramInfo, error) {
	c, err := f.compile()
	if err != nil {
		return nil, err
	}
	return c.Programs, nil
}

// Agents returns the agents that the folder describes. If it does not compile the error is
// an *Error.
func (f Folder) Agents() ([]rules.AgentInfo, error) {
	c, err := f.compile()
	if err != nil {
		return nil, err
	}
	return c.Agents, nil
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
		return rules.Unit{}, nil, noRulesError{f.Dir}
	}
	u := rules.Unit{Layer: f.Layer, Files: t.Files, Table: f.Table, Profiles: f.Profiles}
	for i := range u.Files { // relative to the folder as the caller named it
		u.Files[i].Name = filepath.Join(f.Dir, u.Files[i].Rel)
	}
	if u.Layer == "" {
		u.Layer = f.layer(dir, u.Files)
	}
	if !slices.Contains(decisions.Layers, u.Layer) {
		return rules.Unit{}, nil, errors.New("the layer must be org, user, project or base")
	}
	if u.Layer == decisions.User && f.Org != "" {
		if err := f.underOrg(&u); err != nil {
			return rules.Unit{}, nil, err
		}
	}
	return u, schema, nil
}

// underOrg applies the programs and agents that org describes. A folder that may not be
// read is ignored here: the daemon reads it itself.
func (f Folder) underOrg(u *rules.Unit) error {
	org := f.orgUnit(u.Table)
	if org == nil {
		return nil
	}
	org.Profiles = u.Profiles
	ps := org.Describe()
	if ps.Failed() {
		return ps.Err(decisions.Org)
	}
	u.Table, u.Profiles = org.Table, org.Profiles
	return nil
}

// orgUnit returns org's files, nil if there are none that can be read.
func (f Folder) orgUnit(table *programs.Table) *rules.Unit {
	t, err := source.Read(f.Org, source.Access{Writable: true})
	if err != nil {
		return nil
	}
	return &rules.Unit{Layer: decisions.Org, Files: t.Files, Table: table}
}

// orgAbove returns the files of org if their rules are above those of the folder.
func (f Folder) orgAbove(u *rules.Unit) *rules.Unit {
	if f.Org == "" || u.Layer != decisions.User && u.Layer != decisions.Project {
		return nil
	}
	return f.orgUnit(u.Table)
}

// unread returns a problem for each file of the folder that permd does not read.
func (f Folder) unread() diag.List {
	var ps diag.List
	t, err := source.Read(f.Dir, source.Access{Writable: true, ListUnread: true})
	if err != nil {
		return nil // opening the folder has failed before
	}
	for _, rel := range t.Unread {
		p := diag.Problem{File: filepath.Join(f.Dir, rel), Severity: diag.SeverityNote, Text: "is not read"}
		if p.Hint = source.LooksLikeRules(rel); p.Hint != "" {
			p.Severity = diag.SeverityWarning
		} else if source.IsAside(rel) {
			continue
		}
		ps = append(ps, p)
	}
	return ps
}

// layer returns the layer of a folder: where permd reads rules from, that of the folder,
// and elsewhere the one that its package names.
func (f Folder) layer(dir string, files []source.File) decisions.Layer {
	within := func(of string) bool {
		if of == "" {
			return false
		}
		if abs, err := filepath.Abs(of); err == nil {
			of = abs
		}
		return lexpath.In(of, dir) || lexpath.In(resolvePath(of), resolvePath(dir))
	}
	switch {
	case filepath.Base(dir) == ".permd":
		return decisions.Project
	case within(f.Org):
		return decisions.Org
	case within(f.User):
		return decisions.User
	}
	if layer := layerOf(files); layer != "" {
		return layer
	}
	if strings.HasSuffix(dir, "/etc/permd/policy.d") {
		return decisions.Org // of a machine that is being set up
	}
	return decisions.User
}

// resolvePath returns a path without links, or as it is if it cannot be read.
func resolvePath(path string) string {
	if p, err := filepath.EvalSymlinks(path); err == nil {
		return p
	}
	return path
}

// layerOf returns the layer named by the package of the first file that has
// one, "" if none has.
func layerOf(files []source.File) decisions.Layer {
	for _, f := range files {
		if f.IsList() || f.IsCalls() || f.IsPrograms() || f.IsProfiles() {
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
	return ""
}

// noRulesError is about a folder without any file of rules.
type noRulesError struct{ dir string }

// Error implements error.
func (e noRulesError) Error() string {
	return fmt.Sprintf("no .rego file, no %s, no %s and no file in %s/ in %s", source.ListName, source.ProfilesName, source.ProgramsDir, e.dir)
}

// Hint says what the files are called.
func (e noRulesError) Hint() string {
	return "write a " + source.ListName + " there, or have permd init write examples"
}
