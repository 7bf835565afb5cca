package management

import (
	"fmt"
	"strings"
	"testing"

	"github.com/permd/permd/policy/bundles"
)

const publicKey = `-----BEGIN PUBLIC KEY-----
MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEQHYsFlGgVqyZ1ZLWpV3l3d0Yb0Zp
-----END PUBLIC KEY-----`

// complete is a configuration with everything that permd honours.
var complete = `labels: {team: payments}
services:
  control:
    url: https://opa.example.com/v1/
    headers: {X-Tenant: a}
    response_header_timeout_seconds: 5
    tls: {ca_cert: /etc/permd/ca.pem, system_ca_required: false}
    credentials:
      bearer: {token_path: /etc/permd/token, scheme: Bearer}
  registry:
    url: https://ghcr.io
    type: oci
    credentials:
      client_tls: {cert: /etc/permd/cert.pem, private_key: /etc/permd/key.pem}
keys:
  release:
    algorithm: ES256
    scope: permd
    key: |
      ` + strings.ReplaceAll(publicKey, "\n", "\n      ") + `
bundles:
  org:
    service: control
    resource: bundles/org.tar.gz
    persist: true
    size_limit_bytes: 1000000
    polling: {min_delay_seconds: 10, max_delay_seconds: 20, long_polling_timeout_seconds: 30}
    signing: {keyid: release, scope: permd}
status: {service: control, partition_name: p}
decision_logs:
  service: control
  resource: logs
  reporting: {min_delay_seconds: 1, max_delay_seconds: 2, upload_size_limit_bytes: 30000}
plugins: {permd: {unsigned_bundles: false}}
`

func TestParse(t *testing.T) {
	c, err := Parse("opa.yaml", []byte(complete))
	if err != nil {
		t.Fatal(err)
	}
	org := c.Sources[bundles.Org]
	if org == nil || org.Resource != "bundles/org.tar.gz" || org.Signing == nil || !org.Signing.SignatureRequired() || c.Unsigned {
		t.Errorf("%+v", org)
	}
	if c.Keys["release"] == nil || c.Keys["release"].Algorithm != "ES256" || c.Labels["team"] != "payments" ||
		!strings.Contains(string(c.DecisionLogs), `"resource":"logs"`) || !strings.Contains(string(c.Status), `"partition_name":"p"`) {
		t.Errorf("%+v", c)
	}
}

// TestParseRefuses changes one thing of a configuration that is right.
func TestParseRefuses(t *testing.T) {
	for _, tt := range []struct{ name, from, to, want string }{
		{"an unknown section", "labels:", "server: {}\nlabels:", "opa.yaml:1: server is not known, or not honoured by permd"},
		{"OPA's folder", "labels:", "persistence_directory: /x\nlabels:", "persistence_directory is not honoured by permd"},
		{"an unknown key", "resource: logs", "console: /x", "decision_logs.console is not known"},
		{"a secret in the file", "token_path: /etc/permd/token", "token: s3cret", "services.control.credentials.bearer.token is not honoured by permd"},
		{"a header with a secret", "X-Tenant", "authorization", "services.control.headers.authorization would put a secret into this file"},
		{"no encryption check", "headers:", "allow_insecure_tls: true\n    headers:", "services.control.allow_insecure_tls is not honoured"},
		{"a token without encryption", "https://opa", "http://opa", "services.control.url has credentials, which would be sent without encryption"},
		{"a user in an address", "https://opa", "https://a:b@opa", "services.control.url must have no user"},
		{"no address", "https://opa.example.com/v1/", "opa", `services.control.url is "opa"`},
		{"a relative path", "/etc/permd/token", "token", `services.control.credentials.bearer.token_path is "token", which is no whole path`},
		{"two kinds of credentials", "bearer: {token_path: /etc/permd/token, scheme: Bearer}", "bearer: {token_path: /t}\n      client_tls: {cert: /c, private_key: /k}", "more than one kind of credentials"},
		{"a shared secret", "ES256", "HS256", "keys.release.algorithm is HS256: who knows such a key can also sign with it"},
		{"a private key", "algorithm: ES256", "private_key: x", "keys.release.private_key is not honoured"},
		{"no key", "BEGIN PUBLIC", "BEGIN PRIVATE", "keys.release.key is no public key in PEM"},
		{"another bundle", "  org:", "  team:", "bundles.team is not the name of a layer"},
		{"no signing", "    signing: {keyid: release, scope: permd}\n", "", "bundles.org.signing is missing: bundles of the organisation must be signed"},
		{"no such key", "keyid: release", "keyid: other", "bundles.org.signing.keyid is other, which names no key"},
		{"files without signature", "keyid: release,", "keyid: release, exclude_files: [a],", "bundles.org.signing.exclude_files is not honoured"},
		{"no such service", "service: control\n    resource: bundles", "service: other\n    resource: bundles", `bundles.org.service is "other", which names no service`},
		{"not kept", "persist: true", "persist: false", "bundles.org.persist is false"},
		{"a text for a number", "size_limit_bytes: 1000000", "size_limit_bytes: much", "bundles.org.size_limit_bytes is much, not a whole number"},
		{"an object for a text", "resource: bundles/org.tar.gz", "resource: {}", "bundles.org.resource is an object, not text"},
		{"a key twice", "labels:", "labels: {}\nlabels:", `opa.yaml:2: the key "labels" occurs twice`},
		{"an alias", "labels: {team: payments}", "labels: &a {team: payments}", "anchors and aliases are not read"},
		{"two documents", "plugins:", "---\nplugins:", "more than one document"},
		{"delays the wrong way round", "min_delay_seconds: 10", "min_delay_seconds: 30", "bundles.org cannot be used"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			changed := strings.Replace(complete, tt.from, tt.to, 1)
			if changed == complete {
				t.Fatal("nothing was changed")
			}
			if _, err := Parse("opa.yaml", []byte(changed)); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %s", err, tt.want)
			}
		})
	}
}

// TestParseUnsigned: bundles without signatures need a word of the organisation.
func TestParseUnsigned(t *testing.T) {
	c, err := Parse("opa.yaml", []byte(`{"bundles": {"org": {"resource": "file:///srv/org.tar.gz"}}, "plugins": {"permd": {"unsigned_bundles": true}}}`))
	if err != nil || !c.Unsigned || c.Sources[bundles.Org] == nil || c.Sources[bundles.Org].Signing != nil {
		t.Errorf("%+v, %v", c, err)
	}
}

func TestParseEmpty(t *testing.T) {
	for _, text := range []string{"{}", "labels: {}"} {
		if c, err := Parse("opa.yaml", []byte(text)); err != nil || len(c.Sources) > 0 || c.DecisionLogs != nil {
			t.Errorf("%q: %+v, %v", text, c, err)
		}
	}
	for _, text := range []string{"", "[]", "x", "# only a comment", fmt.Sprintf("x: %s", strings.Repeat("[", 100))} {
		if _, err := Parse("opa.yaml", []byte(text)); err == nil {
			t.Errorf("%q was accepted", text)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(complete))
	f.Add([]byte(`{"bundles": {"org": {"resource": "file:///x"}}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := Parse("opa.yaml", data)
		if err != nil || c.Unsigned {
			return
		}
		for kind, s := range c.Sources {
			if !s.Signing.SignatureRequired() {
				t.Fatalf("the bundle %s needs no signature", kind)
			}
		}
	})
}
