"""The pages of help, as a person would follow them."""

import json
import os
import subprocess
import tempfile
import unittest
from pathlib import Path

from malformed import COMMAND, PROBLEM, run


class Help(unittest.TestCase):
    """Every page of the help has an example of its own, and all run, one after the other, from one folder."""

    def pages(self, words=()):
        text = run(" ".join([*words, "--help"])).stdout
        yield words, text
        below = text.partition("\nSubcommands:\n")[2].partition("\n\n")[0]
        for line in below.splitlines():
            if line.startswith("  ") and line[2] != " ":
                yield from self.pages((*words, line.split()[0]))

    def test_examples_run(self):
        with tempfile.TemporaryDirectory() as folder:
            large = {**PROBLEM, "tables": [{"name": "ads", "num_embeddings": 10**12, "embedding_dim": 128}]}
            own = {**PROBLEM, "tables": [{"name": "ads", "num_embeddings": 10**5, "embedding_dim": 64}, *PROBLEM["tables"]]}
            for name, document in (("my_tables", own), ("new_tables", PROBLEM), ("too_large", large)):
                (Path(folder) / f"{name}.json").write_text(json.dumps(document), encoding="utf-8")
            (Path(folder) / "samples").symlink_to(Path("samples").resolve())
            places = os.pathsep.join([str(Path(COMMAND).resolve().parent), os.environ["PATH"]])
            seen = 0
            for words, text in self.pages():
                with self.subTest(page=words):
                    self.assertEqual(text.count("Example:\n"), 1)
                    example = text.partition("Example:\n")[2].partition("\n\n")[0]
                    self.assertIn(" ".join(["shardwright", *words]), example)
                    for line in example.replace("| man -l -", "| cat").splitlines():
                        done = subprocess.run(["bash", "-c", line.strip()], capture_output=True, text=True, check=False,
                                              cwd=folder, env={**os.environ, "PATH": places})
                        self.assertEqual(done.returncode, 3 if "too_large" in line else 0, f"{line}: {done.stderr}")
                        seen += 1
            self.assertGreater(seen, 25)


if __name__ == "__main__":
    unittest.main()
