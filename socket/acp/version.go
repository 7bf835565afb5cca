package acp

import (
	"github.com/permd/permd/decisions"
	"github.com/permd/permd/socket"
)

// version is a version of the protocol, 0 while it is not known.
//
// It is negotiated between client and agent, where permd does not see it, and
// the two differ in what a null means: version 1 keeps what was known before,
// version 2 clears it. So a client says the version with permd/session. Where
// it does not, the messages tell: a request has another shape in each version,
// and some updates exist only in one. What came before that and would mean two
// things is kept, and noted as unclear: a request that rests on it is left to
// the person.
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

// noteVersion notes that a message of version v came in the session (0: it could be
// of either), and returns the version that the session is in. A message of
// another version than the declared one is an error. Without a declaration the
// newest message counts, and what the session's calls were before is forgotten:
// it was read by other rules.
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

// declare notes the session's declaration. Another agent under the same id may
// use the ids of calls for other calls, so what was known of them is forgotten.
func (c *connState) declare(s *session, ses *decisions.Session) {
	if ses == nil || ses == s.declared {
		return
	}
	if s.declared != nil && s.declared.Agent.Name != "" && s.declared.Agent != ses.Agent {
		c.retire(s, lostAgent)
	}
	s.declared = ses
}
