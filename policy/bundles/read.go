package bundles

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/open-policy-agent/opa/v1/bundle"
	"github.com/open-policy-agent/opa/v1/loader/filter"
	"github.com/open-policy-agent/opa/v1/util"

	"github.com/permd/permd/policy/source"
)

// Names of what an archive has besides the files of a layer.
const (
	manifestName   = bundle.ManifestExt
	signaturesName = ".signatures.json"
	dataName       = "data.json"
)

// Dir is the folder, below that of the layer, in which the files of a bundle are: the ids of
// its rules begin with org/bundle/ or user/bundle/.
const Dir = "bundle"

// Bundle is a bundle that was read.
type Bundle struct {
	Revision string        `json:"revision"`
	Roots    []string      `json:"roots"`
	Expires  time.Time     `json:"expires,omitzero"` // zero for never
	Signed   bool          `json:"signed"`           // there is a signature
	Verified bool          `json:"verified"`         // it was verified with a key
	KeyID    string        `json:"keyId,omitzero"`
	Scope    string        `json:"scope,omitzero"`
	Digest   string        `json:"digest"` // of all files and the manifest, not of the signature
	Contents []Signed      `json:"files"`  // all files but the signature
	Files    []source.File `json:"-"`      // those that permd reads
	// Data are the data documents of a discovery bundle, nil for none.
	Data map[string]any `json:"-"`

	number uint64 // the revision
}

// Signed is one file of a bundle.
type Signed struct {
	Name   string `json:"name"`
	Size   int    `json:"size"`
	SHA256 string `json:"sha256"`
	Read   bool   `json:"read"` // permd reads it
}

// Read reads a bundle of a kind. With a nil config its signature is not verified; Verified says
// so. Whether it has expired is for [Bundle.Expired], and whether its revision may follow another
// for [Keeper.Read].
func Read(kind Kind, data []byte, config *Verifier) (*Bundle, error) {
	entries, err := unpack(data)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if path.Base(e.name) == "patch.json" {
			return nil, errors.New("is a delta bundle, and permd takes whole bundles only")
		}
	}
	if config != nil && !config.SignatureRequired() {
		return nil, errors.New("the configuration requires no signature") // OPA's default where there is no section signing
	}
	got, err := bundle.NewCustomReader(&loader{entries: entries}).WithBundleVerificationConfig(config).WithSkipBundleVerification(config == nil).
		WithSizeLimitBytes(source.MaxFile).WithLazyLoadingMode(true).WithFollowSymlinks(false).Read()
	if err != nil {
		return nil, err
	}
	b := &Bundle{Verified: config != nil}
	if err := b.readManifest(kind, entries); err != nil {
		return nil, err
	}
	if err := b.readSignature(entries); err != nil {
		return nil, err
	}
	if err := b.checkKeyID(config); err != nil {
		return nil, err
	}
	if got.Manifest.Revision != b.Revision { // two readers, one meaning
		return nil, errors.New(".manifest can be read in two ways")
	}
	return b, b.readFiles(kind, entries)
}

// readManifest takes what permd needs of the manifest. Its other members are OPA's.
func (b *Bundle) readManifest(kind Kind, entries []entry) error {
	i := slices.IndexFunc(entries, func(e entry) bool { return e.name == manifestName })
	if i < 0 {
		return errors.New("has no .manifest in its root, which says its revision and roots")
	}
	var m map[string]any
	if err := util.UnmarshalJSON(entries[i].data, &m); err != nil {
		return fmt.Errorf(".manifest: %w", err)
	}
	b.Revision, _ = m["revision"].(string)
	n, err := strconv.ParseUint(b.Revision, 10, 64)
	if err != nil || strconv.FormatUint(n, 10) != b.Revision {
		return fmt.Errorf("the revision %q is no whole number, so that nobody can tell whether it is newer than another", shown(b.Revision))
	}
	b.number = n
	roots, _ := m["roots"].([]any)
	for _, r := range roots {
		text, _ := r.(string)
		b.Roots = append(b.Roots, text)
	}
	slices.Sort(b.Roots)
	if err := kind.checkRoots(b.Roots); err != nil {
		return err
	}
	if metadata, ok := m["metadata"].(map[string]any); ok {
		of, ok := metadata["permd"].(map[string]any)
		if _, there := metadata["permd"]; there && !ok {
			return errors.New("metadata.permd of .manifest is no object")
		}
		for key, v := range of {
			text, _ := v.(string)
			if b.Expires, err = time.Parse(time.RFC3339, text); key != "expires" || err != nil {
				return fmt.Errorf("metadata.permd.%s of .manifest is not understood: permd knows expires, a time as 2030-01-31T00:00:00Z", shown(key))
			}
		}
	}
	return nil
}

// readSignature takes from the signature, which OPA has verified if it was to, what is shown.
func (b *Bundle) readSignature(entries []entry) error {
	i := slices.IndexFunc(entries, func(e entry) bool { return e.name == signaturesName })
	if i < 0 {
		return nil
	}
	b.Signed = true
	var s bundle.SignaturesConfig
	if err := util.UnmarshalJSON(entries[i].data, &s); err != nil {
		return fmt.Errorf("%s: %w", signaturesName, err)
	}
	if len(s.Signatures) != 1 || s.Plugin != "" && s.Plugin != "_default" {
		return fmt.Errorf("%s must have exactly one signature, and no plugin", signaturesName)
	}
	parts := strings.Split(s.Signatures[0], ".")
	if len(parts) != 3 {
		return fmt.Errorf("%s: is no JWT", signaturesName)
	}
	var header struct {
		KeyID string `json:"kid"`
	}
	var payload bundle.DecodedSignature
	for i, into := range []any{&header, &payload} {
		text, err := base64.RawURLEncoding.DecodeString(parts[i])
		if err == nil {
			err = util.UnmarshalJSON(text, into)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", signaturesName, err)
		}
	}
	for _, f := range payload.Files {
		if !slices.Contains([]string{string(bundle.SHA256), string(bundle.SHA384), string(bundle.SHA512)}, f.Algorithm) {
			return fmt.Errorf("%s: the hash of %s is by %s, and must be by SHA-256, SHA-384 or SHA-512", signaturesName, shown(f.Name), shown(f.Algorithm))
		}
	}
	b.KeyID, b.Scope = cmp.Or(header.KeyID, payload.KeyID), payload.Scope
	return nil
}

// readFiles takes the files that permd reads.
func (b *Bundle) readFiles(kind Kind, entries []entry) error {
	all := sha256.New()
	slices.SortFunc(entries, func(x, y entry) int { return strings.Compare(x.name, y.name) })
	for _, e := range entries {
		if e.name == signaturesName {
			continue
		}
		sum := sha256.Sum256(e.data)
		fmt.Fprintf(all, "%d %s %x\n", len(e.name), e.name, sum)
		base := path.Base(e.name)
		switch {
		case e.name == manifestName:
		case base == signaturesName || strings.HasSuffix(base, bundle.ManifestExt) || strings.HasSuffix(base, bundle.ManifestProtoExt):
			return fmt.Errorf("%s lies in a folder, or is not in JSON, and would be read by OPA", e.name)
		case isData(e.name):
			if err := b.takeData(kind, e); err != nil {
				return err
			}
		case base == bundle.WasmFile || base == bundle.PlanFile || base == bundle.PlanProtoFile:
			return fmt.Errorf("%s is compiled policy, and permd reads Rego and lists", e.name)
		case source.NotRead(e.name) != "":
			return fmt.Errorf("%s is not read: %s", e.name, source.NotRead(e.name))
		}
		read := kind.reads(e.name)
		b.Contents = append(b.Contents, Signed{Name: e.name, Size: len(e.data), SHA256: hex.EncodeToString(sum[:]), Read: read})
		if !read {
			continue
		}
		if len(b.Files) == source.MaxFiles {
			return fmt.Errorf("has more than %d files of rules", source.MaxFiles)
		}
		b.Files = append(b.Files, source.File{Name: "bundle " + b.Revision + ": " + e.name, Rel: path.Join(Dir, e.name), Dir: Dir, Data: e.data})
	}
	if len(b.Files) == 0 && b.Data == nil {
		return errors.New("has no rules")
	}
	b.Digest = hex.EncodeToString(all.Sum(nil))
	return nil
}

// hidden reports whether a name, or a folder of it, begins with a dot: folders of rules do not
// have such files either.
func hidden(name string) bool {
	return strings.HasPrefix(name, ".") || strings.Contains(name, "/.")
}

// loader gives OPA's reader the files that were unpacked, so that it verifies the very bytes
// that are used.
type loader struct {
	entries []entry
	next    int
}

// NextFile implements [bundle.DirectoryLoader].
func (l *loader) NextFile() (*bundle.Descriptor, error) {
	if l.next == len(l.entries) {
		return nil, io.EOF
	}
	e := l.entries[l.next]
	l.next++
	return bundle.NewDescriptor(e.name, "/"+e.name, bytes.NewBuffer(slices.Clone(e.data))), nil
}

// The other methods of [bundle.DirectoryLoader] select files, and all are read.
func (l *loader) WithFilter(filter.LoaderFilter) bundle.DirectoryLoader   { return l }
func (l *loader) WithPathFormat(bundle.PathFormat) bundle.DirectoryLoader { return l }
func (l *loader) WithSizeLimitBytes(int64) bundle.DirectoryLoader         { return l }
func (l *loader) WithFollowSymlinks(bool) bundle.DirectoryLoader          { return l }
