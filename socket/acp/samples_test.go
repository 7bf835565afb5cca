package acp

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/socket"
)

// sample is one entry of testdata/index.json: the facts of an agent's message, and
// the options that are safe to select for allow and deny.
type sample struct {
	File       string      `json:"file"`
	Agent      string      `json:"agent"`
	Version    string      `json:"version"`
	SafeAllow  *string     `json:"safeAllow"`
	SafeReject *string     `json:"safeReject"`
	Facts      sampleFacts `json:"facts"`
}

type sampleFacts struct {
	Tool, Command, Cwd, URL string
	Commands, Paths         []string
	Question, ModeSwitch    bool
	Widening, Malformed     bool
	Unknown, NeedsMerge     bool
}

// message is one JSON-RPC message.
type message struct {
	ID     strictjson.Value `json:"id"`
	Method string           `json:"method"`
	Params strictjson.Value `json:"params"`
	Result strictjson.Value `json:"result"`
}

func readFile(t testing.TB, file string) []byte {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func readJSON(t testing.TB, file string, into any) {
	t.Helper()
	decode(t, file, readFile(t, file), into)
}

func decode(t testing.TB, what string, data []byte, into any) {
	t.Helper()
	if err := strictjson.Unmarshal(data, into); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

// index returns the entries of the single messages; each file has one.
func index(t testing.TB) []sample {
	t.Helper()
	var raw []struct {
		sample
		Facts strictjson.Value `json:"facts"`
	}
	readJSON(t, "testdata/index.json", &raw)
	byFile := map[string]bool{}
	var list []sample
	for _, r := range raw {
		byFile[r.File] = true
		if !strings.HasSuffix(r.File, ".json") {
			continue
		}
		s := r.sample
		s.Facts = readFacts(t, r.File, r.Facts)
		list = append(list, s)
	}
	files, err := filepath.Glob("testdata/*.json*")
	if err != nil || len(files) < 40 {
		t.Fatalf("%d samples, %v", len(files), err)
	}
	for _, f := range files {
		if base := filepath.Base(f); base != "index.json" && !byFile[base] {
			t.Errorf("%s is not in the index", f)
		}
	}
	return list
}

func readFacts(t testing.TB, file string, v strictjson.Value) (f sampleFacts) {
	t.Helper()
	o, err := strictjson.ParseObject(v)
	if err != nil {
		t.Fatalf("%s: facts: %v", file, err)
	}
	for _, m := range o {
		s, _ := strictjson.ParseString(m.Value)
		yes := strictjson.Kind(m.Value) == 't'
		switch m.Name {
		case "tool":
			f.Tool = s
		case "command":
			f.Command = s
		case "cwd":
			f.Cwd = s
		case "url":
			f.URL = s
		case "commands":
			decode(t, file, m.Value, &f.Commands)
		case "paths":
			decode(t, file, m.Value, &f.Paths)
		case "question":
			f.Question = yes
		case "modeSwitch":
			f.ModeSwitch = yes
		case "widening":
			f.Widening = yes
		case "malformed":
			f.Malformed = yes
		case "unknown":
			f.Unknown = yes
		case "needsMerge":
			f.NeedsMerge = yes
		case "mcpServer": // for the elicitation, which is another method
		default:
			t.Errorf("%s: a fact that the test does not know: %s", file, m.Name)
		}
	}
	return f
}

// unsupported are the samples that must be answered with a clear error.
var unsupported = map[string]struct {
	code int
	says string
}{
	"codex-1.6-elicitation-mcp-approval.json": {socket.CodeMethod, ""},
}

// sessionOf returns the session that a message names.
func sessionOf(t testing.TB, params strictjson.Value) string {
	t.Helper()
	id := text(params, "sessionId")
	if id == "" {
		t.Fatal("no sessionId")
	}
	return id
}

func TestSamples(t *testing.T) {
	for _, s := range index(t) {
		t.Run(s.File, func(t *testing.T) {
			var msg message
			readJSON(t, filepath.Join("testdata", s.File), &msg)
			if want, ok := unsupported[s.File]; ok {
				_, err := newDaemon(decisions.Allow).call(t, conn(1), msg.Method, string(msg.Params))
				if code(err) != want.code || !strings.Contains(err.Error(), want.says) {
					t.Fatalf("error %d %v, want %d with %q", code(err), err, want.code, want.says)
				}
				return
			}
			for _, v := range []decisions.Verdict{decisions.Allow, decisions.Deny, decisions.Ask} {
				d := newDaemon(v)
				c := conn(1)
				d.declare(t, c, sessionOf(t, msg.Params), s.Agent)
				res, err := d.call(t, c, msg.Method, string(msg.Params))
				checkAnswer(t, &s, v, res, err)
				if v == decisions.Ask {
					checkCall(t, &s, &d.last(t).Call)
				}
			}
		})
	}
}

func checkAnswer(t *testing.T, s *sample, v decisions.Verdict, res any, err error) {
	t.Helper()
	want := s.SafeReject
	switch v {
	case decisions.Ask:
		if code(err) != socket.CodeAsk {
			t.Errorf("ask: error %d, want %d", code(err), socket.CodeAsk)
		}
		return
	case decisions.Allow:
		if s.SafeAllow == nil {
			if code(err) != socket.CodeAsk {
				t.Errorf("allow: %+v, error %v; want a question", res, err)
			}
			return
		}
		want = s.SafeAllow
	}
	got, ok := res.(permissionResult)
	if !ok || err != nil {
		t.Fatalf("%s: %+v, error %v", v, res, err)
	}
	expect := permissionOutcome{Outcome: "cancelled"}
	if want != nil {
		expect = permissionOutcome{Outcome: "selected", OptionID: *want}
	}
	if got.Outcome != expect {
		t.Errorf("%s: %+v, want %+v", v, got.Outcome, expect)
	}
}

// checkCall compares what the adapter itself finds with the facts; what the
// tool's input means is the business of the effects.
func checkCall(t *testing.T, s *sample, call *effects.Call) {
	t.Helper()
	has := func(k effects.Kind) bool {
		for _, m := range call.Marks {
			if m.Kind == k {
				return true
			}
		}
		return false
	}
	if got := has(effects.KindQuestion); got != s.Facts.Question {
		t.Errorf("question = %v, want %v: %+v", got, s.Facts.Question, call.Marks)
	}
	if got, want := has(effects.KindMode), s.Facts.ModeSwitch || s.Facts.Widening; got != want {
		t.Errorf("mode = %v, want %v: %+v", got, want, call.Marks)
	}
	if got, want := call.Incomplete != "", s.Facts.Unknown || s.Facts.NeedsMerge; got != want {
		t.Errorf("incomplete = %q, want %v", call.Incomplete, want)
	}
	// A request without an option that allows is no defect.
	wrong := slices.DeleteFunc(slices.Clone(call.Defects), func(d effects.Defect) bool {
		return d.Code == effects.DefectOption && s.SafeAllow == nil && !s.Facts.Malformed
	})
	if got := len(wrong) > 0; got != s.Facts.Malformed {
		t.Errorf("defects = %+v, want some: %v", call.Defects, s.Facts.Malformed)
	}
	if call.Cwd != "/home/ana/src/shop" || call.Agent.Name != s.Agent || call.User.Home != "/home/ana" {
		t.Errorf("cwd %q, agent %+v, home %q: not those of the session", call.Cwd, call.Agent, call.User.Home)
	}
}

// TestCovered fails if the tests do not read a sample: testdata has every message
// of the corpus unchanged, and every transcript is replayed.
func TestCovered(t *testing.T) {
	replayed := string(readFile(t, "transcript_test.go"))
	transcripts, err := filepath.Glob("testdata/*.jsonl")
	if err != nil || len(transcripts) == 0 {
		t.Fatalf("%d transcripts, %v", len(transcripts), err)
	}
	for _, f := range transcripts {
		if !strings.Contains(replayed, `"`+filepath.Base(f)+`"`) {
			t.Errorf("%s is not replayed", f)
		}
	}
	corpus, err := filepath.Glob("../../../shared/corpus/acp/*")
	if err != nil {
		t.Fatal(err)
	}
	if len(corpus) == 0 {
		t.Skip("the corpus is not next to the repository, so there is nothing to compare the samples with")
	}
	for _, f := range corpus {
		ours, err := os.ReadFile(filepath.Join("testdata", filepath.Base(f)))
		if err != nil || string(ours) != string(readFile(t, f)) {
			t.Errorf("%s is not here as it is there: %v", filepath.Base(f), err)
		}
	}
}
