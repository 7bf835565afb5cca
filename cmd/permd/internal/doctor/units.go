package doctor

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/cmd/permd/internal/service"
)

// units checks the units that permd service install writes.
func (x *examination) units() {
	manager := service.Here()
	if manager == nil {
		return
	}
	dir := manager.Dir(x.dirs)
	var missing []string
	var unit []byte
	changed, links := 0, 0
	for _, name := range manager.Names {
		path := filepath.Join(dir, name)
		data, there, own, err := service.ReadUnit(path)
		switch {
		case err != nil:
			x.Error("units", "ls -l "+cli.Quote(path), "%v", err)
			return
		case !there:
			missing = append(missing, name)
		case data == nil:
			links++
			x.Warn("units", "permd service install --force", "%s is a link, not a unit of permd's: it may be masked", path)
		case !own:
			changed++
			x.OK("units", "%s was changed by hand", path)
		}
		unit = data // of the last one, which starts the program
	}
	if len(missing) == len(manager.Names) {
		x.OK("units", "none: permd service install writes them, so that %s keeps the daemon running", manager.Name)
		return
	}
	if len(missing) > 0 {
		x.Error("units", "permd service install", "%s is missing in %s", strings.Join(missing, " and "), dir)
		return
	}
	if links > 0 {
		return
	}
	program, plain := manager.Program(string(unit))
	if plain && !x.program(manager, program) {
		return
	}
	if changed == 0 && plain && x.unitsOutdated(manager, program) {
		x.Warn("units", manager.Again("--exec "+cli.Quote(program)), "they are from another version of permd")
	}
	for _, link := range manager.Links(x.dirs) {
		if _, err := os.Lstat(link); err != nil {
			x.Warn("units", manager.Enable,
				"%s is not enabled: the daemon is not there after the next login", filepath.Base(link))
			return
		}
	}
	x.OK("units", "installed in %s and enabled", dir)
}

// program checks the program that the service starts.
func (x *examination) program(manager *service.Manager, path string) bool {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		x.Error("units", manager.Again(""), "the service starts a program that is not there: %v", err)
	case !info.Mode().IsRegular() || info.Mode().Perm()&0o100 == 0:
		x.Error("units", manager.Again(""), "the service starts %s, which is not a program", path)
	case info.Mode().Perm()&0o002 != 0:
		x.Error("units", "chmod o-w "+cli.Quote(path), "everybody can change the program that the service starts: %s", path)
	default:
		return true
	}
	return false
}

// unitsOutdated reports whether this permd would write different units.
func (x *examination) unitsOutdated(manager *service.Manager, program string) bool {
	units, err := manager.Units(program, x.dirs)
	if err != nil {
		return false
	}
	for _, u := range units {
		data, err := os.ReadFile(filepath.Join(manager.Dir(x.dirs), u.Name))
		if err != nil || string(data) != string(service.Marked(u.Text)) {
			return true
		}
	}
	return false
}

// unitsInstalled reports whether there are units for this user.
func (x *examination) unitsInstalled() bool {
	manager := service.Here()
	return manager != nil && manager.Installed(x.dirs)
}
