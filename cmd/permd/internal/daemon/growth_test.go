package daemon

import (
	"runtime"
	"runtime/debug"
	"slices"
	"testing"

	"github.com/permd/permd/internal/eventually"
	"github.com/permd/permd/internal/testload"
)

// TestNothingGrows asks 4,000 times on one connection and compares what the last
// requests allocate with the first: nothing depends on how much a connection has seen.
func TestNothingGrows(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it asks hundreds of times; TestAllocations is the quick one")
	}
	skipUncounted(t)
	const compared, warm, requests = 100, 40, 4000
	w := newCostWorld(t, true)
	names, send, texts := w.requests(t)
	drawn := testload.Sample(t, 3, names)
	for _, name := range drawn {
		i := slices.Index(names, name)
		if name == "hook" {
			continue // has a connection for each call
		}
		t.Run(name, func(t *testing.T) {
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
			same, next := texts[i](0), 0
			// Between those that are counted some requests are new, so that whatever is
			// kept of requests is full in the end.
			counted := func() cost {
				t.Helper()
				eventually.Holds(t, "what the journal's mover has to do, and allocates, is done", func() bool { return w.journal.Status().Spooled == 0 })
				defer debug.SetGCPercent(debug.SetGCPercent(-1))
				runtime.GC()
				for range warm {
					send[i](same)
				}
				c := allocated(func() {
					for range compared {
						send[i](same)
					}
				})
				return cost{c.allocations / compared, c.bytes / compared}
			}
			first := counted()
			for next < requests-2*(compared+warm) {
				if next++; next%20 != 0 {
					send[i](same)
				} else {
					send[i](texts[i](next))
				}
			}
			var last cost
			// What runs in the background only adds, as larger buffers on a busy machine do, and how
			// many requests share a batch of the journal depends on the machine. What grew with the
			// requests that a connection has seen would be many times as much by now.
			for range 5 {
				if last = counted(); last.allocations <= 1.1*first.allocations+1 && last.bytes <= 1.1*first.bytes+64 {
					return
				}
			}
			t.Errorf("the first requests allocate %.1f times and %.0f bytes, the last %.1f times and %.0f bytes",
				first.allocations, first.bytes, last.allocations, last.bytes)
		})
	}
}
