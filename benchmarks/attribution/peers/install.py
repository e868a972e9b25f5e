"""Install the peers, each in an environment of its own under build/peers, from pinned requirements.

    python -m benchmarks.attribution.peers.install [NAME...]

A peer that does not install is named with pip's reason in build/peers/NAME.failed and left out of the table.
"""

import hashlib
import subprocess
import sys
import venv
from pathlib import Path

from benchmarks.attribution.peers.roster import PEERS

__all__ = ["ENVIRONMENTS", "failure_of", "install", "python_of"]

ROOT = Path(__file__).parents[3]
ENVIRONMENTS = ROOT / "build/peers"
REQUIREMENTS = Path(__file__).parent / "requirements"


def python_of(environment: str) -> Path:
    """Return the Python that a peer runs under: this one where it needs nothing."""
    return ENVIRONMENTS / environment / "bin/python" if environment else Path(sys.executable)


def failure_of(environment: str) -> str | None:
    """Return why an environment is not there, None where it is."""
    if not environment or _stamp(environment).exists():
        return None
    failed = ENVIRONMENTS / f"{environment}.failed"
    return failed.read_text().strip() if failed.exists() else "not installed"


def _stamp(environment: str) -> Path:
    wanted = hashlib.sha256((REQUIREMENTS / f"{environment}.txt").read_bytes()).hexdigest()[:12]
    return ENVIRONMENTS / environment / f".stamp-{wanted}"


def install(environment: str) -> str | None:
    """Make one environment unless it is there; return the reason where that fails."""
    if _stamp(environment).exists():
        return None
    folder = ENVIRONMENTS / environment
    venv.create(folder, with_pip=True, clear=True)
    pip, wanted = folder / "bin/pip", REQUIREMENTS / f"{environment}.txt"
    command = [str(pip), "install", "-q", "-r", str(wanted)]
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    failed = ENVIRONMENTS / f"{environment}.failed"
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
        failed.write_text((lines or ["pip failed"])[-1] + "\n")
        return failed.read_text().strip()
    failed.unlink(missing_ok=True)
    _stamp(environment).touch()
    return None


def main() -> int:
    wanted = sys.argv[1:] or sorted({peer.environment for peer in PEERS if peer.environment})
    for environment in wanted:
        reason = install(environment)
        print(f"{environment}: {reason or 'there'}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
