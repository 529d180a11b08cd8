// The top of the page: verdict, origin of the rating, figures.

// A smaller gap counts as none, since estimates are less exact.
const SMALL_GAP = 0.005;

function problemText() {
  const { hosts, device, batch_size: batch } = data.problem;
  return `${plural(tables.length, "table")} on ${plural(ranks.length, "rank")} (${plural(hosts, "host")}, ${device}), ` +
    `batch ${formatCount(batch)} per rank`;
}

function verdict() {
  if (data.rating === null) return ["bad", "No plan"];
  if (data.violations.length > 0) return ["bad", "Breaks rules"];
  if (data.proven_optimal) return ["good", "Proved optimal"];
  if (data.gap !== null) return [data.gap <= SMALL_GAP ? "good" : "fair", `At most ${significant(100 * data.gap, 3)} % from optimal`];
  return ["fair", data.search.mode === "compat" ? "TorchRec's decision" : "No bound proved"];
}

// Returns a title such as "ads: explanation of a plan".
function pageTitle() {
  const kind = isExplanation ? "explanation of a plan" : change !== null ? "new plan and what moves" : "sharding plan";
  return (data.problem.name ? data.problem.name + ": " : "") + kind;
}

function header() {
  const [kind, text] = verdict();
  return [
    element("h1", {}, pageTitle()),
    element("p", { class: "subtitle" }, problemText()),
    isExplanation && data.rating !== null && data.gap === null ? null : element("p", {}, element("strong", { class: "verdict " + kind }, text)),
    data.rating === null || data.estimate === "" ? null : element("p", { class: "subtitle" }, data.estimate),
    verdictList(),
    data.rating === null ? null : headFacts(),
  ].filter(Boolean);
}

function fullestRank() {
  return ranks.reduce((most, rank) => (rank.used / rank.available > most.used / most.available ? rank : most));
}

// The sentences of the answer's verdict.
function verdictList() {
  return data.verdict.length === 0 ? null : element("ul", { class: "limits" }, data.verdict.map((sentence) => element("li", {}, sentence)));
}

function headFacts() {
  const fullest = fullestRank();
  const mean = ranks.reduce((sum, rank) => sum + rank.ms, 0) / ranks.length;
  return element("dl", { class: "facts" },
    fact("Rating", formatRating(data.rating), "the slowest rank decides"),
    isExplanation && data.lower_bound === null ? null : fact("Lower bound", data.lower_bound === null ? "none" : formatRating(data.lower_bound), data.proof && "by " + data.proof),
    fact("Balance", mean > 0 ? significant(slowest / mean, 4) : "1.000", "slowest rank / mean"),
    fact("Fullest rank", formatShare(fullest.used, fullest.available),
      `rank ${fullest.rank}: ${formatBytes(fullest.used)} of ${formatBytes(fullest.available)}`));
}
