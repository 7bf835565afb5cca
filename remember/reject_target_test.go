//go:build cgo

package remember_test

import (
	"testing"

	"github.com/permd/permd/decisions"
)

// TestRejectOfTargetsAndScripts: a rejected target is denied also next to others, with
// variables and by another name of make, and a rejected script also where the shell runs
// it itself. A rule allows everything.
func TestRejectOfTargetsAndScripts(t *testing.T) {
	for rejected, c := range map[string]struct{ denied, allowed []string }{
		"make ship": {
			[]string{"make ship", "make lint ship", "make ship lint", "make ship X=1", "make X=1 ship", "make -j4 lint ship", "gmake ship", "gmake -s lint ship", "nice make lint ship", "make -C . lint ship", "make .DEFAULT_GOAL=ship", "make ./ship", "make .//./ship", "make", "make -s", "make X=1", "nice make -j 4", "gmake", "make -f Makefile", "make -C .", "cd sub; make -C .."},
			[]string{"make lint", "make lint all", "make shipping lint", "make lint SHIP=ship", "gmake lint", "make ./lint", "make ./sub/ship", "make -C sub", "make -f sub/lint.mk", "make -n lint"},
		},
		"just ship":    {[]string{"just ship", "just lint ship", "just", "cd sub && just", "just -q"}, []string{"just lint", "just lint x"}},
		"rake ship":    {[]string{"rake ship", "rake lint ship", "rake 'ship[1]'"}, []string{"rake lint", "rake", "rake 'lint[ship]'"}},
		"rake default": {[]string{"rake", "rake -q", "rake lint default"}, []string{"rake lint"}},
		"task default": {[]string{"task", "task -s", "task lint default"}, []string{"task lint"}},
		"./tool.sh": {
			[]string{"./tool.sh", ". ./tool.sh", "source ./tool.sh", ". tool.sh", "bash -c '. ./tool.sh'", "cd sub && . ../tool.sh", "make SHELL=./tool.sh lint", "make lint CC='./tool.sh -O2'", ". ./link.sh", "echo x; . $PWD/tool.sh"},
			[]string{". ./other.sh", ". sub/tool.sh", "cat tool.sh", "./other.sh", "make lint CC=gcc V=1"},
		},
	} {
		a, allow := rejecting(t, map[string]string{
			"/p/Makefile": "ship:\n\ttrue\nlint:\n\ttrue\n", "/p/tool.sh": "#!/bin/sh\n", "/p/other.sh": "#!/bin/sh\n", "/p/sub/tool.sh": "#!/bin/sh\n",
			"/p/sub/Makefile": "lint:\n\ttrue\nship:\n\ttrue\n", "/p/sub/lint.mk": "lint:\n\ttrue\n", "/p/justfile": "ship:\n  true\nlint:\n  true\n",
		})
		a.fs().Link("/p/link.sh", "tool.sh")
		a.reject(t, a.in(t, "/p", rejected), "project")
		allow(anything)
		for _, command := range c.denied {
			wantVerdict(t, a.in(t, "/p", command), decisions.Deny, rejected+" rejected: "+command)
		}
		for _, command := range c.allowed {
			wantVerdict(t, a.in(t, "/p", command), decisions.Allow, rejected+" rejected: "+command)
		}
	}
}

// TestRejectThroughOtherPrograms: what is rejected is denied also where another program
// runs it: one that runs its operands, a sub-command that does what others do, a variable,
// an option, or a program that permd does not know. A rule allows everything.
func TestRejectThroughOtherPrograms(t *testing.T) {
	for rejected, c := range map[string]struct{ denied, allowed []string }{
		"make ship": {
			[]string{
				"flock lock make ship", "flock -n lock make ship", "flock lock -c 'make ship'", "flock -w 5 lock sh -c 'make ship'", "setpriv --no-new-privs make ship",
				"setpriv --reuid 1000 --clear-groups make ship", "choom -n 0 -- make ship", "linux64 make ship", "env - make ship", "env - A=1 make ship",
				"xvfb-run -a make ship", "fakeroot -- make ship", "faketime '2020-01-01' make ship", "systemd-run --user --scope -p MemoryMax=1G make ship",
				"su -c 'make ship'", "su - bob -c 'make ship'", "runuser -u bob -- make ship", "runuser -u bob -c 'make ship'", "script -qc 'make ship' /dev/null",
				"script -q /dev/null -c 'make ship'", "tmux new -d 'make ship'", "frob --exec 'make ship'",
				"chroot / make ship", "chroot --userspec=1:1 /jail make ship", "chroot / sh -c 'make ship'", "gdb --args make ship", "gdb -ex '!make ship'", "gdb -batch -ex 'shell make ship' a",
			},
			[]string{"flock lock make lint", "flock lock -c 'make lint'", "setpriv --no-new-privs make lint", "script -qc 'make lint' /dev/null", "su -c 'make lint'", "tmux new -d 'make lint'", "frob make ship", "chroot / make lint", "gdb --args make lint"},
		},
		"npm run ship": {
			[]string{"npm run --if-present true ship", "npm run-script --if-present true ship", "npm --no-fund false run ship"},
			[]string{"npm run build", "npm run --if-present build ship", "npm run build -- --x true ship"},
		},
		"touch notes.txt": {
			[]string{"sponge notes.txt", "frob notes.txt", "frob x --out=notes.txt", "frob -o sub/../notes.txt", "frob ./sub/link.txt", "npm run build -- --write notes.txt", "task lint notes.txt",
				"ar -M <<'E'\nCREATE notes.txt\nADDMOD sub/x\nSAVE\nE", "printf 'OPEN notes.txt\\n' | ar -M"},
			[]string{"frob notes", "frob sub/notes.txt", "cat notes.txt", "grep notes.txt sub/x", "frob sub", "frob 'notes.txt is old'"},
		},
		"touch new.txt": {
			[]string{"sponge new.txt", "frob -o ./new.txt", "frob out=sub/../new.txt"},
			[]string{"frob new", "frob sub/new.txt", "frob 'new.txt: x'", "ls new.txt"},
		},
		"mkdir out": {[]string{"frob ./out", "frob --to=./out"}, []string{"frob out", "frob ./other"}},
		"npm test": {
			[]string{"npm it", "npm install-test", "npm cit", "npm install-ci-test", "npm sit", "npm it --silent"},
			[]string{"npm install", "npm ci", "npm start"},
		},
		"./tool.sh": {
			[]string{
				"flock lock ./tool.sh", "setpriv ./tool.sh", "linux64 ./tool.sh", "script -qc ./tool.sh /dev/null", "env - ./tool.sh", "su -c ./tool.sh",
				"frob ./tool.sh", "frob x sub/../tool.sh", "frob -c ./tool.sh", "vim -c '!./tool.sh'", "PAGER=./tool.sh git log", "npm_config_script_shell=./tool.sh npm run build",
				"run-parts .", "run-parts --regex x ./sub/..", "chroot . ./tool.sh", "chroot / sub/../tool.sh",
			},
			[]string{"run-parts sub", "frob ./notes.txt", "frob tool.sh", "frob ./other.sh", "cat ./tool.sh", "chmod +x ./tool.sh", "PAGER=less git log"},
		},
	} {
		a, allow := rejecting(t, map[string]string{
			"/p/Makefile": "ship:\n\ttrue\nlint:\n\ttrue\n", "/p/tool.sh": "#!/bin/sh\n", "/p/other.sh": "#!/bin/sh\n", "/p/notes.txt": "", "/p/sub/x": "",
			"/p/package.json": `{"scripts":{"test":"true","build":"true","start":"true"}}`,
		})
		for _, script := range []string{"/p/tool.sh", "/p/other.sh"} {
			a.fs().Own(script, 1000, 0o755)
		}
		a.fs().Link("/p/sub/link.txt", "../notes.txt")
		a.reject(t, a.in(t, "/p", rejected), "project")
		allow(anything)
		for _, command := range c.denied {
			wantVerdict(t, a.in(t, "/p", command), decisions.Deny, rejected+" rejected: "+command)
		}
		for _, command := range c.allowed {
			wantVerdict(t, a.in(t, "/p", command), decisions.Allow, rejected+" rejected: "+command)
		}
	}
}
