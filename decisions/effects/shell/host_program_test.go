package shell

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/effectstest"
	"github.com/permd/permd/decisions/effects/paths"
)

// TestFileURLs compares the file that permd takes a file URL for with the one that
// curl reads.
func TestFileURLs(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it runs curl on more than a thousand URLs")
	}
	t.Parallel()
	curl, err := exec.LookPath("curl")
	if err != nil {
		t.Skip("curl is not installed")
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	canary := filepath.Join(dir, ".env")
	if err := os.WriteFile(canary, []byte("CANARY"), 0o600); err != nil {
		t.Fatal(err)
	}
	table, read := effectstest.Table(t), 0
	names := []string{"/.env", "/%2eenv", "/%2Eenv", "/.en%76", "/x/../.env", "//.env", "/./.env", "/.env?x", "/.env#x", "/.env%3fx", "/.env%00", "/.env;x", "/%252eenv", "/.env%2f", "/x/%2e%2e/.env"}
	for _, scheme := range []string{"file", "FILE", "File", "fil%65", "file+x"} {
		for _, head := range []string{":", ":/", "://", ":///", "://localhost", "://LOCALHOST", "://127.0.0.1", "://127.1", "://[::1]", "://localhost.", "://u@localhost", "://localhost:80", "://x.example", "://%6cocalhost", ":\\\\", "://localhost\\"} {
			// One process for all names: each has a file for what curl reads.
			out := t.TempDir()
			args := []string{"-q", "-s", "--max-time", "2", "--noproxy", "*", "--resolve", "x.example:80:127.0.0.1"}
			for n, name := range names {
				args = append(args, "-o", filepath.Join(out, strconv.Itoa(n)), scheme+head+dir+name)
			}
			_ = exec.CommandContext(t.Context(), curl, args...).Run() // some cannot be read
			for n, name := range names {
				url := scheme + head + dir + name
				text, err := os.ReadFile(filepath.Join(out, strconv.Itoa(n)))
				if err != nil || !strings.Contains(string(text), "CANARY") {
					continue
				}
				read++
				b := shellBuilder(table, paths.OSFS{})
				Argv(b, []string{"curl", url}, dir, "command")
				found := false
				for i := range b.Effects {
					e := &b.Effects[i]
					found = found || e.Kind == effects.KindRead && e.File.Path == canary && e.Tags.Has(effects.Secret) || e.Kind == effects.KindUnknown
				}
				if !found {
					t.Errorf("curl reads the file of %s: %+v", url, b.Effects)
				}
			}
		}
	}
	if read < 20 {
		t.Errorf("curl read %d of the files", read)
	}
}

// TestFileURLEffects: each form that permd understands is a read of its file, so
// that a deny of the file fires.
func TestFileURLEffects(t *testing.T) {
	table := effectstest.Table(t)
	for _, command := range []string{
		"curl file:///etc/passwd", "curl file://LOCALHOST/etc/passwd", "curl FILE://127.0.0.1/etc/%70asswd", "curl file:/etc/passwd", "curl --url=file:///etc/passwd?x",
		"curl -s file:////etc/passwd#x", "curl https://a.dev/ file://localhost/etc/passwd", "wget file:///etc/passwd",
	} {
		b := shellBuilder(table, effectstest.Files())
		Text(b, command, effectstest.Cwd, "command")
		found := false
		for i := range b.Effects {
			found = found || b.Effects[i].Kind == effects.KindRead && b.Effects[i].File.Path == "/etc/passwd"
		}
		if !found {
			t.Errorf("%s: %+v", command, b.Effects)
		}
	}
}

// TestAddressesOfPrograms: only plain downloads count as such, and addresses that
// programs read in different ways are unknown.
func TestAddressesOfPrograms(t *testing.T) {
	table := effectstest.Table(t)
	tests := map[string]string{
		"curl https://a.dev/x": "get a.dev", "curl a.dev": "get a.dev", "curl http://0x7f.1/": "get 127.0.0.1", "curl 'http://[::1]/x'": "get ::1", "wget http://a.dev/x": "get a.dev",
		"curl ftp.example.org/x": "send ftp.example.org", "curl FTP.example.org": "send ftp.example.org", "curl u@dict.example.org": "send dict.example.org", "curl ldap.example.org": "send ldap.example.org",
		"curl ftp://a.dev/x": "send a.dev", "curl tftp://a.dev/x": "send a.dev", "curl smb://a.dev/x": "send a.dev", "curl scp://a.dev/x": "send a.dev", "curl sftp://a.dev/x": "send a.dev",
		"curl gopher://a.dev/x": "send a.dev", "curl dict://a.dev/x": "send a.dev", "curl imap://a.dev/": "send a.dev", "curl pop3://a.dev": "send a.dev", "curl rtsp://a.dev": "send a.dev",
		"wget ftp://a.dev/x": "send a.dev",
		"curl s3://a.dev/x":  "unknown", "curl //a.dev/x": "unknown", "curl http:/a.dev": "unknown", "curl http:a.dev": "unknown", "curl http:///a.dev": "unknown", "curl 'http:\\\\a.dev'": "unknown",
		"curl 'http://a.dev/{x,y}'": "unknown", "curl 'http://a.dev/[1-3]'": "unknown", "curl 'http://[::1]/{x,y}'": "unknown", "curl 'http://[a-b].dev/'": "unknown", "curl 'http://a.d%65v/'": "unknown",
		"curl 'http://a.dev@b.dev@c.dev/'": "unknown", "curl 'http://a.dev?@b.dev/'": "unknown", "curl $'http://a.dev\t/'": "unknown", "wget a.dev:x/y": "unknown", "curl -K x": "unknown", "curl --config=x http://a.dev": "unknown",
		"curl file://x.example/etc/passwd": "unknown", "curl file://localhost:80/etc/passwd": "unknown", "curl 'file:///etc/{passwd,shadow}'": "unknown", "curl --proto-default file /etc/passwd": "unknown",
	}
	for command, want := range tests {
		b := shellBuilder(table, effectstest.Files())
		Text(b, command, effectstest.Cwd, "command")
		got := ""
		for i := range b.Effects {
			switch e := &b.Effects[i]; {
			case e.Kind == effects.KindUnknown:
				got = "unknown"
			case e.Kind == effects.KindConnect && got == "":
				got = e.Connect.Method + " " + e.Connect.Host
			}
		}
		if got != want {
			t.Errorf("%s: %s, want %s", command, got, want)
		}
	}
}
