package languages

import "testing"

var plainSedScripts = []string{
	"1,40p", "s/a/b/", "s|/usr|/opt|g;s/x/y/", "/^#/d", "$p", "2~3p", "/a/,/b/p", "/a/,+3p", "10q", "/a/!d", "{p;p}", "s/[^x]*//", "s/\\[[^]]*\\]//", "s/[[:space:]]*$//", "1p;$p",
	`s/\x1b\[[0-9;]*m//g`, `s/a\/b/c\&d/2gI`, "y/abc/xyz/", ":a;N;$!ba;s/\\n/ /g", "# a comment\n1p # more\n2p", `/x/a\` + "\ntext", "/x/i text", "1c\\  text", `\|a|d`, "s,a,b,p;s:c:d:", "s/a/[/", "/a/{s/b/c/;p}", "5,$ d",
	"s/é/e/g", "=", "n;d", "$!N;P;D", "1!G;h;$!d", "s/^\\(.*\\)$/\\1/", "1~2{N;s/\\n/ /}", "/^}/q", "l 5",
	"p", "1~2d", "s/a/b/gI", "s|a/b|c|2", "s,[0-9]*,x,g", "{p;q}", "/a/{s/x/y/;p}", "$!N", "s/\\//x/", "10,$ d", "/a/I,+3p", "p\nq 3", "b", "t", ": x", "F", "z",
}

var harmfulSedScripts = []string{
	"", "w pwned", "1w pwned", "s/a/b/w pwned", "s/a/b/e", "s/a/b/gw pwned", "e", "e touch pwned", "1e touch pwned", "r canary", "R canary", "W pwned", "s/[/]w pwned/x/", "s/[[/]/]/w pwned", "s/a\\", "a\\", "a",
	"s/[]/]w x/y/", "1,w x", "{w pwned", ":a;w pwned", "ba}w pwned", "#\\\nw pwned", ":x;a\\\nw pwned", "s\na\nb\n", "sxaxbx", "s/a/b\nw pwned", "y/a/b/;w pwned", "1p;w pwned", "p w pwned", "s/a/\\c/w pwned/;w x/",
	"a x\\\nw pwned", "s/\\n[\\]/]/x/w pwned", "s/[[:alpha:][]/]/x/w pwned", "v", "file", "s[a[b[w x[", "\\na\nw xn", "s/a/b/ew", "s/a/b/; e", "\\[a[d", "s.a.b.w x", "M", "s/a/b/\rw x", "1{p};w x",
	"s/a/b/ge", "i\\", "c\\", "s/[/]/x/", "s/[]/]/x/", "s/[[:a:]/]/g;s/e;s/x/y/", "s/a", "s/a/b", "s\\a\\b\\", "/a", "\\xaxp", "p p", "p}w x", "!", "1,p", "s/[\\]/w x/", "pw x", "s/a/b/;w x", "l;w x", "q;w x",
	"{w x", "a\\\n", "a ", ":", ": a b;w x",
}

func TestSed(t *testing.T) {
	for _, script := range plainSedScripts {
		if !Sed(script) {
			t.Errorf("%q is not plain", script)
		}
	}
	for _, script := range harmfulSedScripts {
		if Sed(script) {
			t.Errorf("%q is plain", script)
		}
	}
}
