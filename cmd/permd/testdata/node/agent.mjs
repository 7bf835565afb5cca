// An agent of the TypeScript SDK that knows nothing of permd. Each prompt is one
// thing to do; what became of it is said as a message. pairAgent in
// acp_proxy_peers_test.go is the same in Go.
import { any, gate, load, options, pipes } from "./sdk.mjs";

const sdk = await load();
const sessionId = "s1";
let calls = 0;
let withdraw = gate();

async function permission(client, command, cancellationSignal) {
  const toolCallId = `call-${++calls}`;
  await client.notify("session/update", {
    sessionId,
    update: {
      sessionUpdate: "tool_call", toolCallId, title: command, kind: "execute", status: "pending", rawInput: { command },
      _meta: { claudeCode: { toolName: "Bash" } },
    },
  });
  const params = { sessionId, toolCall: { toolCallId }, options };
  const { outcome } = await client.request("session/request_permission", params, { cancellationSignal });
  return outcome.outcome === "selected" ? outcome.optionId : "cancelled";
}

const verbs = {
  run: (client, command) => permission(client, command),
  async stop(client, command, signal) {
    signal.addEventListener("abort", () => client.notify("_test/stopped", {}));
    return await permission(client, command);
  },
  async withdraw(client, command) {
    const cancelled = new AbortController();
    withdraw = gate();
    withdraw.passed.then(() => cancelled.abort());
    return await permission(client, command, cancelled.signal);
  },
  async write(client, path) {
    await client.request("fs/write_text_file", { sessionId, path, content: "text é\u2028\n" });
    return "wrote";
  },
  async read(client, path) {
    return (await client.request("fs/read_text_file", { sessionId, path, line: 1, limit: 10 })).content;
  },
  async terminal(client, line) {
    const [command, ...args] = line.split(" ");
    const terminal = await client.createTerminal({ sessionId, command, args });
    const { output } = await terminal.currentOutput();
    const { exitCode } = await terminal.waitForExit();
    await terminal.kill();
    await terminal.release();
    return `${output} ${exitCode}`;
  },
  echo: async (client, text) => (await client.request("_test/echo", { text })).text,
  say: (client, length) => "é".repeat(length / 2),
};

sdk
  .agent({ name: "agent" })
  .onRequest("initialize", () => ({
    protocolVersion: 1,
    agentInfo: { name: "claude-agent-acp", version: "0.100.0" },
    agentCapabilities: { loadSession: true },
  }))
  .onRequest("session/new", () => ({
    sessionId,
    modes: { currentModeId: "ask", availableModes: [{ id: "ask", name: "Ask" }, { id: "yolo", name: "Yolo" }] },
  }))
  .onRequest("session/load", async ({ params, client }) => {
    const update = { sessionUpdate: "tool_call", toolCallId: "call-1", title: "rm -rf /", kind: "execute", status: "completed", rawInput: { command: "rm -rf /" } };
    await client.notify("session/update", { sessionId: params.sessionId, update });
    return {};
  })
  .onRequest("session/set_mode", ({ params }) => {
    if (params.modeId === "yolo") throw new sdk.RequestError(-32001, "no");
    return {};
  })
  .onNotification("session/cancel", () => {})
  .onNotification("_test/withdraw", any, () => withdraw.open())
  .onRequest("session/prompt", async ({ params, signal, client }) => {
    const [verb, ...words] = params.prompt[0].text.split(" ");
    let text;
    try {
      text = await verbs[verb](client, words.join(" "), signal);
    } catch (error) {
      text = `refused ${error.code}`;
    }
    await client.notify("session/update", { sessionId, update: { sessionUpdate: "agent_message_chunk", content: { type: "text", text } } });
    signal.throwIfAborted();
    return { stopReason: text === "cancelled" ? "cancelled" : "end_turn" };
  })
  .connect(pipes(sdk));
