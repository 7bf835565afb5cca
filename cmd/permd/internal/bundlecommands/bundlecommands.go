// Package bundlecommands holds the commands that make and examine bundles of the
// organisation's rules: permd policy bundle build, sign, verify, inspect and
// discover.
package bundlecommands

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/cmd/permd/internal/engine"
	"github.com/permd/permd/cmd/permd/internal/orgbundle"
	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects/programs"
	"github.com/permd/permd/decisions/effects/tools"
	"github.com/permd/permd/internal/xdg"
	"github.com/permd/permd/policy"
	"github.com/permd/permd/policy/bundles"
	"github.com/permd/permd/policy/diag"
	"github.com/permd/permd/policy/input"
	"github.com/permd/permd/policy/rules"
	"github.com/permd/permd/policy/source"
	"github.com/permd/permd/rego"
)

// Commands is what the commands take from the program that they are part of.
type Commands struct {
	*cli.Streams
	// Dirs returns permd's directories, and Root the prefix of /etc and /var, "" for none.
	Dirs func() (xdg.Dirs, error)
	Root func() string
}

// keyFlags name a key.
type keyFlags struct{ file, algorithm, id, scope string }

func (k *keyFlags) flags(cmd *cobra.Command, name, what string) {
	f := cmd.Flags()
	f.StringVar(&k.file, name, "", "`file` with the "+what+" key, in PEM")
	f.StringVar(&k.algorithm, "signing-alg", "RS256", "`algorithm` of the signature: RS256, PS256, ES256, …")
	f.StringVar(&k.id, "key-id", "default", "`id` of the key, as keys in opa.yaml names it")
	f.StringVar(&k.scope, "scope", "", "`scope` of the signature")
}

// maxKey is the maximum length of a file with a key, in bytes.
const maxKey = 64 << 10

// signing returns the private key.
func (k *keyFlags) signing() (bundles.SigningKey, error) {
	text, err := readFile(k.file, maxKey)
	return bundles.SigningKey{Key: string(text), Algorithm: k.algorithm, ID: k.id, Scope: k.scope}, err
}

func readFile(name string, most int64) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(data)) > most {
		err = fmt.Errorf("%s is larger than %d bytes", name, most)
	}
	return data, err
}

type buildOptions struct {
	output, revision string
	expires          string
	layer            string
	discovery        bool
	key              keyFlags
}

// Build returns permd policy bundle build.
func (a *Commands) Build() *cobra.Command {
	var o buildOptions
	cmd := &cobra.Command{
		Use:   "build DIR",
		Short: "Make a bundle of a folder of rules",
		Long: `Make a bundle of the rules in DIR, which are those of a folder such as
/etc/permd/policy.d, with tests, lists and descriptions of programs and agents.
They are compiled and tested first. With --signing-key the bundle is signed.
With --discovery DIR has Rego in the package discovery, which decides from where
machines take their rules. With --layer user DIR is as ~/.config/permd/policy.d.

The revision is a whole number. A daemon takes no bundle whose revision is lower
than the highest that it has taken, and no other of the same revision. After the
time of --expires it is not taken any more; where it is in force it stays.

The same input makes the same bytes, but for signatures of ES* and PS*.

` + cli.ExitCodes,
		Example: `  permd policy bundle build policy.d -o org.tar.gz --revision 42 \
    --signing-key key.pem --signing-alg ES256 --key-id release`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.build(cmd.Context(), args[0], &o)
		},
	}
	f := cmd.Flags()
	f.StringVarP(&o.output, "output", "o", "", "`file` to write")
	f.StringVar(&o.revision, "revision", "", "`number` of the revision")
	f.StringVar(&o.expires, "expires", "", "`time` until which the bundle is taken, as 2030-01-31T00:00:00Z")
	f.StringVar(&o.layer, "layer", string(bundles.Org), "the `layer` of the rules: org, or user for that of each person")
	f.BoolVar(&o.discovery, "discovery", false, "DIR has the policy of a discovery bundle")
	o.key.flags(cmd, "signing-key", "private")
	required(cmd, "output", "revision")
	return cmd
}

func required(cmd *cobra.Command, names ...string) {
	for _, name := range names {
		if err := cmd.MarkFlagRequired(name); err != nil {
			panic(err) // no such flag
		}
	}
}

func (a *Commands) build(ctx context.Context, dir string, o *buildOptions) error {
	c := bundles.Contents{Kind: bundles.Kind(o.layer), Revision: o.revision}
	if !slices.Contains(bundles.OfRules(), c.Kind) || c.Kind == bundles.Shadow {
		return cli.Failf(cli.ExitUsage, "write org or user", "there are no bundles for the layer %q", o.layer)
	}
	if o.expires != "" {
		var err error
		if c.Expires, err = time.Parse(time.RFC3339, o.expires); err != nil {
			return cli.Failf(cli.ExitUsage, "write 2030-01-31T00:00:00Z", "the time %q is not understood", o.expires)
		}
	}
	var err error
	if o.discovery {
		c.Kind = bundles.Discovery
	} else if err = a.checkFolder(ctx, dir, orgbundle.LayerOf(c.Kind)); err != nil {
		return err
	}
	tree, err := source.Read(dir, source.Access{Writable: true})
	if err != nil {
		return err
	}
	c.Files = tree.Files
	data, err := bundles.Build(c)
	if err != nil {
		return fmt.Errorf("building %s: %w", o.output, err)
	}
	if o.discovery {
		b, err := bundles.Read(c.Kind, data, nil)
		if err == nil {
			err = compileDiscovery(b)
		}
		if err != nil {
			return cli.Failf(cli.ExitCompile, "", "building %s: %v", o.output, err)
		}
	}
	if o.key.file != "" {
		if data, err = sign(data, &o.key); err != nil {
			return err
		}
	}
	return a.write(o.output, data)
}

// checkFolder returns an error if no daemon would use the rules in a folder.
func (a *Commands) checkFolder(ctx context.Context, dir string, layer decisions.Layer) (err error) {
	f := policy.Folder{Dir: dir, Layer: layer, Schema: rego.InputSchema()}
	if f.Table, f.Profiles, err = shipped(); err != nil {
		return err
	}
	report, err := f.Check(ctx)
	if err != nil {
		return engine.PolicyFailure(err)
	}
	return a.refused(report.Problems, report.FailedTests)
}

// refused prints errors in rules, and returns one error for them.
func (a *Commands) refused(problems []diag.Problem, failedTests int) error {
	errs := diag.List(problems).Errors()
	if len(errs) == 0 {
		return nil
	}
	for _, p := range errs {
		fmt.Fprintln(a.Err, p.String())
	}
	code := cli.ExitCompile
	if failedTests == len(errs) {
		code = cli.ExitTests
	}
	return cli.Failf(code, "", "the rules have %s, so no daemon would use them", cli.Plural(len(errs), "error"))
}

func shipped() (*programs.Table, *tools.Profiles, error) {
	table, err := programs.Shipped()
	if err != nil {
		return nil, nil, fmt.Errorf("reading the program table: %w", err)
	}
	profiles, err := tools.ParseProfiles(rego.Profiles())
	return table, profiles, err
}

func sign(data []byte, k *keyFlags) ([]byte, error) {
	key, err := k.signing()
	if err != nil {
		return nil, fmt.Errorf("reading the key: %w", err)
	}
	return bundles.Sign(data, key)
}

// write writes a bundle and says what it is.
func (a *Commands) write(name string, data []byte) error {
	b, err := bundles.Read(bundles.KindOf(data), data, nil)
	if err != nil {
		return err
	}
	if err := os.WriteFile(name, data, 0o644); err != nil { //nolint:gosec // bundles are published
		return err
	}
	if a.JSON {
		return cli.PrintJSON(a.Out, b)
	}
	fmt.Fprintf(a.Out, "%s: revision %s, %s, %s\n", name, b.Revision, cli.Plural(len(b.Files), "file"), cli.Either(b.Signed, "signed", "not signed"))
	return nil
}

// Sign returns permd policy bundle sign.
func (a *Commands) Sign() *cobra.Command {
	var key keyFlags
	var output string
	cmd := &cobra.Command{
		Use:   "sign FILE",
		Short: "Sign a bundle",
		Long: `Sign all files of a bundle, in the place of a signature that it has. With
--output the signed bundle is written there, and otherwise to FILE.

` + cli.ExitCodes,
		Example: `  permd policy bundle sign org.tar.gz --signing-key key.pem --signing-alg ES256`,
		Args:    cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			data, err := readFile(args[0], bundles.MaxArchive)
			if err != nil {
				return err
			}
			if data, err = sign(data, &key); err != nil {
				return err
			}
			if output == "" {
				output = args[0]
			}
			return a.write(output, data)
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "", "`file` to write (default: FILE)")
	key.flags(cmd, "signing-key", "private")
	required(cmd, "signing-key")
	return cmd
}

// verified is what verify and inspect print.
type verified struct {
	*bundles.Bundle
	Rules []rules.RuleInfo `json:"rules,omitzero"`
}

// Verify returns permd policy bundle verify.
func (a *Commands) Verify() *cobra.Command {
	var key keyFlags
	cmd := &cobra.Command{
		Use:         "verify FILE",
		Annotations: cli.ReadsOnly,
		Short:       "Verify a bundle as the daemon would",
		Long: `Verify the signature and contents of a bundle, compile its rules and run their
tests, those in Rego and calls, as the daemon does before it uses them. The
policy of a discovery bundle is compiled. Without --verification-key the keys
are those of the organisation's opa.yaml.

` + cli.ExitCodes,
		Example: `  permd policy bundle verify org.tar.gz
  permd policy bundle verify org.tar.gz --verification-key public.pem \
    --signing-alg ES256 --key-id release`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.verify(cmd.Context(), args[0], &key)
		},
	}
	key.flags(cmd, "verification-key", "public")
	return cmd
}

func (a *Commands) verify(ctx context.Context, name string, k *keyFlags) error {
	data, err := readFile(name, bundles.MaxArchive)
	if err != nil {
		return err
	}
	kind := bundles.KindOf(data)
	config, err := a.verification(ctx, kind, k)
	if err != nil {
		return err
	}
	b, err := bundles.Read(kind, data, config)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if b.Expired(time.Now()) {
		return fmt.Errorf("%s: expired at %s", name, b.Expires.Format(time.RFC3339))
	}
	list, err := a.compile(ctx, kind, b, true)
	if err != nil {
		return err
	}
	if a.JSON {
		return cli.PrintJSON(a.Out, verified{b, list})
	}
	fmt.Fprintf(a.Out, "ok: %s, revision %s, %s, signed with key %s\n", name, b.Revision, cli.Either(kind == bundles.Discovery, "the policy of a discovery bundle", cli.Plural(len(list), "rule")), b.KeyID)
	return nil
}

// compile compiles the rules of a bundle, and tests them. That of a discovery bundle has none.
func (a *Commands) compile(ctx context.Context, kind bundles.Kind, b *bundles.Bundle, test bool) ([]rules.RuleInfo, error) {
	if kind == bundles.Discovery {
		return nil, compileDiscovery(b)
	}
	schema, err := input.ParseSchema(rego.InputSchema())
	if err != nil {
		return nil, err
	}
	u := rules.Unit{Layer: orgbundle.LayerOf(kind), Files: b.Files}
	if u.Table, u.Profiles, err = shipped(); err != nil {
		return nil, err
	}
	c, problems := rules.Compile(u, schema)
	if err := a.refused(problems, 0); err != nil {
		return nil, err
	}
	if test {
		failed := policy.FailedTests(ctx, &u, c, schema)
		if err := a.refused(failed, len(failed.Errors())); err != nil {
			return nil, err
		}
	}
	return c.List(), nil
}

// Inspect returns permd policy bundle inspect.
func (a *Commands) Inspect() *cobra.Command {
	cmd := &cobra.Command{
		Use:         "inspect FILE",
		Annotations: cli.ReadsOnly,
		Short:       "Show what a bundle has",
		Long: `Show revision, roots, signature, files with their digests and rules of a bundle.
The signature is not verified: permd policy bundle verify does that.

` + cli.ExitCodes,
		Example: `  permd policy bundle inspect org.tar.gz`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.inspect(cmd.Context(), args[0])
		},
	}
	return cmd
}

func (a *Commands) inspect(ctx context.Context, name string) error {
	data, err := readFile(name, bundles.MaxArchive)
	if err != nil {
		return err
	}
	b, err := bundles.Read(bundles.KindOf(data), data, nil)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	list, err := a.compile(ctx, bundles.KindOf(data), b, false)
	if err != nil {
		return err
	}
	if a.JSON {
		return cli.PrintJSON(a.Out, verified{b, list})
	}
	a.print(b, list)
	return nil
}
