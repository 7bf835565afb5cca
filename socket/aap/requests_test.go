package aap

import (
	"fmt"
	"sync"
	"testing"

	"github.com/permd/permd/internal/strictjson"
)

// TestSideBySide answers a batch from many requests at once: each call gets one
// answer, and none is lost.
func TestSideBySide(t *testing.T) {
	const n = 16
	d := newDaemon(t)
	var calls []string
	for i := range n {
		calls = append(calls, fmt.Sprintf("x%d t %d", i, i))
	}
	d.must(t, MethodPermissions, theTurn+`,`+turnOf(calls...)+`}`)
	var runs []run
	for i := range n {
		for _, verdict := range []string{"allow", "deny"} {
			r, err := d.Methods[MethodAnswer](d.Conn, strictjson.Value(answers(fmt.Sprintf(`{"toolCallId":"x%d","verdict":%q}`, i, verdict))))
			if err != nil {
				t.Fatal(err)
			}
			runs = append(runs, r)
		}
	}
	var mu sync.Mutex
	var taken, complete int
	var wg sync.WaitGroup
	for _, r := range runs {
		wg.Go(func() {
			res, err := r(t.Context())
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				taken++
				if res.(*Result).Messages != nil {
					complete++
				}
			}
		})
	}
	wg.Wait()
	noted := len(d.answered)
	if taken != n || complete != 1 {
		t.Errorf("%d answers were taken, %d completed the batch", taken, complete)
	}
	r := d.must(t, MethodAnswer, `{"sessionId":"s","batchId":"b1"}`)
	allowed := 0
	for i, c := range r.Calls {
		if c.Outcome == Granted {
			allowed++
		}
		if c.Outcome != Granted && c.Outcome != Denied {
			t.Errorf("call %d is %s", i, c.Outcome)
		}
	}
	// An allowed call is decided once more when it is returned.
	if noted != n+allowed {
		t.Errorf("%d answers were noted, %d of them allow", noted, allowed)
	}
}
