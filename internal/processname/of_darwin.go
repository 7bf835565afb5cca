package processname

import "golang.org/x/sys/unix"

// of returns the name of the process: the first bytes of that of its program.
func of(pid int32) string {
	info, err := unix.SysctlKinfoProc("kern.proc.pid", int(pid))
	if err != nil {
		return ""
	}
	return unix.ByteSliceToString(info.Proc.P_comm[:])
}
