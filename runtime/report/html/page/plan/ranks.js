// The list of ranks. Equal consecutive ranks share a row.

// Returns runs of consecutive ranks with equal memory and times: the first rank of each, with `last`.
function equalRanks() {
  const keyOf = (rank) => JSON.stringify([rank.ms, rank.times, rank.used, rank.available, rank.ddr, rank.ssd]);
  const runs = [];
  let key = null;
  for (const rank of ranks) {
    const own = keyOf(rank);
    if (own === key) runs[runs.length - 1].last = rank.rank;
    else runs.push({ ...rank, last: rank.rank });
    key = own;
  }
  return runs;
}

function rankText({ rank, last }) {
  return rank === last ? String(rank) : `${rank}–${last}`;
}

const MEMORY_LEGEND = [["aside", "Set aside"], ["held", "Tables"], ["room", "Free"]];

function ranksSection() {
  if (data.rating === null) return null;
  const rows = equalRanks();
  const many = rows.length > 16;
  const figure = (key, label, format, options = {}) =>
    ({ key, label, number: true, value: (r) => r[key], cell: (r) => format(r[key]), ...options });
  const columns = [
    { key: "rank", label: "Rank", value: (r) => r.rank, cell: rankText },
    { key: "memory", label: mainTierName, largestFirst: true, value: (r) => r.used / r.available, cell: memoryBar },
    figure("used", "Used", formatBytes),
    figure("available", "Available", formatBytes, { optional: true }),
    figure("ddr", "DDR", formatBytes, { optional: true, used: hasHbm && ranks.some((r) => r.ddr > 0) }),
    figure("ssd", "SSD", formatBytes, { optional: true, used: hasSsd }),
    { key: "time", label: "Time", largestFirst: true, value: (r) => r.ms, cell: (r) => timeBar(r.times, slowest, `Rank ${rankText(r)}`) },
    ...TIMES.map(([key, label], i) =>
      ({ key, label, number: true, optional: true, value: (r) => r.times[i], cell: (r) => formatMs(r.times[i]), used: usedTimes[i] })),
    figure("ms", "ms", formatMs),
  ];
  const list = new List({ columns, rows, sort: many ? "ms" : "rank", ascending: !many, page: 16, noun: "row", caption: "Ranks" });
  return section("ranks", "Ranks", timeLegend(),
    ranks.length > 16 ? [showsBound() ? legend([["bound-of-all", "the slowest rank of any plan takes at least this"]]) : null, timeProfile(), element("h3", {}, `${mainTierName} of every rank`), legend(MEMORY_LEGEND), memoryProfile()] : null,
    list.node);
}
