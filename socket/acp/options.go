package acp

import (
	"slices"
	"strings"
	"unicode"

	"github.com/permd/permd/decisions"
)

// OptionKind is the kind of a permission option. Both versions have these
// four; version 2 lets agents add others, which are never chosen.
type OptionKind string

// The kinds of options.
const (
	AllowOnce    OptionKind = "allow_once"
	AllowAlways  OptionKind = "allow_always"
	RejectOnce   OptionKind = "reject_once"
	RejectAlways OptionKind = "reject_always"
)

// Option is one answer that the agent offers.
type Option struct {
	ID   string
	Name string
	Kind OptionKind
	// lasts is set if the option's _meta says that it applies beyond the agent's turn.
	lasts bool
	// means is what the words say, 0 if they were not read yet.
	means meaning
}

// meaning is what the words of an option's id and name say.
type meaning uint8

const (
	meansRead  meaning = 1 << iota // the words were read
	meansWider                     // they allow more than this call, or cannot be read with certainty
	meansNo
	meansYes  // and not also no, as "No, and don't allow it" does
	meansMode // the agent's mode would change
	meansEnd  // the turn would end
)

// Facts are the properties of a request on which the choice of an option depends.
type Facts struct {
	// Plain is the id of the option that allows this call and changes nothing
	// else, for agents that offer several of kind allow_once; "" if none is
	// known.
	Plain string
	// question is set when the request asks the person something; ModeSwitch
	// when it changes the agent's mode.
	question, modeSwitch bool
	// defective is set when a part of the request was left out or contradicts
	// another, Incomplete when it does not say what would happen.
	defective, incomplete bool
	// permanent is set for a deny that applies to every such call.
	permanent bool
}

// continuingIDs are ids of reject options that let the agent's turn continue, for agents
// that offer several: decline (Codex), denied (Codex's Rust adapter), revise (plan
// reviews of Codex and Kimi Code).
var continuingIDs = []string{"decline", "denied", "revise_plan", "plan_revise"}

// Choose returns the id of the option that means the verdict and nothing more. It
// returns false if the agent offers none: an allow must then be left to the person, a
// deny is answered "cancelled". It never chooses an option that the agent would
// remember, except for a deny that is permanent itself.
func Choose(options []Option, verdict decisions.Verdict, facts Facts) (id string, ok bool) {
	if hasDuplicates(options) {
		return "", false
	}
	switch verdict {
	case decisions.Allow:
		if facts.question || facts.modeSwitch || facts.defective || facts.incomplete || oneKind(options) {
			return "", false
		}
		return plainAllow(options, facts.Plain)
	case decisions.Deny:
		return plainReject(options, facts)
	case decisions.Ask:
	}
	return "", false
}

// plainAllow picks the only option that allows once.
func plainAllow(options []Option, plain string) (string, bool) {
	once := ofKind(options, AllowOnce)
	if len(once) > 1 {
		if plain == "" {
			return "", false
		}
		once = slices.DeleteFunc(once, func(o Option) bool { return o.ID != plain })
	}
	if len(once) != 1 || once[0].widens() || once[0].refuses() {
		return "", false
	}
	return once[0].ID, true
}

// plainReject picks an option that rejects, preferably one that lets the turn
// continue.
func plainReject(options []Option, facts Facts) (string, bool) {
	if facts.question && len(ofKind(options, AllowOnce)) != 1 {
		// If the options are answers, the one called reject is an answer as well ("skip").
		return "", false
	}
	// An option whose words grant something must not answer a deny, whatever
	// its kind.
	options = slices.DeleteFunc(slices.Clone(options), Option.grants)
	once := ofKind(options, RejectOnce)
	if len(once) == 0 {
		always := ofKind(options, RejectAlways)
		if facts.permanent && len(always) == 1 {
			return always[0].ID, true
		}
		return "", false
	}
	for _, id := range continuingIDs {
		if i := slices.IndexFunc(once, func(o Option) bool { return o.ID == id }); i >= 0 {
			return id, true
		}
	}
	if i := slices.IndexFunc(once, func(o Option) bool { return !o.endsTurn() }); i >= 0 {
		return once[i].ID, true
	}
	return once[0].ID, true
}

// ofKind returns the options of a kind. It is short enough to be inlined, so that they are
// on the caller's stack.
func ofKind(options []Option, kind OptionKind) []Option {
	return appendKind(make([]Option, 0, 4), options, kind)
}

func appendKind(list, options []Option, kind OptionKind) []Option {
	for _, o := range options {
		if o.Kind == kind {
			list = append(list, o)
		}
	}
	return list
}

// hasDuplicates reports whether two options have the same id, so that an answer would be
// ambiguous.
func hasDuplicates(options []Option) bool {
	for i, o := range options {
		if slices.ContainsFunc(options[:i], func(p Option) bool { return p.ID == o.ID }) {
			return true
		}
	}
	return false
}

// oneKind reports whether all options have the same kind: then they are answers, not
// permissions.
func oneKind(options []Option) bool {
	return !slices.ContainsFunc(options, func(o Option) bool { return o.Kind != options[0].Kind })
}

// wideningWords are words in an option that allow more than this call. An unnecessary
// one costs a question, a missing one a wrong allow.
var wideningWords = []string{
	"access", "all", "allowlist", "always", "any", "anything", "bypass", "commands", "conversation", "directory", "disable", "edits",
	"elevated", "escalate", "escalated", "ever", "every", "everything", "everywhere", "files", "folder", "forever", "full", "future",
	"global", "globally", "later", "matching", "mode", "next", "pattern", "permanent", "permanently", "persist", "prefix", "project",
	"projects", "remainder", "remember", "remembered", "repo", "repository", "rest", "restart", "restore", "root", "rule", "rules",
	"sandbox", "save", "server", "session", "sessions", "similar", "starting", "sudo", "switch", "tools", "trust", "unattended",
	"unrestricted", "unsandboxed", "until", "whitelist", "workspace", "yolo",
}

// modeWords are words in an option that change whether the agent asks at all.
var modeWords = []string{"autopilot", "bypass", "dangerously", "mode", "unattended", "unrestricted", "yolo"}

// stoppingWords are words in an option that end the agent's turn.
var stoppingWords = []string{
	"abort", "cancel", "end", "exit", "interrupt", "quit", "stop", "terminate", "timed", "timeout",
}

// widens reports whether the option's words allow more than this call, or cannot be read
// with certainty.
func (o Option) widens() bool { return o.meaning()&meansWider != 0 }

// refuses reports whether the option's words mean no.
func (o Option) refuses() bool { return o.meaning()&meansNo != 0 }

// grants reports whether the option's words mean yes and not also no.
func (o Option) grants() bool { return o.meaning()&meansYes != 0 }

// switchesMode reports whether the option's words say that the agent's mode
// would change.
func (o Option) switchesMode() bool { return o.meaning()&meansMode != 0 }

// endsTurn reports whether the option's words say that the turn would end.
func (o Option) endsTurn() bool { return o.meaning()&meansEnd != 0 }

// meaning returns what the words say.
func (o *Option) meaning() meaning {
	if o.means != 0 {
		return o.means
	}
	return o.read()
}

// read reads the words.
func (o *Option) read() meaning {
	m, yes, negated, wider := meansRead, false, false, o.lasts || hasHidden(o.ID) || hasHidden(o.Name)
	for _, w := range o.words() {
		switch w {
		case "no", "reject", "deny", "decline", "refuse", "skip", "cancel", "abort":
			m |= meansNo
		case "yes", "allow", "approve", "accept", "grant", "permit":
			yes = true
		}
		switch {
		case mixesScripts(w), slices.Contains(wideningWords, w), isAutomatic(w):
			wider = true
		case asks(w) && negated:
			wider = true // "don't ask again"
		}
		if isAutomatic(w) || slices.Contains(modeWords, w) {
			m |= meansMode
		}
		if slices.Contains(stoppingWords, w) {
			m |= meansEnd
		}
		negated = negated || negates(w)
	}
	if wider {
		m |= meansWider
	}
	if yes && !negated && m&meansNo == 0 {
		m |= meansYes
	}
	return m
}

// mixesScripts reports whether a word mixes Latin letters with similar ones of other
// scripts, so that it looks like another word.
func mixesScripts(word string) bool {
	latin, other := false, false
	for _, r := range word {
		latin = latin || unicode.Is(unicode.Latin, r)
		other = other || unicode.In(r, unicode.Cyrillic, unicode.Greek, unicode.Armenian, unicode.Cherokee)
	}
	return latin && other
}

// isAutomatic matches auto, auto-accept, autonomous and similar words.
func isAutomatic(word string) bool { return strings.HasPrefix(word, "auto") }

func asks(word string) bool {
	switch word {
	case "ask", "asking", "confirm", "confirming", "confirmation", "prompt", "prompts", "prompting":
		return true
	}
	return false
}

func negates(word string) bool {
	return word == "not" || word == "never" || word == "without" || word == "don" || word == "dont" || word == "stop"
}

// words returns the words of the option's id and name in lower case; an id is also split
// between a small letter and a capital one. It is inlined as ofKind is.
func (o *Option) words() []string { return o.appendWords(make([]string, 0, 8)) }

func (o *Option) appendWords(words []string) []string {
	for _, text := range []string{o.ID, o.Name} {
		last, start := ' ', -1 // of a word
		flush := func(end int) {
			if start >= 0 {
				words = append(words, lower(text[start:end]))
				start = -1
			}
		}
		for i, r := range text {
			switch {
			case !unicode.IsLetter(r):
				flush(i)
			case unicode.IsUpper(r) && unicode.IsLower(last):
				flush(i)
				start = i
			case start < 0:
				start = i
			}
			last = r
		}
		flush(len(text))
	}
	return words
}

// lower is strings.ToLower without memory for the words that most options begin with.
func lower(word string) string {
	switch word {
	case "Allow":
		return "allow"
	case "Reject":
		return "reject"
	case "Yes":
		return "yes"
	case "No":
		return "no"
	case "Always":
		return "always"
	}
	return strings.ToLower(word)
}

// hasHidden reports whether a text holds characters that are not shown, which
// could hide a word from whoever compares it.
func hasHidden(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) })
}
