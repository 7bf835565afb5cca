package reviewweb

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/permd/permd/cmd/permd/internal/rulecost"
	"github.com/permd/permd/socket"
	"github.com/permd/permd/socket/client"
)

// costs is the plot of what rules cost, a part of the first page. While they are measured it asks
// for itself again.
type costs struct {
	Base    string
	Rules   []costBar
	Lines   []string // what was measured
	Made    time.Time
	Running bool
	Problem string
}

// costBar is a rule with its part of the longest bar, in percent.
type costBar struct {
	*rulecost.Rule
	Width   int
	Percent string
}

// costsNow returns what the daemon knows, and has it measured if it knows nothing.
func (s *Server) costsNow(ctx context.Context) costs {
	c := costs{Base: s.guard.base}
	var st rulecost.State
	err := s.daemon.call(ctx, rulecost.Method, struct{}{}, &st)
	if rpc, ok := errors.AsType[*client.Error](err); ok && rpc.Code == socket.CodeMethod {
		c.Problem = "The daemon that runs is of an earlier permd, which does not measure rules. Restart it."
		return c
	}
	if err != nil {
		c.Problem = "The daemon does not answer."
		return c
	}
	c.Running, c.Problem, c.Made = st.Running, st.Problem, st.Made
	if st.Report == nil {
		return c
	}
	c.Lines = st.Report.Lines()
	for _, r := range st.Report.Rules[:min(maxBars, len(st.Report.Rules))] {
		if r.Evaluations == 0 && r.Cut == 0 {
			break
		}
		width := 1
		if longest := st.Report.Rules[0].Share; longest > 0 {
			width = max(1, int(100*r.Share/longest))
		}
		c.Rules = append(c.Rules, costBar{r, width, r.Percent()})
	}
	return c
}

// costsPart is the plot by itself.
func (s *Server) costsPart(w http.ResponseWriter, r *http.Request) {
	s.render(w, http.StatusOK, "costs", s.costsNow(r.Context()))
}
