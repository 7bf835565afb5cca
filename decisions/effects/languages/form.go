package languages

import "strings"

// FormFiles returns the files that curl reads for a part of a form (-F): NAME=VALUE,
// NAME=<FILE or NAME=@FILE[,FILE…], each with ;KEY=VALUE appended. Which values curl takes to
// be quoted, and which keys name further files (headers=@FILE), differs between versions, so
// ok is false for all that is not plain.
func FormFiles(part string) (files []string, ok bool) {
	_, value, _ := strings.Cut(part, "=")
	sent := strings.HasPrefix(value, "@")
	inline := strings.HasPrefix(value, "<")
	if !sent && !inline {
		_, keys, more := strings.Cut(value, ";")
		return nil, !more || !strings.ContainsAny(value, `"\,`) && formKeys(keys)
	}
	if strings.ContainsAny(value, `"\`) || inline && strings.Contains(value, ",") {
		return nil, false
	}
	for one := range strings.SplitSeq(value[1:], ",") {
		file, keys, more := strings.Cut(one, ";")
		if file == "" || strings.ContainsAny(file, " \t\n\v\f\r") || more && !formKeys(keys) {
			return nil, false
		}
		files = append(files, file)
	}
	return files, true
}

// formKeys reports whether all of KEY=VALUE;KEY=VALUE… say only how a part is named and sent.
func formKeys(text string) bool {
	for one := range strings.SplitSeq(text, ";") {
		key, value, _ := strings.Cut(one, "=")
		switch key {
		case "type", "filename", "encoder":
		default:
			return false
		}
		if strings.ContainsAny(value, "@<= \t\n\v\f\r") {
			return false
		}
	}
	return true
}
