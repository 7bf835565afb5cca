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

// Managers of versions (asdf, mise, proto, volta, pyenv and its like) put a
// program of theirs, a shim, in the place of others. Which program a shim becomes
// is said by files of the folder that it runs in and of all above. Such a file
// may name any folder of programs: mise 2026.9 runs jq from there when
// [tools] node = "path:/x" is in a mise.toml that nobody has trusted. So the
// table says these files once, for all programs but those that no manager has.

// Shims are the files that choose what runs.
type Shims struct {
	Files  []ShimFile
	except map[string]bool // programs that no manager takes the place of
}

// ShimFile is such a file, or a folder whose being there is enough.
type ShimFile struct {
	Path     []string // folded; the first may end or begin with what "*" stands for
	Settings *settings.Format
}

// shims reads what the table says about them.
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

// Is reports whether the folded name is the first one of the file's path.
func (f *ShimFile) Is(name string) bool {
	head, tail, pattern := strings.Cut(f.Path[0], "*")
	if !pattern {
		return name == head
	}
	return len(name) > len(head)+len(tail) && strings.HasPrefix(name, head) && strings.HasSuffix(name, tail)
}

// Excepts reports whether no manager takes the place of the program.
func (s *Shims) Excepts(program string) bool { return s.except[program] }

// ChosenBy reports whether what is written, as in Disturbance, is or holds such a
// file of the folded folder or of one above.
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
