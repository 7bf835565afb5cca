package programs

import "strings"

// shell reads what the shell itself understands.
func (p *tableParser) shell(e *shellEntry) {
	t := &p.table.Shell
	for _, name := range e.HarmlessVariables {
		if head, ok := strings.CutSuffix(name, "*"); ok {
			t.harmlessHead = append(t.harmlessHead, head)
		} else {
			t.harmlessEnv[name] = true
		}
	}
	for _, name := range e.ProgramVariables {
		if tail, ok := strings.CutPrefix(name, "*"); ok {
			t.programTails = append(t.programTails, tail)
		} else {
			t.programVars[name] = true
		}
	}
	for set, list := range map[*map[string]bool][]string{
		&t.Nothing: e.Nothing, &t.Numbers: e.Numbers, &t.State: e.State, &t.Network: e.Network, &t.folders: e.SystemFolders, &t.DataInput: e.DataInput,
	} {
		for _, word := range list {
			(*set)[word] = true
		}
	}
	t.plainSuffix = append(t.plainSuffix, e.PlainSuffixes...)
}
