//go:build cgo

package remember_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/pattern"
	"github.com/permd/permd/internal/lexpath"
	"github.com/permd/permd/remember"
)

// TestLabels parses the displayed lines of choices: the lines of a reject match exactly
// what it denies, in this project and in another, and the line of an allow of a file
// matches exactly what it allows. Only the line of a delete means more than an allow
// that is bound to the path: deleting a folder deletes what is in it.
func TestLabels(t *testing.T) {
	t.Parallel()
	s := open(t, options(path(t)))
	rejects, allows := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		e := drawPlain(t)
		scope := rapid.SampledFrom([]remember.ScopeKind{remember.ForProject, remember.ForUser}).Draw(t, "scope")
		verdict := rapid.SampledFrom([]decisions.Verdict{decisions.Allow, decisions.Deny}).Draw(t, "verdict")
		if e.File == nil {
			verdict = decisions.Deny
		}
		saved, err := s.Save(t.Context(), remember.Draft{Verdict: verdict, Query: ask(e), Scope: scope})
		if errors.Is(err, remember.ErrNotRemembered) {
			t.Skip("it is not remembered")
		}
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if _, err := s.Forget(t.Context(), saved[0].ID); err != nil {
				t.Fatal(err)
			}
		}()
		line := saved[0].Label
		if verdict == decisions.Deny {
			if !saved[0].Parts[0].ByLine() {
				t.Skip("no line says it")
			}
			line = saved[0].Parts[0].Rule
		} else if e.File.Recursive {
			t.Skip("a folder with all below it is not one line")
		}
		p, err := pattern.Parse(e.Kind, line)
		if err != nil || p.String() != line {
			t.Fatalf("%q is read as %v, %v", line, p, err)
		}
		others := append(near(&e), e, drawPlain(t))
		if e.File != nil {
			f := *e.File
			f.Recursive = !f.Recursive
			whole := e
			whole.File = &f
			others = append(others, whole)
		}
		for _, other := range others {
			for _, project := range []string{"/p", "/elsewhere"} {
				q := ask(other)
				q.Project = project
				reject, allow, err := s.Match(q)
				if err != nil {
					t.Fatal(err)
				}
				here := project == "/p" || scope == remember.ForUser
				if verdict == decisions.Deny {
					root := project
					if !here && isIn(&other, "/p") {
						here, root = true, "/p"
					}
					want := here && p.Touches(&other, pattern.Context{Project: root})
					if (reject != nil) != want {
						t.Fatalf("%q in %s: %s is rejected: %v, want %v", line, project, show(&other), reject != nil, want)
					}
					rejects++
					continue
				}
				if other.Claimed != e.Claimed {
					continue // an allow is of what was known
				}
				want := here && p.Match(&other, q.All, pattern.Context{Project: project}) &&
					(e.Kind != effects.KindDelete || other.File.Recursive == saved[0].Pins.Below)
				if (allow != nil) != want {
					t.Fatalf("%q in %s: %s is allowed: %v, want %v", line, project, show(&other), allow != nil, want)
				}
				allows++
			}
		}
	})
	if !testing.Short() && (rejects == 0 || allows == 0) { // too few draws with -short
		t.Errorf("nothing was tested: %d, %d", rejects, allows)
	}
}

// isIn reports whether an effect is one in a folder, wherever the call comes from.
func isIn(e *effects.Effect, root string) bool {
	switch {
	case e.File != nil:
		return lexpath.In(root, e.File.Path) || e.File.Recursive && lexpath.In(e.File.Path, root)
	case e.Run != nil:
		return lexpath.In(root, e.Run.Program) || e.Run.Script != nil && lexpath.In(root, e.Run.Script.Path) || lexpath.In(root, e.Run.Cwd)
	}
	return false
}

// TestToolLabels: no two tools have one label, and the label of an allow that has
// no quotes and no version is a line that is about that tool alone.
func TestToolLabels(t *testing.T) {
	t.Parallel()
	s := open(t, options(path(t)))
	name := rapid.StringOfN(rapid.SampledFrom([]rune(`ab1.@:*" (`)), 1, 4, -1)
	lines := 0
	rapid.Check(t, func(t *rapid.T) {
		draw := func() effects.Effect {
			u := &effects.Use{Tool: name.Draw(t, "tool"), Arguments: []byte(`{}`)}
			if rapid.Bool().Draw(t, "of a server") {
				u.Server = name.Draw(t, "server")
			}
			if rapid.Bool().Draw(t, "versioned") {
				u.Version = name.Draw(t, "version")
			}
			return effects.Effect{Kind: effects.KindUse, Text: "use", Use: u}
		}
		keep := func(e effects.Effect) (string, func()) {
			saved, err := s.Save(t.Context(), remember.Draft{Verdict: decisions.Allow, Query: ask(e), Scope: remember.ForUser, Level: 1})
			if err != nil {
				t.Fatal(err)
			}
			return saved[0].Label, func() {
				if _, err := s.Forget(t.Context(), saved[0].ID); err != nil {
					t.Fatal(err)
				}
			}
		}
		e, other := draw(), draw()
		if rapid.Bool().Draw(t, "alike") {
			// The same letters, split differently.
			u := *e.Use
			whole := u.Server + ":" + u.Tool
			i := rapid.SampledFrom(indices(whole, ":")).Draw(t, "colon")
			other.Use.Server, other.Use.Tool, other.Use.Version = whole[:i], whole[i+1:], u.Version
			if at := strings.LastIndexByte(u.Tool, '@'); at > 0 && rapid.Bool().Draw(t, "version of the name") {
				other.Use.Server, other.Use.Tool, other.Use.Version = u.Server, u.Tool[:at], u.Tool[at+1:]
			}
		}
		same := e.Use.Server == other.Use.Server && e.Use.Tool == other.Use.Tool && e.Use.Version == other.Use.Version
		if other.Use.Tool == "" {
			t.Skip("not a tool")
		}
		label, forget := keep(e)
		_, allow, err := s.Match(ask(other))
		if err != nil {
			t.Fatal(err)
		}
		forget()
		otherLabel, forget := keep(other)
		forget()
		if (label == otherLabel) != same || (allow != nil) != same {
			t.Fatalf("%q and %q: %q is allowed: %v", label, otherLabel, show(&other), allow != nil)
		}
		if strings.Contains(label, "***") {
			return // masked, so that it is no line
		}
		if strings.Contains(label, `"`) {
			// The displayed text is not a valid line, so nobody can mistake it for a wider
			// one.
			if p, err := pattern.Parse(effects.KindUse, label); err == nil {
				t.Fatalf("%q is read as the line %v", label, p)
			}
			return
		}
		if strings.Contains(label, "@") {
			p, err := pattern.Parse(effects.KindUse, label)
			if err != nil || !p.Match(&e, nil, pattern.Context{}) {
				t.Fatalf("%q does not speak of its tool: %v, %v", label, p, err)
			}
			return
		}
		p, err := pattern.Parse(effects.KindUse, label)
		if err != nil || p.String() != label {
			t.Fatalf("%q is read as %v, %v", label, p, err)
		}
		if !p.Match(&e, nil, pattern.Context{}) || other.Use.Version == "" && p.Match(&other, nil, pattern.Context{}) != same {
			t.Fatalf("%q matches %s: %v", label, show(&other), !same)
		}
		lines++
	})
	if !testing.Short() && lines == 0 {
		t.Error("no label was a line")
	}
}

// indices returns the indices of sep in s.
func indices(s, sep string) (list []int) {
	for i := range len(s) {
		if strings.HasPrefix(s[i:], sep) {
			list = append(list, i)
		}
	}
	return list
}

// TestUserWideLabel: a choice for everywhere shows the absolute path that it
// matches, so that the printed command that restores it means the same file.
func TestUserWideLabel(t *testing.T) {
	t.Parallel()
	s := open(t, options(path(t)))
	for scope, want := range map[remember.ScopeKind]string{remember.ForUser: "/p/foo2", remember.ForProject: "./foo2"} {
		for _, verdict := range []decisions.Verdict{decisions.Allow, decisions.Deny} {
			c := save(t, s, remember.Draft{Verdict: verdict, Query: ask(file(effects.KindDelete, "/p/foo2")), Scope: scope})
			if c.Label != want {
				t.Errorf("%s for %s is shown as %q, want %q", verdict, scope, c.Label, want)
			}
			elsewhere := ask(file(effects.KindDelete, "/q/foo2"))
			elsewhere.Project = "/q"
			if got := said(t, s, elsewhere); got != "" {
				t.Errorf("%s for %s: in another project %q", verdict, scope, got)
			}
		}
	}
}

// TestBackupCannotBeMade: if the copy cannot be made, the memory of an earlier permd is
// neither changed nor opened; the daemon does not start, and nothing is allowed.
func TestBackupCannotBeMade(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile(filepath.Join("testdata", "9eb77c9", "remember.db"))
	if err != nil {
		t.Fatal(err)
	}
	o := options(path(t))
	if err := os.WriteFile(o.Path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	// All names that a backup could have are taken.
	name := o.Path + ".backup-v1-" + o.Now().UTC().Format("20060102T150405Z")
	for n := 1; n < 1000; n++ {
		taken := name
		if n > 1 {
			taken = fmt.Sprintf("%s-%d", name, n)
		}
		if err := os.WriteFile(taken, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if s, err := remember.Open(o); err == nil {
		t.Errorf("opened without a backup: %v", s.Close())
	}
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	s := open(t, o) // once there is room, all of it is carried over
	if n := len(s.List(nil)); n < 45 {
		t.Errorf("%d choices", n)
	}
}
