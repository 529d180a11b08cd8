"""The command from a configuration to a program, as samples/shard_llama.md shows it, on fewer layers."""

import ast
import contextlib
import io
import json
import re
import shlex
import tempfile
import unittest
from pathlib import Path

from shardwright.torch.recipes import command

ROOT = Path(__file__).resolve().parents[3]
COMMAND = re.compile(r"^python -m shardwright\.torch\.plan ((?:.*\\\n)*.*)$", re.MULTILINE)


class Command(unittest.TestCase):
    def arguments(self, folder):
        """Those of the page, for a model of two layers."""
        text = COMMAND.search((ROOT / "samples" / "shard_llama.md").read_text(encoding="utf-8")).group(1)
        found = shlex.split(text.replace("\\\n", " "))
        at = found.index("--model") + 1
        config = json.loads((ROOT / found[at].removeprefix("hf:")).read_text(encoding="utf-8"))
        small = Path(folder) / "config.json"
        small.write_text(json.dumps({**config, "num_hidden_layers": 2}), encoding="utf-8")
        found[at] = f"hf:{small}"
        found[found.index("-o") + 1] = str(Path(folder) / "parallel.py")
        return found

    def run_command(self, arguments):
        out = io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
            status = command.main(arguments)
        return status, out.getvalue()

    def test_the_page_s_command_writes_a_program_that_needs_torch_alone(self):
        with tempfile.TemporaryDirectory() as folder:
            page = Path(folder) / "page.html"
            status, text = self.run_command([*self.arguments(folder), "--report", str(page)])
            self.assertEqual(status, 0, text)
            program = (Path(folder) / "parallel.py").read_text(encoding="utf-8")
            for node in ast.walk(ast.parse(program)):
                if isinstance(node, ast.ImportFrom):
                    self.assertEqual(node.module.split(".")[0], "torch")
            self.assertLess(len(program.splitlines()), 80)
            for name in ("Best program", "FSDP + TP 2", "HSDP", "placed freely"):
                self.assertIn(name, text)
            self.assertIn("Best program", page.read_text(encoding="utf-8"))
            best = float(re.search(r"Best program: .*, ([\d.]+) ms", text).group(1))
            known = [float(row.split()[-3]) for row in text.splitlines() if re.search(r"FSDP|HSDP|TP \d", row)
                     and re.search(r"[\d.]+ +[\d.]+ +[\d.]+( \*)?$", row)]
            self.assertGreaterEqual(len(known), 4)
            self.assertLessEqual(best, min(known) * 1.001)

    def test_bad_input_is_named(self):
        for arguments, sentence in ((["--model", "hf:missing.json", "--gpus", "8"], "missing.json"),
                                    (["--model", "nothing", "--gpus", "8"], "--model")):
            status, text = self.run_command(arguments)
            self.assertEqual(status, 2)
            self.assertIn(sentence, text)


if __name__ == "__main__":
    unittest.main()
