#!/bin/bash
# What the eBPF tests need, where this machine lets us have it: python3-bpfcc, kernel headers, tracefs.
#
# Only for tests, only as root on a machine with apt; otherwise it says what is missing, the tests that need it
# are skipped, and nothing fails. OTEL_ATTRIB_TEST_EBPF=0 leaves the machine as it is.
set -uo pipefail

say() { printf 'ebpf: %s\n' "$*"; }
enough() { say "$*: the tests that need it are skipped"; exit 0; }

[ "${OTEL_ATTRIB_TEST_EBPF:-1}" != 0 ] || exit 0
[ "$(uname -s)" = Linux ] || enough "no Linux"
[ "$(id -u)" = 0 ] || enough "eBPF needs root"

# A kernel without BPF has no use for the packages.
[ -e /sys/kernel/btf/vmlinux ] || [ -d /sys/fs/bpf ] || enough "this kernel has no BPF"

has_bcc() { compgen -G '/usr/lib/python3/dist-packages/bcc/libbcc.py' >/dev/null; }
has_headers() {
    [ -e "/lib/modules/$(uname -r)/build/include/linux/kconfig.h" ] ||
        [ -e "/lib/modules/$(uname -r)/source/include/linux/kconfig.h" ] ||
        [ -e /sys/kernel/kheaders.tar.xz ] ||
        compgen -G '/usr/src/linux-headers-*/include/generated/autoconf.h' >/dev/null ||
        compgen -G '/usr/src/kernels/*/include/generated/autoconf.h' >/dev/null
}

wanted=()
has_bcc || wanted+=(python3-bpfcc)
if ! has_headers; then
    # The kernel's own, else the distribution's: only tracepoint arguments are read, another version will do.
    own=linux-headers-$(uname -r)
    if apt-cache show "$own" >/dev/null 2>&1; then
        wanted+=("$own")
    else
        wanted+=("linux-headers-$(dpkg --print-architecture 2>/dev/null || echo amd64)")
    fi
fi
if [ ${#wanted[@]} -gt 0 ]; then
    command -v apt-get >/dev/null || enough "${wanted[*]} missing"
    say "apt-get install ${wanted[*]} (once)"
    apt-get update -qq >/dev/null 2>&1 || true
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${wanted[@]}" >/dev/null 2>&1 ||
        enough "apt-get install ${wanted[*]} failed"
fi

# A second opinion in some tests; they say so where it is missing.
if ! command -v bpftrace >/dev/null && command -v apt-get >/dev/null; then
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends bpftrace >/dev/null 2>&1 ||
        say "bpftrace cannot be had: what it would confirm is skipped"
fi

if [ ! -d /sys/kernel/tracing/events ] && [ ! -d /sys/kernel/debug/tracing/events ]; then
    mount -t tracefs none /sys/kernel/tracing 2>/dev/null || enough "tracefs cannot be mounted"
fi
exit 0
