package effects

import (
	"slices"
	"strings"
)

// DeclaredTool is a tool of an agent without a profile, as its client declares it: what
// each member of its input means, in words of the profiles.
type DeclaredTool struct {
	Name    string
	Members []DeclaredMember // sorted by name
}

// DeclaredMember is a member of a declared tool's input.
type DeclaredMember struct{ Name, Means string }

// Equal reports whether two declarations say the same.
func (d *DeclaredTool) Equal(o *DeclaredTool) bool {
	if d == nil || o == nil {
		return d == o
	}
	return d.Name == o.Name && slices.Equal(d.Members, o.Members)
}

// RunsShell reports whether the tool runs shell text. Nothing is known of that shell: it
// may stay alive, so that a cd changes what later relative paths mean.
func (d *DeclaredTool) RunsShell() bool {
	return d != nil && slices.ContainsFunc(d.Members, func(m DeclaredMember) bool { return m.Means == "command" || m.Means == "commands" })
}

// String returns the declaration on one line: edit(file: write, text: harmless). It is ""
// for nil.
func (d *DeclaredTool) String() string {
	if d == nil {
		return ""
	}
	var b strings.Builder
	b.WriteString(d.Name)
	sep := "("
	for _, m := range d.Members {
		b.WriteString(sep + m.Name + ": " + m.Means)
		sep = ", "
	}
	b.WriteByte(')')
	return b.String()
}
