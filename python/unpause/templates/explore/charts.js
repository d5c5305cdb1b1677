// Series of the port or flow chosen, every scheme in them, on one time axis.
let plots = [];
let zooming = false;
const HIGH = 190;

// The moment that the fabric shows, and above it when flows started and ended.
function drawNow(plot) {
  const x = plot.valToPos(state.now / 1e6, "x", true);
  const { left, top, width, height } = plot.bbox;
  if (x < left || x > left + width) return;
  const { ctx } = plot;
  ctx.save();
  ctx.strokeStyle = colour("--ink");
  ctx.setLineDash([4, 3]);
  ctx.beginPath();
  ctx.moveTo(x, top);
  ctx.lineTo(x, top + height);
  ctx.stroke();
  ctx.restore();
}

// When the port was stopped under the scheme chosen, behind the lines.
function drawStops(plot) {
  const [start, end] = intervals(nearOf(run()), state.chosen);
  bars(plot, start, end, 0, 1, colour("--stop"), 0.18);
}

// Intervals as bars between two shares of the height; what falls on one pixel is drawn once.
function bars(plot, start, end, above, below, paint, alpha) {
  const { left, top, width, height } = plot.bbox;
  const { ctx } = plot;
  ctx.save();
  ctx.fillStyle = paint;
  ctx.globalAlpha = alpha;
  let until = left;
  for (let i = Math.max(0, at(end, plot.scales.x.min * 1e6)); i < start.length; i++) {
    const begin = plot.valToPos(start[i] / 1e6, "x", true);
    if (begin > left + width) break;
    const to = Math.min(left + width, Math.max(plot.valToPos(end[i] / 1e6, "x", true), begin + 1));
    if (to <= until) continue;
    const from = Math.max(until, begin);
    ctx.fillRect(from, top + above * height, to - from, (below - above) * height);
    until = to;
  }
  ctx.restore();
}

// Flows that belong to what is chosen: of a host's link those of the host, of a recorded flow itself; else by
// traffic entry the first start and the last end.
function eventsOf(name) {
  const near = run().near, frame = near && near.events ? near : run(), all = frame.events;
  if (!all) return [];
  const start = times(frame, all.from), end = times(frame, all.until);
  const code = (key) => values(frame, all[key].codes);
  const traffic = code("traffic"), src = code("src"), dst = code("dst");
  const ends = name.includes("->") ? name.split("->") : null;
  const of = ends && [all.src.names.indexOf(ends[0]), all.dst.names.indexOf(ends[1])];
  const found = [];
  const add = (i, text) => {
    found.push({ time: start[i], text: `${text} starts` });
    if (end[i] >= frame.start) found.push({ time: end[i], text: `${text} ends`, ends: true });
  };
  const label = (i) => `${all.traffic.names[traffic[i]]} ${all.src.names[src[i]]}->${all.dst.names[dst[i]]}`;
  if (ends && (of[0] >= 0 || of[1] >= 0)) {
    for (let i = 0; i < start.length; i++) if (src[i] === of[0] || dst[i] === of[1]) add(i, label(i));
  } else {
    all.traffic.names.forEach((entry, number) => {
      if (!ends && entry !== name.split(" #")[0]) return;
      let first = Infinity, last = -1, open = false;
      for (let i = 0; i < start.length; i++) {
        if (traffic[i] !== number) continue;
        first = Math.min(first, start[i]);
        last = Math.max(last, end[i]);
        open = open || end[i] < frame.start;
      }
      if (first < Infinity) found.push({ time: first, text: `${entry} starts` });
      if (last >= 0 && !open) found.push({ time: last, text: `${entry} ends`, ends: true });
    });
  }
  return found.sort((a, b) => a.time - b.time);
}

// Marks along the upper edge, named while few are in sight.
function drawEvents(events) {
  return (plot) => {
    const { left, top, width } = plot.bbox;
    const { ctx } = plot;
    const seen = events.map((it) => ({ ...it, x: plot.valToPos(it.time / 1e6, "x", true) }))
      .filter(({ x }) => x >= left && x <= left + width);
    const size = 4 * devicePixelRatio;
    ctx.save();
    ctx.font = `${10 * devicePixelRatio}px system-ui, sans-serif`;
    ctx.textAlign = "left";
    ctx.textBaseline = "alphabetic";
    let free = left;
    for (let i = 0; i < seen.length;) {
      const { x, ends, text } = seen[i];
      let same = 1;
      while (i + same < seen.length && seen[i + same].x - x < 1 && Boolean(seen[i + same].ends) === Boolean(ends)) same++;
      i += same;
      ctx.fillStyle = ctx.strokeStyle = colour(ends ? "--soft" : "--chosen");
      ctx.beginPath();
      ctx.moveTo(x - size, top);
      ctx.lineTo(x + size, top);
      ctx.lineTo(x, top + 1.6 * size);
      ctx.closePath();
      if (ends) ctx.stroke(); else ctx.fill();
      const label = same > 1 ? `${same} flows ${ends ? "end" : "start"}` : text;
      const room = ctx.measureText(label).width;
      if (x >= free && x + 2 * size + room < left + width) {
        ctx.fillText(label, x + 1.4 * size, top - size);
        free = x + 3 * size + room;
      }
    }
    ctx.restore();
  };
}

function axes(unit, noScale) {
  const ink = colour("--ink"), rule = { stroke: colour("--line"), width: 1 };
  const inMs = (_, splits) => splits.map((it, n) => (it === null ? "" : n === splits.length - 1 ? `${it} ms` : String(it)));
  const upright = { stroke: ink, grid: noScale ? { show: false } : rule, ticks: rule, size: 62 };
  if (noScale) upright.splits = () => [];
  return [{ stroke: ink, grid: rule, ticks: rule, values: inMs, size: 34 }, { ...upright, label: unit || " ", labelSize: 18 }];
}

function chart(title, data, series, unit, more) {
  const plot = new uPlot({
    title, width: $("charts").clientWidth || 600, height: more.height || HIGH,
    padding: [12, 26, 0, 0], cursor: { sync: { key: "time" }, drag: { x: true, y: false } },
    scales: { x: { time: false, min: state.from / 1e6, max: state.to / 1e6 }, y: more.y || { range: (_, least, most) => [0, most > 0 ? 1.08 * most : 1] } },
    axes: axes(unit, more.noScale), series: [{ label: "ms", value: (_, it) => (it === null ? "" : it.toFixed(4)) }, ...series], legend: { show: !more.noScale },
    hooks: { drawClear: more.under || [], draw: [...(more.over || []), drawNow], setScale: [(it, key) => { if (key === "x") zoomed(it); }] },
  }, data, $("charts"));
  plot.setScale("x", { min: state.from / 1e6, max: state.to / 1e6 });
  plot.over.addEventListener("click", () => { if (!plot.select.width) go(plot.posToVal(plot.cursor.left, "x") * 1e6); });
  plots.push(plot);
}

// One window of time for all charts, the slider and the fabric.
function zoomed(plot) {
  if (zooming || plot.scales.x.min === null) return;
  zoom(plot.scales.x.min * 1e6, plot.scales.x.max * 1e6);
}

let asking = null;
function zoom(from, to) {
  const narrow = Math.max(to - from, state.end / 1e7);
  state.from = Math.max(0, from);
  state.to = Math.min(state.end, state.from + narrow);
  $("whole").hidden = state.to - state.from >= state.end * 0.999;
  zooming = true;
  for (const plot of plots) plot.setScale("x", { min: state.from / 1e6, max: state.to / 1e6 });
  // uPlot sets scales a moment later.
  queueMicrotask(() => { zooming = false; });
  if (state.now < state.from || state.now > state.to) go(state.from);
  else showMoment();
  if (about.server) {
    clearTimeout(asking);
    asking = setTimeout(closer, 150);
  }
}

// What the server knows more closely of this window.
async function closer() {
  const { from, to, chosen, point } = state;
  const pixels = $("charts").clientWidth || 600;
  await Promise.all(current.filter(Boolean).map(async (frame) => {
    if (to - from >= frame.end * 0.999) { frame.near = null; return; }
    const found = await fetched("window", { n: frame.number, from, to, name: chosen || "", pixels });
    if (state.from === from && state.to === to && state.point === point) frame.near = Object.assign(found, { from, to, name: chosen });
  }));
  if (state.from === from && state.to === to) { showCharts(); showMoment(); }
}

const nearOf = (frame) => (frame.near && frame.near.name === state.chosen ? frame.near : frame);

function inMs(all) { return Float64Array.from(all, (it) => it / 1e6); }

// How fast a counter grew up to each sample from the one before.
function rate(frame, it, counter) {
  const time = times(frame, it.time), sum = values(frame, it[counter]);
  const found = [new Float64Array(Math.max(0, time.length - 1)), new Float64Array(Math.max(0, time.length - 1))];
  for (let i = 1; i < time.length; i++) {
    found[0][i - 1] = time[i] / 1e6;
    found[1][i - 1] = (sum[i] - sum[i - 1]) * 8 / (time[i] - time[i - 1]);
  }
  return found;
}

const plain = (key, by) => (frame, it) => [inMs(times(frame, it.time)), Float64Array.from(values(frame, it[key]), (v) => v / by)];
const LINES = {
  ports: [["queue", "KB", "queue_bytes", plain("queue_bytes", 1e3)], ["sent", "Gb/s", "tx_bytes", (frame, it) => rate(frame, it, "tx_bytes"), true]],
  flows: [["goodput", "Gb/s", "delivered_bytes", (frame, it) => rate(frame, it, "delivered_bytes"), true],
    ["rate allowed", "Gb/s", "controller_rate_bps", plain("controller_rate_bps", 1e9)],
    ["congestion window", "KB", "cwnd_bytes", plain("cwnd_bytes", 1e3)],
    ["notifications so far", "", "notifications", plain("notifications", 1)]],
};

function showCharts() {
  for (const plot of plots) plot.destroy();
  plots = [];
  const name = state.chosen;
  if (name === null || !run()) return;
  const events = drawEvents(eventsOf(name));
  const there = current.map((frame, line) => [frame, line]).filter(([frame]) => frame);
  if (there.some(([frame]) => frame.ports[name] && frame.ports[name].start)) stopChart(name, there, events);
  for (const [kind, charts] of Object.entries(LINES)) {
    for (const [title, unit, key, of, steps] of charts) {
      const lines = there.map(([frame, line]) => [nearOf(frame), line])
        .filter(([frame]) => frame[kind][name] && frame[kind][name][key] && (key !== "notifications" || values(frame, frame[kind][name][key]).some(Boolean)));
      if (!lines.length) continue;
      const data = uPlot.join(lines.map(([frame]) => of(frame, frame[kind][name])));
      const series = lines.map(([, line]) => ({
        label: about.lines[line].label, stroke: colourOf(line), width: line === state.line ? 2.2 : 1.2, spanGaps: true,
        dash: about.lines[line].result ? [7, 4] : undefined, points: { show: false },
        paths: steps ? uPlot.paths.stepped({ align: -1 }) : undefined,
        value: (_, it) => (it === null || it === undefined ? "" : `${three(it)} ${unit}`),
      }));
      chart(`${name}: ${title}`, data, series, unit, { under: kind === "ports" ? [drawStops] : [], over: [events] });
    }
  }
}

// The name of a row above its bars: those of one scheme in two results have one colour.
function nameRow(plot, above, name) {
  const { left, top, height } = plot.bbox;
  const { ctx } = plot;
  ctx.save();
  ctx.fillStyle = colour("--ink");
  ctx.font = `${10 * devicePixelRatio}px system-ui, sans-serif`;
  ctx.textAlign = "left";
  ctx.textBaseline = "top";
  ctx.fillText(name, left + 4 * devicePixelRatio, top + above * height + 2 * devicePixelRatio);
  ctx.restore();
}

// A row of bars for each scheme, under its name.
function stopChart(name, there, events) {
  const rows = there.length;
  const draw = (plot) => there.forEach(([frame, line], n) => {
    const [start, end] = intervals(nearOf(frame), name);
    bars(plot, start, end, (n + 0.4) / rows, (n + 0.9) / rows, colourOf(line), 1);
    nameRow(plot, n / rows, about.lines[line].label);
  });
  const series = there.map(([, line]) => ({ label: about.lines[line].label, width: 0, points: { show: false } }));
  chart(`${name}: paused`, [[0, state.end / 1e6], ...there.map(() => [0, 0])], series, "",
    { under: [draw], over: [events], y: { range: [0, 1] }, noScale: true, height: 70 + 32 * rows });
}
