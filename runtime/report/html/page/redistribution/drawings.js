// Drawings of the mesh and of the tensor.

const LINE_HEIGHT = 13;
const CHARACTER_WIDTH = 6.2;
const NARROW = 20;  // pixels of a cell without room beside its text
const LEAST_CUT = 8;  // characters of a line that may end with "…"
const LEAST_OUTLINED = 5;  // pixels of a cell that has a line around it
const HATCH = 7;  // between two lines that mark partial values

// Colours go round the circle of hues by rank; neighbours along the last axis differ in lightness, too.
function colour(node, rank) {
  node.style.setProperty("--hue", String(Math.round((360 * rank) / numRanks)));
  node.style.setProperty("--step", String(numRanks > 8 ? rank % 3 : 0));
  return node;
}

// Diagonals across a rectangle.
function hatch({ x, y, width, height }) {
  let d = "";
  for (let c = HATCH - height; c < width; c += HATCH) {
    const from = c < 0 ? [0, height + c] : [c, height];
    const to = c + height > width ? [width, height - (width - c)] : [c + height, 0];
    d += `M${(x + from[0]).toFixed(1)} ${(y + from[1]).toFixed(1)}L${(x + to[0]).toFixed(1)} ${(y + to[1]).toFixed(1)}`;
  }
  return svg("path", { d, class: "hatch" });
}

// Texts joined by commas, in as many lines as fit into the rectangle, broken after commas and "+". What does not fit is "…"; a narrow
// rectangle has all of its text or none.
function labelLines(texts, { width, height }) {
  const columns = Math.floor((width > NARROW ? width - 6 : width) / CHARACTER_WIDTH);
  const most = Math.floor((height - 2) / LINE_HEIGHT);
  const lines = [""];
  const words = texts.flatMap((text, i) => (text + (i + 1 < texts.length ? ", " : "")).split(/(?<=\+)/));
  for (const word of words) {
    const last = lines[lines.length - 1];
    if (last.length + word.trimEnd().length <= columns) {
      lines[lines.length - 1] = last + word;
    } else if (last !== "" && word.length <= columns && lines.length < most) {
      lines.push(word);
    } else {
      if (columns < LEAST_CUT || last === "") return [];
      lines[lines.length - 1] = last.slice(0, columns - 1).trimEnd() + "…";
      break;
    }
  }
  return most > 0 ? lines : [];
}

function labelOf(texts, rect) {
  const lines = labelLines(texts, rect);
  const top = rect.y + rect.height / 2 - ((lines.length - 1) * LINE_HEIGHT) / 2 + 4;
  return lines.map((line, i) => svg("text", { x: rect.x + rect.width / 2, y: top + i * LINE_HEIGHT, class: "holder middle" }, line));
}

// A cell of a drawing for a box of the tensor.
function cellOf(state, box) {
  const rect = rectOf(box);
  const ranks = ranksOf(box);
  const thin = Math.min(rect.width, rect.height) < LEAST_OUTLINED;
  const shape = colour(svg("rect", { ...rect, class: thin ? "cell thin" : "cell" }), ranks[0]);
  const cell = svg("g", {}, shape);
  if (state.partial.length > 0) cell.append(hatch(rect));
  const holders = holdersOf(state, box);
  cell.append(...labelOf(holders, rect));
  const what = state.partial.length > 0 ? "terms of rank" : "rank";
  describe(cell, () => `${sliceOf(box)}, ${formatBytes(bytesOf(box))}\n${what}${ranks.length > 1 ? "s" : ""} ${holders.slice(0, 40).join(", ")}${holders.length > 40 ? ", …" : ""}`);
  return { cell, shape, ranks: new Set(ranks), box };
}

// The tensor as it lies between two steps, with `mark(rank)`, which outlines what a rank holds and returns the box.
function tensorDrawing(state) {
  const { width, height } = tensorSize;
  const words = state.placement.join(" ");
  const label = `${words}: ${formatCount(state.boxes.length)} distinct parts, listed by rank in the table below`;
  const frame = svg("svg", { viewBox: `-1 -1 ${width + 2} ${height + 2}`, class: "tensor", role: "img", "aria-label": label });
  const cells = state.boxes.map((box) => cellOf(state, box));
  frame.append(svg("rect", { x: 0, y: 0, width, height, class: "whole" }), ...cells.map(({ cell }) => cell));
  const mark = (rank) => {
    let held = null;
    for (const { cell, shape, ranks, box } of cells) {
      const lit = ranks.has(rank);
      shape.classList.toggle("lit", lit);
      if (lit) {
        held = box;
        frame.append(cell);
      }
    }
    return held;
  };
  return { frame, mark };
}

function meshDrawing(choose) {
  const square = numRanks <= 64 ? 32 : numRanks <= 256 ? 24 : 10;
  const { width, height, placeOf } = meshPlaces(square);
  const frame = svg("svg", { viewBox: `-1 -1 ${width + 2} ${height + 2}`, width: width + 2, height: height + 2, class: "mesh", role: "img",
    "aria-label": `A mesh of ${data.mesh.join(" × ")} ranks` });
  for (let rank = 0; rank < numRanks; ++rank) {
    const { x, y } = placeOf(rank);
    const cell = svg("g", {}, colour(svg("rect", { x, y, width: square, height: square, class: "cell" }), rank));
    if (square > 10) cell.append(svg("text", { x: x + square / 2, y: y + square / 2 + 4, class: "holder middle" }, String(rank)));
    describe(cell, () => `rank ${rank}\n` + coordinates(rank).map((at, axis) => `axis ${axis}: ${at}`).join("\n"));
    cell.addEventListener("click", () => choose(rank));
    frame.append(cell);
  }
  return element("div", { class: "scroll" }, frame);
}

// Time against memory: a point per path.
function frontChart(paths, chosen) {
  const most = Math.max(...paths.map((path) => path.peak));
  const chart = chartFrame("Time against memory, a point per path; the table below has the figures", byteTicks(most * 1.05, 4), most * 1.05 || 1, formatBytes);
  const slowestUs = Math.max(...paths.map((path) => path.us));
  const x = (us) => CHART.left + (chart.spanX * us) / (slowestUs * 1.05 || 1);
  for (const us of ticks(0, slowestUs * 1.05, 6)) {
    chart.frame.append(svg("text", { x: x(us), y: chart.axisY, class: "tick middle" }, formatUs(us)));
  }
  let d = "";
  for (const path of paths) d += d === "" ? `M${x(path.us)} ${chart.y(path.peak)}` : `H${x(path.us)}V${chart.y(path.peak)}`;
  chart.frame.append(svg("path", { d: d + `H${CHART.width - CHART.right}`, class: "line rating" }));
  for (const path of paths) {
    chart.frame.append(svg("circle", { cx: x(path.us), cy: chart.y(path.peak), r: path === chosen ? 6 : 3.5, class: "dot rating" }));
  }
  return chart.frame;
}
