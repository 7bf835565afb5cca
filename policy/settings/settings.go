// Package settings reads permd.toml, and merges the settings of the organisation
// with those of a user: a user can be stricter, and never overrides what the
// organisation sets.
package settings

import (
	"bytes"
	"fmt"
	"net/netip"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/BurntSushi/toml"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/internal/lazy"
)

// Settings are the contents of a permd.toml. A key that the file does not set
// has its zero value, which means the default.
type Settings struct {
	// Profile selects the base policy: "careful", "balanced", the default, or
	// "unattended".
	Profile string `toml:"profile"`

	// OnlyOrg makes permd ignore what users and projects allow; their denies
	// and asks still count. Org only.
	OnlyOrg bool `toml:"only_org"`

	// Disable lists ids of base rules to leave out ("base.network"). Only org
	// can leave out base denies.
	Disable []string `toml:"disable"`

	// Durability is what a journalled decision survives: "process", the
	// default, the end of permd; "power" also a power cut, at the price of one
	// disk write for each group of decisions.
	Durability string `toml:"durability"`

	// Confirm selects which remembered allows wait until a person confirms them
	// with `permd remember confirm`: "guarded", the default, those for guarded
	// effects; "always" everything that a client reported.
	Confirm string `toml:"confirm"`

	// OnFailure is the answer when policy fails: "ask", the default, or "deny".
	// Org only.
	OnFailure decisions.Verdict `toml:"on_failure"`

	// AskGates makes permd ask before a client does something for an agent,
	// unless it is allowed by rules, by memory, or just before at the agent's
	// own request. If org sets it, a user cannot turn it off.
	AskGates bool `toml:"ask_gates"`

	// RefuseDeclared makes permd read the tools of agents without a profile as if their
	// clients had declared nothing of them. If org sets it, a user cannot turn it off.
	RefuseDeclared bool `toml:"refuse_declared"`

	// OnLogFailure is the answer when a decision that would be allowed, or a
	// person's allow, cannot be logged: "ask", the default, which lets a person's
	// allow pass, or "deny".
	OnLogFailure decisions.Verdict `toml:"on_log_failure"`

	// Shadow is a folder of shadow rules, which are evaluated in place of the rules of the
	// layer whose settings name it, "" for none. Parse makes it absolute: it is relative to
	// the folder of the file.
	Shadow string `toml:"shadow"`
	// ShadowLayer is that layer. Merge sets it.
	ShadowLayer decisions.Layer `toml:"-"`

	// NoPause forbids permd pause, NoLock permd lock. What is in force then ends. Org only.
	NoPause bool `toml:"no_pause"`
	NoLock  bool `toml:"no_lock"`

	// NoArguments makes permd keep no arguments of past calls on the disk, and delete those
	// that are there. If org sets it, a user cannot turn it off.
	NoArguments bool `toml:"no_arguments"`

	// Notify is what a notification of the desktop shows of calls that wait for a person:
	// "full", the default, what permd allow shows of them; "brief", which agent and which tool;
	// or "off", for no notifications.
	Notify string `toml:"notify"`

	// Reload is when changed rules come into force: "auto", the default, as soon as their files
	// have changed; "manual", with permd reload; or "replay-safe", once a replay of the latest
	// decisions shows that they allow nothing that was asked or denied. If org sets it, a user
	// cannot change it.
	Reload string `toml:"reload"`

	// What the organisation forbids beside its rules (restrictions.go). Org only.
	RequireLayers   []decisions.Layer `toml:"require_layers"`
	Remember        string            `toml:"remember"`
	RememberAtMost  string            `toml:"remember_at_most"`
	ForbidModes     []string          `toml:"forbid_modes"`
	UnknownPrograms decisions.Verdict `toml:"unknown_programs"`
	UnknownServers  decisions.Verdict `toml:"unknown_servers"`
	Lock            string            `toml:"lock"`
	Revoke          []Revoke          `toml:"revoke"`

	// ProjectTrust is whose trust lets the allows of a project count: "user", the default, a
	// person's (permd trust) and org's (trusted); "approved", org's alone; or "forbid", nobody's.
	// Org only.
	ProjectTrust string `toml:"project_trust"`
	// Trusted are lists of rules of projects that org trusts. Org only.
	Trusted []Trusted `toml:"trusted"`

	Limits Limits `toml:"limits"`

	Journal Journal `toml:"journal"`

	HTTP HTTP `toml:"http"`

	System System `toml:"system"`
}

// System says who may use a daemon that serves several people. Org only.
type System struct {
	// Group is the name of the group whose members may use the sockets; "permd" if not set.
	Group string `toml:"group"`
	// Admins is the name of the group whose members see and manage what is everybody's; "",
	// the default, if root alone does.
	Admins string `toml:"admins"`
	// LogBytesPerUser is what one person may write to the log in a day, in bytes, from 1 MiB to
	// 1 TiB; an eighth of the size of the log if not set.
	LogBytesPerUser int `toml:"log_bytes_per_user"`
}

// HTTP configures the HTTP interface.
type HTTP struct {
	// Listen is "off", the default, "unix", or a loopback address with its port.
	Listen string `toml:"listen"`
}

// Limits bound what clients can make permd do.
type Limits struct {
	// MessageBytes is the maximum length of a message, in bytes, from 64 KiB to
	// 64 MiB; 4 MiB if not set.
	MessageBytes int `toml:"message_bytes"`
	// Connections is the maximum number of connections at one time, from 1 to
	// 65536; 256 if not set.
	Connections int `toml:"connections"`
	// ConnectionsPerUser is the same for the connections of one uid; 128 if not
	// set.
	ConnectionsPerUser int `toml:"connections_per_user"`
	// DecisionMilliseconds is how long deciding the calls of one request may take,
	// from 100 to 60000; 2000 if not set.
	DecisionMilliseconds int `toml:"decision_milliseconds"`
}

// The values of settings.
const (
	ProfileCareful    = "careful"
	ProfileBalanced   = "balanced"
	ProfileUnattended = "unattended"
	durabilityProcess = "process"
	durabilityPower   = "power"
	confirmGuarded    = "guarded"
	ConfirmAlways     = "always"
	NotifyFull        = "full"
	NotifyBrief       = "brief"
	NotifyOff         = "off"
	ReloadAuto        = "auto"
	ReloadManual      = "manual"
	ReloadReplaySafe  = "replay-safe"
	TrustUser         = "user"
	TrustApproved     = "approved"
	TrustForbid       = "forbid"
	ListenOff         = "off"
	ListenUnix        = "unix"

	minMessageBytes = 64 << 10
	maxMessageBytes = 64 << 20
	maxConnections  = 65536
	minDecision     = 100   // milliseconds
	maxDecision     = 60000 // milliseconds
	maxPath         = 4096  // bytes
	maxGroup        = 256   // bytes of a group's name
	defaultGroup    = "permd"
)

// Bounds of a file. The decoder recurses for each bracket that is open, so that a file of
// brackets alone would end the process by its stack, and takes the square of the time for
// a key of many parts; a person's file has a few of both.
const (
	MaxBytes    = 64 << 10
	maxBrackets = 512 // [ and {, comments included
	maxDots     = 128 // in a line
)

// keys are the keys of permd.toml. The decoder would accept a key in any case;
// a person who reads the file would not.
var keys = []string{
	"profile", "only_org", "disable", "durability", "confirm", "on_failure", "ask_gates", "refuse_declared",
	"on_log_failure", "shadow", "no_pause", "no_lock", "no_arguments", "notify", "reload", "project_trust", "trusted", "trusted.digest", "trusted.root", "limits", "limits.message_bytes", "limits.connections", "limits.connections_per_user", "limits.decision_milliseconds",
	"journal", "journal.max_bytes", "journal.max_age",
	"http", "http.listen",
	"system", "system.group", "system.admins", "system.log_bytes_per_user",
	"require_layers", "remember", "remember_at_most", "forbid_modes", "unknown_programs", "unknown_servers", "lock",
	"revoke", "revoke.id", "revoke.user", "revoke.kind", "revoke.pattern", "revoke.before",
}

// fileError is a problem in a permd.toml.
type fileError struct {
	file string
	line int // from 1; 0 if not known
	text string
	fix  string // "" if there is nothing to suggest
}

// Error returns the place and the problem.
func (e *fileError) Error() string {
	if e.line == 0 {
		return fmt.Sprintf("reading settings %s: %s", e.file, e.text)
	}
	return fmt.Sprintf("reading settings %s:%d: %s", e.file, e.line, e.text)
}

// Hint returns what to write instead, "" if unknown.
func (e *fileError) Hint() string { return e.fix }

// Parse reads a permd.toml. Unknown keys and invalid values are errors, since a
// setting that is silently ignored protects nobody. The error names the line.
func Parse(file string, data []byte) (Settings, error) {
	var s Settings
	if len(data) > MaxBytes {
		return Settings{}, &fileError{file: file, text: fmt.Sprintf("the file is longer than %d bytes", MaxBytes), fix: tooMuch}
	}
	if bytes.Count(data, []byte("["))+bytes.Count(data, []byte("{")) > maxBrackets {
		return Settings{}, &fileError{file: file, text: fmt.Sprintf("the file has more than %d opening brackets", maxBrackets), fix: tooMuch}
	}
	n := 0
	for line := range bytes.Lines(data) {
		if n++; bytes.Count(line, []byte(".")) > maxDots {
			return Settings{}, &fileError{file: file, line: n, text: fmt.Sprintf("the line has more than %d dots", maxDots), fix: tooMuch}
		}
	}
	meta, err := toml.NewDecoder(bytes.NewReader(data)).Decode(&s)
	if err != nil {
		return Settings{}, tomlError(file, err)
	}
	for _, key := range meta.Keys() {
		if !slices.Contains(keys, key.String()) {
			return Settings{}, &fileError{
				file: file, line: lineOf(data, key[len(key)-1]), text: fmt.Sprintf("the key %s is not known", key),
				fix: "the keys are " + strings.Join(keys, ", "),
			}
		}
	}
	if e := s.check(); e != nil {
		e.file, e.line = file, lineOf(data, e.key)
		return Settings{}, &e.fileError
	}
	if s.Shadow != "" && !filepath.IsAbs(s.Shadow) {
		s.Shadow = filepath.Join(filepath.Dir(file), s.Shadow)
	}
	return s, nil
}

const tooMuch = "permd init writes one with every setting, if there is none"

var tomlPlace = lazy.Regexp(`^(?:toml: )?(?:line ([0-9]+))?(?: \(last key [^)]*\))?:? ?`)

// tomlError converts an error of the decoder. Not all of its errors carry the
// position as a value; all have it in front of their text.
func tomlError(file string, err error) *fileError {
	text := err.Error()
	m := tomlPlace().FindStringSubmatch(text)
	line, _ := strconv.Atoi(m[1]) // digits only; 0 when there are none
	return &fileError{file: file, line: line, text: text[len(m[0]):]}
}

// valueError is a fileError with the key whose value is wrong.
type valueError struct {
	fileError
	key string
}

func (s *Settings) check() *valueError {
	wrong := func(key, fix, format string, args ...any) *valueError {
		return &valueError{fileError: fileError{text: fmt.Sprintf(format, args...), fix: fix}, key: key}
	}
	between := func(key string, n, least, most int) *valueError {
		if n != 0 && n < least || n > most {
			return wrong(key, fmt.Sprintf("write a number from %d to %d", least, most), "%s is %d", key, n)
		}
		return nil
	}
	if !slices.Contains([]string{"", ProfileCareful, ProfileBalanced, ProfileUnattended}, s.Profile) {
		return wrong("profile", `write "careful", "balanced" or "unattended"`, "there is no profile %q", s.Profile)
	}
	if !slices.Contains([]string{"", durabilityProcess, durabilityPower}, s.Durability) {
		return wrong("durability", `write "process" or "power"`, "there is no durability %q", s.Durability)
	}
	if !slices.Contains([]string{"", confirmGuarded, ConfirmAlways}, s.Confirm) {
		return wrong("confirm", `write "guarded" or "always"`, "there is no way to confirm called %q", s.Confirm)
	}
	if !slices.Contains([]decisions.Verdict{"", decisions.Ask, decisions.Deny}, s.OnFailure) {
		return wrong("on_failure", `write "ask" or "deny"`, "a failure cannot be answered with %q", s.OnFailure)
	}
	if !slices.Contains([]decisions.Verdict{"", decisions.Ask, decisions.Deny}, s.OnLogFailure) {
		return wrong("on_log_failure", `write "ask" or "deny"`, "a failure cannot be answered with %q", s.OnLogFailure)
	}
	if !slices.Contains([]string{"", NotifyFull, NotifyBrief, NotifyOff}, s.Notify) {
		return wrong("notify", `write "full", "brief" or "off"`, "there is no notification called %q", s.Notify)
	}
	if !slices.Contains([]string{"", ReloadAuto, ReloadManual, ReloadReplaySafe}, s.Reload) {
		return wrong("reload", `write "auto", "manual" or "replay-safe"`, "there is no way to reload called %q", s.Reload)
	}
	if e := s.checkTrust(wrong); e != nil {
		return e
	}
	for _, id := range s.Disable {
		if !strings.HasPrefix(id, "base.") {
			return wrong("disable", "permd policy list shows the ids of the base rules", "%q is no id of a base rule", id)
		}
	}
	if strings.HasPrefix(s.Shadow, "~") || len(s.Shadow) > maxPath || strings.ContainsFunc(s.Shadow, unicode.IsControl) {
		return wrong("shadow", "write a path from /, or one from the folder of this file", "%q is no path of a folder", s.Shadow)
	}
	for key, name := range map[string]string{"group": s.System.Group, "admins": s.System.Admins} {
		if len(name) > maxGroup || strings.ContainsFunc(name, func(r rune) bool { return unicode.IsControl(r) || unicode.IsSpace(r) || r == ':' }) {
			return wrong(key, "write the name of a group", "%q is no name of a group", name)
		}
	}
	if !listenable(s.HTTP.Listen) {
		return wrong("listen", `write "off", "unix", or a loopback address: "127.0.0.1:PORT" or "[::1]:PORT"`,
			"permd does not listen at %q for HTTP: others could reach it there, or it is no address with a port", s.HTTP.Listen)
	}
	if e := s.checkRestrictions(); e != nil {
		return e
	}
	if !s.Journal.validAge() {
		return wrong("max_age", fmt.Sprintf("write days, from \"1d\" to \"%dd\"", maxJournalDays), "the age %q cannot be used", s.Journal.MaxAge)
	}
	for _, e := range []*valueError{
		between("max_bytes", s.Journal.MaxBytes, minJournalBytes, maxJournalBytes),
		between("log_bytes_per_user", s.System.LogBytesPerUser, minLogBytesPerUser, maxJournalBytes),
		between("message_bytes", s.Limits.MessageBytes, minMessageBytes, maxMessageBytes),
		between("connections", s.Limits.Connections, 1, maxConnections),
		between("connections_per_user", s.Limits.ConnectionsPerUser, 1, maxConnections),
		between("decision_milliseconds", s.Limits.DecisionMilliseconds, minDecision, maxDecision),
	} {
		if e != nil {
			return e
		}
	}
	return nil
}

// listenable reports whether permd may serve HTTP on the address. A name such
// as localhost is whatever it resolves to.
func listenable(at string) bool {
	if slices.Contains([]string{"", ListenOff, ListenUnix}, at) {
		return true
	}
	addr, err := netip.ParseAddrPort(at)
	return err == nil && slices.Contains([]string{"127.0.0.1", "::1"}, addr.Addr().String())
}

// lineOf returns the line in which a key is set, 0 if it is not found. The
// decoder does not keep the positions of keys.
func lineOf(data []byte, key string) int {
	n := 0
	for line := range bytes.Lines(data) {
		n++
		text := strings.Trim(string(line), " \t[]\r\n")
		name, _, _ := strings.Cut(text, "=")
		if i := strings.LastIndexByte(name, '.'); i >= 0 {
			name = name[i+1:]
		}
		if strings.Trim(name, ` "'`) == key || strings.HasPrefix(text, key+" ") {
			return n
		}
	}
	return 0
}
