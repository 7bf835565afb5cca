package settings

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"

	"github.com/permd/permd/internal/lazy"
	"github.com/permd/permd/internal/lexpath"
)

// A go.mod selects the toolchain that the go command runs, and modules that it
// fetches from their own hosts if the proxy does not have them.

// maxRequired bounds the modules of a go.mod and its go.sum.
const maxRequired = 4096

// officialGo matches released versions of Go, which the go command fetches from the
// same proxy as modules and verifies.
var officialGo = lazy.Regexp(`^1\.[0-9]{1,3}(\.[0-9]{1,3})?((rc|beta)[0-9]{1,2})?$`)

// publicModules are hosts of modules that the public proxy serves.
var publicModules = []string{
	"bitbucket.org", "buf.build", "cel.dev", "charm.land", "cloud.google.com", "codeberg.org", "connectrpc.com", "cuelang.org", "dario.cat", "entgo.io",
	"filippo.io", "github.com", "gitlab.com", "go.etcd.io", "go.mongodb.org", "go.opencensus.io", "go.opentelemetry.io", "go.temporal.io", "go.uber.org",
	"go.yaml.in", "gocloud.dev", "golang.org", "gonum.org", "google.golang.org", "gopkg.in", "gorm.io", "gotest.tools", "helm.sh", "honnef.co", "istio.io",
	"k8s.io", "knative.dev", "lukechampine.com", "modernc.org", "mvdan.cc", "oras.land", "pgregory.net", "rsc.io", "sigs.k8s.io", "tailscale.com",
}

// harmlessGoMod reports whether everything that a go.mod, and the go.sum next to it,
// requires comes from the public proxy or need not be fetched.
func harmlessGoMod(c *settingsCheck, text string) bool {
	f, err := modfile.Parse(c.file, []byte(text), nil)
	if err != nil || len(f.Require) > maxRequired {
		return false
	}
	if f.Go != nil && !officialGo().MatchString(f.Go.Version) {
		return false
	}
	if f.Toolchain != nil && f.Toolchain.Name != "default" && f.Toolchain.Name != "local" {
		if version, ok := strings.CutPrefix(f.Toolchain.Name, "go"); !ok || !officialGo().MatchString(version) {
			return false
		}
	}
	replaced := map[string]bool{}
	for _, r := range f.Replace {
		if c.nested {
			break // only those of the main module count
		}
		if modfile.IsDirectoryPath(r.New.Path) {
			dir := r.New.Path
			if !path.IsAbs(dir) {
				dir = path.Join(path.Dir(c.file), dir)
			}
			if !lexpath.In(c.root, dir) {
				return false
			}
			// Its own go.mod is read as well.
			if !c.HarmlessFile(&Format{checks: nestedGoMod}, path.Join(dir, "go.mod"), c.root) {
				return false
			}
		} else if !c.harmlessModule(r.New, true) {
			return false
		}
		// A replacement of one version leaves the others to the module's own host.
		if r.Old.Version == "" {
			replaced[r.Old.Path] = true
		}
	}
	for _, r := range f.Require {
		if !replaced[r.Mod.Path] && !c.harmlessModule(r.Mod, true) {
			return false
		}
	}
	return c.nested || c.harmlessSums(replaced)
}

// nestedGoMod checks the go.mod of a replacement module.
func nestedGoMod(c *settingsCheck, text string) bool {
	c.nested = true
	return harmlessGoMod(c, text)
}

// harmlessSums checks the checksums next to a go.mod. The go command does not fetch
// the go.mod of a module without a checksum.
func (c *settingsCheck) harmlessSums(replaced map[string]bool) bool {
	file := path.Join(path.Dir(c.file), "go.sum")
	if c.Files.Changed(file) {
		return false
	}
	data, err := c.FS.ReadFile(file, maxSums)
	if err != nil {
		return errors.Is(err, fs.ErrNotExist)
	}
	for line := range strings.Lines(string(data)) {
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		if len(words) != 3 {
			return false
		}
		version, sums := strings.CutSuffix(words[1], "/go.mod")
		if !replaced[words[0]] && !c.harmlessModule(module.Version{Path: words[0], Version: version}, sums) {
			return false
		}
	}
	return true
}

// maxSums bounds a go.sum, in bytes.
const maxSums = 1 << 20

// harmlessModule reports whether a module comes from the public proxy, or is already
// in the person's cache.
func (c *settingsCheck) harmlessModule(m module.Version, modOnly bool) bool {
	host, _, _ := strings.Cut(m.Path, "/")
	if slices.Contains(publicModules, host) {
		return true
	}
	name, err := module.EscapePath(m.Path)
	home := c.Home
	if err != nil || !path.IsAbs(home) {
		return false
	}
	version, err := module.EscapeVersion(m.Version)
	if err != nil {
		return false
	}
	ending := ".zip"
	if modOnly {
		ending = ".mod"
	}
	_, err = c.FS.Lstat(path.Join(home, "go/pkg/mod/cache/download", name, "@v", version+ending))
	return err == nil
}
