#!/bin/bash
# Fetch what tests run beside the product: Prometheus, promtool, Alertmanager and amtool into build/services (unpacked,
# so that no daemon starts), and Chromium for the web page.
#
# Where apt or the right to use it is missing, it says so; the tests that need a program skip and name it.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
SERVICES=$PWD/build/services

say() { printf 'services: %s\n' "$*"; }
enough() { say "$*: tests that need it are skipped"; exit 0; }

unpack() {
    local package=$1 folder
    folder=$(mktemp -d)
    (cd "$folder" && apt-get download -qq "$package" >/dev/null 2>&1) || enough "apt-get download $package failed"
    mkdir -p "$SERVICES"
    dpkg -x "$folder"/*.deb "$SERVICES"
    rm -r "$folder"
}

[ "$(uname -s)" = Linux ] || enough "this is no Linux"
command -v apt-get >/dev/null && command -v dpkg >/dev/null || enough "no apt-get here"
missing=()
[ -x "$SERVICES/usr/bin/promtool" ] || missing+=(prometheus)
[ -x "$SERVICES/usr/bin/prometheus-alertmanager" ] || missing+=(prometheus-alertmanager)
[ ${#missing[@]} = 0 ] || apt-get update -qq >/dev/null 2>&1 || true
for package in "${missing[@]}"; do
    say "unpacking $package (once)"
    unpack "$package"
done
# Debian's Alertmanager has its templates beside it, not in it, and knows one place alone.
TEMPLATES=/usr/share/prometheus/alertmanager
if [ ! -e "$TEMPLATES/default.tmpl" ] && [ "$(id -u)" = 0 ]; then
    mkdir -p "$(dirname "$TEMPLATES")"
    ln -sfn "$SERVICES$TEMPLATES" "$TEMPLATES"
fi
if ! command -v chromium >/dev/null; then
    [ "$(id -u)" = 0 ] || enough "chromium is missing and only root may install it"
    say "apt-get install chromium (once)"
    apt-get update -qq >/dev/null 2>&1 || true
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium >/dev/null 2>&1 ||
        enough "apt-get install chromium failed"
fi
