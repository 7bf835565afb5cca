package bundlecommands

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/permd/permd/policy/bundles/bundlestest"
)

// built is a bundle as OPA Control Plane builds it: files below the name of their source, data in
// one file, the manifest last and with the version of Rego, and no signature.
func built(t *testing.T, manifest, data string, files ...bundlestest.Entry) string {
	t.Helper()
	all := append([]bundlestest.Entry{bundlestest.File("/data.json", data+"\n")}, files...)
	return string(bundlestest.Archive(t, append(all, bundlestest.File("/.manifest", manifest+"\n"))...))
}

// TestControlPlane: what OPA Control Plane builds of rules in Rego is a bundle of org once it is
// signed, with its tests; what it builds of lists is none.
func TestControlPlane(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("HOME", dir)
	key := bundlestest.NewKey(t)
	private, public := write(t, dir+"/key.pem", key.Private), write(t, dir+"/public.pem", key.Public)
	const manifest = `{"revision":"7","roots":["permd/org","permd/org_test"],"rego_version":0}`
	rules := bundlestest.File("/rules/rules.rego", `package permd.org

import rego.v1

deny contains "no" if input.effect.program == "frob"
`)
	tests := func(program string) bundlestest.Entry {
		return bundlestest.File("/rules/rules_test.rego", `package permd.org_test

import data.permd.org
import rego.v1

test_frob if count(org.deny) == 1 with input.effect.program as "`+program+`"
`)
	}
	file := filepath.Join(dir, "org.tar.gz")
	verify := func() (string, error) {
		t.Helper()
		return run(t, dir, false, (*Commands).Verify, file, "--verification-key", public, "--signing-alg", "ES256")
	}
	for _, tt := range []struct {
		name, bundle string
		want         string // of the error after it was signed, "" for none
	}{
		{"rules", built(t, manifest, "{}", rules, tests("frob")), ""},
		{"rules whose tests fail", built(t, manifest, "{}", rules, tests("other")), "rules_test.rego"},
		{"a list beside rules", built(t, `{"revision":"7","roots":[""],"rego_version":0}`, `{"deny":{"run":["frob"]}}`, rules), "the roots are"},
		{"no revision", built(t, `{"revision":"","roots":["permd/org"],"rego_version":0}`, "{}", rules), "is no whole number"},
	} {
		write(t, file, tt.bundle)
		if out, err := verify(); err == nil || tt.want == "" && !strings.Contains(err.Error(), "bundle missing .signatures.json file") {
			t.Errorf("%s, not signed: %v\n%s", tt.name, err, out)
		}
		out, err := run(t, dir, false, (*Commands).Sign, file, "--signing-key", private, "--signing-alg", "ES256")
		if err == nil {
			out, err = verify()
		}
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(out+err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q\n%s", tt.name, err, tt.want, out)
		}
		if err == nil && !strings.Contains(out, "revision 7, 1 rule, signed with key default") {
			t.Error(out)
		}
	}
}
