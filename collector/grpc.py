"""OTLP over gRPC: raw bytes in, raw bytes out, on the event loop of everything else.

Messages are decompressed here and not by gRPC, which expands them whole before it looks at their size.
"""

import logging
from collections.abc import Awaitable, Callable
from typing import Any

import grpc
import grpc.aio

from otel_attrib.collector.inflate import sniff
from otel_attrib.collector.listener import bind
from otel_attrib.collector.receiver import Receiver, answer
from otel_attrib.collector.refusal import Refusal
from otel_attrib.collector.signals import SIGNALS, Signal
from otel_attrib.config import Settings
from otel_attrib.errors import OtelAttribError

__all__ = ["listen"]

_log = logging.getLogger(__name__)

Context = grpc.aio.ServicerContext[bytes, bytes]


async def listen(receiver: Receiver, settings: Settings) -> tuple[grpc.aio.Server, int]:
    """Start serving; return the server and its port."""
    server = grpc.aio.server(
        handlers=[_Services(receiver)],
        options=[
            ("grpc.max_receive_message_length", settings.otlp_limit),
            ("grpc.per_message_decompression", 0),
            # Otherwise a second process could share the port, and get half of the requests.
            ("grpc.so_reuseport", 0),
        ],
    )
    # gRPC would tell of a port in use in its own words and on its own channel.
    bind(settings.host, settings.otlp_grpc_port, "otlp-grpc").close()
    address = f"{settings.host}:{settings.otlp_grpc_port}"
    try:
        if settings.tls_cert:
            port = server.add_secure_port(address, _credentials(settings))
        else:
            port = server.add_insecure_port(address)
    except RuntimeError as fault:
        raise OtelAttribError(f"{address} (otlp-grpc) cannot be listened on: {fault}") from fault
    await server.start()
    return server, port


def _credentials(settings: Settings) -> grpc.ServerCredentials:
    with open(settings.tls_key, "rb") as key, open(settings.tls_cert, "rb") as certificate:
        return grpc.ssl_server_credentials([(key.read(), certificate.read())])


class _Services(grpc.GenericRpcHandler):
    """The three Export methods; anything else is UNIMPLEMENTED."""

    def __init__(self, receiver: Receiver) -> None:
        self._handlers: dict[str, Any] = {
            signal.method: grpc.unary_unary_rpc_method_handler(_export(receiver, signal))
            for signal in SIGNALS
        }

    def service(self, handler_call_details: grpc.HandlerCallDetails) -> Any:
        return self._handlers.get(handler_call_details.method)


def _export(receiver: Receiver, signal: Signal) -> Callable[[bytes, Context], Awaitable[bytes]]:
    async def export(message: bytes, context: Context) -> bytes:
        try:
            with receiver.counting(signal, "grpc"):
                return await _take(receiver, signal, message, context)
        except Refusal as refusal:
            await _abort(context, refusal)
        except Exception:
            _log.exception("a request failed")
            await _abort(context, Refusal("internal", "the service failed, see its log"))
        raise AssertionError("abort does not return")

    return export


async def _take(receiver: Receiver, signal: Signal, message: bytes, context: Context) -> bytes:
    metadata = dict(context.invocation_metadata() or ())
    receiver.admit(str(metadata.get("authorization", "")))
    held = len(message)
    receiver.hold(held)
    try:
        encoding = sniff(message)
        if encoding:
            message = await receiver.inflate(message, encoding)
            receiver.hold(len(message))
            held += len(message)
        response: bytes = answer(signal, await receiver.take(signal, message)).SerializeToString()
        return response
    finally:
        receiver.release(held)


async def _abort(context: Context, refusal: Refusal) -> None:
    metadata = [("grpc-status-details-bin", refusal.status().SerializeToString())]
    if refusal.reason.retry_seconds is not None:
        # OpenTelemetry's Python exporter looks for it under this name.
        metadata.append(("google.rpc.retryinfo-bin", refusal.retry_info().SerializeToString()))
    await context.abort(refusal.reason.grpc, str(refusal), tuple(metadata))
