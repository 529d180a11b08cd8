// Differences between two plans: the tables that move, the bytes between ranks, and the changes of ranks.

const change = data.change ?? (data.answer ? changeOfAnswer(data.answer) : null);
const { changedTables, changedRanks } = readChange();

// Returns the change from an answer of `diff`, which does not have the bytes between ranks.
function changeOfAnswer(answer) {
  const place = (at) => at && [at.sharding_type, at.compute_kernel, at.ranks.flatMap((rank) => [rank, 1])];
  return {
    same_problem: answer.same_problem, problem_differs_in: answer.problem_differs_in, rating: answer.rating,
    kept: answer.tables_kept, moved: answer.tables_moved, added: answer.tables_added, removed: answer.tables_removed,
    moved_bytes: answer.moved_bytes, placed_bytes: answer.placed_bytes,
    tables: answer.tables.map((table) => [table.table, table.what, table.bytes, place(table.from), place(table.to)]),
    ranks: answer.ranks.map(({ perf, hbm, ddr }) => [...perf, ...hbm, ...ddr]), flows: [],
  };
}

function readChange() {
  if (change === null) return { changedTables: [], changedRanks: [] };
  const place = (row) => row && { sharding: row[0], kernel: row[1], runs: runsOf(row[2]) };
  return {
    changedTables: change.tables.map(([name, what, bytes, from, to]) => ({ name, what, bytes, from: place(from), to: place(to) })),
    changedRanks: change.ranks.map(([msBefore, msAfter, hbmBefore, hbmAfter, ddrBefore, ddrAfter], rank) =>
      ({ rank, ms: [msBefore, msAfter], hbm: [hbmBefore, hbmAfter], ddr: [ddrBefore, ddrAfter] })),
  };
}

function runsOf(flat) {
  const runs = [];
  for (let i = 0; i < flat.length; i += 2) runs.push({ first: flat[i], count: flat[i + 1] });
  return runs;
}

const known = ([before, after]) => before !== null && after !== null;
const differenceOf = ([before, after]) => (known([before, after]) ? after - before : 0);

// Returns text such as "+1.20 ms" or "−3.00 GiB"; "=" if the values are equal, "" if one is unknown.
function differenceText(pair, format) {
  const difference = differenceOf(pair);
  if (difference === 0) return known(pair) ? "=" : "";
  return (difference > 0 ? "+" : "−") + format(Math.abs(difference));
}

function placeText(place, absent) {
  return place ? `${place.sharding}.${place.kernel} on ${formatRanges(place.runs, 4)}` : absent;
}

const bytesText = (bytes) => (bytes === null ? "bytes unknown" : formatBytes(bytes));

function changeFacts() {
  const { rating } = change;
  const share = known(rating) && rating[0] > 0 ? `${rating[1] <= rating[0] ? "−" : "+"}${formatShare(Math.abs(rating[1] - rating[0]), rating[0])}` : null;
  const ms = (value) => (value === null ? "unknown" : formatMs(value) + " ms");
  return element("dl", { class: "facts" },
    fact("Rating before", ms(rating[0])), fact("Rating after", ms(rating[1]), share),
    fact("Moved", plural(change.moved, "table"), bytesText(change.moved_bytes)), fact("In place", plural(change.kept, "table")),
    change.added > 0 ? fact("New", plural(change.added, "table"), bytesText(change.placed_bytes)) : null,
    change.removed > 0 ? fact("Gone", plural(change.removed, "table")) : null);
}

// Draws lines for the values before and areas for the values after.
function beforeAfterChart(key, label, format) {
  const pairs = changedRanks.map((rank) => rank[key]);
  const most = pairs.reduce((size, pair) => Math.max(size, ...pair), 0) || 1;
  const chart = chartFrame(`${label} of every rank, before and after`, key === "ms" ? ticks(0, most, 4) : byteTicks(most, 4), most, format);
  const x = (i) => (CHART.left + (chart.spanX * i) / pairs.length).toFixed(2);
  const y = (value) => chart.y(value ?? 0).toFixed(2);
  chart.frame.append(svg("path", { d: stepArea(pairs.map(() => 0), pairs.map(([, after]) => after ?? 0), x, y), class: "area after" }));
  let line = "";
  pairs.forEach(([before], i) => {
    if (before !== null) line += `${i > 0 && pairs[i - 1][0] !== null ? "L" : "M"}${x(i)} ${y(before)}L${x(i + 1)} ${y(before)}`;
  });
  chart.frame.append(svg("path", { d: line || "M0 0", class: "line before" }));
  for (const tick of ticks(0, pairs.length - 1, 8)) {
    if (Number.isInteger(tick)) chart.frame.append(svg("text", { x: Number(x(tick + 0.5)), y: chart.axisY, class: "tick middle" }, String(tick)));
  }
  chart.frame.append(svg("text", { x: CHART.left - 8, y: chart.axisY, class: "tick end" }, "rank"));
  const value = (number) => (number === null ? "nothing" : format(number));
  describe(chart.frame, (event) => {
    const box = chart.frame.getBoundingClientRect();
    const at = ((event.clientX - box.left) / box.width) * CHART.width - CHART.left;
    const rank = changedRanks[Math.floor((at / chart.spanX) * pairs.length)];
    return rank ? `Rank ${rank.rank}\nbefore ${value(rank[key][0])}\nafter ${value(rank[key][1])}` : null;
  });
  return chart.frame;
}

// Returns a bar to the left for a decrease, or to the right for an increase.
function differenceBar(pair, most, format) {
  const difference = differenceOf(pair);
  const node = element("span", { class: "difference", role: "img", "aria-label": differenceText(pair, format) || "unknown" },
    element("i", { class: difference < 0 ? "less" : "more" }));
  node.firstChild.style.width = most > 0 ? (50 * Math.abs(difference)) / most + "%" : "0";
  return node;
}

function changedRanksSection() {
  if (changedRanks.length === 0 || !changedRanks.some(({ ms }) => known(ms))) return null;
  const most = changedRanks.reduce((size, { ms }) => Math.max(size, Math.abs(differenceOf(ms))), 0);
  const ms = (value) => formatMs(value) + " ms";
  const cell = (format) => (value) => (value === null ? "–" : format(value));
  const side = (key, at, label, format, more = {}) => ({ key: key + at, label, number: true, value: (r) => r[key][at] ?? -1, csv: (r) => r[key][at] ?? "", cell: (r) => cell(format)(r[key][at]), ...more });
  const difference = (key, label, format, more = {}) => ({ key: key + "-change", label, number: true, value: (r) => differenceOf(r[key]), cell: (r) => differenceText(r[key], format), ...more });
  const usesDdr = changedRanks.some(({ ddr }) => ddr[0] > 0 || ddr[1] > 0);
  const columns = [
    { key: "rank", label: "Rank", value: (r) => r.rank, cell: (r) => String(r.rank) },
    side("ms", 0, "ms before", formatMs), side("ms", 1, "after", formatMs), difference("ms", "Change", formatMs),
    { key: "drawn", label: "less | more", largestFirst: true, optional: true, value: (r) => Math.abs(differenceOf(r.ms)), cell: (r) => differenceBar(r.ms, most, ms) },
    side("hbm", 0, "HBM before", formatBytes, { optional: true }), side("hbm", 1, "after", formatBytes, { optional: true }), difference("hbm", "HBM change", formatBytes),
    difference("ddr", "DDR change", formatBytes, { optional: true, used: usesDdr }),
  ];
  const list = new List({ columns, rows: changedRanks, sort: "drawn", page: 16, noun: "rank", caption: "Ranks, those that change most first" });
  const finder = new Finder(list, { textOf: (r) => `rank ${r.rank}`, matches: (r, word) => { const span = spanOfRanks(word); return span ? span[0] <= r.rank && r.rank <= span[1] : undefined; },
    hint: "Search: rank:3, rank:0-7", csv: ["ranks", csvColumns(columns)] });
  return section("before-after", "Ranks, before and after", legend([["after", "after"], ["before", "before"]]),
    element("h3", {}, "Time"), beforeAfterChart("ms", "Time", ms), element("h3", {}, "HBM"), beforeAfterChart("hbm", "HBM", formatBytes), finder.node, list.node);
}

// Returns [first, last] for "rank:0-3"; null for other words.
function spanOfRanks(word) {
  const found = /^rank:(\d+)(?:-(\d+))?$/.exec(word);
  return found ? [Number(found[1]), Number(found[2] ?? found[1])] : null;
}

function changeFlowsSection(ranksPerHost) {
  if (change.flows.length === 0) return null;
  const blocks = Array.from({ length: Math.ceil(change.num_ranks / change.block) }, (_, i) => {
    const last = Math.min((i + 1) * change.block, change.num_ranks) - 1;
    return [i * change.block, last, last - i * change.block + 1];
  });
  const compact = (at) => {
    const used = [...new Set(change.flows.map((flow) => flow[at]))].sort((a, b) => a - b);
    return { blocks: used.map((number) => blocks[number]), place: new Map(used.map((number, i) => [number, i])) };
  };
  const [senders, receivers] = [compact(0), compact(1)];
  const matrix = new FlowMatrix({ senders: senders.blocks, receivers: receivers.blocks, ranksPerHost,
    flows: change.flows.map(([from, to, bytes]) => [senders.place.get(from), receivers.place.get(to), bytes]) });
  return section("flows", "Who sends what to whom",
    element("p", { class: "note" }, matrix.noteText() + " Of several copies of a part, a rank gets the one of the closest rank. Optimizer states are not counted."), matrix.frame, matrix.list());
}

function changedTablesSection() {
  if (changedTables.length === 0) return null;
  const most = changedTables.reduce((size, { bytes }) => Math.max(size, bytes ?? 0), 0);
  const columns = [
    { key: "name", label: "Table", value: (t) => t.name, cell: (t) => t.name },
    { key: "what", label: "What changes", optional: true, value: (t) => t.what, cell: (t) => t.what },
    { key: "from", label: "Before", value: (t) => placeText(t.from, ""), csv: (t) => placeText(t.from, "").replaceAll("–", "-"), cell: (t) => breakable(placeText(t.from, "new")) },
    { key: "to", label: "After", value: (t) => placeText(t.to, ""), csv: (t) => placeText(t.to, "").replaceAll("–", "-"), cell: (t) => breakable(placeText(t.to, "gone")) },
    { key: "drawn", label: "Size of the move", largestFirst: true, optional: true, value: (t) => t.bytes ?? -1, cell: (t) => bar([["held", t.bytes ?? 0]], most, bytesText(t.bytes)) },
    { key: "bytes", label: "Moves", number: true, value: (t) => t.bytes ?? -1, csv: (t) => t.bytes ?? "", cell: (t) => (t.bytes === null ? "–" : formatBytes(t.bytes)) },
  ];
  const list = new List({ columns, rows: changedTables, sort: "bytes", page: 30, noun: "table", caption: "Tables that change, the largest moves first" });
  const holds = (place, [first, last]) => place && place.runs.some((run) => run.first <= last && run.first + run.count - 1 >= first);
  const matches = (table, word) => {
    const span = spanOfRanks(word);
    return span ? Boolean(holds(table.from, span) || holds(table.to, span)) : undefined;
  };
  const finder = new Finder(list, { textOf: (t) => `${t.name} ${t.what} ${placeText(t.from, "new")} ${placeText(t.to, "gone")}`, matches, hint: "Search: name, kind, rank:3, added",
    state: "moved", csv: ["moves", csvColumns(columns)] });
  return section("moves", "Tables that change", element("p", { class: "note" }, "Bytes are those that the ranks of a table do not hold yet."), finder.node, list.node);
}
