package languages

import "testing"

func TestGoFlags(t *testing.T) {
	for _, flags := range []string{"-s -w", "-s", "-X a.b=c", "-s -w -X a.b=c -X a.c=d", "-X=a.b=c", "all=-N -l", "-m", "-N -l"} {
		if !GoFlags(flags) {
			t.Errorf("%q is not plain", flags)
		}
	}
	for _, flags := range []string{
		"-extld=./x", "-linkmode external", "-extldflags '-x'", "-X", "-X a.b", "-s -extld ./x", "-X 'a.b=c d'", "-X a.b=c -extld=./x", "all=-extld=x", "-toolexec=x",
		"-X=a='b", "-o=/tmp/x", "-o /tmp/x",
	} {
		if GoFlags(flags) {
			t.Errorf("%q is plain", flags)
		}
	}
}
