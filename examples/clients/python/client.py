"""Ask permd about an agent's permission request, with the standard library alone.

Reads the params of session/request_permission from standard input, as the
agent sent them. A real client keeps the connection open.
"""
import json
import os
import socket
import sys

conn = socket.socket(socket.AF_UNIX)
conn.connect(os.environ["PERMD_SOCKET"])  # fails when permd is away: ask the person
lines = conn.makefile("rw", encoding="utf-8")


def ask(number, method, params):
    lines.write(json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}) + "\n")
    lines.flush()
    return json.loads(lines.readline())


ask(1, "permd/session", {"sessionId": "s1", "cwd": os.getcwd(),
                         "agent": {"name": "claude-agent-acp", "version": "0.100.0"}})
answer = ask(2, "session/request_permission", json.load(sys.stdin))
if "result" in answer:
    print("answer the agent:", json.dumps(answer["result"]["outcome"]))
else:
    print("ask the person:", answer["error"]["message"])
