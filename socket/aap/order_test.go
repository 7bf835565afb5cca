package aap

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/socket"
	"github.com/permd/permd/socket/native"
	"github.com/permd/permd/socket/sockettest"
)

// orderly allows reading, unless a call before it has linked something.
type orderly struct {
	sockettest.Unchanged

	asked  []string
	reload bool // the rules change each time
}

func (o *orderly) Decide(_ context.Context, reqs ...*decisions.Request) (list []*decisions.Decision) {
	linked := false
	o.asked = append(o.asked, "")
	for _, r := range reqs {
		if r.Decided != nil {
			o.asked[len(o.asked)-1] += "= "
			list = append(list, r.Decided)
			continue
		}
		name := r.Call.Tool.Name
		o.asked[len(o.asked)-1] += r.Call.ID + " "
		d := &decisions.Decision{ID: fmt.Sprint(len(o.asked), r.Call.ID), CallID: r.Call.ID, Verdict: decisions.Allow, By: decisions.ByPolicy}
		kind := map[string]effects.Kind{"read": effects.KindRead, "link": effects.KindWrite, "no": effects.KindWrite}[name]
		d.Effects = []decisions.EffectDecision{{Kind: kind}}
		switch {
		case name == "no":
			d.Verdict = decisions.Deny
		case name == "read" && linked:
			d.Verdict = decisions.Ask
		}
		if name == "cd" {
			d.Shell = &decisions.LeftShell{Folders: []string{"/x"}}
		}
		linked = linked || name == "link" || name == "cd"
		if o.reload {
			d.Policy.Digest = fmt.Sprint(len(o.asked))
		}
		list = append(list, d)
	}
	return list
}

// TestSideBySideOrder: if one of the client's calls changes something, all of them
// are decided in both orders.
func TestSideBySideOrder(t *testing.T) {
	const tools = `"agent":{"name":"h"},"tools":[{"name":"read"},{"name":"link"},{"name":"no"},{"name":"cd"}]`
	for name, c := range map[string]struct {
		turn, want, asked string
	}{
		"one":                   {turnOf("a read 1"), "a execute", "a "},
		"reading":               {turnOf("a read 1", "b read 2"), "a execute b execute", "a b /= = "},
		"a link first":          {turnOf("a link 1", "b read 2"), "a execute b ask", "a b /b a /= = "},
		"a link last":           {turnOf("a read 1", "b read 2", "c link 3"), "a ask b ask c execute", "a b c /c b a /= = = "},
		"a folder that changes": {turnOf("a read 1", "b cd 2"), "a ask b execute", "a b /b a /= = "},
		"one that does not run": {turnOf("a read 1", "c no 3"), "a execute c denied", "a c /= = "},
		"between the server's":  {turnOf("s other 1", "a read 1", "u other 2", "c link 3"), "s granted a ask u granted c execute", "s a u c /c a /= = = = "},
		"of the server":         {turnOf("s other 1", "a read 1"), "s granted a execute", "s a "},
	} {
		t.Run(name, func(t *testing.T) {
			sessions, conn, o := new(decisions.Sessions), &socket.Conn{ID: 1}, new(orderly)
			if _, err := sessions.Declare(conn.Owner(), decisions.Declaration{ID: "s"}); err != nil {
				t.Fatal(err)
			}
			h := &handler{native.Deps{
				Sessions: sessions, Decider: o, NewID: func() string { return "b" },
				Users: func(uint32) effects.User { return effects.User{} },
			}}
			params := strictjson.Value(`{"sessionId":"s",` + tools + `,` + c.turn + `}`)
			r, err := permissions(h, conn, params)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, call := range r.Calls {
				got = append(got, call.ToolCallID, string(call.Outcome))
			}
			if strings.Join(got, " ") != c.want || strings.Join(o.asked, "/") != c.asked {
				t.Errorf("%s by %q, want %s by %q", got, o.asked, c.want, c.asked)
			}
			if strings.Count(c.asked, "/") < 2 {
				return
			}
			o.reload = true
			_, err = permissions(h, conn, params)
			if e, ok := errors.AsType[*socket.Error](err); !ok || e.Code != socket.CodeBusy {
				t.Errorf("rules that change all the time: %v", err)
			}
		})
	}
}
