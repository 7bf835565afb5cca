package userrules

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects/programs"
	"github.com/permd/permd/decisions/effects/tools"
	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/policy"
	"github.com/permd/permd/policy/diag"
	"github.com/permd/permd/rego"
	"github.com/permd/permd/socket"
)

// checkTime bounds compiling and testing the rules of one push.
const checkTime = 10 * time.Second

// Store keeps the rules of people. Its methods are safe for concurrent use.
type Store struct {
	// Dir returns the folder of a person's rules, in a folder of the person's own that only
	// the daemon can change.
	Dir func(uid uint32) string
	// Org is the folder of the organisation's rules.
	Org string
	// Load puts a person's rules in force.
	Load func(ctx context.Context, uid uint32) error
	// Record writes into the journal what a person has done, before it is in force.
	Record func(ctx context.Context, peer decisions.Peer, text string) error

	mu   sync.Mutex
	busy map[uint32]bool // whose rules are being checked or stored
	slot chan struct{}   // has room for as many checks as may run at once
}

// maxChecks is how many people's rules are checked at the same time, since each takes a processor
// and memory. One person has one of them, so that nobody else waits for who pushes on and on.
const maxChecks = 2

// errBusy refuses what a person asks for while their rules are being checked.
var errBusy = errors.New("other rules of yours are being checked: try again when that has ended")

// begin waits for its turn in the rules of a person, of whom there is one at a time.
func (s *Store) begin(ctx context.Context, uid uint32) (end func(), err error) {
	s.mu.Lock()
	if s.slot == nil {
		s.busy, s.slot = map[uint32]bool{}, make(chan struct{}, maxChecks)
	}
	was := s.busy[uid]
	s.busy[uid] = true
	s.mu.Unlock()
	if was {
		return nil, errBusy
	}
	ended := func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.busy, uid)
	}
	select {
	case s.slot <- struct{}{}:
	case <-ctx.Done():
		ended()
		return nil, ctx.Err()
	}
	return func() { <-s.slot; ended() }, nil
}

type run = func(context.Context) (any, error)

// Register adds the methods.
func (s *Store) Register(m socket.Methods) {
	m[MethodPush] = func(c *socket.Conn, params strictjson.Value) (run, error) {
		var p pushParams
		if err := strictjson.Unmarshal(params, &p); err != nil {
			return nil, socket.Refuse("%v", err)
		}
		if err := p.check(); err != nil {
			return nil, socket.Refuse("%v", err)
		}
		peer := c.Peer
		return func(ctx context.Context) (any, error) { return shown(s.push(ctx, peer, p.Files)) }, nil
	}
	m[MethodPull] = func(c *socket.Conn, params strictjson.Value) (run, error) {
		if err := strictjson.Unmarshal(params, &struct{}{}); err != nil {
			return nil, socket.Refuse("%v", err)
		}
		uid := c.Peer.UID
		return func(context.Context) (any, error) { return shown(s.pull(uid)) }, nil
	}
}

// shown returns an error that the person sees: what fails is the daemon's own disk.
func shown[T any](result T, err error) (any, error) {
	if err != nil {
		return nil, &socket.Error{Code: socket.CodeInternal, Message: err.Error()}
	}
	return result, nil
}

// push checks files as the daemon reads rules, and puts them in the place of those that there
// are. Nothing changes unless all of them are good.
func (s *Store) push(ctx context.Context, peer decisions.Peer, files []file) (done pushed, err error) {
	end, err := s.begin(ctx, peer.UID)
	if err != nil {
		return done, err
	}
	defer end()
	dir := s.Dir(peer.UID)
	own := filepath.Dir(dir)
	if err := os.MkdirAll(own, 0o700); err != nil {
		return done, fmt.Errorf("keeping the rules: %w", err)
	}
	// What a push that was cut off has left.
	fresh := filepath.Join(own, "new")
	if err := removeTree(fresh); err != nil {
		return done, fmt.Errorf("keeping the rules: %w", err)
	}
	defer func() { err = errors.Join(err, removeTree(fresh)) }()
	if err := write(fresh, files); err != nil {
		return done, fmt.Errorf("keeping the rules: %w", err)
	}
	done = pushed{Files: len(files), Problems: []diag.Problem{}}
	if len(files) > 0 {
		report, err := s.check(ctx, fresh)
		if err != nil {
			return done, err
		}
		done.Rules, done.Problems = report.Rules, report.Problems
		if !report.Passed() {
			return done, nil
		}
	}
	text := fmt.Sprintf("%d files of rules take the place of those before", len(files))
	if err := s.Record(ctx, peer, text); err != nil {
		return done, fmt.Errorf("nothing has changed: %w", err)
	}
	if err := exchange(fresh, dir); err != nil {
		return done, fmt.Errorf("keeping the rules: %w", err)
	}
	done.Stored = true
	if err := s.Load(ctx, peer.UID); err != nil {
		done.Waiting = err.Error()
	}
	return done, nil
}

// check compiles and tests rules. Their problems name files as the person does.
func (s *Store) check(ctx context.Context, dir string) (*policy.CheckReport, error) {
	ctx, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()
	table, err := programs.Shipped()
	if err != nil {
		return nil, fmt.Errorf("reading the program table: %w", err)
	}
	profiles, err := tools.ParseProfiles(rego.Profiles())
	if err != nil {
		return nil, fmt.Errorf("reading the agent profiles: %w", err)
	}
	// As permd policy check does, which reads descriptions of programs and agents, too.
	report, err := policy.Folder{Dir: dir, Layer: decisions.User, Schema: rego.InputSchema(), Org: existing(s.Org), Table: table, Profiles: profiles}.Check(ctx)
	if bad, ok := errors.AsType[*diag.Error](err); ok {
		report, err = &policy.CheckReport{Problems: bad.Problems}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("checking the rules: %w", err)
	}
	for i := range report.Problems {
		p := &report.Problems[i]
		p.File = strings.TrimPrefix(strings.TrimPrefix(p.File, dir), "/")
		p.Text, p.Hint = strings.ReplaceAll(p.Text, dir+"/", ""), strings.ReplaceAll(p.Hint, dir+"/", "")
	}
	return report, nil
}

func existing(dir string) string {
	if _, err := os.Stat(dir); err != nil {
		return ""
	}
	return dir
}

// pull returns a person's rules. It fails if they change meanwhile.
func (s *Store) pull(uid uint32) (pulled, error) {
	p := pulled{Files: []file{}}
	root, err := os.OpenRoot(s.Dir(uid))
	if errors.Is(err, fs.ErrNotExist) {
		return p, nil
	}
	if err != nil {
		return p, fmt.Errorf("reading the rules: %w", err)
	}
	defer func() { _ = root.Close() }() // nothing is written
	err = fs.WalkDir(root.FS(), ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		data, err := root.ReadFile(name)
		p.Files = append(p.Files, file{Name: name, Text: string(data)})
		return err
	})
	if err != nil {
		return p, fmt.Errorf("reading the rules: %w", err)
	}
	return p, nil
}

// write writes files, so that they survive a power cut.
func write(dir string, files []file) error {
	dirs := map[string]bool{dir: true}
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	for i := range files {
		path := filepath.Join(dir, filepath.FromSlash(files[i].Name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
		dirs[filepath.Dir(path)] = true
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return err
		}
		_, err = f.WriteString(files[i].Text)
		if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
			return err
		}
	}
	for d := range dirs {
		if err := syncDir(d); err != nil {
			return err
		}
	}
	return nil
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// exchange puts a folder in the place of another in one step. What was there is in the first
// one's place then.
func exchange(fresh, dir string) error {
	err := swap(fresh, dir)
	if errors.Is(err, unix.ENOENT) {
		err = os.Rename(fresh, dir) // there was none
	}
	if err != nil {
		return err
	}
	return syncDir(filepath.Dir(dir))
}

// removeTree removes a folder that write has made, and what is in it. It follows no link.
func removeTree(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if e.IsDir() {
			err = errors.Join(err, removeTree(path))
			continue
		}
		err = errors.Join(err, os.Remove(path))
	}
	if err != nil {
		return err
	}
	return os.Remove(dir)
}
