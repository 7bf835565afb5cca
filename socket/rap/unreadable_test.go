package rap

import (
	"errors"
	"strings"
	"testing"

	"github.com/permd/permd/socket"
)

// TestUnreadable: the error for an invocation that cannot be read holds the tool_result
// that says so, if it is certain which call of which thread it is for.
func TestUnreadable(t *testing.T) {
	long := strings.Repeat("x", socket.MaxName+1)
	for name, tt := range map[string]struct{ params, want string }{
		"no operation":    {`{"id":"a","group_id":"g","call_id":"m"}`, `{"result":{"type":"tool_result","group_id":"g","id":"a","call_id":"m","text":"Error: the invocation cannot be read: operation is missing"}}`},
		"another type":    {`{"id":"a","group_id":"g","operation":{"canary":1}}`, `"text":"Error: the invocation cannot be read: reading params: `},
		"threads":         {`{"id":"a","group_id":"g","operation":"x","thread_ancestors":["g"]}`, "holds a thread twice"},
		"member in caps":  {`{"id":"a","group_id":"g","Operation":"x"}`, "only by case"},
		"no id":           {`{"group_id":"g"}`, ""},
		"no thread":       {`{"id":"a"}`, ""},
		"a long id":       {`{"id":"` + long + `","group_id":"g"}`, ""},
		"an id of number": {`{"id":7,"group_id":"g"}`, ""},
		"two ids":         {`{"id":"a","id":"b","group_id":"g"}`, ""},
		"an id in caps":   {`{"id":"a","ID":"b","group_id":"g"}`, ""},
		"a bad call_id":   {`{"id":"a","group_id":"g","operation":"x","call_id":[]}`, ""},
		"a list":          {`[]`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDaemon(t)
			_, err := d.Call(t, MethodInvoke, tt.params)
			e, ok := errors.AsType[*socket.Error](err)
			if !ok || e.Code != socket.CodeParams || strings.Contains(e.Message+string(e.Data), "canary") {
				t.Fatalf("%v", err)
			}
			if tt.want == "" && e.Data != nil || !strings.Contains(string(e.Data), tt.want) {
				t.Errorf("the data are %s, want %s", e.Data, tt.want)
			}
		})
	}
}
