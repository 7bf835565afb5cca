package shell

import (
	"strings"
	"testing"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/effectstest"
)

func TestObeyedFiles(t *testing.T) {
	table := effectstest.Table(t)
	for name, c := range map[string]struct {
		files   map[string]string
		command string
		want    bool // whether the last run is read-only
	}{
		"no such file":                    {nil, "cargo --version", true},
		"an installed toolchain":          {map[string]string{"rust-toolchain.toml": "[toolchain]\nchannel = \"1.80\"\n", "../../.rustup/toolchains/1.80-x86_64-unknown-linux-gnu/": ""}, "cargo --version", true},
		"a toolchain to fetch":            {map[string]string{"rust-toolchain.toml": "[toolchain]\nchannel = \"1.80\"\n"}, "cargo --version", false},
		"a toolchain of the project":      {map[string]string{"rust-toolchain.toml": "[toolchain]\npath = \"tools\"\n"}, "cargo --version", false},
		"in a folder above":               {map[string]string{"rust-toolchain.toml": "path = \"x\"", "sub/a.txt": ""}, "cd sub && rustc -V", false},
		"in a folder below":               {map[string]string{"sub/rust-toolchain.toml": "path = \"x\""}, "rustc -V", true},
		"a toolchain in the older file":   {map[string]string{"rust-toolchain": "[toolchain]\npath = \"tools\"\n"}, "rustc -V", false},
		"above where a link leads":        {map[string]string{"a/rust-toolchain.toml": "path = \"x\"", "a/b/c.txt": ""}, "cd link && cargo -V", false},
		"above in another working tree":   {map[string]string{"../tree/.git": "", "../tree/sub/a.txt": "", "../tree/rust-toolchain.toml": "path = \"x\""}, "cd ../tree/sub && cargo -V", false},
		"a sub-command":                   {map[string]string{".cargo/config.toml": "[build]\nrustc-wrapper = \"./x\"\n"}, "cargo search x", false},
		"plain settings of cargo":         {map[string]string{".cargo/config.toml": "[build]\njobs = 2\n[alias]\nxtask = \"run\"\n"}, "cargo search x", true},
		"written before":                  {nil, "cp a.txt rust-toolchain.toml; cargo -V", false},
		"what may come with a branch":     {nil, "git checkout other; cargo -V", false},
		"too large to look into":          {map[string]string{"rust-toolchain.toml": strings.Repeat("#", 64<<10+1)}, "cargo -V", false},
		"settings of the Java machine":    {map[string]string{".mvn/jvm.config": "-javaagent:x.jar"}, "mvn --version", false},
		"a state":                         {nil, "terraform state list", false},
		"a file to fetch":                 {map[string]string{"compose.yaml": "include:\n  - https://evil.example/x.git\n"}, "docker compose ps", false},
		"plain services":                  {map[string]string{"compose.yaml": "services:\n  a:\n    image: x\n"}, "docker compose ps", true},
		"a registry of the project":       {map[string]string{".npmrc": "registry=https://evil.example"}, "npm view x", false},
		"other settings":                  {map[string]string{".npmrc": "save-exact=true"}, "npm view x", true},
		"a release of yarn":               {map[string]string{".yarnrc.yml": "yarnPath: .yarn/releases/y.cjs"}, "yarn --version", false},
		"yarn without":                    {nil, "yarn --version", true},
		"a plug-in of the home":           {nil, "cp a.txt ~/.docker/cli-plugins/docker-x; docker ps", false},
		"a file beside it":                {nil, "cp a.txt ~/.docker/notes; docker ps", true},
		"a module of the home":            {nil, "cp a.txt ~/.jq; jq .a b.txt", false},
		"settings of ripgrep for git":     {nil, "cp a.txt ~/.config/git/ignore; rg x", false},
		"a cluster of the home":           {nil, "cp a.txt ~/.kube/config; kubectl version --client", false},
		"an extension of gh":              {nil, "cp a.txt ~/.local/share/gh/extensions/gh-x/gh-x; gh pr list", false},
		"a model of a service":            {nil, "cp a.txt ~/.aws/models/s3/1/service-2.json; aws s3 ls", false},
		"beside a script":                 {map[string]string{"sub/.shellcheckrc": "external-sources=true\nsource-path=/\n", "sub/a.sh": "source /etc/passwd\n"}, "shellcheck sub/a.sh", false},
		"above a script":                  {map[string]string{"sub/.shellcheckrc": "external-sources=true\n", "sub/b/a.sh": ""}, "shellcheck sub/b/a.sh", false},
		"where a link to a script leads":  {map[string]string{"a/shellcheckrc": "external-sources=true\n", "a/b/c.txt": ""}, "shellcheck link/c.txt", false},
		"beside scripts of a pattern":     {map[string]string{"sub/.shellcheckrc": "external-sources=true\n", "sub/a.sh": ""}, "shellcheck sub/*.sh", false},
		"beside a script that is written": {map[string]string{"sub/a.sh": ""}, "cp a.txt sub/.shellcheckrc; shellcheck sub/a.sh", false},
		"plain rules beside a script":     {map[string]string{"sub/.shellcheckrc": "disable=SC2086\n", "sub/a.sh": ""}, "shellcheck sub/a.sh", true},
		"beside another script":           {map[string]string{"other/.shellcheckrc": "external-sources=true\n", "sub/a.sh": ""}, "shellcheck sub/a.sh", true},
		"a name that is an address":       {map[string]string{"package.json": `{"name": "git+ssh://evil.example/x", "version": "1.0.0"}`}, "npm view", false},
		"a name that stands twice":        {map[string]string{"package.json": `{"name": "x", "name": "http://evil.example/x.tgz"}`}, "npm view", false},
		"an address in a folder above":    {map[string]string{"package.json": `{"name": "http://evil.example/x.tgz"}`, "sub/a.txt": ""}, "cd sub && npm view", false},
		"a plain name":                    {map[string]string{"package.json": `{"name": "@acme/x", "packageManager": "pnpm@9.9.9", "x": {"name": "http://y"}}`}, "npm view react version", true},
		"versions of what is installed":   {nil, "npm audit signatures", false},
		"pip and what keeps versions":     {map[string]string{".hg/hgrc": "[extensions]\nevil = ./evil.py\n"}, "pip freeze", false},
		"pip without":                     {map[string]string{"pyproject.toml": "[project]\n"}, "pip freeze", true},
		"pip asks rustc":                  {map[string]string{"rust-toolchain.toml": "[toolchain]\npath = \"tools\"\n"}, "pip index versions x", false},
		"pip asks rustc of what is old":   {map[string]string{"rust-toolchain": "[toolchain]\npath = \"tools\"\n"}, "pip list --outdated", false},
		"a Python of the project":         {map[string]string{".python-version": "../../../evil\n"}, "pip list", false},
		"a version of Python":             {map[string]string{".python-version": "3.12.1\n"}, "pip list", true},
		"what cargo depends on":           {map[string]string{"Cargo.toml": "[dependencies]\nx = { git = \"https://evil.example/x\" }\n"}, "cargo info serde", false},
		"a search for a crate":            {map[string]string{"Cargo.toml": "[package]\n"}, "cargo search serde", true},
		"a node of the project":           {map[string]string{".nvmrc": "path:evil\n"}, "node --version", false},
		"a node that lives long":          {map[string]string{".nvmrc": "lts/iron\n"}, "node --version", true},
		"what biome.json extends":         {nil, "biome rage", false},
		"brew updates itself":             {nil, "brew outdated", false},
		"the beginning of an option":      {nil, "pip show --local README.md", false},
		"the beginning of another":        {nil, "pip check --local README.md", false},
		"the option itself":               {nil, "pip freeze --local", true},
		"more than the option":            {nil, "cargo --version x", false},
		"two options":                     {nil, "python3 --version -c 1", false},
		"a program of the project":        {map[string]string{"cargo": ""}, "./cargo --version", false},
		"an option that is no question":   {nil, "make -n", false},
		"with a variable that means more": {nil, "make --version VAR=x", false},
	} {
		t.Run(name, func(t *testing.T) {
			fs := effectstest.Files()
			for file, text := range c.files {
				fs.File(effectstest.Cwd+"/"+file, text)
			}
			fs.Link(effectstest.Cwd+"/link", "a/b")
			b := shellBuilder(table, fs)
			Text(b, c.command, effectstest.Cwd, "command")
			var last *effects.Run
			for i := range b.Effects {
				if r := b.Effects[i].Run; r != nil {
					last = r
				}
			}
			if last == nil || last.Readonly != c.want {
				t.Errorf("%s: %+v, want read-only: %v", c.command, last, c.want)
			}
		})
	}
}
