//go:build cgo

package remember_test

import (
	"testing"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects/fsfake"
)

// TestRejectByOtherNames: a rule allows everything, and the agent runs what was rejected
// under another name: an alias of a sub-command, or a link to a script.
func TestRejectByOtherNames(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it decides each spelling with an engine of its own")
	}
	t.Parallel()
	files := map[string]string{
		"/p/tool.sh": "#!/bin/sh\necho 1\n", "/p/other.sh": "#!/bin/sh\necho 2\n", "/p/package.json": `{"scripts":{"test":"node t.js","build":"node b.js"}}`,
	}
	for _, tt := range []struct {
		rejected        string
		denied, allowed []string
	}{
		{"make ship", []string{"make -s ship", "make ship -j 4", "make -C . ship", "make ship gen"}, []string{"make gen", "make -s"}},
		{"git push origin main", []string{"git push -f origin main", "git -c a.b=c push origin main --force"}, []string{"git push origin next", "git push -f origin next", "git fetch origin main"}},
		{"mytool up", []string{"mytool -v up", "mytool --env prod up", "mytool up --env=prod"}, []string{"mytool down", "mytool up down"}},
		{"git commit -m 'one two'", []string{"git commit -nm 'one two'", "git commit --no-verify --message='one two'"}, []string{"git commit -m three"}},
		{"docker run --rm alpine", []string{"docker container run --rm alpine", "docker run --rm -d alpine"}, []string{"docker run --rm busybox"}},
		{"docker container rm x", []string{"docker rm x", "docker rm -f x"}, []string{"docker rm y"}},
		{"npm run test", []string{"npm test", "npm t --silent"}, []string{"npm run build"}},
		{"npm i left", []string{"npm install left", "npm add -D left"}, []string{"npm i right"}},
		{"curl http://localhost:8080/x", []string{"curl -s http://127.0.0.1:8080/y", "curl http://127.1:8080/", "curl 'http://[::1]:8080/'"}, []string{"curl http://localhost:9090/", "curl http://a.example:8080/"}},
		{"npm test", []string{"npm t", "npm tst", "npm run test", "npm run-script test", "npm run test --silent"}, []string{"npm start", "npm test x", "npm run build"}},
		{"npm t", []string{"npm test", "npm tst"}, []string{"npm start"}},
		{"npm run build", []string{"npm run-script build", "npm rum build", "npm -s run build"}, []string{"npm run test", "npm test"}},
		{"npm uninstall left", []string{"npm rm left", "npm un left"}, []string{"npm uninstall right"}},
		{"./tool.sh", []string{"bash ./tl", "sh d/tl2", "bash tool.sh", "./tl"}, []string{"bash ./ol", "./other.sh", "sh -e other.sh"}},
		{"sh tl", []string{"bash tool.sh", "./tool.sh", "dash d/tl2"}, []string{"sh ol"}},
		{"git stash", []string{"git stash"}, []string{"git stash pop", "git stash push -m x"}},
	} {
		a, allow := rejecting(t, files)
		a.config.FS.(*fsfake.FS).Link("/p/tl", "tool.sh").Link("/p/ol", "other.sh").Link("/p/d/tl2", "/p/tool.sh")
		a.reject(t, a.in(t, "/p", tt.rejected), "project")
		allow(anything)
		for _, command := range append(tt.denied, tt.rejected) {
			wantVerdict(t, a.in(t, "/p", command), decisions.Deny, command+" after a reject of "+tt.rejected)
		}
		for _, command := range tt.allowed {
			wantVerdict(t, a.in(t, "/p", command), decisions.Allow, command+" after a reject of "+tt.rejected)
		}
	}
}

// TestRejectOfAmbiguousAddress: a rejected host is denied in an address that programs
// read in two ways, too. Without the reject, such an address asks.
func TestRejectOfAmbiguousAddress(t *testing.T) {
	addresses := []string{`http://good.example\@evil.example/`, "http://good.example?@evil.example/", "http://evil.example/a/../b", "http:/evil.example/", "http://evil%2eexample/"}
	a, allow := rejecting(t, nil)
	for _, url := range addresses {
		wantVerdict(t, a.in(t, "/p", "curl -s '"+url+"'"), decisions.Ask, url+" before the reject")
	}
	a.reject(t, a.in(t, "/p", "curl -s http://evil.example/"), "project")
	allow(anything)
	for _, url := range addresses {
		wantVerdict(t, a.in(t, "/p", "curl -s '"+url+"'"), decisions.Deny, url)
	}
	wantVerdict(t, a.in(t, "/p", "curl -s http://good.example/evil.example"), decisions.Allow, "another host")
	wantVerdict(t, a.in(t, "/p", "curl -s http://good.example/evil.example/../x"), decisions.Ask, "an ambiguous path of another host")
}
