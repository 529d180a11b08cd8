// Why a table is sharded as it is: its other options, while the rest of the plan stays. Also what a rank holds.

const STANDINGS = ["chosen", "possible", "too large", "no place", "excluded"];
const isExplanation = data.question === "explain";

// Reads an option of a table; plan_report_json.h has the order of its values.
function readOption(row, chosenRating) {
  const [standing, name, rating, rank, part, partMs, ms, hbm, ddr, ssd, ranks, obstacle] = row;
  return { standing: STANDINGS[standing], name: data.option_names[name], rating, rank, part, partMs, ms, hbm, ddr, ssd, ranks, obstacle,
    change: rating === null ? null : rating - chosenRating };
}

// By table: {options, leftOut}. The chosen option comes first.
const explained = new Map(data.explained.map(([table, options, leftOut]) =>
  [table, { options: options.map((row) => readOption(row, options[0][2])), leftOut }]));

const possibleOf = (table) => (explained.get(table.index)?.options ?? []).filter((option) => option.standing === "possible");

function nextBest(table) {
  return possibleOf(table)[0] ?? null;
}

function changeText(option) {
  if (!option || option.change === null) return "–";
  if (option.standing === "chosen") return "";
  if (option.change === 0) return "equal";
  return (option.change > 0 ? "+" : "−") + formatRating(Math.abs(option.change)).replace(" of HBM", "");
}

// Returns text such as "mostly backward comms on rank 8".
function mostlyText(option) {
  if (option.rating === null || option.change === 0 || option.part === null) return "";
  return `mostly ${TIMES[option.part][1].toLowerCase()} on rank ${option.rank}`;
}

function reasonText(table) {
  const { options, leftOut } = explained.get(table.index);
  const count = options.length + leftOut;
  const [best, ...others] = possibleOf(table);
  const better = options.filter((option) => !["chosen", "possible"].includes(option.standing) && option.change !== null && option.change < 0);
  const sentences = [];
  if (count === 1) sentences.push("It is the only option of this table.");
  else if (!best) sentences.push(`None of the other ${plural(count - 1, "option")} is possible.`);
  else if (best.change > 0) sentences.push(`No other of the ${plural(count, "option")} rates as well: ${best.name}, the next one, would add ${changeText(best).slice(1)}${mostlyText(best) && ", " + mostlyText(best)}.`);
  else if (best.change === 0) sentences.push(`${plural([best, ...others].filter((option) => option.change === 0).length, "other option")} would rate the same: this table does not decide the rating.`);
  else sentences.push(`${best.name} alone would rate ${changeText(best).slice(1)} better.`);
  for (const option of better.slice(0, 3)) sentences.push(`${option.name} would rate ${changeText(option).slice(1)} better, but: ${option.obstacle}.`);
  return sentences;
}

function optionsList(table) {
  const { options, leftOut } = explained.get(table.index);
  const order = new Map(options.map((option, i) => [option, i]));
  const bare = (text) => text.replace(/ ms$/, "");
  const badge = (option) => (option.standing === "possible" ? null : element("span", { class: "standing " + (option.standing === "chosen" ? "good" : "bad") }, option.standing));
  const size = (key) => ({ key, label: key.toUpperCase(), number: true, optional: key !== "hbm" && hasHbm, value: (o) => o[key], cell: (o) => formatBytes(o[key]), used: options.some((o) => o[key] > 0) });
  const columns = [
    { key: "option", label: "Option", value: (o) => order.get(o), cell: (o) => element("span", {}, breakable(o.name), badge(o)) },
    { key: "rating", label: data.rating_in === "ms" ? "Rating ms" : "Rating", number: true, value: (o) => o.rating ?? Infinity, cell: (o) => (o.rating === null ? "–" : bare(formatRating(o.rating))) },
    { key: "change", label: "Change", number: true, value: (o) => o.change ?? Infinity, cell: (o) => bare(changeText(o)) },
    size("hbm"), size("ddr"), size("ssd"),
    { key: "ranks", label: "Ranks", optional: true, value: (o) => o.ranks, cell: (o) => o.ranks },
  ];
  const list = new List({ columns, rows: options, sort: "option", ascending: true, page: 12, noun: "option", caption: `Options of ${table.label}` });
  return [element("h3", {}, "Its options, with everything else as in the plan"), list.node,
    leftOut > 0 ? element("p", { class: "note" }, `${plural(leftOut, "option")} that rate worse or are impossible are left out of this page; explain --table lists them.`) : null,
    obstaclesList(options)];
}

function obstaclesList(options) {
  const hindered = options.filter((option) => option.obstacle !== "");
  if (hindered.length === 0) return null;
  return [element("h3", {}, "What the others lack"), element("ul", {}, hindered.map(({ name, obstacle }) => element("li", {}, `${name}: ${obstacle}`)))];
}

function tableNodes(table) {
  const kinds = `${table.sharding}.${table.kernelText}`;
  return [
    element("p", { class: "note" }, `${formatCount(table.rows)} × ${table.columns} ${table.type}${table.module ? ", in " + table.module : ""}`),
    element("dl", { class: "facts" }, fact("Chosen", breakable(kinds), `on ${plural(table.numShards, "rank")}: ${formatRanges(table.shards, 4)}`),
      fact("Takes", formatMs(table.ms) + " ms", "over all shards"), fact(mainTierName, formatBytes(table[hasHbm ? "hbm" : "ddr"]), "over all shards")),
    timeBar(table.times, table.ms, table.label), timeLegend(),
    explained.has(table.index)
      ? [reasonText(table).map((sentence) => element("p", { class: "reason" }, sentence)), optionsList(table)]
      : element("p", { class: "note" }, "Its other options are not in this page; explain --table tells about them."),
  ];
}

function rankNodes(rank, panel) {
  const dearest = dearestOn(rank.rank, 20);
  const most = dearest.length > 0 ? dearest[0].ms : 0;
  const columns = [
    { key: "name", label: "Table", value: ({ table }) => table.label, cell: ({ table }) => table.label },
    { key: "sharding", label: "Sharding", optional: true, value: ({ table }) => table.sharding, cell: ({ table }) => breakable(table.sharding) },
    { key: "time", label: "Time", largestFirst: true, value: ({ ms }) => ms, cell: ({ table, ms }) => timeBar(table.cellOn(rank.rank).cost.slice(2, 7), most, table.label) },
    { key: "ms", label: "ms", number: true, value: ({ ms }) => ms, cell: ({ ms }) => formatMs(ms) },
    { key: "hbm", label: mainTierName, number: true, value: ({ table }) => table.cellOn(rank.rank).cost[mainTier], cell: ({ table }) => formatBytes(table.cellOn(rank.rank).cost[mainTier]) },
  ];
  const more = data.rating_in === "ms" && rank.ms < slowest ? `${formatMs(slowest - rank.ms)} ms less than the slowest` : "one of the slowest";
  return [
    element("dl", { class: "facts" }, fact("Time", formatMs(rank.ms) + " ms", more),
      fact(mainTierName, formatShare(rank.used, rank.available), `${formatBytes(rank.used)} of ${formatBytes(rank.available)}`)),
    timeBar(rank.times, slowest, `Rank ${rank.rank}`), timeLegend(),
    element("h3", {}, "The tables that take the most there"),
    new List({ columns, rows: dearest, sort: "ms", page: 20, noun: "table", caption: `Tables on rank ${rank.rank}`, onOpen: ({ table }) => panel.open("table " + table.label) }).node,
  ];
}

function planPanel() {
  const byLabel = new Map(tables.filter((table) => table.placed).map((table) => ["table " + table.label, table]));
  const panel = new Panel((name) => {
    const table = byLabel.get(name);
    if (table) return { title: table.label, nodes: () => tableNodes(table) };
    const rank = data.rating === null ? undefined : ranks[Number(/^rank (\d+)$/.exec(name)?.[1])];
    return rank ? { title: `Rank ${rank.rank}`, nodes: () => rankNodes(rank, panel) } : null;
  });
  return panel;
}
