// Package bundlestest makes keys and bundles for tests, right ones and others.
package bundlestest

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"io"
	"testing"

	"github.com/open-policy-agent/opa/v1/bundle"

	"github.com/permd/permd/policy/bundles"
	"github.com/permd/permd/policy/source"
)

// KeyID and Scope are those of a [Key].
const (
	KeyID = "release"
	Scope = "permd"
)

// Key is a key pair, as PEM.
type Key struct{ Private, Public string }

// NewKey returns a key pair for ES256.
func NewKey(t testing.TB) Key {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	public, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	return Key{
		Private: string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})),
		Public:  string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public})),
	}
}

// Signing is what signs with the key.
func (k Key) Signing() bundles.SigningKey {
	return bundles.SigningKey{Key: k.Private, Algorithm: "ES256", ID: KeyID, Scope: Scope}
}

// Config is what verifies with the key.
func (k Key) Config() *bundle.VerificationConfig {
	return bundle.NewVerificationConfig(map[string]*bundle.KeyConfig{KeyID: {Key: k.Public, Algorithm: "ES256", Scope: Scope}}, KeyID, Scope, nil)
}

// Files returns the files of a layer, by their names.
func Files(of map[string]string) []source.File {
	var out []source.File
	for name, text := range of {
		out = append(out, source.File{Rel: name, Data: []byte(text)})
	}
	return out
}

// Signed returns a signed bundle of the organisation's rules.
func (k Key) Signed(t testing.TB, revision string, files map[string]string) []byte {
	t.Helper()
	return k.SignedFor(t, bundles.Org, revision, files)
}

// SignedFor returns a signed bundle of a kind.
func (k Key) SignedFor(t testing.TB, kind bundles.Kind, revision string, files map[string]string) []byte {
	t.Helper()
	data, err := bundles.Build(bundles.Contents{Kind: kind, Revision: revision, Files: Files(files)})
	if err == nil {
		data, err = bundles.Sign(data, k.Signing())
	}
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// Sign signs an archive, whatever is in it.
func (k Key) Sign(t testing.TB, data []byte) []byte {
	t.Helper()
	data, err := bundles.Sign(data, k.Signing())
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// Archive returns a gzipped archive of entries, in their order and whatever they are. Where the
// size of a header is zero, it is that of the text.
func Archive(t testing.TB, entries ...Entry) []byte {
	t.Helper()
	var out bytes.Buffer
	zip, err := gzip.NewWriterLevel(&out, gzip.BestSpeed)
	if err != nil {
		t.Fatal(err)
	}
	files := tar.NewWriter(zip)
	for _, e := range entries {
		if e.Header.Typeflag == 0 {
			e.Header.Typeflag = tar.TypeReg
		}
		e.Header.Mode = 0o644
		if e.Header.Size == 0 {
			e.Header.Size = int64(len(e.Text))
		}
		if err := files.WriteHeader(&e.Header); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(files, e.Text); err != nil {
			t.Fatal(err)
		}
	}
	if err := files.Close(); err != nil {
		t.Fatal(err)
	}
	if err := zip.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// Entry is an entry of an archive.
type Entry struct {
	Header tar.Header
	Text   string
}

// File is an entry that is a regular file.
func File(name, text string) Entry { return Entry{tar.Header{Name: name}, text} }

// Manifest is the manifest of a bundle with a revision.
func Manifest(revision string) Entry {
	return File("/.manifest", `{"revision": "`+revision+`", "roots": ["permd/org"]}`)
}
