package effects

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"
	"syscall"
)

// Managers of versions (asdf, mise, proto, volta, pyenv and its like) put a
// program of theirs, a shim, in the place of others. Which program a shim becomes
// is said by files of the folder that it runs in and of all above. Such a file
// may name any folder of programs: mise 2026.9 runs jq from there when
// [tools] node = "path:/x" stands in a mise.toml that nobody has trusted. So the
// table says these files once, for all programs but those that no manager has.

// shims are the files that choose what runs.
type shims struct {
	files  []shimFile
	except map[string]bool // programs that no manager takes the place of
}

// shimFile is such a file, or a folder whose being there is enough.
type shimFile struct {
	path     []string // folded; the first may end or begin with what "*" stands for
	settings *settings
}

// maxChoosing is how many such names one folder may hold.
const maxChoosing = 64

// Chooser is a file system that knows which names in a folder may be those of
// files that choose what a shim becomes, without looking at it anew when it has not changed.
type Chooser interface {
	Choosing(dir string) ([]string, error)
}

// Choosing returns the names in a folder that may choose what a shim becomes.
func Choosing(fsys FS, dir string) ([]string, error) {
	if c, ok := fsys.(Chooser); ok {
		return c.Choosing(dir)
	}
	return listChoosing(fsys, dir)
}

func listChoosing(fsys FS, dir string) ([]string, error) {
	entries, err := fsys.Names(dir, maxEntries)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if !mayChoose(e.Name()) {
			continue
		}
		if len(names) >= maxChoosing {
			return nil, errors.New("too many files that choose versions")
		}
		names = append(names, strings.Clone(e.Name()))
	}
	slices.Sort(names)
	return names, nil
}

// mayChoose reports whether a name may be that of such a file: the names that
// [tableParser.shims] takes are among those.
func mayChoose(name string) bool {
	if strings.HasPrefix(name, ".") || len(name) >= 4 && strings.EqualFold(name[:4], "mise") {
		return true
	}
	for i := range len(name) {
		if name[i] >= 0x80 {
			return true // it may be another one when it is folded
		}
	}
	return false
}

// shims reads what the table says of them.
func (p *tableParser) shims(e *shimsEntry) error {
	if p.table.shims != nil {
		return errors.New("shims are described twice")
	}
	s := &shims{except: map[string]bool{}}
	for _, line := range e.Obeys {
		name, format, known := strings.Cut(line.text, " = ")
		f := shimFile{path: strings.Split(fold(name), "/")}
		if known {
			if f.settings = p.table.settings[format]; f.settings == nil {
				return line.errorf("file %q: unknown settings %q", name, format)
			}
		}
		if !mayChoose(f.path[0]) || strings.ContainsAny(name, " \t:=~") || path.Clean(name) != name || strings.Count(f.path[0], "*") > 1 ||
			strings.Contains(strings.Join(f.path[1:], ""), "*") || strings.HasPrefix(f.path[0], "*") {
			return line.errorf("file %q: expected NAME or NAME = SETTINGS", line.text)
		}
		s.files = append(s.files, f)
	}
	for _, name := range e.Except {
		if p.table.programs[name.text] == nil {
			return name.errorf("program %q is not in the table", name.text)
		}
		s.except[name.text] = true
	}
	p.table.shims = s
	return nil
}

// is reports whether the folded name is the first one of the file's path.
func (f *shimFile) is(name string) bool {
	head, tail, pattern := strings.Cut(f.path[0], "*")
	if !pattern {
		return name == head
	}
	return len(name) > len(head)+len(tail) && strings.HasPrefix(name, head) && strings.HasSuffix(name, tail)
}

// obeysShims returns a file that may choose another program than the one that is
// named, "" if there is none. A program at a path is no shim: the table knows
// only those of the system's folders by their paths.
func (v *invocation) obeysShims() string {
	s := v.b.w.Table.shims
	if s == nil || v.run.Executable != "" || s.except[v.run.Program] {
		return ""
	}
	at, why := v.b.res.base(v.run.Cwd)
	if why != "" || v.run.Cwd == "" || !path.IsAbs(at.path) {
		return "a file in a folder of which nothing is known"
	}
	dir := at.path
	if file := v.rewritesShims(s, dir); file != "" {
		return file
	}
	homes := v.b.res.session().homes
	root := v.b.res.project()
	if root == "" || !inside(root, dir) {
		root = dir
	}
	for range maxObeyedDepth {
		if !slices.Contains(homes, dir) {
			if file := v.choosesShim(s, dir, root); file != "" {
				return file
			}
		}
		if dir == "/" {
			return ""
		}
		dir = path.Dir(dir)
	}
	return "a file far above its folder"
}

// choosesShim is obeysShims for the files of one folder.
func (v *invocation) choosesShim(s *shims, dir, root string) string {
	names, err := v.b.res.choosing(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return v.choosesUnlisted(s, dir, root)
	}
	for _, name := range names {
		folded := fold(name)
		for i := range s.files {
			if f := &s.files[i]; f.is(folded) {
				if file := path.Join(dir, name, path.Join(f.path[1:]...)); !v.harmlessShim(f, file, root) {
					return file
				}
			}
		}
	}
	return ""
}

// choosesUnlisted is choosesShim for a folder whose names cannot be listed, as one
// that may only be searched: programs, too, can then only open names they know.
func (v *invocation) choosesUnlisted(s *shims, dir, root string) string {
	for i := range s.files {
		if f := &s.files[i]; !strings.Contains(f.path[0], "*") {
			if file := path.Join(dir, path.Join(f.path...)); !v.harmlessShim(f, file, root) {
				return file
			}
		}
	}
	return ""
}

// harmlessShim reports whether such a file is not there or says nothing but what
// is known to be harmless. rewritesShims has said whether the call changes it.
func (v *invocation) harmlessShim(f *shimFile, file, root string) bool {
	if _, err := v.b.res.lstat(file); err != nil && missing(err) {
		return true
	} else if f.settings == nil {
		return false
	}
	return v.harmlessFile(f.settings, file, root)
}

// rewritesShims returns a file that chooses what a shim becomes, of the folder or
// of one above, that an earlier call or part of the call may change; "" for none.
func (v *invocation) rewritesShims(s *shims, dir string) string {
	folded, found := "", ""
	v.b.mayChange(func(w string) bool {
		if folded == "" {
			folded = fold(dir)
		}
		if s.chosenBy(w, folded) {
			found = w
		}
		return found != ""
	})
	for _, moved := range v.b.rearranged {
		if moved == "" || inside(moved, dir) {
			return "a file that an earlier part of the call may change"
		}
	}
	return found
}

// chosenBy reports whether what is written, as in Disturbance, is or holds such a
// file of the folded folder or of one above.
func (s *shims) chosenBy(written, dir string) bool {
	if written == "" {
		return false
	}
	if strings.HasSuffix(written, "/") && strings.HasPrefix(dir+"/", written) {
		return true
	}
	above := written
	for above = strings.TrimRight(above, "/"); above != "" && above != "/"; above = path.Dir(above) {
		parent := path.Dir(above)
		if !inside(parent, dir) {
			continue
		}
		rest := strings.Split(strings.Trim(strings.TrimPrefix(written, strings.TrimRight(parent, "/")+"/"), "/"), "/")
		for i := range s.files {
			f := &s.files[i]
			n := min(len(rest), len(f.path))
			if n > 0 && f.is(rest[0]) && slices.Equal(rest[1:n], f.path[1:n]) && (len(rest) >= len(f.path) || strings.HasSuffix(written, "/")) {
				return true
			}
		}
	}
	return false
}

// choice is what a folder was found to hold.
type choice struct {
	dir   string
	names []string
	err   error
}

// choosing asks for the names in a folder that may choose what a shim becomes,
// once in a call.
func (r *resolver) choosing(dir string) ([]string, error) {
	for i := range r.choices {
		if r.choices[i].dir == dir {
			return r.choices[i].names, r.choices[i].err
		}
	}
	names, err := Choosing(r.fs, dir)
	if r.choices == nil {
		r.choices = make([]choice, 0, 8)
	}
	r.choices = append(r.choices, choice{dir, names, err})
	return names, err
}

// missing reports whether nothing is at a path; a path through what is no folder
// leads to nothing.
func missing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}
