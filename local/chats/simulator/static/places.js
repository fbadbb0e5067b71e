// The list of platforms, chats and threads.

import { byId, clock, h, redraw } from "./dom.js";
import { href } from "./route.js";
import { placeKey } from "./scene.js";

const newest = (place) => place.messages.at(-1);

export function showPlaces(scene, open) {
  redraw(byId("places"), Object.keys(scene.platforms).map((platform) => platformSection(scene, open, platform)));
}

function platformSection(scene, open, platform) {
  const rows = scene.chats(platform).flatMap((chat) => [
    row(scene, open, platform, chat),
    ...[...chat.threads].reverse().map((thread) => row(scene, open, platform, chat, thread)),
  ]);
  return h("section", { "data-platform": platform, "aria-label": scene.title(platform) },
    h("h2", {}, h("span", { class: "mark", "aria-hidden": "true" }), scene.title(platform)), h("ul", {}, rows));
}

function row(scene, open, platform, chat, thread) {
  const place = thread ?? chat;
  const kind = scene.kind(platform, chat);
  const key = placeKey(platform, chat.id, thread?.id);
  const here = key === placeKey(open.platform, open.chat, open.thread);
  const unread = scene.unread.get(key) ?? 0;
  const last = newest(place);
  return h("li", { class: thread ? "thread" : "chat" },
    h("a", { href: href(platform, chat.id, thread?.id), "aria-current": here ? "page" : false, "data-focus": key },
      h("span", { class: "sign", "aria-hidden": "true" }, thread ? "↳" : kind.sign),
      h("span", { class: "title" }, scene.plain(platform, place.title)),
      !thread && chat.home && h("span", { class: "home" }, "home"),
      !last && !(chat.home && !thread) && h("span", { class: "kind" }, thread ? "empty" : kind.short),
      unread > 0 && h("span", { class: "badge" }, String(unread), h("span", { class: "unseen" }, " unread")),
      scene.typingFor(chat, thread?.id) > 0
        ? h("span", { class: "last now" }, "typing…")
        : last && h("span", { class: "last" }, `${clock(last.at)} ${scene.plain(platform, last.text).slice(0, 80)}`)));
}

/** The up and down keys move through the list. */
export function walk(event) {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (!step) return;
  const links = [...byId("places").querySelectorAll("a")];
  const next = links[links.indexOf(document.activeElement) + step];
  if (next) { event.preventDefault(); next.focus(); }
}
