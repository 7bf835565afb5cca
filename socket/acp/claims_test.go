package acp

import (
	"slices"
	"strings"
	"testing"

	"github.com/permd/permd/decisions"
)

// TestStatus has what agents say of how far a call is: the last word counts, and it is no
// contradiction that it changes.
func TestStatus(t *testing.T) {
	request := permission(`{"toolCallId":"c","kind":"read","STATUS"rawInput":{"path":"a"}}`)
	for _, tt := range []struct {
		name     string
		version2 bool
		updates  []string // the status of a message before
		request  string
		want     string
		defects  int
	}{
		{"never said", false, nil, "", "", 0},
		{"said before", false, []string{`"pending"`}, "", "pending", 0},
		{"said again", false, []string{`"pending"`}, `"in_progress"`, "in_progress", 0},
		{"null", false, []string{`"pending"`, `null`}, "", "pending", 0},
		{"another word", false, nil, `"waiting"`, "other", 1},
		{"no text", false, []string{`"pending"`}, `7`, "pending", 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := newDaemon(decisions.Ask)
			c := conn(1)
			for i, status := range tt.updates {
				update := `{"sessionUpdate":"tool_call_update","toolCallId":"c","status":` + status + `}`
				if i == 0 {
					update = `{"sessionUpdate":"tool_call","toolCallId":"c","title":"t","kind":"read","rawInput":{"path":"a"},"status":` + status + `}`
				}
				d.must(t, c, MethodUpdate, sessionUpdate(update))
			}
			status := ""
			if tt.request != "" {
				status = `status":` + tt.request + `,"`
			}
			_, _ = d.call(t, c, MethodRequestPermission, strings.Replace(request, `STATUS"`, status, 1))
			call := d.last(t).Call
			if call.Claims.Status != tt.want || len(call.Defects) != tt.defects || call.Incomplete != "" {
				t.Errorf("%q, want %q; defects %+v, incomplete %q", call.Claims.Status, tt.want, call.Defects, call.Incomplete)
			}
		})
	}
	clear := &patch{noStatus: true}
	for v, want := range map[version]string{0: "failed", version1: "failed", version2: ""} {
		call := toolCall{status: "failed"}
		if call.merge(clear, v); call.status != want {
			t.Errorf("null in version %d: %q", v, call.status)
		}
	}
}

// TestOfferedKinds: rules see the kinds of all options, of a custom kind too.
func TestOfferedKinds(t *testing.T) {
	d := newDaemon(decisions.Ask)
	option := func(id, kind string) string { return `{"optionId":"` + id + `","name":"n","kind":"` + kind + `"}` }
	_, _ = d.call(t, conn(1), MethodRequestPermission, `{"sessionId":"s","title":"t","subject":{"type":"command","command":"ls","cwd":"/w"},"options":[`+
		option("a", "allow_once")+","+option("b", "_acme")+","+option("c", "allow_once")+`]}`)
	if got := d.last(t).Call.Claims.Options; !slices.Equal(got, []string{"allow_once", "_acme"}) {
		t.Errorf("kinds %q", got)
	}
}
