// The address says what is open: #/platform/chat/thread. Links to threads use it.

export function read(scene) {
  const [platform, first, second] = location.hash.replace(/^#\/?/, "").split("/").map(decode);
  if (!platform) return {};
  // Where a thread is a channel, links have its id in place of the chat's.
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
