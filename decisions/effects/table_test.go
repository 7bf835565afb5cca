package effects

import (
	"strings"
	"testing"
)

func TestParseTableErrors(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"unknown key":            {"programs: [{names: [x], readonyl: true}]", "readonyl"},
		"no name":                {"programs: [{readonly: true}]", "no names"},
		"name with a slash":      {"programs: [{names: [a/b]}]", "one word"},
		"an alias of nothing":    {"programs: [{names: [x], aliases: {y: z}}]", "no name of the program"},
		"an alias twice":         {"programs: [{names: [x, y], aliases: {y: x}}]", "described twice"},
		"twice":                  {"programs: [{names: [x]}, {names: [y, x]}]", "described twice"},
		"unknown kind of option": {"programs: [{names: [x], options: {burns: [-x]}}]", "burns"},
		"option twice":           {"programs: [{names: [x], options: {harmless: [-x], writes: [-x=]}}]", "described twice"},
		"option without a name":  {"programs: [{names: [x], options: {harmless: ['']}}]", "without a name"},
		"unknown operand":        {"programs: [{names: [x], operands: [burns]}]", "burns"},
		"operand with a typo":    {"programs: [{names: [x], operands: [text unles -x]}]", "expected unless"},
		"empty operand":          {"programs: [{names: [x], operands: ['']}]", "empty operand"},
		"unknown style":          {"programs: [{names: [x], style: dos}]", "dos"},
		"unknown interpreter":    {"programs: [{names: [x], interpreter: yes it is}]", "interpreter"},
		"unknown group":          {"programs: [{names: [x], include: [y]}]", "unknown group"},
		"unknown effect":         {"programs: [{names: [x], inherent: [burns it]}]", "burns"},
		"short effect":           {"programs: [{names: [x], inherent: [reads]}]", "kind and a value"},
		"effect with a typo":     {"programs: [{names: [x], implicit: [reads . when -x]}]", "expected with"},
		"bad sub-command":        {"programs: [{names: [x], sub: [{names: [y], style: dos}]}]", `sub-command "y"`},
		"sub-command twice":      {"programs: [{names: [x], sub: [{names: [y]}, {names: [y]}]}]", "described twice"},
		"two documents":          {"programs: []\n---\nprograms: []", "more than one document"},
		"not YAML":               {"\t", "reading program table bad.yaml"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ParseTable(map[string][]byte{"bad.yaml": []byte(c.text)})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error is %v, want one with %q", err, c.want)
			}
		})
	}
}

func TestParseTableAcrossFiles(t *testing.T) {
	_, err := ParseTable(map[string][]byte{
		"a.yaml": []byte("programs: [{names: [x]}]"),
		"b.yaml": []byte("programs: [{names: [x]}]"),
	})
	if err == nil || !strings.Contains(err.Error(), "b.yaml") {
		t.Errorf("error is %v, want one that names the second file", err)
	}
	table, err := ParseTable(map[string][]byte{
		"a.yaml":     []byte("programs: [{names: [x], include: [common]}]"),
		"z.yaml":     []byte("groups: {common: {writes: ['-o= --output=']}}"),
		"empty.yaml": nil,
	})
	if err != nil {
		t.Fatal(err)
	}
	if o := table.program("x").options["-o"]; o == nil || o.canonical != "--output" || o.act != actWrites {
		t.Errorf("option is %+v", o)
	}
}

func TestOptionSpellings(t *testing.T) {
	table, err := ParseTable(map[string][]byte{"a.yaml": []byte(
		`programs: [{names: [x], abbreviations: true, options: {harmless: ["-c", "-i[=] --in-place[=]", "-n= --lines="]}}]`)})
	if err != nil {
		t.Fatal(err)
	}
	p := table.program("x")
	for spelling, want := range map[string]option{
		"-c":         {canonical: "-c", arity: arityNone},
		"-i":         {canonical: "--in-place", arity: arityOptional},
		"--in-place": {canonical: "--in-place", arity: arityOptional},
		"-n":         {canonical: "--lines", arity: arityRequired},
		"--li":       {canonical: "--lines", arity: arityRequired},
	} {
		found, _ := p.find(spelling)
		if len(found) != 1 || *found[0] != want {
			t.Errorf("%s is %+v, want %+v", spelling, found, want)
		}
	}
	if found, _ := p.find("--x"); found != nil {
		t.Errorf("--x is %+v", found)
	}
}

// TestShippedTable checks what no parser can: that the shipped data keeps the
// promises it is read with.
func TestShippedTable(t *testing.T) {
	table := shippedTable(t)
	for name, p := range table.programs {
		checkProgram(t, name, p)
	}
	for _, name := range []string{"PATH", "HOME", "PAGER", "EDITOR", "BASH_ENV", "ENV", "LD_PRELOAD", "IFS", "GIT_PAGER", "GIT_SSH_COMMAND", "NODE_OPTIONS"} {
		for _, value := range []string{"", "x", "/x", "./x"} {
			if table.harmlessAssignment(name, value) {
				t.Errorf("%s=%s counts as harmless", name, value)
			}
		}
	}
	for assignment, want := range map[string]bool{
		"LC_ALL=C.UTF-8": true, "TZ=Europe/Berlin": true, "CI=1": true, "GIT_PAGER=cat": true, "PAGER=cat": true, "GIT_EDITOR=true": true,
		// These name files to read, or a program to run.
		"LC_ALL=/tmp/x": false, "LANGUAGE=../x": false, "TZ=:/etc/shadow": false, "TERM=../x": false, "PAGER=cat x": false, "GIT_PAGER=./cat": false,
	} {
		name, value, _ := strings.Cut(assignment, "=")
		if table.harmlessAssignment(name, value) != want {
			t.Errorf("%s counts as harmless: %v", assignment, !want)
		}
	}
}

func checkProgram(t *testing.T, name string, p *program) {
	t.Helper()
	for spelling, o := range p.options {
		if o.arity == arityNone {
			switch o.act {
			case actText, actChanges, actUnknown, actDownload, actDeletes, actReads:
			default:
				t.Errorf("%s %s does something with a value that it does not take", name, spelling)
			}
		}
	}
	if p.readonly && p.interpreter != "" {
		t.Errorf("%s is an interpreter and read-only", name)
	}
	if p.readonly && p.wrapper != nil {
		t.Errorf("%s is a wrapper and read-only", name)
	}
	for _, flags := range [][]string{p.recursiveWith, p.writesWith, p.readonlyWith, p.disturbsWith} {
		for _, f := range flags {
			if o := p.options[f]; o == nil || o.canonical != f {
				t.Errorf("%s: %s is no canonical option", name, f)
			}
		}
	}
	for i := range p.operands {
		for _, f := range p.operands[i].unless {
			if o := p.options[f]; o == nil || o.canonical != f {
				t.Errorf("%s: %s is no canonical option", name, f)
			}
		}
	}
	for sub, inner := range p.subs {
		checkProgram(t, name+" "+sub, inner)
	}
}
