package settings

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/pattern"
	"github.com/permd/permd/policy/restrictions"
)

// The values of Settings.Remember: "on", the default, or "off", for which nothing is
// remembered anew and no remembered allow applies.
const (
	rememberOn  = "on"
	rememberOff = "off"
)

// Bounds of what the organisation forbids.
const (
	maxRevoke       = 128
	maxModes        = 64
	maxModeName     = 256 // bytes, of an id or a user too
	maxLock         = 500 // bytes
	maxRememberDays = 3650
)

// Revoke is a table of remembered allows that do not apply: see restrictions.Revocation.
type Revoke struct {
	ID      string       `toml:"id"`
	User    string       `toml:"user"`
	Kind    effects.Kind `toml:"kind"`
	Pattern string       `toml:"pattern"`
	Before  time.Time    `toml:"before"`
}

// Restrictions returns what the organisation forbids. The settings are those of Merge.
func (s *Settings) Restrictions() restrictions.Restrictions {
	r := restrictions.Restrictions{
		RequireLayers: s.RequireLayers, NoRemember: s.Remember == rememberOff, RememberAtMost: days(s.RememberAtMost, maxRememberDays),
		ForbidModes: s.ForbidModes, DenyUnknownPrograms: s.UnknownPrograms == decisions.Deny, DenyUnknownServers: s.UnknownServers == decisions.Deny,
		Lock: s.Lock,
	}
	for i := range s.Revoke {
		r.Revoked = append(r.Revoked, restrictions.Revocation(s.Revoke[i]))
	}
	return r
}

// setsRestriction returns a key that only the organisation may set, "" if none is set.
func (s *Settings) setsRestriction() string {
	for _, one := range []struct {
		set bool
		key string
	}{
		{s.RequireLayers != nil, "require_layers"}, {s.Remember != "", "remember"}, {s.RememberAtMost != "", "remember_at_most"},
		{s.ForbidModes != nil, "forbid_modes"}, {s.UnknownPrograms != "", "unknown_programs"}, {s.UnknownServers != "", "unknown_servers"},
		{s.Lock != "", "lock"}, {s.Revoke != nil, "revoke"},
	} {
		if one.set {
			return one.key
		}
	}
	return ""
}

// restrict takes the restrictions of org over.
func (s *Settings) restrict(org *Settings) {
	s.Remember, s.RememberAtMost, s.Lock = org.Remember, org.RememberAtMost, org.Lock
	if s.Remember == "" {
		s.Remember = rememberOn
	}
	s.UnknownPrograms, s.UnknownServers = asks(org.UnknownPrograms), asks(org.UnknownServers)
	if len(org.RequireLayers) > 0 {
		s.RequireLayers = org.RequireLayers
	}
	if len(org.ForbidModes) > 0 {
		s.ForbidModes = org.ForbidModes
	}
	if len(org.Revoke) > 0 {
		s.Revoke = org.Revoke
	}
}

// asks returns what the default of a verdict means.
func asks(v decisions.Verdict) decisions.Verdict {
	if v == "" {
		return decisions.Ask
	}
	return v
}

func (s *Settings) checkRestrictions() *valueError {
	wrong := func(key, fix, format string, args ...any) *valueError {
		return &valueError{fileError: fileError{text: fmt.Sprintf(format, args...), fix: fix}, key: key}
	}
	for _, layer := range s.RequireLayers {
		if layer != decisions.Org && layer != decisions.User {
			return wrong("require_layers", `write "org", "user" or both`, "no rules of %q can be required", layer)
		}
	}
	if !slices.Contains([]string{"", rememberOn, rememberOff}, s.Remember) {
		return wrong("remember", `write "on" or "off"`, "there is no way to remember called %q", s.Remember)
	}
	if s.RememberAtMost != "" && days(s.RememberAtMost, maxRememberDays) == 0 {
		return wrong("remember_at_most", fmt.Sprintf("write days, from \"1d\" to \"%dd\"", maxRememberDays), "the time %q cannot be used", s.RememberAtMost)
	}
	if len(s.ForbidModes) > maxModes {
		return wrong("forbid_modes", fmt.Sprintf("name at most %d", maxModes), "too many modes are named")
	}
	for _, mode := range s.ForbidModes {
		if !isName(mode) {
			return wrong("forbid_modes", "write a mode as the agent names it", "%q is no name of a mode", mode)
		}
	}
	for key, v := range map[string]decisions.Verdict{"unknown_programs": s.UnknownPrograms, "unknown_servers": s.UnknownServers} {
		if !slices.Contains([]decisions.Verdict{"", decisions.Ask, decisions.Deny}, v) {
			return wrong(key, `write "ask" or "deny"`, "what is not known cannot be answered with %q", v)
		}
	}
	if len(s.Lock) > maxLock || !isLine(s.Lock) {
		return wrong("lock", fmt.Sprintf("write text of one line and at most %d bytes", maxLock), "the reason of lock cannot be shown")
	}
	if len(s.Revoke) > maxRevoke {
		return wrong("revoke", "a table with before = DATE is about many choices", "there are more than %d tables revoke", maxRevoke)
	}
	for i := range s.Revoke {
		v := &s.Revoke[i]
		v.Before = v.Before.UTC()
		switch {
		case !v.Before.IsZero() && v.Before.Year() < 1970:
			return wrong("before", "write a date such as 2026-05-01", "a time of day is no time of revoke.before")
		case *v == Revoke{}:
			return wrong("revoke", "name what is revoked: id, user, kind with pattern, or before", "a table revoke is empty")
		case v.ID != "" && !isName(v.ID), v.User != "" && !isName(v.User):
			return wrong("revoke", "permd remember list shows the ids", "an id or a user in revoke is no name")
		case v.Kind != "" && !slices.Contains(pattern.Kinds, v.Kind):
			return wrong("revoke", fmt.Sprintf("the kinds are %v", pattern.Kinds), "nothing of the kind %q is remembered", v.Kind)
		case v.Pattern != "" && v.Kind == "":
			return wrong("revoke", `write the kind too, such as kind = "run"`, "a pattern in revoke has no kind")
		case v.Pattern != "":
			if _, err := pattern.Parse(v.Kind, v.Pattern); err != nil {
				return wrong("revoke", "write a line of the list language", "a pattern in revoke cannot be read: %v", err)
			}
		}
	}
	return nil
}

func isName(s string) bool {
	return s != "" && len(s) <= maxModeName && isLine(s) && strings.TrimSpace(s) == s
}

func isLine(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, func(c rune) bool { return !unicode.IsPrint(c) })
}
