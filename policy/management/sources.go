package management

import (
	"bytes"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	opabundle "github.com/open-policy-agent/opa/v1/plugins/bundle"

	"github.com/permd/permd/internal/lexpath"
	"github.com/permd/permd/policy/bundles"
)

// Source is where a bundle comes from: OPA's configuration of it.
type Source = opabundle.Source

// Address returns where bundles of a kind come from, "" if none are configured.
func (c *Config) Address(kind bundles.Kind) string {
	switch s := c.Sources[kind]; {
	case s == nil:
		return ""
	case strings.HasPrefix(s.Resource, "file://"):
		return s.Resource
	case c.services[s.Service].oci:
		return "oci://" + s.Resource
	default:
		return strings.TrimRight(c.services[s.Service].url, "/") + "/" + strings.TrimLeft(s.Resource, "/")
	}
}

// Verification returns what verifies bundles of a kind, which must be configured. It is nil if the
// organisation says that they need no signature.
func (c *Config) Verification(kind bundles.Kind) *bundles.Verifier {
	s := c.Sources[kind]
	if c.Unsigned && !s.Signing.SignatureRequired() {
		return nil
	}
	return s.Signing
}

// sameSource reports whether two configurations have the same bundle of a kind. Services and keys
// are the same in both. A nil Config has none.
func (c *Config) sameSource(other *Config, kind bundles.Kind) bool {
	if c == nil || c.Sources[kind] == nil || other.Sources[kind] == nil {
		return false
	}
	at := func(c *Config) []byte { return encoded(section(c.raw, "bundles")[string(kind)]) }
	return bytes.Equal(at(c), at(other))
}

// readSources takes the bundles and the discovery bundle.
func (c *Config) readSources() *configError {
	c.Sources = make(map[bundles.Kind]*Source)
	all := section(c.raw, "bundles")
	for _, name := range slices.Sorted(maps.Keys(all)) {
		at := "bundles." + name
		if !slices.Contains(bundles.OfRules(), bundles.Kind(name)) {
			return problem(at, "name it org, user or shadow", "is not the name of a layer that takes its rules from a bundle")
		}
		if err := c.readSource(bundles.Kind(name), at, section(all, name)); err != nil {
			return err
		}
	}
	of := section(c.raw, "discovery")
	if of == nil {
		return nil
	}
	of = maps.Clone(of)
	c.decision = string(bundles.Discovery)
	if text, ok := of["decision"].(string); ok {
		c.decision = strings.Trim(text, "/")
	}
	delete(of, "decision")
	root := bundles.Discovery.Root()
	if c.decision != path.Clean(c.decision) || !lexpath.In(root, c.decision) {
		return problem("discovery.decision", "write "+root+", or a path below it", "is %q, which is not below the root of discovery bundles", c.decision)
	}
	if of["resource"] == nil {
		return problem("discovery.resource", "write the path of the discovery bundle at the service", "is missing")
	}
	return c.readSource(bundles.Discovery, "discovery", of)
}

func (c *Config) readSource(kind bundles.Kind, at string, v map[string]any) *configError {
	if v == nil {
		return problem(at, "", "is missing")
	}
	if v["persist"] == false {
		return problem(at+".persist", "leave it out", "is false, but permd always keeps the last good bundle")
	}
	signing := section(v, "signing")
	if signing == nil && !c.Unsigned {
		return problem(at+".signing", "add signing with a keyid, and its key in keys; or set plugins.permd.unsigned_bundles to true", "is missing: bundles of the organisation must be signed")
	}
	if signing != nil {
		if _, ok := c.Keys[fmt.Sprint(signing["keyid"])]; !ok {
			return problem(at+".signing.keyid", "write the id of a key in keys", "is %v, which names no key", signing["keyid"])
		}
	}
	if name, _ := v["service"].(string); name != "" || !strings.HasPrefix(fmt.Sprint(v["resource"]), "file://") {
		if _, ok := c.services[name]; !ok {
			return problem(at+".service", "write the name of a service", "is %q, which names no service", name)
		}
	}
	got, err := opabundle.NewConfigBuilder().WithBytes(encoded(map[string]any{string(kind): v})).
		WithServices(slices.Sorted(maps.Keys(c.services))).WithKeyConfigs(c.Keys).Parse()
	if err != nil {
		return problem(at, "", "cannot be used: %v", err)
	}
	c.Sources[kind] = got.Bundles[string(kind)]
	return nil
}
