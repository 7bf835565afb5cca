package imports

import (
	"strings"
	"testing"

	"github.com/permd/permd/policy/list"
)

// FuzzTranslate: whatever another tool's settings say, the lists that are made of them are
// lists that permd reads; settings are translated the same each time; and a file that
// cannot be read completely is an error and makes no rules.
func FuzzTranslate(f *testing.F) {
	for i, tool := range Tools {
		f.Add(uint8(i), sameRules[tool][1])
	}
	for _, text := range []string{
		`{"permissions": {"deny": ["Read(./.env)", "Bash(curl:*)", "WebFetch(domain:x.example)"], "allow": ["mcp__a__b", "Edit(docs/**)", "Bash(*)"]}}`,
		`{"permission": {"*": "ask", "bash": {"rm *": "deny"}, "edit": {"*.env": "deny"}}}`, "prefix_rule(pattern=[\"git\", [\"log\", \"show\"]], decision=\"allow\")\n", "[[rule]]\ntoolName = \"run_shell_command\"\ndecision = \"deny\"\n",
		`{"agent": {"tool_permissions": {"default": "deny"}}}`, `{"a": /* c */ 1,}`, "x:\n  - &a b\n  - *a\n",
	} {
		for i := range Tools {
			f.Add(uint8(i), text)
		}
	}
	f.Fuzz(func(t *testing.T, pick uint8, text string) {
		if len(text) > 1<<16 {
			return
		}
		tool := Tools[int(pick)%len(Tools)]
		name := home + "/" + sameRules[tool][0]
		im, err := tryTranslate(t, tool, name, text)
		if err != nil {
			if im != nil {
				t.Fatal("rules of a file that cannot be read")
			}
			return
		}
		again, err := tryTranslate(t, tool, name, text)
		if err != nil || len(again.Files) != len(im.Files) {
			t.Fatalf("translated again: %v", err)
		}
		for i, out := range im.Files {
			if again.Files[i] != out {
				t.Fatalf("translated again, %s differs:\n%s\n%s", out.Name, out.Text, again.Files[i].Text)
			}
			if !strings.HasSuffix(out.Name, ".yaml") {
				continue
			}
			if _, err := list.Parse(out.Name, []byte(out.Text)); err != nil {
				t.Fatalf("%s of %q is no list: %v\n%s", out.Name, text, err, out.Text)
			}
		}
		for _, n := range im.Notes {
			if n.Outcome == "" || n.At.Line < 0 || n.At.Line > strings.Count(text, "\n")+2 {
				t.Fatalf("the note %+v", n)
			}
		}
	})
}
