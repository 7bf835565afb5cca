// Package restrictions has the settings by which an organisation restricts more than its rules
// do: modes of agents, programs and servers that nobody describes, what people may have
// remembered, and calls while rules are missing. They are set only in /etc/permd/permd.toml.
//
// Each of them only makes an answer stricter. Those about calls are denies of the
// organisation (Denies), so that the precedence table has no row for them; those about what
// people have remembered say which allows do not apply (Refuses). Rejects always apply.
package restrictions

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/permd/permd/decisions"
)

// Restrictions are the values of the settings. The zero value restricts nothing. They are
// immutable.
type Restrictions struct {
	// RequireLayers are layers that must have rules: without, calls fail.
	RequireLayers []decisions.Layer
	// NoRemember is set if nothing is remembered anew, and no remembered allow applies.
	NoRemember bool
	// RememberAtMost is how long a remembered allow applies after it was made or confirmed
	// last, 0 for as long as it says itself.
	RememberAtMost time.Duration
	// ForbidModes are modes of agents in which no call may run.
	ForbidModes []string
	// DenyUnknownPrograms and DenyUnknownServers deny what neither the shipped tables nor the
	// organisation know.
	DenyUnknownPrograms, DenyUnknownServers bool
	// Revoked are the remembered allows that do not apply.
	Revoked []Revocation
	// Lock is why everything asks, "" if it does not.
	Lock string
}

// Keys returns the settings by the fields of Restrictions.
func Keys() map[string]string {
	return map[string]string{
		"RequireLayers": "require_layers", "NoRemember": "remember", "RememberAtMost": "remember_at_most", "ForbidModes": "forbid_modes",
		"DenyUnknownPrograms": "unknown_programs", "DenyUnknownServers": "unknown_servers", "Revoked": "revoke", "Lock": "lock",
	}
}

// None reports whether nothing is forbidden.
func (r *Restrictions) None() bool {
	return r == nil || len(r.RequireLayers) == 0 && !r.NoRemember && r.RememberAtMost == 0 && len(r.ForbidModes) == 0 &&
		!r.DenyUnknownPrograms && !r.DenyUnknownServers && len(r.Revoked) == 0 && r.Lock == ""
}

// Text returns a text that differs for different restrictions, "" for none.
func (r *Restrictions) Text() string {
	if r.None() {
		return ""
	}
	text, _ := json.Marshal(r) // no member can fail
	return string(text)
}

// Stricter returns the restrictions in force with all that others add, and the key of one in
// force that the others lack or weaken, "" if they do not.
func (r *Restrictions) Stricter(read *Restrictions) (use Restrictions, milder string) {
	lacks := func(lacks bool, key string) {
		if lacks && milder == "" {
			milder = key
		}
	}
	use.RequireLayers = union(read.RequireLayers, r.RequireLayers)
	lacks(len(use.RequireLayers) > len(read.RequireLayers), "require_layers")
	use.NoRemember = r.NoRemember || read.NoRemember
	lacks(use.NoRemember != read.NoRemember, "remember")
	if use.RememberAtMost = min(r.RememberAtMost, read.RememberAtMost); use.RememberAtMost == 0 {
		use.RememberAtMost = max(r.RememberAtMost, read.RememberAtMost)
	}
	lacks(use.RememberAtMost != read.RememberAtMost, "remember_at_most")
	use.ForbidModes = union(read.ForbidModes, r.ForbidModes)
	lacks(len(use.ForbidModes) > len(read.ForbidModes), "forbid_modes")
	use.DenyUnknownPrograms = r.DenyUnknownPrograms || read.DenyUnknownPrograms
	lacks(use.DenyUnknownPrograms != read.DenyUnknownPrograms, "unknown_programs")
	use.DenyUnknownServers = r.DenyUnknownServers || read.DenyUnknownServers
	lacks(use.DenyUnknownServers != read.DenyUnknownServers, "unknown_servers")
	use.Revoked = union(read.Revoked, r.Revoked)
	lacks(len(use.Revoked) > len(read.Revoked), "revoke")
	use.Lock = cmp.Or(read.Lock, r.Lock)
	lacks(use.Lock != read.Lock, "lock")
	return use, milder
}

// union returns a list with what another one has besides; list itself if that is nothing.
func union[T comparable](list, other []T) []T {
	for _, v := range other {
		if !slices.Contains(list, v) {
			list = append(slices.Clip(list), v)
		}
	}
	return list
}

// Sentences says what is forbidden, one sentence for each setting.
func (r *Restrictions) Sentences() (list []string) {
	if r.None() {
		return nil
	}
	if r.Lock != "" {
		list = append(list, lockedBy+r.Lock+" (lock)")
	}
	if len(r.RequireLayers) > 0 {
		list = append(list, "requires rules of "+joined(r.RequireLayers)+" (require_layers)")
	}
	if r.NoRemember {
		list = append(list, noRemember+" (remember)")
	}
	if r.RememberAtMost > 0 {
		list = append(list, "lets remembered allows apply for "+days(r.RememberAtMost)+" at most (remember_at_most)")
	}
	if len(r.ForbidModes) > 0 {
		list = append(list, "forbids the modes "+joined(r.ForbidModes)+" (forbid_modes)")
	}
	if r.DenyUnknownPrograms {
		list = append(list, "forbids programs that are not known, and what is not understood (unknown_programs)")
	}
	if r.DenyUnknownServers {
		list = append(list, "forbids tools of servers that it does not allow (unknown_servers)")
	}
	if n := len(r.Revoked); n > 0 {
		list = append(list, "has revoked remembered allows, by "+count(n, "table")+" (revoke)")
	}
	for i := range list {
		list[i] = "the organisation " + list[i]
	}
	return list
}

func joined[T ~string](list []T) string {
	words := make([]string, len(list))
	for i, v := range list {
		words[i] = string(v)
	}
	return strings.Join(words, ", ")
}

func days(d time.Duration) string { return count(int(d/(24*time.Hour)), "day") }

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
