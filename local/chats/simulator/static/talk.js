// One conversation: its messages and their buttons, the typing indicator, and the message box.

import { byId, clock, h, keyed } from "./dom.js";
import { href } from "./route.js";
import { formatted } from "./text.js";

const NEAR_THE_END = 80;
let shown = "";

export function showTalk(scene, open) {
  const chat = scene.chat(open.platform, open.chat);
  const thread = scene.thread(chat, open.thread);
  const starter = open.thread && chat?.messages.find((message) => message.id === open.thread);
  const place = open.thread ? thread : chat;
  showHead(scene, open, chat, thread, starter);
  const people = (thread ?? chat)?.people ?? [];
  showSpeakers(scene, people);
  byId("composer").hidden = !people.length || !(open.thread || scene.kind(open.platform, chat).accepts_messages);

  const messages = place?.messages ?? [];
  const listed = starter ? [starter, ...messages.filter((message) => message !== starter)] : messages;
  const scroll = byId("scroll");
  const atEnd = scroll.scrollHeight - scroll.scrollTop - scroll.clientHeight < NEAR_THE_END;
  const before = byId("messages").children.length;
  keyed(byId("messages"), listed, {
    key: (message) => `${location.hash} ${message.id}`,
    signature: (message) => JSON.stringify([message, open.thread ? 0 : replies(chat, message)]),
    make: (message) => bubble(scene, open, chat, message),
  });
  showTyping(scene, chat, open);
  const alone = thread && !people.length;
  byId("empty").textContent = alone ? "Only the bot can see this thread." : emptyText(scene, chat, open, thread);
  byId("empty").hidden = listed.length > 0 && !alone;

  const fresh = shown !== location.hash;
  shown = location.hash;
  if (fresh || atEnd) { scroll.scrollTop = scroll.scrollHeight; byId("newer").hidden = true; }
  else if (listed.length > before) byId("newer").hidden = false;
}

function showHead(scene, open, chat, thread, starter) {
  const title = open.thread ? thread?.title ?? starter?.text ?? "A thread" : chat?.title ?? "Pick a chat";
  const name = scene.plain(open.platform, title);
  const above = open.thread && chat ? h("a", { href: href(open.platform, chat.id) }, chat.title) : chat && scene.kind(open.platform, chat).name;
  byId("talk-title").textContent = name;
  byId("crumbs").replaceChildren(...[open.platform && scene.title(open.platform), above].filter(Boolean).flatMap((part, at) => (at ? [" › ", part] : [part])));
  document.title = open.platform ? `${name} · Chat simulator` : "Chat simulator";
  document.body.dataset.platform = open.platform ?? "";
}

function showSpeakers(scene, people) {
  const select = byId("speaker");
  if (select.dataset.people === people.join()) return;
  const before = select.value;
  select.replaceChildren(...people.map((key) => h("option", { value: key }, scene.people[key] ?? key)));
  if (people.includes(before)) select.value = before;
  select.dataset.people = people.join();
}

function emptyText(scene, chat, open, thread) {
  if (!open.platform) return "Pick a chat on the left, or hand a session over: its thread appears there.";
  if (!chat) return "There is no such chat. It may have been removed, or the simulator was restarted.";
  if (open.thread && !thread) return "This thread does not exist yet, or was removed. It appears here when it exists.";
  if (scene.kind(open.platform, chat).is_forum && !open.thread) return "A forum holds threads. There are no messages outside of them.";
  return "No messages yet.";
}

const replies = (chat, message) => chat?.threads.find((thread) => thread.id === message.id)?.messages.length ?? 0;

function bubble(scene, open, chat, message) {
  const count = replies(chat, message);
  const threads = scene.platforms[open.platform].reply_threads && !open.thread;
  const link = href(open.platform, open.chat, message.id);
  return h("li", { class: `message from-${message.from}`, "data-id": message.id },
    h("div", { class: "who" },
      h("span", { class: "name" }, scene.people[message.from] ?? message.from),
      h("time", { datetime: message.at }, clock(message.at)),
      message.edited && h("span", { class: "note" }, "edited"),
      message.forwarded && h("span", { class: "note" }, "forwarded"),
      message.attachments && h("span", { class: "note" }, message.attachments.join(", ")),
      message.private && h("span", { class: "note" }, "only you can see this")),
    message.files.length > 0 && h("ul", { class: "files", "aria-label": "Files" }, message.files.map((file) => h("li", {}, shownFile(file)))),
    (message.text || !message.files.length) && h("div", { class: "text" }, ...formatted(scene, open.platform, message)),
    message.buttons.length > 0 && h("div", { class: "buttons" }, message.buttons.map((button) =>
      h("button", { type: "button", class: button.style, "data-focus": `${message.id} ${button.id}`, onclick: () => press(open, message, button) }, button.label))),
    message.acknowledged && h("ul", { class: "answers", role: "status", "aria-label": "Answers to presses" }, message.acknowledged.map(({ to, text }) =>
      h("li", {}, h("span", { class: "note" }, `only ${scene.people[to] ?? to} sees this: `), text))),
    (threads || (count > 0 && !open.thread)) &&
      h("a", { class: "replies", href: link }, count ? `${count} ${count === 1 ? "reply" : "replies"}` : "Reply in thread"));
}

const PICTURES = ["image/png", "image/jpeg", "image/gif", "image/webp"];
const KILOBYTE = 1024;

/** A picture, or a link that saves the file. */
function shownFile(file) {
  const link = `/files/${encodeURIComponent(file.id)}`;
  const size = file.size < KILOBYTE ? `${file.size} B` : `${Math.round(file.size / KILOBYTE)} KB`;
  const picture = PICTURES.includes(file.type) && h("img", { src: `${link}?picture`, alt: file.name || "picture", loading: "lazy" });
  return h("a", { href: link, download: file.name || "file" }, picture || `${file.name || "file"} (${size})`);
}

let timer;
function showTyping(scene, chat, open) {
  const left = scene.typingFor(chat, open.thread);
  byId("typing").hidden = left <= 0;
  byId("typing-text").textContent = left > 0 ? `${scene.people.bot ?? "The bot"} is typing` : "";
  clearTimeout(timer);
  if (left > 0) timer = setTimeout(() => showTyping(scene, chat, open), Math.min(left, 1000));
}

export async function send(open) {
  const words = byId("words"), chosen = byId("files");
  const text = words.value;
  if (!(text.trim() || chosen.files.length) || !open.chat) return;
  const files = await Promise.all([...chosen.files].map(encoded));
  const failed = await post("/say", open, { text, files });
  if (!failed) { words.value = ""; chosen.value = ""; grow(); }
  complain(failed && `Not sent: ${failed}. Your text is still in the box.`);
}

/** A chosen file as the simulator takes it. */
function encoded(file) {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve({ name: file.name, type: file.type || "application/octet-stream", data: reader.result.split(",")[1] ?? "" });
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(file);
  });
}

async function press(open, message, button) {
  const failed = await post("/press", open, { message: message.id, button: button.id });
  complain(failed && `Not pressed: ${failed}.`);
}

/** Does something as the chosen person at the open place; returns why it failed, if it did. */
async function post(path, { platform, chat, thread }, what) {
  const body = JSON.stringify({ platform, chat, thread, user: byId("speaker").value, ...what });
  try {
    const answer = await fetch(path, { method: "POST", headers: { "Content-Type": "application/json" }, body });
    if (!answer.ok) throw new Error((await answer.json()).error);
  } catch (error) {
    return error.message;
  }
}

function complain(words) {
  byId("problem").textContent = words ?? "";
  byId("problem").hidden = !words;
}

/** The box is as high as its text, up to a third of the window. */
export function grow() {
  const words = byId("words");
  words.style.height = "auto";
  words.style.height = `${Math.min(words.scrollHeight + 2, window.innerHeight / 3)}px`;
}

export function toEnd() {
  byId("scroll").scrollTop = byId("scroll").scrollHeight;
  byId("newer").hidden = true;
}
