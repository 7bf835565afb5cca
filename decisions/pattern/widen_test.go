package pattern

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/permd/permd/decisions/effects"
)

// TestWiden checks which lines are suggested for an effect, the narrowest first.
func TestWiden(t *testing.T) {
	run := func(r effects.Run, tags ...effects.Tag) effects.Effect {
		if r.Cwd == "" {
			r.Cwd = "/p"
		}
		return effects.Effect{Kind: effects.KindRun, Run: &r, Tags: effects.TagsOf(tags...)}
	}
	file := func(kind effects.Kind, path string, tags ...effects.Tag) effects.Effect {
		return effects.Effect{Kind: kind, File: &effects.File{Path: path}, Tags: effects.TagsOf(tags...)}
	}
	tree := func(kind effects.Kind, path string) effects.Effect {
		return effects.Effect{Kind: kind, File: &effects.File{Path: path, Recursive: true}}
	}
	moved := func(path string) effects.Effect {
		e := tree(effects.KindDelete, path)
		e.File.Moved = effects.MovedFile
		return e
	}
	command := func(e effects.Effect) effects.Effect {
		e.Shell = true
		return e
	}
	host := func(name string, port int, tags ...effects.Tag) effects.Effect {
		return effects.Effect{Kind: effects.KindConnect, Connect: &effects.Connect{Host: name, Port: port}, Tags: effects.TagsOf(tags...)}
	}
	tests := []struct {
		name string
		e    effects.Effect
		want []string
	}{
		{"sub-command", run(effects.Run{Program: "go", Args: []string{"test", "./a"}, Subcommand: "test", Known: true, HarmlessFrom: 1, Harmful: []int{0}, OptionsFrom: 1}), []string{"go test *"}},
		{"option before the sub-command", run(effects.Run{Program: "git", Args: []string{"-C", "x", "push"}, Subcommand: "push", Known: true}), []string{"git -C x push *"}},
		{"sub-command that is not in the words", run(effects.Run{Program: "git", Args: []string{"p"}, Subcommand: "push", Known: true}), nil},
		{"option that limits", run(effects.Run{Program: "git", Args: []string{"checkout", "-b", "x"}, Subcommand: "checkout", Known: true, HarmlessFrom: 1, Harmful: []int{0}, OptionsFrom: 1, LimitedTo: 2}), []string{"git checkout -b *"}},
		{"option that limits, later", run(effects.Run{Program: "black", Args: []string{"x", "--check"}, Known: true, LimitedTo: 2}), []string{"black x --check *"}},
		{"operands that say what is done", run(effects.Run{Program: "git", Args: []string{"checkout", "x"}, Subcommand: "checkout", Known: true, HarmlessFrom: 1, Harmful: []int{0}, OptionsFrom: 1, LimitedTo: 3}), nil},
		{"option that is not harmless", run(effects.Run{Program: "go", Args: []string{"build", "-o", "x", "./a"}, Subcommand: "build", Known: true, HarmlessFrom: 3, Harmful: []int{0, 1, 2}, OptionsFrom: 3}), []string{"go build -o x *"}},
		{"unknown program", run(effects.Run{Program: "tool", Args: []string{"do", "x"}, HarmlessFrom: 1, Harmful: []int{0}, OptionsFrom: 1}), []string{"tool do *"}},
		{"unknown program alone", run(effects.Run{Program: "tool"}), nil},
		{"an option", run(effects.Run{Program: "tool", Args: []string{"do", "x", "--json", "y"}, HarmlessFrom: 3, Harmful: []int{0, 2, 3}, OptionsFrom: 1}), []string{"tool do * --json y"}},
		{"an option and a word", run(effects.Run{Program: "tool", Args: []string{"do", "-a", "../x", "b=c", "-d"}, HarmlessFrom: 5, Harmful: []int{0, 1, 2, 3, 4}, OptionsFrom: 4}), []string{"tool do -a ../x b=c * -d"}},
		{"an option that starts over", run(effects.Run{Program: "tool", Args: []string{"-a", "do", "x"}, HarmlessFrom: 1, Harmful: []int{0, 1}, OptionsFrom: 3}), []string{"tool -a do x *"}},
		{"nothing but options", run(effects.Run{Program: "tool", Args: []string{"-a"}, HarmlessFrom: 1, Harmful: []int{0}, OptionsFrom: 2}), nil},
		{"facts that miss a word", run(effects.Run{Program: "tool", Args: []string{"do", "-a"}, HarmlessFrom: 2, Harmful: []int{0}, OptionsFrom: 1}), nil},
		{"a value behind a gap", run(effects.Run{Program: "tool", Args: []string{"do", "-a", "x", "y"}, HarmlessFrom: 4, Harmful: []int{0, 1, 3}, OptionsFrom: 1}), []string{"tool do -a x y *"}},
		{"two dashes", run(effects.Run{Program: "tool", Args: []string{"do", "-a", "--", "-b"}, HarmlessFrom: 4, Harmful: []int{0, 1, 2, 3}, OptionsFrom: 1}), []string{"tool do -a -- * -b"}},
		{"a value with a star", run(effects.Run{Program: "tool", Args: []string{"do", "-a", "*"}, HarmlessFrom: 3, Harmful: []int{0, 1, 2}, OptionsFrom: 1}), []string{"tool do * -a '*'"}},
		{"an empty value", run(effects.Run{Program: "tool", Args: []string{"do", "-a", ""}, HarmlessFrom: 3, Harmful: []int{0, 1, 2}, OptionsFrom: 1}), []string{"tool do * -a ''"}},
		{"script", run(effects.Run{Program: "/p/x.sh", Executable: "./x.sh", Args: []string{"a"}, HarmlessFrom: 1}), nil},
		{"outside", run(effects.Run{Program: "go", Args: []string{"vet"}, Known: true, Cwd: "/q"}, effects.Outside), nil},
		{"literal input", run(effects.Run{Program: "cat", Known: true, Stdin: effects.StdinText, StdinText: "x"}), nil},
		{"input from the network", run(effects.Run{Program: "tool", Args: []string{"do"}, HarmlessFrom: 1, Stdin: effects.StdinNetwork}), nil},
		{"a word that is known later", run(effects.Run{Program: "go", Args: []string{effects.DynamicWord}, Known: true, HarmlessFrom: 1, Harmful: []int{0}, OptionsFrom: 1}), nil},
		{"a word with a star", run(effects.Run{Program: "go", Args: []string{"a*", "b"}, Known: true, HarmlessFrom: 1, Harmful: []int{0}, OptionsFrom: 1}), []string{"go 'a*' *"}},
		{"a hidden character", run(effects.Run{Program: "go", Args: []string{"a\u202eb"}, Known: true, HarmlessFrom: 1, Harmful: []int{0}, OptionsFrom: 1}), nil},
		{"write", file(effects.KindWrite, "/p/a/b/x"), []string{"./a/b/**", "./**"}},
		{"write at the root", file(effects.KindWrite, "/p/x"), []string{"./**"}},
		{"write with a star", file(effects.KindWrite, "/p/a*/x"), []string{`./a\*/**`, "./**"}},
		{"delete", file(effects.KindDelete, "/p/a/x"), []string{"./a/*"}},
		{"delete a folder", tree(effects.KindDelete, "/p/a/x"), nil},
		{"move", moved("/p/a/x"), nil},
		{"delete outside", file(effects.KindDelete, "/home/ana/notes/x"), []string{"/home/ana/notes/*"}},
		{"write of a command", command(file(effects.KindWrite, "/p/a/x")), []string{"./a/**"}},
		{"write of a command at the root", command(file(effects.KindWrite, "/p/x")), nil},
		{"writes of a command", command(tree(effects.KindWrite, "/p/a")), []string{"./a/**"}},
		{"delete at the root", file(effects.KindDelete, "/p/x"), nil},
		{"read all below", tree(effects.KindRead, "/p/a"), []string{"./a/**", "./**"}},
		{"guarded", file(effects.KindWrite, "/p/a/.env", effects.Secret), nil},
		{"guarded for writing alone", file(effects.KindRead, "/p/a/.envrc", effects.Startup), []string{"./a/**", "./**"}},
		{"another folder", file(effects.KindRead, "/home/ana/notes/x"), []string{"/home/ana/notes/**"}},
		{"a folder named by the time", file(effects.KindRead, "/home/ana/notes/2026-06-23T08/a/x"), []string{"/home/ana/notes/**"}},
		{"the first of several", tree(effects.KindRead, "/home/ana/w/runs/run-174412/rep-1/f00d123456"), []string{"/home/ana/w/runs/**"}},
		{"a version", file(effects.KindRead, "/home/ana/lib/go1.26.3/src/x"), []string{"/home/ana/lib/go1.26.3/src/**"}},
		{"right below a home", file(effects.KindRead, "/home/ana/20260623/x"), []string{"/home/ana/20260623/**"}},
		{"written", file(effects.KindWrite, "/home/ana/notes/20260623/x"), []string{"/home/ana/notes/20260623/**"}},
		{"a folder of the project", file(effects.KindRead, "/p/a/20260623/x"), []string{"./a/20260623/**", "./**"}},
		{"a home", file(effects.KindRead, "/home/ana/x"), nil},
		{"the system", file(effects.KindRead, "/etc/a/b/c/x", effects.System), nil},
		{"host", host("docs.python.org", 443), []string{"*.python.org:443"}},
		{"deep host", host("a.b.example.co.uk", 443), []string{"*.example.co.uk:443"}},
		{"the domain itself", host("python.org", 443), nil},
		{"a public suffix", host("github.io", 443), nil},
		{"below a private suffix", host("ana.github.io", 443), nil},
		{"address", host("192.0.2.1", 443), nil},
		{"no port", host("docs.python.org", 0), nil},
		{"this machine", host("a.localhost.example", 80, effects.Loopback), nil},
		{"unknown domain", host("a.b.internal-name", 80), nil},
		{"metadata", host("metadata.google.internal", 80, effects.MetadataService), nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			last := 0
			for _, w := range Widen(&tt.e, []effects.Effect{tt.e}, Context{Project: "/p"}) {
				got = append(got, w.Pattern.String())
				if w.Level <= last {
					t.Errorf("level %d after %d", w.Level, last)
				}
				last = w.Level
				if !w.Pattern.Match(&tt.e, []effects.Effect{tt.e}, Context{Project: "/p"}) {
					t.Errorf("%s does not match the effect", w.Pattern)
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
