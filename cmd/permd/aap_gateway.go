package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/permd/permd/cmd/permd/internal/buildinfo"
	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/socket"
	"github.com/permd/permd/socket/aap/gateway"
	"github.com/permd/permd/socket/gatehttp"
)

// gatewayFlags are the options of permd aap as a gateway.
type gatewayFlags struct {
	upstream, listen, keyFile string
	keepTrust, noAnswers      bool
	wait                      time.Duration
}

func (o *gatewayFlags) add(f *pflag.FlagSet) {
	f.StringVar(&o.upstream, "upstream", "", "be a gateway to the server with this base `URL`")
	f.StringVar(&o.listen, "listen", "", "`address` of the gateway: 127.0.0.1:PORT, [::1]:PORT or unix:PATH")
	f.StringVar(&o.keyFile, "key-file", "", "`file` with the API key of the server")
	f.BoolVar(&o.keepTrust, "keep-trust", false, "let the server run the tools that a client trusts")
	f.BoolVar(&o.noAnswers, "no-client-answers", false, "leave all questions to permd allow")
	o.wait = 10 * time.Minute
	f.Var(cli.Duration{To: &o.wait}, "wait", "how long a call waits for permd allow, a `duration` such as 90s or 10m (default 10m)")
	for _, name := range []string{"upstream", "listen", "key-file", "keep-trust", "no-client-answers", "wait"} {
		// What only reads is the command without them.
		f.Lookup(name).Annotations = map[string][]string{"effect": {"changes"}}
	}
}

// check checks the arguments of permd aap.
func (o *gatewayFlags) check(local bool, args []string) error {
	switch {
	case o.upstream == "" && (o.listen != "" || o.keyFile != "" || o.keepTrust || o.noAnswers):
		return errors.New("the options of a gateway need --upstream URL")
	case o.upstream == "" && len(args) != 1:
		return errors.New("TURN.json is missing, or - for standard input; or --upstream URL for a gateway")
	case o.upstream == "":
		return nil
	case len(args) > 0:
		return errors.New("with --upstream there is no TURN.json")
	case o.listen == "":
		return errors.New("--listen ADDRESS is missing")
	case local:
		return errors.New("a gateway asks the daemon: there is no --local")
	case o.wait > time.Hour:
		return errors.New("--wait is at most 1h")
	}
	return nil
}

// runGateway serves until ctx ends.
func (a *app) runGateway(ctx context.Context, o *gatewayFlags, cwd, name string) error {
	upstream, err := url.Parse(o.upstream)
	if err != nil {
		return cli.Failf(cli.ExitUsage, "see permd aap --help", "--upstream is no address")
	}
	party := effects.Party{Name: "permd aap", Version: buildinfo.Version()}
	if name != "" {
		party.Name, party.Version, _ = strings.Cut(name, "@")
	}
	say, silence := a.printer()
	defer silence()
	cfg := gateway.Config{
		Upstream: upstream, Cwd: cwd, Client: party, KeepTrust: o.keepTrust, NoClientAnswers: o.noAnswers, Wait: o.wait, Dial: dialDaemon, Say: say,
	}
	if o.keyFile != "" {
		if cfg.Key, err = readKey(o.keyFile); err != nil {
			return err
		}
	}
	ln, where, err := a.gatewayListener(o.listen, &cfg)
	if err != nil {
		return err
	}
	g, err := gateway.New(cfg)
	if err != nil {
		return errors.Join(cli.Failf(cli.ExitUsage, "see permd aap --help", "--upstream: %v", err), ln.Close())
	}
	say("listening on " + where)
	return g.Serve(ctx, ln)
}

// gatewayListener listens, and makes the token that clients need there.
func (a *app) gatewayListener(address string, cfg *gateway.Config) (ln net.Listener, where string, err error) {
	if path, ok := strings.CutPrefix(address, "unix:"); ok {
		if path, err = filepath.Abs(path); err != nil {
			return nil, "", fmt.Errorf("finding the socket: %w", err)
		}
		l, err := socket.Listen(path, socket.ListenOptions{})
		if err != nil {
			return nil, "", err
		}
		return l, address, nil
	}
	dirs, err := a.dirs()
	if err != nil {
		return nil, "", err
	}
	dir := filepath.Join(dirs.State, "aap")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, "", fmt.Errorf("making the folder of the token: %w", err)
	}
	file := filepath.Join(dir, "token")
	if cfg.Token, err = gatehttp.Token(file); err != nil {
		return nil, "", err
	}
	if ln, err = gatehttp.ListenLoopback(address); err != nil {
		return nil, "", cli.Failf(cli.ExitUsage, "a loopback address such as 127.0.0.1:7400, or unix:PATH", "%v", err)
	}
	return ln, "http://" + ln.Addr().String() + "; the API key for clients is in " + file, nil
}

// readKey reads the API key of a server.
func readKey(file string) (string, error) {
	info, err := os.Stat(file)
	if err != nil {
		return "", fmt.Errorf("reading the key: %w", err)
	}
	if info.Mode().Perm()&0o077 != 0 {
		return "", cli.Failf(cli.ExitError, "chmod 600 "+file, "the file of the key can be read by others")
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("reading the key: %w", err)
	}
	key := strings.TrimSpace(string(data))
	if key == "" || len(key) > 4096 || strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", cli.Failf(cli.ExitError, "", "the file of the key does not hold one word")
	}
	return key, nil
}
