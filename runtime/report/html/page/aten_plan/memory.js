// Memory of a device over time.

const HELD = [["parameters", "parameters and buffers"], ["states", "optimizer states"], ["gradients", "gradients"], ["inputs", "inputs"], ["activations", "activations"], ["moved", "moved tensors and buffers"]];

// Moves that operators hide take no time.
const exposedUs = data.has_plan ? data.moving - data.hidden : 0;
const stepUs = data.has_plan ? data.compute + exposedUs : 0;

function heldTotal(point) {
  return point.slice(1).reduce((sum, bytes) => sum + bytes, 0);
}

function peakText() {
  return data.peak_module ? `${data.peak_name} in ${data.peak_module}` : data.peak_name;
}

// The limit is drawn only if it is near the peak; otherwise the rest of the chart would be too small.
function limitIsNear() {
  return data.memory_limit !== null && data.memory_limit <= 2.5 * data.peak;
}

function memoryChart() {
  const most = Math.max(data.peak, limitIsNear() ? data.memory_limit : 0, 1) * 1.25;  // with room for words
  const chart = chartFrame(`Memory over time: at most ${formatBytes(data.peak)}, at ${peakText()}`, byteTicks(most, 6), most, formatBytes);
  const end = Math.max(stepUs, 1e-9);
  const xOf = (us) => CHART.left + chart.spanX * Math.min(us / end, 1);
  const x = (i) => xOf(i < data.memory.length ? data.memory[i][0] : end).toFixed(2);
  const y = (bytes) => chart.y(bytes).toFixed(2);
  let low = data.memory.map(() => 0);
  HELD.forEach(([kind], k) => {
    const high = data.memory.map((point, i) => low[i] + point[k + 1]);
    chart.frame.append(svg("path", { d: stepArea(low, high, x, y), class: "area " + kind }));
    low = high;
  });
  const bottom = chart.y(0);
  if (data.backward_at !== null) {
    const at = xOf(data.backward_at);
    chart.frame.append(svg("line", { x1: at, x2: at, y1: CHART.top, y2: bottom, class: "line phase" }));
    chart.frame.append(svg("text", { x: Math.min(at + 4, CHART.width - 60), y: CHART.top + 10, class: "tick" }, "backward"));
  }
  if (limitIsNear()) {
    const at = chart.y(data.memory_limit);
    chart.frame.append(svg("line", { x1: CHART.left, x2: CHART.width - CHART.right, y1: at, y2: at, class: "line limit" }));
  }
  for (const tick of ticks(0, end / 1000, CHART.width > 600 ? 8 : 4)) {
    chart.frame.append(svg("text", { x: Math.min(xOf(tick * 1000), CHART.width - 14), y: chart.axisY, class: "tick middle" }, tick === 0 ? "0" : significant(tick, 3)));
  }
  chart.frame.append(svg("text", { x: CHART.left - 8, y: chart.axisY, class: "tick end" }, "ms"));
  markPeak(chart, xOf);
  describe(chart.frame, (event) => textAt(chart, event, end));
  return chart.frame;
}

function markPeak(chart, xOf) {
  const at = xOf(data.memory[data.peak_point][0]);
  const y = chart.y(data.peak);
  const isRight = at > CHART.left + chart.spanX / 2;
  chart.frame.append(svg("circle", { cx: at, cy: y, r: 4.5, class: "dot peak" }));
  chart.frame.append(svg("text", { x: at + (isRight ? -9 : 9), y: y - 7, class: "mark" + (isRight ? " end" : "") }, `peak ${formatBytes(data.peak)}`));
}

function textAt(chart, event, end) {
  const box = chart.frame.getBoundingClientRect();
  const us = ((((event.clientX - box.left) / box.width) * CHART.width - CHART.left) / chart.spanX) * end;
  if (us < 0 || us > end) return null;
  let i = data.memory.findIndex((point) => point[0] > us) - 1;
  if (i < 0) i = data.memory.length - 1;
  const point = data.memory[i];
  const lines = HELD.map(([, label], k) => (point[k + 1] > 0 ? `${label} ${formatBytes(point[k + 1])}` : null)).filter(Boolean);
  return [`at ${formatMs(point[0] / 1000)} ms: ${formatBytes(heldTotal(point))}`, ...lines].join("\n");
}

function heldList() {
  const rows = data.held.map(([name, kind, shape, lies, bytes, count]) => ({ name, kind, shape, lies, bytes, count, all: bytes * count }));
  const columns = [
    { key: "name", label: "Tensors", value: (h) => h.name, cell: (h) => h.name },
    { key: "kind", label: "Kind", value: (h) => h.kind, cell: (h) => h.kind },
    { key: "shape", label: "Whole", optional: true, value: (h) => h.shape, cell: (h) => h.shape },
    { key: "lies", label: "Placement", optional: true, value: (h) => h.lies, cell: (h) => element("code", {}, h.lies) },
    { key: "count", label: "How many", number: true, optional: true, value: (h) => h.count, cell: (h) => formatCount(h.count) },
    { key: "all", label: "Bytes", number: true, value: (h) => h.all, cell: (h) => formatBytes(h.all) },
    { key: "share", label: "Of the peak", number: true, value: (h) => h.all, cell: (h) => formatShare(h.all, data.peak) },
  ];
  const rest = data.held_rows - data.held.length;
  return [new List({ columns, rows, sort: "all", page: 10, noun: "row", caption: "Tensors at the peak" }).node,
    rest > 0 ? element("p", { class: "note" }, `${plural(rest, "smaller row")} left out.`) : null];
}

function memorySection() {
  const peak = data.memory[data.peak_point];
  const limit = data.memory_limit === null ? "" : limitIsNear() ? " The dashed line is the limit." : ` The limit of ${formatBytes(data.memory_limit)} is far above.`;
  const moving = data.most_moved === 0 ? "" : ` Inputs that are moved for one operator take up to ${formatBytes(data.most_moved)} of it.`;
  const code = (text) => element("code", {}, text);
  const when = data.peak_operator === "" ? [", at the end of the step."] :
    [`, at ${formatMs(peak[0] / 1000)} ms, when `, code(data.peak_name), data.peak_module ? [" of ", code(data.peak_module)] : "",
      data.peak_line ? ` (${data.peak_line})` : "", " runs."];
  return section("memory", "Memory over time",
    element("p", {}, `The peak is ${formatBytes(data.peak)}`, when),
    element("p", { class: "note" }, `Of one device.${moving}${limit}`),
    legend(HELD.filter((_, k) => data.memory.some((point) => point[k + 1] > 0))), memoryChart(),
    element("h3", {}, "What is held at the peak"), heldList());
}
