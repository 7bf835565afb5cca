package main

import (
	"net/url"
	"slices"
	"strings"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
)

// The corpus of attacks has, for each attack, the naive rule under which it passes.
// translations write that rule as a careful person would write it for permd, with
// the same intention: the first words of a command become a line of the list, the
// beginning of an address becomes a host, a claim becomes the effect that it
// claims. A translation depends on the naive rule alone, never on the attack.
//
// If permd has no such rule (which of two duplicate members is read, a look-up in a
// table of names), the translation is empty, or a rule for what the naive rule was
// meant to allow.
var translations = map[string]func(d *draft, value string){
	// The first words of a command. A script is a program of its own.
	"prefix":        runs,
	"contains":      runs,
	"last-command":  runs,
	"joined-prefix": runs,
	"argv-prefix":   runs,
	"argv0":         runs,
	"title-contains": func(d *draft, v string) {
		runs(d, v)
	},
	"prefix-string": runs,
	"first-key":     runs,
	// The text of a JSON member: the rule is about its value.
	"json-regex": func(d *draft, v string) {
		if i := strings.LastIndexByte(v, '"'); i >= 0 {
			v = v[i+1:]
		}
		runs(d, v)
	},
	// Each part of a compound command by itself, as permd always decides.
	"segments": func(d *draft, v string) {
		for part := range strings.SplitSeq(v, ",") {
			runs(d, part)
		}
	},
	// Assignments before a command and comments after it are not its words.
	"strip-env":      nothing,
	"strip-comments": nothing,

	"default-allow": func(d *draft, _ string) { d.everything() },
	"deny-prefix":   denies,
	"deny-prefix-string": func(d *draft, v string) {
		denies(d, strings.TrimSpace(v))
	},

	// Folders and files. An allow of a folder allows to read and change its files.
	"path-prefix":        folder,
	"path-prefix-any":    folder,
	"path-prefix-string": folder,
	"locations-in":       folder,
	"first-diff-in":      folder,
	"source-in":          folder,
	"path-glob":          func(d *draft, v string) { d.files(decisions.Allow, rooted(v)...) },
	"path-glob-anydepth": func(d *draft, v string) { d.files(decisions.Allow, rooted(v)...) },
	"path-deny":          func(d *draft, v string) { d.files(decisions.Deny, rooted(v)...) },
	"path-deny-exact": func(d *draft, v string) {
		d.files(decisions.Deny, rooted(strings.TrimSuffix(v, "/"))...)
		d.files(decisions.Deny, rooted(strings.TrimSuffix(v, "/")+"/**")...)
	},
	"path-protect": func(d *draft, v string) {
		for _, line := range rooted(v) {
			d.deny(effects.KindWrite, line)
			d.deny(effects.KindDelete, line)
		}
	},

	// Hosts, in whatever way the naive rule searched for them in an address.
	"host":               hosts,
	"host-any-scheme":    hosts,
	"host-suffix-string": func(d *draft, v string) { hosts(d, v); hosts(d, "*."+v) },
	"url-contains":       func(d *draft, v string) { hosts(d, hostOf(v)) },
	"url":                address,
	"url-prefix-string":  address,
	"scheme-any":         func(d *draft, _ string) { d.rule("allow", "any address", `input.effect.kind == "connect"`) },
	"host-deny": func(d *draft, v string) {
		for host := range strings.SplitSeq(v, ",") {
			if host == "metadata" { // the service, not a host of that name
				d.rule("deny", "the metadata service", `input.effect.kind == "connect"`, `"metadata_service" in input.effect.tags`)
				continue
			}
			if host == "localhost" || strings.HasPrefix(host, "127.") { // this machine, by any name
				d.rule("deny", "this machine", `input.effect.kind == "connect"`, `"loopback" in input.effect.tags`)
			}
			d.deny(effects.KindConnect, host)
		}
	},

	// Tools. A tool of a server has the server's name and its own.
	"tool":            toolWords,
	"tool-glob":       toolWords,
	"tool-confusable": toolWords,
	// A look-up in an empty table of tools: no rule.
	"map-lookup": nothing,
	// The kind that the agent gives its call: the effect of that name, in the
	// project.
	"kind": func(d *draft, v string) {
		switch v {
		case "read":
			d.allow(effects.KindRead, "./**")
		case "edit":
			d.allow(effects.KindRead, "./**")
			d.allow(effects.KindWrite, "./**")
		}
	},
	// The user that the call names: the real user.
	"user": func(d *draft, v string) {
		d.rule("allow", "that user may do anything", "input.user.name == "+text(v), `input.effect.kind in {"run", "use"}`)
	},
	// The option that is chosen: the call itself is allowed.
	"prefer-allow-any": func(d *draft, _ string) { d.everything() },

	// The remembered command is a member of the row.
	"remembered-argv0":      nothing,
	"remembered-prefix":     nothing,
	"remembered-prefix-ci":  nothing,
	"remembered-exact-path": nothing,
}

// translate translates a naive rule. It returns false if the rule has no
// translation.
func translate(naive string, more []string) (*draft, bool) {
	d := new(draft)
	for _, rule := range append([]string{naive}, more...) {
		for part := range strings.SplitSeq(rule, ";") {
			name, value, _ := strings.Cut(part, ":")
			t := translations[name]
			if t == nil {
				return nil, false
			}
			t(d, value)
		}
	}
	return d, true
}

func nothing(*draft, string) {}

// runs allows a program with these words and any further ones. If an address is
// among the words, its host is allowed.
func runs(d *draft, words string) {
	fields := strings.Fields(words)
	if len(fields) == 0 {
		return
	}
	if host := hostOf(fields[len(fields)-1]); host != "" && strings.Contains(fields[len(fields)-1], "://") {
		hosts(d, host)
		fields = fields[:len(fields)-1]
	}
	d.allow(effects.KindRun, strings.Join(append(fields, "*"), " "))
}

func denies(d *draft, words string) {
	d.deny(effects.KindRun, strings.Join(append(strings.Fields(words), "*"), " "))
}

func folder(d *draft, v string) {
	d.files(decisions.Allow, rooted(strings.TrimSuffix(v, "/")+"/**")...)
}

// rooted returns the lines for a path. A relative path is one in the project, and
// after **/ one anywhere.
func rooted(v string) []string {
	switch {
	case strings.HasPrefix(v, "/"), strings.HasPrefix(v, "~/"), strings.HasPrefix(v, "\\"):
		return []string{v}
	case strings.HasPrefix(v, "**/"):
		return []string{"./" + v, "/" + v}
	}
	return []string{"./" + v}
}

func hosts(d *draft, v string) {
	if v != "" {
		d.allow(effects.KindConnect, v)
	}
}

// hostOf returns the host of an address or of the beginning of one.
func hostOf(v string) string {
	if !strings.Contains(v, "://") {
		return v
	}
	u, err := url.Parse(v)
	if err != nil {
		return ""
	}
	return u.Hostname()
}

// address allows an address and all below it, by a rule in Rego, since lines of a
// list have only hosts.
func address(d *draft, v string) {
	u, err := url.Parse(v)
	if err != nil {
		return
	}
	conditions := []string{`input.effect.kind == "connect"`, "input.effect.host == " + text(u.Hostname()), "input.effect.scheme == " + text(u.Scheme)}
	if !slices.Contains([]string{"", "/"}, u.Path) {
		conditions = append(conditions, "startswith(input.effect.url, "+text(v)+")")
	}
	d.rule("allow", "below that address", conditions...)
}

// toolWords allows a tool by its name. A * after a server's name allows all tools
// of that server.
func toolWords(d *draft, v string) {
	if rest, ok := strings.CutPrefix(v, "mcp__"); ok {
		server, tool, named := strings.Cut(rest, "__")
		if !named {
			server, tool = strings.TrimSuffix(server, "*"), "*"
		}
		v = server + ":" + tool
	}
	d.allow(effects.KindUse, v)
}
