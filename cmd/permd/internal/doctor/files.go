package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/permd/permd/cmd/permd/internal/account"
	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/cmd/permd/internal/daemon"
	"github.com/permd/permd/cmd/permd/internal/engine"
	"github.com/permd/permd/cmd/permd/internal/files"
	"github.com/permd/permd/decisions/effects/mounts"
	"github.com/permd/permd/decisions/journal"
	"github.com/permd/permd/internal/sqlitedb"
	"github.com/permd/permd/internal/xdg"
	"github.com/permd/permd/policy"
	"github.com/permd/permd/remember"
)

// environment checks the variables that permd reads.
func (x *examination) environment() {
	for _, name := range x.dirs.Ignored {
		x.Warn("variables", "unset "+name, "%s is set to a value that is not used: it must be an absolute path%s", name,
			cli.Either(name == "XDG_RUNTIME_DIR", " of a folder that is yours alone", ""))
	}
	for _, name := range []string{"PERMD_SOCKET", "PERMD_ADMIN_SOCKET"} {
		if v := os.Getenv(name); v != "" {
			x.OK("variables", "%s sends clients to %s and nowhere else", name, v)
		}
	}
}

// folders checks who may change the contents of permd's folders.
func (x *examination) folders() {
	for _, f := range []struct {
		dir       string
		forbidden fs.FileMode
	}{
		{x.dirs.Config, x.othersWrite(x.dirs.Config)}, // rules are no secret, but nobody else's to write
		{x.dirs.Data, 0o077},
		{x.dirs.Run, 0o077},
		{x.dirs.Admin, 0o077},
		{x.dirs.HTTP, 0o077},
	} {
		err := xdg.CheckOwn(f.dir, x.uid, f.forbidden)
		untrusted, bad := errors.AsType[*xdg.UntrustedError](err)
		switch {
		case f.dir == x.dirs.HTTP && errors.Is(err, fs.ErrNotExist):
			// HTTP is off by default.
		case err == nil:
			x.OK("folders", "%s", f.dir)
		case bad:
			x.Error("folders", files.RepairCommand(untrusted.Path, f.dir, x.uid), "%v", untrusted)
		case errors.Is(err, fs.ErrNotExist):
			x.OK("folders", "%s is not there yet: it is made when it is needed", f.dir)
		default:
			x.Error("folders", "ls -ld "+cli.Quote(f.dir), "looking at %s: %v", f.dir, err)
		}
	}
	settings := filepath.Join(x.dirs.Config, account.SettingsName)
	x.privateFile(settings, x.othersWrite(settings), "go-w")
	for _, name := range databaseNames {
		x.privateFile(filepath.Join(x.dirs.Data, name), 0o077, "go-rwx")
	}
}

func (x *examination) othersWrite(file string) fs.FileMode {
	info, err := os.Stat(file)
	if err != nil {
		return 0o022
	}
	return files.OthersWrite(info, x.uid)
}

// privateFile checks the mode of a file, if it exists.
func (x *examination) privateFile(file string, forbidden fs.FileMode, change string) {
	info, err := os.Stat(file)
	if err == nil && info.Mode().Perm()&forbidden != 0 {
		x.Error("folders", "chmod "+change+" "+cli.Quote(file), "%s has mode %#o, so others may use it", file, info.Mode().Perm())
	}
}

// settings checks permd.toml of org and user, and reports whether they can be
// used.
func (x *examination) settings() bool {
	if _, err := account.ReadSettings(x.dirs, mounts.New()); err != nil {
		x.Error("settings", cli.HintOf(err, "correct the file, or move it away"), "%v", err)
		return false
	}
	n := 0
	for _, dir := range []string{x.dirs.Org, x.dirs.Config} {
		file := filepath.Join(dir, account.SettingsName)
		if _, err := os.Stat(file); err == nil {
			n++
			x.OK("settings", "%s", file)
		}
	}
	if n == 0 {
		x.OK("settings", "the defaults: there is no %s (permd init writes one)", filepath.Join(x.dirs.Config, account.SettingsName))
	}
	return true
}

// rules compiles the rules as a daemon that starts now would, and runs their
// tests.
func (x *examination) rules(ctx context.Context) {
	store, err := engine.OpenRules(ctx, x.dirs, x.root != "", nil)
	if err != nil {
		x.Error("rules", cli.HintOf(err, "permd policy check "+cli.Quote(filepath.Join(x.dirs.Org, account.PolicyDir))), "%v", err)
		return
	}
	status := store.Status()
	for i := range status.Layers {
		l := &status.Layers[i]
		line := strings.Join(strings.Fields(daemon.LayerLine(l)), " ")
		check := "permd policy check"
		if len(l.Paths) > 0 {
			check += " " + cli.Quote(l.Paths[0])
		}
		switch {
		case l.State == policy.StateDegraded:
			fix := check
			if len(l.Problems) > 0 && l.Problems[0].Hint != "" {
				fix = l.Problems[0].Hint
			}
			x.Error("rules", fix, "%s", line)
		case len(l.Warnings) > 0:
			x.Warn("rules", check, "%s, the first: %s", line, l.Warnings[0])
		default:
			x.OK("rules", "%s", line)
		}
	}
	if status.Watching != "" {
		x.Warn("rules", "sysctl fs.inotify", "changes are found within 20 seconds only: %s", status.Watching)
	}
}

// databaseNames are the databases in the data folder.
var databaseNames = []string{"decisions.db", "remember.db"}

// databases checks the databases, while the daemon may be running.
func (x *examination) databases(ctx context.Context) {
	for _, name := range databaseNames {
		path := filepath.Join(x.dirs.Data, name)
		info, err := os.Stat(path)
		if errors.Is(err, fs.ErrNotExist) {
			x.OK("databases", "%s is not there yet: permd serve makes it", path)
			continue
		}
		if err == nil {
			err = checkDatabase(ctx, path)
		}
		switch {
		case err == nil:
			x.OK("databases", "%s, %d KiB", path, (info.Size()+1023)/1024)
		case errors.Is(err, context.DeadlineExceeded):
			x.OK("databases", "%s, no damage found in %s; it was not read to its end", path, checkTimeout)
		case errors.Is(err, sqlitedb.ErrNewer):
			x.Error("databases", "use the permd that wrote it", "%v", err)
		case errors.Is(err, sqlitedb.ErrForeign):
			x.Error("databases", "mv "+cli.Quote(path)+" "+cli.Quote(path+".old"), "%v", err)
		case sqlitedb.IsDamaged(err):
			x.Error("databases", "start the daemon again: it sets the file aside and goes on with a new one", "%v", err)
		default:
			x.Error("databases", "ls -l "+cli.Quote(path), "%v", err)
		}
	}
	aside, err := filepath.Glob(filepath.Join(x.dirs.Data, "*.damaged*"))
	if err == nil && len(aside) > 0 {
		x.Warn("databases", "look at it, then move it elsewhere", "a damaged database was set aside: %s", aside[0])
	}
}

// checkDatabase reads a whole database.
func checkDatabase(ctx context.Context, path string) (err error) {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	// First check whether this version can read it. Neither check writes.
	if filepath.Base(path) == databaseNames[0] {
		err = checkJournal(path)
	} else {
		err = remember.Check(path)
	}
	if err != nil {
		return err
	}
	db, err := sqlitedb.OpenDamaged(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	var result string
	if err := db.QueryRowContext(ctx, "PRAGMA quick_check(1)").Scan(&result); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return fmt.Errorf("checking %s: %w", path, err)
	}
	if result != "ok" {
		return fmt.Errorf("checking %s: %w: %s", path, sqlitedb.ErrDamaged, result)
	}
	return nil
}

func checkJournal(path string) error {
	r, err := journal.OpenReadOnly(journal.Options{Path: path})
	if errors.Is(err, sqlitedb.ErrOlder) {
		return nil // the daemon migrates it
	}
	if err != nil {
		return err
	}
	return r.Close()
}
