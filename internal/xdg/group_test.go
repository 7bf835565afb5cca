package xdg

import (
	"os"
	"strings"
	"testing"
)

func TestPrivateGroup(t *testing.T) {
	const passwd = "root:x:0:0:root:/root:/bin/sh\nann:x:1000:1000::/home/ann:/bin/sh\nbob:x:1001:1001::/home/bob:/bin/sh\n"
	const group = "root:x:0:\nann:x:1000:\nbob:x:1001:\nusers:x:100:ann,bob\n"
	tests := []struct {
		name          string
		passwd, group string
		uid, gid      uint32
		want          bool
	}{
		{"own", passwd, group, 1000, 1000, true},
		{"own, named as its member", passwd, strings.Replace(group, "1000:", "1000:ann", 1), 1000, 1000, true},
		{"another's", passwd, group, 1000, 1001, false},
		{"shared", passwd, group, 1000, 100, false},
		{"of nobody", passwd, group, 1000, 4242, false},
		{"of a person that the system does not know", passwd, group, 4242, 1000, false},
		{"root's", passwd, group, 0, 0, false},
		{"another is a member", passwd, strings.Replace(group, "1000:", "1000:bob", 1), 1000, 1000, false},
		{"another is a member too", passwd, strings.Replace(group, "1000:", "1000:ann, bob", 1), 1000, 1000, false},
		{"another has it as primary group", passwd + "eve:x:1002:1000::/:/bin/sh\n", group, 1000, 1000, false},
		{"another may have it, who can tell", passwd + "eve:x:what:1000::/:/bin/sh\n", group, 1000, 1000, false},
		{"not the primary group", strings.Replace(passwd, "1000:1000", "1000:100", 1), group, 1000, 1000, false},
		{"of another name", passwd, strings.Replace(group, "ann:x:1000", "staff:x:1000", 1), 1000, 1000, false},
		{"of two names", passwd, group + "staff:x:1000:\n", 1000, 1000, false},
		{"in no file", passwd, "root:x:0:\n", 1000, 1000, false},
		{"two names of one person", passwd + "annette:x:1000:1000::/:/bin/sh\n", strings.Replace(group, "1000:", "1000:annette", 1), 1000, 1000, true},
		{"nothing", "", "", 1000, 1000, false},
		{"lines that are none", "# ann:x:1000:1000\n+\n::\n", "+\n:::\nann:x:1000:\n", 1000, 1000, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := privateGroup(tt.passwd, tt.group, tt.uid, tt.gid); got != tt.want {
				t.Errorf("private: %v, want %v", got, tt.want)
			}
		})
	}
}

// With the files of this machine, root's group is never private, nor is one that does
// not exist.
func TestPrivateGroupOfThisMachine(t *testing.T) {
	if PrivateGroup(0, 0) || PrivateGroup(uint32(os.Getuid()), 1<<31) {
		t.Error("a group that cannot be private is")
	}
}
