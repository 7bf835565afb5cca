package paths

import (
	"net/netip"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/net/idna"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/display"
	"github.com/permd/permd/internal/chars"
	"github.com/permd/permd/internal/wordset"
)

// schemePorts are the schemes whose authority is a host, with their default ports. A
// URL with another scheme is unknown: in s3://name/x, name is no host, and what data:
// and javascript: reach depends on their content.
var schemePorts = map[string]int{
	"http": 80, "https": 443, "ws": 80, "wss": 443, "ftp": 21, "ftps": 990, "sftp": 22, "ssh": 22, "scp": 22,
	"git": 9418, "svn": 3690, "rsync": 873, "telnet": 23, "gopher": 70, "dict": 2628, "ldap": 389, "ldaps": 636,
	"smtp": 25, "smtps": 465, "imap": 143, "imaps": 993, "pop3": 110, "pop3s": 995, "redis": 6379, "rediss": 6379,
	"postgres": 5432, "postgresql": 5432, "mysql": 3306, "mariadb": 3306, "mongodb": 27017, "amqp": 5672, "amqps": 5671,
	"mqtt": 1883, "mqtts": 8883, "smb": 445, "smbs": 445, "nfs": 2049, "rtsp": 554, "rtmp": 1935, "tftp": 69,
	"vnc": 5900, "irc": 6667, "ircs": 6697, "nats": 4222, "tcp": 0, "udp": 0, "tls": 0, "oci": 443, "docker": 443,
}

// HasHost reports whether the part after a scheme begins with a host, as far as permd
// knows the scheme.
func HasHost(scheme string) bool {
	_, ok := schemePorts[scheme]
	return ok
}

// Connect returns the effect of connecting to a URL, a host[:port], or a user@host:path
// as ssh writes it. A file URL is a read. If programs disagree about which part is
// the host, the effect is Unknown.
func (r *Resolver) Connect(url, method, from string) effects.Effect {
	if len(url) >= 5 && strings.EqualFold(url[:5], "file:") {
		return r.File(effects.KindRead, url, "", from)
	}
	if method != effects.MethodGet {
		method = effects.MethodSend
	}
	a, why := parseAddress(url)
	plain := ""
	if why == "" {
		plain, why = a.url()
	}
	if why != "" {
		r.mayReach(&a, method, from)
		return effects.Effect{
			Kind: effects.KindUnknown, From: from, Why: why,
			Text: display.Display("connect " + url + ": " + why),
		}
	}
	if sendSchemes.Has(a.scheme) {
		method = effects.MethodSend
	}
	c := &effects.Connect{Host: a.host, Port: a.port, Scheme: a.scheme, Method: method}
	text, port := "connect "+a.host, ""
	if a.scheme != "" || a.path != "" {
		c.URL = plain
	}
	if a.port != 0 && a.port != schemePorts[lastScheme(a.scheme)] {
		if strings.Contains(a.host, ":") {
			text = "connect [" + a.host + "]"
		}
		// Apart from the host, a part of which may look like the name of a secret.
		port = ":" + strconv.Itoa(a.port)
	}
	return effects.Effect{
		Kind: effects.KindConnect, From: from, Tags: hostTags(a.host), Text: display.Display(text) + port + " (" + method + ")",
		Connect: c,
	}
}

// address is a parsed network address.
type address struct {
	asWritten string
	scheme    string // "" if absent
	user      string // user information with its @, "" if absent
	host      string // canonical
	port      int    // 0 if absent
	path      string // the part after the authority
	userAt    int    // index of user in AsWritten
}

// parseAddress reads a URL, host[:port][/path], [user@]host:path, or
// host::module.
func parseAddress(s string) (a address, why string) {
	a.asWritten = s
	switch {
	case s == "":
		return a, "empty address"
	case len(s) > 8192:
		return a, "address is too long"
	}
	for _, c := range s {
		switch {
		case c == '\\':
			return a, "address holds a backslash, which programs read in two ways"
		case c == unicode.ReplacementChar, c != ' ' && !unicode.IsPrint(c), unicode.IsSpace(c), chars.Invisible(c):
			return a, "address holds a space or a control character"
		}
	}
	rest := s
	if i := strings.IndexByte(s, ':'); i > 0 && strings.HasPrefix(s[i:], "://") {
		a.scheme = strings.ToLower(s[:i])
		if !isScheme(a.scheme) {
			return a, "address with a broken scheme"
		}
		if _, ok := schemePorts[lastScheme(a.scheme)]; !ok {
			return a, "address with a scheme that is not known"
		}
		rest = s[i+len("://"):]
	}
	authority, schemed := rest, a.scheme != ""
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		authority, a.path = rest[:i], rest[i:]
		// Before RFC 3986, and in some programs to this day, the host ends only at
		// the slash: http://good?@evil/ connects to evil there.
		if first, _, _ := strings.Cut(a.path, "/"); strings.Contains(first, "@") {
			return a, "address holds an @ that programs read in two ways"
		}
	}
	if i := strings.LastIndexByte(authority, '@'); i >= 0 {
		a.user, authority = authority[:i+1], authority[i+1:]
		a.userAt = len(s) - len(rest)
		if strings.Count(a.user, "@") > 1 || a.scheme == "" && strings.Contains(a.user, ":") {
			return a, "address holds an @ that programs read in two ways"
		}
	}
	host, port, why := splitPort(&a, authority)
	if why != "" {
		return a, why
	}
	if port != "" {
		n, err := strconv.ParseUint(port, 10, 16)
		if err != nil || n == 0 {
			return a, "address with a broken port"
		}
		a.port = int(n)
	} else if a.port == 0 {
		a.port = schemePorts[lastScheme(a.scheme)]
	}
	a.host, why = canonicalHost(host)
	if why == "" && schemed && hasDotSegments(a.path) {
		why = "address whose path goes up, which programs read in two ways"
	}
	return a, why
}

// hasDotSegments reports whether the path of an address has a segment . or ..: some
// programs remove these before they send the request.
func hasDotSegments(p string) bool {
	if end := strings.IndexAny(p, "?#"); end >= 0 {
		p = p[:end]
	}
	for segment := range strings.SplitSeq(p, "/") {
		if len(segment) <= len("%2e%2e") {
			dots := strings.ReplaceAll(strings.ToLower(segment), "%2e", ".")
			if dots == "." || dots == ".." {
				return true
			}
		}
	}
	return false
}

// lastScheme returns the scheme of the protocol: ssh of git+ssh.
func lastScheme(s string) string { return s[strings.LastIndexByte(s, '+')+1:] }

// splitPort splits off the port, and recognises the forms of ssh and rsync.
func splitPort(a *address, authority string) (host, port, why string) {
	if strings.HasPrefix(authority, "[") {
		end := strings.IndexByte(authority, ']')
		if end < 0 {
			return "", "", "address with an open bracket"
		}
		host, rest := authority[:end+1], authority[end+1:]
		if rest == "" || rest == ":" {
			return host, "", ""
		}
		if rest[0] != ':' {
			return "", "", "address that cannot be read"
		}
		if a.scheme == "" && !chars.AllDigits(rest[1:]) {
			a.scheme, a.port, a.path = "ssh", 22, rest[1:]+a.path
			return host, "", ""
		}
		return host, rest[1:], ""
	}
	host, port, colon := strings.Cut(authority, ":")
	if !colon || a.scheme != "" {
		return host, port, ""
	}
	if notHosts.Has(strings.ToLower(host)) {
		return "", "", "address that cannot be read"
	}
	if _, err := netip.ParseAddr(authority); err == nil { // IPv6 without brackets
		return "[" + authority + "]", "", ""
	}
	switch {
	case strings.HasPrefix(port, ":"): // rsync's host::module
		// git runs the program git-remote-name for name::address.
		if a.user == "" && !strings.Contains(host, ".") {
			return "", "", "address that programs read in two ways"
		}
		a.scheme, a.port, a.path = "rsync", 873, port[1:]+a.path
		return host, "", ""
	case chars.AllDigits(port) && (a.user == "" || a.path == ""):
		return host, port, ""
	case strings.ContainsAny(port, ":()'\"`$&;|<>*{}") || !plainWord(host):
		return "", "", "address that cannot be read"
	}
	a.scheme, a.port, a.path = "ssh", 22, port+a.path
	return host, "", ""
}

// notHosts are schemes that are written without slashes.
var notHosts = wordset.Of("about", "blob", "chrome", "data", "javascript", "mailto", "news", "sip", "tel", "urn",
	"vbscript", "view-source", "http", "https", "ftp", "ws", "wss", "ssh", "git", "npm", "unix", "jar", "ext", "fd", "mem")

func plainWord(s string) bool {
	for i := range len(s) {
		if !display.WordByte(s[i]) && s[i] != '-' && s[i] != '.' {
			return false
		}
	}
	return s != ""
}

// canonicalHost returns a host in lower-case ASCII, or an IP address in its
// canonical form.
func canonicalHost(h string) (host, why string) {
	if inner, ok := strings.CutPrefix(h, "["); ok {
		inner = strings.TrimSuffix(inner, "]")
		if i := strings.Index(inner, "%25"); i >= 0 { // RFC 6874
			inner = inner[:i] + "%" + inner[i+3:]
		}
		ip, err := netip.ParseAddr(inner)
		if err != nil || !ip.Is6() || strings.Contains(ip.Zone(), ".") || ip.Zone() != "" && !plainWord(ip.Zone()) {
			// The zone is at the end: one with dots could be mistaken for a name below
			// a domain.
			return "", "address with a broken IPv6 address"
		}
		if !ip.IsLinkLocalUnicast() && !ip.IsMulticast() {
			ip = ip.WithZone("") // only link-local addresses have zones (RFC 4007)
		}
		return ip.Unmap().String(), ""
	}
	if strings.Contains(h, "%") {
		return "", "address with a percent-encoded host"
	}
	for i := range len(h) {
		if h[i] < 0x80 {
			continue
		}
		// The two versions of IDNA map these differently.
		if strings.ContainsAny(h, "ßẞς\u200c\u200d") {
			return "", "address with a host that programs read in two ways"
		}
		ascii, err := idna.Lookup.ToASCII(h)
		if err != nil {
			return "", "address with a host name that is not valid"
		}
		h = ascii
		break
	}
	h = strings.TrimSuffix(strings.ToLower(h), ".")
	if why := badHost(h); why != "" {
		return "", why
	}
	last := h[strings.LastIndexByte(h, '.')+1:]
	if chars.AllDigits(last) || strings.HasPrefix(last, "0x") && hexDigits(last[2:]) {
		ip, ok := parseInetAton(h)
		if !ok {
			return "", "address with a broken IPv4 address"
		}
		return ip.String(), ""
	}
	return h, ""
}

func badHost(h string) string {
	if h == "" {
		return "address without a host"
	}
	if len(h) > 253 {
		return "address with a host that is too long"
	}
	for label := range strings.SplitSeq(h, ".") {
		if label == "" || len(label) > 63 || !plainWord(label) || label[0] == '-' {
			return "address with a host name that is not valid"
		}
	}
	for suffix := range spelledHosts.All() {
		if h == suffix || strings.HasSuffix(h, "."+suffix) {
			return "address with a host name that stands for any address it spells"
		}
	}
	return ""
}

// parseInetAton parses an IPv4 address as inet_aton(3) does: one to four parts, each
// decimal, octal or hexadecimal, of which the last fills the remaining bytes.
func parseInetAton(s string) (netip.Addr, bool) {
	parts := strings.Split(s, ".")
	if len(parts) > 4 {
		return netip.Addr{}, false
	}
	var v uint64
	for i, p := range parts {
		base := 10
		switch {
		case strings.HasPrefix(p, "0x"):
			p, base = p[2:], 16
			if p == "" { // only some programs read a lone 0x as zero
				return netip.Addr{}, false
			}
		case len(p) > 1 && p[0] == '0':
			p, base = p[1:], 8
		}
		n, err := strconv.ParseUint(p, base, 32)
		if err != nil || strings.ContainsAny(p, "_+-") {
			return netip.Addr{}, false
		}
		if i < len(parts)-1 {
			if n > 255 {
				return netip.Addr{}, false
			}
			v |= n << (24 - 8*i)
			continue
		}
		if n >= 1<<(8*(4-i)) {
			return netip.Addr{}, false
		}
		v |= n
	}
	return netip.AddrFrom4([4]byte{byte(v >> 24), byte(v >> 16), byte(v >> 8), byte(v)}), true
}

func hexDigits(s string) bool {
	for i := range len(s) {
		if unhex(s[i]) < 0 {
			return false
		}
	}
	return true
}
