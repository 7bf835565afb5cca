// Package launchd takes the sockets that launchd has opened for this process on macOS, by
// launch_activate_socket(3) of the system's library. On other systems there are none.
package launchd

import (
	"fmt"
	"os"
	"syscall"
)

// Files takes over the sockets of an agent that have these names, each as a file with its
// name, and a name twice if the agent has two sockets of it. It returns none if launchd did
// not start this process, or has no sockets of these names for it. A socket can be taken once
// by a process; after an error, the ones that were taken are closed.
func Files(names ...string) ([]*os.File, error) { return collect(activate, names) }

// activate returns the descriptors of the sockets with a name, and 0 or an error number.
type activator func(name string) ([]int32, syscall.Errno, error)

// collect is Files with the function of the system.
func collect(activate activator, names []string) (files []*os.File, err error) {
	defer func() {
		if err != nil {
			for _, f := range files {
				_ = f.Close() // it was only taken
			}
			files = nil
		}
	}()
	for _, name := range names {
		fds, number, err := activate(name)
		for _, fd := range fds {
			syscall.CloseOnExec(int(fd))
			files = append(files, os.NewFile(uintptr(fd), name))
		}
		switch {
		case err != nil:
			return files, fmt.Errorf("taking the socket %s of launchd: %w", name, err)
		case number == syscall.ESRCH, number == syscall.ENOENT:
			continue // launchd did not start this process; it has no socket of that name
		case number != 0:
			return files, fmt.Errorf("taking the socket %s of launchd: %w", name, number)
		}
	}
	return files, nil
}
