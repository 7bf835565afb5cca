package decisions

import (
	"sync/atomic"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/plainshell"
)

// NotPlain counts the calls with shell text that is not plain, by the construct that is
// not, to show which constructs cause questions in daily use. The number of counters is
// fixed, so clients cannot make it grow. Its zero value is ready for use; it is safe for
// concurrent use.
type NotPlain struct {
	counts [64]atomic.Int64 // indexed like plainshell.Constructs
}

// note counts each construct of a call once.
func (n *NotPlain) note(list []effects.Effect) {
	if n == nil {
		return
	}
	var seen uint64
	for i := range list {
		if list[i].Cause != effects.CauseNotPlain {
			continue
		}
		for at, c := range plainshell.Constructs {
			if c == list[i].Construct && seen&(1<<at) == 0 {
				seen |= 1 << at
				n.counts[at].Add(1)
			}
		}
	}
}

// Counts returns how many calls had each construct, without those that none had; nil if
// there were none.
func (n *NotPlain) Counts() map[string]int64 {
	var counts map[string]int64
	for at, c := range plainshell.Constructs {
		if v := n.counts[at].Load(); v > 0 {
			if counts == nil {
				counts = map[string]int64{}
			}
			counts[string(c)] = v
		}
	}
	return counts
}
