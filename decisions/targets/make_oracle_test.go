package targets

import (
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/paths"
	"github.com/permd/permd/internal/filetest"
	"github.com/permd/permd/internal/testload"
)

// makePieces are pieces of makefiles, plain ones and such as read more.
var makePieces = []string{
	"X := a b", "include a.mk", "-include missing.mk", "include a.mk # x", "A += b", "override B = c", "export Z1 := 2", "lint: D1 := v", ".PHONY: dep lint",
	"lint: dep", "dep:", "dep: text.txt", "other:\n\t@true", "ifeq ($(X),a b)\nV = 1\nelse\nV = 2\nendif", "sub/x: text.txt\n\t@true", "%.o: %.c\n\t@true", "O := $(X:a=c)",
	"P := $(subst a,b,$(X)) $(sort b a)", "N := $(shell uname -s)", "$(X): text.txt\n\t@true", "SHELL := /bin/sh", "MAKEFLAGS += --no-print-directory", ".DEFAULT_GOAL := lint",
	"ifdef NOPE\nlint: dep\nendif", "# comment \\\ninclude evil.mk", "again:\n\t$(MAKE) other", "lint: ; @true", "export X", ".SUFFIXES:",

	"$(eval include evil.mk)", "Y := $(shell cat text.txt)", "Y2 := $(file < text.txt)", "W = evil.mk", "include $(W)", "VPATH = sub", "vpath %.mk sub",
	"export MAKEFILES = evil.mk", "MAKEFLAGS += -f evil.mk", "GNUMAKEFLAGS = -f evil.mk", "define D\ninclude evil.mk\nendef", "$(D)", "$(eval $(D))",
	"ifdef NOPE\nfoo:\nendif\n\tinclude evil.mk", "Q = 1\n\tinclude evil.mk", "ifndef NOPE\nQ = 1\nendif\n\tinclude evil.mk", "%: %.sh\n\tcp $< $@",
	"Makefile: text.txt\n\tcp text.txt Makefile", "./Makefile: text.txt ; cp text.txt Makefile", "a.mk: ; cp evil.mk a.mk", "a.mk: evil.mk\n\tcp evil.mk a.mk", "missing.mk:\n\tcp evil.mk $@",
	".SUFFIXES: .mk .evil", ".evil.mk:\n\tcp $< $@", "%.mk: %.evil\n\tcp $< $@", ".DEFAULT:\n\tcp evil.mk $@", ".SECONDEXPANSION:", "lint: $$(eval include evil.mk)",
	"-load ./evil.so", "T := $(wildcard *.mk)", "include $(T)", "-include $(wildcard *.mk)", "include *.mk", "K := $(call shell,touch pwned)", "SHELL := ./evil.sh",
	"lint: sub2\nsub2:\n\t@$(MAKE) -f evil.mk || true", "sub3:\n\t@cd sub && $(MAKE) || true\nlint: sub3", "M = $(MAKE) -C sub\nsub4:\n\t@$(M) || true\nlint: sub4",
	"C != cat text.txt", "undefine X", "include\ta.mk evil.mk", "sinclude evil.mk", "lint:: ; @true", "lint: *.mk", "include a.mk\\\nevil.mk", "E = \\\\\ninclude evil.mk",
	"${eval include evil.mk}", "$(if x,$(eval include evil.mk))", "$(foreach v,a,$(eval include evil.mk))", ".RECIPEPREFIX = >", "private X = 1", "$(info $(shell touch pwned))",
	"export MAKEFLAGS := -f evil.mk\nsub5:\n\t@$(MAKE) lint\nlint: sub5", "sub6:\n\t@MAKEFILES=evil.mk $(MAKE) other\nlint: sub6", "define lint\ninclude: evil.mk\nendef",
}

// makeEvil are names that make may read, and texts that show it.
var makeEvil = []string{
	"Makefile.sh", "GNUmakefile", "makefile", "a.mk", "a.mk.sh", "evil.mk", "missing.mk", "missing.mk.sh", "lint.sh", "dep.sh", "text.txt", "sub/Makefile", "sub/a.mk", "sub/evil.mk",
	"missing.evil", "a.evil", "Makefile.c", "RCS/Makefile,v", "SCCS/s.Makefile", "s.Makefile", "Makefile,v", "evil.sh", "lint.c", ".env", "Makefile.y", "other.sh", "sub2.sh",
}

const makeHarm = "$(shell touch pwned)\nlint other all: ; touch pwned\n"

var openedFile = regexp.MustCompile(`^open(?:at)?\((?:AT_FDCWD, )?"([^"]*)", ([A-Z_|]+)`)

// TestMakeReads: makefiles that a run is bound to are run by the real make. It opens no file
// of the project that the run is not bound to, and where the agent writes others and the
// run stays bound to the same text, it does the same. PERMD_TEST_MAKE_ROUNDS and
// PERMD_TEST_MAKE_SEED try more.
func TestMakeReads(t *testing.T) {
	for _, program := range []string{"make", "strace"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("%s is missing", program)
		}
	}
	if out, err := exec.CommandContext(t.Context(), "strace", "-qq", "-o", os.DevNull, "true").CombinedOutput(); err != nil {
		t.Skipf("strace may not trace: %v, %s", err, out)
	}
	few, seed := 40, uint64(1)
	if testing.Short() {
		few = 20
	}
	rounds := testload.Rounds(t, "PERMD_TEST_MAKE_ROUNDS", few, 150)
	if n, err := strconv.ParseUint(os.Getenv("PERMD_TEST_MAKE_SEED"), 10, 64); err == nil {
		seed = n
	}
	r := rand.New(rand.NewPCG(seed, 0))
	plain, kept := 0, 0
	for i := range rounds {
		dir := filepath.Join(t.TempDir(), "p")
		var text strings.Builder
		for range 1 + r.IntN(4) {
			piece := makePieces[r.IntN(len(makePieces))]
			if r.IntN(2) == 0 {
				piece = makePieces[r.IntN(29)] // a plain one
			}
			text.WriteString(piece + "\n")
		}
		text.WriteString("lint:\n\t@echo ran\n")
		old := time.Now().Add(-time.Hour)
		for name, text := range map[string]string{".git/HEAD": "", "Makefile": text.String(), "a.mk": "AM = 1\n", "text.txt": "x\n", "sub/x.c": "x\n"} {
			filetest.Write(t, filepath.Join(dir, name), text)
			if err := os.Chtimes(filepath.Join(dir, name), old, old); err != nil {
				t.Fatal(err)
			}
		}
		run := &effects.Run{Program: "make", Args: []string{"lint"}, Known: true, Cwd: dir}
		before := Of(paths.OSFS{}, run, &effects.Disturbance{}, &effects.User{})
		if before.Unbound != "" {
			continue
		}
		plain++
		files := Files(paths.OSFS{}, run, &effects.User{})
		for _, file := range makeOpens(t, dir) {
			if !slices.Contains(files, filepath.Join(dir, file)) {
				t.Errorf("seed %d, round %d: make reads %s, which the run is not bound to:\n%s", seed, i, file, &text)
			}
		}
		for range 3 {
			name := makeEvil[r.IntN(len(makeEvil))]
			filetest.Write(t, filepath.Join(dir, name), makeHarm)
			_ = os.Chmod(filepath.Join(dir, name), 0o755)
			after := Of(paths.OSFS{}, run, &effects.Disturbance{}, &effects.User{})
			if after.Unbound != "" || after.SHA256 != before.SHA256 {
				break
			}
			kept++
			makeOpens(t, dir)
			if _, err := os.Lstat(filepath.Join(dir, "pwned")); err == nil {
				t.Fatalf("seed %d, round %d: with %s, make does something else, and the run is bound to the same text:\n%s", seed, i, name, &text)
			}
		}
	}
	if plain == 0 || kept == 0 {
		t.Errorf("nothing was tested: %d plain makefiles, %d that stayed so", plain, kept)
	}
}

// makeOpens runs make lint, and returns the files of the folder that make itself opens.
func makeOpens(t *testing.T, dir string) (files []string) {
	t.Helper()
	trace := filepath.Join(filepath.Dir(dir), "trace")
	c := exec.CommandContext(t.Context(), "strace", "-qq", "-o", trace, "-e", "trace=open,openat", "make", "lint")
	c.Dir, c.Env = dir, []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir}
	_, _ = c.CombinedOutput() // whether it succeeds does not matter
	lines, err := os.ReadFile(trace)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(lines)) {
		m := openedFile.FindStringSubmatch(line)
		if m == nil || strings.Contains(m[2], "O_DIRECTORY") {
			continue
		}
		file := m[1]
		if !filepath.IsAbs(file) {
			file = filepath.Join(dir, file)
		}
		if rel, err := filepath.Rel(dir, file); err == nil && !strings.HasPrefix(rel, "..") && !slices.Contains(files, rel) {
			files = append(files, rel)
		}
	}
	return files
}
