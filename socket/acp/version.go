package acp

import (
	"github.com/permd/permd/decisions"
	"github.com/permd/permd/socket"
)

// version is a version of the protocol, 0 if not known.
//
// Client and agent negotiate it, which permd does not see, and versions differ in the
// meaning of null: version 1 keeps the earlier value, version 2 clears it. So clients
// declare the version with permd/session. Otherwise the messages determine it: requests
// have another shape in each version, and some updates exist in only one. Earlier
// members that could mean two things are marked as unclear: requests that depend on them
// are left to the person.
type version int

// The versions that permd knows.
const (
	version1 version = 1
	version2 version = 2
)

// declaredVersion is the version that the client has declared for a session,
// 0 if it said none.
func declaredVersion(ses *decisions.Session) version {
	if ses == nil {
		return 0
	}
	return version(ses.ProtocolVersion)
}

// noteVersion records that a message of version v came in the session (0: it could be of
// either), and returns the session's version. A message of another version than the
// declared one is an error. Without a declaration the latest message counts, and the
// session's calls so far are dropped: they were read by other rules.
func (c *connState) noteVersion(s *session, v version, ses *decisions.Session) (version, error) {
	declared := declaredVersion(ses)
	if v != 0 && declared != 0 && v != declared {
		return 0, socket.Refuse("this is a shape of protocol version %d, and the session is declared as one of version %d", v, declared)
	}
	now := declared
	if now == 0 {
		now = v
	}
	if now == 0 || now == s.version {
		return s.version, nil
	}
	if s.version != 0 {
		c.retire(s, lostVersion)
	}
	s.version = now
	return now, nil
}

// declare records the session's declaration. Another agent under the same id may use
// call ids for other calls, so the calls so far are dropped.
func (c *connState) declare(s *session, ses *decisions.Session) {
	if ses == nil || ses == s.declared {
		return
	}
	if s.declared != nil && s.declared.Agent.Name != "" && s.declared.Agent != ses.Agent {
		c.retire(s, lostAgent)
	}
	s.declared = ses
}
