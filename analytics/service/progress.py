"""How far a long question has come: written by the thread that answers, read by whoever waits."""

from dataclasses import dataclass

__all__ = ["Progress", "Stage"]


@dataclass(frozen=True, slots=True)
class Stage:
    """What is being done, after `done` of `of` steps."""

    step: str
    done: int
    of: int


class Progress:
    """The last stage told; one writer, any number of readers."""

    def __init__(self) -> None:
        """Nothing has been told."""
        self.stage: Stage | None = None

    def __call__(self, step: str, done: int, of: int) -> None:
        """Say that `step` begins after `done` of `of` steps."""
        self.stage = Stage(step, done, of)
