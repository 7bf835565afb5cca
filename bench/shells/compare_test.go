//go:build linux

package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/permd/permd/decisions/effects"
)

// TestPlanted removes one effect at a time from a decision: compare must find the
// difference in every shell. With the whole decision it must find none.
func TestPlanted(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it runs the real shells")
	}
	w := testWorker(t)
	tr := &trial{text: "cd src && a x 'two words' | b > new; ls < a.txt; c & d *", agent: &agents[0]}
	whole := w.judge.decide(t.Context(), tr)
	if !whole.allowed {
		t.Fatalf("the text is not allowed: %s\n%s", whole.by, strings.Join(whole.shown(), "\n"))
	}
	run := func(name string, f func(r *effects.Run)) func(v *verdict) {
		return func(v *verdict) {
			for i := range v.effects {
				if r := v.effects[i].Run; r != nil && r.Program == name {
					r = new(effects.Run)
					*r = *v.effects[i].Run
					f(r)
					v.effects[i].Run = r
				}
			}
		}
	}
	for _, c := range []struct {
		name, kind string
		plant      func(v *verdict)
	}{
		{name: "nothing", plant: func(*verdict) {}},
		{"a program", "run", run("b", func(r *effects.Run) { r.Program = "other" })},
		{"its words", "run", run("a", func(r *effects.Run) { r.Args = []string{"x", "two", "words"} })},
		{"a word", "run", run("a", func(r *effects.Run) { r.Args = r.Args[:1] })},
		{"its folder", "run", run("d", func(r *effects.Run) { r.Cwd = "/home/dev/project/docs" })},
		{"its input", "run", run("b", func(r *effects.Run) { r.Stdin = effects.StdinNone })},
		{"its file", "run", run("ls", func(r *effects.Run) { r.Stdin = effects.StdinNone })},
		{"a file that is written", "write", func(v *verdict) {
			v.effects = slices.DeleteFunc(v.effects, func(e effects.Effect) bool { return e.Kind == effects.KindWrite })
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := whole
			v.effects = slices.Clone(whole.effects)
			c.plant(&v)
			diffs, seen, err := w.try(t.Context(), tr, &v)
			if err != nil {
				t.Fatal(err)
			}
			if len(seen) != len(shellPath) {
				t.Errorf("the text ran in %d shells, want %d", len(seen), len(shellPath))
			}
			for _, o := range seen {
				found := slices.ContainsFunc(diffs, func(d difference) bool { return d.shell == o.shell && d.kind == c.kind })
				if found != (c.kind != "") {
					t.Errorf("%s: found %v, want a difference of kind %q", o.shell, diffs, c.kind)
				}
			}
		})
	}
}

// TestCanary: a program that no rule allows is reported as a canary.
func TestCanary(t *testing.T) {
	w := testWorker(t)
	for _, text := range []string{"touch pwned", "./evil.sh", "sh -c 'pwned x'", "env -u x touch y"} {
		tr := &trial{text: text, agent: &agents[0]}
		v := verdict{allowed: true}
		diffs, _, err := w.try(t.Context(), tr, &v)
		if err != nil {
			t.Fatal(err)
		}
		if len(diffs) != len(shellPath) || diffs[0].kind != "canary" {
			t.Errorf("%q: %v", text, diffs)
		}
	}
}

// TestPlantedTrace does under strace what TestPlanted does with stubs.
func TestPlantedTrace(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it runs the real shells under strace")
	}
	w := testWorker(t, "strace")
	tr := &trial{text: "cat a.txt b.txt | wc -l > new; ls src; grep -r package docs; mkdir d/e; rm -f b.txt < README.md", agent: &agents[2], strace: true}
	whole := w.judge.decide(t.Context(), tr)
	if !whole.allowed {
		t.Fatalf("the text is not allowed: %s\n%s", whole.by, strings.Join(whole.shown(), "\n"))
	}
	without := func(kind effects.Kind, p string) func(v *verdict) {
		return func(v *verdict) {
			v.effects = slices.DeleteFunc(v.effects, func(e effects.Effect) bool {
				return e.Kind == kind && (e.File == nil || e.File.Path == p) && (e.Run == nil || e.Run.Program == p)
			})
		}
	}
	for _, c := range []struct {
		name, kind string
		plant      func(v *verdict)
	}{
		{name: "nothing", plant: func(*verdict) {}},
		{"a program", "exec", without(effects.KindRun, "wc")},
		{"a file of a program", "read", without(effects.KindRead, project+"/a.txt")},
		{"a folder", "read", without(effects.KindRead, project+"/src")},
		{"a folder and all below", "read", without(effects.KindRead, project+"/docs")},
		{"a file of a redirection", "read", without(effects.KindRead, project+"/README.md")},
		{"a file that is written", "write", without(effects.KindWrite, project+"/new")},
		{"a folder that is made", "write", without(effects.KindWrite, project+"/d/e")},
		{"a file that is removed", "write", without(effects.KindDelete, project+"/b.txt")},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := whole
			v.effects = slices.Clone(whole.effects)
			c.plant(&v)
			diffs, _, err := w.try(t.Context(), tr, &v)
			if err != nil {
				t.Fatal(err)
			}
			if found := slices.ContainsFunc(diffs, func(d difference) bool { return d.kind == c.kind }); found != (c.kind != "") || c.kind == "" && len(diffs) > 0 {
				t.Errorf("found %v, want a difference of kind %q", diffs, c.kind)
			}
		})
	}
}

func TestSameArgs(t *testing.T) {
	for _, c := range []struct {
		want, have []string
		same       bool
	}{
		{nil, nil, true},
		{[]string{"a"}, nil, false},
		{[]string{"a", "b"}, []string{"a", "b"}, true},
		{[]string{"a", "b"}, []string{"b", "a"}, false},
		{[]string{"a"}, []string{"a", "b"}, false},
		{[]string{"a", effects.DynamicWord, "c"}, []string{"a", "c"}, true},
		{[]string{"a", effects.DynamicWord, "c"}, []string{"a", "b", "b", "c"}, true},
		{[]string{"a", effects.DynamicWord, "c"}, []string{"a", "b"}, false},
		{[]string{"*.txt"}, []string{"*.txt"}, true},
		{[]string{"*.txt"}, []string{"a.txt", "b.txt"}, true},
		{[]string{"*.txt"}, []string{"a.txt", "b.go"}, false},
		{[]string{"*"}, []string{"-rf"}, false},
		{[]string{"--", "*"}, []string{"--", "-rf"}, true},
		{[]string{"-*"}, []string{"-rf"}, true},
		{[]string{"*.txt", "x"}, []string{"a.txt", "b.txt", "x"}, true},
	} {
		if got := sameArgs(c.want, c.have); got != c.same {
			t.Errorf("sameArgs(%q, %q) = %v", c.want, c.have, got)
		}
	}
}

// TestReadTrace reads lines of strace that lines of other processes interrupt.
func TestReadTrace(t *testing.T) {
	x := func(s string) string {
		var out strings.Builder
		for i := range len(s) {
			out.WriteString(`\x` + string("0123456789abcdef"[s[i]>>4]) + string("0123456789abcdef"[s[i]&15]))
		}
		return out.String()
	}
	text := strings.Join([]string{
		`7     execve("` + x("/bin/sh") + `", ["` + x("sh") + `"], 0x1 /* 2 vars */) = 0`,
		`8     execve("` + x("/r/bin/cat") + `", ["` + x("cat") + `", "` + x(`a "b>,`) + `"], 0x1 /* 2 vars */ <unfinished ...>`,
		`7     openat(AT_FDCWD<` + x("/r/p") + `>, "` + x("x") + `", O_WRONLY|O_CREAT, 0666) = 3<` + x("/r/p/x") + `>`,
		`8     <... execve resumed>) = 0`,
		`8     openat(AT_FDCWD<` + x("/r/p") + `>, "` + x("y") + `", O_RDONLY <unfinished ...>`,
		`8     <... openat resumed>)             = 3<` + x("/r/p/y") + `>`,
		`8     openat(AT_FDCWD<` + x("/r/p") + `>, "` + x("z") + `", O_RDONLY) = -1 ENOENT (No such file or directory)`,
		`8     unlinkat(4<` + x("/r/p/d") + `>, "` + x("f") + `", 0) = 0`,
		`8     chdir("` + x("e") + `")         = 0`,
		`8     mkdir("` + x("g") + `", 0777)   = 0`,
		`8     connect(3<` + x("socket:[1]") + `>, {sa_family=AF_INET, sin_port=htons(80)}, 16) = -1 ENETUNREACH (Network is unreachable)`,
		`8     +++ exited with 0 +++`,
	}, "\n")
	got := readTrace(text, func(p string) string { return strings.TrimPrefix(p, "/r") })
	want := []touched{
		{path: "/p/x", write: true, call: "openat"},
		{path: "/p/y", inner: true, by: "/bin/cat", call: "openat"},
		{path: "/p/d/f", write: true, inner: true, by: "/bin/cat", call: "unlinkat"},
		{path: "/p/e/g", write: true, inner: true, by: "/bin/cat", call: "mkdir"},
	}
	if !slices.Equal(got.opened, want) {
		t.Errorf("opened %+v\nwant %+v", got.opened, want)
	}
	if len(got.executed) != 1 || got.executed[0].exe != "/bin/cat" || !slices.Equal(got.executed[0].args, []string{`a "b>,`}) || got.executed[0].cwd != "/p" {
		t.Errorf("executed %+v", got.executed)
	}
	if len(got.reached) != 1 {
		t.Errorf("reached %q", got.reached)
	}
}
