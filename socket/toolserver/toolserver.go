// Package toolserver holds what the tool-server protocols have in common: normalised
// server addresses, and what a model is told about a denied call. It implements no
// protocol.
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

// errAddress means that an address is not an http or https URL.
var errAddress = errors.New("must be an http or https address of at most 2048 bytes")

// Address normalises a server's address to scheme, host, port and path, dropping user,
// query and fragment, which may contain secrets. For "" it returns "". The error is
// errAddress.
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

// Reasons for denying calls, if the rule has no message.
const (
	byPolicy  = "not allowed by policy"
	ByPerson  = "denied by the user"
	undecided = "it could not be decided"
)

// Reason returns what the model is told about a denied call: the rule's message. It must
// not disclose rules, file names or remembered choices.
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

// clip cuts s to at most n bytes, at a character boundary.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && s[n]&0xc0 == 0x80 {
		n--
	}
	return s[:n]
}
