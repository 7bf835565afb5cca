package bundles

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/bundle"
	"github.com/open-policy-agent/opa/v1/util"

	"github.com/permd/permd/policy/source"
)

// Kind is what a bundle is for, and its name in a configuration.
type Kind string

// The kinds of bundles. Those of Org and Shadow have the same form, so that the bytes that were
// tried can be published as they are.
const (
	Org       Kind = "org"       // rules of the organisation
	User      Kind = "user"      // rules that the organisation gives to each person
	Shadow    Kind = "shadow"    // rules of the organisation that are only evaluated, and decide nothing
	Discovery Kind = "discovery" // a policy whose decision is a configuration
)

// Roots of the kinds. A second root, with testSuffix, is for tests in Rego that have a package
// of their own.
const (
	orgRoot       = "permd/org"
	userRoot      = "permd/user"
	discoveryRoot = "discovery"
	testSuffix    = "_test"
)

// Root is the root of bundles of this kind.
func (k Kind) Root() string {
	switch k {
	case Discovery:
		return discoveryRoot
	case User:
		return userRoot
	case Org, Shadow:
	}
	return orgRoot
}

// OfRules are the kinds of bundles that have rules.
func OfRules() []Kind { return []Kind{Org, User, Shadow} }

// KindOf returns the kind of a bundle by its roots: [Discovery] or [User], or else [Org], whose
// bundles have the form of those of [Shadow]. Whether it is a bundle at all is for [Read].
func KindOf(data []byte) Kind {
	entries, err := unpack(data)
	if err != nil {
		return Org
	}
	for _, e := range entries {
		var m struct {
			Roots []string `json:"roots"`
		}
		if e.name != manifestName || util.UnmarshalJSON(e.data, &m) != nil {
			continue
		}
		for _, k := range []Kind{Discovery, User} {
			if slices.Contains(m.Roots, k.Root()) {
				return k
			}
		}
	}
	return Org
}

// checkRoots returns an error if a bundle of this kind may not have these sorted roots.
func (k Kind) checkRoots(roots []string) error {
	root := k.Root()
	if slices.Equal(roots, []string{root}) || slices.Equal(roots, []string{root, root + testSuffix}) {
		return nil
	}
	return fmt.Errorf("the roots are %q, and must be exactly %q (besides %q for tests)", roots, root, root+testSuffix)
}

// reads reports whether a file is one that permd reads from a bundle of this kind.
func (k Kind) reads(name string) bool {
	if hidden(name) || !source.IsRead(name) {
		return false
	}
	return k != Discovery || strings.HasSuffix(name, ".rego")
}

// takeData takes a file with data documents. Rules are given none, so that those of a bundle
// that has some would mean something else than its author thinks; the policy of a discovery
// bundle is.
func (b *Bundle) takeData(kind Kind, e entry) error {
	var v any
	if err := util.Unmarshal(e.data, &v); err != nil {
		return fmt.Errorf("%s: %w", e.name, err)
	}
	m, ok := v.(map[string]any)
	switch {
	case ok && len(m) == 0:
		return nil
	case kind != Discovery:
		return fmt.Errorf("%s has data, and permd gives rules no data documents", e.name)
	case e.name != dataName || !ok:
		return fmt.Errorf("%s has data, which a discovery bundle may have as an object in %s in its root alone", e.name, dataName)
	}
	for key := range m {
		if key != discoveryRoot {
			return fmt.Errorf("%s has %q, which is not below the root %q", e.name, shown(key), discoveryRoot)
		}
	}
	b.Data = m
	return nil
}

// isData reports whether OPA takes a file for data documents.
func isData(name string) bool {
	return path.Base(name) == dataName || bundle.IsYAMLDataFile(name)
}

// checkKeyID returns an error if a bundle names another key than the one that is configured. OPA
// verifies with the configured one, whatever the signature names: a key under another id than
// that of the configuration would go unnoticed.
func (b *Bundle) checkKeyID(config *Verifier) error {
	if config == nil || config.KeyID == "" || b.KeyID == "" || b.KeyID == config.KeyID {
		return nil
	}
	return fmt.Errorf("it is signed with the key %q, and %q is configured", shown(b.KeyID), config.KeyID)
}
