package input

import "github.com/open-policy-agent/opa/v1/ast"

// PartsOf returns the parts of the input that compiled rules refer to. In doubt
// a part counts as needed: a missing part would be undefined, and an undefined
// deny is an allow.
func PartsOf(c *ast.Compiler) Parts {
	var need Parts
	for _, m := range c.Modules {
		for _, r := range m.Rules {
			need |= PartsIn(r)
		}
	}
	return need
}

func PartsIn(x any) Parts {
	var need Parts
	ast.WalkTerms(x, func(t *ast.Term) bool {
		switch v := t.Value.(type) {
		case ast.Var:
			if v.Equal(ast.InputRootDocument.Value) {
				need = AllParts // the whole document is passed on
			}
		case ast.Ref:
			if !v[0].Equal(ast.InputRootDocument) {
				return false
			}
			need |= PartOf(v)
			for _, t := range v[1:] {
				need |= PartsIn(t)
			}
			return true // its head is the variable input, already handled
		}
		return false
	})
	return need
}

func PartOf(ref ast.Ref) Parts {
	name := func(i int) string {
		if i < len(ref) {
			if s, ok := ref[i].Value.(ast.String); ok {
				return string(s)
			}
		}
		return "" // no fixed member: only known at run time, or all of them
	}
	top := name(1)
	need, ok := topParts[top]
	switch {
	case !ok:
		return AllParts
	case top == "call":
		if part, ok := callParts[name(2)]; ok {
			return part
		}
		return partCall | PartRaw
	case top != "effect":
		return need
	}
	field, ok := fieldParts[name(2)]
	if !ok {
		return effectPart
	}
	if part, ok := byParts[name(3)]; ok && field == partBy {
		return part
	}
	return field
}
