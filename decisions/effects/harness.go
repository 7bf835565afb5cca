package effects

// ProtocolAAP is the protocol in which the client runs its own tools and a server runs
// all others.
const ProtocolAAP = "aap"

// Harness returns the program whose built-in tools the call's tool may be: usually the
// agent. In AAP the agent is a server that chooses its name, so it must not determine
// how tools of the client are read.
func (c *Call) Harness() Party {
	if c.Protocol == ProtocolAAP {
		return c.Client
	}
	return c.Agent
}
