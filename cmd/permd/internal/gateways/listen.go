package gateways

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"

	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/socket/gatehttp"
)

// listenFlags are where a gateway over HTTP listens, and who may ask it.
type listenFlags struct{ address, tokenFile string }

func (o *listenFlags) add(f *pflag.FlagSet, address string) {
	f.StringVar(&o.address, "listen", address, "`address` to listen on: 127.0.0.1:PORT, [::1]:PORT or unix:PATH")
	f.StringVar(&o.tokenFile, "token-file", "", "`file` with the token that callers need, made at first (default: the gateway's own in the state folder)")
}

// listen listens as the gateway of that name. On a loopback address callers need the token;
// a Unix socket is open to this user alone, and the token is "".
func (g *Gateways) listen(o *listenFlags, name string) (ln net.Listener, token string, err error) {
	address := o.address
	if path, ok := strings.CutPrefix(address, "unix:"); ok {
		if path, err = filepath.Abs(path); err != nil {
			return nil, "", fmt.Errorf("finding the socket: %w", err)
		}
		ln, err = gatehttp.Listen("unix:" + path)
		return ln, "", err
	}
	file := o.tokenFile
	if file == "" {
		data, err := g.dataFolder(name)
		if err != nil {
			return nil, "", err
		}
		file = filepath.Join(data, "token")
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			return nil, "", fmt.Errorf("making the folder of the token: %w", err)
		}
	}
	if token, err = gatehttp.Token(file); err != nil {
		return nil, "", err
	}
	if ln, err = gatehttp.Listen(address); err != nil {
		return nil, "", cli.Failf(cli.ExitUsage, "a loopback address such as 127.0.0.1:7400, or unix:PATH", "%v", err)
	}
	return ln, token, nil
}

// gatewayFolders returns the folder in which the calls of a gateway of that name are made, and
// that of its own data.
func (g *Gateways) gatewayFolders(name string) (cwd, data string, err error) {
	if cwd, err = os.Getwd(); err != nil {
		return "", "", fmt.Errorf("finding the working directory: %w", err)
	}
	data, err = g.dataFolder(name)
	return cwd, data, err
}

// dataFolder returns the folder of a gateway's own data.
func (g *Gateways) dataFolder(name string) (string, error) {
	dirs, err := g.Dirs()
	if err != nil {
		return "", err
	}
	return filepath.Join(dirs.State, name), nil
}

// sentCalls opens what the gateway of that name has sent before from where it listens now.
func (g *Gateways) sentCalls(ln net.Listener, name string) (*gatehttp.Sent, error) {
	data, err := g.dataFolder(name)
	if err != nil {
		return nil, err
	}
	return gatehttp.OpenSent(data, ln.Addr().String())
}

// listening says where a gateway listens.
func listening(ln net.Listener) string {
	if ln.Addr().Network() == "unix" {
		return "listening on unix:" + ln.Addr().String()
	}
	return "listening on " + ln.Addr().String()
}

// maxSecret is how long a key or token of an upstream may be, in bytes.
const maxSecret = 16 << 10

// readSecret reads the key or token of an upstream, which goes into a header, from a file
// that nobody else can read.
func readSecret(file string) (string, error) {
	text, err := gatehttp.ReadCredential(file)
	if err != nil {
		return "", err
	}
	return oneWord(text)
}

// oneWord returns a text without blanks at its ends, if it can be one word of a header.
func oneWord(text string) (string, error) {
	text = strings.TrimSpace(text)
	if text == "" || len(text) > maxSecret || strings.ContainsFunc(text, func(c rune) bool { return c <= ' ' || c > '~' }) {
		return "", errors.New("it is empty, too long, or no line of printable ASCII characters")
	}
	return text, nil
}
