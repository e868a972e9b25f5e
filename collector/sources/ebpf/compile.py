"""Compile one C file with bcc and hand its maps and programs over as open files: a program of its own.

It is started by `loader`. The compiler takes some 200 MB and changes the working directory, neither of which
belongs in a server; it ends with this process, while the maps and programs live on in the one that asked.
Only the standard library and bcc are imported: any Python 3 will do.

Standard input is one JSON object: `bcc` (folder of the package), `source`, `cflags`, `maps` (names) and
`functions` (name → kind of program); standard output answers with sizes, the socket `answer` with the files.
"""

import ctypes
import importlib.util
import json
import os
import socket
import sys
from typing import Any

_AT_ONCE = 100  # files a message; the kernel takes 253


def main() -> None:
    """Do what standard input asks."""
    request = json.load(sys.stdin)
    answer = socket.socket(fileno=request["answer"])
    # The compiler talks on standard output when it misses something.
    out = os.dup(1)
    os.dup2(2, 1)
    bcc = import_from(request["bcc"])
    module = bcc.BPF(src_file=request["source"].encode(), cflags=request["cflags"])
    tables = [module.get_table(name) for name in request["maps"]]
    programs = [
        module.load_func(name.encode(), getattr(bcc.BPF, kind)).fd
        for name, kind in request["functions"].items()
    ]
    sizes = [[ctypes.sizeof(table.Key), ctypes.sizeof(table.Leaf), entries(table)] for table in tables]
    files = [table.map_fd for table in tables] + programs
    os.write(out, json.dumps(sizes).encode())
    for first in range(0, len(files), _AT_ONCE):
        socket.send_fds(answer, [b"f"], files[first : first + _AT_ONCE])
    answer.close()
    sys.stderr.flush()
    os._exit(0)  # bcc's own farewell would detach and close what was handed over


def import_from(folder: str) -> Any:
    """Import the package in exactly this folder, whatever else is called bcc, and nothing beside it."""
    spec = importlib.util.spec_from_file_location(
        "bcc", os.path.join(folder, "__init__.py"), submodule_search_locations=[folder]
    )
    if spec is None or spec.loader is None:
        raise ImportError(folder)
    module = importlib.util.module_from_spec(spec)
    sys.modules["bcc"] = module
    spec.loader.exec_module(module)
    return module


def entries(table: Any) -> int:
    """How many entries the map holds at most."""
    from bcc.libbcc import lib  # type: ignore[import-not-found] # Debian's package, imported above

    return int(lib.bpf_table_max_entries_id(table.bpf.module, table.map_id))


if __name__ == "__main__":
    try:
        main()
    except Exception as fault:  # whatever bcc raises: its last line is what `loader` tells
        print(fault, file=sys.stderr, flush=True)
        os._exit(1)
