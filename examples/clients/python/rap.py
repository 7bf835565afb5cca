"""Ask permd about an invocation of the Reactive Agent Protocol, before it is sent.

Reads the toolset, as /.well-known/rap-toolset gives it, and the invocation from
two files. When the person must say, shows the labels and reads the index of one
from standard input. Whatever goes wrong, nothing is sent.

    python3 examples/clients/python/rap.py toolset.json invocation.json

A real runtime keeps the connection: what is allowed for a thread and all its
children holds on it, until rap/close_thread.
"""
import json
import os
import socket
import sys


def gate(toolset, invocation):
    """Return None when the invocation may be sent, else the tool_result to record."""
    path = os.environ.get("PERMD_SOCKET") or os.environ["XDG_RUNTIME_DIR"] + "/permd/permd.sock"
    with socket.socket(socket.AF_UNIX) as conn:
        conn.connect(path)
        lines = conn.makefile("rw", encoding="utf-8", newline="\n")

        def call(method, params):
            lines.write(f'{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}\n')
            lines.flush()
            answer = json.loads(lines.readline())
            if "result" not in answer:
                raise RuntimeError(answer["error"]["message"])
            return answer["result"]

        # The texts as they were sent: written anew, a name that stands twice would
        # be there once, and permd would see another call than the tool server does.
        texts = [text.strip().replace("\n", " ").replace("\r", " ") for text in (toolset, invocation)]
        if not all(text.startswith("{") and text.endswith("}") for text in texts) or len(texts[1]) < 3:
            raise ValueError("the toolset and the invocation must be objects")
        answer = call("rap/invoke", '{"toolset":' + texts[0] + "," + texts[1][1:])
        if answer["outcome"] == "ask":
            choice = answer["choice"]
            print(choice["prompt"])
            for index, label in enumerate(choice["choices"]):
                print(f"  {index}  {label}")
            said = sys.stdin.readline().strip()
            selected = int(said) if said.isdecimal() else choice["default"]  # dismissed is a no
            params = {"decisionId": answer["decision"]["decisionId"], "selected": selected}
            answer = call("rap/choice", json.dumps(params))
        return None if answer["outcome"] == "run" else answer["result"]


try:
    with open(sys.argv[1], encoding="utf-8") as toolset, open(sys.argv[2], encoding="utf-8") as invocation:
        result = gate(toolset.read(), invocation.read())
    print("send it" if result is None else "record " + json.dumps(result))
except Exception as error:
    print("not sent:", error)  # here the runtime asks its person itself, or records an error
