// Answers as points in a chart of two measures. A line joins the points that no other point beats.

// Returns round numbers between `from` and `to` for a logarithmic axis.
function logTicks(from, to) {
  const found = [];
  for (let power = 10 ** Math.floor(Math.log10(from)); power <= to; power *= 10) found.push(...[1, 2, 5].map((digit) => digit * power));
  return found.filter((tick) => tick >= from * 0.999 && tick <= to * 1.001);
}

// Returns an axis {at(value) in [0, 1], ticks} for the values. The axis is logarithmic if the values span more than a decade.
function axisOf(values, formatsBytes) {
  const least = Math.min(...values);
  const most = Math.max(...values);
  if (least > 0 && most / least > 15) {
    const [low, high] = [least * 0.8, most * 1.25];
    const place = (value) => Math.log(value / low) / Math.log(high / low);
    return { at: place, ticks: logTicks(low, high), logarithmic: true };
  }
  const margin = (most - least || Math.abs(most) || 1) * 0.08;
  const [low, high] = [least - margin < 0 || least < 0.35 * most ? Math.min(0, least) : least - margin, most + margin];
  const unit = formatsBytes ? byteUnit(high) : 1;
  const marks = ticks(low / unit, high / unit, 5).map((tick) => tick * unit);
  return { at: (value) => (value - low) / (high - low), ticks: marks, logarithmic: false };
}

class Scatter {
  // A measure is {key, label, value(row) -> number or null, format, best: "least" or "most", isBytes}. `x` and `y` are the keys
  // shown first. `chosen(row)`: the point is filled. `failed(row)`: the row has no plan. `nameOf` and `textOf` return a short
  // and a long text.
  constructor({ rows, measures, x, y, chosen, failed, nameOf, textOf, onOpen, title }) {
    const shown = measures.filter((measure) => rows.some((row) => measure.value(row) !== null));
    Object.assign(this, { rows, chosen, failed, nameOf, textOf, onOpen, title, measures: shown, nodes: new Map() });
    this.drawing = element("div");
    this.note = element("p", { class: "note" });
    this.selects = { x: this.select("x", "Across"), y: this.select("y", "Up") };
    this.axes = { x: this.measure(x) ?? shown[0], y: this.measure(y) ?? shown[shown.length - 1] };
    this.first = { ...this.axes };
    this.node = element("div", {}, element("div", { class: "controls" }, ["y", "x"].map((axis) =>
      element("label", {}, axis === "x" ? "Across: " : "Up: ", this.selects[axis]))), this.drawing, this.note);
    for (const axis of ["x", "y"]) onState(axis, (key) => this.show(axis, this.measure(key) ?? this.first[axis]));
    this.draw();
  }

  measure(key) {
    return this.measures.find((measure) => measure.key === key);
  }

  select(axis, label) {
    const node = element("select", { "aria-label": label, onchange: () => this.show(axis, this.measures[node.selectedIndex]) },
      this.measures.map((measure) => element("option", {}, measure.label)));
    return node;
  }

  show(axis, measure) {
    this.axes[axis] = measure;
    writeState(axis, measure === this.first[axis] ? "" : measure.key);
    this.draw();
  }

  // Returns the rows that no other row beats in both measures, ordered by x. Empty if a measure has no better direction.
  front(rows) {
    const { x, y } = this.axes;
    if (!x.best || !y.best || x === y) return [];
    const sign = (measure) => (measure.best === "least" ? 1 : -1);
    const costs = rows.map((row) => [sign(x) * x.value(row), sign(y) * y.value(row), row]).sort((a, b) => a[0] - b[0] || a[1] - b[1]);
    let least = Infinity;
    return costs.filter(([, cost]) => cost < least && ((least = cost), true)).map(([, , row]) => row);
  }

  draw() {
    const { x, y } = this.axes;
    for (const axis of ["x", "y"]) this.selects[axis].selectedIndex = this.measures.indexOf(this.axes[axis]);
    const placed = this.rows.filter((row) => !this.failed(row) && x.value(row) !== null && y.value(row) !== null);
    const others = this.rows.filter((row) => this.failed(row) && x.value(row) !== null);
    this.nodes.clear();
    if (placed.length === 0 && others.length === 0) {
      this.drawing.replaceChildren(element("p", {}, "Nothing has both measures."));
      return;
    }
    const { width, left } = CHART;
    const height = Math.round(Math.min(420, Math.max(280, width * 0.45)));
    const band = others.length > 0 ? 34 : 0;
    const [top, right, bottom] = [14, 18, 40];
    const across = axisOf([...placed, ...others].map(x.value), x.isBytes);
    const up = placed.length > 0 ? axisOf(placed.map(y.value), y.isBytes) : { at: () => 0, ticks: [] };
    const floor = height - bottom - band;
    const atX = (row) => left + (width - left - right) * across.at(x.value(row));
    const atY = (row) => floor - (floor - top) * up.at(y.value(row));
    const frame = svg("svg", { viewBox: `0 0 ${width} ${height}`, class: "chart scatter", role: "group", "aria-label": `${this.title}: ${y.label} by ${x.label}` });
    for (const tick of up.ticks) {
      const place = floor - (floor - top) * up.at(tick);
      frame.append(svg("line", { x1: left, x2: width - right, y1: place, y2: place, class: "grid" }), svg("text", { x: left - 8, y: place + 4, class: "tick end" }, y.format(tick)));
    }
    let last = -Infinity;
    for (const tick of across.ticks) {
      const place = left + (width - left - right) * across.at(tick);
      frame.append(svg("line", { x1: place, x2: place, y1: top, y2: floor + band, class: "grid" }));
      if (place - last < 56) continue;
      frame.append(svg("text", { x: place, y: height - bottom + 16, class: "tick middle" }, x.format(tick)));
      last = place;
    }
    frame.append(svg("text", { x: (left + width - right) / 2, y: height - 6, class: "tick middle" }, x.label));
    if (band) {
      frame.append(svg("rect", { x: left, y: floor + 6, width: width - left - right, height: band - 10, class: "band" }),
        svg("text", { x: left - 8, y: floor + band / 2 + 5, class: "tick end" }, "no plan"));
    }
    const front = this.front(placed);
    if (front.length > 1) frame.append(svg("path", { d: "M" + front.map((row) => `${atX(row).toFixed(1)} ${atY(row).toFixed(1)}`).join("L"), class: "line front" }));
    for (const row of others) frame.append(this.point(row, atX(row), floor + band / 2 + 1));
    for (const row of [...placed].sort((a, b) => this.chosen(a) - this.chosen(b))) frame.append(this.point(row, atX(row), atY(row), front.includes(row)));
    this.drawing.replaceChildren(frame);
    const logs = [up, across].filter((axis) => axis.logarithmic).length;
    this.note.textContent = (logs === 2 ? "Both axes are logarithmic. " : across.logarithmic ? "The axis across is logarithmic. " : up.logarithmic ? "The axis up is logarithmic. " : "") +
      (front.length > 1 ? "The line joins those that no other one beats in both measures." : "");
  }

  point(row, x, y, isLabelled = false) {
    const failed = this.failed(row);
    const text = this.textOf(row);
    const node = svg("g", { class: "point" + (this.chosen(row) ? " front" : "") + (failed ? " failed" : ""), tabindex: "0", role: "button", "aria-label": text.replaceAll("\n", ", ") },
      failed ? svg("path", { d: `M${x - 5} ${y - 5}L${x + 5} ${y + 5}M${x - 5} ${y + 5}L${x + 5} ${y - 5}` }) : svg("circle", { cx: x, cy: y, r: 6 }));
    if (isLabelled && CHART.width > 500) {
      const below = this.axes.y.best === "most";  // then the line is above
      node.append(svg("text", x > CHART.width - 130 ? { x: x - 10, y: y - 10, class: "end" } : { x: x + 10, y: y + (below ? 16 : -8) }, this.nameOf(row)));
    }
    node.addEventListener("click", () => this.onOpen(row));
    node.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      this.onOpen(row);
    });
    describe(node, () => text);
    this.nodes.set(row, node);
    return node;
  }

  // Marks the point of `row` and no other; null marks none.
  mark(row) {
    for (const [other, node] of this.nodes) node.setAttribute("aria-current", String(other === row));
  }
}
