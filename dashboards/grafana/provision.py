"""Dashboards and data sources as files that Grafana reads at its start."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from otel_attrib.dashboards.config import FOLDER, REFRESH
from otel_attrib.errors import UsageError

__all__ = ["written"]

_PASSWORD: Final = "$OTEL_ATTRIB_CLICKHOUSE_PASSWORD"
_HEAD: Final = (
    "# Written by `otel-attrib dashboards export`; to be put under Grafana's provisioning directory.\n"
)


def written(
    out: Path, texts: Mapping[str, str], sources: Sequence[Mapping[str, Any]], folder: str, at: str
) -> list[Path]:
    """Write `dashboards/NAME.json` and the provisioning files; `at` is where Grafana will find the former."""
    files = {out / "dashboards" / f"{name}.json": text for name, text in texts.items()}
    files[out / "provisioning/dashboards/otel-attrib.yaml"] = _yaml(_provider(folder, at))
    if sources:
        held = {"apiVersion": 1, "datasources": [_escaped(_secret(one)) for one in sources]}
        files[out / "provisioning/datasources/otel-attrib.yaml"] = _yaml(held)
    for path, text in files.items():
        _write(path, text)
    return list(files)


def _provider(folder: str, at: str) -> dict[str, Any]:
    provider = {
        "name": "otel-attrib",
        "type": "file",
        "folder": FOLDER,
        "folderUid": folder,
        "allowUiUpdates": False,
        "updateIntervalSeconds": int(REFRESH.removesuffix("s")),
        "options": {"path": at},
    }
    return {"apiVersion": 1, "providers": [provider]}


def _secret(source: Mapping[str, Any]) -> dict[str, Any]:
    """No password in a file: Grafana reads it from its own environment."""
    found = {key: value for key, value in source.items() if key != "secureJsonData"}
    return {**found, "secureJsonData": {"password": _PASSWORD}} if "secureJsonData" in source else found


def _escaped(value: Any) -> Any:
    """Grafana puts the environment into these files: a dollar sign that is meant is written twice."""
    if isinstance(value, Mapping):
        return {key: _escaped(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_escaped(one) for one in value]
    return value.replace("$", "$$") if isinstance(value, str) and value != _PASSWORD else value


def _yaml(value: Mapping[str, Any]) -> str:
    import yaml

    return _HEAD + str(yaml.safe_dump(dict(value), sort_keys=False, allow_unicode=True))


def _write(path: Path, text: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    except OSError as fault:
        raise UsageError(f"{path} cannot be written: {fault.strerror}") from fault
