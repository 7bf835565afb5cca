package runs

import (
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/paths"
	"github.com/permd/permd/decisions/effects/urls"
	"github.com/permd/permd/internal/wordset"
)

// requestSchemes are the schemes with which a program only requests something. With
// any other, parts of the address may be sent to the host.
var requestSchemes = wordset.Of("", "http", "https", "git", "oci", "docker", "svn")

// readsFileURL adds the read of a file URL, as curl interprets it: the scheme in any
// case, this machine by name or address, escapes decoded, query and fragment removed.
// Any other file URL is an unknown effect.
func (v *invocation) readsFileURL(i int, url string) {
	p, why := urls.FilePath(url)
	if why != "" {
		v.unknown(i, why)
		return
	}
	// curl removes dot segments from the path before it opens it; others do not.
	e := v.b.CheckLinks(v.b.Paths.Effect(effects.KindRead, paths.Request{AsWritten: p, Path: p, Cwd: v.run.Cwd, Follow: true, Both: true}, paths.BadPath(p), v.at.From))
	v.b.Add(v.via(i, e))
}
