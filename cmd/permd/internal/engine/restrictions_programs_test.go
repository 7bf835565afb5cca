package engine

import (
	"testing"

	"github.com/permd/permd/decisions"
)

// TestUnknownProgramsWithin checks that unknown_programs = "deny" denies a known program that runs
// an unknown one, even if the user allows all programs, and does not deny builders that run the
// project's code.
func TestUnknownProgramsWithin(t *testing.T) {
	w := newRestrictedWorld(t)
	w.write(".config/permd/policy.d/all.rego", `package permd.user

import rego.v2

allow contains {"reason": "all", "covers": ["unknown"]} if {
	input.effect.kind in {"run", "unknown", "connect", "read", "write", "delete", "state"}
}
`)
	w.write("etc/policy.d/rules.yaml", "allow:\n  run: [orgtool x, npx orgs *, python ok.py]\n")
	w.write("project/package.json", `{"scripts": {"frob": "frob", "test": "frob"}}`)
	w.write("project/Makefile", "check:\n\tfrob\n")
	w.set(`unknown_programs = "deny"`)
	for _, command := range []string{
		"frob", "npx frob", "npx -p frob eslint .", "npm exec frob", "npm create vite", "pnpm dlx frob", "pnpm frob2", "yarn dlx frob", "bunx frob", "uvx frob", "uv tool run frob", "uvx --from frob ruff check",
		"go run github.com/evil/x@latest", "docker run frob", "podman create frob", "sh ./tool.sh", "bash tool.sh", ". ./tool.sh", "source ./tool.sh", "python x.py", "python -m frob",
		"node x.js", "java -jar x.jar", "deno run x.ts", "bun x.ts", "uv run x.py", "cargo frob", "gh frob", "kubectl frob", "docker frob",
		"PATH=. ls", "PATH=/x:$PATH ls", "PATH+=:. ls", "PAGER=frob git log", "PAGER=sh git log", "PAGER='less; frob' git log", "GIT_SSH_COMMAND=frob git fetch", "GIT_SSH_COMMAND='ssh -oProxyCommand=frob' git fetch",
		"env PAGER=frob git log", "export PATH=.; ls", "EDITOR=frob; git commit", "make SHELL=frob", "make CC:=frob", "bash -c 'sh x.sh'", "timeout 5 npx frob",
	} {
		w.want("runs what nobody describes", shellCall(command), decisions.Deny, "unknown_programs")
	}
	for _, command := range []string{
		"ls", "npx eslint .", "npx orgs a", "python ok.py", "python -m pytest", "npm run frob", "npm test", "pnpm frob", "make check", "make V=1 check", "make CC=", "go run .", "go run ./cmd", "cargo run", "cargo build", "docker compose up",
		"kubectl get pods", "PAGER=less git log", "PAGER='less -R' git log", "PAGER= git log", "GIT_SSH_COMMAND=ssh git fetch", "FOO=frob ls", "git log",
	} {
		w.want("runs what is known, or the project", shellCall(command), decisions.Allow, "")
	}
}
