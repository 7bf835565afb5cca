package paths

import (
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/display"
	"github.com/permd/permd/internal/chars"
	"github.com/permd/permd/internal/lazy"
)

// An address that is not understood asks, and a person may say yes. A host that is denied
// must not become a question by being written so, as in http://good.example\@evil.example.
// So whatever part of the address a program may take for the host is seen by denies and
// rejects, and by nothing else.

const (
	maxMayReach    = 64       // places that the addresses of one call may mean
	maxReadAddress = 16 << 10 // bytes of an address that is searched for hosts
)

// mayReach adds the places that an address which is not understood may mean. a is what all
// programs see in it.
func (r *Resolver) mayReach(a *address, method, from string) {
	hosts, ports := []string{a.host}, []int{a.port}
	if a.host == "" {
		url := a.asWritten[:min(len(a.asWritten), maxReadAddress)]
		r.TooManyHosts = r.TooManyHosts || len(a.asWritten) > maxReadAddress
		hosts, ports = hostsIn(url), portsIn(url)
	}
	for _, host := range hosts {
		for _, port := range ports {
			if len(r.MayReach) >= maxMayReach {
				r.TooManyHosts = true
				return
			}
			r.MayReach = append(r.MayReach, effects.Effect{
				Kind: effects.KindConnect, From: from, Guessed: true, Tags: hostTags(host), Text: display.Display("connect " + host),
				Connect: &effects.Connect{Host: host, Port: port, Method: method},
			})
		}
	}
}

// portsIn returns the ports that an address may mean: those that it names, and that of its
// scheme, or without one those of the web.
func portsIn(url string) (ports []int) {
	scheme, _, _ := strings.Cut(strings.TrimSpace(url), ":")
	if port, ok := schemePorts[strings.ToLower(scheme)]; ok {
		ports = append(ports, port)
	} else {
		ports = append(ports, schemePorts["http"], schemePorts["https"])
	}
	for _, found := range portNumber().FindAllString(url, -1) {
		if n, err := strconv.ParseUint(found[1:], 10, 16); err == nil && n > 0 && !slices.Contains(ports, int(n)) {
			ports = append(ports, int(n))
		}
	}
	return ports
}

var (
	bracketed = lazy.Regexp(`\[[0-9a-fA-F:.%]*\]`)
	escaped   = lazy.Regexp(`%[0-9a-fA-F]{2}`)
	// portNumber may have more zeros than programs write.
	portNumber = lazy.Regexp(`:[0-9]{1,8}`)
)

// hostsIn returns what a program may take for the host in an address: any part of it, with
// escapes replaced or not, and with characters that some programs drop or not.
func hostsIn(url string) (hosts []string) {
	add := func(name string) {
		name = strings.TrimLeft(name, ".")
		if chars.AllDigits(name) && len(name) < len("16777216") {
			return // a port, or a part of a path
		}
		if host, why := canonicalHost(name); why == "" && !slices.Contains(hosts, host) {
			hosts = append(hosts, host)
		}
	}
	decoded := escaped().ReplaceAllStringFunc(url, func(s string) string {
		b, err := strconv.ParseUint(s[1:], 16, 8)
		if err != nil {
			return s
		}
		return string([]byte{byte(b)})
	})
	dropped := func(c rune) bool { return unicode.IsSpace(c) || unicode.IsControl(c) || chars.Invisible(c) }
	for _, text := range []string{url, decoded} {
		for _, text := range []string{text, strings.Map(func(c rune) rune {
			if dropped(c) {
				return -1
			}
			return c
		}, text)} {
			for _, name := range bracketed().FindAllString(text, -1) {
				add(name)
			}
			for name := range strings.FieldsFuncSeq(text, func(c rune) bool {
				return dropped(c) || c < 0x80 && c != '.' && c != '-' && c != '_' && !unicode.IsLetter(c) && !unicode.IsDigit(c)
			}) {
				add(name)
			}
		}
	}
	return hosts
}
