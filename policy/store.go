package policy

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects/programs"
	"github.com/permd/permd/decisions/effects/tools"
	"github.com/permd/permd/internal/xdg"
	"github.com/permd/permd/policy/evaltime"
	"github.com/permd/permd/policy/input"
	"github.com/permd/permd/policy/rules"
	"github.com/permd/permd/policy/settings"
	"github.com/permd/permd/policy/source"
	"github.com/permd/permd/policy/weight"
)

// maxProjects is how many project layers are kept; the least recently used one
// is evicted.
const maxProjects = 64

// errNotReady is returned by Snapshot for a person or project that Prepare has
// not been called for, or that was evicted: a person must answer.
var errNotReady = errors.New("the rules of this project or user are not loaded yet")

// Store holds the rules in use and keeps them up to date. It implements
// decisions.Policy. Its methods may be called concurrently.
type Store struct {
	opts     Options
	schema   *input.Schema
	table    *programs.Table
	profiles *tools.Profiles
	shipped  string // digest of table and profiles

	// mu is held while the rules of base, org and users are loaded, and changing, for a
	// moment, when a state is replaced; requests never take them.
	mu             sync.Mutex
	deliveredUsers Delivered // used while mu is held
	changing       sync.Mutex
	compiling      sync.Mutex
	weights        weight.Shared // used while compiling is held
	loads          *projectLoads
	generation     atomic.Int64
	state          atomic.Pointer[state]
	foldersChanged chan struct{} // tells Watch that the folders to watch have changed
	delays         delays        // defaultDelays, except in tests

	limiter evaltime.Limiter // shared by the evaluations of all snapshots

	// trying is held while rules to try are loaded, which holds up no others. dueToTry is
	// set while somebody waits to load them.
	trying       sync.Mutex
	candidate    *candidate // the bundle that is tried, nil for none; used while trying is held
	dueToTry     atomic.Bool
	shadowLimits evaltime.Limiter // of the evaluations of rules to try, and of those that wait
}

var _ decisions.Policy = (*Store)(nil)

type layerKey struct {
	uid     uint32
	project string
}

// state is everything in use at one moment. It is immutable.
type state struct {
	switches         Switches
	settingsErr      error // reading the settings failed; the former ones are in use
	settingsErrSince time.Time
	base             *layerState
	org              *layerState
	users            map[uint32]*layerState
	projects         map[layerKey]*layerState
	snaps            map[layerKey]*rules.Snapshot
	lapsed           map[layerKey]lapse                  // those of snaps that hold until trust ends
	shadow           *layerState                         // the rules to try, nil if there are none
	shadows          map[*rules.Snapshot]*rules.Snapshot // by that of snaps in whose place they are tried
	held             *change                             // rules that wait, nil if none do
	watchError       string                              // why Watch cannot see changes, "" if it can
}

// Open loads base, org and, for one person, user rules. It fails if the org or
// base rules or the settings are broken: permd would otherwise enforce
// something other than the admins wrote. Broken user rules do not keep it from
// starting. But as long as they have never been good, Evaluate returns an error
// along with the rules of the other layers that fired, so that a person is
// asked: the user's denies are not known, and an allow of another layer must
// not win.
func Open(ctx context.Context, opts Options) (*Store, error) {
	if opts.now == nil {
		opts.now = time.Now
	}
	if opts.OrgOwners == nil {
		opts.OrgOwners = []uint32{0}
	}
	if opts.readDir == nil {
		opts.readDir = source.Read
	}
	if opts.privateGroup == nil {
		opts.privateGroup = xdg.PrivateGroup
	}
	s := &Store{opts: opts, foldersChanged: make(chan struct{}, 1), delays: defaultDelays, loads: newProjectLoads(), shadowLimits: evaltime.Limiter{Growth: shadowGrowth}}
	s.weights.LeaveFree = opts.System
	how := loadOptions{deadline: time.Now().Add(s.delays.load)}
	var err error
	if s.schema, err = input.ParseSchema(opts.Schema); err != nil {
		return nil, err
	}
	if s.table = opts.Table; s.table == nil {
		if s.table, err = programs.ParseTable(opts.Programs); err != nil {
			return nil, fmt.Errorf("reading the program table: %w", err)
		}
	}
	if s.profiles = opts.ParsedProfiles; s.profiles == nil {
		if s.profiles, err = tools.ParseProfiles(opts.Profiles); err != nil {
			return nil, fmt.Errorf("reading the agent profiles: %w", err)
		}
	}
	shipped := []source.File{{Name: "profiles", Data: opts.Profiles}}
	for _, name := range slices.Sorted(maps.Keys(opts.Programs)) {
		shipped = append(shipped, source.File{Name: "programs/" + name, Data: opts.Programs[name]})
	}
	s.shipped = source.Digest(nil, shipped)

	s.mu.Lock()
	defer s.mu.Unlock()
	st := &state{users: map[uint32]*layerState{}, projects: map[layerKey]*layerState{}}
	if st.switches, err = s.readSwitches(); err != nil {
		return nil, fmt.Errorf("reading settings: %w", err)
	}
	st.base = s.refreshBase(ctx, &layerState{layer: decisions.Base}, st.switches)
	if err := st.base.err(); err != nil {
		return nil, err
	}
	st.org = &layerState{layer: decisions.Org, active: &rules.Layer{Name: decisions.Org}, state: StateAbsent, since: opts.now()}
	if opts.OrgDir != "" || opts.Delivered != nil {
		if st.org, err = s.openOrg(ctx, how); err != nil {
			return nil, err
		}
	}
	s.openUsers(ctx, st.org)
	if !opts.System {
		st.users[opts.UID] = s.refresh(ctx, s.userState(opts.UID).withOrg(st.org), how)
	}
	s.publish(st)
	return s, nil
}

// System reports whether the store serves several people.
func (s *Store) System() bool { return s.opts.System }

// Unattended reports whether the profile in use is for machines where nobody
// can be asked.
func (s *Store) Unattended() bool {
	return s.state.Load().switches.Profile == settings.ProfileUnattended
}

// AskGates reports whether a person is asked before a client acts for an agent,
// unless that is allowed.
func (s *Store) AskGates() bool { return s.state.Load().switches.AskGates }

// Forbidden reports whether org forbids to pause permd, and to lock it.
func (s *Store) Forbidden() (pause, lock bool) {
	w := &s.state.Load().switches
	return w.NoPause, w.NoLock
}

// KeepsArguments reports whether arguments of past calls may be kept.
func (s *Store) KeepsArguments() bool { return !s.state.Load().switches.NoArguments }

// Notify returns what notifications of the desktop show of questions: settings.NotifyFull,
// NotifyBrief or NotifyOff. Servers may keep what they show, so that it is no more than
// NotifyBrief where no arguments may be kept.
func (s *Store) Notify() string {
	w := &s.state.Load().switches
	form := cmp.Or(w.Notify, settings.NotifyFull)
	if form == settings.NotifyFull && w.NoArguments {
		return settings.NotifyBrief
	}
	return form
}

// refreshBase compiles the embedded layer, and again if the disabled rules or
// the profile change.
func (s *Store) refreshBase(ctx context.Context, prev *layerState, sw Switches) *layerState {
	next := *prev
	return s.build(ctx, &next, baseFiles(s.opts.Base, cmp.Or(sw.Profile, settings.ProfileBalanced)), sw.Disable)
}

// Snapshot returns the rules for calls of a person in a project ("" for none).
// It takes no lock and reads no file.
func (s *Store) Snapshot(uid uint32, project string) (decisions.Snapshot, error) {
	st := s.state.Load()
	at := s.at(uid, project)
	snap := st.snaps[at]
	if snap == nil {
		return nil, errNotReady
	}
	if l, ends := st.lapsed[at]; ends && !l.pin.In(s.opts.now()) {
		snap = l.snap
	}
	if n := st.projects[at]; n != nil {
		n.used.Store(s.generation.Add(1))
	}
	return snap, nil
}

// Loaded is Snapshot, without counting as a use of the project's rules: if there are too many of
// those, the ones are dropped whose last use was first.
func (s *Store) Loaded(uid uint32, project string) (decisions.Snapshot, error) {
	st, at := s.state.Load(), s.at(uid, project)
	if l, ends := st.lapsed[at]; ends && !l.pin.In(s.opts.now()) {
		return l.snap, nil
	}
	if snap := st.snaps[at]; snap != nil {
		return snap, nil
	}
	return nil, errNotReady
}

func (s *Store) at(uid uint32, project string) layerKey {
	if !s.opts.System {
		uid = s.opts.UID
	}
	return layerKey{uid, project}
}

// Prepare loads the rules of a person and of a project ("" for none), or brings
// them up to date, so that Snapshot has them. It is called when a session is
// declared. An error means that the layer is broken: Snapshot still returns a
// snapshot with the layer's last good rules, or one that can only deny or ask
// if there are none.
func (s *Store) Prepare(ctx context.Context, uid uint32, project string) error {
	at := s.at(uid, project)
	errs := []error{s.prepareUser(ctx, at.uid)}
	if project != "" {
		errs = append(errs, s.loadProject(ctx, at, loadOptions{deadline: time.Now().Add(s.delays.load)}, true))
	}
	return errors.Join(errs...)
}

// publish makes a state current. It is called with changing held.
func (s *Store) publish(st *state) {
	old := s.state.Load()
	st.snaps = make(map[layerKey]*rules.Snapshot, len(st.users)+len(st.projects))
	st.lapsed = map[layerKey]lapse{}
	var former map[layerKey]*rules.Snapshot
	var formerLapsed map[layerKey]lapse
	sameSwitches := false
	if old != nil {
		former, formerLapsed, sameSwitches = old.snaps, old.lapsed, old.switches.same(st.switches)
	}
	for uid := range st.users {
		at := layerKey{uid: uid}
		st.snaps[at] = s.snapshot(s.basis(st, uid, nil, false), former[at], sameSwitches)
	}
	for at, n := range st.projects {
		is := s.basis(st, at.uid, n, s.trusts(st, n))
		st.snaps[at] = s.snapshot(is, former[at], sameSwitches)
		if is.Trusted && n.assessed.By == decisions.User {
			st.lapsed[at] = lapse{n.grounds.pin, s.snapshot(withoutTrust(is), formerLapsed[at].snap, sameSwitches)}
		}
	}
	st.shadows = s.shadowsOf(st, old)
	s.state.Store(st)
	select { // Watch may have other folders to watch now
	case s.foldersChanged <- struct{}{}:
	default:
	}
	if s.opts.OnShadow != nil && (old == nil || !reflect.DeepEqual(old.shadowStatus(), st.shadowStatus())) {
		s.opts.OnShadow()
	}
	if s.opts.OnChange == nil {
		return
	}
	if now := st.status(); old == nil || !sameSwitches || !reflect.DeepEqual(old.status(), now) {
		s.opts.OnChange(now)
	}
}

// snapshot makes the snapshot of one person and project. former is theirs until now,
// nil if there is none; sameSwitches is set if the settings are those of then.
func (s *Store) snapshot(is rules.Basis, former *rules.Snapshot, sameSwitches bool) *rules.Snapshot {
	snap := rules.NewSnapshot(is)
	if sameSwitches && former != nil && snap.Same(former) {
		return former // decisions that were cached with it stay usable
	}
	if s.opts.KeepResults {
		snap.Keep(former, s.opts.Compare)
	}
	return snap
}

// basis is what a snapshot is made of. trusted says whether the project's allows count.
func (s *Store) basis(st *state, uid uint32, project *layerState, trusted bool) rules.Basis {
	is := rules.Basis{
		OnlyOrg: st.switches.OnlyOrg, DenyOnFailure: st.switches.DenyOnFailure,
		Table: s.tableFor(st, st.users[uid]), Profiles: s.profilesFor(st, st.users[uid]), Limiter: &s.limiter,
		Restrictions: st.restrictions(),
	}
	if st.switches.RefuseDeclared {
		is.Profiles = is.Profiles.WithoutDeclared()
	}
	parts := []string{s.shipped, strconv.FormatBool(st.switches.OnlyOrg), strconv.FormatBool(st.switches.DenyOnFailure), strconv.FormatBool(st.switches.RefuseDeclared)}
	if text := is.Restrictions.Text(); text != "" {
		parts = append(parts, text)
	}
	if is.Trusted = trusted; is.Trusted {
		parts = append(parts, "trusted")
	} else if project != nil {
		is.TrustProblem = project.assessed.Problem
	}
	combine(&is, parts, st.org, st.users[uid], project, st.base)
	return is
}

// combine adds layers, nil for none, to what a snapshot is made of. parts are what its digest
// depends on besides.
func combine(is *rules.Basis, parts []string, layers ...*layerState) {
	for _, n := range layers {
		if n == nil {
			continue
		}
		parts = append(append(parts, string(n.layer), n.digest), n.quarantined...)
		is.Quarantined = append(is.Quarantined, n.quarantined...)
		if n.missing != "" {
			is.Unknown = cmp.Or(is.Unknown, n.err())
			parts = append(parts, "unknown")
		}
		switch {
		case n.active == nil:
			is.Unknown = cmp.Or(is.Unknown, n.err(), fmt.Errorf("the %s rules are not loaded", n.layer))
			parts = append(parts, "unknown")
		case n.active.NumRules() > 0:
			is.Layers = append(is.Layers, n.active)
		}
	}
	if err := missing(is.Restrictions, layers); err != nil {
		is.Unknown = cmp.Or(is.Unknown, err)
		parts = append(parts, "missing")
	}
	is.Digest = source.Digest(parts, nil)
}

func (st *state) clone() *state {
	c := *st
	c.users, c.projects = maps.Clone(st.users), maps.Clone(st.projects)
	return &c
}
