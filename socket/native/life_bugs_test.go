package native_test

import (
	"flag"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/internal/testload"
	"github.com/permd/permd/socket/acp"
	"github.com/permd/permd/socket/native"
)

// TestLifeFindsBugs plants bugs, each of which the model must find.
func TestLifeFindsBugs(t *testing.T) {
	set(t, "rapid.nofailfile", "true")
	set(t, "rapid.shrinktime", "1ms")
	set(t, "rapid.steps", "60")
	set(t, "rapid.checks", "20000") // it ends with the first that fails
	bugs := map[string]string{
		"the end is recorded twice": "has 2 ends", "a cancel is lost": "", "a late yes counts": "holds d", "a yes twice": `"allow", want "ask"`, "a choice stays": "is in force",
	}
	if testing.Short() {
		delete(bugs, "a late yes counts") // is found after thousands of lives
	}
	for _, bug := range testload.Sample(t, 2, slices.Sorted(maps.Keys(bugs))) {
		t.Run(bug, func(t *testing.T) {
			dir := shortDir(t)
			tb := &planted{name: t.Name()}
			var done sync.WaitGroup
			done.Go(func() { rapid.Check(tb, func(rt *rapid.T) { checkLife(rt, dir, bug) }) })
			done.Wait()
			if !tb.failed || !strings.Contains(tb.said, bugs[bug]) {
				t.Errorf("the model does not find it: %s", tb.said)
			}
		})
	}
}

// set sets a flag for the duration of a test.
func set(t *testing.T, name, value string) {
	t.Helper()
	f := flag.Lookup(name)
	was := f.Value.String()
	if err := f.Value.Set(value); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Value.Set(was) })
}

// planted is a test that may fail.
type planted struct {
	name   string
	failed bool
	said   string
}

func (p *planted) Helper()                        {}
func (p *planted) Name() string                   { return p.name }
func (p *planted) Logf(string, ...any)            {}
func (p *planted) Log(...any)                     {}
func (p *planted) Skipf(string, ...any)           { runtime.Goexit() }
func (p *planted) Skip(...any)                    { runtime.Goexit() }
func (p *planted) SkipNow()                       { runtime.Goexit() }
func (p *planted) Errorf(format string, a ...any) { p.failed, p.said = true, fmt.Sprintf(format, a...) }
func (p *planted) Error(a ...any)                 { p.failed, p.said = true, fmt.Sprint(a...) }
func (p *planted) Fatalf(format string, a ...any) { p.Errorf(format, a...); runtime.Goexit() }
func (p *planted) Fatal(a ...any)                 { p.Error(a...); runtime.Goexit() }
func (p *planted) FailNow()                       { p.failed = true; runtime.Goexit() }
func (p *planted) Fail()                          { p.failed = true }
func (p *planted) Failed() bool                   { return p.failed }

// TestNextTurnKeepsItsQuestions: the end of a call whose turn was cancelled takes no
// question of the next turn with it.
func TestNextTurnKeepsItsQuestions(t *testing.T) {
	w := newLifeWorld(shortDir(t), "")
	if err := w.start(); err != nil {
		t.Fatal(err)
	}
	defer w.stop()
	c, err := w.dial()
	if err != nil {
		t.Fatal(err)
	}
	defer c.net.Close()
	decide := func(call string) string {
		id := c.send(native.MethodDecide, `{"sessionId":"s","calls":[{"callId":"`+call+`","tool":{"name":"T"},"input":{}}]}`)
		if got := w.arrive(c, id); got != "decide "+call {
			t.Fatal(got)
		}
		return id
	}
	c.answer(c.send(native.MethodSession, `{"sessionId":"s","cwd":"/a"}`))
	first := decide("first")
	c.notify(acp.MethodCancel, `{"sessionId":"s"}`)
	next := decide("next")
	w.open("decide next", "ask")
	said, question := (&asking{protocol: "permd"}).read(c.answer(next))
	if said != "ask" {
		t.Fatalf("the next turn: %s", said)
	}
	w.open("decide first", "allow")
	if said, _ := (&asking{protocol: "permd"}).read(c.answer(first)); said != "cancelled" {
		t.Errorf("the cancelled turn: %s", said)
	}
	v := c.answer(c.send(native.MethodChoose, `{"decisionId":"`+question+`","verdict":"deny"}`))
	if strictjson.Find(v, "result") == nil {
		t.Errorf("the question of the next turn: %s", v)
	}
}
