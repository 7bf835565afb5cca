package management

import (
	"context"
	"errors"
	"log/slog"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/permd/permd/policy/bundles"
	"github.com/permd/permd/policy/bundles/bundlestest"
)

// discovering is a machine that takes its configuration from a server.
type discovering struct {
	*fleet
	dir     string
	config  *Config
	boot    *Discovery
	applied int
}

// discoveryConfig is an opa.yaml with discovery, and more.
func discoveryConfig(key bundlestest.Key, url, more string) string {
	return "services:\n  s: {url: " + url + "}\nkeys:\n  " + bundlestest.KeyID + ":\n    algorithm: ES256\n    scope: " + bundlestest.Scope +
		"\n    key: |\n      " + indented(key.Public) + "\nlabels: {team: payments}\ndiscovery:\n  service: s\n  resource: discovery.tar.gz\n  signing: {keyid: " +
		bundlestest.KeyID + ", scope: " + bundlestest.Scope + "}\n" + more
}

// newDiscovering starts a machine with the folder of an earlier one, "" for a new one. It is not
// started: tests trigger each download.
func newDiscovering(t *testing.T, f *fleet, url, dir, more string) *discovering {
	t.Helper()
	if dir == "" {
		dir = t.TempDir()
	}
	d := &discovering{fleet: f, dir: dir}
	var err error
	if d.config, err = Parse("opa.yaml", []byte(discoveryConfig(f.key, url, more))); err != nil {
		t.Fatal(err)
	}
	machine := Machine{ID: "0190", Version: "1.2", Labels: map[string]string{"host": "h"}}
	d.boot = OpenDiscovery(t.Context(), d.config, machine, dir, time.Now)
	f.manager, err = New(d.config, Options{
		Machine: machine, Log: slog.New(slog.DiscardHandler), Discovery: d.boot, Activate: f.activate, Applied: func() { d.applied++ },
		Check: func(c *Config) error {
			if strings.Contains(string(c.DecisionLogs), "refused") {
				return errors.New("it is refused")
			}
			return nil
		},
	})
	if err == nil {
		err = f.manager.discovery.open()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.manager.Stop)
	return d
}

// discover downloads once, and returns why that failed, "" if it did not.
func (d *discovering) discover(t *testing.T) string {
	t.Helper()
	err := d.manager.discovery.loader.(interface{ Trigger(context.Context) error }).Trigger(t.Context())
	s := d.manager.DiscoveryStatus()
	if (err == nil) != (d.manager.discovery.status().Error == "") {
		t.Fatalf("%v, but %+v", err, s)
	}
	return s.Error
}

// org returns where the rules come from now, "" for nowhere.
func (d *discovering) org() string {
	return strings.TrimPrefix(d.manager.Config().Address(bundles.Org), d.manager.Config().services["s"].url)
}

// policy is a discovery policy with a rule for the whole decision.
func policy(body string) map[string]string {
	return map[string]string{"discovery.rego": "package discovery\n\n" + body + "\n"}
}

const orgBundle = `bundles.org := {"service": "s", "resource": "RESOURCE", "signing": {"keyid": "release", "scope": "permd"}}`

func naming(resource, more string) map[string]string {
	return policy(strings.Replace(orgBundle, "RESOURCE", resource, 1) + "\n" + more)
}

func (f *fleet) discovery(t *testing.T, revision string, files map[string]string) []byte {
	t.Helper()
	data, err := bundles.Build(bundles.Contents{Kind: bundles.Discovery, Revision: revision, Files: bundlestest.Files(files)})
	if err != nil {
		t.Fatal(err)
	}
	return f.key.Sign(t, data)
}

// TestDiscover: the decision of the discovery bundle says where rules come from, by the labels of
// the machine; a later one is taken in its place; a restart without a network has the last one.
func TestDiscover(t *testing.T) {
	f := newFleet(t)
	server := httptest.NewServer(f)
	defer server.Close()
	d := newDiscovering(t, f, server.URL, "", "")
	if got := d.org(); got != "" || d.boot.Missing() == "" {
		t.Fatalf("before anything was discovered: %q, %q", got, d.boot.Missing())
	}
	f.serves(sends(f.discovery(t, "1", policy(`
bundles.org := {
	"service": "s",
	"resource": sprintf("/%s/%s/%s/%s.tar.gz", [labels.id, labels.version, labels.host, labels.team]),
	"signing": {"keyid": "release", "scope": "permd"},
	"polling": {"min_delay_seconds": 5, "max_delay_seconds": 9},
} if {
	labels := opa.runtime().config.labels
}
`))))
	if why := d.discover(t); why != "" || d.org() != "/0190/1.2/h/payments.tar.gz" || d.boot.Missing() != "" {
		t.Fatalf("%q, %q", why, d.org())
	}
	if s := d.manager.DiscoveryStatus(); s.Revision != "1" || s.Highest != "1" || s.Source != server.URL+"/discovery.tar.gz" || s.Checked.IsZero() {
		t.Errorf("%+v", s)
	}
	before := d.manager.bundles[bundles.Org]
	f.serves(sends(f.discovery(t, "2", naming("two", `status.service := "s"`))))
	if why := d.discover(t); why != "" || d.org() != "/two" || d.manager.bundles[bundles.Org] == before || d.manager.reporter == nil {
		t.Errorf("%q, %q", why, d.org())
	}
	before, reports := d.manager.bundles[bundles.Org], d.manager.reporter
	f.serves(sends(f.discovery(t, "3", naming("two", `status.service := "s"`+"\ndecision_logs.service := \"s\""))))
	if why := d.discover(t); why != "" || d.manager.bundles[bundles.Org] != before || d.manager.reporter != reports || d.manager.Config().DecisionLogs == nil {
		t.Errorf("%q: what has not changed was replaced", why)
	}
	server.Close()
	again := newDiscovering(t, f, server.URL, d.dir, "")
	if got := again.org(); got != "/two" || again.boot.Missing() != "" {
		t.Errorf("after a restart: %q, %q", got, again.boot.Missing())
	}
	if why := again.discover(t); !strings.Contains(why, "connection refused") || again.org() != "/two" {
		t.Errorf("%q, %q", why, again.org())
	}
}

// TestDiscoverStatic: data documents are enough, and the decision may be below the root.
func TestDiscoverStatic(t *testing.T) {
	f := newFleet(t)
	server := httptest.NewServer(f)
	defer server.Close()
	d := newDiscovering(t, f, server.URL, "", "  decision: /discovery/config\n")
	static := `{"discovery": {"config": {"bundles": {"org": {"service": "s", "resource": "static", "size_limit_bytes": 100000, "signing": {"keyid": "release"}}}}}}`
	f.serves(sends(f.key.Sign(t, bundlestest.Archive(t, bundlestest.File(".manifest", `{"revision": "1", "roots": ["discovery"]}`), bundlestest.File("data.json", static)))))
	if why := d.discover(t); why != "" || d.org() != "/static" || d.manager.Config().Sources[bundles.Org].SizeLimitBytes != 100000 {
		t.Errorf("%q, %q", why, d.org())
	}
}

// TestDiscoverRefuses: whatever comes as a discovery bundle, and whatever it decides, the last
// good configuration stays, and the status says why. The next good one is taken.
func TestDiscoverRefuses(t *testing.T) {
	f := newFleet(t)
	server := httptest.NewServer(f)
	defer server.Close()
	d := newDiscovering(t, f, server.URL, "", "")
	f.serves(sends(f.discovery(t, "5", naming("good", ""))))
	if why := d.discover(t); why != "" || d.org() != "/good" {
		t.Fatal(why, d.org())
	}
	build := func(c bundles.Contents) []byte {
		c.Kind, c.Files = bundles.Discovery, bundlestest.Files(naming("bad", ""))
		data, err := bundles.Build(c)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	scoped := f.key.Signing()
	scoped.Scope = "other"
	wrongScope, err := bundles.Sign(build(bundles.Contents{Revision: "6"}), scoped)
	if err != nil {
		t.Fatal(err)
	}
	other := f.key.Signing()
	other.ID = "other"
	wrongID, err := bundles.Sign(build(bundles.Contents{Revision: "6"}), other)
	if err != nil {
		t.Fatal(err)
	}
	org := func(member, value string) string {
		return `{"bundles": {"org": ` + strings.Replace(`{"service": "s", "resource": "bad", "signing": {"keyid": "release"}}`, member, value, 1) + `}}`
	}
	rego := func(body string) []byte { return f.discovery(t, "6", naming("bad", body)) }
	whole := func(body string) []byte { return f.discovery(t, "6", policy(body)) }
	for _, tt := range []struct {
		name string
		data []byte
		want string
	}{
		{"unsigned", build(bundles.Contents{Revision: "6"}), "bundle missing .signatures.json file"},
		{"another key", bundlestest.NewKey(t).Sign(t, build(bundles.Contents{Revision: "6"})), "failed to verify JWT signature"},
		{"another scope", wrongScope, "scope mismatch"},
		{"another key id", wrongID, `it is signed with the key "other", and "release" is configured`},
		{"expired", f.key.Sign(t, build(bundles.Contents{Revision: "6", Expires: time.Unix(1, 0)})), "revision 6 expired at 1970-01-01T00:00:01Z"},
		{"an earlier one", f.discovery(t, "4", naming("bad", "")), "revision 4 is lower than 5, which was accepted on"},
		{"another of the same revision", f.discovery(t, "5", naming("bad", "")), "revision 5 was accepted with other contents"},
		{"rules", f.key.Signed(t, "6", layer("rm")), `the roots are ["permd/org"], and must be exactly "discovery"`},
		{"no Rego", f.key.Sign(t, bundlestest.Archive(t, bundlestest.File(".manifest", `{"revision": "6", "roots": ["discovery"]}`), bundlestest.File("d.rego", "package discovery\nx := \n"))), "rego_parse_error"},
		{"an unknown reference", whole("status.service := y\n"), "the policy of the discovery bundle: compiling: "},
		{"the network", whole(`status := http.send({"method": "get", "url": "https://example.com"}).body` + "\n"), "undefined function http.send"},
		{"the clock", whole("status.partition_name := sprintf(\"%v\", [time.now_ns()])\n"), "undefined function time.now_ns"},
		{"chance", whole("status.partition_name := uuid.rfc4122(\"\")\n"), "undefined function uuid.rfc4122"},
		{"undefined", f.discovery(t, "6", map[string]string{"d.rego": "package discovery.other\n\nx := 1\n"}), "other cannot be discovered, but only bundles, decision_logs, status"},
		{"no bundle of org", whole(`bundles.shadow := {"service": "s", "signing": {"keyid": "release"}}` + "\n"), "the discovered configuration names no bundles.org"},
		{"a loop", rego("status.partition_name := sprintf(\"%d\", [count([1 | some a in l; some b in l; some c in l; some d in l; a == b; c == d])]) if {\n\tl := split(sprintf(\"%4000d\", [0]), \" \")\n}"), "took longer than 2000 ms, or too much memory"},
		{"much", rego(`status.partition_name := "` + strings.Repeat("x", 300_000) + `"`), "is larger than 256 KiB"},
		{"services", rego(`services.s := {"url": "https://evil.example"}`), "services cannot be discovered"},
		{"keys", rego(`keys.release := {"key": "x"}`), "keys cannot be discovered"},
		{"unsigned bundles", rego(`plugins.permd.unsigned_bundles := true`), "plugins cannot be discovered"},
		{"discovery", rego(`discovery.resource := "x"`), "discovery cannot be discovered"},
		{"labels", rego(`labels.x := "x"`), "labels cannot be discovered"},
		{"another service", whole("bundles := " + org(`"s"`, `"evil"`) + ".bundles\n"), `bundles.org.service is "evil", which names no service`},
		{"another service for the log", rego(`decision_logs.service := "evil"`), `decision_logs.service is "evil", which names no service`},
		{"another service for the status", rego(`status.service := "evil"`), `status.service is "evil", which names no service`},
		{"no signature", whole("bundles := " + org(`, "signing": {"keyid": "release"}`, "") + ".bundles\n"), "bundles.org.signing is missing"},
		{"another key for org", whole("bundles := " + org("release", "other") + ".bundles\n"), "bundles.org.signing.keyid is other, which names no key"},
		{"a key in it", whole("bundles := " + org(`"keyid"`, `"key"`) + ".bundles\n"), "bundles.org.signing.key is not known"},
		{"files without signature", whole("bundles := " + org(`{"keyid"`, `{"exclude_files": ["x"], "keyid"`) + ".bundles\n"), "bundles.org.signing.exclude_files is not honoured"},
		{"another layer", rego(`bundles.project := {"service": "s"}`), "bundles.project is not the name of a layer"},
		{"no text", rego(`status.service := 1`), "status.service is 1, not text"},
		{"a fraction", rego(`decision_logs := {"service": "s", "reporting": {"min_delay_seconds": 1.5}}`), "decision_logs.reporting.min_delay_seconds is 1.5, not a whole number"},
		{"a set", whole(`bundles := {"org"}`), "bundles is a list, not an object"},
		{"what the caller refuses", rego(`decision_logs := {"service": "s", "resource": "refused"}`), "the discovered configuration: it is refused"},
		{"two values", rego("status.service := \"s\"\nstatus.service := \"t\""), "eval_conflict_error"},
		{"a builtin that fails", rego(`status.partition_name := sprintf("%v", [to_number("x")])`), "eval_builtin_error"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f.serves(sends(tt.data))
			if why := d.discover(t); !strings.Contains(why, tt.want) || why == "" {
				t.Errorf("the reason is %q, want %s", why, tt.want)
			}
			if s := d.manager.DiscoveryStatus(); d.org() != "/good" || s.Revision != "5" || s.Highest != "5" || s.Since.IsZero() {
				t.Fatalf("%q, %+v", d.org(), s)
			}
		})
	}
	f.serves(sends(f.discovery(t, "6", naming("next", ""))))
	if why := d.discover(t); why != "" || d.org() != "/next" || d.manager.DiscoveryStatus().Revision != "6" {
		t.Error(why, d.org())
	}
}

// TestDiscoverNoObject: the decision must be an object.
func TestDiscoverNoObject(t *testing.T) {
	f := newFleet(t)
	server := httptest.NewServer(f)
	defer server.Close()
	d := newDiscovering(t, f, server.URL, "", "  decision: discovery/config\n")
	for _, tt := range []struct{ rule, want string }{
		{`other := {}`, "the decision discovery/config of the discovery bundle is undefined"},
		{`config := "x"`, "is no object, but string"},
		{`config := [1]`, "is no object, but array"},
		{`config := null`, "is no object, but null"},
		{`config := {}`, "names no bundles.org"},
	} {
		f.serves(sends(f.discovery(t, "1", policy(tt.rule))))
		if why := d.discover(t); !strings.Contains(why, tt.want) || d.manager.DiscoveryStatus().Highest != "" {
			t.Errorf("%s: %q, want %s", tt.rule, why, tt.want)
		}
	}
}

// TestDiscoverBeside: what opa.yaml has itself cannot be discovered, and the rest is taken besides.
func TestDiscoverBeside(t *testing.T) {
	f := newFleet(t)
	server := httptest.NewServer(f)
	defer server.Close()
	d := newDiscovering(t, f, server.URL, "", "status: {service: s}\nbundles: {org: {service: s, resource: own, signing: {keyid: release, scope: permd}}}\n")
	shadow := `bundles.shadow := {"service": "s", "resource": "tried", "signing": {"keyid": "release", "scope": "permd"}}`
	for _, tt := range []struct {
		files map[string]string
		want  string
	}{
		{naming("x", ""), "bundles.org is in opa.yaml as well"},
		{policy(shadow + "\nstatus.service := \"s\""), "status is in opa.yaml as well"},
		{policy(shadow), ""},
	} {
		f.serves(sends(f.discovery(t, "1", tt.files)))
		if why := d.discover(t); (why == "") != (tt.want == "") || !strings.Contains(why, tt.want) || d.org() != "/own" {
			t.Errorf("%q, %q; want %s", why, d.org(), tt.want)
		}
	}
	if got := d.manager.Config().Address(bundles.Shadow); got != server.URL+"/tried" {
		t.Error(got)
	}
}

// TestDiscoverNotKept: what cannot be kept does not come into force.
func TestDiscoverNotKept(t *testing.T) {
	f := newFleet(t)
	server := httptest.NewServer(f)
	defer server.Close()
	dir := filepath.Join(t.TempDir(), "state")
	d := newDiscovering(t, f, server.URL, dir, "")
	if err := os.WriteFile(dir, nil, 0o600); err != nil { // no folder can be made in its place
		t.Fatal(err)
	}
	f.serves(sends(f.discovery(t, "1", naming("one", ""))))
	if why := d.discover(t); !strings.Contains(why, "the discovery bundle cannot be kept: ") || d.org() != "" || d.applied != 0 {
		t.Errorf("%q, %q", why, d.org())
	}
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	if why := d.discover(t); why != "" || d.org() != "/one" {
		t.Errorf("%q, %q", why, d.org())
	}
}

// TestDiscoverKeptDamaged: a kept bundle that does not verify any more is not used, and the status says so
// until another one is kept; nothing older than it is taken.
func TestDiscoverKeptDamaged(t *testing.T) {
	f := newFleet(t)
	server := httptest.NewServer(f)
	defer server.Close()
	d := newDiscovering(t, f, server.URL, "", "")
	two := f.discovery(t, "2", naming("two", ""))
	f.serves(sends(two))
	if why := d.discover(t); why != "" {
		t.Fatal(why)
	}
	if err := os.WriteFile(filepath.Join(d.dir, "discovery-bundle.tar.gz"), two[:len(two)/2], 0o600); err != nil {
		t.Fatal(err)
	}
	again := newDiscovering(t, f, server.URL, d.dir, "")
	if s := again.manager.DiscoveryStatus(); again.org() != "" || !strings.Contains(s.Error, "the archive is cut off") || s.Highest != "2" {
		t.Errorf("%q, %+v", again.org(), s)
	}
	f.serves(sends(f.discovery(t, "1", naming("one", ""))))
	if why := again.discover(t); !strings.Contains(why, "revision 1 is lower than 2") || !strings.Contains(again.manager.DiscoveryStatus().Kept, "the archive is cut off") {
		t.Errorf("%q, %+v", why, again.manager.DiscoveryStatus())
	}
	f.serves(sends(two))
	if why := again.discover(t); why != "" || again.org() != "/two" || again.manager.DiscoveryStatus().Kept != "" {
		t.Errorf("%q, %q", why, again.org())
	}
}
