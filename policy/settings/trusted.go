package settings

import (
	"encoding/hex"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
)

// Trusted is a list of rules of projects that org trusts.
type Trusted struct {
	// Digest is the SHA-256 of the list's bytes in 64 hexadecimal digits, which permd trust shows.
	Digest string `toml:"digest"`
	// Root is a folder, absolute: the list is trusted in projects in it alone; "" in any.
	Root string `toml:"root"`
}

// digestDigits is the length of a digest in hexadecimal digits.
const digestDigits = 64

// checkTrust returns what is wrong with the settings about trust in projects, nil if nothing is.
func (s *Settings) checkTrust(wrong func(key, fix, format string, args ...any) *valueError) *valueError {
	if !slices.Contains([]string{"", TrustUser, TrustApproved, TrustForbid}, s.ProjectTrust) {
		return wrong("project_trust", `write "user", "approved" or "forbid"`, "there is no trust in projects called %q", s.ProjectTrust)
	}
	for _, t := range s.Trusted {
		if _, err := hex.DecodeString(t.Digest); err != nil || len(t.Digest) != digestDigits || strings.ToLower(t.Digest) != t.Digest {
			return wrong("digest", "permd trust --show DIR shows it", "%q is no digest of a list", t.Digest)
		}
		if t.Root != "" && (!filepath.IsAbs(t.Root) || filepath.Clean(t.Root) != t.Root || len(t.Root) > maxPath || strings.ContainsFunc(t.Root, unicode.IsControl)) {
			return wrong("root", "write a path from /, without a slash at its end", "%q is no path of a folder", t.Root)
		}
	}
	return nil
}
