// The fabric: switches in tiers, hosts below; of large ones hosts are cells under their switch.
let drawnLinks = new Map();
let drawnNodes = new Map();
let drawnFabric = null;
const WIDE = 1200;
const MOST_HOSTS_APART = 40;

function make(name, attributes, parent, text) {
  const it = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) it.setAttribute(key, value);
  if (text !== undefined) it.textContent = text;
  parent.appendChild(it);
  return it;
}

function named_(it, name, text) {
  it.dataset.name = name;
  make("title", {}, it, text || name);
  return it;
}

// By switch the hosts that have one link, which leads there, and the rate of the link.
function hostsBySwitch(fabric) {
  const links = fabric.nodes.map(() => []);
  for (const [a, b, rate] of fabric.links) { links[a].push([b, rate]); links[b].push([a, rate]); }
  const found = new Map();
  fabric.nodes.forEach(([, tier], host) => {
    if (tier !== 0 || links[host].length !== 1) return;
    const [[to, rate]] = links[host];
    if (!found.has(to)) found.set(to, []);
    found.get(to).push([host, rate]);
  });
  return found;
}

function drawFabric() {
  const fabric = about.fabrics[about.lines[state.line].result];
  if (fabric === drawnFabric) return;
  drawnFabric = fabric;
  drawnLinks = new Map();
  drawnNodes = new Map();
  const svg = $("fabric");
  svg.replaceChildren();
  const hosts = fabric.nodes.filter(([, tier]) => tier === 0).length;
  const homes = hosts > MOST_HOSTS_APART ? hostsBySwitch(fabric) : new Map();
  const inCells = new Set([...homes.values()].flat().map(([host]) => host));
  const tiers = Math.max(...fabric.nodes.map(([, tier]) => tier)) + 1;
  const rows = Array.from({ length: tiers }, () => []);
  fabric.nodes.forEach(([, tier], number) => { if (!inCells.has(number)) rows[tier].push(number); });
  const shown = rows.filter((row) => row.length);
  if (shown.length > 1) belowTheirs(fabric, shown[0], shown[1]);
  const widest = Math.max(...shown.map((row) => row.length));
  const step = widest > 40 ? 130 : 105;
  const cells = placeCells(homes, shown[0].length);
  const high = 30 + step * (shown.length - 1) + 30 + cells.high;
  svg.setAttribute("viewBox", `0 0 ${WIDE} ${high}`);
  svg.parentElement.classList.toggle("wide", widest > 8);
  const places = new Map();
  shown.forEach((row, tier) => row.forEach((node, n) => {
    places.set(node, [WIDE * (n + 0.5) / row.length, high - cells.high - 30 - step * tier]);
  }));
  for (const [a, b, rate] of fabric.links) {
    if (places.has(a) && places.has(b)) drawLink(svg, fabric.nodes[a][0], fabric.nodes[b][0], places.get(a), places.get(b), rate);
  }
  for (const row of shown) for (const node of row) drawNode(svg, fabric.nodes[node], places.get(node), WIDE / row.length);
  for (const [to, all] of homes) drawCells(svg, fabric, to, all, places.get(to), cells);
}

// Hosts in the order of their switches, so that few links cross.
function belowTheirs(fabric, hosts, switches) {
  const place = new Map(switches.map((node, n) => [node, n]));
  const home = new Map();
  for (const [a, b] of fabric.links) {
    for (const [host, to] of [[a, b], [b, a]]) if (place.has(to)) home.set(host, Math.min(place.get(to), home.get(host) ?? Infinity));
  }
  const order = new Map(hosts.map((host) => [host, home.get(host) ?? 0]));
  hosts.sort((a, b) => order.get(a) - order.get(b) || a - b);
}

function placeCells(homes, switches) {
  if (!homes.size) return { high: 0 };
  const most = Math.max(...[...homes.values()].map((all) => all.length));
  const wide = WIDE / switches - 4;
  const columns = Math.max(1, Math.min(Math.floor(wide / 14), Math.ceil(Math.sqrt(most * wide / 60))));
  return { columns, wide: Math.min(wide / columns, 40), tall: 9, high: Math.ceil(most / columns) * 9 + 12 };
}

function drawLink(svg, a, b, from, to, rate) {
  // The half of a link that is next to its sender is the sender's: both meet in the middle.
  const middle = [(from[0] + to[0]) / 2, (from[1] + to[1]) / 2];
  for (const [name, start] of [[`${a}->${b}`, from], [`${b}->${a}`, to]]) {
    const ends = { x1: start[0], y1: start[1], x2: middle[0], y2: middle[1] };
    const line = make("line", { ...ends, class: "link" }, svg);
    named_(make("line", { ...ends, class: "hit", "data-port": name }, svg), name);
    drawnLinks.set(name, { line, rate, base: "link" });
  }
}

function drawNode(svg, [name, tier], [x, y], room) {
  const tall = 24, broad = Math.min(Math.max(tier ? 52 : 26, 7.5 * name.length + 8), room - 3);
  const box = make("rect", { x: x - broad / 2, y: y - tall / 2, width: broad, height: tall, rx: 4, class: "node" }, svg);
  named_(box, name);
  const fill = make("rect", { x: x - broad / 2 + 1, y: y + tall / 2 - 1, width: broad - 2, height: 0, class: "fill" }, svg);
  const fits = broad >= 7 * name.length;
  if (fits || broad >= 5.2 * name.length) make("text", { x, y: y + 4, class: fits ? "" : "small" }, svg, name);
  drawnNodes.set(name, { box, fill, bottom: y + tall / 2 - 1, tall: tall - 2 });
}

// A host is a cell: its left half is what it sends, the right half what its switch sends to it.
function drawCells(svg, fabric, to, all, [x, y], { columns, wide, tall }) {
  const home = fabric.nodes[to][0];
  all.forEach(([host, rate], n) => {
    const name = fabric.nodes[host][0];
    const left = x + (n % columns - columns / 2) * wide, top = y + 18 + Math.floor(n / columns) * tall;
    const half = { y: top, width: (wide - 2) / 2, height: tall - 2 };
    for (const [link, at] of [[`${name}->${home}`, left], [`${home}->${name}`, left + (wide - 2) / 2]]) {
      const line = make("rect", { ...half, x: at, class: "cell", "data-port": link }, svg);
      named_(line, link);
      drawnLinks.set(link, { line, rate, base: "cell" });
    }
    drawnNodes.set(name, { cells: [`${name}->${home}`, `${home}->${name}`] });
  });
}

const longest = new WeakMap();
function mostOf(queue) {
  if (!longest.has(queue)) longest.set(queue, queue.reduce((most, it) => Math.max(most, it), 1));
  return longest.get(queue);
}

function showMoment() {
  $("now").textContent = asMoment(state.now);
  $("slider").value = Math.round((state.now - state.from) / (state.to - state.from) * 10000);
  const frame = run();
  const fullest = new Map();
  let stops = 0;
  for (const [name, { line, rate, base }] of drawnLinks) {
    const it = frame.ports[name];
    let use = 0;
    if (it && it.time) {
      const time = times(frame, it.time), i = at(time, state.now);
      if (i > 0) {
        const sent = values(frame, it.tx_bytes), queue = values(frame, it.queue_bytes);
        use = (sent[i] - sent[i - 1]) * 8e9 / (time[i] - time[i - 1]) / rate;
        const node = name.split("->")[0];
        fullest.set(node, Math.max(fullest.get(node) || 0, queue[i] / mostOf(queue)));
      }
    }
    const stopped = Boolean(it) && isStopped(frame, name, state.now);
    stops += stopped;
    const kind = base + (use > 0.02 ? " busy" : "") + (stopped ? " stopped" : "") + (name === state.chosen ? " chosen" : "")
      + (roots.has(name) && base === "cell" ? " root" : "");
    if (line.getAttribute("class") !== kind) line.setAttribute("class", kind);
    if (base === "link") line.style.strokeWidth = use > 0.02 && !stopped ? 1 + 5 * Math.min(use, 1) : "";
    else line.style.fillOpacity = use > 0.02 && !stopped ? Math.max(0.15, Math.min(use, 1)) : "";
  }
  for (const [name, { fill, bottom, tall }] of drawnNodes) {
    if (!fill) continue;
    const part = (fullest.get(name) || 0) * tall;
    fill.setAttribute("height", part);
    fill.setAttribute("y", bottom - part);
  }
  $("now").title = `${counted(stops, "link")} paused`;
  for (const plot of plots) plot.redraw(false, false);
}
