package input

import (
	"cmp"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
)

// call visits the members of the call, except its raw input.
func (f *fields) call(in *decisions.Input) {
	c := in.Call
	f.other(partCallTool, func() member {
		return member{keyTool, ast.ObjectTerm(str(keyName, c.Tool.Name), str(keyServer, c.Tool.Server), str(keySource, c.Tool.Source))}
	}, func() { f.text(c.Tool.Name); f.text(c.Tool.Server); f.text(c.Tool.Source) })
	f.str(partCallProtocol, keyProtocol, c.Protocol)
	f.str(partCallCwd, keyCwd, c.Cwd)
	if f.need.Has(partCallKinds) || f.need.Has(partCallTags) {
		kinds, tags := sharedOf(in).kindsAndTags(in.All)
		f.strs(partCallKinds, keyKinds, kinds)
		f.tags(partCallTags, tags)
	}
	f.str(partCallCompleteness, keyCompleteness, string(in.Result.Completeness))
	f.str(partCallMissing, keyMissing, in.Result.Missing)
	if f.need.Has(partCallDefects) {
		defects := make([]string, len(in.Result.Defects))
		for i, d := range in.Result.Defects {
			defects[i] = d.Code
		}
		f.strs(partCallDefects, keyDefects, defects)
	}
	f.str(partCallTitle, keyTitle, c.Claims.Title)
	f.str(partCallKind, keyKind, c.Claims.Kind)
	f.str(partCallUser, keyClaimedUser, c.Claims.User)
	f.str(partCallTrace, keyClaimedTrace, c.Claims.TraceID)
	f.other(partCallPaths, func() member { return pathsMember(in.Result.Claimed) }, func() {
		f.number(len(in.Result.Claimed))
		for i := range in.Result.Claimed {
			p := &in.Result.Claimed[i]
			f.texts([]string{p.Path, p.AsWritten, p.Source, p.Operation})
			f.number(int(p.Tags))
		}
	})
	f.str(partCallStatus, keyClaimedStatus, cmp.Or(c.Claims.Status, "none"))
	f.strs(partCallOptions, keyClaimedOptions, c.Claims.Options)
	if f.need.Has(partCallNamed) {
		named := effects.NamedIn(c.Claims.Meta)
		f.other(partCallNamed, func() member { return namedMember(named) }, func() {
			f.number(len(named))
			for _, n := range named {
				f.text(n.Name)
				f.text(n.Text)
			}
		})
	}
}

func pathsMember(list []effects.ClaimedPath) member {
	terms := make([]*ast.Term, len(list))
	for i := range list {
		p := &list[i]
		terms[i] = ast.ObjectTerm(str(keyPath, p.Path), str(keyGiven, p.AsWritten), str(keySource, p.Source),
			str(keyOperation, p.Operation), tagsMember(p.Tags))
	}
	return member{keyClaimedPaths, ast.ArrayTerm(terms...)}
}

func namedMember(list []effects.Named) member {
	terms := make([]*ast.Term, len(list))
	for i, n := range list {
		terms[i] = ast.ObjectTerm(str(keyName, n.Name), str(keyText, n.Text))
	}
	return member{keyClaimedMeta, ast.ArrayTerm(terms...)}
}

// kindsOf returns the kinds of effects, each once.
func kindsOf(all []effects.Effect) []string {
	var kinds []string
	for _, kind := range effects.Kinds {
		for i := range all {
			if all[i].Kind == kind {
				kinds = append(kinds, string(kind))
				break
			}
		}
	}
	return kinds
}

// callMembers returns the members of the input about the call as a whole, with or without
// those that few rules read.
func callMembers(in *decisions.Input, claims bool) []member {
	f := fields{need: partCall.Difference(partClaims), terms: make([]member, 0, 13)}
	if claims {
		f = fields{need: partCall, terms: make([]member, 0, 17)}
	}
	f.call(in)
	return f.terms
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
