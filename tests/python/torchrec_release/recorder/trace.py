"""Every proposal of a planner in order: its options, whether it fits, its rating and ranks."""

import hashlib


def ranks_sha1(plan):
    """Returns a hash of the ranks: those of an option joined by commas, options by semicolons."""
    ranks = ";".join(",".join(str(part.rank) for part in chosen.shards) for chosen in plan)
    return hashlib.sha1(ranks.encode()).hexdigest()[:16]


def contents(option):
    """Describes an option that is not in the search space, as of a proposer that scales caches."""
    total = option.total_storage
    return {"table": option.name, "sharding_type": option.sharding_type,
            "compute_kernel": option.compute_kernel, "load_factor": option.cache_load_factor,
            "total_hbm": total.hbm, "total_ddr": total.ddr, "total_perf": float(option.total_perf)}


class Trace:
    """Listens to what a planner asks its proposers and tells them."""

    def __init__(self, planner):
        self.planner = planner
        self.proposals = []
        self.asked = None
        self.counted = 0
        self.previous = {}
        for number, proposer in enumerate(planner._proposers):
            self.listen(number, proposer)

    def listen(self, number, proposer):
        propose, feedback = proposer.propose, proposer.feedback

        def ask():
            self.asked = propose()
            return self.asked

        def tell(partitionable, plan=None, perf_rating=None, storage_constraint=None):
            self.add(number, partitionable, plan, perf_rating)
            feedback(partitionable=partitionable, plan=plan, perf_rating=perf_rating,
                     storage_constraint=storage_constraint)

        proposer.propose, proposer.feedback = ask, tell

    def add(self, number, fits, plan, rating):
        entry = {"p": number, **self.options(number)}
        cached = self.planner._num_proposals == self.counted
        self.counted = self.planner._num_proposals
        if cached:
            entry["cached"] = True
        entry["ok"] = fits
        if fits:
            entry["rating"] = float(rating)
            if not cached:
                entry["ranks_sha1"] = ranks_sha1(plan)
        self.proposals.append(entry)

    def options(self, number):
        """Returns the options of a proposal, or what differs from the last one of its proposer."""
        places = {id(option): i for i, option in enumerate(self.planner._search_space)}
        ids = [places.get(id(option)) for option in self.asked]
        if None in ids:
            return {"tables": [contents(option) for option in self.asked]}
        before = self.previous.get(number)
        self.previous[number] = ids
        if before is None or len(before) != len(ids):
            return {"options": ids}
        return {"delta": [[i, new] for i, (old, new) in enumerate(zip(before, ids)) if old != new]}
