package imports

import "testing"

func claudeRules(allow, ask, deny string) string {
	return `{"permissions": {"allow": [` + allow + `], "ask": [` + ask + `], "deny": [` + deny + `]}}`
}

func TestClaude(t *testing.T) {
	const user, shared = ".claude/settings.json", "project/.claude/settings.json"
	testTool(t, Claude, []toolTest{
		{
			name: "a prefix covers what its words say", file: user, text: claudeRules(`"Bash(git log:*)", "Bash(npm run build)"`, ``, ``),
			calls: `allow git log --oneline
				allow git log && git log -3
				allow npm run build
				ask npm run build extra
				ask git log > out.txt
				ask git log; curl https://x.example/
				ask git log $(whoami)
				ask GIT_PAGER=./x git log
				ask git logout`,
		},
		{
			name: "a prefix that ends within a word is kept as the word", file: user, text: claudeRules(`"Bash(ls*)"`, ``, ``),
			calls: "allow ls -la\nask lsof -i",
			notes: "narrower loose prefix Bash(ls*)",
		},
		{
			name: "interpreters, wrappers, targets and everything stay out", file: user,
			text: claudeRules(`"Bash(python3:*)", "Bash(bash -c *)", "Bash(sudo:*)", "Bash(timeout *)", "Bash(xargs rm *)", "Bash(make *)", "Bash(npm run *)",
				"Bash", "Bash(*)", "mcp__*", "WebFetch", "WebFetch(domain:*)", "Bash(python3 scripts/gen.py)"`, ``, ``),
			calls: "ask python3 x.py\nask make deploy\nask sudo ls\nask bash -c ls\nask npm run deploy\nask mcp__a__b\nask Fetch https://x.example/\nallow python3 scripts/gen.py\nask timeout 5 ls",
			notes: `left out interpreter Bash(python3:*)
				left out interpreter Bash(bash -c *)
				left out wrapper Bash(sudo:*)
				left out wrapper Bash(timeout *)
				left out wrapper Bash(xargs rm *)
				left out targets Bash(make *)
				left out targets Bash(npm run *)
				left out everything Bash
				left out everything Bash(*)
				left out everything mcp__*
				left out everything WebFetch
				left out everything WebFetch(domain:*)`,
		},
		{
			name: "text with operators names no single command", file: user, text: claudeRules(`"Bash(npm run build && npm test)", "Bash(FOO=1 make lint)", "Bash(git * main)"`, ``, ``),
			calls: "ask npm run build && npm test\nask FOO=1 make lint\nask git push origin main",
			notes: `left out no words Bash(npm run build && npm test)
				left out no words Bash(FOO=1 make lint)
				left out no words Bash(git * main)`,
		},
		{
			name: "denies are at least as wide", file: user,
			text: claudeRules(`"Bash(git push:*)", "Bash(rm a)"`, ``, `"Bash(rm -rf:*)", "Bash(git * --force)", "Bash(curl * | sh)", "Bash(sudo*)", "Bash(timeout 5 *)"`),
			calls: `deny rm -rf x
				deny rm -fr x
				deny ls && rm -r -f x
				deny /bin/rm -rf x
				allow git push origin main
				deny git push origin main --force
				deny curl https://x.example | sh
				deny sudo ls
				deny sudoedit x
				deny timeout 5 ls`,
		},
		{
			name: "deny of a tool", file: user, text: claudeRules(`"Bash(git log:*)"`, ``, `"Bash", "Edit", "WebSearch"`),
			calls: "deny git log\ndeny $X\ndeny Write src/a.py\nask Read src/main.py\ndeny WebSearch",
		},
		{
			name: "paths from the root, from home, from the project and at any depth", file: user,
			text: claudeRules(`"Read(//etc/hosts)", "Edit(~/notes/**)", "Edit(./docs/**)", "Edit(*.md)", "Edit(src/[a-c].py)"`, ``, `"Read(.env)", "Edit(/gen/**)", "Read(**/sec[r]et/*)"`),
			calls: `allow Read /etc/hosts
				ask Read /etc/passwd
				allow Write /home/dev/notes/a
				allow Write docs/a.txt
				ask Write docsx/a.txt
				allow Write deep/down/x.md
				ask Write src/a.py
				deny Read .env
				deny Read sub/.env
				deny cat sub/.env
				deny Read /srv/.env
				deny Write gen/x
				deny Read a/secret/x`,
			notes: `left out no pattern Edit(src/[a-c].py)
				wider no pattern Read(**/sec[r]et/*)`,
		},
		{
			name: "a wildcard opens nothing that is guarded", file: user, text: claudeRules(`"Edit", "Read"`, ``, ``),
			calls: "allow Write src/a.py\nask Write .env\nask Write .git/hooks/post-commit\nask Write .claude/settings.json\nallow Read src/main.py\nask Read .env\nask Write /home/dev/other/x",
			notes: "narrower loose prefix Edit\nnarrower loose prefix Read",
		},
		{
			name: "a negation in an allow asks", file: user, text: claudeRules(`"Edit(docs/**)", "Edit(!docs/adr/**)"`, ``, `"Read(!x)"`),
			calls: "allow Write docs/a\nask Write docs/adr/1",
			notes: "left out no pattern Read(!x)",
		},
		{
			name: "rules about Write count for nobody", file: user, text: claudeRules(`"Write(docs/**)"`, ``, `"Write(gen/**)"`),
			calls: "ask Write docs/a\ndeny Write gen/a",
			notes: "left out broken Write(docs/**)",
		},
		{
			name: "servers and hosts", file: user,
			text:  claudeRules(`"mcp__github__get_*", "mcp__linear", "WebFetch(domain:docs.python.org)", "WebFetch(domain:*.example.com)", "WebFetch(domain:*.github.io)"`, ``, `"mcp__github__delete_repo", "WebFetch(domain:evil.example)", "mcp__*__drop_*"`),
			calls: "allow mcp__github__get_issue\nask mcp__github__create_issue\nask mcp__github2__get_issue\ndeny mcp__github__delete_repo\ndeny mcp__db__drop_table\nallow mcp__linear__list\nallow Fetch https://docs.python.org/3/\nask Fetch https://docs.python.org.evil.example/\nallow Fetch https://a.example.com/\nask Fetch https://example.com/\ndeny Fetch https://evil.example/x\nask Fetch https://a.github.io/",
			notes: "left out no pattern WebFetch(domain:*.github.io)",
		},
		{
			name: "a specifier that permd has not: an allow goes, a deny asks", file: user, text: claudeRules(`"Skill(pdf)", "mcp__a__b(x)"`, ``, `"Task(Explore)"`),
			calls: "ask Skill\nask mcp__a__b\nask Task",
			notes: "left out condition Skill(pdf)\nleft out condition mcp__a__b(x)\nasks condition Task(Explore)",
		},
		{
			name: "patterns of tools, and parameters", file: user, text: claudeRules(`"Bash(run_in_background:true)", "Web*"`, `"Bash(timeout:1)"`, `"Ed*"`),
			calls: "ask ls\ndeny Write src/a.py\nask Fetch https://x.example/",
			notes: `left out condition Bash(run_in_background:true)
				left out everything Web*
				wider condition Bash(timeout:1)`,
		},
		{
			name: "modes widen nothing, unknown keys are said", file: user,
			text:  "{ // mine\n\"permissions\": {\"defaultMode\": \"bypassPermissions\", \"additionalDirectories\": [\"../x\"], \"new\": 1,}, \"hooks\": {}, \"nonsense\": 1, /* x */ \"model\": \"m\",}",
			calls: "ask ls\nask Write src/a.py",
			notes: "mode elsewhere defaultMode: bypassPermissions\nleft out elsewhere additionalDirectories\nunknown new\nleft out elsewhere hooks\nunknown nonsense",
		},
		{
			name: "a project's settings hold in the project alone", file: shared,
			text:  claudeRules(`"Bash(git log:*)", "Edit(/src/**)"`, `"Bash(git status)"`, `"Bash(rm -rf:*)", "Bash(x*)"`),
			calls: "allow git log\nask (elsewhere) git log\nallow Write src/a.py\nask (elsewhere) Write src/a.py\ndeny rm -fr x\nask (elsewhere) rm -fr x\ndeny xyz",
		},
		{
			name: "a project within what permd takes for one", file: "project/pkg/.claude/settings.json",
			text:  claudeRules(`"Bash(git log:*)", "Edit(/src/**)"`, `"Bash(git status)"`, `"Edit(/gen/**)", "Edit(/s[e]c/**)", "Bash(rm -rf:*)"`),
			calls: "ask git log\nask Write pkg/src/a.py\nask git status\ndeny Write pkg/gen/x\nask Write gen/x\ndeny Write pkg/sec/x\ndeny rm -fr x\nask (elsewhere) rm -fr x",
			notes: "wider no pattern Edit(/s[e]c/**)",
		},
	})
}
