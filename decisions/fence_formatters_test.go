package decisions

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/permd/permd/decisions/effects"
)

// TestFormattersSpareRules: a formatter that writes files with endings of its language alone changes no
// rules of the project, unless a link gives them such a name. One whose endings the project's settings
// decide may change them, as may one that formats YAML.
func TestFormattersSpareRules(t *testing.T) {
	p, m, _, e := newFakes(t)
	allow := finding(Org, SetAllow)
	allow.Covers, allow.CoversUnknown = ^effects.Tags(0), true
	p.fired = []Finding{allow}
	m.allow = &Choice{ID: "a", Exact: true}
	root := repository(t)
	for _, dir := range []string{"/.permd", "/sub/.permd", "/src", "/linked/.permd", "/renamed/.permd", "/dangling/.permd", "/plain/.permd"} {
		if err := os.MkdirAll(root+dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(root+dir+"/rules.yaml", nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	decided := func(command string, want Verdict) {
		t.Helper()
		if got := e.Decide(t.Context(), bashIn(root, command))[0]; got.Verdict != want {
			t.Errorf("%s: got %s (%s), want %s", command, got.Verdict, got.Reason, want)
		}
	}
	for command, want := range map[string]Verdict{
		"gofmt -w .": Allow, "gofmt -l -s -w sub src": Allow, "shfmt -w .": Allow, "shfmt -i 2 -w sub": Allow, "cd sub && gofmt -w .": Allow, "gofmt -w -r 'a -> b' .": Allow, "timeout 9 gofmt -w .": Allow, "gofmt -w . && gofmt -s -w .": Allow, "gofmt -w .; shfmt -w .": Allow, "touch src/a.go && gofmt -w .": Allow,
		"gofmt -w .permd": Deny, "gofmt -w .permd/rules.yaml": Deny, "shfmt -w sub/.permd": Deny, "gofmt -w -cpuprofile .permd/rules.yaml .": Deny,
		"black .": Ask, "isort .": Ask, "autopep8 -r -i .": Ask, "prettier --write .": Ask, "ruff format": Ask, "ruff format .": Ask, "ruff check --fix .": Ask, "eslint --fix .": Ask, "ruff format --isolated .": Ask, "prettier --no-config --write .": Ask,
		"find . -exec gofmt -w {} +": Ask, "mv sub moved; gofmt -w .": Ask, "tar xf a.tar -C src; gofmt -w .": Ask, "ln -s ../sub/.permd/rules.yaml src/x.go; gofmt -w .": Deny, "ln .permd/rules.yaml src/x.go": Deny,
		"gofmt -w . && rm -rf sub": Ask, "cp -r linked sub/x; shfmt -w sub": Ask, "rm -rf src; mv y sub/z; shfmt -w sub": Ask,
	} {
		decided(command, want)
	}
	for link, target := range map[string]string{
		"/linked/x.go": ".permd/rules.yaml", "/renamed/x.go": "y", "/renamed/y": ".permd/rules.yaml", "/dangling/x.go": ".permd/new.yaml", "/plain/x.go": "y.go", "/plain/rules": ".permd",
	} {
		if err := os.Symlink(target, root+link); err != nil {
			t.Fatal(err)
		}
	}
	for command, want := range map[string]Verdict{
		"gofmt -w linked": Deny, "gofmt -w renamed": Deny, "gofmt -w dangling": Ask, "gofmt -w .": Deny, "gofmt -w linked/x.go": Deny, "gofmt -w plain/rules": Deny,
		"shfmt -w linked": Allow, // it follows no links
	} {
		decided(command, want)
	}
	for _, dir := range []string{"/listed/.permd", "/other"} {
		if err := os.MkdirAll(root+dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for link, target := range map[string]string{"/listed/.permd/rules.yaml": "list", "/other/.permd": "../src"} {
		if err := os.Symlink(target, root+link); err != nil {
			t.Fatal(err)
		}
	}
	// The file may have a name that they write; and what an option means may be to write others.
	for _, command := range []string{"shfmt -w listed", "gofmt -w listed", "shfmt -w other", "shfmt --detect=all -w sub", "gofmt --frob -w sub"} {
		decided(command, Ask)
	}
}

// TestFormattersWriteThroughLinks tests that what a formatter writes through a link in a folder is a
// write of the link's target, and not only a read.
func TestFormattersWriteThroughLinks(t *testing.T) {
	_, _, _, e := newFakes(t)
	root := repository(t)
	for _, dir := range []string{"/gen", "/src"} {
		if err := os.MkdirAll(root+dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.WriteFile(root+"/gen/y.go", []byte("package y\n"), 0o600), os.Symlink("../gen/y.go", root+"/src/x.go")); err != nil {
		t.Fatal(err)
	}
	for command, want := range map[string]bool{"gofmt -w src": true, "gofmt -l -w ./src": true, "gofmt -w .": true, "chown -R -L root src": true, "chgrp -RH root src": true, "chown -R root src": false, "cat src/x.go": false, "gofmt -l src": false, "shfmt -w src": false} {
		writes := slices.ContainsFunc(e.Decide(t.Context(), bashIn(root, command))[0].Effects, func(d EffectDecision) bool {
			return d.Kind == effects.KindWrite && strings.HasPrefix(d.Text, "write ./gen/y.go")
		})
		if writes != want {
			t.Errorf("%s writes the target of the link: %v, want %v", command, writes, want)
		}
	}
}
