package native

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/internal/fairshare"
	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/socket"
)

// TestChooseRefusedForWaiting: a person's answer that was refused, because it would have had
// to wait for too long, has not been given: the question stays open, and takes one answer.
func TestChooseRefusedForWaiting(t *testing.T) {
	for name, answer := range map[string]string{"once": `"verdict":"allow"`, "always": `"verdict":"allow","width":"w1"`} {
		t.Run(name, func(t *testing.T) {
			memory := &settler{}
			methods := socket.Methods{}
			Register(methods, Deps{Sessions: &decisions.Sessions{}, Decider: new(fakeDecider), Keeper: memory})
			methods["ask"] = func(c *socket.Conn, _ strictjson.Value) (run, error) {
				StateOf(c).Questions.Add(&PendingQuestion{
					ID: "d1", Resolve: selectVerdict, Offer: &decisions.Offer{Sets: []decisions.OfferSet{{Width: decisions.Width{ID: "w1"}}}},
				})
				return nil, nil
			}
			busy, gate := make(chan struct{}), make(chan struct{})
			methods["busy"] = func(*socket.Conn, strictjson.Value) (run, error) {
				return func(context.Context) (any, error) { close(busy); <-gate; return "done", nil }, nil
			}
			l, err := net.Listen("unix", filepath.Join(privateDir(t), "s"))
			if err != nil {
				t.Fatal(err)
			}
			ctx, stop := context.WithCancel(t.Context())
			served := make(chan error, 1)
			go func() {
				served <- socket.Serve(ctx, l, methods, socket.Options{Share: fairshare.New(fairshare.Options{Slots: 1, MaxWait: 10 * time.Millisecond})})
			}()
			conn, err := net.Dial("unix", l.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			lines := bufio.NewReader(conn)
			send := func(id int, method, params string) {
				fmt.Fprintf(conn, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":{%s}}`+"\n", id, method, params)
			}
			want := func(part string) {
				t.Helper()
				if line, err := lines.ReadString('\n'); !strings.Contains(line, part) {
					t.Fatalf("%s%v; want %s", line, err, part)
				}
			}
			choose := `"decisionId":"d1",` + answer
			send(1, "ask", "")
			want(`"id":1`)
			send(2, "busy", "")
			<-busy
			send(3, MethodChoose, choose)
			want(`"id":3,"error":{"code":-32051,"message":"too many requests wait`)
			if len(memory.kept) != 0 {
				t.Error("it was stored")
			}
			close(gate)
			want(`"id":2,"result":"done"`)
			send(4, MethodChoose, choose)
			want(`"id":4,"result":{"stored":[`)
			send(5, MethodChoose, choose)
			want(`no question of that decisionId is open`)
			stop()
			if err := <-served; err != nil {
				t.Error(err)
			}
		})
	}
}

// privateDir is a folder with a path that is short enough for a socket.
func privateDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "n")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}
