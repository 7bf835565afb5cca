package programs

import "strings"

// packSuffixes are the suffixes of packed files.
var packSuffixes = []string{".gz", ".bz2", ".bz", ".xz", ".lzma", ".zst", ".lz4", ".Z", ".z", ".tgz", ".taz", ".tbz", ".tbz2", ".txz", ".tlz", ".tzst"}

// PackedNames returns the names that a packer, such as gzip or unxz, may give what it
// makes of a file, given whether there are options to compress or decompress.
func PackedNames(program, name string, compress, decompress bool) []string {
	suffix := packSuffix(program)
	if !strings.Contains(program, "un") && !decompress {
		return packedName(name, suffix)
	}
	names := unpackedNames(name, suffix)
	if compress { // the last of the two options counts
		names = append(names, name+suffix)
	}
	return names
}

func packedName(name, suffix string) []string {
	for _, known := range packSuffixes {
		if plain, ok := strings.CutSuffix(name, known); ok && plain != "" {
			return []string{plain, name + suffix} // gzip skips packed files, others pack them again
		}
	}
	return []string{name + suffix}
}

func unpackedNames(name, suffix string) []string {
	for _, known := range packSuffixes {
		plain, ok := strings.CutSuffix(name, known)
		switch {
		case !ok || plain == "":
		case suffix == ".bz2" && !strings.HasPrefix(known, ".b") && !strings.HasPrefix(known, ".tb"):
			return []string{name + ".out"} // bzip2 knows only its own suffixes
		case strings.HasPrefix(known, ".t"):
			return []string{plain, plain + ".tar"}
		default:
			return []string{plain}
		}
	}
	return []string{name, name + suffix, name + ".out"} // with that suffix, or an unknown one
}

func packSuffix(program string) string {
	switch {
	case strings.HasPrefix(program, "b"):
		return ".bz2"
	case strings.Contains(program, "xz"):
		return ".xz"
	case strings.Contains(program, "zst"):
		return ".zst"
	}
	return ".gz"
}
