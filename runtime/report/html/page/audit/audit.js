// The page of an audit: what the plan in use, the best plans and the changes are worth.

const { as_run: run, same_options: same, all_options: all, changes, inferred, fit } = data.answer;
const ms = (value) => value.toFixed(3) + " ms";
const less = (value) => `${(100 * (1 - value / run.rating)).toFixed(1)} % less`;
const percent = (part) => (part === null ? "–" : (100 * part).toFixed(2) + " %");

// Returns a line with a bar that is relative to the plan in use.
function levelNode(name, rating, note) {
  const words = `${name}: ${ms(rating)}`;
  return element("div", { class: "need" }, element("p", {}, element("strong", {}, name), ` ${ms(rating)}${note ? ", " + note : ""}`),
    bar([["held", rating]], run.rating, words));
}

function bestNote(best) {
  const gap = best.lower_bound === null ? null : 1 - best.lower_bound / best.rating;
  const proof = gap === null ? "" : gap < 1e-4 ? ", optimal" : `, at most ${percent(gap)} from optimal`;
  return `${less(best.rating)}${proof}; ${plural(best.num_moved_shards, "shard")} of ${plural(best.num_moved_tables, "table")} move`;
}

function levels() {
  const last = changes[changes.length - 1];
  return section("levels", "Slowest rank", levelNode("Now", run.rating, `rank ${run.slowest_rank}, ${percent(run.rating / run.mean - 1)} above the mean`),
    last ? levelNode(`After ${plural(changes.length, "change")}`, last.rating_after, less(last.rating_after)) : null,
    same ? levelNode("Same options", same.rating, bestNote(same)) : null, all ? levelNode("All options", all.rating, bestNote(all)) : null,
    all && all.lower_bound !== null ? levelNode("Bound", all.lower_bound, "no plan is below") : null,
    data.answer.why ? element("p", { class: "note" }, data.answer.why) : null);
}

function slowest() {
  const parts = run.slowest_tables.map(({ table, perf, share }) => fact(table, ms(perf), `${percent(share)} of rank ${run.slowest_rank}`));
  return section("slowest", `Why rank ${run.slowest_rank} is slow`, element("dl", { class: "facts" }, parts));
}

function changesSection() {
  if (changes.length === 0) return null;
  let moved = 0;
  const rows = changes.map((change, i) => ({ ...change, number: i + 1, moved: (moved += change.moved_bytes) }));
  const columns = [
    { key: "number", label: "#", value: (row) => row.number, cell: (row) => String(row.number) },
    { key: "table", label: "Table", value: (row) => row.table, cell: (row) => element("span", { class: "text" }, row.table) },
    { key: "to", label: "To", value: (row) => row.to, cell: (row) => element("span", { class: "text" }, row.to) },
    { key: "from", label: "From", optional: true, value: (row) => row.from, cell: (row) => element("span", { class: "text" }, row.from) },
    { key: "gain_ms", label: "Gain", number: true, value: (row) => row.gain_ms, cell: (row) => ms(row.gain_ms) },
    { key: "rating_after", label: "Rating then", number: true, value: (row) => row.rating_after, cell: (row) => ms(row.rating_after) },
    { key: "moved_bytes", label: "Moves", number: true, optional: true, value: (row) => row.moved_bytes, cell: (row) => formatBytes(row.moved_bytes) },
    { key: "moved", label: "Moved in all", number: true, optional: true, value: (row) => row.moved, cell: (row) => formatBytes(row.moved) },
  ];
  const list = new List({ columns, rows, sort: "number", ascending: true, page: 25, noun: "change", caption: "Changes" });
  const goal = `${data.answer.reaches ? "They reach" : "They come nearest to"} the best rating but for ${percent(data.answer.within)}.`;
  return section("changes", `${plural(changes.length, "change")} worth making`, element("p", { class: "note" }, goal), list.node);
}

function ranksSection() {
  const after = all ?? same;
  const rows = run.perf_by_rank.map((before, rank) => ({ rank, before, after: after ? after.perf_by_rank[rank] : null, hbm: run.hbm_by_rank[rank] }));
  const barOf = (value, rank) => bar([["held", value]], run.rating, `rank ${rank}: ${ms(value)}`);
  const columns = [
    { key: "rank", label: "Rank", value: (row) => row.rank, cell: (row) => String(row.rank) },
    { key: "before", label: "Now", number: true, value: (row) => row.before, cell: (row) => ms(row.before) },
    { key: "bar", label: "", value: (row) => row.before, cell: (row) => barOf(row.before, row.rank) },
    { key: "after", label: "Best", number: true, used: Boolean(after), value: (row) => row.after, cell: (row) => ms(row.after) },
    { key: "best", label: "", optional: true, used: Boolean(after), value: (row) => row.after, cell: (row) => barOf(row.after, row.rank) },
    { key: "hbm", label: "HBM now", number: true, optional: true, value: (row) => row.hbm, cell: (row) => formatBytes(row.hbm) },
  ];
  const list = new List({ columns, rows, sort: "before", page: 16, noun: "rank", caption: "Ranks" });
  return section("ranks", "Ranks before and after", list.node);
}

function costsSection() {
  const shown = ([name, { value, from }]) => fact(titleOf(name), name.endsWith("_bw") ? formatBytes(value * 1000) + "/s" : String(value), `from: ${from}`);
  const deviations = Object.entries(fit).map(([name, column]) => fact(titleOf(name), percent(column.median), `worst ${percent(column.worst)}, ${plural(column.not_followed.length, "table")} ${column.not_followed.length === 1 ? "does" : "do"} not follow`));
  return section("costs", "What costs are inferred with", element("dl", { class: "facts" }, Object.entries(inferred).map(shown)),
    element("h3", {}, "Deviation of TorchRec's formulas"), element("dl", { class: "facts" }, deviations));
}

function unknownSection() {
  return section("unknown", "What the log does not tell", element("ul", {}, data.answer.unknown.map((sentence) => element("li", {}, sentence))));
}

const title = "Audit";
showPage(title, [element("h1", {}, title), element("p", { class: "subtitle" }, `${plural(run.num_tables, "table")} in ${plural(run.num_shards, "shard")} on ${plural(run.perf_by_rank.length, "rank")}${data.file ? `, from ${data.file}` : ""}`)],
  [levels(), slowest(), changesSection(), ranksSection(), costsSection(), unknownSection()]);
