// The tables: costs and ranks.

const TABLE_COLUMNS_OF_CSV = [
  ["table", (t) => t.name], ["module", (t) => t.module], ["rows", (t) => t.rows], ["columns", (t) => t.columns],
  ["sharding_type", (t) => t.sharding], ["compute_kernel", (t) => t.kernel], ["load_factor", (t) => t.loadFactor ?? ""],
  ["shards", (t) => t.numShards], ["ranks", (t) => formatRanges(t.shards, Infinity).replaceAll("–", "-")],
  ["hbm_bytes", (t) => t.hbm], ["ddr_bytes", (t) => t.ddr], ["ssd_bytes", (t) => t.ssd], ["ms", (t) => t.ms],
];

// Returns the tables with the highest costs on a rank, as {table, ms}.
function dearestOn(rank, most) {
  const found = [];
  for (const table of tables) {
    const cell = table.cellOn(rank);
    if (cell) found.push({ table, ms: msOfCost(cell.cost) });
  }
  return found.sort((a, b) => b.ms - a.ms).slice(0, most);
}

// The page of an explanation shows the next best option in place of size and time.
function tableColumns(placed) {
  const dearest = placed.reduce((most, table) => Math.max(most, table.ms), 0);
  const tier = (key) => ({ key, label: key.toUpperCase(), number: true, optional: isExplanation || key === "ssd" || (key === "ddr" && hasHbm),
    value: (t) => t[key], cell: (t) => formatBytes(t[key]), used: placed.some((t) => t[key] > 0) });
  return [
    { key: "name", label: "Table", value: (t) => t.label, cell: (t) => t.label },
    { key: "sharding", label: "Sharding", value: (t) => t.sharding, cell: (t) => breakable(t.sharding) },
    { key: "kernel", label: "Kernel", optional: true, value: (t) => t.kernelText, cell: (t) => breakable(t.kernelText) },
    { key: "places", label: "Ranks", value: (t) => t.shards[0]?.first ?? -1, cell: (t) => formatRanges(t.shards, 4) },
    { key: "shards", label: "Shards", optional: true, value: (t) => t.numShards, cell: (t) => t.shardsText, used: !isExplanation },
    { key: "rows", label: "Rows", number: true, optional: true, value: (t) => t.rows, cell: (t) => formatCount(t.rows), used: !isExplanation },
    tier("hbm"), tier("ddr"), tier("ssd"),
    { key: "time", label: "Time", largestFirst: true, value: (t) => t.ms, cell: (t) => timeBar(t.times, dearest, t.label), used: !isExplanation },
    { key: "ms", label: "ms", number: true, value: (t) => t.ms, cell: (t) => formatMs(t.ms) },
    { key: "next", label: "Next best", optional: true, value: (t) => nextBest(t)?.name ?? "", cell: (t) => breakable(nextBest(t)?.name ?? "–"), used: isExplanation },
    { key: "change", label: "costs", number: true, value: (t) => nextBest(t)?.change ?? Infinity, cell: (t) => changeText(nextBest(t)), used: isExplanation },
  ];
}

// Returns the section of tables and its search; null if no table is placed.
function makeTables(heat, panel) {
  const placed = tables.filter((table) => table.placed);
  if (placed.length === 0) return null;
  const onOpen = (table) => panel.toggle("table " + table.label);
  const list = new List({ columns: tableColumns(placed), rows: placed, sort: "ms", page: 30, noun: "table",
    caption: "Tables, the most expensive first", onChange: (order) => heat.setRows(order), onOpen });
  const textOf = (table) => `${table.label} ${table.module} ${table.sharding} ${table.kernel} ${table.type}`;
  const search = new Finder(list, { textOf, matches: matchesPlace, state: "find", hint: "Search: name, kind, rank:0-3, host:1",
    csv: ["tables", TABLE_COLUMNS_OF_CSV] });
  const why = explained.size > 0 ? " Click a table to see why it is sharded so." : "";
  const node = section("tables", isExplanation ? "Why every table is sharded so" : "Tables",
    element("p", { class: "note" }, "Memory and times are sums over all shards of a table." + why),
    isExplanation ? null : timeLegend(), search.node, list.node);
  return { node, search };
}

function heatSection(heat) {
  if (!tables.some((table) => table.placed)) return null;
  return section("heat", "Where everything is",
    element("p", { class: "note" }, "Tables by ranks, sorted and searched as above. A pixel that stands for several cells shows the most expensive one. Drag to move; pinch, or Ctrl and the wheel, to zoom; a click, or Enter, tells more about a table."),
    heat.node);
}
