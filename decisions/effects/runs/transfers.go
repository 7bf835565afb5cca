package runs

import (
	"path"
	"slices"
	"strings"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/display"
	"github.com/permd/permd/decisions/effects/languages"
	"github.com/permd/permd/decisions/effects/programs"
	"github.com/permd/permd/decisions/effects/settings"
)

// spec handles a package of a registry; if it has extras in brackets, only the name
// counts.
func (v *invocation) spec(a argument) {
	if a.w.Glob && strings.ContainsAny(a.w.Text, "*?") {
		v.unknown(a.i, "a pattern whose files are not known: "+display.Display(display.ShowWord(&a.w)))
		return
	}
	v.packageSpec(a.i, a.w)
}

// endpoint handles a part of an address, or a full one.
func (v *invocation) endpoint(a argument) {
	if strings.Contains(a.w.Text, "://") {
		v.connect(programs.RoleConnects, a.i, a.w)
	}
}

// repoName handles the name of a repository, with or without its host.
func (v *invocation) repoName(a argument) {
	host, rest, _ := strings.Cut(a.w.Text, "/")
	address := strings.Contains(a.w.Text, "://")
	if !address && !strings.Contains(rest, "/") {
		return
	}
	if address {
		host = a.w.Text
	}
	v.b.Add(v.via(a.i, v.b.Paths.Connect(host, effects.MethodGet, v.at.From)))
}

// unpackFolder records the folder that an archive is unpacked to.
func (v *invocation) unpackFolder(a argument) {
	if a.w.Text != "" {
		v.unpackTo, v.unpackIn, v.filled = a.i, a.w.Text, true
	}
}

// unpack adds the write of everything below the folder that an archive is unpacked to.
// It may create links anywhere there.
func (v *invocation) unpack() {
	p := v.p
	switch {
	case p.UnpacksWith != nil && v.has(p.UnpacksWith):
	case p.UnpacksUnless != nil && !v.has(p.UnpacksUnless):
	default:
		return
	}
	// No word names the files that are written, so no rule covers them by a
	// prefix.
	v.changes = true
	v.run.Readonly = false
	v.markHarmfulFrom(0)
	arg, to := effects.Inherent, "."
	if v.filled {
		arg, to = v.unpackTo, v.unpackIn
	}
	e := v.below(v.b.Operand(effects.KindWrite, to, v.run.Cwd, v.at.From), true, false)
	e.Via = &effects.Via{Effect: v.index, Arg: arg}
	folder := ""
	if e.File != nil {
		folder = e.File.Path
	}
	v.b.Add(e)
	v.b.Rearranged = append(v.b.Rearranged, folder)
}

// archive handles the name of an archive, which some options write and all others
// read.
func (v *invocation) archive(i int, w effects.Word) {
	role := programs.RoleReads
	if v.has(v.p.ArchivesWith) || len(v.p.ArchivesWith) == 0 {
		role = programs.RoleWrites
	}
	// tar takes HOST:FILE as an archive on another machine.
	if head, _, ok := strings.Cut(w.Text, ":"); ok && !strings.Contains(head, "/") {
		v.unknown(i, "an archive on another machine: "+display.Display(display.ShowWord(&w)))
		return
	}
	// A change of the folder (-C) does not apply to the archive's own name.
	before, cwd := v.paths, v.run.Cwd
	v.run.Cwd = v.at.Cwd
	v.applyPath(role, i, w, false)
	if len(v.p.Completes) > 0 && role == programs.RoleWrites && w.Text != "" && w.Text != "-" && !strings.Contains(w.Text[strings.LastIndexByte(w.Text, '/')+1:], ".") {
		v.applyPath(role, i, effects.Word{Text: w.Text + v.p.Completes[0]}, false) // with the suffix that is added
	}
	v.paths, v.run.Cwd = before, cwd
}

// replacePacked handles a file that is replaced by its packed or unpacked form.
func (v *invocation) replacePacked(i int, w effects.Word) {
	// Of several modes, most programs use the last one: bzip2 -t -z packs.
	looks := v.has([]string{"--list", "--test"}) && !v.has([]string{"--compress", "--decompress"})
	deep := v.has(v.p.RecursiveWith)
	if looks || v.has([]string{"--stdout"}) {
		v.applyPath(programs.RoleReads, i, w, deep)
		return
	}
	if w.Glob {
		v.unknown(i, "a pattern whose files are not known: "+display.Display(display.ShowWord(&w)))
		return
	}
	v.applyPath(programs.RoleReads, i, w, deep)
	for _, name := range programs.PackedNames(v.run.Program, w.Text, v.has([]string{"--compress"}), v.has([]string{"--decompress"})) {
		v.applyPath(programs.RoleWrites, i, effects.Word{Text: name}, false)
	}
	if deep {
		v.applyPath(programs.RoleWrites, i, w, true)
	}
	if !v.has(v.p.KeepsWith) {
		v.applyPath(programs.RoleDeletes, i, w, deep)
	}
}

// mount handles a part of this machine that a container sees: SRC:DST[:OPTIONS], or
// type=bind,source=SRC and so on.
func (v *invocation) mount(i int, w effects.Word) {
	v.markHarmful(i)
	v.changes = true
	source, readonly, ok := languages.MountSource(w.Text)
	if !ok {
		v.unknown(i, "a mount that permd does not know: "+display.Display(display.ShowWord(&w)))
		return
	}
	if source == "" || !strings.ContainsAny(source[:1], "/.~") {
		return // a named volume
	}
	kind := effects.KindWrite
	if readonly {
		kind = effects.KindRead
	}
	e := v.b.Operand(kind, source, v.run.Cwd, v.at.From)
	v.b.Add(v.via(i, v.below(e, true, false)))
	if !readonly {
		v.passesOn(i, source) // the container reads it as well
	}
}

// copyOperand handles a word that is a path, or HOST:PATH.
func (v *invocation) copyOperand(role programs.Role, i int, w effects.Word) {
	host, rest, remote := strings.Cut(w.Text, ":")
	switch {
	case remote && host != "" && !strings.Contains(host, "/") && !v.b.Table.Shell.Network[v.run.Program]:
		// A container or pod, not a machine.
		v.changes = true
		v.markHarmful(i)
	case remote && host != "" && !strings.Contains(host, "/"):
		if strings.HasPrefix(rest, "//") && strings.Contains(w.Text, "://") {
			host = "" // a URL
		}
		method := effects.MethodGet
		if role == programs.RoleCopiesInto {
			method = effects.MethodSend
			v.changes = true
		}
		address := "ssh://" + host
		if host == "" {
			address = w.Text
		}
		v.b.Add(v.via(i, v.b.Paths.Connect(address, method, v.at.From)))
	case role == programs.RoleCopies:
		v.applyPath(programs.RoleReads, i, w, v.has(v.p.RecursiveWith))
		if v.has(v.p.DeletesWith) {
			v.applyPath(programs.RoleDeletes, i, w, v.has(v.p.RecursiveWith))
		}
	default:
		v.copyInto(i, w)
	}
}

// packageSpec handles what a package manager installs: a name in its registry, which is
// inherent, or a path or address.
func (v *invocation) packageSpec(i int, w effects.Word) {
	if v.p.Readonly && !w.Glob && settings.PlainSpec(w.Text) {
		return // it is only looked up
	}
	v.markHarmful(i)
	v.changes = true
	text := w.Text
	if at := strings.LastIndex(text, "@"); at > 0 && strings.ContainsAny(text[at:], "/:") {
		text = text[at+1:] // name@address
	}
	for _, head := range []string{"git+", "file:", "link:", "npm:", "github:", "jsr:"} {
		if rest, ok := strings.CutPrefix(text, head); ok {
			text = rest
			switch head {
			case "npm:", "jsr:":
				return
			case "github:":
				text = "https://github.com/" + rest
			}
		}
	}
	base, _, _ := strings.Cut(text, "[") // pip's extras
	switch {
	case strings.Contains(text, "://"):
		v.b.Add(v.via(i, v.b.Paths.Connect(text, effects.MethodGet, v.at.From)))
	case text == "." || text == ".." || strings.HasPrefix(text, "./") || strings.HasPrefix(text, "../") || strings.HasPrefix(text, "/") ||
		strings.HasPrefix(text, "~") || base == "." || slices.Contains([]string{".tgz", ".gz", ".whl", ".zip", ".deb", ".rpm"}, path.Ext(text)):
		v.b.Add(v.via(i, v.b.Operand(effects.KindRead, base, v.run.Cwd, v.at.From)))
	case strings.Count(text, "/") == 1 && text[0] != '@' && v.run.Program != "go":
		// To npm owner/name is a repository, to brew a tap.
		v.b.Add(v.via(i, v.b.Paths.Connect("https://github.com/"+text, effects.MethodGet, v.at.From)))
	}
}

// host handles the machine that a program logs in to.
func (v *invocation) host(i int, w effects.Word) {
	address := w.Text
	v.markHarmful(i)
	switch {
	case strings.HasPrefix(address, "/"):
		v.b.Add(v.via(i, v.b.Operand(effects.KindWrite, address, v.run.Cwd, v.at.From))) // a socket
		return
	case !strings.Contains(address, "://") && (v.run.Program == "ssh" || v.run.Program == "sftp"):
		address = "ssh://" + address
	}
	v.b.Add(v.via(i, v.b.Paths.Connect(address, effects.MethodSend, v.at.From)))
}

// form handles a part of a form that is sent (curl -F).
func (v *invocation) form(i int, w effects.Word) {
	v.send = true
	files, ok := languages.FormFiles(w.Text)
	if !ok {
		v.unknown(i, "files that are sent: "+display.Display(display.ShowWord(&w)))
	}
	for _, file := range files {
		if file != "-" {
			v.b.Add(v.via(i, v.b.Operand(effects.KindRead, file, v.run.Cwd, v.at.From)))
		}
	}
}

// fields handles the parameters of a request (gh api): they make it one that sends,
// unless its method only reads or it is a GraphQL query.
func (v *invocation) fields() {
	if len(v.queryParams) == 0 || v.method == "GET" || v.method == "HEAD" {
		v.fieldFiles()
		return
	}
	v.fieldFiles()
	if len(v.operands) > 0 && v.args[v.operands[0]].Text == "graphql" && v.method == "" && v.isGraphQLQuery() {
		return
	}
	v.changes, v.send = true, true
	for _, f := range v.queryParams {
		v.markHarmful(f.arg)
	}
}

// fieldFiles adds the reads of parameter values from files.
func (v *invocation) fieldFiles() {
	for _, f := range v.queryParams {
		if f.word.Dynamic() {
			v.dynamicWord(f.arg)
			continue
		}
		if _, value, ok := strings.Cut(f.word.Text, "="); ok && strings.HasPrefix(value, "@") && value != "@-" {
			v.b.Add(v.via(f.arg, v.b.Operand(effects.KindRead, value[1:], v.run.Cwd, v.at.From)))
		}
	}
}

// isGraphQLQuery reports whether the parameters contain exactly one GraphQL document, which
// only queries.
func (v *invocation) isGraphQLQuery() bool {
	found := false
	for _, f := range v.queryParams {
		name, value, _ := strings.Cut(f.word.Text, "=")
		if name != "query" {
			continue
		}
		value = strings.TrimSpace(value)
		// "mutation" anywhere counts: it may be the second operation.
		if found || f.word.Dynamic() || strings.Contains(value, "mutation") || strings.Contains(value, "subscription") ||
			!strings.HasPrefix(value, "query") && !strings.HasPrefix(value, "{") && !strings.HasPrefix(value, "fragment") {
			return false
		}
		found = true
	}
	return found
}

// assignments reads words that are all NAME=value (dd).
func (v *invocation) assignments() {
	for r := v.p.Read(v.args); r.More(); {
		if a := r.Next(); a.Kind == programs.ArgUnknown {
			v.dynamicWord(a.Index)
		}
		for use, ok := r.Option(); ok; use, ok = r.Option() {
			v.option(&use)
		}
	}
}

// moved says of a delete that its path is moved. The effect is not yet one of the call, which
// would be the one that changes the path.
func (v *invocation) moved(e *effects.Effect) {
	if e.Kind != effects.KindDelete || e.File == nil {
		return
	}
	switch mode, err := v.b.Paths.Lstat(e.File.Path); {
	case err != nil || v.b.Stale(e.File.Path):
		e.File.Moved = effects.MovedPath
	case mode.IsDir():
		e.File.Moved = effects.MovedFolder
	default:
		e.File.Moved = effects.MovedFile
	}
}
