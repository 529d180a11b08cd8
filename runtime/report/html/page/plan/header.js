// What a reader sees first: verdict, figures, and one sentence on what limits the plan.

// A gap below this is as good as none: estimates are less exact.
const SMALL_GAP = 0.005;
// Memory fuller than this may be what keeps tables where they are.
const NEARLY_FULL = 0.95;

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

function header() {
  const [kind, text] = verdict();
  return [
    element("h1", {}, data.problem.name || "Sharding plan"),
    element("p", { class: "subtitle" }, problemText()),
    isExplanation && data.rating !== null && data.gap === null ? null : element("p", {}, element("strong", { class: "verdict " + kind }, text)),
    data.rating === null ? null : element("p", { class: "limits" }, limitsText()),
    data.rating === null ? null : headFacts(),
  ].filter(Boolean);
}

function fullestRank() {
  return ranks.reduce((most, rank) => (rank.used / rank.available > most.used / most.available ? rank : most));
}

// What the slowest ranks spend their time on, and what would help.
function limitsText() {
  if (slowest === 0) return "No rank has anything to do.";
  const last = ranks.filter((rank) => rank.ms >= slowest * (1 - 1e-9));
  const [rank] = last;
  const comms = rank.times[1] + rank.times[3];
  const dearest = dearestOn(rank.rank, 1)[0];
  const who = last.length === 1 ? `Rank ${rank.rank} is the slowest` : `${plural(last.length, "rank")} are the slowest, such as rank ${rank.rank}`;
  const parts = [`${who}: ${formatShare(comms, rank.ms)} of ${formatMs(rank.ms)} ms is communication`];
  if (dearest) parts.push(`${dearest.table.label} (${dearest.table.sharding}) takes the most there, ${formatMs(dearest.ms)} ms`);
  return parts.join("; ") + ". " + helpText();
}

function helpText() {
  const full = fullestRank();
  const share = full.used / full.available;
  const memory = share > NEARLY_FULL ? `${mainTierName} is ${formatShare(full.used, full.available)} full on rank ${full.rank}: more of it may allow a faster plan.` : "";
  if (data.proven_optimal) return "No other choice of these options is faster. " + memory;
  if (data.search.mode === "compat") return "Best mode may find a faster plan. " + memory;
  return (data.gap !== null && data.gap > SMALL_GAP ? "A longer search (--work-limit) may find a faster plan or a better proof. " : "") + memory;
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
