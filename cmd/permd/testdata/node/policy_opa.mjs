// Lets a model of the AI SDK call a tool, with @ai-sdk/policy-opa as it comes from
// npm in front of it. Each line of the input is a scene; each line of the output
// says what the package made of permd's answer, and whether the tool ran.
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';

const folder = process.env.PERMD_TEST_NODE_MODULES;
const load = async (name, file) => import(pathToFileURL(join(folder, name, file)).href);
const { httpPolicyClient, opaPolicy } = await load('@ai-sdk/policy-opa', 'dist/index.js');
const { generateText, jsonSchema, stepCountIs, tool } = await load('ai', 'dist/index.js');

// One answer of a model that calls the tool, then one that says "done".
function model(scene) {
  let turn = 0;
  const usage = { inputTokens: { total: 1 }, outputTokens: { total: 1 } };
  return {
    specificationVersion: 'v4', provider: 'test', modelId: 'test', supportedUrls: {},
    async doGenerate() {
      const call = { type: 'tool-call', toolCallId: 'call_1', toolName: scene.tool, input: JSON.stringify(scene.args) };
      return turn++ === 0
        ? { content: [call], finishReason: { unified: 'tool-calls' }, usage, warnings: [] }
        : { content: [{ type: 'text', text: 'done' }], finishReason: { unified: 'stop' }, usage, warnings: [] };
    },
  };
}

for await (const line of createInterface({ input: process.stdin })) {
  const scene = JSON.parse(line);
  const headers = scene.token ? { authorization: `Bearer ${scene.token}` } : undefined;
  const policy = opaPolicy({
    client: httpPolicyClient({ url: scene.url, headers }),
    path: scene.path ?? 'permd/decision',
    toInput: scene.input === undefined ? undefined : () => scene.input,
  });
  let status;
  let ran = 0;
  const out = {};
  try {
    const { content } = await generateText({
      model: model(scene),
      prompt: scene.prompt ?? 'go on',
      runtimeContext: scene.runtimeContext,
      stopWhen: stepCountIs(2),
      tools: {
        [scene.tool]: tool({
          inputSchema: jsonSchema({ type: 'object' }),
          execute: async () => { ran++; return 'it ran'; },
        }),
      },
      toolApproval: async (options) => (status = await policy(options)),
    });
    out.asks = content.some((part) => part.type === 'tool-approval-request' && !part.isAutomatic);
  } catch (error) {
    out.error = String(error);
  }
  process.stdout.write(JSON.stringify({ ...out, type: status?.type, reason: status?.reason, ran }) + '\n');
}
