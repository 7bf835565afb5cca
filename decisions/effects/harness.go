package effects

// ProtocolAAP is the protocol in which the tools of a call's client are run by
// the client and all others by a server.
const ProtocolAAP = "aap"

// Harness is whose own tools the call's may be: mostly the agent's. In AAP the
// agent is a server and chooses its name, so it has no say in how the tools of
// the client are read.
func (c *Call) Harness() Party {
	if c.Protocol == ProtocolAAP {
		return c.Client
	}
	return c.Agent
}
