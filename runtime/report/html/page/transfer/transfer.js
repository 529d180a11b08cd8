// The page of a transfer.

const inMs = data.unit === "ms";
const formatTime = (time) => (inMs ? formatMs(time) + " ms" : formatBytes(time));
const portOf = (name) => data.ports.find((port) => port.name === name);

function aboveText(time, bound) {
  if (!(bound > 0)) return "–";
  return significant(100 * Math.max(time / bound - 1, 0), 2) + " %";
}

function verdict() {
  if (data.moved === 0) return ["good", "Nothing moves"];
  if (!(data.lower_bound > 0)) return ["fair", "No bound proved"];
  if (data.busiest / data.lower_bound - 1 < 1e-6) return ["good", "Proved: no plan is better balanced"];
  return ["fair", `At most ${aboveText(data.busiest, data.lower_bound)} above the best balance`];
}

function header() {
  const [kind, text] = verdict();
  return [
    element("h1", {}, "Transfer"),
    element("p", { class: "subtitle" }, `${plural(data.tensors, "tensor")} in ${plural(data.groups_of_equal, "group")} of equal ones, ${plural(data.ranks, "rank")}` +
      (data.hosts ? `, ${data.hosts.ranks_per_host} on a host` : "")),
    element("p", {}, element("strong", { class: "verdict " + kind }, text)),
    element("dl", { class: "facts" },
      fact(inMs ? "Estimated time" : "Busiest rank", formatTime(data.busiest), inMs ? "of the busiest rank or link, without latency" : "sends or receives as much"),
      fact("Proved at least", formatTime(data.lower_bound), `the plan is ${aboveText(data.busiest, data.lower_bound)} above it`),
      fact("Moves", formatBytes(data.moved), `${formatBytes(data.kept)} stay where they are`),
      fact("Rounds", formatCount(data.num_rounds), data.num_rounds === data.least_rounds ? "no plan needs fewer" : `at least ${formatCount(data.least_rounds)} needed`),
      fact("Messages", formatCount(data.messages), `of at most ${formatBytes(data.message_bytes)}`)),
  ];
}

function flowSection() {
  if (data.flows.length === 0) return null;
  const matrix = new FlowMatrix({ ...data, ranksPerHost: data.hosts?.ranks_per_host });
  return section("flows", "Who sends what to whom", element("p", { class: "note" }, matrix.noteText()), matrix.frame, matrix.list());
}

function portsSection() {
  const most = data.ports.reduce((time, port) => Math.max(time, port.time), 0);
  const columns = [
    { key: "name", label: "Busiest", value: (p) => p.time, cell: (p) => p.name },
    { key: "number", label: "Number", number: true, value: (p) => p.number, cell: (p) => (p.number < 0 ? "–" : String(p.number)) },
    { key: "bytes", label: "Bytes", number: true, optional: true, value: (p) => p.bytes, cell: (p) => formatBytes(p.bytes) },
    { key: "time", label: inMs ? "Time" : "Load", value: (p) => -p.time, cell: (p) => bar([["held", p.time]], most, formatTime(p.time)) },
    { key: "ms", label: "ms", number: true, value: (p) => p.time, cell: (p) => formatMs(p.time), used: inMs },
    { key: "bound", label: "At least", number: true, optional: true, value: (p) => p.bound, cell: (p) => (p.bound > 0 ? formatTime(p.bound) : "–") },
    { key: "above", label: "Above it", number: true, optional: true, value: (p) => p.time / p.bound, cell: (p) => aboveText(p.time, p.bound) },
  ];
  return section("ports", data.hosts ? "Busiest ranks and links" : "Busiest ranks",
    new List({ columns, rows: data.ports, sort: "name", page: 8, noun: "port", caption: "The busiest of each kind" }).node,
    element("p", { class: "note" }, "“At least” is proved of the busiest one of its kind, whichever replicas send; a dash means that nothing is proved of this kind alone."));
}

function loadsSection() {
  const many = data.loads.length > 16;
  const grouped = data.loads.some(([first, last]) => first !== last);
  return section("loads", "Ranks",
    grouped ? element("p", { class: "note" }, "Ranks that follow each other are shown as one: the most of a rank among them.") : null,
    many ? [legend([["held", "bytes of a rank"], ["bound", "what the busiest one carries at least"]]),
      element("h3", {}, "Received"), loadChart(3, "Received bytes", portOf("receiving rank")),
      element("h3", {}, "Sent"), loadChart(2, "Sent bytes", portOf("sending rank"))] : null,
    loadsList());
}

function roundsSection() {
  if (data.rounds.length === 0) return null;
  const limited = data.memory_bytes <= 2 * mostOfRounds();
  const chart = data.rounds.length === 1 ? [roundsList().node] : [
    legend([["fwd_compute", "most that a rank sends"], ["bwd_comms", "most that a rank receives"], ...(limited ? [["bound", "limit"]] : [])]),
    roundsChart(limited), element("details", {}, element("summary", {}, "As a list"), roundsList().node)];
  return section("rounds", "Rounds",
    element("p", { class: "note" }, `In a round a rank sends at most ${formatBytes(data.memory_bytes)}, and receives at most as much.`), chart);
}

function mostOfRounds() {
  return data.rounds.reduce((size, [, , , sent, received]) => Math.max(size, sent, received), 1);
}

function tensorsSection() {
  const layout = ([mesh, placement]) => [breakable(mesh), " ", element("code", {}, placement)];
  const name = (g) => (g.count === 1 ? g.name : `${g.name} and ${plural(g.count - 1, "equal one")}`);
  const columns = [
    { key: "name", label: "Tensors", value: (g) => g.name, cell: name },
    { key: "shape", label: "Shape", optional: true, value: (g) => g.shape.join(), cell: (g) => `${g.shape.map(formatCount).join(" × ")} × ${g.item_bytes} B` },
    { key: "from", label: "From", value: (g) => g.source.join(), cell: (g) => element("span", {}, layout(g.source)) },
    { key: "to", label: "To", value: (g) => g.target.join(), cell: (g) => element("span", {}, layout(g.target)) },
    { key: "bytes", label: "Size", number: true, optional: true, value: (g) => g.bytes, cell: (g) => formatBytes(g.bytes) },
    { key: "moved", label: "Moves", number: true, value: (g) => g.moved, cell: (g) => formatBytes(g.moved) },
    { key: "share", label: "Of all", number: true, value: (g) => g.moved, cell: (g) => formatShare(g.moved, data.moved) },
  ];
  const rest = data.groups_of_equal - data.groups.length;
  return section("tensors", "Tensors that move most",
    element("p", { class: "note" }, "Equal tensors are one row. Replicas at the target make more bytes move than a tensor has." +
      (rest > 0 ? ` ${plural(rest, "group")} that move less are left out.` : "")),
    new List({ columns, rows: data.groups, sort: "moved", page: 12, noun: "group", caption: "Tensors by the bytes that move" }).node);
}

function meshesSection() {
  const columns = [
    { key: "name", label: "Mesh", value: (m) => m.name, cell: (m) => m.name },
    { key: "shape", label: "Shape", value: (m) => m.shape.join(), cell: (m) => m.shape.join(" × ") },
    { key: "ranks", label: "Ranks", value: (m) => m.ranks, cell: (m) => m.ranks },
  ];
  const rest = data.num_meshes - data.meshes.length;
  return section("meshes", "Meshes",
    new List({ columns, rows: data.meshes, sort: "name", ascending: true, page: 20, noun: "mesh", caption: "Meshes" }).node,
    rest > 0 ? element("p", { class: "note" }, `${formatCount(rest)} more are left out.`) : null);
}

showPage("Transfer", header(), [flowSection(), portsSection(), loadsSection(), roundsSection(), tensorsSection(), meshesSection()]);
