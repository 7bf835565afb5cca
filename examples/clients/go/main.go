// Command client shows how a program asks permd: it declares a session, passes
// on an agent's permission request, and acts on the answer. Only the standard
// library is used; a real client keeps the connection open.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"log"
	"net"
	"os"
)

func main() {
	conn, err := net.Dial("unix", os.Getenv("PERMD_SOCKET"))
	if err != nil {
		log.Fatal(err) // permd is away: ask the person
	}
	lines := bufio.NewScanner(conn)
	ask := func(id int, method string, params any) map[string]json.RawMessage {
		json.NewEncoder(conn).Encode(map[string]any{"jsonrpc": "2.0", "id": id, "method": method, "params": params})
		lines.Scan()
		answer := map[string]json.RawMessage{}
		json.Unmarshal(lines.Bytes(), &answer)
		return answer
	}
	cwd, _ := os.Getwd()
	ask(1, "permd/session", map[string]any{"sessionId": "s1", "cwd": cwd, "agent": map[string]string{"name": "claude-agent-acp", "version": "0.100.0"}})
	var request json.RawMessage // as the agent sent it: the params of session/request_permission
	json.NewDecoder(os.Stdin).Decode(&request)
	answer := ask(2, "session/request_permission", request)
	if result, ok := answer["result"]; ok {
		fmt.Printf("answer the agent: %s\n", result)
	} else {
		fmt.Printf("ask the person: %s\n", answer["error"])
	}
}
