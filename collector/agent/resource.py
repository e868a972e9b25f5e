"""What the agent says of itself: the node that it reads, by the names that requests are joined on."""

import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Final
from urllib.parse import unquote

from otel_attrib import __version__
from otel_attrib.schema.attributes import HOST_ID, HOST_NAME, SERVICE_NAME, SERVICE_VERSION

__all__ = ["SERVICE", "node_resource"]

SERVICE: Final = "otel-attrib-agent"
_MACHINE_ID = Path("/etc/machine-id")
# Of the engine that is started from the same shell, not of the agent.
_NOT_OURS = "service."


def node_resource(environ: Mapping[str, str], machine_id: Path = _MACHINE_ID) -> dict[str, str]:
    """The resource's attributes; OTEL_RESOURCE_ATTRIBUTES may name the node otherwise, as for engines."""
    found = {HOST_NAME: socket.gethostname()}
    if identity := _text(machine_id):
        found[HOST_ID] = identity
    said = _listed(environ.get("OTEL_RESOURCE_ATTRIBUTES", ""))
    named = {key: value for key, value in said.items() if not key.startswith(_NOT_OURS)}
    return found | named | {SERVICE_NAME: SERVICE, SERVICE_VERSION: __version__}


def _listed(text: str) -> dict[str, str]:
    pairs = (word.partition("=") for word in text.split(","))
    return {key.strip(): unquote(value.strip()) for key, equals, value in pairs if equals and key.strip()}


def _text(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""
