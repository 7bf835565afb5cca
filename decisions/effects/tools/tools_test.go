package tools

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/effectstest"
	"github.com/permd/permd/decisions/effects/fsfake"
	"github.com/permd/permd/decisions/effects/programs"
	"github.com/permd/permd/internal/strictjson"
)

// testTable returns a table with a few programs, so that the tests of tools do not
// depend on the shipped one.
const testTable = `
shell: {system_folders: [/bin, /usr/bin], nothing: ["true"]}
programs:
  - {names: [ls, cat], readonly: true, operands: [reads...]}
  - {names: [make, y, curl], operands: [text...]}
  - {names: [rm], operands: [deletes...]}
  - {names: [bash, sh], interpreter: shell, stop: true, options: {inline: ["-c="], harmless: ["-l"]}, operands: [script, "text..."]}
`

func toolWorld(t testing.TB) *World {
	t.Helper()
	data, err := os.ReadFile("../../../rego/profiles.yaml")
	if err != nil {
		t.Fatal(err)
	}
	profiles, err := ParseProfiles(data)
	if err != nil {
		t.Fatal(err)
	}
	table, err := programs.ParseTable(map[string][]byte{"test.yaml": []byte(testTable)})
	if err != nil {
		t.Fatal(err)
	}
	fs := fsfake.New(
		effectstest.Cwd+"/.git/", effectstest.Cwd+"/src/vat.ts", effectstest.Cwd+"/docs/", "/home/ana/.bashrc", "/home/ana/notes.txt",
		"/home/ana/.ssh/id_ed25519", "/etc/hosts", "/tmp/", effectstest.Cwd+"/out -> /etc", "/home/ana/link -> "+effectstest.Cwd,
	)
	return &World{FS: fs, Table: table, Profiles: profiles}
}

func agentCall(agent, tool, input string) *effects.Call {
	c := &effects.Call{
		ID: "call_1", Protocol: "acp", Tool: effects.Tool{Name: tool}, Agent: effects.Party{Name: agent}, Cwd: effectstest.Cwd,
		User: effects.User{UID: 1000, Name: "ana", Home: "/home/ana"},
	}
	if input != "" {
		c.Input = strictjson.Value(input)
	}
	return c
}

// lines returns the effects of a result, one a line: the kind, its subject, and
// where it comes from. A claimed effect begins with "?", one that is allowed with
// another begins with "^".
func lines(r effects.Result) []string {
	out := make([]string, 0, len(r.Effects))
	for i := range r.Effects {
		e := &r.Effects[i]
		var what string
		switch e.Kind {
		case effects.KindRun:
			what = strings.Join(append([]string{e.Run.Program}, e.Run.Args...), " ")
		case effects.KindRead, effects.KindWrite, effects.KindDelete:
			what = strings.Replace(e.File.Path, effectstest.Cwd, ".", 1)
			if e.File.Recursive {
				what += "/**"
			}
		case effects.KindConnect:
			what = e.Connect.Host + " " + e.Connect.Method
		case effects.KindUse:
			what = e.Use.Server + ":" + e.Use.Tool
			if e.Use.Source != "" {
				what += " of " + e.Use.Source
			}
		default:
			what = "-"
		}
		line := fmt.Sprintf("%s %s @%s", e.Kind, what, e.From)
		if e.Inherent() {
			line = "^" + line
		}
		if e.Claimed {
			line = "?" + line
		}
		out = append(out, line)
	}
	return out
}

func codes(r effects.Result) []string {
	var out []string
	for _, d := range r.Defects {
		out = append(out, d.Code+" @"+d.At)
	}
	return out
}

type toolCase struct {
	name    string
	call    *effects.Call
	want    []string
	defects []string
	// missing is set if the call must not be fully known.
	missing bool
}

func runToolCases(t *testing.T, cases []toolCase) {
	t.Helper()
	w := toolWorld(t)
	for _, tt := range cases {
		t.Run(tt.name, func(t *testing.T) {
			if len(tt.call.Input) > 0 {
				if err := strictjson.Check(tt.call.Input); err != nil {
					t.Fatalf("the test's input is not valid: %v", err)
				}
			}
			r := w.Effects(tt.call)
			if diff := cmp.Diff(tt.want, lines(r)); diff != "" {
				t.Errorf("effects (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.defects, codes(r)); diff != "" {
				t.Errorf("defects (-want +got):\n%s", diff)
			}
			if got := r.Completeness != effects.Full; got != tt.missing || got != (r.Missing != "") {
				t.Errorf("completeness %s, missing %q; want missing %v", r.Completeness, r.Missing, tt.missing)
			}
			checkResult(t, r)
		})
	}
}

// checkResult checks what must be true of every result.
func checkResult(t testing.TB, r effects.Result) {
	t.Helper()
	if len(r.Effects) == 0 {
		t.Error("no effects")
	}
	for i := range r.Effects {
		e := &r.Effects[i]
		set := 0
		for _, have := range []bool{e.Run != nil, e.File != nil, e.Connect != nil, e.Use != nil} {
			if have {
				set++
			}
		}
		switch e.Kind {
		case effects.KindState, effects.KindMode, effects.KindQuestion, effects.KindUnknown:
			if set != 0 || e.Why == "" {
				t.Errorf("effect %d: %s with detail %d, why %q", i, e.Kind, set, e.Why)
			}
		default:
			if set != 1 {
				t.Errorf("effect %d: %s has %d details", i, e.Kind, set)
			}
		}
		if e.Text == "" || e.From == "" {
			t.Errorf("effect %d: %s has text %q, from %q", i, e.Kind, e.Text, e.From)
		}
		if e.Via != nil && (e.Via.Effect < 0 || e.Via.Effect >= len(r.Effects)) {
			t.Errorf("effect %d: via effect %d of %d", i, e.Via.Effect, len(r.Effects))
		}
	}
}
