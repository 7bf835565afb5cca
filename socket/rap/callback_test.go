package rap

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/permd/permd/socket"
)

// TestCallback: of a callback address only scheme and host are kept, and one that cannot
// be read in exactly one way is refused with the protocol's own result.
func TestCallback(t *testing.T) {
	base := `{"operation":"list","arguments":{},"id":"c","group_id":"g"}`
	for address, want := range map[string]string{
		"https://agents.example.org/rap?t=canary": "https://agents.example.org",
		"HTTPS://agents.example.org:8443/#canary": "https://agents.example.org:8443",
		"http://127.0.0.1:7410/canary":            "http://127.0.0.1:7410",
		"http://[::ffff:7f00:1]/canary":           "http://[::ffff:7f00:1]",
		"http://0x7f.1/canary":                    "http://0x7f.1",
		"https://agents.example.org/a@canary":     "https://agents.example.org",
		"https://agents.example.org?t=a/b@canary": "https://agents.example.org",
	} {
		d := newDaemon(t)
		d.Must(t, MethodInvoke, with(`"callback_url":"`+address+`"`, base))
		if got := d.got[0].Call.ReplyTo; got != want {
			t.Errorf("%s: %q, want %q", address, got, want)
		}
	}
	for address, says := range map[string]string{
		"":                                       "absolute http or https",
		"/callback?canary":                       "absolute http or https",
		"agents.example.org/canary":              "absolute http or https",
		"ftp://canary.example/":                  "absolute http or https",
		"file:///canary":                         "absolute http or https",
		"http:canary":                            "absolute http or https",
		"http://":                                "absolute http or https",
		"http:///canary":                         "absolute http or https",
		"http://canary example/":                 "absolute http or https",
		"http://canary%/":                        "absolute http or https",
		"https://x/" + strings.Repeat("c", 2048): "absolute http or https",
		"https://canary:canary@agents.example.org/":    "no user",
		"https://canary@agents.example.org/":           "no user",
		"https://agents.example.org?@canary.example/":  "two ways",
		"https://agents.example.org#@canary.example/":  "two ways",
		`https://agents.example.org\\@canary.example/`: "absolute http or https",
		`https://agents.example.org/\\canary`:          "two ways",
	} {
		d := newDaemon(t)
		_, err := d.Call(t, MethodInvoke, with(`"callback_url":"`+address+`"`, base))
		refused := resultOf(t, err)
		if !strings.Contains(err.Error(), says) || !strings.HasPrefix(refused, "Error: the invocation cannot be read: ") || strings.Contains(refused, "canary") {
			t.Errorf("%s: %v, %q", address, err, refused)
		}
		if len(d.got) != 0 {
			t.Errorf("%s is decided", address)
		}
	}
	d := newDaemon(t)
	d.Refused(t, MethodInvoke, with(`"callback_url":7`, base), "callback_url")
}

// resultOf returns the text of the tool_result in an error's data.
func resultOf(t *testing.T, err error) string {
	t.Helper()
	e, ok := errors.AsType[*socket.Error](err)
	if !ok {
		t.Fatalf("no refusal: %v", err)
	}
	var data struct {
		Result ToolResult `json:"result"`
	}
	if err := json.Unmarshal(e.Data, &data); err != nil {
		t.Fatalf("%v: %s", err, e.Data)
	}
	return data.Result.Text
}

// TestReusedWithAnotherPlace: a call whose id comes again with another address for its result, or
// for another user, is another call.
func TestReusedWithAnotherPlace(t *testing.T) {
	const first = `"callback_url":"https://a.example.org/x","user_id":"u"`
	for members, other := range map[string]bool{
		first: false, `"callback_url":"https://a.example.org/y?t=2","user_id":"u"`: false, `"callback_url":"https://b.example.org/x","user_id":"u"`: true,
		`"callback_url":"http://a.example.org/x","user_id":"u"`: true, `"callback_url":"https://a.example.org:8443/x","user_id":"u"`: true,
		`"callback_url":"https://a.example.org/x","user_id":"v"`: true, `"callback_url":"https://a.example.org/x"`: true, `"user_id":"u"`: true,
	} {
		d := newDaemon(t)
		base := `{"operation":"list","arguments":{},"id":"c","group_id":"g"}`
		d.Must(t, MethodInvoke, with(first, base))
		d.Must(t, MethodInvoke, with(members, base))
		if got := len(d.got[1].Call.Defects) > 0; got != other {
			t.Errorf("%s: another call: %v", members, got)
		}
	}
}
