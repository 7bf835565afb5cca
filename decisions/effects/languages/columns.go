package languages

import (
	"strings"

	"github.com/permd/permd/internal/wordset"
)

// columnNames are the columns of ps, on Linux and BSD, that describe a process. Other
// columns may show its environment, and with it secrets: environ of procps 4.
var columnNames = wordset.Fields(`
	%cpu %mem acflag args blocked bsdstart bsdtime c caught cgroup cgroupns class cls cmd comm command cp cpu cputime cputimes cputimeraw
	drs egid egroup eip esp etime etimes euid euser f fgid fgroup flag flags fname fuid fuser gid group ignored inblk jobc lstart lwp
	maj_flt majflt min_flt minflt msgrcv msgsnd ni nice nlwp nsigs numa nvcsw nwchan oublk p pagein paddr pcpu pending pgid pgrp pid pmem
	policy ppid pri psr pss re rgid rgroup rss rssize rsz rtprio ruid ruser s sched sess session sgi_p sgid sgroup sid sig sigcatch
	sigignore sigmask size sl spid stackp start start_time stat state stime suid suser svgid svuid sz tdev thcount tid time times tname
	tpgid tsess tsiz tt tty ttyname ucmd ucomm uid uname upr user uss usrpri vsize vsz wchan wcpu xstat`)

// Columns reports whether a list of columns for ps names only known ones, each
// with an optional heading: pid,ppid=PARENT,args. Some implementations allow a comma
// in a heading, to others it ends the column.
func Columns(list string) bool {
	for column := range strings.FieldsFuncSeq(list, func(r rune) bool { return r == ',' || r == ' ' || r == '\t' || r == '\n' }) {
		name, _, heading := strings.Cut(column, "=")
		if !columnNames.Has(name) {
			return false
		}
		if heading && strings.ContainsAny(column, ":%") {
			return false
		}
	}
	return true
}
