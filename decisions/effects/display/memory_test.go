package display

import (
	"strings"
	"sync"
	"testing"
)

// TestMemoryUsedAgain shows texts at the same time and again and again: none appears in
// another one, and none stays in the memory that is used again.
func TestMemoryUsedAgain(t *testing.T) {
	texts := []string{
		"run git log -n 20", "run curl -u anna:hunter22 https://x.dev", "echo s3cretword | docker login --password-stdin",
		`run bash -c 'mysql -pS3cretPw -e "select 1"'`, `ssh host "bash -c 'curl -u a:b123456 x'"`, "read ./src/main.go",
		"run echo " + strings.Repeat("word ", 300) + "--token abcdefgh12345678", strings.Repeat("a b; ", 200), "cat <(echo pw12345678) | chpasswd",
	}
	want := make([]string, len(texts))
	for i, text := range texts {
		c := new(commands) // without the memory of others
		c.find(text, 0, 0)
		found := len(c.found) > 0
		want[i] = Display(text)
		if found && want[i] == text {
			t.Errorf("nothing is masked: %s", text)
		}
	}
	var at sync.WaitGroup
	for g := range 4 {
		at.Go(func() {
			for n := range 200 {
				i := (n + g) % len(texts)
				if got := Display(texts[i]); got != want[i] {
					t.Errorf("%s is shown as %s, and before as %s", texts[i], got, want[i])
				}
			}
		})
	}
	at.Wait()
	c := newCommands()
	defer c.release()
	if c.found != nil || c.piped != nil {
		t.Error("what was found stays")
	}
	for i := range c.levels {
		for _, by := range c.levels[i] {
			for _, w := range by.words[:cap(by.words)] {
				if w.text != "" || w.at != nil || w.quoted != nil {
					t.Errorf("a word stays: %+v", w)
				}
			}
			if left := strings.Join(by.texts[:cap(by.texts)], ""); left != "" {
				t.Errorf("text stays: %s", left)
			}
		}
	}
}
