package paths

import (
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/internal/wordset"
)

// guardGroup is a part of the table of guarded names: paths with their tags.
//
// A line is a sequence of components, compared ignoring case, that may occur anywhere
// in a path ("~/" and "/" anchor it to a home or the root). It includes everything
// below. * matches any part of one component. " !" begins an exception, which starts
// at the same component.
type guardGroup struct {
	tags  []effects.Tag
	lines []string
}

// recursiveNames are names that a recursive effect looks up in the folder itself.
var recursiveNames = []struct {
	name string
	tag  effects.Tag
}{
	{".git", effects.VCS},
	{".env", effects.Secret},
	{".github/workflows", effects.CI},
	{".gitlab-ci.yml", effects.CI},
	{".envrc", effects.Startup},
	{".husky", effects.Startup},
	{".claude", effects.AgentConfig},
	{"AGENTS.md", effects.AgentConfig},
	{"CLAUDE.md", effects.AgentConfig},
	{".mcp.json", effects.AgentConfig},
}

// Folders of systems, folded. macOS keeps /etc, /tmp and /var in /private.
var (
	systemFolders = []string{
		"/bin", "/boot", "/dev", "/etc", "/lib", "/lib32", "/lib64", "/libx32", "/opt", "/proc", "/run",
		"/sbin", "/snap", "/sys", "/usr", "/var", "/nix", "/gnu/store",
		"/system", "/library", "/applications", "/cores", "/private", "/efi",
	}
	// projectFolders lie in system folders and may still hold projects.
	projectFolders = []string{
		"/opt", "/var/www", "/var/lib/jenkins/workspace", "/var/tmp", "/usr/src", "/usr/local/src",
		"/private/tmp", "/private/var/tmp", "/private/var/folders", "/var/folders",
	}
	tempFolders = []string{
		"/tmp", "/var/tmp", "/dev/shm", "/private/tmp", "/private/var/tmp", "/private/var/folders", "/var/folders",
	}
	// homeFolders hold homes; Fedora's image-based systems and BSDs have others.
	homeFolders = []string{"/home", "/users", "/var/home", "/usr/home", "/export/home"}
	rootHomes   = []string{"/root", "/var/root", "/private/var/root"}
)

// vitalPaths are folders and files, folded, whose loss destroys a system or many
// people's work. Homes and a project's parents are added to these.
var vitalPaths = wordset.Of(
	"/", "/bin", "/boot", "/dev", "/etc", "/home", "/lib", "/lib32", "/lib64", "/libx32", "/media", "/mnt",
	"/opt", "/proc", "/root", "/run", "/sbin", "/snap", "/srv", "/sys", "/tmp", "/usr", "/var", "/nix", "/nix/store",
	"/usr/bin", "/usr/include", "/usr/lib", "/usr/lib64", "/usr/libexec", "/usr/local", "/usr/local/bin",
	"/usr/local/lib", "/usr/sbin", "/usr/share", "/usr/src", "/usr/local/src",
	"/var/backups", "/var/cache", "/var/db", "/var/lib", "/var/lib/dpkg", "/var/lib/docker", "/var/lib/rpm",
	"/var/log", "/var/mail", "/var/opt", "/var/run", "/var/spool", "/var/tmp", "/var/www",
	"/etc/fstab", "/etc/group", "/etc/gshadow", "/etc/pam.d", "/etc/passwd", "/etc/shadow", "/etc/sudoers",
	"/etc/ssh", "/etc/ssl", "/etc/systemd", "/dev/shm", "/sys/firmware/efi/efivars",
	"/users", "/users/shared", "/system", "/library", "/applications", "/volumes", "/cores",
	"/private", "/private/etc", "/private/tmp", "/private/var", "/private/var/db", "/private/var/folders",
	"/private/var/tmp", "/var/folders",
	// Hosted workspaces keep all projects here.
	"/workspaces",
)

// guardTable is ordered by tag. Comments explain surprising names.
var guardTable = []guardGroup{
	{[]effects.Tag{effects.Permd}, []string{
		".permd", ".config/permd", ".local/share/permd", ".local/state/permd", ".cache/permd",
		"~/Library/Application Support/permd", "/etc/permd", "/var/lib/permd", "/var/log/permd", "/run/permd", "/run/permd-admin", "/run/permd-http",
		"/var/run/permd", "/var/run/permd-admin", "/var/run/permd-http", "/run/user/*/permd", "/run/user/*/permd-admin", "/run/user/*/permd-http",
		"permd.service", "permd.socket", "permd-admin.socket", "permd.service.d", "permd.socket.d", "permd-admin.socket.d",
	}},

	// Project files. Templates without values are meant to be read. A Python virtual
	// environment may be named .env: only files directly in a folder of that name
	// count.
	{[]effects.Tag{effects.Secret}, []string{
		".env !.env/*/*", ".env~", ".env.* !.env.*example !.env.*sample !.env.*template !.env.dist !.env.schema",
		"*.env !example.env !sample.env !template.env !*.example.env !*.sample.env !*.template.env !.env",
		".envrc !.envrc.example", ".*env-vars", ".dev.vars", ".secrets", ".secret", ".secrets.*", "secrets.yml", "secrets.yaml",
		"secrets.json", "secrets.toml", "secrets.tfvars", "credentials.json", "client_secret*.json", "service-account*.json",
		"service_account*.json", "serviceaccount*.json", "*-firebase-adminsdk-*.json", "firebase-adminsdk*.json",
		"application_default_credentials.json", "local.settings.json", ".htpasswd", "wp-config.php",
		".vault_pass*", ".vault-password*", ".npmrc", ".pypirc", ".netrc", "_netrc", ".git-credentials", ".vault-token",
		// State holds values in plain text; variable files often do (both are
		// in GitHub's ignore list for Terraform for that reason).
		"*.tfstate", "*.tfstate.backup", "*.tfvars !*example.tfvars !*sample.tfvars", "*.tfvars.json",
	}},
	// Keys, by name and suffix, anywhere.
	{[]effects.Tag{effects.Secret}, []string{
		"*.pem", "*.key", "*.p12", "*.pfx", "*.p8", "*.ppk", "*.jks", "*.keystore", "*.kdbx", "*.kdb", "*.ovpn", "*.agekey",
		"*.pkcs12",
		"id_rsa* !*.pub", "id_dsa* !*.pub", "id_ecdsa* !*.pub", "id_ed25519* !*.pub", "identity.age",
		"ssh_host_*_key", "wallet.dat", "keystore/utc--*",
	}},
	// Files of homes: the lines are not anchored, because a copy or a mounted home is
	// just as secret.
	{[]effects.Tag{effects.Secret}, []string{
		".ssh !.ssh/*.pub !.ssh/known_hosts* !.ssh/config !.ssh/config.d !.ssh/authorized_keys !.ssh/allowed_signers",
		".gnupg", ".aws", ".azure", ".kube !.kube/cache", ".docker/config.json", ".config/containers/auth.json", ".boto", ".s3cfg",
		".config/gcloud", ".config/gh", ".config/hub", ".config/glab-cli", ".config/git/credentials", ".config/doctl",
		".config/rclone", ".config/stripe", ".config/op", ".config/sops", ".config/age", ".config/heroku", ".config/netlify",
		".config/.wrangler", ".wrangler/config", ".netlify/config.json", ".vercel/auth.json", ".local/share/com.vercel.cli",
		".fly", ".oci", ".linode-cli", ".config/linode-cli", ".config/hcloud", ".config/scw", ".ibmcloud", ".bluemix", ".aliyun",
		".terraform.d", ".terraformrc", ".pulumi/credentials.json", ".supabase", ".railway", ".ngrok2", ".config/ngrok",
		".cargo/credentials", ".cargo/credentials.toml", ".gem/credentials", ".m2/settings.xml", ".m2/settings-security.xml",
		".gradle/gradle.properties", ".nuget/nuget/nuget.config", ".composer/auth.json", ".config/composer/auth.json",
		"~/.yarnrc.yml", ".config/pip/pip.conf", ".pip/pip.conf", ".config/pypoetry/auth.toml", ".config/uv/credentials",
		".pgpass", ".my.cnf", ".mylogin.cnf", ".config/psycopg", ".dbt/profiles.yml", ".snowsql", ".databrickscfg",
		".huggingface", ".cache/huggingface/token", ".kaggle", ".wandb", ".config/wandb", ".config/openai", ".anthropic",
		".chef", ".vagrant.d/insecure_private_key", ".config/tailscale", ".config/helm/registry", ".config/argocd",
		".config/github-copilot/hosts.json", ".config/github-copilot/apps.json", ".claude/.credentials.json", ".claude.json",
		".codex/auth.json", ".gemini/oauth_creds.json", ".gemini/google_accounts.json", ".local/share/opencode/auth.json",
		".config/goose/secrets.yaml", ".qwen/oauth_creds.json", ".copilot/config.json",
		".password-store", ".local/share/keyrings", ".local/share/kwalletd", ".config/keepassxc", ".config/bitwarden*",
		".config/1password", ".op", ".lastpass", ".local/share/lpass", ".config/protonmail", ".pki", ".config/evolution",
		".krb5cc*", "krb5cc_*", ".k5login", ".config/remmina", ".config/freerdp", ".vnc/passwd", ".config/filezilla", ".filezilla",
	}},
	// Histories of shells and clients contain passwords that were typed.
	{[]effects.Tag{effects.Secret}, []string{
		".bash_history", ".zsh_history", ".zhistory", ".histfile", ".sh_history", ".ksh_history", ".history", ".zsh_sessions",
		".bash_sessions", ".local/share/fish/fish_history", ".python_history", ".node_repl_history", ".irb_history",
		".psql_history", ".mysql_history", ".mariadb_history", ".sqlite_history", ".rediscli_history", ".dbshell",
		".mongodb/mongosh", ".local/state/bash/history", ".local/share/powershell/psreadline",
	}},
	// Browsers, mail and wallets.
	{[]effects.Tag{effects.Secret}, []string{
		".mozilla", ".thunderbird", ".config/google-chrome*", ".config/chromium", ".config/bravesoftware", ".config/microsoft-edge*",
		".config/vivaldi", ".config/opera*", ".librewolf", ".zen", "~/snap/firefox", "~/snap/chromium", ".var/app/org.mozilla.*",
		".var/app/com.google.*", ".config/slack", ".config/discord", ".config/signal", ".config/telegramdesktop",
		".local/share/telegramdesktop", ".config/teams",
		"~/Library/Keychains", "~/Library/Cookies", "~/Library/Safari", "~/Library/Mail", "~/Library/Messages",
		"~/Library/Application Support/Google/Chrome*", "~/Library/Application Support/Firefox", "~/Library/Application Support/Chromium",
		"~/Library/Application Support/BraveSoftware", "~/Library/Application Support/Microsoft Edge*", "~/Library/Application Support/Arc",
		"~/Library/Application Support/Slack", "~/Library/Application Support/Signal", "~/Library/Application Support/com.apple.TCC",
		"~/Library/Group Containers/2BUA8C4S2C.com.1password", "~/Library/Containers/com.apple.mail",
		".bitcoin", ".litecoin", ".ethereum", ".electrum", ".monero", ".bitmonero", ".config/solana", ".near-credentials",
		".foundry/keystores", ".config/exodus", ".config/ledger live", "~/Library/Application Support/Bitcoin",
		"~/Library/Application Support/Exodus", "~/Library/Ethereum",
	}},
	{[]effects.Tag{effects.Secret}, []string{
		"/etc/shadow*", "/etc/gshadow*", "/etc/master.passwd", "/etc/sudoers", "/etc/sudoers.d", "/etc/ssl/private",
		"/etc/pki/tls/private", "/etc/letsencrypt", "/etc/krb5.keytab", "/etc/kubernetes", "/etc/rancher", "/etc/wireguard",
		"/etc/openvpn", "/etc/ipsec.secrets", "/etc/ppp/chap-secrets", "/etc/networkmanager/system-connections",
		"/etc/docker/key.json", "/etc/credstore*", "/run/secrets", "/var/run/secrets", "/run/credentials",
		"/var/lib/kubelet", "/var/lib/systemd/credential.secret", "/var/db/dslocal", "/private/etc/master.passwd",
		"/private/etc/sudoers", "/private/var/db/dslocal", "/var/lib/sss", "/var/lib/samba/private", "/etc/cloud/cloud.cfg.d",
		"/var/lib/cloud/instance", "/var/lib/cloud/instances",
	}},

	// Read or run by the person's shells and sessions.
	{[]effects.Tag{effects.Startup}, []string{
		".profile", ".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases", ".bash_functions", ".bashrc.d",
		".bash_completion", ".zshrc", ".zshenv", ".zprofile", ".zlogin", ".zlogout", ".zshrc.d", ".oh-my-zsh", ".zfunc", ".kshrc",
		".mkshrc", ".cshrc", ".tcshrc", ".login", ".logout", ".inputrc", ".config/fish", ".config/nushell", ".config/elvish",
		".config/powershell", ".config/bash", ".config/zsh", ".config/starship.toml", ".xinitrc", ".xsession", ".xsessionrc",
		".xprofile", ".xserverrc", ".gnomerc", ".pam_environment", ".environment", ".config/environment.d", ".config/autostart",
		".config/autostart-scripts", ".config/plasma-workspace", ".config/systemd", ".local/share/systemd",
		".local/share/applications", ".local/share/dbus-1", ".local/share/nautilus/scripts", ".config/i3", ".config/sway",
		".config/hypr", ".config/awesome", ".config/xmonad", ".xmonad", ".config/bspwm", ".config/qtile", ".config/openbox",
		".config/upstart", ".kde/autostart", ".config/menus",
		// Folders at the front of many people's PATH.
		"~/bin", ".local/bin",
		"~/Library/LaunchAgents", "~/Library/LaunchDaemons", "~/Library/StartupItems", "~/Library/Application Scripts", "~/Library/QuickLook",
		"~/Library/Services", "~/Library/Input Methods", "~/Library/Scripts", ".hammerspoon",
	}},
	// Read or run by programs that the person starts.
	{[]effects.Tag{effects.Startup}, []string{
		".ssh/authorized_keys*", ".ssh/config*", ".ssh/rc", ".ssh/environment", ".vimrc", ".gvimrc", ".vim", ".config/nvim",
		".config/vim", ".exrc", ".nvimrc", ".emacs", ".emacs.d", ".config/emacs", ".config/doom", ".nanorc", ".config/helix",
		".tmux.conf", ".config/tmux", ".screenrc", ".config/kitty", ".config/alacritty", ".config/wezterm", ".wezterm.lua",
		".gdbinit", ".lldbinit", ".pdbrc", ".pythonrc", ".pythonstartup", "sitecustomize.py", "usercustomize.py",
		".ipython", ".jupyter", ".irbrc", ".pryrc", ".psqlrc", ".sqliterc",
		".rprofile", ".ghci", ".iex.exs", ".curlrc", ".wgetrc", ".lesskey", ".lessfilter", ".mailcap", ".forward", ".procmailrc",
		".config/direnv", ".config/mise", ".config/git/hooks", ".config/yarn", ".npm-init.js", ".cargo/config", ".cargo/config.toml",
		".gradle/init.d", ".gradle/init.gradle*", ".docker/cli-plugins", ".kube/plugins", ".terraform.d/plugins",
	}},
	// Run by the tools of a project implicitly.
	{[]effects.Tag{effects.Startup}, []string{
		".git/hooks", ".git/modules/*/hooks", ".githooks", ".git-hooks", ".husky", ".lefthook", ".lefthook-local", ".lefthook.yml",
		".lefthook.yaml", "lefthook.yml", "lefthook.yaml", "lefthook-local.yml", ".pre-commit-config.yaml", ".pre-commit-hooks.yaml",
		".overcommit.yml", ".git-hooks.toml", "*.git/hooks",
		"hooks/pre-commit", "hooks/prepare-commit-msg", "hooks/commit-msg", "hooks/post-commit", "hooks/pre-push", "hooks/pre-rebase",
		"hooks/post-checkout", "hooks/post-merge", "hooks/post-rewrite", "hooks/pre-receive", "hooks/post-receive",
		"hooks/post-update", "hooks/fsmonitor-watchman", "hooks/applypatch-msg", "hooks/pre-applypatch", "hooks/reference-transaction",
		".envrc", ".direnv", ".devcontainer", ".devcontainer.json", "mise.toml", ".mise.toml", ".mise", ".autoenv", ".env.zsh",
		".yarnrc", ".yarnrc.yml", ".yarn/releases", ".yarn/plugins", ".pnpmfile.cjs", ".pnpmfile.mjs",
	}},
	// Read or run by an editor, a workspace, a version manager or a package manager as
	// soon as a person opens the project or runs anything in it.
	{[]effects.Tag{effects.Startup}, []string{
		".nvim.lua", ".lazy.lua", ".lvimrc", ".neoconf.json", ".ycm_extra_conf.py", ".dir-locals*.el", ".emacs.desktop", ".helix", ".luarc.json",
		".rust-analyzer.toml", "rust-analyzer.toml", ".ccls", ".phpactor.json", ".solargraph.yml", ".pylintrc", "pylintrc", ".latexmkrc", "latexmkrc",
		"*.sublime-project", ".gitpod.yml", ".gitpod.yaml", ".gitpod.dockerfile", ".idx", ".replit", "replit.nix", "devenv.nix", "devenv.yaml",
		"devenv.local.nix", "devbox.json", ".flox", "devfile.yaml", ".devfile.yaml", ".codesandbox", ".tmuxinator.yml", ".autoenv*", ".shadowenv.d",
		".zshrc.local", ".bashrc.local", ".tool-versions", ".asdfrc", ".prototools*", ".rtx.toml", ".rtx.*.toml", "mise.*.toml", ".mise.*.toml", "rust-toolchain",
		"mise/config.toml", "mise/config.local.toml", "mise/conf.d", ".config/mise.toml", ".config/mise.local.toml", ".miserc.toml", ".miserc.local.toml", ".config/miserc.toml",
		".volta", ".rbenv-vars", ".pyenv-vars", ".nodenv-vars", ".rvmrc", ".vimrc.local", ".lfsconfig",
		"rust-toolchain.toml", ".mvn", "gradle/wrapper", ".terraform", ".bazelrc", "user.bazelrc", ".bazeliskrc", "tools/bazel", ".buckconfig*",
		"bunfig.toml", ".bunfig.toml", "pip.conf", "pip.ini", "uv.toml", ".pydistutils.cfg", ".condarc", ".gemrc", ".bundle", "nuget.config",
		"pyvenv.cfg", ".gdbearlyinit", ".renviron", ".byebugrc", ".rdbgrc", ".erlang", ".sbtopts", ".jvmopts", ".octaverc",
		".lsp/config.edn", "hie.yaml", ".merlin", ".ocamlinit", ".sl/config", "jupyter_*config.py", "jupyter_*config.json", "ipython_*config.py", ".nvim/init.lua",
		".nvim/init.vim", ".tmuxp.yaml", ".tmuxp.yml", ".tmuxp.json", ".vimspector.json", "session.vim",
	}},
	// What JetBrains' programs, Visual Studio, Eclipse, Kate, Nova, Theia and Qt Creator run or
	// start, and servers that editors start by what these say: build servers (bsp), plugins.
	{[]effects.Tag{effects.Startup}, []string{
		".run", "*.run.xml", ".vs", "tasks.vs.json", "launch.vs.json", "launchsettings.json", ".externaltoolbuilders", "*.launch", ".kateproject*", ".nova", ".theia", ".qtcreator", "*.pro.user*",
		".bsp", "buildserver.json", ".sourcekit-lsp", ".luarc.jsonc", ".luarc.doc.json", ".luacheckrc", ".tern-project", ".lapce", ".zellij",
	}},
	// What version and environment managers obey before the next program of the project
	// runs: variables (rbenv-vars and the like: .NAMEenv-vars), shell code (rvm,
	// smartcd), folders of packages (gemsets of rbenv and rvm), a program by its path,
	// address or fork (pdm, bazelisk, fvm, opam), and names of versions that no entry of
	// the program table parses, which some of these managers join to a path.
	{[]effects.Tag{effects.Startup}, []string{
		".*env-vars", ".rvmrc", ".versions.conf", ".ruby-gemset", ".rbenv-gemsets", ".bash_enter", ".bash_leave", ".smartcd", ".sdkmanrc", ".jabbarc", ".dvmrc",
		"mise/config*.toml", "mise/conf.d", ".config/mise.toml", ".config/mise.*.toml", ".config/rtx", ".rtx", ".rtx.*.toml", "rtx.toml", ".proto",
		".pdm-python", ".pdm.toml", "pixi.toml", ".pixi", ".bazelversion", ".fvm", ".fvmrc", "_opam", ".opam-switch", ".envrc.* !.envrc.example !.envrc.sample !.envrc.template",
		".swift-version", ".crystal-version", ".exenv-version", ".scala-version", ".ocaml-version", ".r-version", ".terraform-version", ".opentofu-version",
		".terragrunt-version", ".packer-version", ".deno-version", ".bun-version", ".zig-version", ".zigversion",
		".default-gems", ".default-npm-packages", ".default-python-packages", ".default-cargo-crates", ".default-go-packages",
	}},
	// Further files that an editor's settings source from the working folder.
	{[]effects.Tag{effects.Startup}, []string{".vimrc.local", ".gvimrc.local", ".nvimrc.local", ".exrc.local", ".vimrc.bundles*", ".vimrc.before*", ".vimrc.after*", ".lvimrc.*"}},
	// Settings of a project or a person that read-only programs obey.
	{[]effects.Tag{effects.Startup}, []string{
		".ackrc", "_ackrc", ".yamllint", ".yamllint.yaml", ".yamllint.yml", ".fslckout", "_fossil_",
		".less", ".mavenrc", ".m2/extensions.xml", ".rustup/settings.toml", ".config/bat/config",
		".config/containers", ".config/nerdctl", ".docker/contexts", ".local/share/gh/extensions", ".local/share/helm/plugins",
		"~/.actrc", "~/.cmake", "~/.config/unrar", "~/.duckdb", "~/.duckdbrc", "~/.gradle !~/.gradle/caches !~/.gradle/daemon !~/.gradle/wrapper", "~/.jq", "~/.mongorc.js", "~/.mongoshrc.js",
		"~/.aptitude/config", "~/.config/cloc", "~/.config/gem", "~/.config/homebrew", "~/.config/yamllint", "~/.gem", "~/.homebrew", "~/.local/share/gem", "~/.manpath", "~/.popt", "~/.tclshrc",
		"~/.pg_service.conf", "~/.postgresql", "~/.postgresqlrc", "~/.rarrc", "~/.redisclirc", "~/.tofurc", "~/Taskfile.yml",
		".config/curlrc", ".config/go/env", ".config/helm/repositories.yaml", ".config/lesskey", ".config/npm/npmrc", ".config/pnpm/rc", ".config/sqlite3/sqliterc",
	}},
	// Hooks of the repository that a tool of the project runs at each commit.
	{[]effects.Tag{effects.Startup}, []string{
		".lintstagedrc*", "lint-staged.config.*", ".simple-git-hooks.*", "simple-git-hooks.*", "lefthook.toml", "lefthook.json", ".lefthook.toml",
		".lefthook.json", "lefthook-local.*", ".lefthook-local.*", ".pre-commit-config.yml", "prek.toml", "hk.pkl", ".commitlintrc*", "commitlint.config.*",
		".huskyrc*", "captainhook.json", "grumphp.yml", "cog.toml",
	}},
	// Programs that are found by name before those of the system, and the packages that
	// they load: an environment's pip imports everything in site-packages.
	{[]effects.Tag{effects.Startup}, []string{
		".venv/bin", "venv/bin", ".venv/scripts", "venv/scripts", "env/bin", "env/scripts", "bin/activate*", "scripts/activate*", "vendor/bin", "site-packages", "dist-packages", "node_modules",
	}},
	// A pattern of a later command expands to an option if a name looks like one.
	// Files in a folder of such a name are no problem, see makesOption.
	{[]effects.Tag{effects.Startup}, []string{"-* !- !-*/*"}},
	{[]effects.Tag{effects.Startup}, []string{
		"/etc/profile", "/etc/profile.d", "/etc/bash.bashrc", "/etc/bashrc", "/etc/zsh", "/etc/zshrc", "/etc/zshenv", "/etc/zprofile",
		"/etc/fish", "/etc/environment", "/etc/environment.d", "/etc/cron*", "/etc/anacrontab", "/var/spool/cron", "/var/spool/at",
		"/var/cron", "/var/at", "/etc/init.d", "/etc/init", "/etc/inittab", "/etc/rc*", "/etc/systemd", "/lib/systemd",
		"/usr/lib/systemd", "/usr/local/lib/systemd", "/run/systemd", "/etc/xdg", "/etc/ld.so.preload", "/etc/ld.so.conf",
		"/etc/ld.so.conf.d", "/etc/pam.d", "/etc/pam.conf", "/etc/security", "/etc/sudoers", "/etc/sudoers.d", "/etc/doas.conf",
		"/etc/udev", "/usr/lib/udev", "/lib/udev", "/etc/modules", "/etc/modules-load.d", "/etc/modprobe.d", "/etc/apt/apt.conf.d",
		"/etc/apt/apt.conf", "/etc/dpkg", "/etc/update-motd.d", "/etc/networkmanager/dispatcher.d", "/etc/network/if-up.d",
		"/etc/dhcp", "/etc/acpi", "/etc/logrotate.d", "/etc/polkit-1", "/etc/dbus-1", "/etc/ssh", "/etc/shells", "/etc/gitconfig",
		"/etc/vim", "/etc/emacs", "/etc/sysctl.conf", "/etc/sysctl.d", "/etc/tmpfiles.d", "/etc/periodic", "/etc/emond.d",
		"/etc/crontabs", "/etc/runit", "/etc/s6", "/etc/openrc", "/etc/conf.d", "/etc/binfmt.d", "/usr/share/dbus-1",
		"/library/launchagents", "/library/launchdaemons", "/library/startupitems", "/system/library", "/private/etc",
		"/private/var/at", "/usr/local/etc/profile.d", "/opt/homebrew/etc/profile.d",
	}},

	{[]effects.Tag{effects.VCS}, []string{
		".git", ".gitconfig", ".config/git", ".gitmodules",
		// Where git's extensions send and fetch objects: LFS, review, subrepo; and files
		// that the main settings conventionally include.
		".lfsconfig", ".gitreview", ".gitrepo", ".gitconfig.local", ".gitconfig-*", ".hg", ".hgrc", ".svn", ".subversion", ".bzr", ".jj", ".config/jj",
		".jjconfig.toml", ".pijul", ".fossil", "_darcs", "/etc/gitconfig", "/usr/local/etc/gitconfig", "/opt/homebrew/etc/gitconfig", "*.git/hooks", "*.git/config", "*.git/objects",
		"*.git/refs", "*.git/head", "*.git/packed-refs",
	}},

	// Agents keep worktrees of projects in their own folder: these are project files.
	{[]effects.Tag{effects.AgentConfig}, []string{
		".claude !.claude/worktrees/*/* !.claude/plans/*.md", ".claude.json", ".claude-plugin", "claude.md", "claude.local.md", ".claudeignore",
		".codex !.codex/worktrees/*/*", ".cursor !.cursor/worktrees/*/*", ".gemini", ".opencode",
		"agents.md", "agents.override.md", "agent.md", ".agents", ".agent", "gemini.md", ".geminiignore", "qwen.md", ".qwen",
		".qwenignore", ".cursorrules", ".cursorignore", ".cursorindexingignore", ".mcp.json", "mcp.json", "mcp_config.json",
		".mcp", "opencode.json", "opencode.jsonc", ".config/opencode", ".local/share/opencode", ".config/goose", ".goosehints",
		".goose", ".gooseignore", ".windsurf", ".windsurfrules", ".codeium", ".cline", ".clinerules", ".clineignore", ".roo",
		".roomodes", ".roorules*", ".rooignore", ".kilocode", ".kilocodemodes", ".kilocoderules*", ".continue", ".continuerules",
		".continueignore", ".aider*", ".amazonq", ".aws/amazonq", ".kiro", ".junie", ".augment", ".augment-guidelines",
		".augmentignore", ".openhands", ".trae", ".crush", "crush.json", ".crush.json", "crush.md", ".config/crush", ".factory",
		"warp.md", ".warp", ".amp", ".config/amp", ".rules", ".vibe", ".pi", ".copilot", ".config/github-copilot",
		".copilotignore", ".github/copilot-instructions.md", ".github/instructions", ".github/prompts", ".github/chatmodes",
		".github/agents", ".github/hooks", ".github/skills", ".config/zed", ".zed", ".acpx", ".acpxrc.json", ".jetbrains/acp.json", ".vscode", ".vscode-server", "*.code-workspace",
		".config/code/user", ".config/code - insiders/user", ".config/cursor/user", ".config/windsurf/user", ".config/vscodium/user",
		"~/Library/Application Support/Code/User", "~/Library/Application Support/Code - Insiders/User",
		"~/Library/Application Support/Cursor/User", "~/Library/Application Support/Windsurf/User",
		"~/Library/Application Support/VSCodium/User", "~/Library/Application Support/Claude", "~/Library/Application Support/ClaudeCode",
		"~/Library/Application Support/Zed", ".config/claude", ".idea", ".fleet", "/etc/claude-code", "/etc/codex", "/etc/gemini-cli",
		"/etc/opencode", "/etc/github-copilot",
	}},
	// Further agents, and programs that start agents, whose files name commands, servers or
	// instructions.
	{[]effects.Tag{effects.AgentConfig}, []string{
		".opencode.json", ".opencode.jsonc", ".serena", ".aiassistant", ".codebuddy", ".codex-plugin", ".cursor-plugin", ".cody", ".devin", ".firebender",
		"firebender.json", ".forge", "gptme.toml", ".grok", ".iflow", "iflow.md", ".kilocodeignore", ".kimi", ".lingma", ".qodo", ".rovodev", ".ruler", ".specify", ".tabnine", ".zencoder",
		"conductor.json", ".conductor", ".superset", ".container-use", ".antigravity", ".void", ".agentignore",
	}},

	{[]effects.Tag{effects.CI}, []string{
		".github/workflows", ".github/actions", ".github/dependabot.yml", ".github/dependabot.yaml", ".gitlab-ci.yml",
		".gitlab-ci.yaml", ".gitlab-ci", ".gitlab/ci", "jenkinsfile", "jenkinsfile.*", "*.jenkinsfile", ".circleci", ".travis.yml",
		".travis.yaml", "azure-pipelines*.yml", "azure-pipelines*.yaml", ".azure-pipelines", ".azuredevops", ".pipelines",
		"bitbucket-pipelines.yml", ".drone.yml", ".drone.yaml", ".drone.jsonnet", ".drone.star", ".woodpecker", ".woodpecker.yml",
		".woodpecker.yaml", ".buildkite", "appveyor.yml", ".appveyor.yml", ".cirrus.yml", ".cirrus.star", ".teamcity",
		"buildspec*.yml", "buildspec*.yaml", "cloudbuild.yaml", "cloudbuild.yml", ".semaphore", "wercker.yml", "codemagic.yaml",
		"bitrise.yml", ".forgejo/workflows", ".gitea/workflows", ".tekton", ".harness", ".build.yml", ".builds", "screwdriver.yaml",
		"renovate.json", "renovate.json5", ".renovaterc*", ".github/renovate.json*", ".gitlab/renovate.json*", ".mergify.yml", ".mergify", ".releaserc*",
		".ci", ".concourse", ".prow.yaml", ".zuul.yaml", ".zuul.d", "zuul.d", "vela.yml", ".vela.yml", "tekton-pipeline.yaml",
	}},
}
