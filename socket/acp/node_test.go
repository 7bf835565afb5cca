package acp

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"

	"github.com/permd/permd/internal/strictjson"
)

// fields are the fields of a request that both readers read. Absent ones, and those
// of another type, have Go's zero values.
type fields struct {
	SessionID string   `json:"sessionId"`
	CallID    string   `json:"callId"`
	Title     string   `json:"title"`
	Name      string   `json:"name"`
	Kind      string   `json:"kind"`
	Command   string   `json:"command"`
	Paths     []string `json:"paths"`
	Options   []string `json:"options"`
}

// nodeReader reads one params object a line, as a client in JavaScript would,
// and prints its known fields.
const nodeReader = `
const kinds = new Set(["read","edit","delete","move","search","execute","think","fetch","switch_mode","other"]);
const str = (v) => typeof v === "string" ? v : "";
for (const line of require("fs").readFileSync(0, "utf8").split("\n")) {
  if (line === "") continue;
  const p = JSON.parse(line), c = p.toolCall, input = c.rawInput;
  const own = (o, k) => o !== null && typeof o === "object" && Object.hasOwn(o, k) ? o[k] : undefined;
  const kind = own(c, "kind");
  console.log(JSON.stringify({
    sessionId: p.sessionId, callId: c.toolCallId, title: str(own(c, "title")), name: str(own(c, "name")),
    kind: typeof kind !== "string" || kinds.has(kind) ? str(kind) : "other", command: str(own(input, "command")),
    paths: (Array.isArray(c.locations) ? c.locations : []).map((l) => own(l, "path")).filter((s) => typeof s === "string"),
    options: p.options.map((o) => o.optionId + "/" + o.kind),
  }));
}`

// TestAgainstNode compares the decoder with JSON.parse, which is what most
// clients and agents read with.
func TestAgainstNode(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("node is not installed, so there is no JSON.parse to compare with")
	}
	var lines []string
	files, err := filepath.Glob("testdata/*.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		params := member(data, "params")
		if member(params, "toolCall") == nil {
			continue
		}
		if err := params.Compact(); err != nil {
			t.Fatal(err)
		}
		lines = append(lines, string(params))
	}
	for _, call := range []string{
		`{"toolCallId":"\u0063\n\t\"\\\/","title":"caf\u00e9 \ud83d\ude00 \u2028","rawInput":{"\u0063ommand":"ls\u0020-la"}}`,
		`{"\u0074oolCallId":"c","k\u0069nd":"execute","rawInput":{"command":1e400}}`,
		`{"toolCallId":"c","rawInput":{"__proto__":{"command":"evil"},"command":"ls"}}`,
		`{"toolCallId":"c","__proto__":{"title":"evil"},"constructor":1}`,
		`{"toolCallId":"c","rawInput":{"__proto__":{"command":"evil"}}}`,
		`{"toolCallId":"c","locations":[{"path":"/\u0000"},{"path":"/a\u0301"},{"path":null},{}]}`,
		`{"toolCallId":" c ","title":"","kind":"","name":"\ufeff","rawInput":["ls"]}`,
		`{"toolCallId":"c","title":"\ud7ff\ue000\uffff","rawInput":{"command":"a\u007f\u0080\u202eb"}}`,
	} {
		lines = append(lines, permission(call))
	}

	cmd := exec.CommandContext(t.Context(), node, "-e", nodeReader)
	cmd.Stdin = strings.NewReader(strings.Join(lines, "\n"))
	cmd.WaitDelay = 10 * time.Second
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("running node: %v", err)
	}
	theirs := bytes.Split(bytes.TrimSpace(out), []byte("\n"))
	if len(theirs) != len(lines) || len(lines) < 40 {
		t.Fatalf("%d answers to %d messages", len(theirs), len(lines))
	}
	for i, line := range lines {
		if err := strictjson.Check([]byte(line)); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		r, err := parseRequest(strictjson.Value(line), new(knownOptions))
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		var want fields
		if err := json.Unmarshal(theirs[i], &want); err != nil {
			t.Fatalf("%s: %v", theirs[i], err)
		}
		if diff := cmp.Diff(want, ours(r)); diff != "" {
			t.Errorf("%s\n(-node +permd):\n%s", line, diff)
		}
	}
}

func ours(r *request) fields {
	tc := &toolCall{id: r.call.id}
	tc.merge(r.call, version1)
	f := fields{
		SessionID: r.sessionID, CallID: tc.id, Title: tc.title, Name: tc.name, Kind: tc.kind,
		Command: text(tc.input, "command"), Paths: []string{}, Options: []string{},
	}
	for _, l := range tc.locations {
		f.Paths = append(f.Paths, l.Path)
	}
	for _, o := range r.options {
		f.Options = append(f.Options, o.ID+"/"+string(o.Kind))
	}
	return f
}
