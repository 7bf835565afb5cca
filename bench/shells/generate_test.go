//go:build linux

package main

import (
	"maps"
	"slices"
	"testing"

	"github.com/permd/permd/bench/shipped"
)

// TestRoleOperands: a new role of the program table is given what it means, or is one
// of those that a path is good enough for.
func TestRoleOperands(t *testing.T) {
	roles := shipped.Roles()
	if len(roles) < 50 {
		t.Fatalf("only the roles %v", roles)
	}
	for _, role := range roles {
		if _, ok := operandValues[role]; ok == slices.Contains(placeRoles, role) {
			t.Errorf("the role %s of the program table needs either values that it may have, in operandValues of generate_table.go, or a place in placeRoles there", role)
		}
	}
	for _, role := range slices.AppendSeq(slices.Clone(placeRoles), maps.Keys(operandValues)) {
		if role != "" && !slices.Contains(roles, role) {
			t.Errorf("generate_table.go has the role %s, and the program table does not", role)
		}
	}
}

// TestPlainShare checks that at least half of the texts are plain, so that a run
// does not consist of texts that are not allowed.
func TestPlainShare(t *testing.T) {
	corpus, err := readCorpora("../..", "")
	if err != nil {
		t.Fatal(err)
	}
	table, err := readTable()
	if err != nil {
		t.Fatal(err)
	}
	g := generator{seed: 1, corpus: corpus, table: table}
	for _, strace := range []bool{false, true} {
		const texts = 3000
		plain := 0
		different := map[string]bool{}
		for n := range uint64(texts) {
			tr := g.trial(n, strace)
			if tr.plain() {
				plain++
			}
			different[tr.text] = true
			if again := g.trial(n, strace); again.text != tr.text || again.agent != tr.agent || again.tree != tr.tree || again.person != tr.person {
				t.Fatalf("text %d is %q the first time and %q the second, want the same", n, tr.text, again.text)
			}
		}
		if plain < texts/2 {
			t.Errorf("with strace %v %d of %d texts are plain, want half of them", strace, plain, texts)
		}
		if len(different) < texts*3/4 {
			t.Errorf("with strace %v only %d of %d texts are distinct", strace, len(different), texts)
		}
	}
}

func TestCorpora(t *testing.T) {
	corpus, err := readCorpora("../..", "")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"echo hi && touch PWNED", "cd src; ls", "git show :.env", "grep TODO a.txt | tee"} {
		if !slices.Contains(corpus, want) {
			t.Errorf("%q is not in the corpora", want)
		}
	}
	if len(corpus) < 1000 {
		t.Errorf("the corpora have only %d texts", len(corpus))
	}
}
