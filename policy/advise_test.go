package policy

import (
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects/programs"
	"github.com/permd/permd/decisions/effects/tools"
	"github.com/permd/permd/internal/testload"
	"github.com/permd/permd/policy/diag"
	"github.com/permd/permd/policy/settings"
	"github.com/permd/permd/rego"
)

// What permd ships, read once: it is never changed.
var shippedProfiles = sync.OnceValues(func() (*tools.Profiles, error) { return tools.ParseProfiles(rego.Profiles()) })

// adviceOn checks files with the shipped table and profiles and returns the
// warnings and notes.
func adviceOn(t *testing.T, layer decisions.Layer, files map[string]string) []diag.Problem {
	t.Helper()
	f := folder(t, files)
	f.Layer = layer
	var err error
	if f.Table, err = programs.Shipped(); err != nil {
		t.Fatal(err)
	}
	if f.Profiles, err = shippedProfiles(); err != nil {
		t.Fatal(err)
	}
	report, err := f.Check(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if !report.Passed() {
		t.Fatalf("does not compile: %v", report.Problems)
	}
	return report.Problems
}

// placed is "line severity" of problems, for comparison.
func placed(list []diag.Problem) []string {
	out := []string{}
	for _, p := range list {
		out = append(out, fmt.Sprintf("%d %s", p.Line, p.Severity))
	}
	return out
}

func TestAdviseLists(t *testing.T) {
	tests := []struct {
		name  string
		lines string // of rules.yaml
		at    int    // the line of the only finding, 0 for none
		sev   diag.Severity
		want  string // in its text
		hint  string // in its hint
	}{
		{"shell", "allow:\n  run:\n    - bash *", 3, diag.SeverityWarning, `allow run "bash *" allows a program that runs any code`, "scripts/check"},
		{"shell alone", "allow:\n  run:\n    - sh", 3, diag.SeverityWarning, "any code", "name the script"},
		{"shell with a script", "allow:\n  run:\n    - bash scripts/test.sh", 0, "", "", ""},
		{"interpreter", "allow:\n  run:\n    - python3 *", 3, diag.SeverityWarning, "any code", "name the script"},
		{"interpreter of a version", "allow:\n  run:\n    - python3.12 *", 3, diag.SeverityWarning, "any code", ""},
		{"interpreter with a star", "allow:\n  run:\n    - python3 tools/*.py", 3, diag.SeverityWarning, "any code", ""},
		{"wrapper", "allow:\n  run:\n    - sudo *", 3, diag.SeverityWarning, "runs others", "name the program that it runs"},
		{"transparent", "allow:\n  run:\n    - env *", 3, diag.SeverityWarning, "never matches: env only runs another program", "name the program"},
		{"transparent deny", "deny:\n  run:\n    - timeout *", 3, diag.SeverityWarning, "never matches", "name the program"},
		{"deny of a shell", "deny:\n  run:\n    - bash *", 0, "", "", ""},
		{"targets", "allow:\n  run:\n    - make *", 3, diag.SeverityWarning, "whatever targets the project has", "one entry each"},
		{"npm's targets", "allow:\n  run:\n    - npm run *", 3, diag.SeverityWarning, "whatever targets", ""},
		{"a family of targets", "allow:\n  run:\n    - npm run test:*", 0, "", "", ""},
		{"a target with words of its own", "allow:\n  run:\n    - npm run lint *", 0, "", "", ""},
		{"a target", "allow:\n  run:\n    - make lint", 0, "", "", ""},
		{"a slip", "deny:\n  run:\n    - gti push *", 3, diag.SeverityNote, "does not know", "did you mean git?"},
		{"unknown", "allow:\n  run:\n    - frobnicate --all *", 3, diag.SeverityNote, "neither sub-commands nor", "command -v frobnicate"},
		{"unknown word for word", "allow:\n  run:\n    - frobnicate --all", 0, "", "", ""},
		{"by its path", "allow:\n  run:\n    - ./frobnicate --all", 0, "", "", ""},
		{"all sub-commands", "allow:\n  run:\n    - git *", 3, diag.SeverityNote, "narrower than it looks", `"git status *"`},
		{"a spelling of an option", "deny:\n  run:\n    - git push -f --no-such-option *", 3, diag.SeverityWarning, "misses other spellings of -f", "write --force"},
		{"the option itself", "deny:\n  run:\n    - git push --force *", 0, "", "", ""},
		{"a folder of credentials", "deny:\n  read:\n    - ~/.aws", 3, diag.SeverityWarning, "the folder itself, and no file in it", "~/.aws/**"},
		{"what is in it", "deny:\n  read:\n    - ~/.aws/**", 0, "", "", ""},
		{"an allow of the folder", "allow:\n  read:\n    - ~/.aws", 3, diag.SeverityWarning, "the folder itself, and no file in it", "whole path"},
		{"an allow of secrets", "allow:\n  read:\n    - ~/.ssh/*", 3, diag.SeverityWarning, "no file there that is guarded (secret)", "whole path"},
		{"an allow of secrets of the project", "allow:\n  read:\n    - ./.env.*", 3, diag.SeverityWarning, "guarded (secret)", "whole path"},
		{"an allow of pipelines", "allow:\n  write:\n    - ./.github/workflows/**", 3, diag.SeverityWarning, "guarded (ci)", "whole path"},
		{"reading pipelines", "allow:\n  read:\n    - ./.github/workflows/**", 0, "", "", ""},
		{"an allow of a secret", "allow:\n  read:\n    - ~/.aws/credentials", 0, "", "", ""},
		{"an allow of names of which few are guarded", "allow:\n  read:\n    - ~/notes/*", 0, "", "", ""},
		{"root", "allow:\n  write:\n    - /**", 3, diag.SeverityWarning, "all that lies below /", "name the folders"},
		{"homes", "allow:\n  read:\n    - /home/**", 3, diag.SeverityWarning, "all that lies below /home/", ""},
		{"a home", "allow:\n  write:\n    - /home/ana/**", 3, diag.SeverityWarning, "whole home", ""},
		{"the home", "allow:\n  write:\n    - ~/**", 3, diag.SeverityWarning, "whole home", ""},
		{"a folder", "allow:\n  write:\n    - ~/notes/**", 0, "", "", ""},
		{"the project", "allow:\n  write:\n    - ./**", 0, "", "", ""},
		{"deleting the project", "allow:\n  delete:\n    - ./**", 3, diag.SeverityWarning, "everything in the project", ""},
		{"deny of all", "deny:\n  write:\n    - /**", 0, "", "", ""},
		{"all tools", "allow:\n  use:\n    - github:*", 3, diag.SeverityWarning, "every tool of the server", `"server:get_*"`},
		{"of every server", "allow:\n  use:\n    - \"*:get_*\"", 3, diag.SeverityWarning, "of every server", "name the server"},
		{"deny of every server", "deny:\n  use:\n    - \"*:delete_*\"", 0, "", "", ""},
		{"own tool", "allow:\n  use:\n    - Bash", 3, diag.SeverityWarning, "never matches: Bash is an agent's own tool", "run, read"},
		{"denied own tool", "deny:\n  use:\n    - Read", 3, diag.SeverityWarning, "never matches", ""},
		{"somebody's tool", "allow:\n  use:\n    - frobnicate", 0, "", "", ""},
		{"denied anyway", "deny:\n  run:\n    - git push *\nallow:\n  run:\n    - git push origin main", 6, diag.SeverityWarning, `never counts: deny "git push *" in line 3`, "make the other one narrower"},
		{"asked anyway", "ask:\n  write:\n    - ./docs/**\nallow:\n  write:\n    - ./docs/adr/**", 6, diag.SeverityWarning, `never counts: ask "./docs/**"`, ""},
		{"denied in part", "deny:\n  run:\n    - git push --force *\nallow:\n  run:\n    - git push *", 0, "", "", ""},
		{"a wider path", "allow:\n  write:\n    - ./docs/**\n    - ./docs/adr/*.md", 4, diag.SeverityNote, `says nothing more than "./docs/**" in line 3`, "leave it out"},
		{"an exact path beside", "allow:\n  write:\n    - ./ci/**\n    - ./ci/deploy.yml", 0, "", "", ""},
		{"twice", "allow:\n  run:\n    - go vet\n    - go vet", 4, diag.SeverityNote, "nothing more", ""},
		{"words that need not be harmless", "allow:\n  run:\n    - go vet *\n    - go vet -vettool x", 0, "", "", ""},
		{"a named option", "allow:\n  run:\n    - frobnicate list * --json", 3, diag.SeverityNote, "neither sub-commands nor", ""},
		{"a named option that is not harmless", "allow:\n  run:\n    - git push * --force", 0, "", "", ""},
		{"a named option that is harmless", "allow:\n  run:\n    - go test * -v", 3, diag.SeverityWarning, "never matches: the program table says what -v does", "leave it out"},
		{"a named bundle that is harmless", "allow:\n  run:\n    - ls * -la", 3, diag.SeverityWarning, "says what -la does", "leave it out"},
		{"a named option that writes", "allow:\n  run:\n    - sort * -o x", 3, diag.SeverityWarning, "says what -o does", "before the *"},
		{"a named option of a target", "allow:\n  run:\n    - npm run lint * --prefix x", 0, "", "", ""},
		{"a named option of an interpreter", "allow:\n  run:\n    - python3 * -X dev", 3, diag.SeverityWarning, "any code", "name the script"},
		{"a named option of a wrapper", "allow:\n  run:\n    - sudo * -n", 3, diag.SeverityWarning, "runs others", "name the program"},
		{"a named option that is denied", "deny:\n  run:\n    - git push *\nallow:\n  run:\n    - git push * --force", 6, diag.SeverityWarning, "never counts", ""},
		{"named options of both", "allow:\n  run:\n    - git push *\n    - git push * --force", 0, "", "", ""},
		{"named options twice", "allow:\n  run:\n    - git push * --force\n    - git push * --force", 4, diag.SeverityNote, "nothing more", ""},
		{"a denied option beside", "deny:\n  run:\n    - git push * --force\nallow:\n  run:\n    - git push *", 0, "", "", ""},
		{"a wider host", "allow:\n  connect:\n    - \"*.example.com\"\n    - docs.example.com", 4, diag.SeverityNote, "nothing more", ""},
		{"another port", "allow:\n  connect:\n    - docs.example.com:443\n    - docs.example.com:8443", 0, "", "", ""},
		{"a wider tool", "allow:\n  use:\n    - github:get_*\n    - github:get_issue", 4, diag.SeverityNote, "nothing more", ""},
	}
	for _, tt := range testload.WithShort(t, 20, tests) {
		t.Run(tt.name, func(t *testing.T) {
			checkOne(t, adviceOn(t, decisions.User, map[string]string{"rules.yaml": tt.lines}), "rules.yaml", tt.at, tt.sev, tt.want, tt.hint)
		})
	}
}

// checkOne checks that there is one finding, or none for line 0.
func checkOne(t *testing.T, got []diag.Problem, file string, line int, sev diag.Severity, want, hint string) {
	t.Helper()
	if line == 0 {
		if len(got) > 0 {
			t.Errorf("found %+v, want nothing", got)
		}
		return
	}
	if len(got) != 1 {
		t.Fatalf("found %+v, want one thing", got)
	}
	p := got[0]
	if filepath.Base(p.File) != file || p.Line != line || p.Severity != sev || !strings.Contains(p.Text, want) ||
		p.Hint == "" || !strings.Contains(p.Hint, hint) {
		t.Errorf("found %s %s (%s), want %s at line %d: %q (%q)", p.Severity, p, p.Hint, sev, line, want, hint)
	}
}

func TestAdviseRego(t *testing.T) {
	connect := "allow contains \"x\" if {\n\tinput.effect.kind == \"connect\"\n\t%s\n}"
	write := "allow contains \"x\" if {\n\tinput.effect.kind == \"write\"\n\t%s\n}"
	run := "%s contains \"x\" if {\n\tinput.effect.kind == \"run\"\n\t%s\n}"
	tests := []struct {
		name  string
		rules string
		at    int
		sev   diag.Severity
		want  string
		hint  string
	}{
		{"end of a host", fmt.Sprintf(connect, `endswith(input.effect.host, "example.com")`), 5, diag.SeverityWarning, `ends with "example.com" may be a host of somebody else`, `".example.com"`},
		{"end from a dot", fmt.Sprintf(connect, `endswith(input.effect.host, ".example.com")`), 0, "", "", ""},
		{"part of a host", fmt.Sprintf(connect, `contains(input.effect.host, "example")`), 5, diag.SeverityWarning, "contains", "whole host"},
		{"beginning of a host", fmt.Sprintf(connect, `startswith(input.effect.host, "docs.")`), 5, diag.SeverityWarning, "starts with", "whole host"},
		{"by a variable", fmt.Sprintf(connect, "h := input.effect.host\n\tendswith(h, \"example.com\")"), 6, diag.SeverityWarning, "ends with", ""},
		{"in a helper", "ours if endswith(input.effect.host, \"example.com\")\n" + fmt.Sprintf(connect, "ours"), 3, diag.SeverityWarning, "ends with", ""},
		{"a home in front of a path", fmt.Sprintf(write, `startswith(input.effect.path, "~/.aws")`), 5, diag.SeverityWarning, "never begins with \"~/.aws\"", "home_path"},
		{"a pattern of a home", fmt.Sprintf(write, `glob.match("~/.aws/**", ["/"], input.effect.path)`), 5, diag.SeverityWarning, "never begins", "home_path"},
		{"a pattern of any folder", fmt.Sprintf(write, `glob.match("**/.aws/*", ["/"], input.effect.path)`), 0, "", "", ""},
		{"a project's path from the root", fmt.Sprintf(write, `startswith(input.effect.project_path, "./docs/")`), 5, diag.SeverityWarning, "never begins", "docs/"},
		{"no such beginning", fmt.Sprintf(write, `not startswith(input.effect.path, "~/.aws/")`), 0, "", "", ""},
		{"a spelling among the words", fmt.Sprintf(run, "deny", "input.effect.program == \"git\"\n\tinput.effect.subcommand == \"push\"\n\t\"-f\" in input.effect.args"), 7, diag.SeverityWarning, "misses other spellings of -f", `"--force" in input.effect.flags`},
		{"a spelling of any program", fmt.Sprintf(run, "deny", `"-f" in input.effect.args`), 5, diag.SeverityNote, "misses other spellings of -f", "long names"},
		{"a spelling as an element", fmt.Sprintf(run, "deny", `input.effect.args[_] == "-f"`), 5, diag.SeverityNote, "misses other spellings of -f", "long names"},
		{"a spelling as the first word", fmt.Sprintf(run, "deny", `"-f" == input.effect.args[0]`), 5, diag.SeverityNote, "misses other spellings of -f", "long names"},
		{"an allow of a spelling", fmt.Sprintf(run, "allow", "input.effect.program == \"git\"\n\tinput.effect.subcommand == \"push\"\n\t\"-f\" in input.effect.args"), 0, "", "", ""},
		{"in a deny", strings.Replace(fmt.Sprintf(connect, `endswith(input.effect.host, "example.com")`), "allow", "deny", 1), 0, "", "", ""},
		{"negated", fmt.Sprintf(connect, `not endswith(input.effect.host, "example.com")`), 0, "", "", ""},
		{"pattern", fmt.Sprintf(connect, `regex.match("example\\.com", input.effect.host)`), 5, diag.SeverityWarning, "in the middle", "begin it with ^"},
		{"pattern with ends", fmt.Sprintf(connect, `regex.match("^(docs|api)\\.example\\.com$", input.effect.host)`), 0, "", "", ""},
		{"pattern without an end", fmt.Sprintf(connect, `regex.match("^docs\\.example\\.com", input.effect.host)`), 5, diag.SeverityWarning, "in the middle", ""},
		{"pattern from a dot", fmt.Sprintf(connect, `regex.match("\\.example\\.com$", input.effect.host)`), 0, "", "", ""},
		{"pattern with one way open", fmt.Sprintf(connect, `regex.match("^a\\.example$|b\\.example$", input.effect.host)`), 5, diag.SeverityWarning, "in the middle", ""},
		{"glob", fmt.Sprintf(connect, `glob.match("*example.com", ["/"], input.effect.host)`), 5, diag.SeverityWarning, "end alike", "*.example.com"},
		{"glob from a dot", fmt.Sprintf(connect, `glob.match("*.example.com", ["/"], input.effect.host)`), 0, "", "", ""},
		{"glob without an end", fmt.Sprintf(connect, `glob.match("docs.*", ["/"], input.effect.host)`), 5, diag.SeverityWarning, "begin alike", ""},
		{"beginning of a URL", fmt.Sprintf(connect, `startswith(input.effect.url, "https://example.com")`), 5, diag.SeverityWarning, "host of somebody else", "end the text with /"},
		{"beginning of a URL to its path", fmt.Sprintf(connect, `startswith(input.effect.url, "https://example.com/")`), 0, "", "", ""},
		{"part of a URL", fmt.Sprintf(connect, `contains(input.effect.url, "example.com")`), 5, diag.SeverityWarning, "contains", "input.effect.host"},
		{"beginning of a path", fmt.Sprintf(write, `startswith(input.effect.path, "/srv/app")`), 5, diag.SeverityWarning, "outside of the folder: /srv/appx", "end it with /"},
		{"folder", fmt.Sprintf(write, `startswith(input.effect.path, "/srv/app/")`), 0, "", "", ""},
		{"text", fmt.Sprintf(run, "allow", `startswith(input.effect.text, "run x")`), 0, "", "", ""},

		{"shell", fmt.Sprintf(run, "allow", `input.effect.program in {"bash", "git"}`), 3, diag.SeverityWarning, `allows "bash" with any words`, "input.effect.args"},
		{"shell with its words", fmt.Sprintf(run, "allow", "input.effect.program == \"bash\"\n\tinput.effect.args == [\"x.sh\"]"), 0, "", "", ""},
		{"shell in one project", "ours if input.project.root == \"/p\"\n" + fmt.Sprintf(run, "allow", "input.effect.program == \"bash\"\n\tours"), 0, "", "", ""},
		{"deny of a shell", fmt.Sprintf(run, "deny", `input.effect.program == "bash"`), 0, "", "", ""},
		{"transparent", fmt.Sprintf(run, "deny", `input.effect.program == "timeout"`), 3, diag.SeverityWarning, `never "timeout"`, "name the program"},
		{"a slip", fmt.Sprintf(run, "deny", `input.effect.program == "gti"`), 3, diag.SeverityNote, `does not know the program "gti"`, "git"},
		{"unknown", fmt.Sprintf(run, "deny", `input.effect.program == "frobnicate"`), 0, "", "", ""},
		{"two programs", fmt.Sprintf(run, "deny", "input.effect.program == \"git\"\n\tinput.effect.program == \"curl\""), 3, diag.SeverityWarning, `cannot be "git", "curl" at once`, "a rule for each"},
		{"two sets of programs", fmt.Sprintf(run, "deny", "input.effect.program in {\"git\", \"curl\"}\n\tinput.effect.program == \"curl\""), 0, "", "", ""},
		{"two kinds", "deny contains \"x\" if {\n\tinput.effect.kind == \"run\"\n\tinput.effect.kind == \"use\"\n}", 3, diag.SeverityWarning, "at once", ""},
		{"program in a system folder", fmt.Sprintf(run, "deny", `input.effect.program == "/usr/bin/git"`), 3, diag.SeverityWarning, "goes by its name", "input.effect.executable"},
		{"program by a relative path", fmt.Sprintf(run, "deny", `input.effect.program == "./build.sh"`), 3, diag.SeverityWarning, "is an absolute one", "input.project.root"},
		{"relative path", fmt.Sprintf(write, `input.effect.path == "docs/a.md"`), 3, diag.SeverityWarning, "absolute path", "project_path"},
		{"star in a path", fmt.Sprintf(write, `input.effect.path == "/srv/*"`), 3, diag.SeverityWarning, "a * stands for itself", "glob.match"},
		{"host in capitals", fmt.Sprintf(connect, `input.effect.host == "Example.com"`), 3, diag.SeverityWarning, "lower case", ""},
		{"host beyond ASCII", fmt.Sprintf(connect, `input.effect.host == "bücher.example"`), 3, diag.SeverityWarning, "in ASCII", "xn--bcher-kva.example"},
		{"host with a scheme", fmt.Sprintf(connect, `input.effect.host == "https://example.com"`), 3, diag.SeverityWarning, "no scheme", ""},
		{"host that is an address", fmt.Sprintf(connect, `input.effect.host == "::1"`), 0, "", "", ""},
		{"path from the project", fmt.Sprintf(write, `input.effect.project_path == "./a"`), 3, diag.SeverityWarning, "from the project's root", "docs/a.md"},
		{"spelling of an option", fmt.Sprintf(run, "deny", "input.effect.program == \"git\"\n\tinput.effect.subcommand == \"push\"\n\t\"-f\" in input.effect.flags"), 7, diag.SeverityWarning, "calls the option --force", "write --force"},
		{"the option", fmt.Sprintf(run, "deny", "input.effect.program == \"git\"\n\tinput.effect.subcommand == \"push\"\n\t\"--force\" in input.effect.flags"), 0, "", "", ""},
		{"own tool", "deny contains \"x\" if {\n\tinput.effect.kind == \"use\"\n\tinput.effect.tool == \"Bash\"\n}", 3, diag.SeverityWarning, "agent's own tool", "what its calls do"},
		{"tool of a server", "deny contains \"x\" if {\n\tinput.effect.kind == \"use\"\n\tinput.effect.server == \"x\"\n\tinput.effect.tool == \"Bash\"\n}", 0, "", "", ""},

		{"denied anyway", fmt.Sprintf(run, "deny", `input.effect.program == "git"`) + "\n" + fmt.Sprintf(run, "allow", "input.effect.program == \"git\"\n\tinput.effect.subcommand == \"status\""), 7, diag.SeverityWarning, "never counts: the deny at", "leave it out"},
		{"asked anyway", fmt.Sprintf(run, "ask", `input.effect.program == "git"`) + "\n" + fmt.Sprintf(run, "allow", "input.effect.program == \"git\"\n\tinput.effect.subcommand == \"status\""), 7, diag.SeverityWarning, "never counts: the ask at", ""},
		{"denied in part", fmt.Sprintf(run, "deny", "input.effect.program == \"git\"\n\tinput.effect.subcommand == \"push\"") + "\n" + fmt.Sprintf(run, "allow", `input.effect.program == "git"`), 0, "", "", ""},
		{"said before", fmt.Sprintf(run, "deny", `input.effect.program == "git"`) + "\n" + fmt.Sprintf(run, "deny", "input.effect.program == \"git\"\n\tinput.effect.subcommand == \"push\""), 7, diag.SeverityNote, "nothing more than the one at", ""},
		{"covers more", fmt.Sprintf(write, `input.effect.recursive == false`) + "\nallow contains {\"reason\": \"y\", \"covers\": [\"ci\"]} if {\n\tinput.effect.kind == \"write\"\n\tinput.effect.recursive == false\n\tinput.effect.project_path == \"a\"\n}", 0, "", "", ""},
		{"asks each time", fmt.Sprintf(run, "ask", `input.effect.program == "git"`) + "\nask contains {\"reason\": \"y\", \"remember\": false} if {\n\tinput.effect.kind == \"run\"\n\tinput.effect.program == \"git\"\n\tinput.effect.subcommand == \"push\"\n}", 0, "", "", ""},
	}
	for _, tt := range testload.WithShort(t, 15, tests) {
		t.Run(tt.name, func(t *testing.T) {
			text := "package permd.user\nimport rego.v2\n" + tt.rules + "\n"
			checkOne(t, adviceOn(t, decisions.User, map[string]string{"a.rego": text}), "a.rego", tt.at, tt.sev, tt.want, tt.hint)
		})
	}
}

// Some of a project's own rules do not count.
func TestAdviseProject(t *testing.T) {
	files := map[string]string{
		"rules.yaml": "deny:\n  run:\n    - make deploy\nallow:\n  run:\n    - make lint\n    - make test\n",
		"a.rego":     "package permd.project\nimport rego.v2\ndeny contains \"x\" if input.effect.program == \"x\"\n",
	}
	got := adviceOn(t, decisions.Project, files)
	if diff := cmp.Diff([]string{"1 note", "6 warning"}, placed(got)); diff != "" {
		t.Errorf("found %v (-want +got):\n%s", got, diff)
	}
	for _, p := range got {
		if p.Hint == "" {
			t.Errorf("no hint for %s", p)
		}
	}
	delete(files, "a.rego")
	if got := adviceOn(t, decisions.User, files); len(got) > 0 {
		t.Errorf("found %v in rules of a person", got)
	}
}

// The shipped rules have no warnings.
func TestAdviseShipped(t *testing.T) {
	files := map[string]string{}
	for name, data := range rego.Base() {
		if !strings.HasSuffix(name, "_test.rego") && rego.InProfile(name, settings.ProfileBalanced) {
			files[filepath.Base(name)] = string(data)
		}
	}
	for _, p := range adviceOn(t, decisions.Base, files) {
		if p.Severity == diag.SeverityWarning {
			t.Errorf("%s (%s)", p, p.Hint)
		}
	}
}

// Advice does not prevent rules from being used.
func TestAdviceKeepsRules(t *testing.T) {
	r := CheckReport{Problems: adviceOn(t, decisions.User, map[string]string{"rules.yaml": "allow:\n  run: [\"bash *\", \"gti *\"]\n"})}
	if len(r.Problems) != 2 || !r.Passed() {
		t.Errorf("problems %v, passed %v", r.Problems, r.Passed())
	}
}
