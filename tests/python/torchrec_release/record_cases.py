#!/usr/bin/env python3
"""Records cases anew: what the installed TorchRec answers to problems that show what its release has changed.

    record_cases.py --folder tests/golden/embedding/1.9.2

Writes cases/NAME.json.gz and answers/NAME.json.gz. The same release always writes the same bytes.
"""

import argparse
import gzip
import importlib.metadata
import json
import shutil
from pathlib import Path

from golden_cases import cases
from recorder import record


def without_message(answer):
    """Messages hold addresses of objects, so they are never the same."""
    return {**answer, "error": {"type": answer["error"]["type"]}} if "error" in answer else answer


def write(path, content):
    text = json.dumps(content, separators=(",", ":"), sort_keys=False)
    path.write_bytes(gzip.compress(text.encode(), compresslevel=9, mtime=0))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, required=True)
    folder = parser.parse_args().folder
    release = importlib.metadata.version("torchrec")
    for part in ("cases", "answers"):
        shutil.rmtree(folder / part, ignore_errors=True)
        (folder / part).mkdir(parents=True)
    count = 0
    for name, problem, answer in cases(record):
        write(folder / "cases" / f"{name}.json.gz", {"torchrec": release, **problem})
        write(folder / "answers" / f"{name}.json.gz",
              {"case": name, "torchrec": release, **without_message(answer)})
        count += 1
        print(name, answer.get("error", {}).get("type", "planned"), flush=True)
    print(f"torchrec {release}: {count} cases in {folder}")


if __name__ == "__main__":
    main()
