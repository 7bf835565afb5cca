package management

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/permd/permd/policy/bundles"
	"github.com/permd/permd/policy/bundles/bundlestest"
)

// TestExampleCanary: with the discovery policy of the examples all machines have the rules of org,
// about 5 of 100 try the next ones, the same at each start, and with a larger share these and others.
func TestExampleCanary(t *testing.T) {
	dir := filepath.Join("..", "..", "examples", "discovery")
	rego, err := os.ReadFile(filepath.Join(dir, "discovery.rego"))
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "opa.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	key := bundlestest.NewKey(t)
	begin, end := strings.Index(string(text), "      -----BEGIN"), strings.Index(string(text), "discovery:")
	c, err := Parse("opa.yaml", []byte(string(text[:begin])+"      "+indented(key.Public)+"\n"+string(text[end:])))
	if err != nil {
		t.Fatal(err)
	}
	compiled := func(rego string) *DiscoveryPolicy {
		t.Helper()
		data, err := bundles.Build(bundles.Contents{Kind: bundles.Discovery, Revision: "1", Files: bundlestest.Files(map[string]string{"discovery.rego": rego})})
		if err != nil {
			t.Fatal(err)
		}
		b, err := bundles.Read(bundles.Discovery, data, nil)
		if err != nil {
			t.Fatal(err)
		}
		p, err := c.CompileDiscovery(b)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	tries := func(p *DiscoveryPolicy, labels map[string]string) bool {
		t.Helper()
		got, err := p.Evaluate(t.Context(), labels)
		if err != nil {
			t.Fatal(err)
		}
		if got.Address(bundles.Org) != "https://policy.example.com/org.tar.gz" || got.Status == nil || got.DecisionLogs == nil {
			t.Fatalf("%+v", got)
		}
		at := got.Address(bundles.Shadow)
		if at != "" && at != "https://policy.example.com/next.tar.gz" {
			t.Fatal(at)
		}
		return at != ""
	}
	five := compiled(string(rego))
	more := compiled(strings.Replace(string(rego), "percent := 5", "percent := 20", 1))
	const machines = 300
	few, many := 0, 0
	for i := range machines {
		id := uuid.NewSHA1(uuid.NameSpaceOID, fmt.Append(nil, i)).String()
		labels := map[string]string{"id": id}
		a, b := tries(five, labels), tries(more, labels)
		if a {
			few++
		}
		if b {
			many++
		}
		if a && !b || a != tries(five, labels) {
			t.Fatalf("machine %s is chosen once, and not again", id)
		}
	}
	if few < 6 || few > 27 || many < 40 || many > 80 {
		t.Errorf("of %d machines %d try at 5 %%, and %d at 20 %%", machines, few, many)
	}
	none := compiled(strings.Replace(string(rego), "percent := 5", "percent := 0", 1))
	if !tries(none, map[string]string{"id": "x", "canary": "true"}) || tries(none, map[string]string{"id": "x"}) {
		t.Error("the label does not count")
	}
}

// FuzzDiscovered: whatever is discovered, whom to believe and whose servers to use is as in opa.yaml.
func FuzzDiscovered(f *testing.F) {
	key := bundlestest.NewKey(f)
	c, err := Parse("opa.yaml", []byte(discoveryConfig(key, "https://example.com", "")))
	if err != nil {
		f.Fatal(err)
	}
	for _, decision := range []string{
		`{"bundles": {"org": {"service": "s", "resource": "x", "signing": {"keyid": "release"}}}}`,
		`{"bundles": {"org": {"service": "t"}}, "services": {"t": {"url": "https://evil.example"}}}`,
		`{"bundles": {"org": {"resource": "file:///x"}}, "plugins": {"permd": {"unsigned_bundles": true}}}`,
		`{"bundles": {"org": {"service": "s", "signing": {"keyid": ""}}}, "status": {"service": "s"}}`,
	} {
		f.Add([]byte(decision))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		archive := bundlestest.Archive(t, bundlestest.File(".manifest", `{"revision": "1", "roots": ["discovery"]}`), bundlestest.File("data.json", `{"discovery": `+string(data)+`}`))
		b, err := bundles.Read(bundles.Discovery, archive, nil)
		if err != nil {
			return
		}
		got, err := c.evaluate(t.Context(), b, map[string]string{"id": "m", "at": time.Time{}.String()})
		if err != nil {
			return
		}
		if got.Unsigned || len(got.services) != 1 || got.services["s"].url != "https://example.com" || len(got.Keys) != 1 || got.Sources[bundles.Org] == nil {
			t.Fatalf("%s: %+v", data, got)
		}
		for kind, s := range got.Sources {
			if !s.Signing.SignatureRequired() || s.Signing.KeyID != bundlestest.KeyID || s.Service != "s" && !strings.HasPrefix(s.Resource, "file://") {
				t.Fatalf("%s: %s is %+v", data, kind, s)
			}
		}
	})
}
