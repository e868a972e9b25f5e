#!/bin/bash
# Make .venv from requirements.lock, once; does nothing while neither the lock nor the project file has changed.
#
# Bare machine: Debian's python3-venv is fetched where it is missing (as root or through sudo); PYTHON names another
# Python, 3.11 or newer.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
VENV=$PWD/.venv
STAMP=$VENV/.otel-attrib-stamp
# The folder is part of it: an environment that was moved or copied points at its old place.
WANTED=$({ echo "$VENV"; cat requirements.lock pyproject.toml scripts/init.sh; } | sha256sum | cut -d" " -f1)

say() { printf 'init: %s\n' "$*"; }
fail() { printf 'init: %s\n' "$*" >&2; exit 1; }

apt_install() {
    command -v apt-get >/dev/null || fail "$* is missing; install it by your system's own means"
    local root=()
    [ "$(id -u)" = 0 ] || root=(sudo)
    say "apt-get install $*"
    "${root[@]}" apt-get update -qq || true
    "${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >/dev/null ||
        fail "apt-get install $* failed; install it by hand (root or sudo) and run this again"
}

find_python() {
    local name
    for name in ${PYTHON:-} python3.11 python3.12 python3.13 python3; do
        if "$name" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            echo "$name"
            return
        fi
    done
}

make_environment() {
    local python
    python=$(find_python)
    [ -n "$python" ] || { apt_install python3; python=$(find_python); }
    [ -n "$python" ] || fail "no Python 3.11 or newer found; name one with PYTHON=/path/to/python3.11"
    "$python" -c 'import ensurepip, venv' 2>/dev/null || apt_install python3-venv
    "$python" -m venv "$VENV"
}

pip_install() {
    PIP_DISABLE_PIP_VERSION_CHECK=1 "$VENV/bin/python" -m pip install --no-input "$@" >>"$VENV/install.log" 2>&1 || {
        tail -n 8 "$VENV/install.log" >&2
        fail "pip install $* failed (all of it: $VENV/install.log); is the package index reachable from here?"
    }
}

if [ "$(cat "$STAMP" 2>/dev/null)" = "$WANTED" ]; then exit 0; fi
say "setting up .venv (once; a minute or two)"
[ -x "$VENV/bin/pip" ] && [ "$("$VENV/bin/python" -c 'import sys; print(sys.prefix)')" = "$VENV" ] || make_environment
pip_install -r requirements.lock
pip_install --no-deps --no-build-isolation -e .
echo "$WANTED" >"$STAMP"
say "ready"
