package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/permd/permd/cmd/permd/internal/account"
	"github.com/permd/permd/cmd/permd/internal/buildinfo"
	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/internal/sqlitedb"
	"github.com/permd/permd/internal/xdg"
	"github.com/permd/permd/policy"
	"github.com/permd/permd/socket"
	"github.com/permd/permd/socket/admin"
	"github.com/permd/permd/socket/systemd"
)

func (a *app) serveCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "serve",
		Short: "Run the daemon",
		Long: `Run the daemon in the foreground, for this user. It needs no configuration:
without rules of your own the shipped base policy decides.

  rules       ~/.config/permd/policy.d/  (of the organisation: /etc/permd/policy.d/)
  settings    ~/.config/permd/permd.toml (of the organisation: /etc/permd/permd.toml)
  data        ~/.local/share/permd/
  sockets     $XDG_RUNTIME_DIR/permd/permd.sock, $XDG_RUNTIME_DIR/permd-admin/admin.sock
  HTTP        off, or as http.listen of the settings says

SIGTERM and SIGINT answer what is in flight and end it, SIGHUP reads the rules
again. Changed rules are read by themselves. Under systemd it takes the sockets
named permd and permd-admin and reports its state.

` + cli.ExitCodes,
		Example: `  permd serve`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.serve(cmd.Context())
		},
	}
}

// serve runs until ctx ends, which SIGTERM and SIGINT do.
func (a *app) serve(ctx context.Context) error {
	dirs, err := account.OwnDirs(a.root)
	if err != nil {
		return err
	}
	log := newLog(slog.NewTextHandler(a.Err, &slog.HandlerOptions{Level: slog.LevelInfo}))
	for _, name := range dirs.Ignored {
		log.Warn("ignoring an environment variable whose value cannot be used", "name", name)
	}
	s := &server{app: a, log: log}
	if err := s.listen(dirs); err != nil {
		return err
	}
	defer s.closeListeners()
	if s.daemon, err = openDaemon(ctx, dirs, a.root != "", log, s.changed); err != nil {
		return err
	}
	at := sockets{decision: s.decision.Addr().String(), management: s.management.Addr().String()}
	if s.http, err = listenHTTP(s.settings.HTTP.Listen, dirs); err != nil {
		return errors.Join(err, s.close())
	}
	if s.http != nil {
		at.http = s.http.where()
		defer s.http.listener.Close()
	}
	s.listensAt(at)
	return s.run(ctx)
}

// server is a running daemon with its sockets.
type server struct {
	*app
	*daemon
	log *slog.Logger

	decision, management net.Listener
	http                 *httpServer // nil when HTTP is off
	activated            bool

	statusMu sync.Mutex
	ready    bool   // READY has been sent, STATUS may be
	said     string // the newest status
}

// listen takes the sockets of the service manager, or opens its own: before the
// databases, so that a second daemon is turned away while nothing is touched.
func (s *server) listen(dirs xdg.Dirs) error {
	passed, ok, err := systemd.Listeners()
	if err != nil {
		return fmt.Errorf("taking the sockets of the service manager: %w", err)
	}
	if ok {
		s.activated = true
		s.decision, s.management = socket.FromActivated(passed.Decision), socket.FromActivated(passed.Admin)
		return nil
	}
	l, err := socket.Listen(dirs.Socket(), socket.ListenOptions{})
	if err != nil {
		return fmt.Errorf("opening the decision socket: %w", err)
	}
	s.decision = l
	m, err := socket.Listen(dirs.AdminSocket(), socket.ListenOptions{})
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
	s.greet()
	if err := systemd.Ready(s.store.Status().Summary()); err != nil {
		s.log.Warn("telling the service manager", "error", err)
	}
	s.setReady()

	serving, stopServing := context.WithCancelCause(ctx)
	defer stopServing(nil)
	var all sync.WaitGroup
	var failed [3]error
	methods := s.decisionMethods()
	all.Go(func() {
		opts := s.options()
		opts.MaxRunning = mostDeciding
		if s.metrics != nil {
			opts.Open = &s.metrics.decisionConns
		}
		failed[0] = socket.Serve(serving, s.decision, methods, opts)
		stopServing(failed[0])
	})
	all.Go(func() {
		opts := s.options()
		if s.metrics != nil {
			opts.Open = &s.metrics.adminConns
		}
		failed[1] = socket.Serve(serving, s.management, s.adminMethods(serving.Done(), s.reload), opts)
		stopServing(failed[1])
	})
	if s.http != nil {
		all.Go(func() {
			failed[2] = s.serveHTTP(serving, methods)
			stopServing(failed[2])
		})
	}
	all.Go(func() { s.store.Watch(serving) })
	all.Go(func() { s.flushMemory(serving) })
	all.Go(func() { s.saveMemory(serving) })
	all.Go(func() { s.reloadOnSignal(serving, hup) })
	all.Go(func() {
		err := systemd.Watchdog(serving, s.canary, func(err error) {
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
	all.Wait()
	return errors.Join(failed[:]...)
}

// mostDeciding is how many requests are decided at one time: enough to share a
// write to the disk, few enough to be done with when the daemon is to stop.
const mostDeciding = 64

// options are the limits of the sockets, from the settings.
func (s *server) options() socket.Options {
	l := s.settings.Limits
	return socket.Options{
		MaxMessage: l.MessageBytes, MaxConns: l.Connections, MaxConnsPerUID: l.ConnectionsPerUser,
		Logger: s.log,
	}
}

// greet says where permd listens, what it serves, and what to try next.
func (s *server) greet() {
	w := s.Out
	fmt.Fprintf(w, "permd %s, pid %d, for %s\n", buildinfo.Version(), os.Getpid(), s.users.Lookup(uint32(os.Geteuid())).Name)
	fmt.Fprintf(w, "  listens  %s\n", s.decision.Addr())
	fmt.Fprintf(w, "  manages  %s\n", s.management.Addr())
	if s.sockets.http != "" {
		fmt.Fprintf(w, "  http     %s\n", httpPlace(s.sockets.http, s.daemon.dirs))
	}
	for _, l := range s.store.Status().Layers {
		fmt.Fprintf(w, "  %s\n", layerLine(&l))
	}
	fmt.Fprintf(w, "  try      echo '{\"tool\":{\"name\":\"Bash\"},\"input\":{\"command\":\"git status\"}}' | %s decide --agent claude-agent-acp -\n", cli.Program())
}

// longestError is how much of a layer's error is shown, in characters: what
// the compiler would have taken instead can fill a screen.
const longestError = 240

// layerLine is a layer in one line, and what is wrong with it in a second.
func layerLine(l *policy.LayerStatus) string {
	name := string(l.Layer)
	rules := fmt.Sprintf("%s (%d allow, %d ask, %d deny)", cli.Plural(l.Rules(), "rule"), l.Allow, l.Ask, l.Deny)
	where := ""
	if len(l.Paths) > 0 {
		where = " in " + l.Paths[0]
	}
	switch l.State {
	case policy.StateDegraded:
		since := l.Since.Local().Format(time.DateTime)
		if l.Digest == "" {
			calls := "every call"
			if l.Project != "" {
				calls += " in " + l.Project
			}
			return fmt.Sprintf("%-8s no rules are in force, so %s asks, since %s:\n           %s", name, calls, since, cli.Clip(l.Error, longestError))
		}
		return fmt.Sprintf("%-8s %s%s, the last that were good, since %s:\n           %s", name, rules, where, since, cli.Clip(l.Error, longestError))
	case policy.StateAbsent:
		return fmt.Sprintf("%-8s no rules%s", name, where)
	}
	return fmt.Sprintf("%-8s %s%s", name, rules, where)
}

// changed is called when rules, or the state of a layer, have changed.
func (s *server) changed(st policy.Status) {
	s.statusMu.Lock()
	defer s.statusMu.Unlock()
	text := st.Summary()
	if s.ready {
		s.metrics.rulesChanged(st, s.digest(), time.Now())
	}
	if !s.ready || text == s.said {
		s.said = text
		return
	}
	s.said = text
	if st.Degraded() {
		s.log.Error("rules could not be read, the last good ones stay in force", "status", text)
	} else {
		s.log.Info("rules changed", "status", text)
	}
	if err := systemd.Status(text); err != nil {
		s.log.Warn("telling the service manager", "error", err)
	}
}

func (s *server) setReady() {
	s.statusMu.Lock()
	defer s.statusMu.Unlock()
	s.ready = true
}

// reload reads the rules again and tells the service manager before and after.
func (s *server) reload(ctx context.Context) (admin.Reloaded, error) {
	if err := systemd.Reloading(); err != nil {
		s.log.Warn("telling the service manager", "error", err)
	}
	changed, err := s.store.Reload(ctx)
	s.metrics.reloaded(err)
	if rerr := systemd.Ready(s.store.Status().Summary()); rerr != nil {
		s.log.Warn("telling the service manager", "error", rerr)
	}
	return admin.Reloaded{Changed: changed, Digest: s.digest()}, err
}

func (s *server) reloadOnSignal(ctx context.Context, hup <-chan os.Signal) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-hup:
			if _, err := s.reload(ctx); err != nil {
				s.log.Error("reloading", "error", err)
			}
		}
	}
}

// databaseFailure gives an error of a database its hint.
func databaseFailure(err error) error {
	if errors.Is(err, sqlitedb.ErrNewer) {
		return &cli.Failure{Code: cli.ExitError, Err: err, Hint: "it was written by a newer permd: use that one; nothing was changed"}
	}
	return err
}
