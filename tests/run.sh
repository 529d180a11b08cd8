#!/usr/bin/env bash
# Builds everything in build/release and runs the tests; arguments go to ctest (`tests/run.sh -L fast`).
# `--sanitize address` and `--sanitize thread`, as the first argument, build with clang's sanitizers in build/asan or
# build/tsan and run the fast and the stress tests there; with AddressSanitizer also the fuzz targets, 20 seconds each.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source tests/setup.sh

preset=release
only=()
if [[ ${1-} == --sanitize ]]; then
  case ${2-} in
    address) preset=asan ;;
    thread) preset=tsan ;;
    *)
      echo "tests/run.sh: --sanitize takes address or thread" >&2
      exit 2
      ;;
  esac
  shift 2
  only=(-L 'fast|stress' -LE '^tbb$')
  [[ $preset == asan ]] && only=(-L 'fast|stress|fuzz')
  shardwright_packages+=(clang libclang-rt-dev)
  export UBSAN_OPTIONS=print_stacktrace=1
fi

# Without one, the tests of the HTML report are skipped.
[[ ${CI-} == true ]] && shardwright_tools+=(chromium:chromium)
shardwright_setup
shardwright_configure "$preset"
cmake --build "build/$preset" --parallel "$(nproc)"
exec ctest --test-dir "build/$preset" --output-on-failure --no-tests=error --parallel "$(nproc)" "${only[@]}" "$@"
