"""The command line's own faults: what is not installed, and an output that takes nothing."""

import os
import subprocess
import sys

import pytest

from otel_attrib import cli
from otel_attrib.cli import main

WITHOUT = """
import sys
sys.modules.update(dict.fromkeys({missing!r}))
from otel_attrib.cli import main
sys.exit(main({words!r}))
"""


def without(*missing: str, words: tuple[str, ...]) -> subprocess.CompletedProcess[str]:
    """Run a command in a process where some packages cannot be imported."""
    program = WITHOUT.format(missing=missing, words=words)
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize(
    "words", [("why",), ("quantiles",), ("top",), ("trace", "x")], ids=lambda words: words[0]
)
def test_a_missing_extra_is_one_line(words: tuple[str, ...]) -> None:
    """On the base install a command that needs the store names its extra."""
    done = without("numpy", "pyarrow", "clickhouse_connect", "chdb", words=words)

    assert (1, "") == (done.returncode, done.stdout)
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"otel-attrib {words[0]}: ")
    assert line.endswith("needs an optional part: pip install 'otel-attrib[store]'")


def test_any_other_missing_module_is_a_bug(monkeypatch: pytest.MonkeyPatch) -> None:
    """A module that no extra brings is not blamed on one."""
    monkeypatch.setitem(sys.modules, "otel_attrib.commands.sql_", None)

    with pytest.raises(ModuleNotFoundError):
        main(["sql", "SELECT 1"])


@pytest.mark.parametrize("buffered", [True, False], ids=["at-the-end", "at-once"])
def test_a_full_disk_is_one_line(buffered: bool) -> None:
    """What cannot be written is said once, with exit code 1, and no traceback at the interpreter's end."""
    with open("/dev/full", "w") as full:
        command = [sys.executable, "-m", "otel_attrib", "doctor", "--json"]
        env = {**os.environ, "PYTHONUNBUFFERED": "" if buffered else "1"}
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, timeout=60, env=env)

    assert (1, "otel-attrib doctor: cannot write the output: No space left on device\n") == (
        done.returncode,
        done.stderr,
    )


def test_other_faults_of_the_system_are_not_the_outputs(monkeypatch: pytest.MonkeyPatch) -> None:
    """An error that names a file, or is of another kind, stays what it is."""

    def fail(named: str, words: object) -> int:
        raise PermissionError(13, "Permission denied", "/x")

    monkeypatch.setattr(cli, "_run", fail)

    with pytest.raises(PermissionError):
        main(["sql", "SELECT 1"])


@pytest.mark.parametrize(
    "words",
    [
        ("why", "--where", "tenant=\udcff\udcfe"),
        ("diff", "version=\udcff", "version=2"),
        ("diff", "version=1", "version=2@\udcff"),
        ("top", "--by", "\udcff"),
        ("trace", "\udcff"),
        ("sql", "SELECT '\udcff'"),
        ("simulate", "rtt", "--set", "fleet.service=\udcff"),
        ("import", "requests", "x.csv", "--map", "arrival=\udcff"),
        ("import", "samples", "x.csv", "--set", "node=\udcff"),
        ("doctor", "--dsn", "chdb:///tmp/\udcff"),
    ],
    ids=" ".join,
)
def test_bytes_that_are_no_text_are_refused(
    words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    """Wherever a word of the command line is not in UTF-8, one line shows its bytes, with exit code 2."""
    assert 2 == main(words)

    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"otel-attrib {words[0]}: ")
    assert line.endswith(" is not in UTF-8")
    assert "\\xff" in line
