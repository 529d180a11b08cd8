"""The JSON Schema of every kind of file says what the readers say.

What the readers read is known from their errors: an unknown key or word is refused with the list of
the known ones.
"""

import copy
import gzip
import json
import os
import re
import subprocess
import unittest
from pathlib import Path

import shardwright

try:
    import jsonschema
except ImportError as missing:  # the stage `light` has it
    raise unittest.SkipTest("jsonschema is not installed") from missing

GOLDEN = Path("tests/golden")
SAMPLES = Path("samples/data")
COMMAND = os.environ.get("SHARDWRIGHT_COMMAND")
STRANGE = "zzqqzz"  # near to no key and no word
NOT_READ = "not read"  # the $comment of keys that are ignored


def load(path):
    data = path.read_bytes()
    return json.loads(gzip.decompress(data) if data.startswith(b"\x1f\x8b") else data)


SMALL = {"tables": [{"name": "a", "num_embeddings": 1000, "embedding_dim": 16},
                    {"name": "b", "num_embeddings": 500, "embedding_dim": 8}],
         "topology": {"world_size": 2}}

# How a file of each kind is read.
READ = {
    "problem": lambda doc: shardwright.ask("diff", {"plan_a": doc, "plan_b": doc, "ranks": 4}),
    "plan": lambda doc: shardwright.ask("diff", {"plan_a": doc, "plan_b": doc}),
    "machine": lambda doc: shardwright.ask("machine show", {"machine": doc}),
    "search-space": lambda doc: shardwright.ask("plan", {"problem": SMALL, "search_space": doc,
                                                         "mode": "compat"}),
    "graph": lambda doc: shardwright.ask("operators build", {"graph": doc, "mesh": "2x2"}),
    "strategies": lambda doc: shardwright.ask("operators strategies", {"file": doc}),
    "paths": lambda doc: shardwright.ask("operators paths", {"file": doc}),
    "autoshard": lambda doc: shardwright.ask("operators autoshard", {"graph": doc, "devices": 2}),
    "instance": lambda doc: shardwright.ask("operators solve", {"instance": doc, "work_limit": 10**6}),
    "traced": lambda doc: shardwright.ask("operators plan", {"graph": doc, "mesh": "2x2",
                                                             "work_limit": 10**6}),
    "options": lambda doc: shardwright.ask("operators plan", {"graph": str(SAMPLES / "traced_mlp.json"),
                                                              "options": doc}),
    "program": lambda doc: shardwright.ask("program apply", {"program": doc}),
    "reshard": lambda doc: shardwright.ask("program reshard", {"cases": doc}),
    "redistribution": lambda doc: shardwright.ask("program redistribute", {"redistribution": doc}),
    "transfer": lambda doc: shardwright.ask("program transfer", {"transfer": doc}),
    "experts": lambda doc: shardwright.ask("experts plan", {"loads": doc, "gpus": 8}),
}

FULL_PROBLEM = {
    **SMALL,
    "meta": {"topologies": [{"world_size": 2, "hbm_gib": 80}]},
    "topology": {"world_size": 4, "local_world_size": 2, "custom": {"hbm_cap": [2**34] * 4},
                 "sharding_groups": {"size": 4}},
    "tables": [{"name": "a", "num_embeddings": 1000, "embedding_dim": 16,
                "features": [{"name": "f", "pooling_factor": 2}]},
               {"name": "b", "num_embeddings": 500, "embedding_dim": 8}],
    "constraints": {"a": {"cache_params": {"load_factor": 0.2, "multipass_prefetch_config": {"num_passes": 2},
                                           "stats": {"cacheability": 0.5, "expected_lookups": 10,
                                                     "mrc_hist_counts": [1], "height": 1}},
                          "key_value_params": {"max_l1_cache_size": 1}}},
    "keep_apart": [{"tables": ["a", "b"], "on": "rank"}],
    "reserved_memory": {"hbm": 1}, "memory_margin": {"hbm": 0.1},
    "calibration": {"kernels": {"fused": {"time": [{"dim": 8, "time": 1.5}], "comms": [{"dim": 8, "comms": 1.5}]}},
                    "ranks": {"time": [1, 1, 1, 1]}},
    "sharder": {"type": "training", "fused_params": {"multipass_prefetch_config": {"num_passes": 2}},
                "qcomm_codecs": {"pooled_all_to_all": {"forward": "FP16"}}},
    "reservation": {"type": "fixed"}, "proposers": [{"type": "greedy"}], "partitioner": {"type": "greedy"},
    "storage_estimator": {"pipeline_type": "none"},
    "perf_estimator": {"config": {"coefficients": {"table_wise": {"fwd": {}, "bwd": {}},
                                                   "by_kernel": [{"sharding_type": "table_wise",
                                                                  "compute_kernel": "fused", "fwd": {}}],
                                                   "prefetch": {}}}},
}


def documents():
    """(kind, name, document) of files that people write and of golden ones."""
    yield "problem", "every key", FULL_PROBLEM
    for kind in ("problem", "graph", "options", "paths", "program", "reshard", "redistribution", "transfer", "experts"):
        yield kind, f"init {kind}", json.loads(shardwright.init(kind))
    yield "graph", "sample", load(SAMPLES / "mlp_graph.json")
    yield "strategies", "sample", load(SAMPLES / "linear.json")
    yield "autoshard", "sample", load(SAMPLES / "autoshard_mlp.json")
    yield "traced", "sample", load(SAMPLES / "traced_mlp.json")
    machine = load(SAMPLES / "machines" / "epyc.json")
    yield "machine", "sample", machine
    yield "machine", "fitted", {"machine": machine["machine"], "embedding": {"models": machine["embedding"]["models"][:1]}}
    yield "instance", "built", shardwright.operators.build(SAMPLES / "mlp_graph.json", "2x2").data
    yield "problem", "sample", load(SAMPLES / "mlperf_dlrm_dcnv2.json")
    result = shardwright.plan(SMALL, work_limit=10**6)
    yield "plan", "planned", json.loads(result.to_json(stats=True))
    yield "plan", "replanned", json.loads(shardwright.replan(SMALL, result, ranks=4, work_limit=10**6).to_json())
    yield "plan", "no plan", json.loads(shardwright.plan(SMALL, hbm=1000, ddr=1000).to_json())
    for runs in (False, True):
        yield "search-space", "enumerated", shardwright.ask("enumerate", {"problem": SMALL, "runs": runs}).data
    for path in sorted((GOLDEN / "embedding" / "cases").iterdir()):
        yield "problem", path.name, load(path)
    for path in sorted((GOLDEN / "workloads").glob("*.json.gz")):
        yield "problem", path.name, load(path)
    for path in sorted((GOLDEN / "embedding" / "answers").iterdir()):
        yield "plan", path.name, load(path)
    for path in sorted((GOLDEN / "operators" / "graphs").iterdir()):
        yield "graph", path.name, load(path)
    for path in sorted((GOLDEN / "operators").glob("colossal_*_2x*.json.gz")):
        yield "instance", path.name, load(path)
    for i, case in enumerate(load(GOLDEN / "operators" / "xla_ilp_cases.json.gz")["solve"]):
        yield "instance", f"xla {i}", case
    for name in ("slapo_v1", "slapo_v2", "slapo_fuzz_v2"):
        yield "autoshard", name, load(GOLDEN / "operators" / f"{name}.json.gz")
    yield "paths", "golden", load(GOLDEN / "operators" / "colossal_paths.json.gz")
    yield "strategies", "golden", load(GOLDEN / "operators" / "strategies.json.gz")
    yield "program", "golden", load(GOLDEN / "programs" / "programs.json.gz")
    for name in ("paddle_reshard_cases", "paddle_nd_mesh_derived"):
        yield "reshard", name, load(GOLDEN / "programs" / f"{name}.json.gz")


class Schemas:
    """Validators by kind."""

    def __init__(self):
        self._known = {}

    def __getitem__(self, kind):
        if kind not in self._known:
            schema = shardwright.schema(kind)
            jsonschema.Draft202012Validator.check_schema(schema)
            self._known[kind] = jsonschema.Draft202012Validator(schema)
        return self._known[kind]


SCHEMAS = Schemas()


def alternatives(root, schema):
    """The schema without references and alternatives, as a list."""
    if "$ref" in schema:
        return alternatives(root, root["$defs"][schema["$ref"].rsplit("/", 1)[1]])
    found = [] if not ("properties" in schema or "items" in schema or "additionalProperties" in schema
                       or "prefixItems" in schema) else [schema]
    for one in schema.get("anyOf", ()):
        found += alternatives(root, one)
    return found


def fits(root, schema, value):
    whole = {**schema, "$defs": root.get("$defs", {})}
    return jsonschema.Draft202012Validator(whole).is_valid(value)


def closed_objects(root, schema, value, path=()):
    """(path, object schema) of every object of a document whose schema lists all of its keys."""
    for one in alternatives(root, schema):
        if not fits(root, one, value):
            continue
        if isinstance(value, dict):
            if one.get("additionalProperties") is False and "properties" in one:
                yield path, one
            for key, member in value.items():
                below = one.get("properties", {}).get(key)
                if below is None and isinstance(one.get("additionalProperties"), dict):
                    below = one["additionalProperties"]
                if isinstance(below, dict) and not key.startswith("//"):
                    yield from closed_objects(root, below, member, (*path, key))
        elif isinstance(value, list) and isinstance(one.get("items"), dict):
            for index, member in enumerate(value):
                yield from closed_objects(root, one["items"], member, (*path, index))


def at(document, path):
    for step in path:
        document = document[step]
    return document


def changed(document, path, key, value):
    """The document with another member at a place; copies what is on the way only."""
    if not path:
        return {**document, key: value}
    copied = copy.copy(document)
    copied[path[0]] = changed(document[path[0]], path[1:], key, value)
    return copied


def refusal(kind, document):
    """What the reader says against a document; None if it reads it."""
    try:
        READ[kind](document)
    except shardwright.ShardwrightError as error:
        return error
    return None


class EveryKind(unittest.TestCase):
    def test_files_that_are_read_satisfy_the_schema(self):
        kinds = set()
        for kind, name, document in documents():
            with self.subTest(kind=kind, name=name):
                wrong = jsonschema.exceptions.best_match(SCHEMAS[kind].iter_errors(document))
                self.assertIsNone(wrong, wrong and f"{list(wrong.absolute_path)}: {wrong.message[:300]}")
                no_plan = kind == "plan" and not document.get("plan")  # which `diff` refuses
                if len(json.dumps(document)) < 60_000 and not no_plan:
                    self.assertIsNone(refusal(kind, document))
                kinds.add(kind)
        self.assertEqual(kinds, set(READ))

    def test_the_machine_is_that_of_the_problem(self):
        self.assertEqual(shardwright.schema("topology")["properties"],
                         shardwright.schema("problem")["properties"]["topology"]["properties"])

    def test_an_unknown_kind_is_refused_with_the_known_ones(self):
        with self.assertRaisesRegex(shardwright.InvalidInputError, "known: problem, topology, "):
            shardwright.schema(STRANGE)
        with self.assertRaisesRegex(shardwright.InvalidInputError, "did you mean \"problem\""):
            shardwright.init("problme")
        self.assertIn("sweep", shardwright.kinds())


class KeysAndWords(unittest.TestCase):
    """At one place of each object that a schema describes."""

    def places(self):
        seen = set()
        for kind, name, document in documents():
            if len(json.dumps(document)) > 60_000:
                continue
            root = SCHEMAS[kind].schema
            for path, schema in closed_objects(root, root, document):
                mark = (kind, json.dumps(schema, sort_keys=True))
                if mark in seen:
                    continue
                seen.add(mark)
                yield kind, name, document, path, schema

    def test_reader_and_schema_know_the_same_keys(self):
        places = 0
        for kind, name, document, path, schema in self.places():
            with self.subTest(kind=kind, name=name, path=path):
                strange = changed(document, path, STRANGE, 0)
                self.assertFalse(SCHEMAS[kind].is_valid(strange))
                error = refusal(kind, strange)
                self.assertIsNotNone(error)
                found = re.search(rf'unknown (?:key|role) "{STRANGE}"; known: (.*)', str(error))
                self.assertIsNotNone(found, str(error))
                known = set(found.group(1).split(", "))
                listed = set(schema["properties"])
                not_read = {key for key, value in schema["properties"].items()
                            if value.get("$comment") == NOT_READ}
                self.assertLessEqual(known, listed)
                self.assertLessEqual(listed - known, not_read)
                # Comments may stand everywhere and change nothing.
                commented = changed(document, path, "// note", [STRANGE])
                self.assertTrue(SCHEMAS[kind].is_valid(commented))
                self.assertEqual(str(refusal(kind, commented)), str(refusal(kind, document)))
            places += 1
        self.assertGreater(places, 70)

    def test_reader_and_schema_know_the_same_words(self):
        words = 0
        for kind, name, document, path, schema in self.places():
            for key, value in schema["properties"].items():
                if "enum" not in value or not all(isinstance(word, (str, type(None))) for word in value["enum"]):
                    continue
                with self.subTest(kind=kind, name=name, path=path, key=key):
                    error = refusal(kind, changed(document, path, key, STRANGE))
                    self.assertIsNotNone(error)
                    found = re.search(rf'"{STRANGE}"; known: (.*)', str(error))
                    self.assertIsNotNone(found, str(error))
                    known = {word.strip('"') for word in found.group(1).split(", ")}
                    self.assertEqual({word.lower() for word in known},
                                     {word.lower() for word in value["enum"] if word is not None})
                words += 1
        self.assertGreater(words, 40)

    def test_reader_and_schema_agree_where_null_stands(self):
        for kind, name, document, path, schema in self.places():
            for key, value in schema["properties"].items():
                if value.get("$comment") == NOT_READ:
                    continue
                with self.subTest(kind=kind, name=name, path=path, key=key):
                    without = changed(document, path, key, None)
                    error = refusal(kind, without)
                    here = error is not None and str(error.place).endswith("/".join(map(str, (*path, key))))
                    if SCHEMAS[kind].is_valid(without):
                        self.assertFalse(here and "found null" in str(error), str(error))
                    else:
                        self.assertIsNotNone(error)


class Answers(unittest.TestCase):
    def test_answers_satisfy_their_schemas(self):
        plan = json.loads(shardwright.plan(SMALL).to_json())
        machine = {"problem": SMALL, "work_limit": 10**6}
        mlp, traced = str(SAMPLES / "mlp_graph.json"), str(SAMPLES / "traced_mlp.json")
        measured = str(SAMPLES / "machines" / "epyc.json")
        asked = [
            ("explanation", "explain", machine), ("explanation", "explain", {**machine, "plan": plan}),
            ("explanation", "explain", {**machine, "hbm": "20KiB", "ddr": "20KiB"}),
            ("verification", "verify", {"problem": SMALL, "plan": plan, "stats": True}),
            ("verification", "verify", {"problem": SMALL, "plan": plan, "ranks": 4}),
            ("sweep", "sweep", {**machine, "ranks": [1, 2, 4], "hbm": ["10KiB", "1GiB"], "price": [1, 2]}),
            ("diff", "diff", {"plan_a": plan, "plan_b": plan}),
            ("audit", "audit", {"log": str(SAMPLES / "planner.log")}),
            ("diff", "diff", {"plan_a": SMALL, "plan_b": FULL_PROBLEM}),
            ("machine", "machine fit", {"measurements": measured}),
            ("machine-summary", "machine show", {"machine": measured}),
            ("machine-diff", "machine diff", {"machine_a": measured, "machine_b": measured}),
            ("solution", "operators solve", {"instance": shardwright.operators.build(mlp, "2x2").data}),
            ("solution", "operators solve", {"instance": shardwright.operators.build(mlp, "2x2").data, "budget": 1}),
            ("model-plan", "operators plan", {"graph": traced, "mesh": "2x2"}),
            ("model-plan", "operators plan", {"graph": traced, "mesh": "2x2", "memory": 1000}),
            ("mesh-sweep", "operators sweep", {"graph": traced, "devices": 4}),
            ("strategies-answer", "operators strategies", {"file": str(SAMPLES / "linear.json")}),
            ("autoshard-answer", "operators autoshard", {"graph": str(SAMPLES / "autoshard_mlp.json"), "devices": 4}),
            ("reshard-answer", "program reshard", {"cases": str(SAMPLES / "reshard.json")}),
            ("program-answer", "program apply", {"program": str(SAMPLES / "program.json")}),
            ("program-answer", "program apply", {"program": str(SAMPLES / "program.json"), "full": True}),
            ("redistribution-answer", "program redistribute",
             {"redistribution": str(SAMPLES / "redistribution.json"), "front": True}),
            ("transfer-plan", "program transfer", {"transfer": str(SAMPLES / "transfer.json")}),
            ("expert-plan", "experts plan", {"loads": str(SAMPLES / "experts.json")}),
            ("expert-sweep", "experts sweep", {"loads": str(SAMPLES / "experts.json"), "slot_bytes": "1GiB"}),
            ("expert-explanation", "experts explain", {"loads": str(SAMPLES / "experts.json")}),
            ("expert-plan", "experts plan", {"loads": [[3, 2, 1, 1]], "gpus": 2, "old": [[0, 1, 2, 3]]}),
        ]
        for cost in ("compat", "sum", "exact"):
            asked.append(("paths-answer", "operators paths", {"file": str(SAMPLES / "paths.json"), "cost": cost}))
        for path in sorted((GOLDEN / "embedding" / "cases").iterdir())[::8]:
            asked.append(("explanation", "explain", {"problem": str(path), "work_limit": 10**5}))
            asked.append(("sweep", "sweep", {"problem": str(path), "mode": "compat", "ranks": [2, 4]}))
        kinds = set()
        for kind, command, request in asked:
            with self.subTest(command=command, request=str(request)[:200]):
                answer = shardwright.ask(command, request).data
                wrong = jsonschema.exceptions.best_match(SCHEMAS[kind].iter_errors(answer))
                self.assertIsNone(wrong, wrong and f"{list(wrong.absolute_path)}: {wrong.message[:300]}")
            kinds.add(kind)
        self.assertEqual(kinds | set(READ) | {"topology"}, set(shardwright.kinds()))


@unittest.skipIf(COMMAND is None, "needs the command")
class TheCommand(unittest.TestCase):
    def run_command(self, *arguments, stdin=None):
        return subprocess.run([COMMAND, *arguments], input=stdin, capture_output=True, text=True, check=False)

    def test_init_writes_what_the_commands_read(self):
        reads = {"problem": ["plan"], "graph": ["operators", "build", "--mesh", "2x2"],
                 "options": ["operators", "plan", str(SAMPLES / "traced_mlp.json"), "--options"],
                 "paths": ["operators", "paths"], "program": ["program", "apply"], "reshard": ["program", "reshard"],
                 "redistribution": ["program", "redistribute"], "transfer": ["program", "transfer"],
                 "experts": ["experts", "plan"]}
        for kind, command in reads.items():
            with self.subTest(kind=kind):
                begun = self.run_command("init", kind)
                self.assertEqual(begun.returncode, 0)
                self.assertIn('"//', begun.stdout)
                done = self.run_command(*command, "-", stdin=begun.stdout)
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                self.assertEqual(begun.stdout, shardwright.init(kind))
        self.assertEqual(self.run_command("schema", "--json").returncode, 0)
        for kind in shardwright.kinds():
            self.assertEqual(json.loads(self.run_command("schema", kind).stdout), shardwright.schema(kind))

    def test_init_does_not_replace_a_file(self):
        refused = self.run_command("init", "-o", "README.md")
        self.assertEqual(refused.returncode, 2)
        self.assertIn("README.md exists already; name another file, or remove it", refused.stderr)


if __name__ == "__main__":
    unittest.main()
