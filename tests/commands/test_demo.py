"""`otel-attrib demo` as typed: what is refused before anything is started."""

import subprocess
import sys


def test_a_folder_that_cannot_be_made_is_one_line() -> None:
    """`--keep` below something that takes no folders is refused by name, with the code for usage."""
    command = [sys.executable, "-m", "otel_attrib", "demo", "--replay", "--keep", "/dev/null/x"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)

    told = "otel-attrib demo: --keep /dev/null/x cannot be made: Not a directory\n"
    assert (2, "", told) == (done.returncode, done.stdout, done.stderr)
