"""The rivals' own Python environments: each rival is installed as any user would install it."""

import subprocess
import sys
from pathlib import Path
from shutil import rmtree
from typing import Final

__all__ = ["NotInstalled", "rival_programs"]

ENVIRONMENTS: Final = Path("build/peers")


class NotInstalled(Exception):
    """A rival's package cannot be had here: the message is pip's last line."""


def rival_programs(name: str, requirement: str) -> Path:
    """Return the `bin` folder of a rival's environment, made and filled when it is not there.

    Raises `NotInstalled`, and leaves no half-made environment behind.
    """
    folder = ENVIRONMENTS / name
    programs = folder / "bin"
    if not (programs / "python").exists():
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        pip = [str(programs / "python"), "-m", "pip", "install", "-q", requirement]
        done = subprocess.run(pip, capture_output=True, text=True)
        if done.returncode:
            rmtree(folder)
            raise NotInstalled(f"{requirement}: {done.stderr.strip().splitlines()[-1]}")
    return programs
