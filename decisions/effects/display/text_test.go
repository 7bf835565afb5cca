package display

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestDisplay(t *testing.T) {
	tok := strings.Repeat("a1B2", 9) // 36 characters of a canary
	line := strings.Repeat("QUJD", 16)
	for _, tt := range []struct{ name, in, want string }{
		{"plain", "go test ./...", "go test ./..."},
		{"newline", "a\nb\tc", `a\u{a}b\u{9}c`},
		{"escape sequence", "\x1b[31mred", `\u{1b}[31mred`},
		{"bidi", "a\u202eb\u2066c", `a\u{202e}b\u{2066}c`},
		{"zero width", "a\u200bb\u200dc\ufeff", `a\u{200b}b\u{200d}c\u{feff}`},
		{"spaces that are none", "a\u00a0b\u3000c\u2028", `a\u{a0}b\u{3000}c\u{2028}`},
		{"fillers", "a\u3164b\u2800c\u115f", `a\u{3164}b\u{2800}c\u{115f}`},
		{"tag characters", "a\U000e0041", `a\u{e0041}`},
		{"variation selector", "a\ufe0f\U000e0100", `a\u{fe0f}\u{e0100}`},
		{"soft hyphen", "a\u00adb", `a\u{ad}b`},
		{"letters of all scripts", "größe 日本 α", "größe 日本 α"},
		{"emoji", "ok 👍", "ok 👍"},
		{"private use", "\ue000", `\u{e000}`},
		{"not UTF-8", "a\xff\xc3", `a\x{ff}\x{c3}`},
		{"replacement character", "\ufffd", "\ufffd"},
		{"GitHub", "git push https://x " + "ghp_" + tok, "git push https://x ghp_***"},
		{"GitHub fine-grained", "T=github_pat_" + tok + "_x;rm -rf /", "T=github_pat_***;rm -rf /"},
		{"key of a model", "OPENAI_API_KEY=sk-" + tok, "OPENAI_API_KEY=sk-***"},
		{"AWS", "AKIAIOSFODNN7EXAMPLE x", "AKIA*** x"},
		{"Slack", "xoxb-123456789012-abc", "xoxb-***"},
		{"GitLab", "glpat-" + tok[:20], "glpat-***"},
		{"JWT", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc_-x", "eyJ***"},
		{"bearer", `-H "Authorization: Bearer ` + tok + `" x`, `-H "Authorization: Bearer ***" x`},
		{"bearer lower case", "authorization: bearer abcdefgh12", "authorization: bearer ***"},
		{"basic", "Authorization: Basic dXNlcjpwYXNz", "Authorization: Basic ***"},
		{"basic in prose", "basic usage of it", "basic usage of it"},
		{"user information", "curl https://bob:hunter2@example.com/x", "curl https://***@example.com/x"},
		{"token as user", "https://" + tok + "@github.com/o/r", "https://***@github.com/o/r"},
		{"two at signs", "https://a:p@ss@host/", "https://***@host/"},
		{"git user", "ssh://git@github.com/x", "ssh://git@github.com/x"},
		{"no user", "https://example.com/a@b", "https://example.com/a@b"},
		{"query", "https://example.com?a@b", "https://example.com?a@b"},
		{"nothing hides in user information", "https://x;rm$IFS-rf@host", "https://x;rm$IFS-rf@host"},
		{"key block", "-----BEGIN RSA PRIVATE KEY-----\n" + line + "\n" + line + "\n-----END", `-----BEGIN RSA PRIVATE KEY-----***\u{a}-----END`},
		{"key block escaped", `-----BEGIN PRIVATE KEY-----\n` + line + `\n-----END`, `-----BEGIN PRIVATE KEY-----***\n-----END`},
		{"nothing hides in a key block", "-----BEGIN PRIVATE KEY-----\nreboot\n", `-----BEGIN PRIVATE KEY-----\u{a}reboot\u{a}`},
		{"public key block", "-----BEGIN PUBLIC KEY-----\n" + line, `-----BEGIN PUBLIC KEY-----\u{a}` + line},
		{"word with a head in it", "task-" + tok, "task-" + tok},
		{"short", "sk-1 ghp_ eyJ AKIA", "sk-1 ghp_ eyJ AKIA"},
		{"a path does not hide", "cat sk-" + tok + "/../../etc/passwd", "cat sk-***/../../etc/passwd"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := Display(tt.in); got != tt.want {
				t.Errorf("got  %q\nwant %q", got, tt.want)
			}
		})
	}
}

func TestDisplayCutsTheMiddle(t *testing.T) {
	in := "head" + strings.Repeat("ä", 2000) + "tail"
	got := Display(in)
	if !strings.HasPrefix(got, "headä") || !strings.HasSuffix(got, "ätail") || !strings.Contains(got, "… [1408 characters left out] …") {
		t.Errorf("got %q", got)
	}
	if exact := strings.Repeat("ä", displayMax); Display(exact) != exact {
		t.Error("a text of the greatest length is cut")
	}
	if got := Display(strings.Repeat("x ", 1<<19)); len(got) > 2*displayMax || !strings.Contains(got, "[1047976 characters left out]") {
		t.Errorf("got %q", got)
	}
	if got := Display("sk-" + strings.Repeat("x", 1<<20)); got != "sk-*** [1032195 characters left out]" {
		t.Errorf("got %q", got)
	}
}

func FuzzDisplay(f *testing.F) {
	for _, s := range []string{"a\nb", "\x1b[0m", "\u202e", "\xff", "ghp_aaaaaaaaaaaaaaaaaaaa", "https://a:b@c/", "-----BEGIN PRIVATE KEY-----\n", "Bearer "} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := Display(s)
		if !utf8.ValidString(got) || utf8.RuneCountInString(got) > displayMax+60 {
			t.Fatalf("%q is shown as %q", s, got)
		}
		for _, c := range got {
			if unicode.IsControl(c) || c != ' ' && unicode.IsSpace(c) || unicode.Is(unicode.Cf, c) {
				t.Fatalf("%q is shown as %q", s, got)
			}
		}
		// Characters that a shell acts on must be visible.
		for _, c := range ";|&$`()<>\"'{}#/" {
			if n, m := strings.Count(s, string(c)), strings.Count(got, string(c)); m < n && len(s) <= 100 {
				t.Fatalf("%q hides a %q: %q", s, c, got)
			}
		}
	})
}
