package source

import "strings"

// IsEmpty reports whether a file holds nothing, not even comments.
func (f *File) IsEmpty() bool { return len(strings.TrimSpace(string(f.Data))) == 0 }

// IsBlank reports whether a file holds nothing but comments, so that it has no
// rules. OPA's parser would require a package.
func (f *File) IsBlank() bool {
	for line := range strings.Lines(string(f.Data)) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			return false
		}
	}
	return true
}

// NonEmpty returns the files with rules that are not empty.
func NonEmpty(files []File) []File {
	var out []File
	for i := range files {
		if f := &files[i]; !f.IsTest() && !f.IsEmpty() {
			out = append(out, *f)
		}
	}
	return out
}
