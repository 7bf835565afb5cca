package acp

import (
	"slices"
	"sync"
	"time"

	"github.com/permd/permd/decisions"
)

// Bounds of the recorded approvals. Above them the oldest are dropped, and the person may
// be asked twice.
const (
	maxApproved             = 256
	maxApprovedFingerprints = 4096
	// When there are too many, an eighth is dropped at once: to move the others for each new
	// one took a tenth of a request's time.
	keptApproved             = maxApproved * 7 / 8
	keptApprovedFingerprints = maxApprovedFingerprints * 7 / 8
	// A call is not recorded if it has more files than this, or if their paths and
	// digests are longer, in bytes.
	maxApprovedFiles = 256
	maxApprovedBytes = 64 << 10
	// approvalLifetime is the maximum time between the allow of a call and its execution
	// by the agent's client.
	approvalLifetime = 10 * time.Minute
)

// approvals are the calls of a connection that were allowed, by policy or a
// person, with their effects. A gate with no other effects is part of such a
// call, and nobody is asked again; the effects are used up. It may be used from
// any goroutine.
type approvals struct {
	mu           sync.Mutex
	calls        []approval // the oldest first
	fingerprints int
}

type approval struct {
	decision, session, call string
	digest                  string // of the rules that allowed it
	at                      time.Time
	remaining               []decisions.Fingerprint // may be the decision's; never changed
	denied                  bool                    // it is a gate that was denied
	stateful                bool                    // its effects depend on the state of the machine
	partlyUsed              bool                    // a gate has used some of its effects
	// byPerson is set for a person's approval, which covers contents, the files it was
	// about. An allow by rules does not depend on the contents of files.
	byPerson bool
	contents []decisions.Content
}

// note records that a call was allowed, which may be recorded already.
func (a *approvals) note(session string, d *decisions.Decision, now time.Time) {
	if !recordable(d) {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.drop(func(c *approval) bool { return c.decision == d.ID })
	a.add(session, d, now)
}

// noteNew is note for a decision that was just made.
func (a *approvals) noteNew(session string, d *decisions.Decision, now time.Time) {
	if !recordable(d) {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.add(session, d, now)
}

// recordable reports whether a call may be recorded.
func recordable(d *decisions.Decision) bool {
	return len(d.Fingerprints) > 0 && len(d.Fingerprints) <= maxApprovedFingerprints && len(d.Contents) <= maxApprovedFiles && sizeOf(d.Contents) <= maxApprovedBytes
}

// add records a call. The lock is held.
func (a *approvals) add(session string, d *decisions.Decision, now time.Time) {
	if a.fingerprints += len(d.Fingerprints); len(a.calls) == maxApproved || a.fingerprints > maxApprovedFingerprints {
		a.dropOldest()
	}
	a.calls = append(a.calls, approval{d.ID, session, d.CallID, d.Policy.Digest, now, d.Fingerprints, d.Verdict == decisions.Deny, d.Stateful, false, d.Verdict == decisions.Ask, d.Contents})
}

// dropOldest makes room for calls. The fingerprints of the one that needs it are counted
// already.
func (a *approvals) dropOldest() {
	n := 0
	for ; n < len(a.calls) && (len(a.calls)-n > keptApproved || a.fingerprints > keptApprovedFingerprints); n++ {
		a.fingerprints -= len(a.calls[n].remaining)
	}
	a.calls = slices.Delete(a.calls, 0, n)
}

// take reports whether one call of the session was allowed everything the gate
// would do, by the current rules, and with the current contents of files.
func (a *approvals) take(session string, gate *decisions.Decision, now time.Time) bool {
	digest, want := gate.Policy.Digest, gate.Fingerprints
	if len(want) == 0 {
		return false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	// Setting the clock back extends nothing.
	a.drop(func(c *approval) bool {
		return now.Sub(c.at) >= approvalLifetime || now.Before(c.at) || c.session == session && c.digest != digest
	})
	for i := range a.calls {
		c := &a.calls[i]
		if c.session != session || !c.sameContents(gate.Contents) {
			continue
		}
		if left, ok := subtract(c.remaining, want); ok {
			a.fingerprints -= len(want)
			c.partlyUsed = true
			if c.remaining = left; len(left) == 0 {
				a.calls = slices.Delete(a.calls, i, i+1)
			}
			return true
		}
	}
	return false
}

func sizeOf(contents []decisions.Content) (n int) {
	for _, f := range contents {
		n += len(f.Path) + len(f.Sum)
	}
	return n
}

// sameContents reports whether the files are unchanged since the person's approval.
func (c *approval) sameContents(contents []decisions.Content) bool {
	return !c.byPerson || !slices.ContainsFunc(contents, func(f decisions.Content) bool {
		return f.Path == "" || !slices.Contains(c.contents, f)
	})
}

// deny records that the person denied a gate.
func (a *approvals) deny(decision string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for i := range a.calls {
		if a.calls[i].decision == decision {
			a.calls[i].denied = true
		}
	}
}

// covers reports whether everything in want passed gates of the session, and whether
// some of it was denied there the last time.
func (a *approvals) covers(session string, want []decisions.Fingerprint, now time.Time) (all, denied bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.drop(func(c *approval) bool { return now.Sub(c.at) >= approvalLifetime || now.Before(c.at) })
	for _, t := range want {
		i := len(a.calls) - 1
		for ; i >= 0; i-- {
			if c := &a.calls[i]; c.session == session && slices.Contains(c.remaining, t) {
				denied = denied || c.denied
				break
			}
		}
		if i < 0 {
			return false, false
		}
	}
	return len(want) > 0, denied
}

// subtract returns have without want; false if have does not contain all of it.
func subtract(have, want []decisions.Fingerprint) ([]decisions.Fingerprint, bool) {
	left := slices.Clone(have)
	for _, t := range want {
		i := slices.Index(left, t)
		if i < 0 {
			return nil, false
		}
		left = slices.Delete(left, i, i+1)
	}
	return left, true
}

// dropStateful drops the session's calls that depend on the state of the machine:
// something ran that may have changed anything.
func (a *approvals) dropStateful(session string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.drop(func(c *approval) bool { return c.session == session && c.stateful && !c.partlyUsed })
}

// endCall drops a finished call, or all calls of the session if call is "".
func (a *approvals) endCall(session, call string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.drop(func(c *approval) bool { return c.session == session && (call == "" || c.call == call) })
}

func (a *approvals) drop(which func(*approval) bool) {
	kept := 0
	for i := range a.calls {
		// A pointer into the list: a variable of the loop would be on the heap, for each call
		// that is recorded.
		c := &a.calls[i]
		if which(c) {
			a.fingerprints -= len(c.remaining)
			continue
		}
		if kept < i {
			a.calls[kept] = *c
		}
		kept++
	}
	clear(a.calls[kept:])
	a.calls = a.calls[:kept]
}
