package targets

import (
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/settings"
	"github.com/permd/permd/internal/lazy"
	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/internal/wordset"
)

// maxPackages is the maximum number of packages of a workspace that are looked at.
const maxPackages = 256

var (
	// oneName matches a filter of pnpm that is a name and no pattern, path or range of
	// dependencies.
	oneName = lazy.Regexp(`^(?:@[A-Za-z0-9][A-Za-z0-9._~-]*/)?[A-Za-z0-9][A-Za-z0-9._~-]*$`)
	// scriptName matches what is no option, no pattern of scripts and no path.
	scriptName = lazy.Regexp(`^[A-Za-z0-9_][A-Za-z0-9_:.-]*$`)
	// filteredCommands are those that run a script in each package that the filter selects.
	filteredCommands = wordset.Fields("run test start script")
)

// filteredRun returns the name that the one filter of a run of pnpm selects packages by, and the
// run without it; false if it may select them in another way.
func filteredRun(r *effects.Run) (name string, own *effects.Run, ok bool) {
	rest := r.Args
	switch {
	case r.Program != "pnpm" || len(rest) < 2:
		return "", nil, false
	case rest[0] == "--filter" || rest[0] == "-F":
		name, rest = rest[1], rest[2:]
	default:
		if name, ok = strings.CutPrefix(rest[0], "--filter="); !ok {
			return "", nil, false
		}
		rest = rest[1:]
	}
	more := slices.ContainsFunc(r.Flags, func(f string) bool { return f != "--filter" && slices.Contains(packageJSON.redirectingOptions, f) }) ||
		slices.ContainsFunc(rest, func(w string) bool { return strings.HasPrefix(w, "--filter") || strings.HasPrefix(w, "-F") })
	if more || len(rest) == 0 || !oneName().MatchString(name) || strings.Contains(name, "..") {
		return "", nil, false
	}
	copied := *r
	copied.Args = rest
	return name, &copied, filteredCommands.Has(commandOf(&copied)) && !strings.HasPrefix(rest[0], "-")
}

// bindFiltered binds a run of pnpm with a filter to the script of the one package of the workspace
// that has its name.
func (rd *reading) bindFiltered(name string, own *effects.Run) *effects.Script {
	script := own.Args[0]
	if commandOf(own) == "run" && (script == "run" || aliases[script] == "run") {
		script = ""
		if len(own.Args) > 1 {
			script = own.Args[1]
		}
	}
	if script == "t" || script == "tst" {
		script = "test"
	}
	if !scriptName().MatchString(script) {
		rd.fail("its options name other files or folders")
		return nil
	}
	root := rd.workspace()
	if root == "" {
		return nil
	}
	dir, o := rd.packageNamed(root, name)
	if dir == "" {
		return nil
	}
	for _, other := range []string{".npmrc", "package.json5", "package.yaml"} {
		if rd.exists(path.Join(dir, other)) {
			rd.fail("the package has a " + other + " of its own")
		}
	}
	if scripts, _ := o.Get("scripts"); scripts != nil {
		if all, err := strictjson.ParseObject(scripts); err == nil {
			if _, there := all.Get(script); !there {
				rd.fail("package.json has no script " + clipped(script))
			}
		}
	}
	// Which pnpm it is, the package.json next to where it starts says, and those above.
	var here []byte
	text, there := rd.read(path.Join(rd.cwd(), "package.json"))
	if there {
		o, ok := jsonObject(text)
		if !ok {
			rd.fail("package.json may be read in several ways")
			return nil
		}
		here = rd.managerSettings(rd.cwd(), o)
	} else {
		here = rd.managerSettings(rd.cwd(), nil)
	}
	own.Cwd, rd.run = dir, own
	s := bindScripts(rd, path.Join(dir, "package.json"))
	if s == nil || here == nil {
		return s
	}
	bound := sum(s.Path, []byte(s.SHA256+"\x00"+string(here)))
	bound.What, bound.Text = s.What, s.Text
	return bound
}

// workspace returns the root of pnpm's workspace that the run is in, "" if that is not certain.
func (rd *reading) workspace() string {
	for dir := rd.cwd(); ; dir = path.Dir(dir) {
		if rd.exists(path.Join(dir, "pnpm-workspace.yaml")) {
			return dir
		}
		if dir == "/" || rd.exists(path.Join(dir, ".git")) {
			rd.fail("there is no pnpm-workspace.yaml, and its options name other files or folders")
			return ""
		}
	}
}

// packageNamed returns the folder and the package.json of the one package of a workspace that a
// filter selects by a name; "" if there is none, or may be another. A filter without a scope
// selects the one of that name in any scope, if no package has the name itself.
func (rd *reading) packageNamed(root, name string) (dir string, o strictjson.Object) {
	found := 0
	for _, at := range rd.packages(root) {
		file := path.Join(at, "package.json")
		text, there := rd.read(file)
		for _, other := range []string{"package.json5", "package.yaml"} {
			if !there && rd.exists(path.Join(at, other)) {
				rd.fail("a package of the workspace has a " + other)
			}
		}
		if !there {
			continue
		}
		own, ok := jsonObject(text)
		if !ok {
			rd.fail("a package.json of the workspace may be read in several ways")
			return "", nil
		}
		value, _ := own.Get("name")
		if value == nil {
			continue
		}
		is, ok := strictjson.ParseString(value)
		if !ok {
			rd.fail("a package.json of the workspace may be read in several ways")
			return "", nil
		}
		if is == name || !strings.HasPrefix(name, "@") && strings.HasPrefix(is, "@") && strings.HasSuffix(is, "/"+name) {
			found++
			dir, o = at, own
		}
	}
	if found != 1 {
		rd.fail("not exactly one package of the workspace may have the name " + clipped(name))
		return "", nil
	}
	return dir, o
}

// packages returns the folders in which a workspace may have packages: all that its patterns
// match, and those that further ones leave out again.
func (rd *reading) packages(root string) []string {
	file := path.Join(root, "pnpm-workspace.yaml")
	text, _ := rd.read(file)
	patterns, ok := settings.NewFormat("yaml").Values(text, "packages")
	if !ok || len(patterns) == 0 {
		rd.fail("pnpm-workspace.yaml does not say plainly where packages are")
		return nil
	}
	list := []string{root} // which is always one
	for _, p := range patterns {
		if strings.HasPrefix(p, "!") {
			continue
		}
		at := []string{root}
		for part := range strings.SplitSeq(strings.TrimSuffix(strings.TrimPrefix(p, "./"), "/"), "/") {
			at = rd.matching(at, part)
		}
		if list = append(list, at...); len(list) > maxPackages {
			rd.fail("the workspace has too many packages")
			return nil
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// matching returns the folders in some others that a part of a pattern matches: a name, or * for
// all.
func (rd *reading) matching(dirs []string, part string) (list []string) {
	if part == "." {
		return dirs
	}
	if part != "*" && !scriptName().MatchString(part) {
		rd.fail("pnpm-workspace.yaml does not say plainly where packages are")
		return nil
	}
	for _, dir := range dirs {
		names := []string{part}
		if part == "*" {
			names = rd.names(dir)
		}
		for _, name := range names {
			at := path.Join(dir, name)
			switch mode, err := rd.fsys.Lstat(at); {
			case err != nil || mode.IsRegular():
				rd.note(at)
				rd.note(path.Join(at, "package.json")) // which the call may make
			case mode&fs.ModeSymlink != 0:
				rd.fail("a package of the workspace is a link")
			default:
				list = append(list, at)
			}
		}
		if len(list) > maxPackages {
			rd.fail("the workspace has too many packages")
			return nil
		}
	}
	return list
}
