// The page of a redistribution.

const LOCAL_MOVES = ["split", "r_to_p"];

const collectivesOf = (path) => path.steps.filter(([kind]) => !LOCAL_MOVES.includes(kind)).length;
const movesText = (path) => path.steps.map(([kind, axes]) => `${kind}(${axes.join(",")})`).join(", ") || "nothing to do";

// The states of a path with the steps before them: {state, step}; the first one has no step.
function statesOf(path) {
  return [{ state: data.states[0], step: null }].concat(path.steps.map((step) => ({ state: data.states[step[5]], step })));
}

function header() {
  const [best] = data.paths;
  const optimal = data.paths.every((path) => path.is_optimal);
  return [
    element("h1", {}, `${data.source.join(" ")} → ${data.target.join(" ")}`),
    element("p", { class: "subtitle" }, `A tensor of ${data.shape.map(formatCount).join(" × ") || "one element"}, ${plural(data.item_bytes, "byte")} an element, ` +
      `on a mesh of ${data.mesh.join(" × ")} = ${plural(numRanks, "rank")}`),
    element("p", {}, element("strong", { class: "verdict " + (optimal ? "good" : "fair") }, optimal ? "No sequence costs less" : "Another sequence may cost less")),
    factsOf(best),
  ];
}

function factsOf(path) {
  return element("dl", { class: "facts" },
    fact("Time", formatUs(path.us), plural(path.steps.length, "step")),
    fact("Most memory", formatBytes(path.peak), "of a rank in a step, input and output together"),
    fact("Collectives", String(collectivesOf(path))),
    fact("Sent", formatBytes(path.sent), "by the rank that sends most"));
}

function meshText() {
  const shown = data.mesh.map((extent, axis) => [axis, extent]).filter(([, extent]) => extent > 1).reverse();
  if (shown.length === 0) return "One rank.";
  const ways = shown.map(([axis, extent], i) =>
    `axis ${axis} (${extent}) ${i < 2 ? (i === 0 ? "across" : "down") : i % 2 === 0 ? "in blocks across" : "in blocks down"}`);
  return `The number of a rank grows fastest along the last axis. Here ${ways.join(", ")}. Colours are those of the ranks.`;
}

function costsText() {
  const { costs, limits } = data;
  const parts = costs.model === "dtensor"
    ? [`Costs are DTensor's, on hosts of ${costs.devices_per_host}.`]
    : ["Costs are those of rings on the given links" + (costs.groups ? ", also over several axes at once" : "") + " (" +
        costs.links.map(([latency, bandwidth], axis) => `axis ${axis}: ${latency} µs, ${bandwidth} GB/s`).join("; ") +
        (costs.copy_gb_per_s === null ? "). Copies are free." : `). Copies take place at ${costs.copy_gb_per_s} GB/s.`)];
  if (limits.memory_bytes !== null) parts.push(`A rank may hold ${formatBytes(limits.memory_bytes)} in a step.`);
  if (limits.collectives !== null) parts.push(`At most ${plural(limits.collectives, "collective")}.`);
  return parts.join(" ");
}

function meshSection(choose) {
  return section("mesh", "The mesh", isDrawn ? meshDrawing(choose) : null,
    element("p", { class: "note" }, isDrawn ? meshText() : data.shape.includes(0) ? "The tensor has no elements." : `${plural(numRanks, "rank")} are too many to draw.`),
    element("p", { class: "note" }, costsText()));
}

function partialText(state) {
  if (state.partial.length === 0) return null;
  const terms = state.partial.map((axis) => `axis ${axis} by ${state.placement[axis].slice(2, -1)}`);
  return element("p", { class: "note" }, `Hatched: partial values; terms joined by + are to be reduced along ${terms.join(" and ")}`);
}

function stateItem(state, number) {
  const drawing = state.boxes.length > 0 ? tensorDrawing(state) : null;
  const readout = element("p", { class: "note held", hidden: true });
  const node = element("div", { class: "state" },
    element("h3", {}, number === 0 ? "Source" : `After step ${number}`), element("p", {}, element("code", {}, state.placement.join(" "))),
    drawing && drawing.frame,
    element("p", { class: "note" }, `A rank holds up to ${formatBytes(state.held)}`), readout, partialText(state));
  const mark = (rank) => {
    const box = drawing && drawing.mark(rank);
    readout.hidden = rank === null || !drawing;
    readout.textContent = box ? `Rank ${rank}: ${sliceOf(box)}, ${formatBytes(bytesOf(box))}` : `Rank ${rank}: nothing`;
  };
  return { node, mark };
}

function stepItem([kind, axes, text, sent, us], number) {
  const along = axes.reduce((product, axis) => product * data.mesh[axis], 1);
  const how = text.slice(text.indexOf(")") + 2).replace(" to dim", " → dim");
  return element("div", { class: "step" },
    element("span", { class: "arrow", "aria-hidden": "true" }),
    element("p", {}, element("strong", {}, `${number}. ${kind}`), how ? ` ${how}` : ""),
    element("p", {}, `${axes.length === 1 ? "axis" : "axes"} ${axes.join(", ")}: ${plural(along, "rank")}`),
    element("p", {}, sent > 0 ? `each sends ${formatBytes(sent)}` : "nothing is sent"),
    element("p", { class: "cost" }, formatUs(us)));
}

function stepsList(path) {
  const rows = statesOf(path).slice(1).map(({ state, step }, i) => ({ number: i + 1, state, text: step[2], sent: step[3], us: step[4] }));
  const columns = [
    { key: "move", label: "Step", value: (r) => r.number, cell: (r) => `${r.number}. ${r.text}` },
    { key: "after", label: "After it", value: (r) => r.state.placement.join(" "), cell: (r) => element("code", {}, r.state.placement.join(" ")), optional: true },
    { key: "held", label: "Held", number: true, optional: true, value: (r) => r.state.held, cell: (r) => formatBytes(r.state.held) },
    { key: "sent", label: "Sent", number: true, value: (r) => r.sent, cell: (r) => formatBytes(r.sent) },
    { key: "time", label: "Time", value: (r) => -r.us, cell: (r) => bar([["held", r.us]], path.us, formatUs(r.us)) },
    { key: "us", label: "µs", number: true, value: (r) => r.us, cell: (r) => significant(r.us, 4) },
  ];
  return new List({ columns, rows, sort: "move", ascending: true, page: 30, noun: "step", caption: "Steps of the path" }).node;
}

// What every rank holds in the states of a path, as text.
function holdingsList(path) {
  const states = statesOf(path);
  const held = states.map(({ state }) => {
    const byRank = [];
    for (const box of state.boxes) for (const rank of ranksOf(box)) byRank[rank] = sliceOf(box) + (state.partial.length > 0 ? " +" : "");
    return byRank;
  });
  const columns = [
    { key: "rank", label: "Rank", value: (rank) => rank, cell: (rank) => String(rank) },
    ...states.map(({ state }, i) => ({ key: `state${i}`, label: i === 0 ? "Source" : `After step ${i}`, value: (rank) => held[i][rank] ?? "",
      cell: (rank) => element("code", {}, held[i][rank] ?? "nothing") })),
  ];
  const rows = Array.from({ length: numRanks }, (_, rank) => rank);
  return new List({ columns, rows, sort: "rank", ascending: true, page: 16, noun: "rank", caption: "What every rank holds" }).node;
}

class PathView {
  constructor() {
    this.rank = null;
    this.marks = [];
    this.input = element("input", { type: "number", min: "0", max: String(numRanks - 1), placeholder: "none", oninput: () => this.follow(this.input.value) });
    this.body = element("div");
    this.front = element("div");
    this.holdings = element("div");
    this.show(data.paths[0]);
  }

  show(path) {
    const items = statesOf(path).map(({ state, step }, i) => ({ step: step && stepItem(step, i), ...stateItem(state, i) }));
    this.marks = items.map(({ mark }) => mark);
    this.body.replaceChildren(path === data.paths[0] ? "" : factsOf(path),
      element("ol", { class: "path" }, items.map(({ step, node }) => element("li", {}, step, node))), path.steps.length > 0 ? stepsList(path) : "");
    this.holdings.replaceChildren(isDrawn ? holdingsList(path) : "");
    if (data.paths.length > 1) this.front.replaceChildren(frontChart(data.paths, path), this.frontList(path));
    this.follow(this.input.value);
  }

  // Outlines what a rank holds. The text may be empty.
  follow(text) {
    const rank = text !== "" && Number(text) >= 0 && Number(text) < numRanks ? Math.floor(Number(text)) : null;
    for (const mark of this.marks) mark(rank);
  }

  choose(rank) {
    this.input.value = String(rank);
    this.follow(this.input.value);
  }

  frontList(shown) {
    const columns = [
      { key: "us", label: "Time", value: (path) => path.us, cell: (path) => formatUs(path.us) },
      { key: "peak", label: "Most memory", number: true, value: (path) => path.peak, cell: (path) => formatBytes(path.peak) },
      { key: "sent", label: "Sent", number: true, optional: true, value: (path) => path.sent, cell: (path) => formatBytes(path.sent) },
      { key: "collectives", label: "Collectives", number: true, value: collectivesOf, cell: (path) => String(collectivesOf(path)) },
      { key: "moves", label: "Moves", optional: true, value: movesText, cell: movesText },
      { key: "show", label: "Below", value: (path) => path !== shown, cell: (path) =>
        element("button", { type: "button", class: "choice", "aria-pressed": String(path === shown), onclick: () => this.show(path) }, path === shown ? "shown" : "show") },
    ];
    return new List({ columns, rows: data.paths, sort: "us", ascending: true, page: 30, noun: "path", caption: "Paths by time" }).node;
  }

  frontSection() {
    if (data.paths.length < 2) return null;
    return section("front", "Time against memory",
      element("p", { class: "note" }, "No other path beats one of these in both. The most memory is what a rank holds in a step, input and output together."), this.front);
  }

  pathSection() {
    const follow = isDrawn ? element("div", { class: "controls" }, element("label", {}, "Follow rank ", this.input)) : null;
    return section("path", "Step by step",
      isDrawn ? element("p", { class: "note" }, drawingText()) : null, follow, this.body);
  }

  holdingsSection() {
    if (!isDrawn) return null;
    return section("holdings", "What every rank holds",
      element("p", { class: "note" }, "As slices of the tensor; + marks a term of partial values."), this.holdings);
  }
}

function drawingText() {
  if (drawnDims.length === 0) return "No dimension is cut: every rank has the whole shape.";
  const ways = [...drawnDims].reverse().map(({ dim, size, across }, i) => `dimension ${dim} (${formatCount(size)}) ${i < 2 ? "" : "in blocks "}${across ? "across" : "down"}`);
  return `The tensor: ${ways.join(", ")}. Numbers are the ranks that hold a box; its colour is that of the first one.`;
}

function showRedistribution() {
  const view = new PathView();
  showPage(`${data.source.join(" ")} → ${data.target.join(" ")}`, header(), [meshSection((rank) => view.choose(rank)), view.frontSection(), view.pathSection(), view.holdingsSection()]);
}

showRedistribution();
