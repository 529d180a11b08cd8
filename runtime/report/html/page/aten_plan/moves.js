// The tensors that move, and the collectives that move them.

const collectiveName = (kind) => kind.replaceAll("_", "-");
const communicates = (kind) => kind !== "split" && kind !== "to_partial";

// Returns [kind, number of moves, us] for each kind of collective.
function collectiveSums() {
  const sums = new Map();
  for (const move of data.moves) {
    for (const [kind, , us] of move.steps) {
      const sum = sums.get(kind) ?? [kind, 0, 0];
      sum[1] += move.count;
      sum[2] += us * move.count;
      sums.set(kind, sum);
    }
  }
  return [...sums.values()].filter(([kind]) => communicates(kind)).sort((a, b) => b[2] - a[2]);
}

function sumsText() {
  return collectiveSums().map(([kind, count, us]) => {
    return `${formatCount(count)} × ${collectiveName(kind)}` + (data.estimated_moves ? "" : ` ${formatMs(us / 1000)} ms`);
  }).join(", ");
}

function movesList() {
  const rows = data.moves.map((move) => ({ ...move, all: move.us * move.count, by: move.steps.map(([, text]) => text.replaceAll("_", "-")) }));
  const short = (step) => step.replace(/ .*/, "");  // without dimensions and reduction
  const place = (name, module, at) => [name, module ? element("span", { class: "kind" }, ` ${at} ${module}`) : ""];
  const columns = [
    { key: "tensor", label: "Tensor", value: (m) => m.tensor + m.module, cell: (m) => element("span", {}, place(m.tensor, m.module, "of")) },
    { key: "consumer", label: "For", value: (m) => m.consumer + m.consumer_module,
      cell: (m) => element("span", {}, place(m.consumer, m.consumer_module, "of"), m.backward && m.consumer !== "gradient" ? element("span", { class: "kind" }, ", backward") : "") },
    { key: "shape", label: "Whole", optional: true, value: (m) => m.shape, cell: (m) => m.shape },
    { key: "way", label: "From → to", value: (m) => m.from + m.to, cell: (m) => element("span", {}, element("code", {}, m.from), " → ", element("code", {}, m.to)) },
    { key: "by", label: "By", optional: true, value: (m) => m.by.join(), cell: (m) => element("span", { title: m.by.join(", ") }, m.by.flatMap((step, i) => [i > 0 ? ", " : "", element("span", { class: "step" }, short(step))])) },
    { key: "count", label: "Times", number: true, optional: true, value: (m) => m.count, cell: (m) => formatCount(m.count) },
    { key: "each", label: "Each ms", number: true, optional: true, value: (m) => m.us, cell: (m) => formatMs(m.us / 1000) },
    { key: "all", label: "All ms", number: true, value: (m) => m.all, cell: (m) => formatMs(m.all / 1000) },
    { key: "sent", label: "Sends", number: true, optional: true, value: (m) => m.sent * m.count, cell: (m) => formatBytes(m.sent * m.count) },
  ];
  const list = new List({ columns, rows, sort: "all", page: 20, noun: "move", caption: "Tensors that move, the longest time first" });
  const textOf = (m) => `${m.tensor} ${m.module} ${m.consumer} ${m.consumer_module} ${m.shape} ${m.from} ${m.to} ${m.by.join(" ")} ${m.backward ? "backward" : "forward"}`;
  const finder = new Finder(list, { textOf, hint: "Search: a tensor, module, collective", state: "moves", csv: ["moves", csvColumns(columns)] });
  list.node.classList.add("moves");
  return [finder.node, list.node];
}

function movesSection() {
  if (data.moves.length === 0) return section("moves", "Communication", element("p", {}, "No tensor moves."));
  const count = data.moves.reduce((sum, move) => sum + move.count, 0);
  return section("moves", "Communication",
    element("p", {}, `${plural(count, "tensor")} move in a step: ${sumsText()}.`),
    element("p", { class: "note" }, "Tensors that move alike in repeated blocks are one row. A number after a collective is its mesh axis. “Sends” is what the device that sends most sends, over all of them." +
      (data.estimated_moves ? " Times are AutoParallel's estimate of the whole move; the collectives are the cheapest ones." : "")),
    movesList());
}
