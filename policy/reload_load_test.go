package policy

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/permd/permd/internal/testload"
	"github.com/permd/permd/policy/input/inputtest"
	"github.com/permd/permd/policy/policytest"

	"github.com/permd/permd/internal/filetest"
)

// generation is a set of three files that says "whole N" when all of them are of
// one generation, and "torn" when they are not.
func generation(n int) map[string]string {
	const top = "package permd.user\nimport rego.v2\n"
	return map[string]string{
		"a.rego": fmt.Sprintf("%sdeny contains \"torn\" if {\n\tinput.effect.program == \"rm\"\n\tone != two\n}\none := %d\n", top, n),
		"b.rego": fmt.Sprintf("%sdeny contains \"torn\" if {\n\tinput.effect.program == \"rm\"\n\tone != three\n}\ntwo := %d\n", top, n),
		"sub/c.rego": fmt.Sprintf("%sallow contains sprintf(\"whole %%d\", [one]) if {\n\tinput.effect.program == \"rm\"\n"+
			"\tone == two\n\ttwo == three\n}\nthree := %d\n", top, n),
	}
}

// writers write a generation of files into the folder of rules.
var writers = []struct {
	name string
	// put returns the longest time for which the folder had only a part of it.
	put func(t *testing.T, dir string, n int, files map[string]string) time.Duration
}{
	{"swapped", func(t *testing.T, dir string, n int, files map[string]string) time.Duration {
		configMap(t, dir, fmt.Sprint(n), files)
		return 0
	}},
	{"file by file", func(t *testing.T, dir string, _ int, files map[string]string) time.Duration {
		var longest time.Duration
		last := time.Now()
		for name := range files { // in any order
			begun := time.Now()
			policytest.Write(t, dir, map[string]string{name: files[name]})
			longest, last = max(longest, time.Since(last)), begun
			time.Sleep(rand.N(quietPeriod / 4))
		}
		return longest
	}},
}

// TestReloadUnderLoad: while files are constantly written and reloads started in
// every way, each answer belongs to one whole generation, and no two generations
// share a digest.
func TestReloadUnderLoad(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it reloads for seconds under load")
	}
	for _, tt := range writers {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorldIn(t, filetest.MemoryDir(t))
			tt.put(t, w.user, 0, generation(0))
			s := w.watched(t)
			c := &clients{store: s, answers: map[string]string{}}
			stop := c.start(t, w)
			generations := testload.Rounds(t, "", 8, 20)
			excused := false
			for n := 1; n <= generations; n++ {
				// If the machine stalls between two writes of a generation for as
				// long as the pause between two generations, they cannot be
				// distinguished.
				if tt.put(t, w.user, n, generation(n)) >= quietPeriod*3/4 {
					excused = true
				}
				time.Sleep(rand.N(2 * quietPeriod))
			}
			last := fmt.Sprintf("user allow whole %d", generations)
			soon(t, last, func() bool { return slices.Contains(reasons(t, s, "", "rm"), last) })
			stop()
			for _, wrong := range c.wrong {
				if excused {
					t.Logf("the machine stalled: %s", wrong)
				} else {
					t.Error(wrong)
				}
			}
			if len(c.answers) < min(3, (generations+1)/2) || c.count < 25*generations {
				t.Errorf("%d digests were seen in %d answers", len(c.answers), c.count)
			}
		})
	}
}

// clients constantly decide and reload.
type clients struct {
	store *Store

	mu      sync.Mutex
	answers map[string]string // by digest
	count   int
	wrong   []string
}

func (c *clients) start(t *testing.T, w *world) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	every := func(pause time.Duration, do func() error) {
		all.Go(func() {
			for wait(ctx, pause) {
				if err := do(); err != nil && ctx.Err() == nil {
					c.mu.Lock()
					c.wrong = append(c.wrong, err.Error())
					c.mu.Unlock()
				}
			}
		})
	}
	for range 3 {
		every(100*time.Microsecond, c.decide) // not so often that the writer waits for its turn
	}
	every(quietPeriod/5, func() error { return expected(c.store.Prepare(ctx, c.store.opts.UID, w.project)) })
	every(quietPeriod/3, func() error {
		_, err := c.store.Reload(ctx)
		return expected(err)
	})
	return func() { cancel(); all.Wait() }
}

// decide asks once and reports an answer that no generation gives.
func (c *clients) decide() error {
	snap, err := c.store.Snapshot(c.store.opts.UID, "")
	if err != nil {
		return err
	}
	got, err := snap.Evaluate(context.Background(), inputtest.Of(inputtest.Run("rm")))
	if err != nil {
		return err
	}
	if len(got.Fired) != 2 || !strings.HasPrefix(got.Fired[0].Reason, "whole ") {
		return fmt.Errorf("the answer is %+v", got.Fired)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.count++
	reason := got.Fired[0].Reason
	if before, ok := c.answers[snap.Digest()]; ok && before != reason {
		return fmt.Errorf("the digest %s is that of %s and of %s", snap.Digest(), before, reason)
	}
	c.answers[snap.Digest()] = reason
	return nil
}

// expected drops errors that files never had a quiet period.
func expected(err error) error {
	if err != nil && strings.Contains(err.Error(), "keep changing") {
		return nil
	}
	return err
}
