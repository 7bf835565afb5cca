package bundlecommands

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/internal/xdg"
	"github.com/permd/permd/policy/bundles"
	"github.com/permd/permd/policy/bundles/bundlestest"
)

// discovering is a folder with the opa.yaml of machines, and what signs for it.
type discovering struct {
	dir string
	key bundlestest.Key
}

func newDiscovering(t *testing.T) *discovering {
	d := &discovering{t.TempDir(), bundlestest.NewKey(t)}
	write(t, d.dir+"/opa.yaml", "labels: {ring: all}\nservices: {s: {url: 'https://example.com'}}\nkeys:\n  "+bundlestest.KeyID+":\n    algorithm: ES256\n    scope: "+bundlestest.Scope+
		"\n    key: |\n      "+strings.ReplaceAll(strings.TrimSpace(d.key.Public), "\n", "\n      ")+"\ndiscovery: {service: s, resource: d, decision: discovery/config, signing: {keyid: "+bundlestest.KeyID+"}}\n")
	return d
}

// bundle writes a signed bundle with a policy.
func (d *discovering) bundle(t *testing.T, rego string) string {
	t.Helper()
	data, err := bundles.Build(bundles.Contents{Kind: bundles.Discovery, Revision: "1", Files: bundlestest.Files(map[string]string{"d.rego": "package discovery\n\n" + rego})})
	if err != nil {
		t.Fatal(err)
	}
	return write(t, d.dir+"/discovery.tar.gz", string(d.key.Sign(t, data)))
}

// ask runs the command with a standard input.
func (d *discovering) ask(t *testing.T, asJSON bool, in string, args ...string) (lines []string, err error) {
	t.Helper()
	var out bytes.Buffer
	c := &Commands{
		Streams: &cli.Streams{In: strings.NewReader(in), Out: &out, Err: &out, JSON: asJSON},
		Dirs:    func() (xdg.Dirs, error) { return xdg.Dirs{Org: d.dir, Data: d.dir}, nil }, Root: func() string { return d.dir },
	}
	cmd := c.Discover()
	cmd.SetArgs(append([]string{d.dir + "/discovery.tar.gz"}, args...))
	cmd.SetOut(&out)
	cmd.SetErr(&out)
	cmd.SilenceUsage, cmd.SilenceErrors = true, true
	err = cmd.ExecuteContext(t.Context())
	return slices.Collect(strings.Lines(out.String())), err
}

const labelled = `config.bundles.org := bundle("org")

config.bundles.shadow := bundle("next") if labels.ring == "canary"

config.status.service := "s" if labels.host == "h"

config.decision_logs := {"service": "s", "partition_name": sprintf("%s/%s", [labels.app, labels.version])} if labels.id == "m2"

labels := opa.runtime().config.labels

bundle(name) := {"service": "s", "resource": name, "size_limit_bytes": 100000, "signing": {"keyid": "release"}}
`

// TestDiscover: what is decided for a machine depends on its id and labels; those of opa.yaml count
// unless another value is given.
func TestDiscover(t *testing.T) {
	d := newDiscovering(t)
	d.bundle(t, labelled)
	got, err := d.ask(t, false, "# id and labels\nm2  ring=canary\n\n m3 host=h version=9\n", "--machine", "m1", "--machine", "-", "--label", "x=y")
	want := []string{
		"m1  org https://example.com/org\n",
		"m2  org https://example.com/org  shadow https://example.com/next  decision_logs s\n",
		"m3  org https://example.com/org  status s\n",
	}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%v\n%q", err, got)
	}
	got, err = d.ask(t, true, "", "--machine", "m2", "--label", "version=9", "--config", d.dir+"/opa.yaml")
	var one struct {
		Machine string
		Sources map[string]string
		Config  struct {
			Bundles map[string]struct {
				Size int `json:"size_limit_bytes"`
			}
			Logs struct {
				Partition string `json:"partition_name"`
			} `json:"decision_logs"`
		}
	}
	if err != nil || len(got) != 1 || json.Unmarshal([]byte(got[0]), &one) != nil || one.Machine != "m2" || len(one.Sources) != 1 || one.Sources["org"] != "https://example.com/org" ||
		one.Config.Bundles["org"].Size != 100000 || one.Config.Logs.Partition != "permd/9" {
		t.Errorf("%v\n%q", err, got)
	}
}

// TestDiscoverNotUsed: what a daemon would not use is said for each machine, and is a failure; the
// others' lines are printed.
func TestDiscoverNotUsed(t *testing.T) {
	d := newDiscovering(t)
	d.bundle(t, strings.Replace(labelled, `{"service": "s", "resource": name`, `{"service": {"canary": "evil"}[labels.ring], "resource": name`, 1)+"\nconfig.bundles.org := {\"service\": \"s\", \"signing\": {\"keyid\": \"release\"}} if labels.ring == \"all\"\n")
	for _, asJSON := range []bool{false, true} {
		got, err := d.ask(t, asJSON, "m1\nm2 ring=canary\n", "--machine", "-")
		if err == nil || len(got) != 2 || !strings.Contains(got[0], "https://example.com/bundles/org") || !strings.Contains(got[1], "bundles.org.service is") || strings.Contains(got[1], "shadow https") {
			t.Errorf("%v\n%q", err, got)
		}
	}
	d.bundle(t, "config.bundles.org := {\"service\": \"s\", \"signing\": {\"keyid\": \"release\"}}\n\nconfig.decision_logs := {\"service\": \"s\", \"reporting\": {\"min_delay_seconds\": 9, \"max_delay_seconds\": 1}}\n")
	if got, err := d.ask(t, false, "", "--machine", "m"); err == nil || len(got) != 1 || !strings.Contains(got[0], "m  not used: ") {
		t.Errorf("what another package refuses: %v\n%q", err, got)
	}
	d.bundle(t, "config := {}\n\nother := http.send({})\n")
	if _, err := d.ask(t, false, "", "--machine", "m"); err == nil || !strings.Contains(err.Error(), "undefined function http.send") {
		t.Error(err)
	}
}

// TestDiscoverRefused: nothing is evaluated of a bundle that is not signed as opa.yaml says, and
// what names no machine is wrong usage.
func TestDiscoverRefused(t *testing.T) {
	d := newDiscovering(t)
	file := d.bundle(t, labelled)
	good, err := readFile(file, bundles.MaxArchive)
	if err != nil {
		t.Fatal(err)
	}
	other := bundlestest.NewKey(t)
	public := write(t, d.dir+"/other.pem", other.Public)
	write(t, d.dir+"/none.yaml", "labels: {a: b}\n")
	for _, tt := range []struct {
		name, in string
		data     []byte
		args     []string
		want     string
	}{
		{"another key", "", other.Sign(t, good), []string{"--machine", "m"}, "failed to verify JWT signature"},
		{"the key of the options", "", good, []string{"--machine", "m", "--verification-key", public, "--signing-alg", "ES256", "--key-id", bundlestest.KeyID, "--scope", bundlestest.Scope}, "failed to verify JWT signature"},
		{"rules", "", d.key.Signed(t, "1", map[string]string{"rules.yaml": "deny:\n  run: [rm]\n"}), []string{"--machine", "m"}, "the roots are"},
		{"no discovery", "", good, []string{"--machine", "m", "--config", d.dir + "/none.yaml"}, "has no section discovery"},
		{"no file", "", good, []string{"--machine", "m", "--config", d.dir + "/nowhere.yaml"}, "no such file"},
		{"no machine", "\n# nobody\n", good, []string{"--machine", "-"}, "no machine is named"},
		{"no id", "a=b m1\n", good, []string{"--machine", "-"}, `line 1: "a=b" is no id of a machine`},
		{"no label", "m1\nm2 canary\n", good, []string{"--machine", "-"}, `line 2: "canary" is no label`},
		{"an id as a label", "", good, []string{"--machine", "m1", "--label", "id=m2"}, `"id=m2" is no label`},
		{"a long line", strings.Repeat("x", maxMachine+1), good, []string{"--machine", "-"}, "token too long"},
	} {
		write(t, file, string(tt.data))
		if got, err := d.ask(t, false, tt.in, tt.args...); err == nil || !strings.Contains(err.Error(), tt.want) || len(got) > 0 {
			t.Errorf("%s: %v, want %q\n%q", tt.name, err, tt.want, got)
		}
	}
}
