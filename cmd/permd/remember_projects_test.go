package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/permd/permd/decisions"
)

// TestRememberWorktrees: the worktrees of a repository share its choices, and a
// folder that only claims to be one does not.
func TestRememberWorktrees(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it starts a daemon for worktrees alone; TestRemember is the quick one")
	}
	t.Parallel()
	d := startDaemon(t)
	main := d.project(t, map[string]string{
		".git/HEAD": "ref: refs/heads/main\n", ".git/objects/x": "", "go.mod": "module canary\n",
		".git/worktrees/side/HEAD": "ref: refs/heads/side\n", ".git/worktrees/side/commondir": "../..\n",
	})
	side, forged := filepath.Join(d.home, "side"), filepath.Join(d.home, "forged")
	writeFile(t, filepath.Join(main, ".git/worktrees/side/gitdir"), filepath.Join(side, ".git")+"\n")
	for _, root := range []string{side, forged} {
		writeFile(t, filepath.Join(root, ".git"), "gitdir: "+filepath.Join(main, ".git/worktrees/side")+"\n")
		writeFile(t, filepath.Join(root, "go.mod"), "module canary\n")
	}
	const there, here = "go build ./a", "go vet ./a"
	d.asks(t, main).exactly(there)
	in := d.asks(t, side)
	in.is(in.bash(there), decisions.Allow, decisions.ByMemory)
	in.exactly(here)
	back := d.asks(t, main)
	back.is(back.bash(here), decisions.Allow, decisions.ByMemory)
	liar := d.asks(t, forged)
	for _, command := range []string{there, here} {
		if got := liar.bash(command); got.Verdict != decisions.Ask {
			t.Errorf("%s in a folder that the repository does not know: %s by %s", command, got.Verdict, got.By)
		}
	}
	// Choices made there apply only there.
	liar.exactly("go test ./a")
	if got := back.bash("go test ./a"); got.Verdict == decisions.Allow {
		t.Errorf("said in a forged worktree, allowed in the repository: %s", got.By)
	}
}

// TestRejectInWorktrees checks that a reject of a file applies to that file in each
// worktree of the repository, from a session in any of them.
func TestRejectInWorktrees(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it starts a program or a daemon of its own; TestRemember is the quick one")
	}
	t.Parallel()
	d := startDaemon(t)
	main := d.project(t, map[string]string{
		".git/HEAD": "ref: refs/heads/main\n", ".git/objects/x": "", "victim.txt": "", "other.txt": "",
		".git/worktrees/side/HEAD": "ref: refs/heads/side\n", ".git/worktrees/side/commondir": "../..\n",
	})
	side, forged := filepath.Join(d.home, "side"), filepath.Join(d.home, "forged")
	writeFile(t, filepath.Join(main, ".git/worktrees/side/gitdir"), filepath.Join(side, ".git")+"\n")
	for _, root := range []string{side, forged} {
		writeFile(t, filepath.Join(root, ".git"), "gitdir: "+filepath.Join(main, ".git/worktrees/side")+"\n")
		writeFile(t, filepath.Join(root, "victim.txt"), "")
	}
	said := d.asks(t, main)
	for _, command := range []string{"rm victim.txt", "rm " + side + "/victim.txt", "rm -rf " + side} {
		if got := said.bash(command); got.Verdict != decisions.Ask {
			t.Fatalf("%s before it is rejected: %s by %s", command, got.Verdict, got.By)
		}
	}
	said.choose(said.bash("rm victim.txt"), map[string]any{"verdict": "deny", "scope": "project"}, "")
	for root, commands := range map[string][]string{
		main: {"rm victim.txt", "rm " + side + "/victim.txt", "cd " + side + " && rm ./victim.txt", "rm -rf " + side},
		side: {"rm victim.txt", "rm " + main + "/victim.txt", "mv " + main + "/victim.txt x"},
	} {
		p := d.asks(t, root)
		for _, command := range commands {
			p.is(p.bash(command), decisions.Deny, decisions.ByMemory)
		}
	}
	for root, commands := range map[string][]string{
		main:   {"rm other.txt", "rm " + side + "/other.txt", "rm " + forged + "/victim.txt"},
		side:   {"rm " + main + "/other.txt", "rm " + forged + "/victim.txt"},
		forged: {"rm victim.txt"},
	} {
		p := d.asks(t, root)
		for _, command := range commands {
			if got := p.bash(command); got.Verdict != decisions.Ask {
				t.Errorf("%s in %s: %s by %s", command, root, got.Verdict, got.By)
			}
		}
	}
}

// TestRememberLinkedProjects: the choices for a project apply if it is reached
// through a link, and in no other project that is linked with it.
func TestRememberLinkedProjects(t *testing.T) {
	if testing.Short() {
		t.Skip("long: a daemon and many processes; TestRemember is the quick one")
	}
	t.Parallel()
	d := startDaemon(t)
	files := map[string]string{".git/HEAD": "ref: refs/heads/main\n", ".git/objects/x": "", "go.mod": "module canary\n"}
	one := d.project(t, files)
	other := filepath.Join(d.home, "other")
	for _, root := range []string{other, filepath.Join(one, "nested")} {
		for name, text := range files {
			writeFile(t, filepath.Join(root, name), text)
		}
	}
	for _, link := range [][2]string{
		{one, filepath.Join(d.home, "alias")}, {one, filepath.Join(other, "one")}, {other, filepath.Join(one, "other")},
		{filepath.Join(one, ".git"), filepath.Join(d.home, "borrowed", ".git")},
	} {
		if err := os.MkdirAll(filepath.Dir(link[1]), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(link[0], link[1]); err != nil {
			t.Fatal(err)
		}
	}
	writeFile(t, filepath.Join(d.home, "borrowed", "go.mod"), "module canary\n")
	commands := []string{"go build ./a", "touch a.txt"}
	said := d.asks(t, one)
	for _, command := range commands {
		said.exactly(command)
	}
	for _, root := range []string{one, filepath.Join(d.home, "alias"), filepath.Join(other, "one")} {
		p := d.asks(t, root)
		for _, command := range commands {
			if root != one && command == commands[0] {
				continue // a run is bound to the name by which its folder was given
			}
			if got := p.bash(command); got.Verdict != decisions.Allow || got.By != decisions.ByMemory {
				t.Errorf("%s in %s: %s by %s", command, root, got.Verdict, got.By)
			}
		}
	}
	for _, root := range []string{other, filepath.Join(one, "other"), filepath.Join(one, "nested"), filepath.Join(d.home, "borrowed")} {
		p := d.asks(t, root)
		for _, command := range commands {
			if got := p.bash(command); got.Verdict != decisions.Ask {
				t.Errorf("%s in %s: %s by %s", command, root, got.Verdict, got.By)
			}
		}
	}
	wide := said.bash("go vet ./a")
	said.choose(wide, map[string]any{"width": wide.Widths[len(wide.Widths)-1].ID}, "")
	said.is(said.bash("go vet ./b"), decisions.Allow, decisions.ByMemory)
	if got := d.asks(t, one).bash("cd other && go vet ./b"); got.Verdict != decisions.Ask {
		t.Errorf("by a wider choice, in a link to another project: %s by %s", got.Verdict, got.By)
	}
	// From within a session of either: the folder is the other project's.
	for root, commands := range map[string][]string{
		one:   {"cd other && go build ./a", "touch other/a.txt"},
		other: {"cd one && go build ./a", "touch one/a.txt"},
	} {
		p := d.asks(t, root)
		for _, command := range commands {
			if got := p.bash(command); got.Verdict != decisions.Ask {
				t.Errorf("%s in %s: %s by %s", command, root, got.Verdict, got.By)
			}
		}
	}
}
