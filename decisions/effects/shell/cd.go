package shell

import (
	"path"
	"slices"
	"strings"

	"github.com/permd/permd/decisions/effects"
)

// cd follows a cd command from each folder that the shell may be in.
func (s *walker) cd(args []effects.Word, at scope) exitScopes {
	t, why := s.cdTarget(args)
	if why != "" {
		s.unknown(why)
		return s.cdUnknown(at)
	}
	from := at.places
	if at.elsewhere || len(from) == 0 {
		if t.back || t.text[0] != '/' {
			s.unknown("cd from a folder that is not known")
			out := s.cdUnknown(at)
			if t.back || len(from) == 0 {
				return out
			}
			moved := s.cdFrom(from, t, at)
			moved.success.elsewhere, moved.failure = true, at
			return moved
		}
		from = append(slices.Clip(from), location{})
	}
	return s.cdFrom(from, t, at)
}

// cdFrom is cd from known folders. The empty folder is an unknown one, from which the
// target is absolute.
func (s *walker) cdFrom(from []location, t cdWords, at scope) exitScopes {
	out := exitScopes{at, at}
	out.success.places, out.success.elsewhere = nil, false
	out.failure.places, out.failure.elsewhere = nil, false
	for _, w := range from {
		to := t.text
		if t.back {
			to = w.old
		}
		if to == "" {
			s.unknown("cd to a folder that is not known")
			s.leave(&at, "")
			out.success.elsewhere = true
			s.keepFolder(&out.failure, w)
			continue
		}
		s.move(to, t.physical, w, &out)
	}
	out.success.unreachable = at.unreachable || len(out.success.places) == 0 && !out.success.elsewhere
	out.failure.unreachable = at.unreachable || len(out.failure.places) == 0 && !out.failure.elsewhere
	if out.success.unreachable && !at.unreachable {
		out.success.places, out.success.elsewhere = at.places, at.elsewhere
	}
	if out.failure.unreachable && !at.unreachable {
		out.failure.places, out.failure.elsewhere = at.places, at.elsewhere
	}
	return out
}

// cdUnknown is the result of a cd to an unknown folder.
func (s *walker) cdUnknown(at scope) exitScopes {
	s.leave(&at, "")
	out := bothExits(at)
	out.success.places, out.success.elsewhere = nil, true
	return out
}

// keepFolder adds a folder that the shell has not left.
func (s *walker) keepFolder(bad *scope, w location) {
	if w.cwd == "" {
		bad.elsewhere = true
		return
	}
	bad.add([]location{w})
}

// move adds the result of changing from w to the folder to, as typed.
func (s *walker) move(to string, physical bool, w location, out *exitScopes) {
	goesUp := slices.Contains(strings.Split(to, "/"), "..")
	target := to
	if to[0] != '/' {
		// The shell keeps the path as typed: "cd link/.." does not change the folder.
		target = path.Join(w.cwd, to)
	}
	target = path.Clean(target)
	e := s.b.Paths.Operand(effects.KindRead, target, w.cwd, s.from)
	real := e
	if physical || goesUp {
		// To the kernel, ".." is the parent of a link's target.
		real = s.b.Paths.Operand(effects.KindRead, to, w.cwd, s.from)
	}
	if physical {
		e = real
	}
	if e.Kind != effects.KindRead || e.File == nil {
		s.b.Add(e)
		s.leave(&out.success, "")
		out.success.elsewhere = true
		s.keepFolder(&out.failure, w)
		return
	}
	if physical {
		target = e.File.Path
	}
	surely := s.folderExists(e.File.Path)
	if goesUp && !physical && (real.File == nil || real.File.Path != e.File.Path) && (!surely || !w.moved) {
		// bash uses the physical path if the logical one does not exist, and so do all
		// shells whose logical folder is not known.
		if real.File == nil {
			out.success.elsewhere = true
			s.leave(&out.success, "")
		} else {
			s.enterFolder(real.File.Path, &real, w, out)
		}
	}
	s.enterFolder(target, &e, w, out)
	if !surely || goesBack(to) {
		s.keepFolder(&out.failure, w) // a folder of the path may be missing
	}
}

// enterFolder adds a folder to those that the shell may be in after a cd.
func (s *walker) enterFolder(target string, e *effects.Effect, w location, out *exitScopes) {
	out.success.add([]location{{cwd: target, old: w.cwd, stack: w.stack, outside: !e.Tags.Has(effects.InProject), moved: true}})
	s.leave(&out.success, target)
	// A harness with a new shell for each call starts it in the physical folder, which
	// has another "..".
	s.leave(&out.success, e.File.Path)
}

// goesBack reports whether a path has a ".." after another component.
func goesBack(text string) bool {
	for {
		rest, ok := strings.CutPrefix(text, "../")
		if !ok {
			return text != ".." && strings.Contains(text, "..")
		}
		text = strings.TrimLeft(rest, "/")
	}
}

// folderExists reports whether the folder certainly exists, and can be entered, when the
// shell gets there.
func (s *walker) folderExists(folder string) bool {
	mode, err := s.b.Paths.Lstat(folder)
	if err != nil || !mode.IsDir() {
		return false
	}
	if mode&0o111 != 0o111 && !s.b.Paths.MaySearch(folder) {
		return false
	}
	for dir := folder; ; dir = path.Dir(dir) {
		if s.b.Stale(dir) {
			return false // deleted, moved or not searchable
		}
		if dir == "/" {
			return true
		}
	}
}

// cdWords are the parsed words of a cd.
type cdWords struct {
	text     string
	back     bool // cd -
	physical bool // cd -P
}

// cdTarget parses the words of a cd, or returns why its target is not known. It assumes
// that the person exports no CDPATH: that variable is meant for interactive shells.
func (s *walker) cdTarget(args []effects.Word) (t cdWords, why string) {
	const unknown = "cd to a folder that is not known"
	for i := range args {
		if args[i].Dynamic() || args[i].Glob {
			return t, unknown
		}
	}
	if len(args) > 1 && (args[0].Text == "-P" || args[0].Text == "-L") {
		t.physical = args[0].Text == "-P"
		args = args[1:]
	}
	if len(args) == 2 && args[0].Text == "--" {
		args = args[1:]
	}
	switch len(args) {
	case 0:
		t.text = s.b.Call.User.Home
	case 1:
		t.text = args[0].Text
	}
	switch {
	case s.maySet("CDPATH") || s.maySet("HOME") || s.maySet("PWD"):
		return t, "cd after a change of the variables that guide it"
	case t.text == "-" && !s.maySet("OLDPWD"):
		t.back = true
	case t.text == "", t.text[0] == '-', t.text[0] == '+':
		return t, unknown
	}
	return t, ""
}

// pushd handles pushd with a folder, and without one.
func (s *walker) pushd(args []effects.Word, at scope) exitScopes {
	const unknown = "pushd to a folder that is not known"
	w := location{}
	if at.cwd() != "" {
		w = at.places[0]
	}
	var out exitScopes
	switch {
	case len(args) == 0 && len(w.stack) > 0:
		n := len(w.stack) - 1
		top := w.stack[n]
		w.stack = append(w.stack[:n:n], w.cwd)
		out = s.changeFolder(top, w, at)
	case len(args) == 1 && w.cwd != "" && !strings.HasPrefix(args[0].Text, "-"):
		t, why := s.cdTarget(args)
		if why != "" {
			s.unknown(why)
			return s.cdUnknown(at)
		}
		w.stack = append(w.stack[:len(w.stack):len(w.stack)], w.cwd)
		out = s.changeFolder(t.text, w, at)
	default:
		s.unknown(unknown)
		return s.cdUnknown(at)
	}
	return out
}

// popd handles popd to the folder where a pushd of the text was.
func (s *walker) popd(args []effects.Word, at scope) exitScopes {
	if len(args) > 0 || at.cwd() == "" || len(at.places[0].stack) == 0 {
		s.unknown("popd to a folder that is not known")
		return s.cdUnknown(at)
	}
	w := at.places[0]
	n := len(w.stack) - 1
	top := w.stack[n]
	w.stack = w.stack[:n:n]
	return s.changeFolder(top, w, at)
}

// changeFolder changes the folder for pushd and popd. One that fails keeps the folder, but the
// stack is no longer known.
func (s *walker) changeFolder(to string, w location, at scope) exitScopes {
	out := s.cdFrom([]location{w}, cdWords{text: to}, at)
	if !out.failure.unreachable {
		w.stack = nil
		out.failure.places = []location{w}
	}
	return out
}

// leave records where a cd may leave the call's shell.
func (s *walker) leave(at *scope, folder string) {
	if !at.subprocess {
		s.b.AddFinalFolder(folder)
	}
}
