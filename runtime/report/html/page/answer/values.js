// Formats values of an answer for people. The name of a member tells its unit.

const isPlain = (value) => value === null || typeof value !== "object";
const isObject = (value) => !isPlain(value) && !Array.isArray(value);
const isShortList = (value) => Array.isArray(value) && value.length <= 8 && value.every(isPlain);
const isCell = (value) => isPlain(value) || isShortList(value);

// Formats by the end of the name, or by the whole name.
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

// Leaves out the unit of a time, since the value is shown with its unit.
function titleOf(name) {
  if (name === "us" || name === "ms") return "Time";
  const words = name.replaceAll("_", " ").replace(/ (ms|us|s|seconds)$/, "");
  return words.charAt(0).toUpperCase() + words.slice(1);
}

// Returns the members of a value as [name, value]. Members of inner objects have both names: {"mesh": {"shape": 1}} gives "mesh
// shape".
function membersOf(value, before = "") {
  if (!isObject(value)) return [["value", value]];
  return Object.entries(value).filter(([key]) => !key.startsWith("//")).flatMap(([key, member]) => {
    const name = before + key;
    return isObject(member) && Object.keys(member).length <= 12 ? membersOf(member, name + " ") : [[name, member]];
  });
}
