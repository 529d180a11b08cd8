"""What is done although it is probably not meant: a warning names the place and the remedy."""

import json
import unittest

from malformed import ABSENT, PROBLEM, Case, changed, run, sample

# What is done, with a warning: (command, document, how the warning begins)
WARNED = [
    ("program transfer samples/data/transfer.json --memory 1KiB", lambda: None,
     '--memory: 57,344 rounds, each with the latency of a message, which the times leave out; 15KiB would take '
     'about 3,840'),
    ("program transfer samples/data/transfer.json --message-bytes 1KiB", lambda: None,
     '--message-bytes: 229,376 messages shorter than a packet of a network; give at least 4096B'),
    ("operators sweep samples/data/traced_mlp.json --devices 4 --options {file}", lambda: {"mesh": [2, 2]},
     '{file}: /mesh: is not used: a sweep tries every mesh of --devices; leave it out, or use `operators plan`'),
    ("program apply {file}", lambda: {**sample("program"), "ops": sample("program")["ops"][::-1]},
     '/ops/0/inputs/0: reads "y" before operator 1 writes it; list operators in the order in which they run, or '),
]
WARNED += [
    ("program apply {file}", lambda: changed(sample("program"), ("vars", 0, "full_shape"), [0, 8]),
     '/vars/0: an extent of 0 leaves "x" no elements, and nothing is sent of it; a batch dimension is written as -1'),
    ("operators build {file} --mesh 2x2", lambda: changed(sample("mlp_graph"), ("nodes", 5), ABSENT),
     '/nodes: no node is of the kind "output", so that results may stay in any sharding at no cost; add one whose'),
]
# What is asked without a warning beside them.
NOT_WARNED = [
    ("program transfer samples/data/transfer.json --memory 15KiB", lambda: None),
    ("program transfer samples/data/transfer.json --message-bytes 4KiB", lambda: None),
    ("operators sweep samples/data/traced_mlp.json --devices 4 --options {file}", lambda: {"device": "A100"}),
    ("program apply {file}", lambda: sample("program")),
    ("operators build {file} --mesh 2x2", lambda: sample("mlp_graph")),
]


class Warnings(Case):
    def test_what_is_likely_a_mistake_is_warned_of(self):
        for line, document, expected in WARNED:
            with self.subTest(line=line):
                self.file.write_text(json.dumps(document()), encoding="utf-8")
                done = run(line, **self.names)
                self.assertEqual(done.returncode, 0, done.stderr)
                warning = done.stderr.removeprefix("shardwright: warning: ")
                expected = expected.replace("{file}", str(self.file))
                self.assertEqual(warning[:len(expected)], expected)
                self.assertEqual(warning.count("\n"), 1)
        for line, document in NOT_WARNED:
            with self.subTest(line=line):
                self.file.write_text(json.dumps(document()), encoding="utf-8")
                done = run(line, **self.names)
                self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_what_is_probably_not_meant_is_said(self):
        uneven = {"topology": {"world_size": 12, "local_world_size": 8}}
        for change, flags, expected in (
                (uneven, "", "/topology/local_world_size: 12 ranks make 1 whole host of 8 ranks; as in TorchRec, 4 "),
                ({}, "--ranks 12 --ranks-per-host 8", "--ranks-per-host: 12 ranks make 1 whole host of 8 ranks; "),
                ({"topology": {"world_size": 2, "intra_host_bw": 600}}, "",
                 "/topology/intra_host_bw: bandwidths are bytes per millisecond, so this is 0.0006 GB/s; 600 GB/s would be 600000000"),
                ({"topology": {"world_size": 2, "ddr_cap": 81920}}, "",
                 "/topology/ddr_cap: sizes are bytes, so a rank has 81920 bytes, less than 1 MiB; 80 GiB would be "),
                ({"topology": {"world_size": 2, "hbm_cap": 40}}, "",
                 "/topology/hbm_cap: sizes are bytes, so a rank has 40 bytes, less than 1 MiB; 40 GiB would be 429496729"),
                ({"keep_apart": [["a"]]}, "", "/keep_apart/0: a group of one table says nothing; name two or more"),
                ({"constraints": {"a": {"min_partition": 1000}}}, "",
                 "/constraints/a/min_partition: 1000 is above the 16 columns of the table, so that these are never "),
                ({"constraints": {"a": {"min_partition": 9}}}, "",
                 "/constraints/a/min_partition: no multiple of 4 from 9 on divides the 16 columns of the table, so "),
                ({"tables": [{"name": name, "num_embeddings": 100, "embedding_dim": columns}
                             for name, columns in (("a", 16), ("b", 18), ("c", 1))]}, "",
                 '/tables/1/embedding_dim: the fused kernels of FBGEMM refuse the dimension 18 of table "b", which is no '
                 "multiple of 4; pad it to 20 (and so in 1 more)"),
                ({"constraints": {"a": {"pooling_factors": [1, 2, 3]}}}, "",
                 '/constraints/a/pooling_factors: table "a" has 1 under `features`, and 3 factors; as in TorchRec, '),
                ({}, "--search-space {space} --torchrec a48cef79",
                 "{space}: /torchrec: the costs are those of TorchRec 1.9.2, and the problem has a48cef79; give ")):
            with self.subTest(change=change, flags=flags):
                self.file.write_text(json.dumps({**PROBLEM, **change}), encoding="utf-8")
                done = run(f"plan {{file}} --work-limit 1000 {flags}", **self.names)
                self.assertIn(done.returncode, (0, 3), done.stderr)
                self.assertIn(expected.format(**self.names) if "{" in expected else expected, done.stderr)

    def test_columns_that_stay_whole_on_purpose_are_no_doubt(self):
        for least in (4, 8, 16):
            self.file.write_text(json.dumps({**PROBLEM, "constraints": {"a": {"min_partition": least}}}),
                                 encoding="utf-8")
            self.assertNotIn("min_partition", run("plan {file} --work-limit 1000", **self.names).stderr)

    def test_ranks_on_no_host_are_counted(self):
        done = run("plan {problem} --ranks 12 --ranks-per-host 8 --work-limit 1000", **self.names)
        self.assertIn("2 tables on 12 ranks (1 host of 8, 4 ranks on none, cuda)", done.stdout)


if __name__ == "__main__":
    unittest.main()
