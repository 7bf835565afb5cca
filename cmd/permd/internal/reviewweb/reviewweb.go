// Package reviewweb serves the pages of permd review --web: what waits for the person, what
// was decided and why, what is remembered, and the rules. It asks the daemon over its
// management socket, as the commands do, and decides nothing.
//
// Who may open the pages is in guard.go.
package reviewweb

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/permd/permd/cmd/permd/internal/explain"
	"github.com/permd/permd/decisions"
	"github.com/permd/permd/policy/rules"
)

// Options are what the pages are made from.
type Options struct {
	// Listener is where they are served: a loopback address, or a Unix socket of this user.
	Listener net.Listener
	// Root is the prefix of /etc and /var.
	Root string
	// Rules lists the rules that are in force.
	Rules func(context.Context) ([]rules.RuleInfo, error)
	// Again decides a past call again, as permd explain does; why is why that is not possible.
	Again func(context.Context, *decisions.Record) (x *explain.Explanation, why string, err error)
}

// idleLimit is how long the pages are served without a request. An open page asks all the time.
const idleLimit = 30 * time.Minute

// Bounds of what the clients can make the process hold.
const (
	maxRequests = 64 // at one time
	maxHeader   = 16 << 10
	maxForm     = 64 << 10
	// readLimit is for a whole request, writeLimit for the answer: longer than a watching page
	// is kept waiting.
	readLimit  = 10 * time.Second
	writeLimit = watchLimit + 20*time.Second
	endLimit   = 2 * time.Second
)

// Server serves the pages of one person.
type Server struct {
	o      Options
	guard  *guard
	daemon *daemonLink
	watch  *watch
	hits   hitCounts

	pages func() (*pages, error)
	slots chan struct{}
	// counting has an element while the daemon counts what choices would have matched.
	counting chan struct{}

	mu   sync.Mutex
	used time.Time // when the last request ended
}

// New returns a server with a link of its own.
func New(o Options) (*Server, error) {
	g, err := newGuard(o.Listener.Addr())
	if err != nil {
		return nil, err
	}
	s := &Server{
		o: o, guard: g, daemon: &daemonLink{}, pages: sync.OnceValues(parsePages),
		slots: make(chan struct{}, maxRequests), counting: make(chan struct{}, 1), used: time.Now(),
	}
	s.watch = newWatch(s.daemon)
	return s, nil
}

// Link is the address to open in a browser, once. For a Unix socket it is without a host.
func (s *Server) Link() string {
	link := s.guard.base + "open?token=" + s.guard.token
	if addr := s.o.Listener.Addr(); addr.Network() != "unix" {
		link = "http://" + addr.String() + link
	}
	return link
}

// Serve serves until ctx is done, or until nothing was asked for the time of idleLimit.
func (s *Server) Serve(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	h := &http.Server{
		Handler: s, ReadHeaderTimeout: readLimit, ReadTimeout: readLimit, WriteTimeout: writeLimit, IdleTimeout: time.Minute,
		MaxHeaderBytes: maxHeader, BaseContext: func(net.Listener) context.Context { return ctx },
	}
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	running.Go(func() { s.watch.run(ctx) })
	// What takes long is done before a page needs it.
	running.Go(func() { _, _, _, _ = s.hits.list(ctx, s) })
	running.Go(func() {
		s.waitIdle(ctx)
		cancel()
		end, done := context.WithTimeout(context.WithoutCancel(ctx), endLimit)
		defer done()
		if h.Shutdown(end) != nil {
			_ = h.Close() // what has not ended by now is cut off
		}
	})
	err := h.Serve(newBounded(s.o.Listener))
	s.daemon.close()
	if err != nil && !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serving the pages: %w", err)
	}
	return nil
}

// waitIdle returns when ctx is done or nothing was asked for long.
func (s *Server) waitIdle(ctx context.Context) {
	for {
		s.mu.Lock()
		rest := time.Until(s.used.Add(idleLimit))
		s.mu.Unlock()
		if rest <= 0 {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(rest):
		}
	}
}

// ServeHTTP serves one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	defer func() {
		s.mu.Lock()
		s.used = time.Now()
		s.mu.Unlock()
	}()
	setHeaders(w.Header())
	select {
	case s.slots <- struct{}{}:
		defer func() { <-s.slots }()
	default:
		w.Header().Set("Retry-After", "5")
		http.Error(w, "too many requests at one time", http.StatusServiceUnavailable)
		return
	}
	page, refusal := s.guard.admit(w, r)
	switch {
	case refusal != nil:
		s.refuse(w, refusal)
	case page == openPage:
		s.render(w, http.StatusOK, "opened", view{Title: "Opened", Base: s.guard.base})
	default:
		s.serve(w, r, page)
	}
}

// serve serves a page to the person.
func (s *Server) serve(w http.ResponseWriter, r *http.Request, page string) {
	first, id := cutPage(page)
	get := r.Method != http.MethodPost
	switch {
	case first == "" && get:
		s.overviewPage(w, r)
	case first == "questions" && get && id == "":
		s.questionsPage(w, r)
	case first == "questions" && !get && id != "":
		s.answer(w, r, id)
	case first == "decisions" && get && id == "":
		s.decisionsPage(w, r)
	case first == "decisions" && get:
		s.decisionPage(w, r, id)
	case first == "choices" && get && id == "":
		s.choicesPage(w, r)
	case first == "choices" && get:
		s.choicePage(w, r, id)
	case first == "counts" && !get && id == "question":
		s.countWidths(w, r)
	case first == "counts" && !get && id == "choice":
		s.countChange(w, r)
	case first == "choices" && !get:
		s.changeChoices(w, r, id)
	case first == "changes" && get && id == "":
		s.changesPage(w, r)
	case first == "changes" && !get && id != "":
		s.takeBack(w, r, id)
	case first == "rules" && get && id == "":
		s.rulesPage(w, r)
	case first == "costs" && get && id == "":
		s.costsPart(w, r)
	case first == "watch" && get && id == "":
		s.watchPage(w, r)
	default:
		s.refuse(w, &refusal{http.StatusNotFound, "There is no such page", "The menu above has all pages."})
	}
}
