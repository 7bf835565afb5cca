package imports

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/pattern"
	"github.com/permd/permd/policy/list"
)

// Rules are rendered as a list, and as Rego for what a list cannot express.

const (
	listFile = "rules.yaml"
	regoFile = "imported.rego"
)

func (t *translator) header(b *strings.Builder) {
	fmt.Fprintf(b, "# Made by permd import %s.\n", t.tool)
	for _, f := range t.im.Read {
		fmt.Fprintf(b, "# From %s\n", comment(f.File))
	}
}

// inProject turns a condition on a path relative to the project's root into one
// relative to that folder, which may be inside the project that permd knows.
func inProject(b, project string) string {
	return strings.ReplaceAll(b, "input.effect.project_path", fmt.Sprintf("trim_prefix(input.effect.path, %s)", quote(project+"/")))
}

// within returns the condition under which a deny or an ask of a project
// applies: in the project, in projects inside it, and where it is part of the
// project that permd knows.
func (t *translator) within(out *output, project string) string {
	i := slices.Index(out.projects, project)
	if i < 0 {
		i = len(out.projects)
		out.projects = append(out.projects, project)
	}
	return fmt.Sprintf("imported_in_%s_%d", out.id, i)
}

// places writes the conditions that within used.
func (out *output) places() string {
	var b strings.Builder
	for i, p := range out.projects {
		fmt.Fprintf(&b, `
# In the project %[1]s, within it, or in one around it.
%[2]s if input.project.root == %[3]s

%[2]s if startswith(input.call.cwd, %[4]s)

%[2]s if {
	input.project.root != ""
	startswith(%[4]s, concat("", [input.project.root, "/"]))
}
`, comment(p), fmt.Sprintf("imported_in_%s_%d", out.id, i), quote(p), quote(p+"/"))
	}
	return b.String()
}

// projectTest returns the condition for an allow that applies to one project only.
func projectTest(project string) string { return "input.project.root == " + quote(project) }

// files renders the collected rules: lists that apply everywhere as a list, and
// everything else as Rego.
func (t *translator) files(out *output) error {
	if list := t.yaml(out, ""); list != "" {
		t.im.Files = append(t.im.Files, Out{listFile, list})
	}
	var b strings.Builder
	if rego := out.rego.String(); rego != "" {
		b.WriteString(t.helpers(out, rego))
		b.WriteString(rego)
	}
	var projects []string
	for _, e := range out.entries {
		if e.project != "" && !slices.Contains(projects, e.project) {
			projects = append(projects, e.project)
		}
	}
	for _, project := range projects {
		if err := t.bind(&b, out, project, t.yaml(out, project)); err != nil {
			return err
		}
	}
	b.WriteString(out.places())
	if b.Len() > 0 {
		var head strings.Builder
		t.header(&head)
		t.im.Files = append(t.im.Files, Out{regoFile, head.String() + "package permd.user\n\nimport rego.v2\n" + b.String()})
	}
	return nil
}

// helpers returns the rules that the conditions use.
func (t *translator) helpers(out *output, rego string) string {
	var b strings.Builder
	if name := textsName + "_" + out.id; strings.Contains(rego, name) {
		fmt.Fprintf(&b, `
# What runs, as one text: by its name, by its path, and by the last part of it.
%[1]s contains concat(" ", array.concat([input.effect.program], input.effect.args)) if {
	input.effect.kind == "run"
}

%[1]s contains concat(" ", array.concat([input.effect.executable], input.effect.args)) if {
	input.effect.kind == "run"
	input.effect.executable != ""
}

%[1]s contains concat(" ", array.concat([regex.replace(input.effect.program, "^.*/", "")], input.effect.args)) if {
	input.effect.kind == "run"
}
`, name)
	}
	if name := writtenName + "_" + out.id; strings.Contains(rego, name) {
		fmt.Fprintf(&b, `
# What runs, as it was written.
%[1]s contains concat(" ", array.concat([input.effect.program], input.effect.args)) if {
	input.effect.kind == "run"
	input.effect.executable == ""
}

%[1]s contains concat(" ", array.concat([input.effect.executable], input.effect.args)) if {
	input.effect.kind == "run"
	input.effect.executable != ""
}
`, name)
	}
	if name := lineName + "_" + out.id; strings.Contains(rego, name) {
		fmt.Fprintf(&b, `
# The whole line, where the agent sends it as one text.
%s := line if {
	line := input.call.raw.command
	is_string(line)
}
`, name)
	}
	return b.String()
}

var sets = []decisions.Set{decisions.SetDeny, decisions.SetAsk, decisions.SetAllow}

// yaml renders the list for a project, or for everywhere; "" if it is empty.
func (t *translator) yaml(out *output, project string) string {
	if !slices.ContainsFunc(out.entries, func(e entry) bool { return e.project == project }) {
		return ""
	}
	var b strings.Builder
	if project == "" {
		t.header(&b)
	}
	for _, set := range sets {
		first := true
		for _, kind := range pattern.Kinds {
			any := false
			for _, e := range out.entries {
				if e.set != set || e.kind != kind || e.project != project {
					continue
				}
				if first {
					fmt.Fprintf(&b, "%s:\n", set)
					first = false
				}
				if !any {
					fmt.Fprintf(&b, "  %s:\n", kind)
					any = true
				}
				fmt.Fprintf(&b, "    - %s # %s\n", quote(e.line), comment(e.from))
			}
		}
	}
	return b.String()
}

// bind renders a list as Rego rules that apply to the project only.
func (t *translator) bind(b *strings.Builder, out *output, project, rules string) error {
	exported, err := list.Export(string(decisions.User), listFile, []byte(rules), t.o.Table)
	if err != nil {
		return fmt.Errorf("writing the list as Rego: %w", err)
	}
	_, text, ok := strings.Cut(exported, "import rego.v2\n")
	if !ok {
		return errors.New("writing the list as Rego: it has no import")
	}
	fmt.Fprintf(b, "\n# In the project %s alone, as a list:\n#\n", comment(project))
	for l := range strings.Lines(rules) {
		b.WriteString("#   " + l)
	}
	for l := range strings.Lines(text) {
		b.WriteString(l)
		for _, set := range sets {
			if !strings.HasPrefix(l, string(set)+" contains ") {
				continue
			}
			if !strings.HasSuffix(l, " if {\n") {
				return fmt.Errorf("binding rules to the project: %q has no body", l)
			}
			condition := projectTest(project)
			if set != decisions.SetAllow {
				condition = t.within(out, project)
			}
			b.WriteString("\t" + condition + "\n")
		}
	}
	return nil
}
