//go:build cgo

package remember_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/internal/lexpath"
	"github.com/permd/permd/remember"
)

// drawPlain draws effects of a project as calls have them, alike enough that
// widths of one often are about another.
func drawPlain(t *rapid.T) effects.Effect {
	from := func(list ...string) string { return rapid.SampledFrom(list).Draw(t, "one") }
	switch kind := effects.Kind(from("run", "read", "write", "delete", "connect", "use")); kind {
	case effects.KindRun:
		r := &effects.Run{
			Program: from("go", "mytool", "git"), Known: true, Cwd: from("/p", "/p/sub", "/q"),
			Args:  rapid.SliceOfN(rapid.SampledFrom([]string{"build", "test", "./a", "./b", "-v", "--exec"}), 0, 4).Draw(t, "args"),
			Stdin: effects.Stdin(from("none", "none", "pipe", "text", "network")),
		}
		if r.Stdin == effects.StdinText {
			r.StdinText = from("x", "y")
		}
		if r.Known = r.Program != "mytool"; r.Known && len(r.Args) > 0 && (r.Args[0] == "build" || r.Args[0] == "test") {
			r.Subcommand, r.HarmlessFrom = r.Args[0], 1
		}
		// Options that are not harmless, and the first word of a program that
		// nobody knows.
		for i, a := range r.Args {
			if a == "--exec" || !r.Known && i == 0 {
				r.HarmlessFrom = i + 1
			}
			if a == "--exec" || i < r.HarmlessFrom {
				r.Harmful = append(r.Harmful, i)
				if a != "--exec" || i == 0 {
					r.OptionsFrom = i + 1
				}
			}
		}
		e := effects.Effect{Kind: kind, Text: "run", Run: r, Tags: effects.TagsOf(effects.InProject)}
		if r.Cwd == "/q" {
			e.Tags = effects.TagsOf(effects.Outside)
		}
		return e
	case effects.KindConnect:
		return effects.Effect{Kind: kind, Text: "connect", Connect: &effects.Connect{
			Host: from("docs.example.com", "api.example.com", "www.example.com", "example.com", "127.0.0.1"),
			Port: rapid.SampledFrom([]int{443, 80}).Draw(t, "port"), Method: from("get", "send"),
		}}
	case effects.KindUse:
		return effects.Effect{Kind: kind, Text: "use", Use: &effects.Use{
			Server: from("github", "other", "", "a:b", "a@1", "get"), Source: from("user", "project"), Tool: from("get", "put", "get@1.0.0", "b:get", "x@1", "p*t", "a\"b"),
			Version: from("", "1.0.0", "1", "x@1"), Arguments: []byte(from(`{}`, `{"a":1}`)),
		}}
	default:
		e := effects.Effect{Kind: kind, Text: "file", File: &effects.File{
			Path:      from("/p/a/x", "/p/a/b/y", "/p/z", "/p/.env", "/p/a/.env", "/q/r/s/x", "/q/r/s/y", "/p2/z", "/p"),
			Recursive: rapid.Bool().Draw(t, "recursive"),
		}}
		if strings.HasSuffix(e.File.Path, ".env") {
			e.Tags = effects.TagsOf(effects.Secret)
		}
		return e
	}
}

// allows says what a choice of a width may match, apart from the code under
// test: the effect was approved, or it differs from one only in what the width
// leaves open.
func allows(saved, other *effects.Effect, level int) bool {
	if saved.Kind != other.Kind || saved.Claimed != other.Claimed {
		return false
	}
	if level > 0 && other.Guarded() != 0 {
		return false
	}
	switch {
	case saved.Run != nil:
		a, b := saved.Run, other.Run
		if b.Script != nil {
			return false
		}
		if a.Program != b.Program || a.Stdin != b.Stdin || a.StdinText != b.StdinText || strings.HasPrefix(a.Cwd, "/p") != strings.HasPrefix(b.Cwd, "/p") {
			return false
		}
		if level == 0 {
			return slices.Equal(a.Args, b.Args) && (strings.HasPrefix(a.Cwd, "/p") || a.Cwd == b.Cwd)
		}
		// All that is not harmless was approved, each but options in its place.
		return b.Subcommand == a.Subcommand && slices.Equal(harmful(a, 0), harmful(b, 0)) &&
			slices.Equal(harmful(a, a.OptionsFrom), harmful(b, a.OptionsFrom)) && b.OptionsFrom <= max(a.OptionsFrom, 1)
	case saved.Connect != nil:
		a, b := saved.Connect, other.Connect
		same := a.Port == b.Port && a.Method == b.Method
		return same && (a.Host == b.Host || level >= 2 && strings.HasSuffix(a.Host, ".example.com") && strings.HasSuffix(b.Host, ".example.com"))
	case saved.Use != nil:
		a, b := saved.Use, other.Use
		return a.Server == b.Server && a.Source == b.Source && a.Tool == b.Tool && a.Version == b.Version && (level > 0 || string(a.Arguments) == string(b.Arguments))
	}
	a, b := saved.File, other.File
	if level == 0 {
		return reflect.DeepEqual(a, b)
	}
	if saved.Kind == effects.KindDelete && (a.Recursive || b.Recursive) {
		return reflect.DeepEqual(a, b)
	}
	folder := a.Path[:strings.LastIndexByte(a.Path, '/')]
	if a.Recursive && saved.Kind != effects.KindDelete {
		folder = a.Path
	}
	if level >= 2 || folder == "" {
		folder = "/p"
	}
	return lexpath.In(folder, b.Path)
}

// harmful are the words of a run that are not harmless, from one on.
func harmful(r *effects.Run, from int) (words []string) {
	for i := from; i < len(r.Args); i++ {
		if slices.Contains(r.Harmful, i) || i == r.HarmlessFrom-1 {
			words = append(words, r.Args[i])
		}
	}
	return words
}

// near are effects that differ in one fact that a width never leaves open.
func near(e *effects.Effect) (list []effects.Effect) {
	claimed := *e
	claimed.Claimed = !e.Claimed
	list = append(list, claimed)
	switch {
	case e.Run != nil:
		for _, stdin := range []effects.Stdin{effects.StdinNone, effects.StdinPipe, effects.StdinFile, effects.StdinText, effects.StdinNetwork} {
			r := *e.Run
			r.Stdin, r.StdinText = stdin, ""
			if stdin == effects.StdinText {
				r.StdinText = "z"
			}
			n := *e
			n.Run = &r
			list = append(list, n)
		}
		script, more := *e.Run, *e.Run
		script.Script = &effects.Script{Path: "/p/x", SHA256: "h"}
		more.Args = append(slices.Clone(more.Args), "--exec") // which is not harmless
		more.HarmlessFrom, more.Harmful = len(more.Args), append(slices.Clone(more.Harmful), len(more.Args)-1)
		lying := more // its facts do not agree
		lying.Harmful = e.Run.Harmful
		for _, r := range []*effects.Run{&script, &more, &lying} {
			n := *e
			n.Run = r
			list = append(list, n)
		}
	case e.Connect != nil:
		for _, method := range []string{effects.MethodGet, effects.MethodSend} {
			c := *e.Connect
			c.Method = method
			n := *e
			n.Connect = &c
			list = append(list, n)
		}
	case e.File != nil:
		n := *e
		n.Tags = n.Tags.With(effects.VCS)
		list = append(list, n)
	case e.Use != nil:
		u := *e.Use
		u.Source += "x"
		n := *e
		n.Use = &u
		list = append(list, n)
	}
	return list
}

// TestWidths saves an effect in a proposed width and tries others: the choice
// matches what was approved, everything that a narrower width matches, and nothing
// else; guarded effects only by their exact path; and nothing after it is
// forgotten.
func TestWidths(t *testing.T) {
	t.Parallel()
	s := open(t, options(path(t)))
	seen := map[string]int{}
	check := func(t *rapid.T) {
		q := ask(drawPlain(t))
		ways := s.Propose(q)
		var others []*decisions.MemoryQuery
		for range 12 {
			others = append(others, ask(drawPlain(t)))
		}
		for _, e := range near(q.Effect) {
			others = append(others, ask(e))
		}
		narrower := map[int]bool{}
		for _, way := range ways {
			saved, err := s.Save(t.Context(), remember.Draft{
				Verdict: decisions.Allow, Query: q, Scope: remember.ForProject, Level: way.Level, DecisionID: "d",
			})
			if err != nil {
				t.Fatalf("saving what was proposed as %q: %v", way.Rule, err)
			}
			if q.Effect.Guarded() != 0 {
				if _, allow, _ := s.Match(q); allow != nil {
					t.Fatalf("%q counts before it is confirmed", way.Rule)
				}
				if err := s.Confirm(t.Context(), saved[0].ID); err != nil {
					t.Fatal(err)
				}
			}
			if _, allow, err := s.Match(q); err != nil || allow == nil {
				t.Fatalf("%q does not match what was approved: %v", way.Rule, err)
			}
			seen[fmt.Sprint(q.Effect.Kind, way.Level)]++
			for i, other := range others {
				_, allow, err := s.Match(other)
				if err != nil {
					t.Fatal(err)
				}
				if allow != nil && !allows(q.Effect, other.Effect, way.Level) {
					t.Fatalf("%q matches what was not approved: %+v", way.Rule, show(other.Effect))
				}
				if allow != nil && other.Effect.Guarded() != 0 && !allow.Exact {
					t.Fatalf("%q matches what is guarded", way.Rule)
				}
				if allow == nil && narrower[i] {
					t.Fatalf("%q does not match what a narrower one does: %+v", way.Rule, show(other.Effect))
				}
				narrower[i] = allow != nil
			}
			if _, err := s.Forget(t.Context(), saved[0].ID); err != nil {
				t.Fatal(err)
			}
			for _, other := range append(others, q) {
				if _, allow, _ := s.Match(other); allow != nil {
					t.Fatalf("%q is forgotten, and matches", way.Rule)
				}
			}
		}
	}
	wanted := []string{"run0", "run1", "read0", "write1", "delete1", "write2", "connect0", "connect2", "use0", "use1"}
	untested := func(want string) bool { return seen[want] == 0 }
	rapid.Check(t, func(t *rapid.T) {
		for range 5 { // some widths are rare
			check(t)
		}
	})
	if slices.ContainsFunc(wanted, untested) {
		t.Errorf("some of %v were not tested: %v", wanted, seen)
	}
}

func show(e *effects.Effect) string {
	switch {
	case e.Run != nil:
		return fmt.Sprintf("%+v", *e.Run)
	case e.File != nil:
		return fmt.Sprintf("%s %+v", e.Kind, *e.File)
	case e.Connect != nil:
		return fmt.Sprintf("%+v", *e.Connect)
	}
	return fmt.Sprintf("%+v", *e.Use)
}

// TestWorktrees: only the worktrees of a repository share its choices, with paths
// relative to the project.
func TestWorktrees(t *testing.T) {
	t.Parallel()
	s := open(t, options(path(t)))
	in := func(root, key string, e effects.Effect) *decisions.MemoryQuery {
		q := ask(e)
		q.Project, q.ProjectKey = root, key
		return q
	}
	for _, tt := range []struct {
		name  string
		saved effects.Effect
		other effects.Effect // of the worktree /w
	}{
		{"run", run("go", "vet"), effects.Effect{Kind: effects.KindRun, Run: &effects.Run{Program: "go", Args: []string{"vet"}, Cwd: "/w", Stdin: effects.StdinNone}}},
		{"write", file(effects.KindWrite, "/p/a"), file(effects.KindWrite, "/w/a")},
	} {
		t.Run(tt.name, func(t *testing.T) {
			kept := save(t, s, remember.Draft{Verdict: decisions.Allow, Query: in("/p", "/p", tt.saved), Scope: remember.ForProject})
			for name, c := range map[string]struct {
				q    *decisions.MemoryQuery
				want bool
			}{
				"the same":                {in("/p", "/p", tt.saved), true},
				"a worktree":              {in("/w", "/p", tt.other), true},
				"another repository":      {in("/w", "/w", tt.other), false},
				"seen from another":       {in("/w", "/w", tt.saved), false},
				"seen from the worktree":  {in("/w", "/p", tt.saved), false},
				"outside of any project":  {in("", "", tt.saved), false},
				"forged: only the folder": {in("/p", "/x", tt.saved), false},
			} {
				if _, allow, _ := s.Match(c.q); (allow != nil) != c.want {
					t.Errorf("%s: matches is %v", name, allow != nil)
				}
			}
			if _, err := s.Forget(t.Context(), kept.ID); err != nil {
				t.Fatal(err)
			}
		})
	}
}
