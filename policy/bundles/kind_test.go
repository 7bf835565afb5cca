package bundles_test

import (
	"strings"
	"testing"

	"github.com/permd/permd/policy/bundles"
	"github.com/permd/permd/policy/bundles/bundlestest"
)

// TestKinds tests that a bundle of one kind is none of another, except that one of org can be tried
// as it is.
func TestKinds(t *testing.T) {
	key := bundlestest.NewKey(t)
	for made, file := range map[bundles.Kind]string{bundles.Org: "rules.yaml", bundles.User: "rules.yaml", bundles.Discovery: "a.rego"} {
		text := "deny:\n  run: [rm]\n"
		if made == bundles.Discovery {
			text = "package discovery\n"
		}
		data := key.SignedFor(t, made, "1", map[string]string{file: text})
		if got := bundles.KindOf(data); got != made {
			t.Errorf("one of %s is taken for one of %s", made, got)
		}
		for _, kind := range []bundles.Kind{bundles.Org, bundles.User, bundles.Shadow, bundles.Discovery} {
			want := kind == made || kind == bundles.Shadow && made == bundles.Org
			b, err := bundles.Read(kind, data, key.Config())
			if (err == nil) != want || err != nil && !strings.Contains(err.Error(), "the roots are ") {
				t.Errorf("one of %s, as %s: %+v, %v", made, kind, b, err)
			}
		}
	}
}
