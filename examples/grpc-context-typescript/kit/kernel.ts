/** The session that is being served: its tools, providers, hooks and messages. */

import { create } from "@bufbuild/protobuf";
import type {
  DescMessage,
  DescMethodUnary,
  MessageInitShape,
  MessageShape,
} from "@bufbuild/protobuf";
import * as grpc from "@grpc/grpc-js";

import { KernelService } from "./contract.js";
import { type Call, definitionOf, Failure, LARGEST_MESSAGE, text } from "./serve.js";

type Methods = (typeof KernelService)["method"];
type Name = {
  [K in keyof Methods]: Methods[K] extends DescMethodUnary ? K : never;
}[keyof Methods];
type Input<K extends Name> = MessageInitShape<Methods[K]["input"]>;
type Output<K extends Name> = MessageShape<Methods[K]["output"]>;

/** Asks the session; `ask("getMessages", {})`. */
export interface Kernel {
  ask<K extends Name>(method: K, request: Input<K>): Promise<Output<K>>;
  close(): void;
}

/** Reaches the session that makes `call`; what is asked ends when the call does. Close it after use. */
export function kernelOf(call: Call): Kernel {
  const told = text(call.metadata, "x-amplifier-kernel-endpoint");
  const endpoint = told || process.env.AMPLIFIER_KERNEL_ENDPOINT;
  const token = told
    ? text(call.metadata, "x-amplifier-kernel-token")
    : (process.env.AMPLIFIER_AUTH_TOKEN ?? "");
  if (!endpoint) {
    throw new Failure("The host does not let this module call back; remove `kernel = false`.");
  }
  const client = new grpc.Client(endpoint, grpc.credentials.createInsecure(), {
    "grpc.max_receive_message_length": LARGEST_MESSAGE,
    "grpc.enable_http_proxy": 0,
  });
  const metadata = new grpc.Metadata();
  metadata.set("x-amplifier-token", token);
  return {
    ask: (method, request) => {
      const desc = KernelService.method[method] as DescMethodUnary<DescMessage, DescMessage>;
      const message = create(desc.input, request as MessageInitShape<DescMessage>);
      return askOnce(client, desc, message, metadata, call.signal) as Promise<never>;
    },
    close: () => client.close(),
  };
}

function askOnce(
  client: grpc.Client,
  desc: DescMethodUnary,
  message: unknown,
  metadata: grpc.Metadata,
  signal: AbortSignal,
): Promise<unknown> {
  const { path, requestSerialize, responseDeserialize } = definitionOf(desc);
  return new Promise((resolve, reject) => {
    const done = (error: grpc.ServiceError | null, answer?: unknown): void => {
      if (error === null) resolve(answer);
      else reject(new Failure(error.details, error.code));
    };
    const asked = client.makeUnaryRequest(
      path, requestSerialize, responseDeserialize, message, metadata, done,
    );
    if (signal.aborted) asked.cancel();
    signal.addEventListener("abort", () => asked.cancel(), { once: true });
  });
}
