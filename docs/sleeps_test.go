package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"slices"
	"testing"
)

// sleepers are the declarations in tests that may sleep, with the reason: what happens
// while they sleep is what they test. None of them waits for a condition.
var sleepers = map[string]string{
	"cmd/permd/acp_proxy_agent_test.go runAgent":     "an agent that does nothing until it is killed",
	"cmd/permd/acp_proxy_storm_peer_test.go speak":   "a peer that pauses at random",
	"cmd/permd/acp_proxy_storm_peer_test.go listen":  "a peer that pauses at random",
	"cmd/permd/acp_proxy_storm_test.go run":          "a daemon that is stopped at random",
	"cmd/permd/kill_test.go round":                   "a daemon that is killed at random",
	"decisions/fair_test.go Evaluate":                "in testing/synctest: rules that take a time",
	"internal/fairshare/fairshare_test.go request":   "in testing/synctest: calls that take a time",
	"internal/fairshare/random_test.go randomTurn":   "in testing/synctest: a request that takes random times",
	"socket/fair_test.go decide":                     "in testing/synctest: calls that take a time",
	"policy/reload_save_test.go pause":               "an editor that pauses while it writes",
	"policy/reload_load_test.go writers":             "a writer that pauses at random",
	"policy/reload_load_test.go TestReloadUnderLoad": "a writer that pauses at random",
}

// TestSleeps checks that tests wait for conditions with internal/eventually or sleep in
// testing/synctest. How long another process or goroutine takes depends on the machine
// and its load, so a test must not assume it.
func TestSleeps(t *testing.T) {
	found := map[string]bool{}
	m := module(t)
	for _, f := range m.files {
		if !f.isTest() {
			continue
		}
		for _, decl := range f.syntax.Decls {
			places := sleeps(decl)
			if len(places) == 0 {
				continue
			}
			key := f.path + " " + declared(decl)
			if found[key] = true; sleepers[key] == "" {
				t.Errorf("%s sleeps in %s: wait with internal/eventually, or use testing/synctest", m.at(places[0]), key)
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(sleepers)) {
		if !found[key] {
			t.Errorf("%s sleeps no longer: take it off the list", key)
		}
	}
}

// sleeps returns the places of a declaration that sleep on the real clock:
// time.Sleep, and a receive from time.After or time.Tick that nothing else can end.
func sleeps(decl ast.Decl) (places []token.Pos) {
	selector := func(n ast.Expr, pkg string, names ...string) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return false
		}
		sel, ok := call.Fun.(*ast.SelectorExpr)
		if !ok {
			return false
		}
		x, ok := sel.X.(*ast.Ident)
		return ok && x.Name == pkg && slices.Contains(names, sel.Sel.Name)
	}
	fake, comms := false, map[ast.Stmt]bool{}
	ast.Inspect(decl, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			fake = fake || selector(n, "synctest", "Test")
			if selector(n, "time", "Sleep") {
				places = append(places, n.Pos())
			}
		case *ast.CommClause:
			comms[n.Comm] = true // one of several channels
		case *ast.ExprStmt:
			if recv, ok := n.X.(*ast.UnaryExpr); ok && !comms[n] && recv.Op == token.ARROW && selector(recv.X, "time", "After", "Tick") {
				places = append(places, n.Pos())
			}
		}
		return true
	})
	if fake {
		return nil
	}
	return places
}

// declared returns the name of a function, method or variable.
func declared(decl ast.Decl) string {
	switch d := decl.(type) {
	case *ast.FuncDecl:
		return d.Name.Name
	case *ast.GenDecl:
		if v, ok := d.Specs[0].(*ast.ValueSpec); ok {
			return v.Names[0].Name
		}
	}
	return ""
}

// TestSleepsAreFound tests the function sleeps.
func TestSleepsAreFound(t *testing.T) {
	for body, want := range map[string]int{
		"time.Sleep(time.Second)":                            1,
		"for !ok() { time.Sleep(time.Millisecond) }":         1,
		"<-time.After(time.Second)":                          1,
		"do(func() { time.Sleep(1); <-time.Tick(1) })":       2,
		"select { case <-time.After(1): case <-done: }":      0,
		"eventually.Holds(t, \"it ends\", ended)":            0,
		"synctest.Test(t, func() { time.Sleep(time.Hour) })": 0,
	} {
		file, err := parser.ParseFile(token.NewFileSet(), "a_test.go", "package a\nfunc f() { "+body+" }", 0)
		if err != nil {
			t.Fatal(err)
		}
		if got := len(sleeps(file.Decls[0])); got != want {
			t.Errorf("%s: %d sleeps, want %d", body, got, want)
		}
	}
}
