package shell

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/effectstest"
)

// maxObject is the size up to which a file is checked for being a thin archive, in
// bytes.
const maxObject = 64 << 10

// TestSettingsValues has values in a project's files that make a read-only program
// open or print a file. A rule that allows read-only programs must not allow that.
func TestSettingsValues(t *testing.T) {
	const web = "services:\n  web:\n    image: x\n"
	table := effectstest.Table(t)
	for name, tt := range map[string]struct {
		file, text, command string
		want                bool
	}{
		"compose: a key as variables":          {"compose.yaml", web + "    env_file: /home/ana/.ssh/id_ed25519\n", "docker compose ps", false},
		"compose: ... in a list":               {"compose.yaml", web + "    env_file: [a.txt, ../../.ssh/id_ed25519]\n", "docker-compose ps", false},
		"compose: ... in full":                 {"compose.yaml", web + "    env_file:\n      - path: ~/.ssh/id_ed25519\n", "docker compose images", false},
		"compose: ... by a variable":           {"compose.yaml", web + "    env_file: ${HOME}/x\n", "docker compose ps", false},
		"compose: a link to one":               {"compose.yaml", web + "    env_file: key\n", "docker compose ps", false},
		"compose: a secret that is none":       {"compose.yaml", web + "    env_file: broken/.env\n", "docker compose ps", false},
		"compose: variables of a secret":       {"compose.yaml", web + "    env_file: .env\n", "docker compose ps", true},
		"compose: variables of the project":    {"compose.yaml", web + "    env_file:\n      - path: a.txt\n        required: false\n", "docker compose ps", true},
		"compose: a port that is a secret":     {"compose.yaml", web + "    ports: [\"${AWS_SECRET_ACCESS_KEY}\"]\n", "docker compose ps", false},
		"compose: ... in the short form":       {"compose.yaml", web + "    ports: [\"$AWS_SECRET_ACCESS_KEY\"]\n", "docker compose top", false},
		"compose: a duration":                  {"compose.yaml", web + "    healthcheck:\n      interval: ${TOKEN}\n", "docker compose logs", false},
		"compose: a size":                      {"compose.yaml", web + "    mem_limit: ${TOKEN}\n", "docker compose ps", false},
		"compose: a message with another one":  {"compose.yaml", web + "    command: ${A:?x ${TOKEN}}\n", "docker compose ps", false},
		"compose: plain ports":                 {"compose.yaml", web + "    ports: [\"8080:80\"]\n", "docker compose ps", true},
		"compose: a dollar":                    {"compose.yaml", web + "    healthcheck:\n      test: [CMD-SHELL, \"pg_isready -U $${USER}\"]\n      interval: 5s\n", "docker compose ps", true},
		"compose: variables where text is":     {"compose.yaml", "services:\n  web:\n    image: a/b:${TAG:-latest}\n    environment:\n      A: $A\n      B: ${B:?must be set}\n", "docker compose ps", true},
		"npm: a workspace elsewhere":           {"package.json", `{"name":"a","workspaces":["../../x"]}`, "pnpm --version", false},
		"npm: one that npm ls opens":           {"package.json", `{"name":"a","workspaces":["../x"]}`, "npm ls", false},
		"npm: ... in the other form":           {"package.json", `{"name":"a","workspaces":{"packages":["/x"]}}`, "npm ls", false},
		"npm: any other key":                   {"package.json", `{"name":"a","workspaces":["a"],"x":{"y":["../z"]}}`, "npm ls", true},
		"npm: workspaces":                      {"package.json", `{"name":"a","workspaces":["packages/*","!packages/x"]}`, "pnpm --version", true},
		"pnpm: packages elsewhere":             {"pnpm-workspace.yaml", "packages: ['../x/*']\n", "pnpm --version", false},
		"pnpm: packages":                       {"pnpm-workspace.yaml", "packages: ['packages/*']\n", "pnpm --version", true},
		"cargo: a file of flags":               {".cargo/config.toml", "[build]\nrustflags = [\"@/etc/shadow\"]\n", "cargo --version", false},
		"cargo: a code generator":              {".cargo/config.toml", "[build]\nrustflags = [\"-Zcodegen-backend=x\"]\n", "cargo --version", false},
		"cargo: the flags of many":             {".cargo/config.toml", "[target.x86_64-unknown-linux-gnu]\nrustflags = [\"-C\", \"link-arg=-fuse-ld=lld\", \"--cfg=tokio_unstable\"]\n", "cargo --version", true},
		"nm: an archive of what lies anywhere": {"lib.a", "!<thin>\n//   20   `\n../../secret.o/\n", "nm lib.a", false},
		"nm: ... by another name":              {"lib.o", "!<thin>\n//   20   `\n../../secret.o/\n", "readelf -h lib.o", false},
		"nm: a large archive":                  {"lib.a", "!<arch>\n" + strings.Repeat("x", maxObject), "objdump -x lib.a", false},
		"nm: an archive":                       {"lib.a", "!<arch>\nx", "nm lib.a", true},
		"nm: a program":                        {"prog", "\x7fELF" + strings.Repeat("x", maxObject), "nm prog", true},
		"aws: an address":                      {"a.txt", "", "aws s3 ls --query file:///etc/passwd", false},
	} {
		files := effectstest.Files()
		files.File(effectstest.Cwd+"/.env", "A=1\nB='x'\n")
		files.File(effectstest.Cwd+"/broken/.env", "-----BEGIN\n")
		files.File(effectstest.Cwd+"/a.txt", "A=$HOME\n")
		files.Link(effectstest.Cwd+"/key", "/home/ana/.ssh/id_ed25519")
		files.File(filepath.Join(effectstest.Cwd, tt.file), tt.text)
		b := shellBuilder(table, files)
		Text(b, tt.command, effectstest.Cwd, "command")
		understood := true
		for _, e := range b.Effects {
			understood = understood && e.Kind != effects.KindUnknown
		}
		if understood != tt.want {
			t.Errorf("%s: %s: understood: %v, want %v: %+v", name, tt.command, understood, tt.want, b.Effects)
		}
	}
}

// TestAddressesInText: text that curl and gh only send is no file, whatever it
// says.
func TestAddressesInText(t *testing.T) {
	table := effectstest.Table(t)
	for command, want := range map[string]bool{
		"curl -e https://a.example/ https://b.example/x": true, "curl -H 'Referer: https://a.example/' https://b.example/x": true,
		"curl -H @file https://b.example/x": false, "curl -w '%output{x}' https://b.example/x": false,
		"gh api -H 'X-From: https://a.example' repos/a/b": true, "aws s3 ls --query https://a.example/": false,
	} {
		b := shellBuilder(table, effectstest.Files())
		Text(b, command, effectstest.Cwd, "command")
		understood := true
		for _, e := range b.Effects {
			understood = understood && e.Kind != effects.KindUnknown
		}
		if understood != want {
			t.Errorf("%s: understood: %v, want %v", command, understood, want)
		}
	}
}
