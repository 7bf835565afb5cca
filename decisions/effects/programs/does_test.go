package programs

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

// entriesOf calls each for every entry of the table with its names, aliases among them,
// and the words before them.
func entriesOf(in map[string]*Program, before string, each func(before string, names []string, p *Program)) {
	names := map[*Program][]string{}
	for _, name := range slices.Sorted(maps.Keys(in)) {
		names[in[name]] = append(names[in[name]], name)
	}
	for p, list := range names {
		each(before, list, p)
		heads := map[string]*Program{}
		maps.Copy(heads, p.Subs)
		for _, h := range p.subHeads {
			heads[h.head+"*"] = h.sub
		}
		entriesOf(heads, before+list[0]+" ", each)
	}
}

// TestEachChangeHasWords checks that the table says in words what each program and
// sub-command does that changes something, whatever its options are.
func TestEachChangeHasWords(t *testing.T) {
	none := func(d *Description) bool { return !strings.Contains(d.Words, "{") }
	without := 0
	entriesOf(shipped(t).programs, "", func(before string, names []string, p *Program) {
		for _, wrong := range p.brokenDoes() {
			t.Errorf("%s%s: %s", before, names[0], wrong)
		}
		for _, name := range names {
			var changes [][]string
			if p.Readonly {
				for _, o := range p.Options {
					if o.Role == RoleChanges {
						changes = append(changes, []string{o.Canonical})
					}
				}
			}
			switch {
			case !p.Readonly && (p.SubOptional || len(p.Subs)+len(p.subHeads) == 0) && (p.Wrapper == nil || !p.Wrapper.Transparent),
				p.Readonly && p.ReadonlyOperands >= 0:
				changes = append(changes, nil)
			}
			for _, flags := range changes {
				if p.Describe(name, flags, none) == nil {
					t.Errorf("%s%s %v: the table does not say in words what it does", before, name, flags)
					without++
				}
			}
		}
		for _, d := range p.Does {
			if !p.Readonly && slices.Contains(strings.Fields(d.Words), "only") {
				t.Errorf("%s%s: %q, but it changes something", before, names[0], d.Words)
			}
			if i := slices.IndexFunc(p.Does, func(o Description) bool { return len(o.names)+len(o.options) == 0 && none(&o) }); i >= 0 && i < len(p.Does)-1 {
				t.Errorf("%s%s: what follows %q is never shown", before, names[0], p.Does[i].Words)
			}
		}
	})
	if without > 0 {
		t.Errorf("%d are without words", without)
	}
}

// TestDoes reads the lines of the key.
func TestDoes(t *testing.T) {
	table, err := ParseTable(map[string][]byte{"t.yaml": []byte(`programs:
  - names: [one, two]
    aliases: {uno: one}
    options: {changes: ["-f --force"]}
    does: ["two --force: forces two", "--force: forces one", "two: does {operand}", "does things"]
`)})
	if err != nil {
		t.Fatal(err)
	}
	all := func(*Description) bool { return true }
	plain := func(d *Description) bool { return !strings.Contains(d.Words, "{") }
	for _, c := range []struct {
		name   string
		flags  []string
		usable func(*Description) bool
		want   string
	}{
		{"one", nil, all, "does things"},
		{"uno", []string{"--force"}, all, "forces one"},
		{"two", []string{"--force", "--other"}, all, "forces two"},
		{"two", nil, all, "does {operand}"},
		{"two", nil, plain, "does things"},
	} {
		if d := table.Program("one").Describe(c.name, c.flags, c.usable); d == nil || d.Words != c.want {
			t.Errorf("%s %v: %v, want %q", c.name, c.flags, d, c.want)
		}
	}
	for _, line := range []string{
		"", " x", "x ", "a: b: c", ": x", "{x}", "{operand", "a\x07b", "a\u202eb", "a\nb", strings.Repeat("x", maxDoes+1),
	} {
		if _, err := descriptions([]textNode{{text: line}}); err == nil {
			t.Errorf("%q is accepted", line)
		}
	}
}
