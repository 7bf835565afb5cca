package decisions

import (
	"crypto/sha256"
	"encoding/hex"
	"path"
	"slices"
	"strings"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/internal/strictjson"
)

// maxTargets bounds the files that targets are read from, in bytes.
const maxTargets = 1 << 20

// runners are programs that run what a file of the project says, by the names
// of those files in the order in which the program looks for them.
var runners = map[string][]string{
	"npm": {"package.json"}, "pnpm": {"package.json"}, "yarn": {"package.json"}, "bun": {"package.json"},
	"make": {"GNUmakefile", "makefile", "Makefile"}, "gmake": {"GNUmakefile", "makefile", "Makefile"},
	"just": {"justfile", "Justfile", ".justfile"}, "rake": {"rakefile", "Rakefile"},
}

// RunsTargets reports whether what a program does stands in a file of the
// project, so that an answer about it holds only while that text is the same.
func RunsTargets(program string) bool { return runners[program] != nil }

// targetOf returns the text that a run of such a program executes, as the file
// with the hash of the text, and nil when it cannot be told. Memory binds the
// person's answer to it: else whoever may edit the file could run anything.
func targetOf(fsys effects.FS, r *effects.Run) *effects.Script {
	if r == nil || fsys == nil || !path.IsAbs(r.Cwd) {
		return nil
	}
	files := runners[r.Program]
	// An option may name another file, folder or shell.
	if files == nil || slices.ContainsFunc(r.Args, func(a string) bool { return strings.HasPrefix(a, "-") || strings.Contains(a, "=") }) {
		return nil
	}
	for dir := path.Clean(r.Cwd); ; dir = path.Dir(dir) {
		for _, name := range files {
			file := path.Join(dir, name)
			if _, err := fsys.Lstat(file); err == nil {
				return hashed(fsys, file)
			}
		}
		// Only package.json is looked for upwards, and not beyond a checkout.
		if _, err := fsys.Lstat(path.Join(dir, ".git")); err == nil || dir == "/" || files[0] != "package.json" {
			return nil
		}
	}
}

// hashed is the hash of the text that targets are in: of a package.json only
// its scripts, which a changed dependency does not change.
func hashed(fsys effects.FS, file string) *effects.Script {
	text, err := fsys.ReadFile(file, maxTargets)
	if err != nil {
		return nil
	}
	if path.Base(file) == "package.json" {
		if strictjson.Check(text) != nil {
			return nil // npm may read it in another way
		}
		o, err := strictjson.ParseObject(text)
		if err != nil {
			return nil
		}
		scripts, ok := o.Get("scripts")
		if !ok {
			return nil
		}
		compact := scripts.Clone()
		if compact.Compact() != nil {
			return nil
		}
		text = compact
	}
	sum := sha256.Sum256(text)
	return &effects.Script{Path: file, SHA256: hex.EncodeToString(sum[:])}
}
