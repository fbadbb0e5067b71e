// The panel that makes platforms fail.

import { byId, h, keyed } from "./dom.js";

const KINDS = {
  rate_limit: ["Rate limit", "refused, with the seconds to wait"],
  slow: ["Slow", "works, but takes its seconds"],
  reset: ["Lost on the way there", "the connection breaks, nothing arrives"],
  accept_then_reset: ["Lost on the way back", "it arrives, but the bot never learns"],
  forbidden: ["Forbidden", "the bot may not write there any more"],
  server_error: ["Server error", "the platform answers with a 5xx"],
  redeliver: ["Delivered again", "the next message to the bot comes repeatedly"],
};

let platform;

/** One tab for each platform, once the scene tells which there are. */
export function showPlatforms(scene) {
  platform ??= Object.keys(scene.platforms)[0];
  keyed(byId("fault-tabs"), Object.keys(scene.platforms), {
    key: (name) => name,
    signature: (name) => scene.title(name),
    make: (name) => h("label", { "data-platform": name },
      h("input", { type: "radio", name: "fault-platform", value: name, checked: name === platform, onchange: () => { platform = name; } }),
      h("span", {}, scene.title(name))),
  });
}

export function setUpFaults() {
  byId("fault-kinds").append(...Object.entries(KINDS).map(([kind, [name, words]]) =>
    h("li", {}, h("button", { type: "button", "data-kind": kind, onclick: () => arm(kind, Number(byId("fault-count").value) || 1) },
      h("b", {}, name), h("span", {}, words)))));
  byId("faults-toggle").addEventListener("click", () => toggle(byId("faults-toggle").getAttribute("aria-expanded") !== "true"));
  byId("faults-close").addEventListener("click", () => toggle(false));
  byId("faults").addEventListener("keydown", (event) => { if (event.key === "Escape") toggle(false); });
}

function toggle(open) {
  byId("faults-toggle").setAttribute("aria-expanded", String(open));
  byId("faults").classList.toggle("open", open);
  (open ? byId("faults-close") : byId("faults-toggle")).focus();
}

/** The panel follows the platform that is being looked at. */
export function follow(open) {
  const radio = open.platform && byId("fault-platforms").querySelector(`input[value="${open.platform}"]`);
  if (radio) { radio.checked = true; platform = open.platform; }
}

async function arm(kind, count, on = platform) {
  const seconds = Number(byId("fault-seconds").value);
  const body = { platform: on, kind, count, ...(["rate_limit", "slow"].includes(kind) ? { seconds } : {}) };
  await fetch("/faults", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });
}

export function showFaults(scene) {
  const { faults } = scene;
  const total = faults.reduce((sum, fault) => sum + fault.count, 0);
  byId("faults-count").textContent = String(total);
  byId("faults-count").hidden = total === 0;
  const items = faults.length ? faults.map((fault, at) => ({ ...fault, at })) : [{ none: true, at: 0 }];
  keyed(byId("armed"), items, {
    key: (fault) => String(fault.at),
    signature: (fault) => JSON.stringify(fault),
    make: (fault) => fault.none ? h("li", { class: "none" }, "Nothing is armed. Everything works.") : h("li", { "data-platform": fault.platform },
      h("span", {}, `${scene.title(fault.platform)}: ${KINDS[fault.kind]?.[0] ?? fault.kind}, ${fault.count} ×`),
      h("button", { type: "button", "aria-label": `Disarm ${KINDS[fault.kind]?.[0]} on ${scene.title(fault.platform)}`, onclick: () => arm(fault.kind, 0, fault.platform) }, "Disarm")),
  });
}
