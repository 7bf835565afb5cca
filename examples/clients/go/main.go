// Command client shows how a program asks permd: it declares a session and
// passes on the params of a session/request_permission, read from standard
// input as the agent sent them. Whatever goes wrong, the person is asked.
//
//	go run ./examples/clients/go <request.json
//
// A real client keeps the connection, and passes on session/update as well.
package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
)

func main() {
	if result, err := decide(os.Stdin); err != nil {
		fmt.Println("undecided:", err) // here the client shows its own dialog
	} else {
		fmt.Printf("answer the agent: %s\n", result)
	}
}

// decide returns what to answer the agent. An error is never an allow.
//
//nolint:forbidigo // only the standard library, and nothing is decided by what it reads
func decide(agent io.Reader) (json.RawMessage, error) {
	request, err := io.ReadAll(agent)
	if err != nil {
		return nil, err
	}
	var of struct{ SessionID string }
	if err := json.Unmarshal(request, &of); err != nil {
		return nil, err
	}
	conn, err := net.Dial("unix", cmp.Or(os.Getenv("PERMD_SOCKET"), os.Getenv("XDG_RUNTIME_DIR")+"/permd/permd.sock"))
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	call := func(method string, params any) (json.RawMessage, error) {
		if err := json.NewEncoder(conn).Encode(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params}); err != nil {
			return nil, err
		}
		var answer struct {
			Result json.RawMessage
			Error  struct{ Message string }
		}
		if err := json.NewDecoder(conn).Decode(&answer); err != nil {
			return nil, err // permd went away
		}
		if answer.Result == nil { // -32050: permd leaves it to the person; any other: it could not decide
			return nil, errors.New(answer.Error.Message)
		}
		return answer.Result, nil
	}
	cwd, _ := os.Getwd() // without it permd asks
	agentName := map[string]string{"name": "claude-agent-acp", "version": "0.100.0"}
	said, err := call("permd/session", map[string]any{"sessionId": of.SessionID, "cwd": cwd, "agent": agentName})
	if err != nil {
		return nil, err
	}
	hello := struct{ Protocol int }{1} // the version of a permd that names none
	if err := json.Unmarshal(said, &hello); err != nil || hello.Protocol != 1 {
		return nil, errors.New("this client reads version 1 of the protocol only")
	}
	// The agent's own bytes: read and written again it might be another call.
	return call("session/request_permission", json.RawMessage(request))
}
