package targets

import (
	"crypto/sha256"
	"path"
	"slices"
	"strings"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/internal/lazy"
	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/internal/wordset"
)

// installScripts are those of a project that run when its dependencies are installed.
var installScripts = []string{
	"pnpm:devPreinstall", "preinstall", "install", "postinstall", "prepublish", "preprepare", "prepare", "postprepare",
	"predependencies", "dependencies", "postdependencies",
}

var (
	// runsScripts matches what may run other scripts of a package.json, or read them. An
	// escape in JSON may be any letter.
	runsScripts = lazy.Regexp(`(?i)\\u|--run\b|package\.json|npm_|\b(?:npm|pnpm|yarn|yarnpkg|bun|corepack|run-[sp]|concurrently|conc|turbo|nx|lerna|wireit|nps|nr|na|wsrun|ultra|rush|moon|lage|redo|zx|make|just|task)\b`)
	// readsPackage matches a script that sees more of its package.json than the scripts.
	readsPackage = lazy.Regexp(`(?i)\\u|package\.json|npm_`)
	// runsElsewhere matches a script that runs what further files name.
	runsElsewhere = lazy.Regexp(`(?i)(?:^|[\s;&|("'/])(?:g?make|just|task|rake|turbo|nx|lerna|wireit|nps|moon|lage|rush|ultra|wsrun|gulp|grunt|jake|redo|zx|mvnw?|gradlew?)(?:[\s;&|)"']|$)`)
	// otherPackage matches what makes a script of a package manager run those of another package.
	otherPackage = lazy.Regexp(`(?:^|[\s;&|("'])(?:cd|pushd|--prefix|--dir|--cwd|-C|-w|-ws|--workspaces?|--include-workspace-root|-r|--recursive|--filter|-F|--script-shell|workspaces?|foreach)(?:[\s=;&|)"']|$)`)
	// otherPlace matches a dependency that lies in the project.
	otherPlace = lazy.Regexp(`^(?:file|link|portal|workspace|patch|exec):|^\.{0,2}/|^~/`)
)

// harmlessMembers are the members of a package.json that say nothing of how, or with what,
// its scripts run.
var harmlessMembers = wordset.Fields(`
	name version description private type main module types typings exports imports bin files man keywords author contributors license homepage bugs
	repository funding sideEffects browser browserslist unpkg jsdelivr engines os cpu scripts dependencies devDependencies peerDependencies
	peerDependenciesMeta optionalDependencies bundleDependencies prettier eslintConfig jest lint-staged husky babel
`)

// dependencyMembers are those that say what is installed.
var dependencyMembers = []string{"dependencies", "devDependencies", "optionalDependencies", "peerDependencies", "overrides", "resolutions"}

// lockFiles say which packages are installed, and from where.
var lockFiles = []string{"package-lock.json", "npm-shrinkwrap.json", "pnpm-lock.yaml", "yarn.lock", "bun.lock", "bun.lockb"}

// maxLock bounds a lock file, in bytes.
const maxLock = 16 << 20

// bindScripts binds a run of a package manager to the scripts of a package.json.
func bindScripts(rd *reading, file string) *effects.Script {
	dir := path.Dir(file)
	for d := rd.cwd(); d != dir; d = path.Dir(d) {
		if rd.exists(path.Join(d, "node_modules")) {
			rd.fail("there is a node_modules without a package.json")
		}
	}
	text, there := rd.read(file)
	o, ok := jsonObject(text)
	if !there || !ok {
		rd.fail("package.json may be read in several ways")
		return nil
	}
	r := rd.run
	var more []byte
	if r.Program != "npm" {
		more = rd.managerSettings(dir, o)
	}
	var s *effects.Script
	if installs(r) {
		s = rd.bindInstall(file, o, more)
	} else {
		s = rd.bindNamed(file, text, o, more)
	}
	if rd.why != "" {
		return nil
	}
	return s
}

// managerSettings returns what package.json, and those in the folders above it, say to the
// package manager itself, and the variables that bun sets.
func (rd *reading) managerSettings(dir string, o strictjson.Object) (all []byte) {
	add := func(at string, o strictjson.Object) {
		for _, m := range o {
			if !harmlessMembers.Has(m.Name) {
				all = appendFile(all, at+m.Name, m.Value, true)
			}
		}
	}
	add("", o)
	if rd.run.Program == "bun" {
		for _, name := range rd.names(dir) {
			if strings.HasPrefix(name, ".env") {
				text, there := rd.read(path.Join(dir, name))
				all = appendFile(all, name, text, there)
			}
		}
	}
	for up := "../"; dir != "/"; up += "../" {
		if rd.exists(path.Join(dir, ".git")) {
			break
		}
		dir = path.Dir(dir)
		text, there := rd.read(path.Join(dir, "package.json"))
		if !there {
			continue
		}
		outer, ok := jsonObject(text)
		if !ok {
			rd.fail("a package.json above may be read in several ways")
		}
		add(up, outer)
	}
	return all
}

// installs reports whether a run installs packages.
func installs(r *effects.Run) bool {
	if len(r.Args) == 0 {
		return r.Program == "yarn"
	}
	first := r.Args[0]
	if first == "ci" || first == "i" || first == "add" {
		return true
	}
	return first == "install" || strings.HasPrefix(r.Subcommand, "install") || r.Subcommand == "ci" || r.Subcommand == "add"
}

// bindNamed binds a run to a script, with those around it, or to all.
func (rd *reading) bindNamed(file string, text []byte, o strictjson.Object, more []byte) *effects.Script {
	r := rd.run
	scripts, ok := o.Get("scripts")
	if !ok {
		scripts = strictjson.Value("{}")
	}
	all, err := strictjson.ParseObject(scripts)
	if err != nil {
		rd.fail("the scripts of package.json are not understood")
		return nil
	}
	name := scriptOf(r)
	if _, there := all.Get(name); name != "" && !there {
		rd.fail("package.json has no script " + clipped(name))
		return nil
	}
	compact := scripts.Clone()
	if compact.Compact() != nil {
		rd.fail("the scripts of package.json are not understood")
		return nil
	}
	if !ok {
		compact = nil
	}
	bound, names := []byte(compact), scriptsOf(r)
	own, certain := scriptText(names, all)
	if certain {
		bound = own
		all = slices.DeleteFunc(all, func(m strictjson.Member) bool { return !slices.Contains(names, m.Name) })
	} else {
		names = nil
	}
	whole := false
	for _, m := range all {
		switch text, _ := strictjson.ParseString(m.Value); {
		case runsElsewhere().MatchString(text):
			rd.fail("the script " + clipped(m.Name) + " runs what further files name")
		case runsScripts().Match(m.Value) && otherPackage().MatchString(text):
			rd.fail("the script " + clipped(m.Name) + " may run those of another package")
		}
		whole = whole || readsPackage().Match(m.Value)
	}
	if whole {
		bound = text
	}
	s := sum(file, slices.Concat(bound, more))
	if certain && more == nil {
		s.Earlier = sum(file, compact).SHA256
	}
	s.What, s.Text = scriptsPiece(names, all)
	return s
}

// scriptOf returns the name of the script that a run names and that must exist, since
// something else runs in its place, "" if there is none.
func scriptOf(r *effects.Run) string {
	if names := scriptsOf(r); names != nil {
		return names[1]
	}
	if len(r.Args) == 0 || r.Script != nil || r.Tool != "" {
		return ""
	}
	word := r.Args[0]
	if (word == "run" || word == "run-script") && len(r.Args) > 1 {
		word = r.Args[1]
	} else if r.Subcommand != "" || r.Program == "npm" {
		return ""
	}
	if strings.HasPrefix(word, "-") || strings.HasPrefix(word, "/") || r.Program == "bun" && word == "test" {
		return ""
	}
	return word
}

// scriptsOf returns the names of the scripts of a package.json that a run may execute, the
// one that it names between what runs before and after it; nil if these are not certain.
func scriptsOf(r *effects.Run) []string {
	switch r.Program {
	case "npm", "pnpm", "yarn":
	default:
		return nil // with other rules: bun's, and composer's, whose scripts call others by @name
	}
	if len(r.Args) == 0 {
		return nil
	}
	named := func(name string) []string { return []string{"pre" + name, name, "post" + name} }
	switch first := r.Args[0]; {
	case first == "test" || first == "start" || first == "stop" || first == "restart":
		return named(first)
	case (first == "run" || first == "run-script") && len(r.Args) > 1 && !strings.HasPrefix(r.Args[1], "-") && !strings.HasPrefix(r.Args[1], "/"):
		return named(r.Args[1])
	}
	return nil
}

// scriptText returns the scripts of a package.json that a run executes; false if it is not
// certain that no other script runs, so that all of them count.
func scriptText(names []string, all strictjson.Object) (text []byte, certain bool) {
	if names == nil {
		return nil, false
	}
	for _, name := range names {
		value, ok := all.Get(name)
		if ok && runsScripts().Match(value) {
			return nil, false
		}
		text = append(append(append(text, name...), 0), value...) // without a value, only the name
	}
	return text, true
}

// bindInstall binds a run that installs packages to all that package.json says but for
// scripts that do not run then, and to the lock files.
func (rd *reading) bindInstall(file string, o strictjson.Object, more []byte) *effects.Script {
	dir := path.Dir(file)
	var all []byte
	var shown strictjson.Object
	for _, m := range o {
		switch {
		case m.Name == "workspaces":
			rd.fail("its workspaces have install scripts of their own")
		case m.Name == "scripts":
			scripts, err := strictjson.ParseObject(m.Value)
			if err != nil {
				rd.fail("the scripts of package.json are not understood")
				return nil
			}
			shown = slices.DeleteFunc(scripts, func(s strictjson.Member) bool { return !slices.Contains(installScripts, s.Name) })
			for _, s := range shown {
				if runsScripts().Match(s.Value) {
					shown, all = nil, appendFile(all, m.Name, m.Value, true)
					break
				}
				all = appendFile(all, "script "+s.Name, s.Value, true)
			}
		default:
			all = appendFile(all, m.Name, m.Value, true)
		}
		if slices.Contains(dependencyMembers, m.Name) && inProject(m.Value) {
			rd.fail("a dependency lies in the project, with install scripts of its own")
		}
	}
	for _, name := range []string{"binding.gyp", "pnpm-workspace.yaml"} {
		if rd.exists(path.Join(dir, name)) {
			rd.fail("with " + name + ", more is built or installed")
		}
	}
	for _, name := range lockFiles {
		all = rd.appendLock(all, path.Join(dir, name))
	}
	s := sum(file, slices.Concat(all, more))
	s.What, s.Text = scriptsPiece(installScripts, shown)
	return s
}

// appendLock appends the hash of a lock file to what is hashed.
func (rd *reading) appendLock(all []byte, file string) []byte {
	if !rd.exists(file) {
		return all
	}
	text, err := rd.fsys.ReadFile(file, maxLock)
	if err != nil {
		rd.failed(file, "cannot be read, or is too large")
		return all
	}
	lock := sha256.Sum256(text)
	return appendFile(all, path.Base(file), lock[:], true)
}

// inProject reports whether a value names a dependency that lies in the project, at any depth.
func inProject(value strictjson.Value) bool {
	if text, ok := strictjson.ParseString(value); ok {
		return otherPlace().MatchString(text)
	}
	o, err := strictjson.ParseObject(value)
	return err == nil && slices.ContainsFunc(o, func(m strictjson.Member) bool { return inProject(m.Value) })
}

// bindComposer binds a run of composer to its scripts, and one that installs packages to all
// that composer.json says, and to the lock file.
func bindComposer(rd *reading, file string) *effects.Script {
	text, there := rd.read(file)
	o, ok := jsonObject(text)
	if !there || !ok {
		rd.fail("composer.json may be read in several ways")
		return nil
	}
	word := scriptWord(rd.run)
	scripts, _ := o.Get("scripts")
	var all strictjson.Object
	if scripts != nil {
		var err error
		if all, err = strictjson.ParseObject(scripts); err != nil {
			rd.fail("the scripts of composer.json are not understood")
			return nil
		}
	}
	for _, m := range all {
		switch {
		case phpCallback().Match(m.Value):
			rd.fail("the script " + clipped(m.Name) + " is PHP code of the project")
		case runsElsewhere().Match(m.Value):
			rd.fail("the script " + clipped(m.Name) + " runs what further files name")
		}
	}
	var bound []byte
	switch _, named := all.Get(word); {
	case named:
		compact := scripts.Clone()
		if compact.Compact() != nil {
			return nil
		}
		bound = compact
		if config, ok := o.Get("config"); ok {
			bound = appendFile(bound, "config", config, true)
		}
	case slices.Contains([]string{"install", "update", "require", "remove", "dump-autoload", "dumpautoload", "reinstall", "upgrade", "bump"}, word):
		if repositories, ok := o.Get("repositories"); ok && pathRepository().Match(repositories) {
			rd.fail("a package lies in the project")
		}
		bound = rd.appendLock(slices.Clip(text), path.Join(path.Dir(file), "composer.lock"))
	default:
		rd.fail("composer.json has no script " + clipped(word))
	}
	if rd.why != "" {
		return nil
	}
	s := sum(file, bound)
	s.What, s.Text = scriptsPiece(nil, all)
	return s
}

var (
	phpCallback    = lazy.Regexp(`"[A-Za-z0-9_\\]*(?:::|\\)[A-Za-z0-9_\\:]*"|\\u`)
	pathRepository = lazy.Regexp(`"path"|\\u|"artifact"|file:`)
)

// scriptWord returns the word of a run of composer that may name a script.
func scriptWord(r *effects.Run) string {
	for i, w := range r.Args {
		switch {
		case strings.HasPrefix(w, "-"):
		case (w == "run" || w == "run-script") && i+1 < len(r.Args):
			return r.Args[i+1]
		default:
			return w
		}
	}
	return ""
}

func jsonObject(text []byte) (strictjson.Object, bool) {
	if strictjson.Check(text) != nil {
		return nil, false
	}
	o, err := strictjson.ParseObject(text)
	return o, err == nil
}
