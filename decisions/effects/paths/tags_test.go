package paths

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/fsfake"
	"github.com/permd/permd/internal/lexpath"
)

// guardedNames returns the names of a path's guarded tags.
func guardedNames(t effects.Tags) []string {
	return (&effects.Effect{Kind: effects.KindWrite, Tags: t}).Guarded().Names()
}

func TestGuardedTags(t *testing.T) {
	tests := map[string][]string{
		"": {
			"src/a.go", "src/main.env.go", ".env.example", ".env.local.example", ".env.sample", ".ENV.TEMPLATE", "example.env",
			"~/.ssh/id_ed25519.pub", "~/.ssh/known_hosts", ".github/CODEOWNERS", ".gitignore", ".gitattributes", "src/hooks/useAuth.ts",
			"library/keychains.go", "claude.go", "docs/agents.html", "locales/en/auth.json", "environment",
			"sub/.env/lib/python3/site.py", "~/.kube/cache/x", "config/permd/x", "permd/main.go", "/usr/bin/go",
			"~/.claude/worktrees/feature/src/a.go", ".config/app.toml", "hooks/update/index.ts", "a.pemx", "pem", "key", ".keys",
		},
		"secret": {
			".env", "sub/.env", ".ENV", ".env.local", ".env.production", "prod.env", ".env.examples", "~/.ssh/id_rsa", "~/.ssh/work",
			"~/.ssh", "/root/.ssh/id_rsa", "/home/other/.ssh/id_rsa", "/mnt/backup/home/dev/.ssh/id_rsa", "deploy_key.PEM",
			"certs/server.key", "a.p12", "a.pfx", "db.kdbx", "id_rsa", "id_ed25519_work", "~/.aws/credentials", "~/.aws/sso/cache/x.json",
			"~/.netrc", ".npmrc", "~/.pypirc", "~/.git-credentials", "~/.gnupg/secring.gpg", "~/.kube/config", "~/.docker/config.json",
			"~/.config/gh/hosts.yml", "~/.config/gcloud/credentials.db", "~/.azure/accessTokens.json", "/etc/shadow", "/etc/shadow-",
			"terraform.tfstate", "env/prod.tfvars", "terraform.tfstate.backup", "~/.bash_history",
			"~/.zsh_history", "~/.pgpass", "~/.my.cnf", "~/.vault-token", "service-account-prod.json", "x-firebase-adminsdk-1.json",
			"~/.mozilla/firefox/x/cookies.sqlite", "~/.config/google-chrome/Default/Cookies", "~/.local/share/keyrings/login.keyring",
			"~/Library/Keychains/login.keychain-db", "~/Library/Application Support/Google/Chrome/Default/Cookies",
			"~/.bitcoin/wallet.dat", "wallet.dat", "~/.claude/.credentials.json", "~/.codex/auth.json", "/run/secrets/db",
			"~/.config/solana/id.json", "~/.password-store/x.gpg", ".e\u200cnv", ".en\u0076", "~/.\u017fsh/id", "~/.ssh\u200b/id",
			"ID_RSA", "sub/.env/secret", ".envrc",
		},
		"startup": {
			"~/.bashrc", "~/.profile", "~/.zshrc", "~/.bash_aliases", "~/.config/fish/config.fish", "~/.config/autostart/x.desktop",
			"~/.config/systemd/user/x.service", "~/.ssh/authorized_keys", "~/.ssh/config", "~/.vimrc", ".git/hooks/pre-commit",
			".GIT/hooks/pre-commit", ".husky/pre-commit", ".githooks/pre-push", ".pre-commit-config.yaml", "lefthook.yml", ".envrc",
			"/etc/profile.d/x.sh", "/etc/crontab", "/etc/cron.d/x", "/var/spool/cron/crontabs/dev", "/etc/systemd/system/x.service",
			"~/Library/LaunchAgents/x.plist", "/Library/LaunchDaemons/x.plist", "~/bin/ls", "~/.local/bin/ls", "/root/bin/ls",
			"repo.git/hooks/update", ".devcontainer/devcontainer.json", "/etc/ld.so.preload", "/etc/sudoers.d/x", "sub/hooks/pre-push", "sub/.env/bin/activate", "env/bin/python", "hie.yaml", ".lsp/config.edn", "jupyter_server_config.py",
			".rbenv-vars", "sub/.pyenv-vars", ".nodenv-vars", ".rvmrc", ".ruby-gemset", ".rbenv-gemsets", ".bazelversion", ".swift-version", ".vimrc.local",
			"mise/config.toml", "mise/config.local.toml", ".config/mise.toml", ".config/mise.local.toml", ".config/mise/conf.d/x.toml", ".mise/config.toml", ".sdkmanrc",
			".pdm-python", "pixi.toml", ".envrc.local", ".fvm/flutter_sdk", "_opam/bin/x",
			"venv/lib/python3/site-packages/x.pth", ".yarnrc.yml", "~/.config/direnv/direnvrc", "~/.cargo/config.toml",
		},
		"vcs": {
			".git", ".git/config", ".git/HEAD", "sub/.git/objects/x", ".gitmodules", "~/.gitconfig", "~/.config/git/config", ".hg/hgrc",
			".svn/entries", ".jj/repo", "repo.git/config", ".GIT/config", ".lfsconfig", "sub/.lfsconfig", ".gitreview", "vendor/x/.gitrepo", ".gitconfig.local",
		},
		"agent_config": {
			".claude/settings.json", ".claude/hooks/x.sh", "CLAUDE.md", "sub/AGENTS.md", "GEMINI.md", ".cursor/mcp.json",
			"~/.jetbrains/acp.json", "~/.acpx/config.json", ".acpxrc.json", "~/.config/zed/settings.json", ".cursorrules", ".mcp.json", ".codex/rules/default.rules", ".gemini/settings.json", ".opencode/x", "opencode.json",
			"opencode.jsonc", ".github/copilot-instructions.md", ".windsurf/rules", ".vscode/settings.json", ".vscode/tasks.json",
			".idea/workspace.xml", "~/.config/Code/User/settings.json", "~/Library/Application Support/Code - Insiders/User/mcp.json", "~/Library/Application Support/VSCodium/User/settings.json", "~/.claude.json", ".clinerules", ".roo/mcp.json", "claude.MD",
			"~/.claude/worktrees/feature", "~/.claude/worktrees/feature/.claude/settings.json", ".zed/settings.json",
			"/etc/claude-code/managed-settings.json", "x.code-workspace", ".aider.conf.yml", ".kiro/settings/mcp.json",
		},
		"ci": {
			".github/workflows/ci.yml", ".github/actions/x/action.yml", ".gitlab-ci.yml", "Jenkinsfile", "Jenkinsfile.prod",
			".circleci/config.yml", "azure-pipelines.yml", "azure-pipelines-prod.yaml", ".travis.yml", "bitbucket-pipelines.yml",
			".drone.yml", ".buildkite/pipeline.yml", "cloudbuild.yaml", ".GitHub/Workflows/ci.yml", ".ci/run", ".forgejo/workflows/x.yml",
		},
		"permd": {
			".permd/rules.yaml", "sub/.permd", "~/.config/permd/policy.d/x.rego", "~/.local/share/permd/remember.db", "/etc/permd/permd.toml",
			"/var/lib/permd/x", "/run/permd/permd.sock", "/run/user/1000/permd/permd.sock", "/run/user/1000/permd-admin/admin.sock",
			"~/data/permd/x", "~/data/PERMD/x", "~/.config/systemd/user/permd.service", "~/.config/./PermD/x",
			"/etc/systemd/system/permd.service.d/x.conf",
		},
	}
	r := testResolver(tree())
	for want, paths := range tests {
		for _, p := range paths {
			t.Run(want+"/"+p, func(t *testing.T) {
				e := r.File(effects.KindWrite, p, testProj, "")
				if e.File == nil {
					t.Fatalf("%s: unknown: %s", p, e.Why)
				}
				got := guardedNames(e.Tags)
				if want == "" && len(got) > 0 || want != "" && !slices.Contains(got, want) {
					t.Errorf("%s: got %v, want %q", p, got, want)
				}
			})
		}
	}
}

func TestGuardedByEveryName(t *testing.T) {
	fs := tree(
		testProj+"/.env.local -> /srv/data/plain", testProj+"/notes.txt -> ../.ssh/id_rsa", testProj+"/x -> y",
		testProj+"/y -> conf", testProj+"/conf -> .git/config", testProj+"/dots -> ../dotfiles",
		testHome+"/dotfiles/permd/x", testHome+"/.config -> dotfiles", testProj+"/cfg -> ../.config",
		testProj+"/one -> .netrc", testProj+"/.netrc -> /srv/data/plain", "/srv/data/plain", testHome+"/.ssh2 -> .ssh",
	)
	r := testResolver(fs)
	for _, tt := range []struct{ name, given, cwd, want string }{
		{"given name", ".env.local", testProj, "secret"},
		{"resolved name", "notes.txt", testProj, "secret"},
		{"end of a chain", "x", testProj, "vcs"},
		{"name in the middle of a chain", "one", testProj, "secret"},
		{"permd behind linked dotfiles", "~/.config/permd/x", testProj, "permd"},
		{"permd by two links", "cfg/permd/x", testProj, "permd"},
		{"working folder by a link", "permd/x", testProj + "/cfg", "permd"},
		{"folder by a link", "~/.ssh2/whatever", testProj, "secret"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e := r.File(effects.KindRead, tt.given, tt.cwd, "")
			if got := guardedNames(e.Tags); !slices.Contains(got, tt.want) {
				t.Errorf("%s: got %v, want %s", resolved(e), got, tt.want)
			}
		})
	}
}

func TestTagsOfPlaces(t *testing.T) {
	fs := tree("/mnt/disk/roots/ext/x", "/ext -> /mnt/disk/roots/ext").Device(testProj + "/disk")
	r := NewResolver(Environment{FS: fs}, &effects.Call{
		Cwd: testProj + "/src", Roots: []string{"/ext", "/", testHome, "/etc", "/usr/lib", "relative"},
		User: effects.User{Home: testHome, Env: map[string]string{"TMPDIR": "/srv/scratch"}},
	})
	for _, tt := range []struct{ path, want string }{
		{testProj + "/src/a.go", "in_project home"},
		{testProj, "in_project home"},
		{"/mnt/disk/roots/ext/x", "in_project"},
		{"/ext/x", "in_project"},
		{testHome + "/other/x", "outside home"},
		{testHome + "/projector/x", "outside home"},
		{testHome + "/PROJ/x", "outside home"},
		{testHome, "outside home vital"},
		{"/home", "outside vital"},
		{"/", "outside vital"},
		{"/etc", "outside system vital"},
		{"/etc/hosts", "outside system"},
		{"/usr/bin/go", "outside system"},
		{"/boot/vmlinuz", "outside system vital"},
		{"/home/other", "outside vital"},
		{"/home/other/x", "outside"},
		{"/tmp/x", "outside temp"},
		{"/TMP/x", "outside"},
		{"/tmp", "outside temp vital"},
		{"/tmpx/y", "outside"},
		{"/var/tmp/x", "outside temp"},
		{"/srv/scratch/x", "outside temp"},
		{"/private/var/folders/ab/T/x", "outside temp"},
		{"/private/var/db/x", "outside system"},
		{"/dev/shm/x", "outside temp"},
		{"/dev/sda", "outside system device"},
		{"/dev/tty", "outside system device"},
		{"/dev/pts/1", "outside system device"},
		{testProj + "/disk", "in_project home device"},
		{"/dev/null", ""},
		{"/dev/zero", ""},
		{"/dev/stdout", ""},
		{"/dev/stderr", ""},
		{"/dev/urandom", "outside system device"},
		{"/srv/data", "outside"},
		{"/System/Library/x", "outside system startup"},
		{"/etc/passwd", "outside system vital"},
	} {
		t.Run(tt.path, func(t *testing.T) {
			e := r.File(effects.KindWrite, tt.path, "", "")
			if e.File == nil {
				t.Fatalf("unknown: %s", e.Why)
			}
			if got := strings.Join(e.Tags.Names(), " "); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
	if e := r.File(effects.KindDelete, "/dev/null", "", ""); !e.Tags.Has(effects.Device) {
		t.Errorf("deleting /dev/null: got %v", e.Tags.Names())
	}
	if e := r.File(effects.KindRead, "/dev/stdout", "", ""); e.Kind != effects.KindUnknown {
		t.Errorf("reading /dev/stdout: got %v", e.Kind)
	}
	if e := r.File(effects.KindRead, "/dev/urandom", "", ""); e.Tags != 0 {
		t.Errorf("reading /dev/urandom: got %v", e.Tags.Names())
	}
}

func TestProjectAncestorsAreVital(t *testing.T) {
	fs := fsfake.New("/srv/team/work/proj/.git/", "/srv/team/work/other/")
	r := NewResolver(Environment{FS: fs}, &effects.Call{Cwd: "/srv/team/work/proj"})
	for p, want := range map[string]bool{
		"/srv/team/work": true, "/srv/team": true, "/srv/team/work/proj": false, "/srv/team/work/other": false,
		"/srv/team/work/proj/src": false,
	} {
		if got := r.File(effects.KindDelete, p, "", "").Tags.Has(effects.Vital); got != want {
			t.Errorf("%s: vital is %v", p, got)
		}
	}
}

func TestRecursiveEffects(t *testing.T) {
	fs := tree(
		testProj+"/vendor/lib/.git/HEAD", testProj+"/dist/app.js", testProj+"/api/.env", testProj+"/sub/.permd/rules.yaml",
		testProj+"/.github/workflows/ci.yml", testProj+"/hooks/useX.ts", testProj+"/plain.txt",
	).Deny(testProj + "/locked")
	for _, tt := range []struct {
		kind        effects.Kind
		path        string
		skipsHidden bool
		want        string // guarded and vital tags that the recursion adds, and rules for HoldsRules
	}{
		{effects.KindDelete, testProj, false, "vital secret vcs ci"},
		{effects.KindDelete, testProj + "/dist", false, ""},
		{effects.KindDelete, testProj + "/vendor/lib", false, "vcs"},
		{effects.KindDelete, testProj + "/api", false, "secret"},
		{effects.KindDelete, testProj + "/sub", false, "rules"},
		{effects.KindDelete, testProj + "/.github", false, "agent_config ci"},
		{effects.KindDelete, testProj + "/hooks", false, ""},
		{effects.KindDelete, testProj + "/plain.txt", false, ""},
		{effects.KindDelete, testProj + "/locked", false, "rules secret startup vcs agent_config ci"},
		{effects.KindRead, testProj + "/sub", false, ""},
		{effects.KindDelete, testHome, false, "vital secret startup vcs agent_config ci permd"},
		{effects.KindDelete, "/home", false, "vital secret startup vcs agent_config ci permd"},
		{effects.KindDelete, "/", false, "vital secret startup vcs agent_config ci permd"},
		{effects.KindDelete, "/etc", false, "vital secret startup vcs agent_config permd"},
		{effects.KindDelete, testHome + "/.config", false, "secret startup vcs agent_config permd"},
		{effects.KindDelete, testHome + "/data", false, "permd"},
		{effects.KindDelete, "/home/other", false, "vital secret startup vcs agent_config ci permd"},
		{effects.KindDelete, "/srv/data", false, ""},
		{effects.KindWrite, testProj, false, "secret vcs ci"},
		{effects.KindRead, testProj + "/src", false, ""},
		{effects.KindRead, testProj, false, "secret"},
		{effects.KindRead, testProj, true, ""},
		{effects.KindRead, testHome, true, "vital"},
		{effects.KindRead, testProj + "/api", false, "secret"},
		{effects.KindRead, testHome, false, "vital secret permd"},
		{effects.KindDelete, testProj, true, "vital secret vcs ci"},
	} {
		t.Run(string(tt.kind)+" "+tt.path, func(t *testing.T) {
			r := testResolver(fs)
			e := r.File(tt.kind, tt.path, "", "")
			r.Recurse(&e, tt.skipsHidden)
			text := e.Text
			r.Recurse(&e, tt.skipsHidden)
			if !e.File.Recursive || e.Text != text {
				t.Errorf("recursive is %v, text %q", e.File.Recursive, e.Text)
			}
			want := strings.Fields(tt.want)
			got := ((&effects.Effect{Kind: tt.kind, Tags: e.Tags}).Guarded() | e.Tags&effects.TagsOf(effects.Vital)).Names()
			if e.File.HoldsRules {
				got = append(got, "rules")
			}
			slices.Sort(want)
			slices.Sort(got)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("tags (-want +got):\n%s", diff)
			}
		})
	}
}

func TestCwdTags(t *testing.T) {
	r := testResolver(tree(testProj + "/out -> /etc"))
	for _, tt := range []struct{ cwd, want string }{
		{testProj + "/src", "in_project home"},
		{"/tmp", "outside temp"},
		{testProj + "/out", "outside system"},
		{"", "outside"},
		{"/proc/self/cwd", "outside"},
		{"/", "outside"},
	} {
		if got := strings.Join(r.CwdTags(tt.cwd).Names(), " "); got != tt.want {
			t.Errorf("%q: got %q, want %q", tt.cwd, got, tt.want)
		}
	}
	r.Disturb("/proc/x", "")
	if got := r.CwdTags(testProj); got != effects.TagsOf(effects.Outside) {
		t.Errorf("after everything was disturbed: got %v", got.Names())
	}
}

// TestWorktree has the other working trees of the project's repository, and
// folders that only look like them.
func TestWorktree(t *testing.T) {
	const main, tree, admin = "/home/ana/shop", "/home/ana/trees/fix", "/home/ana/shop/.git/worktrees/fix"
	files := func() *fsfake.FS {
		fs := fsfake.New(main+"/.git/HEAD", main+"/.git/objects/", main+"/src/a", tree+"/src/a", tree+"/sub/.git/HEAD",
			"/home/ana/other/.git/HEAD", "/home/ana/other/.git/objects/", "/home/ana/forged/a", "/home/ana/plain/a")
		fs.File(tree+"/.git", "gitdir: "+admin+"\n").File(admin+"/gitdir", tree+"/.git\n").File(admin+"/commondir", "../..\n")
		fs.File("/home/ana/forged/.git", "gitdir: "+admin+"\n")
		return fs
	}
	for _, tt := range []struct {
		name, cwd, file string
		want            bool
	}{
		{"a worktree from the checkout", main, tree + "/src/a", true},
		{"the worktree itself", main, tree, true},
		{"what is new there", main, tree + "/new/a", true},
		{"the checkout from a worktree", tree, main + "/src/a", true},
		{"the project itself", main, main + "/src/a", false},
		{"another repository", main, "/home/ana/other/a", false},
		{"a repository in the worktree", main, tree + "/sub/a", false},
		{"a folder that says so by itself", main, "/home/ana/forged/a", false},
		{"no repository", main, "/home/ana/plain/a", false},
		{"a session without a repository", "/home/ana/plain", main + "/src/a", false},
		{"a home", main, "/home/ana/.bashrc", false},
		{"the system's", main, "/etc/passwd", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := &effects.Call{Cwd: tt.cwd, User: effects.User{UID: 1000, Name: "ana", Home: "/home/ana"}}
			r := NewResolver(Environment{FS: files()}, c)
			e := r.Operand(effects.KindRead, tt.file, tt.cwd, "test")
			if e.File == nil || e.Tags.Has(effects.Worktree) != tt.want {
				t.Errorf("tags %v", e.Tags.Names())
			}
			if tt.want && !e.Tags.Has(effects.Outside) {
				t.Error("it is not outside")
			}
		})
	}
}

func TestFold(t *testing.T) {
	for _, tt := range []struct{ name, a, b string }{
		{"case", "/a/.ENV", "/a/.env"},
		{"composed and not", "caf\u00e9", "cafe\u0301"},
		{"long s", ".\u017fsh", ".ssh"},
		{"Kelvin sign", "\u212aey", "key"},
		{"zero width", ".g\u200cit", ".git"},
		{"soft hyphen", ".g\u00adit", ".git"},
		{"byte order mark", "\ufeff.git", ".git"},
		{"variation selector", ".git\ufe0f", ".git"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if lexpath.Fold(tt.a) != lexpath.Fold(tt.b) {
				t.Errorf("%q and %q differ: %q, %q", tt.a, tt.b, lexpath.Fold(tt.a), lexpath.Fold(tt.b))
			}
		})
	}
	if lexpath.Fold("а") == lexpath.Fold("a") {
		t.Error("letters of two scripts are the same")
	}
}

func TestGuardTableIsWellFormed(t *testing.T) {
	for _, group := range guardTable {
		for _, line := range group.lines {
			for i, p := range strings.Split(line, " !") {
				if p == "" || p != strings.TrimSpace(p) || strings.HasSuffix(p, "/") || strings.Contains(p, "**") {
					t.Errorf("%q: part %d is malformed", line, i)
				}
				words := strings.Split(strings.TrimPrefix(strings.TrimPrefix(p, "~"), "/"), "/")
				if slices.Contains(words, "") || words[0] == "*" {
					t.Errorf("%q: part %d has an empty or open first word", line, i)
				}
				if (p[0] == '/' || p[0] == '~') && strings.Contains(words[0], "*") {
					t.Errorf("%q: a tied line begins with a plain word", line)
				}
			}
		}
	}
	for p := range vitalPaths.All() {
		if p != lexpath.Fold(p) || p[0] != '/' {
			t.Errorf("vital path %q is not folded and absolute", p)
		}
	}
}
