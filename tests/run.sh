#!/usr/bin/env bash
# Builds everything in build/release and runs the tests; arguments go to ctest (`tests/run.sh -L fast`).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source tests/setup.sh

shardwright_setup
shardwright_configure
cmake --build build/release --parallel "$(nproc)"
exec ctest --test-dir build/release --output-on-failure --no-tests=error --parallel "$(nproc)" "$@"
