package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/permd/permd/cmd/permd/internal/account"
	"github.com/permd/permd/cmd/permd/internal/buildinfo"
	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/cmd/permd/internal/daemon"
	"github.com/permd/permd/cmd/permd/internal/service"
	"github.com/permd/permd/internal/xdg"
	"github.com/permd/permd/packaging"
	"github.com/permd/permd/socket/admin"
	"github.com/permd/permd/socket/client"
	"github.com/permd/permd/socket/native"
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

// daemon calls the daemon on both sockets, as clients do.
func (x *examination) daemon(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	if !x.callSocket(ctx, "socket", false, native.MethodClose, map[string]string{"sessionId": "permd-doctor"}, nil) {
		return
	}
	var s daemon.Status
	if x.callSocket(ctx, "admin", true, admin.MethodStatus, struct{}{}, &s) {
		x.daemonState(&s)
		x.http(ctx, s.HTTP)
	}
}

// daemonState checks what the daemon reports about itself.
func (x *examination) daemonState(s *daemon.Status) {
	if v := buildinfo.Version(); s.Version != v {
		x.Warn("daemon", x.restart(), "it is version %s, pid %d, and this is %s", s.Version, s.PID, v)
	} else {
		x.OK("daemon", "version %s, pid %d, %s", s.Version, s.PID, cli.Plural(s.Sessions, "session"))
	}
	for i := range s.Unasked {
		if u := &s.Unasked[i]; u.Deny > 0 || u.Despite > 0 {
			x.Warn("agents", "permd log list --unasked --verdict deny", "%s", u.String())
		}
	}
	if s.Policy.Settings != "" {
		x.Error("daemon", "permd reload", "the settings could not be read, the former ones are in use: %s", s.Policy.Settings)
	}
	for i := range s.Policy.Layers {
		if l := &s.Policy.Layers[i]; l.Error != "" {
			x.Error("daemon", "permd reload", "the %s rules are not what their files say: %s", l.Layer, l.Error)
		}
	}
	if s.Journal.Failing != "" {
		x.Error("daemon", "df "+cli.Quote(x.dirs.Data), "decisions cannot be logged, so nothing is allowed: %s", s.Journal.Failing)
	}
	if r := &s.Journal.Retention; r.LowSpace {
		x.Warn("daemon", "df "+cli.Quote(x.dirs.Data), "%s", daemon.LowSpace(r))
	}
	if why := s.Journal.Retention.Failing; why != "" {
		x.Warn("daemon", "permd status", "old decisions cannot be removed from the journal: %s", why)
	}
	for _, m := range s.Unanswered {
		x.Warn("daemon", "permd status", "%s", daemon.UnansweredLine(m, time.Now()))
	}
	for _, d := range s.Stuck {
		x.Warn("daemon", "permd status", "%s", daemon.StuckLine(d, time.Now()))
	}
	for _, p := range s.Sockets {
		x.Error("daemon", cmp.Or(p.Hint, "ls -l "+cli.Quote(p.Path)), "clients do not find it: %s", p.Problem)
	}
	if s.SelfCheck != "" {
		x.Error("daemon", x.restart(), "its own check failed: %s", s.SelfCheck)
	}
	for _, why := range s.Memory.Degraded {
		x.Warn("daemon", "permd status", "the memory is degraded: %s", why)
	}
}

// callSocket calls a method on one of the sockets and adds a finding about it.
func (x *examination) callSocket(ctx context.Context, check string, management bool, method string, params, result any) bool {
	c, err := client.Connect(ctx, client.Options{Admin: management})
	if err != nil {
		fix := cli.HintOf(err, x.start())
		if fix == "start it with: permd serve" {
			fix = x.start()
		}
		x.Error(check, fix, "%v", err)
		return false
	}
	defer c.Close()
	if err := c.Call(ctx, method, params, result); err != nil {
		if errors.Is(err, context.DeadlineExceeded) {
			err = fmt.Errorf("it did not answer within %s", checkTimeout)
		}
		x.Error(check, x.restart(), "%s: %v", c.Path(), err)
		return false
	}
	info, err := os.Lstat(c.Path())
	if err == nil && info.Mode().Perm()&0o002 != 0 && !isMachineSocket(c.Path(), management) {
		x.Warn(check, "chmod go-rwx "+cli.Quote(c.Path()), "%s has mode %#o: only its folder keeps others out", c.Path(), info.Mode().Perm())
		return true
	}
	x.OK(check, "%s", c.Path())
	return true
}

// isMachineSocket reports whether a socket belongs to the machine's own daemon, which
// serves other users too.
func isMachineSocket(path string, management bool) bool {
	places, err := xdg.Sockets(xdg.FromOS(), management)
	if err != nil {
		return false
	}
	for _, p := range places {
		if p.Path == path && p.Machine {
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

func (x *examination) start() string {
	if x.unitsInstalled() {
		return "systemctl --user start " + packaging.DecisionSocket + " " + packaging.AdminSocket
	}
	return "permd serve"
}

func (x *examination) restart() string {
	if x.unitsInstalled() {
		return "systemctl --user restart " + packaging.Service
	}
	return "end it (kill -TERM PID) and start it again: permd serve"
}

// knownAgent is a program that can use permd, and where it keeps its settings.
type knownAgent struct {
	name     string
	programs []string
	files    []string // below the home folder
}

// knownAgents are the programs that agentPrograms looks for.
var knownAgents = []knownAgent{
	{"Claude Code", []string{"claude", "claude-agent-acp", "claude-code-acp"}, []string{".claude/settings.json", ".claude.json"}},
	{"Codex", []string{"codex", "codex-acp"}, []string{".codex/config.toml"}},
	{"Gemini CLI", []string{"gemini"}, []string{".gemini/settings.json"}},
	{"OpenCode", []string{"opencode"}, []string{".config/opencode/opencode.json", ".config/opencode/opencode.jsonc"}},
	{"Zed", []string{"zed", "zeditor"}, []string{".config/zed/settings.json"}},
	{"Cursor", []string{"cursor-agent", "cursor"}, []string{".cursor/cli-config.json", ".cursor/hooks.json"}},
	{"Copilot CLI", []string{"copilot"}, []string{".copilot/config.json"}},
	{"Goose", []string{"goose"}, []string{".config/goose/config.yaml"}},
	{"Qwen Code", []string{"qwen"}, []string{".qwen/settings.json"}},
	{"Kimi", []string{"kimi"}, []string{".kimi/config.toml", ".kimi/config.json"}},
}

// agentPrograms checks which agents and editors are installed.
func (x *examination) agentPrograms() {
	home := (&account.Users{}).Lookup(x.uid).Home
	found := 0
	for _, a := range knownAgents {
		var at []string
		for _, program := range a.programs {
			if path, err := exec.LookPath(program); err == nil {
				at = append(at, path)
				break
			}
		}
		for _, file := range a.files {
			path := filepath.Join(home, filepath.FromSlash(file))
			if info, err := os.Stat(path); err == nil && info.Mode().Type() != fs.ModeDir {
				at = append(at, path)
				break
			}
		}
		if len(at) > 0 {
			found++
			x.OK("clients", "%s: %s", a.name, strings.Join(at, ", "))
		}
	}
	if found == 0 {
		x.OK("clients", "no agent or editor that permd knows is installed")
	}
}
