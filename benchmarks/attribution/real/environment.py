"""The rivals' own Python environments: each rival is installed as any user would install it."""

import subprocess
import sys
from pathlib import Path
from typing import Final

__all__ = ["rival_programs"]

ENVIRONMENTS: Final = Path("build/peers")


def rival_programs(name: str, requirement: str) -> Path:
    """Return the `bin` folder of a rival's environment, made and filled when it is not there."""
    folder = ENVIRONMENTS / name
    programs = folder / "bin"
    if not (programs / "python").exists():
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        subprocess.run([programs / "python", "-m", "pip", "install", "-q", requirement], check=True)
    return programs
