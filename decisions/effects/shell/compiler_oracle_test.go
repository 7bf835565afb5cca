package shell

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/permd/permd/internal/testload"
)

// TestCompilerOracle compares what the real gcc opens with the effects, for options in any order.
func TestCompilerOracle(t *testing.T) {
	o := newTracedOracle(t, "gcc")
	options := []string{
		"-c", "-c", "-S", "-S", "-E", "-M", "-MM", "-MD", "-MMD", "-MF d.txt", "-MDx", "-g", "-O2", "-w", "-v", "-fsyntax-only", "-x c", "-xc", "-x c++", "-x assembler", "-x c-header", "-o out", "-oout", "-DX=1", "-D X", "-Iinc", "-I inc",
		"-gS", "-cS", "-Ec", "-Ev", "-wv", "-cw", "-save-temps", "-gsplit-dwarf", "-std=c99", "-Wall", "-D -c", "-U -S", "-x none", "-MD=.env",
		"-include lib/h.h", "-include h.h", "-include=inc/i.h", "-isystem inc", "-isystem=inc", "-I lib", "-I.", "-L. -lx", "-Llib -lx", "-L inc -l x", "-lx",
		"-o -", "-o-", "-o - -c", "-o - -S", "-shared -o -", "-L. -l:.env", "-L . -l :.env", "-L. -l:t.txt", "-Linc -l:../.env", "-l:.env -L.", "-L. -l/../.env", "-L=. -l:.env", "-L. -Wl,-l:.env", "-L. -Xlinker -l:t.txt", "-Llib -l:k.c", "-L. -l:inc/../t.txt",
	}
	compared := 0
	for range testload.Rounds(t, "PERMD_TEST_COMPILER", 20, 1500) {
		if err := os.RemoveAll(o.project); err != nil {
			t.Fatal(err)
		}
		for _, file := range []string{".git/objects/x", ".git/refs/x", "inc/x"} {
			o.write(t, file, "")
		}
		o.write(t, ".git/HEAD", "ref: refs/heads/main\n")
		o.write(t, "m.c", "int main(void) { return 0; }\n")
		o.write(t, "n.c", "#include \"lib/h.h\"\nint n(void) { return h; }\n")
		o.write(t, "lib/g.c", "#include <i.h>\n#include \"h.h\"\nint g;\n")
		o.write(t, "inc/i.h", "int i;\n")
		o.write(t, "lib/k.c", "int k;\n")
		o.write(t, "lib/h.h", "int h;\n")
		o.write(t, "e.cc", "int e;\n")
		o.write(t, "a.s", ".globl a\n")
		o.write(t, "b.S", ".globl b\n")
		o.write(t, "t.txt", "int t;\n")
		o.write(t, ".env", "int KEY;\n")
		for _, at := range []string{"lib/h.h.gch", "h.h.gch", "inc/i.h.gch", "lib/h.h.gch/x", "lib/h.h.pch", "libx.a", "lib/libx.so", "inc/libx.a"} {
			if o.rnd.IntN(6) == 0 && (at != "lib/h.h.gch/x" || !o.exists("lib/h.h.gch")) {
				o.link(t, filepath.Join(o.project, ".env"), at)
			}
		}
		o.link(t, "../profile", o.pick("m.s", "m.o", "k.s", "a.out", "h.o"))
		if o.rnd.IntN(2) == 0 {
			o.link(t, "../dash", "-")
		}
		words := []string{"gcc"}
		for range 1 + o.rnd.IntN(3) {
			words = append(words, o.pick(options...))
		}
		for range 1 + o.rnd.IntN(2) {
			words = append(words, o.pick("m.c", "m.c", "n.c", "lib/g.c", "lib/k.c", "lib/h.h", "e.cc", "a.s", "b.S", "t.txt", ".env"))
		}
		o.rnd.Shuffle(len(words)-1, func(i, k int) { words[1+i], words[1+k] = words[1+k], words[1+i] })
		compared += o.check(t, strings.Join(words, " "), o.project, "lib/h.h", "inc/i.h") // which sources name
		_ = os.Remove(filepath.Join(o.top, "profile"))
		_ = os.Remove(filepath.Join(o.top, "dash"))
	}
	if compared == 0 {
		t.Errorf("seed %d: nothing was opened", o.seed)
	}
}

func (o *tracedOracle) exists(file string) bool {
	_, err := os.Lstat(filepath.Join(o.project, file))
	return err == nil
}
