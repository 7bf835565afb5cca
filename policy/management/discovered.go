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

// evaluate returns the configuration with what a discovery bundle says for a machine with these
// labels.
func (c *Config) evaluate(ctx context.Context, b *bundles.Bundle, labels map[string]string) (*Config, error) {
	p, err := c.compile(b)
	if err != nil {
		return nil, err
	}
	return c.decide(ctx, p, labels)
}

// times is how many times the limit of rules the policy of a discovery bundle may take: no call
// waits for it, and on a busy machine the last good configuration should be found again.
const times = 8

// compile compiles the policy of a discovery bundle.
func (c *Config) compile(b *bundles.Bundle) (*query.Policy, error) {
	p, err := query.Compile(b.Files, query.Options{Decisions: []string{c.decision}, Data: b.Data, Runtime: true, Times: times})
	if err != nil {
		return nil, fmt.Errorf("the policy of the discovery bundle: %w", err)
	}
	if p == nil {
		return nil, errors.New("the discovery bundle has no policy")
	}
	return p, nil
}

// decide returns the configuration with what a policy says for a machine with these labels.
func (c *Config) decide(ctx context.Context, p *query.Policy, labels map[string]string) (*Config, error) {
	runtime, err := ast.InterfaceToValue(map[string]any{"config": map[string]any{"labels": labels}})
	if err != nil {
		return nil, err
	}
	v, err := p.Eval(ctx, 0, query.Input{Runtime: ast.NewTerm(runtime)})
	if err != nil {
		return nil, fmt.Errorf("the decision %s of the discovery bundle: %w", c.decision, err)
	}
	m, err := configurationOf(v)
	if err != nil {
		return nil, fmt.Errorf("the decision %s of the discovery bundle %w", c.decision, err)
	}
	return c.withDiscovered(m)
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
