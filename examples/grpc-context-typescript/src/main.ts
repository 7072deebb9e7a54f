/** A context in TypeScript: it remembers a conversation, and hands out what fits. */

import { create } from "@bufbuild/protobuf";

import { ContextService, type Message, MessageSchema, Role } from "../kit/contract.js";
import { type Call, type Config, Failure, serve } from "../kit/serve.js";
import { obey } from "./orders.js";

const CHARACTERS_PER_TOKEN = 4;

class Conversation {
  private messages: Message[] = [];

  constructor(private readonly most: number) {}

  all(): Message[] {
    return this.messages;
  }

  add(message: Message): void {
    this.messages.push(message);
    if (this.messages.length > this.most) this.messages.shift();
  }

  replace(messages: Message[]): void {
    this.messages = messages.slice(-this.most);
  }

  /** The newest messages that fit; the last one in any case. */
  fitting(tokens: number): Message[] {
    if (tokens <= 0) return this.messages;
    let room = tokens * CHARACTERS_PER_TOKEN;
    let first = this.messages.length;
    while (first > 0) {
      room -= [...textOf(this.messages[first - 1]!)].length;
      if (room < 0) break;
      first -= 1;
    }
    return this.messages.slice(Math.min(first, this.messages.length - 1));
  }
}

function textOf(message: Message): string {
  if (message.content.case !== "blockContent") return message.content.value ?? "";
  const blocks = message.content.value.blocks.map(({ block }) => block);
  return blocks.map((each) => (each.case === "textBlock" ? each.value.text : "")).join("");
}

/** One conversation for each session that uses this server. */
const conversations = new Map<string, Conversation>();

function conversationOf({ session }: Call): Conversation {
  const known = conversations.get(session) ?? new Conversation(Infinity);
  conversations.set(session, known);
  return known;
}

/** A host that comes back after a lost connection mounts again: nothing is lost by that. */
function mount(config: Config, call: Call): void {
  const most = config.max_messages ?? "Infinity";
  if (most !== "Infinity" && !/^0*[1-9]\d*$/.test(most)) {
    throw new Failure(`max_messages is "${most}"; give a whole number above 0.`);
  }
  const mounted = new Conversation(Number(most));
  mounted.replace(conversationOf(call).all());
  conversations.set(call.session, mounted);
}

serve(
  {
    name: "newest",
    version: "1.0.0",
    kind: "context",
    mount,
    cleanup: (call) => void conversations.delete(call.session),
  },
  ContextService,
  {
    async addMessage({ message }, call) {
      if (message === undefined) throw new Failure("There is no message to add.");
      const ordered = message.role === Role.USER ? await obey(textOf(message), call) : undefined;
      conversationOf(call).add(ordered === undefined ? message : said(ordered));
      return {};
    },
    getMessages: (_, call) => ({ messages: conversationOf(call).all() }),
    getMessagesForRequest: ({ tokenBudget }, call) => ({
      messages: conversationOf(call).fitting(tokenBudget),
    }),
    setMessages({ messages }, call) {
      conversationOf(call).replace(messages);
      return {};
    },
    clear(_, call) {
      conversationOf(call).replace([]);
      return {};
    },
  },
);

function said(text: string): Message {
  return create(MessageSchema, { role: Role.USER, content: { case: "textContent", value: text } });
}
