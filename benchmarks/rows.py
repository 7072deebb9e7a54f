"""What is measured, how much of it, and what this kernel promises for each figure."""

from dataclasses import dataclass, field
from typing import Literal

Figures = dict[str, float]
"""What one round measured for a row: `ours.us`, `peer.us` and so on."""

Promise = Literal["times faster", "of the other", "at most", "at least", "for information"]
Side = Literal["ours", "peer", "semantic-kernel"]
"""Whose environment a row is measured in: this kernel's, the public kernel's, a framework's."""
Scale = Literal["quick", "normal", "full"]


@dataclass(frozen=True)
class Line:
    """One line of the results: two figures, how they are compared, and the target."""

    title: str
    """`{size}` stands for how many sessions or processes were counted."""
    promise: Promise
    target: float = 0.0
    ours: str = "ours.us"
    other: str = "peer.us"
    unit: str = "us"

    def compare(self, figures: Figures) -> float | None:
        """The number that the target speaks of, inside one round; None if it was not measured."""
        if self.ours not in figures:
            return None
        if self.is_absolute:
            return figures[self.ours]
        if self.other not in figures:
            return None
        if self.promise == "of the other":
            return figures[self.ours] / figures[self.other]
        return figures[self.other] / figures[self.ours]

    @property
    def is_absolute(self) -> bool:
        """Whether the target is a figure of this kernel alone."""
        return self.promise in ("at most", "at least")

    @property
    def is_floor(self) -> bool:
        """Whether more is better."""
        return self.promise in ("times faster", "at least")

    def is_kept(self, value: float) -> bool:
        return value >= self.target if self.is_floor else value <= self.target


@dataclass(frozen=True)
class Row:
    """One kind of measurement: what the worker runs, and the lines that come of it."""

    name: str
    lines: tuple[Line, ...]
    sizes: dict[Scale, int] = field(default_factory=dict)
    """Sessions or processes to count with; empty where the row has no size."""
    sides: tuple[Side, ...] = ("ours", "peer")
    max_rounds: int = 5
    deadline: float = 60.0
    """Seconds for one measurement of one kernel."""


ROWS = (
    Row(
        "emit-0",
        (
            Line("emit, nobody listens", "times faster", 150),
            Line("same, beside an empty pluggy call", "of the other", 1.5, other="ours.pluggy_us"),
        ),
    ),
    Row("emit-20", (Line("emit, 20 async listeners", "times faster", 200),)),
    Row("modify-20", (Line("emit, 20 listeners that each modify", "times faster", 60),)),
    Row(
        "payload",
        (
            Line("emit of 1 MB, 5 listeners", "for information"),
            Line("same, beside 100 bytes", "of the other", 1.25, other="ours.small_us"),
        ),
    ),
    Row(
        "session",
        (
            Line("session: create, initialize, clean up", "times faster", 60),
            Line("same, one loader for all", "for information", other="peer.shared_loader_us"),
        ),
    ),
    Row(
        "memory-resident",
        (
            Line("idle session, resident", "at most", 5, "ours.idle_kb", "peer.idle_kb", "kB"),
            Line(
                "kept after cleanup, resident", "at most", 0.2, "ours.kept_kb", "peer.kept_kb", "kB"
            ),
        ),
        sizes={"quick": 300, "normal": 1_000, "full": 2_000},
        max_rounds=3,
        deadline=180,
    ),
    Row(
        "memory-traced",
        (
            Line(
                "idle session, Python objects", "at most", 5, "ours.idle_kb", "peer.idle_kb", "kB"
            ),
            Line("kept, Python objects", "at most", 0.01, "ours.kept_kb", "peer.kept_kb", "kB"),
        ),
        sizes={"quick": 300, "normal": 1_000, "full": 2_000},
        max_rounds=1,
        deadline=180,
    ),
    Row(
        "import",
        (Line("import, three names resolved", "of the other", 0.75, "ours.ms", "peer.ms", "ms"),),
        sizes={"quick": 5, "normal": 15, "full": 25},
    ),
    Row(
        "step",
        (
            Line("tool step in loop-basic", "times faster", 100, other="peer.standin_us"),
            Line("same, loop-basic on both", "for information"),
            Line("same, beside semantic-kernel", "times faster", 6, other="semantic-kernel.us"),
        ),
        sides=("ours", "peer", "semantic-kernel"),
    ),
    Row("hooked-turn", (Line("turn of 10 steps, 20 hooks per event", "times faster", 100),)),
    Row(
        "concurrency",
        (
            Line(
                "{size} sessions x 20 tool steps at once",
                "times faster",
                30,
                "ours.seconds",
                "peer.seconds",
                "s",
            ),
        ),
        sizes={"quick": 100, "normal": 1_000, "full": 1_000},
        max_rounds=3,
        deadline=240,
    ),
    Row(
        "stream",
        (
            Line(
                "streamed tokens, one listener",
                "at least",
                300_000,
                "ours.per_s",
                "peer.per_s",
                "/s",
            ),
        ),
    ),
    Row(
        "first-chunk",
        (
            Line("first chunk, beyond a bare SDK call", "at most", 20, "ours.over_ms", unit="ms"),
            Line(
                "same, beside the whole bare call",
                "for information",
                0,
                "ours.turn_ms",
                "ours.bare_ms",
                "ms",
            ),
        ),
        sides=("ours",),
    ),
    Row(
        "context-add",
        (
            Line("2,000 messages into a context", "for information", 0, "ours.ms", "peer.ms", "ms"),
            Line(
                "same, beside 1,000 messages", "of the other", 2.5, "ours.ms", "ours.half_ms", "ms"
            ),
        ),
    ),
    Row(
        "context-compact",
        (
            Line("compaction of 2,400 messages", "at most", 25, "ours.ms", "peer.ms", "ms"),
            Line(
                "same, beside 1,200 messages", "of the other", 2.5, "ours.ms", "ours.half_ms", "ms"
            ),
        ),
    ),
    Row(
        "context-ask",
        (
            Line("request from 10,000 messages", "at most", 1, "ours.ms", "peer.ms", "ms"),
            Line("same, validated", "at most", 1, "ours.valid_ms", "peer.valid_ms", "ms"),
        ),
    ),
    Row(
        "grpc",
        (
            Line("gRPC tool call, beside a bare one", "of the other", 1.1, other="ours.bare_us"),
            Line("same, beside the public loader", "for information"),
            Line(
                "same with 100 kB, beside a bare one",
                "for information",
                ours="ours.large_us",
                other="ours.bare_large_us",
            ),
        ),
    ),
    Row(
        "wasm-call",
        (
            Line("call of a tool in a component, 1 kB", "of the other", 1.0),
            Line("same, 100 kB", "at most", 30, "ours.large_ms", "peer.large_ms", "ms"),
        ),
    ),
    Row(
        "wasm-load",
        (
            Line("load of a component", "for information", 0, "ours.cold_ms", "peer.cold_ms", "ms"),
            Line("same, compiled before", "at most", 20, "ours.cached_ms", "peer.cached_ms", "ms"),
        ),
    ),
    Row(
        "journal",
        (
            Line(
                "step in a session log, beside bare syncs",
                "of the other",
                1.5,
                "ours.full_us",
                "ours.bare_us",
            ),
            Line("same, relaxed", "at most", 50, "ours.relaxed_us"),
        ),
        sides=("ours",),
    ),
    Row(
        "resume",
        (
            Line("resume of 10,000 messages of 4 kB", "at most", 300, "ours.ms", unit="ms"),
            Line(
                "size of its log, times the content",
                "at most",
                1.3,
                "ours.times_content",
                unit="x",
            ),
        ),
        sides=("ours",),
        max_rounds=3,
    ),
    Row(
        "cli",
        (
            Line("amplifier --help", "at most", 150, "ours.help_ms", unit="ms"),
            Line("amplifier run, mock provider", "at most", 350, "ours.run_ms", unit="ms"),
        ),
        sizes={"quick": 5, "normal": 15, "full": 25},
        sides=("ours",),
    ),
    Row(
        "exit",
        (Line("processes of {size} that end badly", "at most", 0, "ours.bad", "peer.bad", "bad"),),
        sizes={"quick": 20, "normal": 200, "full": 1_000},
        max_rounds=1,
        deadline=600,
    ),
)
