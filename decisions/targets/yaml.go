package targets

import (
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/settings"
	"github.com/permd/permd/internal/lazy"
)

// format returns a format of settings in which only the given lines are plain (see
// settings.Format.Allow).
func format(name string, lines string) *settings.Format {
	f := settings.NewFormat(name)
	for line := range strings.SplitSeq(strings.TrimSpace(lines), "\n") {
		if !f.Allow(strings.TrimSpace(line)) {
			panic("targets: not a line of settings: " + line)
		}
	}
	return f
}

// plainTask is what a plain Taskfile says: nothing that includes files, reads variables from
// files or commands, or runs elsewhere.
var plainTask = sync.OnceValue(func() *settings.Format {
	return format("yaml", `
		version
		silent: yes
		vars.*
		env.*
		tasks
		tasks.*
		tasks.*.cmds
		tasks.*.cmds.cmd
		tasks.*.cmds.task: word
		tasks.*.cmds.silent: yes
		tasks.*.cmds.ignore_error: yes
		tasks.*.cmd
		tasks.*.desc
		tasks.*.summary
		tasks.*.aliases
		tasks.*.deps: word
		tasks.*.silent: yes
		tasks.*.internal: yes
		tasks.*.interactive: yes
		tasks.*.ignore_error: yes
		tasks.*.vars.*
		tasks.*.env.*
	`)
})

// bindTask binds a run of task to its Taskfile.
func bindTask(rd *reading, file string) *effects.Script {
	for dir := rd.cwd(); ; dir = path.Dir(dir) {
		for _, name := range []string{".taskrc.yml", ".taskrc.yaml"} {
			if rd.exists(path.Join(dir, name)) {
				rd.fail(name + " has settings of task")
			}
		}
		if dir == "/" || rd.exists(path.Join(dir, ".git")) {
			break
		}
	}
	text, _ := rd.read(file)
	if !plainTask().Plain(text) || taskAgain().Match(text) {
		rd.fail("the Taskfile is not plain")
	}
	return rd.wholeFile(file, text)
}

// taskAgain matches what a template or a command may read another Taskfile with.
var taskAgain = lazy.Regexp(`(?:^|[^A-Za-z0-9_.-])task[ \t]+-|\{\{[^}]*[^}A-Za-z0-9_. ][^}]*\}\}|[Rr]ead|[Ff]ile[ \t]|TASK_`)

// plainCompose is what a plain compose file says: nothing that names another file to read but
// the Dockerfile next to it, or a program of this machine to run.
var plainCompose = sync.OnceValue(func() *settings.Format {
	return format("yaml", `
		version
		name
		services
		services.*
		services.*.image
		services.*.build=.
		services.*.build.context=.
		services.*.build.target
		services.*.build.args.**
		services.*.build.args
		services.*.command
		services.*.entrypoint
		services.*.environment
		services.*.environment.*
		services.*.ports
		services.*.ports.*
		services.*.expose
		services.*.volumes
		services.*.volumes.**
		services.*.networks
		services.*.networks.**
		services.*.depends_on
		services.*.depends_on.**
		services.*.restart
		services.*.container_name
		services.*.hostname
		services.*.domainname
		services.*.user
		services.*.working_dir
		services.*.healthcheck.**
		services.*.labels
		services.*.labels.**
		services.*.logging.**
		services.*.deploy.**
		services.*.profiles
		services.*.tty
		services.*.stdin_open
		services.*.init
		services.*.read_only
		services.*.privileged
		services.*.cap_add
		services.*.cap_drop
		services.*.tmpfs
		services.*.ulimits.**
		services.*.sysctls
		services.*.sysctls.**
		services.*.shm_size
		services.*.mem_limit
		services.*.mem_reservation
		services.*.cpus
		services.*.pids_limit
		services.*.platform
		services.*.pull_policy
		services.*.stop_grace_period
		services.*.stop_signal
		services.*.extra_hosts
		services.*.extra_hosts.*
		services.*.dns
		services.*.network_mode
		services.*.ipc
		services.*.pid
		services.*.scale
		services.*.group_add
		services.*.attach
		volumes
		volumes.**
		networks
		networks.**
	`)
})

// plainEnv is a file of variables that sets none of compose or docker themselves.
var plainEnv = sync.OnceValue(func() *settings.Format { return settings.NewFormat("composeenv") })

// composeBeside are the files next to a compose file that are read without being named.
var composeBeside = []string{
	"compose.override.yaml", "compose.override.yml", "docker-compose.override.yml", "docker-compose.override.yaml", "Dockerfile", ".env",
}

// composeMore matches further names that are read where they are there, by podman-compose, or
// where file names have no case.
var composeMore = lazy.Regexp(`(?i)^(?:(?:docker-|podman-|container-)?compose(?:\.override)?\.ya?ml|containerfile|dockerfile)$`)

// bindCompose binds a run of compose to its file and those that it takes without being told.
func bindCompose(rd *reading, file string) *effects.Script {
	text, _ := rd.read(file)
	rd.plainComposeFile(file, text)
	dir, all, beside := path.Dir(file), text, slices.Clone(composeBeside)
	for _, name := range rd.names(dir) {
		if composeMore().MatchString(name) && path.Join(dir, name) != file && !slices.Contains(beside, name) {
			beside = append(beside, name)
		}
	}
	for _, name := range beside {
		more, there := rd.read(path.Join(dir, name))
		all = appendFile(all, name, more, there)
		switch {
		case !there || !strings.Contains(name, "."):
		case name == ".env":
			if !plainEnv().Plain(more) {
				rd.fail(".env may name other files")
			}
		default:
			rd.plainComposeFile(name, more)
		}
	}
	return rd.wholeFile(file, all)
}

func (rd *reading) plainComposeFile(file string, text []byte) {
	if !plainCompose().Plain(text) {
		rd.fail(path.Base(file) + " is not plain: it may name other files")
	}
}
