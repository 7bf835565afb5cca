"""Ask permd about the calls of tools of one's own, with the standard library alone.

Reads a call from standard input: {"tool": "open_file", "input": {"file": "a"}}.
permd has no profile of this program, so it says what its tools do. Whatever goes
wrong, the person is asked.

    python3 examples/clients/python/tools.py <call.json

A real client keeps the connection, and brings the person's answer with permd/choose.
"""
import json
import os
import socket
import sys

TOOLS = [
    {"name": "run_command", "members": {"cmd": "command", "why": "harmless"}},
    {"name": "open_file", "members": {"file": "read"}},
    {"name": "change_file", "members": {"file": "write", "text": "harmless"}},
]


def once(pairs):
    """Refuse a name that stands twice: permd would see another call than the tool."""
    if len(dict(pairs)) != len(pairs):
        raise ValueError("a name stands twice")
    return dict(pairs)


def decide(text):
    """Return permd's decision about the call. An exception is never an allow."""
    wanted = json.loads(text, object_pairs_hook=once)
    path = os.environ.get("PERMD_SOCKET") or os.environ["XDG_RUNTIME_DIR"] + "/permd/permd.sock"
    with socket.socket(socket.AF_UNIX) as conn:
        conn.connect(path)
        lines = conn.makefile("rw", encoding="utf-8", newline="\n")

        def call(method, params):
            lines.write(json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}) + "\n")
            lines.flush()
            answer = json.loads(lines.readline())
            if "result" not in answer:
                raise RuntimeError(answer["error"]["message"])
            return answer["result"]

        hello = call("permd/session", {
            "sessionId": "s1", "cwd": os.getcwd(), "agent": {"name": "helper"},
            "atShell": True,  # each command has a shell of its own
            "tools": TOOLS,
        })
        if hello.get("protocol", 1) != 1 or "declare" not in hello.get("features", []):
            raise RuntimeError("this permd takes no declarations of tools")
        asked = {"callId": "1", "tool": {"name": wanted["tool"]}, "input": wanted["input"]}
        return call("permd/decide", {"sessionId": "s1", "calls": [asked]})["decisions"][0]


try:
    decision = decide(sys.stdin.read())
    print(decision["verdict"] + ":", decision["reason"])
except Exception as error:
    print("undecided:", error)  # here the client shows its own dialog
