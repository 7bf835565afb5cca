package targets

import (
	"cmp"
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
	more = append(more, rd.ownSettings()...)
	var s *effects.Script
	if command := commandOf(r); runsScript.Has(command) {
		s = rd.bindNamed(file, text, o, more)
	} else {
		s = rd.bindInstall(file, o, more, onlyInstalls.Has(command))
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

// runsScript are the commands of package managers that run a script, or a program of a package;
// onlyInstalls those that install packages and run no scripts but those for that. All others may
// do both.
var (
	runsScript   = wordset.Fields("run test start stop restart exec x dlx create init script")
	onlyInstalls = wordset.Fields("install ci add")
)

// aliases of commands, where the table was not asked.
var aliases = map[string]string{"run-script": "run", "rum": "run", "urn": "run", "t": "test", "tst": "test", "i": "install"}

// commandOf returns which command of a package manager a run is, "script" if a word may be the
// name of a script.
func commandOf(r *effects.Run) string {
	word, _, _ := strings.Cut(r.Subcommand, " ")
	switch first := firstOperand(r); {
	case word != "":
	case first == "" && r.Program == "yarn":
		word = "install"
	case slices.Contains([]string{"run", "test", "start", "stop", "restart", "install", "ci", "add"}, first):
		word = first
	default:
		word = cmp.Or(aliases[first], "script")
	}
	return word
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
	for _, name := range mustExist(r) {
		if _, there := all.Get(name); !there {
			rd.fail("package.json has no script " + clipped(name))
			return nil
		}
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

// mustExist returns the names of scripts that a run names and that must exist, since something
// else runs in their place: a server, or a program of a package.
func mustExist(r *effects.Run) (names []string) {
	if r.Script != nil {
		return nil
	}
	var words []string
	for _, w := range r.Args {
		if w == "--" {
			break
		}
		if w == "start" || w == "restart" {
			names = append(names, w)
		}
		if !strings.HasPrefix(w, "-") {
			words = append(words, w)
		}
	}
	switch command := commandOf(r); command {
	case "run":
		i := slices.IndexFunc(words, func(w string) bool { return w == "run" || aliases[w] == "run" })
		if i >= 0 && i+1 < len(words) && !strings.HasPrefix(words[i+1], "/") && (r.Tool != words[i+1] || r.Program == "npm") {
			names = append(names, words[i+1])
		}
	case "stop":
		names = append(names, command)
	case "test":
		if r.Program != "bun" {
			names = append(names, command)
		}
	case "script":
		if len(words) > 0 && r.Tool != words[0] && r.Program != "npm" {
			names = append(names, words[0])
		}
	}
	return names
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

// bindInstall binds a run that may install packages to all that package.json says, and to the
// lock files; one that only installs not to scripts that do not run then.
func (rd *reading) bindInstall(file string, o strictjson.Object, more []byte, only bool) *effects.Script {
	dir := path.Dir(file)
	var all []byte
	var shown strictjson.Object
	for _, m := range o {
		switch {
		case m.Name == "workspaces":
			rd.fail("its workspaces have install scripts of their own")
		case m.Name == "scripts" && only:
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
	for up := dir; up != "/"; { // those of a workspace are installed from its top, beyond any repository
		up = path.Dir(up)
		if rd.exists(path.Join(up, "pnpm-workspace.yaml")) {
			rd.fail("a folder above has workspaces, which are installed with it")
		}
		if text, there := rd.read(path.Join(up, "package.json")); there {
			if outer, ok := jsonObject(text); !ok || slices.ContainsFunc(outer, func(m strictjson.Member) bool { return m.Name == "workspaces" }) {
				rd.fail("a folder above has workspaces, which are installed with it")
			}
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
	if only {
		s.What, s.Text = scriptsPiece(installScripts, shown)
	}
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

func jsonObject(text []byte) (strictjson.Object, bool) {
	if strictjson.Check(text) != nil {
		return nil, false
	}
	o, err := strictjson.ParseObject(text)
	return o, err == nil
}
