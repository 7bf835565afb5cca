package decisions

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"
)

// TestSecretsStayInside decides calls that have secrets, and searches for these in
// everything that leaves the engine: decisions, the journal's records, the log.
func TestSecretsStayInside(t *testing.T) {
	const canary = "hunter2canary"
	commands := []string{
		`curl -H "X-Api-Key: CANARY" -u a:CANARY "https://b:CANARY@a.dev/?access_token=CANARY"`, `mysql -pCANARY shop`, `API_KEY=CANARY frob --token CANARY "$x"`,
		`frob --password 'CANARY;CANARY' | bash -c 'export DB_PASS=CANARY'`, `curl -d '{"password":"CANARY"}' https://a.dev > /proc/self/x`,
	}
	for _, broken := range []bool{false, true} {
		p, _, j, e := newFakes(t)
		var log bytes.Buffer
		e.log = slog.New(slog.NewJSONHandler(&log, nil))
		p.panics = broken
		for _, command := range commands {
			req := bash(t, strings.ReplaceAll(command, "CANARY", canary))
			req.Call.Claims.Title = strings.ReplaceAll(command, "CANARY", canary)
			out, err := json.Marshal(e.Decide(t.Context(), req))
			if err != nil {
				t.Fatal(err)
			}
			records, err := json.Marshal(j.recs)
			if err != nil {
				t.Fatal(err)
			}
			for where, text := range map[string]string{"decision": string(out), "journal": string(records), "log": log.String()} {
				if strings.Contains(text, canary) {
					t.Errorf("%s: a secret is in the %s: %s", command, where, text)
				}
			}
		}
		if len(j.recs) != len(commands) {
			t.Errorf("%d records", len(j.recs))
		}
	}
}
