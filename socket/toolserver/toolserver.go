// Package toolserver is what the protocols of tool servers have in common: how a
// server's address is read, and what the model is told of a call that is denied.
// It speaks no protocol itself.
package toolserver

import (
	"cmp"
	"errors"
	"net/url"
	"strings"

	"github.com/permd/permd/decisions"
)

// Bounds, in bytes.
const (
	maxAddress = 2 << 10
	maxReason  = 4 << 10
)

// errAddress means that an address is not one of a server.
var errAddress = errors.New("must be an http or https address of at most 2048 bytes")

// Address brings a server's address to one form, of scheme, host, port and path:
// without user, query and fragment, which may hold secrets. Of no address it is
// "". The error is errAddress.
func Address(s string) (string, error) {
	if s == "" {
		return "", nil
	}
	u, err := url.Parse(s)
	if err != nil || len(s) > maxAddress || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return "", errAddress
	}
	host := strings.ToLower(u.Host)
	if port := u.Port(); port != "" && port == (map[string]string{"http": "80", "https": "443"})[u.Scheme] {
		host = strings.TrimSuffix(host, ":"+port)
	}
	return u.Scheme + "://" + host + cmp.Or(strings.TrimRight(u.EscapedPath(), "/"), "/"), nil
}

// Why calls are denied, where no rule has words of its own.
const (
	byPolicy  = "not allowed by policy"
	ByPerson  = "denied by the user"
	undecided = "it could not be decided"
)

// Reason is what the model is told of a deny: what the rule says for it. Rules,
// paths of files and memory are nobody's business there.
func Reason(d *decisions.Decision) string {
	switch {
	case d.Message != "":
		return clip(strings.ToValidUTF8(d.Message, "\ufffd"), maxReason)
	case d.By == decisions.ByMemory:
		return ByPerson
	case d.By == decisions.ByFailure:
		return undecided
	}
	return byPolicy
}

// clip cuts a text to n bytes, between characters.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && s[n]&0xc0 == 0x80 {
		n--
	}
	return s[:n]
}
