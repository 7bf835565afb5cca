package mcp

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// TestLists: what a tool is, and what is none.
func TestLists(t *testing.T) {
	t.Parallel()
	tool := func(name, says string) string { return `{"name":"` + name + `","description":"` + says + `"}` }
	list := func(tools ...string) map[string]string {
		t.Helper()
		l, err := readList([]byte(`{"tools":[` + strings.Join(tools, ",") + `]}`))
		if err != nil {
			t.Fatal(err)
		}
		found := map[string]string{}
		for _, tool := range l.tools {
			found[tool.name] = tool.digest
		}
		return found
	}
	both := list(tool("a", "x"), tool("b", "x"))
	first := both["a"]
	if first == "" || first == both["b"] {
		t.Errorf("digests %q and %q", first, both["b"])
	}
	for _, same := range []string{`{"description":"x" , "name":"a"}`, `{"name":"a","description":"\u0078","icons":[1],"_meta":{"a":1}}`} {
		if list(same)["a"] != first {
			t.Errorf("%s has another digest", same)
		}
	}
	for _, other := range []string{
		tool("a", "y"), `{"name":"a"}`, `{"name":"a","description":"x","inputSchema":{"type":"object"}}`, `{"name":"a","description":"x","annotations":{"readOnlyHint":true}}`,
		`{"name":"a","description":"x","examples":["y"]}`,
	} {
		if digest := list(other)["a"]; digest == first || digest == "" {
			t.Errorf("%s has the digest %q", other, digest)
		}
	}
	number := func(n string) string {
		return list(`{"name":"a","inputSchema":{"default":` + n + `}}`)["a"]
	}
	for _, two := range [][2]string{{"123456789012345678", "123456789012345679"}, {"9007199254740992", "9007199254740993"}, {"0.1", "0.1000000000000000055"}, {"1e400", "2e400"}} {
		if a := number(two[0]); a == "" || a == number(two[1]) {
			t.Errorf("%s and %s have the digest %q", two[0], two[1], a)
		}
	}
	for _, none := range []string{
		`{"name":"a","Description":"x"}`, `{"Name":"a"}`, `{"name":["a"]}`, `"a"`, `{"name":"` + strings.Repeat("a", maxID+1) + `"}`,
		tool("mcp__s__a", "x"), tool("MCP__s__a", "x"), tool("mcp.s.a", "x"), tool("MCP:a", "x"), tool(methodReadResource, "x"), tool("a@sha256-1", "x"),
	} {
		if got := list(none); len(got) != 0 {
			t.Errorf("%s is a tool: %v", none, got)
		}
	}
	for _, bad := range []string{
		`{}`, `[]`, `{"tools":{}}`, `{"tools":[],"Tools":[{"name":"a"}]}`, `{"Tools":[]}`, `{"tools":[],"nextCursor":1}`, `{"tools":[],"NextCursor":"x"}`,
	} {
		if l, err := readList([]byte(bad)); err == nil {
			t.Errorf("%s is a list: %+v", bad, l)
		}
	}
}

// setPin notes a tool's definitions after it was decided by what is known now.
func setPin(p *Pins, tool string, digests []string) error {
	known, _ := p.Known(tool)
	return p.Set(tool, known, digests)
}

// TestPinsMeanwhile: what two gateways of one server were told of a tool is not noted by both of
// them, unless it is the same.
func TestPinsMeanwhile(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "mcp")
	p, other := OpenPins(dir, "s"), OpenPins(dir, "s")
	for _, tt := range []struct {
		by              *Pins
		before, digests []string
		want            error
	}{
		{p, nil, []string{"good"}, nil},
		{other, nil, []string{"evil"}, errMeanwhile},
		{other, nil, []string{"good"}, nil},
		{other, []string{"good"}, []string{"evil"}, nil},
		{p, []string{"good"}, []string{"evil", "good"}, errMeanwhile},
	} {
		if err := tt.by.Set("a", tt.before, tt.digests); !errors.Is(err, tt.want) {
			t.Errorf("%s after %s: %v, want %v", tt.digests, tt.before, err, tt.want)
		}
	}
}

// TestPins: what cannot be read counts as changed, and is not overwritten.
func TestPins(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "mcp")
	p := OpenPins(dir, "s")
	want := func(what, digest string, fails bool) {
		t.Helper()
		if got, err := p.Known("a"); strings.Join(got, " ") != digest || (err != nil) != fails {
			t.Errorf("%s: %q, %v", what, got, err)
		}
	}
	want("nothing stored", "", false)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			if err := setPin(OpenPins(dir, "s"), fmt.Sprintf("tool%d", i), []string{"1"}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if err := setPin(p, "a", []string{"2"}); err != nil {
		t.Error(err)
	}
	want("stored", "2", false)
	if got, _ := p.Known("tool7"); len(got) != 1 {
		t.Errorf("another gateway's: %q", got)
	}
	if got, err := OpenPins(dir, "other").Known("a"); got != nil || err != nil {
		t.Errorf("another server's: %q, %v", got, err)
	}
	if err := os.WriteFile(p.path, []byte(`{"server":"s","tools":{"a":["3"]`), 0o600); err != nil {
		t.Fatal(err)
	}
	want("a damaged file", "", true)
	if setPin(p, "a", []string{"3"}) == nil {
		t.Error("a damaged file is overwritten")
	}
	if err := os.Remove(p.path); err != nil {
		t.Fatal(err)
	}
	for what, put := range map[string]func() error{
		"a link":      func() error { return os.Symlink("/dev/zero", p.path) },
		"a pipe":      func() error { return syscall.Mkfifo(p.path, 0o600) },
		"a folder":    func() error { return os.Mkdir(p.path, 0o700) },
		"a long file": func() error { return os.WriteFile(p.path, []byte(strings.Repeat(" ", maxPins)+"{}"), 0o600) },
		"what others can change": func() error {
			return errors.Join(os.WriteFile(p.path, []byte(`{"server":"s","tools":{"a":["3"]}}`), 0o600), os.Chmod(p.path, 0o620))
		},
		"another server's": func() error { return os.WriteFile(p.path, []byte(`{"server":"t","tools":{"a":["3"]}}`), 0o600) },
		"two things of a tool": func() error {
			return os.WriteFile(p.path, []byte(`{"server":"s","tools":{"a":["3"],"a":["4"]}}`), 0o600)
		},
	} {
		if err := put(); err != nil {
			t.Fatal(err)
		}
		want(what, "", true)
		if setPin(p, "a", []string{"3"}) == nil {
			t.Errorf("%s is overwritten", what)
		}
		if err := os.Remove(p.path); err != nil {
			t.Fatal(err)
		}
	}

	if err := setPin(p, "a", []string{"2"}); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o770); err != nil {
		t.Fatal(err)
	}
	want("in a folder of others", "", true)
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}

	// What is written first is made anew, whatever is in its place.
	target := filepath.Join(dir, "target")
	for what, put := range map[string]func(path string) error{
		"a link": func(path string) error {
			return errors.Join(os.WriteFile(target, []byte("x"), 0o600), os.Symlink(target, path))
		},
		"a pipe":            func(path string) error { return syscall.Mkfifo(path, 0o600) },
		"what a crash left": func(path string) error { return os.WriteFile(path, []byte("{"), 0o600) },
	} {
		if err := put(p.path + ".new"); err != nil {
			t.Fatal(err)
		}
		if err := setPin(p, "a", []string{what}); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		want(what, what, false)
	}
	if got, err := os.ReadFile(target); string(got) != "x" {
		t.Errorf("the link's target is %q, %v", got, err)
	}
}
