package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/permd/permd/examples/receivers/decisionlogs/receiver"
	"github.com/permd/permd/internal/eventually"
	"github.com/permd/permd/policy/bundles/bundlestest"
)

// TestAdminPage follows the page for a fleet. What needs a systemd and packages is done by
// packaging/machine/try.sh; here these programs do nothing.
func TestAdminPage(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it does what a page says")
	}
	t.Parallel()
	d := newTestDaemon(t)
	project := d.project(t, nil)
	var yaml, toml []string
	for _, b := range fence.FindAllStringSubmatch(readPage(t, "../../docs/admin.md"), -1) {
		switch b[1] {
		case "yaml":
			yaml = append(yaml, b[2])
		case "toml":
			toml = append(toml, b[2])
		}
	}
	if len(yaml) != 3 || len(toml) != 1 {
		t.Fatalf("the page has %d blocks of YAML and %d of TOML", len(yaml), len(toml))
	}
	writeFile(t, filepath.Join(project, "policy.d", "rules.yaml"), yaml[0])
	writeFile(t, filepath.Join(project, "policy.d", "calls_test.yaml"), yaml[1])
	writeFile(t, filepath.Join(project, "permd.toml"), toml[0])
	writeFile(t, filepath.Join(project, "calls.jsonl"), `{"tool":{"name":"Bash"},"input":{"command":"git push --force origin main"}}`+"\n")
	writeFile(t, filepath.Join(project, "www", "canary", "README"), "")
	d.stubs = []string{"apt", "gpasswd", "systemctl"}
	key := bundlestest.NewKey(t) // where there is no openssl
	writeFile(t, filepath.Join(project, "key.pem"), key.Private)
	writeFile(t, filepath.Join(project, "public.pem"), key.Public)

	root := filepath.Join(d.home, "root")
	web := httptest.NewServer(http.FileServerFS(os.DirFS(filepath.Join(project, "www"))))
	t.Cleanup(web.Close)
	store, err := receiver.Open(filepath.Join(t.TempDir(), "audit.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	const token = "canary-token-of-the-test"
	keep, err := receiver.Handler(store, token)
	if err != nil {
		t.Fatal(err)
	}
	var kept atomic.Int32
	audit := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer := httptest.NewRecorder()
		keep.ServeHTTP(answer, r)
		if answer.Code == http.StatusNoContent {
			kept.Add(1)
		}
		w.WriteHeader(answer.Code)
	}))
	t.Cleanup(audit.Close)
	writeFile(t, filepath.Join(project, "opa.yaml"), "")
	d.beforeStart = func() {
		public := strings.TrimSpace(readPage(t, filepath.Join(project, "public.pem")))
		config := yaml[2]
		begin, end := strings.Index(config, "      -----BEGIN"), strings.Index(config, "bundles:")
		config = config[:begin] + "      " + strings.ReplaceAll(public, "\n", "\n      ") + "\n" + config[end:]
		// As on the page, with the servers and the delays of a test.
		config = strings.NewReplacer(
			"https://policy.example.com", web.URL, "https://audit.example.com", audit.URL, "/etc/permd/audit-token", filepath.Join(root, "etc/permd/audit-token"),
			"signing: {keyid: release}", "signing: {keyid: release}\n    polling: {min_delay_seconds: 1, max_delay_seconds: 1}",
			"  service: audit\n", "  service: audit\n  reporting: {min_delay_seconds: 1, max_delay_seconds: 1}\n",
		).Replace(config)
		writeFile(t, filepath.Join(root, "etc/permd/opa.yaml"), config)
		writeFile(t, filepath.Join(root, "etc/permd/audit-token"), token)
		if err := os.Chmod(filepath.Join(root, "etc/permd/audit-token"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	d.afterStart = func() { d.waitOutput(t, "a bundle is in force") }
	d.followPage(t, "admin.md", project)

	eventually.Holds(t, "the second revision is in force", func() bool {
		out, _ := d.shell(project, "permd status")
		return strings.Contains(out, "bundle   revision 2")
	})
	eventually.Holds(t, "the service has the decision", func() bool { return kept.Load() > 0 })
	if out, err := d.shell(project, "permd hook uninstall claude --managed --yes"); err != nil {
		t.Errorf("what the page installed cannot be taken back: %v\n%s", err, out)
	}
}
