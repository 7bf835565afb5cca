package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/permd/permd/decisions"
)

// aapWire is a proxy between a gateway and its server that records their turns.
type aapWire struct {
	*httptest.Server
	mu   sync.Mutex
	said []string // bodies of requests and answers, in turns
}

func newAAPWire(t *testing.T, to string) *aapWire {
	t.Helper()
	w := &aapWire{}
	w.Server = httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		req, err := http.NewRequestWithContext(r.Context(), r.Method, to+strings.TrimPrefix(r.URL.RequestURI(), "/v1"), strings.NewReader(string(body)))
		if err != nil {
			t.Error(err)
			return
		}
		req.Header = r.Header.Clone()
		res, err := http.DefaultTransport.RoundTrip(req)
		if err != nil {
			t.Error(err)
			return
		}
		defer res.Body.Close()
		answer, _ := io.ReadAll(res.Body)
		if strings.HasSuffix(r.URL.Path, "/turns") {
			w.mu.Lock()
			w.said = append(w.said, string(body), string(answer))
			w.mu.Unlock()
		}
		out.Header().Set("Content-Type", res.Header.Get("Content-Type"))
		out.WriteHeader(res.StatusCode)
		_, _ = out.Write(answer)
	}))
	t.Cleanup(w.Close)
	return w
}

// shownEvents writes the events of a stream as the document does.
func shownEvents(t *testing.T, stream string) string {
	t.Helper()
	var list []string
	for _, m := range regexp.MustCompile(`(?m)^event: (\S+)\r?\ndata: (.*?)\r?$`).FindAllStringSubmatch(stream, -1) {
		var in struct {
			aapCall

			Content    json.RawMessage
			StopReason string
			Text       json.RawMessage
		}
		if err := json.Unmarshal([]byte(m[2]), &in); err != nil {
			t.Fatalf("%s: %v", m[2], err)
		}
		switch m[1] {
		case "tool_call":
			list = append(list, "tool_call "+in.ID+" "+in.Name+" "+string(in.Input))
		case "tool_result":
			list = append(list, "tool_result "+in.ID+" "+string(in.Content))
		case "text":
			list = append(list, "text "+string(in.Text))
		case "turn_stop":
			list = append(list, "turn_stop "+in.StopReason)
		}
	}
	return strings.Join(list, ", ")
}

// TestAAPTranscript has the conversation of docs/tool-servers.md through a gateway, with the
// rules there, and compares each line with what was said.
func TestAAPTranscript(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it is a page of the documents; TestAAPConversation is the quick one")
	}
	t.Parallel()
	page := readPage(t, "../../docs/tool-servers.md")
	_, rules, ok := strings.Cut(page, "```rego\n")
	rules, _, ended := strings.Cut(rules, "```\n")
	_, shown, begun := strings.Cut(page, "```text\nclient → gateway ")
	shown, _, closed := strings.Cut(shown, "\n```")
	if !ok || !ended || !begun || !closed {
		t.Fatal("docs/tool-servers.md has no conversation")
	}
	s := newAAPServer(t, calls(`c1 deploy_service `+production, `c2 deploy_service `+staging), says("Staging is up."))
	wire := newAAPWire(t, s.URL)
	d := newTestDaemon(t)
	rules = strings.NewReplacer("https://agents.example.com", wire.URL, "release-helper", "helper").Replace(rules)
	d.policy(t, "page.rego", strings.TrimPrefix(rules, "package permd.user\nimport rego.v2\n"))
	d.start(t)
	url, key := d.startGateway(t, wire.URL+"/v1")
	c := newPlainAAPOver(t, url, key, "message", nil)
	c.tools, c.enabled = nil, []aapTool{{Name: "deploy_service"}}
	c.open()

	got, first, client := map[string][]string{}, "", ""
	for line := range strings.Lines("client → gateway " + shown) {
		who, what, ok := strings.Cut(strings.TrimSpace(line), "  ")
		what = strings.TrimSpace(what)
		if !ok {
			t.Fatalf("%q is no line of a conversation", line)
		}
		if who == "client → gateway" {
			method, rest, _ := strings.Cut(what, " ")
			path, body, _ := strings.Cut(rest, " ")
			status, answer := c.do(method, strings.Replace(path, "sess_7Qm2", c.session, 1), json.RawMessage(body))
			if status != http.StatusOK {
				t.Fatalf("%s: %d %s", what, status, answer)
			}
			first, client = body, shownEvents(t, answer)
			continue
		}
		got[who] = append(got[who], what)
	}
	wire.mu.Lock()
	defer wire.mu.Unlock()
	if len(wire.said) != 4 {
		t.Fatalf("the gateway and its server say %q", wire.said)
	}
	if wire.said[0] == first {
		wire.said[0] = "the same"
	}
	want(t, "gateway → server", got["gateway → server"], []string{wire.said[0], wire.said[2]})
	want(t, "gateway → permd", got["gateway → permd"], []string{"aap/permissions"})
	fits := func(name, shown, said string) {
		t.Helper()
		parts := strings.Split(shown, "…")
		for i := range parts {
			parts[i] = regexp.QuoteMeta(parts[i])
		}
		if !regexp.MustCompile("^" + strings.Join(parts, ".*") + "$").MatchString(said) {
			t.Errorf("%s: it is\n%s\nand the document shows\n%s", name, said, shown)
		}
	}
	for i, line := range got["server → gateway"] {
		fits("server → gateway", line, shownEvents(t, wire.said[1+2*i]))
	}
	fits("gateway → client", strings.Join(got["gateway → client"], ", "), client)
	decided := map[string]string{}
	for _, r := range d.records(t) {
		switch r.Decision.Verdict {
		case decisions.Allow:
			decided[r.Decision.CallID] = r.Decision.CallID + " granted"
		case decisions.Deny:
			decided[r.Decision.CallID] = r.Decision.CallID + " denied: " + r.Decision.Message
		case decisions.Ask:
		}
	}
	want(t, "permd → gateway", got["permd → gateway"], []string{decided["c1"] + "; " + decided["c2"]})
}
