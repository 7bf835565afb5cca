// A client of the TypeScript SDK that knows nothing of permd. It does the steps
// of a plan, a file, and answers as a person would. pairClient in
// acp_proxy_peers_test.go is the same in Go.
import { readFileSync } from "node:fs";
import { any, choose, gate, load, pipes } from "./sdk.mjs";

const sdk = await load();
const plan = JSON.parse(readFileSync(process.argv[2], "utf8"));
let step, cancelled, stopped;

const refuse = (yes) => {
  if (yes) throw new sdk.RequestError(-32001, "no");
};

await sdk
  .client({ name: "client" })
  .onNotification("session/update", () => {})
  .onNotification("_test/stopped", any, () => stopped.open())
  .onRequest("_test/echo", any, ({ params }) => params)
  .onRequest("session/request_permission", async ({ params, signal, agent }) => {
    switch (step.pick[0]) {
      case "cancel":
        await agent.notify("session/cancel", { sessionId: params.sessionId });
        return { outcome: { outcome: "cancelled" } };
      case "stop":
        cancelled.abort();
        await stopped.passed;
        return { outcome: { outcome: "cancelled" } };
      case "withdraw": {
        const aborted = new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
        await agent.notify("_test/withdraw", {});
        return await aborted;
      }
    }
    return { outcome: choose(params.options, step.pick) };
  })
  .onRequest("fs/write_text_file", ({ params }) => {
    refuse(params.path.endsWith("/locked"));
    return {};
  })
  .onRequest("fs/read_text_file", () => ({ content: "content" }))
  .onRequest("terminal/create", ({ params }) => {
    refuse(params.command === "terraform");
    return { terminalId: "term-1" };
  })
  .onRequest("terminal/output", () => ({ output: "listing", truncated: false }))
  .onRequest("terminal/wait_for_exit", () => ({ exitCode: 0 }))
  .onRequest("terminal/kill", () => ({}))
  .onRequest("terminal/release", () => ({}))
  .connectWith(pipes(sdk), async (agent) => {
    await agent.request("initialize", {
      protocolVersion: 1,
      clientInfo: { name: "pair-client", version: "1" },
      clientCapabilities: { fs: { readTextFile: true, writeTextFile: true }, terminal: true },
    });
    const { sessionId } = await agent.request("session/new", { cwd: plan.cwd, mcpServers: [] });
    for (step of plan.steps) {
      try {
        if (step.mode) await agent.request("session/set_mode", { sessionId, modeId: step.mode });
        if (step.load) await agent.request("session/load", { sessionId: step.load, cwd: plan.cwd, mcpServers: [] });
        if (!step.prompt) continue;
        cancelled = new AbortController();
        stopped = gate();
        await agent.request("session/prompt", { sessionId, prompt: [{ type: "text", text: step.prompt }] }, { cancellationSignal: cancelled.signal });
      } catch (error) {
        if (error.code !== step.code) throw error;
      }
    }
  });
process.stdout.end(() => process.exit(0));
