package client

import (
	"testing"

	"github.com/permd/permd/internal/strictjson"
)

// TestMessage tests that params in JSON are sent as they are, on one line, and not at all
// if they are no JSON.
func TestMessage(t *testing.T) {
	for params, want := range map[string]string{
		`{"b":1, "a":"\u00e9"}`: `{"jsonrpc":"2.0","method":"m","id":7,"params":{"b":1, "a":"\u00e9"}}` + "\n",
		"{\"b\":\n1}":           `{"jsonrpc":"2.0","method":"m","id":7,"params":{"b":1}}` + "\n",
		`{"b":1,"b":2}`:         "",
		`{"b":1`:                "",
		`{"b":1}}`:              "",
		"{\"b\":\"\xff\"}":      "",
		"":                      "",
	} {
		line, err := message("7", "m", strictjson.Value(params))
		if string(line) != want || (err == nil) != (want != "") {
			t.Errorf("%q: %s, %v\nwant %s", params, line, err, want)
		}
	}
}
