package client

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSession(t *testing.T) {
	for _, test := range []struct {
		name, result string
		want         Hello
		err          string
	}{
		{"a permd that names no version", `{}`, Hello{Protocol: 1}, ""},
		{"this version", `{"protocol":1,"version":"v1.2.3","features":["acp-1","rap"]}`, Hello{1, "v1.2.3", []string{"acp-1", "rap"}}, ""},
		{"with members that are not known", `{"protocol":1,"more":{"a":[1]}}`, Hello{Protocol: 1}, ""},
		{"a newer version", `{"protocol":2,"version":"v9"}`, Hello{}, "speaks version 2"},
		{"no version at all", `{"protocol":0}`, Hello{}, "speaks version 0"},
		{"a version that is no number", `{"protocol":"1"}`, Hello{}, "reading permd's answer"},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := connect(t, func(line string) string {
				if !strings.Contains(line, `"permd/session"`) {
					t.Errorf("asked %s", line)
				}
				return fmt.Sprintf("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":%s}\n", test.result)
			})
			got, err := DeclareSession(t.Context(), c, &Session{ID: "s", Cwd: "/"})
			if (err == nil) != (test.err == "") || err != nil && !strings.Contains(err.Error(), test.err) {
				t.Errorf("error %v, want %q", err, test.err)
			}
			if d := cmp.Diff(test.want, got); d != "" {
				t.Error(d)
			}
		})
	}
	for protocol, want := range map[int]string{2: "update this program", 0: "restart permd's daemon"} {
		if e := (&VersionError{protocol, "v9\x1b[31m"}); !strings.Contains(e.Hint(), want) || strings.ContainsRune(e.Error(), '\x1b') {
			t.Errorf("%q, hint %q", e, e.Hint())
		}
	}
	if h := (Hello{Features: []string{"rap"}}); !h.Has("rap") || h.Has("otc") {
		t.Error("features are not found")
	}
}
