// Connects the parts: live events, the address, and user input.

import { byId, h } from "./dom.js";
import { follow, setUpFaults, showFaults, showPlatforms } from "./faults.js";
import { showPlaces, walk } from "./places.js";
import { href, read } from "./route.js";
import { Scene, placeKey } from "./scene.js";
import { grow, send, showTalk, toEnd } from "./talk.js";

const scene = new Scene();
let open = {};

function show() {
  open = read(scene);
  scene.unread.delete(placeKey(open.platform, open.chat, open.thread));
  document.body.dataset.view = open.chat ? "talk" : "list";
  showTalk(scene, open);
  showPlaces(scene, open);
}

function moved() {
  show();
  follow(open);
  byId("problem").hidden = true;
  if (open.chat && !matchMedia("(pointer: coarse)").matches) byId("words").focus(); // on a phone it would open the keyboard
}

function announce({ said, opened }) {
  if (opened && placeKey(opened.platform, opened.chat, opened.thread) !== placeKey(open.platform, open.chat, open.thread)) toast(opened);
  if (!said) return;
  const key = placeKey(said.platform, said.chat, said.thread);
  const here = key === placeKey(open.platform, open.chat, open.thread);
  if (!here && said.message.from === "bot") scene.unread.set(key, (scene.unread.get(key) ?? 0) + 1);
}

let hide;
function toast({ platform, chat, thread, title }) {
  const box = byId("toast");
  box.replaceChildren(`New on ${scene.title(platform)}: `, h("a", { href: href(platform, chat, thread), onclick: () => { box.hidden = true; } }, scene.plain(platform, title)));
  box.hidden = false;
  clearTimeout(hide);
  hide = setTimeout(() => { box.hidden = true; }, 8000);
}

function connection(state, words) {
  byId("live").dataset.state = state;
  byId("live-text").textContent = words;
}

// Several changes in one burst are drawn once.
let drawn = false;
function soon() {
  if (drawn) return;
  drawn = true;
  requestAnimationFrame(() => { drawn = false; show(); });
}

const live = new EventSource("/live");
live.addEventListener("scene", (event) => {
  scene.replace(JSON.parse(event.data));
  connection("on", "live");
  showPlatforms(scene);
  showFaults(scene);
  show();
  follow(open);
});
live.addEventListener("change", (event) => { announce(scene.apply(JSON.parse(event.data))); soon(); });
live.addEventListener("faults", (event) => { scene.faults = JSON.parse(event.data); showFaults(scene); });
live.addEventListener("error", () => connection("off", "not connected, trying again"));

addEventListener("hashchange", moved);
byId("places").addEventListener("keydown", walk);
byId("newer").addEventListener("click", toEnd);
byId("composer").addEventListener("submit", (event) => { event.preventDefault(); send(open); });
byId("words").addEventListener("input", grow);
byId("words").addEventListener("keydown", (event) => {
  if (event.key === "Enter" && !event.shiftKey && !event.isComposing) { event.preventDefault(); send(open); }
});
document.querySelector(".skip").addEventListener("click", (event) => { event.preventDefault(); byId("words").focus(); });
setUpFaults();
