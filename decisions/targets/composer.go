package targets

import (
	"path"
	"slices"
	"strings"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/internal/lazy"
	"github.com/permd/permd/internal/strictjson"
)

// bindComposer binds a run of composer to its scripts, and one that installs packages to all
// that composer.json says, and to the lock file.
func bindComposer(rd *reading, file string) *effects.Script {
	text, there := rd.read(file)
	o, ok := jsonObject(text)
	if !there || !ok {
		rd.fail("composer.json may be read in several ways")
		return nil
	}
	word := scriptWord(rd.run)
	scripts, _ := o.Get("scripts")
	var all strictjson.Object
	if scripts != nil {
		var err error
		if all, err = strictjson.ParseObject(scripts); err != nil {
			rd.fail("the scripts of composer.json are not understood")
			return nil
		}
	}
	for _, m := range all {
		switch {
		case phpCallback().Match(m.Value):
			rd.fail("the script " + clipped(m.Name) + " is PHP code of the project")
		case runsElsewhere().Match(m.Value):
			rd.fail("the script " + clipped(m.Name) + " runs what further files name")
		}
	}
	var bound []byte
	switch _, named := all.Get(word); {
	case named:
		compact := scripts.Clone()
		if compact.Compact() != nil {
			return nil
		}
		bound = compact
		if config, ok := o.Get("config"); ok {
			bound = appendFile(bound, "config", config, true)
		}
	case slices.Contains([]string{"install", "update", "require", "remove", "dump-autoload", "dumpautoload", "reinstall", "upgrade", "bump"}, word):
		if repositories, ok := o.Get("repositories"); ok && pathRepository().Match(repositories) {
			rd.fail("a package lies in the project")
		}
		bound = rd.appendLock(slices.Clip(text), path.Join(path.Dir(file), "composer.lock"))
	default:
		rd.fail("composer.json has no script " + clipped(word))
	}
	if rd.why != "" {
		return nil
	}
	s := sum(file, bound)
	s.What, s.Text = scriptsPiece(nil, all)
	return s
}

var (
	phpCallback    = lazy.Regexp(`"[A-Za-z0-9_\\]*(?:::|\\)[A-Za-z0-9_\\:]*"|\\u`)
	pathRepository = lazy.Regexp(`"path"|\\u|"artifact"|file:`)
)

// scriptWord returns the word of a run of composer that may name a script.
func scriptWord(r *effects.Run) string {
	for i, w := range r.Args {
		switch {
		case strings.HasPrefix(w, "-"):
		case (w == "run" || w == "run-script") && i+1 < len(r.Args):
			return r.Args[i+1]
		default:
			return w
		}
	}
	return ""
}
