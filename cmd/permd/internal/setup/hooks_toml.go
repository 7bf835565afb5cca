package setup

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"

	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/internal/lazy"
)

// tomlHooks edits Codex's configuration. What permd adds is a block of lines of
// its own at the end, between two marks: tables may be there whatever is
// above them.
type tomlHooks struct {
	managed bool // requirements.toml, which the organisation writes
	options hookOptions
}

const (
	tomlBegin  = "# >>> permd hook codex: written by permd hook install, removed by permd hook uninstall"
	tomlEnd    = "# <<< permd hook codex"
	tomlSwitch = "hooks = true # permd hook codex"
)

// tomlEvents are both occasions: before a tool, where Codex takes only a no, and
// instead of its question, where it takes a yes as well.
var tomlEvents = []string{"PreToolUse", "PermissionRequest"}

// tomlAfter is the event after a tool, whose hook decides nothing.
const tomlAfter = "PostToolUse"

// errTOML is returned for a file that cannot be edited.
func errTOML(format string, args ...any) error {
	return cli.Failf(cli.ExitError, "correct the file first, or add the lines by hand: permd hook install codex --dry-run in an empty HOME shows them", format, args...)
}

func (h *tomlHooks) block(program string, pin bool) string {
	var b strings.Builder
	fmt.Fprintln(&b, tomlBegin)
	if pin {
		fmt.Fprintf(&b, "[features]\nhooks = true\n\n")
	}
	add := func(event, command string, limit int) {
		fmt.Fprintf(&b, "[[hooks.%s]]\n\n[[hooks.%s.hooks]]\ntype = \"command\"\ncommand = \"%s\"\ntimeout = %d\n",
			event, event, command, limit) // the path has nothing that TOML escapes
	}
	for _, event := range tomlEvents {
		add(event, hookCommand(program, "codex", h.options), limitOf(h.options.wait))
		fmt.Fprintln(&b)
	}
	add(tomlAfter, afterCommand(program, "codex", h.options), hookLimit)
	fmt.Fprintln(&b, tomlEnd)
	return b.String()
}

func (h *tomlHooks) install(text []byte, program string) ([]byte, error) {
	before, err := decodeTOML(text)
	if err != nil {
		return nil, err
	}
	features, _ := before["features"].(map[string]any)
	for _, name := range []string{"hooks", "codex_hooks"} {
		if features[name] == false {
			return nil, cli.Failf(cli.ExitError, "take that out first", "its features.%s turns hooks off", name)
		}
	}
	// Only added lines get the line ends of the file: in multi-line strings, they are
	// significant.
	out, end := string(text), "\n"
	if bytes.Contains(text, []byte("\r\n")) {
		end = "\r\n"
	}
	_, any := before["features"]
	if h.managed && any && features["hooks"] == nil {
		// A person's own settings can turn hooks off, unless this pins them.
		at := tomlFeatures().FindStringIndex(out)
		if at == nil {
			return nil, errTOML("its features are not a table of their own, so hooks = true cannot be added to them")
		}
		out = out[:at[1]] + tomlSwitch + end + out[at[1]:]
	}
	if out != "" && !strings.HasSuffix(out, "\n") {
		out += end
	}
	if out != "" {
		out += end
	}
	out += strings.ReplaceAll(h.block(program, h.managed && !any), "\n", end)
	// The edited text must decode to the old contents and permd's part.
	after, err := decodeTOML([]byte(out))
	if err != nil {
		return nil, errTOML("its hooks stand in a form that lines cannot be added to; write them as [[hooks.PreToolUse]]")
	}
	if rest, found, err := h.remove([]byte(out)); err != nil || !found || !sameTOML(rest, before) {
		return nil, errTOML("it cannot be changed without changing what else it says")
	}
	if e := h.entries(after); len(e.programs) != 1 || len(e.problems) > 0 {
		return nil, errTOML("the added hooks would not count: %s", strings.Join(e.problems, "; "))
	}
	return []byte(out), nil
}

var tomlFeatures = lazy.Regexp(`(?m)^[ \t]*\[[ \t]*features[ \t]*\][ \t]*(?:#[^\r\n]*)?\r?\n`)

func (h *tomlHooks) remove(text []byte) ([]byte, bool, error) {
	if text == nil {
		return nil, false, nil
	}
	before, err := decodeTOML(text)
	if err != nil {
		return nil, false, err
	}
	had := len(h.entries(before).programs) > 0
	var out []string
	inside, found := false, false
	for line := range strings.Lines(string(text)) {
		switch trimmed := strings.TrimSpace(line); {
		case trimmed == tomlBegin && !inside:
			inside, found = true, true
			if n := len(out); n > 0 && strings.TrimSpace(out[n-1]) == "" {
				out = out[:n-1] // the line between the rest and the block
			}
		case trimmed == tomlEnd && inside:
			inside = false
		case inside || trimmed == tomlSwitch:
			found = true
		default:
			out = append(out, line)
		}
	}
	rest := []byte(strings.Join(out, ""))
	after, err := decodeTOML(rest)
	if inside || err != nil || had != found || len(h.entries(after).programs) > 0 || !h.removesOnlyOurs(before, after) {
		return nil, false, cli.Failf(cli.ExitError, "take out by hand what runs permd hook codex", "its lines for permd were changed, so they cannot be told from the rest")
	}
	return rest, found, nil
}

// removesOnlyOurs reports whether all that after lacks of before is permd's.
func (h *tomlHooks) removesOnlyOurs(before, after map[string]any) bool {
	before, after = maps.Clone(before), maps.Clone(after)
	had, _ := before["hooks"].(map[string]any)
	has, _ := after["hooks"].(map[string]any)
	had, has = maps.Clone(had), maps.Clone(has)
	for _, event := range append([]string{tomlAfter}, tomlEvents...) {
		kept := slices.DeleteFunc(slices.Clone(groupsOf(had, event)), func(g map[string]any) bool { return groupProgram(g)+groupRuns(g, afterProgram) != "" })
		if !reflect.DeepEqual(append([]map[string]any{}, kept...), append([]map[string]any{}, groupsOf(has, event)...)) {
			return false
		}
		delete(had, event)
		delete(has, event)
	}
	if h.managed {
		before["features"], after["features"] = withoutSwitch(before), withoutSwitch(after)
	}
	delete(before, "hooks")
	delete(after, "hooks")
	return len(had) == len(has) && (len(had) == 0 || reflect.DeepEqual(had, has)) && reflect.DeepEqual(before, after)
}

func withoutSwitch(doc map[string]any) map[string]any {
	features, _ := doc["features"].(map[string]any)
	rest := map[string]any{}
	for name, value := range features {
		if name != "hooks" {
			rest[name] = value
		}
	}
	return rest
}

func (h *tomlHooks) check(text []byte) (configEntries, error) {
	doc, err := decodeTOML(text)
	if err != nil {
		return configEntries{}, err
	}
	e := h.entries(doc)
	features, _ := doc["features"].(map[string]any)
	if len(e.programs) > 0 && (features["hooks"] == false || features["codex_hooks"] == false) {
		e.problems = append(e.problems, "its features turn hooks off")
	}
	if len(e.programs) > 0 && !h.managed && !trustedCodex(doc) {
		e.pending = "start codex and type /hooks"
	}
	return e, nil
}

// trustedCodex reports whether Codex has recorded a trusted hook for both events. Only
// Codex can tell whether that is permd's in its present form.
func trustedCodex(doc map[string]any) bool {
	hooks, _ := doc["hooks"].(map[string]any)
	state, _ := hooks["state"].(map[string]any)
	for _, event := range []string{":pre_tool_use:", ":permission_request:"} {
		if !slices.ContainsFunc(slices.Collect(maps.Keys(state)), func(key string) bool {
			s, _ := state[key].(map[string]any)
			hash, _ := s["trusted_hash"].(string)
			return strings.Contains(key, event) && hash != "" && s["enabled"] != false
		}) {
			return false
		}
	}
	return true
}

// entries are permd's hooks in a decoded file.
func (h *tomlHooks) entries(doc map[string]any) (e configEntries) {
	hooks, _ := doc["hooks"].(map[string]any)
	var missing []string
	for _, event := range tomlEvents {
		found := false
		for _, group := range groupsOf(hooks, event) {
			program := groupProgram(group)
			if program == "" {
				continue
			}
			found = true
			e.program(program)
			if m, ok := group["matcher"]; ok && m != "*" && m != "" {
				e.problems = append(e.problems, fmt.Sprintf("%s: its matcher leaves tools out: %v", event, m))
			}
			for _, hook := range groupsOf(group, "hooks") {
				c, _ := hook["command"].(string)
				_, wait := cutWait(strings.TrimSuffix(c, " || exit 2"))
				if hook["timeout"] != int64(limitOf(wait)) {
					e.problems = append(e.problems, fmt.Sprintf("%s: its timeout is not %d", event, limitOf(wait)))
				}
				if hook["async"] == true {
					e.problems = append(e.problems, event+": it is async, so its answer comes too late")
				}
				if !strings.HasSuffix(c, " || exit 2") {
					e.problems = append(e.problems, event+": the command does not end in || exit 2, so a missing permd is a yes")
				}
			}
		}
		if !found {
			missing = append(missing, event)
		}
	}
	if !slices.ContainsFunc(groupsOf(hooks, tomlAfter), func(g map[string]any) bool { return groupRuns(g, afterProgram) != "" }) {
		e.silent = append(e.silent, tomlAfter)
	}
	for _, event := range missing {
		if len(e.programs) > 0 {
			e.problems = append(e.problems, "nothing asks permd at "+event)
		}
	}
	return e
}

// limits returns how long Codex lets the hooks of the file run that wait, in seconds.
func (h *tomlHooks) limits(text []byte) (list []int, err error) {
	doc, err := decodeTOML(text)
	if err != nil {
		return nil, err
	}
	hooks, _ := doc["hooks"].(map[string]any)
	for event := range hooks {
		for _, group := range groupsOf(hooks, event) {
			for _, hook := range groupsOf(group, "hooks") {
				command, _ := hook["command"].(string)
				if !strings.Contains(command, " hook codex") || !strings.Contains(command, "--wait") {
					continue
				}
				limit, ok := hook["timeout"].(int64)
				if !ok {
					return nil, errLimits
				}
				list = append(list, int(limit))
			}
		}
	}
	return list, nil
}

func groupsOf(table map[string]any, name string) []map[string]any {
	switch list := table[name].(type) {
	case []map[string]any:
		return list
	case []any: // written inline
		var groups []map[string]any
		for _, v := range list {
			if g, ok := v.(map[string]any); ok {
				groups = append(groups, g)
			}
		}
		return groups
	}
	return nil
}

// groupProgram returns the permd that a group of hooks asks.
func groupProgram(group map[string]any) string { return groupRuns(group, hookProgram) }

// groupRuns returns the first program that a function finds in the commands of a group.
func groupRuns(group map[string]any, of func(command, harness string) string) string {
	for _, hook := range groupsOf(group, "hooks") {
		command, _ := hook["command"].(string)
		if program := of(command, "codex"); program != "" {
			return program
		}
	}
	return ""
}

func decodeTOML(text []byte) (map[string]any, error) {
	doc := map[string]any{}
	_, err := toml.Decode(string(text), &doc)
	if err == nil {
		return doc, nil
	}
	if p, ok := errors.AsType[toml.ParseError](err); ok {
		err = fmt.Errorf("line %d: %s", p.Position.Line, p.Message)
	}
	return nil, cli.Failf(cli.ExitError, "correct the file first: Codex does not read it either", "it cannot be read: %v", err)
}

func sameTOML(text []byte, doc map[string]any) bool {
	other, err := decodeTOML(text)
	return err == nil && reflect.DeepEqual(other, doc)
}
