// Bars, legends and line charts.

const SVG = "http://www.w3.org/2000/svg";

function svg(name, attributes = {}, ...children) {
  const node = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.append(...children);
  return node;
}

// Shows `text(event)` beside the pointer while the pointer is over `node`.
function describe(node, text) {
  const tip = document.getElementById("tip");
  node.addEventListener("pointermove", (event) => {
    const content = text(event);
    if (!content) return hideTip();
    tip.textContent = content;
    tip.hidden = false;
    const room = document.documentElement.clientWidth - tip.offsetWidth - 8;
    tip.style.left = Math.max(8, Math.min(event.clientX + 14, room)) + "px";
    const below = event.clientY + 18;
    const fits = below + tip.offsetHeight < window.innerHeight;
    tip.style.top = (fits ? below : event.clientY - tip.offsetHeight - 12) + "px";
  });
  node.addEventListener("pointerleave", hideTip);
}

function hideTip() {
  document.getElementById("tip").hidden = true;
}

// Returns a bar. `parts` are [class, size] in units of `whole`.
function bar(parts, whole, label) {
  const node = element("span", { class: "bar", role: "img", "aria-label": label });
  for (const [kind, size] of parts) {
    if (!(size > 0) || !(whole > 0)) continue;
    const part = element("i", { class: kind });
    part.style.width = Math.min(100, (100 * size) / whole) + "%";
    node.append(part);
  }
  return node;
}

// Returns a bar that shows needed and available memory in bytes. `need` may be null; `capacity` is at least `available`.
function needBar(name, need, available, capacity) {
  const lacks = need !== null && need > available;
  const whole = Math.max(need ?? 0, capacity);
  const verdict = need === null ? "" : lacks ? `, ${formatBytes(need - available)} too little` : ", enough";
  const words = `${name}: ${need === null ? "" : formatBytes(need) + " needed at least, "}${formatBytes(available)} available of ${formatBytes(capacity)}${verdict}`;
  const parts = lacks ? [["held", available], ["over", need - available]] : [["held", need ?? 0], ["spare", available - (need ?? 0)], ["aside", capacity - available]];
  const mark = (bytes, label) => {
    const node = element("span", { class: "mark" + (bytes > whole / 2 ? " left" : "") }, label);
    node.style.left = (100 * bytes) / whole + "%";
    return node;
  };
  return element("div", { class: "need" }, element("p", {}, element("strong", {}, name), words.slice(name.length)),
    element("div", { class: "marked" }, bar(parts, whole, words), mark(available, `available ${formatBytes(available)}`),
      need === null ? null : mark(need, `needed ${formatBytes(need)}`)));
}

function legend(entries) {
  const items = entries.map(([kind, label]) => element("li", {}, element("i", { class: kind }), label));
  return element("ul", { class: "legend" }, items);
}

// Returns about `count` round numbers between `from` and `to`.
function ticks(from, to, count) {
  if (!(to > from)) return [from];
  const raw = (to - from) / count;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= raw);
  const first = Math.ceil(from / step - 1e-9);
  const last = Math.floor(to / step + 1e-9);
  return Array.from({ length: Math.max(last - first + 1, 0) }, (_, i) => (first + i) * step);
}

// Returns the SVG path of the area between `low` and `high`, with one step per rank.
function stepArea(low, high, x, y) {
  let up = "";
  let down = "";
  for (let i = 0; i < high.length; ++i) {
    up += `L${x(i)} ${y(high[i])}L${x(i + 1)} ${y(high[i])}`;
    down = `L${x(i + 1)} ${y(low[i])}L${x(i)} ${y(low[i])}` + down;
  }
  return "M" + (up + down).slice(1) + "Z";
}

// The width is the page's width at opening. The browser scales the charts if the page changes.
const CHART = { width: Math.min(960, Math.max(300, document.getElementById("sections").clientWidth - 40)), height: 190, left: 64, right: 8, top: 10, bottom: 24 };

function byteUnit(most) {
  return 1024 ** Math.floor(Math.log(Math.max(most, 1)) / Math.log(1024));
}

// Returns ticks at round numbers of the unit in which they are shown.
function byteTicks(most, count) {
  const unit = byteUnit(most);
  return ticks(0, most / unit, count).map((tick) => tick * unit);
}

function chartFrame(label, marks, most, format) {
  const { width, height, left, right, top, bottom } = CHART;
  const y = (value) => top + (height - top - bottom) * (1 - value / most);
  const frame = svg("svg", { viewBox: `0 0 ${width} ${height}`, class: "chart", role: "img", "aria-label": label });
  for (const tick of marks) {
    const text = svg("text", { x: left - 8, y: y(tick) + 4, class: "tick end" }, format(tick));
    frame.append(svg("line", { x1: left, x2: width - right, y1: y(tick), y2: y(tick), class: "grid" }), text);
  }
  return { frame, y, spanX: width - left - right, axisY: height - 6 };
}
