package main

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == receiverCommand {
		if err := receive(os.Args[2:], os.Stdin, os.Stdout); err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// few are the options for a fleet that takes seconds.
func few(t *testing.T, args ...string) options {
	t.Helper()
	args = append([]string{"-machines", "8", "-journals", "2", "-stores", "1", "-daemons", "0", "-poll", "1s", "-outage", "1s", "-calls", "5", "-rules", "20", "-json"}, args...)
	o, err := parse(args, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// play runs a fleet and returns the results of its scenarios by their names.
func play(t *testing.T, o options) map[string]*result {
	t.Helper()
	var out bytes.Buffer
	if err := run(t.Context(), o, &out); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	all := map[string]*result{}
	for line := range strings.Lines(out.String()) {
		r := new(result)
		if err := json.Unmarshal([]byte(line), r); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		if r.Name != "" {
			all[r.Name] = r
		}
	}
	return all
}

// TestFleet: machines take what they may and keep what they have, with nginx as in the example.
func TestFleet(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it runs nginx; TestFleetQuick is the quick one")
	}
	if _, err := findNginx(""); err != nil {
		t.Skip(err)
	}
	got := play(t, few(t, "-only", "steady,new,otherkey,outage,canary"))
	if len(got) != 6 {
		t.Fatalf("%d scenarios were played", len(got))
	}
	for name, r := range got {
		if r.Polls < 8 || r.Reports == 0 || r.Sent == 0 {
			t.Errorf("%s: %+v", name, r)
		}
	}
	if s := got["steady"]; s.Full > 0 || s.NotModified != s.Polls || s.Uploads == 0 {
		t.Errorf("bundles that have not changed were sent: %+v", s.counts)
	}
	if n := got["new"]; n.Full != 8 {
		t.Errorf("a new bundle was sent %d times to 8 machines", n.Full)
	}
}

// TestFleetQuick: the same with the file server of this program, for a rollout and a rollback.
func TestFleetQuick(t *testing.T) {
	got := play(t, few(t, "-server", "go", "-only", "new,rollback"))
	if len(got) != 3 || got["rollback"].Full != 8 {
		t.Errorf("%+v", got)
	}
}

// TestWrongMachine: a machine that has other rules than it must have is found.
func TestWrongMachine(t *testing.T) {
	o := few(t, "-server", "go")
	f := &fleet{o: o, dir: t.TempDir(), report: &report{w: io.Discard, o: o}}
	defer func() {
		if err := f.end(); err != nil {
			t.Error(err)
		}
	}()
	if err := f.furnish(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := f.play(t.Context(), scenarios[0]); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(f.machines[3].kept() + "/org-bundle.tar.gz"); err != nil {
		t.Fatal(err)
	}
	if err := f.unchanged(); err == nil || !strings.Contains(err.Error(), "m00003 keeps another bundle than revision 1") {
		t.Errorf("a machine without its bundle: %v", err)
	}
	f.revision++
	if err := f.unchanged(); err == nil || !strings.Contains(err.Error(), `m00000 has revision "1", want "2"`) {
		t.Errorf("machines with an old revision: %v", err)
	}
}

// TestParse: flags that do not fit together are refused.
func TestParse(t *testing.T) {
	for _, args := range []string{"-machines 4", "-poll 1500ms", "-stores 9 -machines 8", "-server apache", "-only nothing", "-journals 9 -machines 8", "more"} {
		if _, err := parse(strings.Fields(args), io.Discard); err == nil {
			t.Errorf("%s is accepted", args)
		}
	}
}

// TestTraffic: lines of the server's log are counted by what they are about.
func TestTraffic(t *testing.T) {
	var c counts
	c.seconds = map[int64]int{}
	for _, line := range []string{
		"1796000115.842 127.0.0.1 GET /org.tar.gz 200 3113 512 0.001 1",
		"1796000115.999 127.0.0.1 GET /org.tar.gz 304 180 512 0.000 2",
		"1796000117.000 127.0.0.1 GET /org.tar.gz 404 180 512 0.000 3",
		"1796000117.100 127.0.0.1 POST /status 200 114 950 0.003 4",
		"1796000117.200 127.0.0.1 POST /logs 204 114 2950 0.003 1",
	} {
		if err := c.add(line); err != nil {
			t.Fatal(err)
		}
	}
	want := counts{Requests: 5, Polls: 3, NotModified: 1, Full: 1, Failed: 1, Reports: 1, Uploads: 1, Connections: 2, Sent: 3701, ReportBytes: 950, UploadBytes: 2950}
	seconds := c.seconds
	if c.seconds = nil; !cmp.Equal(c, want, cmp.AllowUnexported(counts{})) {
		t.Errorf("%v, want %v", c, want)
	}
	c.seconds = seconds
	if c.peakSince(time.Time{}) != 2 || c.peakSince(time.Unix(1796000116, 0)) != 1 {
		t.Errorf("%v", seconds)
	}
	if err := c.add("x"); err == nil {
		t.Error("a line of another form is counted")
	}
}

// TestDocumented: the page has the configuration that is run.
func TestDocumented(t *testing.T) {
	page, err := os.ReadFile("../../docs/fleet.md")
	if err != nil {
		t.Fatal(err)
	}
	config, err := os.ReadFile("../../examples/fleet/nginx.conf")
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(config), "\n\n") // without the comment
	if !strings.Contains(string(page), "```nginx\n"+text+"```\n") {
		t.Error("docs/fleet.md does not have the configuration of examples/fleet/nginx.conf")
	}
}
