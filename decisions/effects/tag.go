package effects

import (
	"math/bits"
	"slices"
)

// Tag is a fact about an effect that is computed from tables, such as "the
// path is in the project" or "the path holds a secret".
type Tag uint8

// The tags. The second group is guarded for write and delete; of these Secret
// and Permd also for read, and MetadataService for connect.
const (
	InProject Tag = iota // path or cwd in the session's project or roots
	Outside              // path or cwd outside of them
	Temp                 // below a temporary folder of the system
	Home                 // below the person's home
	System               // below a folder of the operating system
	Loopback             // this machine
	Private              // an address or name that is not of the public network
	Device               // a device file that is not harmless like /dev/null
	Worktree             // outside, in another working tree of the project's repository
	Vital                // losing it is a catastrophe: /, a home, a system folder

	Secret          // keys, tokens, credentials, .env files
	Startup         // runs later without a command: shell rc, cron, git hooks, .envrc …
	VCS             // a repository's own data (.git)
	AgentConfig     // agents' settings, .mcp.json, instruction files
	CI              // pipelines
	Permd           // permd's own files
	MetadataService // a cloud's instance metadata address

	numTags
)

var tagNames = [numTags]string{
	"in_project", "outside", "temp", "home", "system", "loopback", "private", "device", "worktree", "vital",
	"secret", "startup", "vcs", "agent_config", "ci", "permd", "metadata_service",
}

// String returns the tag's word in the policy input.
func (t Tag) String() string { return tagNames[t] }

// ParseTag returns the tag of that word.
func ParseTag(name string) (Tag, bool) {
	i := slices.Index(tagNames[:], name)
	return Tag(max(i, 0)), i >= 0
}

// AllTags lists all tags.
func AllTags() []Tag {
	all := make([]Tag, numTags)
	for i := range all {
		all[i] = Tag(i)
	}
	return all
}

// Tags is a set of tags.
type Tags uint32

// TagsOf returns the set of the given tags.
func TagsOf(tags ...Tag) Tags {
	var s Tags
	for _, t := range tags {
		s |= 1 << t
	}
	return s
}

// Has reports whether t is in the set.
func (s Tags) Has(t Tag) bool { return s&(1<<t) != 0 }

// With returns the set with t in it.
func (s Tags) With(t Tag) Tags { return s | 1<<t }

// Names returns the tags' words, in a fixed order.
func (s Tags) Names() []string {
	names := make([]string, 0, bits.OnesCount32(uint32(s)))
	for t := range numTags {
		if s.Has(t) {
			names = append(names, t.String())
		}
	}
	return names
}

// Guarded returns the tags of the effect that need an exact answer: no
// wildcard, prefix or subtree ever allows them (docs/policy.md, "Who wins", row 5).
func (e *Effect) Guarded() Tags {
	switch e.Kind {
	case KindWrite, KindDelete:
		return e.Tags & guardedForWrite
	case KindRead:
		return e.Tags & guardedForRead
	case KindConnect:
		return e.Tags & guardedForConnect
	case KindRun, KindUse, KindState, KindMode, KindQuestion, KindUnknown:
	}
	return 0
}

const (
	guardedForWrite   = Tags(1<<Secret | 1<<Startup | 1<<VCS | 1<<AgentConfig | 1<<CI | 1<<Permd)
	guardedForRead    = Tags(1<<Secret | 1<<Permd)
	guardedForConnect = Tags(1 << MetadataService)
)
