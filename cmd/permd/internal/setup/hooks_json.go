package setup

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/internal/jsonedit"
	"github.com/permd/permd/internal/strictjson"
)

// jsonHooks is the configEditor of settings in JSON.
type jsonHooks struct {
	harness          string
	lists            []jsonList
	after            []jsonList   // at events after a tool
	offSwitches      []jsonSwitch // settings that turn permd's hook off
	dialect          jsonedit.Dialect
	requiredSettings []jsonSwitch // settings that are added if they are missing
	options          hookOptions
	unit             int    // of timeouts: how many are a second
	failClosedMember string // the member that makes a failing hook block the call
}

// jsonList is an array of hooks, and the entry that is added to it.
type jsonList struct {
	path  []string
	entry func(command string, limit int) any
}

// jsonSwitch is a setting that has a value, or a list that contains it.
type jsonSwitch struct {
	path  []string
	value string
}

func (h *jsonHooks) parse(text []byte) (*jsonedit.Text, error) {
	if len(bytes.TrimSpace(text)) == 0 {
		text = []byte("{}\n")
	}
	t, err := jsonedit.Parse(text, h.dialect)
	if err != nil {
		return nil, cli.Failf(cli.ExitError, "correct the file first: the harness does not read it either", "it cannot be read: %v", err)
	}
	return t, nil
}

func (h *jsonHooks) install(text []byte, program string) ([]byte, error) {
	t, err := h.parse(text)
	if err != nil {
		return nil, err
	}
	for _, s := range h.offSwitches {
		if s.isSet(t) {
			return nil, cli.Failf(cli.ExitError, "take that out first", "its %s turns hooks off", strings.Join(s.path, "."))
		}
	}
	for _, pin := range h.requiredSettings {
		if t, err = t.Set(pin.value, pin.path...); err != nil {
			return nil, h.formatError(err)
		}
	}
	for _, list := range h.lists {
		entry, err := json.Marshal(list.entry(hookCommand(program, h.harness, h.options), limitOf(h.options.wait)*h.unit))
		if err != nil {
			return nil, fmt.Errorf("encoding a hook: %w", err)
		}
		if t, err = t.Append(string(entry), list.path...); err != nil {
			return nil, h.formatError(err)
		}
	}
	for _, list := range h.after {
		entry, err := json.Marshal(list.entry(afterCommand(program, h.harness, h.options), hookLimit*h.unit))
		if err != nil {
			return nil, fmt.Errorf("encoding a hook: %w", err)
		}
		if t, err = t.Append(string(entry), list.path...); err != nil {
			return nil, h.formatError(err)
		}
	}
	return t.Bytes(), nil
}

func (h *jsonHooks) formatError(err error) error {
	if _, ok := errors.AsType[*jsonedit.KindError](err); ok {
		return cli.Failf(cli.ExitError, "correct the file first: the harness does not understand it either", "in it, %v", err)
	}
	return err
}

// isSet reports whether the setting has the value.
func (s *jsonSwitch) isSet(t *jsonedit.Text) bool {
	n := t.Root().Member(s.path...)
	for i := 0; n.Kind() == '[' && i < n.Len(); i++ {
		if string(n.At(i).Raw()) == s.value {
			return true
		}
	}
	return string(n.Raw()) == s.value
}

// remove removes every entry that runs permd for this harness, wherever the user
// moved it within its event, and lists and objects that become empty.
func (h *jsonHooks) remove(text []byte) ([]byte, bool, error) {
	if len(bytes.TrimSpace(text)) == 0 {
		return text, false, nil
	}
	t, err := h.parse(text)
	if err != nil {
		return nil, false, err
	}
	found := false
	for _, list := range slices.Concat(h.lists, h.after) {
		var removed bool
		if t, removed, err = h.removeFrom(t, list.path); err != nil {
			return nil, false, err
		}
		for path := list.path; removed && len(path) > 0; path = path[:len(path)-1] {
			if t, err = prune(t, path); err != nil {
				return nil, false, err
			}
		}
		found = found || removed
	}
	return t.Bytes(), found, nil
}

func (h *jsonHooks) removeFrom(t *jsonedit.Text, path []string) (_ *jsonedit.Text, found bool, err error) {
	for i := t.Root().Member(path...).Len() - 1; i >= 0; i-- {
		list := t.Root().Member(path...)
		if list.Kind() != '[' {
			break
		}
		if h.isOurs(list.At(i)) {
			found = true
			if t, err = t.Remove(list, i); err != nil {
				return nil, false, err
			}
			continue
		}
		inner := list.At(i).Member("hooks")
		had := inner.Len()
		for j := had - 1; inner.Kind() == '[' && j >= 0; j-- {
			if inner = t.Root().Member(path...).At(i).Member("hooks"); !h.isOurs(inner.At(j)) {
				continue
			}
			found = true
			if t, err = t.Remove(inner, j); err != nil {
				return nil, false, err
			}
		}
		list = t.Root().Member(path...)
		if had > 0 && list.At(i).Member("hooks").Len() == 0 {
			if t, err = t.Remove(list, i); err != nil {
				return nil, false, err
			}
		}
	}
	return t, found, nil
}

// prune removes the member at path if it is empty and has no comments.
func prune(t *jsonedit.Text, path []string) (*jsonedit.Text, error) {
	if at := t.Root().Member(path...); at.Len() > 0 || at.Commented() {
		return t, nil
	}
	return t.Drop(path...)
}

func (h *jsonHooks) isOurs(n jsonedit.Node) bool {
	command := n.Member("command").String()
	return hookProgram(command, h.harness) != "" || afterProgram(command, h.harness) != ""
}

func (h *jsonHooks) check(text []byte) (e configEntries, err error) {
	if len(bytes.TrimSpace(text)) == 0 {
		return e, nil
	}
	t, err := h.parse(text)
	if err != nil {
		return e, err
	}
	var missing []string
	for _, list := range h.lists {
		found := false
		list.each(t, func(group, n jsonedit.Node) {
			if program := hookProgram(n.Member("command").String(), h.harness); program != "" {
				found = true
				e.program(program)
				h.checkEntry(&e, list, n, group.Member("matcher"))
			}
		})
		if !found {
			missing = append(missing, list.path[len(list.path)-1])
		}
	}
	if len(e.programs) == 0 {
		return e, nil
	}
	for _, list := range h.after {
		found := false
		list.each(t, func(_, n jsonedit.Node) {
			if program := afterProgram(n.Member("command").String(), h.harness); program != "" {
				found = true
				e.program(program)
			}
		})
		if !found {
			e.silent = append(e.silent, list.path[len(list.path)-1])
		}
	}
	for _, m := range missing {
		e.problems = append(e.problems, "nothing asks permd at "+m)
	}
	for _, s := range h.offSwitches {
		if s.isSet(t) {
			e.problems = append(e.problems, "its "+strings.Join(s.path, ".")+" turns hooks off")
		}
	}
	return e, nil
}

// each visits the hooks of a list, with the group that each is in, which may be itself.
func (l *jsonList) each(t *jsonedit.Text, visit func(group, hook jsonedit.Node)) {
	events := t.Root().Member(l.path...)
	for i := range events.Len() {
		group := events.At(i)
		visit(group, group)
		inner := group.Member("hooks")
		for j := range inner.Len() {
			visit(group, inner.At(j))
		}
	}
}

// checkEntry compares an entry with what would be installed.
func (h *jsonHooks) checkEntry(e *configEntries, list jsonList, n, matcher jsonedit.Node) {
	where := list.path[len(list.path)-1]
	var want struct {
		Matcher string `json:"matcher"`
	}
	entry, err := json.Marshal(list.entry("", 0))
	if err == nil {
		err = strictjson.Unmarshal(entry, &want)
	}
	_, wait := cutWait(strings.TrimSuffix(n.Member("command").String(), " || exit 2"))
	timeout := strconv.Itoa(limitOf(wait) * h.unit)
	problems := []struct {
		bad  bool
		text string
	}{
		{err != nil, "it cannot be compared"},
		{!strings.HasSuffix(n.Member("command").String(), " || exit 2"), "the command does not end in || exit 2, so a missing permd may be a yes"},
		{string(n.Member("timeout").Raw()) != timeout, "its timeout is not " + timeout},
		{h.failClosedMember != "" && !hasMember(n, h.failClosedMember), "it has not " + strings.ReplaceAll(h.failClosedMember, ":", ": ") + ", so a failing hook is a yes"},
		{!slices.Contains([]string{want.Matcher, "", "*"}, matcher.String()), "its matcher leaves tools out: " + matcher.String()},
		{n.Member("if").Exists(), "its if leaves calls out"},
		{n.Member("type").Exists() && n.Member("type").String() != "command", "its type is not command, so permd is not run"},
		{string(n.Member("async").Raw()) == "true" || string(n.Member("asyncRewake").Raw()) == "true", "it is async, so its answer comes too late"},
	}
	for _, p := range problems {
		if p.bad {
			e.problems = append(e.problems, where+": "+p.text)
		}
	}
}

// limits returns how long the harness lets the hooks of the file run that wait, in seconds.
func (h *jsonHooks) limits(text []byte) (list []int, err error) {
	t, err := h.parse(text)
	if err != nil {
		return nil, err
	}
	events := t.Root().Member("hooks")
	for i := range events.Len() {
		of := jsonList{path: []string{"hooks", events.At(i).Name()}}
		of.each(t, func(_, n jsonedit.Node) {
			command := n.Member("command").String()
			if !strings.Contains(command, " hook "+h.harness) || !strings.Contains(command, "--wait") {
				return
			}
			limit, bad := strconv.Atoi(string(n.Member("timeout").Raw()))
			if bad != nil {
				err = errLimits
			}
			list = append(list, limit/h.unit)
		})
	}
	return list, err
}

// hasMember reports whether an object has a member with a value, given as JSON text.
func hasMember(n jsonedit.Node, member string) bool {
	name, value, _ := strings.Cut(strings.TrimPrefix(member, `"`), `":`)
	return string(n.Member(name).Raw()) == value
}
