package paths

import (
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/internal/testload"
)

// TestCurlPatternsOracle gives the real curl patterns of addresses, and a proxy that sees which
// hosts they lead to. Denies must see each of them.
func TestCurlPatternsOracle(t *testing.T) {
	program, err := exec.LookPath("curl")
	if err != nil {
		t.Skip("curl is missing")
	}
	var lock sync.Mutex
	var reached []string
	proxy := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		lock.Lock()
		defer lock.Unlock()
		host := r.URL.Hostname()
		if host == "" {
			host, _, _ = net.SplitHostPort(r.Host)
		}
		reached = append(reached, strings.ToLower(strings.TrimSuffix(host, ".")))
	}))
	defer proxy.Close()
	seed := testload.Seed(t)
	rnd := rand.New(rand.NewPCG(seed, 0))
	pick := func(list ...string) string { return list[rnd.IntN(len(list))] }
	total, rounds := 0, testload.Rounds(t, "PERMD_TEST_CURL_PATTERNS", 40, 400)
	// A small sample may reach little by chance: then more is tried.
	for n := 0; n < rounds || total < 20 && n < 20*rounds; n++ {
		pattern := pick("http://", "http://", "http://", "", "{http,http}://", "HTTP://")
		for range 1 + rnd.IntN(3) {
			pattern += pick("evil", "a.", "{evil,b}", "{evil.example,x}", "[a-c]", "[1-3]", "[01-10:4]", "[a-e:2]", "{evil}", "{x,y}", "{a.example/x,evil.example}", "{u@evil,z}", "e{vi,v}l", "[c-a]", "{,a}", "\\{x\\}", "[", "}")
		}
		pattern += pick(".example", ".example/", ".example/[1-2]", ".example/{a,b}?x", "/", ":80{80,81}/x", ".{example,test}/#f")
		lock.Lock()
		reached = nil
		lock.Unlock()
		cmd := exec.Command(program, "-s", "-q", "--max-time", "5", "-x", proxy.URL, pattern)
		cmd.Env = []string{"HOME=" + t.TempDir()}
		_, _ = cmd.Output() // some patterns are wrong
		r := testResolver(tree())
		r.MayConnect(pattern, effects.MethodGet, "x")
		lock.Lock()
		hosts := slices.Clone(reached)
		lock.Unlock()
		for _, host := range hosts {
			host, why := canonicalHost(host)
			if why != "" {
				continue // no machine has it: a..example
			}
			if total++; !r.TooManyHosts && !slices.ContainsFunc(r.MayReach, func(e effects.Effect) bool { return e.Connect.Host == host }) {
				t.Errorf("curl %q reaches %s, denies see %v", pattern, host, hostsOf(r))
			}
		}
	}
	if total < 20 {
		t.Errorf("%d hosts were reached", total)
	}
}

func hostsOf(r *Resolver) (hosts []string) {
	for _, e := range r.MayReach {
		hosts = append(hosts, e.Connect.Host)
	}
	return hosts
}

// TestMayConnectBounds: what is too much is said to be, soon.
func TestMayConnectBounds(t *testing.T) {
	for _, pattern := range []string{"http://" + strings.Repeat("{a,a}", 100) + "/", "http://[1-9999999].example/", "http://" + strings.Repeat("[a-z]", 9) + "/", strings.Repeat("{a}", 1000), "http://10.0.0.[1-255]/"} {
		r := testResolver(tree())
		r.MayConnect(pattern, effects.MethodGet, "x")
		if !r.TooManyHosts || len(r.MayReach) > maxMayReach {
			t.Errorf("%.40q shows %d hosts", pattern, len(r.MayReach))
		}
	}
	r := testResolver(tree())
	r.MayConnect("https://good.example/page[1-500]/{a,b}", effects.MethodGet, "x")
	if r.TooManyHosts || len(r.MayReach) > 8 {
		t.Errorf("a pattern of pages shows %v", hostsOf(r))
	}
}
