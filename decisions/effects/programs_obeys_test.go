package effects

import (
	"strings"
	"testing"
)

func TestObeyedFiles(t *testing.T) {
	table := shippedTable(t)
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
		"more than the option":            {nil, "cargo --version x", false},
		"two options":                     {nil, "python3 --version -c 1", false},
		"a program of the project":        {map[string]string{"cargo": ""}, "./cargo --version", false},
		"an option that is no question":   {nil, "make -n", false},
		"with a variable that means more": {nil, "make --version VAR=x", false},
	} {
		t.Run(name, func(t *testing.T) {
			fs := shellFiles()
			for file, text := range c.files {
				fs.File(testCwd+"/"+file, text)
			}
			fs.Link(testCwd+"/link", "a/b")
			b := shellBuilder(table, fs)
			shellText(b, c.command, testCwd, "command")
			var last *Run
			for i := range b.effects {
				if r := b.effects[i].Run; r != nil {
					last = r
				}
			}
			if last == nil || last.Readonly != c.want {
				t.Errorf("%s: %+v, want read-only: %v", c.command, last, c.want)
			}
		})
	}
}
