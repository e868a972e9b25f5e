"""What has to be done so that a Grafana holds what we want, and whether we may.

Everything is looked at before anything is written. What is not ours is never touched: an object with our uid
and without our mark, one in another folder, one that is provisioned from files. If one step is refused, none
is taken.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from otel_attrib.dashboards.config import FOLDER, TAG
from otel_attrib.dashboards.grafana.compare import changes
from otel_attrib.dashboards.grafana.connection import Connection
from otel_attrib.dashboards.grafana.sources import MARK
from otel_attrib.errors import GrafanaError

__all__ = ["Step", "planned", "refuse", "take"]

_NOT_SENT = ("secureJsonFields", "accessControl", "readOnly")
"""What Grafana says of a data source and does not take back."""

Action = Literal["create", "update", "same", "refuse"]


@dataclass(frozen=True, slots=True)
class Step:
    """One object: what is to be done with it and why; `take` does it."""

    kind: Literal["folder", "data source", "dashboard"]
    uid: str
    title: str
    action: Action
    why: str = ""
    diff: tuple[str, ...] = ()
    take: Callable[[], object] | None = field(default=None, repr=False, compare=False)


def planned(
    grafana: Connection,
    dashboards: Sequence[Mapping[str, Any]],
    folder: str = FOLDER,
    sources: Sequence[Mapping[str, Any]] = (),
) -> list[Step]:
    """The folder, then data sources, then dashboards; nothing is written yet."""
    return [
        _folder(grafana, folder),
        *(_source(grafana, one) for one in sources),
        *(_dashboard(grafana, one, folder) for one in dashboards),
    ]


def refuse(steps: Sequence[Step]) -> None:
    """Raise what stands in the way, all of it in one message."""
    refused = [f"{one.kind} {one.uid} {one.why}" for one in steps if one.action == "refuse"]
    if refused:
        raise GrafanaError(f"nothing was written: {'; '.join(refused)}")


def take(steps: Sequence[Step]) -> int:
    """Take every step that changes something; return how many that were."""
    refuse(steps)
    open_steps = [one for one in steps if one.take is not None]
    for one in open_steps:
        assert one.take is not None
        one.take()
    return len(open_steps)


def _folder(grafana: Connection, uid: str) -> Step:
    held = grafana.found(f"reading folder {uid}", grafana.api.folder.get_folder, uid)
    if held is not None:
        return Step("folder", uid, str(held.get("title", uid)), "same")

    def make() -> None:
        with grafana.told(f"making folder {uid}"):
            grafana.api.folder.create_folder(title=uid, uid=uid)

    return Step("folder", uid, uid, "create", take=make)


def _source(grafana: Connection, wanted: Mapping[str, Any]) -> Step:
    uid, title = wanted["uid"], wanted["name"]
    held = grafana.found(f"reading data source {uid}", grafana.api.datasource.get_datasource_by_uid, uid)
    if held is None:
        return Step("data source", uid, title, "create", take=lambda: _make_source(grafana, wanted))
    if _part(held, "jsonData").get(MARK) != TAG or held.get("type") != wanted["type"]:
        return Step("data source", uid, title, "refuse", f"is {held.get('name')!r} and not ours: rename it")
    if held.get("readOnly"):
        return Step("data source", uid, title, "refuse", "is provisioned from a file: change that file")
    secrets = set(wanted.get("secureJsonData", {})) - {
        k for k, v in _part(held, "secureJsonFields").items() if v
    }
    plain = {key: value for key, value in wanted.items() if key != "secureJsonData"}
    diff = [*changes(plain, held), *(f"+ secret {name}" for name in sorted(secrets))]
    if not diff:
        return Step("data source", uid, title, "same")
    body = _merged(held, wanted)
    return Step(
        "data source", uid, title, "update", diff=tuple(diff), take=lambda: _save_source(grafana, body)
    )


def _merged(held: Mapping[str, Any], wanted: Mapping[str, Any]) -> dict[str, Any]:
    """What Grafana holds with ours in it: a time limit, a proxy or a password set by hand stays."""
    data = {**_part(held, "jsonData"), **wanted["jsonData"]}
    kept = {key: value for key, value in held.items() if key not in _NOT_SENT}
    return {**kept, **wanted, "jsonData": data, "version": held.get("version", 1)}


def _part(held: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """A part of an answer that is an object, or an empty one where it is absent, null or something else."""
    part = held.get(name)
    return part if isinstance(part, Mapping) else {}


def _make_source(grafana: Connection, wanted: Mapping[str, Any]) -> None:
    with grafana.told(f"making data source {wanted['uid']}"):
        grafana.api.datasource.create_datasource(dict(wanted))


def _save_source(grafana: Connection, body: Mapping[str, Any]) -> None:
    with grafana.told(f"saving data source {body['uid']}"):
        grafana.api.datasource.update_datasource_by_uid(body["uid"], dict(body))


def _dashboard(grafana: Connection, wanted: Mapping[str, Any], folder: str) -> Step:
    uid, title = wanted["uid"], wanted["title"]
    held = grafana.found(f"reading dashboard {uid}", grafana.api.dashboard.get_dashboard, uid)
    if held is None:
        return Step(
            "dashboard", uid, title, "create", take=lambda: _save(grafana, {**wanted, "id": None}, folder)
        )
    theirs, meta = _part(held, "dashboard"), _part(held, "meta")
    foreign = _foreign(theirs, meta, folder)
    if foreign:
        return Step("dashboard", uid, title, "refuse", foreign)
    diff = changes(wanted, theirs)
    if not diff:
        return Step("dashboard", uid, title, "same")
    body = {**wanted, "id": theirs.get("id"), "version": theirs.get("version", meta.get("version"))}
    return Step(
        "dashboard", uid, title, "update", diff=tuple(diff), take=lambda: _save(grafana, body, folder)
    )


def _foreign(theirs: Mapping[str, Any], meta: Mapping[str, Any], folder: str) -> str:
    """Why a dashboard must not be touched, or nothing."""
    tags = theirs.get("tags")
    if not isinstance(tags, list) or TAG not in tags:
        return f"is {theirs.get('title')!r}, which has no tag {TAG!r}: it is not ours; give it another uid"
    if meta.get("provisioned"):
        return "is provisioned from a file: write that file anew with `otel-attrib dashboards export`"
    if meta.get("folderUid", "") != folder:
        where = meta.get("folderUid") or "the top level"
        title = meta.get("folderTitle") or where
        return f"is in {title!r}: give --folder {meta.get('folderUid') or 'UID'}, or move it"
    return ""


def _save(grafana: Connection, board: Mapping[str, Any], folder: str) -> None:
    """Save it; a version that is no longer the newest is refused by Grafana (412), not overwritten."""
    body = {
        "dashboard": board,
        "folderUid": folder,
        "message": "otel-attrib dashboards apply",
        "overwrite": False,
    }
    with grafana.told(f"saving dashboard {board['uid']}"):
        grafana.api.dashboard.update_dashboard(body)
