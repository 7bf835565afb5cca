"""Ask permd about a call of Open Tool Calling, before it is sent to the tool server.

Reads the body of POST /tools/call from standard input, and the tool's definition
from a file when one is named. Prints what to do. Whatever goes wrong, nothing is
sent.

    python3 examples/clients/python/otc.py [tool.json] <call.json

A real runtime keeps the connection, asks its person about what is left to them,
and brings their answer with permd/choose. permd reads the names of secrets and
authorizations, and whether they have a value, which it drops.
"""
import json
import os
import socket
import sys


def gate(call, definition):
    """Return the answer of otc/call. An exception is never a yes."""
    path = os.environ.get("PERMD_SOCKET") or os.environ["XDG_RUNTIME_DIR"] + "/permd/permd.sock"
    # The texts as they were sent: written anew, a name that stands twice would be
    # there once, and permd would see another call than the tool server does.
    texts = [text.strip().replace("\n", " ").replace("\r", " ") for text in (call, definition)]
    if not (texts[0].startswith("{") and texts[0].endswith("}")) or len(texts[0]) < 3:
        raise ValueError("the call must be an object")
    params = "{" + ('"tool":' + texts[1] + "," if texts[1] else "") + texts[0][1:]
    with socket.socket(socket.AF_UNIX) as conn:
        conn.connect(path)
        lines = conn.makefile("rw", encoding="utf-8", newline="\n")
        lines.write('{"jsonrpc":"2.0","id":1,"method":"otc/call","params":' + params + "}\n")
        lines.flush()
        answer = json.loads(lines.readline())
        if "result" not in answer:
            raise RuntimeError(answer["error"]["message"])
        return answer["result"]


try:
    definition = ""
    if len(sys.argv) > 1:
        with open(sys.argv[1], encoding="utf-8") as file:
            definition = file.read()
    answer = gate(sys.stdin.read(), definition)
    if answer["outcome"] == "run":
        print("send it")
    elif answer["outcome"] == "ask":
        print("ask the person:", *(effect["text"] for effect in answer["decision"]["effects"]))
    else:
        print("give the model", json.dumps(answer["result"]))
except Exception as error:
    print("not sent:", error)  # here the runtime asks its person itself, or records an error
