package main

import (
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestMCPTranscript: permd mcp says what docs/mcp.md shows, "…" standing for anything. The server is
// the one of these tests.
func TestMCPTranscript(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it runs a page of the documents; TestMCP is the quick one")
	}
	t.Parallel()
	doc, err := os.ReadFile("../../docs/mcp.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rules, _ := strings.Cut(string(doc), "## A conversation\n")
	_, rules, ok := strings.Cut(rules, "```yaml\n")
	rules, rest, closed := strings.Cut(rules, "```")
	_, shown, begun := strings.Cut(rest, "```\n")
	shown, _, ended := strings.Cut(shown, "```")
	if !ok || !closed || !begun || !ended {
		t.Fatal("docs/mcp.md has no conversation")
	}
	d := newTestDaemon(t)
	writeFile(t, filepath.Join(d.home, ".config", "permd", "policy.d", "rules.yaml"), rules)
	d.start(t)
	calls := filepath.Join(t.TempDir(), "calls")
	cmd := d.command("mcp", "--name", "shop", "--", os.Args[0], asMCPServer, "says it")
	cmd.Env = append(cmd.Env, "MCP_TEST_CALLS="+calls)
	cmd.Dir = d.project(t, nil)
	in, says := started(t, cmd)
	t.Cleanup(func() {
		in.Close()
		_ = cmd.Wait()
	})
	allowed := ""
	for line := range strings.Lines(regexp.MustCompile(`\n {9,}`).ReplaceAllString(shown, " ")) {
		who, text, ok := strings.Cut(strings.TrimSpace(line), " ")
		text = strings.TrimSpace(text)
		switch {
		case !ok:
			t.Fatalf("%q is no line of a conversation", line)
		case who == "client":
			if _, err := io.WriteString(in, text+"\n"); err != nil {
				t.Fatal(err)
			}
		case who == "permd":
			got, err := says.ReadString('\n')
			if err != nil {
				t.Fatal(err)
			}
			parts := strings.Split(text, "…")
			for i := range parts {
				parts[i] = regexp.QuoteMeta(parts[i])
			}
			if !regexp.MustCompile("^" + strings.Join(parts, ".*") + "\n$").MatchString(got) {
				t.Errorf("permd says\n%sand the document shows\n%s", got, text)
			}
			if m := regexp.MustCompile(`permd allow ([0-9a-f-]{36})`).FindStringSubmatch(got); m != nil {
				allowed = m[1]
			}
		case who == "person":
			if text != "permd allow …" || allowed == "" {
				t.Fatalf("%q, of the question %q", text, allowed)
			}
			d.permd(t, "allow", allowed)
		default:
			t.Fatalf("%q is no line of a conversation", line)
		}
	}
	ran, err := os.ReadFile(calls)
	if err != nil || string(ran) != "echo hi\nwipe all\n" {
		t.Errorf("the server ran %q, %v", ran, err)
	}
}
