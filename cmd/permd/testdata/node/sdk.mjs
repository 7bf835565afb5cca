// What the agents and clients here share: the SDK as it comes from npm, out of
// the folder that PERMD_TEST_NODE_MODULES names, and this process's pipes.
import { createRequire } from "node:module";
import { join } from "node:path";
import { Readable, Writable } from "node:stream";
import { pathToFileURL } from "node:url";

export async function load(entry = "") {
  const require = createRequire(join(process.env.PERMD_TEST_NODE_MODULES, "here.js"));
  return await import(pathToFileURL(require.resolve("@agentclientprotocol/sdk" + entry)));
}

export const pipes = (sdk) => sdk.ndJsonStream(Writable.toWeb(process.stdout), Readable.toWeb(process.stdin));

// any takes parameters as they are.
export const any = (params) => params;

// A gate is a promise that is opened from outside.
export function gate() {
  const g = {};
  g.passed = new Promise((open) => (g.open = open));
  return g;
}

export const options = [
  { optionId: "allow-always", name: "Always Allow", kind: "allow_always" },
  { optionId: "allow-once", name: "Allow", kind: "allow_once" },
  { optionId: "reject", name: "Reject", kind: "reject_once" },
];

// choose is what the person picks of the options they are shown: the first
// whose name begins with the first of their wishes, or with the next.
export function choose(shown, wishes) {
  for (const wish of wishes) {
    const option = shown.find((o) => o.name.startsWith(wish));
    if (option !== undefined) return { outcome: "selected", optionId: option.optionId };
  }
  throw new Error("no option " + wishes + " in " + JSON.stringify(shown));
}
