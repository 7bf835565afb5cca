//go:build cgo

package remember_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/programs"
	"github.com/permd/permd/decisions/pattern"
	"github.com/permd/permd/remember"
)

// BenchmarkMatch measures matching among 100,000 choices.
func BenchmarkMatch(b *testing.B) {
	s := open(b, options(path(b)))
	const choices = 100_000
	for start := 0; start < choices; start += 1000 {
		var drafts []remember.Draft
		for n := range 1000 {
			drafts = append(drafts, remember.Draft{
				Verdict: decisions.Allow, Query: ask(run("make", fmt.Sprint(start+n))), Scope: remember.ForProject,
			})
		}
		if _, err := s.Save(b.Context(), drafts...); err != nil {
			b.Fatal(err)
		}
	}
	for name, q := range map[string]*decisions.MemoryQuery{
		"hit":  ask(run("make", "777")),
		"miss": ask(run("git", "log", "--oneline", "-n", "20")),
		"path": ask(file(effects.KindWrite, "/p/src/main.go")),
		"use":  ask(use("github", "get_issue", `{"n":1}`)),
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, allow, err := s.Match(q); err != nil || (allow != nil) != (name == "hit") {
					b.Fatal(allow, err)
				}
			}
		})
	}
}

// BenchmarkSave measures storing an answer in a memory of 10,000 choices. Each waits for
// the disk once, those that must not depend on the log two more times.
func BenchmarkSave(b *testing.B) {
	s := open(b, options(path(b)))
	for start := 0; start < 10_000; start += 1000 {
		var drafts []remember.Draft
		for n := range 1000 {
			drafts = append(drafts, remember.Draft{Verdict: decisions.Allow, Query: ask(run("make", fmt.Sprint(start+n))), Scope: remember.ForProject})
		}
		if _, err := s.Save(b.Context(), drafts...); err != nil {
			b.Fatal(err)
		}
	}
	n := 0
	draft := func(v decisions.Verdict) remember.Draft {
		n++
		return remember.Draft{Verdict: v, Query: ask(run("mytool", fmt.Sprint(n))), Scope: remember.ForProject, DecisionID: "d"}
	}
	for _, tt := range []struct {
		name string
		do   func(b *testing.B) time.Duration
	}{
		{"allow", func(b *testing.B) time.Duration {
			start := time.Now()
			save(b, s, draft(decisions.Allow))
			return time.Since(start)
		}},
		{"reject", func(b *testing.B) time.Duration {
			start := time.Now()
			save(b, s, draft(decisions.Deny))
			return time.Since(start)
		}},
		{"forget", func(b *testing.B) time.Duration {
			c := save(b, s, draft(decisions.Allow))
			start := time.Now()
			if _, err := s.Forget(b.Context(), c.ID); err != nil {
				b.Fatal(err)
			}
			return time.Since(start)
		}},
	} {
		b.Run(tt.name, func(b *testing.B) {
			var took []time.Duration
			for b.Loop() {
				took = append(took, tt.do(b))
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
			b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
		})
	}
}

// BenchmarkPropose measures the cost of a question in addition to its decision.
func BenchmarkPropose(b *testing.B) {
	s := open(b, options(path(b)))
	prefix := run("go", "build", "./a")
	prefix.Run.Known, prefix.Run.HarmlessFrom, prefix.Run.OptionsFrom, prefix.Run.Harmful = true, 1, 1, []int{0}
	for name, e := range map[string]effects.Effect{
		"run": prefix, "write": file(effects.KindWrite, "/p/a/b/x"), "connect": connect("api.example.com", 443, effects.MethodGet), "use": use("github", "get_issue", "{}"),
	} {
		q := ask(e)
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if len(s.Propose(q)) == 0 {
					b.Fatal("nothing is proposed")
				}
			}
		})
	}
}

// named returns a run with options that a line can express.
func named(sub string) effects.Effect {
	e := run("go", sub, "x", "--status", "open", "--json")
	e.Run.Known, e.Run.HarmlessFrom, e.Run.OptionsFrom, e.Run.Harmful = true, 5, 1, []int{0, 2, 3, 4}
	return e
}

// BenchmarkMatchWidths matches among 100,000 choices of all widths.
func BenchmarkMatchWidths(b *testing.B) {
	s := open(b, options(path(b)))
	const choices = 100_000
	for start := 0; start < choices; start += 1000 {
		var drafts []remember.Draft
		for n := start; n < start+1000; n++ {
			d := remember.Draft{Verdict: decisions.Allow, Scope: remember.ForProject, DecisionID: "d"}
			switch n % 5 {
			case 0:
				e := run("go", fmt.Sprint("sub", n), "x")
				e.Run.Known, e.Run.HarmlessFrom, e.Run.OptionsFrom, e.Run.Harmful = true, 1, 1, []int{0}
				if n%10 == 0 {
					e = named(fmt.Sprint("sub", n))
				}
				d.Query, d.Level = ask(e), 1
			case 1:
				d.Query, d.Level = ask(file(effects.KindWrite, fmt.Sprintf("/p/a%d/b%d/x", n%100, n))), 1
			case 2:
				d.Query, d.Level = ask(file(effects.KindWrite, fmt.Sprintf("/data/sets/a%d/x", n))), 1
			case 3:
				d.Query, d.Level = ask(connect(fmt.Sprintf("docs.example%d.com", n), 443, effects.MethodGet)), 2
			default:
				d.Query = ask(run("git", "show", fmt.Sprint(n)))
			}
			drafts = append(drafts, d)
		}
		if _, err := s.Save(b.Context(), drafts...); err != nil {
			b.Fatal(err)
		}
	}
	prefix := run("go", "sub5005", "y", "z")
	prefix0 := run("go", "sub5000", "y", "--status", "open")
	prefix0.Run.Known, prefix0.Run.HarmlessFrom, prefix0.Run.OptionsFrom, prefix0.Run.Harmful = true, 4, 1, []int{0, 2, 3}
	prefix.Run.Known, prefix.Run.HarmlessFrom, prefix.Run.OptionsFrom, prefix.Run.Harmful = true, 1, 1, []int{0}
	miss := run("go", "list", "-m", "all", "./...", "a", "b", "c")
	for _, tt := range []struct {
		name string
		q    *decisions.MemoryQuery
		want bool
	}{
		{"exact", ask(run("git", "show", "9999")), true},
		{"prefix", ask(prefix), true},
		{"named", ask(named("sub5000")), true},
		{"named-miss", ask(prefix0), false},
		{"prefix-miss", ask(miss), false},
		{"subtree", ask(file(effects.KindWrite, "/p/a1/b5001/c/d/e/f.go")), true},
		{"subtree-outside", ask(file(effects.KindWrite, "/data/sets/a5002/c/d/f.go")), true},
		{"subtree-miss", ask(file(effects.KindWrite, "/p/internal/pkg/deep/er/main.go")), false},
		{"suffix", ask(connect("api.eu.example5003.com", 443, effects.MethodGet)), true},
		{"suffix-miss", ask(connect("api.eu.example.org", 443, effects.MethodGet)), false},
	} {
		b.Run(tt.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, allow, err := s.Match(tt.q); err != nil || (allow != nil) != tt.want {
					b.Fatal(allow, err)
				}
			}
		})
	}
}

// BenchmarkMatchRejects matches among 100,000 rejects of all forms.
func BenchmarkMatchRejects(b *testing.B) {
	table, err := programs.Shipped()
	if err != nil {
		b.Fatal(err)
	}
	o := options(path(b))
	o.Understand = func(p *pattern.Pattern) *pattern.Pattern { return p.Resolved(table) }
	s := open(b, o)
	const rejects = 100_000
	for start := 0; start < rejects; start += 1000 {
		var drafts []remember.Draft
		for n := start; n < start+1000; n++ {
			e := []effects.Effect{
				run("make", fmt.Sprint("t", n)), file(effects.KindDelete, fmt.Sprintf("/p/%d/%d/x", n%100, n)), connect(fmt.Sprintf("h%d.example.com", n), 443, effects.MethodGet),
				run("tool", "--token=ghp_0123456789abcdefghijABCDEFGHIJ012345", fmt.Sprint(n)),
				run("git", "commit", "-m", fmt.Sprint("fix ", n)), run("mytool", "build", fmt.Sprint("--id=", n)),
			}[n%6]
			drafts = append(drafts, remember.Draft{Verdict: decisions.Deny, Query: ask(e), Scope: remember.ForProject})
		}
		if _, err := s.Save(b.Context(), drafts...); err != nil {
			b.Fatal(err)
		}
	}
	tree := file(effects.KindDelete, "/p")
	tree.File.Recursive = true
	silent := run("make", "-s", "t4002")
	silent.Run.Flags, silent.Run.Operands = []string{"--silent"}, []string{"t4002"}
	commit := run("git", "commit", "-nmfix 4006")
	commit.Run.Subcommand, commit.Run.Flags, commit.Run.Operands = "commit", []string{"--message", "--no-verify"}, []string{}
	for name, q := range map[string]*decisions.MemoryQuery{
		"run":           ask(run("make", "t4002")),
		"run-options":   ask(silent),
		"run-value":     ask(commit),
		"run-unlisted":  ask(run("mytool", "-v", "build", "--id=4007")),
		"run-miss":      ask(run("git", "log", "--oneline", "-n", "20")),
		"path":          ask(file(effects.KindDelete, "/p/3/4003/x")),
		"path-miss":     ask(file(effects.KindDelete, "/p/src/a/b/main.go")),
		"tree-above":    ask(tree),
		"host":          ask(connect("h4004.example.com", 443, effects.MethodGet)),
		"host-miss":     ask(connect("api.example.org", 443, effects.MethodGet)),
		"use-miss":      ask(use("github", "get_issue", `{"n":1}`)),
		"secret-in-run": ask(run("tool", "--token=ghp_0123456789abcdefghijABCDEFGHIJ012345", "4005")),
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if reject, _, err := s.Match(q); err != nil || (reject == nil) != strings.HasSuffix(name, "-miss") {
					b.Fatal(reject, err)
				}
			}
		})
	}
}

// BenchmarkSaveReject measures storing a reject in a memory with 99,000 rejects of other
// files of the project.
func BenchmarkSaveReject(b *testing.B) {
	s := open(b, options(path(b)))
	n := 0
	draft := func() remember.Draft {
		n++
		return remember.Draft{Verdict: decisions.Deny, Query: ask(file(effects.KindDelete, fmt.Sprintf("/p/%d/%d/x", n%100, n))), Scope: remember.ForProject, DecisionID: "d"}
	}
	for range 99 {
		var drafts []remember.Draft
		for range 1000 {
			drafts = append(drafts, draft())
		}
		if _, err := s.Save(b.Context(), drafts...); err != nil {
			b.Fatal(err)
		}
	}
	var took []time.Duration
	for b.Loop() {
		start := time.Now()
		save(b, s, draft())
		took = append(took, time.Since(start))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
}
