package mcp

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// TestLists: a tool is what the client was told of it last, and one that stands in the list
// twice is none.
func TestLists(t *testing.T) {
	t.Parallel()
	tool := func(name, says string) string { return `{"name":"` + name + `","description":"` + says + `"}` }
	var d definitions
	note := func(tools ...string) { d.note([]byte(`{"tools":[` + strings.Join(tools, ",") + `]}`)) }
	note(tool("a", "x"), tool("b", "x"))
	first := d.find("a")
	if first == "" || first == d.find("b") {
		t.Errorf("digests %q and %q", first, d.find("b"))
	}
	note(tool("a", "x"))
	if d.find("a") != first {
		t.Error("the same definition has another digest")
	}
	note(`{"description":"x" , "name":"a"}`)
	if d.find("a") != first {
		t.Error("the same definition in another order has another digest")
	}
	for _, other := range []string{
		tool("a", "y"), `{"name":"a"}`, `{"name":"a","description":"x","inputSchema":{"type":"object"}}`, `{"name":"a","description":"x","annotations":{"readOnlyHint":true}}`,
	} {
		if note(other); d.find("a") == first {
			t.Errorf("%s has the digest of another definition", other)
		}
	}
	for _, none := range [][]string{{tool("a", "x"), tool("a", "y")}, {`{"name":"a","Description":"x"}`, tool("a", "x"), tool("a", "x")}} {
		if note(none...); d.find("a") != "" {
			t.Errorf("%s is a tool", none)
		}
	}
	note(tool("a", "x"))
	if d.forget(); d.find("a") != "" {
		t.Error("a tool is known after the list has changed")
	}
}

// TestPins: what cannot be read counts as changed, and is not overwritten.
func TestPins(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "mcp")
	p := OpenPins(dir, "s")
	want := func(what, digest string, fails bool) {
		t.Helper()
		if got, err := p.Known("a"); got != digest || (err != nil) != fails {
			t.Errorf("%s: %q, %v", what, got, err)
		}
	}
	want("nothing stored", "", false)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			if err := OpenPins(dir, "s").Set(fmt.Sprintf("tool%d", i), "1"); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if err := p.Set("a", "2"); err != nil {
		t.Error(err)
	}
	want("stored", "2", false)
	if got, _ := p.Known("tool7"); got != "1" {
		t.Errorf("another gateway's: %q", got)
	}
	if got, err := OpenPins(dir, "other").Known("a"); got != "" || err != nil {
		t.Errorf("another server's: %q, %v", got, err)
	}
	if err := os.WriteFile(p.path, []byte(`{"server":"s","tools":{"a":"3"`), 0o600); err != nil {
		t.Fatal(err)
	}
	want("a damaged file", "", true)
	if p.Set("a", "3") == nil {
		t.Error("a damaged file is overwritten")
	}
	if err := os.Remove(p.path); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/dev/zero", p.path); err != nil {
		t.Fatal(err)
	}
	want("a link", "", true)
}
