package effects

import (
	"path"
	"slices"
	"strings"
)

// applyOther adds the effects of words that mean a path, an address or both,
// depending on how they are written.
func (v *invocation) applyOther(does act, i int, w word, option bool) {
	if w.glob && does != actPacks && does != actCopies && (does != actSpec || strings.ContainsAny(w.text, "*?")) {
		v.unknown(i, "a pattern whose files are not known: "+Display(w.show()))
		return
	}
	switch does {
	case actArchive:
		v.archive(i, w)
	case actPacks:
		v.packs(i, w)
	case actMount:
		v.mount(i, w)
	case actCopies, actCopiesInto:
		v.copies(does, i, w)
	case actSpec:
		v.packageSpec(i, w)
	case actHost:
		v.host(i, w)
	case actEndpoint:
		if strings.Contains(w.text, "://") {
			v.connects(actConnects, i, w)
		}
	case actSQL:
		v.sql(i, w, option)
	case actDatabase:
		v.database(i, w)
	case actObject:
		if v.thin(w) {
			v.unknown(i, "an archive whose members may lie anywhere: "+Display(w.show()))
		}
		v.applyOther(actSources, i, w, option)
	case actSources, actViewed:
		if why := noFile(does, w.text); why != "" {
			v.unknown(i, why+": "+Display(w.show()))
			return
		}
		v.applyPath(actReads, i, w, v.p.recursive)
	case actName:
		if w.glob || !v.isName(w.text) {
			v.unknown(i, "a name that may lead to a file: "+Display(w.show()))
		}
	case actRepoName:
		if host, rest, _ := strings.Cut(w.text, "/"); strings.Contains(w.text, "://") || strings.Contains(rest, "/") {
			if strings.Contains(w.text, "://") {
				host = w.text
			}
			v.b.add(v.via(i, v.b.res.connect(host, MethodGet, v.at.from)))
		}
	case actUnpackTo:
		if w.text != "" {
			v.unpackTo, v.unpackIn, v.filled = i, w.text, true
		}
	}
}

// unpack adds the write of all below the folder that an archive is unpacked to.
// It may put links anywhere there.
func (v *invocation) unpack() {
	p := v.p
	switch {
	case p.unpacksWith != nil && v.has(p.unpacksWith):
	case p.unpacksUnless != nil && !v.has(p.unpacksUnless):
	default:
		return
	}
	// Which files it writes no word says, so no rule covers them by its
	// beginning.
	v.changes = true
	v.run.Readonly = false
	v.harmFrom(0)
	arg, to := Inherent, "."
	if v.filled {
		arg, to = v.unpackTo, v.unpackIn
	}
	if v.run.Cwd == "" && !strings.HasPrefix(to, "/") {
		v.b.rearranged = append(v.b.rearranged, "")
		return // the run's unknown folder already says so
	}
	e := v.below(v.b.operand(KindWrite, to, v.run.Cwd, v.at.from), true, false)
	e.Via = &Via{Effect: v.index, Arg: arg}
	folder := ""
	if e.File != nil {
		folder = e.File.Path
	}
	v.b.add(e)
	v.b.rearranged = append(v.b.rearranged, folder)
}

// archive handles the name of an archive, which some options write and the
// others read.
func (v *invocation) archive(i int, w word) {
	does := actReads
	if v.has(v.p.archivesWith) || len(v.p.archivesWith) == 0 {
		does = actWrites
	}
	// tar takes HOST:FILE for an archive on another machine.
	if head, _, ok := strings.Cut(w.text, ":"); ok && !strings.Contains(head, "/") {
		v.unknown(i, "an archive on another machine: "+Display(w.show()))
		return
	}
	// A change of the folder (-C) does not count for the archive's own name.
	before, cwd := v.paths, v.run.Cwd
	v.run.Cwd = v.at.cwd
	v.applyPath(does, i, w, false)
	if len(v.p.completes) > 0 && does == actWrites && w.text != "" && w.text != "-" && !strings.Contains(path.Base(w.text), ".") {
		v.applyPath(does, i, word{text: w.text + v.p.completes[0]}, false) // the name that it gets
	}
	v.paths, v.run.Cwd = before, cwd
}

// packSuffixes are the ends of the names that packers give.
var packSuffixes = []string{".gz", ".bz2", ".xz", ".zst", ".lz4", ".Z", ".tgz"}

// packs handles a file in whose place its packed or unpacked form is put.
func (v *invocation) packs(i int, w word) {
	// Of several modes the last counts, to most of them: bzip2 -t -z packs.
	looks := v.has([]string{"--list", "--test"}) && !v.has([]string{"--compress", "--decompress"})
	if looks || v.has([]string{"--stdout"}) {
		v.applyPath(actReads, i, w, false)
		return
	}
	if w.glob {
		v.unknown(i, "a pattern whose files are not known: "+Display(w.show()))
		return
	}
	deep := v.has(v.p.recursiveWith)
	v.applyPath(actReads, i, w, deep)
	name := w.text
	cut := false
	for _, suffix := range packSuffixes {
		if plain, ok := strings.CutSuffix(name, suffix); ok && plain != "" {
			name, cut = plain, true
			break
		}
	}
	if !cut {
		name += packSuffix(v.run.Program)
	}
	if deep {
		name = w.text
	}
	v.applyPath(actWrites, i, word{text: name}, deep)
	if !v.has(v.p.keepsWith) {
		v.applyPath(actDeletes, i, w, deep)
	}
}

func packSuffix(program string) string {
	switch {
	case strings.Contains(program, "bz"):
		return ".bz2"
	case strings.Contains(program, "xz"):
		return ".xz"
	case strings.Contains(program, "zst"):
		return ".zst"
	}
	return ".gz"
}

// mount handles what a container sees of this machine: SRC:DST[:OPTIONS], or
// type=bind,source=SRC and so on.
func (v *invocation) mount(i int, w word) {
	v.harm(i)
	v.changes = true
	source, rest, bare := strings.Cut(w.text, ":")
	readonly := false
	if strings.Contains(w.text, "=") && !strings.HasPrefix(w.text, "/") && !strings.HasPrefix(w.text, ".") {
		source = ""
		for part := range strings.SplitSeq(w.text, ",") {
			name, value, _ := strings.Cut(part, "=")
			switch name {
			case "source", "src":
				source = value
			case "readonly", "ro":
				readonly = value == "" || value == "true" || value == "1"
			case "type", "target", "dst", "destination", "consistency", "bind-propagation":
			default:
				v.unknown(i, "a mount that permd does not know: "+Display(w.show()))
				return
			}
		}
	} else {
		if !bare {
			return // a volume of the container's own
		}
		if at := strings.LastIndexByte(rest, ':'); at >= 0 {
			readonly = slices.Contains(strings.Split(rest[at+1:], ","), "ro")
		}
	}
	if source == "" || !strings.ContainsAny(source[:1], "/.~") {
		return // a volume by its name
	}
	kind := KindWrite
	if readonly {
		kind = KindRead
	}
	e := v.b.operand(kind, source, v.run.Cwd, v.at.from)
	v.b.add(v.via(i, v.below(e, true, false)))
}

// copies handles a word that is a path, or HOST:PATH.
func (v *invocation) copies(does act, i int, w word) {
	host, rest, remote := strings.Cut(w.text, ":")
	switch {
	case remote && host != "" && !strings.Contains(host, "/") && !v.b.w.Table.shell.network[v.run.Program]:
		// A container or pod, not a machine.
		v.changes = true
		v.harm(i)
	case remote && host != "" && !strings.Contains(host, "/"):
		if strings.HasPrefix(rest, "//") && strings.Contains(w.text, "://") {
			host = "" // a URL
		}
		method := MethodGet
		if does == actCopiesInto {
			method = MethodSend
			v.changes = true
		}
		address := "ssh://" + host
		if host == "" {
			address = w.text
		}
		v.b.add(v.via(i, v.b.res.connect(address, method, v.at.from)))
	case does == actCopies:
		v.applyPath(actReads, i, w, v.has(v.p.recursiveWith))
		if v.has(v.p.deletesWith) {
			v.applyPath(actDeletes, i, w, v.has(v.p.recursiveWith))
		}
	default:
		v.into(i, w)
	}
}

// packageSpec handles what a package manager installs: a name of its registry,
// which is inherent, or a path or address.
func (v *invocation) packageSpec(i int, w word) {
	if v.p.readonly && !w.glob && plainSpec(w.text) {
		return // it is looked up and nothing more
	}
	v.harm(i)
	v.changes = true
	text := w.text
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
		v.b.add(v.via(i, v.b.res.connect(text, MethodGet, v.at.from)))
	case text == "." || text == ".." || strings.HasPrefix(text, "./") || strings.HasPrefix(text, "../") || strings.HasPrefix(text, "/") ||
		strings.HasPrefix(text, "~") || base == "." || slices.Contains([]string{".tgz", ".gz", ".whl", ".zip", ".deb", ".rpm"}, path.Ext(text)):
		v.b.add(v.via(i, v.b.operand(KindRead, base, v.run.Cwd, v.at.from)))
	case strings.Count(text, "/") == 1 && text[0] != '@' && v.run.Program != "go":
		// npm takes owner/name for a repository, brew for a tap.
		v.b.add(v.via(i, v.b.res.connect("https://github.com/"+text, MethodGet, v.at.from)))
	}
}

// host handles the machine that a program logs in to.
func (v *invocation) host(i int, w word) {
	address := w.text
	v.harm(i)
	switch {
	case strings.HasPrefix(address, "/"):
		v.b.add(v.via(i, v.b.operand(KindWrite, address, v.run.Cwd, v.at.from))) // a socket
		return
	case !strings.Contains(address, "://") && (v.run.Program == "ssh" || v.run.Program == "sftp"):
		address = "ssh://" + address
	}
	v.b.add(v.via(i, v.b.res.connect(address, MethodSend, v.at.from)))
}

// form handles a part of a form that is sent (curl -F).
func (v *invocation) form(i int, w word) {
	v.send = true
	_, value, _ := strings.Cut(w.text, "=")
	if value == "" || value[0] != '@' && value[0] != '<' {
		return
	}
	file, _, _ := strings.Cut(value[1:], ";")
	switch {
	case file == "-":
	case strings.ContainsAny(file, `",\`):
		v.unknown(i, "files that are sent: "+Display(w.show()))
	default:
		v.b.add(v.via(i, v.b.operand(KindRead, file, v.run.Cwd, v.at.from)))
	}
}

// fields decides what the parameters of a request make of it (gh api): one that
// sends, unless its method only asks or it is a GraphQL query.
func (v *invocation) fields() {
	if len(v.asked) == 0 || v.method == "GET" || v.method == "HEAD" {
		v.fieldFiles()
		return
	}
	v.fieldFiles()
	if len(v.operands) > 0 && v.args[v.operands[0]].text == "graphql" && v.method == "" && v.queries() {
		return
	}
	v.changes, v.send = true, true
	for _, f := range v.asked {
		v.harm(f.arg)
	}
}

// fieldFiles adds the reads of parameters whose value stands in a file.
func (v *invocation) fieldFiles() {
	for _, f := range v.asked {
		if f.word.dynamic() {
			v.dynamicWord(f.arg)
			continue
		}
		if _, value, ok := strings.Cut(f.word.text, "="); ok && strings.HasPrefix(value, "@") && value != "@-" {
			v.b.add(v.via(f.arg, v.b.operand(KindRead, value[1:], v.run.Cwd, v.at.from)))
		}
	}
}

// queries reports whether the parameters hold one GraphQL document, and it only
// queries.
func (v *invocation) queries() bool {
	found := false
	for _, f := range v.asked {
		name, value, _ := strings.Cut(f.word.text, "=")
		if name != "query" {
			continue
		}
		value = strings.TrimSpace(value)
		// "mutation" anywhere is enough: it may be the second operation.
		if found || f.word.dynamic() || strings.Contains(value, "mutation") || strings.Contains(value, "subscription") ||
			!strings.HasPrefix(value, "query") && !strings.HasPrefix(value, "{") && !strings.HasPrefix(value, "fragment") {
			return false
		}
		found = true
	}
	return found
}

// assignments reads words that are all NAME=value (dd).
func (v *invocation) assignments() {
	for i := range v.args {
		w := &v.args[i]
		if w.dynamic() || w.glob {
			v.dynamicWord(i)
			continue
		}
		name, value, ok := strings.Cut(w.text, "=")
		o := v.p.options[name]
		if o == nil || ok != (o.arity != arityNone) {
			v.unknownOption(i, name)
			continue
		}
		v.flag(o)
		v.value(o, i, word{text: value})
	}
}
