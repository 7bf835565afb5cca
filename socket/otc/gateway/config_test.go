package gateway

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const canary = "NOT-A-REAL-SECRET-9"

// TestConfig: a configuration is read as it is written, or refused; errors hold no
// credential.
func TestConfig(t *testing.T) {
	dir := t.TempDir()
	key := filepath.Join(dir, "key")
	for name, text := range map[string]string{"key": canary, "short": "1234567", "open": canary} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(filepath.Join(dir, "open"), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Setenv("CREDENTIALS_DIRECTORY", dir)
	one := func(more string) string {
		return "upstreams:\n- address: https://tools.example.com/v1\n  toolkits: [A, B]\n" + more
	}
	for name, tt := range map[string]struct{ text, want string }{
		"the least":                      {one(""), ""},
		"all":                            {one("  timeout: 5s\n  user_id: ana\n  token: {credential: key}\n  secrets: {K: {file: "+key+"}}\n  authorization: {idp: {credential: key}}\n") + "wait: 1m\n", ""},
		"nothing":                        {"", "reading the configuration"},
		"no upstream":                    {"upstreams: []\n", "there must be 1 to 32"},
		"another key":                    {one("  secret: {}\n"), "reading the configuration"},
		"a key twice":                    {one("  toolkits: [C]\n"), "reading the configuration"},
		"two documents":                  {one("") + "---\n{}\n", "more than one document"},
		"no toolkit":                     {"upstreams: [{address: 'https://x.example'}]\n", "toolkits must name"},
		"a toolkit of two":               {one("- address: https://other.example\n  toolkits: [B]\n"), "is that of two upstreams"},
		"a toolkit that is none":         {"upstreams: [{address: 'https://x.example', toolkits: ['A.B']}]\n", "letters, digits and _"},
		"http on another machine":        {"upstreams: [{address: 'http://x.example', toolkits: [A]}]\n", "must be https"},
		"a password in the address":      {"upstreams: [{address: 'https://u:" + canary + "@x.example', toolkits: [A]}]\n", "no user"},
		"a credential of neither":        {one("  token: {}\n"), "either file or credential"},
		"a credential of both":           {one("  token: {file: " + key + ", credential: key}\n"), "either file or credential"},
		"a file of the folder":           {one("  token: {file: key}\n"), "absolute path"},
		"a credential elsewhere":         {one("  token: {credential: ../key}\n"), "without a folder"},
		"one that others can read":       {one("  secrets: {K: {file: " + dir + "/open}}\n"), "can be read or changed by others"},
		"one that is too short":          {one("  secrets: {K: {file: " + dir + "/short}}\n"), "shorter than 8 bytes"},
		"an API key":                     {one("  api_key: {file: " + key + "}\n"), ""},
		"a secret of tokens":             {one("  jwt_secret: {credential: key}\n"), ""},
		"two ways to authenticate":       {one("  api_key: {file: " + key + "}\n  token: {file: " + key + "}\n"), "there may be one"},
		"an API key that is missing":     {one("  api_key: {file: " + dir + "/none}\n"), "api_key: reading a credential"},
		"one that is missing":            {one("  secrets: {K: {file: " + dir + "/none}}\n"), "secrets: reading a credential"},
		"a wait that is too long":        {one("") + "wait: 2h\n", "wait: must be"},
		"a timeout that is none":         {one("  timeout: soon\n"), "timeout: must be"},
		"a configuration that is a text": {"tools\n", "reading the configuration"},
	} {
		c, err := parseConfig([]byte(tt.text))
		if tt.want == "" && (err != nil || len(c.upstreams) != 1) || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%s: %v, want %q", name, err, tt.want)
		}
		if err != nil && strings.Contains(err.Error(), canary) {
			t.Errorf("%s: %v", name, err)
		}
	}
	file := filepath.Join(dir, "tools.yaml")
	if err := os.WriteFile(file, []byte(one("")), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadConfig(file); err != nil {
		t.Error(err)
	}
	if err := os.Chmod(file, 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadConfig(file); err == nil {
		t.Error("a configuration that others can change was read")
	}
}

// TestExampleConfig reads the example.
func TestExampleConfig(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"ledger-token", "ledger-hmac", "books-idp"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(canary), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("CREDENTIALS_DIRECTORY", dir)
	text, err := os.ReadFile("../../../examples/otc/tools.yaml")
	if err != nil {
		t.Fatal(err)
	}
	c, err := parseConfig([]byte(strings.ReplaceAll(string(text), "/home/ana/.config/permd/", dir+"/")))
	if err != nil || len(c.upstreams) != 2 {
		t.Errorf("%v", err)
	}
}

// TestNewest: without a version a call means the newest one, by numbers.
func TestNewest(t *testing.T) {
	var tools []*tool
	for _, id := range []string{"A.B@1.9.0", "A.B@1.10.0", "A.B@1.2.30", "A.C@9.0.0", "A.B@1.10.0x"} {
		if tool := readTool([]byte(`{"id":"` + id + `"}`)); tool != nil {
			tools = append(tools, tool)
		}
	}
	for version, want := range map[string]string{"": "A.B@1.10.0", "1.9.0": "A.B@1.9.0", "2.0.0": ""} {
		got := ""
		if t := find(tools, &call{toolkit: "A", name: "B", version: version}); t != nil {
			got = t.id
		}
		if got != want {
			t.Errorf("%q is %q, want %q", version, got, want)
		}
	}
}

// TestRecords: what is kept of calls is bounded, and a call that was sent stays known when
// its answer is dropped.
func TestRecords(t *testing.T) {
	r := records{by: map[string]*record{}}
	big := &response{status: 200, body: make([]byte, maxAnswers/2)}
	var first *record
	for _, id := range []string{"a", "b", "c"} {
		one, other, full := r.recordOf(id, [32]byte{1})
		if other || full {
			t.Fatal(id)
		}
		if first == nil {
			first = one
		}
		one.sent = true
		r.finish(one, big)
		r.leave(one)
	}
	if r.answerOf(first) != nil || r.bytes > maxAnswers {
		t.Errorf("%d bytes are kept", r.bytes)
	}
	if again, _, _ := r.recordOf("a", [32]byte{1}); again != first || !again.sent {
		t.Error("a call that was sent is not known")
	}
	if _, other, _ := r.recordOf("a", [32]byte{2}); !other {
		t.Error("another call with the id")
	}
	for i := range maxCalls {
		if one, _, full := r.recordOf(string(rune('a'+i%26))+strings.Repeat("x", 1+i/26), [32]byte{}); !full {
			r.leave(one)
		}
	}
	if len(r.order) > maxCalls {
		t.Errorf("%d calls are kept", len(r.order))
	}
}
