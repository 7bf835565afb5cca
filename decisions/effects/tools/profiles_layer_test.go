package tools

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/permd/permd/decisions/effects"
)

// layerProfiles is a file with the profile of an agent that has no shipped one.
const layerProfiles = `version: 1
shapes:
  team_shell:
    command: [script]
    harmless: [why]
    needs: [command]
agents:
  - id: teambot
    names: [teambot, Team Bot]
    beside: []
    tools:
      team_shell: [run_script]
      usual_read: [look]
      internal: [note]
`

func TestLayerProfiles(t *testing.T) {
	w := toolWorld(t)
	person, errs := w.Profiles.ParseLayer(map[string][]byte{"p.yaml": []byte(layerProfiles)}, false)
	if errs != nil {
		t.Fatal(errs[0])
	}
	if diff := cmp.Diff([]LayerAgent{{ID: "teambot", At: "p.yaml:8"}}, person.List()); diff != "" {
		t.Error(diff)
	}
	org, errs := w.Profiles.ParseLayer(map[string][]byte{"o.yaml": []byte(strings.Replace(layerProfiles, "names: [teambot, Team Bot]", "names: [cline, teambot]\n    redefines: true", 1))}, true)
	if errs != nil {
		t.Fatal(errs[0])
	}
	shipped := w.Profiles
	as := func(l *LayerProfiles, agent, tool, input string) effects.Result {
		w.Profiles = shipped.With(l)
		return w.Effects(agentCall(agent, tool, input))
	}
	for _, tt := range []struct {
		name        string
		got         effects.Result
		want        []string
		defects     int
		alsoWithout []string
	}{
		{"a person's", as(person, "team bot", "run_script", `{"script":"git log","why":"x"}`), []string{"run git log @rawInput.script"}, 0, []string{"use :run_script @tool"}},
		{"a member that is not listed", as(person, "teambot", "run_script", `{"script":"git log","as":"root"}`), []string{"run git log @rawInput.script"}, 1, []string{"use :run_script @tool"}},
		{"a tool that is not listed", as(person, "teambot", "other", `{}`), []string{"use :other @tool"}, 0, []string{"use :other @tool"}},
		{"a usual name that it does not list", as(person, "teambot", "bash", `{"command":"ls"}`), []string{"use :bash @tool", "run ls @rawInput.command"}, 0,
			[]string{"use :bash @tool", "run ls @rawInput.command"}},
		{"a shape of permd's", as(person, "teambot", "look", `{"path":"a"}`), []string{"read ./a @rawInput.path"}, 0, []string{"use :look @tool", "^read ./a @rawInput.path", "^write ./a @rawInput.path"}},
		{"a tool of the conversation", as(person, "teambot", "note", `{"command":"rm a"}`), []string{"use :note of agent @tool"}, 0,
			[]string{"use :note @tool", "run rm a @rawInput.command", "delete ./a @rawInput.command"}},
		{"org's", as(org, "Cline", "run_script", `{"script":"git log"}`), []string{"run git log @rawInput.script"}, 0, nil},
		{"a tool that org left out", as(org, "cline", "execute_command", `{"command":"ls"}`), []string{"use :execute_command @tool", "run ls @rawInput.command"}, 0, nil},
		{"another agent", as(person, "cline", "execute_command", `{"command":"ls","requires_approval":false}`), []string{"run ls @rawInput.command"}, 0, nil},
	} {
		if diff := cmp.Diff(tt.want, lines(tt.got)); diff != "" || len(tt.got.Defects) != tt.defects {
			t.Errorf("%s: %s, defects %q", tt.name, diff, codes(tt.got))
		}
		if diff := cmp.Diff(tt.alsoWithout, lines(effects.Result{Effects: tt.got.Unprofiled})); diff != "" && (tt.alsoWithout != nil || tt.got.Unprofiled != nil) {
			t.Errorf("%s: without the profile: %s", tt.name, diff)
		}
	}
	if shipped.byName["teambot"] != nil || shipped.With(nil) != shipped {
		t.Error("the shipped profiles have changed")
	}
	declared := []effects.DeclaredTool{*declaration(t, "look(path: read)")}
	if shipped.Declarable(effects.Party{Name: "teambot"}, declared) != nil || shipped.With(person).Declarable(effects.Party{Name: "teambot"}, declared) == nil {
		t.Error("a client may declare the tools of an agent whose profile the person wrote")
	}
}

// TestLayerProfileErrors has files that are wrong, each with where and a part of why.
func TestLayerProfileErrors(t *testing.T) {
	p := toolWorld(t).Profiles
	agent := func(more string) string {
		return "version: 1\nagents:\n  - id: a\n    names: [teambot]\n    beside: []\n" + more
	}
	for name, tt := range map[string]struct {
		text, want string
		org        bool
	}{
		"no version":                  {"agents: []\n", "p.yaml:1: version 0", false},
		"another version":             {"version: 2\n", "p.yaml:1: version 2", false},
		"not YAML":                    {"version: [\n", "p.yaml:", false},
		"two documents":               {"version: 1\n---\nversion: 1\n", "more than one document", false},
		"an alias":                    {"version: 1\nshapes: &a {}\nagents: *a\n", "p.yaml:2: anchors", false},
		"an unknown key":              {"version: 1\nagents:\n  - id: a\n    name: x\n", `p.yaml:4: unknown key "name"`, false},
		"a key twice":                 {"version: 1\nversion: 1\n", "p.yaml:2: the key", false},
		"what all agents share":       {"version: 1\ngeneric: {}\n", `unknown key "generic"`, false},
		"usual names":                 {"version: 1\nstandard: {}\n", `unknown key "standard"`, false},
		"another type":                {agent("    liveShell: maybe\n"), "p.yaml:6: liveShell is not true or false", false},
		"no names":                    {"version: 1\nagents:\n  - id: a\n", "p.yaml:3: agent \"a\": has no id or no name", false},
		"a shipped agent":             {strings.Replace(agent(""), "teambot", "Claude-Code", 1), "p.yaml:3: agent \"a\": \"Claude-Code\" has a profile already", false},
		"a shipped agent, by org":     {strings.Replace(agent(""), "teambot", "cline", 1), "has a profile already", true},
		"redefining by a person":      {strings.Replace(agent("    redefines: true\n"), "teambot", "cline", 1), "has a profile already", false},
		"redefining what is new":      {agent("    redefines: true\n"), "redefines is for org", false},
		"redefining nothing":          {agent("    redefines: true\n"), "no name has a profile", true},
		"a shape that does not exist": {agent("    tools: {nothing: [x]}\n"), `shape "nothing" is not known`, false},
		"a shipped shape":             {"version: 1\nshapes:\n  read: {read: [x], needs: [read]}\n", "p.yaml:3: the shape \"read\" is one of permd's", false},
		"a shape without effects":     {"version: 1\nshapes:\n  x: {ignore: [a]}\n", "p.yaml:3: shape x: has no effect", false},
		"a server's tool":             {agent("    tools: {usual_read: [mcp__x__y]}\n"), "the name of a server's tool", false},
		"a hidden character":          {agent("    tools: {usual_read: [\"a\\u200b\"]}\n"), "hidden", false},
		"the same agent twice":        {agent("  - id: b\n    names: [TEAMBOT]\n"), "p.yaml:6: agent \"b\": the name \"TEAMBOT\" stands twice", false},
		"the same id twice":           {agent("  - id: a\n    names: [b]\n"), "the id stands twice", false},
		"a shell without siblings":    {"version: 1\nagents:\n  - id: a\n    names: [b]\n    tools: {shell: [x]}\n", "does not say what its shell takes", false},
		"too large":                   {"version: 1\n# " + strings.Repeat("x", 1<<20), "longer than", false},
		"too many agents":             {"version: 1\nagents:\n" + manyAgents(maxLayerAgents+1), "more than 64 agents", false},
	} {
		t.Run(name, func(t *testing.T) {
			got, errs := p.ParseLayer(map[string][]byte{"p.yaml": []byte(tt.text)}, tt.org)
			if got != nil || len(errs) == 0 {
				t.Fatalf("no error, profiles %v", got)
			}
			if !slices.ContainsFunc(errs, func(e *ProfileError) bool { return strings.Contains(e.Error(), tt.want) }) {
				t.Errorf("errors %v, want %q", errs, tt.want)
			}
		})
	}
	if got, errs := p.ParseLayer(map[string][]byte{"p.yaml": []byte("# nothing\n")}, false); errs != nil || len(got.List()) != 0 {
		t.Errorf("a file with a comment: %v, %v", got, errs)
	}
}

func manyAgents(n int) string {
	var b strings.Builder
	for i := range n {
		id := strings.Repeat("x", i+1)
		b.WriteString("  - {id: " + id + ", names: [" + id + "]}\n")
	}
	return b.String()
}

func FuzzLayerProfiles(f *testing.F) {
	f.Add([]byte(layerProfiles), false)
	f.Add([]byte("version: 1\nagents: [{id: a, names: [cline], redefines: true}]"), true)
	p := toolWorld(f).Profiles
	f.Fuzz(func(t *testing.T, data []byte, org bool) {
		got, errs := p.ParseLayer(map[string][]byte{"p.yaml": data}, org)
		if (got == nil) != (errs != nil) {
			t.Fatalf("profiles %v, errors %v", got, errs)
		}
		for _, e := range errs {
			if e.File != "p.yaml" || e.Line < 0 || e.Text == "" {
				t.Errorf("error %+v", e)
			}
		}
		if got == nil {
			return
		}
		with := p.With(got)
		for i, a := range got.agents {
			for _, name := range got.names[i] {
				if p.of(effects.Party{Name: name}) != unknownAgent && !org {
					t.Errorf("%q has a profile of permd's", name)
				}
				if with.byName[strings.ToLower(name)][0] != a || a.personal == org {
					t.Errorf("%q: another profile, or personal is %t", name, a.personal)
				}
			}
		}
	})
}
