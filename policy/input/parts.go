package input

import "github.com/open-policy-agent/opa/v1/ast"

// PartsOf returns the parts of the input that compiled rules refer to. In doubt
// a part counts as needed: a missing part would be undefined, and an undefined
// deny is an allow.
func PartsOf(c *ast.Compiler) Parts {
	var need Parts
	for _, m := range c.Modules {
		for _, r := range m.Rules {
			need = need.Union(PartsIn(r))
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
			need = need.Union(PartOf(v))
			for _, t := range v[1:] {
				need = need.Union(PartsIn(t))
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
	switch top := name(1); top {
	case "effect":
	case "call":
		if part, ok := callParts[name(2)]; ok {
			return only(part)
		}
		return partCall.Union(only(PartRaw))
	default:
		if part, ok := topParts[top]; ok {
			return only(part)
		}
		return AllParts
	}
	switch member := name(2); member {
	case "kind": // always built
		return Parts{}
	case "by":
		if part, ok := byParts[name(3)]; ok {
			return only(part)
		}
		return partBy
	default:
		if part, ok := fieldParts[member]; ok {
			return only(part)
		}
		return effectPart
	}
}
