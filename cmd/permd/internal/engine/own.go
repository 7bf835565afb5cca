package engine

import (
	"os"
	"path/filepath"
	"slices"

	"github.com/permd/permd/internal/xdg"
	"github.com/permd/permd/packaging"
)

// Sockets are the places where a daemon listens: in its own folders or where the service
// manager has bound them.
type Sockets struct {
	Decision, Management string
	HTTP                 string // a URL or the path of a socket, "" when HTTP is off
}

// ownPrograms returns the paths of the running program: the one it was started by,
// and that with all symbolic links resolved.
func ownPrograms() []string {
	exe, err := os.Executable()
	if err != nil {
		return nil // the name permd is still protected
	}
	paths := []string{exe}
	if real, err := filepath.EvalSymlinks(exe); err == nil && real != exe {
		paths = append(paths, real)
	}
	return paths
}

// programFolders returns the folders in which the user's shells look for programs: the
// daemon's own PATH and common additions to it.
func programFolders(home string) []string {
	folders := filepath.SplitList(os.Getenv("PATH"))
	folders = append(folders, "/usr/local/bin", "/usr/bin", "/bin", "/usr/local/sbin", "/usr/sbin", "/sbin", "/opt/homebrew/bin")
	if home != "" {
		for _, dir := range []string{".local/bin", "bin", "go/bin", ".cargo/bin"} {
			folders = append(folders, filepath.Join(home, dir))
		}
	}
	return folders
}

// ownFiles returns permd's own folders and files, as named and with links resolved.
func ownFiles(dirs xdg.Dirs, at Sockets) []string {
	units := []string{"permd.service", "permd.socket", "permd-admin.socket"}
	own := []string{dirs.Org, dirs.Config, dirs.Data, dirs.State, dirs.Run, dirs.Admin, dirs.HTTP,
		"/etc/permd", "/var/lib/permd", "/run/permd", "/run/permd-admin", "/run/permd-http"}
	for _, path := range []string{at.Decision, at.Management, at.HTTP} {
		if filepath.IsAbs(path) {
			own = append(own, path)
		}
	}
	if dirs.Agents != "" {
		own = append(own, filepath.Join(dirs.Agents, packaging.AgentFile))
	}
	for _, dir := range []string{
		"/etc/systemd/system", "/etc/systemd/user", "/usr/lib/systemd/system", "/usr/lib/systemd/user",
		filepath.Join(filepath.Dir(dirs.Config), "systemd", "user"),
	} {
		for _, u := range units {
			own = append(own, filepath.Join(dir, u), filepath.Join(dir, u+".d"))
		}
	}
	own = slices.DeleteFunc(own, func(path string) bool { return path == "" })
	for _, path := range own {
		// The folder itself may not exist yet, but its parent does.
		if dir, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
			if real := filepath.Join(dir, filepath.Base(path)); real != path {
				own = append(own, real)
			}
		}
		if real, err := filepath.EvalSymlinks(path); err == nil && real != path {
			own = append(own, real)
		}
	}
	return own
}
