package importing

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/cmd/permd/internal/engine"
	"github.com/permd/permd/decisions"
	"github.com/permd/permd/policy"
	"github.com/permd/permd/policy/imports"
	"github.com/permd/permd/rego"
)

// checkImported compiles the rules as the daemon would.
func checkImported(ctx context.Context, im *imports.Import) error {
	if len(im.Files) == 0 {
		return nil
	}
	dir, err := writeScratch(im)
	if dir != "" {
		defer removeScratch(dir, im)
	}
	if err != nil {
		return err
	}
	report, err := policy.Folder{Dir: dir, Layer: decisions.User, Schema: rego.InputSchema()}.Check(ctx)
	if err != nil {
		return engine.PolicyFailure(err)
	}
	if !report.Passed() {
		return cli.Failf(cli.ExitCompile, "please report it with the settings", "the imported rules do not compile: %s", report.Problems[0].Text)
	}
	return nil
}

// writeScratch writes the rules into a temporary folder.
func writeScratch(im *imports.Import) (string, error) {
	dir, err := os.MkdirTemp("", "permd-import-")
	if err != nil {
		return "", fmt.Errorf("making a folder for the rules: %w", err)
	}
	for _, f := range im.Files {
		if err := os.WriteFile(filepath.Join(dir, f.Name), []byte(f.Text), 0o600); err != nil {
			return dir, fmt.Errorf("writing rules: %w", err)
		}
	}
	return dir, nil
}

func removeScratch(dir string, im *imports.Import) {
	for _, f := range im.Files {
		_ = os.Remove(filepath.Join(dir, f.Name)) // leftovers are in the folder of temporary files
	}
	_ = os.Remove(dir)
}
