package input

import (
	"encoding/binary"
	"math/bits"
)

// Part is a part of the input: a member, or some that are built together.
type Part uint8

// The parts. A set has room for twice 64.
const (
	partSession Part = iota
	partProject
	partUser
	PartNow // and recent, which changes as the time does
	PartRaw // call.raw

	// Members of the call. If one is needed, all are built but raw.
	partCallTool
	partCallProtocol
	partCallCwd
	partCallKinds
	partCallTags
	partCallCompleteness
	partCallMissing
	partCallDefects
	partCallTitle
	partCallKind
	partCallUser
	partCallTrace
	partCallPaths // from here on claims that are built only if one is needed
	partCallStatus
	partCallOptions
	partCallNamed

	// Fields of the effect; its kind is always present.
	partText
	partTags
	partFrom
	partClaimed
	partShell
	partByProgram // of by, which is built as a whole
	partBySubcommand
	partByArgs
	partByInherent
	partByArg
	PartProgram
	partArgs
	partSubcommand
	partFlags
	partExecutable
	partOperands
	partStdin
	partCwd
	partScript
	partReadonly
	partOwnData
	partReformats
	partKnown
	partDoes
	partHarmlessFrom
	partHarmful
	partOptionsFrom
	partPath
	partGiven
	partRecursive
	partMoved
	partProjectPath
	partHomePath
	partHost
	partPort
	partScheme
	partURL
	partMethod
	partServer
	partSource
	partTool
	partVersion
	partFoldedServer
	partFoldedTool
	partFoldedVersion
	partDestructive
	partCredentials // of a use: trust, secrets and authorizations
	PartArguments
	partWhy
	partDeclared

	numParts
)

// Parts is a set of parts. A part that no rule of a snapshot refers to is not built:
// most policies read a few fields of the effect alone. The zero value is empty.
type Parts struct{ low, high uint64 }

// The bits of sets of parts: of neighbours, from the first to before the second.
const (
	all64      = 1<<64 - 1
	allBits    = 1<<numParts - 1
	effectBits = 1<<numParts - 1<<partText
	callBits   = 1<<partText - 1<<partCallTool
	claimBits  = 1<<partText - 1<<partCallPaths
	byBits     = 1<<PartProgram - 1<<partByProgram
	rawBits    = 1<<PartRaw | 1<<PartArguments
)

// AllParts are all parts, and RawParts those that are JSON of the client.
var (
	AllParts   = Parts{allBits & all64, allBits >> 64}
	RawParts   = Parts{rawBits & all64, rawBits >> 64}
	effectPart = Parts{effectBits & all64, effectBits >> 64}
	partCall   = Parts{callBits & all64, callBits >> 64}
	partClaims = Parts{claimBits & all64, claimBits >> 64}
	partBy     = Parts{byBits & all64, byBits >> 64}
)

// Has reports whether a part is in the set.
func (s Parts) Has(p Part) bool {
	// A shift by 64 or more leaves nothing.
	return (s.low>>p|s.high>>(p-64))&1 != 0
}

// only returns the set of one part.
func only(p Part) Parts { return Parts{1 << p, 1 << (p - 64)} }

// Empty reports whether the set has no part.
func (s Parts) Empty() bool { return s == Parts{} }

// Union returns the parts that are in one of two sets.
func (s Parts) Union(t Parts) Parts { return Parts{s.low | t.low, s.high | t.high} }

// Intersection returns the parts that are in both sets.
func (s Parts) Intersection(t Parts) Parts { return Parts{s.low & t.low, s.high & t.high} }

// Difference returns the parts that are not in t.
func (s Parts) Difference(t Parts) Parts { return Parts{s.low &^ t.low, s.high &^ t.high} }

// Without returns the other parts than one.
func (s Parts) Without(p Part) Parts { return s.Difference(only(p)) }

// Overlaps reports whether a part is in both sets.
func (s Parts) Overlaps(t Parts) bool { return !s.Intersection(t).Empty() }

// AppendBinary appends the set to bytes; no set's bytes begin with another's.
func (s Parts) AppendBinary(b []byte) []byte {
	return binary.AppendUvarint(binary.AppendUvarint(b, s.low), s.high)
}

// one reports whether the set has one part.
func (s Parts) one() bool { return bits.OnesCount64(s.low)+bits.OnesCount64(s.high) == 1 }

// The parts of top-level members, of members of the call, and of fields of the
// effect and of what it comes from, by their names. Those that are several parts, or
// none, are in [PartOf].
var (
	topParts = map[string]Part{
		"session": partSession, "project": partProject, "user": partUser, "now": PartNow, "recent": PartNow,
	}
	callParts = map[string]Part{
		"tool": partCallTool, "protocol": partCallProtocol, "cwd": partCallCwd, "kinds": partCallKinds, "tags": partCallTags,
		"completeness": partCallCompleteness, "missing": partCallMissing, "defects": partCallDefects, "title": partCallTitle,
		"kind": partCallKind, "claimed_user": partCallUser, "claimed_trace": partCallTrace,
		"claimed_paths": partCallPaths, "claimed_status": partCallStatus, "claimed_options": partCallOptions, "claimed_meta": partCallNamed,
	}
	byParts = map[string]Part{
		"program": partByProgram, "subcommand": partBySubcommand, "args": partByArgs, "inherent": partByInherent, "arg": partByArg,
	}
	fieldParts = map[string]Part{
		"text": partText, "tags": partTags, "from": partFrom, "claimed": partClaimed, "declared": partDeclared, "shell": partShell,
		"program": PartProgram, "executable": partExecutable, "args": partArgs, "subcommand": partSubcommand,
		"flags": partFlags, "operands": partOperands, "stdin": partStdin, "cwd": partCwd, "script": partScript, "readonly": partReadonly, "own_data": partOwnData,
		"reformats": partReformats,
		"known":     partKnown, "does": partDoes, "harmless_from": partHarmlessFrom, "harmful": partHarmful,
		"options_from": partOptionsFrom, "path": partPath, "given": partGiven,
		"recursive": partRecursive, "moved": partMoved, "project_path": partProjectPath, "home_path": partHomePath, "host": partHost,
		"port": partPort, "scheme": partScheme, "url": partURL, "method": partMethod, "server": partServer,
		"source": partSource, "tool": partTool, "version": partVersion,
		"folded_server": partFoldedServer, "folded_tool": partFoldedTool, "folded_version": partFoldedVersion, "destructive": partDestructive,
		"trust": partCredentials, "secrets": partCredentials, "authorizations": partCredentials,
		"arguments": PartArguments, "why": partWhy,
	}
)
