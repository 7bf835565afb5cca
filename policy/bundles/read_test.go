package bundles_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"time"

	"github.com/open-policy-agent/opa/v1/bundle"

	"github.com/permd/permd/internal/lexpath"
	"github.com/permd/permd/policy/bundles"
	"github.com/permd/permd/policy/bundles/bundlestest"
)

const (
	deny     = "deny:\n  run:\n    - rm\n"
	regoText = "package permd.org\n\nimport rego.v2\n\ndeny contains \"no\" if input.effect.program == \"dd\"\n"
	regoTest = "package permd.org_test\n\nimport rego.v2\n\ntest_true if true\n"
)

func layer() map[string]string {
	return map[string]string{
		"rules.yaml": deny, "more/a.rego": regoText, "a_test.rego": regoTest, "programs/x.yaml": "programs: {}\n", "b_test.yaml": "calls: []\n",
	}
}

// TestRead: what was built and signed is read, and OPA's own reader takes it as well.
func TestRead(t *testing.T) {
	key := bundlestest.NewKey(t)
	data := key.Signed(t, "7", layer())
	b, err := bundles.Read(bundles.Org, data, key.Config())
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range b.Files {
		names = append(names, f.Rel)
	}
	if got, want := strings.Join(names, " "), "bundle/a_test.rego bundle/b_test.yaml bundle/more/a.rego bundle/programs/x.yaml bundle/rules.yaml"; got != want {
		t.Errorf("read %s, want %s", got, want)
	}
	if b.Revision != "7" || !b.Signed || !b.Verified || b.KeyID != bundlestest.KeyID || b.Scope != bundlestest.Scope || len(b.Contents) != 6 || !b.Expires.IsZero() {
		t.Errorf("%+v", b)
	}
	if b.Files[4].Name != "bundle 7: rules.yaml" || string(b.Files[4].Data) != deny {
		t.Errorf("%+v", b.Files[4])
	}
	theirs, err := bundle.NewCustomReader(bundle.NewTarballLoaderWithBaseURL(bytes.NewReader(data), "")).WithBundleVerificationConfig(key.Config()).Read()
	if err != nil || theirs.Manifest.Revision != "7" || len(theirs.Modules) != 2 {
		t.Errorf("OPA reads %+v, %v", theirs.Manifest, err)
	}
}

// TestReadOfOPA: what OPA's writer and signer make is read.
func TestReadOfOPA(t *testing.T) {
	key := bundlestest.NewKey(t)
	b := bundle.Bundle{
		Manifest: bundle.Manifest{Revision: "12", Roots: &[]string{"permd/org"}, Metadata: map[string]any{"team": "x"}},
		Data:     map[string]any{}, Modules: []bundle.ModuleFile{{Path: "/x/a.rego", URL: "/x/a.rego", Raw: []byte(regoText)}},
	}
	if err := b.GenerateSignature(bundle.NewSigningConfig(key.Private, "ES256", ""), bundlestest.KeyID, true); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := bundle.NewWriter(&out).UseModulePath(true).DisableFormat(true).Write(b); err != nil {
		t.Fatal(err)
	}
	config := bundle.NewVerificationConfig(map[string]*bundle.KeyConfig{bundlestest.KeyID: {Key: key.Public, Algorithm: "ES256"}}, bundlestest.KeyID, "", nil)
	got, err := bundles.Read(bundles.Org, out.Bytes(), config)
	if err != nil || got.Revision != "12" || len(got.Files) != 1 || got.Files[0].Rel != "bundle/x/a.rego" {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestBuildTwice(t *testing.T) {
	c := bundles.Contents{Revision: "1", Expires: time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC), Files: bundlestest.Files(layer())}
	one, err := bundles.Build(c)
	if err != nil {
		t.Fatal(err)
	}
	c.Files = bundlestest.Files(layer()) // in another order
	two, err := bundles.Build(c)
	if err != nil || !bytes.Equal(one, two) {
		t.Errorf("the same contents make other bytes, %v", err)
	}
	b, err := bundles.Read(bundles.Org, two, nil)
	if err != nil || !b.Expires.Equal(c.Expires) || b.Signed || b.Verified {
		t.Errorf("%+v, %v", b, err)
	}
}

// bad are bundles that must be refused, each with the reason. Those of TestReadRefuses that
// are signed have a good signature of bad contents.
func bad(t testing.TB, key bundlestest.Key) []refused {
	other := bundlestest.NewKey(t)
	good := key.Signed(t, "5", layer())
	rules, manifest := bundlestest.File("rules.yaml", deny), bundlestest.Manifest("5")
	signed := func(entries ...bundlestest.Entry) []byte { return key.Sign(t, bundlestest.Archive(t, entries...)) }
	withManifest := func(text string) []byte { return signed(rules, bundlestest.File(".manifest", text)) }
	scoped := key.Signing()
	scoped.Scope = "other"
	wrongScope, err := bundles.Sign(good, scoped)
	if err != nil {
		t.Fatal(err)
	}
	unsigned, err := bundles.Build(bundles.Contents{Kind: bundles.Org, Revision: "5", Files: bundlestest.Files(layer())})
	if err != nil {
		t.Fatal(err)
	}
	// A signature of one bundle in another.
	swapped := bundlestest.Archive(t, bundlestest.File("rules.yaml", "allow:\n  run:\n    - rm\n"), manifest, bundlestest.File(".signatures.json", part(t, signed(rules, manifest), ".signatures.json")))
	more := bundlestest.Archive(t, rules, manifest, bundlestest.File("more/rules.yaml", deny), bundlestest.File(".signatures.json", part(t, signed(rules, manifest), ".signatures.json")))
	fewer := bundlestest.Archive(t, rules, manifest, bundlestest.File(".signatures.json", part(t, signed(rules, manifest, bundlestest.File("more/rules.yaml", deny)), ".signatures.json")))
	raised := bundlestest.Archive(t, rules, bundlestest.Manifest("6"), bundlestest.File(".signatures.json", part(t, signed(rules, manifest), ".signatures.json")))
	return []refused{
		{"nothing", nil, "is no gzipped archive, but empty"},
		{"HTML", []byte("<!DOCTYPE html><html><body>Please log in</body></html>"), "is no gzipped archive, but a page of HTML"},
		{"text", []byte("404 not found"), "is no gzipped archive, but text"},
		{"cut off", good[:len(good)/2], "the archive is cut off"},
		{"cut off in the checksum", good[:len(good)-3], "the archive is cut off"},
		{"something after it", append(bytes.Clone(good), "and more than a header"...), "the archive cannot be read"},
		{"a changed byte", changed(good), ""},
		{"unsigned", unsigned, "bundle missing .signatures.json file"},
		{"signed by another key", other.Signed(t, "5", layer()), "failed to verify JWT signature"},
		{"another scope", wrongScope, "scope mismatch"},
		{"another file in its place", swapped, "rules.yaml: digest mismatch"},
		{"one file more", more, "file more/rules.yaml not included in bundle signature"},
		{"one file less", fewer, "specified in bundle signatures but not found"},
		{"another revision", raised, ".manifest: digest mismatch"},
		{"no manifest", signed(rules), "has no .manifest in its root"},
		{"a manifest in a folder", signed(rules, bundlestest.File("x/.manifest", `{"revision":"5","roots":["permd/org"]}`)), "has no .manifest in its root"},
		{"two manifests", signed(rules, manifest, bundlestest.File("x/.manifest", `{}`)), "multiple manifest files"},
		{"no revision", withManifest(`{"roots":["permd/org"]}`), `the revision "" is no whole number`},
		{"a revision of git", withManifest(`{"revision":"9e107d9d","roots":["permd/org"]}`), `the revision "9e107d9d" is no whole number`},
		{"a revision with zeros", withManifest(`{"revision":"007","roots":["permd/org"]}`), `the revision "007" is no whole number`},
		{"a negative revision", withManifest(`{"revision":"-1","roots":["permd/org"]}`), `the revision "-1" is no whole number`},
		{"a revision that is too long", withManifest(`{"revision":"99999999999999999999","roots":["permd/org"]}`), "is no whole number"},
		{"no roots", withManifest(`{"revision":"5"}`), "the roots are"},
		{"all roots", withManifest(`{"revision":"5","roots":[""]}`), "the roots are"},
		{"the root of another layer", withManifest(`{"revision":"5","roots":["permd/user"]}`), `the roots are ["permd/user"], and must be exactly "permd/org"`},
		{"one root more", withManifest(`{"revision":"5","roots":["permd/org","permd/user"]}`), "the roots are"},
		{"another package", signed(manifest, bundlestest.File("a.rego", strings.Replace(regoText, "permd.org", "permd.user", 1))), "do not permit"},
		{"Rego that does not parse", signed(manifest, bundlestest.File("a.rego", "package permd.org\n\ndeny contains")), "a.rego"},
		{"metadata that is not known", withManifest(`{"revision":"5","roots":["permd/org"],"metadata":{"permd":{"until":"x"}}}`), "metadata.permd.until of .manifest is not understood"},
		{"a delta", signed(bundlestest.File(".manifest", `{"revision":"5","roots":["permd/org"]}`), bundlestest.File("patch.json", `{"data":[]}`)), "is a delta bundle"},
		{"data", signed(rules, manifest, bundlestest.File("data.json", `{"permd":{"org":{"x":1}}}`)), "data.json has data"},
		{"compiled policy", signed(rules, manifest, bundlestest.File("policy.wasm", "x")), "policy.wasm is compiled policy"},
		{"no rules", signed(manifest, bundlestest.File("README.md", "x")), "has no rules"},
		{"a name that is almost right", signed(manifest, rules, bundlestest.File("x/rules.yml", deny)), "x/rules.yml is not read: name it rules.yaml"},
		{"a path that leads out", bundlestest.Archive(t, manifest, bundlestest.File("../rules.yaml", deny)), `the name "../rules.yaml", which is not allowed`},
		{"a path that leads out from within", bundlestest.Archive(t, manifest, bundlestest.File("a/../../rules.yaml", deny)), "which is not allowed"},
		{"a path from the root's root", bundlestest.Archive(t, manifest, bundlestest.File("//etc/rules.yaml", deny)), "which is not allowed"},
		{"a name with a line", bundlestest.Archive(t, manifest, bundlestest.File("a\nb.rego", deny)), "which is not allowed"},
		{"a name twice", bundlestest.Archive(t, manifest, rules, rules), `the archive has "rules.yaml" twice`},
		{"a name twice, written in two ways", bundlestest.Archive(t, manifest, rules, bundlestest.File("/rules.yaml", deny)), `the archive has "rules.yaml" twice`},
		{"a link", bundlestest.Archive(t, manifest, bundlestest.Entry{Header: tar.Header{Name: "rules.yaml", Typeflag: tar.TypeSymlink, Linkname: "/etc/passwd"}}), "which is neither file nor folder"},
		{"a hard link", bundlestest.Archive(t, manifest, bundlestest.Entry{Header: tar.Header{Name: "rules.yaml", Typeflag: tar.TypeLink, Linkname: "x"}}), "which is neither file nor folder"},
		{"a device", bundlestest.Archive(t, manifest, bundlestest.Entry{Header: tar.Header{Name: "rules.yaml", Typeflag: tar.TypeChar}}), "which is neither file nor folder"},
		{"a large file", bundlestest.Archive(t, manifest, bundlestest.File("rules.yaml", strings.Repeat("#", 1<<20+1))), "rules.yaml is larger than 1 MiB"},
		{"a bomb of files", bomb(t, 80, 1<<20), "the archive unpacks to more than 72 MiB"},
		{"a bomb of names", bomb(t, 9000, 0), "the archive has more than 8192 entries"},
		{"a bomb after the end", padded(t), "the archive unpacks to more than 72 MiB"},
	}
}

type refused struct {
	name string
	data []byte
	want string
}

func TestReadRefuses(t *testing.T) {
	key := bundlestest.NewKey(t)
	for _, tt := range bad(t, key) {
		t.Run(tt.name, func(t *testing.T) {
			if b, err := bundles.Read(bundles.Org, tt.data, key.Config()); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%+v, %v; want %s", b, err, tt.want)
			}
		})
	}
	if _, err := bundles.Read(bundles.Org, key.Signed(t, "5", layer()), key.Config().WithOptionalSignature()); err == nil {
		t.Error("a configuration that requires no signature was accepted")
	}
}

func changed(data []byte) []byte {
	data = bytes.Clone(data)
	data[len(data)/2] ^= 1
	return data
}

// part returns the text of a file in an archive.
func part(t testing.TB, data []byte, name string) string {
	t.Helper()
	zip, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	files := tar.NewReader(zip)
	for {
		h, err := files.Next()
		if err != nil {
			t.Fatal(err)
		}
		if strings.TrimPrefix(h.Name, "/") == name {
			var out bytes.Buffer
			if _, err := out.ReadFrom(files); err != nil {
				t.Fatal(err)
			}
			return out.String()
		}
	}
}

// bomb is an archive of many files of zeros.
func bomb(t testing.TB, n, size int) []byte {
	entries := make([]bundlestest.Entry, n)
	text := strings.Repeat("\x00", size)
	for i := range entries {
		entries[i] = bundlestest.File(fmt.Sprintf("%d.rego", i), text)
	}
	return bundlestest.Archive(t, entries...)
}

// padded is an archive whose end is followed by zeros, which a reader of tar does not see.
func padded(t testing.TB) []byte {
	var out bytes.Buffer
	zip, err := gzip.NewWriterLevel(&out, gzip.BestSpeed)
	if err != nil {
		t.Fatal(err)
	}
	tw := tar.NewWriter(zip)
	if err := tw.Close(); err != nil {
		t.Fatal(err)
	}
	zeros := make([]byte, 1<<20)
	for range 80 {
		if _, err := zip.Write(zeros); err != nil {
			t.Fatal(err)
		}
	}
	if err := zip.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// FuzzRead: no archive makes the reader panic or take much memory, and what is read has the
// roots and names that it must have.
func FuzzRead(f *testing.F) {
	key := bundlestest.NewKey(f)
	for _, b := range bad(f, key) {
		if len(b.data) < 1<<16 {
			f.Add(b.data)
		}
	}
	f.Add(key.Signed(f, "5", layer()))
	f.Fuzz(func(t *testing.T, data []byte) {
		b, err := bundles.Read(bundles.Org, data, nil)
		if err != nil {
			return
		}
		for _, file := range b.Files {
			if !fs.ValidPath(file.Rel) || !lexpath.Below(bundles.Dir, file.Rel) {
				t.Fatalf("read %q", file.Rel)
			}
		}
		if len(b.Roots) == 0 || b.Roots[0] != bundles.Org.Root() || b.Verified {
			t.Fatalf("%+v", b)
		}
	})
}
