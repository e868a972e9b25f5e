#!/bin/bash
# Run every benchmark at its default size, one after the other; each leaves its figures in build/bench/NAME.json.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
mkdir -p build/bench
for script in benchmarks/*.py benchmarks/attribution/{core,detector,fleet_check,riskloc,scale}.py; do
    # The other modules there are parts of these programs.
    grep -q -- '"--json"' "$script" || continue
    name=$(basename "$script" .py)
    printf '\n== %s\n' "$name"
    PYTHONPATH=. .venv/bin/python "$script" --json "build/bench/$name.json"
done
