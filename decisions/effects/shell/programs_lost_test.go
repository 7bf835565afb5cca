package shell

import (
	"slices"
	"strings"
	"testing"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/effectstest"
	"github.com/permd/permd/decisions/effects/programs"
)

// TestEffectsOfLosses: a rule that denies to delete or write a file also stops
// programs that do so on the way to something else. Each line has a command, the
// effects that a rule must see, and after ! those that the command does not have.
func TestEffectsOfLosses(t *testing.T) {
	table := effectstest.Table(t)
	for command, want := range map[string]string{
		"rsync -a --delete src/ docs/":               "delete docs/**, write docs/**",
		"rsync -a --delete-delay src/ docs/":         "delete docs/**, write docs/**",
		"rsync -a src/ docs/":                        "write docs/**, !delete docs/**",
		"rsync -a --delete src/ new/":                "write new/**, !delete new/**",
		"rsync -a --remove-source-files src/ docs/":  "delete src/**",
		"rsync -R src/main.go docs":                  "write docs/src/main.go",
		"rsync -aR src/./main.go docs":               "write docs/**",
		"rsync -a host: docs":                        "write docs/**",
		"scp 'host:*' docs":                          "write docs/**",
		"scp host:a/b.txt docs":                      "write docs/b.txt, !write docs/**",
		"tar -xPf a.tar":                             "write //**",
		"tar -cPf a.tar src":                         "write a.tar, !write //**",
		"tar -xf a.tar --one-top-level=/etc/x":       "write /etc/x/**",
		"tar -C docs -xf a.tar --one-top-level=../x": "write x/**",
		"tar -c --remove-files -f a.tar src":         "delete src/**, write a.tar",
		"tar -xf a.tar --recursive-unlink":           "delete ./**",
		"unzip -: a.zip":                             "write //**",
		"unzip -odocs a.zip":                         "write ocs/**",
		"zip -m a.zip b.txt":                         "delete b.txt",
		"zip a b.txt":                                "write a.zip, !delete b.txt",
		"7z x a.7z":                                  "write ./**, read a.7z",
		"7z x a.7z -o/etc":                           "write /etc/**, !write ./**",
		"7z x -spf a.7z":                             "write //**",
		"7z a -sdel a.7z src":                        "write a.7z, delete src/**",
		"7z l a.7z":                                  "read a.7z/**, !write ./**",
		"ar x lib.a":                                 "write ./**",
		"ar rcs lib.a a.o":                           "write lib.a, !write ./**",
		"cpio -i":                                    "write //**",
		"cpio -i --no-absolute-filenames":            "write ./**, !write //**",
		"cpio -p docs":                               "write docs/**",
		"unrar x a.rar docs/":                        "write docs/**, write ./**",
		"mount --bind docs src":                      "write docs/**, write src/**",
		"umount docs":                                "write docs/**",
		"dd if=a.txt of=b.txt":                       "read a.txt, write b.txt",
		"truncate -s 0 b.txt":                        "write b.txt",
		"shred b.txt":                                "write b.txt, !delete b.txt",
		"shred -u b.txt":                             "write b.txt, delete b.txt",
		"install -d docs/x":                          "write docs/x, !read docs/x",
		"install a.txt docs":                         "read a.txt, write docs/a.txt",
		"ln -sf a.txt b.txt":                         "delete b.txt, write b.txt",
		"ln -f a.txt new.txt":                        "write new.txt, !delete new.txt",
		"ln -s a.txt b.txt":                          "write b.txt, !delete b.txt",
		"cp --remove-destination a.txt b.txt":        "delete b.txt, write b.txt",
		"cp a.txt b.txt":                             "write b.txt, !delete b.txt",
		"cp --parents src/main.go docs":              "write docs/src/main.go",
		"cp a.txt new.txt; ln -f b.txt new.txt":      "delete new.txt",
	} {
		checkShellEffects(t, table, command, want)
	}
}

// checkShellEffects checks the effects of a command, one of which must be each line of want,
// and none a line after !. In a line, " | " is a comma.
func checkShellEffects(t *testing.T, table *programs.Table, command, want string) {
	t.Helper()
	b := shellBuilder(table, effectstest.ProgramFiles())
	Text(b, command, effectstest.Cwd, "command")
	var got []string
	for i := range b.Effects {
		line, _, _ := strings.Cut(effectstest.Compact(&b.Effects[i]), " ^")
		got = append(got, line)
	}
	for one := range strings.SplitSeq(want, ", ") {
		line, not := strings.CutPrefix(one, "!")
		line = strings.Replace(line, " | ", ", ", 1)
		if slices.Contains(got, line) == not {
			t.Errorf("%s: effect %q: want %v\n%s", command, line, !not, strings.Join(got, "\n"))
		}
	}
}

// TestMountIsNotUnderstood: after a mount, a write below it goes elsewhere.
func TestMountIsNotUnderstood(t *testing.T) {
	table := effectstest.Table(t)
	for command, want := range map[string]bool{
		"mount": true, "mount -l -t ext4": true, "mount a.img": false, "mount -a": false, "mount --bind docs src": false, "mount -o remount,rw /": false, "umount src": false,
	} {
		b := shellBuilder(table, effectstest.Files())
		Text(b, command, effectstest.Cwd, "command")
		unknown := slices.ContainsFunc(b.Effects, func(e effects.Effect) bool { return e.Kind == effects.KindUnknown })
		if r := b.Effects[0].Run; r == nil || r.Readonly != want || unknown == want {
			t.Errorf("%s: %+v, not understood: %v; want read-only: %v", command, r, unknown, want)
		}
	}
	b := shellBuilder(table, effectstest.Files())
	Text(b, "mount --bind docs src; cat src/main.go", effectstest.Cwd, "command")
	if slices.ContainsFunc(b.Effects, func(e effects.Effect) bool {
		return e.Kind == effects.KindRead && e.File.Path == effectstest.Cwd+"/src/main.go"
	}) {
		t.Error("a path below a mount is taken for what it was")
	}
}
