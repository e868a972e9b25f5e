"""The documentation is held to the code: nothing undocumented, nothing documented that is not there."""

import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from otel_attrib import config
from otel_attrib.cli import COMMANDS, parser
from otel_attrib.commands import page as commands_page

ROOT = Path(__file__).parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
ENGLISH, CHINESE = (ROOT / name for name in ("README.md", "README.zh-CN.md"))
# What a reader must not find: how the work was done, or the machine it was done on.
FOREIGN = re.compile(r"(/work/|/root/|\.\./shared|subagent|\bLLM agent\b)", re.IGNORECASE)


def blocks(path: Path) -> list[str]:
    """The fenced code blocks of a page."""
    return re.findall(r"```\w*\n(.*?)```", path.read_text(), re.DOTALL)


def command_lines() -> list[tuple[str, str]]:
    """Every `otel-attrib …` line of every page's code blocks (generated reference apart)."""
    found = []
    for page in PAGES:
        if page.name == "commands.md":
            continue
        for block in blocks(page):
            for line in re.sub(r"\\\n\s*", " ", block).splitlines():
                text = line.removeprefix("$ ").split("  #")[0].strip()
                if text.startswith("otel-attrib "):
                    found.append((page.name, text))
    return found


@pytest.mark.parametrize(("page", "line"), command_lines(), ids=lambda value: value[:60])
def test_command_lines_parse(page: str, line: str) -> None:
    """Each command line shown to a reader is one that the parser takes."""
    words = shlex.split(re.sub(r"\s+[|>&].*$", "", line))[1:]

    assert parser().parse_args(words).command in COMMANDS


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_shows_an_example(command: str) -> None:
    """`--help` of each command ends with an example of that command."""
    text = commands_page._parser_of(command).format_help()

    assert f"otel-attrib {command}" in text.split("example", 1)[1]


def test_command_reference_is_current() -> None:
    """The page of commands is what the parsers say."""
    assert commands_page.page() == (ROOT / "docs/reference/commands.md").read_text()


def test_settings_reference_is_current() -> None:
    """The page of settings is what the code reads."""
    assert config.page() == (ROOT / "docs/reference/settings.md").read_text()


def test_readmes_are_equal() -> None:
    """The Chinese README has the sections, the code and the figures of the English one."""

    def figures(path: Path) -> list[str]:
        return sorted(
            re.findall(r"(?<![\w.-])\d+(?:[.,]\d+)*", re.sub(r"```.*?```", "", path.read_text(), flags=re.S))
        )

    def heads(path: Path) -> list[int]:
        return [
            len(mark)
            for mark in re.findall(r"^(#+) ", re.sub(r"```.*?```", "", path.read_text(), flags=re.S), re.M)
        ]

    assert blocks(ENGLISH) == blocks(CHINESE)
    assert heads(ENGLISH) == heads(CHINESE)
    assert figures(ENGLISH) == figures(CHINESE)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    """A link into the repository names a file that is there."""
    targets = re.findall(r"\]\((?!https?:|#|mailto:)([^)#\s]+)", page.read_text())

    assert [] == [target for target in targets if not (page.parent / target).exists()]


def tracked_files() -> list[str]:
    """The repository's files; without git (an unpacked archive) all but what was made here."""
    if shutil.which("git") and (ROOT / ".git").exists():
        listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True)
        return listed.stdout.split()
    made = re.compile(r"(^|/)(\.(?!ci/)[^/]+|build|dist|__pycache__|[^/]+\.egg-info)/")
    names = (path.relative_to(ROOT).as_posix() for path in ROOT.rglob("*") if path.is_file())
    return [name for name in names if not made.search(name)]


def test_nothing_of_this_machine() -> None:
    """No text file of the repository names a path of the machine it was written on."""
    suffixes = (".py", ".md", ".toml", ".sql", ".sh", ".yaml", ".yml", ".txt", ".lock", "Makefile")
    wrong = [
        name
        for name in tracked_files()
        if name.endswith(suffixes)
        and name != "tests/test_docs.py"
        and not (ROOT / name).is_symlink()
        and FOREIGN.search((ROOT / name).read_text(errors="replace"))
    ]

    assert len(tracked_files()) > 100
    assert [] == wrong
