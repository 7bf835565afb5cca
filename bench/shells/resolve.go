//go:build linux

package main

import (
	"path"
	"strings"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/internal/lexpath"
)

// maxLinks bounds how many links of a path are followed.
const maxLinks = 20

// resolve follows the links of a tree in the folders of a path, and if last is set,
// in its last element too.
func (t *tree) resolve(p string, last bool) string {
	done := "/"
	for rest := strings.Split(strings.Trim(p, "/"), "/"); len(rest) > 0; {
		next := path.Join(done, rest[0])
		rest = rest[1:]
		target, link := t.link(next)
		if !link || len(rest) == 0 && !last {
			done = next
			continue
		}
		if len(rest) > maxLinks {
			return p
		}
		if !path.IsAbs(target) {
			target = path.Join(done, target)
		}
		if lexpath.In(next, target) {
			return p // the link leads to itself
		}
		rest, done = append(strings.Split(strings.Trim(target, "/"), "/"), rest...), "/"
	}
	return done
}

// link returns where a path of the tree leads, if it is a link.
func (t *tree) link(p string) (target string, ok bool) {
	rest, ok := lexpath.RelBelow(home, p)
	if !ok {
		return "", false
	}
	return strings.CutPrefix(t.files[rest], "-> ")
}

// sameFolder compares a folder of an effect with one that was seen, in which links
// are already followed.
func (v *verdict) sameFolder(want, have string) bool {
	return want == have || trees[v.tree].resolve(want, true) == have
}

// reaches is like touches, for a path that may lead through links of the tree.
func (v *verdict) reaches(p string, kinds ...effects.Kind) bool {
	t := &trees[v.tree]
	return v.touches(p, kinds...) || v.touches(t.resolve(p, false), kinds...) || v.touches(t.resolve(p, true), kinds...)
}

// changes reports whether the decision has an effect that writes or deletes a path.
func (v *verdict) changes(p string) bool { return v.reaches(p, effects.KindWrite, effects.KindDelete) }
