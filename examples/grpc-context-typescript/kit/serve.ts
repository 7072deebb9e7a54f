/** Serves a module to its host. */

import { timingSafeEqual } from "node:crypto";
import { fstatSync } from "node:fs";
import { parseArgs } from "node:util";

import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import type {
  DescMessage,
  DescMethod,
  DescMethodServerStreaming,
  DescMethodUnary,
  DescService,
  MessageInitShape,
  MessageShape,
} from "@bufbuild/protobuf";
import * as grpc from "@grpc/grpc-js";

import { HealthStatus, ModuleLifecycle, ModuleType } from "./contract.js";

export const LARGEST_MESSAGE = 16 * 1024 * 1024;
const GRACE_MS = 300;
const TYPES: Record<string, ModuleType> = {
  tool: ModuleType.TOOL,
  provider: ModuleType.PROVIDER,
  hook: ModuleType.HOOK,
  context: ModuleType.MEMORY,
  approval: ModuleType.APPROVAL,
};

/** What the mount plan says to the module: texts as they are, all else as JSON. */
export type Config = Record<string, string>;

/** What is known about a call beside its request. */
export interface Call {
  metadata: grpc.Metadata;
  /** Tells sessions apart that use the same server. */
  session: string;
  /** Aborted when the host does not wait for the answer any more. */
  signal: AbortSignal;
}

type Answer<O extends DescMessage> = MessageInitShape<O>;
type Handler<M> =
  M extends DescMethodUnary<infer I, infer O>
    ? (request: MessageShape<I>, call: Call) => Answer<O> | Promise<Answer<O>>
    : M extends DescMethodServerStreaming<infer I, infer O>
      ? (request: MessageShape<I>, call: Call) => AsyncIterable<Answer<O>>
      : never;

/** One function for each method of a service. */
export type Handlers<S extends DescService> = {
  [Name in keyof S["method"]]: Handler<S["method"][Name]>;
};

export interface Module {
  name: string;
  version: string;
  kind: string;
  /** Gets the config, before anything else is asked. A `Failure` refuses it. */
  mount?(config: Config, call: Call): void;
  /** Forgets what a session left behind. */
  cleanup?(call: Call): void;
}

/** What a call ends with instead of an answer. */
export class Failure extends Error {
  constructor(
    message: string,
    readonly code: grpc.status = grpc.status.INVALID_ARGUMENT,
  ) {
    super(message);
  }
}

/**
 * Answers calls until it is told to end.
 *
 * It says READY:<port> when it can be called, or ERROR:<why>. A host that started it ends it
 * by SIGTERM, or by being gone, which shows in the end of stdin.
 */
export function serve<S extends DescService>(
  module: Module,
  service: S,
  handlers: Handlers<S>,
): void {
  const { values } = parseArgs({ options: { port: { type: "string", default: "0" } } });
  const server = new grpc.Server({
    "grpc.max_receive_message_length": LARGEST_MESSAGE,
    "grpc.max_send_message_length": LARGEST_MESSAGE,
  });
  add(server, service, handlers);
  add(server, ModuleLifecycle, lifecycle(module));
  const credentials = grpc.ServerCredentials.createInsecure();
  server.bindAsync(`127.0.0.1:${values.port}`, credentials, (error, port) => {
    if (error !== null) {
      console.log(`ERROR:${error.message.replaceAll("\n", " ")}`);
      process.exit(1);
    }
    endWhenTold(server);
    console.log(`READY:${port}`);
  });
}

function endWhenTold(server: grpc.Server): void {
  const end = (): void => {
    setTimeout(() => process.exit(0), GRACE_MS);
    server.tryShutdown(() => process.exit(0));
  };
  process.once("SIGTERM", end);
  process.once("SIGINT", end);
  // A host holds the other end while it lives; a terminal or /dev/null is nobody's.
  if (!fstatSync(0).isCharacterDevice()) {
    process.stdin.once("end", end).once("error", end).resume();
  }
}

function lifecycle(module: Module): Handlers<typeof ModuleLifecycle> {
  const status = HealthStatus.SERVING;
  return {
    mount(request, call) {
      try {
        module.mount?.(request.config, call);
        return { success: true, status };
      } catch (error) {
        return { success: false, error: said(error) };
      }
    },
    cleanup(_, call) {
      module.cleanup?.(call);
      return {};
    },
    healthCheck: () => ({ status }),
    getModuleInfo: () => ({
      id: module.name,
      name: module.name,
      version: module.version,
      moduleType: TYPES[module.kind] ?? ModuleType.UNSPECIFIED,
      mountPoint: module.kind,
    }),
  };
}

// -- between the contract and grpc-js ------------------------------------------------------

type AnyHandler = (request: unknown, call: Call) => unknown;
type ServerCall = grpc.ServerUnaryCall<unknown, unknown> | grpc.ServerWritableStream<unknown, unknown>;

function add<S extends DescService>(server: grpc.Server, service: S, handlers: Handlers<S>): void {
  const definition: Record<string, grpc.MethodDefinition<unknown, unknown>> = {};
  const implementation: grpc.UntypedServiceImplementation = {};
  for (const method of service.methods) {
    const handler = handlers[method.localName as keyof Handlers<S>] as AnyHandler;
    definition[method.localName] = definitionOf(method);
    implementation[method.localName] =
      method.methodKind === "unary" ? unary(method, handler) : streaming(method, handler);
  }
  server.addService(definition, implementation);
}

/** How grpc-js calls a method, and what it does to messages on their way. */
export function definitionOf(method: DescMethod): grpc.MethodDefinition<unknown, unknown> {
  const write = (desc: DescMessage) => (value: unknown) =>
    Buffer.from(toBinary(desc, value as MessageShape<DescMessage>));
  const read = (desc: DescMessage) => (data: Buffer) => fromBinary(desc, data);
  return {
    path: `/${method.parent.typeName}/${method.name}`,
    requestStream: false,
    responseStream: method.methodKind === "server_streaming",
    requestSerialize: write(method.input),
    requestDeserialize: read(method.input),
    responseSerialize: write(method.output),
    responseDeserialize: read(method.output),
  };
}

function unary(method: DescMethod, handler: AnyHandler): grpc.handleUnaryCall<unknown, unknown> {
  return (raw, done) => {
    Promise.resolve()
      .then(() => handler(raw.request, admitted(raw)))
      .then((answer) => done(null, create(method.output, answer as Answer<DescMessage>)))
      .catch((error: unknown) => done(statusOf(error)));
  };
}

function streaming(
  method: DescMethod,
  handler: AnyHandler,
): grpc.handleServerStreamingCall<unknown, unknown> {
  return (raw) => {
    const send = async (): Promise<void> => {
      const call = admitted(raw);
      for await (const answer of handler(raw.request, call) as AsyncIterable<Answer<DescMessage>>) {
        if (call.signal.aborted) return;
        raw.write(create(method.output, answer));
      }
      raw.end();
    };
    send().catch((error: unknown) => raw.emit("error", statusOf(error)));
  };
}

/** The call, if it comes from the host that started this process. */
function admitted(raw: ServerCall): Call {
  const given = text(raw.metadata, "x-amplifier-token");
  const secret = process.env.AMPLIFIER_AUTH_TOKEN;
  if (secret && !isEqual(given, secret)) {
    throw new Failure("missing or invalid x-amplifier-token", grpc.status.UNAUTHENTICATED);
  }
  const abort = new AbortController();
  raw.once("cancelled", () => abort.abort());
  const session = text(raw.metadata, "x-amplifier-kernel-token");
  return { metadata: raw.metadata, session, signal: abort.signal };
}

function isEqual(given: string, secret: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(secret)];
  return a.length === b.length && timingSafeEqual(a, b);
}

/** The value of a key that came with a call; none is empty. */
export function text(metadata: grpc.Metadata, key: string): string {
  return metadata.get(key).map(String).at(0) ?? "";
}

function statusOf(error: unknown): grpc.ServerErrorResponse {
  const code = error instanceof Failure ? error.code : grpc.status.INTERNAL;
  return { name: "Failure", message: said(error), details: said(error), code };
}

function said(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
