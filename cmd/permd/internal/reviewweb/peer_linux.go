package reviewweb

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"net"
	"os"
	"strconv"
)

// peerOf returns the user at the other end of a connection over the loopback, which is a socket
// of this machine, too.
func peerOf(c net.Conn) (uid int, known bool) {
	from, ok := c.RemoteAddr().(*net.TCPAddr)
	to, also := c.LocalAddr().(*net.TCPAddr)
	if !ok || !also {
		return 0, false
	}
	for _, file := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		table, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		wide := file == "/proc/net/tcp6"
		if uid, known = ownerIn(table, procAddr(from, wide), procAddr(to, wide)); known {
			return uid, true
		}
	}
	return 0, false
}

// ownerIn finds the owner of the socket with these addresses.
func ownerIn(table []byte, local, remote string) (uid int, known bool) {
	const localField, remoteField, uidField = 1, 2, 7
	for line := range bytes.Lines(table) {
		f := bytes.Fields(line)
		if len(f) <= uidField || string(f[localField]) != local || string(f[remoteField]) != remote {
			continue
		}
		uid, err := strconv.Atoi(string(f[uidField]))
		return uid, err == nil
	}
	return 0, false
}

// procAddr writes an address as the kernel's tables do: words of four bytes in the order of the
// machine, and the port.
func procAddr(a *net.TCPAddr, wide bool) string {
	ip := a.IP.To4()
	if wide || ip == nil {
		ip = a.IP.To16()
	}
	var text string
	for i := 0; i+4 <= len(ip); i += 4 {
		text += fmt.Sprintf("%08X", binary.NativeEndian.Uint32(ip[i:]))
	}
	return fmt.Sprintf("%s:%04X", text, a.Port)
}
