// Package userrules is how a person gives rules to a daemon that serves several people:
// `permd policy push` sends the files over the management socket, and the daemon checks them
// and keeps them in a folder that is its own, as the rules of the peer's uid. No message
// names a uid, a folder or a link.
package userrules

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/permd/permd/internal/lazy"
	"github.com/permd/permd/policy/diag"
)

// The methods. They exist only where the daemon serves several people.
const (
	MethodPush = "permd/policy.push"
	MethodPull = "permd/policy.pull"
)

// file is a file of rules.
type file struct {
	Name string `json:"name"` // below the folder, with slashes
	Text string `json:"text"`
}

// pushParams are the files that take the place of those that there are; none removes all.
type pushParams struct {
	Files []file `json:"files"`
}

// pushed is the result of a push.
type pushed struct {
	Stored   bool           `json:"stored"` // else the problems say why not, and nothing has changed
	Files    int            `json:"files"`
	Rules    int            `json:"rules"`
	Problems []diag.Problem `json:"problems"`
	// Waiting says why the rules are stored, and not in force yet; "" if they are.
	Waiting string `json:"waiting,omitzero"`
}

// pulled is the result of a pull.
type pulled struct {
	Files []file `json:"files"`
}

// Bounds of what one person has.
const (
	maxFiles = 256
	maxBytes = 1 << 20 // of all files together
	maxDepth = 4       // names in a path
	maxName  = 64      // bytes of each
)

var plainName = lazy.Regexp(`^[A-Za-z0-9_][A-Za-z0-9_.-]*$`)

// check returns an error for files that cannot be kept.
func (p *pushParams) check() error {
	if len(p.Files) > maxFiles {
		return fmt.Errorf("there are more than %d files", maxFiles)
	}
	size := 0
	names := map[string]bool{}
	for i := range p.Files {
		f := &p.Files[i]
		if err := checkName(f.Name, plainName()); err != nil {
			return err
		}
		if size += len(f.Text); size > maxBytes {
			return fmt.Errorf("the files are longer than %d KiB together", maxBytes>>10)
		}
		if names[f.Name] {
			return errors.New("two files have one name")
		}
		names[f.Name] = true
	}
	for name := range names {
		for i := range name {
			if name[i] == '/' && names[name[:i]] {
				return errors.New("a file is in the place of a folder")
			}
		}
	}
	return nil
}

// checkName refuses each name that could lead out of the folder, or mean something else to
// somebody else.
func checkName(name string, plain *regexp.Regexp) error {
	parts := strings.Split(name, "/")
	if len(parts) > maxDepth || slices.ContainsFunc(parts, func(s string) bool { return len(s) > maxName || !plain.MatchString(s) }) {
		return fmt.Errorf("a name of a file must have at most %d parts of at most %d letters, digits, dots, - and _", maxDepth, maxName)
	}
	return nil
}
