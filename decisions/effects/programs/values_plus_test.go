package programs

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestWordsThatAreNoOperands: words that a program takes for an option, although they
// do not begin with a dash, are not taken for files.
func TestWordsThatAreNoOperands(t *testing.T) {
	table := shipped(t)
	for line, want := range map[string]bool{
		"shasum +c sums": true, "shasum a.txt": false, "shasum -a 256 a.txt": false,
		"ack hi +x": true, "ack hi src": false, "ack -i hi src": false, "ack -- +x src": false,
	} {
		words := strings.Fields(line)
		asks := false
		for r := table.entryOf(words[0]).Read(literalWords(words[1:])); r.More(); {
			if r.Next().Kind != ArgOptions {
				continue
			}
			for use, ok := r.Option(); ok; use, ok = r.Option() {
				asks = asks || use.Option == nil
			}
		}
		if asks != want {
			t.Errorf("%s: an option that is not known %v, want %v", line, asks, want)
		}
	}
}

// TestPlusOfRealPrograms has shasum check the files that another one names.
func TestPlusOfRealPrograms(t *testing.T) {
	if _, err := exec.LookPath("shasum"); err != nil {
		t.Skip("shasum is not installed")
	}
	dir := t.TempDir()
	for name, text := range map[string]string{"a.txt": "", "sums": "da39a3ee5e6b4b0d3255bfef95601890afd80709  a.txt\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("shasum", "+c", "sums")
	cmd.Dir = dir
	out, _ := cmd.Output()
	if read := strings.Contains(string(out), "a.txt"); read && !table(t, "shasum").Plus {
		t.Error("shasum +c reads what sums names")
	}
}

func table(t *testing.T, program string) *Program {
	t.Helper()
	p := shipped(t).entryOf(program)
	if p == nil {
		t.Fatalf("the table has no %s", program)
	}
	return p
}

// TestOperandOfXXD: xxd has no options after the first operand. The second is the file
// that it writes, even if it looks like an option.
func TestOperandOfXXD(t *testing.T) {
	operands := 0
	for r := table(t, "xxd").Read(literalWords([]string{"-l", "4", "a.txt", "-p"})); r.More(); {
		if r.Next().Kind == ArgOperand {
			operands++
		}
	}
	if operands != 2 {
		t.Errorf("xxd -l 4 a.txt -p: %d operands, want 2", operands)
	}
	if _, err := exec.LookPath("xxd"); err != nil {
		t.Skip("xxd is not installed")
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.txt"), []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("xxd", "a.txt", "-p")
	cmd.Dir = dir
	if err := cmd.Run(); err != nil {
		t.Skip("this xxd refuses it:", err)
	}
	if _, err := os.Lstat(filepath.Join(dir, "-p")); err != nil {
		t.Log("this xxd takes options after an operand")
	}
}
