"""Settings: where they come from, and what a wrong one says."""

from dataclasses import fields
from pathlib import Path

import pytest

from otel_attrib.config import PREFIX, Settings, load, page, size
from otel_attrib.errors import ConfigError

REFERENCE = Path(__file__).parents[2] / "docs/reference/settings.md"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A settings file with one value."""
    path = tmp_path / "settings.toml"
    path.write_text('spool_limit = "1GiB"\nhttp_port = 9000\ncors_origins = ["https://a", "https://b"]\n')
    return path


def test_defaults() -> None:
    """Without environment and file, listeners are on loopback at the documented ports."""
    settings = load({})

    assert ("127.0.0.1", 4317, 4318, 8123, 8080) == (
        settings.host,
        settings.otlp_grpc_port,
        settings.otlp_http_port,
        settings.clickhouse_port,
        settings.http_port,
    )


@pytest.mark.parametrize(("text", "value"), [("on", True), ("OFF", False), ("1", True), ("no", False)])
def test_switch(text: str, value: bool) -> None:
    """A switch is a word or a digit."""
    assert value is load({"OTEL_ATTRIB_AGENT": text}).agent


@pytest.mark.parametrize("text", ["0", "50ms", "0.05", "2h"])
def test_sending_has_bounds(text: str) -> None:
    """An interval that would spin, or send next to never, is refused."""
    with pytest.raises(ConfigError, match="100ms to 1h"):
        load({"OTEL_ATTRIB_AGENT_SEND": text})


@pytest.mark.parametrize(("text", "value"), [("1%", 0.01), ("0.5 %", 0.005), ("0.02", 0.02), ("200%", 2.0)])
def test_share(text: str, value: float) -> None:
    """A share of a core is a number or a percentage."""
    assert pytest.approx(value) == load({"OTEL_ATTRIB_AGENT_BUDGET": text}).agent_budget


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("AGENT", "maybe"),
        ("AGENT_BUDGET", "0"),
        ("AGENT_BUDGET", "-1%"),
        ("AGENT_BUDGET", "nan"),
        ("AGENT_EVERY", "nvml"),
        ("AGENT_EVERY", "nvml=5x"),
        ("AGENT_EVERY", "=1s"),
        ("AGENT_EVERY", "nvml=1ms"),
    ],
)
def test_what_the_agent_cannot_use(name: str, text: str) -> None:
    """A wrong value is refused with its name."""
    with pytest.raises(ConfigError, match=f"OTEL_ATTRIB_{name} is"):
        load({f"OTEL_ATTRIB_{name}": text})


def test_rates_from_environment_and_file(tmp_path: Path) -> None:
    """Pairs with commas in a variable, a table in a file."""
    path = tmp_path / "settings.toml"
    path.write_text('agent_every = { nvml = "200ms", cpu = "5s" }\n')

    assert (("nvml", 0.2), ("cpu", 5.0)) == load({"OTEL_ATTRIB_CONFIG": str(path)}).agent_every
    assert (("nvml", 0.2), ("cpu", 5.0)) == load(
        {"OTEL_ATTRIB_AGENT_EVERY": "nvml=200ms, cpu=5s"}
    ).agent_every


def test_tenants_from_environment_and_file(tmp_path: Path) -> None:
    """Networks of both families with a name each; what is no network is refused."""
    path = tmp_path / "settings.toml"
    path.write_text('agent_tenants = { "10.1.0.0/16" = "a", "2001:db8::/32" = "b" }\n')

    wanted = (("10.1.0.0/16", "a"), ("2001:db8::/32", "b"))
    assert wanted == load({"OTEL_ATTRIB_CONFIG": str(path)}).agent_tenants
    assert wanted == load({"OTEL_ATTRIB_AGENT_TENANTS": "10.1.0.0/16=a, 2001:db8::/32=b"}).agent_tenants
    for wrong in ("team-a", "10.1.0.0/16", "10.1.0.1/16=a", "a=10.1.0.0/16"):
        with pytest.raises(ConfigError, match="network=name"):
            load({"OTEL_ATTRIB_AGENT_TENANTS": wrong})


def test_environment_wins_over_file_over_default(file: Path) -> None:
    """One value from each place."""
    settings = load({"OTEL_ATTRIB_CONFIG": str(file), "OTEL_ATTRIB_HTTP_PORT": "9001"})

    assert (9001, 1 << 30, 4317) == (settings.http_port, settings.spool_limit, settings.otlp_grpc_port)
    assert ("https://a", "https://b") == settings.cors_origins


def test_given_wins() -> None:
    """An option of the command line wins; None means that it was not given."""
    settings = load({"OTEL_ATTRIB_HTTP_PORT": "9001"}, http_port=0, host=None)

    assert (0, "127.0.0.1") == (settings.http_port, settings.host)


@pytest.mark.parametrize(
    ("text", "expected"),
    [("67108864", 67108864), ("64MiB", 67108864), ("1.5 GiB", 1610612736), ("1GB", 10**9), ("2k", 2000)],
)
def test_size(text: str, expected: int) -> None:
    """Sizes are bytes, decimal or binary."""
    assert expected == size(text)


@pytest.mark.parametrize(
    ("text", "expected"), [("250ms", 0.25), ("10", 10.0), ("5m", 300.0), ("2 h", 7200.0), ("1d", 86400.0)]
)
def test_time(text: str, expected: float) -> None:
    """Times are seconds, or carry their unit."""
    assert expected == load({"OTEL_ATTRIB_STOP_SECONDS": text}).stop_seconds


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("HTTP_PORT", "eighty"),
        ("HTTP_PORT", "65536"),
        ("SPOOL_LIMIT", "much"),
        ("BLOCK_ITEMS", "0"),
        ("BLOCK_SECONDS", "-1"),
    ],
)
def test_wrong_value_names_key_and_value(name: str, value: str) -> None:
    """The message holds the variable as the user wrote it and the value."""
    with pytest.raises(ConfigError) as caught:
        load({PREFIX + name: value})

    assert PREFIX + name in str(caught.value)
    assert repr(value) in str(caught.value)
    assert 2 == caught.value.exit_code


def test_unknown_name_in_file(tmp_path: Path) -> None:
    """A misspelt setting is refused, not ignored."""
    path = tmp_path / "settings.toml"
    path.write_text("spool_limits = 1\n")

    with pytest.raises(ConfigError, match="spool_limits"):
        load({"OTEL_ATTRIB_CONFIG": str(path)})


@pytest.mark.parametrize("text", ["= broken", None], ids=["not TOML", "absent"])
def test_unreadable_file(tmp_path: Path, text: str | None) -> None:
    """A file that cannot be used is named."""
    path = tmp_path / "settings.toml"
    if text is not None:
        path.write_text(text)

    with pytest.raises(ConfigError, match=r"settings\.toml"):
        load({"OTEL_ATTRIB_CONFIG": str(path)})


def test_certificate_needs_key() -> None:
    """Half of a TLS pair is refused."""
    with pytest.raises(ConfigError, match="tls_key"):
        load({"OTEL_ATTRIB_TLS_CERT": "/etc/ssl/cert.pem"})


def test_secrets_are_not_shown() -> None:
    """Neither token nor passwords appear when settings are printed."""
    shown = repr(Settings(otlp_token="s3cret", clickhouse_password="s3cret", dsn="clickhouse://u:s3cret@h/d"))

    assert "s3cret" not in shown


def test_every_setting_is_documented() -> None:
    """The reference page is the one made from the code, and names every variable."""
    text = REFERENCE.read_text()

    assert page() == text
    assert [] == [f.name for f in fields(Settings) if f"`{PREFIX}{f.name.upper()}`" not in text]
