package main

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// TestWindow: the changes of a window are those from its first to its last.
func TestWindow(t *testing.T) {
	for _, tt := range []struct {
		window window
		want   string // the editions
	}{
		{window{0, 0}, "0"}, {window{5, 7}, "501"}, {window{8, 8}, "2"}, {window{3, 3 + editions}, "345012"}, {window{0, 1000}, "012345"},
	} {
		got := ""
		for n := range int64(editions) {
			if e := int((tt.window.first + n) % editions); tt.window.has(e) {
				got += fmt.Sprint(e)
			}
		}
		if got != tt.want {
			t.Errorf("%+v has the editions %s, want %s", tt.window, got, tt.want)
		}
	}
}

// TestGrowth: what grows all the time is found, what grows at first or varies is not.
func TestGrowth(t *testing.T) {
	run := func(at func(second int) usage) (all []usage) {
		for second := range 60 {
			all = append(all, at(second))
		}
		return all
	}
	steady := usage{RSS: 100, Goroutines: 300, Descriptors: 110}
	for _, tt := range []struct {
		name string
		at   func(second int) usage
		want string
	}{
		{"steady", func(int) usage { return steady }, ""},
		{"warms up", func(s int) usage { u := steady; u.RSS += 10 * float64(min(s, 20)); return u }, ""},
		{"varies", func(s int) usage { u := steady; u.RSS += 25 * float64(s%2); u.Goroutines += 50 * (s % 3); return u }, ""},
		{"memory", func(s int) usage { u := steady; u.RSS += 3 * float64(s); return u }, "the resident memory in MiB grow from"},
		{"goroutines", func(s int) usage { u := steady; u.Goroutines += 10 * s; return u }, "the goroutines grow from"},
		{"descriptors", func(s int) usage { u := steady; u.Descriptors += 2 * s; return u }, "the descriptors grow from"},
	} {
		err := growth(run(tt.at))
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
	}
	if growth(run(func(int) usage { return steady })[:minSamples-1]) == nil {
		t.Error("too few samples are enough")
	}
	if left(steady, steady) != nil || left(usage{Goroutines: 24, Descriptors: 40}, steady) == nil {
		t.Error("what is left of clients is not found")
	}
}

// TestAnswered: only the latest decisions are kept, and one that comes twice is seen.
func TestAnswered(t *testing.T) {
	a := newAnswered(2)
	for _, id := range []string{"1", "2", "3"} {
		a.add(id, "allow")
	}
	if len(a.verdicts) != 2 || a.verdicts["1"] != "" || a.twice != "" {
		t.Errorf("%+v", a)
	}
	if a.add("3", "ask"); a.twice != "3" {
		t.Error("an answer that came twice was not seen")
	}
}

// TestWrongAnswers: a client finds what a daemon must not do. The control is a daemon
// that answers well.
func TestWrongAnswers(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it compiles the rules of all editions")
	}
	d := &daemon{dir: t.TempDir()}
	d.project = t.TempDir()
	d.cmd = testProcess()
	o, err := newOracle(t.Context(), d)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(o.close)
	for n := range editions {
		if err := o.learn(n, fmt.Sprintf("digest%d", n)); err != nil {
			t.Fatal(err)
		}
	}
	answer := func(id int, verdict, by, digest string) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{"decisions":[{"decisionId":"d%[1]d","verdict":%[2]q,"decidedBy":%[3]q,"policy":{"digest":%[4]q}}]}}`+"\n",
			id, verdict, by, digest)
	}
	good := answer(1, "allow", "policy", "digest3")
	for _, tt := range []struct {
		name, lines string
		remembered  remembered
		want        string // of the error
	}{
		{"right", good, nothing, ""},
		{"right, by memory", answer(1, "deny", "memory", "digest3"), aReject, ""},
		{"allowed by the former rules", answer(1, "allow", "policy", "digest2"), nothing, "decided by edition 2"},
		{"decided by rules of nobody", answer(1, "allow", "policy", "other"), nothing, "decided by edition -1"},
		{"denied", answer(1, "deny", "policy", "digest3"), nothing, "the answer is deny by policy (), the oracle's is allow by policy"},
		{"asked", answer(1, "ask", "policy", "digest3"), nothing, "the oracle's is allow"},
		{"allowed in spite of a reject", good, aReject, "the oracle's is deny by memory"},
		{"failed, and allowed", answer(1, "allow", "failure", "digest3"), nothing, "the oracle's is allow by policy"},
		{"two answers", good + good, nothing, "an answer to no request"},
		{"an answer to another request", answer(7, "allow", "policy", "digest3"), nothing, "which has one or does not exist"},
		{"cancelled by nobody", `{"jsonrpc":"2.0","id":1,"error":{"code":-32800,"message":"request cancelled"}}` + "\n", nothing, "request cancelled"},
		{"no answer", "", nothing, "1 requests are open"},
	} {
		near, far := net.Pipe()
		l := &load{daemon: d, options: options{inFlight: 1}, oracle: o, rules: &rules{oracle: o}, answered: newAnswered(10)}
		l.rules.written.Store(3)
		c := &connection{load: l, conn: near, lines: bufio.NewReader(near), rand: rand.New(rand.NewPCG(1, 1)), open: map[int]*request{}, session: "s"}
		go func() {
			if _, err := io.WriteString(far, tt.lines); err == nil {
				far.Close()
			}
		}()
		asked := &request{call: own(c, 1), first: 3, remembered: tt.remembered, sent: time.Now()}
		asked.params["calls"].([]any)[0].(map[string]any)["input"] = map[string]string{"command": "edtool 3"}
		c.open[1] = asked
		err := c.await(t.Context(), func(*decision, *request) {})
		if err == nil {
			err = c.finish()
		}
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
		near.Close()
		far.Close()
	}
}

// testProcess is this process, in the place of a daemon's.
func testProcess() *exec.Cmd {
	return &exec.Cmd{Process: &os.Process{Pid: os.Getpid()}}
}
