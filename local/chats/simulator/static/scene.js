// The page's data: the scene that the simulator sent, with its changes applied.

export const placeKey = (platform, chat, thread) => [platform, chat, thread ?? ""].join("\n");

const CHANGES = {
  chat(scene, change) {
    const { chat: id, title, type: kind, people, home } = change;
    scene.chats(change.platform).push({ id, title, kind, people, home, messages: [], threads: [], typing: {} });
  },
  thread(scene, change, chat) {
    const known = scene.thread(chat, change.thread);
    const { title, people } = change;
    if (known) Object.assign(known, { title, people });
    else {
      chat.threads.push({ id: change.thread, title, people, messages: [] });
      return { opened: change };
    }
  },
  message(scene, change, chat, place) {
    delete chat.typing[change.thread ?? ""];
    place?.messages.push(change.message);
    return { said: change };
  },
  edit(scene, change, chat, place) {
    const at = place?.messages.findIndex((message) => message.id === change.message.id) ?? -1;
    if (at >= 0) place.messages[at] = change.message;
  },
  typing(scene, change, chat) {
    chat.typing[change.thread ?? ""] = change.until;
  },
  gone(scene, change, chat, place) {
    if (change.message && place) place.messages = place.messages.filter((message) => message.id !== change.message.id);
    else if (change.thread) chat.threads = chat.threads.filter((thread) => thread.id !== change.thread);
    else scene.chats(change.platform).splice(scene.chats(change.platform).indexOf(chat), 1);
  },
};

export class Scene {
  platforms = {};
  people = {};
  faults = [];
  unread = new Map();

  replace({ platforms, people, faults }) {
    Object.assign(this, { platforms, people, faults });
  }

  /** The platform's name for people. */
  title(platform) {
    return this.platforms[platform]?.title ?? platform;
  }

  /** How the chat's kind is called and shown. */
  kind(platform, chat) {
    return this.platforms[platform]?.kinds[chat?.kind] ?? { name: chat?.kind, short: chat?.kind, sign: "#", accepts_messages: true };
  }

  /** The name behind a mention such as <@U7001>. */
  mentioned(platform, id) {
    return `@${this.platforms[platform]?.mentions[id] ?? id}`;
  }

  /** Text for places that show no formatting: titles and previews. */
  plain(platform, text) {
    const named = text.replace(/<@!?(\w+)>/g, (_, id) => this.mentioned(platform, id));
    return named.replace(/^(#{1,6} |-# |> ?)|[*`]+|~~/gm, "").replace(/\s+/g, " ").trim();
  }

  chats(platform) {
    return this.platforms[platform]?.chats ?? [];
  }

  chat(platform, id) {
    return this.chats(platform).find((chat) => chat.id === id);
  }

  thread(chat, id) {
    return chat?.threads.find((thread) => thread.id === id);
  }

  /** Applies one change; returns what to announce: `said`, a message, or `opened`, a thread. */
  apply(change) {
    const chat = this.chat(change.platform, change.chat);
    if (!chat && change.kind !== "chat") return {};
    const place = change.thread ? this.thread(chat, change.thread) : chat;
    return CHANGES[change.kind]?.(this, change, chat, place) ?? {};
  }

  /** How many milliseconds the bot still counts as typing there. */
  typingFor(chat, thread) {
    const until = chat?.typing[thread ?? ""];
    return until ? Math.max(0, Date.parse(until) - Date.now()) : 0;
  }
}
