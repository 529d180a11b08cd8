#!/usr/bin/env bash
# Builds the command and plans DLRM-DCNv2, the recommendation model of MLPerf, on two hosts of eight 80 GiB accelerators.
# Arguments are added to the command's (`samples/quickstart.sh --json`).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source tests/setup.sh

# Standard output carries the plan and nothing else.
shardwright_setup >&2
shardwright_configure >&2
cmake --build build/release --parallel "$(nproc)" --target shardwright >&2
exec build/release/runtime/shardwright plan samples/data/mlperf_dlrm_dcnv2.json \
  --ranks 16 --ranks-per-host 8 --hbm 80GiB "$@"
