package policy

import (
	"path"
	"slices"

	"github.com/permd/permd/decisions/effects/tools"
	"github.com/permd/permd/policy/rules"
	"github.com/permd/permd/policy/source"
)

// profilesOf returns the agent profiles with org's.
func (s *Store) profilesOf(org *layerState) *tools.Profiles {
	if org != nil && org.active != nil {
		return org.active.ProfilesOver(s.profiles)
	}
	return s.profiles
}

// profilesFor returns the agent profiles for the calls of one person. A person's own count
// only while their allows do: not with only_org, and not while a file of them may be being
// written, or is gone for a moment.
func (s *Store) profilesFor(st *state, user *layerState) *tools.Profiles {
	profiles := s.profilesOf(st.org)
	if user == nil || user.active == nil || user.active.Profiles == nil || st.switches.OnlyOrg ||
		slices.ContainsFunc(user.quarantined, func(name string) bool { return path.Base(name) == source.ProfilesName }) {
		return profiles
	}
	return user.active.ProfilesOver(profiles)
}

// Agents returns the agents that layers describe, from org to the users.
func (s *Store) Agents() []rules.AgentInfo {
	st := s.state.Load()
	out := []rules.AgentInfo{}
	if st.org.active != nil {
		out = append(out, st.org.active.Agents...)
	}
	for uid, n := range st.users {
		if n.active == nil {
			continue
		}
		for _, a := range n.active.Agents {
			a.UID = &uid
			out = append(out, a)
		}
	}
	return out
}
