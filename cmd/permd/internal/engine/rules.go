package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"

	"github.com/permd/permd/cmd/permd/internal/account"
	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/cmd/permd/internal/orgbundle"
	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/mounts"
	"github.com/permd/permd/decisions/effects/programs"
	"github.com/permd/permd/decisions/pattern"
	"github.com/permd/permd/internal/xdg"
	"github.com/permd/permd/policy"
	"github.com/permd/permd/policy/diag"
	"github.com/permd/permd/policy/settings"
	"github.com/permd/permd/policy/trust"
	"github.com/permd/permd/rego"
	"github.com/permd/permd/remember/allowable"
)

// Rules are the rules and settings of this machine and its user.
type Rules struct {
	*policy.Store
	Settings settings.Settings
	Mounts   *mounts.FS // that rules are read through
	// Bundle is how rules of the organisation are delivered.
	Bundle  *orgbundle.Delivery
	Trusted *trust.Store

	uid      uint32 // of the process
	shadow   *atomic.Pointer[func()]
	users    account.Users
	compiled atomic.Pointer[compiled] // see restricted
}

// OnShadow has a function called after the rules to try, or their condition, have changed.
// It must return at once.
func (r *Rules) OnShadow(changed func()) { r.shadow.Store(&changed) }

// OpenRules opens rules and settings. relocated is set if /etc and /var are below
// another root (--root), where the organisation's rules may belong to the caller.
// changed, if not nil, is called after each change of the rules.
func OpenRules(ctx context.Context, dirs xdg.Dirs, relocated bool, changed func(policy.Status)) (*Rules, error) {
	return OpenRulesIn(ctx, dirs, filepath.Join(dirs.Config, account.PolicyDir), relocated, changed)
}

// OpenRulesIn is OpenRules with the person's rules in another folder, to try them.
func OpenRulesIn(ctx context.Context, dirs xdg.Dirs, userDir string, relocated bool, changed func(policy.Status)) (*Rules, error) {
	defer reduceGC()() // also what is read before the rules are compiled makes garbage
	files := mounts.New()
	read, err := account.ReadSettings(dirs, files)
	if err != nil {
		return nil, err
	}
	table, err := programs.Shipped()
	if err != nil {
		return nil, fmt.Errorf("reading the program table: %w", err)
	}
	shadow := new(atomic.Pointer[func()])
	trusted := trust.Open(filepath.Join(dirs.Data, "trust"), nil)
	opts := policy.Options{
		OnShadow: func() {
			if f := shadow.Load(); f != nil {
				(*f)()
			}
		},
		Files: files, Trust: trusted.Of,
		OrgDir: filepath.Join(dirs.Org, account.PolicyDir),
		UserDir: func(uid uint32) (string, error) {
			if dirs.System {
				return account.UserRules(dirs, uid), nil
			}
			return userDir, nil
		},
		System: dirs.System, UID: uint32(os.Geteuid()),
		Base: rego.Base(), Schema: rego.InputSchema(), Programs: rego.Programs(), Table: table, Profiles: rego.Profiles(),
		Switches: func() (policy.Switches, error) { return readSwitches(dirs, files) }, SettingsName: account.SettingsName,
		OnChange: changed, OnWork: reduceGC, KeepResults: true,
	}
	if relocated {
		opts.OrgOwners = []uint32{0, uint32(os.Geteuid())}
	}
	delivery, err := orgbundle.Open(ctx, dirs, opts.OrgOwners, files)
	if err != nil {
		return nil, err
	}
	opts.Delivered, opts.DeliveredUsers = delivery.Delivered(), delivery.DeliveredUsers()
	store, err := policy.Open(ctx, opts)
	if err != nil {
		return nil, PolicyFailure(err)
	}
	if dirs.System {
		// What concerns no user, such as the digest of a status, is asked for the daemon's own,
		// which has no rules.
		if err := store.Prepare(ctx, opts.UID, ""); err != nil {
			return nil, PolicyFailure(err)
		}
	}
	return &Rules{Store: store, Settings: read, Mounts: files, Bundle: delivery, Trusted: trusted, uid: opts.UID, shadow: shadow}, nil
}

// PolicyFailure adds the exit code to an error in the rules.
func PolicyFailure(err error) error {
	if e, ok := errors.AsType[*diag.Error](err); ok {
		hint := e.Problems[0].Hint
		if hint == "" {
			hint = "permd policy check DIR shows all problems"
		}
		return &cli.Failure{Code: cli.ExitCompile, Err: err, Hint: hint}
	}
	return err
}

// Digest identifies the rules outside of projects, "" if they are not loaded.
func (r *Rules) Digest() string {
	snap, err := r.Snapshot(r.uid, "")
	if err != nil {
		return ""
	}
	return snap.Digest()
}

// Allowable returns an error if an allow of the effect must not be remembered.
func (r *Rules) Allowable(q *decisions.MemoryQuery) error {
	if err := r.refusesNew(q); err != nil {
		return err
	}
	if q.Effect.Run == nil {
		return nil
	}
	snap, err := r.Snapshot(q.UID, "")
	if err != nil {
		return fmt.Errorf("the rules are not ready: %w", err)
	}
	return allowable.Run(snap.Table(), q)
}

// Understand adds the meaning of its options to a line of a reject, by the program table
// of the daemon's own user.
func (r *Rules) Understand(p *pattern.Pattern) *pattern.Pattern {
	snap, err := r.Snapshot(uint32(os.Getuid()), "")
	if err != nil {
		return p.Resolved(nil)
	}
	return p.Resolved(snap.Table())
}

// liveShell reports whether an agent runs all its commands in one shell, so that a
// command sees what earlier ones have changed in it.
func (r *Rules) liveShell(agent effects.Party) bool {
	snap, err := r.Snapshot(r.uid, "")
	return err != nil || snap.Profiles().LiveShell(agent)
}

// declarable returns an error if an agent's client may not declare these tools.
func (r *Rules) declarable(uid uint32, agent effects.Party, declared []effects.DeclaredTool) error {
	snap, err := r.Snapshot(uid, "")
	if err != nil {
		return errors.New("the rules are not ready")
	}
	return snap.Profiles().Declarable(agent, declared)
}

// allowOnceOption returns the id of the option that allows just one call, for agents
// that have several options of that kind.
func (r *Rules) allowOnceOption(agent effects.Party) string {
	snap, err := r.Snapshot(r.uid, "")
	if err != nil {
		return ""
	}
	return snap.Profiles().OnceOption(agent)
}

// harmlessEnv reports whether an environment variable affects only how output looks.
func (r *Rules) harmlessEnv(name, value string) bool {
	snap, err := r.Snapshot(r.uid, "")
	return err == nil && snap.Table().HarmlessAssignment(name, value)
}

// readSwitches returns the settings that concern the rules.
func readSwitches(dirs xdg.Dirs, files *mounts.FS) (policy.Switches, error) {
	s, err := account.ReadSettings(dirs, files)
	if err != nil {
		return policy.Switches{}, err
	}
	var approved []policy.Approved
	for _, t := range s.Trusted {
		approved = append(approved, policy.Approved(t))
	}
	return policy.Switches{
		ProjectTrust: s.ProjectTrust, Approved: approved,
		Profile: s.Profile,
		OnlyOrg: s.OnlyOrg, RefuseDeclared: s.RefuseDeclared, DenyOnFailure: s.OnFailure == decisions.Deny, Disable: s.Disable,
		AskGates: s.AskGates, NoPause: s.NoPause, NoLock: s.NoLock, NoArguments: s.NoArguments, Notify: s.Notify, Reload: s.Reload,
		Shadow: policy.Shadow{Dir: s.Shadow, Layer: s.ShadowLayer}, Restrictions: s.Restrictions(),
	}, nil
}
