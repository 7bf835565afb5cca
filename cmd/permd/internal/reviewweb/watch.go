package reviewweb

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/socket/admin"
)

const (
	// watchLimit is how long a watching page waits for something new before it asks again.
	watchLimit = 20 * time.Second
	// lookEvery is how often the daemon is asked while pages watch, whatever their number.
	lookEvery = time.Second
	// lookLimit is how long its answer may take before pages say that it does not answer.
	lookLimit = 3 * time.Second
	// maxWatching bounds the pages that wait at one time.
	maxWatching = 16
)

// state is what watching pages show.
type state struct {
	Version   uint64
	Down      bool // the daemon does not answer
	DownSince time.Time
	Waiting   []admin.Question
	Newest    int64 // number of the newest decision
}

// watch asks the daemon what is new, for all pages together and only while there are any.
type watch struct {
	daemon   *daemonLink
	watchers chan struct{}

	looking sync.Mutex // held while the daemon is asked
	failed  time.Time  // when it last did not answer; guarded by looking

	mu      sync.Mutex
	now     state
	changed chan struct{} // closed with the next change
	own     []string      // the questions answered here, the newest last
}

func newWatch(d *daemonLink) *watch {
	return &watch{daemon: d, watchers: make(chan struct{}, maxWatching), changed: make(chan struct{}), now: state{Version: 1}}
}

// run looks as long as ctx lives.
func (w *watch) run(ctx context.Context) {
	t := time.NewTicker(lookEvery)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
			if len(w.watchers) > 0 {
				w.look(ctx)
			}
		}
	}
}

// look asks the daemon and returns what there is now.
func (w *watch) look(ctx context.Context) state {
	began := time.Now()
	w.looking.Lock()
	defer w.looking.Unlock()
	if w.failed.After(began) { // while this one waited: a daemon that hangs is not asked by each page in turn
		return w.state()
	}
	var qs admin.Questions
	var newest admin.Records
	limited, cancel := context.WithTimeout(ctx, lookLimit)
	defer cancel()
	err := w.daemon.call(limited, admin.MethodQuestionsList, struct{}{}, &qs)
	if err == nil {
		err = w.daemon.call(limited, admin.MethodList, decisions.RecordFilter{Limit: 1}, &newest)
	}
	if err != nil {
		w.failed = time.Now()
	}
	if ctx.Err() != nil {
		return w.state()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	next := w.now
	next.Down = err != nil
	switch {
	case err != nil && !w.now.Down:
		next.DownSince = time.Now()
	case err == nil:
		next.Waiting = qs.Questions
		for _, r := range newest.Records {
			next.Newest = r.Seq
		}
	}
	same := next.Down == w.now.Down && next.Newest == w.now.Newest && slices.EqualFunc(next.Waiting, w.now.Waiting, func(a, b admin.Question) bool {
		return a.DecisionID == b.DecisionID && a.Until.Equal(b.Until)
	})
	if !same {
		next.Version++
		close(w.changed)
		w.changed = make(chan struct{})
	}
	w.now = next
	return next
}

func (w *watch) state() state {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now
}

// wait returns the state when it is no longer the one of that version, or after the limit.
func (w *watch) wait(ctx context.Context, version uint64) state {
	ctx, cancel := context.WithTimeout(ctx, watchLimit)
	defer cancel()
	for {
		w.mu.Lock()
		now, changed := w.now, w.changed
		w.mu.Unlock()
		if now.Version != version {
			return now
		}
		select {
		case <-ctx.Done():
			return now
		case <-changed:
		}
	}
}

// maxOwn bounds the answers given here that are known.
const maxOwn = 256

// answering notes, before the daemon is told, that a page answers a question: that page shows the
// result, also if others see first that the question has ended. The returned function takes that
// back for an answer that does not count.
func (w *watch) answering(id string) (refused func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.own = append(w.own, id)
	if len(w.own) > maxOwn {
		w.own = slices.Delete(w.own, 0, 1)
	}
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if i := slices.Index(w.own, id); i >= 0 {
			w.own = slices.Delete(w.own, i, i+1)
		}
	}
}

func (w *watch) isOwn(id string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Contains(w.own, id)
}

// news is what a watching page gets.
type news struct {
	view
	New  []questionView
	Gone []goneView
	Rows []row
	Live bool
	Say  string // for screen readers
}

// watchPage answers a watching page when something is new.
func (s *Server) watchPage(w http.ResponseWriter, r *http.Request) {
	select {
	case s.watch.watchers <- struct{}{}:
		defer func() { <-s.watch.watchers }()
	default:
		w.Header().Set("Retry-After", "5")
		http.Error(w, "too many pages watch", http.StatusServiceUnavailable)
		return
	}
	q := r.URL.Query()
	version, err := strconv.ParseUint(q.Get("v"), 10, 64)
	if err != nil {
		s.refuse(w, &refusal{http.StatusBadRequest, "This cannot be read", "Load the page again."})
		return
	}
	now := s.watch.wait(r.Context(), version)
	v := s.view(now, q.Get("page"), "")
	v.Watch = "page=" + pageName(q.Get("page"))
	n := news{view: v}
	if q.Get("page") == "questions" {
		s.questionNews(r.Context(), &n, now, q["known"])
	}
	if q.Get("page") == "decisions" {
		n.Live = true
		n.Rows, _ = s.newestRows(r.Context())
	}
	s.render(w, http.StatusOK, "news", n)
}

// pageName returns the name of a page that watches, which is repeated in its next request.
func pageName(name string) string {
	switch name {
	case "questions", "decisions":
		return name
	}
	return "other"
}
