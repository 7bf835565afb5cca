package client_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"time"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/socket"
	"github.com/permd/permd/socket/client"
	"github.com/permd/permd/socket/native"
)

// prudent is a Decider for the examples: it allows the tool "search", denies
// "delete", and asks about everything else.
type prudent struct{ asked int }

func (p *prudent) Decide(_ context.Context, reqs ...*decisions.Request) []*decisions.Decision {
	var list []*decisions.Decision
	for _, r := range reqs {
		p.asked++
		d := &decisions.Decision{ID: fmt.Sprint("d", p.asked), CallID: r.Call.ID, Verdict: decisions.Ask, Reason: "no rule allows it", By: decisions.ByDefault}
		switch r.Call.Tool.Name {
		case "search":
			d.Verdict, d.Reason, d.By = decisions.Allow, "a rule allows searching", decisions.ByPolicy
		case "delete":
			d.Verdict, d.Reason, d.By = decisions.Deny, "a rule denies deleting", decisions.ByPolicy
		}
		list = append(list, d)
	}
	return list
}

func (*prudent) StillHolds(context.Context, *decisions.Request, *decisions.Decision) bool {
	return true
}
func (*prudent) Holds(context.Context, *decisions.Request, *decisions.Decision) error { return nil }

// start runs a permd for an example, in this process. A program that uses permd
// connects with client.Connect, which finds the daemon of the user.
func start() (c *client.Client, stop func()) {
	dir, err := os.MkdirTemp("", "p")
	if err != nil {
		log.Fatal(err)
	}
	path := filepath.Join(dir, "permd", "permd.sock")
	ln, err := socket.Listen(path, socket.ListenOptions{})
	if err != nil {
		log.Fatal(err)
	}
	methods := socket.Methods{}
	native.Register(methods, native.Deps{
		Sessions: new(decisions.Sessions), Decider: new(prudent),
		Users:      func(uid uint32) effects.User { return effects.User{UID: uid} },
		Declarable: func(uint32, effects.Party, []effects.DeclaredTool) error { return nil },
	})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- socket.Serve(ctx, ln, methods, socket.Options{}) }()
	c, err = client.Dial(ctx, path, client.Options{})
	if err != nil {
		log.Fatal(err)
	}
	return c, func() {
		_ = c.Close()
		cancel()
		if err := <-done; err != nil {
			log.Fatal(err)
		}
		_ = os.RemoveAll(dir)
	}
}

// A program connects, says where the agent works, and asks before it runs a
// call. Without a decision, for whatever reason, the person is asked.
func Example() {
	c, stop := start() // c, err := client.Connect(ctx, client.Options{})
	defer stop()
	ctx := context.Background()

	_, err := client.DeclareSession(ctx, c, &client.Session{
		ID: "s1", Cwd: "/home/ana/shop", Agent: &effects.Party{Name: "my-agent"},
	})
	if err != nil {
		log.Fatal(err)
	}
	decided, err := client.Decide(ctx, c, "s1", client.ToolCall{
		ID: "1", Tool: client.Tool{Name: "search"}, Input: map[string]string{"query": "permissions"},
	})
	if err != nil {
		log.Fatal(err) // ask the person
	}
	fmt.Println(decided[0].Verdict, "because", decided[0].Reason)
	// Output: allow because a rule allows searching
}

// The client of an agent that permd has no profile of says what its tools do.
func ExampleDeclareSession() {
	c, stop := start()
	defer stop()

	hello, err := client.DeclareSession(context.Background(), c, &client.Session{
		ID: "s1", Cwd: "/home/ana/shop", Agent: &effects.Party{Name: "my-agent"}, AtShell: true,
		Tools: []client.DeclaredTool{
			{Name: "run_command", Members: map[string]string{"cmd": "command", "why": "harmless"}},
			{Name: "open_file", Members: map[string]string{"file": "read"}},
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(hello.Has("declare"))
	// Output: true
}

// Several calls are decided together; the decisions come in their order.
func ExampleDecide() {
	c, stop := start()
	defer stop()

	decided, err := client.Decide(context.Background(), c, "",
		client.ToolCall{ID: "1", Tool: client.Tool{Name: "search"}},
		client.ToolCall{ID: "2", Tool: client.Tool{Name: "delete"}},
		client.ToolCall{ID: "3", Tool: client.Tool{Name: "post"}},
	)
	if err != nil {
		log.Fatal(err)
	}
	for _, d := range decided {
		fmt.Println(d.CallID, d.Verdict)
	}
	// Output:
	// 1 allow
	// 2 deny
	// 3 ask
}

// What permd leaves to the person is answered on the connection that asked.
func ExampleChoose() {
	c, stop := start()
	defer stop()
	ctx := context.Background()

	decided, err := client.Decide(ctx, c, "", client.ToolCall{ID: "1", Tool: client.Tool{Name: "post"}})
	if err != nil {
		log.Fatal(err)
	}
	if d := decided[0]; d.Verdict == decisions.Ask {
		// The person has been shown d and said yes, this once.
		chosen, err := client.Choose(ctx, c, &client.Choice{DecisionID: d.ID, Verdict: decisions.Allow})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println("remembered:", len(chosen.Stored))
	}
	// Output: remembered: 0
}

// A program that runs for long finds a daemon again that was restarted.
func ExampleSessionConn() {
	first, stop := start()
	path := first.Path()
	defer stop()
	dial := func(ctx context.Context) (*client.Client, error) { // client.Connect(ctx, client.Options{})
		return client.Dial(ctx, path, client.Options{})
	}
	s := client.NewSessionConn(dial, time.Minute, func() *client.Session {
		return &client.Session{ID: "s1", Cwd: "/home/ana/shop", Agent: &effects.Party{Name: "my-agent"}}
	})
	defer s.Close()

	for range 2 {
		c, session, err := s.Connection(context.Background())
		if err != nil {
			log.Fatal(err) // ask the person
		}
		decided, err := client.Decide(context.Background(), c, session.ID, client.ToolCall{ID: "1", Tool: client.Tool{Name: "search"}})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(decided[0].Verdict)
		c.Close() // as if the daemon had ended
	}
	// Output:
	// allow
	// allow
}
