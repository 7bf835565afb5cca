package main

// exception is something that programs do beside what their effects say, and why
// that is no harm. docs/programs.md lists all that were needed.
type exception struct {
	programs string // names, with blanks
	what     string // runs, writes, connects, reads, calls
	which    string // patterns, with blanks; in the home they begin with ~/
	why      string
}

var exceptions = []exception{
	{"git", "reads", ".git/** **/.gitattributes **/.gitignore .gitmodules ~/.gitconfig .attributes", "reads its repository, attributes, ignored names and settings"},
	{"git", "reads", "a.txt b.txt main.go go.mod package.json src/** .mailmap", "reads files of the repository that have changed, to compare them"},
	{"git", "writes", ".git/index.lock .git/index .git/objects/** .git/*.lock", "refreshes what it knows of files' times in .git/index"},
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
	{"ag", "runs", "/bin/sh /usr/bin/git", "runs `git config`, by a shell, to learn its ignored names"},
	{"ag", "reads", ".git/**", "runs `git config`, by a shell, to learn its ignored names"},
	{"pnpm pnpx yarn", "reads", "package.json pnpm-workspace.yaml .npmrc ~/.npmrc .yarnrc.yml .yarnrc", "reads its settings"},
}

// reason says of programs that are never run why.
var reason = map[string]string{}
