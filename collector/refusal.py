"""Why a request is refused: one word, and what it is in HTTP and in gRPC.

OTLP clients try again on 429 and 503, and on UNAVAILABLE or RESOURCE_EXHAUSTED with a RetryInfo;
on everything else they drop the data. So only what can pass later carries a time to wait.
"""

from dataclasses import dataclass

from google.protobuf.duration_pb2 import Duration
from google.rpc.error_details_pb2 import RetryInfo
from google.rpc.status_pb2 import Status
from grpc import StatusCode

from otel_attrib.errors import OtelAttribError

__all__ = ["REASONS", "Reason", "Refusal"]


@dataclass(frozen=True, slots=True)
class Reason:
    """One reason; `retry_seconds` is None where trying again is no use."""

    http: int
    grpc: StatusCode
    retry_seconds: int | None = None


REASONS = {
    "malformed": Reason(400, StatusCode.INVALID_ARGUMENT),
    "unauthorized": Reason(401, StatusCode.UNAUTHENTICATED),
    "path": Reason(404, StatusCode.UNIMPLEMENTED),
    "method": Reason(405, StatusCode.UNIMPLEMENTED),
    "timeout": Reason(408, StatusCode.DEADLINE_EXCEEDED),
    "too_large": Reason(413, StatusCode.RESOURCE_EXHAUSTED),
    "media_type": Reason(415, StatusCode.INVALID_ARGUMENT),
    "encoding": Reason(415, StatusCode.UNIMPLEMENTED),
    "busy": Reason(429, StatusCode.RESOURCE_EXHAUSTED, 1),
    "spool_full": Reason(503, StatusCode.UNAVAILABLE, 5),
    "stopping": Reason(503, StatusCode.UNAVAILABLE, 1),
    # Nobody reads this answer; it is a name to count by.
    "disconnected": Reason(499, StatusCode.CANCELLED),
    "internal": Reason(500, StatusCode.INTERNAL),
}


class Refusal(OtelAttribError):
    """A request is not taken; `name` is a key of `REASONS`."""

    def __init__(self, name: str, message: str) -> None:
        """Look the reason up."""
        super().__init__(message)
        self.name = name
        self.reason = REASONS[name]

    def status(self) -> Status:
        """The `google.rpc.Status` that OTLP asks for as the answer's body."""
        status = Status(code=self.reason.grpc.value[0], message=str(self))
        if self.reason.retry_seconds is not None:
            status.details.add().Pack(self.retry_info())
        return status

    def retry_info(self) -> RetryInfo:
        """How long to wait before the next try."""
        return RetryInfo(retry_delay=Duration(seconds=self.reason.retry_seconds or 0))
