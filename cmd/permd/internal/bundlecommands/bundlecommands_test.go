package bundlecommands

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/permd/permd/cmd/permd/internal/account"
	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/internal/xdg"
	"github.com/permd/permd/policy/bundles/bundlestest"
)

// run runs a command and returns what it prints.
func run(t *testing.T, root string, asJSON bool, command func(*Commands) *cobra.Command, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	c := &Commands{
		Streams: &cli.Streams{Out: &out, Err: &out, JSON: asJSON},
		Dirs:    func() (xdg.Dirs, error) { return account.Dirs(root) }, Root: func() string { return root },
	}
	cmd := command(c)
	cmd.SetArgs(args)
	cmd.SetOut(&out)
	cmd.SetErr(&out)
	err := cmd.ExecuteContext(t.Context())
	return out.String(), err
}

func write(t *testing.T, name, text string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// TestCommands goes the way of a bundle: it is built, signed, verified with a key and by the
// configuration of a machine, and shown.
func TestCommands(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("HOME", dir)
	key := bundlestest.NewKey(t)
	private, public := write(t, dir+"/key.pem", key.Private), write(t, dir+"/public.pem", key.Public)
	rules := filepath.Join(dir, "policy.d")
	write(t, rules+"/rules.yaml", "deny:\n  run:\n    - git push -f\n")
	write(t, rules+"/rules_test.yaml", "deny:\n  - git push -f\n")
	file := filepath.Join(dir, "org.tar.gz")
	wants := func(out string, err error, want string) {
		t.Helper()
		if err != nil || !strings.Contains(out, want) {
			t.Fatalf("%v, without %q:\n%s", err, want, out)
		}
	}
	fails := func(out string, err error, want string) {
		t.Helper()
		if err == nil || !strings.Contains(out+err.Error(), want) {
			t.Fatalf("%v, without %q:\n%s", err, want, out)
		}
	}
	out, err := run(t, dir, false, (*Commands).Build, rules, "-o", file, "--revision", "7", "--expires", "2100-01-31T00:00:00Z")
	wants(out, err, file+": revision 7, 2 files, not signed")
	out, err = run(t, dir, false, (*Commands).Verify, file, "--verification-key", public, "--signing-alg", "ES256")
	fails(out, err, "bundle missing .signatures.json file")
	out, err = run(t, dir, false, (*Commands).Sign, file, "--signing-key", private, "--signing-alg", "ES256", "--key-id", "release", "--scope", "permd")
	wants(out, err, "revision 7, 2 files, signed")
	out, err = run(t, dir, false, (*Commands).Verify, file, "--verification-key", public, "--signing-alg", "ES256", "--key-id", "release", "--scope", "permd")
	wants(out, err, "ok: "+file+", revision 7, 1 rule, signed with key release")
	out, err = run(t, dir, false, (*Commands).Verify, file, "--verification-key", public, "--signing-alg", "ES256", "--key-id", "release")
	fails(out, err, "scope mismatch")
	out, err = run(t, dir, false, (*Commands).Verify, file)
	fails(out, err, "no bundle with a signature is configured on this machine")

	root := filepath.Join(dir, "root")
	write(t, root+"/etc/permd/opa.yaml", "services:\n  s: {url: https://example.com}\nkeys:\n  release:\n    algorithm: ES256\n    key: |\n      "+
		strings.ReplaceAll(strings.TrimSpace(key.Public), "\n", "\n      ")+"\nbundles:\n  org:\n    service: s\n    signing: {keyid: release, scope: permd}\n")
	out, err = run(t, root, true, (*Commands).Verify, file)
	wants(out, err, `"verified":true`)
	out, err = run(t, root, false, (*Commands).Inspect, file)
	for _, want := range []string{
		"revision   7\n", "roots      permd/org\n", "expires    2100-01-31T00:00:00Z\n", `signature  by key "release", scope "permd", not verified`, "  rules.yaml\n", ".manifest  (no rules)\n",
		"rule       deny   org/bundle/rules.yaml:3",
	} {
		wants(out, err, want)
	}
	out, err = run(t, root, true, (*Commands).Inspect, file)
	wants(out, err, `"keyId":"release"`)
	if !json.Valid([]byte(out)) {
		t.Errorf("no JSON: %s", out)
	}
}

// TestRefused: a folder that no daemon would use makes no bundle, nor what is no revision.
func TestRefused(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("HOME", dir)
	file := filepath.Join(dir, "org.tar.gz")
	for _, tt := range []struct {
		name, rules, tests string
		args               []string
		want               string
	}{
		{"rules", "deny:\n  runs: [x]\n", "", []string{"--revision", "1"}, "rules.yaml:2"},
		{"tests", "deny:\n  run: [dd]\n", "allow:\n  - dd if=a of=b\n", []string{"--revision", "1"}, "rules_test.yaml:2"},
		{"revision", "deny:\n  run: [dd]\n", "", []string{"--revision", "v1"}, `the revision "v1" is no whole number`},
		{"time", "deny:\n  run: [dd]\n", "", []string{"--revision", "1", "--expires", "tomorrow"}, `the time "tomorrow" is not understood`},
		{"key", "deny:\n  run: [dd]\n", "", []string{"--revision", "1", "--signing-key", "/nowhere"}, "reading the key"},
		{"secret", "deny:\n  run: [dd]\n", "", []string{"--revision", "1", "--signing-key", os.Args[0], "--signing-alg", "HS256"}, "reading the key"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			rules := t.TempDir()
			write(t, rules+"/rules.yaml", tt.rules)
			if tt.tests != "" {
				write(t, rules+"/rules_test.yaml", tt.tests)
			}
			out, err := run(t, dir, false, (*Commands).Build, append([]string{rules, "-o", file}, tt.args...)...)
			if err == nil || !strings.Contains(out+err.Error(), tt.want) {
				t.Errorf("%v, without %q:\n%s", err, tt.want, out)
			}
			if _, err := os.Stat(file); err == nil {
				t.Error("a bundle was written")
			}
		})
	}
}

// TestVerifyCalls: a bundle that others have made, whose calls fail, is none that a daemon would use.
func TestVerifyCalls(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("HOME", dir)
	key := bundlestest.NewKey(t)
	public := write(t, dir+"/public.pem", key.Public)
	file := filepath.Join(dir, "org.tar.gz")
	verify := func(tests string) (string, error) {
		t.Helper()
		write(t, file, string(key.Signed(t, "1", map[string]string{"rules.yaml": "deny:\n  run: [dd *]\n", "rules_test.yaml": tests})))
		return run(t, dir, false, (*Commands).Verify, file, "--verification-key", public, "--signing-alg", "ES256", "--key-id", bundlestest.KeyID, "--scope", bundlestest.Scope)
	}
	if out, err := verify("allow:\n  - dd if=a of=b\n"); err == nil || !strings.Contains(out, "rules_test.yaml:2") {
		t.Errorf("%v\n%s", err, out)
	}
	if out, err := verify("deny:\n  - dd if=a of=b\n"); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestDiscoveryBundle: the policy of a discovery bundle is compiled as a daemon would.
func TestDiscoveryBundle(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("HOME", dir)
	file := filepath.Join(dir, "discovery.tar.gz")
	for _, tt := range []struct{ rego, want string }{
		{"package discovery\n\nbundles := http.send({})\n", "undefined function http.send"},
		{"package discovery\n\nbundles := \n", "rego_parse_error"},
		{"package discovery\n\nbundles.org.resource := opa.runtime().config.labels.id\n", ""},
	} {
		write(t, dir+"/discovery/d.rego", tt.rego)
		out, err := run(t, dir, false, (*Commands).Build, dir+"/discovery", "--discovery", "-o", file, "--revision", "1")
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(out+err.Error(), tt.want) {
			t.Errorf("%v, want %q\n%s", err, tt.want, out)
		}
	}
	out, err := run(t, dir, false, (*Commands).Inspect, file)
	if err != nil || !strings.Contains(out, "roots      discovery\n") {
		t.Errorf("%v\n%s", err, out)
	}
}
