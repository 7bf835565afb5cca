package bundles

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/lestrrat-go/jwx/v3/jwa"
	"github.com/lestrrat-go/jwx/v3/jws"
	"github.com/open-policy-agent/opa/v1/bundle"
	"github.com/open-policy-agent/opa/v1/util"

	"github.com/permd/permd/policy/source"
)

// Contents are what a bundle is built from.
type Contents struct {
	Kind     Kind
	Revision string
	Expires  time.Time // zero for never
	Files    []source.File
}

// SigningKey is a private key with what a signature says besides.
type SigningKey struct {
	Key       string // PEM, or the path of a file with it
	Algorithm string // as RS256 or ES256
	ID, Scope string
}

// Verifier is what verifies the signatures of bundles: OPA's configuration of it.
type Verifier = bundle.VerificationConfig

// NewVerifier returns what verifies with one public key, in PEM.
func NewVerifier(public, algorithm, id, scope string) (*Verifier, error) {
	if strings.HasPrefix(algorithm, "HS") {
		return nil, errShared
	}
	key := &bundle.KeyConfig{Key: public, Algorithm: algorithm, Scope: scope}
	return bundle.NewVerificationConfig(map[string]*bundle.KeyConfig{id: key}, id, scope, nil), nil
}

var errShared = errors.New("permd takes no shared secrets, as who verifies could sign: use a key pair, as for RS256 or ES256")

// testPackage finds the package of tests that need the second root.
func (k Kind) testPackage() *regexp.Regexp {
	name := regexp.QuoteMeta(strings.ReplaceAll(k.Root()+testSuffix, "/", "."))
	return regexp.MustCompile(`(?m)^package ` + name + `\s*$`)
}

// Build returns a bundle without a signature. The same contents make the same bytes.
func Build(c Contents) ([]byte, error) {
	root, testPackage := c.Kind.Root(), c.Kind.testPackage()
	roots := []string{root}
	var entries []entry
	for _, f := range c.Files {
		entries = append(entries, entry{f.Rel, f.Data})
		if strings.HasSuffix(f.Rel, ".rego") && testPackage.Match(f.Data) {
			roots = []string{root, root + testSuffix}
		}
	}
	manifest := map[string]any{"revision": c.Revision, "roots": roots, "rego_version": 1}
	if !c.Expires.IsZero() {
		manifest["metadata"] = map[string]any{"permd": map[string]any{"expires": c.Expires.UTC().Format(time.RFC3339)}}
	}
	text, err := json.Marshal(manifest)
	if err != nil {
		return nil, err
	}
	data, err := pack(append(entries, entry{manifestName, text}))
	if err == nil {
		_, err = Read(c.Kind, data, nil)
	}
	return data, err
}

// Sign returns a bundle with a signature of all its files in the place of any that it has.
func Sign(data []byte, key SigningKey) ([]byte, error) {
	entries, err := unpack(data)
	if err != nil {
		return nil, err
	}
	entries = slices.DeleteFunc(entries, func(e entry) bool { return e.name == signaturesName })
	hasher, err := bundle.NewSignatureHasher(bundle.SHA256)
	if err != nil {
		return nil, err
	}
	payload := struct {
		Files []bundle.FileInfo `json:"files"`
		KeyID string            `json:"keyid,omitempty"`
		Scope string            `json:"scope,omitempty"`
	}{KeyID: key.ID, Scope: key.Scope}
	for _, e := range entries {
		var v any = e.data
		if bundle.IsStructuredDoc(e.name) {
			if err := util.Unmarshal(e.data, &v); err != nil {
				return nil, fmt.Errorf("%s: %w", e.name, err)
			}
		}
		sum, err := hasher.HashFile(v)
		if err != nil {
			return nil, err
		}
		payload.Files = append(payload.Files, bundle.NewFile(e.name, hex.EncodeToString(sum), string(bundle.SHA256)))
	}
	token, err := key.sign(payload)
	if err != nil {
		return nil, fmt.Errorf("signing: %w", err)
	}
	text, err := json.Marshal(bundle.SignaturesConfig{Signatures: []string{token}})
	if err != nil {
		return nil, err
	}
	return pack(append(entries, entry{signaturesName, text}))
}

func (k *SigningKey) sign(payload any) (string, error) {
	if strings.HasPrefix(k.Algorithm, "HS") {
		return "", errShared
	}
	alg, ok := jwa.LookupSignatureAlgorithm(k.Algorithm)
	if !ok {
		return "", fmt.Errorf("there is no algorithm %q", k.Algorithm)
	}
	private, err := bundle.NewSigningConfig(k.Key, k.Algorithm, "").GetPrivateKey()
	if err != nil {
		return "", err
	}
	text, err := json.Marshal(payload)
	if err != nil {
		return "", err
	}
	header := jws.NewHeaders()
	if err := header.Set(jws.KeyIDKey, k.ID); err != nil {
		return "", err
	}
	token, err := jws.Sign(text, jws.WithKey(alg, private, jws.WithProtectedHeaders(header)))
	return string(token), err
}

// pack makes an archive: in the order of names, without times and owners.
func pack(entries []entry) ([]byte, error) {
	slices.SortFunc(entries, func(x, y entry) int { return strings.Compare(x.name, y.name) })
	var out bytes.Buffer
	zip, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	files := tar.NewWriter(zip)
	for _, e := range entries {
		if !fs.ValidPath(e.name) {
			return nil, fmt.Errorf("the name %q is not allowed", e.name)
		}
		h := &tar.Header{Typeflag: tar.TypeReg, Name: "/" + e.name, Mode: 0o644, Size: int64(len(e.data)), Format: tar.FormatPAX}
		if err := files.WriteHeader(h); err != nil {
			return nil, err
		}
		if _, err := files.Write(e.data); err != nil {
			return nil, err
		}
	}
	if err := errors.Join(files.Close(), zip.Close()); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}
