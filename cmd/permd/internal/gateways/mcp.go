package gateways

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"strings"

	"github.com/spf13/cobra"

	"github.com/permd/permd/cmd/permd/internal/agentproc"
	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/socket/mcp"
)

type mcpFlags struct {
	name, source  string
	noElicitation bool
	hideDenied    bool
	upstream      string // the address of a server over HTTP, "" for a command
	bearerFile    string
	bearerEnv     string
}

// MCP returns the command permd mcp.
func (g *Gateways) MCP() *cobra.Command {
	var o mcpFlags
	cmd := &cobra.Command{
		Use:   "mcp --name SERVER [flags] {-- COMMAND [ARGS...] | --upstream URL}",
		Short: "Run an MCP server behind permd",
		Long: `Run a server of the Model Context Protocol over standard input and output,
and decide every call of its tools and each resource that is read. Put
"permd mcp --name SERVER --" in front of the server's command in the settings of
any MCP client. permd starts the server and relays all messages. A call reaches
the server only if rules, a remembered answer or you allow it. If it is denied,
the model reads why.

With --upstream the server is one over HTTP (streamable HTTP), and the client
starts permd mcp for it. Plain http:// is only for servers of this machine.

You are asked in the client, if it can show a form (elicitation). Otherwise the
model is told that the call waits for you: permd allow lists it.

Rules and remembered answers know a tool as SERVER:TOOL, and the reading of a
resource as SERVER:resources/read. What you allow is remembered for the tool as
the server describes it now. If its description or the schema of its input
changes later, you are asked, also where a rule allows the tool.

Without a daemon no call is made. The exit code is that of the server's command.

` + cli.ExitCodes,
		Example: `  permd mcp --name github -- github-mcp-server stdio
  permd mcp --name files -- npx -y @modelcontextprotocol/server-filesystem .
  permd mcp --name shop --upstream https://mcp.example.com/mcp`,
		Args: func(cmd *cobra.Command, args []string) error {
			switch {
			case o.upstream != "" && len(args) > 0:
				return errors.New("--upstream is in the place of the server's command")
			case o.upstream == "" && (o.bearerFile != "" || o.bearerEnv != ""):
				return errors.New("--bearer-file and --bearer-env are for --upstream")
			case o.upstream == "" && (cmd.ArgsLenAtDash() != 0 || len(args) == 0):
				return errors.New("the server's command is missing; give it after --")
			case !plainName(o.name):
				return errors.New("--name names the server for rules: letters, digits and - _ . /, at most 64")
			case len(o.source) > 1024:
				return errors.New("--source has at most 1024 bytes")
			}
			if o.upstream != "" {
				return o.checkUpstream()
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.upstream != "" && !cmd.Flags().Changed("source") {
				o.source = "http"
			}
			return g.mcp(cmd.Context(), args, o)
		},
	}
	cmd.Flags().StringVar(&o.name, "name", "", "the `server`'s name in rules and remembered answers")
	cmd.Flags().StringVar(&o.source, "source", "stdio", "what effect.source is in rules: a `word` for where the server comes from (with --upstream: http)")
	cmd.Flags().StringVar(&o.upstream, "upstream", "", "the `address` of a server over HTTP, in the place of a command")
	cmd.Flags().StringVar(&o.bearerFile, "bearer-file", "", "with --upstream: the `file` with the bearer token, which only you can read")
	cmd.Flags().StringVar(&o.bearerEnv, "bearer-env", "", "with --upstream: the environment `variable` with the bearer token")
	cmd.Flags().BoolVar(&o.noElicitation, "no-elicitation", false, "do not ask in the client: leave questions to permd allow")
	cmd.Flags().BoolVar(&o.hideDenied, "hide-denied", false, "do not list tools that a list of yours or of org denies")
	return cmd
}

// plainName reports whether a server has a name that rules can name, and that cannot be read
// as that of another server and of its tool: "a:b" with the tool "c" would have the same
// rules as "a" with "b:c".
func plainName(name string) bool {
	return name != "" && len(name) <= 64 && !strings.ContainsFunc(name, func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && !strings.ContainsRune("-_./", c)
	})
}

func (g *Gateways) mcp(ctx context.Context, args []string, o mcpFlags) error {
	cwd, data, err := g.gatewayFolders("mcp")
	if err != nil {
		return err
	}
	say, silence := g.Printer()
	defer silence()
	cfg := mcp.Config{
		Server: o.name, Source: o.source, Cwd: cwd, NoElicitation: o.noElicitation, HideDenied: o.hideDenied,
		Pins: mcp.OpenPins(data, o.name),
		Dial: g.Dial, Say: say,
	}
	if o.upstream != "" {
		return g.mcpUpstream(ctx, o, cfg)
	}
	path, err := exec.LookPath(args[0])
	if err != nil {
		return cli.Failf(cli.ExitError, "is the server installed, and in PATH?", "finding the server: %v", err)
	}
	code, broken, err := agentproc.Relay(ctx, *g.Streams, path, args, mcp.EndTimeout, func(ctx context.Context, pipes *agentproc.Pipes, server *agentproc.Agent) error {
		err := mcp.Run(ctx, mcp.Peers{ClientIn: pipes.In, ClientOut: pipes.Out, ServerIn: server.In, ServerOut: server.Out}, cfg)
		// It has closed its output, or its input was closed.
		if err == nil && !server.Exits(mcp.EndTimeout) {
			err = errors.New("the server runs on without its output")
		}
		return err
	})
	if err != nil {
		return err
	}
	if code != 0 {
		return &cli.Failure{Code: code}
	}
	return broken
}

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
func (g *Gateways) mcpUpstream(ctx context.Context, o mcpFlags, cfg mcp.Config) error {
	address, err := url.Parse(o.upstream)
	if err != nil {
		return errors.New("--upstream is no address")
	}
	token, err := o.token()
	if err != nil {
		return fmt.Errorf("reading the bearer token: %w", err)
	}
	pipes, err := agentproc.OpenPipes(*g.Streams)
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
	switch {
	case o.bearerFile != "":
		return readSecret(o.bearerFile)
	case o.bearerEnv != "":
		return oneWord(os.Getenv(o.bearerEnv))
	}
	return "", nil
}
