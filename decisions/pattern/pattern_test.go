package pattern_test

import (
	"testing"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/pattern"
)

var ctx = pattern.Context{Project: "/home/dev/p", Home: "/home/dev", Cwd: "/home/dev/p"}

func run(program string, args ...string) effects.Run {
	return effects.Run{Program: program, Args: args, Stdin: effects.StdinNone, Cwd: ctx.Cwd, HarmlessFrom: len(args)}
}

func TestMatchRun(t *testing.T) {
	with := func(r effects.Run, change func(*effects.Run)) effects.Run {
		change(&r)
		return r
	}
	withHarm := func(r effects.Run, i int) effects.Run {
		return with(r, func(r *effects.Run) { r.Harmful, r.HarmlessFrom = []int{i}, i+1 })
	}
	tests := []struct {
		name    string
		line    string
		run     effects.Run
		tags    effects.Tags
		match   bool
		touches bool
	}{
		{"exact", "make lint", run("make", "lint"), 0, true, true},
		{"further word", "make lint", run("make", "lint", "x"), 0, false, false},
		{"word missing", "make lint", run("make"), 0, false, false},
		{"other program", "make lint", run("gmake", "lint"), 0, false, false},
		{"program by path", "make lint", run("/tmp/make", "lint"), 0, false, true},
		{"rest harmless", "go test *", with(run("go", "test", "-v", "./..."), func(r *effects.Run) { r.HarmlessFrom = 1 }), 0, true, true},
		{"rest not harmless", "go test *", with(run("go", "test", "-exec", "x"), func(r *effects.Run) { r.HarmlessFrom = 3 }), 0, false, true},
		{"rest empty", "go test *", run("go", "test"), 0, true, true},
		{"order", "go test *", with(run("go", "-C", "x", "test"), func(r *effects.Run) { r.HarmlessFrom = 0; r.Subcommand = "test" }), 0, false, true},
		{"option elsewhere", "git push --force *", with(run("git", "push", "origin", "-f"), func(r *effects.Run) {
			r.Subcommand, r.Flags, r.HarmlessFrom = "push", []string{"--force"}, 0
		}), 0, false, true},
		{"option absent", "git push --force *", with(run("git", "push", "origin"), func(r *effects.Run) {
			r.Subcommand, r.HarmlessFrom = "push", 0
		}), 0, false, false},
		{"longer sub-command", "git remote *", with(run("git", "remote", "add", "o", "u"), func(r *effects.Run) {
			r.Subcommand, r.HarmlessFrom = "remote add", 4
		}), 0, false, true},
		{"star in word", "npm run test:*", run("npm", "run", "test:unit"), 0, true, true},
		{"star leaves the folder", "cat docs/*", run("cat", "docs/../../x"), 0, false, true},
		{"star over a slash", "cat docs/*", run("cat", "docs/a/b"), 0, false, true},
		{"star is dotdot", "deploy env/*", run("deploy", "env/.."), 0, false, true},
		{"star is an option", "rg *x", run("rg", "--pre=x"), 0, false, true},
		{"star after =", "x --a=*", run("x", "--a=1"), 0, true, true},
		{"star is code", "make build VERSION=*", withHarm(run("make", "build", "VERSION=`id`"), 1), 0, false, true},
		{"star has a command", "watchexec s*", withHarm(run("watchexec", "sh x"), 0), 0, false, true},
		{"star is text", "git commit -m *:", run("git", "commit", "-m", "fix (#12):"), 0, true, true},
		{"star in code", `frob '('*')'`, withHarm(run("frob", "(a)"), 0), 0, true, true},
		{"star in code, with more", `frob '('*')'`, withHarm(run("frob", "(a;b)"), 0), 0, false, true},
		{"star is dynamic", "cat *c", run("cat", effects.DynamicWord), 0, false, true},
		{"input of an unknown program", "psql db", with(run("psql", "db"), func(r *effects.Run) { r.Stdin = effects.StdinText }), 0, false, true},
		{"input of a known program", "go vet", with(run("go", "vet"), func(r *effects.Run) { r.Stdin, r.Known = effects.StdinPipe, true }), 0, true, true},
		{"input from the network", "go vet", with(run("go", "vet"), func(r *effects.Run) { r.Stdin, r.Known = effects.StdinNetwork, true }), 0, false, true},
		{"network input of a reader", "wc -l", with(run("wc", "-l"), func(r *effects.Run) {
			r.Stdin, r.Known, r.Readonly = effects.StdinNetwork, true, true
		}), 0, true, true},
		{"outside", "make lint", with(run("make", "lint"), func(r *effects.Run) { r.Cwd = "/tmp/x" }), effects.TagsOf(effects.Outside), false, true},
		{"where the session began", "make lint", run("make", "lint"), effects.TagsOf(effects.Outside), true, true},
		{"project script", "./x.sh", run("/home/dev/p/x.sh"), 0, true, true},
		{"project script of another folder", "./x.sh", run("/home/dev/p/sub/x.sh"), 0, false, false},
		{"project script that could not be found", "./x.sh", run("./x.sh"), 0, false, false},
		{"home script", "~/bin/x", run("/home/dev/bin/x"), 0, true, true},
		{"absolute", "/usr/bin/git status", with(run("git", "status"), func(r *effects.Run) { r.Executable = "/usr/bin/git" }), 0, true, true},
		{"absolute, other", "/usr/bin/git status", run("git", "status"), 0, false, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, err := pattern.Parse(effects.KindRun, tt.line)
			if err != nil {
				t.Fatal(err)
			}
			e := effects.Effect{Kind: effects.KindRun, Run: &tt.run, Tags: tt.tags}
			if got := p.Match(&e, []effects.Effect{e}, ctx); got != tt.match {
				t.Errorf("Match = %v, want %v", got, tt.match)
			}
			if got := p.Touches(&e, ctx); got != tt.touches {
				t.Errorf("Touches = %v, want %v", got, tt.touches)
			}
		})
	}
}

func TestMatchDerived(t *testing.T) {
	secret := effects.TagsOf(effects.Secret)
	tests := []struct {
		name   string
		line   string
		run    effects.Run
		effect effects.Effect
		arg    int
		match  bool
		exact  bool
	}{
		{"host spelled out", "curl -s https://docs.example.com/", run("curl", "-s", "https://docs.example.com/"),
			effects.Effect{Kind: "connect", Connect: &effects.Connect{Host: "docs.example.com"}}, 1, true, false},
		{"host from elsewhere", "curl -s https://docs.example.com/", run("curl", "-s", "https://docs.example.com/"),
			effects.Effect{Kind: "connect", Connect: &effects.Connect{Host: "evil.example"}}, 1, false, false},
		{"host of no name", "curl -s https://docs.example.com/", run("curl", "-s", "https://docs.example.com/"),
			effects.Effect{Kind: "connect", Connect: &effects.Connect{}}, 1, false, false},
		{"word under *", "curl *", run("curl", "https://docs.example.com/"),
			effects.Effect{Kind: "connect", Connect: &effects.Connect{Host: "docs.example.com"}}, 0, false, false},
		{"word with *", "cat docs/*", run("cat", "docs/a"),
			effects.Effect{Kind: "read", File: &effects.File{Path: "/home/dev/p/docs/a"}}, 0, false, false},
		{"relative path", "cat a", run("cat", "a"),
			effects.Effect{Kind: "read", File: &effects.File{Path: "/home/dev/p/a"}}, 0, true, false},
		{"relative path is not exact", "cat .env", run("cat", ".env"),
			effects.Effect{Kind: "read", File: &effects.File{Path: "/home/dev/p/.env"}, Tags: secret}, 0, true, false},
		{"relative path outside", "cat ../a", run("cat", "../a"),
			effects.Effect{Kind: "read", File: &effects.File{Path: "/home/dev/a"}, Tags: effects.TagsOf(effects.Outside)}, 0, false, false},
		{"absolute path", "cat /etc/x.key", run("cat", "/etc/x.key"),
			effects.Effect{Kind: "read", File: &effects.File{Path: "/etc/x.key"}, Tags: secret | effects.TagsOf(effects.Outside)}, 0, true, true},
		{"other words", "cat a b", run("cat", "a"),
			effects.Effect{Kind: "read", File: &effects.File{Path: "/home/dev/p/a"}}, 0, false, false},
		{"word repeated under *", "cp /a *", run("cp", "/a", "/a"),
			effects.Effect{Kind: "read", File: &effects.File{Path: "/a"}}, 0, false, false},
		{"word repeated, all spelled out", "cp /a /a", run("cp", "/a", "/a"),
			effects.Effect{Kind: "write", File: &effects.File{Path: "/a"}}, 1, true, true},
		{"inherent", "git push", run("git", "push"),
			effects.Effect{Kind: "connect", Connect: &effects.Connect{Host: "push"}}, effects.Inherent, false, false},
		{"unknown stays unknown", "python3 -c x", run("python3", "-c", "x"),
			effects.Effect{Kind: "unknown"}, 1, false, false},
		{"program in a word", "find . -exec ls '{}' ';'", run("find", ".", "-exec", "ls", "{}", ";"),
			effects.Effect{Kind: "run", Run: &effects.Run{Program: "ls", Args: []string{"{}"}}}, 2, true, false},
		{"state", "make x", run("make", "x"), effects.Effect{Kind: "state"}, 0, false, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, err := pattern.Parse(effects.KindRun, tt.line)
			if err != nil {
				t.Fatal(err)
			}
			tt.effect.Via = &effects.Via{Effect: 0, Arg: tt.arg}
			all := []effects.Effect{{Kind: effects.KindRun, Run: &tt.run}, tt.effect}
			if got := p.Match(&all[1], all, ctx); got != tt.match {
				t.Errorf("Match = %v, want %v", got, tt.match)
			}
			if got := p.Exact(&all[1], all, ctx); got != tt.exact {
				t.Errorf("Exact = %v, want %v", got, tt.exact)
			}
			if p.Touches(&all[1], ctx) && tt.effect.Kind != effects.KindRun {
				t.Error("a run line touches an effect of another kind")
			}
		})
	}
}

func TestMatchPath(t *testing.T) {
	const flat, deep = false, true
	tests := []struct {
		kind      effects.Kind
		line      string
		path      string
		recursive bool
		match     bool
		exact     bool
		touches   bool
	}{
		{"write", "./docs/**", "/home/dev/p/docs/a/b.md", flat, true, false, true},
		{"write", "./docs/**", "/home/dev/p/docs", deep, true, false, true},
		{"write", "./docs/**", "/home/dev/p/docsx", flat, false, false, false},
		{"write", "./docs/**", "/docs/a", flat, false, false, false},
		{"write", "./docs/**", "/home/dev/p", deep, false, false, true},
		{"write", "./docs/**", "/home", deep, false, false, true},
		{"write", "./docs/**", "/", deep, false, false, true},
		{"write", "./docs/**", "/", flat, false, false, false},
		{"write", "./docs/**", "/srv", deep, false, false, false},
		{"write", "./**", "/home/dev/p", flat, true, false, true},
		{"write", "./a.md", "/home/dev/p/a.md", flat, true, true, true},
		{"read", "./a", "/home/dev/p/a", deep, false, false, true},
		{"delete", "./a", "/home/dev/p/a", deep, true, true, true},
		{"delete", "./*", "/home/dev/p/a", deep, false, false, true},
		{"delete", "./*", "/home/dev/p/a", flat, true, false, true},
		{"delete", "./*", "/home/dev/p", flat, false, false, false},
		{"delete", "./*", "/home/dev/p/a/b", flat, false, false, false},
		{"delete", "./keys/*.pem", "/home/dev/p", deep, false, false, true},
		{"delete", "./keys/*.pem", "/home/dev/p/keys", deep, false, false, true},
		{"delete", "./keys/*.pem", "/home/dev/p/docs", deep, false, false, false},
		{"delete", "./**/x", "/home/dev/p/a/b/x", flat, true, false, true},
		{"delete", "./**/x", "/home/dev/p/x", flat, true, false, true},
		{"delete", "./**/x", "/home/dev/p/a", deep, false, false, true},
		{"read", "/etc/**/a*b", "/etc/q/ab", flat, true, false, true},
		{"read", "/etc/**/a*b", "/etc/q/a/b", flat, false, false, false},
		{"read", "~/.cache/**", "/home/dev/.cache/x", flat, true, false, true},
		{"read", "~/.cache/**", "/home/eve/.cache/x", flat, false, false, false},
		{"read", "/etc/x", "/etc/x", flat, true, true, true},
		{"read", "/etc/x", "/etc", deep, false, false, true},
		{"read", `/a\*`, "/ab", flat, false, false, false},
	}
	for _, tt := range tests {
		name := string(tt.kind) + " " + tt.line + " on " + tt.path
		if tt.recursive {
			name += " and below"
		}
		t.Run(name, func(t *testing.T) {
			p, err := pattern.Parse(tt.kind, tt.line)
			if err != nil {
				t.Fatal(err)
			}
			e := effects.Effect{Kind: tt.kind, File: &effects.File{Path: tt.path, Recursive: tt.recursive}}
			if got := p.Match(&e, nil, ctx); got != tt.match {
				t.Errorf("Match = %v, want %v", got, tt.match)
			}
			if got := p.Exact(&e, nil, ctx); got != tt.exact {
				t.Errorf("Exact = %v, want %v", got, tt.exact)
			}
			if got := p.Touches(&e, ctx); got != tt.touches {
				t.Errorf("Touches = %v, want %v", got, tt.touches)
			}
			e.Kind = "connect"
			if p.Match(&e, nil, ctx) || p.Touches(&e, ctx) {
				t.Error("matches another kind")
			}
		})
	}
	t.Run("no project", func(t *testing.T) {
		p, err := pattern.Parse("read", "./**")
		if err != nil {
			t.Fatal(err)
		}
		e := effects.Effect{Kind: "read", File: &effects.File{Path: "/a", Recursive: true}}
		if p.Match(&e, nil, pattern.Context{}) || p.Touches(&e, pattern.Context{}) {
			t.Error("a line of the project matches without a project")
		}
	})
}

func TestMatchHostAndTool(t *testing.T) {
	tests := []struct {
		kind   effects.Kind
		line   string
		effect effects.Effect
		match  bool
		exact  bool
	}{
		{"connect", "a.example", effects.Effect{Connect: &effects.Connect{Host: "a.example", Port: 80}}, true, true},
		{"connect", "a.example:443", effects.Effect{Connect: &effects.Connect{Host: "a.example", Port: 80}}, false, false},
		{"connect", "a.example:443", effects.Effect{Connect: &effects.Connect{Host: "a.example", Port: 443}}, true, true},
		{"connect", "*.a.example", effects.Effect{Connect: &effects.Connect{Host: "b.a.example"}}, true, false},
		{"connect", "*.a.example", effects.Effect{Connect: &effects.Connect{Host: "a.example"}}, false, false},
		{"connect", "*.a.example", effects.Effect{Connect: &effects.Connect{Host: "xa.example"}}, false, false},
		{"connect", "*.a.example", effects.Effect{Connect: &effects.Connect{Host: "fe80::1%x.a.example"}}, false, false},
		{"connect", "a.example", effects.Effect{Connect: &effects.Connect{Host: "a.example.evil.example"}}, false, false},
		{"use", "github:get_*", effects.Effect{Use: &effects.Use{Server: "github", Tool: "get_x"}}, true, false},
		{"use", "github:get_*", effects.Effect{Use: &effects.Use{Server: "github2", Tool: "get_x"}}, false, false},
		{"use", "github:get_*", effects.Effect{Use: &effects.Use{Server: "github", Tool: "forget_x"}}, false, false},
		{"use", "*:get_x", effects.Effect{Use: &effects.Use{Server: "any", Tool: "get_x"}}, true, false},
		{"use", "*:get_x", effects.Effect{Use: &effects.Use{Tool: "get_x"}}, false, false},
		{"use", "get_x", effects.Effect{Use: &effects.Use{Tool: "get_x"}}, true, false},
		{"use", "get_x", effects.Effect{Use: &effects.Use{Server: "any", Tool: "get_x"}}, false, false},
		{"use", "a:b", effects.Effect{Use: &effects.Use{Server: "a", Tool: "b", Version: "1.2.0"}}, true, false},
		{"use", "a:b@1.2.0", effects.Effect{Use: &effects.Use{Server: "a", Tool: "b", Version: "1.2.0"}}, true, false},
		{"use", "a:b@1.2.0", effects.Effect{Use: &effects.Use{Server: "a", Tool: "b", Version: "1.2.1"}}, false, false},
		{"use", "a:b@1.2.0", effects.Effect{Use: &effects.Use{Server: "a", Tool: "b"}}, false, false},
		{"use", "a:b@1.2.0", effects.Effect{Use: &effects.Use{Server: "a", Tool: "b@1.2.0"}}, true, false},
		{"use", "a:b@1.2.0", effects.Effect{Use: &effects.Use{Server: "a", Tool: "c", Version: "1.2.0"}}, false, false},
		{"use", "a:b@2", effects.Effect{Use: &effects.Use{Server: "a", Tool: "b", Version: "2.0.0"}}, true, false},
		{"use", "a:b@2", effects.Effect{Use: &effects.Use{Server: "a", Tool: "b", Version: "2.0.1"}}, false, false},
		{"use", "a:b@2.*", effects.Effect{Use: &effects.Use{Server: "a", Tool: "b", Version: "2.7.1"}}, true, false},
		{"use", "a:b@2.*", effects.Effect{Use: &effects.Use{Server: "a", Tool: "b", Version: "20.7.1"}}, false, false},
		{"use", "a:*@*", effects.Effect{Use: &effects.Use{Server: "a", Tool: "b", Version: "2.7.1"}}, true, false},
		{"use", "a:*@*", effects.Effect{Use: &effects.Use{Server: "a", Tool: "b"}}, false, false},
		{"use", "a:*1", effects.Effect{Use: &effects.Use{Server: "a", Tool: "b", Version: "2.7.1"}}, false, false},
		{"use", "a:b@", effects.Effect{Use: &effects.Use{Server: "a", Tool: "b", Version: "1.0.0"}}, false, false},
		{"use", "a:b*0", effects.Effect{Use: &effects.Use{Server: "a", Tool: "b", Version: "1.0.0"}}, false, false},
	}
	for _, tt := range tests {
		t.Run(tt.line, func(t *testing.T) {
			p, err := pattern.Parse(tt.kind, tt.line)
			if err != nil {
				t.Fatal(err)
			}
			e := tt.effect
			e.Kind = tt.kind
			if got := p.Match(&e, nil, ctx); got != tt.match {
				t.Errorf("Match = %v, want %v", got, tt.match)
			}
			if got := p.Touches(&e, ctx); got != tt.match {
				t.Errorf("Touches = %v, want %v", got, tt.match)
			}
			if got := p.Exact(&e, nil, ctx); got != tt.exact {
				t.Errorf("Exact = %v, want %v", got, tt.exact)
			}
		})
	}
}
