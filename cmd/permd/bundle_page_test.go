package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/permd/permd/policy/bundles"
	"github.com/permd/permd/policy/bundles/bundlestest"
	"github.com/permd/permd/policy/management"
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
	if len(blocks) != 5 {
		t.Fatalf("the page has %d blocks of YAML", len(blocks))
	}
	writeFile(t, filepath.Join(project, "policy.d", "rules.yaml"), blocks[0])
	writeFile(t, filepath.Join(project, "user.d", "rules.yaml"), blocks[0])
	key := bundlestest.NewKey(t) // where there is no openssl
	writeFile(t, filepath.Join(project, "key.pem"), key.Private)
	writeFile(t, filepath.Join(project, "public.pem"), key.Public)
	example := "../../examples/discovery/"
	writeFile(t, filepath.Join(project, "discovery", "discovery.rego"), readPage(t, example+"discovery.rego"))
	for _, name := range []string{"opa.yaml", "machines"} {
		writeFile(t, filepath.Join(project, "discovery", name), readPage(t, example+name))
	}
	if !strings.HasSuffix(readPage(t, example+"opa.yaml"), blocks[4]) {
		t.Errorf("the example has another section than the page:\n%s", blocks[4])
	}
	root := filepath.Join(d.home, "root")
	server := httptest.NewServer(http.FileServerFS(os.DirFS(project)))
	t.Cleanup(server.Close)
	// The key is there once the commands before have made it, and the page's server is another.
	config := strings.Replace(blocks[1], "https://policy.example.com", server.URL, 1)
	begin, end := strings.Index(config, "      -----BEGIN"), strings.Index(config, "bundles:")
	with := func(public, bundles string) string {
		return config[:begin] + "      " + strings.ReplaceAll(strings.TrimSpace(public), "\n", "\n      ") + "\n" + bundles
	}
	c, err := management.Parse("opa.yaml", []byte(with(key.Public, blocks[2])))
	if err != nil || c.Address(bundles.User) != server.URL+"/user.tar.gz" {
		t.Errorf("the page's bundle for people: %v", err)
	}
	c, err = management.Parse("opa.yaml", []byte(with(key.Public, blocks[3])))
	if err != nil || c.Address(bundles.Shadow) != server.URL+"/next.tar.gz" {
		t.Errorf("the page's bundle that is tried: %v", err)
	}
	d.beforeStart = func() {
		public := readPage(t, filepath.Join(project, "public.pem"))
		writeFile(t, filepath.Join(root, "etc/permd/opa.yaml"), with(public, config[end:]))
	}
	d.afterStart = func() {
		d.waitOutput(t, "a bundle is in force")
	}
	d.followPage(t, "bundles.md", project)
}
