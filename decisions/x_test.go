package decisions

import (
	"os"
	"testing"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/internal/strictjson"
)

// TestOnceYesInBatch: a person has approved the last call of a request once. A rule
// of the user asks about it and allows the other calls, so the approval would
// normally count. If an earlier call may change anything, or writes what the last
// one runs, permd asks again.
func TestOnceYesInBatch(t *testing.T) {
	shell := func(text string) [2]string { return [2]string{"Bash", `{"command":` + quote(text) + `}`} }
	for name, tt := range map[string]struct {
		before [][2]string
		want   Verdict
	}{
		"alone":                  {nil, Allow},
		"a look before":          {[][2]string{shell("ls"), {"Read", `{"file_path":"y"}`}}, Allow},
		"another file written":   {[][2]string{{"Write", `{"file_path":"y","content":"z"}`}}, Allow},
		"make before":            {[][2]string{shell("make gen")}, Ask},
		"make long before":       {[][2]string{shell("make gen"), shell("ls")}, Ask},
		"an unknown program":     {[][2]string{shell("mytool")}, Ask},
		"another script":         {[][2]string{shell("sh y.sh")}, Ask},
		"what is not understood": {[][2]string{shell("$(cat y)")}, Ask},
		"a tool of a server":     {[][2]string{{"mcp__x__write", `{}`}}, Ask},
		"the script written":     {[][2]string{{"Write", `{"file_path":"x.sh","content":"z"}`}}, Ask},
		"a variable set":         {[][2]string{shell("export PATH=.")}, Ask},
	} {
		t.Run(name, func(t *testing.T) {
			p, _, _, e := newFakes(t)
			p.fired = nil
			root := t.TempDir()
			for _, dir := range []string{".git"} {
				if err := os.Mkdir(root+"/"+dir, 0o700); err != nil {
					t.Fatal(err)
				}
			}
			for _, file := range []string{"x.sh", "y.sh", "y"} {
				if err := os.WriteFile(root+"/"+file, []byte("echo\n"), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			e.takeApproval = func(req *Request, _ *Decision) bool { return req.Call.ID == "last" }
			var reqs []*Request
			for i, c := range append(tt.before, shell("sh x.sh")) {
				id := "c"
				if i == len(tt.before) {
					id = "last"
				}
				reqs = append(reqs, &Request{Call: effects.Call{
					ID: id, Protocol: "permd", Agent: effects.Party{Name: "claude"}, Cwd: root,
					Tool: effects.Tool{Name: c[0]}, Input: strictjson.Value(c[1]),
				}})
			}
			d := e.Decide(t.Context(), reqs...)
			if last := d[len(d)-1]; last.Verdict != tt.want {
				t.Errorf("%s by %s (%s), want %s", last.Verdict, last.By, last.Reason, tt.want)
			}
		})
	}
}
