package gateway

import (
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const good = `name: warehouse
description: Bins.
callbacks: [https://agents.example.org, "http://127.0.0.1:9000", "http://localhost:9001"]
tools:
- name: list_bins
  description: List bins.
  inputSchema: {type: object}
  annotations: {readOnly: true}
  url: http://127.0.0.1:7500/list
  timeout: 5s
`

// TestConfig: a configuration that can be read in two ways, or would send something where
// anybody reads it, is refused.
func TestConfig(t *testing.T) {
	c, err := parseConfig([]byte(good))
	if err != nil || len(c.callbacks) != 3 || c.tools["list_bins"].path != "/list" || c.callbacks["https://agents.example.org:443"] == nil {
		t.Fatalf("%+v, %v", c, err)
	}
	for what, tt := range map[string]struct{ from, to, says string }{
		"no name":                {"name: warehouse\n", "", "name must"},
		"no callbacks":           {`callbacks: [https://agents.example.org, "http://127.0.0.1:9000", "http://localhost:9001"]`, "", "callbacks must"},
		"a callback with a path": {"https://agents.example.org,", "https://agents.example.org/cb,", "scheme, host and port"},
		"plain HTTP":             {"https://agents.example.org,", "http://agents.example.org,", "must be https"},
		"a user":                 {"https://agents.example.org,", "https://me:x@agents.example.org,", "no user"},
		"a query":                {"https://agents.example.org,", "\"https://agents.example.org?x\",", "query"},
		"no tools":               {good[strings.Index(good, "tools:"):], "tools: []\n", "tools must"},
		"two of a name":          {good[strings.Index(good, "- name"):], good[strings.Index(good, "- name"):] + good[strings.Index(good, "- name"):], "two of this name"},
		"a key twice":            {"  timeout: 5s\n", "  timeout: 5s\n  timeout: 5s\n", "already defined"},
		"a key that is none":     {"timeout: 5s", "timeouts: 5s", "timeouts"},
		"no address":             {"http://127.0.0.1:7500/list", "list", "url"},
		"another scheme":         {"http://127.0.0.1:7500/list", "file:///list", "url"},
		"a tool on another host": {"http://127.0.0.1:7500/list", "http://tools.example.org/list", "must be https"},
		"a query of a tool":      {"http://127.0.0.1:7500/list", "http://127.0.0.1:7500/list?key=x", "query"},
		"no schema":              {"  inputSchema: {type: object}\n", "", "inputSchema"},
		"no description":         {"  description: List bins.\n", "", "description"},
		"a name with a space":    {"list_bins", "list bins", "name must"},
		"a short timeout":        {"5s", "5ms", "timeout"},
		"no token":               {"timeout: 5s", "token_file: /none", "credential"},
		"no manager":             {"timeout: 5s", "credential: x", "service manager"},
		"two tokens":             {"timeout: 5s", "{credential: x, token_file: /x}", ""},
		"two documents":          {"  timeout: 5s\n", "---\nname: x\n", "more than one"},
		"keys that are no text":  {"{type: object}", "{1: object}", ""},
	} {
		if !strings.Contains(good, tt.from) {
			t.Fatalf("%s: nothing to change", what)
		}
		if _, err := parseConfig([]byte(strings.Replace(good, tt.from, tt.to, 1))); tt.says != "" && (err == nil || !strings.Contains(err.Error(), tt.says)) {
			t.Errorf("%s: %v, want %q", what, err, tt.says)
		}
	}
}

// TestConfigFile: only the person and root may be able to change a configuration.
func TestConfigFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "tools.yaml")
	for mode, ok := range map[os.FileMode]bool{0o600: true, 0o644: true, 0o664: false, 0o602: false} {
		if err := os.WriteFile(file, []byte(good), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(file, mode); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadConfig(file); (err == nil) != ok {
			t.Errorf("%o: %v", mode, err)
		}
	}
	if _, err := ReadConfig(filepath.Dir(file)); err == nil {
		t.Error("a folder is read")
	}
}

// TestReachable: a name that is resolved to this machine, or its like, is not connected to,
// whatever it was resolved to before.
func TestReachable(t *testing.T) {
	for _, tt := range []struct {
		host, at string
		want     bool
	}{
		{"agents.example.org", "192.0.2.7", true}, {"agents.example.org", "10.0.0.7", true}, {"agents.example.org", "2001:db8::7", true}, {"agents.example.org", "fd12::7", true},
		{"agents.example.org", "127.0.0.1", false}, {"agents.example.org", "127.9.9.9", false}, {"agents.example.org", "0.0.0.0", false}, {"agents.example.org", "::1", false},
		{"agents.example.org", "::", false}, {"agents.example.org", "169.254.169.254", false}, {"agents.example.org", "169.254.7.7", false}, {"agents.example.org", "fe80::1", false},
		{"agents.example.org", "fd00:ec2::254", false}, {"agents.example.org", "168.63.129.16", false}, {"agents.example.org", "64:ff9b::a9fe:a9fe", false},
		{"localhost", "127.0.0.1", true}, {"localhost", "::1", true}, {"localhost", "192.0.2.7", false}, {"localhost", "169.254.169.254", false},
		{"127.0.0.1", "127.0.0.1", true}, {"127.0.0.1", "127.0.0.2", false}, {"::1", "::1", true}, {"192.0.2.7", "127.0.0.1", false},
	} {
		if got := reachable(tt.host, netip.MustParseAddr(tt.at)); got != tt.want {
			t.Errorf("%s at %s: %v", tt.host, tt.at, got)
		}
	}
}

// TestExample: the example of the documents can be read.
func TestExample(t *testing.T) {
	c, err := ReadConfig("../../../examples/rap/tools.yaml")
	if err != nil || len(c.tools) != 2 || len(c.callbacks) != 2 {
		t.Errorf("%+v, %v", c, err)
	}
}
