package doctor

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/cmd/permd/internal/service"
	"github.com/permd/permd/packaging"
)

// units checks the units that permd service install writes.
func (x *examination) units() {
	dir := service.Dir(x.dirs)
	var missing []string
	var unit []byte
	changed, links := 0, 0
	for _, name := range service.UnitNames {
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
		if name == packaging.Service {
			unit = data
		}
	}
	if len(missing) == len(service.UnitNames) {
		x.OK("units", "none: permd service install writes them, so that systemd keeps the daemon running")
		return
	}
	if len(missing) > 0 {
		x.Error("units", "permd service install", "%s is missing in %s", strings.Join(missing, " and "), dir)
		return
	}
	if links > 0 {
		return
	}
	program, plain := packaging.Program(string(unit))
	if plain && !x.program(program) {
		return
	}
	if changed == 0 && plain && unitsOutdated(dir, program) {
		x.Warn("units", "permd service install --exec "+cli.Quote(program)+" && systemctl --user daemon-reload", "they are from another version of permd")
	}
	for _, link := range service.Links(dir) {
		if _, err := os.Lstat(link); err != nil {
			x.Warn("units", "systemctl --user enable --now "+packaging.DecisionSocket+" "+packaging.AdminSocket,
				"%s is not enabled: the daemon is not there after the next login", filepath.Base(link))
			return
		}
	}
	x.OK("units", "installed in %s and enabled", dir)
}

// program checks the program that the service starts.
func (x *examination) program(path string) bool {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		x.Error("units", "permd service install && systemctl --user daemon-reload", "the service starts a program that is not there: %v", err)
	case !info.Mode().IsRegular() || info.Mode().Perm()&0o100 == 0:
		x.Error("units", "permd service install && systemctl --user daemon-reload", "the service starts %s, which is not a program", path)
	case info.Mode().Perm()&0o002 != 0:
		x.Error("units", "chmod o-w "+cli.Quote(path), "everybody can change the program that the service starts: %s", path)
	default:
		return true
	}
	return false
}

// unitsOutdated reports whether this permd would write different units.
func unitsOutdated(dir, program string) bool {
	units, err := packaging.UserUnits(program)
	if err != nil {
		return false
	}
	for _, u := range units {
		data, err := os.ReadFile(filepath.Join(dir, u.Name))
		if err != nil || string(data) != string(service.Marked(u.Text)) {
			return true
		}
	}
	return false
}

// unitsInstalled reports whether there are units for this user.
func (x *examination) unitsInstalled() bool {
	_, err := os.Lstat(filepath.Join(service.Dir(x.dirs), packaging.DecisionSocket))
	return err == nil
}
