// The format of a message: entities, or the part of Markdown that chats show. Builds nodes, never markup.

import { h } from "./dom.js";

const ENTITY_TAGS = { bold: "strong", italic: "em", code: "code", pre: "pre", strikethrough: "s", underline: "u", blockquote: "blockquote" };
const INLINE = /(`[^`\n]+`)|<@!?(\w+)>|\*\*([^*\n]+)\*\*|(?<![\w*])\*([^*\n]+)\*(?![\w*])|(?<!\w)_([^_\n]+)_(?!\w)|~~([^~\n]+)~~/g;
const FENCE = /```[^\n`]*\n([\s\S]*?)(?:\n```|$)/g;

export function formatted(scene, platform, message) {
  if (scene.platforms[platform].markup === "entities") return fromEntities(message.text, message.entities ?? []);
  if (message.from !== "bot") return [message.text];
  return fromMarkdown(message.text, (id) => scene.mentioned(platform, id));
}

/** Entities count in UTF-16 units, as JavaScript does; one inside another stays inside. */
function fromEntities(text, entities, start = 0, end = text.length) {
  const nodes = [];
  let at = start;
  const sorted = entities.filter((entity) => ENTITY_TAGS[entity.type]).sort((a, b) => a.offset - b.offset || b.length - a.length);
  while (sorted.length) {
    const entity = sorted.shift();
    const stop = Math.min(entity.offset + entity.length, end);
    if (entity.offset < at) continue;
    const inner = [];
    while (sorted.length && sorted[0].offset < stop) inner.push(sorted.shift());
    nodes.push(text.slice(at, entity.offset), h(ENTITY_TAGS[entity.type], {}, ...fromEntities(text, inner, entity.offset, stop)));
    at = entity.type === "pre" && text[stop] === "\n" ? stop + 1 : stop; // a block ends its own line
  }
  nodes.push(text.slice(at, end));
  return nodes;
}

function fromMarkdown(text, name) {
  const nodes = [];
  let at = 0;
  for (const found of text.matchAll(FENCE)) {
    nodes.push(...lines(text.slice(at, found.index), name), h("pre", {}, found[1]));
    at = found.index + found[0].length;
    if (text[at] === "\n") at += 1;
  }
  return [...nodes, ...lines(text.slice(at), name)];
}

/** Headings, small print and quotes are marks at the start of a line. */
function lines(text, name) {
  return text.split("\n").flatMap((line, at) => {
    const [, mark, rest] = /^(#{1,6} +|-# +|> ?)?(.*)$/.exec(line);
    const tag = !mark ? null : mark.startsWith("#") ? "strong" : mark.startsWith("-") ? "small" : "q";
    const shown = tag ? [h(tag, {}, ...inline(rest, name))] : inline(rest, name);
    return at ? ["\n", ...shown] : shown;
  });
}

function inline(text, name) {
  const nodes = [];
  let at = 0;
  for (const found of text.matchAll(INLINE)) {
    const [all, code, mention, bold, star, underscore, struck] = found;
    nodes.push(text.slice(at, found.index));
    if (code) nodes.push(h("code", {}, code.slice(1, -1)));
    else if (mention) nodes.push(h("span", { class: "mention" }, name(mention)));
    else if (bold) nodes.push(h("strong", {}, bold));
    else if (struck) nodes.push(h("s", {}, struck));
    else nodes.push(h("em", {}, star ?? underscore));
    at = found.index + all.length;
  }
  return [...nodes, text.slice(at)];
}
