package main

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/journal"
	"github.com/permd/permd/internal/xdg"
	"github.com/permd/permd/policy"
	"github.com/permd/permd/rego"
	"github.com/permd/permd/remember"
	"github.com/permd/permd/socket"
	"github.com/permd/permd/socket/aap"
	"github.com/permd/permd/socket/acp"
	"github.com/permd/permd/socket/admin"
	"github.com/permd/permd/socket/native"
	"github.com/permd/permd/socket/otc"
	"github.com/permd/permd/socket/rap"
)

// daemon is permd without its sockets: everything that a decision needs, wired
// together.
type daemon struct {
	dirs     xdg.Dirs
	sockets  sockets
	settings policy.Settings
	store    *policy.Store
	journal  *journal.Journal
	memory   *remember.Store
	engine   *decisions.Engine
	sessions *decisions.Sessions
	lasting  *native.PersistentSessions
	users    *users
	recent   deliberations // for permd explain
	unasked  unasked       // for permd status
	metrics  *metrics      // nil when HTTP is off
	log      *slog.Logger
	started  time.Time
}

// sockets are where a daemon listens: its own folders, or where the service
// manager has put them.
type sockets struct {
	decision, management string
	http                 string // a URL or the path of a socket, "" when HTTP is off
}

// policyDir is where a layer's rules are, below its folder.
const policyDir = "policy.d"

// openPolicy reads settings and rules.
func openPolicy(ctx context.Context, dirs xdg.Dirs, relocated bool, changed func(policy.Status)) (*policy.Store, policy.Settings, error) {
	settings, err := readSettings(dirs)
	if err != nil {
		return nil, settings, err
	}
	opts := policy.Options{
		OrgDir:  filepath.Join(dirs.Org, policyDir),
		UserDir: func(uint32) (string, error) { return filepath.Join(dirs.Config, policyDir), nil },
		UID:     uint32(os.Geteuid()),
		Base:    rego.Base(), Schema: rego.InputSchema(), Programs: rego.Programs(), Profiles: rego.Profiles(),
		Switches: func() (policy.Switches, error) { return readSwitches(dirs) },
		OnChange: changed, OnWork: collectLess,
	}
	if relocated {
		opts.OrgOwners = []uint32{0, uint32(os.Geteuid())}
	}
	store, err := policy.Open(ctx, opts)
	if err != nil {
		return nil, settings, policyFailure(err)
	}
	return store, settings, nil
}

// policyFailure gives an error of the rules its exit code.
func policyFailure(err error) error {
	if e, ok := errors.AsType[*policy.Error](err); ok {
		hint := e.Problems[0].Hint
		if hint == "" {
			hint = "permd policy check DIR shows all problems"
		}
		return &failure{code: exitCompile, err: err, hint: hint}
	}
	return err
}

// openDaemon opens the rules and the databases.
func openDaemon(ctx context.Context, dirs xdg.Dirs, relocated bool, log *slog.Logger, changed func(policy.Status)) (d *daemon, err error) {
	d = &daemon{dirs: dirs, users: &users{}, log: log, started: time.Now()}
	if d.store, d.settings, err = openPolicy(ctx, dirs, relocated, changed); err != nil {
		return nil, err
	}
	d.journal, err = journal.Open(journal.Options{
		Path: filepath.Join(dirs.Data, "decisions.db"), Durability: journal.Durability(d.settings.Durability),
	})
	if err != nil {
		return nil, databaseFailure(err)
	}
	d.memory, err = remember.Open(remember.Options{
		Path: filepath.Join(dirs.Data, "remember.db"), Allowable: d.allowable,
		ConfirmAll: d.settings.Confirm == policy.ConfirmAlways, Understand: d.understand,
	})
	if err != nil {
		return nil, errors.Join(databaseFailure(err), d.journal.Close())
	}
	if aside := d.journal.Status().Damaged; aside != "" {
		log.Warn("the journal was damaged and has been set aside", "path", aside)
	}
	for _, why := range d.memory.Status().Degraded {
		log.Warn("the memory is degraded", "why", why)
	}
	var j decisions.Journal = d.journal
	if d.settings.HTTP.Listen != policy.ListenOff {
		d.metrics = newMetrics(d)
		j = d.metrics.count(j)
	}
	d.assemble(d.memory, j, os.Getpid())
	d.keepHarnesses()
	d.engine.Proposer = d.memory
	d.engine.Observe = d.recent.note
	return d, nil
}

// assemble makes the engine and the sessions.
func (d *daemon) assemble(memory decisions.Memory, j decisions.Journal, pid int) {
	fsys := effects.NewIndex(effects.OSFS{}, time.Now)
	d.engine = &decisions.Engine{
		Policy: d.store, Memory: memory, Journal: j,
		FS: fsys, Own: d.own(d.sockets), PID: pid,
		Now: time.Now, NewID: newID, Log: d.log, Cache: new(decisions.Cache), NotPlain: new(decisions.NotPlain),
		Unattended: d.store.Unattended,
	}
	home := d.users.user(uint32(os.Geteuid())).Home
	d.sessions = &decisions.Sessions{FindProject: func(cwd string) string {
		return effects.FindProject(fsys, cwd, home)
	}}
}

// listensAt says where the daemon listens, before it does.
func (d *daemon) listensAt(at sockets) {
	d.sockets = at
	d.engine.Own = d.own(at)
}

// newID is a version 7 UUID: unique, and sorted by time.
func newID() string { return uuid.Must(uuid.NewV7()).String() }

// own is all that is permd's, when it listens there.
func (d *daemon) own(at sockets) effects.Own {
	return effects.OwnFiles(ownFiles(d.dirs, at)...).WithProgram(ownPrograms(), programFolders(d.users.user(uint32(os.Geteuid())).Home))
}

// ownPrograms are the paths of the program that runs, as it was started and
// behind links.
func ownPrograms() []string {
	exe, err := os.Executable()
	if err != nil {
		return nil // the name permd still counts
	}
	paths := []string{exe}
	if real, err := filepath.EvalSymlinks(exe); err == nil && real != exe {
		paths = append(paths, real)
	}
	return paths
}

// programFolders are where shells of the person look for programs: the daemon's
// own PATH, and what people commonly add to theirs.
func programFolders(home string) []string {
	folders := filepath.SplitList(os.Getenv("PATH"))
	folders = append(folders, "/usr/local/bin", "/usr/bin", "/bin", "/usr/local/sbin", "/usr/sbin", "/sbin", "/opt/homebrew/bin")
	if home != "" {
		for _, dir := range []string{".local/bin", "bin", "go/bin", ".cargo/bin"} {
			folders = append(folders, filepath.Join(home, dir))
		}
	}
	return folders
}

// ownFiles are permd's own folders and files, as they are named and as they
// resolve.
func ownFiles(dirs xdg.Dirs, at sockets) []string {
	units := []string{"permd.service", "permd.socket", "permd-admin.socket"}
	own := []string{dirs.Org, dirs.Config, dirs.Data, dirs.State, dirs.Run, dirs.Admin, dirs.HTTP,
		"/etc/permd", "/var/lib/permd", "/run/permd", "/run/permd-admin", "/run/permd-http"}
	for _, path := range []string{at.decision, at.management, at.http} {
		if filepath.IsAbs(path) {
			own = append(own, path)
		}
	}
	for _, dir := range []string{
		"/etc/systemd/system", "/etc/systemd/user", "/usr/lib/systemd/system", "/usr/lib/systemd/user",
		filepath.Join(filepath.Dir(dirs.Config), "systemd", "user"),
	} {
		for _, u := range units {
			own = append(own, filepath.Join(dir, u), filepath.Join(dir, u+".d"))
		}
	}
	own = slices.DeleteFunc(own, func(path string) bool { return path == "" })
	for _, path := range own {
		// The folders themselves may not exist yet, what they are in does.
		if dir, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
			if real := filepath.Join(dir, filepath.Base(path)); real != path {
				own = append(own, real)
			}
		}
		if real, err := filepath.EvalSymlinks(path); err == nil && real != path {
			own = append(own, real)
		}
	}
	return own
}

// decisionMethods are the methods of the decision socket.
func (d *daemon) decisionMethods() socket.Methods {
	m := socket.Methods{}
	deps := native.Deps{
		Sessions: d.sessions, Decider: d.engine, Users: d.users.user, LiveShell: d.liveShell, Keeper: d.keeper(),
		Persistent: d.lasting, Rules: d.rulesDigest, NewID: newID,
		PlainOption: d.plainOption, HarmlessEnv: d.harmlessEnv, AskGates: d.store.AskGates, Ran: d.unasked.note,
		Prepare: func(ctx context.Context, uid uint32, project string) {
			if err := d.store.Prepare(ctx, uid, project); err != nil {
				d.log.Warn("the rules for a project could not all be read", "project", project, "error", err)
			}
		},
	}
	if d.journal != nil {
		deps.RecordAnswer = d.answered
	}
	for _, register := range []func(socket.Methods, native.Deps){
		native.Register, acp.Register, otc.Register, aap.Register, rap.Register,
	} {
		register(m, deps)
	}
	for _, name := range []string{
		native.MethodDecide, otc.MethodCall, aap.MethodPermissions, aap.MethodAnswer, rap.MethodInvoke,
	} {
		m[name] = acp.InTurn(d.sessions, m[name])
	}
	return m
}

// rulesDigest is that of the rules that a call of that person in that folder would
// be decided by, "" when there are none yet.
func (d *daemon) rulesDigest(uid uint32, cwd string) string {
	snap, err := d.store.Snapshot(uid, effects.FindProject(d.engine.FS, cwd, d.users.user(uid).Home))
	if err != nil {
		return ""
	}
	return snap.Digest()
}

// liveShell reports whether an agent keeps one shell for all of its commands, so
// that what one of them changes is in force for the next.
func (d *daemon) liveShell(agent effects.Party) bool {
	snap, err := d.store.Snapshot(uint32(os.Geteuid()), "")
	return err != nil || snap.Profiles().LiveShell(agent)
}

// plainOption is the option by which an agent is allowed just one call, where it
// offers several that are called so.
func (d *daemon) plainOption(agent effects.Party) string {
	snap, err := d.store.Snapshot(uint32(os.Geteuid()), "")
	if err != nil {
		return ""
	}
	return snap.Profiles().OnceOption(agent)
}

// adminMethods are the methods of the management socket.
func (d *daemon) adminMethods(ending <-chan struct{}, reload func(context.Context) (admin.Reloaded, error)) socket.Methods {
	m := socket.Methods{}
	admin.Register(m, admin.Deps{
		Log:    journalLog{d.journal.Reader, ending},
		Status: func() any { return d.status() },
		Reload: reload,
		Memory: choices{d},
		Asked:  questions{d},
	})
	d.registerExplain(m)
	return m
}

// digest identifies the rules outside of any project.
func (d *daemon) digest() string {
	snap, err := d.store.Snapshot(uint32(os.Geteuid()), "")
	if err != nil {
		return ""
	}
	return snap.Digest()
}

// canary decides a call that everyone knows the answer to, without a trace in
// the journal: a daemon that cannot even do that is started again.
func (d *daemon) canary(ctx context.Context) error {
	probe := *d.engine
	probe.Journal = noJournal{}
	req := &decisions.Request{Call: effects.Call{
		ID: "canary", Protocol: native.Protocol, Tool: effects.Tool{Name: "permd-canary"},
		Input: []byte(`{}`), Cwd: "/", User: effects.User{Home: "/nonexistent"},
	}, Peer: decisions.Peer{UID: uint32(os.Geteuid())}}
	got := probe.Decide(ctx, req)
	if len(got) != 1 || got[0].Verdict == decisions.Allow || got[0].By == decisions.ByFailure {
		return errors.New("the canary decision failed")
	}
	if s := d.journal.Status(); s.Queued == s.Capacity {
		return errors.New("the journal's queue is full")
	}
	return nil
}

// close ends the databases, what is queued first.
func (d *daemon) close() error { return errors.Join(d.journal.Close(), d.memory.Close()) }

// noJournal is the journal of decisions that are not to be enforced.
type noJournal struct{}

func (noJournal) Append(context.Context, ...*decisions.Record) error { return nil }
