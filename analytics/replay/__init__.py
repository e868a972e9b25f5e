"""The counterfactual replay of the queue: `replay_queue` says who made requests wait.

`engine` admits requests as a continuous-batching engine does, `calibrate` fits its limits to the
baseline, `gate` says whether the fit is good enough, `queue_replay` plays the coalitions.
"""

from otel_attrib.analytics.replay.queue_replay import Replay, replay_queue

__all__ = ["Replay", "replay_queue"]
