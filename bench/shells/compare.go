//go:build linux

package main

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/internal/lexpath"
)

// difference is something that a text did and that is no effect of its decision.
type difference struct {
	kind  string // canary, run, write, delete, read, connect or exec
	shell string
	what  string
	class string // differences of one kind, shell and class are counted as one
}

// compare returns what a text did in one shell that is no effect of its
// decision. A text may do less than the decision says: a shell may end early.
func compare(v *verdict, o *observed) []difference {
	var all []difference
	add := func(kind, class, format string, args ...any) {
		d := difference{kind: kind, shell: o.shell, what: fmt.Sprintf(format, args...), class: class}
		if !slices.Contains(all, d) {
			all = append(all, d)
		}
	}
	for i := range o.ran {
		r := &o.ran[i]
		if near := v.explains(r); near != "" {
			kind := "run"
			if slices.Contains(canaries, path.Base(r.exe)) {
				kind = "canary"
			}
			class := string(r.stdin) + " " + near
			if strings.HasPrefix(near, "in ") {
				class = "folder"
			}
			if slices.Contains(known, r.name()) || kind == "canary" {
				class += " " + r.name()
			}
			add(kind, class, "%s %q in %s with %s: %s", r.name(), r.args, r.cwd, r.stdin, near)
		}
	}
	for _, p := range o.leaked {
		if !v.touches(p, effects.KindRead, effects.KindDelete) && !v.open() {
			add("leak", p, "%s is printed or copied", p)
		}
	}
	if o.traced != nil {
		o.traced.compare(v, add)
		return all // what changed is what was opened
	}
	for _, c := range o.changed {
		kinds := []effects.Kind{effects.KindWrite}
		if c.deleted {
			kinds = []effects.Kind{effects.KindDelete, effects.KindWrite}
		}
		if !v.touches(c.path, kinds...) {
			add(string(kinds[0]), "", "%s", c.path)
		}
	}
	return all
}

// movesItself reports whether a program changes its folder itself: the effect has
// the folder that it works in, not the one that it is started in.
func movesItself(r *ran) bool {
	switch r.name() {
	case "git":
		// Its effect has the folder that -C names. Git rejects -C with the folder in the
		// same word, so such a run has no effect in any folder.
		return slices.ContainsFunc(r.args, func(arg string) bool { return strings.HasPrefix(arg, "-C") })
	case "tar", "patch":
		return slices.ContainsFunc(r.args, func(arg string) bool {
			return strings.Contains(arg, "C") || strings.HasPrefix(arg, "-d") || strings.HasPrefix(arg, "--d")
		})
	}
	return false
}

// name returns the program as permd names it.
func (r *ran) name() string {
	if exe := path.Clean(r.exe); slices.Contains([]string{"/bin", "/usr/bin", "/sbin", "/usr/sbin"}, path.Dir(exe)) {
		return path.Base(exe)
	}
	return r.exe
}

// explains returns "" if the decision has a run effect for the run that was seen,
// otherwise how the nearest effect differs.
func (v *verdict) explains(r *ran) string {
	return v.nearest(r, func(e *effects.Run) string {
		switch {
		case !v.works(e, r):
			return "in " + e.Cwd
		case !sameStdin(e, r):
			return "with " + string(e.Stdin)
		}
		return ""
	})
}

// works reports whether a run of the decision works in the folder that was seen.
func (v *verdict) works(e *effects.Run, r *ran) bool {
	return e.Cwd == "" || v.sameFolder(e.Cwd, r.cwd) || movesItself(r)
}

// nearest returns "" when a run of the decision has the program and the words that were
// seen and differs in nothing else, or what the one that is nearest differs in.
func (v *verdict) nearest(r *ran, differs func(e *effects.Run) string) string {
	near := "no run of it"
	for i := range v.effects {
		e := v.effects[i].Run
		if e == nil || !sameProgram(e, r) {
			continue
		}
		if sameArgs(e.Args, r.args) {
			if near = differs(e); near == "" {
				return ""
			}
		} else if near == "no run of it" {
			near = "no run with these words"
		}
	}
	return near
}

func sameProgram(e *effects.Run, r *ran) bool {
	name := r.name()
	if e.Program == name {
		return true
	}
	for _, p := range []string{e.Executable, e.Program} {
		if !strings.Contains(p, "/") {
			continue
		}
		if !path.IsAbs(p) {
			p = path.Join(r.cwd, p)
		}
		if path.Clean(p) == r.exe {
			return true
		}
	}
	return false
}

// sameArgs compares words with those of an effect. There, an unknown word matches
// any number of words, and a pattern matches file names. A pattern matches a word
// that looks like an option only after "--", or if it begins with a dash itself.
func sameArgs(want, have []string) bool { return matchArgs(want, have, false) }

func matchArgs(want, have []string, operands bool) bool {
	if len(want) == 0 {
		return len(have) == 0
	}
	w := want[0]
	if w == effects.DynamicWord || w == "{}" { // find and xargs replace it by paths
		for n := range len(have) + 1 {
			if matchArgs(want[1:], have[n:], operands) {
				return true
			}
		}
		return false
	}
	if len(have) > 0 && w == have[0] && matchArgs(want[1:], have[1:], operands || w == "--") {
		return true
	}
	if !strings.ContainsAny(w, "*?[") {
		return false
	}
	for n := range len(have) + 1 {
		if n > 0 {
			h := have[n-1]
			if ok, err := path.Match(w, h); err != nil || !ok || strings.HasPrefix(h, "-") && !operands && !strings.HasPrefix(w, "-") {
				return false
			}
		}
		if matchArgs(want[1:], have[n:], operands) {
			return true
		}
	}
	return false
}

// sameStdin compares where standard input comes from. A here-document is a file
// for some shells and a pipe for others; a command in the background reads from
// /dev/null.
func sameStdin(e *effects.Run, r *ran) bool {
	switch r.stdin {
	case stdinClosed, stdinNull: // a closed or empty input: nothing can be read
		return true
	case stdinInherited:
		return e.Stdin == effects.StdinNone || e.Stdin == ""
	case stdinFile:
		return e.Stdin == effects.StdinFile || e.Stdin == effects.StdinText && sameText(e, r)
	case stdinPipe:
		return e.Stdin == effects.StdinPipe || e.Stdin == effects.StdinNetwork || e.Stdin == effects.StdinText && sameText(e, r)
	}
	return false
}

// sameText compares the text of a here-document where it is known: an effect
// may hold words that are not known.
func sameText(e *effects.Run, r *ran) bool {
	return path.Base(r.exe) != "rd" || e.StdinText == "" || strings.Contains(e.StdinText, effects.DynamicWord) || strings.TrimSuffix(e.StdinText, "\n") == strings.TrimSuffix(r.text, "\n")
}

// touches reports whether the decision has an effect of one of the kinds that
// covers a path.
func (v *verdict) touches(p string, kinds ...effects.Kind) bool {
	for i := range v.effects {
		f := v.effects[i].File
		if f == nil || !slices.Contains(kinds, v.effects[i].Kind) {
			continue
		}
		if f.Path == p || f.Recursive && lexpath.In(f.Path, p) {
			return true
		}
	}
	return false
}

// open reports whether a word of the decision is not known. Then the files that are
// read through it are not known either.
func (v *verdict) open() bool {
	return slices.ContainsFunc(v.effects, func(e effects.Effect) bool {
		return e.Kind == effects.KindUnknown && e.Via != nil && e.Via.Arg >= 0 && v.effects[e.Via.Effect].Run != nil
	})
}
