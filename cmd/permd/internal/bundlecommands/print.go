package bundlecommands

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/cmd/permd/internal/orgbundle"
	"github.com/permd/permd/policy/bundles"
	"github.com/permd/permd/policy/rules"
)

// verification returns what verifies a bundle: the key of the options, or the configuration of this
// machine.
func (a *Commands) verification(ctx context.Context, kind bundles.Kind, k *keyFlags) (*bundles.Verifier, error) {
	if k.file != "" {
		text, err := readFile(k.file, maxKey)
		if err != nil {
			return nil, fmt.Errorf("reading the key: %w", err)
		}
		return bundles.NewVerifier(string(text), k.algorithm, k.id, k.scope)
	}
	dirs, err := a.Dirs()
	if err != nil {
		return nil, err
	}
	config, err := orgbundle.Verification(ctx, dirs, a.owners(), kind)
	if err == nil && config == nil {
		err = cli.Failf(cli.ExitUsage, "name a key with --verification-key", "no bundle with a signature is configured on this machine")
	}
	return config, err
}

// owners returns who may own opa.yaml besides root.
func (a *Commands) owners() []uint32 {
	if a.Root() == "" {
		return nil
	}
	return []uint32{uint32(os.Geteuid())}
}

// print shows what a bundle has.
func (a *Commands) print(b *bundles.Bundle, list []rules.RuleInfo) {
	w := a.Out
	fmt.Fprintf(w, "revision   %s\n", b.Revision)
	fmt.Fprintf(w, "roots      %s\n", strings.Join(b.Roots, ", "))
	if !b.Expires.IsZero() {
		fmt.Fprintf(w, "expires    %s\n", b.Expires.UTC().Format(time.RFC3339))
	}
	signature := "none"
	if b.Signed {
		signature = "by key " + strconv.Quote(b.KeyID)
		if b.Scope != "" {
			signature += ", scope " + strconv.Quote(b.Scope)
		}
		signature += ", not verified"
	}
	fmt.Fprintf(w, "signature  %s\ndigest     %s\n", signature, b.Digest)
	for _, f := range b.Contents {
		fmt.Fprintf(w, "file       %s  %7d  %s%s\n", f.SHA256[:12], f.Size, f.Name, cli.Either(f.Read, "", "  (no rules)"))
	}
	for _, r := range list {
		title := r.Title
		if title == "" {
			title = r.Reason
		}
		fmt.Fprintf(w, "rule       %-5s  %s  %s\n", r.Set, r.ID, title)
	}
}
