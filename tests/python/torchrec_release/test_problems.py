"""The random problems set every optional member of a problem sometimes, and sometimes leave it out."""

import collections
import json
import os
import subprocess
import unittest

from problems import THEMES, random_problem

COUNT = 5000
# TorchRec has no word for these, or only one thing can be said.
NOT_DRAWN = {"format", "name", "torchrec", "keep_together", "keep_apart", "reserved_memory", "memory_margin",
             "calibration", "meta", "topology/sharding_groups", "topology/gpu",
             "constraints/*/ranks", "constraints/*/hosts",
             "constraints/*/shard_ranks", "constraints/*/max_shards", "constraints/*/distinct_ranks",
             "constraints/*/cache_params/load_factors", "topology", "topology/world_size", "zipf", "tables/zipf"}


class Members:
    """Walks over a document beside its schema, and counts objects and their optional members by place."""

    def __init__(self, schema):
        self.schema = schema
        self.objects = collections.Counter()
        self.present = collections.Counter()
        self.optional = set()

    def kinds(self, schema):
        """Yields what the value may be."""
        if "$ref" in schema:
            yield from self.kinds(self.schema["$defs"][schema["$ref"].removeprefix("#/$defs/")])
        yield schema
        for choice in [*schema.get("anyOf", []), *schema.get("oneOf", [])]:
            yield from self.kinds(choice)

    def walk(self, value, schema, place=""):
        for kind in self.kinds(schema):
            if isinstance(value, list) and "items" in kind:
                for item in value:
                    self.walk(item, kind["items"], place)
            if isinstance(value, dict) and isinstance(kind.get("additionalProperties"), dict):
                for item in value.values():
                    self.walk(item, kind["additionalProperties"], f"{place}*/")
            if isinstance(value, dict) and "properties" in kind:
                self.walk_object(value, kind, place)

    def walk_object(self, value, kind, place):
        self.objects[place] += 1
        for key, schema in kind["properties"].items():
            if "$comment" not in schema and key not in kind.get("required", []):  # the comment says: not read
                self.optional.add((place, key))
                self.present[place, key] += key in value
            if key in value:
                self.walk(value[key], schema, f"{place}{key}/")


class Problems(unittest.TestCase):
    def test_every_optional_member_is_drawn_present_and_absent(self):
        done = subprocess.run([os.environ["SHARDWRIGHT_COMMAND"], "schema", "problem"], check=True, capture_output=True)
        schema = json.loads(done.stdout)
        members = Members(schema)
        for seed in range(COUNT):
            members.walk(random_problem(seed, [THEMES[seed % len(THEMES)]] if seed % 2 else None), schema)
        self.assertGreater(len(members.optional), 100)
        for place, key in sorted(members.optional):
            if place + key not in NOT_DRAWN:
                with self.subTest(place + key):
                    present, objects = members.present[place, key], members.objects[place]
                    self.assertGreater(present, 0, f"absent in all {objects}")
                    self.assertLess(present, objects, f"present in all {objects}")


if __name__ == "__main__":
    unittest.main()
