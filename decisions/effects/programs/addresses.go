package programs

import (
	"path"
	"strings"

	"github.com/permd/permd/decisions/effects"
)

// DownloadName returns the name of the file that a program writes which names it after the
// last part of an address.
func DownloadName(url string) string {
	_, rest, ok := strings.Cut(url, "://")
	if !ok {
		rest = url
	}
	rest, _, _ = strings.Cut(rest, "?")
	rest, _, _ = strings.Cut(rest, "#")
	name := path.Base(rest)
	if !strings.Contains(rest, "/") || strings.HasSuffix(rest, "/") || strings.Contains(name, "%") {
		return "index.html"
	}
	return name
}

// ImageRegistry returns the host, with its port, that the operand of a sub-command begins with,
// which is a container image or, to log in and out, a registry; "" is the default registry. The
// method is effects.MethodSend where something is sent there. Docker and podman tell a host from
// the first part of an image's name so: it has a dot, a colon or a capital letter, or is
// "localhost" (github.com/distribution/reference). A transport or scheme may stand before it.
func ImageRegistry(subs []string, operand string) (host, method string) {
	for _, transport := range []string{"docker://", "https://", "http://", "docker:"} {
		operand = strings.TrimPrefix(operand, transport)
	}
	sub := ""
	if len(subs) > 0 {
		sub = subs[len(subs)-1]
	}
	host, _, named := strings.Cut(operand, "/")
	switch sub {
	case "login", "logout":
		return host, effects.MethodSend
	case "push":
		method = effects.MethodSend
	default:
		method = effects.MethodGet
	}
	if !named || host != "localhost" && !strings.ContainsAny(host, ".:") && host == strings.ToLower(host) {
		return "", method
	}
	return host, method
}
