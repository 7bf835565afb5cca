package native

import (
	"fmt"
	"slices"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/display"
)

// boundQuestion is an open question with what its answer applies to.
type boundQuestion struct {
	OpenQuestion
	tree      *sessionTree
	key       callKey
	req       *decisions.Request
	answering bool // an answer is being stored
}

// newQuestion returns the question about a call. req must keep no message alive.
func (l *PersistentSessions) newQuestion(f *sessionTree, req *decisions.Request, d *decisions.Decision, key callKey) *boundQuestion {
	return &boundQuestion{
		OpenQuestion: OpenQuestion{
			Decision: d, UID: f.owner.UID, Harness: f.harness, Session: req.Session.ID,
			Tool: req.Call.Tool.Name, Cwd: req.Call.Cwd, Arguments: argumentsOf(req, d), Asked: l.Now(),
		},
		tree: f, key: key, req: req,
	}
}

// argumentsOf returns the arguments of a tool that permd cannot look into.
func argumentsOf(req *decisions.Request, d *decisions.Decision) string {
	if len(req.Call.Input) == 0 || !slices.ContainsFunc(d.Effects, func(e decisions.EffectDecision) bool { return e.Kind == effects.KindUse }) {
		return ""
	}
	if text, ok := display.Arguments(req.Call.Input); ok {
		return text
	}
	return fmt.Sprintf("too long to be shown: %d bytes", len(req.Call.Input))
}

func (q *boundQuestion) size() int {
	n := 2<<10 + len(q.Arguments) + len(q.req.Call.Input)
	if q.Decision.Offer != nil {
		n += q.Decision.Offer.Size
	}
	for i := range q.Decision.Effects {
		n += 256 + len(q.Decision.Effects[i].Text)
	}
	for _, f := range q.Decision.Contents {
		n += 32 + len(f.Path)
	}
	return n
}
