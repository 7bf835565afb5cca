package targets

import (
	"path"
	"slices"
	"strings"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/internal/lexpath"
	"github.com/permd/permd/internal/wordset"
)

// builders are programs whose words name what build files of the project define, in languages
// of their own that permd does not read, and that read as many files as they like.
var builders = wordset.Fields(`
	mvn mvnw mvnd gradle gradlew ant sbt mill lein bazel bazelisk buck2 pants ninja samu scons waf redo
	nx turbo lerna moon rush lage wireit nps grunt gulp jake ultra
	invoke inv fab tox nox doit poe mage
`)

// runsNamed are sub-commands with which other programs run what the project's files name.
var runsNamed = map[string][]string{
	"cargo": {"xtask"}, "deno": {"task"}, "pipenv": {"run"}, "pdm": {"run"}, "hatch": {"run"}, "pixi": {"run"}, "rye": {"run"},
	"composer": {"exec", "global"},
}

// miseCommands are the commands of mise that run no tasks.
var miseCommands = wordset.Fields(`
	exec x ls list current which where doctor version plugins env settings ls-remote latest allow deny trust install use uninstall upgrade set unset
	plugin reshim local global shell self-update prune outdated activate cache config link
`)

// Refused says why an answer about a run is never remembered: its words name what files of
// the project define that permd cannot read; "" if that is not so.
func Refused(r *effects.Run) string {
	program := path.Base(r.Program)
	if builders.Has(strings.TrimSuffix(program, ".bat")) {
		return "what " + program + " runs is decided by build files that permd does not read"
	}
	if first := firstOperand(r); program == "mise" && first != "" && !miseCommands.Has(first) && runnerOf(r) == nil {
		return "which tasks mise runs is not certain" // mise TASK is mise run TASK
	}
	subs := runsNamed[program]
	if own, _, _ := strings.Cut(r.Subcommand, " "); own != "" && !slices.Contains(subs, own) {
		return "" // a sub-command that the table knows
	}
	if i := slices.IndexFunc(r.Args, func(w string) bool { return slices.Contains(subs, w) }); i >= 0 {
		return program + " " + r.Args[i] + " runs what files of the project name, which permd does not read"
	}
	return ""
}

// obeying are the programs whose settings in the project can name others (Run.Unbound).
var obeying = wordset.Fields("npm npx pnpm pnpx yarn bun bunx cargo")

// settingsWritten reports whether the call, or one before it, may write a file with settings of
// the program: one of those that begin with a dot or end as such files do.
func settingsWritten(r *effects.Run, after *effects.Disturbance) bool {
	if after.None() || r.Readonly || !obeying.Has(r.Program) {
		return false
	}
	isSettings := func(changed string) bool {
		name := path.Base(lexpath.Fold(strings.TrimSuffix(changed, "/")))
		return strings.HasPrefix(name, ".") || slices.Contains([]string{".toml", ".yaml", ".yml", ".json5"}, path.Ext(name))
	}
	return !after.Known() || slices.ContainsFunc(after.Written, isSettings) || slices.ContainsFunc(after.Paths, isSettings) ||
		path.IsAbs(r.Cwd) && after.MayWrite(path.Join(r.Cwd, "\x00"))
}
