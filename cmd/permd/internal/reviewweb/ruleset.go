package reviewweb

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/permd/permd/cmd/permd/internal/daemon"
	"github.com/permd/permd/decisions"
	"github.com/permd/permd/policy/rules"
	"github.com/permd/permd/socket/admin"
)

const (
	// hitsFrom is how many of the latest decisions are read at first to count hits; what comes
	// later is counted, too.
	hitsFrom = 2000
	// hitsPage is how many are read at once.
	hitsPage = 1000
)

// hitCounts counts how often rules have decided.
type hitCounts struct {
	mu      sync.Mutex
	newest  int64 // number of the newest decision that is counted
	counted int
	oldest  time.Time // of the decisions that are counted
	byPlace map[string]int

	rules  []rules.RuleInfo
	digest string // of the daemon's rules when they were listed
}

// ruleView is a rule with its hits.
type ruleView struct {
	rules.RuleInfo
	What string
	Hits int
	// Share is the part of the hits of the most frequent rule, in percent.
	Share int
}

// hitKey names a rule as decisions do.
func hitKey(id, at string) string { return id + "\x00" + at }

// count reads the decisions that are new.
func (h *hitCounts) count(ctx context.Context, s *Server) error {
	if h.byPlace == nil {
		h.byPlace = map[string]int{}
	}
	first := h.newest == 0
	f := decisions.RecordFilter{Limit: hitsPage, After: h.newest}
	newest := h.newest
	for range hitsFrom / hitsPage {
		log, done, err := s.log(ctx)
		if err != nil {
			return err
		}
		got, err := log.Page(ctx, f)
		done()
		if err != nil {
			return err
		}
		for _, r := range got.Records {
			newest = max(newest, r.Seq)
			h.add(r)
		}
		if got.Next == 0 {
			break
		}
		if first {
			f.Before = got.Next
		} else {
			f.After = newest
		}
	}
	h.newest = newest
	return nil
}

// add counts the rules of a decision, each once.
func (h *hitCounts) add(r *decisions.Record) {
	h.counted++
	if h.oldest.IsZero() || r.Time.Before(h.oldest) && !r.Time.IsZero() {
		h.oldest = r.Time
	}
	var seen []string
	for i := range r.Decision.Effects {
		for _, rule := range r.Decision.Effects[i].Rules {
			if key := hitKey(rule.ID, rule.At); !slices.Contains(seen, key) {
				seen = append(seen, key)
				h.byPlace[key]++
			}
		}
	}
}

// list returns the rules with their hits, the most frequent first within a layer.
func (h *hitCounts) list(ctx context.Context, s *Server) (views []ruleView, counted int, since time.Time, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	var st daemon.Status
	if err := s.daemon.call(ctx, admin.MethodStatus, struct{}{}, &st); err != nil || st.Digest != h.digest || st.Digest == "" {
		if h.rules, err = s.o.Rules(ctx); err != nil {
			return nil, 0, time.Time{}, err
		}
		h.digest = st.Digest
	}
	if err := h.count(ctx, s); err != nil {
		return nil, 0, time.Time{}, err
	}
	most := 1
	for _, n := range h.byPlace {
		most = max(most, n)
	}
	views = make([]ruleView, 0, len(h.rules))
	for _, r := range h.rules {
		n := h.byPlace[hitKey(r.ID, r.At)]
		share := n * 100 / most
		if n > 0 {
			share = max(share, 1)
		}
		views = append(views, ruleView{r, cmp.Or(r.Title, r.Reason, r.ID), n, share})
	}
	slices.SortStableFunc(views, func(a, b ruleView) int {
		return cmp.Or(cmp.Compare(slices.Index(decisions.Layers, a.Layer), slices.Index(decisions.Layers, b.Layer)), cmp.Compare(b.Hits, a.Hits))
	})
	return views, h.counted, h.oldest, nil
}

func (s *Server) rulesPage(w http.ResponseWriter, r *http.Request) {
	v := s.view(s.watch.look(r.Context()), "rules", "Rules")
	all, counted, since, err := s.hits.list(r.Context(), s)
	if err != nil {
		s.fail(w, r, v, err)
		return
	}
	q := r.URL.Query()
	layer, text, never := q.Get("layer"), strings.ToLower(q.Get("text")), q.Get("never") != ""
	var list []ruleView
	hit := 0
	for _, rule := range all {
		if rule.Hits > 0 {
			hit++
		}
		has := strings.Contains(strings.ToLower(rule.What+" "+rule.ID+" "+rule.At), text)
		if has && (layer == "" || layer == string(rule.Layer)) && (!never || rule.Hits == 0) {
			list = append(list, rule)
		}
	}
	s.render(w, http.StatusOK, "rules", struct {
		view
		Rules             []ruleView
		Layers            []decisions.Layer
		Layer, Text       string
		Never             bool
		All, Hit, Counted int
		Since             time.Time
	}{v, list, decisions.Layers, layer, q.Get("text"), never, len(all), hit, counted, since})
}
