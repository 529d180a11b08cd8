// The page's data as objects with named members.

const TIMES = [
  ["fwd_compute", "Forward compute"],
  ["fwd_comms", "Forward comms"],
  ["bwd_compute", "Backward compute"],
  ["bwd_comms", "Backward comms"],
  ["prefetch", "Prefetch"],
];

const hasHbm = data.problem.device !== "cpu";
const hasSsd = data.ranks.memory.capacity.length > 2;  // true if the problem counts SSD
const mainTier = hasHbm ? 0 : 1;  // the tier that tables fill first
const mainTierName = hasHbm ? "HBM" : "memory";

function formatRating(rating) {
  return data.rating_in === "ms" ? formatMs(rating) + " ms" : formatBytes(rating) + " of HBM";
}

class Table {
  constructor(index, row) {
    [this.name, this.module, this.rows, this.columns, this.type] = row;
    this.index = index;
    this.placed = row[5] !== null;
    this.ms = this.hbm = this.ddr = this.ssd = 0;
    this.shards = [];
    if (this.placed) this.readPlace(row[5]);
  }

  readPlace(place) {
    [this.sharding, this.kernel, this.loadFactor, this.numShards] = place;
    [this.shardRows, this.shardColumns, this.even, this.hbm, this.ddr, this.ms] = place.slice(4, 10);
    const runs = place[10];
    this.ssd = place[11] ?? 0;
    for (let i = 0; i < runs.length; i += 3) {
      this.shards.push({ first: runs[i], count: runs[i + 1], cost: data.costs[runs[i + 2]] });
    }
  }

  get label() {
    return sameNames.get(this.name) > 1 && this.module ? `${this.module}.${this.name}` : this.name;
  }

  get kernelText() {
    return this.loadFactor === null ? this.kernel : `${this.kernel} ${formatShare(this.loadFactor, 1)}`;
  }

  get shardsText() {
    const size = `${formatCount(this.shardRows)} × ${this.shardColumns}`;
    if (this.numShards === 1) return size;
    return `${formatCount(this.numShards)} × (${this.even ? "" : "≤ "}${size})`;
  }

  // Sums of the five times over shards.
  get times() {
    const sums = [0, 0, 0, 0, 0];
    for (const { count, cost } of this.shards) {
      for (let i = 0; i < 5; ++i) sums[i] += count * cost[2 + i];
    }
    return sums;
  }

  // What each rank holds of the table, as disjoint ranges {first, last, shards, cost}.
  get cells() {
    if (!this.knownCells) this.knownCells = this.makeCells();
    return this.knownCells;
  }

  makeCells() {
    const sorted = [...this.shards].sort((a, b) => a.first - b.first);
    const disjoint = sorted.every((run, i) => i === 0 || sorted[i - 1].first + sorted[i - 1].count <= run.first);
    if (disjoint) {
      return sorted.map(({ first, count, cost }) => ({ first, last: first + count - 1, shards: 1, cost }));
    }
    const byRank = new Map();
    for (const { first, count, cost } of sorted) {
      for (let rank = first; rank < first + count; ++rank) {
        const cell = byRank.get(rank) ?? { first: rank, last: rank, shards: 0, cost: cost.map(() => 0) };
        cell.cost = cell.cost.map((sum, i) => sum + cost[i]);
        ++cell.shards;
        byRank.set(rank, cell);
      }
    }
    return [...byRank.values()];
  }

  cellOn(rank) {
    return this.cells.find((cell) => cell.first <= rank && rank <= cell.last);
  }
}

const sameNames = new Map();
for (const [name] of data.tables) sameNames.set(name, (sameNames.get(name) ?? 0) + 1);
const tables = data.tables.map((row, index) => new Table(index, row));

// Returns the total time of a cost list [hbm, ddr, five times, optional ssd], added in the planner's order.
function msOfCost(cost) {
  return cost[2] + cost[4] + cost[3] + cost[5] + cost[6];
}

function memoryOf(part, rank, tier = mainTier) {
  return data.ranks.memory[part][tier][rank];
}

const ranks = Array.from({ length: data.ranks.count }, (_, rank) => {
  const capacity = memoryOf("capacity", rank);
  const used = memoryOf("tables", rank);
  return {
    rank,
    ms: data.ranks.ms[rank],
    times: TIMES.map(([key]) => data.ranks[key][rank]),
    used,
    ddr: memoryOf('tables', rank, 1),
    ssd: hasSsd ? memoryOf('tables', rank, 2) : 0,
    capacity,
    available: used + memoryOf('free', rank),
    aside: capacity - used - memoryOf('free', rank),
  };
});

const slowest = ranks.reduce((most, rank) => Math.max(most, rank.ms), 0);
const usedTimes = TIMES.map(([key]) => data.ranks[key].some((ms) => ms !== 0));
