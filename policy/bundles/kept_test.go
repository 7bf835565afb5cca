package bundles_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/permd/permd/policy/bundles"
	"github.com/permd/permd/policy/bundles/bundlestest"
)

var start = time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)

func at(d time.Duration) func() time.Time { return func() time.Time { return start.Add(d) } }

// TestKeep: what was accepted is there for the next process, and nothing older, or other of the
// same revision, is accepted after it, also if the bundle is deleted.
func TestKeep(t *testing.T) {
	key, dir := bundlestest.NewKey(t), filepath.Join(t.TempDir(), "state")
	five := key.Signed(t, "5", layer())
	k := bundles.Keep(bundles.Org, dir, key.Config(), at(0))
	if b, err := k.Last(); b != nil || err != nil || k.Accepted() != nil {
		t.Fatalf("at first there is %+v, %v", b, err)
	}
	b, known, err := k.Read(five)
	if err != nil || known {
		t.Fatal(known, err)
	}
	if err := k.Store(b, five); err != nil {
		t.Fatal(err)
	}
	k = bundles.Keep(bundles.Org, dir, key.Config(), at(time.Hour))
	if b, err := k.Last(); err != nil || b.Revision != "5" || k.Accepted().Revision != "5" || !k.Accepted().At.Equal(start) {
		t.Errorf("%+v, %v", b, err)
	}
	if _, known, err := k.Read(five); !known || err != nil {
		t.Errorf("the same again: %v, %v", known, err)
	}
	if err := os.Remove(filepath.Join(dir, "org-bundle.tar.gz")); err != nil {
		t.Fatal(err)
	}
	k = bundles.Keep(bundles.Org, dir, key.Config(), at(time.Hour))
	for _, tt := range []struct {
		data []byte
		want string
	}{
		{key.Signed(t, "4", layer()), "revision 4 is lower than 5, which was accepted on 2027-01-01"},
		{key.Signed(t, "5", map[string]string{"rules.yaml": deny}), "revision 5 was accepted with other contents"},
	} {
		if _, _, err := k.Read(tt.data); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%v, want %s", err, tt.want)
		}
	}
	if _, _, err := k.Read(key.Signed(t, "40", layer())); err != nil { // a number, not a text
		t.Error(err)
	}
}

func TestKeepExpired(t *testing.T) {
	key := bundlestest.NewKey(t)
	data, err := bundles.Build(bundles.Contents{Kind: bundles.Org, Revision: "1", Expires: start, Files: bundlestest.Files(layer())})
	if err != nil {
		t.Fatal(err)
	}
	data = key.Sign(t, data)
	if _, _, err := bundles.Keep(bundles.Org, t.TempDir(), key.Config(), at(0)).Read(data); err == nil || err.Error() != "revision 1 expired at 2027-01-01T00:00:00Z" {
		t.Error(err)
	}
	if _, _, err := bundles.Keep(bundles.Org, t.TempDir(), key.Config(), at(-1)).Read(data); err != nil {
		t.Error(err)
	}
}

// TestKeepDamaged: what is in the folder is not believed.
func TestKeepDamaged(t *testing.T) {
	key, dir := bundlestest.NewKey(t), t.TempDir()
	put := func(name string, data []byte) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	k := bundles.Keep(bundles.Org, dir, key.Config(), at(0))
	data := key.Signed(t, "5", layer())
	b, _, err := k.Read(data)
	if err == nil {
		err = k.Store(b, data)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name string
		data []byte
		want string
	}{
		{"older", key.Signed(t, "4", layer()), "has revision 4, and 5 was accepted before"},
		{"of another key", bundlestest.NewKey(t).Signed(t, "6", layer()), "failed to verify"},
		{"cut off", data[:100], "cut off"},
	} {
		put("org-bundle.tar.gz", tt.data)
		if b, err := bundles.Keep(bundles.Org, dir, key.Config(), at(0)).Last(); b != nil || err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %+v, %v; want %s", tt.name, b, err, tt.want)
		}
	}
	put("org-bundle.json", []byte("{"))
	if _, _, err := bundles.Keep(bundles.Org, dir, key.Config(), at(0)).Read(key.Signed(t, "9", layer())); err == nil || !strings.Contains(err.Error(), "it is not known which revision was accepted last") {
		t.Errorf("after damage: %v", err)
	}
}

// TestKeepFails: a bundle that cannot be stored changes nothing.
func TestKeepFails(t *testing.T) {
	key, dir := bundlestest.NewKey(t), filepath.Join(t.TempDir(), "state")
	k := bundles.Keep(bundles.Org, dir, key.Config(), at(0))
	data := key.Signed(t, "5", layer())
	b, _, err := k.Read(data)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dir, nil, 0o600); err != nil { // where the folder would be
		t.Fatal(err)
	}
	if err := k.Store(b, data); err == nil || k.Accepted() != nil {
		t.Errorf("%v, %+v", err, k.Accepted())
	}
}
