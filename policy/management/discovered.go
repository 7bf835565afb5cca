package management

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/util"

	"github.com/permd/permd/policy/bundles"
	"github.com/permd/permd/policy/query"
)

// discoverable are the sections that a discovered configuration may have. Whom to believe, and
// whose servers to use, is in opa.yaml alone: a discovery bundle names neither services nor keys,
// and turns no signature off.
var discoverable = []string{"bundles", "decision_logs", "status"}

// Discoverable returns the sections of the configuration that may be discovered, as a JSON object.
func (c *Config) Discoverable() json.RawMessage {
	all := map[string]any{}
	for _, name := range discoverable {
		if v := c.raw[name]; v != nil {
			all[name] = v
		}
	}
	return encoded(all)
}

// ReportServices returns the names of the services that status reports and the log are sent to, ""
// for none.
func (c *Config) ReportServices() (status, log string) {
	status, _ = section(c.raw, "status")["service"].(string)
	log, _ = section(c.raw, "decision_logs")["service"].(string)
	return status, log
}

// withDiscovered returns the configuration with what was discovered. A section, or a bundle, is
// in one of both: in both it is an error.
func (c *Config) withDiscovered(v map[string]any) (*Config, error) {
	if err := c.checkDiscovered(v); err != nil {
		return nil, fmt.Errorf("the discovered configuration: %w", err)
	}
	all := maps.Clone(c.raw)
	for name, of := range v {
		if name == "bundles" {
			both := maps.Clone(section(c.raw, name))
			if both == nil {
				both = map[string]any{}
			}
			maps.Copy(both, of.(map[string]any))
			of = both
		}
		all[name] = of
	}
	out := &Config{raw: all, services: map[string]service{}}
	if err := out.read(); err != nil {
		return nil, fmt.Errorf("the discovered configuration: %s", err.Text)
	}
	if out.Sources[bundles.Org] == nil {
		return nil, errors.New("the discovered configuration names no bundles.org: rules that are in force are not taken away so")
	}
	return out, nil
}

func (c *Config) checkDiscovered(v map[string]any) error {
	for _, name := range slices.Sorted(maps.Keys(v)) {
		if !slices.Contains(discoverable, name) {
			return fmt.Errorf("%s cannot be discovered, but only %s: where the policy has other rules besides, discovery.decision names the one that counts", clipped(name), strings.Join(discoverable, ", "))
		}
		if name != "bundles" && c.raw[name] != nil {
			return fmt.Errorf("%s is in %s as well", name, ConfigName)
		}
	}
	if err := check(v, nil); err != nil {
		if e, ok := errors.AsType[*configError](err); ok {
			return errors.New(clipped(e.Text))
		}
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(section(v, "bundles"))) {
		if section(c.raw, "bundles")[name] != nil {
			return fmt.Errorf("bundles.%s is in %s as well", clipped(name), ConfigName)
		}
	}
	return nil
}

// clipped returns a text of a discovered configuration as it may stand in an error.
func clipped(text string) string {
	const most = 200
	if len(text) > most {
		return strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}

// times is how many times the limit of rules the policy of a discovery bundle may take: no call
// waits for it, and on a busy machine the last good configuration should be found again.
const times = 8

// DiscoveryPolicy is the policy of a discovery bundle under the configuration that names it. It is
// safe for concurrent use.
type DiscoveryPolicy struct {
	config *Config
	policy *query.Policy
}

// CompileDiscovery compiles the policy of a discovery bundle.
func (c *Config) CompileDiscovery(b *bundles.Bundle) (*DiscoveryPolicy, error) {
	p, err := query.Compile(b.Files, query.Options{Decisions: []string{c.decision}, Data: b.Data, Runtime: true, Times: times})
	if err != nil {
		return nil, fmt.Errorf("the policy of the discovery bundle: %w", err)
	}
	if p == nil {
		return nil, errors.New("the discovery bundle has no policy")
	}
	return &DiscoveryPolicy{c, p}, nil
}

// Evaluate returns the configuration of a machine with these labels: that of the file, with what
// the policy decides. The error says why a daemon would not use it.
func (p *DiscoveryPolicy) Evaluate(ctx context.Context, labels map[string]string) (*Config, error) {
	runtime, err := ast.InterfaceToValue(map[string]any{"config": map[string]any{"labels": labels}})
	if err != nil {
		return nil, err
	}
	v, err := p.policy.Eval(ctx, 0, query.Input{Runtime: ast.NewTerm(runtime)})
	if err != nil {
		return nil, fmt.Errorf("the decision %s of the discovery bundle: %w", p.config.decision, err)
	}
	m, err := configurationOf(v)
	if err != nil {
		return nil, fmt.Errorf("the decision %s of the discovery bundle %w", p.config.decision, err)
	}
	return p.config.withDiscovered(m)
}

// evaluate returns the configuration with what a discovery bundle says for a machine with these
// labels.
func (c *Config) evaluate(ctx context.Context, b *bundles.Bundle, labels map[string]string) (*Config, error) {
	p, err := c.CompileDiscovery(b)
	if err != nil {
		return nil, err
	}
	return p.Evaluate(ctx, labels)
}

// configurationOf returns a decision as an object.
func configurationOf(v ast.Value) (map[string]any, error) {
	if v == nil {
		return nil, errors.New("is undefined")
	}
	if _, ok := v.(ast.Object); !ok {
		return nil, fmt.Errorf("is no object, but %s", ast.ValueName(v))
	}
	// Values can hold one another many times, and are large only when they are written.
	size := 0
	ast.WalkTerms(v, func(t *ast.Term) bool {
		size++
		if s, ok := t.Value.(ast.String); ok {
			size += len(s)
		}
		return size > MaxConfig
	})
	if size > MaxConfig {
		return nil, fmt.Errorf("is larger than %d KiB", MaxConfig>>10)
	}
	plain, err := ast.JSON(v)
	if err != nil {
		return nil, fmt.Errorf("is no JSON: %s", clipped(err.Error()))
	}
	data, err := json.Marshal(plain)
	if err != nil {
		return nil, fmt.Errorf("is no JSON: %s", clipped(err.Error()))
	}
	if len(data) > MaxConfig {
		return nil, fmt.Errorf("is larger than %d KiB", MaxConfig>>10)
	}
	var m map[string]any
	return m, util.UnmarshalJSON(data, &m)
}
