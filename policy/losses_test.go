package policy

import (
	"slices"
	"strings"
	"testing"

	"github.com/permd/permd/policy/policytest"
)

// TestDeniedLosses: with a rule that allows a program with any words, another one
// that denies what may be written or deleted still counts, whichever option of the
// program does it.
func TestDeniedLosses(t *testing.T) {
	w := newWorld(t)
	policytest.Write(t, w.user, map[string]string{"rules.yaml": "allow:\n  run: [\"rsync *\", \"tar *\", \"7z *\", \"unzip *\", \"zip *\", \"cp *\", \"ln *\", \"install *\", \"shred *\", \"mount *\", \"ar *\"]\n" +
		"  write: [\"./**\"]\n  read: [\"./**\"]\n" +
		"deny:\n  delete: [\"~/p/src/**\"]\n  write: [\"/etc/**\", \"~/p/keep/**\"]\n"})
	s := w.open(t)
	for command, want := range map[string]bool{
		"rsync -a --delete new/ src/":                true,
		"rsync -a --delete-excluded new/ src/":       true,
		"rsync -a new/ src/":                         false,
		"rsync --remove-source-files src/a out/":     true,
		"rsync -R keep/a src":                        false,
		"rsync -R b/a keep/":                         true,
		"tar -c --remove-files -f a.tar src":         true,
		"tar -c -f a.tar src":                        false,
		"tar -xf a.tar --one-top-level=/etc/x":       true,
		"tar -xf a.tar --one-top-level=x":            false,
		"tar -xPf a.tar -C out":                      true,
		"tar -xf a.tar -C out":                       false,
		"7z x a.7z -okeep":                           true,
		"7z x a.7z -oout":                            false,
		"7z x a.7z -spf -oout":                       true,
		"7z a -sdel a.7z src/x":                      true,
		"7z a a.7z src/x":                            false,
		"unzip -qdkeep a.zip":                        true,
		"unzip -qdout a.zip":                         false,
		"zip -rm a.zip src":                          true,
		"zip -r a.zip src":                           false,
		"zip keep/a b":                               true,
		"cp --parents keep/a out":                    false,
		"cp -t out --parents a/b":                    false,
		"install -d keep/x":                          true,
		"install -d out/x":                           false,
		"shred keep/x":                               true,
		"shred -u src/x":                             true,
		"shred src/x":                                false,
		"mount --bind out keep":                      true,
		"ar rcs keep/lib.a a.o":                      true,
		"ar t keep/lib.a":                            false,
		"cd out && ar x ../a.a && rsync -a a ../src": false,
	} {
		fired, _ := judged(t, s, "", command)
		if denied := slices.ContainsFunc(fired, func(f string) bool { return strings.HasPrefix(f, "user deny") }); denied != want {
			t.Errorf("%s: denied: %v, want %v\n%s", command, denied, want, strings.Join(fired, "\n"))
		}
	}
}
