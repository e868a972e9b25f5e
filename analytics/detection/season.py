"""What is usual at this hour: exceedances of the same hour of earlier days."""

from dataclasses import dataclass, field

__all__ = ["HOURS", "Season"]

HOURS = 24
KEEP = 0.7  # of an earlier day's weight that the next day leaves it
WEIGHT = 20.0  # expected exceedances at the plain rate that an hour's own count is set against


@dataclass(slots=True)
class Season:
    """Faded rows and exceedances of each hour of the day (UTC), and the day that each was last added to."""

    rows: list[float] = field(default_factory=lambda: [0.0] * HOURS)
    exceed: list[float] = field(default_factory=lambda: [0.0] * HOURS)
    today_rows: list[float] = field(default_factory=lambda: [0.0] * HOURS)
    today_exceed: list[float] = field(default_factory=lambda: [0.0] * HOURS)
    day: list[int] = field(default_factory=lambda: [-1] * HOURS)

    def add(self, time: float, rows: float, exceed: float) -> None:
        """Count one bin at `time` (seconds since 1970)."""
        hour, day = int(time // 3600) % HOURS, int(time // 86400)
        if self.day[hour] != day:
            self._turn(hour, day)
        self.today_rows[hour] += rows
        self.today_exceed[hour] += exceed

    def factor(self, time: float, rate: float) -> float:
        """Return how many times the plain rate this hour had on earlier days; never below 1."""
        hour = int(time // 3600) % HOURS
        rows, exceed = self.rows[hour], self.exceed[hour]
        if self.day[hour] != int(time // 86400):  # nothing of today: the last day counts as an earlier one
            rows, exceed = (
                KEEP * rows + self.today_rows[hour],
                KEEP * exceed + self.today_exceed[hour],
            )
        return max(1.0, (exceed + WEIGHT) / (rate * rows + WEIGHT))

    def _turn(self, hour: int, day: int) -> None:
        self.rows[hour] = KEEP * self.rows[hour] + self.today_rows[hour]
        self.exceed[hour] = KEEP * self.exceed[hour] + self.today_exceed[hour]
        self.today_rows[hour] = self.today_exceed[hour] = 0.0
        self.day[hour] = day
