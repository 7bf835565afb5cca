package daemon

import (
	"bytes"
	"strconv"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/permd/permd/socket/acp"
)

// newWordsCalls are calls that are new with each number in place of 10000.
var newWordsCalls = []struct{ name, toolCall string }{
	{"read", strings.Replace(benchCalls[0].toolCall, `"limit":200`, `"limit":10000`, 1)},
	{"bash", strings.ReplaceAll(benchCalls[1].toolCall, `git status`, `git log -n 10000`)},
	{"pipeline", strings.ReplaceAll(benchCalls[2].toolCall, `head -20`, `head -10000`)},
	{"list", strings.ReplaceAll(benchCalls[3].toolCall, `head -5`, `head -10000`)},
	{"edit", `"title":"Edit src/page10000.go","kind":"edit","rawInput":{"file_path":"PROJECT/src/page10000.go","old_string":"a","new_string":"b"},` +
		`"locations":[{"path":"PROJECT/src/page10000.go"}],"_meta":{"claudeCode":{"toolName":"Edit"}}`},
	{"bash9k", `"title":"git log -n 10000","kind":"execute","rawInput":{"command":"git log -n 10000","description":"` + strings.Repeat("long text ", 900) + `"},` +
		`"_meta":{"claudeCode":{"toolName":"Bash"}}`},
	{"edit9k", `"title":"Edit src/page10000.go","kind":"edit","rawInput":{"file_path":"PROJECT/src/page10000.go","old_string":"a","new_string":"` + strings.Repeat("long text ", 900) + `"},` +
		`"locations":[{"path":"PROJECT/src/page10000.go"}],"_meta":{"claudeCode":{"toolName":"Edit"}}`},
}

// BenchmarkRequestWords is a whole request in process whose words no request had
// before, while its shape is known.
func BenchmarkRequestWords(b *testing.B) {
	w := newBenchWorld(b, true)
	call := w.caller(b)
	number := 10000
	for _, c := range newWordsCalls {
		b.Run(c.name, func(b *testing.B) {
			parts := strings.Split(w.params(c.toolCall), "10000")
			b.ReportAllocs()
			for b.Loop() {
				number++
				params := []byte(strings.Join(parts, strconv.Itoa(number)))
				body, err := json.Marshal(call(b, acp.MethodRequestPermission, params), json.Deterministic(true))
				if err != nil {
					b.Fatal(err)
				}
				if !bytes.Contains(body, []byte(`"outcome"`)) {
					b.Fatalf("no outcome: %s", body)
				}
			}
		})
	}
}
