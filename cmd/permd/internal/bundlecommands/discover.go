package bundlecommands

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/permd/permd/cmd/permd/internal/buildinfo"
	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/cmd/permd/internal/orgbundle"
	"github.com/permd/permd/policy/bundles"
	"github.com/permd/permd/policy/management"
)

type discoverOptions struct {
	config           string
	machines, labels []string
	key              keyFlags
}

// Discover returns permd policy bundle discover.
func (a *Commands) Discover() *cobra.Command {
	var o discoverOptions
	cmd := &cobra.Command{
		Use:         "discover FILE",
		Annotations: cli.ReadsOnly,
		Short:       "Show what a discovery bundle decides for a machine",
		Long: `Evaluate the policy of a discovery bundle for machines, as their daemons would,
and print for each from where it takes its rules, which bundle it tries, and to
which services it sends reports and its log.

With --machine - machines are read from the standard input, one a line: the id,
then labels as NAME=VALUE that this machine has. Those of --label are of every
machine. Other labels are those of opa.yaml, app and version; a machine has the
label host only if it is given.

The services, the keys and the name of the decision are those of --config, or
of the organisation's opa.yaml. The bundle is verified with the key there, or
with that of --verification-key. The exit code is 1 if a daemon would not use
what is decided for it.

` + cli.ExitCodes,
		Example: `  permd policy bundle discover discovery.tar.gz --machine \
    0195b4ce-7d5e-7c2b-a2f4-3f1a1f0c9d11
  permd policy bundle discover discovery.tar.gz --config opa.yaml \
    --machine - < machines`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.discover(cmd.Context(), args[0], &o)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.config, "config", "", "`file` in the place of the organisation's opa.yaml")
	f.StringArrayVar(&o.machines, "machine", nil, "`id` of a machine, or - for the standard input; can be repeated")
	f.StringArrayVar(&o.labels, "label", nil, "label of the machines, as `NAME=VALUE`; can be repeated")
	o.key.flags(cmd, "verification-key", "public")
	required(cmd, "machine")
	return cmd
}

func (a *Commands) discover(ctx context.Context, name string, o *discoverOptions) error {
	machines, err := o.all(a.In)
	if err != nil {
		return err
	}
	config, err := a.configuration(o.config)
	if err != nil {
		return err
	}
	data, err := readFile(name, bundles.MaxArchive)
	if err != nil {
		return err
	}
	verifier := config.Verification(bundles.Discovery)
	if o.key.file != "" {
		if verifier, err = a.verification(ctx, bundles.Discovery, &o.key); err != nil {
			return err
		}
	}
	b, err := bundles.Read(bundles.Discovery, data, verifier)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if b.Expired(time.Now()) {
		return fmt.Errorf("%s: expired at %s", name, b.Expires.Format(time.RFC3339))
	}
	policy, err := config.CompileDiscovery(b)
	if err != nil {
		return cli.Failf(cli.ExitCompile, "", "%s: %v", name, err)
	}
	failed := 0
	for _, m := range machines {
		d := discoveredOf(ctx, config, policy, m)
		if d.Error != "" {
			failed++
		}
		if err := a.printDiscovered(&d); err != nil {
			return err
		}
	}
	if failed > 0 {
		return &cli.Failure{Code: cli.ExitError}
	}
	return nil
}

// configuration returns an opa.yaml that has discovery.
func (a *Commands) configuration(name string) (c *management.Config, err error) {
	if name != "" {
		var data []byte
		if data, err = readFile(name, management.MaxConfig); err == nil {
			c, err = management.Parse(name, data)
		}
	} else {
		name = management.ConfigName
		dirs, derr := a.Dirs()
		if derr != nil {
			return nil, derr
		}
		c, err = orgbundle.Configuration(dirs, a.owners())
	}
	if err != nil {
		return nil, err
	}
	if c == nil {
		return nil, cli.Failf(cli.ExitUsage, "name one with --config", "this machine has no %s", name)
	}
	if c.Sources[bundles.Discovery] == nil {
		return nil, cli.Failf(cli.ExitUsage, "name another file with --config", "%s has no section discovery", name)
	}
	return c, nil
}

// machine is a machine that is asked about.
type machine struct {
	id     string
	labels map[string]string
}

// maxMachine bounds a line about a machine, in bytes.
const maxMachine = 64 << 10

// all returns the machines that are asked about.
func (o *discoverOptions) all(in io.Reader) (list []machine, err error) {
	for _, text := range o.machines {
		if text != "-" {
			m, err := o.machine([]string{text})
			if err != nil {
				return nil, err
			}
			list = append(list, m)
			continue
		}
		lines := bufio.NewScanner(in)
		lines.Buffer(nil, maxMachine)
		for n := 1; lines.Scan(); n++ {
			words := strings.Fields(lines.Text())
			if len(words) == 0 || strings.HasPrefix(words[0], "#") {
				continue
			}
			m, err := o.machine(words)
			if err != nil {
				return nil, fmt.Errorf("line %d: %w", n, err)
			}
			list = append(list, m)
		}
		if err := lines.Err(); err != nil {
			return nil, fmt.Errorf("reading machines: %w", err)
		}
	}
	if len(list) == 0 {
		return nil, cli.Failf(cli.ExitUsage, "write an id in each line", "no machine is named")
	}
	return list, nil
}

// machine returns the machine of an id and labels.
func (o *discoverOptions) machine(words []string) (machine, error) {
	m := machine{strings.TrimSpace(words[0]), map[string]string{}}
	if m.id == "" || strings.Contains(m.id, "=") {
		return m, cli.Failf(cli.ExitUsage, "begin with the id, as permd status shows it", "%q is no id of a machine", words[0])
	}
	for _, list := range [][]string{o.labels, words[1:]} {
		for _, text := range list {
			name, value, ok := strings.Cut(text, "=")
			if !ok || name == "" || name == "id" {
				return m, cli.Failf(cli.ExitUsage, "write NAME=VALUE", "%q is no label", text)
			}
			m.labels[name] = value
		}
	}
	return m, nil
}

// discovered is what is decided for a machine.
type discovered struct {
	Machine string            `json:"machine"`
	Sources map[string]string `json:"sources,omitzero"` // where bundles come from, by their kinds
	Config  json.RawMessage   `json:"config,omitzero"`  // the sections bundles, decision_logs and status in force
	Error   string            `json:"error,omitzero"`   // why its daemon would not use it

	// Names of the services that status reports and the log are sent to, "" for none.
	status, log string
}

// discoveredOf evaluates a policy for a machine.
func discoveredOf(ctx context.Context, config *management.Config, policy *management.DiscoveryPolicy, m machine) discovered {
	of := management.Machine{ID: m.id, Version: buildinfo.Version(), Labels: orgbundle.Labels()}
	labels := of.AllLabels(config)
	maps.Copy(labels, m.labels)
	d := discovered{Machine: m.id}
	c, err := policy.Evaluate(ctx, labels)
	if err == nil {
		err = orgbundle.CheckDiscovered(c)
	}
	if err != nil {
		d.Error = err.Error()
		return d
	}
	d.Config, d.Sources = c.Discoverable(), map[string]string{}
	d.status, d.log = c.ReportServices()
	for kind := range c.Sources {
		if kind != bundles.Discovery {
			d.Sources[string(kind)] = c.Address(kind)
		}
	}
	return d
}

// printDiscovered prints one line.
func (a *Commands) printDiscovered(d *discovered) error {
	if a.JSON {
		return cli.PrintJSON(a.Out, d)
	}
	if d.Error != "" {
		_, err := fmt.Fprintln(a.Out, cli.Visible(d.Machine+"  not used: "+d.Error))
		return err
	}
	line := d.Machine
	for _, kind := range bundles.OfRules() {
		if at := d.Sources[string(kind)]; at != "" {
			line += "  " + string(kind) + " " + at
		}
	}
	if d.status != "" {
		line += "  status " + d.status
	}
	if d.log != "" {
		line += "  decision_logs " + d.log
	}
	_, err := fmt.Fprintln(a.Out, cli.Visible(line))
	return err
}
