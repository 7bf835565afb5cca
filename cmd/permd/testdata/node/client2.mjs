// A client of the TypeScript SDK that speaks the draft of version 2 of ACP, and
// does the steps of a plan as client.mjs does.
import { readFileSync } from "node:fs";
import { any, choose, gate, load, pipes } from "./sdk.mjs";

const sdk = await load("/experimental/v2");
const plan = JSON.parse(readFileSync(process.argv[2], "utf8"));
let step, idle;

await sdk
  .client({ name: "client" })
  .onNotification("session/update", ({ params: { update } }) => {
    if (update.sessionUpdate === "state_update" && update.state === "idle") idle.open();
  })
  .onRequest("_test/echo", any, ({ params }) => params)
  .onRequest("session/request_permission", async ({ params, signal, agent }) => {
    switch (step.pick[0]) {
      case "cancel":
        await agent.notify("session/cancel", { sessionId: params.sessionId });
        return { outcome: { outcome: "cancelled" } };
      case "withdraw": {
        const aborted = new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
        await agent.notify("_test/withdraw", {});
        return await aborted;
      }
    }
    return { outcome: choose(params.options, step.pick) };
  })
  .connectWith(pipes(sdk), async (agent) => {
    await agent.request("initialize", { protocolVersion: 2, info: { name: "pair-client", version: "1" }, capabilities: {} });
    const { sessionId } = await agent.request("session/new", { cwd: plan.cwd, mcpServers: [] });
    for (step of plan.steps) {
      idle = gate();
      await agent.request("session/prompt", { sessionId, prompt: [{ type: "text", text: step.prompt }] });
      await idle.passed;
    }
  });
process.stdout.end(() => process.exit(0));
