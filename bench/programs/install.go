package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// Packages of programs that have another name than their package.
var (
	fromApt = map[string]string{
		"ripgrep": "rg", "gh": "gh", "jq": "jq", "lsof": "lsof", "sqlite3": "sqlite3", "tmux": "tmux", "xxd": "xxd", "unzip": "unzip zipinfo", "zip": "zip", "file": "file",
		"tree": "tree", "fd-find": "fdfind", "bat": "batcat", "ack": "ack", "silversearcher-ag": "ag", "shellcheck": "shellcheck", "ruby": "ruby gem", "php-cli": "php",
		"lua5.4": "lua", "yamllint": "yamllint", "shfmt": "shfmt", "bc": "bc", "binutils": "nm objdump readelf strings ar", "xz-utils": "xz unxz xzcat xzgrep", "zstd": "zstd unzstd",
		"p7zip-full": "7z 7za", "rsync": "rsync", "bind9-dnsutils": "dig nslookup", "bind9-host": "host", "cmake": "cmake ctest", "gawk": "gawk", "mawk": "mawk", "busybox": "busybox",
		"cargo": "cargo", "rustc": "rustc", "rustfmt": "rustfmt", "bsdextrautils": "hexdump column", "psmisc": "killall", "procps": "ps free vmstat w pgrep pkill uptime watch sysctl",
		"libarchive-tools": "bsdtar", "less": "less", "man-db": "man apropos whatis", "default-jdk-headless": "java javac", "maven": "mvn", "gradle": "gradle", "meson": "meson",
		"ninja-build": "ninja", "ltrace": "ltrace", "cloc": "cloc", "duf": "duf", "direnv": "direnv", "just": "just", "zsh": "zsh", "dash": "dash", "ksh": "ksh", "fish": "fish",
		"pipx": "pipx", "python3-pip": "pip pip3", "black": "black", "isort": "isort", "mypy": "mypy", "flake8": "flake8", "pylint": "pylint", "ansible-core": "ansible",
		"postgresql-client": "psql", "redis-tools": "redis-cli", "mariadb-client": "mysql mariadb", "traceroute": "traceroute", "whois": "whois", "netcat-openbsd": "nc", "wget": "wget",
		"iputils-ping": "ping", "tcl": "tclsh", "r-base-core": "Rscript", "codespell": "codespell", "trash-cli": "trash", "expect": "expect", "composer": "composer", "rake": "rake",
		"bundler": "bundle bundler", "docker-cli": "docker", "podman": "podman", "mercurial": "hg", "aptitude": "aptitude", "apt-file": "apt-file", "gojq": "gojq", "yq": "yq",
		"gcc": "gcc cc", "g++": "g++ c++", "clang": "clang clang++", "make": "make gmake", "cron": "crontab", "at": "at", "lz4": "lz4", "unrar-free": "unrar",
		"cpio": "cpio", "ncal": "cal", "moreutils": "chronic", "opendoas": "doas", "sudo": "sudo", "ncat": "ncat", "toybox": "toybox", "python-is-python3": "python",
		"7zip": "7zz", "awscli": "aws",
	}
	fromNpm = map[string]string{
		"pnpm": "pnpm pnpx", "yarn": "yarn", "typescript": "tsc", "eslint": "eslint", "prettier": "prettier", "markdownlint-cli2": "markdownlint-cli2", "@biomejs/biome": "biome",
		"jest": "jest", "vitest": "vitest", "ts-node": "ts-node", "tsx": "tsx", "rimraf": "rimraf", "cross-env": "cross-env", "bun": "bun bunx", "deno": "deno", "pyright": "pyright",
		"markdownlint-cli": "markdownlint", "playwright": "playwright", "vue-tsc": "vue-tsc", "mongosh": "mongosh",
	}
	fromGo = map[string]string{"github.com/mikefarah/yq/v4@latest": "yq", "mvdan.cc/sh/v3/cmd/shfmt@latest": "shfmt", "helm.sh/helm/v3/cmd/helm@latest": "helm"}
	// Modules that go install does not take, with their packages: they are built in
	// a temporary module.
	fromModule = map[[2]string]string{
		{"github.com/docker/compose/v2@latest", "github.com/docker/compose/v2/cmd"}: "docker-compose",
	}
	// Other names of programs that Debian has under one name.
	fromName = map[string]string{"sed": "gsed", "tar": "gtar", "zcat": "gzcat", "timeout": "gtimeout", "batcat": "bat", "fdfind": "fd"}
)

// toolsFolder is where npm and go install programs for this comparison.
func toolsFolder() (string, error) {
	cache, err := os.UserCacheDir()
	if os.Geteuid() == 0 {
		cache, err = "/var/cache", nil // the user that programs run as cannot read root's home
	}
	if err != nil {
		return "", fmt.Errorf("finding a folder for programs: %w", err)
	}
	dir := filepath.Join(cache, "permd-programs")
	return dir, os.MkdirAll(filepath.Join(dir, "bin"), 0o755)
}

// toolsPath returns the folders of toolsFolder that belong in the PATH.
func toolsPath(dir string) string {
	return dir + "/node_modules/.bin:" + dir + "/bin"
}

// installAll installs the programs that are missing, and returns those that it
// could not install.
func installAll(ctx context.Context, dir string, names []string) (missing []string) {
	further := toolsPath(dir)
	wanted := func(programs string) bool {
		return slices.ContainsFunc(strings.Fields(programs), func(p string) bool {
			if !slices.Contains(names, p) {
				return false
			}
			// Look where the trial looks: the caller's PATH may have programs that
			// the user of the runs cannot reach.
			_, err := findIn(programFolders(further), p)
			return err != nil
		})
	}
	run := func(what string, env []string, name string, args ...string) {
		cmd := exec.CommandContext(ctx, name, args...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
		if out, err := cmd.CombinedOutput(); err != nil {
			last := strings.Split(strings.TrimSpace(string(out)), "\n")
			missing = append(missing, fmt.Sprintf("missing: %s: %s", what, last[len(last)-1]))
		}
	}
	if _, err := exec.LookPath("apt-get"); err == nil && os.Geteuid() == 0 {
		for pkg, programs := range fromApt {
			if wanted(programs) {
				run(pkg, []string{"DEBIAN_FRONTEND=noninteractive"}, "apt-get", "install", "-y", "-qq", "--no-install-recommends", pkg)
			}
		}
	} else {
		missing = append(missing, "missing: root with apt-get (packages of Debian are not installed)")
	}
	if _, err := exec.LookPath("npm"); err == nil {
		// All in one command: npm would remove each again when it installs the
		// next.
		var pkgs []string
		for _, pkg := range slices.Sorted(maps.Keys(fromNpm)) {
			if wanted(fromNpm[pkg]) {
				pkgs = append(pkgs, pkg)
			}
		}
		if len(pkgs) > 0 {
			run("packages of npm", nil, "npm", append([]string{"install", "--prefix", dir, "--no-audit", "--no-fund"}, pkgs...)...)
		}
	}
	for pkg, programs := range fromGo {
		if wanted(programs) {
			run(pkg, []string{"GOBIN=" + filepath.Join(dir, "bin"), "GOFLAGS="}, "go", "install", pkg)
		}
	}
	for module, program := range fromModule {
		if wanted(program) {
			run(module[0], nil, "sh", "-c", `rm -rf build && mkdir build && cd build && go mod init build && GOFLAGS=-mod=mod go get "$1" && GOFLAGS=-mod=mod go build -o "../bin/$3" "$2" && cd .. && rm -rf build`,
				"sh", module[0], module[1], program)
		}
	}
	for name, other := range fromName {
		if file, err := exec.LookPath(name); err == nil && wanted(other) {
			run(other, nil, "ln", "-s", "--", file, filepath.Join(dir, "bin", other))
		}
	}
	return missing
}
