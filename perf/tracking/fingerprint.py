"""What must be equal to compare counted figures: compiler, flags, libraries, processor, valgrind."""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
from pathlib import Path

from .errors import TrackError

Fingerprint = dict[str, str]

_PACKAGES = ("libtbb-dev", "libboost-dev", "libmimalloc-dev", "libstdc++6", "libc6")


def _package_version(name: str) -> str:
    if not shutil.which("dpkg-query"):
        return "unknown"
    found = subprocess.run(["dpkg-query", "-W", "-f=${Version}", name], capture_output=True, text=True, check=False)
    return found.stdout.strip() or "absent"


def _instruction_set() -> str:
    """The machine and its vector level, by which libraries choose their routines."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        text = ""
    flags: set[str] = set()
    for line in text.splitlines():
        if line.startswith(("flags", "Features")):
            flags = set(line.partition(":")[2].split())
            break
    level = next((name for name in ("avx2", "avx", "sse4_2", "asimd") if name in flags), "")
    return platform.machine() + (f"+{level}" if level else "")


def _valgrind_version() -> str:
    path = shutil.which("valgrind")
    if not path:
        return "absent"
    return subprocess.run([path, "--version"], capture_output=True, text=True, check=False).stdout.strip()


def take(driver: Path) -> Fingerprint:
    """Returns the fingerprint of the figures that `driver` counts on this machine."""
    told = subprocess.run([str(driver), "--fingerprint"], capture_output=True, text=True, check=False)
    if told.returncode != 0:
        raise TrackError(f"{driver} --fingerprint ended with {told.returncode}: {told.stderr.strip()}")
    build = json.loads(told.stdout)
    packages = " ".join(f"{name}={_package_version(name)}" for name in _PACKAGES)
    return {
        "compiler": f"{build['compiler']} {build['compiler_version']}",
        "flags": build["flags"],
        "packages": packages,
        "processor": _instruction_set(),
        "valgrind": _valgrind_version(),
    }


def machine() -> dict[str, str]:
    """Identifies the machine that times were measured on."""
    model = ""
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                model = line.partition(":")[2].strip()
                break
    except OSError:
        pass
    return {"processor": model or platform.machine(), "cores": str(os.cpu_count() or 0)}


def differences(old: Fingerprint, new: Fingerprint) -> list[str]:
    """One phrase per part that differs; empty = comparable."""
    return [f"{part}: {old.get(part, 'unknown')} -> {new.get(part, 'unknown')}"
            for part in sorted(set(old) | set(new)) if old.get(part) != new.get(part)]
