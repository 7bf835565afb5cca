package notify

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/godbus/dbus/v5"
)

// errNoBus means that there is nothing to connect to.
var errNoBus = errors.New("there is no session bus: neither DBUS_SESSION_BUS_ADDRESS nor the socket bus in XDG_RUNTIME_DIR")

// busAddress returns where the session bus listens: at DBUS_SESSION_BUS_ADDRESS, or else at the
// socket bus in XDG_RUNTIME_DIR if that belongs to the user. No bus is started.
func busAddress(env func(string) string) (*net.UnixAddr, error) {
	if list := env("DBUS_SESSION_BUS_ADDRESS"); list != "" {
		return parseAddress(list)
	}
	dir := env("XDG_RUNTIME_DIR")
	if !filepath.IsAbs(dir) {
		return nil, errNoBus
	}
	path := filepath.Join(dir, "bus")
	info, err := os.Lstat(path)
	if err != nil {
		return nil, errNoBus
	}
	at, ok := info.Sys().(*syscall.Stat_t)
	if info.Mode().Type() != fs.ModeSocket || !ok || at.Uid != uint32(os.Geteuid()) {
		return nil, fmt.Errorf("%s is not a socket of yours", path)
	}
	return &net.UnixAddr{Name: path, Net: "unix"}, nil
}

// parseAddress returns the first Unix socket of a list of addresses, as the D-Bus specification
// writes them. Others are not used: what is asked would cross a network, or start a program.
func parseAddress(list string) (*net.UnixAddr, error) {
	for address := range strings.SplitSeq(list, ";") {
		pairs, ok := strings.CutPrefix(address, "unix:")
		if !ok {
			continue
		}
		for pair := range strings.SplitSeq(pairs, ",") {
			key, value, _ := strings.Cut(pair, "=")
			if key != "path" && key != "abstract" {
				continue
			}
			name, err := dbus.UnescapeBusAddressValue(value)
			if err != nil || name == "" || strings.Contains(name, "\x00") {
				break
			}
			if key == "abstract" {
				name = "@" + name
			}
			return &net.UnixAddr{Name: name, Net: "unix"}, nil
		}
	}
	return nil, errors.New("DBUS_SESSION_BUS_ADDRESS names no Unix socket")
}
