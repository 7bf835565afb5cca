package admin

import (
	"context"
	"fmt"
	"time"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/author"
)

// Origin is the request that a choice answered.
type Origin struct {
	Time    time.Time `json:"time"`
	Agent   string    `json:"agent,omitzero"`  // as the client calls it
	Client  string    `json:"client,omitzero"` // as it calls itself
	Project string    `json:"project,omitzero"`
	Tool    string    `json:"tool,omitzero"`
	// Effects are those of the request in words, at most maxOriginEffects of them; More is
	// how many there are besides.
	Effects []string `json:"effects,omitzero"`
	More    int      `json:"more,omitzero"`
}

// maxOriginEffects bounds the effects of an Origin.
const maxOriginEffects = 16

// questionOf returns the record of the question that a choice answered, nil if the log does not have
// it.
func questionOf(ctx context.Context, log Log, c *Choice) (*decisions.Record, error) {
	r, err := log.Get(ctx, c.DecisionID)
	if err != nil {
		return nil, fmt.Errorf("reading the journal: %w", err)
	}
	// The client reported the id.
	if r == nil || r.Unreadable != "" || r.Peer.UID != c.UID {
		return nil, nil
	}
	return r, nil
}

// setOrigin adds the request that a choice answered, and who gave the answer.
func setOrigin(ctx context.Context, log Log, c *Choice) error {
	if c.DecisionID == "" {
		return nil
	}
	r, err := questionOf(ctx, log, c)
	if err != nil {
		return err
	}
	if r == nil {
		c.FromRemoved = true
		return nil
	}
	if r.Answer != nil {
		c.Author = r.Answer.Author
	}
	c.From = &Origin{Time: r.Time, Agent: r.Agent.Name, Client: r.Client.Name, Project: r.Project, Tool: r.Tool, More: r.LeftOut}
	for i, e := range r.Decision.Effects {
		if i == maxOriginEffects {
			c.From.More += len(r.Decision.Effects) - i
			break
		}
		c.From.Effects = append(c.From.Effects, e.Text)
	}
	return nil
}

// setAuthors adds who gave the answers that made choices. Each question is read once: one answer may
// have made many.
func setAuthors(ctx context.Context, log Log, list []Choice) error {
	type question struct {
		id  string
		uid uint32
	}
	read := map[question]*author.Identity{}
	for i := range list {
		c := &list[i]
		if c.DecisionID == "" {
			continue
		}
		of := question{c.DecisionID, c.UID}
		by, ok := read[of]
		if !ok {
			r, err := questionOf(ctx, log, c)
			if err != nil {
				return err
			}
			if r != nil && r.Answer != nil {
				by = r.Answer.Author
			}
			read[of] = by
		}
		c.Author = by
	}
	return nil
}
