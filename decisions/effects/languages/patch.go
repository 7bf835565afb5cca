package languages

import "strings"

// PatchChange is what a part of a patch does.
type PatchChange uint8

// The changes of a patch. PatchUnknown is a heading that is not known.
const (
	PatchWrites PatchChange = iota
	PatchDeletes
	PatchUnknown
)

// Patch reads a patch in the format of apply_patch, and calls change with each file that
// it changes until that returns false. Parsers of the format differ in white space before
// a heading and in text between files, so every line that any of them could take for a
// heading counts, even if it is context. It returns whether the patch begins, and whether
// there is text around it, which may be a command that contains the patch.
func Patch(text string, change func(c PatchChange, path string) bool) (begun, around bool) {
	ended := false
	last := "" // the path that a following move would remove
	for line := range strings.SplitSeq(text, "\n") {
		line = strings.TrimSpace(line)
		rest, ok := strings.CutPrefix(line, "***")
		if !ok && hidesHeading(line) && !change(PatchUnknown, "") {
			break
		}
		if !ok {
			around = around || line != "" && begun == ended && !hereWord(line)
			continue
		}
		head, arg, _ := strings.Cut(strings.TrimSpace(rest), ":")
		arg = strings.TrimSpace(arg)
		ok = true
		switch strings.ToLower(head) {
		case "begin patch":
			begun = true
		case "end patch":
			ended = true
		case "end of file":
		case "add file":
			ok = change(PatchWrites, arg)
		case "update file":
			last = arg
			ok = change(PatchWrites, arg)
		case "delete file":
			ok = change(PatchDeletes, arg)
		case "move to":
			ok = change(PatchWrites, arg) && (last == "" || change(PatchDeletes, last))
		default:
			ok = change(PatchUnknown, "")
		}
		if !ok {
			break
		}
	}
	return begun, begun && around
}

// lineEnds are what some programs take for the end of a line, besides a line feed.
const lineEnds = "\r\v\f\x1c\x1d\x1e\u0085\u2028\u2029"

// hidesHeading reports whether a line has what may be a heading to a program that knows other
// ends of lines.
func hidesHeading(line string) bool {
	for {
		i := strings.IndexAny(line, lineEnds)
		if i < 0 {
			return false
		}
		line = strings.TrimLeft(line[i:], lineEnds+" \t\u00a0")
		if strings.HasPrefix(line, "***") {
			return true
		}
	}
}

// hereWord matches the here-document syntax that models write around a patch, which parsers
// of the format remove.
func hereWord(line string) bool {
	switch line {
	case "<<EOF", "<<'EOF'", `<<"EOF"`, "EOF":
		return true
	}
	return false
}
