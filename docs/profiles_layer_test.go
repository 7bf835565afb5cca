package docs

import (
	"strings"
	"testing"

	"github.com/permd/permd/policy"
	"github.com/permd/permd/rego"
)

// TestProfilesExample decides the calls of the table with and without the file of profiles
// above it.
func TestProfilesExample(t *testing.T) {
	doc := read(t, "policy.md")
	files := map[string]string{}
	for _, b := range doc.blocks {
		if _, name, ok := strings.Cut(b.info, " "); ok && name == "profiles.yaml" {
			files[name] = b.text
		}
	}
	profiles, err := shippedProfiles()
	if err != nil {
		t.Fatal(err)
	}
	dir := folder(t, files)
	report, err := policy.Folder{Dir: dir, Layer: "user", Schema: rego.InputSchema(), Profiles: profiles}.Check(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(report.Problems) > 0 || len(report.Agents) != 1 {
		t.Errorf("the check says %+v", report)
	}
	without, with := newWorld(t, rules{}), newWorld(t, rules{user: dir})
	tables := doc.find("call of teambot", "without the file", "with it", "because")
	if len(tables) != 1 || len(tables[0].rows) < 5 {
		t.Fatalf("there are %d tables", len(tables))
	}
	differ := 0
	for _, row := range tables[0].rows {
		text := spans(row[0])[0]
		for i, w := range []*world{without, with} {
			call := w.call(t, text)
			call.Agent.Name, call.Agent.Version = "teambot", ""
			if got := w.decide(t, call); string(got.Verdict) != row[1+i] {
				t.Errorf("%s, %s: it is %s (%s), want %s", text, tables[0].header[1+i], got.Verdict, got.Reason, row[1+i])
			}
		}
		if row[1] != row[2] {
			differ++
		}
	}
	if differ < 3 {
		t.Errorf("only %d calls are decided otherwise", differ)
	}
}

// TestUsualNames: the table of usual names has those that permd understands.
func TestUsualNames(t *testing.T) {
	doc := read(t, "policy.md")
	tables := doc.find("tools", "do", "members")
	if len(tables) != 1 {
		t.Fatalf("there are %d tables", len(tables))
	}
	names := 0
	for _, row := range tables[0].rows {
		for _, name := range spans(row[0]) {
			names++
			if !strings.Contains(string(rego.Profiles()), name) {
				t.Errorf("%s has no usual meaning", name)
			}
		}
	}
	if names < 20 {
		t.Errorf("there are %d names", names)
	}
}
