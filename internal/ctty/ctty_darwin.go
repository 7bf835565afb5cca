package ctty

import "golang.org/x/sys/unix"

// Has reports whether a process has a controlling terminal.
func Has(pid int32) bool {
	if pid <= 0 {
		return false
	}
	p, err := unix.SysctlKinfoProc("kern.proc.pid", int(pid))
	return err == nil && p.Proc.P_pid == pid && p.Eproc.Tdev != -1
}
