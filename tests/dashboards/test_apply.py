"""`dashboards apply` and `diff`: the real grafana-client against a FAKE Grafana (see fake_grafana.py)."""

import json
import shutil
import ssl
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from otel_attrib.cli import main
from otel_attrib.dashboards.boards import NAMES, texts
from otel_attrib.dashboards.grafana.connection import Connection
from otel_attrib.dashboards.grafana.plan import planned, take
from otel_attrib.errors import GrafanaError

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.dashboards.fake_grafana import FakeGrafana, serving

Typed = Callable[..., int]
UIDS = [f"otel-attrib-{name}" for name in NAMES]
CLICKHOUSE = ("--clickhouse", "http://readonly@store:8123/otel_attrib")


@pytest.fixture
def grafana() -> Iterator[FakeGrafana]:
    """An empty FAKE Grafana."""
    with serving(FakeGrafana()) as running:
        yield running


@pytest.fixture
def typed(grafana: FakeGrafana, monkeypatch: pytest.MonkeyPatch) -> Typed:
    """Type one command at it, as an administrator unless the test says otherwise."""
    monkeypatch.setenv("OTEL_ATTRIB_GRAFANA_TOKEN", "glsa_admin")
    return lambda *words: main(["dashboards", *words, "--grafana-url", grafana.url])


def board(grafana: FakeGrafana, uid: str = "otel-attrib-fleet") -> dict[str, Any]:
    """A dashboard as the FAKE keeps it."""
    found: dict[str, Any] = grafana.boards[uid]["dashboard"]
    return found


def test_everything_is_made_in_our_folder(grafana: FakeGrafana, typed: Typed) -> None:
    """Into an empty Grafana go one folder and every dashboard, each as it is exported."""
    assert typed("apply") == 0

    assert ["folder otel-attrib", *(f"dashboard {uid}" for uid in UIDS)] == grafana.writes
    assert {"otel-attrib"} == {held["folder"] for held in grafana.boards.values()}
    wanted = {f"otel-attrib-{name}": json.loads(text)["panels"] for name, text in texts().items()}
    assert wanted == {uid: held["dashboard"]["panels"] for uid, held in grafana.boards.items()}


def test_a_second_apply_changes_nothing(
    grafana: FakeGrafana, typed: Typed, capsys: pytest.CaptureFixture[str]
) -> None:
    """What Grafana added of its own is no difference: nothing is written twice, which the first line says."""
    assert typed("apply", *CLICKHOUSE) == 0
    grafana.writes.clear()
    capsys.readouterr()

    assert typed("apply", *CLICKHOUSE) == 0
    assert [] == grafana.writes
    first = capsys.readouterr().out.splitlines()[0]
    assert first == f"0 of 10 objects were changed in {grafana.url}; 10 are as wanted"


def test_a_dry_run_writes_nothing(
    grafana: FakeGrafana, typed: Typed, capsys: pytest.CaptureFixture[str]
) -> None:
    """`--dry-run` says what would be done, and does none of it."""
    assert typed("apply", "--dry-run", "--json") == 0

    assert [] == grafana.writes
    told = json.loads(capsys.readouterr().out)
    assert ("otel-attrib/dashboards/1", False, "12.1.0") == (told["schema"], told["written"], told["version"])
    assert {"create"} == {item["action"] for item in told["items"]}
    assert ["otel-attrib", *UIDS] == [item["uid"] for item in told["items"]]


def test_diff_tells_an_edit_and_apply_mends_it(
    grafana: FakeGrafana, typed: Typed, capsys: pytest.CaptureFixture[str]
) -> None:
    """A title changed by hand is a difference (exit 3) that diff shows; apply puts it back."""
    typed("apply")
    board(grafana)["panels"][0]["title"] = "Changed by hand"
    capsys.readouterr()

    assert typed("diff") == 3
    shown = capsys.readouterr().out
    assert (
        '-      "title": "Changed by hand",' in shown and '+      "title": "The range in figures",' in shown
    )
    assert typed("apply", "fleet") == 0
    assert ("The range in figures", 2) == (board(grafana)["panels"][0]["title"], board(grafana)["version"])
    assert typed("diff") == 0


def test_a_panel_added_by_hand_is_a_difference(grafana: FakeGrafana, typed: Typed) -> None:
    """One panel more than ours is not the same dashboard."""
    typed("apply")
    board(grafana)["panels"].append({"id": 99, "type": "text", "title": "Mine"})

    assert typed("diff", "fleet") == 3
    assert typed("diff", "slo") == 0


@pytest.mark.parametrize(
    ("held", "folder", "provisioned", "said"),
    [
        ({"title": "Somebody's", "tags": ["prod"]}, "otel-attrib", False, "has no tag 'otel-attrib'"),
        ({"title": "Ours", "tags": ["otel-attrib"]}, "team-a", False, "give --folder team-a, or move it"),
        ({"title": "Ours", "tags": ["otel-attrib"]}, "otel-attrib", True, "is provisioned from a file"),
    ],
    ids=["no tag", "other folder", "provisioned"],
)
def test_foreign_dashboards_stop_everything(
    grafana: FakeGrafana,
    typed: Typed,
    capsys: pytest.CaptureFixture[str],
    held: dict[str, Any],
    folder: str,
    provisioned: bool,
    said: str,
) -> None:
    """An object with our uid that is not ours is named, and not even the others are written."""
    grafana.folders["team-a"] = {"uid": "team-a", "title": "Team A"}
    grafana.add_board({"uid": "otel-attrib-slo", **held}, folder, provisioned)

    assert typed("apply") == 1
    told = capsys.readouterr().err
    assert "nothing was written: dashboard otel-attrib-slo" in told and said in told
    assert [] == grafana.writes
    assert held == {key: board(grafana, "otel-attrib-slo")[key] for key in held}


def test_others_dashboards_in_our_folder_stay(grafana: FakeGrafana, typed: Typed) -> None:
    """What others put into our folder is neither read nor written."""
    grafana.folders["otel-attrib"] = {"uid": "otel-attrib", "title": "Renamed by us"}
    grafana.add_board({"uid": "theirs", "title": "Theirs"}, "otel-attrib")

    assert typed("apply") == 0
    assert not [line for line in grafana.seen if "theirs" in line]
    assert "Renamed by us" == grafana.folders["otel-attrib"]["title"]


def test_a_change_in_between_is_not_overwritten(grafana: FakeGrafana) -> None:
    """A dashboard that somebody saved after it was read is refused by its version (412), and stays theirs."""
    wanted = json.loads(texts()["fleet"])
    with Connection(grafana.url, "glsa_admin") as connection:
        take(planned(connection, [wanted]))
        board(grafana)["title"] = "Edited before"
        steps = planned(connection, [wanted])
        board(grafana)["version"] = 7

        with pytest.raises(GrafanaError, match="412: The dashboard has been changed by someone else"):
            take(steps)
    assert "Edited before" == board(grafana)["title"]


def test_the_data_source_is_made_only_when_asked_for(grafana: FakeGrafana, typed: Typed) -> None:
    """Without an address no data source is touched; with one it is made under our uid, marked as ours."""
    typed("apply")
    assert {} == grafana.sources

    assert typed("apply", *CLICKHOUSE, "--prometheus", "http://prom:9090") == 0
    made = grafana.sources["otel-attrib-clickhouse"]
    assert ("grafana-clickhouse-datasource", "store", 8123, "readonly", "otel_attrib", "otel-attrib") == (
        made["type"],
        *(made["jsonData"][key] for key in ("host", "port", "username", "defaultDatabase", "managedBy")),
    )
    trace = grafana.sources["otel-attrib-prometheus"]["jsonData"]["exemplarTraceIdDestinations"]
    assert "http://127.0.0.1:8080/#/trace/${__value.raw}" == trace[0]["url"]


def test_the_password_is_a_secret(
    grafana: FakeGrafana, typed: Typed, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It goes from the environment into Grafana's secrets once, and is printed nowhere."""
    typed("apply", *CLICKHOUSE)
    monkeypatch.setenv("OTEL_ATTRIB_CLICKHOUSE_PASSWORD", "hunter2")

    assert typed("diff", *CLICKHOUSE) == 3
    assert typed("apply", *CLICKHOUSE) == 0
    assert {"password": "hunter2"} == grafana.secrets["otel-attrib-clickhouse"]
    assert typed("diff", *CLICKHOUSE) == 0
    assert "hunter2" not in "".join(capsys.readouterr())


def test_a_foreign_data_source_is_left_alone(
    grafana: FakeGrafana, typed: Typed, capsys: pytest.CaptureFixture[str]
) -> None:
    """One with our uid that we did not make is named, and nothing is written."""
    grafana.sources["otel-attrib-clickhouse"] = {
        "uid": "otel-attrib-clickhouse",
        "name": "By hand",
        "type": "grafana-clickhouse-datasource",
        "jsonData": {},
        "version": 1,
    }

    assert typed("apply", *CLICKHOUSE) == 1
    assert "data source otel-attrib-clickhouse is 'By hand' and not ours" in capsys.readouterr().err
    assert [] == grafana.writes


@pytest.mark.parametrize(
    ("token", "said"),
    [
        ("glsa_wrong", "(401: Invalid API key); the token or password is not accepted"),
        (
            "glsa_viewer",
            "(403: You'll need additional permissions. Role: Viewer); the account may not do that",
        ),
    ],
    ids=["unknown token", "viewer"],
)
def test_refusals_are_one_line(
    grafana: FakeGrafana,
    typed: Typed,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    token: str,
    said: str,
) -> None:
    """A token that is not accepted or may too little is told in one line, without the token."""
    grafana.tokens["glsa_viewer"] = "Viewer"
    monkeypatch.setenv("OTEL_ATTRIB_GRAFANA_TOKEN", token)

    assert typed("apply") == 1
    told = capsys.readouterr().err
    assert said in told and told.count("\n") == 1 and token not in told


def test_an_editor_may_apply_dashboards_but_no_data_source(
    grafana: FakeGrafana, typed: Typed, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The role Editor is enough for folder and dashboards; a data source needs Admin, as the refusal says."""
    monkeypatch.setenv("OTEL_ATTRIB_GRAFANA_TOKEN", "glsa_editor")

    assert typed("apply") == 0
    assert typed("apply", *CLICKHOUSE) == 1
    assert "making data source otel-attrib-clickhouse (403" in capsys.readouterr().err


def test_a_name_and_password_work_too(
    grafana: FakeGrafana, typed: Typed, monkeypatch: pytest.MonkeyPatch
) -> None:
    """OTEL_ATTRIB_GRAFANA_USER stands in for a token."""
    monkeypatch.delenv("OTEL_ATTRIB_GRAFANA_TOKEN")
    monkeypatch.setenv("OTEL_ATTRIB_GRAFANA_USER", "admin:secret")

    assert typed("diff") == 3


def test_a_grafana_that_is_too_old_is_refused(
    grafana: FakeGrafana, typed: Typed, capsys: pytest.CaptureFixture[str]
) -> None:
    """A version whose schema our dashboards are not written in is told, with the one that is needed."""
    grafana.version = "9.5.2"

    assert typed("apply") == 1
    assert "is 9.5.2; dashboards need 10.1 or newer" in capsys.readouterr().err
    assert [] == grafana.writes


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("apply", "--grafana-url", "http://127.0.0.1:9"), "cannot be reached: connection refused"),
        (("apply", "--grafana-url", "http://a:b@host"), "holds a password"),
        (("apply", "--grafana-url", "grafana"), "is no address"),
        (("apply", "--grafana-url", "http://host:99999"), "--grafana-url 'http://host:99999' is no address"),
        (("apply", "--grafana-url", "http://[::1"), "--grafana-url 'http://[::1' is no address"),
        (("apply", "--grafana-url", "me:hunter2@host"), "--grafana-url '…@host' is no address"),
        (("apply", "--clickhouse", "http://h:many/db"), "--clickhouse 'http://h:many/db' is no address"),
        (("apply", "--clickhouse", "tcp://me:hunter2@h"), "--clickhouse 'tcp://…@h' is no address"),
        (("apply", "--prometheus", "http://h:many"), "--prometheus 'http://h:many' is no address"),
        (("apply", "--clickhouse", "store:8123"), "--clickhouse 'store:8123' is no address"),
        (("apply", "--folder", "../../admin"), "--folder '../../admin' is no uid"),
        (("apply", "--folder", ""), "--folder '' is no uid"),
        (("apply", "--page", "javascript:alert(1)"), "--page 'javascript:alert(1)' is no address"),
        (("apply", "nosuch"), "nosuch is no dashboard: fleet, tenants"),
        (("diff", "--dry-run"), "--dry-run goes with apply"),
        (("apply", "--ca", "/nowhere.pem"), "--ca /nowhere.pem is no file"),
    ],
    ids=["unreachable", "password in URL", "no URL", "high port", "half IPv6", "half with password"]
    + ["word as port", "other scheme with password", "word as port of Prometheus", "no store"]
    + ["folder of elsewhere", "folder of no name", "page that is a script"]
    + ["no dashboard", "dry diff", "no CA"],
)
def test_mistakes_are_told(
    words: tuple[str, ...], said: str, grafana: FakeGrafana, capsys: pytest.CaptureFixture[str]
) -> None:
    """What the user got wrong is named in one line."""
    where = () if "--grafana-url" in words else ("--grafana-url", grafana.url)

    assert main(["dashboards", *words, *where]) in (1, 2)
    assert said in capsys.readouterr().err


def test_what_is_no_grafana_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    """A server that answers with something else than Grafana's JSON is named as such."""
    with serving(FakeGrafana()) as other:
        other.talks_nonsense = True

        assert main(["dashboards", "diff", "--grafana-url", other.url]) == 1
    assert "does not answer as a Grafana does" in capsys.readouterr().err


@pytest.fixture
def tls(tmp_path: Path) -> ssl.SSLContext:
    """A certificate of 127.0.0.1 that nobody knows, as `ca.pem` in the test's folder."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed, so no certificate can be made")
    names = ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1", "-days", "2"]
    files = ["-keyout", str(tmp_path / "key.pem"), "-out", str(tmp_path / "ca.pem")]
    make = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    subprocess.run([*make, *names, *files], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "ca.pem", tmp_path / "key.pem")
    return context


def test_certificates_are_checked(
    tls: ssl.SSLContext, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """An unknown authority is refused with the option that names it; with it, or unchecked, apply works."""
    monkeypatch.setenv("OTEL_ATTRIB_GRAFANA_TOKEN", "glsa_admin")
    with serving(FakeGrafana(), tls) as grafana:
        words = ["dashboards", "apply", "fleet", "--grafana-url", grafana.url]

        assert main(words) == 1
        assert "its certificate is not trusted (--ca FILE names its authority)" in capsys.readouterr().err
        assert main([*words, "--ca", str(tmp_path / "ca.pem")]) == 0
        assert main([*words, "--insecure"]) == 0
        assert "" == capsys.readouterr().err
