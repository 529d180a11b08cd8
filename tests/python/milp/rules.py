"""Placement rules, as runtime/io/README.md states them, and which of them a plan breaks."""

import copy

from space import key_of_table, name_of

HOST_TYPES = ("table_row_wise", "table_column_wise")


class Rules:
    """Where the shards of a problem may be, in the problem file's own words."""

    def __init__(self, problem, machine):
        self.tables = problem.get("constraints", {})
        self.machine = machine
        self.groups = []
        for key, scope in (("keep_together", "host"), ("keep_apart", "rank")):
            for group in problem.get(key, []):
                tables = group if isinstance(group, list) else group["tables"]
                on = scope if isinstance(group, list) else group.get("on", scope)
                keys = [key_of_table(t) for t in problem["tables"] if t["name"] in tables]
                self.groups.append((key == "keep_together", on == "host", tuple(keys)))

    def with_places(self, ranks_of_table):
        """The same rules, and every shard of these tables on its given rank."""
        fixed = copy.copy(self)
        fixed.tables = dict(self.tables)
        for table, ranks in ranks_of_table.items():
            pinned = {str(shard): [rank] for shard, rank in enumerate(ranks)}
            fixed.tables[name_of(table)] = {**self.of(table), "shard_ranks": pinned}
        return fixed

    def of(self, table):
        return self.tables.get(name_of(table), {})

    def allows(self, table, shard, rank):
        rules = self.of(table)
        own = rules.get("shard_ranks", {}).get(str(shard))
        return (("ranks" not in rules or rank in rules["ranks"]) and
                ("hosts" not in rules or self.machine.host(rank) in rules["hosts"]) and
                (own is None or rank in own))

    def distinct(self, table):
        return self.of(table).get("distinct_ranks", False)

    def violations(self, plan):
        """`plan`: pairs of an option and its ranks, by table."""
        found = []
        for option, ranks in plan.values():
            found += self.violations_of_table(option, ranks)
        for together, by_host, tables in self.groups:
            places = []
            for name in tables:
                if name in plan:
                    ranks = plan[name][1]
                    places.append({self.machine.host(r) if by_host else r for r in ranks})
            if together and places and len(set.union(*places)) > 1:
                found.append(f"{tables} are not together")
            if not together and places and len(set.union(*places)) != sum(map(len, places)):
                found.append(f"{tables} are not apart")
        return found

    def violations_of_table(self, option, ranks):
        found = []
        rules = self.of(option.table)
        if any(not self.allows(option.table, s, r) for s, r in enumerate(ranks)):
            found.append(f"{option.name()} has a shard where it must not be")
        if len(ranks) > rules.get("max_shards", len(ranks)):
            found.append(f"{option.name()} has too many shards")
        if self.distinct(option.table) and len(set(ranks)) != len(ranks):
            found.append(f"{option.name()} has two shards on a rank")
        if len(ranks) != len(option.shards) or any(not 0 <= r < self.machine.world for r in ranks):
            found.append(f"{option.name()} has wrong ranks")
        elif not self.has_form(option, ranks):
            found.append(f"{option.name()} has ranks that its type does not allow")
        return found

    def has_form(self, option, ranks):
        local, world = self.machine.local, self.machine.world
        if option.sharding_type in ("data_parallel", "row_wise"):
            return list(ranks) == list(range(world))
        if option.sharding_type in HOST_TYPES and len({r // local for r in ranks}) > 1:
            return False
        if option.sharding_type in ("table_row_wise", "grid_shard"):
            first = [ranks[i - i % local] for i in range(len(ranks))]
            return len(ranks) % local == 0 and all(
                r == f + i % local and f % local == 0 for i, (r, f) in enumerate(zip(ranks, first)))
        return True
