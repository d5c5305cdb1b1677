let timer = null;

function go(time) {
  state.now = Math.max(0, Math.min(state.end, time));
  if (state.now < state.from || state.now > state.to) {
    const half = (state.to - state.from) / 2;
    zoom(Math.min(Math.max(0, state.now - half), state.end - 2 * half), Math.max(state.now + half, 2 * half));
  } else showMoment();
}

function choose(name) {
  state.chosen = name;
  $("chosen").textContent = name;
  $("detail").replaceChildren(...current.map((frame, line) => {
    if (!frame) return "";
    const it = frame.ports[name];
    const text = it && it.start ? `paused ${counted(it.pauses, "time")}, ${asTime(stoppedFor(frame, name))}`
      : frame.flows[name] ? "" : "never paused";
    if (!text) return "";
    const swatch = element("span");
    swatch.className = "swatch";
    swatch.style.background = colourOf(line);
    return element("span", "", swatch, `${about.lines[line].label}: ${text}`);
  }));
  $("detail").className = "facts";
  showCharts();
  showList();
  showMoment();
  if (about.server && state.to - state.from < state.end * 0.999) closer();
}

// The PAUSE, of any link, that begins next after now, or did last before.
function jump(later) {
  const frame = run();
  let best = null;
  for (const name of Object.keys(frame.ports)) {
    const [start] = intervals(frame, name);
    const i = later ? at(start, state.now) + 1 : at(start, state.now - frame.unit * 0.5);
    const found = start[i];
    if (found !== undefined && found !== state.now && (best === null || (later ? found < best : found > best))) best = found;
  }
  if (best !== null) go(best);
}

function play() {
  if (timer) { clearInterval(timer); timer = null; $("play").textContent = "Play"; return; }
  if (state.now >= state.to) go(state.from);
  $("play").textContent = "Stop";
  timer = setInterval(() => {
    const next = state.now + (state.to - state.from) / 600;
    if (next >= state.to) { go(state.to); play(); } else go(next);
  }, 50);
}

function showAll() {
  drawFabric();
  showTrees();
  showTabs();
  showTable();
  $("scheme").selectedIndex = [...$("scheme").options].findIndex((it) => Number(it.value) === state.line);
  $("point").selectedIndex = state.point;
  choose(state.chosen || first());
}

// What was stopped longest, else what there is.
function first() {
  const names = Object.keys(run().ports);
  const all = names.map((name) => [stoppedFor(run(), name), name]).sort(([a], [b]) => b - a);
  return all.length ? all[0][1] : Object.keys(run().flows)[0] || drawnLinks.keys().next().value;
}

// When the last PAUSE and the last flow ended.
function busyUntil() {
  let last = 0;
  for (const frame of current.filter(Boolean)) {
    for (const name of Object.keys(frame.ports)) last = Math.max(last, intervals(frame, name)[1].at(-1) || 0);
    const ends = frame.events ? times(frame, frame.events.until) : [-1];
    for (const end of ends) last = Math.max(last, end < 0 ? state.end : end);
  }
  return last || state.end;
}

function pickScheme(line) {
  if (!current[line]) return;
  state.line = line;
  showAll();
}

async function pickPoint(point) {
  await show(point);
  for (const option of $("scheme").options) option.disabled = !current[Number(option.value)];
  showAll();
}

function next(by) {
  const { length } = about.lines;
  for (let n = 1; n <= length; n++) {
    const line = (state.line + by * n + length * n) % length;
    if (current[line]) { pickScheme(line); return; }
  }
}

const known_points = () => [...new Set(about.runs.map((it) => it.point))];
function nextPoint(by) {
  const all = known_points();
  pickPoint(all[(all.indexOf(state.point) + by + all.length) % all.length]);
}

function closeUp(factor) {
  const wide = (state.to - state.from) * factor;
  const share = (state.now - state.from) / (state.to - state.from);
  const from = Math.max(0, Math.min(state.end - wide, state.now - share * wide));
  zoom(from, Math.min(state.end, from + wide));
}

function restyle() {
  showCharts();
  choose(state.chosen);
}

const KEYS = {
  " ": play, "]": () => jump(true), "[": () => jump(false), "+": () => closeUp(0.5), "=": () => closeUp(0.5), "-": () => closeUp(2),
  0: () => zoom(0, state.end), s: () => next(1), S: () => next(-1), r: () => nextPoint(1), R: () => nextPoint(-1), t: () => $("theme").click(),
  "/": () => $("find").focus(), "?": () => $("help").showModal(),
  ArrowRight: (event) => go(state.now + (state.to - state.from) / (event.shiftKey ? 50 : 500)),
  ArrowLeft: (event) => go(state.now - (state.to - state.from) / (event.shiftKey ? 50 : 500)),
};

function pressed(event) {
  const { target, key } = event;
  if (event.ctrlKey || event.metaKey || event.altKey || $("help").open || target.matches("input[type=search], select")) return;
  if (!Object.hasOwn(KEYS, key) || (key === " " && target.matches("button, summary"))) return;
  event.preventDefault();
  KEYS[key](event);
}

function listen() {
  $("scheme").addEventListener("change", (event) => pickScheme(Number(event.target.value)));
  $("point").addEventListener("change", (event) => pickPoint(Number(event.target.value)));
  $("slider").addEventListener("input", (event) => go(state.from + event.target.value / 10000 * (state.to - state.from)));
  $("play").addEventListener("click", play);
  $("before").addEventListener("click", () => jump(false));
  $("after").addEventListener("click", () => jump(true));
  $("whole").addEventListener("click", () => zoom(0, state.end));
  $("keys").addEventListener("click", () => $("help").showModal());
  $("find").addEventListener("input", showList);
  $("filter").addEventListener("input", () => { shown = STEP; showTable(); });
  $("theme").addEventListener("click", () => {
    document.documentElement.dataset.theme = isDark() ? "light" : "dark";
    restyle();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", restyle);
  // Paper is white.
  let before;
  addEventListener("beforeprint", () => { before = document.documentElement.dataset.theme; document.documentElement.dataset.theme = "light"; restyle(); });
  addEventListener("afterprint", () => { if (before) document.documentElement.dataset.theme = before; else delete document.documentElement.dataset.theme; restyle(); });
  document.addEventListener("click", ({ target }) => {
    const name = target.dataset && target.dataset.name;
    if (!name) return;
    if (name.includes("->") || (run().flows[name] && target.matches("button"))) choose(name);
    else { $("find").value = name; showList(); }
  });
  document.addEventListener("keydown", pressed);
  addEventListener("resize", () => { for (const plot of plots) plot.setSize({ width: $("charts").clientWidth, height: plot.height }); });
}

async function start() {
  $("scheme").append(...about.lines.map((line, n) => { const it = element("option", line.label); it.value = n; return it; }));
  $("point").append(...known_points().map((point) => { const it = element("option", about.points[point]); it.value = point; return it; }));
  $("points").hidden = known_points().length < 2;
  $("left").hidden = !about.leftOut.length;
  $("left").querySelector("summary").textContent = `Not shown: ${counted(about.leftOut.length, "item")}`;
  $("left").querySelector("ul").append(...about.leftOut.map((text) => element("li", text)));
  $("said").append(...about.sentences.map(([scheme, text]) => element("p", "", element("b", `${scheme}: `), text)),
    ...about.differences.map((text) => element("p", text)));
  listen();
  await pickPoint(0);
  const until = 1.05 * busyUntil();
  if (until < 0.7 * state.end) zoom(0, until);
  jump(true);
  document.body.dataset.ready = "yes";
}

start().catch((error) => {
  $("trees").replaceChildren(element("p", `This page cannot show its run: ${error.message}`));
  throw error;
});
