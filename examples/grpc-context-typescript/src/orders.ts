/**
 * Orders make the example misbehave when it is told to, so that tests can see what then
 * happens to a session. A module of your own has no need of them.
 */

import { setTimeout as wait } from "node:timers/promises";

import { type Call, Failure } from "../kit/serve.js";

let cancelled = 0;

/** Carries out the order in `text`, if there is one; what to say instead of the usual. */
export async function obey(text: string, call: Call): Promise<string | undefined> {
  const [, order, rest = ""] = /^\s*(!\w+)(?:\s+(.*))?$/s.exec(text) ?? [];
  switch (order) {
    case "!fail":
      throw new Failure(rest);
    case "!crash":
      process.exit(3);
    case "!cancelled":
      return String(cancelled);
    case "!large":
      return "x".repeat(number(rest));
    case "!sleep":
      await sleep(number(rest), call);
  }
  return undefined;
}

async function sleep(seconds: number, call: Call): Promise<void> {
  try {
    await wait(seconds * 1000, undefined, { signal: call.signal });
  } catch (error) {
    cancelled += 1;
    throw error;
  }
}

function number(text: string): number {
  const value = Number(text);
  if (!(value >= 0 && Number.isFinite(value))) throw new Failure(`"${text}" is no number`);
  return value;
}
