package proxy

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/permd/permd/internal/eventually"
	"github.com/permd/permd/internal/strictjson"
)

// slow is a permd that asks about everything, and never confirms the person's
// answers.
func slow(line string) string {
	switch {
	case strings.Contains(line, "permd/choose"):
		return ""
	case strings.Contains(line, "request_permission"):
		return `"error":{"code":-32050,"message":"ask","data":` + fmt.Sprintf(decisionAsk, "run") + `}`
	}
	return `"result":{}`
}

// TestSlowAnswer: an approval that permd does not confirm in time reaches the
// agent, before later messages of the client, and even if the client has ended.
func TestSlowAnswer(t *testing.T) {
	t.Parallel()
	d := newPermd(t, slow)
	e := startWith(t, Config{Dial: d.dial, Timeout: 300 * time.Millisecond, Retry: time.Hour})
	fmt.Fprintln(e.agentSays, request("7", "c"))
	hears := bufio.NewReader(e.clientHears)
	line, err := hears.ReadString('\n')
	if err != nil || !strings.Contains(line, "permd-width-w1") {
		t.Fatalf("the client was sent %q, %v", line, err)
	}
	fmt.Fprintln(e.clientSays, back("7", "permd-width-w1"))
	fmt.Fprintln(e.clientSays, "after")
	e.clientSays.Close()
	got, err := io.ReadAll(e.agentHears) // up to its end
	if want := back("7", "yes") + "\nafter\n"; err != nil || string(got) != want {
		t.Errorf("the agent received %q, %v; want %q", got, err, want)
	}
	e.agentSays.Close()
	if err := e.wait(t); err != nil {
		t.Error(err)
	}
	for said := ""; !strings.Contains(said, "not remembered"); {
		said = <-e.says
	}
}

// TestAgentGone: the agent ends while permd is sent an approval, and nothing is
// left running.
func TestAgentGone(t *testing.T) {
	d := newPermd(t, slow)
	e := startWith(t, Config{Dial: d.dial, Timeout: time.Minute})
	fmt.Fprintln(e.agentSays, request("7", "c"))
	hears := bufio.NewReader(e.clientHears)
	if _, err := hears.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintln(e.clientSays, back("7", "yes"))
	eventually.Holds(t, "permd is told", func() bool {
		d.mu.Lock()
		defer d.mu.Unlock()
		return len(d.received) > 0 && d.received[len(d.received)-1] == "permd/choose"
	})
	e.agentSays.Close()
	if err := e.wait(t); err != nil {
		t.Error(err)
	}
}

// TestAnswersInTurn has many requests at once, answered in another order while
// permd is asked: each gets its own answer, once.
func TestAnswersInTurn(t *testing.T) {
	d := newPermd(t, func(line string) string {
		if strings.Contains(line, "permd/choose") {
			return `"result":{"stored":[]}`
		}
		return slow(line)
	})
	e := start(t, d.dial)
	const n = 200
	go func() {
		for i := range n {
			fmt.Fprintln(e.agentSays, request(fmt.Sprint(i), fmt.Sprint("c", i)))
		}
	}()
	go func() {
		hears := bufio.NewReader(e.clientHears)
		var held []string
		for i := range n {
			line, err := hears.ReadString('\n')
			if err != nil {
				t.Error(err)
				return
			}
			held = append(held, string(strictjson.Find(strictjson.Value(line), "id")))
			if i%7 != 6 && i != n-1 {
				continue
			}
			for len(held) > 0 {
				last := len(held) - 1
				option := []string{"yes", "no", "permd-width-w2"}[len(held)%3]
				fmt.Fprintln(e.clientSays, back(held[last], option))
				fmt.Fprintln(e.clientSays, back(held[last], "yes")) // and once more
				held = held[:last]
			}
		}
	}()
	got := map[string]int{}
	answers := bufio.NewReader(e.agentHears)
	for range n {
		line, err := answers.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		got[string(strictjson.Find(strictjson.Value(line), "id"))]++
		if strings.Contains(line, "width") {
			t.Errorf("the agent got %s", line)
		}
	}
	e.clientSays.Close()
	rest, _ := io.ReadAll(answers)
	if len(got) != n || len(rest) != 0 {
		t.Errorf("%d requests were answered, and %q came after that", len(got), rest)
	}
	e.agentSays.Close()
	if err := e.wait(t); err != nil {
		t.Error(err)
	}
}
