package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/permd/permd/cmd/permd/internal/agentproc"
	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/socket/mcp"
)

// maxToken is how long a bearer token may be, in bytes.
const maxToken = 16 << 10

// checkUpstream returns what is wrong with the flags of a server over HTTP.
func (o *mcpFlags) checkUpstream() error {
	u, err := url.Parse(o.upstream)
	if err != nil {
		return errors.New("--upstream is no address") // the error would repeat it
	}
	if err := mcp.CheckUpstream(u); err != nil {
		return fmt.Errorf("--upstream: %w", err)
	}
	if o.bearerFile != "" && o.bearerEnv != "" {
		return errors.New("--bearer-file and --bearer-env are both given")
	}
	return nil
}

// mcpUpstream is permd mcp with a server over HTTP.
func (a *app) mcpUpstream(ctx context.Context, o mcpFlags, cfg mcp.Config) error {
	address, err := url.Parse(o.upstream)
	if err != nil {
		return errors.New("--upstream is no address")
	}
	token, err := o.token()
	if err != nil {
		return fmt.Errorf("reading the bearer token: %w", err)
	}
	pipes, err := agentproc.OpenPipes(a.Streams)
	if err != nil {
		return err
	}
	defer pipes.Restore()
	u := mcp.NewUpstream(mcp.UpstreamConfig{URL: address, Token: token, Say: cfg.Say})
	err = mcp.Run(ctx, mcp.Peers{ClientIn: pipes.In, ClientOut: pipes.Out, ServerIn: u, ServerOut: u}, cfg)
	_ = u.Close()
	u.Wait()
	if err != nil {
		return cli.Failf(cli.ExitError, "", "%v", err)
	}
	return nil
}

// token returns the bearer token, "" for none.
func (o *mcpFlags) token() (string, error) {
	var text string
	switch {
	case o.bearerFile != "":
		data, err := readSecret(o.bearerFile)
		if err != nil {
			return "", err
		}
		text = string(data)
	case o.bearerEnv != "":
		text = os.Getenv(o.bearerEnv)
	default:
		return "", nil
	}
	text = strings.TrimSpace(text)
	if text == "" || len(text) > maxToken || strings.ContainsFunc(text, func(c rune) bool { return c <= ' ' || c > '~' }) {
		return "", errors.New("it is empty, too long, or no line of printable ASCII characters")
	}
	return text, nil
}

// readSecret reads a file that only this user can read. Opening what is none does not wait for
// anybody.
func readSecret(path string) ([]byte, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, errors.New("it is no file")
	case info.Mode().Perm()&0o077 != 0:
		return nil, errors.New("others can read the file (chmod 600)")
	}
	return io.ReadAll(io.LimitReader(file, maxToken+2))
}
