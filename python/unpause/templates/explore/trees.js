// The parts of `unpause explain`, the trees among them.
const FIRST_TREES = 6;
const roots = new Set();

function stopList(stops) {
  return element("ul", "", ...stops.map((stop) => element("li", "",
    named(`${stop.stopped}->${stop.pauser}`, `${stop.pauser} paused ${stop.stopped}`),
    ` ${counted(stop.pauses, "time")}, ${asTime(stop.paused_ns)}`,
    ...(stop.below.length ? [stopList(stop.below)] : []))));
}

function showTrees() {
  for (const { box } of drawnNodes.values()) if (box) box.classList.remove("root");
  roots.clear();
  const why = about.why[about.lines[state.line].result];
  if (why) { $("trees").replaceChildren(element("p", why)); return; }
  const { trees, parts } = run();
  const none = trees.length ? [] : [element("p", "No PAUSE was sent.")];
  $("trees").replaceChildren(...none, ...parts.map((it) => part(it, trees)));
  for (const { root } of trees.slice(0, 3)) {
    roots.add(root);
    const node = drawnNodes.get(root.split("->")[0]);
    if (node && node.box) node.box.classList.add("root");
  }
}

// A part in the order of the terminal; the trees open and close, and name links that can be chosen.
function part({ name, title, texts }, trees) {
  const box = element("section", "", ...(title ? [element("h3", title)] : []), ...texts.map((it) => element("p", it)));
  box.dataset.part = name;
  if (name !== "trees") return box;
  box.append(...trees.slice(0, FIRST_TREES).map(tree));
  if (trees.length > FIRST_TREES) {
    const more = element("button", `${trees.length - FIRST_TREES} more`);
    more.type = "button";
    more.addEventListener("click", () => more.replaceWith(...trees.slice(FIRST_TREES).map((it) => tree(it, 1))));
    box.append(more);
  }
  return box;
}

function tree(it, n) {
  const sure = it.certain ? "certain" : it.likely ? "likely" : "perhaps";
  const head = element("summary", "", element("b", it.title),
    ` ${counted(it.pauses, "PAUSE")}, ${asTime(it.paused_ns)} in total on ${counted(it.links, "link")} (${sure})`);
  const box = element("details", "", head);
  box.open = n === 0;
  const when = element("p", "From ");
  it.episodes.slice(0, 12).forEach(([start], n) => {
    const jump = element("button", asMoment(start));
    jump.className = "name";
    jump.type = "button";
    jump.addEventListener("click", () => go(start));
    when.append(n ? ", " : "", jump);
  });
  if (it.episodes.length > 12) when.append(` and ${it.episodes.length - 12} more`);
  if (it.root.includes("->")) when.append("; ", named(it.root, "its series"));
  box.append(when);
  const filled = it.culprits.slice(0, 6).map((culprit) => `${culprit.traffic} ${Math.round(100 * culprit.share)} %`).join(", ");
  if (filled) box.append(element("p", `In its queue: ${filled}.`));
  box.append(stopList(it.stops));
  if (it.victims.length) {
    const told = it.victims.slice(0, 4).map((v) => `${v.traffic} (${v.src} -> ${v.dst}) ${asTime(v.waited_ns)}`).join("; ");
    const more = it.victim_count > 4 ? `; ${(it.victim_count - 4).toLocaleString("en")} more, ${asTime(it.waited_ns)} in total` : "";
    const left = it.left.length ? `, of this and of what it left at ${it.left.slice(0, 3).join(", ")}` : "";
    box.append(element("p", `${counted(it.victim_count, "victim")}${left}: ${told}${more}`));
  }
  box.append(element("p", `Could help: ${it.advice}.`));
  return box;
}

// What the trees of the scheme chosen became under each scheme.
function schemesTable() {
  const trees = (run().trees || []).slice(0, 4);
  const heads = [["scheme", "name"], ["PAUSEs", "count"]];
  for (const { place } of trees) heads.push([`${place}: paused`, "time"], ["victims' total wait", "time"]);
  const columns = heads.map(() => []);
  current.forEach((frame, line) => {
    if (!frame) return;
    const row = [about.lines[line].label, frame.pauses];
    for (const { root, priority, kind, left_by: left } of trees) {
      const same = frame.trees.filter((it) => it.priority === priority
        && (kind === "cycle" ? it.kind === kind
          : it.root === root && it.left_by === left && it.kind !== "cycle"));
      row.push(same.reduce((sum, it) => sum + it.paused_ns, 0), same.reduce((sum, it) => sum + it.waited_ns, 0));
    }
    row.forEach((cell, n) => columns[n].push(cell));
  });
  return { heads, columns, count: columns[0].length, total: columns[0].length };
}
