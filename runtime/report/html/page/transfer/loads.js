// What ranks and rounds carry.

function loadName([first, last]) {
  return first === last ? `Rank ${first}` : `Ranks ${first}–${last}, the most of one`;
}

// The bytes of every rank, with the least that the busiest one must carry.
function loadChart(index, label, port) {
  const most = data.loads.reduce((size, load) => Math.max(size, load[index]), 1);
  const chart = chartFrame(`${label} by rank`, byteTicks(most, 4), most, formatBytes);
  const x = (i) => (CHART.left + (chart.spanX * i) / data.loads.length).toFixed(2);
  const y = (bytes) => chart.y(bytes).toFixed(2);
  chart.frame.append(svg("path", { d: stepArea(data.loads.map(() => 0), data.loads.map((load) => load[index]), x, y), class: "area held" }));
  const least = port && port.time > 0 ? (port.bytes * port.bound) / port.time : 0;
  if (least > 0) chart.frame.append(svg("line", { x1: CHART.left, x2: CHART.width - CHART.right, y1: y(least), y2: y(least), class: "line bound" }));
  for (const tick of ticks(0, data.loads.length - 1, 8)) {
    if (Number.isInteger(tick)) chart.frame.append(svg("text", { x: x(tick + 0.5), y: chart.axisY, class: "tick middle" }, String(data.loads[tick][0])));
  }
  chart.frame.append(svg("text", { x: CHART.left - 8, y: chart.axisY, class: "tick end" }, "rank"));
  describe(chart.frame, (event) => {
    const box = chart.frame.getBoundingClientRect();
    const at = ((event.clientX - box.left) / box.width) * CHART.width - CHART.left;
    const load = data.loads[Math.floor((at / chart.spanX) * data.loads.length)];
    return load ? `${loadName(load)}\nsends ${formatBytes(load[2])}\nreceives ${formatBytes(load[3])}\nkeeps ${formatBytes(load[4])}` : null;
  });
  return chart.frame;
}

function loadsList() {
  const grouped = data.loads.some(([first, last]) => first !== last);
  const many = data.loads.length > 16;
  const size = (key, label, index) => ({ key, label, number: true, value: (load) => load[index], cell: (load) => formatBytes(load[index]) });
  const columns = [
    { key: "rank", label: grouped ? "Ranks" : "Rank", value: (load) => load[0], cell: (load) => blockText(load) },
    size("sent", "Sends", 2), size("received", "Receives", 3), size("kept", "Keeps", 4),
  ];
  return new List({ columns, rows: data.loads, sort: many ? "received" : "rank", ascending: !many, page: 16, noun: grouped ? "row" : "rank", caption: "Ranks" }).node;
}

// For every round, what its busiest sender and receiver carry, and the limit.
function roundsChart(limited) {
  const { rounds } = data;
  const most = rounds.reduce((size, [, , , sent, received]) => Math.max(size, sent, received), 1);
  const scale = limited ? Math.max(data.memory_bytes, most) : most;
  const chart = chartFrame("Most bytes of a rank by round", byteTicks(scale, 4), scale * 1.04, formatBytes);
  const slot = Math.min(chart.spanX / rounds.length, 60);
  const thickness = Math.max(slot * 0.4, 0.5);
  const zero = chart.y(0);
  rounds.forEach(([first, , , sent, received], i) => {
    const x = CHART.left + slot * i;
    [[sent, "area fwd_compute", 0], [received, "area bwd_comms", thickness]].forEach(([bytes, kind, offset]) => {
      const y = chart.y(bytes);
      chart.frame.append(svg("rect", { x: x + slot * 0.1 + offset, y, width: thickness, height: zero - y, class: kind }));
    });
    const every = Math.ceil(30 / slot);
    if (i % every === 0) chart.frame.append(svg("text", { x: x + slot / 2, y: chart.axisY, class: "tick middle" }, String(first + 1)));
  });
  if (limited) {
    const y = chart.y(data.memory_bytes);
    chart.frame.append(svg("line", { x1: CHART.left, x2: CHART.width - CHART.right, y1: y, y2: y, class: "line bound" }));
  }
  chart.frame.append(svg("text", { x: CHART.left - 8, y: chart.axisY, class: "tick end" }, "round"));
  describe(chart.frame, (event) => {
    const box = chart.frame.getBoundingClientRect();
    const at = ((event.clientX - box.left) / box.width) * CHART.width - CHART.left;
    const round = at < 0 ? undefined : rounds[Math.floor(at / slot)];
    return round ? `${roundsName(round)}\n${formatBytes(round[2])} in all\na rank sends at most ${formatBytes(round[3])}\nand receives at most ${formatBytes(round[4])}` : null;
  });
  return chart.frame;
}

function roundsName([first, last]) {
  return first === last ? `Round ${first + 1}` : `Rounds ${first + 1}–${last + 1}`;
}

function roundsList() {
  const size = (key, label, index) => ({ key, label, number: true, value: (round) => round[index], cell: (round) => formatBytes(round[index]) });
  const columns = [
    { key: "round", label: "Round", value: (round) => round[0], cell: (round) => roundsName(round) },
    size("bytes", "In all", 2), size("sent", "A rank sends", 3), size("received", "A rank receives", 4),
  ];
  return new List({ columns, rows: data.rounds, sort: "round", ascending: true, page: 16, noun: "round", caption: "Rounds" });
}
