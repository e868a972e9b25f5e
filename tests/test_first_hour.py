"""docs/first-hour.md: every block of it is run, in order, and prints what the page shows.

One shell runs the blocks against a real `otel-attrib up` and a real Alertmanager. The page's ports are
replaced by free ones, and nothing else. Numbers differ from run to run, so a shown text is compared with
numbers, times and ids set aside; `…` in it stands for whatever is not shown. Blocks that need a real Grafana
or vLLM say so on the page and are not run.
"""

import os
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs/first-hour.md"
BLOCK = re.compile(
    r"(?P<left_out><!-- not run: [^>]+ -->\n)?```sh\n(?P<code>.*?)```"
    r"(?:\n\n(?P<first><!-- checked: the first line -->\n)?```text\n(?P<shown>.*?)```)?",
    re.S,
)
BLOCKS = [found for found in BLOCK.finditer(PAGE.read_text()) if not found["left_out"]]
PORTS = {"http": 8080, "otlp_grpc": 4317, "otlp_http": 4318, "clickhouse": 8123, "alertmanager": 9093}
CODES = {"sh question.sh": 3}
"""Blocks that end with another exit code than 0; the page says it."""
SECONDS = 500


@pytest.fixture(scope="module")
def printed(
    program: Callable[[str], str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[list[tuple[str, int]]]:
    """What each block printed, and its exit code."""
    for name in ("prometheus-alertmanager", "amtool", "promtool"):
        program(name)
    if not shutil.which("curl"):
        pytest.skip("curl is missing")
    folder = tmp_path_factory.mktemp("first-hour")
    ports = _free_ports()
    script = "\n".join(_told(number, found["code"]) for number, found in enumerate(BLOCKS))
    for name, port in PORTS.items():
        script = script.replace(f"127.0.0.1:{port}", f"127.0.0.1:{ports[name]}")
    (folder / "run.sh").write_text(f"trap 'kill $(jobs -p) 2>/dev/null' EXIT\n{script}")
    done = subprocess.run(
        ["bash", "run.sh"],
        cwd=folder,
        env=_environment(program, ports),
        capture_output=True,
        text=True,
        timeout=SECONDS,
    )
    outputs = dict(_outputs(done.stdout))
    if os.environ.get("OTEL_ATTRIB_TEST_SHOW"):
        for number, (text, code) in outputs.items():
            print(f"── {number} ({code})\n{BLOCKS[number]['code']}{text}", file=sys.stderr)
    yield [outputs.get(number, (done.stderr, -1)) for number in range(len(BLOCKS))]


def _told(number: int, code: str) -> str:
    """A block between two lines that say which it was and how it ended."""
    return f"printf '\\036begin {number}\\n'\n{code}printf '\\036end {number} %d\\n' $?"


def _outputs(text: str) -> Iterator[tuple[int, tuple[str, int]]]:
    for found in re.finditer("\x1ebegin (\\d+)\n(.*?)\x1eend \\1 (\\d+)\n", text, re.S):
        yield int(found[1]), (found[2], int(found[3]))


def _free_ports() -> dict[str, int]:
    with ExitStack() as stack:
        sockets = {name: stack.enter_context(socket.socket()) for name in PORTS}
        for one in sockets.values():
            one.bind(("127.0.0.1", 0))
        return {name: one.getsockname()[1] for name, one in sockets.items()}


def _environment(program: Callable[[str], str], ports: dict[str, int]) -> dict[str, str]:
    programs = [str(Path(sys.executable).parent), str(Path(program("promtool")).parent), os.environ["PATH"]]
    kept = {name: value for name, value in os.environ.items() if not name.startswith("OTEL_")}
    chosen = {
        f"OTEL_ATTRIB_{name.upper()}_PORT": str(ports[name]) for name in PORTS if name != "alertmanager"
    }
    url = f"http://127.0.0.1:{ports['http']}"
    return {**kept, **chosen, "PATH": ":".join(programs), "OTEL_ATTRIB_URL": url, "OTEL_ATTRIB_AGENT": "off"}


@pytest.mark.parametrize("number", range(len(BLOCKS)), ids=[found["code"][:50].strip() for found in BLOCKS])
def test_a_block_runs_and_prints_what_is_shown(number: int, printed: list[tuple[str, int]]) -> None:
    """It ends as the page says, and what the page shows stands in what it printed, numbers set aside."""
    text, code = printed[number]
    shown = BLOCKS[number]["shown"] or ""
    if BLOCKS[number]["first"]:
        shown = shown.partition("\n")[0]
    last = BLOCKS[number]["code"].rstrip().splitlines()[-1]

    assert CODES.get(last, 0) == code, text
    rest = _without_numbers(text)
    for part in filter(None, map(str.strip, re.split("…\n", shown))):
        wanted = _without_numbers(part)
        assert wanted in rest, f"{wanted}\n--- is not in ---\n{rest}"
        rest = rest[rest.index(wanted) + len(wanted) :]


def test_shown_lines_fit_a_terminal() -> None:
    """What the page shows is 80 columns wide at most."""
    wide = [line for found in BLOCKS for line in (found["shown"] or "").splitlines() if len(line) > 80]

    assert [] == wide


def test_few_blocks_are_left_out() -> None:
    """Two blocks alone are not run, and each says why."""
    reasons = re.findall("<!-- not run: ([^>]+) -->\n```sh", PAGE.read_text())

    assert ["needs a Grafana", "needs vLLM"] == reasons


ID = re.compile(r"\b(?=[0-9a-f]*\d)[0-9a-f]{8,32}\b")
NUMBER = re.compile(r"(?:[<>~≤+-]|\b)?\d[\d.,:]*(?:T[\d:.]+Z|Z)?")


def _without_numbers(text: str) -> str:
    """The words alone, each number and id as #, and any space as one."""
    return " ".join(NUMBER.sub("#", ID.sub("#", text)).split())
