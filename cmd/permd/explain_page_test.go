package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestExplainPage: the explanation in docs/policy.md is what the command prints.
// With UPDATE_SCRIPTS set, the page gets what it prints now.
func TestExplainPage(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it types all commands of a page; TestExplainMethod is the quick one")
	}
	t.Parallel()
	page := filepath.Join("..", "..", "docs", "policy.md")
	text := readPage(t, page)
	m := regexp.MustCompile("(?s)```console explain\n(.*?)```").FindStringSubmatch(text)
	if m == nil {
		t.Fatal("the page has no explanation")
	}
	d := newTestDaemon(t)
	project := d.project(t, map[string]string{"src/a.go": "package a\n"})
	d.typePermd(t)
	paths := strings.NewReplacer(project, "/home/ana/shop", d.home, "/home/ana")
	tags := regexp.MustCompile(`(?m)^    tags     .*$`) // a test's home lies below a temporary folder

	var now strings.Builder
	for _, c := range transcript(m[1]) {
		got := c.output
		switch file, isCat := strings.CutPrefix(c.command, "cat "); {
		case isCat && strings.HasPrefix(file, "~/"):
			file = filepath.Join(d.home, strings.TrimPrefix(file, "~/"))
			if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
				t.Fatal(err)
			}
			writeFile(t, file, c.output)
		case isCat:
			writeFile(t, filepath.Join(project, file), c.output)
		default:
			out, err := d.shell(project, c.command)
			if err != nil {
				t.Fatalf("%s: %v\n%s", c.command, err, out)
			}
			got = tags.ReplaceAllString(paths.Replace(out), "    tags     in_project, home")
			if diff := cmp.Diff(shippedAside(c.output), shippedAside(got)); diff == "" {
				got = c.output
			} else if os.Getenv("UPDATE_SCRIPTS") == "" {
				t.Errorf("$ %s (-page +printed)\n%s", c.command, diff)
			}
		}
		now.WriteString("$ " + c.command + "\n" + got)
	}
	if os.Getenv("UPDATE_SCRIPTS") != "" && now.String() != m[1] {
		if err := os.WriteFile(page, []byte(strings.Replace(text, m[1], now.String(), 1)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// shippedAside drops the shipped rules that fired: these change from time to time,
// and the page is not about them.
func shippedAside(s string) string {
	return regexp.MustCompile(`(?m)^    (by|beside) +base .*\n`).ReplaceAllString(steady(s), "")
}
