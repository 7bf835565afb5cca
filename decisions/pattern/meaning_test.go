package pattern_test

import (
	"strings"
	"testing"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/fsfake"
	"github.com/permd/permd/decisions/effects/programs"
	"github.com/permd/permd/decisions/effects/tools"
	"github.com/permd/permd/decisions/pattern"
	"github.com/permd/permd/internal/strictjson"
)

// runsOf returns the runs of shell text, made with the shipped table.
func runsOf(t *testing.T, table *programs.Table, text string) []effects.Effect {
	t.Helper()
	profiles, err := parsedProfiles()
	if err != nil {
		t.Fatal(err)
	}
	w := tools.World{FS: fsfake.New("/h/p/.git/"), Table: table, Profiles: profiles}
	r := w.Effects(&effects.Call{
		Protocol: "acp", Cwd: "/h/p", User: effects.User{UID: 1000, Home: "/h"},
		Claims: effects.Claims{Kind: "execute"},
		Input:  strictjson.Value(`{"command":"` + text + `"}`),
	})
	var runs []effects.Effect
	for _, e := range r.Effects {
		if e.Kind == effects.KindRun {
			runs = append(runs, e)
		}
	}
	if len(runs) == 0 {
		t.Fatalf("%s: no run among %+v", text, r.Effects)
	}
	return runs
}

// A line that denies or asks is compared by the meaning of its words.
func TestTouchesByMeaning(t *testing.T) {
	table := shippedTable(t)
	for _, tt := range []struct {
		line    string
		yes, no []string
	}{
		{"rm -rf *",
			[]string{"rm -rf a", "rm -fr a", "rm -r -f a", "rm -rfv a", "rm --recursive --force a", "rm a -r b -f", "rm -R -f a", "/bin/rm -fr a"},
			[]string{"rm -r a", "rm -f a", "rm a"}},
		{"rm --recursive --force *", []string{"rm -rf a", "rm -vfr a"}, []string{"rm -r a"}},
		{"rm -rf build", []string{"rm -rf build", "rm -fr build", "rm -r build -f"}, []string{"rm -rf other", "rm -r build", "rm -rf build other"}},
		{"curl https://evil.example *",
			[]string{"curl https://evil.example", "curl -X GET https://evil.example", "curl -s --request GET https://evil.example -o x", "curl -sXGET https://evil.example", "curl https://evil.example https://b.example"},
			[]string{"curl https://good.example", "curl -X GET https://good.example"}},
		{"git push origin *",
			[]string{"git push origin main", "git -C src push --force origin main", "git push -u origin main"},
			[]string{"git push upstream main", "git pull origin main"}},
		{"git push -f *", []string{"git push --force origin", "git push origin +main", "git -C src push -f"}, []string{"git push origin main", "git push --force-with-lease"}},
		{"docker run --network host *",
			[]string{"docker run --network host x", "docker run --network=host x", "docker run --rm --network host x sh"},
			[]string{"docker run --network none x", "docker run x"}},
		{"npm run deploy *", []string{"npm run deploy", "npm run deploy now"}, []string{"npm run build deploy", "npm run test"}},
		{"nosuchprogram -x a *", []string{"nosuchprogram -x a b", "nosuchprogram a -x"}, []string{"nosuchprogram a", "nosuchprogram -x b"}},
	} {
		t.Run(tt.line, func(t *testing.T) {
			p, err := pattern.Parse(effects.KindRun, tt.line)
			if err != nil {
				t.Fatal(err)
			}
			p = p.Resolved(table)
			touches := func(text string) bool {
				for _, e := range runsOf(t, table, text) {
					if p.Touches(&e, pattern.Context{Project: "/h/p", Home: "/h", Cwd: "/h/p"}) {
						return true
					}
				}
				return false
			}
			for _, text := range tt.yes {
				if !touches(text) {
					t.Errorf("does not touch %s", text)
				}
			}
			for _, text := range tt.no {
				if touches(text) {
					t.Errorf("touches %s", text)
				}
			}
		})
	}
}

// Comparing by meaning makes a line deny more, and never allow more.
func TestMeaningAllowsNothing(t *testing.T) {
	table := shippedTable(t)
	ctx := pattern.Context{Project: "/h/p", Home: "/h", Cwd: "/h/p"}
	for line, text := range map[string]string{
		"rm -rf build": "rm -fr build", "curl https://a.example *": "curl -X GET https://a.example", "git push -f origin": "git push --force origin",
	} {
		p, err := pattern.Parse(effects.KindRun, line)
		if err != nil {
			t.Fatal(err)
		}
		all := runsOf(t, table, text)
		if p.Resolved(table).Match(&all[0], all, ctx) {
			t.Errorf("%s matches %s", line, text)
		}
	}
}

// The final * of a line that names a script does not count for allows: permd does
// not know what a script does with its arguments, and the script may change.
func TestOpenLineOfAScript(t *testing.T) {
	ctx := pattern.Context{Project: "/h/p", Home: "/h", Cwd: "/h/p"}
	for _, tt := range []struct {
		line, program, args string
		known, want         bool
	}{
		{"./check.sh *", "/h/p/check.sh", "", false, false},
		{"./check.sh --fast *", "/h/p/check.sh", "--fast", false, false},
		{"./check.sh", "/h/p/check.sh", "", false, true},
		{"./check.sh --fast", "/h/p/check.sh", "--fast", false, true},
		{"./check.sh --fast", "/h/p/check.sh", "--slow", false, false},
		{"/usr/bin/ls *", "/usr/bin/ls", "", true, true},
	} {
		p, err := pattern.Parse(effects.KindRun, tt.line)
		if err != nil {
			t.Fatal(err)
		}
		e := effects.Effect{Kind: effects.KindRun, Run: &effects.Run{
			Program: tt.program, Args: strings.Fields(tt.args), Known: tt.known, Cwd: "/h/p", Stdin: effects.StdinNone, HarmlessFrom: len(strings.Fields(tt.args)),
		}}
		if got := p.Match(&e, []effects.Effect{e}, ctx); got != tt.want {
			t.Errorf("%s allows %s %s: %v", tt.line, tt.program, tt.args, got)
		}
		if !p.Touches(&e, ctx) && tt.args != "--slow" {
			t.Errorf("%s does not deny %s %s", tt.line, tt.program, tt.args)
		}
	}
}

func TestHostLineAndSchemes(t *testing.T) {
	for _, tt := range []struct {
		line, scheme   string
		port           int
		match, touches bool
	}{
		{"h.example", "https", 443, true, true},
		{"h.example", "http", 8080, true, true},
		{"h.example", "wss", 443, true, true},
		{"h.example", "", 0, true, true},
		{"h.example", "", 443, true, true},
		{"h.example", "", 22, false, true},
		{"h.example", "ftp", 21, false, true},
		{"h.example", "ssh", 22, false, true},
		{"h.example", "gopher", 70, false, true},
		{"h.example:22", "ssh", 22, true, true},
		{"h.example:22", "https", 443, false, false},
		{"ssh://h.example", "ssh", 2222, true, true},
		{"ssh://h.example", "https", 443, false, false},
		{"ssh://h.example", "", 22, false, true},
		{"ftp://h.example:21", "ftp", 21, true, true},
		{"ftp://h.example:21", "ftp", 2121, false, false},
	} {
		p, err := pattern.Parse(effects.KindConnect, tt.line)
		if err != nil {
			t.Fatal(err)
		}
		if p.String() != tt.line {
			t.Errorf("%s prints as %s", tt.line, p)
		}
		e := effects.Effect{Kind: effects.KindConnect, Connect: &effects.Connect{Host: "h.example", Port: tt.port, Scheme: tt.scheme}}
		if got := p.Match(&e, nil, pattern.Context{}); got != tt.match {
			t.Errorf("%s allows %s port %d: %v", tt.line, tt.scheme, tt.port, got)
		}
		if got := p.Touches(&e, pattern.Context{}); got != tt.touches {
			t.Errorf("%s denies %s port %d: %v", tt.line, tt.scheme, tt.port, got)
		}
	}
}
