// Arguments: origin, path to read, path to write to, body, path for a WebSocket. Returns what the page could read, open or keep waiting.
const [origin, read, write, body, socketPath] = arguments;
const KINDS = ["text/plain", "application/x-www-form-urlencoded"];
const found = [];

const limited = (what, work) => {
  const patience = new Promise((done) => setTimeout(() => done(`${what}: waits`), 8000));
  return Promise.race([new Promise(work).catch(() => null), patience]).then((text) => text && found.push(text));
};
const attempt = (what, url, options) => limited(what, async (done) => {
  try {
    const answer = await fetch(url, { credentials: "include", ...options });
    done(answer.type === "opaque" ? null : `${what}: ${answer.status} ${await answer.text()}`);
  } catch { done(null); }
});

const fetches = ["cors", "no-cors"].flatMap((mode) => [
  attempt(`${mode} GET`, origin + read, { mode }),
  ...KINDS.map((kind) =>
    attempt(`${mode} POST`, origin + write, { mode, method: "POST", body, headers: { "Content-Type": kind } })),
]);
fetches.push(attempt("POST of JSON", origin + write,
  { method: "POST", body, headers: { "Content-Type": "application/json", Authorization: "Bearer x" } }));

const form = limited("form", (done) => {
  const frame = Object.assign(document.createElement("iframe"), { name: `frame${Math.random()}` });
  const form = Object.assign(document.createElement("form"),
    { method: "post", action: origin + write, enctype: "text/plain", target: frame.name });
  // As text/plain a field is written as name=value, so the name holds the JSON and leaves a place for the "=".
  form.append(Object.assign(document.createElement("input"), { name: body.replace(/}$/, ', "and": "'), value: '"}' }));
  (document.body ?? document.documentElement).append(frame, form);
  frame.onload = () => {
    try {  // throws for a page of another origin
      const [navigation] = frame.contentWindow.performance.getEntriesByType("navigation");
      done(`form: ${navigation.responseStatus} ${frame.contentDocument.body.innerText}`);
    } catch { done(null); }
  };
  form.submit();
});

const streams = [limited("EventSource", (done) => {
  const stream = new EventSource(origin + read);
  stream.onopen = stream.onmessage = () => done("EventSource: open");
  stream.onerror = () => done(null);
})];
if (socketPath) streams.push(limited("WebSocket", (done) => {
  const socket = new WebSocket(origin.replace("http", "ws") + socketPath);
  socket.onopen = () => done("WebSocket: open");
  socket.onerror = socket.onclose = () => done(null);
  setTimeout(() => done(null), 6000);  // Chromium delays sockets after others that failed; that is not an answer
}));

return Promise.all([...fetches, form, ...streams]).then(() => found);
