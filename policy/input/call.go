package input

import (
	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
)

// callMembers returns the members of the input about the call as a whole.
func callMembers(in *decisions.Input) []member {
	c := in.Call
	var kinds []string
	var tags effects.Tags
	for _, kind := range effects.Kinds {
		for i := range in.All {
			if in.All[i].Kind == kind {
				kinds = append(kinds, string(kind))
				break
			}
		}
	}
	for i := range in.All {
		tags |= in.All[i].Tags
	}
	defects := make([]string, len(in.Result.Defects))
	for i, d := range in.Result.Defects {
		defects[i] = d.Code
	}
	return []member{
		{keyTool, ast.ObjectTerm(str(keyName, c.Tool.Name), str(keyServer, c.Tool.Server), str(keySource, c.Tool.Source))},
		str(keyProtocol, c.Protocol),
		str(keyCwd, c.Cwd),
		strs(keyKinds, kinds),
		tagsMember(tags),
		str(keyCompleteness, string(in.Result.Completeness)),
		str(keyMissing, in.Result.Missing),
		strs(keyDefects, defects),
		str(keyTitle, c.Claims.Title),
		str(keyKind, c.Claims.Kind),
		str(keyClaimedUser, c.Claims.User),
	}
}

// sessionTerm returns the member about its session and participants.
func sessionTerm(in *decisions.Input) *ast.Term {
	party := func(p effects.Party) *ast.Term {
		return ast.ObjectTerm(str(keyName, p.Name), str(keyVersion, p.Version))
	}
	return ast.ObjectTerm(
		str(keyID, in.Session.ID), strs(keyAncestors, in.Session.Ancestors), str(keyMode, in.Session.Mode),
		member{keyAgent, party(in.Call.Agent)}, member{keyClient, party(in.Call.Client)})
}
