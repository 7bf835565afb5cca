package main

import (
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// TestOTCPage runs the transcript of docs/tool-servers.md with its configuration.
func TestOTCPage(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it goes through a page; TestOTCGateway is the quick one")
	}
	t.Parallel()
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("curl is not installed")
	}
	_, page, ok := strings.Cut(readPage(t, "../../docs/tool-servers.md"), "\n### permd otc\n")
	blocks := pageBlocks(page, "console")
	if !ok || len(blocks) != 1 {
		t.Fatalf("the page has %d transcripts", len(blocks))
	}
	g := startOTCGate(t)
	helper, id, ran := "", "", 0
	for _, step := range strings.Split("\n"+blocks[0], "\n$ ")[1:] {
		command, want, _ := strings.Cut(step, "\n")
		switch {
		case strings.HasPrefix(command, "permd otc "):
			continue // it is started already
		case strings.HasPrefix(command, "otc() "):
			helper = command + "\n"
			continue
		case strings.HasPrefix(command, "permd allow "):
			g.person(t, "allow", id)
			continue
		}
		got, err := g.d.shell(g.d.home, helper+strings.ReplaceAll(command, "127.0.0.1:7411", g.at))
		pattern := strings.ReplaceAll(regexp.QuoteMeta(strings.ReplaceAll(strings.TrimSpace(want), "127.0.0.1:7411", g.at)), "…", ".*")
		if err != nil || !regexp.MustCompile("^"+pattern+"$").MatchString(strings.TrimSpace(got)) {
			t.Errorf("%s\nprints %s, want %s: %v", command, got, want, err)
		}
		if ran++; ran == 1 {
			id = decisionOf(t, got)
		}
	}
	if ran != 2 {
		t.Errorf("%d commands were run", ran)
	}
}
