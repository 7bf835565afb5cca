package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/internal/lexpath"
)

// ownDataLines are the commands that change only what git keeps of the project, and others that
// are close to them: git add of files and folders, of ignored ones, and by patterns; a new branch, and one
// of another commit.
var ownDataLines = [][]string{
	{"git", "add", "new.txt"}, {"git", "add", "a.txt"}, {"git", "add", "-v", "--", "src/a.go", "a.txt"}, {"git", "-C", "src", "add", "a.go"}, {"git", "add", "src/new.go", "new.txt"},
	{"git", "add", "."}, {"git", "add", "-A"}, {"git", "add", "-u"}, {"git", "add", "src", "sub/"}, {"git", "-C", "src", "add", "-A", "."}, {"git", "-C", "src", "add", "--update"},
	{"git", "commit", "-m", "x"}, {"git", "commit", "-q", "-m", "x", "-m", "y"}, {"git", "commit", "-m", "x: y"},
	{"git", "checkout", "-b", "new"}, {"git", "checkout", "-b", "new/x"}, {"git", "switch", "-c", "new"}, {"git", "switch", "--create", "new"}, {"git", "stash", "list"},
	{"git", "checkout", "-q", "-b", "new"}, {"git", "switch", "--quiet", "-c", "new"},
	{"git", "add", ".env"}, {"git", "add", "-f", "new.txt"}, {"git", "add", "-f", "."}, {"git", "add", "-N", "src"}, {"git", "add", "*.txt"}, {"git", "add", ":/"},
	{"git", "checkout", "-b", "new", "v1"}, {"git", "checkout", "-B", "new"}, {"git", "switch", "-c", "new", "HEAD~1"}, {"git", "commit", "-m", "x", "a.txt"}, {"git", "commit", "-am", "x"},
}

// branchLines is where those that make branches begin, commitLines those that commit.
const commitLines, branchLines = 11, 14

// ownDataTotals counts the runs in prepared repositories.
type ownDataTotals struct {
	allowed, done, asked, tried, astray int
	findings                            []string
	failed                              []string // preparations that did not succeed
}

// ownDataPlace makes the place in a folder in which the commands run: an ordinary project with a
// change, new files, a file of the person's outside of it, and settings of the system.
func (t *trial) ownDataPlace(ctx context.Context, dir string) error {
	var err error
	if t.judge, err = newJudge(ctx, dir); err != nil {
		return err
	}
	if t.bad, err = newPlace(ctx, filepath.Join(dir, "bad"), t.path); err != nil {
		return err
	}
	w := t.bad
	w.etc = filepath.Join(w.home, "etc")
	if err := os.MkdirAll(filepath.Join(w.base, "etc"), 0o755); err != nil {
		return fmt.Errorf("making a place: %w", err)
	}
	for name, text := range map[string]string{
		"outside/x": "x\n", "project/new.txt": "new\n", "project/src/new.go": "package src\n", "project/.gitignore": "node_modules\n.env\n", "project/a.txt": "changed\n",
	} {
		if err := w.write(filepath.Join(w.base, name), text); err != nil {
			return err
		}
	}
	if os.Geteuid() == 0 {
		if out, err := exec.CommandContext(ctx, "chown", "-hR", fmt.Sprintf("%d:%d", nobody, nobody), w.root).CombinedOutput(); err != nil {
			return fmt.Errorf("changing the owner of a place: %w: %s", err, out)
		}
	}
	return nil
}

// ownData runs the commands in repositories that are prepared in each way by itself, and in
// two ways, until the time is over. Whatever permd allows must change only git's own
// data, run nothing besides git, and read no file of the person's but those of git. What permd asks about is run as
// well, for some of the preparations, so that it is known which of them lead git astray.
func (t *trial) ownData(ctx context.Context, pairs int) (*ownDataTotals, error) {
	dir, err := os.MkdirTemp("", "permd-programs-")
	if err != nil {
		return nil, fmt.Errorf("making a folder: %w", err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		return nil, fmt.Errorf("opening a folder: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if err := t.ownDataPlace(ctx, dir); err != nil {
		return nil, err
	}
	all, err := preparations()
	if err != nil {
		return nil, err
	}
	totals := &ownDataTotals{}
	draw := rand.New(rand.NewPCG(t.seed, 1))
	only := func(p []preparation) error {
		lines := [][]string{ownDataLines[draw.IntN(commitLines)], ownDataLines[commitLines+draw.IntN(branchLines-commitLines)], ownDataLines[branchLines+draw.IntN(len(ownDataLines)-branchLines)]}
		return t.ownDataOnce(ctx, totals, p, lines, func() bool { return draw.IntN(20) == 0 })
	}
	for i := range all {
		if t.max > 0 && i >= t.max || time.Now().After(t.until) || ctx.Err() != nil {
			break
		}
		lines, every := ownDataLines, 8
		if isSetting(all[i]) { // there are thousands
			if draw.IntN(settingsTried) > 0 {
				continue
			}
			lines, every = [][]string{ownDataLines[draw.IntN(commitLines)], ownDataLines[commitLines+draw.IntN(branchLines-commitLines)], ownDataLines[branchLines+draw.IntN(len(ownDataLines)-branchLines)]}, 10
		}
		for _, linked := range []bool{false, true} {
			if t.linked = linked; !linked && all[i].tree != "" || linked && isSetting(all[i]) && draw.IntN(2) == 0 {
				continue
			}
			if err := t.ownDataOnce(ctx, totals, all[i:i+1], lines, func() bool { return draw.IntN(every) == 0 }); err != nil {
				return totals, fmt.Errorf("%s: %w", all[i].name, err)
			}
		}
	}
	// Most pairs are of preparations of which one is not a setting.
	few := slices.IndexFunc(all, isSetting)
	for range pairs {
		if time.Now().After(t.until) || ctx.Err() != nil {
			break
		}
		pair := []preparation{all[draw.IntN(few)], all[draw.IntN(few)]}
		if draw.IntN(3) == 0 {
			pair[1] = all[draw.IntN(len(all))]
		}
		t.linked = draw.IntN(2) == 0
		if err := only(pair); err != nil {
			return totals, err
		}
	}
	return totals, ctx.Err()
}

// settingsTried is how many settings there are for each that is tried by itself.
const settingsTried = 16

func isSetting(p preparation) bool { return strings.HasPrefix(p.name, "setting ") }

// ownDataOnce decides command lines in a repository that is prepared, and runs those that permd
// allows, and others if anyway says so.
func (t *trial) ownDataOnce(ctx context.Context, totals *ownDataTotals, list []preparation, lines [][]string, anyway func() bool) error {
	w := t.bad
	var names []string
	w.xdg = false
	for _, p := range list {
		w.xdg = w.xdg || p.xdg
		names = append(names, p.name)
	}
	name := strings.Join(names, " + ")
	linked := t.linked
	for _, p := range list {
		linked = linked || p.tree != ""
	}
	if w.linked = linked; linked {
		name += ", in a linked working tree"
	}
	if err := w.prepare(ctx, totals, list); err != nil {
		return err
	}
	var allowed, asked [][]string
	for _, line := range lines {
		verdict, _, err := t.judge.decide(ctx, w, line)
		switch {
		case err != nil && !errors.Is(err, errUndecided):
			return err
		case err == nil && verdict == decisions.Allow:
			allowed = append(allowed, line)
		case anyway():
			asked = append(asked, line)
		}
	}
	totals.asked += len(lines) - len(allowed)
	for i, line := range slices.Concat(allowed, asked) {
		if i > 0 {
			if err := w.prepare(ctx, totals, list); err != nil {
				return err
			}
		}
		allows := i < len(allowed)
		before := w.state()
		r, err := trace(ctx, w, line, t.limit)
		if err != nil {
			return err
		}
		did := astray(w, line, allows, r, before)
		if allows {
			did = append(did, w.stagedGuarded(ctx)...)
		}
		if t.verbose {
			fmt.Fprintf(os.Stderr, "%v %s: %s (%d): %s\n", allows, name, quoted(line), r.exit, strings.Join(did, ", "))
		}
		if !allows {
			totals.tried++
			if len(did) > 0 {
				totals.astray++
			}
			continue
		}
		totals.allowed++
		if r.exit == 0 {
			totals.done++
		}
		for _, d := range did {
			totals.findings = append(totals.findings, fmt.Sprintf("%s: %s: %s", name, quoted(line), d))
		}
	}
	return nil
}

// prepare makes the place anew, and prepares it.
func (w *place) prepare(ctx context.Context, totals *ownDataTotals, list []preparation) error {
	if err := w.renew(ctx); err != nil {
		return err
	}
	texts := make([]string, 0, 2*len(list)+1)
	for _, p := range list {
		texts = append(texts, p.text)
	}
	if w.linked {
		texts = append(texts, linkTree)
		for _, p := range list {
			texts = append(texts, p.tree)
		}
	}
	for _, text := range texts {
		// A preparation that fails, such as the second of two, leaves what it did.
		cmd := exec.CommandContext(ctx, "sh", "-c", text)
		cmd.Dir = w.project
		cmd.Env = append(w.env(), "CANARY="+w.canary, "OUT="+filepath.Join(w.home, "outside"), "ETC="+w.etc, "MAIN="+w.main(), "TREE="+w.tree(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_EDITOR=true", "GIT_CONFIG_SYSTEM=/dev/null")
		asUser(cmd)
		if err := cmd.Run(); err != nil && len(list) == 1 && !w.linked && !slices.Contains(totals.failed, list[0].name) {
			totals.failed = append(totals.failed, list[0].name)
		}
	}
	w.staged = w.stagedNow(ctx)
	if err := os.Remove(w.canary + ".ran"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("preparing a place: %w", err)
	}
	return nil
}

// gitsOwn are the files of .git that the commands change: what is staged, and a branch.
var gitsOwn = map[string]*regexp.Regexp{
	"add":      regexp.MustCompile(`^\.git$|^\.git/(index(\.lock)?|objects(/[0-9a-f]{2}(/.*)?)?|objects/pack/pack-.*\.pack)$`),
	"checkout": regexp.MustCompile(`^\.git$|^\.git/(HEAD(\.lock)?|logs|logs/HEAD|(logs/)?refs(/heads(/new(/x)?(\.lock)?)?)?)$`),
	"commit":   regexp.MustCompile(`^\.git$|^\.git/((index|HEAD)(\.lock)?|COMMIT_EDITMSG|objects(/[0-9a-f]{2}(/.*)?|/maintenance\.lock|/pack/pack-.*\.pack)?|logs|logs/HEAD|(logs/)?refs(/heads(/(main|other|none)(\.lock)?)?)?)$`),
	"stash":    regexp.MustCompile(`^$`),
	// Of those that permd asks about.
	"": regexp.MustCompile(`^\.git$|^\.git/((index|HEAD)(\.lock)?|COMMIT_EDITMSG|objects(/[0-9a-f]{2}(/.*)?|/maintenance\.lock)?|next-index-\d+\.lock|logs|logs/HEAD|(logs/)?refs(/heads(/(main|new(/x)?)(\.lock)?)?)?)$`),
}

func ownFiles(line []string, allowed bool) *regexp.Regexp {
	if !allowed {
		return gitsOwn[""]
	}
	sub := line[1]
	if sub == "-C" {
		sub = line[3]
	}
	if sub == "switch" {
		sub = "checkout"
	}
	if own := gitsOwn[sub]; own != nil {
		return own
	}
	return gitsOwn["stash"] // nothing
}

// main is the folder to which the repository of a linked working tree is moved, and tree that of
// the tree in it.
func (w *place) main() string { return filepath.Join(w.home, "main") }
func (w *place) tree() string { return filepath.Join(w.main(), ".git/worktrees/tree") }

// treesOwn are the files of a repository that a command in a linked working tree leaves alone.
var treesOwn = map[string]bool{"HEAD": true, "HEAD.lock": true, "index": true, "index.lock": true, "COMMIT_EDITMSG": true, "logs/HEAD": true}

// gitSettings are the files of the home and the system that git reads.
var gitSettings = regexp.MustCompile(`^(\.gitconfig|\.config/git/(config|ignore|attributes)|xdg/git/(config|ignore|attributes)|etc/gitconfig)$`)

// astray returns what a run did besides changing git's own data.
func astray(w *place, line []string, allowed bool, r *run, before map[string]string) []string {
	var did []string
	add := func(format string, args ...any) {
		if text := fmt.Sprintf(format, args...); !slices.Contains(did, text) {
			did = append(did, text)
		}
	}
	own := ownFiles(line, allowed)
	rel := func(file string) string {
		if !filepath.IsAbs(file) {
			file = filepath.Join(w.project, file)
		}
		file = filepath.Clean(file)
		if w.linked {
			if name, ok := lexpath.RelBelow(w.tree(), file); ok {
				return ".git/" + name
			}
			if name, ok := lexpath.RelBelow(filepath.Join(w.main(), ".git"), file); ok && !treesOwn[name] {
				return ".git/" + name
			}
			if file == filepath.Join(w.main(), ".git") || file == w.tree() {
				return ".git"
			}
		}
		name, _ := lexpath.RelBelow(w.project, file)
		return name
	}
	for i, e := range r.execs {
		// git stash list runs git log, and git commit git maintenance.
		if filepath.Base(e.file) != "git" || !filepath.IsAbs(e.file) || lexpath.In(w.root, e.file) || i > 0 && allowed && line[1] != "stash" && line[1] != "commit" {
			add("runs %s", e.file)
		}
	}
	if _, err := os.Lstat(w.canary + ".ran"); err == nil {
		add("runs the canary")
	}
	for _, write := range r.writes {
		_, file, _ := strings.Cut(write, " ")
		if file != "/dev/null" && !own.MatchString(rel(file)) {
			add("writes %s", file)
		}
	}
	for _, at := range slices.Concat(r.sends, r.other) {
		add("calls %s", at)
	}
	for _, file := range r.reads {
		// What only looks may read a reference by a link; it shows none of a file that is not one.
		if !lexpath.Below(w.root, file) || line[1] == "stash" {
			continue
		}
		name, ok := lexpath.RelBelow(w.home, file)
		inProject := rel(file) != ""
		if !ok || !inProject && !gitSettings.MatchString(name) {
			add("reads %s", file)
		} else if data, err := os.ReadFile(file); inProject && err == nil && strings.Contains(string(data), secret) && line[1] != "commit" {
			// A commit, like git status, compares what is tracked with what is there.
			add("reads the secret %s", file)
		}
	}
	// What changed on the disk, by whatever name.
	after := w.state()
	for file, was := range before {
		if is := after[file]; is != was && !own.MatchString(rel(file)) {
			add("changes %s", file)
		}
	}
	for file := range after {
		if _, ok := before[file]; !ok && !own.MatchString(rel(file)) {
			add("makes %s", file)
		}
	}
	return did
}

// state returns what all files below the home are, with their content and time; of folders of git's own
// without the time, which a lock file changes.
func (w *place) state() map[string]string {
	all := map[string]string{}
	_ = filepath.WalkDir(w.root, func(file string, d fs.DirEntry, err error) error {
		if err != nil || file == w.base {
			return fs.SkipDir
		}
		fi, err := d.Info()
		if err != nil || file == w.root || file == filepath.Join(w.root, "strace.log") {
			return nil
		}
		text := fi.Mode().String()
		switch {
		case fi.Mode().IsRegular():
			data, _ := os.ReadFile(file)
			text += fmt.Sprintf(" %x %v", sha256.Sum256(data), fi.ModTime())
		case fi.Mode()&fs.ModeSymlink != 0:
			target, _ := os.Readlink(file)
			text += " " + target
		}
		all[file] = text
		return nil
	})
	return all
}
