"use strict";
// Everything that can be seen lies in the element `data`; nothing is fetched.
const data = JSON.parse(document.getElementById("data").textContent);
const $ = (id) => document.getElementById(id);
const COLOURS = ["#2a78c2", "#c65a11", "#2e8b57", "#8e44ad", "#b8860b", "#c2185b", "#00838f", "#6d4c41",
  "#5c6bc0", "#7cb342", "#f06292", "#607d8b"];
let block = new Int32Array();
let now = 0;
let chosen = null;
let scheme = 0;
let timer = null;
let sortBy = { key: "stopped", down: true };

async function inflate(text) {
  const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Int32Array(await new Response(stream).arrayBuffer());
}

// The values at a place of the block, which holds differences.
function values(place, scale) {
  if (!place) return new Float64Array();
  const [first, count] = place;
  const found = new Float64Array(count);
  let sum = 0;
  for (let i = 0; i < count; i++) { sum += block[first + i]; found[i] = sum * scale; }
  return found;
}

const known = new Map();
function once(place, scale) {
  if (!place) return new Float64Array();
  const key = place[0] + ":" + scale;
  if (!known.has(key)) known.set(key, values(place, scale));
  return known.get(key);
}

// The last of sorted `times` that is not after `time`.
function at(times, time) {
  let low = 0, high = times.length;
  while (low < high) { const mid = (low + high) >> 1; if (times[mid] <= time) low = mid + 1; else high = mid; }
  return low - 1;
}

const port = (name) => data.runs[scheme].ports[name];
const intervals = (it) => [once(it && it.start, data.unit), once(it && it.end, data.unit)];

function isStopped(it, time) {
  const [start, end] = intervals(it);
  const found = at(start, time);
  return found >= 0 && time < end[found];
}

function stoppedFor(it) {
  const [start, end] = intervals(it);
  let sum = 0;
  for (let i = 0; i < start.length; i++) sum += end[i] - start[i];
  return sum;
}

function asTime(ns) {
  for (const [factor, unit] of [[1e9, "s"], [1e6, "ms"], [1e3, "us"]]) {
    if (ns >= factor) return (ns / factor).toPrecision(ns / factor >= 100 ? 3 : 4).replace(/\.?0+$/, "") + " " + unit;
  }
  return Math.round(ns) + " ns";
}

function make(name, attributes, parent, text) {
  const it = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) it.setAttribute(key, value);
  if (text !== undefined) it.textContent = text;
  parent.appendChild(it);
  return it;
}

const drawnLinks = new Map();
const drawnNodes = new Map();

function drawFabric() {
  const svg = $("fabric");
  const tiers = Math.max(...data.fabric.nodes.map((it) => it.tier)) + 1;
  const rows = Array.from({ length: tiers }, () => []);
  for (const node of data.fabric.nodes) rows[node.tier].push(node);
  const widest = Math.max(...rows.map((it) => it.length));
  const wide = Math.max(600, Math.min(widest * 44, 2400));
  const high = 110 * tiers;
  svg.setAttribute("viewBox", `0 0 ${wide} ${high}`);
  const places = new Map();
  rows.forEach((row, tier) => row.forEach((node, n) => {
    places.set(node.name, [wide * (n + 0.5) / row.length, high - 45 - 110 * tier]);
  }));
  for (const link of data.fabric.links) {
    const [ax, ay] = places.get(link.a), [bx, by] = places.get(link.b);
    const length = Math.hypot(bx - ax, by - ay) || 1;
    const [dx, dy] = [-(by - ay) / length * 3, (bx - ax) / length * 3];
    for (const [name, from, to, side] of [[`${link.a}->${link.b}`, [ax, ay], [bx, by], 1],
      [`${link.b}->${link.a}`, [bx, by], [ax, ay], -1]]) {
      const middle = [(from[0] + to[0]) / 2 + dx * side, (from[1] + to[1]) / 2 + dy * side];
      // The half of a link that is next to its sender is the sender's.
      const ends = { x1: from[0] + dx * side, y1: from[1] + dy * side, x2: middle[0], y2: middle[1] };
      const line = make("line", { ...ends, class: "link" }, svg);
      const hit = make("line", { ...ends, class: "hit", "data-port": name }, svg);
      make("title", {}, hit, name);
      hit.addEventListener("click", () => choose(name));
      drawnLinks.set(name, { line, rate: link.rate });
    }
  }
  for (const [name, [x, y]] of places) {
    const tall = 26, broad = rows[0].some((it) => it.name === name) ? 28 : 56;
    const box = make("rect", { x: x - broad / 2, y: y - tall / 2, width: broad, height: tall, rx: 4, class: "node" }, svg);
    const fill = make("rect", { x: x - broad / 2 + 1, y: y + tall / 2 - 1, width: broad - 2, height: 0, class: "fill" }, svg);
    make("title", {}, box, name);
    const label = wide / Math.max(...rows.map((it) => it.length)) >= 26 || broad > 30;
    if (label) make("text", { x, y: y + 4 }, svg, name);
    box.addEventListener("click", () => { $("find").value = name; showList(); });
    drawnNodes.set(name, { box, fill, y, tall });
  }
}

function showMoment() {
  $("now").textContent = asTime(now);
  $("slider").value = Math.round(now / data.end * 10000);
  const fullest = new Map();
  for (const [name, { line, rate }] of drawnLinks) {
    const it = port(name);
    const time = once(it && it.time, data.unit);
    const i = at(time, now);
    let use = 0;
    if (i > 0) {
      const sent = once(it.sent, 256), queue = once(it.queue, 1);
      use = (sent[i] - sent[i - 1]) * 8e9 / (time[i] - time[i - 1]) / rate;
      let most = 1;
      for (const value of queue) if (value > most) most = value;
      const node = name.split("->")[0];
      fullest.set(node, Math.max(fullest.get(node) || 0, queue[i] / most));
    }
    line.setAttribute("class", "link" + (use > 0.02 ? " busy" : "") + (isStopped(it, now) ? " stopped" : "")
      + (name === chosen ? " chosen" : ""));
    line.style.strokeWidth = use > 0.02 ? 1 + 5 * Math.min(use, 1) : "";
  }
  for (const [name, { fill, y, tall }] of drawnNodes) {
    const part = (fullest.get(name) || 0) * (tall - 2);
    fill.setAttribute("height", part);
    fill.setAttribute("y", y + tall / 2 - 1 - part);
  }
  for (const plot of plots) plot.redraw(false, false);
  const stops = [...drawnLinks.keys()].filter((name) => isStopped(port(name), now)).length;
  $("now").title = `${stops} links are stopped`;
}

// The moment that the fabric shows, in a chart.
function drawNow(plot) {
  const x = plot.valToPos(now / 1e6, "x", true);
  if (x < plot.bbox.left || x > plot.bbox.left + plot.bbox.width) return;
  plot.ctx.save();
  plot.ctx.strokeStyle = getComputedStyle(document.documentElement).getPropertyValue("--stop");
  plot.ctx.beginPath();
  plot.ctx.moveTo(x, plot.bbox.top);
  plot.ctx.lineTo(x, plot.bbox.top + plot.bbox.height);
  plot.ctx.stroke();
  plot.ctx.restore();
}

const times = (count) => `${count.toLocaleString("en")} time${count === 1 ? "" : "s"}`;

let plots = [];
function chart(title, lines, unit) {
  const all = new Set();
  for (const line of lines) for (const time of line.time) all.add(time);
  const x = Float64Array.from(all).sort();
  const columns = lines.map((line) => {
    const found = new Array(x.length).fill(null);
    let i = 0;
    for (let n = 0; n < x.length; n++) {
      while (i < line.time.length && line.time[i] <= x[n]) i++;
      if (i > 0 && (line.steps || line.time[i - 1] === x[n])) found[n] = line.value[i - 1];
    }
    return found;
  });
  const ink = getComputedStyle(document.documentElement).getPropertyValue("--ink");
  const rule = { stroke: getComputedStyle(document.documentElement).getPropertyValue("--line"), width: 1 };
  const options = {
    title, width: $("charts").clientWidth || 600, height: 190, cursor: { sync: { key: "time" } },
    scales: { x: { time: false } },
    axes: [{ stroke: ink, grid: rule, label: "ms" }, { stroke: ink, grid: rule, label: unit, size: 70 }],
    series: [{ label: "ms" }, ...lines.map((line) => ({
      label: line.label, stroke: line.colour, width: 1.5, spanGaps: !line.steps,
      paths: line.steps ? uPlot.paths.stepped({ align: 1 }) : undefined, points: { show: false },
    }))],
    hooks: { draw: [drawNow] },
  };
  const plot = new uPlot(options, [x, ...columns], $("charts"));
  plot.over.addEventListener("click", () => { go(plot.posToVal(plot.cursor.left, "x") * 1e6); });
  plots.push(plot);
}

const inMs = (array) => Array.from(array, (it) => it / 1e6);
function rates(time, counter) {
  const found = { time: [], value: [] };
  for (let i = 1; i < time.length; i++) {
    found.time.push(time[i] / 1e6);
    found.value.push((counter[i] - counter[i - 1]) * 8 / (time[i] - time[i - 1]));
  }
  return found;
}

function steps(it) {
  const [start, end] = intervals(it);
  const found = { time: [0], value: [0] };
  for (let i = 0; i < start.length; i++) {
    found.time.push(start[i] / 1e6, end[i] / 1e6);
    found.value.push(1, 0);
  }
  found.time.push(data.end / 1e6);
  found.value.push(0);
  return found;
}

// Charts of the port or flow chosen, every scheme in them, on one time axis.
function showCharts() {
  for (const plot of plots) plot.destroy();
  plots = [];
  const of = (kind, key) => data.runs.map((run, n) => [run, run[kind][chosen], COLOURS[n % COLOURS.length]])
    .filter(([, it]) => it && it[key]);
  const lines = (found, line) => found.map(([run, it, colour]) => ({ label: run.scheme, colour, ...line(it) }));
  let some = of("ports", "start");
  if (some.length) chart(`${chosen}: stopped by PAUSE`, lines(some, (it) => ({ ...steps(it), steps: true })), "stopped");
  some = of("ports", "queue");
  if (some.length) {
    chart(`${chosen}: queue`, lines(some, (it) => ({ time: inMs(once(it.time, data.unit)),
      value: Array.from(once(it.queue, 1), (v) => v / 1e3) })), "KB");
    chart(`${chosen}: sent`, lines(some, (it) => rates(once(it.time, data.unit), once(it.sent, 256))), "Gb/s");
  }
  some = of("flows", "got");
  if (some.length) chart(`${chosen}: goodput`, lines(some, (it) => rates(once(it.time, data.unit), once(it.got, 256))), "Gb/s");
}

function choose(name) {
  chosen = name;
  $("chosen").textContent = name;
  const lines = data.runs.map((run) => {
    const it = run.ports[name];
    if (!it || !it.start) return run.flows[name] ? null : `${run.scheme}: not stopped`;
    return `${run.scheme}: stopped ${times(it.pauses)}, ${asTime(stoppedFor(it))}`;
  });
  $("detail").replaceChildren(...lines.filter(Boolean).map((text) => {
    const line = document.createElement("div");
    line.textContent = text;
    return line;
  }));
  showCharts();
  showList();
  showMoment();
}

function showList() {
  const wanted = $("find").value.trim().toLowerCase();
  const run = data.runs[scheme];
  const rows = Object.entries(run.ports).map(([name, it]) => ({ name, pauses: it.pauses || 0, stopped: stoppedFor(it) }));
  rows.push(...Object.keys(run.flows).map((name) => ({ name, pauses: 0, stopped: 0 })));
  const { key, down } = sortBy;
  rows.sort((a, b) => (a[key] < b[key] ? -1 : a[key] > b[key] ? 1 : 0) * (down ? -1 : 1));
  const shown = rows.filter((row) => row.name.toLowerCase().includes(wanted));
  $("list").tBodies[0].replaceChildren(...shown.slice(0, 200).map((row) => {
    const line = document.createElement("tr");
    if (row.name === chosen) line.className = "chosen";
    const name = document.createElement("button");
    name.className = "name";
    name.textContent = row.name;
    name.addEventListener("click", () => choose(row.name));
    line.insertCell().append(name);
    line.insertCell().textContent = row.pauses.toLocaleString("en");
    line.insertCell().textContent = row.stopped ? asTime(row.stopped) : "";
    return line;
  }));
  if (shown.length > 200) {
    $("list").tBodies[0].insertRow().insertCell().textContent = `${shown.length - 200} more: search`;
  }
}

function element(name, text, ...children) {
  const it = document.createElement(name);
  if (text) it.textContent = text;
  it.append(...children);
  return it;
}

function named(link, text) {
  const it = element("button", text);
  it.className = "name";
  it.addEventListener("click", () => choose(link));
  return it;
}

function stopList(stops) {
  return element("ul", "", ...stops.map((stop) => element("li", "",
    named(`${stop.stopped}->${stop.pauser}`, `${stop.pauser} stopped ${stop.stopped}`),
    ` ${times(stop.pauses)}, ${asTime(stop.time_ns)}`,
    ...(stop.below.length ? [stopList(stop.below)] : []))));
}

const KINDS = { incast: "Incast at", "slow-link": "Slow link", busy: "Busy link", switch: "Switch", nic: "NIC of", cycle: "Deadlock through" };

function showTrees() {
  for (const { box } of drawnNodes.values()) box.classList.remove("root");
  if (data.why) return $("trees").replaceChildren(element("p", data.why));
  const { trees } = data.trees.find((it) => it.scheme === data.runs[scheme].scheme) || { trees: [] };
  if (!trees.length) return $("trees").replaceChildren(element("p", "No PAUSE was sent."));
  $("trees").replaceChildren(...trees.map((tree, n) => {
    const sure = tree.certain ? "certain" : tree.likely ? "likely" : "perhaps";
    const box = element("details", "", element("summary", `${KINDS[tree.kind]} ${tree.root}: ${tree.pauses.toLocaleString("en")} PAUSEs, ${asTime(tree.stopped_ns)} (${sure})`));
    box.open = n === 0;
    const filled = tree.culprits.map((it) => `${it.traffic} ${Math.round(100 * it.share)} %`).join(", ");
    if (filled) box.append(element("p", `In its queue: ${filled}.`));
    const when = element("p", "From ");
    tree.episodes.slice(0, 12).forEach(([start], n) => {
      const jump = element("button", asTime(start));
      jump.className = "name";
      jump.addEventListener("click", () => go(start));
      when.append(n ? ", " : "", jump);
    });
    box.append(when, stopList(tree.stops));
    if (tree.victims.length) box.append(element("p", `Victims: ${tree.victims.slice(0, 5).map((it) => `${it.traffic} (${it.src} -> ${it.dst}) ${asTime(it.waited_ns)}`).join("; ")}`));
    box.append(element("p", `Could help: ${tree.advice}.`));
    return box;
  }));
  const root = drawnNodes.get(trees[0].root.split("->")[0]);
  if (root) root.box.classList.add("root");
}

function go(time) {
  now = Math.max(0, Math.min(data.end, time));
  showMoment();
}

// The PAUSE, of any link, that begins next after now, or did last before.
function jump(later) {
  let best = null;
  for (const it of Object.values(data.runs[scheme].ports)) {
    const [start] = intervals(it);
    const i = later ? at(start, now) + 1 : at(start, now - data.unit * 0.5);
    const found = start[i];
    if (found !== undefined && found !== now && (best === null || (later ? found < best : found > best))) best = found;
  }
  if (best !== null) go(best);
}

function play() {
  if (timer) { clearInterval(timer); timer = null; $("play").textContent = "Play"; return; }
  $("play").textContent = "Stop";
  timer = setInterval(() => { if (now >= data.end) play(); else go(now + data.end / 600); }, 50);
}

function pickScheme(number) {
  scheme = number;
  showTrees();
  showList();
  showMoment();
}

async function start() {
  block = await inflate(data.block);
  $("scheme").append(...data.runs.map((run) => element("option", run.scheme)));
  $("scheme").addEventListener("change", (event) => pickScheme(event.target.selectedIndex));
  $("left").textContent = data.leftOut.length ? `Left out: ${data.leftOut.join(" ")}` : "";
  $("slider").addEventListener("input", (event) => go(event.target.value / 10000 * data.end));
  $("play").addEventListener("click", play);
  $("before").addEventListener("click", () => jump(false));
  $("after").addEventListener("click", () => jump(true));
  $("find").addEventListener("input", showList);
  $("theme").addEventListener("click", () => {
    const dark = document.documentElement.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
    document.documentElement.dataset.theme = dark === "dark" ? "light" : "dark";
    showCharts();
  });
  for (const head of document.querySelectorAll("#list th")) head.addEventListener("click", () => {
    sortBy = { key: head.dataset.key, down: sortBy.key === head.dataset.key ? !sortBy.down : head.dataset.key !== "name" };
    showList();
  });
  document.addEventListener("keydown", (event) => {
    if (event.target.matches("input[type=search], select") || event.ctrlKey || event.metaKey) return;
    const step = data.end / (event.shiftKey ? 50 : 500);
    const keys = { " ": play, "]": () => jump(true), "[": () => jump(false), ArrowRight: () => go(now + step),
      ArrowLeft: () => go(now - step), t: () => $("theme").click() };
    if (keys[event.key] && !(event.key === " " && event.target.tagName === "BUTTON")) { event.preventDefault(); keys[event.key](); }
  });
  addEventListener("resize", () => { for (const plot of plots) plot.setSize({ width: $("charts").clientWidth, height: 190 }); });
  drawFabric();
  pickScheme(0);
  const first = Object.entries(data.runs[0].ports).sort((a, b) => stoppedFor(b[1]) - stoppedFor(a[1]))[0];
  if (first) choose(first[0]);
  jump(true);
  document.body.dataset.ready = "yes";
}

start();
