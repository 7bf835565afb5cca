package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/permd/permd/policy/bundles/bundlestest"
)

// TestBundlePage follows the page about bundles: with its folder of rules, its configuration, and a
// web server that sends what its commands have made.
func TestBundlePage(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it does what a page says")
	}
	t.Parallel()
	d := newTestDaemon(t)
	project := d.project(t, nil)
	var blocks []string
	for _, b := range fence.FindAllStringSubmatch(readPage(t, "../../docs/bundles.md"), -1) {
		if b[1] == "yaml" {
			blocks = append(blocks, b[2])
		}
	}
	if len(blocks) != 2 {
		t.Fatalf("the page has %d blocks of YAML", len(blocks))
	}
	writeFile(t, filepath.Join(project, "policy.d", "rules.yaml"), blocks[0])
	key := bundlestest.NewKey(t) // where there is no openssl
	writeFile(t, filepath.Join(project, "key.pem"), key.Private)
	writeFile(t, filepath.Join(project, "public.pem"), key.Public)
	root := filepath.Join(d.home, "root")
	server := httptest.NewServer(http.FileServerFS(os.DirFS(project)))
	t.Cleanup(server.Close)
	// The key is there once the commands before have made it, and the page's server is another.
	config := strings.Replace(blocks[1], "https://policy.example.com", server.URL, 1)
	begin, end := strings.Index(config, "      -----BEGIN"), strings.Index(config, "bundles:")
	d.beforeStart = func() {
		public := strings.TrimSpace(readPage(t, filepath.Join(project, "public.pem")))
		writeFile(t, filepath.Join(root, "etc/permd/opa.yaml"), config[:begin]+"      "+strings.ReplaceAll(public, "\n", "\n      ")+"\n"+config[end:])
	}
	d.afterStart = func() {
		d.waitOutput(t, "a bundle of org is in force")
	}
	d.followPage(t, "bundles.md", project)
}
