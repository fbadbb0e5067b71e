// The address says what is open: #/platform/chat/thread. Links from elsewhere open a thread the same way.

export function read(scene) {
  const [platform, first, second] = location.hash.replace(/^#\/?/, "").split("/").map(decode);
  if (!platform) return {};
  // On Discord a thread is a channel of its own, so its id may stand where a chat's does.
  const inside = scene.chats(platform).find((chat) => scene.thread(chat, first));
  if (first && !second && inside) return { platform, chat: inside.id, thread: first };
  return { platform, chat: first || undefined, thread: second || undefined };
}

export const href = (platform, chat, thread) =>
  "#/" + [platform, chat, thread].filter(Boolean).map(encodeURIComponent).join("/");

export const go = (...parts) => { location.hash = href(...parts); };

function decode(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
