"""The vLLM server of the demonstration, and its processes."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from otel_attrib.demo.process import Child

__all__ = ["MODEL_NAME", "ServerShape", "engine_processes", "start_vllm"]

MODEL_NAME = "tiny"
START_SECONDS = 240.0


@dataclass(frozen=True, slots=True)
class ServerShape:
    """What of the server's sizes the demonstration changes."""

    max_model_len: int = 1024
    max_num_seqs: int = 32
    max_num_batched_tokens: int = 1024
    kv_blocks: int | None = None
    prefix_caching: bool = True

    def arguments(self) -> list[str]:
        """Return them as options of `vllm serve`."""
        words = [
            f"--max-model-len={self.max_model_len}",
            f"--max-num-seqs={self.max_num_seqs}",
            f"--max-num-batched-tokens={self.max_num_batched_tokens}",
        ]
        if self.kv_blocks is not None:
            words.append(f"--num-gpu-blocks-override={self.kv_blocks}")
        if not self.prefix_caching:
            words.append("--no-enable-prefix-caching")
        return words


def start_vllm(
    programs: Path,
    model: Path,
    port: int,
    log: Path,
    environment: Mapping[str, str],
    shape: ServerShape = ServerShape(),
    before: Sequence[str] = (),
    after: Sequence[str] = (),
) -> Child:
    """Start `vllm serve` on loopback behind the words `before`; return when it answers."""
    command = [
        *before,
        str(programs / "vllm"),
        "serve",
        str(model),
        "--host=127.0.0.1",
        f"--port={port}",
        f"--served-model-name={MODEL_NAME}",
        "--dtype=bfloat16",
        "--enforce-eager",
        "--disable-uvicorn-access-log",
        # By default vLLM kills its engine at once, and what the engine had not yet told anyone is lost.
        "--shutdown-timeout=5",
        *shape.arguments(),
        *after,
    ]
    path = f"{programs}{os.pathsep}{environment.get('PATH', os.defpath)}"
    child = Child(command, log, {**environment, "PATH": path})
    try:
        child.wait_for_url(f"http://127.0.0.1:{port}/health", START_SECONDS)
    except BaseException:
        child.stop()
        raise
    return child


def engine_processes(root: int, proc: Path = Path("/proc")) -> dict[str, int]:
    """Return title → pid of the engine core and its workers below the process `root`."""
    found = {}
    for pid in _descendants(root, proc):
        title = _title(proc / str(pid) / "cmdline")
        if title.startswith("VLLM::"):
            found[title] = pid
    return found


def _title(cmdline: Path) -> str:
    try:
        return cmdline.read_bytes().partition(b"\0")[0].decode(errors="replace").strip()
    except OSError:  # ended meanwhile
        return ""


def _descendants(root: int, proc: Path) -> list[int]:
    children: dict[int, list[int]] = {}
    for entry in proc.iterdir():
        if entry.name.isdigit() and (parent := _parent(entry)) is not None:
            children.setdefault(parent, []).append(int(entry.name))
    below = [root]
    for pid in below:
        below.extend(children.get(pid, []))
    return below[1:]


def _parent(entry: Path) -> int | None:
    try:
        # The name in parentheses may itself hold spaces and parentheses.
        return int((entry / "stat").read_text().rpartition(")")[2].split()[1])
    except (OSError, IndexError):
        return None
