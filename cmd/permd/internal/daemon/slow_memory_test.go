package daemon

import (
	"bufio"
	"context"
	"database/sql"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	_ "github.com/mattn/go-sqlite3"

	"github.com/permd/permd/internal/strictjson"

	"github.com/permd/permd/socket"
)

// TestSlowMemory closes sessions for which a choice is remembered while nothing can be
// written to the database of choices. The messages after that are read and answered, the
// cancellation of a request among them, and a session that is declared again has none of
// the choices.
func TestSlowMemory(t *testing.T) {
	w := newBenchWorld(t, true)
	methods := w.engine.Methods()
	wait := make(chan struct{})
	methods["test/wait"] = func(*socket.Conn, strictjson.Value) (func(context.Context) (any, error), error) {
		return func(ctx context.Context) (any, error) {
			select {
			case <-wait:
				return "not cancelled", nil
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}, nil
	}
	conn := benchServe(t, func(ctx context.Context, ln net.Listener) error {
		return socket.Serve(ctx, ln, methods, socket.Options{})
	}).Conn
	answers := bufio.NewReader(conn)
	id := 0
	send := func(method, params string) {
		t.Helper()
		id++
		if _, err := fmt.Fprintf(conn, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`+"\n", id, method, params); err != nil {
			t.Fatal(err)
		}
	}
	receive := func(want string) string {
		t.Helper()
		line, err := answers.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(line, want) {
			t.Fatalf("have %s, want %s", line, want)
		}
		return line
	}
	const command = `{"sessionId":"s1","calls":[{"callId":"c","tool":{"name":"Bash"},"input":{"command":"nosuchprogram x"}}]}`
	send("permd/session", w.session())
	receive(`"result"`)
	send("permd/decide", command)
	_, question, _ := strings.Cut(receive(`"verdict":"ask"`), `"decisionId":"`)
	question, _, _ = strings.Cut(question, `"`)
	send("permd/choose", fmt.Sprintf(`{"decisionId":%q,"verdict":"allow","width":"w1","scope":"session"}`, question))
	receive(`"stored":[{`)
	send("permd/decide", command)
	receive(`"verdict":"allow"`)

	db, err := sql.Open("sqlite3", "file:"+filepath.Join(w.dirs.Data, "remember.db")+"?_txlock=immediate")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	locked, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	send("test/wait", `{}`)
	waiting := id
	send("permd/close", `{"sessionId":"s1"}`)
	send("permd/session", w.session())
	send("permd/decide", command)
	if _, err := fmt.Fprintf(conn, `{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":%d}}`+"\n", waiting); err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for range 4 {
		line := receive(`"jsonrpc"`)
		for n, name := range []string{"wait", "close", "session", "decide"} {
			if strings.Contains(line, fmt.Sprintf(`"id":%d,`, waiting+n)) {
				found[name] = line
			}
		}
	}
	// A write would wait for five seconds.
	if took := time.Since(begin); took > 4*time.Second {
		t.Errorf("answered after %v", took)
	}
	if err := locked.Rollback(); err != nil {
		t.Error(err)
	}
	close(wait)
	for name, want := range map[string]string{
		"wait": `"code":-32800`, "close": `"closed":true`, "session": `"result"`, "decide": `"verdict":"ask"`,
	} {
		if !strings.Contains(found[name], want) {
			t.Errorf("%s: have %s, want %s", name, found[name], want)
		}
	}
}
