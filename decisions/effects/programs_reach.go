package effects

import (
	"path"
	"strings"
)

// connects adds the effect of an address.
func (v *invocation) connects(does act, i int, w word) {
	if w.glob || isURLPattern(w.text) {
		v.unknown(i, "an address that is a pattern: "+Display(showWord(&w)))
		return
	}
	if len(w.text) >= 5 && strings.EqualFold(w.text[:5], "file:") {
		v.readsFileURL(i, w.text)
		return
	}
	url := w.text
	if v.run.Program == "curl" {
		url = guessScheme(url)
	}
	method := MethodGet
	if does == actSends || v.send {
		method = MethodSend
		v.changes = true
	}
	e := v.b.res.connect(url, method, v.at.from)
	if c := e.Connect; c != nil {
		if !strings.Contains(url, "://") && c.Scheme != "" {
			v.unknown(i, "an address that programs read in two ways: "+Display(showWord(&w))) // wget takes HOST:PATH for FTP
			return
		}
		if !gettingSchemes[c.Scheme] {
			e, v.changes = v.b.res.connect(url, MethodSend, v.at.from), true
		}
	}
	v.b.add(v.via(i, e))
	if (does == actDownload || v.has([]string{"--remote-name"})) && !v.has([]string{"--output-document"}) {
		v.download(i, w.text)
	}
}

// download adds the write of a file named like the last part of a URL.
func (v *invocation) download(i int, url string) {
	v.changes = true
	_, rest, ok := strings.Cut(url, "://")
	if !ok {
		rest = url
	}
	rest, _, _ = strings.Cut(rest, "?")
	rest, _, _ = strings.Cut(rest, "#")
	name := path.Base(rest)
	if !strings.Contains(rest, "/") || strings.HasSuffix(rest, "/") || strings.Contains(name, "%") {
		name = "index.html"
	}
	if v.has([]string{"--remote-header-name", "--location"}) {
		v.unknown(i, "the server names the file that is written")
	}
	v.b.add(v.via(i, v.b.operand(KindWrite, name, v.run.Cwd, v.at.from)))
}

// remote handles the word that names where git fetches from or pushes to.
func (v *invocation) remote(i int, w word) {
	method := MethodGet
	if len(v.subs) > 0 && v.subs[0] == "push" {
		method = MethodSend
	}
	head, rest, colon := strings.Cut(w.text, ":")
	switch {
	case strings.Contains(w.text, "::"):
		v.unknown(i, "a remote helper, which may run any command")
	case strings.HasPrefix(rest, "//") && colon && !strings.EqualFold(head, "file"):
		v.b.add(v.via(i, v.b.res.connect(w.text, method, v.at.from)))
	case colon && !strings.Contains(head, "/") && head != "" && !strings.HasPrefix(rest, "//"):
		// user@host:path is ssh.
		v.b.add(v.via(i, v.b.res.connect("ssh://"+head+"/"+strings.TrimLeft(rest, "/"), method, v.at.from)))
	case colon, strings.ContainsAny(w.text, "/\\") || w.text == "." || w.text == "..":
		v.unknown(i, "another repository, whose configuration may run commands: "+Display(showWord(&w)))
	default:
		v.namedRemote(w.text, method)
	}
}

// namedRemote adds the connection to a remote whose address stands in the
// repository's configuration, which permd does not read. Its host is "": no
// rule about a host matches it, and it is inherent to the run.
func (v *invocation) namedRemote(name, method string) {
	text := "connect to a git remote"
	if name != "" {
		text = "connect to the git remote " + Display(name)
	}
	v.b.add(Effect{
		Kind: KindConnect, From: v.at.from, Text: text, Connect: &Connect{Method: method},
		Via: &Via{Effect: v.index, Arg: Inherent},
	})
}

// foreignRepository adds an Unknown effect when the run would obey the
// configuration of a repository other than the project's: a repository's
// configuration can name programs to run. git takes any folder that has a HEAD,
// refs and objects for a repository, wherever it lies in the project.
func (v *invocation) foreignRepository() {
	cwd, root := v.run.Cwd, v.b.res.project()
	if v.b.changesGit() || root != "" && v.b.makesRepository(root) && !v.Exists(root+"/.git") {
		v.b.unknown(v.at.from, "an earlier part of the call changes what git obeys, which may run commands")
		v.changes = true
		return
	}
	if cwd == v.b.c.Cwd && cwd != "" && (root == "" || root == cwd) && !v.isBare(cwd) {
		return
	}
	if root != "" && cwd != "" {
		for dir := v.folderOf(cwd); ; dir = path.Dir(dir) {
			if dir == root && !v.isBare(root) {
				return
			}
			if dir == "/" || dir == "" || v.Exists(dir+"/HEAD") || v.b.makesRepository(dir) {
				break
			}
			if v.Exists(dir + "/.git") {
				if v.b.res.where(dir).Has(Worktree) {
					return // it is of the same repository
				}
				break
			}
		}
	}
	v.b.unknown(v.at.from, "a repository other than the project's, whose configuration may run commands")
	v.changes = true
}

// isBare reports whether git may take a folder itself for a repository: whoever
// can write files there then says what git runs.
func (v *invocation) isBare(dir string) bool {
	return v.Exists(dir+"/HEAD") && !v.Exists(dir+"/.git")
}

func (v *invocation) Exists(file string) bool {
	_, err := v.b.res.lstat(file)
	return err == nil
}

// folderOf resolves the run's folder, "" when that is not known.
func (v *invocation) folderOf(cwd string) string {
	e := v.b.res.operand(KindRead, cwd, "", v.at.from)
	if e.File == nil {
		return ""
	}
	return e.File.Path
}

// fetches handles an address where the table has a path. A program that does
// more than read files may well fetch it, and of those that only look some do
// (kubectl get -f): to these it is a path as well, and fetches reports false.
func (v *invocation) fetches(i int, w word) bool {
	v.harm(i)
	v.connects(actConnects, i, w)
	return !v.p.readonly
}

// completed adds the reads of files that the program tries in the place of one
// that is not there: zcat notes reads notes.gz, which may be a link. Whether the
// file is there does not matter: an earlier part of the call may delete it.
func (v *invocation) completed(i int, w word, tree bool) {
	if len(v.p.completes) == 0 {
		return
	}
	for _, ending := range v.p.completes {
		e := v.b.operand(KindRead, w.text+ending, v.run.Cwd, v.at.from)
		if e.File == nil || v.Changed(e.File.Path) || v.Exists(e.File.Path) {
			v.b.add(v.via(i, v.below(e, tree, false)))
		}
	}
}
