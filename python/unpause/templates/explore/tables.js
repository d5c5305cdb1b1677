// Tables: sorted by a click on a head, filtered by words, some hundred rows at a time.
const STEP = 200;
let tab = null;
let sorted = { head: null, down: false };
let shown = STEP;

const WRITTEN = {
  name: (it) => it, link: (it) => it, count: (it) => it.toLocaleString("en"), flow: (it) => `#${it}`, priority: (it) => String(it),
  time: asTime, moment: asMoment, bytes: asSize, share: (it) => `${Math.round(100 * it)} %`, ratio: (it) => it.toPrecision(3), verdict: (it) => it,
};
const TEXTS = new Set(["name", "link", "verdict", "long"]);

function cellOf(column, row) {
  return Array.isArray(column) ? column[row] : column.names[column.codes[row]];
}

// What a text such as "3.2 ms ± 4 %" sorts by.
const UNITS = { ns: 1, us: 1e3, ms: 1e6, s: 1e9, B: 1, KB: 1e3, MB: 1e6, GB: 1e9, "Mb/s": 1e6, "Gb/s": 1e9, "Tb/s": 1e12 };
function amount(text) {
  const found = /^x?([-+]?[0-9][0-9.,]*)\s*([A-Za-z/]+)?/.exec(text);
  return found ? parseFloat(found[1].replace(/,/g, "")) * (UNITS[found[2]] || 1) : null;
}

// A table of texts, whose first columns are names.
function ofTexts({ heads, rows, noise, apart }) {
  const kinds = heads.map((_, n) => (n === 0 || rows.some((row) => amount(row[n]) === null && row[n] !== "-") ? "name" : "text"));
  return { heads: heads.map((head, n) => [head, kinds[n]]), columns: heads.map((_, n) => rows.map((row) => row[n])), noise, apart, count: rows.length, total: rows.length };
}

function claimsTable() {
  const keys = ["id", "verdict", "text", "expected", "measured", "why"];
  const heads = [["claim", "name"], ["verdict", "verdict"], ["says", "name"], ["expected", "name"], ["measured", "name"], ["why", "name"]];
  return { heads, columns: keys.map((key) => about.claims.map((it) => it[key])), count: about.claims.length, total: about.claims.length };
}

const TABS = {
  Summary: () => ofTexts(about.summary),
  Schemes: schemesTable,
  Claims: claimsTable,
  Flows: () => run().tables.flows, Ports: () => run().tables.ports, PAUSEs: () => run().tables.pauses,
  Causes: () => run().tables.causes, Victims: () => run().tables.victims,
};
const tableOf = (name) => name.toLowerCase();

function rowsOf(table) {
  const words = $("filter").value.toLowerCase().split(/\s+/).filter(Boolean);
  let rows = Array.from({ length: table.count }, (_, row) => row);
  for (const word of words) {
    rows = rows.filter((row) => table.heads.some(([, kind], n) => (TEXTS.has(kind) || kind === "flow")
      && String(WRITTEN[kind] ? cellOf(table.columns[n], row) : "").toLowerCase().includes(word)));
  }
  const place = table.heads.findIndex(([head]) => head === sorted.head);
  if (place < 0) return rows;
  const key = (row) => {
    const cell = cellOf(table.columns[place], row);
    return table.heads[place][1] === "text" ? amount(cell) : cell;
  };
  const natural = new Intl.Collator("en", { numeric: true });
  const compare = (a, b) => {
    if (a === null || b === null) return (a === null) - (b === null);
    return typeof a === "string" ? natural.compare(a, b) : a - b;
  };
  return rows.map((row) => [key(row), row]).sort(([a], [b]) => compare(a, b) * (sorted.down ? -1 : 1)).map(([, row]) => row);
}

function cell(table, n, row) {
  const [, kind] = table.heads[n], value = cellOf(table.columns[n], row);
  const it = document.createElement("td");
  if (!TEXTS.has(kind)) it.className = "number";
  if (table.noise && table.noise[row].includes(n)) it.classList.add("noise");
  if (table.apart && table.apart.length && table.apart[row].includes(n)) it.classList.add("apart");
  if (value === null) it.textContent = kind === "text" ? "-" : "";
  else if (kind === "link" && value.includes("->")) it.append(named(value));
  else if (kind === "verdict") {
    const text = element("span", value);
    text.className = `verdict ${value.replaceAll(" ", "-")}`;
    it.append(text);
  } else it.textContent = kind === "text" ? value : WRITTEN[kind](value);
  return it;
}

function heading(table) {
  return element("tr", "", ...table.heads.map(([head, kind]) => {
    const click = element("button", head);
    click.type = "button";
    click.addEventListener("click", () => {
      const first = !TEXTS.has(kind);
      sorted = { head, down: sorted.head === head ? !sorted.down : first };
      shown = STEP;
      showTable();
    });
    const it = element("th", "", click);
    if (!TEXTS.has(kind)) it.className = "number";
    if (sorted.head === head) it.setAttribute("aria-sort", sorted.down ? "descending" : "ascending");
    return it;
  }));
}

function made(table, rows) {
  const body = element("tbody", "", ...rows.map((row) => element("tr", "", ...table.heads.map((_, n) => cell(table, n, row)))));
  return element("table", "", element("thead", "", heading(table)), body);
}

let asked = 0;
async function showTable() {
  const mine = ++asked;
  let table = TABS[tab](), rows;
  if (about.server && run().tables[tableOf(tab)]) {
    table = await fetched("rows", { n: run().number, table: tableOf(tab), find: $("filter").value, sort: sorted.head || "", down: Number(sorted.down), most: shown });
    if (mine !== asked) return;
    rows = Array.from({ length: table.count }, (_, row) => row);
  } else {
    rows = rowsOf(table);
    table = { ...table, found: rows.length };
  }
  const part = rows.slice(0, shown);
  const said = [];
  if (table.found < table.total || part.length < table.found) said.push(`${part.length.toLocaleString("en")} of ${table.total.toLocaleString("en")} rows`);
  if (!about.server && table.count < table.total) said.push(`the others were left out to keep this file small`);
  if (tab === "Summary" && about.summary.noise.some((it) => it.length)) {
    said.push(`in brackets: within what seeds explain (t-test at 5 %), beside the ${about.differences.length ? "first result" : "first scheme"}`);
  }
  if (tab === "Summary" && about.summary.apart.some((it) => it.length)) said.push("marked: more than seeds explain");
  $("about-table").textContent = said.join("; ");
  $("table").replaceChildren(made(table, part));
  if (part.length < table.found) {
    const more = element("button", `${Math.min(STEP, table.found - part.length)} more`);
    more.addEventListener("click", () => { shown += STEP; showTable(); });
    $("table").append(more);
  }
}

function hasRows(name) {
  if (name === "Claims") return about.claims.length > 0;
  if (name === "Schemes") return current.filter(Boolean).length > 1 && run().trees.length > 0;
  return TABS[name]().total > 0;
}

function pickTab(name) {
  if (tab !== name) { sorted = { head: null, down: false }; shown = STEP; }
  tab = name;
  showTabs();
  return showTable();
}

function showTabs() {
  const names = Object.keys(TABS).filter(hasRows);
  if (!names.includes(tab)) [tab] = names;
  $("tabs").replaceChildren(...names.map((name) => {
    const it = element("button", name);
    it.type = "button";
    it.setAttribute("role", "tab");
    it.setAttribute("aria-selected", String(name === tab));
    it.tabIndex = name === tab ? 0 : -1;
    it.addEventListener("click", () => pickTab(name));
    it.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!step) return;
      event.stopPropagation();
      const next = (names.indexOf(name) + step + names.length) % names.length;
      pickTab(names[next]);
      $("tabs").children[next].focus();
    });
    return it;
  }));
}

// Ports and recorded flows of the scheme chosen.
let listed = { head: "paused", down: true };
function showList() {
  const frame = run();
  const wanted = $("find").value.trim().toLowerCase();
  const rows = Object.keys(frame.ports).map((name) => [name, frame.ports[name].pauses || 0, stoppedFor(frame, name)]);
  rows.push(...Object.keys(frame.flows).map((name) => [name, 0, 0]));
  const found = rows.filter(([name]) => name.toLowerCase().includes(wanted));
  const place = { name: 0, PAUSEs: 1, paused: 2 }[listed.head];
  const natural = new Intl.Collator("en", { numeric: true });
  const compare = (a, b) => (place ? a[place] - b[place] : natural.compare(a[0], b[0]));
  found.sort((a, b) => compare(a, b) * (listed.down ? -1 : 1));
  const part = found.slice(0, 100);
  const body = element("tbody", "", ...part.map(([name, pauses, stopped]) => {
    const line = element("tr", "", element("td", "", named(name)), element("td", pauses ? pauses.toLocaleString("en") : ""),
      element("td", stopped ? asTime(stopped) : ""));
    [...line.cells].slice(1).forEach((it) => { it.className = "number"; });
    if (name === state.chosen) line.className = "chosen";
    return line;
  }));
  const heads = ["name", "PAUSEs", "paused"].map((head, n) => {
    const click = element("button", head);
    click.type = "button";
    click.addEventListener("click", () => { listed = { head, down: listed.head === head ? !listed.down : n > 0 }; showList(); });
    const it = element("th", "", click);
    if (n) it.className = "number";
    if (listed.head === head) it.setAttribute("aria-sort", listed.down ? "descending" : "ascending");
    return it;
  });
  $("list").replaceChildren(element("table", "", element("thead", "", element("tr", "", ...heads)), body));
  if (found.length > part.length) $("list").append(element("p", `${(found.length - part.length).toLocaleString("en")} more: find them by name`));
}
