package policy

import (
	"io/fs"
	"time"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects/mounts"
	"github.com/permd/permd/decisions/effects/programs"
	"github.com/permd/permd/decisions/effects/tools"
	"github.com/permd/permd/policy/restrictions"
	"github.com/permd/permd/policy/source"
	"github.com/permd/permd/policy/trust"
)

// Switches are the settings that change what rules mean.
type Switches struct {
	Profile        string   // which base rules there are; ProfileBalanced when empty
	OnlyOrg        bool     // allows of user and project do not count
	DenyOnFailure  bool     // what cannot be evaluated is denied, not asked
	Disable        []string // ids of base rules to drop before compiling
	AskGates       bool     // ask before a client acts for an agent
	NoPause        bool     // nobody may pause permd
	NoLock         bool     // nor lock it
	RefuseDeclared bool     // what clients declare of tools does not count
	NoArguments    bool     // no arguments of past calls are kept
	Shadow         Shadow   // rules to try; they change what no rule means
	Notify         string   // what notifications show; NotifyFull when empty
	Reload         string   // when changed rules come into force; settings.ReloadAuto when empty
	// Restrictions are what the organisation forbids beside its rules.
	Restrictions restrictions.Restrictions
	ProjectTrust string // whose trust in a project counts; settings.TrustUser when empty
	Approved     []Approved
}

// Options configure where rules come from.
type Options struct {
	// OrgDir is the admins' folder, such as /etc/permd/policy.d; "" for none.
	OrgDir string
	// OrgOwners are the uids that may own the files in OrgDir; only root if
	// nil. Only a relocated root (for tests and trials) adds another.
	OrgOwners []uint32
	// Delivered are the rules of org that are in no folder, to begin with; nil if none ever are.
	Delivered *Delivered
	// DeliveredUsers are rules for the layers of people, as Delivered are for that of org.
	DeliveredUsers *Delivered
	// UserDir returns a person's folder, such as ~/.config/permd/policy.d; it
	// returns "" or is nil for none.
	UserDir func(uid uint32) (string, error)
	// System is set if the daemon serves several people (xdg.Dirs.System).
	// Otherwise the rules of UID apply to the calls of every user. UserDir is then a folder of
	// the daemon's, whose uid is UID.
	System bool
	UID    uint32

	// Trust returns what a person has pinned of the project with a root, nil for nothing. It must
	// not wait. Nobody trusts a project if it is nil.
	Trust func(uid uint32, root string) *trust.Pin

	Base     map[string][]byte // the files of the base layer by name
	Schema   []byte            // JSON schema of the input
	Programs map[string][]byte // the program table
	Profiles []byte            // the agent profiles
	// Table and ParsedProfiles are the parsed Programs and Profiles, for those who open many
	// stores: they are read-only. Open parses what is nil.
	Table          *programs.Table
	ParsedProfiles *tools.Profiles

	// Switches reads the merged settings; it is called at the start and at each
	// reload. Defaults if nil.
	Switches func() (Switches, error)
	// SettingsName is the name of the files that Switches reads, next to OrgDir and UserDir,
	// so that Watch finds their changes; "" for none.
	SettingsName string
	// KeepResults has results of evaluations kept (see package projection).
	KeepResults bool
	// Compare, if set, is called with each result that was kept and a new one, which
	// must be equal: for tests, as nothing is gained then by keeping results. It must
	// be safe for concurrent use.
	Compare func(in *decisions.Input, kept, anew []decisions.Finding)
	// privateGroup reports whether only one person is in a group, so that
	// nobody else can write what the group can; xdg.PrivateGroup if nil.
	privateGroup func(uid, gid uint32) bool
	// Files bounds how long reading a folder of rules may wait for its file system;
	// nil if all file systems answer.
	Files *mounts.FS
	// OnChange is called after rules, their switches or the condition of a layer
	// changed. It must not call back into the store.
	OnChange func(Status)
	// OnShadow is called after the rules to try, or their condition, have changed. It must
	// not call back into the store. May be nil.
	OnShadow func()
	// OnWork is called before a layer is compiled and tested, unless it has shadow
	// rules, and the function it returns afterwards: no other work takes as much
	// time and memory. Its calls do not overlap. May be nil.
	OnWork func() (done func())
	// readDir reads a folder of rules; source.Read if nil.
	readDir func(dir string, rules source.Access) (*source.Tree, error)
	// watchStat looks at a folder to watch; os.Stat if nil.
	watchStat func(dir string) (fs.FileInfo, error)
	// now returns the time; time.Now if nil.
	now func() time.Time
}
