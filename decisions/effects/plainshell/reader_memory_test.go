package plainshell

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// TestReaderAgain reads one text after the other with the same memory: each as by itself.
func TestReaderAgain(t *testing.T) {
	var by Reader
	for _, most := range []int{0, 4, 1 << 10} {
		for _, text := range []string{
			"ls -l | head", "a=(", "cat <<EOF\nx\nEOF\n", "ls *.go", "echo 'a b' \"$x\" $(ls)", "cat <<EOF\nopen", "ls", "",
			strings.Repeat("echo a; ", 100) + "ls", "if a; then b; fi", "ls [", "ls",
		} {
			got, why := by.Read(text, All)
			want, wantWhy := Read(text, All)
			if diff := cmp.Diff(want, got, cmp.AllowUnexported(Script{}), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%q (-alone +again):\n%s", text, diff)
			}
			if diff := cmp.Diff(wantWhy, why); diff != "" {
				t.Errorf("%q is refused (-alone +again):\n%s", text, diff)
			}
			if by.Forget(most); by.r.text != "" || by.r.docs != nil || by.script.Marks != nil || cap(by.r.marks)+cap(by.r.words) > most {
				t.Errorf("%q: something of it stays: %+v", text, by)
			}
		}
	}
}
