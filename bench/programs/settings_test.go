package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/permd/permd/decisions"
)

// laidOut is a text without what the layout of a script may change.
func laidOut(text []byte) string {
	return strings.Map(func(c rune) rune {
		if strings.ContainsRune(" \t\n\\", c) {
			return -1
		}
		return c
	}, string(text))
}

// TestFormatterSettings has shfmt rewrite files with each setting of an .editorconfig: what permd
// allows changes no more than the layout.
func TestFormatterSettings(t *testing.T) {
	j, w := tracedPlace(t, "shfmt")
	const script = "#!/bin/bash\n# do not remove\nset -e # important\nfoo()  {\ncase $x in\na) echo  a >b;;\nesac\n}\necho a &&\n  echo $(( $a + 1 ))\n"
	files := map[string]string{
		"s.sh": script, "run": script, "deploy.bash": script, "c.yaml": "a:\n  b: 1\n  c:\n    - x\n", "recipes/Makefile": "all:\n\techo  x\n", "data.txt": "a   b\n", "p.py": "if x:\n    y\n",
		"x.toml": "[a]\n  b = 1\n", ".gitattributes": "*   text\n", "tool": "#!/usr/bin/python3\nprint  (1)\n",
	}
	lines := []string{"", "[*]\nindent_style = space\nindent_size = 4\n", "root = true\n[*.py]\nmax_line_length = 99\nij_x = y\n"}
	for _, key := range []string{"minify", "Minify", "simplify", "shell_variant", "binary_next_line", "switch_case_indent", "space_redirects", "keep_padding", "function_next_line", "ignore"} {
		lines = append(lines, "[*]\n"+key+" = true\n", "[[shell]]\n"+key+"=true\n", "[s.sh]\n"+key+" = mksh\n")
	}
	put := func(name, text string) {
		if err := w.write(filepath.Join(w.project, name), text); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(filepath.Join(w.project, name), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	allowed := map[string]int{}
	for _, config := range lines {
		put(".editorconfig", config)
		for name, text := range files {
			put(name, text)
			words := []string{"shfmt", "-w", name}
			verdict, _, err := j.decide(t.Context(), w, words)
			if err != nil || verdict != decisions.Allow {
				continue
			}
			allowed[name]++
			// Earlier versions of shfmt have no such settings.
			if lower := strings.ToLower(config); strings.Contains(lower, "minify") || strings.Contains(lower, "simplify") || strings.Contains(lower, "variant") {
				t.Errorf("%s is allowed with %q", quoted(words), config)
			}
			cmd := exec.CommandContext(t.Context(), words[0], words[1:]...)
			cmd.Dir = w.project
			_ = cmd.Run() // some are no scripts
			got, err := os.ReadFile(filepath.Join(w.project, name))
			if err != nil || laidOut(got) != laidOut([]byte(text)) {
				t.Errorf("%s with %q: %s (%v)", quoted(words), config, got, err)
			}
			if !slices.Contains([]string{"s.sh", "run", "deploy.bash"}, name) {
				t.Errorf("%s is allowed", quoted(words))
			}
		}
	}
	if allowed["s.sh"] < 3 || allowed["run"] < 3 {
		t.Errorf("allowed: %v", allowed)
	}
}

// TestLinterSettings has yamllint read a project with settings that could name files: what permd allows
// does not open .env.
func TestLinterSettings(t *testing.T) {
	j, w := tracedPlace(t, "yamllint")
	opened, allowed := 0, 0
	for _, config := range []string{
		"rules: {braces: enable}\n", "extends: default\nrules:\n  line-length: {max: 100, level: warning}\n", "yaml-files: ['*.yaml', '*.yml', '.yamllint']\n", "ignore: |\n  x/\n",
		"yaml-files: ['.env']\n", "yaml-files:\n- '*'\n", "yaml-files: ['*.yaml', '.e*']\n", "ignore-from-file: .env\n", "rules:\n  braces: {ignore-from-file: .env}\n", "extends: .env\n", "extends: ./.env\n", "ignore-from-file: [.env]\n",
	} {
		if err := w.write(filepath.Join(w.project, ".yamllint"), config); err != nil {
			t.Fatal(err)
		}
		words := []string{"yamllint", "."}
		verdict, _, err := j.decide(t.Context(), w, words)
		if err != nil {
			t.Fatal(err)
		}
		r, err := trace(t.Context(), w, words, maxWalk)
		if err != nil {
			t.Fatal(err)
		}
		reads := slices.Contains(r.reads, filepath.Join(w.project, ".env"))
		if reads {
			opened++
		}
		if verdict == decisions.Allow {
			allowed++
			if reads {
				t.Errorf("%s with %q opens .env", quoted(words), config)
			}
		}
	}
	if opened == 0 || allowed < 4 {
		t.Errorf("%d opened .env, %d are allowed", opened, allowed)
	}
}
