package main

import (
	"fmt"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/permd/permd/internal/eventually"
)

// TestRAPGatewayTranscript runs the transcript in docs/tool-servers.md, in which … matches
// any text.
func TestRAPGatewayTranscript(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it goes through a page; TestRAPGateway is the quick one")
	}
	t.Parallel()
	doc, err := os.ReadFile("../../docs/tool-servers.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, ok := strings.Cut(string(doc), "```\nPOST /invoke ")
	text, _, closed := strings.Cut(text, "\n```")
	if !ok || !closed {
		t.Fatal("there is no transcript")
	}
	// Each line has a label and JSON, which goes on below the JSON.
	lines := regexp.MustCompile(`\n {30,}`).ReplaceAllString("POST /invoke "+text, "")
	var steps [][2]string
	for line := range strings.Lines(lines) {
		label, body, ok := strings.Cut(strings.TrimSpace(line), "{")
		if !ok {
			t.Fatalf("no JSON in %q", line)
		}
		steps = append(steps, [2]string{strings.TrimSpace(label), "{" + body})
	}
	g := newRAPGateway(t)
	tool := newGateTool(t)
	tool.answers(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		fmt.Fprint(w, "purged")
	})
	g.serve(fmt.Sprintf(`name: warehouse
callbacks: [%q]
tools:
- {name: purge_bin, description: Purge., inputSchema: {type: object}, annotations: {destructive: true}, url: %q}
`, g.callback.URL, tool.URL))
	fits := func(got, shown string) {
		t.Helper()
		shown = strings.ReplaceAll(shown, "http://127.0.0.1:7410", g.address)
		parts := strings.Split(shown, "…")
		for i := range parts {
			parts[i] = regexp.QuoteMeta(parts[i])
		}
		if !regexp.MustCompile("^" + strings.Join(parts, ".*") + "$").MatchString(strings.TrimSpace(got)) {
			t.Errorf("it is\n%s\nand the document shows\n%s", got, shown)
		}
	}
	var response string
	for _, s := range steps {
		switch label, shown := s[0], s[1]; label {
		case "POST /invoke":
			g.send(http.MethodPost, "/invoke", strings.Replace(strings.Replace(shown, "http://127.0.0.1:9000", g.callback.URL, 1), "…", rapSecret, 1))
		case "200":
			fits("{}", shown)
		case "callback":
			m := g.next()
			response, _ = m["response_url"].(string)
			fits(g.raw(m), shown)
		case "POST /user_choice_response/…":
			if status := g.post(response, shown); status != http.StatusOK {
				t.Errorf("the answer: status %d", status)
			}
		case "the tool gets":
			eventually.Holds(t, "the tool was called", func() bool {
				got := tool.ran()
				if got != nil {
					want(t, "the tool", []string{"POST / " + shown}, got)
				}
				return got != nil
			})
		default:
			t.Errorf("a line of another kind: %q", label)
		}
	}
	want(t, "lines", 7, len(steps))
}

// raw is a message to the runtime, as it was sent.
func (g *rapGateway) raw(m map[string]any) string {
	g.mu.Lock()
	defer g.mu.Unlock()
	id, _ := m["id"].(string)
	kind, _ := m["type"].(string)
	return g.bodies[id+" "+kind]
}
