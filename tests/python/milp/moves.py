"""What a new plan moves: the part of every shard that its rank does not hold in the old plan."""

from space import key_of


def regions_of_layout(layout):
    """Shards of a plan file as (rows, columns, row, column)."""
    for rows, columns, row, column, row_step, column_step, count in layout:
        for k in range(count):
            yield rows, columns, row + k * row_step, column + k * column_step


def common(a, b):
    def length(start, size, other, other_size):
        return max(min(start + size, other + other_size) - max(start, other), 0)
    return length(a[2], a[0], b[2], b[0]) * length(a[3], a[1], b[3], b[1])


class Moves:
    """Bytes that shards move, by table and rank. Tables that the old plan lacks move nothing."""

    def __init__(self, entries, options, world):
        self.held = {}
        self.bits = {}
        for entry in entries:
            name = key_of(entry["module"], entry["table"])
            self.bits[name] = entry["element_bits"]
            regions = list(regions_of_layout(entry["layout"]))
            # An option of the same name and number of shards is the old one, whatever its cut.
            for option in options.get(name, []):
                if (option.sharding_type, option.kernel, len(option.shards)) == (
                        entry["sharding_type"], entry["compute_kernel"], len(entry["ranks"])):
                    regions = [shard.region() for shard in option.shards]
            by_rank = [[] for _ in range(world)]
            for region, rank in zip(regions, entry["ranks"]):
                if rank < world:
                    by_rank[rank].append(region)
            self.held[name] = by_rank

    def of_shard(self, table, shard):
        """Bytes that the shard moves to every rank."""
        if table not in self.held:
            return None
        area = shard.rows * shard.columns
        return tuple((area - min(area, sum(common(shard.region(), h) for h in held)))
                     * self.bits[table] / 8 for held in self.held[table])

    def of_plan(self, plan):
        total = 0
        for name, (option, ranks) in plan.items():
            if name in self.held:
                total += int(sum(self.of_shard(name, s)[r] for s, r in zip(option.shards, ranks)))
        return total
