//go:build cgo

package remember_test

import (
	"cmp"
	"testing"

	"github.com/permd/permd/decisions"
)

// TestRejectFromElsewhere: a reject for a project denies what reaches its files, its
// scripts and runs in its folder from other sessions: in another project, in none, or
// in a repository inside the project. A rule allows everything.
func TestRejectFromElsewhere(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"/p/victim": "x", "/p/tool.sh": "#!/bin/sh\n", "/p/Makefile": "ship:\n\ttrue\n",
		"/p/inner/.git/HEAD": "ref: refs/heads/main\n", "/p/inner/victim": "x", "/p/inner/Makefile": "ship:\n\ttrue\n",
		"/q/victim": "x", "/q/tool.sh": "#!/bin/sh\n", "/q/Makefile": "ship:\n\ttrue\n",
	}
	type call struct{ cwd, command string }
	for _, c := range []struct {
		rejected          string
		denied, untouched []call
		at                string // the project, /p for ""
	}{
		{
			"make ship",
			[]call{{"/p", "cd inner && make ship"}, {"/p", "make -C inner ship"}, {"/p/inner", "make ship"}},
			[]call{{"/p", "make ship"}, {"/q", "make ship"}},
			"/p/inner",
		},
		{
			"rm victim",
			[]call{{"/q", "rm /p/victim"}, {"/q", "cd ../p && rm victim"}, {"/home/ada", "rm /p/victim"}, {"/", "rm p/victim"}, {"/p/inner", "rm ../victim"}, {"/q", "rm -r /p"}, {"/", "find p -delete"}},
			[]call{{"/q", "rm victim"}, {"/p/inner", "rm victim"}, {"/q", "cat /p/victim"}, {"/q", "rm -r /q"}},
			"",
		},
		{
			"./tool.sh",
			[]call{{"/q", "/p/tool.sh"}, {"/q", "sh /p/tool.sh"}, {"/p/inner", "../tool.sh"}, {"/p/inner", "cd .. && ./tool.sh"}, {"/home/ada", "/p/tool.sh"}},
			[]call{{"/q", "./tool.sh"}, {"/q", "sh tool.sh"}},
			"",
		},
		{
			"make ship",
			[]call{{"/q", "cd /p && make ship"}, {"/p/inner", "cd .. && make ship"}},
			[]call{{"/q", "make ship"}, {"/p/inner", "make ship"}},
			"",
		},
	} {
		a, allow := rejecting(t, files)
		kept := a.reject(t, a.in(t, cmp.Or(c.at, "/p"), c.rejected), "project")
		allow(anything)
		for _, d := range c.denied {
			wantVerdict(t, a.in(t, d.cwd, d.command), decisions.Deny, c.rejected+" rejected, in "+d.cwd+": "+d.command)
		}
		for _, d := range c.untouched {
			wantVerdict(t, a.in(t, d.cwd, d.command), decisions.Allow, c.rejected+" rejected, in "+d.cwd+": "+d.command)
		}
		if _, err := a.store.Forget(t.Context(), kept[0].ID); err != nil {
			t.Fatal(err)
		}
		for _, d := range c.denied {
			if got := a.in(t, d.cwd, d.command); got.By == decisions.ByMemory {
				t.Errorf("%s is forgotten, in %s %s: %s", c.rejected, d.cwd, d.command, got.Reason)
			}
		}
	}
}

// TestAllowFromElsewhere: an allow for a project does not reach calls from elsewhere.
func TestAllowFromElsewhere(t *testing.T) {
	t.Parallel()
	a, _ := rejecting(t, map[string]string{"/p/victim": "x", "/p/inner/.git/HEAD": "ref: refs/heads/main\n"})
	d := a.in(t, "/p", "rm victim")
	for _, width := range d.Widths {
		kept, err := a.store.Keep(t.Context(), decisions.Answer{DecisionID: d.ID, Verdict: decisions.Allow, Offer: d.Offer, Width: width.ID, Scope: "project"})
		if err != nil || len(kept) == 0 {
			t.Fatalf("%+v, %v", kept, err)
		}
	}
	wantVerdict(t, a.in(t, "/p", "rm victim"), decisions.Allow, "the call itself")
	for cwd, command := range map[string]string{"/q": "rm /p/victim", "/home/ada": "rm /p/victim", "/p/inner": "rm ../victim"} {
		wantVerdict(t, a.in(t, cwd, command), decisions.Ask, cwd)
	}
}

// TestRejectInWorkingTree: a reject for a project holds in each working tree of its
// repository, whichever session the call comes from, and wherever the person said it. A
// rule allows everything.
func TestRejectInWorkingTree(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"/p/.git/HEAD": "ref: refs/heads/main\n", "/p/.git/objects/info/x": "",
		"/p/.git/worktrees/w/gitdir": "/w/.git\n", "/p/.git/worktrees/w/commondir": "../..\n", "/w/.git": "gitdir: /p/.git/worktrees/w\n",
		// A folder that only says so of itself is no working tree of /p.
		"/fake/.git": "gitdir: /p/.git/worktrees/w\n",
	}
	for _, root := range []string{"/p", "/w", "/q", "/fake"} {
		files[root+"/victim"], files[root+"/tool.sh"], files[root+"/Makefile"] = "x", "#!/bin/sh\n", "ship:\n\ttrue\n"
	}
	type call struct{ cwd, command string }
	for _, c := range []struct {
		rejected          string
		denied, untouched []call
	}{
		{
			"rm victim",
			[]call{{"/q", "rm /w/victim"}, {"/q", "cd /w && rm victim"}, {"/home/ada", "rm /w/victim"}, {"/q", "rm -r /w"}, {"/q", "rm /p/victim"}, {"/p", "rm /w/victim"}, {"/w", "rm victim"}},
			[]call{{"/q", "rm victim"}, {"/q", "rm /fake/victim"}, {"/q", "rm /w/Makefile"}, {"/q", "cat /w/victim"}},
		},
		{
			"./tool.sh",
			[]call{{"/q", "/w/tool.sh"}, {"/q", "sh /w/tool.sh"}, {"/home/ada", "/w/tool.sh"}, {"/p", "/w/tool.sh"}, {"/w", "./tool.sh"}},
			[]call{{"/q", "./tool.sh"}, {"/q", "/fake/tool.sh"}},
		},
		{"make ship", []call{{"/q", "cd /w && make ship"}, {"/home/ada", "make -C /w ship"}}, []call{{"/q", "make ship"}, {"/q", "cd /fake && make ship"}}},
	} {
		for _, where := range []string{"/p", "/w"} {
			a, allow := rejecting(t, files)
			a.reject(t, a.in(t, where, c.rejected), "project")
			allow(anything)
			for _, d := range c.denied {
				wantVerdict(t, a.in(t, d.cwd, d.command), decisions.Deny, c.rejected+" rejected in "+where+", in "+d.cwd+": "+d.command)
			}
			for _, d := range c.untouched {
				wantVerdict(t, a.in(t, d.cwd, d.command), decisions.Allow, c.rejected+" rejected in "+where+", in "+d.cwd+": "+d.command)
			}
		}
	}
}
