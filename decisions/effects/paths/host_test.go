package paths

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/permd/permd/decisions/effects"
)

func TestConnect(t *testing.T) {
	r := testResolver(tree())
	for _, tt := range []struct {
		name, given string
		want        effects.Connect
		text        string
	}{
		{"URL", "https://docs.example.com/page", effects.Connect{Host: "docs.example.com", Port: 443, Scheme: "https"}, "connect docs.example.com (get)"},
		{"upper case", "HTTPS://GitHub.COM/o/r", effects.Connect{Host: "github.com", Port: 443, Scheme: "https"}, "connect github.com (get)"},
		{"port", "http://localhost:3000/x", effects.Connect{Host: "localhost", Port: 3000, Scheme: "http"}, "connect localhost:3000 (get)"},
		{"empty port", "http://example.com:/", effects.Connect{Host: "example.com", Port: 80, Scheme: "http"}, "connect example.com (get)"},
		{"port behind a word for secrets", "http://ssrf.localdomain.pw:18399/x", effects.Connect{Host: "ssrf.localdomain.pw", Port: 18399, Scheme: "http"}, "connect ssrf.localdomain.pw:18399 (get)"},
		{"query only", "https://example.com?q=evil.example", effects.Connect{Host: "example.com", Port: 443, Scheme: "https"}, ""},
		{"fragment", "https://evil.example/#github.com", effects.Connect{Host: "evil.example", Port: 443, Scheme: "https"}, ""},
		{"host in the query", "https://github.com/search?q=evil.example", effects.Connect{Host: "github.com", Port: 443, Scheme: "https"}, ""},
		{"user information", "https://user:s3cret@example.com/", effects.Connect{Host: "example.com", Port: 443, Scheme: "https", URL: "https://example.com/"}, ""},
		{"host as user", "https://github.com@evil.example/", effects.Connect{Host: "evil.example", Port: 443, Scheme: "https", URL: "https://evil.example/"}, ""},
		{"git user is no secret", "ssh://git@github.com/o/r", effects.Connect{Host: "github.com", Port: 22, Scheme: "ssh"}, ""},
		{"trailing dot", "https://example.com./", effects.Connect{Host: "example.com", Port: 443, Scheme: "https"}, ""},
		{"host", "example.com", effects.Connect{Host: "example.com"}, "connect example.com (get)"},
		{"host and port", "example.com:8080", effects.Connect{Host: "example.com", Port: 8080}, "connect example.com:8080 (get)"},
		{"host and path", "example.com/x", effects.Connect{Host: "example.com", URL: "example.com/x"}, ""},
		{"user and host", "dev@example.com", effects.Connect{Host: "example.com"}, ""},
		{"scp", "git@github.com:o/r.git", effects.Connect{Host: "github.com", Port: 22, Scheme: "ssh"}, "connect github.com (get)"},
		{"scp with another user", "bob@example.com:x", effects.Connect{Host: "example.com", Port: 22, Scheme: "ssh", URL: "***@example.com:x"}, ""},
		{"scp with digits", "git@example.com:22/x", effects.Connect{Host: "example.com", Port: 22, Scheme: "ssh"}, ""},
		{"rsync module", "example.com::pub/x", effects.Connect{Host: "example.com", Port: 873, Scheme: "rsync"}, ""},
		{"compound scheme", "git+ssh://git@example.com/x", effects.Connect{Host: "example.com", Port: 22, Scheme: "git+ssh"}, ""},
		{"dots that lead nowhere", "https://example.com/a..b/...x/.well-known/x.?y=../z", effects.Connect{Host: "example.com", Port: 443, Scheme: "https"}, ""},
		{"international", "https://b\u00fccher.example/", effects.Connect{Host: "xn--bcher-kva.example", Port: 443, Scheme: "https"}, ""},
		{"full width", "https://\uff47ithub.com/", effects.Connect{Host: "github.com", Port: 443, Scheme: "https"}, ""},
		{"ideographic dot", "https://github\u3002com/", effects.Connect{Host: "github.com", Port: 443, Scheme: "https"}, ""},
		{"Cyrillic look-alike", "https://githu\u0432.com/", effects.Connect{Host: "xn--githu-lwe.com", Port: 443, Scheme: "https"}, ""},
		{"underscore", "http://my_service:80/", effects.Connect{Host: "my_service", Port: 80, Scheme: "http"}, ""},
		{"IPv4", "http://10.0.0.1/", effects.Connect{Host: "10.0.0.1", Port: 80, Scheme: "http"}, ""},
		{"IPv4 short", "http://127.1/", effects.Connect{Host: "127.0.0.1", Port: 80, Scheme: "http"}, ""},
		{"IPv4 zero", "http://0/", effects.Connect{Host: "0.0.0.0", Port: 80, Scheme: "http"}, ""},
		{"IPv4 number", "http://2130706433/", effects.Connect{Host: "127.0.0.1", Port: 80, Scheme: "http"}, ""},
		{"IPv4 hexadecimal", "http://0x7F000001/", effects.Connect{Host: "127.0.0.1", Port: 80, Scheme: "http"}, ""},
		{"IPv4 hexadecimal part", "http://0x7f.1/", effects.Connect{Host: "127.0.0.1", Port: 80, Scheme: "http"}, ""},
		{"IPv4 octal", "http://0177.0.0.1/", effects.Connect{Host: "127.0.0.1", Port: 80, Scheme: "http"}, ""},
		{"IPv4 with a dot", "http://127.0.0.1./", effects.Connect{Host: "127.0.0.1", Port: 80, Scheme: "http"}, ""},
		{"IPv4 full width", "http://\uff11\uff12\uff17.0.0.1/", effects.Connect{Host: "127.0.0.1", Port: 80, Scheme: "http"}, ""},
		{"IPv6", "http://[::1]:8080/", effects.Connect{Host: "::1", Port: 8080, Scheme: "http"}, "connect [::1]:8080 (get)"},
		{"IPv6 long", "http://[0:0:0:0:0:0:0:1]/", effects.Connect{Host: "::1", Port: 80, Scheme: "http"}, ""},
		{"IPv6 mapped", "http://[::ffff:169.254.169.254]/", effects.Connect{Host: "169.254.169.254", Port: 80, Scheme: "http"}, ""},
		{"IPv6 zone", "http://[fe80::1%25eth0]/", effects.Connect{Host: "fe80::1%eth0", Port: 80, Scheme: "http"}, ""},
		{"IPv6 zone of no link", "http://[fd00::1%25eth0]/", effects.Connect{Host: "fd00::1", Port: 80, Scheme: "http"}, ""},
		{"IPv6 bare", "fe80::1", effects.Connect{Host: "fe80::1"}, ""},
		{"IPv6 of ssh", "[::1]:x", effects.Connect{Host: "::1", Port: 22, Scheme: "ssh"}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e := r.Connect(tt.given, effects.MethodGet, "url")
			if e.Kind != effects.KindConnect {
				t.Fatalf("got %s: %s", e.Kind, e.Why)
			}
			want := tt.want
			want.Method = effects.MethodGet
			if want.URL == "" && want.Scheme != "" {
				want.URL = e.Connect.URL // TestConnectURL
			}
			if diff := cmp.Diff(&want, e.Connect); diff != "" {
				t.Errorf("connect (-want +got):\n%s", diff)
			}
			if tt.text != "" && e.Text != tt.text {
				t.Errorf("text: got %q, want %q", e.Text, tt.text)
			}
		})
	}
}

func TestConnectUnclear(t *testing.T) {
	r := testResolver(tree())
	for _, given := range []string{
		"", "http://", "http:///x", "https://", "http://:80/", "http://.", "http://..", "http://a..b/", "http://.a/", "http://a../",
		"https://github.com\t.evil.example/", "https://github.com\n.evil.example/", "https://github.com .evil.example/",
		"https://github.com\u00a0.evil.example/", "https://github.com\u200b.evil.example/", " https://github.com/", "https://x/\u202e",
		"https://a.example/v1/../x", "https://a.example/v1/%2e%2E/x", "https://a.example/.%2e", "https://a.example/./x", "git+ssh://a.example/x/..",
		`https://github.com\@evil.example/`, `https:\\evil.example\`, `https://api.example.com/v1/public/..\admin`,
		"https://good.example?@evil.example/", "https://good.example#@evil.example/", "https://a@b@c/",
		"https://evil%2eexample/", "https://%65vil.example/", "https://evil.example%00.good.example/",
		"javascript:fetch('https://evil.example')//https://github.com/", "data:text/html,x", "about:blank", "mailto:a@b.example",
		"blob:https://x.example/1", "http:evil.example", "https:/evil.example", "unix:///run/docker.sock", "s3://bucket/x",
		"ext::sh -c x", "ext::sh", "fd::3", "foo::bar", "user:pass@example.com", "1http://x/", "://x", "ht!tp://x/",
		"http://1.2.3.4.5/", "http://256.1.1.1/", "http://1.2.3.256/", "http://08.0.0.1/", "http://4294967296/", "http://0x/", "http://1..2/",
		"http://0x1ffffffff/", "http://a.0x7f/", "http://a.1/",
		"http://[::1/", "http://[::1]x/", "http://[1.2.3.4]/", "http://[::g]/", "http://[]/", "http://[fe80::1%25a/b]/", "http://[fe80::1%25a.example.com]/", "http://[::1%25a.example.com]/", "http://[2001:db8::1%a.example.com]/", "http://[fe80::1%25a b]/",
		"http://x:99999/", "http://x:0/", "http://x:-1/", "http://x:8a/", "http://x:80:90/", "x:y:z",
		"http://127.0.0.1.nip.io/", "http://x.sslip.io/", "http://localtest.me/", "http://LVH.me./",
		"http://fa\u00df.example/", "http://a\u2100b.example/", "http://-evil.example/", "-oProxyCommand=x", "http://a,b/", "http://a;b/", "http://$HOST/",
		"http://{a,b}.example/", "http://*.example/", strings.Repeat("a", 300) + ".example", "http://" + strings.Repeat("a", 64) + ".example/",
		"https://x/" + strings.Repeat("a", 9000), "https://\xff.example/",
	} {
		t.Run(given[:min(len(given), 40)], func(t *testing.T) {
			e := r.Connect(given, effects.MethodGet, "url")
			if e.Kind != effects.KindUnknown || e.Why == "" || e.From != "url" {
				t.Errorf("%q: got %s %+v, want unknown", given, e.Kind, e.Connect)
			}
		})
	}
}

func TestConnectFileURL(t *testing.T) {
	r := testResolver(tree())
	for given, want := range map[string]string{
		"file:///etc/passwd": "/etc/passwd", "FILE:///home/dev/proj/../.ssh/id_rsa": "/home/dev/.ssh/id_rsa", "file://evil.example/x": "?",
	} {
		e := r.Connect(given, effects.MethodGet, "url")
		if want == "?" {
			if e.Kind != effects.KindUnknown {
				t.Errorf("%s: got %s", given, e.Kind)
			}
		} else if e.Kind != effects.KindRead || resolved(e) != want {
			t.Errorf("%s: got %s %s", given, e.Kind, resolved(e))
		}
	}
}

func TestConnectMethodIsSendUnlessGet(t *testing.T) {
	r := testResolver(tree())
	for method, want := range map[string]string{"get": "get", "send": "send", "": "send", "GET": "send", "post": "send"} {
		if e := r.Connect("https://x.example/", method, ""); e.Connect.Method != want {
			t.Errorf("%q: got %q, want %q", method, e.Connect.Method, want)
		}
	}
}

func TestHostTags(t *testing.T) {
	r := testResolver(tree())
	for _, tt := range []struct{ host, want string }{
		{"example.com", ""},
		{"localhost", "loopback"},
		{"LOCALHOST.", "loopback"},
		{"app.localhost", "loopback"},
		{"notlocalhost.example", ""},
		{"localhost.example.com", ""},
		{"127.0.0.1", "loopback"},
		{"127.99.1", "loopback"},
		{"0.0.0.0", "loopback"},
		{"[::1]", "loopback"},
		{"[::]", "loopback"},
		{"[::ffff:127.0.0.1]", "loopback"},
		{"10.1.2.3", "private"},
		{"172.16.0.1", "private"},
		{"172.32.0.1", ""},
		{"192.168.1.1", "private"},
		{"100.64.0.1", "private"},
		{"169.254.1.1", "private"},
		{"8.8.8.8", ""},
		{"[fe80::1%25eth0]", "private"},
		{"[fd12::1]", "private"},
		{"[2001:db8::1]", ""},
		{"[64:ff9b::a00:1]", "private"},
		{"[64:ff9b::7f00:1]", "private"},
		{"[64:ff9b::808:808]", ""},
		{"printer.local", "private"},
		{"db.internal", "private"},
		{"intranet", "private"},
		{"169.254.169.254", "private metadata_service"},
		{"0xa9fea9fe", "private metadata_service"},
		{"2852039166", "private metadata_service"},
		{"0251.0376.0251.0376", "private metadata_service"},
		{"[::ffff:169.254.169.254]", "private metadata_service"},
		{"[64:ff9b::a9fe:a9fe]", "private metadata_service"},
		{"[2002:a9fe:a9fe::]", "private metadata_service"},
		{"[::169.254.169.254]", "private metadata_service"},
		{"[fd00:ec2::254]", "private metadata_service"},
		{"[fd00:ec2:0:0::254%25eth0]", "private metadata_service"},
		{"Metadata.Google.Internal", "private metadata_service"},
		{"metadata.google.internal.", "private metadata_service"},
		{"metadata", "private metadata_service"},
		{"100.100.100.200", "private metadata_service"},
		{"168.63.129.16", "metadata_service"},
	} {
		e := r.Connect("http://"+tt.host+"/", effects.MethodGet, "")
		if e.Kind != effects.KindConnect {
			t.Errorf("%s: unknown: %s", tt.host, e.Why)
			continue
		}
		if got := strings.Join(e.Tags.Names(), " "); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.host, got, tt.want)
		}
	}
}

// FuzzAddress checks that a host, once taken, is canonical and reads the same
// again, and that no user information is left in the URL.
func FuzzAddress(f *testing.F) {
	for _, s := range []string{
		"https://u:p@example.com:8080/x?y#z", "git@github.com:o/r.git", "http://[::ffff:1.2.3.4]/", "http://0x7f.1", "a::b",
		`http://a\@b/`, "http://b\u00fccher.example/", "http://good?@evil/", "javascript:x", "[::1]:80", "file:///x", "x:1:2",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		a, why := parseAddress(s)
		if why != "" {
			return
		}
		if a.host == "" || a.port < 0 || a.port > 65535 || strings.ContainsAny(a.host, "/@?#[]\\ ") || strings.ToLower(a.host) != a.host && !strings.Contains(a.host, "%") {
			t.Fatalf("%q: host %q port %d", s, a.host, a.port)
		}
		again := a.host
		if strings.Contains(again, ":") {
			again = "[" + strings.Replace(again, "%", "%25", 1) + "]"
		}
		b, why := parseAddress("http://" + again + "/")
		if why != "" || b.host != a.host {
			t.Fatalf("%q: host %q reads %q again (%s)", s, a.host, b.host, why)
		}
		url, _ := a.url()
		if user := strings.TrimSuffix(a.user, "@"); len(user) > 8 && user != "git" && strings.Contains(url, a.user) && !strings.Contains(a.path+a.host, user) {
			t.Fatalf("%q: user information in %q", s, url)
		}
	})
}
