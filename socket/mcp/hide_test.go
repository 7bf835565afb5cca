package mcp

import "testing"

// TestHide: a list without the tools that are denied keeps its pages and all else that it says,
// and a call of a hidden tool is decided as one of a tool that the client was told nothing of.
func TestHide(t *testing.T) {
	t.Parallel()
	w := newWorldWith(t, t.TempDir(), func(c *Config) { c.HideDenied = true })
	w.listing(t, "1", "", `{"_meta":{"n":1.50},"tools":[{"name":"no"},`+plainYes+`],"nextCursor":"c"}`)
	w.wantClient(t, `{"jsonrpc":"2.0","id":1,"result":{"_meta":{"n":1.50},"tools":[`+plainYes+`],"nextCursor":"c"}}`+"\n")
	w.listing(t, "2", "c", `{"tools":[{"name":"no"},{"name":"no2","description":"x"}]}`)
	w.wantClient(t, `{"jsonrpc":"2.0","id":2,"result":{"tools":[]}}`+"\n")
	w.send(t, call("3", "no"))
	w.wantClient(t, "permd denied this call")
	w.send(t, call("4", "yes"))
	w.wantServer(t, `"id":4`)
	w.toolsChanged(t)
	w.wantClient(t, notedToolsChanged)
	if has(w, &w.server, `"no"`) {
		t.Error("the call ran")
	}
}
