package setup

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/permd/permd/internal/strictjson"
)

// docsProgram is the permd of the documents.
const docsProgram = "/usr/local/bin/permd"

var codeBlock = regexp.MustCompile("(?ms)^```(\\w*)\n(.*?)^```$")

// TestACPDocs: docs/acp.md shows for each client what install writes or prints, and
// its tables have the same clients and agents.
func TestACPDocs(t *testing.T) {
	b, err := os.ReadFile("../../../../docs/acp.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(b), "\n## Set up a client\n")
	install, text, ok := strings.Cut(text, "\n## Set up a client by hand\n")
	hand, _, ok2 := strings.Cut(text, "\n## ")
	if !ok || !ok2 {
		t.Fatal("docs/acp.md has not the two parts on setting up a client")
	}
	shown := map[string]bool{}
	for _, m := range codeBlock.FindAllStringSubmatch(hand, -1) {
		shown[m[2]] = true
		switch m[1] {
		case "json":
			if err := strictjson.Check([]byte(m[2])); err != nil {
				t.Errorf("%v:\n%s", err, m[2])
			}
		case "lua", "elisp":
			if at := unbalanced(m[2]); at != "" {
				t.Errorf("at %s of:\n%s", at, m[2])
			}
		default:
			t.Errorf("a block of %q", m[1])
		}
	}
	for _, client := range acpClients() {
		agent, err := acpAgentOf("claude", nil)
		if err != nil {
			t.Fatal(err)
		}
		var want, settings string
		if client.path == nil {
			settings = client.where + " | shown"
			if want, err = client.snippet(docsProgram, agent); err != nil {
				t.Fatal(err)
			}
		} else {
			p, e, _ := acpPlaceOf(t, client.name, "claude")
			written, err := p.edit.install(nil, docsProgram)
			if err != nil {
				t.Fatal(err)
			}
			want = string(written)
			rel, err := filepath.Rel(e.home, p.path)
			if err != nil {
				t.Fatal(err)
			}
			settings = "`~/" + rel + "` | changed"
			if !strings.Contains(hand, "`~/"+rel+"`") {
				t.Errorf("by hand, nothing is said of %s", rel)
			}
		}
		if !shown[want] {
			t.Errorf("not shown for %s:\n%s", client.name, want)
		}
		delete(shown, want)
		if line := "| `" + client.name + "` | " + settings + " |\n"; !strings.Contains(install, line) {
			t.Errorf("there is no line %q", line)
		}
	}
	for text := range shown {
		t.Errorf("this is not what install does:\n%s", text)
	}
	for _, a := range acpAgents() {
		if line := "| `" + a.name + "` | `" + strings.Join(a.command, " ") + "` |\n"; !strings.Contains(install, line) {
			t.Errorf("there is no line %q", line)
		}
	}
	if got, want := strings.Count(install, "\n| `"), len(acpAgents())+len(acpClients()); got != want {
		t.Errorf("%d lines of tables, want %d", got, want)
	}
}

// unbalanced returns where the brackets and strings of a piece of Lua or Lisp do
// not match, "" if they do.
func unbalanced(text string) string {
	var open []byte
	pairs := map[byte]byte{')': '(', '}': '{', ']': '['}
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case '"':
			for i++; i < len(text) && text[i] != '"'; i++ {
				if text[i] == '\n' {
					return "the end of a line in a text"
				}
				if text[i] == '\\' {
					i++
				}
			}
			if i >= len(text) {
				return "a text without an end"
			}
		case '(', '{', '[':
			open = append(open, c)
		case ')', '}', ']':
			if len(open) == 0 || open[len(open)-1] != pairs[c] {
				return text[:i+1]
			}
			open = open[:len(open)-1]
		}
	}
	if len(open) > 0 {
		return "the end"
	}
	return ""
}

// TestACPSnippets: any words of a command are quoted so that they are read
// unchanged.
func TestACPSnippets(t *testing.T) {
	odd := []string{"/opt/my agent/bin", "--x", `a "b" \c`, "--", `\"`, "{}", "é"}
	agent, err := acpAgentOf(`my "agent"`, odd)
	if err != nil {
		t.Fatal(err)
	}
	for _, client := range acpClients() {
		if client.path != nil {
			continue
		}
		agent.agentShell = "mine"
		got, err := client.snippet(testProgram, agent)
		if err != nil {
			t.Fatal(err)
		}
		if at := unbalanced(got); at != "" {
			t.Errorf("%s: at %s of:\n%s", client.name, at, got)
		}
		last := -1
		for _, word := range append([]string{testProgram, "acp", "--"}, odd...) {
			quoted := `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(word) + `"`
			if at := strings.Index(got[last+1:], quoted); at < 0 {
				t.Errorf("%s: there is no %s in its place in:\n%s", client.name, quoted, got)
			} else {
				last += 1 + at
			}
		}
	}
	for _, client := range []string{"codecompanion", "avante", "agent-shell"} {
		c, err := acpClientOf(client)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.snippet(testProgram, &clientAgent{name: "nobody", label: "nobody"}); err == nil {
			t.Errorf("%s is told of an agent without a command", client)
		}
		for _, a := range acpAgents() {
			got, err := c.snippet(testProgram, &a)
			if err != nil && (client != "agent-shell" || a.agentShell != "") || err == nil && unbalanced(got) != "" {
				t.Errorf("%s, %s: %v\n%s", client, a.name, err, got)
			}
		}
	}
}
