package mounts

import "testing"

func TestPointOf(t *testing.T) {
	const text = "22 1 0:1 / / rw - ext4 /dev/root rw\n" +
		"23 22 0:2 / /mnt/a\\040b rw - nfs4 host:/x rw\n" +
		"24 22 0:3 / /mnt rw - tmpfs none rw\n" +
		"garbage\n" +
		"25 24 0:4 / /mnt/x rw - fuse none rw\n"
	for p, want := range map[string]string{
		"/": "/", "/etc/passwd": "/", "/mnt": "/mnt", "/mnt/y": "/mnt", "/mnt/xy": "/mnt", "/mnt/x/y/z": "/mnt/x",
		"/mnt/a b/c": "/mnt/a b", "/mnt/x/../y": "/mnt", "": "", "relative": "",
	} {
		if got := pointOf(text, p); got != want {
			t.Errorf("%q: %q, want %q", p, got, want)
		}
	}
	if got := pointOf("", "/x"); got != "" {
		t.Errorf("nothing is mounted: %q", got)
	}
}
