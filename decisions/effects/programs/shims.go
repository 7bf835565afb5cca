package programs

import (
	"errors"
	"path"
	"slices"
	"strings"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/settings"
	"github.com/permd/permd/internal/lexpath"
)

// Version managers (asdf, mise, proto, volta, pyenv and others) replace programs by
// a program of theirs, a shim. Files in the working directory and its parents
// determine which program a shim runs. Such a file may name any folder of programs:
// mise 2026.9 runs jq from there when [tools] node = "path:/x" is in an untrusted
// mise.toml. So the table lists these files once, for all programs but those that no
// manager has.

// Shims are the files that determine which programs run.
type Shims struct {
	Files  []ShimFile
	except map[string]bool // programs that no manager replaces
}

// ShimFile is such a file, or a folder whose existence is enough.
type ShimFile struct {
	Path     []string // folded; the first may end or begin with what "*" stands for
	Settings *settings.Format
}

// shims parses the entry of the shims.
func (p *tableParser) shims(e *shimsEntry) error {
	if e == nil {
		return nil
	}
	if p.table.Shims != nil {
		return errors.New("shims are described twice")
	}
	s := &Shims{except: map[string]bool{}}
	for _, line := range e.Obeys {
		name, format, known := strings.Cut(line.text, " = ")
		f := ShimFile{Path: strings.Split(lexpath.Fold(name), "/")}
		if known {
			if f.Settings = p.table.settings[format]; f.Settings == nil {
				return line.errorf("file %q: unknown settings %q", name, format)
			}
		}
		if !effects.MayChoose(f.Path[0]) || strings.ContainsAny(name, " \t:=~") || path.Clean(name) != name || strings.Count(f.Path[0], "*") > 1 ||
			strings.Contains(strings.Join(f.Path[1:], ""), "*") || strings.HasPrefix(f.Path[0], "*") || f.Path[0] == ".." || f.Path[0] == "." {
			return line.errorf("file %q: expected NAME or NAME = SETTINGS", line.text)
		}
		s.Files = append(s.Files, f)
	}
	for _, name := range e.Except {
		if p.table.programs[name.text] == nil {
			return name.errorf("program %q is not in the table", name.text)
		}
		s.except[name.text] = true
	}
	p.table.Shims = s
	return nil
}

// Is reports whether the folded name is the first element of the file's path.
func (f *ShimFile) Is(name string) bool {
	head, tail, pattern := strings.Cut(f.Path[0], "*")
	if !pattern {
		return name == head
	}
	return len(name) > len(head)+len(tail) && strings.HasPrefix(name, head) && strings.HasSuffix(name, tail)
}

// Excepts reports whether no manager replaces the program.
func (s *Shims) Excepts(program string) bool { return s.except[program] }

// ChosenBy reports whether a written path, as in Disturbance, is or contains such a
// file of the folded folder or one of its parents.
func (s *Shims) ChosenBy(written, dir string) bool {
	if written == "" {
		return false
	}
	if strings.HasSuffix(written, "/") && strings.HasPrefix(dir+"/", written) {
		return true
	}
	above := written
	for above = strings.TrimRight(above, "/"); above != "" && above != "/"; above = path.Dir(above) {
		parent := path.Dir(above)
		if !lexpath.In(parent, dir) {
			continue
		}
		rest := strings.Split(strings.Trim(lexpath.Shorten(parent, written), "/"), "/")
		for i := range s.Files {
			f := &s.Files[i]
			n := min(len(rest), len(f.Path))
			if n > 0 && f.Is(rest[0]) && slices.Equal(rest[1:n], f.Path[1:n]) && (len(rest) >= len(f.Path) || strings.HasSuffix(written, "/")) {
				return true
			}
		}
	}
	return false
}
