package gateway

// beginAsking has a call wait for a person, who answers with the secret. It reports whether
// there is a place for it. If so, endAsking must follow.
func (g *Gateway) beginAsking(c *call, secret string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.allAsking >= maxAsking || g.asking[c.thread] >= maxThreadAsking {
		return false
	}
	g.allAsking++
	g.asking[c.thread]++
	g.questions[secret] = c
	return true
}

func (g *Gateway) endAsking(c *call, secret string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.questions, secret)
	g.allAsking--
	if g.asking[c.thread]--; g.asking[c.thread] == 0 {
		delete(g.asking, c.thread)
	}
}
