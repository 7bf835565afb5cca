package docs

import (
	"strings"
	"testing"

	"github.com/permd/permd/decisions/effects/programs"
	"github.com/permd/permd/policy"
	"github.com/permd/permd/rego"
)

// TestProgramsExample decides the calls of the table with and without the file
// of programs above it.
func TestProgramsExample(t *testing.T) {
	doc := read(t, "policy.md")
	files := map[string]string{}
	for _, b := range doc.blocks {
		if _, name, ok := strings.Cut(b.info, " "); ok && strings.HasPrefix(name, "programs/") {
			files[name] = b.text
		}
	}
	if len(files) != 1 {
		t.Fatalf("there are %d files of programs", len(files))
	}
	table, err := programs.Shipped()
	if err != nil {
		t.Fatal(err)
	}
	dir := folder(t, files)
	report, err := policy.Folder{Dir: dir, Layer: "user", Schema: rego.InputSchema(), Table: table}.Check(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(report.Problems) > 0 || len(report.Programs) != 2 {
		t.Errorf("the check says %+v", report)
	}
	without, with := newWorld(t, rules{}), newWorld(t, rules{user: dir})
	tables := doc.find("call", "without it", "with it", "because")
	if len(tables) != 1 || len(tables[0].rows) < 5 {
		t.Fatalf("there are %d tables", len(tables))
	}
	differ := 0
	for _, row := range tables[0].rows {
		call := spans(row[0])[0]
		for i, w := range []*world{without, with} {
			if got := w.decide(t, w.call(t, call)); string(got.Verdict) != row[1+i] {
				t.Errorf("%s, %s: it is %s (%s), want %s", call, tables[0].header[1+i], got.Verdict, got.Reason, row[1+i])
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
