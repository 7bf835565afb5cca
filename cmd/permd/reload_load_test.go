package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/permd/permd/internal/eventually"
)

// generation is a set of files whose rules allow the probe only when all of them are of
// that generation, and deny it otherwise.
func generation(n int) map[string]string {
	const top = "package permd.user\nimport rego.v2\n"
	return map[string]string{
		"a.rego": top + "deny contains \"torn\" if {\n\tinput.effect.program == \"git\"\n\tone != two\n}\none := " + strconv.Itoa(n) + "\n",
		"b.rego": top + "allow contains sprintf(\"generation %d\", [one]) if {\n\tinput.effect.program == \"git\"\n\tone == two\n}\ntwo := " + strconv.Itoa(n) + "\n",
	}
}

// swapPolicy puts files into the folder of the person's rules in one step, as a
// mounted ConfigMap gets them: through the link ..data.
func (d *testDaemon) swapPolicy(t *testing.T, name string, files map[string]string) {
	t.Helper()
	dir := filepath.Join(d.home, ".config", "permd", "policy.d")
	for file, text := range files {
		writeFile(t, filepath.Join(dir, "..gen_"+name, file), text)
		if err := os.Symlink(filepath.Join("..data", file), filepath.Join(dir, file)); err != nil && !os.IsExist(err) {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("..gen_"+name, filepath.Join(dir, "..data_tmp")); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(dir, "..data_tmp"), filepath.Join(dir, "..data")); err != nil {
		t.Fatal(err)
	}
}

// tryWire is wire for goroutines that are not the test's own.
func (d *testDaemon) tryWire() (*wire, error) {
	c, err := net.Dial("unix", d.socket())
	if err != nil {
		return nil, err
	}
	return &wire{c, bufio.NewReader(c)}, c.SetDeadline(time.Now().Add(eventually.Limit))
}

// decided is an answer to the probe with the policy that decided it.
type decided struct {
	verdict, reason, digest string
}

// decide asks about the probe in one of the two forms.
func (w *wire) decide(line string) (decided, error) {
	if _, err := io.WriteString(w, line+"\n"); err != nil {
		return decided{}, err
	}
	answer, err := w.lines.ReadBytes('\n')
	if err != nil {
		return decided{}, err
	}
	type decision struct {
		Verdict, Reason string
		Policy          struct{ Digest string }
	}
	var m struct {
		Result struct {
			Decisions []decision
			Meta      struct{ Permd decision } `json:"_meta"`
		}
	}
	if err := json.Unmarshal(answer, &m); err != nil {
		return decided{}, err
	}
	one := m.Result.Meta.Permd
	if len(m.Result.Decisions) > 0 {
		one = m.Result.Decisions[0]
	}
	if one.Verdict == "" || one.Policy.Digest == "" {
		return decided{}, fmt.Errorf("no decision: %s", answer)
	}
	return decided{one.Verdict, one.Reason, one.Policy.Digest}, nil
}

// loadClients ask a daemon all the time.
type loadClients struct {
	answers atomic.Int64

	mu      sync.Mutex
	digests map[string]string // the reason given by each
}

var generationReason = regexp.MustCompile(`generation ([0-9]+)`)

// ask asks until stop is closed. Each answer must be an allow by one generation,
// none older than the one before it, and its digest must be of no other.
func (l *loadClients) ask(t *testing.T, w *wire, line string, stop <-chan struct{}) {
	newest := 0
	for {
		select {
		case <-stop:
			return
		case <-time.After(time.Millisecond):
		}
		got, err := w.decide(line)
		if err != nil {
			t.Error(err)
			return
		}
		m := generationReason.FindStringSubmatch(got.reason)
		if got.verdict != "allow" || m == nil {
			t.Errorf("the answer is %+v", got)
			return
		}
		n, _ := strconv.Atoi(m[1])
		l.mu.Lock()
		before, ok := l.digests[got.digest]
		l.digests[got.digest] = m[1]
		l.mu.Unlock()
		if ok && before != m[1] || n < newest {
			t.Errorf("%+v, after generation %d; before, the digest was of generation %s", got, newest, before)
			return
		}
		newest = n
		l.answers.Add(1)
	}
}

// TestReloadUnderLoad: the rules of a real daemon change all the time, good and
// broken, by events, signals and commands, while clients ask in both forms and
// declare sessions: no request fails, and each is decided by a set of rules as it
// was written.
func TestReloadUnderLoad(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it loads the daemon while rules change")
	}
	t.Parallel()
	d := newTestDaemon(t)
	project := d.project(t, nil)
	d.swapPolicy(t, "0", generation(0))
	d.start(t)
	load := &loadClients{digests: map[string]string{}}
	stop := make(chan struct{})
	var all sync.WaitGroup
	for _, line := range []string{decideLine(probe), decideLine(probe), acpLine(probe), acpLine(probe)} {
		w := d.session(t, project)
		all.Go(func() { load.ask(t, w, line, stop) })
	}
	all.Go(func() { // clients that come and go
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			case <-time.After(30 * time.Millisecond):
			}
			w, err := d.tryWire()
			if err != nil {
				t.Error(err)
				return
			}
			if _, err := io.WriteString(w, declaration("s1", project)+"\n"); err != nil {
				t.Error(err)
			} else if _, err := w.lines.ReadBytes('\n'); err != nil {
				t.Error(err)
			} else if got, err := w.decide(decideLine(probe)); err != nil || got.verdict != "allow" {
				t.Errorf("a new client: %+v, %v", got, err)
			}
			w.Close()
		}
	})

	const generations = 24
	serves := func(n int) {
		t.Helper()
		w := d.session(t, project)
		defer w.Close()
		want := fmt.Sprintf("generation %d", n)
		eventually.Holds(t, want, func() bool {
			got, err := w.decide(decideLine(probe))
			if err != nil {
				t.Fatal(err)
			}
			return strings.Contains(got.reason, want)
		})
	}
	good := 0
	for n := 1; n <= generations; n++ {
		files := generation(n)
		broken := n%4 == 3
		if broken {
			files["b.rego"] = strings.Replace(files["b.rego"], "one == two", "one == input.effect.nonsense", 1)
		} else {
			good = n
		}
		d.swapPolicy(t, strconv.Itoa(n), files)
		switch n % 3 {
		case 0: // told at once
			if err := d.cmd.Process.Signal(syscall.SIGHUP); err != nil {
				t.Fatal(err)
			}
		case 1:
			out, err := d.command("reload").CombinedOutput()
			if (err != nil) != broken {
				t.Errorf("permd reload of generation %d: %v\n%s", n, err, out)
			}
		}
		if n%2 == 0 {
			serves(good)
		}
	}
	serves(good)
	close(stop)
	all.Wait()
	if n := load.answers.Load(); n < 200 || len(load.digests) < generations/4 {
		t.Errorf("%d answers by %d policies", n, len(load.digests))
	}
	if st := d.status(t); st.Degraded {
		t.Errorf("at the end: %+v", st.Policy)
	}
}
