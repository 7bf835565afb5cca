package display

import (
	"slices"
	"strings"
	"testing"

	"github.com/permd/permd/decisions/effects"
)

func TestCommand(t *testing.T) {
	words := func(texts ...string) (list []effects.Word) {
		for _, s := range texts {
			list = append(list, effects.Word{Text: s})
		}
		return list
	}
	for name, tt := range map[string]struct {
		words []effects.Word
		want  []string // nil if the text is not whole
	}{
		"plain":           {words("git", "log", "a b"), []string{"git", "log", "'a b'"}},
		"a pattern":       {append(words("ls"), effects.Word{Text: "*.go", Shown: "*.go", Glob: true}), []string{"ls", "*.go"}},
		"not known":       {append(words("cat"), effects.Word{Text: effects.DynamicWord, Shown: `"$(date)"`}), []string{"cat", `"$(date)"`}},
		"a secret word":   {words("frob", "--password", "hunter2"), nil},
		"a secret inside": {words("curl", "https://a:hunter2@h.dev"), nil},
		"hidden letters":  {words("echo", "a\u200bb"), nil},
		"too long":        {words("echo", strings.Repeat("x", displayMax)), nil},
		"as if masked":    {words("ls", "***"), nil},
	} {
		text, got := Command("run ", tt.words)
		if text != Display(showCommand("run ", tt.words, nil)) {
			t.Errorf("%s: the text is %q", name, text)
		}
		if !slices.Equal(got, tt.want) || (got == nil) != (tt.want == nil) {
			t.Errorf("%s: got %q, want %q", name, got, tt.want)
		}
		if got != nil && text != "run "+strings.Join(got, " ") {
			t.Errorf("%s: %q is not %q", name, got, text)
		}
	}
}
