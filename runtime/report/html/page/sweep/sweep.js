// The page of a sweep: machines by speed, price and memory.

const { answer } = data;
// A saved answer does not name the unit of ratings, but only ratings in ms have a speed.
const ratingIn = data.rating_in ?? (answer.points.some((point) => point.fits && point.samples_per_second === undefined) ? "bytes" : "ms");
const inMs = ratingIn === "ms";
const points = answer.points.map((point, number) => ({ number, name: nameOfPoint(point), ...point }));
const fitting = points.filter((point) => point.fits);
const isPriced = points.some((point) => point.price_per_hour !== undefined);
const formatRating = (rating) => (inMs ? formatMs(rating) + " ms" : formatBytes(rating));
const formatPrice = (price) => price.toFixed(price < 10 ? 2 : price < 1000 ? 1 : 0);
const formatSpeed = (speed) => {
  const [size, unit] = speed >= 1e9 ? [1e9, " G"] : speed >= 1e6 ? [1e6, " M"] : speed >= 1e3 ? [1e3, " k"] : [1, ""];
  return significant(speed / size, 3) + unit;
};

function nameOfPoint({ ranks, hbm, batch_size: batch, sharding_group_size: group }) {
  const parts = [plural(ranks, "rank"), hbm === null ? null : formatBytes(hbm), `batch ${formatCount(batch)}`, group ? `groups of ${group}` : null];
  return parts.filter(Boolean).join(" · ");
}

const MEASURES = [
  { key: "speed", label: "Samples per second", best: "most", value: (p) => p.samples_per_second ?? null, format: formatSpeed },
  { key: "each", label: "Samples per second and rank", best: "most", value: (p) => p.samples_per_second_per_rank ?? null, format: formatSpeed },
  { key: "rating", label: inMs ? "Rating in ms" : "Rating", best: "least", value: (p) => p.best_rating, format: inMs ? formatMs : formatBytes, isBytes: !inMs },
  { key: "price", label: "Price per hour", best: "least", value: (p) => p.price_per_hour ?? null, format: formatPrice },
  { key: "billion", label: "Price of a billion samples", best: "least", value: (p) => p.price_per_billion_samples ?? null, format: formatPrice },
  { key: "ranks", label: "Ranks", best: "least", value: (p) => p.ranks, format: formatCount },
  { key: "hbm", label: "HBM per rank", best: "least", value: (p) => p.hbm, format: formatBytes, isBytes: true },
  { key: "all", label: "HBM of all ranks", best: "least", value: (p) => (p.hbm === null ? null : p.hbm * p.ranks), format: formatBytes, isBytes: true },
  { key: "peak", label: "HBM in use on the fullest rank", best: "least", value: (p) => p.peak_memory?.[0] ?? null, format: formatBytes, isBytes: true },
  { key: "batch", label: "Batch per rank", value: (p) => p.batch_size, format: formatCount },
];

// Returns a size in the form of the command's flags, such as "80GiB".
function sizeFlag(bytes) {
  const unit = ["GiB", "MiB", "KiB"].find((name) => bytes % 1024 ** UNITS.indexOf(name) === 0);
  return unit ? bytes / 1024 ** UNITS.indexOf(unit) + unit : String(bytes);
}

const shortly = (why) => why.split(":")[0];

function textOfPoint(point) {
  const lines = [point.name];
  if (!point.fits) return lines.concat(shortly(point.why)).join("\n");
  lines.push(formatRating(point.best_rating) + (point.proven_optimal ? ", proved optimal" : point.gap === null ? "" : `, at most ${significant(100 * point.gap, 3)} % from optimal`));
  if (point.samples_per_second) lines.push(`${formatSpeed(point.samples_per_second)} samples per second`);
  if (point.price_per_hour !== undefined) lines.push(`${formatPrice(point.price_per_hour)} an hour, ${formatPrice(point.price_per_billion_samples)} for a billion samples`);
  return lines.join("\n");
}

const leastBy = (rows, value) => rows.reduce((best, row) => (best === null || value(row) < value(best) ? row : best), null);

// Recommends machines in one or two sentences.
function leadText() {
  if (fitting.length === 0) return "Nothing fits on any of these machines.";
  const fastest = inMs ? leastBy(fitting, (p) => -p.samples_per_second) : leastBy(fitting, (p) => p.best_rating);
  const parts = [inMs ? `The fastest is ${fastest.name}: ${formatSpeed(fastest.samples_per_second)} samples per second.` : `The least memory has ${fastest.name}: ${formatRating(fastest.best_rating)}.`];
  if (isPriced && inMs) {
    const cheapest = leastBy(fitting, (p) => p.price_per_billion_samples);
    parts.push(cheapest === fastest ? `It is also the cheapest for a billion samples, ${formatPrice(cheapest.price_per_billion_samples)}.`
      : `A billion samples cost least on ${cheapest.name}: ${formatPrice(cheapest.price_per_billion_samples)}, at ${formatSpeed(cheapest.samples_per_second)} samples per second.`);
  } else {
    const smallest = leastBy(fitting, (p) => p.ranks * 1e15 + (p.hbm ?? 0));
    if (smallest !== fastest) parts.push(`The smallest that fits is ${smallest.name}.`);
  }
  return parts.join(" ");
}

function header() {
  const misfits = points.length - fitting.length;
  return [
    element("h1", {}, answer.name || "Sweep"),
    element("p", { class: "subtitle" }, `${plural(points.length, "machine")}, ${misfits === 0 ? "all of them fit" : `${formatCount(fitting.length)} fit`}, planned in ${formatSeconds(answer.timing.total_s)}`),
    answer.estimate ? element("p", { class: "subtitle" }, answer.estimate) : "",
    element("p", { class: "lead" }, leadText()),
  ];
}

function pointNodes(point) {
  const flags = [`--ranks ${point.ranks}`, `--ranks-per-host ${point.ranks_per_host}`, point.hbm === null ? null : `--hbm ${sizeFlag(point.hbm)}`, `--batch-size ${point.batch_size}`,
    point.sharding_group_size ? `--sharding-group-size ${point.sharding_group_size}` : null, point.pod_size ? `--pod-size ${point.pod_size}` : null].filter(Boolean);
  const command = [element("h3", {}, point.fits ? "To get this plan" : "To learn more"), element("pre", {}, `shardwright ${point.fits ? "plan" : "explain"} PROBLEM ${flags.join(" ")}`)];
  if (!point.fits) return [element("p", { class: "message" }, point.error?.message ?? point.why), point.error?.where ? element("p", { class: "note" }, point.error.where) : null, point.error?.type === "invalid_input" ? null : command];
  const facts = [fact("Rating", formatRating(point.best_rating), point.proven_optimal ? "proved optimal" : point.gap === null ? null : `at most ${significant(100 * point.gap, 3)} % from optimal`)];
  if (point.samples_per_second) facts.push(fact("Samples per second", formatSpeed(point.samples_per_second), `${formatSpeed(point.samples_per_second_per_rank)} per rank`));
  if (point.price_per_hour !== undefined) facts.push(fact("Price per hour", formatPrice(point.price_per_hour), `${formatPrice(point.price_per_billion_samples)} for a billion samples`));
  facts.push(fact("Fullest rank", formatBytes(point.peak_memory[0]), point.hbm === null ? "HBM" : `of ${formatBytes(point.hbm)} HBM, reservation included`));
  const rivals = fitting.filter((other) => other !== point && inMs && other.samples_per_second >= point.samples_per_second &&
    (isPriced ? other.price_per_hour <= point.price_per_hour : other.ranks <= point.ranks && (other.hbm ?? 0) <= (point.hbm ?? 0)));
  const standing = !inMs ? null : point.pareto ? "No other machine here is as fast for as little." : `${rivals[0]?.name ?? "Another one"} is as fast for as little or less.`;
  return [element("dl", { class: "facts" }, facts), standing && element("p", { class: "reason" }, standing), command];
}

function machinesSection(panel) {
  const open = (point) => panel.toggle(`machine ${point.number}`);
  const size = (key, label, value, format, more = {}) => ({ key, label, number: true, value: (p) => value(p) ?? -1, cell: (p) => (value(p) === null || value(p) === undefined ? "–" : format(value(p))), ...more });
  const columns = [
    { key: "ranks", label: "Ranks", value: (p) => p.ranks * 1e6 + p.number, csv: (p) => p.ranks, cell: (p) => formatCount(p.ranks) },
    size("group", "Group", (p) => p.sharding_group_size, formatCount, { used: points.some((p) => p.sharding_group_size) }),
    size("hbm", "HBM", (p) => p.hbm, formatBytes),
    size("batch", "Batch", (p) => p.batch_size, formatCount),
    size("rating", inMs ? "Rating ms" : "Rating", (p) => p.best_rating, inMs ? formatMs : formatBytes, { optional: inMs }),
    size("gap", "Gap", (p) => p.gap, (gap) => (gap <= 1e-4 ? "proved" : significant(100 * gap, 2) + " %"), { optional: true }),
    size("speed", "Samples/s", (p) => p.samples_per_second, formatSpeed, { used: inMs }),
    size("each", "Per rank", (p) => p.samples_per_second_per_rank, formatSpeed, { used: inMs, optional: true }),
    size("price", "Price/h", (p) => p.price_per_hour, formatPrice, { used: isPriced, optional: true }),
    size("billion", "Per 10⁹", (p) => p.price_per_billion_samples, formatPrice, { used: isPriced }),
    { key: "fits", label: "Fits", value: (p) => (p.pareto ? 0 : p.fits ? 1 : 2), csv: (p) => p.why ?? (p.pareto ? "yes, front" : "yes"),
      cell: (p) => (p.fits ? (p.pareto ? element("strong", { class: "good" }, "front") : "yes") : element("span", { class: "bad" }, element("span", { class: "narrow" }, "no"), element("span", { class: "wide" }, shortly(p.why)))) },
  ];
  const list = new List({ columns, rows: points, sort: "ranks", ascending: true, page: 40, noun: "machine", caption: "Machines", onOpen: open });
  const finder = new Finder(list, { textOf: (p) => `${p.name} ${p.fits ? "fits" : p.why} ${p.pareto ? "front" : ""}`, hint: "Search: 8 ranks, 40.0 GiB, front", state: "find", csv: ["machines", csvColumns(columns)] });
  return section("machines", "Machines", finder.node, list.node,
    inMs ? element("p", { class: "note" }, "Samples per second are those of the embedding tables alone, at the rating. “Front”: no other machine here is as fast for " + (isPriced ? "as low a price." : "as few ranks with as little memory.")) : null);
}

function chartSection(scatter) {
  const legendOf = [["on-front", `no other one is as fast for as ${isPriced ? "low a price" : "few ranks and as little memory"}`], ["off-front", "another one is"], ...(fitting.length < points.length ? [["failed", "nothing fits"]] : [])];
  return section("chart", "Machines compared", legend(inMs ? legendOf : legendOf.slice(2)), scatter.node);
}

function smallestSection() {
  const rows = answer.smallest_ranks;
  if (rows.length < 2) return null;
  const columns = [
    { key: "hbm", label: "HBM", number: true, value: (m) => m.hbm ?? -1, cell: (m) => (m.hbm === null ? "–" : formatBytes(m.hbm)) },
    { key: "batch", label: "Batch", number: true, value: (m) => m.batch_size, cell: (m) => formatCount(m.batch_size) },
    { key: "ranks", label: "Least ranks", number: true, value: (m) => m.ranks ?? Infinity, cell: (m) => (m.ranks === null ? "none fits" : formatCount(m.ranks)) },
  ];
  return section("smallest", "Smallest number of ranks that fits", new List({ columns, rows, sort: "ranks", ascending: true, page: 30, noun: "row", caption: "Smallest machines" }).node);
}

function showSweep() {
  const panel = new Panel((name) => {
    const point = points[Number(/^machine (\d+)$/.exec(name)?.[1])];
    return point ? { title: point.name, nodes: () => pointNodes(point) } : null;
  });
  const scatter = new Scatter({ rows: points, measures: MEASURES, x: isPriced ? "price" : "ranks", y: inMs ? "speed" : "rating", title: "Machines",
    chosen: (p) => Boolean(p.pareto), failed: (p) => !p.fits, nameOf: (p) => p.name, textOf: textOfPoint, onOpen: (p) => panel.toggle(`machine ${p.number}`) });
  panel.onShow = (name) => scatter.mark(points[Number(name.replace("machine ", ""))] ?? null);
  showPage(answer.name || "Sweep", header(), [chartSection(scatter), machinesSection(panel), smallestSection()]);
}

showSweep();
