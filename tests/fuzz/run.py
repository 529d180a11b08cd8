#!/usr/bin/env python3
"""Runs one fuzz target, and keeps its corpus.

Usage: run.py test TARGET --build DIR    replays the corpus, then fuzzes for 20 seconds
       run.py fuzz TARGET --build DIR    fuzzes for --seconds; what is found stays in DIR/fuzz/TARGET/found
       run.py replay TARGET --build DIR FILE...    runs these inputs alone
       run.py pack TARGET --build DIR [FILE...]    adds what was found, and these files, to the committed corpus
"""

import argparse
import io
import pathlib
import shutil
import subprocess
import sys
import tarfile

HERE = pathlib.Path(__file__).resolve().parent
# Keys and values that each target's inputs have.
WORDS = {"instance": ["operators"], "graph": ["operators"], "paths": ["operators"], "aten": ["aten"],
         "experts": ["experts"], "program": ["program"], "redistribute": ["redistribution"], "transfer": ["redistribution"],
         "request": ["command", "embedding", "experts", "operators", "program", "redistribution"],
         "command": ["command", "embedding", "experts", "operators", "program", "redistribution"]}
# A run that takes longer is a hang. Inputs are short, so that each run takes milliseconds.
LIMITS = ["-timeout=10", "-rss_limit_mb=3000", "-malloc_limit_mb=2000", "-max_len=16384"]


class Target:
    def __init__(self, name, build):
        self.name = name
        self.program = build / "tests" / "fuzz" / f"fuzz_{name}"
        self.folder = build / "fuzz" / name
        self.corpus = self.folder / "corpus"
        self.found = self.folder / "found"
        self.packed = HERE / "corpus" / f"{name}.tar.xz"

    def unpack(self):
        shutil.rmtree(self.corpus, ignore_errors=True)
        for folder in (self.corpus, self.found):
            folder.mkdir(parents=True, exist_ok=True)
        if not self.packed.exists():
            return  # a new target
        with tarfile.open(self.packed) as archive:
            for member in archive.getmembers():
                (self.corpus / pathlib.PurePath(member.name).name).write_bytes(archive.extractfile(member).read())

    def words(self):
        path = self.folder / "words.dict"
        lists = WORDS.get(self.name, ["embedding"])
        path.write_text("".join((HERE / "words" / f"{name}.dict").read_text() for name in lists))
        return path

    def command(self, *arguments):
        quiet = ["-close_fd_mask=3"] if self.name == "command" else []
        return [str(self.program), *LIMITS, *quiet, f"-dict={self.words()}", f"-artifact_prefix={self.folder}/",
                "-print_final_stats=1", *map(str, arguments)]

    def run(self, *arguments):
        """Returns 0, or 1 after it has said how to repeat the failure."""
        if subprocess.run(self.command(*arguments), check=False).returncode == 0:
            return 0
        print(f"\nfuzz target {self.name} failed. The input is in {self.folder}/; its name is above. To repeat it:\n"
              f"  tests/fuzz/run.py replay {self.name} --build {self.folder.parent.parent} "
              f"{self.folder}/crash-...", file=sys.stderr)
        return 1

    def pack(self, files):
        """Writes a small set of inputs that together run all code that any of them runs."""
        merged, extra = self.folder / "merged", self.folder / "extra"
        for folder in (merged, extra):
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
        for i, file in enumerate(files):
            shutil.copy(file, extra / f"{i}")
        subprocess.run(self.command("-set_cover_merge=1", "-use_counters=0", merged, extra, self.corpus, self.found), check=True)
        inputs = sorted(merged.iterdir(), key=lambda path: (path.stat().st_size, path.name))
        with tarfile.open(self.packed, "w:xz", preset=9, format=tarfile.USTAR_FORMAT) as archive:
            for number, path in enumerate(inputs):
                member = tarfile.TarInfo(f"{number:04}")
                member.size = path.stat().st_size
                archive.addfile(member, io.BytesIO(path.read_bytes()))
        print(f"{self.packed}: {len(inputs)} inputs, {self.packed.stat().st_size} bytes")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=["test", "fuzz", "replay", "pack"])
    parser.add_argument("target")
    parser.add_argument("files", nargs="*", type=pathlib.Path)
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--seconds", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_intermixed_args()
    target = Target(arguments.target, arguments.build.resolve())
    target.unpack()
    time = [f"-max_total_time={arguments.seconds}", f"-seed={arguments.seed}"]
    if arguments.action == "replay":
        return target.run(*arguments.files)
    if arguments.action == "pack":
        return target.pack(arguments.files)
    if arguments.action == "fuzz":
        return target.run(*time, target.found, target.corpus)
    shutil.rmtree(target.found)
    target.found.mkdir()
    return target.run("-runs=0", target.corpus) or target.run(*time, target.found, target.corpus)


if __name__ == "__main__":
    sys.exit(main())
