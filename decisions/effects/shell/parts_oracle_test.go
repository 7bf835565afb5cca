package shell

import (
	"testing"

	"github.com/permd/permd/internal/testload"
)

// TestFormOracle: curl reads the files of a part of a form, and those that keys of it name.
func TestFormOracle(t *testing.T) {
	o := newTracedOracle(t, "curl")
	for _, file := range []string{"a.txt", "b.txt", "sub/.env"} {
		o.write(t, file, "K: x\n")
	}
	opened := 0
	for range testload.Rounds(t, "PERMD_TEST_OPENED", 40, 1000) {
		part := o.pick("x=", "=", "x", "") + o.pick("@", "<", "y", "(", `"y"`, "", "@", " @")
		for range 1 + o.rnd.IntN(4) {
			part += o.pick("a.txt", "sub/.env", "b.txt", ",", ";", ";headers=@", ";headers=<", ";type=text/plain", ";type=a/b;charset=x", ";filename=f", ";filename=", ";encoder=7bit", `"`, "; HEADERS=@", ";x=y", `\`, " ", ";Type=a/b", "=", ",@")
		}
		opened += o.check(t, "curl -s -m 1 -F '"+part+"' http://127.0.0.1:1/", o.project)
	}
	for _, part := range []string{"x=@a.txt;headers=@sub/.env", "x=y;headers=@sub/.env", "x=<a.txt;headers=<sub/.env", "x=@a.txt;type=a/b;headers=@sub/.env", "x=@a.txt,sub/.env", "=(;headers=@sub/.env"} {
		opened += o.check(t, "curl -s -m 1 -F '"+part+"' http://127.0.0.1:1/", o.project)
	}
	if opened == 0 {
		t.Errorf("seed %d: nothing was opened", o.seed)
	}
}
