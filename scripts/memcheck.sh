#!/usr/bin/env bash
# Runs tests of code that computes on raw blocks under Valgrind's memcheck: the kernels (the only unsafe code except the
# Python extension) through the objectives, blocks of rows, and the indicators. The stable toolchain does not include
# Miri.
#
# Usage: scripts/memcheck.sh [FILTER…]; the filters replace the default names of tests.
set -euo pipefail
cd "$(dirname "$0")/.."

if ! command -v valgrind > /dev/null; then
  echo "SKIPPED: memcheck; install valgrind"
  [ "${CI:-}" != true ]
  exit
fi

filters=("$@")
if [ ${#filters[@]} = 0 ]; then
  filters=(lanes dataset bootstrap evaluations_agree extreme_scores values_are gradients_agree hessian measures_are_counts
    hypervolume nondominated)
fi

# Paths of the binaries of unit and integration tests.
binaries=$(cargo test --locked -p fairfront-core -p fairfront-pareto --lib --tests --no-run --message-format=json 2> /dev/null |
  python3 -c 'import json, sys
for line in sys.stdin:
    found = json.loads(line) if line.startswith("{") else {}
    if found.get("profile", {}).get("test") and found.get("executable"):
        print(found["executable"])')
[ -n "$binaries" ]

total=0
for binary in $binaries; do
  # Hundreds of cases per property test take too long here; a few are enough.
  listed=$("$binary" --list "${filters[@]}" 2> /dev/null | grep -c ': test$' || true)
  [ "$listed" = 0 ] && continue
  total=$((total + listed))
  PROPTEST_CASES=4 RAYON_NUM_THREADS=2 valgrind --quiet --error-exitcode=99 --leak-check=no \
    "$binary" --test-threads=1 --quiet "${filters[@]}"
done
if [ "$total" = 0 ]; then
  echo "memcheck: no test matches the filters" >&2
  exit 1
fi
echo "memcheck: $total tests without an error"
