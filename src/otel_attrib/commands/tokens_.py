"""Make, list and remove the bearer tokens of the API.

They stand in the TOML file that setting `tokens` (OTEL_ATTRIB_TOKENS) names, or
--file; the file holds the SHA-256 of each, never the token, and only its owner
may read it. A running service sees a change at once. Without a file whoever
reaches a service on loopback may do everything, and nobody may do anything on
another address.

Roles: read asks questions, write also makes marks and silences, admin
everything. With --tenant a token sees the requests of these tenants alone.
"""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from otel_attrib.analytics.service.tokens import Token

__all__ = ["add_arguments", "run"]

_COLUMNS = ("name", "role", "tenants", "expires")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.epilog = (
        "example: export OTEL_ATTRIB_TOKENS=/etc/otel-attrib/tokens.toml\n"
        "         otel-attrib tokens add grafana --role read --tenant acme --tenant zen\n"
        "         otel-attrib tokens list"
    )
    parser.add_argument("action", choices=("add", "list", "remove"), help="what to do")
    parser.add_argument("name", nargs="?", metavar="NAME", help="whose token (add, remove)")
    parser.add_argument("--file", metavar="FILE", help="the file of tokens (OTEL_ATTRIB_TOKENS)")
    parser.add_argument("--role", choices=("read", "write", "admin"), help="what it allows (read)")
    parser.add_argument(
        "--tenant", action="append", default=[], metavar="T", help="only this tenant's; repeatable (all)"
    )
    parser.add_argument("--expires", metavar="T", help="for how long it is valid, such as 90d (for ever)")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(args: argparse.Namespace) -> int:
    """Do it."""
    from otel_attrib.errors import UsageError

    path = _path(args.file)
    if args.action == "list":
        given = {"NAME": args.name, "--role": args.role, "--tenant": args.tenant, "--expires": args.expires}
        needless = next((option for option, value in given.items() if value), None)
        if needless:
            raise UsageError(f"{needless} has no use with list")
        return _list(path, args.json)
    if not args.name:
        raise UsageError(f"tokens {args.action} needs a NAME")
    from otel_attrib.analytics.service.tokens import changing

    with changing(path):
        return _add(path, args) if args.action == "add" else _remove(path, args)


def _path(given: str | None) -> Path:
    from otel_attrib.config import load
    from otel_attrib.errors import UsageError

    named = given or load().tokens
    if not named:
        raise UsageError("no file of tokens is named: give --file, or set OTEL_ATTRIB_TOKENS")
    return Path(named)


def _add(path: Path, args: argparse.Namespace) -> int:
    import json
    from datetime import UTC, datetime

    from otel_attrib.analytics.service.tokens import Token, hash_of, new_token, read_tokens, write_tokens
    from otel_attrib.analytics.windows import parse_duration
    from otel_attrib.errors import UsageError

    known = read_tokens(path) if path.exists() else ()
    if any(token.name == args.name for token in known):
        raise UsageError(f"{path} has a token {args.name}: remove it first, or take another name")
    expires = datetime.now(UTC) + parse_duration(args.expires) if args.expires else None
    secret = new_token()
    token = Token(args.name, hash_of(secret), args.role or "read", tuple(args.tenant), expires)
    write_tokens(path, (*known, token))
    if args.json:
        print(json.dumps({**_row(token), "token": secret, "file": str(path)}))
    else:
        print(f"{secret}\nthis is shown once; {path} holds its hash (role {token.role}, {_tenants(token)})")
    return 0


def _remove(path: Path, args: argparse.Namespace) -> int:
    import json

    from otel_attrib.analytics.service.tokens import read_tokens, write_tokens
    from otel_attrib.errors import NotFound, UsageError

    if args.role or args.tenant or args.expires:
        raise UsageError("tokens remove takes a NAME and nothing else")
    known = read_tokens(path)
    kept = [token for token in known if token.name != args.name]
    if len(kept) == len(known):
        raise NotFound(f"{path} has no token {args.name}")
    write_tokens(path, kept)
    print(json.dumps({"removed": args.name}) if args.json else f"removed {args.name} from {path}")
    return 0


def _list(path: Path, as_json: bool) -> int:
    import json

    from otel_attrib.analytics.service.tokens import read_tokens
    from otel_attrib.commands.table import print_table

    rows = [_row(token) for token in read_tokens(path)]
    if as_json:
        print(json.dumps({"file": str(path), "tokens": rows}))
        return 0
    told = [
        (row["name"], row["role"], ", ".join(row["tenants"]) or "all", row["expires"] or "never")
        for row in rows
    ]
    print_table(_COLUMNS, told, left=len(_COLUMNS))
    return 0


def _row(token: "Token") -> dict[str, Any]:
    expires = f"{token.expires:%Y-%m-%dT%H:%M:%SZ}" if token.expires else None
    return {"name": token.name, "role": token.role, "tenants": list(token.tenants), "expires": expires}


def _tenants(token: "Token") -> str:
    return f"tenants {', '.join(token.tenants)}" if token.tenants else "every tenant"
