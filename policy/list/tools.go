package list

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/pattern"
)

// notAgents tests that a tool is not one of the agent's own.
var notAgents = "input.effect.source != " + strconv.Quote(effects.AgentSource)

// tools writes what denies and asks of tools have in common.
func (g *generator) tools(versioned bool) {
	g.at = place{line: 1, column: 1}
	g.text.WriteString("\n# The letters whose case folding is several, before names are compared letter by letter.\n")
	var pairs strings.Builder
	for pair := range slices.Chunk(pattern.FoldPairs(), 2) {
		fmt.Fprintf(&pairs, "%s: %s, ", strconv.Quote(pair[0]), strconv.Quote(pair[1]))
	}
	g.ruleAs("permd_list_folds := {"+strings.TrimSuffix(pairs.String(), ", ")+"}", body{"true"})
	g.text.WriteString("\n# A tool that may be of any server: another tool calls it, or only a claim says whose it is.\n")
	g.head = "permd_list_any_server"
	g.rule(body{is("input.effect.server", effects.UnknownServer)})
	g.rule(body{is("input.effect.server", ""), notAgents, "input.effect.claimed == true"})
	if !versioned {
		return
	}
	version := g.folded[2]
	g.text.WriteString("\n# The version of a tool as denies and asks compare it: x.y.z, and one that cannot be read may be any.\n")
	read := fmt.Sprintf("regex.match(%s, %s)", strconv.Quote(pattern.VersionRegexp), version)
	// A number that is missing is 0, and one that is there begins with no 0.
	g.ruleAs("permd_list_version := version", body{
		read,
		fmt.Sprintf(`padded := regex.replace(%s, %s, "${1}.0${2}.0${3}${4}")`, version, strconv.Quote(pattern.VersionRegexp)),
		`version := regex.replace(padded, "^([0-9]+)[.]0?([0-9]+)[.]0?([0-9]+)", "${1}.${2}.${3}")`,
	})
	g.ruleAs("permd_list_version := "+strconv.Quote(pattern.UnknownVersion), body{`input.effect.version != ""`, "not " + read})
}

func (g *generator) tool(t *pattern.Tool, allow bool) {
	use := body{kindIs(effects.KindUse)}
	names := toolNames
	if !allow {
		names, t = g.folded, t.Fold()
	}
	server, tool, version := names[0], names[1], names[2]
	named := func(b body) {
		g.rule(b.with(globOrText(tool, t.Name)...))
		if name, of, ok := t.Versioned(); ok {
			g.versions(b.with(globOrText(tool, name)...), of, version, allow)
		}
	}
	if t.Server == nil {
		use = use.with(is("input.effect.server", ""))
		if prefix := t.Name.Prefix(); allow && !t.OpensKinds() && strings.HasPrefix(effects.KindTool(""), prefix) {
			use = use.with(fmt.Sprintf("not startswith(%s, %s)", tool, strconv.Quote(effects.KindTool(""))))
		}
		named(use)
		return
	}
	of := use.with(globOrText(server, t.Server)...)
	if name, literal := t.Server.Literal(); !literal || name == "" {
		of = of.with(`input.effect.server != ""`)
	}
	named(of)
	if allow {
		return
	}
	named(use.with("input.effect.server in "+setOf([]string{"", effects.UnknownServer}), "permd_list_any_server"))
	joined := func(t *pattern.Tool) [2]body {
		last := lastPiece(tool, t.Name)
		return [2]body{
			use.with(is("input.effect.server", effects.UnknownServer)).with(last...).with(matches(tool, t.ServerAndName(".*"))),
			use.with(is("input.effect.server", ""), notAgents).with(last...).with(matches(tool, t.JoinedRegexp(".*"))),
		}
	}
	for _, b := range joined(t) {
		g.rule(b)
	}
	if name, of, ok := t.Versioned(); ok {
		for _, b := range joined(&pattern.Tool{Server: t.Server, Name: name}) {
			g.versions(b, of, version, false)
		}
	}
}

// lastPiece tests what a text that ends as a glob ends with. The regular expression of
// the whole text says the same, but OPA has no index for one.
func lastPiece(ref string, glob pattern.Glob) body {
	last := glob[len(glob)-1]
	if last == "" {
		return nil
	}
	return body{fmt.Sprintf("endswith(%s, %s)", ref, strconv.Quote(last))}
}

// versions writes the rules for a tool whose name b tests and whose version, which the
// reference version holds, is one of a line's.
func (g *generator) versions(b body, of pattern.Glob, version string, allow bool) {
	same := b.with(globOrText(version, of)...)
	if _, literal := of.Literal(); !literal {
		same = same.with(`input.effect.version != ""`)
	}
	g.rule(same)
	if allow {
		return
	}
	g.rule(b.with(globOrText("permd_list_version", pattern.NormalVersions(of))...))
	g.rule(b.with(is("permd_list_version", pattern.UnknownVersion)))
}

func isVersioned(t *pattern.Tool) bool {
	_, _, ok := t.Versioned()
	return ok
}

func globOrText(ref string, glob pattern.Glob) body {
	if lit, ok := glob.Literal(); ok {
		return body{is(ref, lit)}
	}
	return globIs(ref, glob, ".*")
}
