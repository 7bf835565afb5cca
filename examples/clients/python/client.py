"""Ask permd about an agent's permission request, with the standard library alone.

Reads the params of a session/request_permission from standard input, as the
agent sent them. Whatever goes wrong, the person is asked.

    python3 examples/clients/python/client.py <request.json

A real client keeps the connection, and passes on session/update as well.
"""
import json
import os
import socket
import sys


def decide(text):
    """Return what to answer the agent. An exception is never an allow."""
    session = json.loads(text)["sessionId"]
    path = os.environ.get("PERMD_SOCKET") or os.environ["XDG_RUNTIME_DIR"] + "/permd/permd.sock"
    with socket.socket(socket.AF_UNIX) as conn:
        conn.connect(path)
        lines = conn.makefile("rw", encoding="utf-8", newline="\n")

        def call(method, params):
            lines.write(f'{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}\n')
            lines.flush()
            answer = json.loads(lines.readline())
            if "result" not in answer:  # -32050: permd leaves it to the person; any other: permd could not decide
                raise RuntimeError(answer["error"]["message"])
            return answer["result"]

        agent = {"name": "claude-agent-acp", "version": "0.100.0"}
        hello = call("permd/session", json.dumps({"sessionId": session, "cwd": os.getcwd(), "agent": agent}))
        if hello.get("protocol", 1) != 1:  # an older permd names no version
            raise RuntimeError("this client reads version 1 of the protocol only")
        # The agent's own text: written anew, a name that it has twice would be
        # there once, and permd would see another call than the agent makes.
        return call("session/request_permission", text.replace("\n", " ").replace("\r", " "))


try:
    print("answer the agent:", json.dumps(decide(sys.stdin.read())))
except Exception as error:
    print("undecided:", error)  # here the client shows its own dialog
