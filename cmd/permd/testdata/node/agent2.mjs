// An agent of the TypeScript SDK that speaks the draft of version 2 of ACP. Its
// prompts are those of agent.mjs, as far as that version has what they need.
import { any, gate, load, options, pipes } from "./sdk.mjs";

const sdk = await load("/experimental/v2");
const sessionId = "s1";
let calls = 0;
let withdraw = gate();

const update = (client, update) => client.notify("session/update", { sessionId, update });

async function permission(client, command, cancellationSignal) {
  const toolCallId = `call-${++calls}`;
  await update(client, {
    sessionUpdate: "tool_call_update", toolCallId, name: "Bash", title: command, kind: "execute", status: "pending", rawInput: { command },
    _meta: { claudeCode: { toolName: "Bash" } },
  });
  const params = { sessionId, title: command, subject: { type: "tool_call", toolCall: { toolCallId } }, options };
  const { outcome } = await client.request("session/request_permission", params, { cancellationSignal });
  return outcome.outcome === "selected" ? outcome.optionId : "cancelled";
}

const verbs = {
  run: (client, command) => permission(client, command),
  async withdraw(client, command) {
    const cancelled = new AbortController();
    withdraw = gate();
    withdraw.passed.then(() => cancelled.abort());
    return await permission(client, command, cancelled.signal);
  },
  echo: async (client, text) => (await client.request("_test/echo", { text })).text,
  say: (client, length) => "é".repeat(length / 2),
};

async function turn(client, verb, words) {
  let text;
  try {
    text = await verbs[verb](client, words.join(" "));
  } catch (error) {
    text = `refused ${error.code}`;
  }
  await update(client, { sessionUpdate: "agent_message_chunk", messageId: "m", content: { type: "text", text } });
  await update(client, { sessionUpdate: "state_update", state: "idle", stopReason: text === "cancelled" ? "cancelled" : "end_turn" });
}

sdk
  .agent({ name: "agent" })
  .onRequest("initialize", () => ({
    protocolVersion: 2,
    info: { name: "claude-agent-acp", version: "0.100.0" },
    capabilities: { session: {} },
    authMethods: [],
  }))
  .onRequest("session/new", () => ({ sessionId, configOptions: [], availableCommands: [] }))
  .onNotification("session/cancel", () => {})
  .onNotification("_test/withdraw", any, () => withdraw.open())
  .onRequest("session/prompt", ({ params, client }) => {
    const [verb, ...words] = params.prompt[0].text.split(" ");
    setImmediate(() => turn(client, verb, words)); // behind the answer
    return { messageId: "u" };
  })
  .connect(pipes(sdk));
