// A heat map of tables by ranks: where every table is and what it costs there, for up to thousands of each.

const HEAT_COLOURS = {
  light: { stops: ["#c6dcf0", "#86b6de", "#2f78b7", "#0a3f70", "#041c33"], ground: "#ffffff", text: "#4d5666", cursor: "#b3261e", line: "#dfe3e8" },
  dark: { stops: ["#1f3247", "#2c5f8d", "#4b9ad4", "#a8d7f7", "#ffffff"], ground: "#171c25", text: "#a3adbd", cursor: "#ffb4a9", line: "#2b3340" },
};
const LEAST_PIXELS = 2;  // of a cell; smaller single cells would be invisible
const darkScheme = window.matchMedia("screen and (prefers-color-scheme: dark)");

// Returns 256 colours between the stops as 32-bit pixels.
function rampOf(stops) {
  const rgb = stops.map((hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16)));
  return Uint32Array.from({ length: 256 }, (_, i) => {
    const at = (i / 255) * (rgb.length - 1);
    const below = Math.min(Math.floor(at), rgb.length - 2);
    const [r, g, b] = rgb[below].map((from, k) => Math.round(from + (rgb[below + 1][k] - from) * (at - below)));
    return ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0;
  });
}

class HeatMap {
  // A measure is {label, of(cost), format}; the first one is shown. `onOpen` is called with the table of a row.
  constructor(measures, onOpen) {
    this.measures = measures;
    this.onOpen = onOpen;
    this.measure = measures[0];
    this.rows = [];
    this.cursor = null;
    this.canvas = element("canvas", { tabindex: "0", role: "img", "aria-label": "Heat map of tables by ranks. Arrow keys move, plus and minus zoom, 0 shows everything." });
    this.readout = element("output", { class: "readout", "aria-live": "polite" });
    this.node = element("div", { class: "heat" }, this.controls(), this.canvas, this.scale(), this.readout);
    this.listen();
    this.say();
  }

  controls() {
    const select = element("select", { "aria-label": "Colour shows", onchange: () => this.show(this.measures[select.selectedIndex]) },
      this.measures.map((measure) => element("option", {}, measure.label)));
    const button = (label, text, action) => element("button", { type: "button", "aria-label": label, title: label, onclick: action }, text);
    return element("div", { class: "controls" }, element("label", {}, "Colour: ", select),
      button("Zoom in", "+", () => this.zoom(1.6)), button("Zoom out", "−", () => this.zoom(1 / 1.6)),
      button("Show everything", "Fit", () => this.fit()));
  }

  scale() {
    this.ramp = element("i", { class: "ramp" });
    this.scaleEnd = element("span");
    return element("p", { class: "scale" }, element("span", {}, "0"), this.ramp, this.scaleEnd);
  }

  setRows(rows) {
    this.rows = rows;
    this.cursor = null;
    this.rescale();
    this.fit();
  }

  show(measure) {
    this.measure = measure;
    this.rescale();
    this.draw();
  }

  rescale() {
    this.most = 0;
    for (const table of this.rows) {
      for (const cell of table.cells) this.most = Math.max(this.most, this.measure.of(cell.cost));
    }
    this.scaleEnd.textContent = this.measure.format(this.most);
  }

  // Returns sizes in CSS pixels: of the canvas, and of the plot, whose corner is (left, top).
  layout() {
    const width = Math.max(this.node.clientWidth || 960, 240);
    const left = width > 560 ? 128 : 84;
    const top = 20;
    const height = top + Math.min(Math.max(this.rows.length * 18, 36), 460);
    return { width, height, left, top, plotWidth: width - left, plotHeight: height - top };
  }

  // Returns the cell size at which everything is in view.
  fitted({ plotWidth, plotHeight }) {
    return { x: plotWidth / ranks.length, y: plotHeight / Math.max(this.rows.length, 1) };
  }

  fit() {
    const cell = this.fitted(this.layout());
    this.view = { row: 0, rank: 0, x: cell.x, y: cell.y };
    this.draw();
  }

  zoom(factor, at) {
    const box = this.layout();
    const least = this.fitted(box);
    const point = at ?? { x: box.left + box.plotWidth / 2, y: box.top + box.plotHeight / 2 };
    const place = this.placeOf(point);
    this.view.x = Math.min(Math.max(this.view.x * factor, least.x), Math.max(least.x, 40));
    this.view.y = Math.min(Math.max(this.view.y * factor, least.y), Math.max(least.y, 20));
    this.view.rank = place.rank - (point.x - box.left) / this.view.x;
    this.view.row = place.row - (point.y - box.top) / this.view.y;
    this.draw();
  }

  placeOf({ x, y }) {
    const { left, top } = this.layout();
    return { rank: this.view.rank + (x - left) / this.view.x, row: this.view.row + (y - top) / this.view.y };
  }

  keepInside({ plotWidth, plotHeight }) {
    const { view } = this;
    view.rank = Math.max(0, Math.min(view.rank, ranks.length - plotWidth / view.x));
    view.row = Math.max(0, Math.min(view.row, this.rows.length - plotHeight / view.y));
  }

  draw(colours = darkScheme.matches ? HEAT_COLOURS.dark : HEAT_COLOURS.light) {
    const box = this.layout();
    if (this.rows.length === 0) {
      this.canvas.hidden = true;
      return;
    }
    this.canvas.hidden = false;
    this.keepInside(box);
    const density = Math.min(window.devicePixelRatio || 1, 2);
    this.canvas.width = Math.round(box.width * density);
    this.canvas.height = Math.round(box.height * density);
    const context = this.canvas.getContext("2d");
    context.fillStyle = colours.ground;
    context.fillRect(0, 0, this.canvas.width, this.canvas.height);
    this.drawCells(context, box, density, colours);
    context.setTransform(density, 0, 0, density, 0, 0);
    this.drawLabels(context, box, colours);
    this.drawCursor(context, box, colours);
    this.ramp.style.background = `linear-gradient(to right, ${colours.stops.join(", ")})`;
  }

  // A pixel shows its most expensive cell. Colours follow the square root of the cost, since few cells are expensive.
  drawCells(context, { left, top, plotWidth, plotHeight }, density, colours) {
    const width = Math.round(plotWidth * density);
    const height = Math.round(plotHeight * density);
    const values = new Float32Array(width * height).fill(-1);
    const sizeX = this.view.x * density;
    const sizeY = this.view.y * density;
    const gapX = sizeX >= 6 ? 1 : 0;
    const gapY = sizeY >= 6 ? 1 : 0;
    const firstRow = Math.floor(this.view.row);
    const lastRow = Math.min(this.rows.length, Math.ceil(this.view.row + plotHeight / this.view.y));
    for (let row = firstRow; row < lastRow; ++row) {
      const y0 = Math.max(0, Math.round((row - this.view.row) * sizeY));
      const y1 = Math.min(height, Math.max(y0 + LEAST_PIXELS, Math.round((row + 1 - this.view.row) * sizeY) - gapY));
      for (const cell of this.rows[row].cells) {
        const value = this.measure.of(cell.cost);
        const last = gapX ? cell.last : cell.first;
        for (let rank = cell.first; rank <= last; ++rank) {
          const end = gapX ? rank + 1 : cell.last + 1;
          const x0 = Math.max(0, Math.round((rank - this.view.rank) * sizeX));
          const x1 = Math.min(width, Math.max(x0 + LEAST_PIXELS, Math.round((end - this.view.rank) * sizeX) - gapX));
          fillLarger(values, width, x0, x1, y0, y1, value);
        }
      }
    }
    const image = context.createImageData(width, height);
    paint(new Uint32Array(image.data.buffer), values, this.most, rampOf(colours.stops), colours.ground);
    context.putImageData(image, Math.round(left * density), Math.round(top * density));
  }

  drawLabels(context, { left, top, plotWidth, plotHeight }, colours) {
    context.font = "11px system-ui, sans-serif";
    context.fillStyle = colours.text;
    context.textBaseline = "middle";
    const everyRow = Math.max(1, Math.ceil(14 / this.view.y));
    const firstRow = Math.ceil(this.view.row / everyRow) * everyRow;
    context.textAlign = "left";
    for (let row = firstRow; row < this.rows.length; row += everyRow) {
      const y = top + (row + 0.5 - this.view.row) * this.view.y;
      if (y > top + plotHeight) break;
      context.fillText(shortened(context, this.rows[row].label, left - 8), 0, y);
    }
    const everyRank = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024].find((step) => step * this.view.x >= 34) ?? 2048;
    context.textAlign = "center";
    for (let rank = Math.ceil(this.view.rank / everyRank) * everyRank; rank < ranks.length; rank += everyRank) {
      const x = left + (rank + 0.5 - this.view.rank) * this.view.x;
      if (x > left + plotWidth - 8) break;
      context.fillText(String(rank), Math.max(x, left + 4), top / 2);
    }
    context.textAlign = "left";
    context.fillText("rank", left - 34, top / 2);
  }

  drawCursor(context, { left, top }, colours) {
    if (!this.cursor) return;
    const x = left + (this.cursor.rank - this.view.rank) * this.view.x;
    const y = top + (this.cursor.row - this.view.row) * this.view.y;
    context.strokeStyle = colours.cursor;
    context.lineWidth = 1.5;
    context.strokeRect(x - 1, y - 1, Math.max(this.view.x, 4) + 1, Math.max(this.view.y, 4) + 1);
  }

  textAt({ row, rank }) {
    const table = this.rows[row];
    const cell = table.cellOn(rank);
    if (!cell) return `${table.label} has no shard on rank ${rank}`;
    const times = cell.cost.slice(2);
    return `${table.label} on rank ${rank}: ${plural(cell.shards, "shard")}, ` +
      `${formatBytes(cell.cost[mainTier])}, ${formatMs(msOfCost(cell.cost))} ms\n` + timesText(times);
  }

  say() {
    this.readout.textContent = this.cursor ? this.textAt(this.cursor).replaceAll("\n", "; ") : "Point at a cell, or use the arrow keys.";
  }

  pointAt(event) {
    const box = this.canvas.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  }

  cellAt(event) {
    const point = this.pointAt(event);
    const { left, top } = this.layout();
    const place = this.placeOf(point);
    const cell = { row: Math.floor(place.row), rank: Math.floor(place.rank) };
    const inside = point.x >= left && point.y >= top && cell.row >= 0 && cell.rank >= 0 && cell.row < this.rows.length && cell.rank < ranks.length;
    return inside ? cell : null;
  }

  listen() {
    describe(this.canvas, (event) => {
      const cell = this.cellAt(event);
      if (cell && !(this.cursor && cell.row === this.cursor.row && cell.rank === this.cursor.rank)) {
        this.cursor = cell;
        this.draw();
        this.say();
      }
      return cell && this.textAt(cell);
    });
    this.canvas.addEventListener("pointerdown", (event) => this.startDrag(event));
    this.canvas.addEventListener("keydown", (event) => this.onKey(event));
    // Without a key, the wheel scrolls the page.
    this.canvas.addEventListener("wheel", (event) => {
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      this.zoom(Math.exp(-event.deltaY / 200), this.pointAt(event));
    }, { passive: false });
    new ResizeObserver(() => this.view && this.rows.length && this.fit()).observe(this.node);
    darkScheme.addEventListener("change", () => this.fit());
    // A print shows the whole map in light colours.
    window.addEventListener("beforeprint", () => {
      this.cursor = null;
      this.fit();
      this.draw(HEAT_COLOURS.light);
    });
    window.addEventListener("afterprint", () => this.fit());
  }

  startDrag(down) {
    const from = { ...this.view };
    const move = (event) => {
      this.view.rank = from.rank - (event.clientX - down.clientX) / this.view.x;
      this.view.row = from.row - (event.clientY - down.clientY) / this.view.y;
      this.draw();
    };
    const end = (event) => {
      this.canvas.removeEventListener("pointermove", move);
      const cell = Math.hypot(event.clientX - down.clientX, event.clientY - down.clientY) < 4 && this.cellAt(event);
      if (cell) this.onOpen(this.rows[cell.row]);
    };
    this.canvas.setPointerCapture(down.pointerId);
    this.canvas.addEventListener("pointermove", move);
    this.canvas.addEventListener("pointerup", end, { once: true });
    this.canvas.addEventListener("pointercancel", () => this.canvas.removeEventListener("pointermove", move), { once: true });
  }

  onKey(event) {
    const moves = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
    if (moves[event.key]) this.moveCursor(...moves[event.key]);
    else if (event.key === "+") this.zoom(1.6);
    else if (event.key === "-") this.zoom(1 / 1.6);
    else if (event.key === "0") this.fit();
    else if (event.key === "Enter" && this.cursor) this.onOpen(this.rows[this.cursor.row]);
    else return;
    event.preventDefault();
  }

  moveCursor(down, right) {
    const { plotWidth, plotHeight } = this.layout();
    const { row, rank } = this.cursor ?? { row: Math.floor(this.view.row), rank: Math.floor(this.view.rank) };
    const next = this.cursor ? { row: row + down, rank: rank + right } : { row, rank };
    this.cursor = {
      row: Math.max(0, Math.min(next.row, this.rows.length - 1)),
      rank: Math.max(0, Math.min(next.rank, ranks.length - 1)),
    };
    const { view } = this;
    view.row = Math.min(Math.max(view.row, this.cursor.row + 1 - plotHeight / view.y), this.cursor.row);
    view.rank = Math.min(Math.max(view.rank, this.cursor.rank + 1 - plotWidth / view.x), this.cursor.rank);
    this.draw();
    this.say();
  }
}

function fillLarger(values, width, x0, x1, y0, y1, value) {
  for (let y = y0; y < y1; ++y) {
    for (let at = y * width + x0; at < y * width + x1; ++at) {
      if (value > values[at]) values[at] = value;
    }
  }
}

function paint(pixels, values, most, ramp, ground) {
  const [empty] = rampOf([ground, ground]);
  for (let i = 0; i < pixels.length; ++i) {
    const share = most > 0 ? Math.max(values[i], 0) / most : 0;
    pixels[i] = values[i] < 0 ? empty : ramp[Math.min(255, Math.round(255 * Math.sqrt(share)))];
  }
}

function shortened(context, text, width) {
  if (context.measureText(text).width <= width) return text;
  let end = text.length;
  while (end > 1 && context.measureText(text.slice(0, end) + "…").width > width) --end;
  return text.slice(0, end) + "…";
}
