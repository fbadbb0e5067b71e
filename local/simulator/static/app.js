const text = (tag, words) => Object.assign(document.createElement(tag), { textContent: words });
const said = (messages) => messages.map((m) => text("p", `${m.from}: ${m.text}`));
async function show() {
  const { platforms } = await (await fetch("/state")).json();
  const parts = Object.entries(platforms).flatMap(([name, { chats }]) =>
    chats.flatMap((chat) => [
      text("h2", `${name}: ${chat.title}`),
      ...said(chat.messages),
      ...chat.threads.flatMap((thread) => [text("h3", thread.title), ...said(thread.messages)]),
    ]));
  document.getElementById("chats").replaceChildren(...parts);
}
const live = new EventSource("/live");
live.addEventListener("scene", show);
live.addEventListener("change", show);
