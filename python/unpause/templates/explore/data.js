// What the page has: `about` everything but the runs, of which each is a frame (unpause.packed), in this
// file or, where `about.server` says so, at an address beside it.
const about = JSON.parse(document.getElementById("about").textContent);
const $ = (id) => document.getElementById(id);

function element(name, text, ...children) {
  const it = document.createElement(name);
  if (text) it.textContent = text;
  it.append(...children);
  return it;
}

async function inflated(bytes) {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(stream).arrayBuffer();
}

// What a frame tells of, with its arrays.
async function opened(bytes) {
  const whole = await inflated(bytes);
  const length = new DataView(whole).getUint32(0, true);
  const told = JSON.parse(new TextDecoder().decode(new Uint8Array(whole, 4, length)));
  told.numbers = new Int32Array(whole, 4 + length);
  told.known = new Map();
  return told;
}

// The numbers at a place of a frame, which holds differences: [first, count] and maybe what they count in.
function values(frame, place, scale, origin) {
  if (!place) return new Float64Array();
  const [first, count, unit] = place;
  const key = first + ":" + count;
  if (frame.known.has(key)) return frame.known.get(key);
  const found = new Float64Array(count);
  const factor = scale || unit || 1;
  let sum = 0;
  for (let i = 0; i < count; i++) { sum += frame.numbers[first + i]; found[i] = sum * factor + (origin || 0); }
  frame.known.set(key, found);
  return found;
}

const times = (frame, place) => values(frame, place, frame.unit, frame.start);

async function fetched(what, asked) {
  const answer = await fetch(`${what}?${new URLSearchParams(asked)}`);
  if (!answer.ok) throw new Error(await answer.text());
  return opened(await answer.arrayBuffer());
}

const loaded = new Map();
function runAt(number) {
  if (!loaded.has(number)) {
    const here = $(`run-${number}`);
    loaded.set(number, here ? opened(Uint8Array.from(atob(here.textContent), (c) => c.charCodeAt(0)))
      : fetched("run", { n: number }));
  }
  return loaded.get(number);
}

// What is looked at. `current` has by line of charts (schemes) the run at the point chosen, or null.
const state = { line: 0, point: 0, now: 0, chosen: null, end: 1, from: 0, to: 1 };
let current = [];
const run = () => current[state.line];
const port = (name) => run() && run().ports[name];

async function show(point) {
  const numbers = about.lines.map((_, line) => about.runs.findIndex((it) => it.line === line && it.point === point));
  current = await Promise.all(numbers.map((number) => (number < 0 ? null : runAt(number))));
  current.forEach((it, line) => { if (it) it.number = numbers[line]; });
  state.point = point;
  if (!run()) state.line = current.findIndex(Boolean);
  state.end = Math.max(...current.filter(Boolean).map((it) => it.end));
  state.from = 0;
  state.to = state.end;
}

// The last of sorted `all` that is not after `time`.
function at(all, time) {
  let low = 0, high = all.length;
  while (low < high) { const mid = (low + high) >> 1; if (all[mid] <= time) low = mid + 1; else high = mid; }
  return low - 1;
}

// When an egress was stopped: what a window has more closely counts within it.
function intervals(frame, name) {
  const it = frame && frame.ports[name];
  return it && it.start ? [times(frame, it.start), times(frame, it.end)] : [[], []];
}

function isStopped(frame, name, time) {
  const near = frame.near && time >= frame.near.from && time <= frame.near.to ? frame.near : frame;
  const [start, end] = intervals(near, name);
  const found = at(start, time);
  return found >= 0 && time < end[found];
}

function stoppedFor(frame, name) {
  const [start, end] = intervals(frame, name);
  let sum = 0;
  for (let i = 0; i < start.length; i++) sum += end[i] - start[i];
  return sum;
}

function three(number) {
  return number >= 99.95 ? number.toFixed(0) : number >= 9.995 ? number.toFixed(1) : number.toFixed(2);
}

function asTime(ns) {
  for (const [factor, unit] of [[1e9, "s"], [1e6, "ms"], [1e3, "us"]]) {
    if (ns >= factor) return `${three(ns / factor)} ${unit}`;
  }
  return ns ? `${Math.round(ns)} ns` : "0";
}

// A moment, with more digits than a duration.
function asMoment(ns) {
  for (const [factor, unit] of [[1e9, "s"], [1e6, "ms"], [1e3, "us"]]) {
    if (ns >= factor) return `${(ns / factor).toFixed(ns / factor >= 100 ? 2 : 3)} ${unit}`;
  }
  return `${Math.round(ns)} ns`;
}

function asSize(bytes) {
  for (const [factor, unit] of [[1e9, "GB"], [1e6, "MB"], [1e3, "KB"]]) {
    if (bytes >= factor) return `${three(bytes / factor)} ${unit}`;
  }
  return `${bytes} B`;
}

const counted = (number, noun) => `${number.toLocaleString("en")} ${noun}${number === 1 ? "" : "s"}`;

function named(name, text) {
  const it = element("button", text || name);
  it.className = "name";
  it.type = "button";
  it.dataset.name = name;
  return it;
}

const isDark = () => (document.documentElement.dataset.theme
  || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

// A scheme's colour, as in the figures; what would vanish on the paper is moved away from it.
function colourOf(line) {
  const parts = [1, 3, 5].map((i) => parseInt(about.lines[line].colour.slice(i, i + 2), 16));
  const light = (0.3 * parts[0] + 0.59 * parts[1] + 0.11 * parts[2]) / 255;
  const to = isDark() ? (light < 0.5 ? 255 : 0) : 0;
  const by = isDark() ? Math.max(0, 0.55 - light) : Math.max(0, light - 0.72);
  return `rgb(${parts.map((it) => Math.round(it + (to - it) * by)).join(",")})`;
}
