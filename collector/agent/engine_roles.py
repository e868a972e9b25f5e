"""Which inference engine a command line is, and which part of it: the table of engines that are known.

The part that listens, tokenises and answers is the `api_server`; the one that schedules steps the
`engine_core`; one process per card that computes them a `worker`. What belongs to an engine and is none of
these (launchers, coordinators, resource trackers) is `other`; an engine of one process is its `api_server`.
"""

import re
from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Final, Literal

__all__ = ["ROLES", "Program", "Role", "is_python", "is_tool", "program_of", "role_of"]

Role = Literal["api_server", "engine_core", "worker", "other"]
ROLES: Final[tuple[Role, ...]] = ("api_server", "engine_core", "worker", "other")

Program = tuple[str, ...]
"""A program without its interpreter and the words after it: `("vllm", "serve", …)`."""

_PYTHON = re.compile(r"(python|pypy)[\d.]*t?$")
# Interpreter options that take the following word as their value.
_TAKES_VALUE: Final = frozenset({"-W", "-X", "--check-hash-based-pycs"})


def _compiled(table: tuple[tuple[str, Role], ...], end: str = "") -> tuple[tuple[re.Pattern[str], Role], ...]:
    return tuple((re.compile(pattern + end), role) for pattern, role in table)


_TITLES: Final = _compiled(
    (
        # vLLM names its processes itself; with Ray, Ray does.
        (r"VLLM::APIServer", "api_server"),
        (r"VLLM::EngineCore", "engine_core"),
        (r"VLLM::Worker", "worker"),
        (r"VLLM::", "other"),
        (r"ray::RayWorker(Wrapper|Proc)", "worker"),
        # SGLang: every rank is a scheduler that computes; the first one decides for the others.
        (r"sglang[\w-]*::\w*scheduler\S*_(TP|PP)[1-9]", "worker"),
        (r"sglang[\w-]*::\w*scheduler", "engine_core"),
        (r"sglang[\w-]*::gpu_worker", "worker"),
        (r"sglang[\w-]*::(multimodal_)?(de)?tokenizer|sglang[\w-]*::http", "api_server"),
        (r"sglang[\w-]*::", "other"),
    )
)
"""Titles that processes give themselves, which are the whole of their command line."""

_PROGRAMS: Final = _compiled(
    (
        (r"vllm serve", "api_server"),
        (r"vllm\.entrypoints\.cli\.main serve", "api_server"),
        (r"vllm\.entrypoints\.(\w+\.)*(api_server|grpc_server)", "api_server"),
        (r"sglang serve", "api_server"),
        (r"sg(lang|l_jax)\.launch_server", "api_server"),
        (r"launch_server\.py", "api_server"),
        (r"text-generation-launcher", "other"),
        (r"text-generation-router", "api_server"),
        (r"text-generation-server serve", "worker"),
        (r"tritonserver", "api_server"),
        (r"triton_python_backend_stub", "worker"),
        (r"llama_cpp\.server", "api_server"),
        (r"llama-server", "api_server"),
        (r"transformers serve", "api_server"),
        (r"trtllm-serve", "api_server"),
        (r"lmdeploy serve", "api_server"),
    ),
    end=r"( |$)",
)
"""Programs with the word that follows."""

# Tools that run with an engine's environment and are none.
_TOOLS = re.compile(r"(otel[-_]attrib|vllm|sglang|pip|pytest|opentelemetry-bootstrap)( |$)")


def is_python(command: Sequence[str]) -> bool:
    """Return whether the command is run by a Python interpreter."""
    return bool(command) and bool(_PYTHON.match(_name(command[0])))


def program_of(command: Sequence[str]) -> Program:
    """Leave out the interpreter and its options; `-m module` and scripts are named without their folder."""
    if not command:
        return ()
    if not is_python(command):
        return (_name(command[0]), *command[1:])
    words = list(command[1:])
    while words and words[0].startswith("-"):
        option = words.pop(0)
        if option == "-m":
            return tuple(words)
        if option in ("-c", "-"):
            return (option,)
        if option in _TAKES_VALUE:
            words = words[1:]
    return (_name(words[0]), *words[1:]) if words else ()


def role_of(command: Sequence[str]) -> Role | None:
    """Return the part of an engine that this command is; None when it is not one by its own words."""
    if not command:
        return None
    for pattern, role in _TITLES:
        if pattern.match(command[0]):
            return role
    words = " ".join(program_of(command)[:2])
    return next((role for pattern, role in _PROGRAMS if pattern.match(words)), None)


def is_tool(command: Sequence[str]) -> bool:
    """Return whether the command is a tool beside an engine: its environment says nothing about it."""
    return bool(_TOOLS.match(" ".join(program_of(command)[:2]))) and role_of(command) is None


def _name(path: str) -> str:
    return PurePosixPath(path).name
