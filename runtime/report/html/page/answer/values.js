// Values of an answer as people read them: what a member means is known from its name.

const isPlain = (value) => value === null || typeof value !== "object";
const isObject = (value) => !isPlain(value) && !Array.isArray(value);
const isShortList = (value) => Array.isArray(value) && value.length <= 8 && value.every(isPlain);
const isCell = (value) => isPlain(value) || isShortList(value);

// By the end of a name, or by all of it.
const FORMATS = [
  [/(^|[_ ])(bytes|hbm|ddr|ssd)$/, formatBytes],
  [/(^|[_ ])(ms|perf|best_rating|perf_by_rank)$/, (value) => formatMs(value) + " ms"],
  [/(^|[_ ])us$/, formatUs],
  [/(^|[_ ])(s|seconds)$/, formatSeconds],
];

function formatNumber(name, value) {
  const format = FORMATS.find(([ends]) => ends.test(name));
  if (format) return format[1](value);
  if (Number.isInteger(value)) return formatCount(value);
  return Math.abs(value) < 1e-4 ? value.toExponential(2) : significant(value, 5);
}

function cellText(name, value) {
  if (value === null || value === undefined) return "–";
  if (typeof value === "number") return formatNumber(name, value);
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (Array.isArray(value)) return value.map((each) => cellText(name, each)).join(", ");
  return String(value);
}

// Without the unit of a time, which its value has.
function titleOf(name) {
  if (name === "us" || name === "ms") return "Time";
  const words = name.replaceAll("_", " ").replace(/ (ms|us|s|seconds)$/, "");
  return words.charAt(0).toUpperCase() + words.slice(1);
}

// The members of a value by name, those of objects inside with both names: {"mesh": {"shape": 1}} has "mesh shape".
function membersOf(value, before = "") {
  if (!isObject(value)) return [["value", value]];
  return Object.entries(value).filter(([key]) => !key.startsWith("//")).flatMap(([key, member]) => {
    const name = before + key;
    return isObject(member) && Object.keys(member).length <= 12 ? membersOf(member, name + " ") : [[name, member]];
  });
}
