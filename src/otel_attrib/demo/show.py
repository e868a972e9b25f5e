"""The demonstration as a person sees it: live with vLLM, or from a recording."""

import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from otel_attrib.demo.account import Account, make_account
from otel_attrib.demo.environment import CannotInstall, ensure_model, ensure_vllm
from otel_attrib.demo.recording import Recording, Tap, batched, load_recording, shifted_body
from otel_attrib.demo.scenario import Director
from otel_attrib.demo.service import Service
from otel_attrib.errors import OtelAttribError

__all__ = ["show_live", "show_recording"]

Tell = Callable[[str], None]
STORE_SECONDS = 60.0
BODY_BYTES = 1 << 20


def show_live(folder: Path, tell: Tell, record: Path | None = None) -> Account:
    """Run the whole scenario with a real vLLM; write it to `record` where that is given."""
    try:
        ensure_vllm()
    except CannotInstall as fault:
        raise OtelAttribError(
            f"{fault}\n`otel-attrib demo --replay` shows a recorded run without vLLM"
        ) from fault
    ensure_model()
    tell("starting `otel-attrib up` on free ports")
    with ExitStack() as stack:
        service = stack.enter_context(Service(folder))
        if record is None:
            director = Director(service, service.otlp_grpc, folder, tell)
            story = director.run()
        else:
            tap = stack.enter_context(Tap(service.otlp_http))
            director = Director(service, tap.url, folder, tell, protocol="http/protobuf")
            story = director.run()
            Recording(story, tuple(director.outcomes), tuple(tap.bodies)).save(record)
            tell(f"recorded to {record} ({record.stat().st_size / 1e6:.1f} MB)")
        tell("asking why")
        return make_account(service, story, director.outcomes)


def show_recording(folder: Path, tell: Tell, path: Path | None = None) -> Account:
    """Send a recorded run's exports to a fresh service, moved so that the last phase ends now."""
    recording = load_recording(path)
    by_ns = time.time_ns() - recording.story.end_ns
    story = recording.story.shifted(by_ns)
    tell("starting `otel-attrib up` on free ports")
    # What this machine's counters say now is not what the recorded one's said then.
    with Service(folder, "--no-agent") as service:
        tell(f"sending the {len(recording.bodies)} exports of a recorded run, moved to now")
        for body in batched(recording.bodies, BODY_BYTES):
            service.post("/v1/traces", shifted_body(body, by_ns))
        service.wait_for_requests(story.sent, STORE_SECONDS)
        tell("asking why")
        return make_account(service, story, recording.outcomes)
