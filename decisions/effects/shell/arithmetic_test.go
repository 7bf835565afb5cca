package shell

import (
	"slices"
	"strings"
	"testing"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/effectstest"
)

// TestArithmetic has calculations with the last word that they make, or none where it is
// not known and the text is therefore not plain.
func TestArithmetic(t *testing.T) {
	table, fs := effectstest.Table(t), effectstest.Files()
	for _, tt := range []struct{ name, in, want string }{
		{"a difference and a value", `n=10; sed -n "$((n-2)),${n}p" a.txt`, "8,10p"},
		{"forms of a variable", `n=10; m=3; sed -n "$(( $n * (${m} + 1) ))p" a.txt`, "40p"},
		{"without quotes", `n=10; sed -n $((n-2))p a.txt`, "8p"},
		{"below zero", `n=5; sed -n $((n-7)) a.txt`, "-2"},
		{"in a loop", `for i in 1 2; do sed -n "$((i*10)),$((i*10+9))p" a.txt; done`, "20,29p"},
		{"in a variable", `n=1; m=$((n+1)); sed -n "${m}p" a.txt`, "2p"},
		{"numbers only", `sed -n "$((2+3))p" a.txt`, "5p"},
		{"the largest value", `n=999999999; sed -n "$((n+1))p" a.txt`, "1000000000p"},

		{"a leading zero", `n=010; sed -n "$((n+1))p" a.txt`, ""},
		{"a sign", `n=-1; sed -n "$((2-$n))p" a.txt`, ""},
		{"a hexadecimal number", `n=0x1f; sed -n "$((n+1))p" a.txt`, ""},
		{"nothing", `n=; sed -n "$((n+1))p" a.txt`, ""},
		{"a name", `n=m; m=1; sed -n "$((n+1))p" a.txt`, ""},
		{"code", `n='a[$(touch x)]'; sed -n "$((n+1))p" a.txt`, ""},
		{"a variable that is not set", `sed -n "$((n+1))p" a.txt`, ""},
		{"a variable of the shell", `sed -n "$((SECONDS+1))p" a.txt`, ""},
		{"a variable that is read", `n=1; read n; sed -n "$((n+1))p" a.txt`, ""},
		{"a variable that is set on one way", `if [ -f a ]; then n=1; fi; sed -n "$((n+1))p" a.txt`, ""},
		{"a variable with two values", `n=1; [ -f a ] && n=2; sed -n "$((n+1))p" a.txt`, ""},
		{"a declared variable", `export n; n=1; sed -n "$((n+1))p" a.txt`, ""},
		{"a value too long", `n=1000000000; sed -n "$((n+1))p" a.txt`, ""},
		{"a result too large", `n=999999999; sed -n "$((n*n))p" a.txt`, ""},
		{"a step too large", `n=999999999; sed -n "$((n*9-n*8))p" a.txt`, ""},
		{"a quotient", `n=4; sed -n "$((n/2))p" a.txt`, ""},
		{"a variable that is set by it", `n=4; sed -n "$((n=2))p" a.txt`, ""},
		{"a variable that is counted", `n=4; sed -n "$((n++))p" a.txt`, ""},
		{"a variable of the text around", `n=4; sh -c 'sed -n "$((n+1))p" a.txt'`, ""},
		{"a variable that a loop counts", `n=4; while [ -f a ]; do n=$((n+1)); sed -n "${n}p" a.txt; done`, ""},
		{"a redirection", `cat < "a$((n))"`, ""},
		{"an assignment", `x=$((n))`, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := shellBuilder(table, fs)
			Text(b, tt.in, effectstest.Cwd, "command")
			notPlain := slices.ContainsFunc(b.Effects, func(e effects.Effect) bool { return e.Cause == effects.CauseNotPlain })
			var last []string
			for i := range b.Effects {
				if r := b.Effects[i].Run; r != nil {
					last = r.Args
				}
			}
			if notPlain != (tt.want == "") || tt.want != "" && (len(last) < 2 || last[1] != tt.want) {
				t.Errorf("%s: the last words are %q, not plain %v; want %q", tt.in, last, notPlain, tt.want)
			}
		})
	}
	b := shellBuilder(table, fs)
	Text(b, `n=1; echo $((`+strings.Repeat("n+", maxOperand)+`n))`, effectstest.Cwd, "command")
	if !slices.ContainsFunc(b.Effects, func(e effects.Effect) bool { return e.Cause == effects.CauseNotPlain }) {
		t.Error("a calculation with more operands than are looked at is plain")
	}
}
