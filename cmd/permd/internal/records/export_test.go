package records

import (
	"bytes"
	"encoding/csv"
	"strings"
	"testing"
	"time"

	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/policy/decisionlogs/event"
)

// sample is a record with what a record can have.
func sample() *decisions.Record {
	at := time.Date(2026, 3, 1, 12, 0, 0, 5, time.UTC)
	return &decisions.Record{
		Seq: 7, Time: at, Peer: decisions.Peer{UID: 1000, PID: 9}, Agent: effects.Party{Name: "a", Version: "1"}, Protocol: "acp", Tool: "=Bash", Project: "/p",
		ClaimedTitle: "t", LatencyNS: 12,
		Decision: decisions.Decision{
			ID: "d1", CallID: "c", Verdict: decisions.Ask, By: decisions.ByPolicy, Policy: decisions.PolicyRef{Digest: "digest"},
			Effects: []decisions.EffectDecision{{Kind: effects.KindRun, Text: "run x"}, {Kind: effects.KindRead, Text: "read y"}},
		},
		Details: []decisions.EffectDetail{{Words: []string{"x"}}, {Path: "/y"}},
		Answer:  &decisions.HumanAnswer{Time: at.Add(time.Second), Verdict: decisions.Allow, Choices: []string{"c1", "c2"}}, Ran: &at,
		Ended: &decisions.Ending{Time: at, As: "ran"},
	}
}

// opaEvent has members of EventV1 in OPA's package plugins/logs, by their names and types
// there. Importing it would add its dependencies.
type opaEvent struct {
	Labels     map[string]string `json:"labels"`
	DecisionID string            `json:"decision_id"`
	Bundles    map[string]struct {
		Revision string `json:"revision,omitempty"`
	} `json:"bundles,omitempty"`
	Path        string         `json:"path,omitempty"`
	Input       *any           `json:"input,omitempty"`
	Result      *any           `json:"result,omitempty"`
	RequestedBy string         `json:"requested_by,omitempty"`
	Timestamp   time.Time      `json:"timestamp"`
	Metrics     map[string]any `json:"metrics,omitempty"`
	Custom      map[string]any `json:"custom,omitempty"`
}

// TestEvents: OPA's type of an event has every member of ours, in its type.
func TestEvents(t *testing.T) {
	for name, rec := range map[string]*decisions.Record{"whole": sample(), "unreadable": {Seq: 8, Time: time.Unix(1, 0).UTC(), Decision: decisions.Decision{ID: "d2"}, Unreadable: "damaged"}} {
		var out bytes.Buffer
		if err := cli.PrintJSON(&out, event.Of(rec, map[string]string{"app": "permd"})); err != nil {
			t.Fatal(err)
		}
		var e opaEvent
		if err := strictjson.Unmarshal(out.Bytes(), &e); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if e.DecisionID != rec.Decision.ID || !e.Timestamp.Equal(rec.Time) || e.Labels["app"] != "permd" || (e.Result == nil) != (rec.Unreadable != "") {
			t.Errorf("%s: %+v", name, e)
		}
		if name == "whole" && (e.Bundles["permd"].Revision != "digest" || (*e.Result).(map[string]any)["verdict"] != "ask" || e.Metrics["timer_server_handler_ns"] != 12.0) {
			t.Errorf("%+v", e)
		}
	}
}

// TestTableCells checks that each cell is in its column, and that none is a formula.
func TestTableCells(t *testing.T) {
	var out bytes.Buffer
	w := csv.NewWriter(&out)
	_ = w.WriteAll([][]string{csvHeader(), csvRow(sample())}) // what it wrote is read
	rows, err := csv.NewReader(&out).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	have := map[string]string{}
	for i, name := range rows[0] {
		have[name] = rows[1][i]
	}
	for name, want := range map[string]string{
		"seq": "7", "decision_id": "d1", "verdict": "ask", "answer": "allow", "choices": "c1 c2", "ended_as": "ran", "tool": "'=Bash", "project": "/p",
		"effects": "run x; read y", "policy": "digest", "unreadable": "", "uid": "1000", "latency_ns": "12",
	} {
		if have[name] != want {
			t.Errorf("%s is %q, want %q: %s", name, have[name], want, strings.Join(rows[1], ","))
		}
	}
}

func TestFormulas(t *testing.T) {
	for _, cell := range []string{"=1", "+1", "-1", "@x", "'x", " =1", "\"=1", "\u00a0=1", "\uff1d1", "\uff0b1", "\uff0d1", "\uff201"} {
		if !mayBeFormula(cell) {
			t.Errorf("%q is not taken for a formula", cell)
		}
	}
	for _, cell := range []string{"", "run x = y", "a@b", "7"} {
		if mayBeFormula(cell) {
			t.Errorf("%q is taken for a formula", cell)
		}
	}
}
