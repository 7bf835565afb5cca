package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// place is a home in a folder, and in it a project that was cloned from an
// attacker.
type place struct {
	root    string // of all
	home    string
	project string
	canary  string // the path of a program that must never run
	base    string // a copy of home as it was made
	now     []hostile
	path    string          // further folders of programs
	posix   bool            // POSIXLY_CORRECT is set
	linked  bool            // the project is a linked working tree, whose repository lies beside it
	xdg     bool            // XDG_CONFIG_HOME is ~/xdg
	staged  map[string]bool // lines of what is staged before a run
	etc     string          // the folder with the system's settings of git, "" for none
}

// secret is the beginning of each value that no program may print.
const secret = "CANARY-SECRET-"

// newPlace makes a place below a folder.
func newPlace(ctx context.Context, root, path string) (*place, error) {
	w := &place{path: path, root: root, home: filepath.Join(root, "home"), canary: filepath.Join(root, "evil", "canary"), base: filepath.Join(root, "base")}
	w.project = filepath.Join(w.home, "project")
	for _, dir := range []string{w.home, w.project, filepath.Dir(w.canary), filepath.Join(root, "tmp")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return nil, fmt.Errorf("making a place: %w", err)
		}
	}
	if err := os.WriteFile(w.canary, []byte("#!/bin/sh\necho canary ran\ntouch \"$0.ran\"\n"), 0o755); err != nil {
		return nil, fmt.Errorf("making a place: %w", err)
	}
	for name, text := range plainFiles {
		if err := w.write(filepath.Join(w.project, name), text); err != nil {
			return nil, err
		}
	}
	for name, text := range homeFiles {
		if err := w.write(filepath.Join(w.home, name), text); err != nil {
			return nil, err
		}
	}
	for _, line := range [][]string{
		{"init", "-q", "-b", "main"}, {"add", "-f", "a.txt", "b.txt", "main.go", "go.mod", "src", "package.json"}, {"commit", "-q", "-m", "one"}, {"tag", "v1"},
		{"commit", "-q", "--allow-empty", "-m", "two"}, {"remote", "add", "origin", "https://git.example/x.git"},
	} {
		cmd := exec.CommandContext(ctx, "git", line...)
		cmd.Dir, cmd.Env = w.project, w.env()
		if out, err := cmd.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("making a repository: %w: %s", err, out)
		}
	}
	if err := w.copyTree(ctx, w.home, w.base); err != nil || os.Geteuid() != 0 {
		return w, err
	}
	if out, err := exec.CommandContext(ctx, "chown", "-R", fmt.Sprintf("%d:%d", nobody, nobody), w.root).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("changing the owner of a place: %w: %s", err, out)
	}
	return w, nil
}

// nobody is the user that programs run as if this process is root's.
const nobody = 65534

// user returns the user that programs run as.
func user() uint32 {
	if uid := os.Geteuid(); uid != 0 {
		return uint32(uid)
	}
	return nobody
}

func (w *place) copyTree(ctx context.Context, from, to string) error {
	if out, err := exec.CommandContext(ctx, "cp", "-a", "--", from, to).CombinedOutput(); err != nil {
		return fmt.Errorf("copying a place: %w: %s", err, out)
	}
	return nil
}

// renew restores the home after a program has changed it.
func (w *place) renew(ctx context.Context) error {
	if err := os.RemoveAll(w.home); err != nil {
		return fmt.Errorf("removing a place: %w", err)
	}
	now := w.now
	w.now = nil
	return errors.Join(w.copyTree(ctx, w.base, w.home), w.set(now))
}

func (w *place) write(file, text string) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return fmt.Errorf("making a place: %w", err)
	}
	if target, ok := strings.CutPrefix(text, linkTo); ok {
		if err := os.Symlink(target, file); err != nil {
			return fmt.Errorf("making a place: %w", err)
		}
		return nil
	}
	text = strings.NewReplacer("@CANARY@", w.canary, "@PROJECT@", w.project).Replace(text)
	mode := os.FileMode(0o644)
	if strings.HasPrefix(text, "#!") {
		mode = 0o755
	}
	if err := os.WriteFile(file, []byte(text), mode); err != nil {
		return fmt.Errorf("making a place: %w", err)
	}
	return nil
}

// set gives the project these hostile files and no others.
func (w *place) set(files []hostile) error {
	for _, h := range w.now {
		if slices.ContainsFunc(files, func(o hostile) bool { return o.name == h.name }) {
			continue
		}
		file, before := filepath.Join(w.project, h.name), filepath.Join(w.base, "project", h.name)
		if err := os.Remove(file); err != nil {
			return fmt.Errorf("removing a hostile file: %w", err)
		}
		if data, err := os.ReadFile(before); err == nil {
			if err := os.WriteFile(file, data, 0o644); err != nil {
				return fmt.Errorf("restoring a file: %w", err)
			}
		}
	}
	for _, h := range files {
		if slices.ContainsFunc(w.now, func(o hostile) bool { return o.name == h.name }) {
			continue
		}
		text := h.text
		if h.appends {
			data, err := os.ReadFile(filepath.Join(w.base, "project", h.name))
			if err != nil {
				return fmt.Errorf("reading a file of the project: %w", err)
			}
			text = string(data) + text
		}
		if err := w.write(filepath.Join(w.project, h.name), text); err != nil {
			return err
		}
	}
	w.now = slices.Clone(files)
	return nil
}

// programFolders returns the PATH of all runs, the further folders first.
func programFolders(further string) []string {
	dirs := []string{"/usr/local/sbin", "/usr/local/bin", "/usr/local/go/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"}
	if further != "" {
		dirs = append(strings.Split(further, ":"), dirs...)
	}
	return dirs
}

// env returns the environment of all runs: a person's with secrets, and without a
// proxy.
func (w *place) env() []string {
	const closed = "http://127.0.0.1:9"
	env := []string{
		"PATH=" + strings.Join(programFolders(w.path), ":"), "HOME=" + w.home, "USER=dev", "LOGNAME=dev", "LANG=C.UTF-8", "TERM=xterm", "SHELL=/bin/bash",
		"TMPDIR=" + filepath.Join(w.root, "tmp"), "http_proxy=" + closed, "https_proxy=" + closed, "HTTPS_PROXY=" + closed,
		"AWS_SECRET_ACCESS_KEY=" + secret + "aws", "GITHUB_TOKEN=" + secret + "github", "NPM_TOKEN=" + secret + "npm",
		"GOFLAGS=", "GOTOOLCHAIN=", "GOTELEMETRY=off",
		"GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=dev", "GIT_AUTHOR_EMAIL=dev@example.com", "GIT_COMMITTER_NAME=dev", "GIT_COMMITTER_EMAIL=dev@example.com",
		"PAGER=" + w.canary, "GIT_PAGER=" + w.canary, "MANPAGER=" + w.canary, "EDITOR=" + w.canary, "VISUAL=" + w.canary, "GIT_EDITOR=" + w.canary,
		"BROWSER=" + w.canary, "LESSOPEN=|" + w.canary + " %s",
	}
	if w.posix {
		env = append(env, "POSIXLY_CORRECT=1")
	}
	if w.xdg {
		env = append(env, "XDG_CONFIG_HOME="+filepath.Join(w.home, "xdg"))
	}
	if w.etc != "" {
		env = append(env, "GIT_CONFIG_NOSYSTEM=0", "GIT_CONFIG_SYSTEM="+filepath.Join(w.etc, "gitconfig"))
	}
	return env
}

// homeFiles are the files of the home: secrets and plain settings.
var homeFiles = map[string]string{
	".gitconfig": "[user]\n\tname = dev\n\temail = dev@example.com\n", ".ssh/id_rsa": secret + "ssh\n", ".netrc": "machine x login y password " + secret + "netrc\n",
	".aws/credentials": "[default]\naws_secret_access_key = " + secret + "aws-file\n", ".npmrc": "//registry.npmjs.org/:_authToken=" + secret + "npmrc\nfetch-retries=0\nfetch-timeout=1000\n",
	".config/go/telemetry/mode": "off\n",
	// What links of a project may lead to.
	"outside.go": "package  outside\n", "outside/o.go": "package  outside\n", "outside.sh": "if  true; then\ntrue\nfi\n",
	// A Python package that was installed from the project's sources.
	".local/lib/python3.11/site-packages/project-1.dist-info/METADATA":        "Metadata-Version: 2.1\nName: project\nVersion: 1\n",
	".local/lib/python3.11/site-packages/project-1.dist-info/direct_url.json": `{"url": "file://@PROJECT@", "dir_info": {"editable": true}}` + "\n",
	".local/lib/python3.11/site-packages/project-1.dist-info/INSTALLER":       "pip\n",
	".local/lib/python3.11/site-packages/project-1.dist-info/RECORD":          "",
}

// plainFiles are the files of an ordinary project.
var plainFiles = map[string]string{
	"a.txt": "a 1\nb 2\n", "b.txt": "a 1\nc 3\n", "a.json": `{"a": [1, 2]}` + "\n", "a.yaml": "a: 1\n", "a.csv": "a,b\n1,2\n", "src/a.go": "package  src\n",
	"main.go": "package main\n\nimport \"fmt\"\n\nfunc main()  { fmt.Println() }\n", "go.mod": "module example.com/project\n\ngo 1.20\n",
	"package.json":                       `{"name": "project", "version": "1.0.0", "dependencies": {"left-pad": "1.3.0"}, "scripts": {"test": "true"}}` + "\n",
	"node_modules/left-pad/package.json": `{"name": "left-pad", "version": "1.3.0"}` + "\n", "node_modules/left-pad/index.js": "\n",
	"sub/c.txt": "c\n", "sub/a.sh": "#!/bin/sh\n. ./.env\n. /etc/passwd\n", ".env": "TOKEN=" + secret + "env\n", "README.md": "# project\n", "a.py": "print(1)\n", "a.sh": "#!/bin/sh\nif  true; then\ntrue\nfi\n", "a.c": "int main(void) { return 0; }\n",
	"Makefile": "all:\n\ttrue\n", "Cargo.toml": "[package]\nname = \"project\"\nversion = \"0.1.0\"\nedition = \"2021\"\n", "src/lib.rs": "\n", "requirements.txt": "x\n",
	"a.xml": "<a/>\n", "go.sum": "", "main.tf": "", "Dockerfile": "FROM scratch\n", "compose.yaml": "services: {}\n", ".gitignore": "node_modules\n",
}
