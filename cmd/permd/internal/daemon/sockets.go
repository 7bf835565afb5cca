package daemon

import (
	"sync"

	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/socket"
)

// SocketProblem is why clients do not find the daemon at a socket's path.
type SocketProblem struct {
	Socket  string `json:"socket"` // "decision", "admin" or "http"
	Path    string `json:"path"`
	Problem string `json:"problem"`
	Hint    string `json:"hint,omitzero"`
}

// socketFiles are the files of the sockets that the daemon listens on.
type socketFiles struct {
	mu       sync.Mutex
	all      []socketFile
	problems []SocketProblem
}

type socketFile struct {
	name     string
	listener *socket.Listener
}

// add adds a socket. The names are those of permd_connections.
func (f *socketFiles) add(name string, l *socket.Listener) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.all = append(f.all, socketFile{name, l})
}

// list returns the problems that were found last.
func (f *socketFiles) list() []SocketProblem {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.problems
}

// repair looks whether the files are in their places, and returns the paths of those that
// were not and are again.
func (f *socketFiles) repair() (bound []string) {
	f.mu.Lock()
	all := f.all
	f.mu.Unlock()
	var problems []SocketProblem
	for _, s := range all {
		anew, err := s.listener.Repair()
		if anew {
			bound = append(bound, s.listener.Path())
		}
		if err != nil {
			problems = append(problems, SocketProblem{s.name, s.listener.Path(), err.Error(), cli.HintOf(err, "")})
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.problems = problems
	return bound
}
