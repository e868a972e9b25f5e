"""The file of tokens: what it may hold, who may read it, when it is read again; and the command beside it."""

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from otel_attrib.analytics.service.authentication import Authentication
from otel_attrib.analytics.service.caller import ROLES, Caller
from otel_attrib.analytics.service.problem import Forbidden, Unauthorized
from otel_attrib.analytics.service.tokens import Token, hash_of, new_token, read_tokens, write_tokens
from otel_attrib.config import Settings
from otel_attrib.errors import ConfigError, UsageError
from otel_attrib.schema.address import is_loopback

# Not typed: conftest modules cannot be imported.
Api = Any


def tokens(*words: str, path: Path) -> subprocess.CompletedProcess[str]:
    """Run `otel-attrib tokens`."""
    command = [sys.executable, "-m", "otel_attrib", "tokens", *words, "--file", str(path)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


def test_the_command_makes_a_token_that_opens_the_door(tmp_path: Path) -> None:
    """What `add` prints is let in with its role and tenants; the file has its hash; `remove` ends it."""
    path = tmp_path / "deep" / "tokens.toml"

    made = json.loads(
        tokens(
            "add", "grafana", "--role", "write", "--tenant", 'a"\\b', "--tenant", "zen", "--json", path=path
        ).stdout
    )
    door = Authentication(Settings(tokens=str(path)))

    assert Caller("grafana", "write", ('a"\\b', "zen")) == door.caller(made["token"])
    assert made["token"] not in path.read_text() and hash_of(made["token"]) in path.read_text()
    assert 0o600 == path.stat().st_mode & 0o777
    assert "grafana" in tokens("list", path=path).stdout
    assert 2 == tokens("add", "grafana", path=path).returncode
    assert 0 == tokens("remove", "grafana", path=path).returncode
    with pytest.raises(Unauthorized):
        door.caller(made["token"])
    assert 1 == tokens("remove", "grafana", path=path).returncode


def test_a_change_is_seen_at_once(tmp_path: Path) -> None:
    """A token added, changed or removed counts from the next question on, without a new door."""
    path = tmp_path / "tokens.toml"
    write_tokens(path, [Token("a", hash_of("one"), "read")])
    door = Authentication(Settings(tokens=str(path)))
    seen: list[object] = [door.caller("one").role]
    write_tokens(path, [Token("a", hash_of("one"), "admin"), Token("b", hash_of("two"), "read", ("x",))])
    seen += [door.caller("one").role, door.caller("two").tenants]
    path.write_text("this is [no TOML")

    assert ["read", "admin", ("x",)] == seen
    with pytest.raises(Unauthorized):
        door.caller("one")
    path.unlink()
    with pytest.raises(Unauthorized):
        door.caller("one")


def test_a_token_ends(tmp_path: Path) -> None:
    """An expired token is refused by name, one that has not expired yet is let in."""
    path, now = tmp_path / "tokens.toml", datetime.now(UTC)
    ends = {"old": now - timedelta(seconds=1), "new": now + timedelta(hours=1)}
    write_tokens(path, [Token(name, hash_of(name), "read", (), end) for name, end in ends.items()])
    door = Authentication(Settings(tokens=str(path)))

    assert "new" == door.caller("new").name
    with pytest.raises(Unauthorized, match="token old has expired"):
        door.caller("old")


BAD = {
    "x = 1": "something else than",
    '[[token]]\nname = "a"\nsha256 = "00"\nrole = "read"': "not 64 hexadecimal digits",
    f'[[token]]\nname = "a"\nsha256 = "{"0" * 64}"\nrole = "king"': "no role 'king'",
    f'[[token]]\nname = "a"\nsha256 = "{"0" * 64}"\ntoken = "secret"': "and nothing else",
    f'[[token]]\nname = ""\nsha256 = "{"0" * 64}"': "no name of a token",
    f'[[token]]\nname = "a"\nsha256 = "{"0" * 64}"\ntenants = "acme"': "tenants is not a list",
    f'[[token]]\nname = "a"\nsha256 = "{"0" * 64}"\nexpires = 2027-01-01': "not a time with its zone",
    f'[[token]]\nname = "a"\nsha256 = "{"0" * 64}"\nrole = "admin"\ntenants = ["x"]': "an admin has no",
    "".join(f'[[token]]\nname = "a"\nsha256 = "{digit * 64}"\n' for digit in "01"): "names a twice",
}


@pytest.mark.parametrize("text", BAD, ids=BAD.values())
def test_a_bad_file_is_refused(tmp_path: Path, text: str) -> None:
    """A file that says something we do not know lets nobody in: the service does not start on it."""
    path = tmp_path / "tokens.toml"
    path.write_text(text)
    path.chmod(0o600)

    with pytest.raises(ConfigError, match=BAD[text]):
        Authentication(Settings(tokens=str(path)))


def test_a_file_that_others_read_is_refused(tmp_path: Path) -> None:
    """A file that the group or others may read is refused, with the command that mends it."""
    path = tmp_path / "tokens.toml"
    write_tokens(path, [])
    os.chmod(path, 0o640)

    with pytest.raises(ConfigError, match=f"chmod 600 {path}"):
        read_tokens(path)
    with pytest.raises(ConfigError, match="No such file"):
        read_tokens(tmp_path / "none")


def test_tokens_cannot_be_guessed() -> None:
    """A thousand tokens are a thousand different ones of 256 bits, with a prefix that scanners know."""
    made = {new_token() for _ in range(1000)}

    assert 1000 == len(made)
    assert all(token.startswith("oat_") and len(token) == 47 for token in made)


def test_roles_include_those_below() -> None:
    """admin may write and read, write may read, read may read."""
    may = {role: [Caller("x", role).may(each) for each in ROLES] for role in ROLES}

    assert {"read": [True, False, False], "write": [True, True, False], "admin": [True] * 3} == may


def test_the_filter_of_a_caller() -> None:
    """Own tenants are added where none is named, kept where own ones are, and others refused."""
    caller = Caller("x", "read", ("a", "b"))

    assert (("model", ("m",)), ("tenant", ("a", "b"))) == caller.filter(["model=m"]).allowed
    assert ["tenant=b"] == caller.words(["tenant=b"])
    assert [] == Caller("y", "read").words([])
    for words in (["tenant=c"], ["tenant=a", "tenant=c"], ["tenant="]):
        with pytest.raises(Forbidden):
            caller.filter(words)


@pytest.mark.parametrize(
    ("host", "expected"),
    [("127.0.0.1", True), ("127.9.9.9", True), ("::1", True), ("localhost", True)]
    + [("0.0.0.0", False), ("::", False), ("10.0.0.1", False), ("db.example", False)],
)
def test_loopback(host: str, expected: bool) -> None:
    """Only this machine's own addresses are loopback; a name that is not known is not."""
    assert expected is is_loopback(host)


def test_api_open_lets_everybody_in() -> None:
    """On another address nobody is let in without tokens, everybody with api_open, as on loopback."""
    assert "admin" == Authentication(Settings(host="0.0.0.0", api_open=True)).caller(None).role
    assert "admin" == Authentication(Settings()).caller(None).role
    with pytest.raises(Forbidden, match="OTEL_ATTRIB_TOKENS"):
        Authentication(Settings(host="0.0.0.0")).caller("x")


@given(st.lists(st.text(st.characters(codec="utf-8"), min_size=1), max_size=3).map(tuple))
@example(("😀", 'a"\\\n\x7f', "مرحبا"))
def test_what_is_written_can_be_read(tenants: tuple[str, ...]) -> None:
    """Whatever a tenant is called, the file that names it can be read: nobody is locked out by a name."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "tokens.toml"
        token = Token("a", "0" * 64, "read", tenants)
        write_tokens(path, [token])

        assert (token,) == read_tokens(path)


@pytest.mark.parametrize("tenant", ["", "\udcff"])
def test_a_tenant_that_is_none_changes_no_file(tmp_path: Path, tenant: str) -> None:
    """A token for a tenant without a name is refused before the file of all tokens could be harmed."""
    path = tmp_path / "tokens.toml"
    tokens("add", "a", path=path)

    refused = tokens("add", "b", "--tenant", tenant, path=path)

    assert (2, 1) == (refused.returncode, refused.stderr.count("\n"))
    assert ["a"] == [token.name for token in read_tokens(path)]


def test_two_who_add_at_once_lose_nothing(tmp_path: Path) -> None:
    """Each token that was shown is in the file."""
    path = tmp_path / "tokens.toml"
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda name: tokens("add", name, path=path), "abcd"))

    assert set("abcd") == {token.name for token in read_tokens(path)}


def test_usage_of_the_command(tmp_path: Path) -> None:
    """Options without a use, a name that is missing, and a file that is not named are told in one line."""
    said = [
        tokens("list", "x", path=tmp_path / "t"),
        tokens("add", path=tmp_path / "t"),
        tokens("remove", "x", "--role", "read", path=tmp_path / "t"),
        subprocess.run(
            [sys.executable, "-m", "otel_attrib", "tokens", "list"],
            capture_output=True,
            text=True,
            timeout=60,
        ),
    ]

    assert [2, 2, 2, 2] == [each.returncode for each in said]
    assert all(1 == each.stderr.count("\n") for each in said)
    with pytest.raises(UsageError):
        Token("a b", "0" * 64, "read")
