package bundlecommands

import (
	"fmt"

	"github.com/permd/permd/policy/bundles"
	"github.com/permd/permd/policy/query"
)

// compileDiscovery returns an error if no daemon would use the policy of a discovery bundle.
func compileDiscovery(b *bundles.Bundle) error {
	_, err := query.Compile(b.Files, query.Options{Decisions: []string{bundles.Discovery.Root()}, Data: b.Data, Runtime: true})
	if err != nil {
		return fmt.Errorf("the policy of the discovery bundle: %w", err)
	}
	return nil
}
