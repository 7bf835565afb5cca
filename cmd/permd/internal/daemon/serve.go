package daemon

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/permd/permd/cmd/permd/internal/account"
	"github.com/permd/permd/cmd/permd/internal/buildinfo"
	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/cmd/permd/internal/engine"
	"github.com/permd/permd/cmd/permd/internal/orgbundle"
	"github.com/permd/permd/internal/fairshare"
	"github.com/permd/permd/internal/xdg"
	"github.com/permd/permd/policy"
	"github.com/permd/permd/policy/settings"
	"github.com/permd/permd/socket"
	"github.com/permd/permd/socket/admin"
	"github.com/permd/permd/socket/systemd"
)

// Serve runs the daemon until ctx ends, which SIGTERM and SIGINT do. The process must end
// when it returns: what hangs may go on.
func Serve(ctx context.Context, streams cli.Streams, root string) error {
	return serveUntilEnd(ctx, streams, func(log *slog.Logger) error {
		dirs, err := account.OwnDirs(root)
		if err != nil {
			return err
		}
		return serve(ctx, streams, dirs, root != "", log)
	})
}

func serveUntilEnd(ctx context.Context, streams cli.Streams, serve func(*slog.Logger) error) error {
	log := newLog(slog.NewTextHandler(streams.Err, &slog.HandlerOptions{Level: slog.LevelInfo}))
	return endInTime(ctx, func() error { return serve(log) }, func() {
		log.Warn("stopping without waiting for what hangs", "after", stopWithin)
	})
}

func serve(ctx context.Context, streams cli.Streams, dirs xdg.Dirs, relocated bool, log *slog.Logger) (err error) {
	for _, name := range dirs.Ignored {
		log.Warn("ignoring an environment variable whose value cannot be used", "name", name)
	}
	s := &server{out: streams.Out, log: log}
	if err := s.admitMembers(dirs); err != nil {
		return err
	}
	if err := s.listen(ctx, dirs); err != nil {
		return err
	}
	defer s.closeListeners()
	if s.daemon, err = openDaemon(ctx, dirs, relocated, log, s.changed, time.Now); err != nil {
		return err
	}
	s.share = newShare(s.rules.Settings.Limits)
	s.watchdog.slot = takeSlot(s.share)
	at := engine.Sockets{Decision: s.decision.Addr().String(), Management: s.management.Addr().String()}
	if s.http, err = listenHTTP(ctx, s.rules.Settings.HTTP.Listen, dirs, s.socketOptions(), log); err != nil {
		return errors.Join(err, s.close())
	}
	if s.http != nil {
		at.HTTP = s.http.where()
		defer s.http.listener.Close()
	}
	s.listensAt(at)
	s.keepArguments()
	s.rules.Bundle.Prepare(ctx, orgbundle.Daemon{Store: s.rules.Store, Log: log, Counters: s.shadow.Counters, Changed: s.healthChanged})
	s.tryRules()
	s.files.add("decision", s.decision)
	s.files.add("admin", s.management)
	if s.http != nil {
		if l, ok := s.http.listener.(*socket.Listener); ok {
			s.files.add("http", l)
		}
	}
	return s.run(ctx)
}

// server is a running daemon with its sockets.
type server struct {
	*daemon
	out io.Writer
	log *slog.Logger

	decision, management *socket.Listener
	http                 *httpServer // nil when HTTP is off
	share                *fairshare.Scheduler
	members              *socket.Members // who may use the sockets of a daemon for several people

	statusMu   sync.Mutex
	ready      bool     // READY has been sent, STATUS may be
	lastStatus string   // the newest status
	hanging    []string // what hung when that was last logged
}

// listen takes the sockets of the service manager, or opens its own: before the
// databases, so that a second daemon is turned away while nothing is touched.
func (s *server) listen(ctx context.Context, dirs xdg.Dirs) error {
	passed, ok, err := systemd.Listeners()
	if err != nil {
		return fmt.Errorf("taking the sockets of the service manager: %w", err)
	}
	if ok {
		s.decision, s.management = socket.FromActivated(passed.Decision), socket.FromActivated(passed.Admin)
		return nil
	}
	at := func(path string) (*socket.Listener, error) {
		return whenFree(ctx, s.log, func() (*socket.Listener, error) { return socket.Listen(path, s.socketOptions()) })
	}
	l, err := at(dirs.Socket())
	if err != nil {
		return fmt.Errorf("opening the decision socket: %w", err)
	}
	s.decision = l
	m, err := at(dirs.AdminSocket())
	if err != nil {
		l.Close()
		return fmt.Errorf("opening the management socket: %w", err)
	}
	s.management = m
	return nil
}

func (s *server) closeListeners() {
	s.decision.Close()
	s.management.Close()
}

// run serves until ctx ends.
func (s *server) run(ctx context.Context) error {
	defer func() {
		if err := s.close(); err != nil {
			s.log.Error("closing the databases", "error", err)
		}
	}()
	// Before READY: the signal's default is to end the process.
	hup := make(chan os.Signal, 1)
	signal.Notify(hup, syscall.SIGHUP)
	defer signal.Stop(hup)
	s.announce()
	s.tellReady()

	serving, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var all sync.WaitGroup
	var failed servers
	methods := s.engine.Methods()
	all.Go(func() {
		opts := s.options()
		opts.Underway = &s.underway
		if s.metrics != nil {
			opts.Open = &s.metrics.decisionConns
		}
		err := socket.Serve(serving, s.decision, methods, opts)
		failed.ended(err)
		stop(err)
	})
	all.Go(func() {
		opts := s.options()
		opts.WithoutSlots = true
		if s.metrics != nil {
			opts.Open = &s.metrics.adminConns
		}
		err := socket.Serve(serving, s.management, s.adminMethods(serving.Done(), s.reload), opts)
		failed.ended(err)
		stop(err)
	})
	if s.http != nil {
		all.Go(func() {
			err := s.serveHTTP(serving, methods)
			failed.ended(err)
			stop(err)
		})
	}
	context.AfterFunc(serving, s.engine.Waiting.End)
	s.rules.Bundle.Start(serving)
	all.Go(func() { s.rules.Watch(serving) })
	all.Go(func() { s.rules.Bundle.Run(serving) })
	all.Go(func() { s.watch(serving) })
	all.Go(func() { s.watchPlaces(serving) })
	all.Go(func() { s.keepWitness(serving) })
	all.Go(func() { s.sender.Run(serving) })
	all.Go(func() { s.keepRevisions(serving) })
	all.Go(func() { s.tryHeld(serving) })
	all.Go(func() { s.notifier.Run(serving) })
	all.Go(func() { s.reconsider(serving, s.share) })
	all.Go(func() { s.endPauses(serving) })
	all.Go(func() { s.flushUseCounts(serving) })
	all.Go(func() { s.limitFootprint(serving, s.share.Used) })
	all.Go(func() { s.reloadOnSignal(serving, hup) })
	all.Go(func() {
		err := systemd.Watchdog(serving, s.selfCheck, func(err error) {
			s.log.Error("the self-check failed", "error", err)
		})
		if err != nil {
			s.log.Warn("feeding the watchdog", "error", err)
		}
	})

	<-serving.Done()
	if err := systemd.Stopping("answering what is in flight"); err != nil {
		s.log.Warn("telling the service manager", "error", err)
	}
	s.log.Info("stopping")
	if !within(stopServing, all.Wait) {
		s.log.Warn("something goes on while the databases are closed", "after", stopServing)
	}
	return failed.err()
}

// maxRunning bounds the requests that are decided at one time although they neither end
// nor yield: few enough to be done with when the daemon is to stop.
const maxRunning = 64

// newShare returns what shares processors and memory among all who ask, on whatever
// socket.
func newShare(l settings.Limits) *fairshare.Scheduler {
	return fairshare.New(fairshare.Options{
		Slots: max(2, runtime.GOMAXPROCS(0)), Max: maxRunning, Bytes: socket.MaxBytes(l.MessageBytes),
	})
}

// options are the limits of the sockets, from the settings.
func (s *server) options() socket.Options {
	l := s.rules.Settings.Limits
	return socket.Options{
		MaxMessage: l.MessageBytes, MaxConns: l.Connections, MaxConnsPerUID: l.ConnectionsPerUser,
		StopGrace: stopGrace, Logger: s.log, Share: s.share, Members: s.members,
	}
}

// announce prints where permd listens, which rules it uses, and what to try next.
func (s *server) announce() {
	w := s.out
	fmt.Fprintf(w, "permd %s, pid %d, for %s\n", buildinfo.Version(), os.Getpid(), s.engine.Users.Lookup(uint32(os.Geteuid())).Name)
	fmt.Fprintf(w, "  listens  %s\n", s.decision.Addr())
	fmt.Fprintf(w, "  manages  %s\n", s.management.Addr())
	if s.sockets.HTTP != "" {
		fmt.Fprintf(w, "  http     %s\n", httpPlace(s.sockets.HTTP, s.dirs))
	}
	for _, l := range s.rules.Status().Layers {
		fmt.Fprintf(w, "  %s\n", LayerLine(&l))
	}
	fmt.Fprintf(w, "  try      echo '{\"tool\":{\"name\":\"Bash\"},\"input\":{\"command\":\"git status\"}}' | %s decide --agent claude-agent-acp -\n", cli.Program())
}

// changed is called when rules, or the state of a layer, have changed.
func (s *server) changed(st policy.Status) {
	s.statusMu.Lock()
	defer s.statusMu.Unlock()
	if !s.ready {
		return
	}
	s.metrics.rulesChanged(st, s.rules.Digest(), time.Now())
	text := s.summary(st)
	if text == s.lastStatus {
		return
	}
	s.lastStatus = text
	unread := func(l policy.LayerStatus) bool { return l.State == policy.StateDegraded && !l.Removed }
	switch {
	case st.Settings != "" || slices.ContainsFunc(st.Layers, unread):
		s.log.Error("rules could not be read, the last good ones stay in force", "status", text)
	case st.Waiting != nil:
		s.log.Warn("changed rules are not in force yet", "why", strings.Join(WaitingLines(st.Waiting), "; "), "status", text)
	case st.Degraded():
		s.log.Warn("rules were removed, their denies and asks are kept for a moment", "status", text)
	default:
		s.log.Info("rules changed", "status", text)
	}
	if err := systemd.Status(text); err != nil {
		s.log.Warn("telling the service manager", "error", err)
	}
}

// tellReady tells the service manager that the daemon answers, or has ended a reload.
func (s *server) tellReady() {
	s.statusMu.Lock()
	defer s.statusMu.Unlock()
	s.ready, s.lastStatus = true, s.summary(s.rules.Status())
	if err := systemd.Ready(s.lastStatus); err != nil {
		s.log.Warn("telling the service manager", "error", err)
	}
}

// reload reads the rules again and notifies the service manager before and after. With a digest
// they come into force only if they have it.
func (s *server) reload(ctx context.Context, digest string) (admin.Reloaded, error) {
	if err := systemd.Reloading(); err != nil {
		s.log.Warn("telling the service manager", "error", err)
	}
	before := s.rules.InForce()
	changed, err := s.rules.ReloadIf(ctx, digest)
	if digest == "" {
		err = errors.Join(err, s.rules.Bundle.Reload(ctx))
	}
	now := s.rules.InForce()
	s.metrics.reloaded(err)
	s.tellReady()
	return admin.Reloaded{Changed: changed, Digest: s.rules.Digest(), Settings: now.Changed(&before)}, err
}

func (s *server) reloadOnSignal(ctx context.Context, hup <-chan os.Signal) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-hup:
			if _, err := s.reload(ctx, ""); err != nil {
				s.log.Error("reloading", "error", err)
			}
		}
	}
}
