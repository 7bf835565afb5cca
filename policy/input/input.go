// Package input builds the document that rules see, from typed facts and never
// from a client's JSON: a value of an unexpected type makes an OPA builtin
// undefined, and an undefined deny is an allow. The document is described by
// rego/input.schema.json. Only the parts that some rule of a layer reads are
// built, see [PartsOf].
package input

import (
	"path/filepath"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/internal/lexpath"
)

// The keys of the input, made once and shared by all inputs.
var (
	keyEffect, keyCall, keySession, keyProject = key("effect"), key("call"), key("session"), key("project")
	keyUser, keyNow, keyKind, keyText, keyTags = key("user"), key("now"), key("kind"), key("text"), key("tags")
	keyFrom, keyClaimed, keyBy, keyProgram     = key("from"), key("claimed"), key("by"), key("program")
	keyExecutable, keyArgs, keySubcommand      = key("executable"), key("args"), key("subcommand")
	keyFlags, keyStdin, keyCwd, keyScript      = key("flags"), key("stdin"), key("cwd"), key("script")
	keyPath, keySHA256, keyReadonly, keyKnown  = key("path"), key("sha256"), key("readonly"), key("known")
	keyHarmlessFrom, keyGiven, keyRecursive    = key("harmless_from"), key("given"), key("recursive")
	keyHarmful, keyOptionsFrom                 = key("harmful"), key("options_from")
	keyProjectPath, keyHomePath, keyHost       = key("project_path"), key("home_path"), key("host")
	keyPort, keyScheme, keyURL, keyMethod      = key("port"), key("scheme"), key("url"), key("method")
	keyServer, keySource, keyTool              = key("server"), key("source"), key("tool")
	keyWhy, keyInherent, keyArg, keyName       = key("why"), key("inherent"), key("arg"), key("name")
	keyProtocol, keyKinds, keyCompleteness     = key("protocol"), key("kinds"), key("completeness")
	keyMissing, keyDefects, keyTitle           = key("missing"), key("defects"), key("title")
	keyID, keyAncestors, keyMode, keyAgent     = key("id"), key("ancestors"), key("mode"), key("agent")
	keyClient, keyVersion, keyRoot, keyTrusted = key("client"), key("version"), key("root"), key("trusted")
	keyUID, keyHome, keyGroups                 = key("uid"), key("home"), key("groups")
	keyRaw, keyArguments, keyShell             = key("raw"), key("arguments"), key("shell")
	keySecrets, keyAuthorizations, keyScopes   = key("secrets"), key("authorizations"), key("scopes")
	keyClaimedUser, keyClaimedTrace            = key("claimed_user"), key("claimed_trace")
	keyDestructive                             = key("destructive")
	keyOperands, keyDoes, keyMoved, keyOwnData = key("operands"), key("does"), key("moved"), key("own_data")
	keyDeclared, keyReformats, keyTrust        = key("declared"), key("reformats"), key("trust")
	keyFoldedServer, keyFoldedTool             = key("folded_server"), key("folded_tool")
	keyFoldedVersion                           = key("folded_version")
	keyClaimedPaths, keyClaimedStatus          = key("claimed_paths"), key("claimed_status")
	keyClaimedOptions, keyClaimedMeta          = key("claimed_options"), key("claimed_meta")
	keyOperation                               = key("operation")
	keyRecent, keyCalls                        = key("recent"), key("calls")
)

func key(name string) *ast.Term { return ast.StringTerm(name) }

type member = [2]*ast.Term

func str(k *ast.Term, s string) member { return member{k, ast.InternedTerm(s)} }
func flag(k *ast.Term, b bool) member  { return member{k, ast.InternedTerm(b)} }
func num(k *ast.Term, n int) member    { return member{k, ast.InternedTerm(n)} }

func strs(k *ast.Term, list []string) member {
	terms := make([]*ast.Term, len(list))
	for i, s := range list {
		terms[i] = ast.InternedTerm(s)
	}
	return member{k, ast.ArrayTerm(terms...)}
}

// Build builds the document that rules see, limited to the needed parts. With
// all parts it has exactly the fields of rego/input.schema.json.
//
// Raw JSON is converted only if a rule of the layer reads it.
func Build(in *decisions.Input, need Parts) *ast.Term {
	t := sharedOf(in)
	members := make([]member, 0, 6)
	if need.Has(partSession) {
		members = append(members, member{keySession, t.once(&t.session, func() *ast.Term { return sessionTerm(in) })})
	}
	if need.Has(partProject) {
		members = append(members, member{keyProject, t.once(&t.project, func() *ast.Term {
			return ast.ObjectTerm(str(keyRoot, in.Result.Project), flag(keyTrusted, in.Trusted))
		})})
	}
	if need.Has(partUser) {
		members = append(members, member{keyUser, t.once(&t.user, func() *ast.Term {
			u := &in.Call.User
			return ast.ObjectTerm(num(keyUID, int(u.UID)), str(keyName, u.Name), str(keyHome, u.Home), strs(keyGroups, u.Groups))
		})})
	}
	if need.Has(PartNow) {
		members = append(members, str(keyNow, in.Now.UTC().Truncate(time.Minute).Format(time.RFC3339)),
			member{keyRecent, ast.ObjectTerm(num(keyCalls, max(in.Recent, 1)))})
	}
	f := fields{need: need, terms: make([]member, 0, 18)}
	f.terms = append(f.terms, str(keyKind, string(in.Effect.Kind)))
	f.effect(in)
	effect := f.terms
	if need.Has(PartArguments) && in.Effect.Use != nil {
		if v := t.raw(in.Effect.Use.Arguments); v != nil {
			effect = append(effect, member{keyArguments, v})
		}
	}
	members = append(members, member{keyEffect, ast.ObjectTerm(effect...)})
	if need.Overlaps(partCall) {
		raw, claims := need.Has(PartRaw), need.Overlaps(partClaims)
		members = append(members, member{keyCall, t.once(t.callAt(raw, claims), func() *ast.Term {
			call := callMembers(in, claims)
			if raw {
				if v := t.raw(in.Call.Input); v != nil {
					call = append(call, member{keyRaw, v})
				}
			}
			return ast.ObjectTerm(call...)
		})})
	}
	return ast.ObjectTerm(members...)
}

// tagTerms are the tags' words, by tag.
var tagTerms = func() []*ast.Term {
	var terms []*ast.Term
	for _, t := range effects.AllTags() {
		terms = append(terms, ast.StringTerm(t.String()))
	}
	return terms
}()

func tagsMember(tags effects.Tags) member {
	var terms []*ast.Term
	for t, term := range tagTerms {
		if tags.Has(effects.Tag(t)) {
			terms = append(terms, term)
		}
	}
	return member{keyTags, ast.ArrayTerm(terms...)}
}

// Below returns path relative to root, "." for root itself; false if root is
// not known or path is outside it.
func Below(root, path string) (string, bool) {
	if root == "" || !filepath.IsAbs(path) {
		return "", false
	}
	return lexpath.Rel(root, path)
}

func authorizationsMember(list []effects.Authorization) member {
	terms := make([]*ast.Term, len(list))
	for i, a := range list {
		terms[i] = ast.ObjectTerm(str(keyID, a.ID), strs(keyScopes, a.Scopes))
	}
	return member{keyAuthorizations, ast.ArrayTerm(terms...)}
}

// belowByAnyPath is Below for a file. One by another path than that which links lead to
// is also where they lead to: in a project that is reached through a link, all its files
// are in the project.
func belowByAnyPath(root string, f *effects.File) (string, bool) {
	rel, ok := Below(root, f.Path)
	if !ok && f.Resolved != "" {
		rel, ok = Below(root, f.Resolved)
	}
	return rel, ok
}
