"""One running service, as the tests of its page see it."""

import json
import subprocess
import sys
import urllib.parse
import urllib.request
from dataclasses import dataclass
from typing import Any

__all__ = ["Site", "run"]


@dataclass(frozen=True)
class Site:
    """One `up`: where it listens, and the two windows of the fleet it has stored."""

    url: str
    window: str
    baseline: str

    def api(self, path: str, **words: Any) -> Any:
        """Return what the API answers."""
        query = urllib.parse.urlencode({name: value for name, value in words.items() if value}, doseq=True)
        with urllib.request.urlopen(f"{self.url}/api/v1/{path}?{query}", timeout=60) as answer:
            return json.load(answer)

    def link(self, path: str = "", **words: str) -> str:
        """Return the address of a view."""
        query = urllib.parse.urlencode(words, safe=":=,")
        return f"{self.url}/#/{path}{'?' + query if query else ''}"

    @property
    def range(self) -> dict[str, str]:
        """Both windows, as a range of the map."""
        return {"from": self.baseline.split("..")[0], "to": self.window.split("..")[1]}

    @property
    def question(self) -> dict[str, str]:
        """Why the second window is slower than the first."""
        return {"where": "service=model-fleet", "window": self.window, "baseline": self.baseline}


def run(*words: str) -> str:
    """Run the command and return what it prints; exit codes of verdicts are none of its faults."""
    done = subprocess.run(
        [sys.executable, "-m", "otel_attrib", *words], capture_output=True, text=True, timeout=90
    )
    assert done.returncode in (0, 3, 4), done.stderr
    return done.stdout
