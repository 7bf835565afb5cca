package main

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/permd/permd/cmd/permd/internal/orgbundle"
	"github.com/permd/permd/cmd/permd/internal/shadow"
	"github.com/permd/permd/internal/eventually"
	"github.com/permd/permd/policy/bundles"
	"github.com/permd/permd/policy/bundles/bundlestest"
)

// controlPlane is a server with bundles, which takes reports and logs.
type controlPlane struct {
	*httptest.Server
	key bundlestest.Key

	mu      sync.Mutex
	bundles map[string][]byte // by path
	report  map[string]any    // the newest status report
	events  int               // of decision logs, with the machine's id
}

func newControlPlane(t *testing.T) *controlPlane {
	c := &controlPlane{key: bundlestest.NewKey(t), bundles: map[string][]byte{}}
	c.Server = httptest.NewServer(c)
	t.Cleanup(c.Close)
	return c
}

// ServeHTTP implements [http.Handler].
func (c *controlPlane) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case r.Method == http.MethodGet:
		data, ok := c.bundles[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write(data)
	case strings.HasPrefix(r.URL.Path, "/status"):
		var report map[string]any
		if json.NewDecoder(r.Body).Decode(&report) == nil {
			c.report = report
		}
	case r.URL.Path == "/logs":
		var events []struct{ Labels map[string]string }
		zip, err := gzip.NewReader(r.Body)
		if err == nil && json.NewDecoder(zip).Decode(&events) == nil {
			for _, e := range events {
				if e.Labels["machine"] != "" && e.Labels["id"] != e.Labels["machine"] && e.Labels["app"] == "permd" {
					c.events++
				}
			}
		}
	}
}

// publish publishes a bundle of a kind.
func (c *controlPlane) publish(t *testing.T, path string, kind bundles.Kind, revision string, files map[string]string) {
	t.Helper()
	data, err := bundles.Build(bundles.Contents{Kind: kind, Revision: revision, Files: bundlestest.Files(files)})
	if err != nil {
		t.Fatal(err)
	}
	data = c.key.Sign(t, data)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.bundles[path] = data
}

// reported returns a value of the newest status report, nil for none.
func (c *controlPlane) reported(path ...string) any {
	c.mu.Lock()
	defer c.mu.Unlock()
	var v any = c.report
	for _, name := range path {
		m, _ := v.(map[string]any)
		v = m[name]
	}
	return v
}

func (c *controlPlane) logged() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.events
}

// config is an opa.yaml with discovery, and more.
func (c *controlPlane) config(more string) string {
	return fmt.Sprintf(`services:
  web: {url: %s}
keys:
  %s:
    algorithm: ES256
    scope: %s
    key: |
      %s
discovery:
  service: web
  resource: discovery.tar.gz
  polling: {min_delay_seconds: 1, max_delay_seconds: 1}
  signing: {keyid: %s}
%s`, c.URL, bundlestest.KeyID, bundlestest.Scope, strings.ReplaceAll(strings.TrimSpace(c.key.Public), "\n", "\n      "), bundlestest.KeyID, more)
}

// discoveryPolicy is a policy in which machines with a label try a bundle.
const discoveryPolicy = `package discovery

bundles.org := bundle("org.tar.gz")

bundles.shadow := bundle("next.tar.gz") if opa.runtime().config.labels.ring == "canary"

decision_logs := {"service": "web", "reporting": {"min_delay_seconds": 1, "max_delay_seconds": 1}}

bundle(name) := {
	"service": "web",
	"resource": name,
	"polling": {"min_delay_seconds": 1, "max_delay_seconds": 1},
	"signing": {"keyid": "release"},
}
`

// TestDiscovery: a daemon whose configuration is discovered takes rules, tries others and sends
// its log; what is tried decides nothing, and the service sees how it compares. opa.yaml is read
// again when it has changed, and a broken one changes nothing. After a restart without a network
// all of it is there again.
func TestDiscovery(t *testing.T) {
	t.Parallel()
	d, c := newTestDaemon(t), newControlPlane(t)
	root := filepath.Join(d.home, "root")
	file := filepath.Join(root, "etc/permd/opa.yaml")
	writeFile(t, file, c.config("status: {service: web}\nlabels: {ring: all}\n"))
	d.start(t, "--root", root)
	project := d.project(t, nil)
	decide := func(command string) string {
		t.Helper()
		return d.session(t, project).ask(t, decideLine(command)).Verdict
	}
	wait := func(what string, holds func() bool) {
		t.Helper()
		eventually.Holds(t, what, holds, d.output.String)
	}
	control := func() *orgbundle.Control {
		if got := d.status(t).Control; got != nil {
			return got
		}
		return &orgbundle.Control{}
	}
	wait("the status says that nothing can be discovered", func() bool {
		s := control()
		return s.Discovery != nil && s.Discovery.Revision == "" && strings.Contains(s.Discovery.Error, "server replied with Not Found")
	})
	id := control().ID
	if got := decide("ls"); got != "ask" || id == "" {
		t.Errorf("before a bundle: %s, id %q", got, id)
	}
	c.publish(t, "/org.tar.gz", bundles.Org, "1", map[string]string{"rules.yaml": "deny:\n  run: [git status]\n"})
	c.publish(t, "/next.tar.gz", bundles.Shadow, "9", map[string]string{"rules.yaml": "deny:\n  run: [git log]\n"})
	c.publish(t, "/discovery.tar.gz", bundles.Discovery, "1", map[string]string{"discovery.rego": discoveryPolicy})
	wait("the discovered bundle is in force", func() bool { return decide("git status") == "deny" })
	if s := control(); s.Shadow != nil || s.Discovery.Revision != "1" {
		t.Errorf("%+v", s)
	}
	wait("the log is sent", func() bool { return c.logged() > 0 })
	wait("the service knows what was discovered", func() bool {
		return c.reported("discovery", "active_revision") == "1" && c.reported("labels", "id") == id && c.reported("bundles", "org", "active_revision") == "1"
	})

	// A broken file changes nothing.
	writeFile(t, file, "discovery: {services: web}\n")
	if out, err := d.command("reload").CombinedOutput(); err == nil || !strings.Contains(string(out), "discovery.services is not known") {
		t.Errorf("%v\n%s", err, out)
	}
	if s := control(); !strings.Contains(s.Problem, "discovery.services is not known") || s.ID != id || s.Discovery.Revision != "1" || decide("git status") != "deny" {
		t.Errorf("%+v", s)
	}

	// Another label makes this machine one of those that try.
	writeFile(t, file, c.config("status: {service: web}\nlabels: {ring: canary}\n"))
	d.reload(t)
	d.waitShadow(t, "the bundle is tried", func(r *shadow.Report) bool { return r.Bundle == "9" && r.Rules == 1 })
	if s := control(); s.Problem != "" || s.Shadow == nil || s.Shadow.Revision != "9" {
		t.Errorf("%+v", s)
	}
	if got := decide("git log"); got != "allow" {
		t.Errorf("what is tried decides: %s", got)
	}
	wait("the service sees what would differ", func() bool {
		compared, _ := c.reported("bundles", "shadow", "metrics", "counter_permd_shadow_compared").(float64)
		different, _ := c.reported("bundles", "shadow", "metrics", "counter_permd_shadow_different").(float64)
		return compared >= 1 && different >= 1 && c.reported("bundles", "shadow", "active_revision") == "9" && c.reported("labels", "ring") == "canary"
	})
	out, err := d.command("policy", "shadow").Output()
	if err != nil || !strings.Contains(string(out), "1 rule of bundle 9, in place of the org rules") || !strings.Contains(string(out), "allow -> deny") {
		t.Errorf("permd policy shadow: %v\n%s", err, out)
	}
	c.publish(t, "/discovery.tar.gz", bundles.Discovery, "2", map[string]string{"discovery.rego": strings.ReplaceAll(discoveryPolicy, `"web"`, `"evil"`)})
	wait("the status says why another is refused", func() bool {
		return strings.Contains(control().Discovery.Error, `decision_logs.service is "evil", which names no service`)
	})
	out, err = d.command("status").Output()
	for _, want := range []string{"  bundle   revision 1 since ", "  control  discovery  revision 1 since ", "as machine " + id, "not taken since ", "tried      revision 9 since "} {
		if err != nil || !strings.Contains(string(out), want) {
			t.Errorf("permd status: %v, without %q\n%s", err, want, out)
		}
	}

	c.Close()
	if err := d.stop(t); err != nil {
		t.Error(err)
	}
	d.start(t, "--root", root)
	if got := decide("git status"); got != "deny" {
		t.Errorf("after a restart without the server: %s", got)
	}
	d.waitShadow(t, "the kept bundle is tried, with what was counted", func(r *shadow.Report) bool { return r.Bundle == "9" && r.Different >= 1 })
	if s := control(); s.ID != id || s.Discovery.Revision != "1" || s.Shadow.Revision != "9" {
		t.Errorf("%+v", s)
	}
}

// TestDiscoveryWithoutKept: where the kept discovery bundle is damaged and nobody answers, nothing
// is known of the rules of org, and every call asks; the status says why.
func TestDiscoveryWithoutKept(t *testing.T) {
	t.Parallel()
	d, c := newTestDaemon(t), newControlPlane(t)
	root := filepath.Join(d.home, "root")
	writeFile(t, filepath.Join(root, "etc/permd/opa.yaml"), c.config(""))
	c.publish(t, "/org.tar.gz", bundles.Org, "1", map[string]string{"rules.yaml": "deny:\n  run: [git status]\n"})
	c.publish(t, "/discovery.tar.gz", bundles.Discovery, "1", map[string]string{"discovery.rego": discoveryPolicy})
	d.start(t, "--root", root)
	project := d.project(t, nil)
	decide := func(command string) string {
		t.Helper()
		return d.session(t, project).ask(t, decideLine(command)).Verdict
	}
	eventually.Holds(t, "the bundle is in force", func() bool { return decide("git status") == "deny" }, d.output.String)
	d.kill()
	writeFile(t, d.data("bundles/discovery-bundle.tar.gz"), "damaged")
	c.Close()
	d.start(t, "--root", root)
	if got := decide("ls"); got != "ask" {
		t.Errorf("without what was discovered: %s", got)
	}
	s := d.status(t)
	if !s.Degraded || s.Control == nil || !strings.Contains(s.Control.Discovery.Kept, "it is no gzipped archive") || s.Bundle.Revision != "" || s.Bundle.Error == "" {
		t.Errorf("%+v, %+v", s.Control, s.Bundle)
	}
}

// TestConfigurationChanges: a daemon takes opa.yaml when it appears, and follows it when it changes
// or is gone. What is in force stays in force, also when its key was revoked; then it does not
// verify at the next start, and the status says so for as long as that is so.
func TestConfigurationChanges(t *testing.T) {
	t.Parallel()
	d, b := newTestDaemon(t), newBundleServer(t)
	root := b.configure(t, d)
	file := filepath.Join(root, "etc/permd/opa.yaml")
	good, err := os.ReadFile(file)
	if err == nil {
		err = os.Remove(file)
	}
	if err != nil {
		t.Fatal(err)
	}
	d.start(t, "--root", root)
	project := d.project(t, nil)
	decide := func(command string) string {
		t.Helper()
		return d.session(t, project).ask(t, decideLine(command)).Verdict
	}
	wait := func(what string, holds func() bool) {
		t.Helper()
		eventually.Holds(t, what, holds, d.output.String)
	}
	refused := func(why string) {
		t.Helper()
		if out, err := d.command("reload").CombinedOutput(); err == nil || !strings.Contains(string(out), why) {
			t.Errorf("%v, without %q\n%s", err, why, out)
		}
		if s := d.status(t); !strings.Contains(s.Control.Problem, why) || !s.Degraded {
			t.Errorf("%+v", s.Control)
		}
	}
	if s := d.status(t); s.Bundle != nil || s.Control != nil || decide("git log") != "allow" {
		t.Errorf("without opa.yaml: %+v", s.Control)
	}
	b.publish(t, "1", "deny:\n  run: [git log]\n")
	writeFile(t, file, string(good))
	d.reload(t)
	wait("the bundle is in force", func() bool { return decide("git log") == "deny" })

	if err := os.Chmod(file, 0o666); err != nil {
		t.Fatal(err)
	}
	refused("can be written by others (mode 0666)")
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	b.key = bundlestest.NewKey(t)
	b.configure(t, d)
	d.reload(t)
	wait("the status says that the old key is not believed", func() bool {
		s := d.status(t).Bundle
		return s.Revision == "1" && strings.Contains(s.Error, "failed to verify JWT signature")
	})
	if got := decide("git log"); got != "deny" {
		t.Errorf("with another key: %s", got)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	d.reload(t)
	if s := d.status(t).Bundle; s == nil || s.Revision != "1" || !strings.Contains(s.Error, "it is configured no more, and in use until the next start") || decide("git log") != "deny" {
		t.Errorf("without opa.yaml: %+v", s)
	}

	b.configure(t, d)
	if err := d.stop(t); err != nil {
		t.Error(err)
	}
	d.start(t, "--root", root)
	if got := decide("ls"); got != "ask" {
		t.Errorf("with a kept bundle of another key: %s", got)
	}
	wait("the status says why what was kept is not in force, and why no other is", func() bool {
		s := d.status(t).Bundle
		return !s.Since.IsZero() && strings.Contains(s.Error, "failed to verify JWT signature") && strings.Contains(s.Kept, "the bundle kept in ")
	})
	b.publish(t, "2", "deny:\n  run: [git log]\n")
	wait("a bundle of the new key is in force", func() bool { return decide("git log") == "deny" })
	if s := d.status(t).Bundle; s.Kept != "" || s.Revision != "2" {
		t.Errorf("%+v", s)
	}
}
