package tools

import (
	"fmt"
	"strings"
	"testing"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/effectstest"
)

// TestSecretSearchTools is TestSecrets for tools with a folder and a pattern.
func TestSecretSearchTools(t *testing.T) {
	for _, tt := range []struct {
		name, agent, tool, input string
		want                     bool
	}{
		{"everywhere", "claude-code", "Grep", `{"pattern":"KEY"}`, true},
		{"a folder with one", "claude-code", "Grep", `{"pattern":"KEY","path":"config"}`, true},
		{"a folder without", "claude-code", "Grep", `{"pattern":"KEY","path":"src"}`, false},
		{"what git leaves out", "claude-code", "Grep", `{"pattern":"KEY","path":"deploy"}`, false},
		{"only code", "claude-code", "Grep", `{"pattern":"KEY","glob":"*.{ts,tsx}"}`, false},
		{"only a type of code", "claude-code", "Grep", `{"pattern":"KEY","type":"go"}`, false},
		{"another type", "claude-code", "Grep", `{"pattern":"KEY","type":"yaml"}`, true},
		{"code and more", "claude-code", "Grep", `{"pattern":"KEY","glob":"*.{ts,env}"}`, true},
		{"names", "claude-code", "Glob", `{"pattern":"**/*"}`, false},
		{"names of a folder", "claude-code", "LS", `{"path":"infra"}`, false},
		{"another agent", "gemini-cli", "search_file_content", `{"pattern":"KEY"}`, true},
		{"many files", "gemini-cli", "read_many_files", `{"paths":["infra/**"]}`, true},
		{"many files of code", "gemini-cli", "read_many_files", `{"paths":["infra/**/*.ts"]}`, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := *toolWorld(t)
			w.FS, w.Table = effectstest.IndexOf(effectstest.SecretFiles()), effectstest.Table(t)
			r := w.Effects(agentCall(tt.agent, tt.tool, tt.input))
			got := false
			for i := range r.Effects {
				got = got || r.Effects[i].Kind == effects.KindRead && r.Effects[i].Tags.Has(effects.Secret)
			}
			if got != tt.want {
				t.Errorf("secret %v, want %v; %+v", got, tt.want, r.Effects)
			}
		})
	}
}

// TestPatternsOfTools tests that the paths a pattern may match are in its folder, or are
// effects of their own. The matches were compared with npm's glob (9 to 13), which agents
// use.
func TestPatternsOfTools(t *testing.T) {
	const claude, gemini = "claude-code", "gemini-cli"
	for _, tt := range []struct {
		agent, tool, input string
		want               string // besides reads in the project
	}{
		{gemini, "read_many_files", `{"paths":["src/**/*.{ts,tsx}","docs/{a,b}.md","src/*.config.{js,ts}","src/[a-z]*.go","src/.[a-z]*"]}`, ""},
		{gemini, "read_many_files", `{"paths":["[.][.]/x"]}`, "unknown"},
		{gemini, "read_many_files", `{"paths":[".[.]/x"]}`, "unknown"},
		{gemini, "read_many_files", `{"paths":["{.,x}./x"]}`, "unknown"},
		{gemini, "read_many_files", `{"paths":["src/.{.,x}/.{.,x}/x"]}`, "unknown"},
		{gemini, "read_many_files", `{"paths":["src/{a,b}/{.,x}{.,x}/x"]}`, "unknown"},
		{gemini, "read_many_files", `{"paths":["src/@(.)./x"]}`, "unknown"},
		{gemini, "read_many_files", `{"paths":["docs/a","src/../../x/*"]}`, "read /home/ana/src/x/**"},
		{claude, "Glob", `{"pattern":"src/**/*.{ts,tsx}"}`, ""},
		{claude, "Glob", `{"pattern":"src/{.,x}./*"}`, "unknown"},
		{claude, "Grep", `{"pattern":"x","path":"docs","glob":"**/*.{ts,tsx}"}`, ""},
		{gemini, "search_file_content", `{"pattern":"x","dir_path":"docs","include":"src/**/*.ts"}`, ""},
		{gemini, "search_file_content", `{"pattern":"x","dir_path":"docs","include":"[.][.]/x"}`, "unknown"},
		// Links among what is read.
		{gemini, "read_many_files", `{"paths":["links/*/id_rsa"]}`, "read /home/ana/.ssh/**"},
		{gemini, "read_many_files", `{"paths":["links/**"]}`, "read /home/ana/.ssh/**"},
		{gemini, "read_many_files", `{"paths":["vendor/**/*.md"]}`, "read /home/ana/note.md"},
		{gemini, "read_many_files", `{"paths":["node_modules/.bin/*"]}`, ""},
		{gemini, "search_file_content", `{"pattern":"x","dir_path":"links"}`, ""}, // it follows none
		{gemini, "read_many_files", `{"paths":["many/*"]}`, "unknown"},
	} {
		t.Run(tt.input, func(t *testing.T) {
			fs := effectstest.Files().File("/home/ana/.ssh/id_rsa", "").File("/home/ana/note.md", "").
				Link(effectstest.Cwd+"/links/keys", "/home/ana/.ssh").Link(effectstest.Cwd+"/vendor/a/b.md", "/home/ana/note.md").
				File(effectstest.Cwd+"/node_modules/x/x.js", "").Link(effectstest.Cwd+"/node_modules/.bin/x", "../x/x.js")
			for i := range 4100 {
				if !strings.Contains(tt.input, "many") {
					break
				}
				fs.Link(fmt.Sprintf("%s/many/%d", effectstest.Cwd, i), "../src")
			}
			w := *toolWorld(t)
			w.FS, w.Table = effectstest.IndexOf(fs), effectstest.Table(t)
			c := agentCall(tt.agent, tt.tool, tt.input)
			c.Cwd = effectstest.Cwd
			var got []string
			for _, e := range w.Effects(c).Effects {
				switch {
				case e.Kind != effects.KindRead:
					got = append(got, string(e.Kind))
				case e.File == nil || !e.Tags.Has(effects.InProject):
					got = append(got, "read "+readPath(&e))
				}
			}
			if len(got) > 1 || strings.Join(got, "; ") != tt.want {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}

// readPath returns the path of a read, with /** for all below it.
func readPath(e *effects.Effect) string {
	switch {
	case e.File == nil:
		return ""
	case e.File.Recursive:
		return e.File.Path + "/**"
	}
	return e.File.Path
}
