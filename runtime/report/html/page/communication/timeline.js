// Ranks by time: every communication as a box on each rank that takes part.

const MOST_ROWS = 64;     // ranks that are drawn at once
const MOST_BOXES = 12000;

// By the operator's name: [class, words].
function kindOf(type) {
  if (type === "send_v2") return ["message", "message"];
  if (type === "c_allgather" || type === "c_concat") return ["gather", "all-gather"];
  if (type.startsWith("c_allreduce")) return ["reduce", "all-reduce"];
  if (type === "c_reducescatter") return ["scatter-reduce", "reduce-scatter"];
  return ["exchange", "all-to-all"];
}

class Timeline {
  // `communications`: {ranks, start, us, kind, ...}, of messages also `received`, when the second rank begins to take it; `onOpen` is called with the one that was clicked.
  constructor({ ranks, communications, total, textOf, onOpen }) {
    Object.assign(this, { ranks, communications, total, textOf, onOpen, first: 0, boxes: new Map(), lit: null });
    this.drawing = element("div");
    this.note = element("p", { class: "note" });
    const pages = Math.ceil(ranks.length / MOST_ROWS);
    const select = element("select", { "aria-label": "Ranks shown", onchange: () => this.show(select.selectedIndex) },
      Array.from({ length: pages }, (_, i) => element("option", {}, this.pageName(i))));
    this.select = select;
    this.node = element("div", {}, pages > 1 ? element("div", { class: "controls" }, element("label", {}, "Ranks: ", select)) : null, this.drawing, this.note);
    if (pages > 1) onState("rows", (text) => this.show(Math.min(Number(text) || 0, pages - 1)));
    this.draw();
  }

  pageName(page) {
    const shown = this.ranks.slice(page * MOST_ROWS, (page + 1) * MOST_ROWS);
    return `${shown[0]}–${shown[shown.length - 1]}`;
  }

  show(page) {
    this.first = page * MOST_ROWS;
    this.select.selectedIndex = page;
    writeState("rows", page === 0 ? "" : String(page));
    this.draw();
  }

  draw() {
    const shown = this.ranks.slice(this.first, this.first + MOST_ROWS);
    const rowOf = new Map(shown.map((rank, row) => [rank, row]));
    const rowHeight = Math.max(8, Math.min(22, 480 / shown.length));
    const [left, right, top] = [56, 12, 6];
    const { width } = CHART;
    const height = top + rowHeight * shown.length + 26;
    const x = (us) => left + ((width - left - right) * us) / (this.total || 1);
    const frame = svg("svg", { viewBox: `0 0 ${width} ${height}`, class: "timeline", role: "group", "aria-label": `${plural(this.communications.length, "communication")} on ${plural(shown.length, "rank")} over ${formatUs(this.total)}; the list below has the figures` });
    const floor = top + rowHeight * shown.length;
    shown.forEach((rank, row) => {
      frame.append(svg("rect", { x: left, y: top + row * rowHeight, width: width - left - right, height: rowHeight - 1, class: "row" }));
      if (row % Math.ceil(14 / rowHeight) === 0) frame.append(svg("text", { x: left - 8, y: top + (row + 0.5) * rowHeight + 4, class: "tick end" }, String(rank)));
    });
    for (const tick of ticks(0, this.total, width > 500 ? 6 : 3)) {
      frame.append(svg("line", { x1: x(tick), x2: x(tick), y1: top, y2: floor, class: "grid" }), svg("text", { x: Math.min(x(tick), width - 24), y: height - 8, class: "tick middle" }, formatUs(tick)));
    }
    this.boxes.clear();
    let left_out = 0;
    let drawn = 0;
    for (const one of this.communications) {
      const rows = one.ranks.map((rank, i) => [rowOf.get(rank), one.isMessage && i === 1 ? one.received : one.start]).filter(([row]) => row !== undefined);
      if (drawn + rows.length > MOST_BOXES) {
        ++left_out;
        continue;
      }
      drawn += rows.length;
      const nodes = rows.map(([row, start]) => svg("rect", { x: x(start).toFixed(2), y: top + row * rowHeight + 0.5, width: Math.max(1, x(one.start + one.us) - x(one.start) - 0.5).toFixed(2), height: rowHeight - 2, class: "bar-of " + one.kind }));
      for (const node of nodes) {
        node.addEventListener("click", () => this.onOpen(one));
        describe(node, () => this.textOf(one));
      }
      frame.append(...nodes);
      this.boxes.set(one, nodes);
    }
    this.drawing.replaceChildren(frame);
    this.note.textContent = left_out > 0 ? `${plural(left_out, "later communication")} are not drawn; the list has them.` : "";
    this.mark(this.lit);
  }

  // Marks one communication on all ranks; null for none.
  mark(one) {
    this.lit = one;
    for (const [other, nodes] of this.boxes) {
      for (const node of nodes) {
        node.classList.toggle("lit", other === one);
        node.classList.toggle("faded", one !== null && other !== one);
      }
    }
  }
}
