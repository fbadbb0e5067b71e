// The panel that arms faults.

import { byId, h, keyed } from "./dom.js";

const KINDS = {
  rate_limit: ["Rate limit", "rejected, with the seconds to wait"],
  slow: ["Slow", "works, after the given seconds"],
  reset: ["Request lost", "the connection breaks, nothing was done"],
  accept_then_reset: ["Answer lost", "it was done, but the bot gets no answer"],
  forbidden: ["Forbidden", "the bot may no longer write there"],
  server_error: ["Server error", "the platform answers with a 5xx"],
  redeliver: ["Redelivery", "the next message to the bot is delivered again"],
  cut: ["Cut file", "the bot's next download breaks in the middle"],
  longer: ["Longer file", "the bot's next download has more bytes than announced"],
  redirect: ["Redirected file", "the bot's next download leads to another host"],
  page: ["Page for a file", "a page to log in comes in place of the file"],
  encoded: ["Encoded file", "the file comes with a Content-Encoding"],
  gone: ["Deleted file", "the file is no longer there"],
};

let platform;

/** One tab for each platform of the scene. */
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

/** Select the platform of the open chat. */
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
