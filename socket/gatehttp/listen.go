// Package gatehttp holds what the ends of permd that speak HTTP have in common: they
// listen on a Unix socket or, for clients with a token, on a loopback address, and
// gateways call one upstream that gets no more than it is meant to get.
//
// It knows no protocol and decides nothing.
package gatehttp

import (
	"fmt"
	"net"
	"net/netip"
	"path/filepath"
	"strings"

	"github.com/permd/permd/socket"
)

// unixScheme begins the address of a Unix socket.
const unixScheme = "unix:"

// Listen listens on an address: unix:PATH, a Unix socket whose folder is its own (see
// socket.Listen), or a loopback address with its port. Errors may have a method
// Hint() string.
func Listen(address string) (net.Listener, error) {
	if path, ok := strings.CutPrefix(address, unixScheme); ok {
		if !filepath.IsAbs(path) {
			return nil, fmt.Errorf("listening on %s: the path must be absolute", address)
		}
		return socket.Listen(path, socket.ListenOptions{})
	}
	return ListenLoopback(address)
}

// ListenLoopback listens on a loopback address, 127.0.0.1:PORT or [::1]:PORT.
func ListenLoopback(address string) (net.Listener, error) {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return nil, fmt.Errorf("reading the address for HTTP: %w", err)
	}
	if !at.Addr().IsLoopback() {
		return nil, fmt.Errorf("listening on %s for HTTP: it is no loopback address", address)
	}
	ln, err := net.ListenTCP("tcp", net.TCPAddrFromAddrPort(at))
	if err != nil {
		return nil, fmt.Errorf("listening for HTTP: %w", err)
	}
	return ln, nil
}
