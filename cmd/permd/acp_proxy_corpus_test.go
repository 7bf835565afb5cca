package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/permd/permd/internal/testload"
)

const (
	acpSamples = "../../socket/acp/testdata"
	sampleCwd  = "/home/ana/src/shop"
)

// proxySample is one entry of the index of the samples.
type proxySample struct {
	File       string  `json:"file"`
	Agent      string  `json:"agent"`
	Version    string  `json:"version"`
	SafeAllow  *string `json:"safeAllow"`
	SafeReject *string `json:"safeReject"`
}

func readProxySamples(t *testing.T) (list []proxySample) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(acpSamples, "index.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &list); err != nil {
		t.Fatal(err)
	}
	return list
}

// TestProxySamples sends agents' requests of each known form, under rules that
// allow, that deny, and the shipped ones. permd's answers must select a safe
// option, and the client must be asked once about each other request.
func TestProxySamples(t *testing.T) {
	if testing.Short() {
		t.Skip("long: the whole corpus of requests; TestProxyForms is the quick one")
	}
	t.Parallel()
	const all = `["secret", "startup", "vcs", "agent_config", "ci", "permd", "metadata_service", "unknown"]`
	for _, tt := range []struct{ name, rego string }{
		{"shipped rules", ""},
		{"all is allowed", `allow contains {"reason": "all", "covers": ` + all + `} if input.effect.kind != ""`},
		{"all is denied", `deny contains "none" if input.effect.kind != ""`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d := newTestDaemon(t)
			if tt.rego != "" {
				d.policy(t, "all.rego", tt.rego)
			}
			d.start(t)
			samples := slices.DeleteFunc(readProxySamples(t), func(s proxySample) bool { return strings.HasSuffix(s.File, ".jsonl") })
			if len(samples) < 45 {
				t.Errorf("only %d samples", len(samples))
			}
			samples = testload.SampleOf(t, 15, samples, func(s proxySample) string { return s.Agent })
			answered := 0
			for i := range samples {
				if d.sample(t, &samples[i], tt.name) {
					answered++
				}
			}
			// Rules that never apply would test nothing.
			if tt.rego != "" && answered < len(samples)/6 {
				t.Errorf("permd answered %d of %d", answered, len(samples))
			}
		})
	}
}

// sample has a sample's request pass, and reports whether permd answered it.
func (d *testDaemon) sample(t *testing.T, s *proxySample, rules string) (answered bool) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(acpSamples, s.File))
	if err != nil {
		t.Fatal(err)
	}
	line := compacted(t, string(data))
	var msg struct {
		ID     json.RawMessage
		Params struct{ SessionID string }
	}
	if err := json.Unmarshal(data, &msg); err != nil {
		t.Fatal(err)
	}
	protocol := "1"
	if strings.Contains(s.File, "v2") {
		protocol = "2"
	}
	r := d.relay(t)
	r.begin(t, s.Agent, s.Version, protocol, msg.Params.SessionID, sampleCwd)
	say(t, r.agent, line)
	say(t, r.agent, `{"jsonrpc":"2.0","method":"_test/mark"}`)
	shown := hear(t, r.fromAgent)
	if answered = strings.Contains(shown, "_test/mark"); answered {
		r.checkSafe(t, s, hear(t, r.agentIn), rules)
	} else {
		if got := unshown(t, line, shown); got != line {
			t.Errorf("%s: the client was sent\n%s\nof\n%s", s.File, shown, line)
		}
		if got := hear(t, r.fromAgent); got != `{"jsonrpc":"2.0","method":"_test/mark"}` {
			t.Errorf("%s: the client was sent %q too", s.File, got)
		}
		passes(t, r.toAgent, r.agentIn, `{"jsonrpc":"2.0","id":`+string(msg.ID)+`,"result":{"outcome":{"outcome":"cancelled"}}}`)
	}
	r.end(t) // nobody receives anything more
	return answered
}

// checkSafe looks at an answer of permd.
func (r *relayed) checkSafe(t *testing.T, s *proxySample, answer, rules string) {
	t.Helper()
	var got struct {
		Result struct {
			Outcome struct{ Outcome, OptionID string }
			Action  string
		}
	}
	if err := json.Unmarshal([]byte(answer), &got); err != nil {
		t.Fatal(err)
	}
	safe := map[string]*string{"all is allowed": s.SafeAllow, "all is denied": s.SafeReject}
	o := got.Result.Outcome
	is := func(option *string) bool { return option != nil && o.Outcome == "selected" && o.OptionID == *option }
	switch {
	case got.Result.Action == "decline" && rules == "all is denied":
	case rules != "all is allowed" && s.SafeReject == nil && o.Outcome == "cancelled":
	case is(s.SafeReject) && rules != "all is allowed":
	case is(s.SafeAllow) && rules != "all is denied":
	default:
		t.Errorf("%s, %s: permd answered %s, want %v", s.File, rules, answer, safe[rules])
	}
}

// TestProxyTranscripts plays whole conversations of agents: everything that one
// side sends reaches the other, in order, except the requests that permd answers.
func TestProxyTranscripts(t *testing.T) {
	if testing.Short() {
		t.Skip("long: the whole corpus of conversations; TestProxyChain is the quick one")
	}
	t.Parallel()
	names, err := filepath.Glob(filepath.Join(acpSamples, "transcript-*.jsonl"))
	if err != nil || len(names) < 4 {
		t.Fatalf("%d transcripts, %v", len(names), err)
	}
	for _, tt := range []struct{ name, rego string }{
		{"shipped rules", ""},
		{"all is denied", `deny contains "none" if input.effect.kind != ""`},
	} {
		d := newTestDaemon(t)
		if tt.rego != "" {
			d.policy(t, "all.rego", tt.rego)
		}
		d.start(t)
		for _, name := range names {
			t.Run(tt.name+" "+filepath.Base(name), func(t *testing.T) {
				d.transcript(t, name)
			})
		}
	}
}

func (d *testDaemon) transcript(t *testing.T, name string) {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	r := d.relay(t)
	own := map[string]bool{} // ids that permd has answered
	for n, line := range pairLines(data) {
		var row struct {
			Dir string
			Msg json.RawMessage
		}
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			t.Fatal(err)
		}
		msg, w := string(row.Msg), parsePair(string(row.Msg))
		mark := fmt.Sprintf(`{"jsonrpc":"2.0","method":"_test/mark","params":%d}`, n)
		if row.Dir == "a2c" {
			say(t, r.agent, msg)
			say(t, r.agent, mark)
			received := hear(t, r.fromAgent)
			switch {
			case received != mark:
				// Rewritten messages have no spaces.
				if tight := compacted(t, msg); received != msg && unshown(t, tight, compacted(t, received)) != tight {
					t.Errorf("the client received %q of %q", received, msg)
				}
				if received = hear(t, r.fromAgent); received != mark {
					t.Errorf("the client received %q too", received)
				}
			case w.request(): // permd answers
				own[string(w.ID)] = true
				if answer := parsePair(hear(t, r.agentIn)); string(answer.ID) != string(w.ID) || answer.Method != "" {
					t.Errorf("permd answered %+v to %s", answer, msg)
				}
			case w.Method != "$/cancel_request": // of a request that has its answer
				t.Errorf("the client did not hear %q", msg)
			}
			continue
		}
		say(t, r.toAgent, msg)
		say(t, r.toAgent, mark)
		received := hear(t, r.agentIn)
		switch {
		case received == msg:
			if received = hear(t, r.agentIn); received != mark {
				t.Errorf("the agent received %q too", received)
			}
		case received == mark && w.Method == "" && own[string(w.ID)]: // an answer too many
		case received == mark && w.request():
			refused := parsePair(hear(t, r.fromAgent))
			if string(refused.ID) != string(w.ID) {
				t.Errorf("the client received %+v of its %s", refused, msg)
			}
			own[string(w.ID)] = true
		default:
			t.Errorf("the agent received %q of %q", received, msg)
		}
	}
	r.end(t)
}

func compacted(t *testing.T, msg string) string {
	t.Helper()
	var b bytes.Buffer
	if err := json.Compact(&b, []byte(msg)); err != nil {
		t.Fatal(err)
	}
	return b.String()
}
