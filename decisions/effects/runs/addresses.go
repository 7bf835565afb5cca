package runs

import (
	"slices"
	"strings"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/display"
	"github.com/permd/permd/decisions/effects/git"
	"github.com/permd/permd/decisions/effects/paths"
	"github.com/permd/permd/decisions/effects/programs"
)

// connect adds the effect of an address.
func (v *invocation) connect(role programs.Role, i int, w effects.Word) {
	if w.Glob || paths.IsURLPattern(w.Text) {
		method := effects.MethodGet
		if role == programs.RoleSends || v.send {
			method = effects.MethodSend
		}
		v.b.Paths.MayConnect(w.Text, method, v.at.From)
		v.unknown(i, "an address that is a pattern: "+display.Display(display.ShowWord(&w)))
		return
	}
	if len(w.Text) >= 5 && strings.EqualFold(w.Text[:5], "file:") {
		v.readsFileURL(i, w.Text)
		return
	}
	url := w.Text
	if v.run.Program == "curl" {
		url = paths.GuessScheme(url)
	}
	method := effects.MethodGet
	if role == programs.RoleSends || v.send {
		method = effects.MethodSend
		v.changes = true
	}
	e := v.b.Paths.Connect(url, method, v.at.From)
	if c := e.Connect; c != nil {
		if !strings.Contains(url, "://") && c.Scheme != "" {
			v.unknown(i, "an address that programs read in two ways: "+display.Display(display.ShowWord(&w))) // wget takes HOST:PATH for FTP
			return
		}
		if !paths.RequestsOnly(c.Scheme) {
			e, v.changes = v.b.Paths.Connect(url, effects.MethodSend, v.at.From), true
		}
	}
	v.b.Add(v.via(i, e))
	if (role == programs.RoleDownload || v.has([]string{"--remote-name"})) && !v.has([]string{"--output-document"}) {
		v.download(i, w.Text)
	}
}

// readsFileURL adds the read of a file URL, as curl interprets it: the scheme in any
// case, this machine by name or address, escapes decoded, query and fragment removed.
// Any other file URL is an unknown effect.
func (v *invocation) readsFileURL(i int, url string) {
	p, why := paths.CurlFileURL(url)
	if why != "" {
		v.unknown(i, why)
		return
	}
	// curl removes dot segments from the path before it opens it; others do not.
	e := v.b.CheckLinks(v.b.Paths.Effect(effects.KindRead, paths.Request{AsWritten: p, Path: p, Cwd: v.run.Cwd, Follow: true, Both: true}, paths.BadPath(p), v.at.From))
	v.b.Add(v.via(i, e))
}

// download adds the write of a file named by the last part of a URL.
func (v *invocation) download(i int, url string) {
	v.changes = true
	if v.has([]string{"--remote-header-name", "--location"}) {
		v.unknown(i, "the server names the file that is written")
	}
	v.b.Add(v.via(i, v.b.Operand(effects.KindWrite, programs.DownloadName(url), v.run.Cwd, v.at.From)))
}

// image handles the name of a container image, or of a registry (docker login).
func (v *invocation) image(a argument) {
	if w := v.p.Wrapper; w != nil && w.Elsewhere && !a.option {
		v.runsUndescribed() // the image says what runs if no command follows, and what its name means
	}
	host, method := programs.ImageRegistry(v.subs, a.w.Text)
	if method == effects.MethodSend {
		v.change(a)
	}
	if host != "" {
		v.b.Add(v.via(a.i, v.b.Paths.Connect("https://"+host, method, v.at.From)))
	}
}

// remote handles the word that git fetches from or pushes to.
func (v *invocation) remote(i int, w effects.Word) {
	method := effects.MethodGet
	if len(v.subs) > 0 && v.subs[0] == "push" {
		method = effects.MethodSend
	}
	// git remote add and its like only note an address, which may be one of this machine.
	noted := slices.Contains(v.subs, "remote") && !slices.ContainsFunc(v.subs, func(s string) bool { return s == "show" || s == "prune" || s == "update" })
	add := func(address string) {
		if !noted {
			v.b.Add(v.via(i, v.b.Paths.Connect(address, method, v.at.From)))
		}
	}
	head, rest, colon := strings.Cut(w.Text, ":")
	switch {
	case strings.Contains(w.Text, "::"):
		v.unknown(i, "a remote helper, which may run any command")
	case strings.HasPrefix(rest, "//") && colon && !strings.EqualFold(head, "file"):
		add(w.Text)
	case colon && !strings.Contains(head, "/") && head != "" && !strings.HasPrefix(rest, "//"):
		// user@host:path is an ssh address.
		add("ssh://" + head + "/" + strings.TrimLeft(rest, "/"))
	case colon, strings.ContainsAny(w.Text, "/\\") || w.Text == "." || w.Text == "..",
		git.MayBeFolder(&v.b.Collector, v.index, v.run.Cwd, w.Text, noted || slices.Contains(v.subs, "clone")):
		v.unknown(i, "another repository, whose configuration may run commands: "+display.Display(display.ShowWord(&w)))
	case !noted:
		v.namedRemote(w.Text, method)
	}
}

// namedRemote adds the connection to a remote whose address is in the repository's
// configuration, which permd does not read. Its host is "", which no rule about hosts
// matches, and the effect is inherent to the run.
func (v *invocation) namedRemote(name, method string) {
	text := "connect to a git remote"
	if name != "" {
		text = "connect to the git remote " + display.Display(name)
	}
	v.b.Add(effects.Effect{
		Kind: effects.KindConnect, From: v.at.From, Text: text, Connect: &effects.Connect{Method: method},
		Via: &effects.Via{Effect: v.index, Arg: effects.Inherent},
	})
}

// fetches handles an address at the position of a path. A program that does more than
// read files may well fetch it; some read-only programs do too (kubectl get -f), but for
// these fetches returns false, because the word may also be a path.
func (v *invocation) fetches(i int, w effects.Word) bool {
	v.markHarmful(i)
	v.connect(programs.RoleConnects, i, w)
	return !v.p.Readonly
}

// completedNames adds the reads of files that the program tries if the named one does not
// exist: zcat notes reads notes.gz, which may be a link. Whether the file exists does
// not matter: an earlier part of the call may delete it.
func (v *invocation) completedNames(i int, w effects.Word, tree bool) {
	if len(v.p.Completes) == 0 {
		return
	}
	for _, ending := range v.p.Completes {
		e := v.b.Operand(effects.KindRead, w.Text+ending, v.run.Cwd, v.at.From)
		if e.File == nil || v.b.Changed(e.File.Path) || v.b.Exists(e.File.Path) {
			v.b.Add(v.via(i, v.below(e, tree, false)))
		}
	}
}
