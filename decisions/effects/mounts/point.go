package mounts

import (
	"io"
	"os"
	"path"
	"strings"

	"github.com/permd/permd/internal/lexpath"
)

// Point returns the mount point that a path lies below by its name, "" if that is not
// known. It asks no file system anything but /proc.
func Point(p string) string {
	f, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return ""
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxTable))
	if err != nil {
		return ""
	}
	return pointOf(string(text), p)
}

// pointOf is Point by the text of /proc/self/mountinfo.
func pointOf(text, p string) string {
	if !path.IsAbs(p) {
		return ""
	}
	innermost := ""
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) < 6 {
			continue
		}
		if point := unescape(fields[4]); path.IsAbs(point) && len(point) > len(innermost) && lexpath.In(point, path.Clean(p)) {
			innermost = point
		}
	}
	return innermost
}
