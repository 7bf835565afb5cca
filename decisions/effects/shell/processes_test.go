package shell

import (
	"slices"
	"strings"
	"testing"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/effectstest"
)

// TestProcesses has commands that read what others print. Those without a part of an effect
// only read the project.
func TestProcesses(t *testing.T) {
	table, fs := effectstest.Table(t), effectstest.Files()
	const unknown = "unknown an argument that is not known before it runs: <("
	for _, tt := range []struct{ name, in, want string }{
		{"a commit and a file", `diff <(git show HEAD:a.txt) a.txt`, ""},
		{"two", `comm -12 <(sort a.txt) <(sort b.txt) | head -3`, ""},
		{"in each other", `wc -l <(cat <(ls))`, ""},

		{"a change", `cat <(rm a.txt)`, "delete a.txt"},
		{"a read of another place", `cat <(cat /etc/passwd)`, "read /etc/passwd"},
		{"a change beside it", `cat <(cat x/passwd) a.txt; ln -s /etc x`, "an earlier part of the call changes what the path leads to"},
		{"a script", `sh <(echo ls)`, unknown},
		{"a file of the shell", `source <(echo ls)`, "a file that is not known before it runs"},
		{"a program of sed", `sed -f <(echo p) a.txt`, "unknown an option that can do more: <("},
		{"a list of files", `wc --files0-from <(echo a.txt)`, "unknown an option that can do more: <("},
		{"a target", `sort -o <(cat) a.txt`, unknown},
		{"a program that changes files", `tee <(cat)`, unknown},
		{"a copy", `cp <(echo x) b.txt`, unknown},
		{"what deletes", `rm <(echo x)`, unknown},
		{"a folder to go to", `cd <(ls)`, "cd to a folder that is not known"},
		{"part of a word", `cat x<(ls)`, "unknown"},
		{"a program that reads it and more", `xargs -a <(echo a.txt) cat`, unknown},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := shellBuilder(table, fs)
			Text(b, tt.in, effectstest.Cwd, "command")
			var got []string
			for i := range b.Effects {
				e := &b.Effects[i]
				read := e.Kind == effects.KindRead && e.Guarded() == 0 && strings.HasPrefix(e.File.Path, effectstest.Cwd)
				if !read && (e.Kind != effects.KindRun || !e.Run.Readonly) && e.Cause != effects.CauseNotPlain {
					got = append(got, effectstest.Compact(e))
				}
			}
			if tt.want == "" && len(got) > 0 || tt.want != "" && !slices.ContainsFunc(got, func(e string) bool { return strings.Contains(e, tt.want) }) {
				t.Errorf("%s\nhas the effects %s\nwant %q among them, and none if that is empty", tt.in, strings.Join(got, "; "), tt.want)
			}
		})
	}
}
