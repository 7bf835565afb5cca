package runs

import (
	"strings"

	"github.com/permd/permd/internal/wordset"
)

// runnerWords are words with the same meaning to all test runners that know them: run
// once, the amount of output, run in one process.
var runnerWords = wordset.Fields(`
	--watch=false --watchAll=false --no-watch --run --ci --silent --quiet --verbose --bail --coverage --no-coverage --passWithNoTests
	--runInBand --color --no-color --watch=0 --reporter=dot --reporter=verbose`)

// harmlessGitConfig reports whether a setting for one run of git only changes the
// format of its output. The value of a pager or editor is a program.
func harmlessGitConfig(setting string) bool {
	key, value, _ := strings.Cut(setting, "=")
	key = strings.ToLower(key)
	switch key {
	case "core.quotepath", "core.abbrev", "core.commentchar", "log.date", "log.decorate", "log.abbrevcommit", "diff.noprefix", "diff.mnemonicprefix",
		"diff.renames", "diff.renamelimit", "diff.context", "diff.algorithm", "diff.colormoved", "status.short", "status.branch",
		"status.showuntrackedfiles", "status.relativepaths", "init.defaultbranch", "merge.conflictstyle", "column.ui", "grep.linenumber",
		"core.autocrlf", "core.safecrlf", "core.preloadindex", "core.untrackedcache", "index.threads", "pack.threads", "gc.auto",
		"rerere.enabled":
		return true
	case "core.pager", "pager.log", "pager.diff", "pager.show", "pager.branch", "pager.status", "pager.blame", "pager.tag", "pager.stash":
		return value == "cat" || value == "" && strings.Contains(setting, "=") || value == "false"
	case "core.editor", "sequence.editor":
		return value == "true" || value == ":"
	case "commit.gpgsign", "tag.gpgsign", "log.showsignature", "core.fsmonitor":
		return value == "false"
	}
	return strings.HasPrefix(key, "color.") || strings.HasPrefix(key, "advice.")
}

// columnNames are the columns of ps, on Linux and BSD, that describe a process. Other
// columns may show its environment, and with it secrets: environ of procps 4.
var columnNames = func() map[string]bool {
	names := map[string]bool{}
	for name := range strings.FieldsSeq(`
		%cpu %mem acflag args blocked bsdstart bsdtime c caught cgroup cgroupns class cls cmd comm command cp cpu cputime cputimes cputimeraw
		drs egid egroup eip esp etime etimes euid euser f fgid fgroup flag flags fname fuid fuser gid group ignored inblk jobc lstart lwp
		maj_flt majflt min_flt minflt msgrcv msgsnd ni nice nlwp nsigs numa nvcsw nwchan oublk p pagein paddr pcpu pending pgid pgrp pid pmem
		policy ppid pri psr pss re rgid rgroup rss rssize rsz rtprio ruid ruser s sched sess session sgi_p sgid sgroup sid sig sigcatch
		sigignore sigmask size sl spid stackp start start_time stat state stime suid suser svgid svuid sz tdev thcount tid time times tname
		tpgid tsess tsiz tt tty ttyname ucmd ucomm uid uname upr user uss usrpri vsize vsz wchan wcpu xstat`) {
		names[name] = true
	}
	return names
}()

// processColumns reports whether a list of columns for ps names only known ones, each
// with an optional heading: pid,ppid=PARENT,args. Some implementations allow a comma
// in a heading, to others it ends the column.
func processColumns(list string) bool {
	for column := range strings.FieldsFuncSeq(list, func(r rune) bool { return r == ',' || r == ' ' || r == '\t' || r == '\n' }) {
		name, _, heading := strings.Cut(column, "=")
		if !columnNames[name] {
			return false
		}
		if heading && strings.ContainsAny(column, ":%") {
			return false
		}
	}
	return true
}
