package arguments

import (
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

// TestNamesOfMembers: names that may be secrets are not kept, those of parameters are.
func TestNamesOfMembers(t *testing.T) {
	t.Parallel()
	c := content{members: []string{"command", "x!y"}}
	for input, want := range map[string]string{
		`{"command":"ls","key_Zq9CANARY313xW7":1}`:                           `{"command":"ls"}`,
		`{"key_Zq9CANARY313xW7":1,"command":"ls","limit":3}`:                 `{"command":"ls","limit":3}`,
		`{"password=hunter":true}`:                                           `{}`,
		`{"ghp_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa":null,"file_path":"/a"}`: `{"file_path":""}`,
		`{"a word":1,"":2,"9":3,"é":4}`:                                      `{}`,
		`{"maxResults":1,"base64":true,"old-string":2,"a.b":3,"sha256":4}`:   `{"maxResults":1,"base64":true,"old-string":2,"a.b":3,"sha256":4}`,
		`{"x!y":"text","n":[]}`:                                              `{"x!y":"text","n":[]}`,
	} {
		got, _ := c.reduce(jsontext.Value(input))
		if string(got) != want {
			t.Errorf("%s is kept as %s, want %s", input, got, want)
		}
		if _, less := c.reduce(jsontext.Value(input)); less != (len(want) < len(input)) {
			t.Errorf("%s: less is %v", input, less)
		}
	}
}
