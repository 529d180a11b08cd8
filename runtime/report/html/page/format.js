// Formats numbers for people, and makes elements.

const UNITS = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];

function formatCount(count) {
  return count.toLocaleString("en-US");
}

function significant(value, digits) {
  if (value === 0 || !Number.isFinite(value)) return "0";
  const beforePoint = Math.floor(Math.log10(Math.abs(value))) + 1;
  return value.toFixed(Math.min(Math.max(digits - beforePoint, 0), 12));
}

function formatBytes(bytes) {
  if (bytes === 0) return "0";
  let value = bytes;
  let unit = 0;
  while (Math.abs(value) >= 1024 && unit + 1 < UNITS.length) {
    value /= 1024;
    ++unit;
  }
  return (unit === 0 ? String(bytes) : significant(value, 3)) + " " + UNITS[unit];
}

function formatMs(ms) {
  return ms >= 1e4 && ms < 1e15 ? formatCount(Math.round(ms)) : significant(ms, 4);
}

function formatUs(us) {
  return us >= 1e3 ? formatMs(us / 1000) + " ms" : significant(us, 4) + " µs";
}

function formatSeconds(seconds) {
  return seconds < 1 ? significant(seconds * 1000, 3) + " ms" : significant(seconds, 3) + " s";
}

function formatShare(part, whole) {
  if (!(whole > 0)) return "–";
  const percent = (100 * part) / whole;
  return percent.toFixed(percent > 0 && percent < 9.95 ? 1 : 0) + "%";
}

function plural(count, noun) {
  return formatCount(count) + " " + noun + (count === 1 ? "" : "s");
}

// Returns ranges such as "0-3, 8" for runs {first, count}; cut after `most` ranges.
function formatRanges(runs, most = 6) {
  const merged = [];
  const sorted = runs.map((run) => [run.first, run.first + run.count - 1]).sort((a, b) => a[0] - b[0]);
  for (const [first, last] of sorted) {
    const before = merged[merged.length - 1];
    if (before && first <= before[1] + 1) before[1] = Math.max(before[1], last);
    else merged.push([first, last]);
  }
  const texts = merged.map(([first, last]) => (first === last ? `${first}` : `${first}–${last}`));
  if (texts.length <= most) return texts.join(", ");
  return texts.slice(0, most - 1).join(", ") + `, … (${texts.length - most + 1} more)`;
}

// Returns a node with the text, which may be broken after underscores.
function breakable(text) {
  const parts = text.split(/(?<=_)/);
  return element("span", {}, parts.flatMap((part, i) => (i === 0 ? [part] : [element("wbr"), part])));
}

// Makes an element with attributes and children. Strings are text, never markup.
function element(name, attributes = {}, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else node.setAttribute(key, value === true ? "" : value);
  }
  node.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
  return node;
}
