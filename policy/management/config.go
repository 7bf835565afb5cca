package management

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/keys"

	"github.com/permd/permd/policy/bundles"
)

// ConfigName is the name of the configuration, in the organisation's folder.
const ConfigName = "opa.yaml"

// Labels that permd gives each machine itself.
const (
	idLabel      = "id"
	versionLabel = "version"
)

// MaxConfig is the maximum length of a configuration, in bytes.
const MaxConfig = 256 << 10

// Config is a checked configuration. It holds the part of OPA's that permd honours, and
// nothing else: what is not known, or has no effect in permd, is an error of Parse.
type Config struct {
	// Sources are where bundles come from. A kind that is not configured is not among them.
	Sources map[bundles.Kind]*Source
	// Unsigned is set if bundles need no signature (plugins.permd.unsigned_bundles).
	Unsigned bool
	// Keys are the public keys that verify bundles, by their ids.
	Keys map[string]*keys.Config
	// DecisionLogs is OPA's section decision_logs as JSON, nil if there is none.
	DecisionLogs json.RawMessage
	// Status is OPA's section status as JSON, nil if there is none.
	Status json.RawMessage
	// Labels are sent to services with what is reported.
	Labels map[string]string

	decision string // of the discovery bundle, as discovery/config
	services map[string]service
	raw      map[string]any // for OPA
}

// service is what permd itself needs of a service's configuration.
type service struct {
	url         string
	oci         bool
	credentials map[string]any // nil for none
	files       []string       // that hold secrets
}

// configError is why a configuration cannot be used.
type configError struct {
	File string
	Line int // from 1; 0 if not known
	Text string
	Fix  string // "" if there is nothing to suggest
}

// Error returns the place and the problem.
func (e *configError) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("reading %s: %s", e.File, e.Text)
	}
	return fmt.Sprintf("reading %s:%d: %s", e.File, e.Line, e.Text)
}

// Hint returns what to write instead, "" if unknown.
func (e *configError) Hint() string { return e.Fix }

// Parse reads a configuration, in YAML or JSON. Nothing in it is replaced from the
// environment. The error is a *configError.
func Parse(file string, data []byte) (*Config, error) {
	if len(data) > MaxConfig {
		return nil, &configError{File: file, Text: fmt.Sprintf("the file is longer than %d bytes", MaxConfig)}
	}
	raw, lines, err := parseYAML(data)
	if err == nil {
		err = check(raw, lines)
	}
	if err != nil {
		if e, ok := errors.AsType[*configError](err); ok {
			e.File = file
			return nil, e
		}
		return nil, &configError{File: file, Text: err.Error()}
	}
	c := &Config{raw: raw, services: map[string]service{}}
	if err := c.read(); err != nil {
		err.File, err.Line = file, lines[strings.Split(err.Text, " ")[0]]
		return nil, err
	}
	return c, nil
}

// problem is an error at a path of keys, with which its text begins.
func problem(path, fix, format string, args ...any) *configError {
	return &configError{Text: path + " " + fmt.Sprintf(format, args...), Fix: fix}
}

// read takes what is needed from the checked values.
func (c *Config) read() *configError {
	for name, v := range section(c.raw, "services") {
		s, err := readService("services."+name, v.(map[string]any))
		if err != nil {
			return err
		}
		c.services[name] = s
	}
	for name, v := range section(c.raw, "labels") {
		if name == idLabel || name == versionLabel {
			return problem("labels."+name, "give it another name", "is permd's own label")
		}
		if c.Labels == nil {
			c.Labels = map[string]string{}
		}
		c.Labels[name] = v.(string)
	}
	for _, id := range slices.Sorted(maps.Keys(section(c.raw, "keys"))) {
		if err := c.readKey(id); err != nil {
			return err
		}
	}
	c.Unsigned, _ = section(section(c.raw, "plugins"), "permd")["unsigned_bundles"].(bool)
	c.DecisionLogs, c.Status = encoded(c.raw["decision_logs"]), encoded(c.raw["status"])
	if err := c.checkReports(); err != nil {
		return err
	}
	return c.readSources()
}

// checkReports returns an error if what is sent goes to a service that is none.
func (c *Config) checkReports() *configError {
	for _, name := range []string{"status", "decision_logs"} {
		to, set := section(c.raw, name)["service"].(string)
		if _, ok := c.services[to]; set && !ok {
			return problem(name+".service", "write the name of a service", "is %q, which names no service", to)
		}
	}
	return nil
}

func readService(path string, v map[string]any) (service, *configError) {
	s := service{oci: v["type"] == "oci"}
	s.url, _ = v["url"].(string)
	u, err := url.Parse(s.url)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http":
		return s, problem(path+".url", "write https://HOST/PATH", "is %q, which is no address of a server", s.url)
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return s, problem(path+".url", "use credentials.bearer.token_path", "must have no user, query or fragment")
	case v["type"] != nil && !s.oci:
		return s, problem(path+".type", `leave it out, or write "oci"`, "is %q", v["type"])
	}
	for name := range section(v, "headers") {
		if strings.EqualFold(name, "Authorization") || strings.EqualFold(name, "Cookie") {
			return s, problem(path+".headers."+name, "use credentials.bearer.token_path", "would put a secret into this file")
		}
	}
	s.credentials = section(v, "credentials")
	if len(s.credentials) > 1 {
		return s, problem(path+".credentials", "", "has more than one kind of credentials")
	}
	bearer, tls := section(s.credentials, "bearer"), section(s.credentials, "client_tls")
	for at, name := range map[string]any{
		".credentials.bearer.token_path": bearer["token_path"], ".credentials.client_tls.private_key": tls["private_key"],
		".credentials.client_tls.cert": tls["cert"], ".tls.ca_cert": section(v, "tls")["ca_cert"],
	} {
		name, set := name.(string)
		needed := strings.Contains(at, "bearer") && bearer != nil || strings.Contains(at, "client_tls") && tls != nil
		switch {
		case needed && !set:
			return s, problem(path+at, "", "is missing")
		case set && !filepath.IsAbs(name):
			return s, problem(path+at, "write a path from /", "is %q, which is no whole path", name)
		case set && (strings.HasSuffix(at, "token_path") || strings.HasSuffix(at, "private_key")):
			s.files = append(s.files, name)
		}
	}
	if len(s.files) > 0 && u.Scheme != "https" && !loopback(u.Hostname()) {
		return s, problem(path+".url", "write https://…", "has credentials, which would be sent without encryption")
	}
	return s, nil
}

func loopback(host string) bool { return host == "127.0.0.1" || host == "::1" || host == "localhost" }

func (c *Config) readKey(id string) *configError {
	path := "keys." + id
	v := section(section(c.raw, "keys"), id)
	algorithm, _ := v["algorithm"].(string)
	if strings.HasPrefix(algorithm, "HS") {
		return problem(path+".algorithm", "use a key pair, as with RS256 or ES256", "is %s: who knows such a key can also sign with it", algorithm)
	}
	if k, _ := v["key"].(string); !strings.Contains(k, "-----BEGIN PUBLIC KEY-----") && !strings.Contains(k, "-----BEGIN RSA PUBLIC KEY-----") &&
		!strings.Contains(k, "-----BEGIN CERTIFICATE-----") {
		return problem(path+".key", "put the PEM text of the public key here, after |", "is no public key in PEM")
	}
	got, err := keys.ParseKeysConfig(encoded(map[string]any{id: v}))
	if err != nil {
		return problem(path, "", "cannot be used: %v", err)
	}
	if c.Keys == nil {
		c.Keys = map[string]*keys.Config{}
	}
	c.Keys[id] = got[id]
	return nil
}

// section returns a member that is an object, nil if there is none.
func section(v map[string]any, name string) map[string]any {
	m, _ := v[name].(map[string]any)
	return m
}

// encoded returns a value as JSON, nil for none.
func encoded(v any) json.RawMessage {
	if v == nil {
		return nil
	}
	data, err := json.Marshal(v)
	if err != nil {
		panic(err) // it was parsed
	}
	return data
}
