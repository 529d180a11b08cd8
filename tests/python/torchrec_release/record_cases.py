#!/usr/bin/env python3
"""Records cases anew: what the installed TorchRec answers to problems that show what its release has changed.

    record_cases.py --folder tests/golden/embedding/1.9.2
    record_cases.py --folder tests/golden/embedding/1.9.2 --theme uneven-hosts

Writes cases/NAME.json.gz and answers/NAME.json.gz. The same release and the same random problems always write the same
bytes. Themes that are named leave the cases of the others as they are.
"""

import argparse
import gzip
import importlib.metadata
import json
from pathlib import Path

from golden_cases import WANTED, cases
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
    parser.add_argument("--theme", action="append", choices=WANTED)
    arguments = parser.parse_args()
    folder, themes = arguments.folder, arguments.theme or tuple(WANTED)
    release = importlib.metadata.version("torchrec")
    for part in ("cases", "answers"):
        (folder / part).mkdir(parents=True, exist_ok=True)
        for theme in themes:
            for old in (folder / part).glob(f"{theme}_*.json.gz"):
                old.unlink()
    count = 0
    for name, problem, answer in cases(record, themes):
        write(folder / "cases" / f"{name}.json.gz", {"torchrec": release, **problem})
        write(folder / "answers" / f"{name}.json.gz",
              {"case": name, "torchrec": release, **without_message(answer)})
        count += 1
        print(name, answer.get("error", {}).get("type", "planned"), flush=True)
    print(f"torchrec {release}: {count} cases in {folder}")


if __name__ == "__main__":
    main()
