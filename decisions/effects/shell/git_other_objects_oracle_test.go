package shell

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/permd/permd/decisions/effects/effectstest"
	"github.com/permd/permd/internal/filetest"
	"github.com/permd/permd/internal/testload"
)

// bashIn returns what bash prints of a text with real git, whose home is a folder.
func bashIn(home, dir, text string) string {
	cmd := exec.Command("bash", "-c", text)
	cmd.Dir, cmd.Env = dir, append(gitEnv(home), "PATH="+os.Getenv("PATH"))
	out, _ := cmd.CombinedOutput()
	return string(out)
}

// TestOtherObjectsOracle: git takes a name that ends as git describe writes it for the hash there,
// whatever comes before, and shows other objects in the place of those that are replaced. What the
// real git prints of a file that is in no commit asks.
func TestOtherObjectsOracle(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is missing")
	}
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	project := filepath.Join(top, "p")
	run := func(text string) string { return bashIn(top, project, text) }
	filetest.Write(t, filepath.Join(project, "README.md"), "hello\n")
	run("git init -q -b main . && git add . && git commit -qm 1 && git tag v1 && echo two >> README.md && git commit -qam 2 && git checkout -q -b other && git checkout -q main")
	filetest.Write(t, filepath.Join(project, ".env"), "SECRET=CANARY\n")
	blob, readme := strings.TrimSpace(run("git hash-object -w .env")), strings.TrimSpace(run("git rev-parse HEAD:README.md"))
	head, last := strings.TrimSpace(run("git rev-parse HEAD")), strings.TrimSpace(run("git rev-parse HEAD~1"))
	check := func(text string) (printed bool) {
		b := onDisk(effectstest.Table(t), top, project, text)
		if printed = strings.Contains(run(text), "CANARY"); printed && !notUnderstood(b) {
			t.Errorf("%s prints a file that no effect has", text)
		}
		return printed
	}
	var texts []string
	for _, before := range []string{"HEAD:x", "HEAD:./x-1", "v1-0", "HEAD~1-1", "main@{0}-1", ":x", ":/x", "@{-1}", "@", "HEAD^{commit}", "HEAD^{/1}", "nothing", "x..y", "HEAD^!", "1^2", ":1:x", ""} {
		for _, hash := range []string{blob, blob[:4], blob[:11], strings.ToUpper(blob)} {
			for _, after := range []string{"", "^{}", "^{blob}", "^{object}"} {
				for _, command := range []string{"git show ", "git cat-file -p ", "git grep -h SECRET "} {
					texts = append(texts, command+"'"+before+"-g"+hash+after+"'")
				}
			}
		}
	}
	texts = testload.Sample(t, 120, texts)
	printed := 0
	for _, text := range texts {
		if check(text) {
			printed++
		}
	}
	if printed <= len(texts)/9 {
		t.Errorf("only %d of %d names of git describe are printed", printed, len(texts))
	}
	for _, text := range []string{"git show v1-0-g" + head, "git show HEAD~1-g" + head[:8] + "^{}", "git show x-g" + last[:7]} {
		if b := onDisk(effectstest.Table(t), top, project, text); notUnderstood(b) {
			t.Errorf("%s asks: %s", text, b.Effects[len(b.Effects)-1].Text)
		}
	}
	replaced := 0
	commands := []string{"git show HEAD:README.md", "git show", "git show " + last, "git cat-file -p HEAD:README.md", "git diff HEAD~1", "git grep CANARY HEAD", "git log -p -1", "git blame README.md", "git archive HEAD"}
	for _, replace := range []string{"git replace -f " + readme + " " + blob, "git replace -f " + last + " " + head, "git replace -f " + head + " $(git commit-tree -m x $(printf '100644 blob " + blob + "\tREADME.md\n' | git mktree))"} {
		for _, packed := range []string{"true", "git pack-refs --all"} {
			run("git replace -d $(git replace -l); " + replace + " && " + packed)
			for _, text := range commands {
				if strings.Contains(replace, "commit-tree") || strings.Contains(replace, last) {
					if b := onDisk(effectstest.Table(t), top, project, text); notUnderstood(b) {
						t.Errorf("%s asks where a commit is replaced by another", text)
					}
				} else if check(text) {
					replaced++
				}
			}
		}
	}
	if replaced < 3 {
		t.Errorf("%d commands print what is replaced", replaced)
	}
}

// TestUnknownReferencesOracle: where it is not known in which folder the references of a repository are, or
// they are in a form that is not read, objects may be replaced, which asks.
func TestUnknownReferencesOracle(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is missing")
	}
	commands := []string{"git show HEAD:README.md", "git show", "git diff HEAD~1", "git log -p -1", "git blame README.md", "git grep -h CANARY HEAD", "git archive HEAD"}
	for name, tt := range map[string]struct {
		text    string // what is done to the repository
		printed bool   // whether any git knows that form
	}{
		"a link for the name of the common folder": {"mkdir ../own && mv .git ../common && mkdir .git && cp ../common/HEAD ../common/index .git && echo ../../common > ../name && ln -s ../../name .git/commondir", true},
		"a common folder with a long name":         {"mv .git ../common && mkdir .git && cp ../common/HEAD ../common/index .git && (for i in $(seq 600); do printf ../.git/; done; echo ../../common) > .git/commondir", true},
		"a repository around the project":          {"mv .git README.md ..", true},
		"a reftable":                               {"git pack-refs --all && mv .git/packed-refs ../ && mkdir .git/reftable", false},
		"a file for a reftable":                    {"git pack-refs --all && mv .git/packed-refs ../ && : > .git/reftable", false},
		"a link to a reftable":                     {"git pack-refs --all && mv .git/packed-refs ../ && ln -s ../.. .git/reftable", false},
	} {
		t.Run(name, func(t *testing.T) {
			top, err := filepath.EvalSymlinks(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			project := filepath.Join(top, "p")
			run := func(text string) string { return bashIn(top, project, text) }
			filetest.Write(t, filepath.Join(project, "README.md"), "hello\n")
			run("git init -q -b main . && git add . && git commit -qm 1 && echo two >> README.md && git commit -qam 2")
			run("echo SECRET=CANARY > ../.env && git replace $(git rev-parse HEAD:README.md) $(git hash-object -w ../.env) && " + tt.text)
			printed := 0
			for _, text := range commands {
				if strings.Contains(run(text), "CANARY") {
					printed++
				}
				if b := onDisk(effectstest.Table(t), top, project, text); !notUnderstood(b) {
					t.Errorf("%s asks nothing", text)
				}
			}
			if tt.printed && printed < 3 {
				t.Errorf("only %d commands print what is in the place of the file", printed)
			}
		})
	}
}

// TestUnknownObjectsOracle: an object of which it is not known whether it is a commit asks, since it may be any
// file of the history; a hash that no object has, and one of a commit that a list names, do not.
func TestUnknownObjectsOracle(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is missing")
	}
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	var project string
	run := func(text string) string { return bashIn(top, project, text) }
	for name, text := range map[string]string{
		"in a large pack":         "head -c 9000000 /dev/urandom > big && git add big && git commit -qm big && git repack -adq",
		"in another repository":   "mkdir ../others && mv .git/objects ../others/of && mkdir -p .git/objects/info && echo ../../../others/of > .git/objects/info/alternates",
		"large, by itself":        "head -c 200000 /dev/urandom | base64 >> .env && git config core.looseCompression 0",
		"in a pack without index": "git repack -adq && git multi-pack-index write && rm -f .git/objects/pack/pack-*.idx",
	} {
		t.Run(name, func(t *testing.T) {
			if testing.Short() && name != "in another repository" {
				t.Skip("long: it makes a repository of this kind; in another repository is the quick one")
			}
			project = filepath.Join(top, strings.ReplaceAll(name, " ", "-"))
			filetest.Write(t, filepath.Join(project, "README.md"), "hello\n")
			filetest.Write(t, filepath.Join(project, ".env"), "SECRET=CANARY\n")
			large := strings.HasPrefix(name, "large")
			if run("git init -q -b main . && echo .env > .gitignore"); large {
				run(text)
			}
			run("git add -f . && git commit -qm 1 && git rm -q --cached .env && git commit -qm 2 && git rev-parse HEAD~1:.env HEAD~1 > ../hashes")
			if !large {
				run(text)
			}
			run("rm -rf .git/logs")
			blob, _, _ := strings.Cut(run("cat ../hashes"), "\n")
			for _, word := range []string{blob, blob[:10], "HEAD-g" + blob[:10]} {
				for _, command := range []string{"git show ", "git cat-file -p ", "git show --stat "} {
					if out := run(command + word); !strings.Contains(out, "CANARY") && name != "in a pack without index" {
						t.Errorf("%s%s prints %.200s", command, word, out)
					}
					common := strings.HasPrefix(command, "git show") && strings.Contains(name, "pack") // as git log -p
					if b := onDisk(effectstest.Table(t), top, project, command+word); !notUnderstood(b) && !common {
						t.Errorf("%s%s asks nothing", command, word)
					}
				}
			}
			if name == "in a large pack" {
				run("git commit-graph write --reachable")
				for _, word := range []string{run("tail -n 1 ../hashes | head -c 10"), "0123456789012345678901234567890123456789", "0123456"} {
					if b := onDisk(effectstest.Table(t), top, project, "git show "+word); notUnderstood(b) {
						t.Errorf("git show %s asks", word)
					}
				}
			}
		})
	}
}
