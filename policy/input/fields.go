package input

import (
	"cmp"
	"encoding/binary"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/pattern"
)

// fields visits the needed members of the effect and of the call. It makes terms
// of them, or bytes, or the value of one of them (see AppendKey and ValueOf), so
// that what is compared is what rules see.
type fields struct {
	need  Parts
	form  form
	terms []member // asTerms
	key   []byte   // asKey
	value Value    // asValue: of the only needed part
}

type form int

const (
	asTerms form = iota
	asKey
	asValue
)

func (f *fields) str(p Part, k *ast.Term, s string) {
	switch {
	case !f.need.Has(p):
	case f.form == asTerms:
		f.terms = append(f.terms, str(k, s))
	case f.form == asKey:
		f.name(p)
		f.text(s)
	default:
		f.value = Value{Type: Text, Text: s}
	}
}

func (f *fields) flag(p Part, k *ast.Term, b bool) {
	switch {
	case !f.need.Has(p):
	case f.form == asTerms:
		f.terms = append(f.terms, flag(k, b))
	case f.form == asKey:
		f.name(p)
		f.key = append(f.key, boolByte(b))
	default:
		f.value = Value{Type: Flag, Flag: b}
	}
}

func (f *fields) num(p Part, k *ast.Term, n int) {
	switch {
	case !f.need.Has(p):
	case f.form == asTerms:
		f.terms = append(f.terms, num(k, n))
	case f.form == asKey:
		f.name(p)
		f.number(n)
	default:
		f.value = Value{Type: Number, Number: n}
	}
}

func (f *fields) nums(p Part, k *ast.Term, list []int) {
	switch {
	case !f.need.Has(p):
	case f.form == asTerms:
		terms := make([]*ast.Term, len(list))
		for i, n := range list {
			terms[i] = ast.InternedTerm(n)
		}
		f.terms = append(f.terms, member{k, ast.ArrayTerm(terms...)})
	case f.form == asKey:
		f.name(p)
		f.number(len(list))
		for _, n := range list {
			f.number(n)
		}
	default:
		f.value = Value{Type: Other}
	}
}

func (f *fields) strs(p Part, k *ast.Term, list []string) {
	if f.need.Has(p) && f.form == asTerms {
		f.terms = append(f.terms, strs(k, list))
		return
	}
	f.words(p, list)
}

// words visits a list in the forms other than terms.
func (f *fields) words(p Part, list []string) {
	switch {
	case !f.need.Has(p):
	case f.form == asKey:
		f.name(p)
		f.texts(list)
	default:
		f.value = Value{Type: Words, Words: list}
	}
}

// other visits a member that is more than a text, a flag, a number or a list of
// texts.
func (f *fields) other(p Part, term func() member, texts func()) {
	switch {
	case !f.need.Has(p):
	case f.form == asTerms:
		f.terms = append(f.terms, term())
	case f.form == asKey:
		f.name(p)
		texts()
	default:
		f.value = Value{Type: Other}
	}
}

// The parts of a key: each member that is present follows its name.

func (f *fields) name(p Part) { f.key = append(f.key, byte(p)) }

func (f *fields) number(n int) { f.key = binary.AppendVarint(f.key, int64(n)) }

func (f *fields) text(s string) {
	f.number(len(s))
	f.key = append(f.key, s...)
}

func (f *fields) texts(list []string) {
	f.number(len(list))
	for _, s := range list {
		f.text(s)
	}
}

// effect visits the members of the effect, except its kind and its arguments.
func (f *fields) effect(in *decisions.Input) {
	e := in.Effect
	f.str(partText, keyText, e.Text)
	f.tags(partTags, e.Tags)
	f.str(partFrom, keyFrom, e.From)
	f.flag(partClaimed, keyClaimed, e.Claimed)
	f.flag(partDeclared, keyDeclared, e.Declared)
	f.flag(partShell, keyShell, e.Shell)
	if f.need.Overlaps(partBy) {
		f.by(in)
	}
	switch e.Detail() {
	case effects.DetailRun:
		f.run(in, e.Run)
	case effects.DetailFile:
		f.str(partPath, keyPath, e.File.Path)
		f.str(partGiven, keyGiven, e.File.AsWritten)
		f.flag(partRecursive, keyRecursive, e.File.Recursive)
		f.flag(partReformats, keyReformats, e.File.Reformatted)
		f.str(partMoved, keyMoved, cmp.Or(string(e.File.Moved), "none"))
		if f.need.Has(partProjectPath) {
			if rel, ok := belowByAnyPath(in.Result.Project, e.File); ok {
				f.str(partProjectPath, keyProjectPath, rel)
			}
		}
		if f.need.Has(partHomePath) {
			if rel, ok := belowByAnyPath(in.Call.User.Home, e.File); ok {
				f.str(partHomePath, keyHomePath, rel)
			}
		}
	case effects.DetailConnect:
		c := e.Connect
		method := c.Method
		if method != effects.MethodGet {
			method = effects.MethodSend // anything not known to be a plain get may send
		}
		f.str(partHost, keyHost, c.Host)
		f.num(partPort, keyPort, c.Port)
		f.str(partScheme, keyScheme, c.Scheme)
		f.str(partURL, keyURL, c.URL)
		f.str(partMethod, keyMethod, method)
	case effects.DetailUse:
		f.str(partServer, keyServer, e.Use.Server)
		f.str(partSource, keySource, e.Use.Source)
		f.str(partTool, keyTool, e.Use.Tool)
		f.str(partVersion, keyVersion, e.Use.Version)
		f.folded(partFoldedServer, keyFoldedServer, e.Use.Server)
		f.folded(partFoldedTool, keyFoldedTool, e.Use.Tool)
		f.folded(partFoldedVersion, keyFoldedVersion, e.Use.Version)
		f.flag(partDestructive, keyDestructive, e.Use.Destructive)
		f.flag(partCredentials, keyTrust, e.Use.Trusted)
		f.strs(partCredentials, keySecrets, e.Use.Credentials.Secrets)
		f.authorizations(e.Use.Credentials.Authorizations)
	case effects.NoDetail:
		f.str(partWhy, keyWhy, e.Why)
	}
}

// folded visits a name as denies and asks of lists compare it.
func (f *fields) folded(p Part, k *ast.Term, name string) {
	if f.need.Has(p) {
		f.str(p, k, pattern.FoldTool(name))
	}
}

func (f *fields) tags(p Part, tags effects.Tags) {
	switch {
	case !f.need.Has(p):
	case f.form == asTerms:
		f.terms = append(f.terms, tagsMember(tags))
	case f.form == asKey:
		f.name(p)
		f.number(int(tags))
	default:
		f.value = Value{Type: Words, Words: tags.Names()}
	}
}

func (f *fields) authorizations(list []effects.Authorization) {
	f.other(partCredentials, func() member { return authorizationsMember(list) }, func() {
		f.number(len(list))
		for _, a := range list {
			f.text(a.ID)
			f.texts(a.Scopes)
		}
	})
}

func (f *fields) run(in *decisions.Input, r *effects.Run) {
	stdin := r.Stdin
	if stdin == "" {
		stdin = effects.StdinNone
	}
	f.str(PartProgram, keyProgram, r.Program)
	f.str(partExecutable, keyExecutable, r.Executable)
	f.args(partArgs, in, r)
	f.str(partSubcommand, keySubcommand, r.Subcommand)
	f.strs(partFlags, keyFlags, r.Flags)
	if r.Operands != nil {
		f.strs(partOperands, keyOperands, r.Operands)
	}
	f.str(partStdin, keyStdin, string(stdin))
	f.str(partCwd, keyCwd, r.Cwd)
	f.flag(partReadonly, keyReadonly, r.Readonly)
	f.flag(partOwnData, keyOwnData, r.OwnData)
	f.flag(partReformats, keyReformats, r.Reformats)
	f.flag(partKnown, keyKnown, r.Known)
	f.str(partDoes, keyDoes, r.Does)
	f.num(partHarmlessFrom, keyHarmlessFrom, r.HarmlessFrom)
	f.nums(partHarmful, keyHarmful, r.Harmful)
	f.num(partOptionsFrom, keyOptionsFrom, r.OptionsFrom)
	if s := r.Script; s != nil {
		f.other(partScript, func() member {
			return member{keyScript, ast.ObjectTerm(str(keyPath, s.Path), str(keySHA256, s.SHA256))}
		}, func() { f.text(s.Path); f.text(s.SHA256) })
	}
}

// args visits the words of a run, whose term all effects of the call share.
func (f *fields) args(p Part, in *decisions.Input, r *effects.Run) {
	if f.need.Has(p) && f.form == asTerms {
		f.terms = append(f.terms, member{keyArgs, sharedOf(in).args(r)})
		return
	}
	f.words(p, r.Args)
}

// by visits the run that the effect results from. As terms it is built as a whole.
func (f *fields) by(in *decisions.Input) {
	via := in.Effect.Via
	if via == nil || via.Effect < 0 || via.Effect >= len(in.All) || in.All[via.Effect].Run == nil {
		return
	}
	run := in.All[via.Effect].Run
	arg := ""
	if via.Arg >= 0 && via.Arg < len(run.Args) {
		arg = run.Args[via.Arg]
	}
	visit := func(f *fields) {
		f.str(partByProgram, keyProgram, run.Program)
		f.str(partBySubcommand, keySubcommand, run.Subcommand)
		f.args(partByArgs, in, run)
		f.flag(partByInherent, keyInherent, in.Effect.Inherent())
		f.str(partByArg, keyArg, arg)
	}
	if f.form != asTerms {
		visit(f)
		return
	}
	whole := fields{need: partBy, terms: make([]member, 0, 5)}
	visit(&whole)
	f.terms = append(f.terms, member{keyBy, ast.ObjectTerm(whole.terms...)})
}
