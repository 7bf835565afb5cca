package programs

import (
	"regexp"
	"strings"
	"sync"
)

// PackageOf returns the name in NAME@VERSION, "" for other text: what follows the @ may also be an
// address, a folder or another package.
func PackageOf(spec string) string {
	name, version, ok := strings.Cut(spec, "@")
	if !ok || !plainVersion().MatchString(version) {
		return ""
	}
	for _, ending := range []string{".tgz", ".tar.gz", ".tar"} {
		if strings.HasSuffix(strings.ToLower(version), ending) {
			return "" // a file
		}
	}
	return name
}

// plainVersion matches a version, a simple range of versions (^9, ~1.2) or the name of a release
// (latest).
var plainVersion = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[~^]?[0-9A-Za-z][0-9A-Za-z._+-]*$`) })
