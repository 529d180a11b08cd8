// Bars and charts of a plan: times and memory of ranks, course of the search.

function timesText(times) {
  return TIMES.map(([, label], i) => (times[i] ? `${label} ${formatMs(times[i])} ms` : null))
    .filter(Boolean)
    .join("\n");
}

function timeBar(times, whole, title) {
  const node = bar(times.map((ms, i) => [TIMES[i][0], ms]), whole, timesText(times).replaceAll("\n", ", ") || "0 ms");
  describe(node, () => title + "\n" + timesText(times));
  return node;
}

function memoryBar(rank) {
  const over = rank.used > rank.available;
  const text = `${formatBytes(rank.used)} of ${formatBytes(rank.available)}`;
  const parts = [["aside", rank.aside], [over ? "over" : "held", rank.used]];
  const node = bar(parts, Math.max(rank.capacity, rank.aside + rank.used), `${text} used`);
  describe(node, () => `Rank ${rank.rank}\n${text} used\n${formatBytes(rank.aside)} set aside of ${formatBytes(rank.capacity)}`);
  return node;
}

function timeLegend() {
  return legend(TIMES.filter((_, i) => usedTimes[i]));
}

function rankAxis({ frame, axisY }, x) {
  for (const tick of ticks(0, ranks.length - 1, 8)) {
    if (!Number.isInteger(tick)) continue;
    frame.append(svg("text", { x: x(tick + 0.5), y: axisY, class: "tick middle" }, String(tick)));
  }
  frame.append(svg("text", { x: CHART.left - 8, y: axisY, class: "tick end" }, "rank"));
}

function describeRanks(frame, spanX, text) {
  describe(frame, (event) => {
    const box = frame.getBoundingClientRect();
    const at = ((event.clientX - box.left) / box.width) * CHART.width - CHART.left;
    const rank = ranks[Math.floor((at / spanX) * ranks.length)];
    return rank ? text(rank) : null;
  });
}

// A bound in bytes cannot be drawn among times.
function showsBound() {
  return data.lower_bound !== null && data.rating_in === "ms";
}

// Draws the stacked times of every rank, and the lower bound on the time of the slowest rank.
function timeProfile() {
  const chart = chartFrame("Time of every rank, by part", ticks(0, slowest, 4), slowest || 1, (ms) => formatMs(ms) + " ms");
  const x = (i) => (CHART.left + (chart.spanX * i) / ranks.length).toFixed(2);
  let low = ranks.map(() => 0);
  TIMES.forEach(([key], part) => {
    const high = ranks.map((rank, i) => low[i] + rank.times[part]);
    if (usedTimes[part]) {
      chart.frame.append(svg("path", { d: stepArea(low, high, x, (ms) => chart.y(ms).toFixed(2)), class: "area " + key }));
    }
    low = high;
  });
  if (showsBound()) {
    const y = chart.y(data.lower_bound).toFixed(2);
    chart.frame.append(svg("line", { x1: CHART.left, x2: CHART.width - CHART.right, y1: y, y2: y, class: "line bound-of-all" }));
  }
  rankAxis(chart, (i) => Number(x(i)));
  describeRanks(chart.frame, chart.spanX, (rank) => `Rank ${rank.rank}: ${formatMs(rank.ms)} ms\n${timesText(rank.times)}`);
  return chart.frame;
}

// Draws the memory of every rank: reserved, used by tables, capacity.
function memoryProfile() {
  const most = ranks.reduce((size, rank) => Math.max(size, rank.capacity, rank.aside + rank.used), 1);
  const chart = chartFrame("Memory of every rank", byteTicks(most, 4), most, formatBytes);
  const x = (i) => (CHART.left + (chart.spanX * i) / ranks.length).toFixed(2);
  const y = (bytes) => chart.y(bytes).toFixed(2);
  const zero = ranks.map(() => 0);
  const aside = ranks.map((rank) => rank.aside);
  const used = ranks.map((rank) => rank.aside + rank.used);
  const capacity = ranks.map((rank) => rank.capacity);
  chart.frame.append(
    svg("path", { d: stepArea(zero, capacity, x, y), class: "area room" }),
    svg("path", { d: stepArea(zero, aside, x, y), class: "area aside" }),
    svg("path", { d: stepArea(aside, used, x, y), class: "area held" }));
  rankAxis(chart, (i) => Number(x(i)));
  describeRanks(chart.frame, chart.spanX, (rank) =>
    `Rank ${rank.rank}\n${formatBytes(rank.used)} of ${formatBytes(rank.available)} used\n${formatBytes(rank.aside)} set aside`);
  return chart.frame;
}

// Draws rating and bound by work. The axis is logarithmic if the work spans decades.
function traceChart(steps, unit) {
  const values = steps.flatMap(([, rating, bound]) => [rating, bound]).filter((value) => value > 0);
  const low = Math.min(...values);
  const high = Math.max(...values);
  const margin = (high - low || high) * 0.12;
  const [from, to] = [Math.max(0, low - margin), high + margin];
  const first = steps[0][0];
  const last = steps[steps.length - 1][0];
  const logarithmic = first > 0 && last / first > 50;
  const place = (work) => (logarithmic ? Math.log(work / first) / Math.log(last / first) : last > first ? (work - first) / (last - first) : 0);
  const { width, height, left, right, top, bottom } = CHART;
  const x = (work) => (left + (width - left - right) * place(work)).toFixed(2);
  const y = (value) => (top + (height - top - bottom) * (1 - (value - from) / (to - from))).toFixed(2);
  const frame = svg("svg", { viewBox: `0 0 ${width} ${height}`, class: "chart", role: "img", "aria-label": "Rating and bound over the search" });
  for (const value of ticks(from, to, 5)) {
    frame.append(
      svg("line", { x1: left, x2: width - right, y1: y(value), y2: y(value), class: "grid" }),
      svg("text", { x: left - 8, y: Number(y(value)) + 4, class: "tick end" }, data.rating_in === "ms" ? formatMs(value) : formatBytes(value)));
  }
  const path = (index) => {
    let d = "";
    for (const step of steps) {
      if (!(step[index] > 0)) continue;
      d += d === "" ? `M${x(step[0])} ${y(step[index])}` : `H${x(step[0])}V${y(step[index])}`;
    }
    return d && d + `H${x(last)}`;
  };
  frame.append(svg("path", { d: path(2), class: "line bound" }), svg("path", { d: path(1), class: "line rating" }));
  for (const [work, rating] of steps) {
    frame.append(svg("circle", { cx: x(work), cy: y(rating), r: 2.5, class: "dot rating" }));
  }
  const ends = [[first, "start"], [last, "end"]];
  for (const [work, anchor] of ends) {
    frame.append(svg("text", { x: x(work), y: height - 6, class: "tick " + anchor }, formatCount(work) + " " + unit));
  }
  describe(frame, (event) => {
    const box = frame.getBoundingClientRect();
    const at = ((event.clientX - box.left) / box.width) * width;
    const step = steps.findLast(([work]) => Number(x(work)) <= at) ?? steps[0];
    const bound = step[2] > 0 ? `\nbound ${formatRating(step[2])}` : "";
    return `${formatCount(step[0])} ${unit}\nrating ${formatRating(step[1])}${bound}`;
  });
  return { frame, logarithmic };
}
