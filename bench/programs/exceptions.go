package main

// exception is something that programs do besides the effects that permd shows,
// with the reason why it is harmless. docs/programs.md lists the exceptions that
// were needed.
type exception struct {
	programs string // names of programs, separated by blanks
	what     string // runs, writes, connects, reads, calls
	which    string // patterns, separated by blanks; ~/ is the home
	why      string
}

var exceptions = []exception{
	{"git", "reads", ".git/** **/.gitattributes **/.gitignore .gitmodules ~/.gitconfig .attributes", "reads its repository, attributes, ignored names and settings"},
	{"git", "reads", "a.txt b.txt main.go go.mod package.json src/** .mailmap", "reads files of the repository that have changed, to compare them"},
	{"git", "writes", ".git/index.lock .git/index .git/objects/** .git/*.lock", "refreshes what it knows of files' times in .git/index"},
	{"git", "runs", "/usr/bin/basename /usr/bin/envsubst /usr/bin/gettext /usr/bin/sed /usr/bin/uname /usr/lib/git-core/** /usr/libexec/git-core/**", "runs parts of itself, of which some are shell scripts (`git submodule status`)"},
	{"npm npx", "writes", "~/.npm ~/.npm/_logs ~/.npm/_logs/** ~/.npm/_update-notifier-last-checked ~/.npm/_cacache ~/.npm/_cacache/**", "keeps logs and a cache in ~/.npm"},
	{"npm npx", "connects", "**", "asks its registry for a newer npm, once a day"},
	{"npm npx", "reads", "package.json package-lock.json node_modules/** .npmrc ~/.npmrc ~/.gitconfig ~/.npm/** **/package.json", "reads the packages of the project and its settings"},
	{"go gofmt", "reads", "go.mod go.sum go.work **/*.go **/*.c **/*.h vendor/** ~/.config/go/** ~/.cache/go-build/** ~/go/** .git/**", "reads the sources of the module that it is about, its settings and its cache"},
	{"go", "runs", "/usr/bin/gcc /usr/bin/cc /usr/bin/as /usr/bin/ld /usr/lib/gcc/** /usr/libexec/gcc/**", "runs the C compiler, to learn its flags (`go env`)"},
	{"go", "runs", "/usr/local/go/pkg/tool/** /usr/lib/go/pkg/tool/**", "asks its own compiler and linker for their versions"},
	{"go", "runs", "/usr/bin/git", "runs git, to learn the revision (`go list` of a program)"},
	{"go", "writes", "ROOT/tmp/cc**", "has the C compiler make temporary files"},
	{"go", "writes", ".git/index.lock .git/index", "refreshes what git knows of files' times in .git/index"},
	{"go", "reads", "**/* .gitignore .gitattributes .attributes ~/.gitconfig", "has git compare files of the repository"},
	{"go", "writes", "~/.cache ~/.cache/go-build ~/.cache/go-build/** ~/.config/go/telemetry/** ~/go ~/go/** ROOT/tmp/go-build**", "keeps a cache in ~/.cache/go-build and modules in ~/go"},
	{"sqlite3", "writes", "a.db", "opens a database for writing unless `-readonly` is given, and makes an empty one where there is none"},
	{"golangci-lint", "writes", "~/.cache ~/.cache/**", "makes a folder for its cache"},
	{"gh", "runs", "/usr/bin/git", "runs git, to learn the remotes"},
	{"gh", "reads", ".git/** ~/.gitconfig ~/.config/gh/**", "has git read the repository"},
	{"rg fd fdfind ag", "reads", "~/.gitconfig ~/.config/git/** **/.gitignore **/.ignore **/.rgignore **/.fdignore .git/info/exclude", "reads ignored names, those of git among them"},
	{"apt apt-get apt-cache aptitude apt-file", "runs", "/usr/bin/dpkg", "asks dpkg for the architectures"},
	{"apt-file", "runs", "/usr/bin/apt-get", "asks apt-get which lists there are"},
	{"apt-file", "runs", "/usr/lib/apt/apt-helper /usr/bin/xargs /usr/bin/grep", "searches the lists of the machine with apt-helper and grep"},
	{"aptitude", "writes", "ROOT/tmp/aptitude-**", "makes a folder for temporary files"},
	{"apt apt-get apt-cache aptitude apt-file", "writes", "ROOT/tmp/#** /var/cache/apt/** /tmp/#** /var/lib/apt/lists/lock", "keeps a cache"},
	{"man apropos whatis", "runs", "/usr/bin/apropos /usr/bin/whatis /usr/bin/mandb /usr/bin/col /usr/bin/groff /usr/bin/grotty /usr/bin/gzip /usr/bin/locale /usr/bin/nroff /usr/bin/preconv /usr/bin/tbl /usr/bin/troff /usr/libexec/man-db/**", "runs its formatters"},
	{"man", "writes", "/var/cache/man/**", "keeps formatted pages in /var/cache/man"},
	{"pip pip3", "runs", "/usr/bin/git /usr/bin/hg /usr/bin/svn /usr/bin/bzr", "asks git and Mercurial where an installed package comes from (`pip freeze`)"},
	{"pip pip3", "reads", ".git/** ~/.gitconfig ~/.hgrc", "asks git and Mercurial where an installed package comes from (`pip freeze`)"},
	{"pip pip3", "reads", "~/.local/lib/** ~/.netrc", "reads what is installed, and what a registry wants to know of the person"},
	{"pip pip3", "runs", "/usr/bin/lsb_release /usr/bin/getopt /usr/bin/cut /usr/bin/tr /usr/bin/uname /usr/bin/rustc /bin/lsb_release", "tells a registry about the machine: runs lsb_release and `rustc --version`"},
	{"biome", "runs", "/bin/sh /usr/bin/ldd", "is started by a script of npm that asks for the C library"},
	{"biome", "writes", "~/.cache ~/.cache/**", "makes a folder for its logs"},
	{"gem", "writes", "~/.local ~/.local/share ~/.local/share/gem ~/.local/share/gem/**", "keeps a cache in ~/.local/share/gem"},
	{"java javac mvn", "writes", "/tmp/hsperfdata_* /tmp/hsperfdata_*/* ROOT/tmp/hsperfdata_* ROOT/tmp/hsperfdata_*/*", "keeps counters of its speed in /tmp/hsperfdata_USER"},
	{"mvn", "runs", "/usr/bin/dirname /usr/bin/expr /usr/bin/java /usr/bin/ls /usr/bin/uname /usr/lib/jvm/**", "is a shell script that runs java"},
	{"pidof crontab", "connects", "unix**", "logs its errors to the system"},
	{"pidof", "writes", "/dev/console", "logs its errors to the system"},
	{"dig nslookup host", "connects", "AF_INET**", "asks the name servers of the machine"},
	{"dig nslookup host", "calls", "kill**", "ends itself by a signal"},
	{"docker docker-compose", "connects", "unix**", "talks to its daemon by a socket"},
	{"docker", "runs", "/usr/local/lib/docker/cli-plugins/* /usr/libexec/docker/cli-plugins/* /usr/lib/docker/cli-plugins/*", "asks the machine's plugins what they are"},
	{"docker docker-compose", "reads", "compose.yaml .env", "reads its settings, and `.env` for what they name"},
	{"cargo", "reads", "~/.gitconfig ~/.cargo/registry/**", "reads the index of its registry, which is a git repository"},
	{"cargo", "writes", "testing ~/.cargo ~/.cargo/.package-cache ~/.cargo/registry ~/.cargo/registry/**", "keeps the index of its registry in ~/.cargo"},
	{"cargo", "runs", "/usr/bin/lsb_release /usr/bin/getopt /usr/bin/cut /usr/bin/tr /usr/bin/getconf", "runs lsb_release, to name the machine (`cargo version --verbose`)"},
	{"aws", "reads", "~/.aws/**", "reads its settings"},
	{"aws", "runs", "/usr/bin/lsb_release /usr/bin/getopt /usr/bin/cut /usr/bin/tr /usr/bin/uname", "runs lsb_release, to name the machine"},
	{"fd fdfind", "runs", "/usr/bin/ls /bin/ls", "runs ls (`--list-details`)"},
	{"docker kubectl", "writes", "~/.docker ~/.docker/** ~/.kube ~/.kube/cache ~/.kube/cache/**", "keeps a cache in the home"},
	{"podman", "runs", "/ /usr/bin/dpkg /usr/bin/dpkg-query /usr/bin/conmon /usr/bin/crun /usr/bin/runc /usr/bin/newuidmap /usr/bin/newgidmap", "is its own daemon: asks its helpers for their versions"},
	{"podman", "writes", "/dev/shm/libpod_** /tmp/crun.** /proc/** ROOT/tmp/podman-run-** ROOT/tmp/containers-user-** ~/.cache ~/.cache/containers ~/.cache/containers/** ~/.config ~/.config/cni ~/.config/cni/** ~/.config/containers/** ~/.local ~/.local/share ~/.local/share/containers ~/.local/share/containers/** /tmp/podman-run-** /tmp/containers-user-**", "is its own daemon: makes its storage and a namespace of users"},
	{"podman", "calls", "kill** mount** umount2**", "is its own daemon: looks whether it runs, and has crun start itself from a place that nobody can change"},
	{"podman", "reads", "~/.local/share/containers/** ~/.config/containers/** ~/.config/cni/**", "is its own daemon: reads its storage"},
	{"kubectl", "connects", "**", "looks for a cluster on the loopback where no configuration names one"},
	{"cloc", "runs", "/bin/pwd /usr/bin/pwd", "runs pwd"},
	{"cloc", "writes", "ROOT/tmp/**", "keeps temporary files"},
	{"locale", "runs", "/usr/bin/gzip", "unpacks its tables with gzip"},
	{"gofmt", "writes", "**/*.go.*", "keeps a copy beside the file while it writes it"},
	{"shfmt", "reads", "**/.editorconfig", "reads how to indent"},
	{"shfmt", "writes", "**/.*.sh*", "writes the new text beside the file, and then gives it the file's name"},
	{"yamllint", "reads", ".yamllint", "reads its rules"},
	{"xzgrep zgrep bzgrep", "runs", "/usr/bin/expr /usr/bin/grep /usr/bin/egrep /usr/bin/fgrep /usr/bin/sed /usr/bin/xz /usr/bin/gzip /usr/bin/bzip2 /bin/grep /bin/sed", "is a shell script that unpacks, and runs grep"},
	{"yq", "runs", "/usr/bin/jq", "runs jq (the one of Debian)"},
	{"ag", "runs", "/bin/sh /usr/bin/git", "runs `git config`, by a shell, to learn its ignored names"},
	{"ag", "reads", ".git/**", "runs `git config`, by a shell, to learn its ignored names"},
	{"pnpm pnpx yarn", "reads", "package.json pnpm-workspace.yaml .npmrc ~/.npmrc .yarnrc.yml .yarnrc", "reads its settings"},
}

// reason says why some programs are never run, by program.
var reason = map[string]string{}
