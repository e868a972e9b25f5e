#!/bin/bash
# Resolve pyproject.toml into requirements.lock: every package, its version and hashes, no index named.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
command -v uv >/dev/null || { .venv/bin/python -m pip install --quiet uv; PATH=$PWD/.venv/bin:$PATH; }
uv pip compile pyproject.toml --all-extras --group dev --python-version 3.11 --universal --generate-hashes --upgrade \
    --custom-compile-command 'make lock' --no-annotate --quiet -o requirements.lock
echo "requirements.lock: $(grep -c == requirements.lock) packages"
