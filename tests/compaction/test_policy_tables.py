"""Policies by text tables: levels in, plan out."""

import pytest

from compaction import LazyPolicy, LeveledPolicy, Levels, TieredPolicy, check_levels, plan_full
from tests.compaction.datadriven import Case, run_file
from tests.compaction.trees import format_plan, parse_levels

KINDS = {"leveled": LeveledPolicy, "tiered": TieredPolicy, "lazy": LazyPolicy}


class Table:
    """Keeps the policy and the levels from case to case."""

    def __init__(self) -> None:
        self.policy = LeveledPolicy()
        self.levels: Levels = ()

    def handle(self, case: Case) -> str:
        answer: str = getattr(self, f"on_{case.command}")(case)
        return answer

    def on_policy(self, case: Case) -> str:
        settings = case.arguments
        kind = KINDS[settings.pop("kind", "leveled")]
        self.policy = kind(**{name: int(value) for name, value in settings.items()})
        return ""

    def on_levels(self, case: Case) -> str:
        self.levels = parse_levels(case.lines, max(7, self.policy.levels_max))
        check_levels(self.levels)
        return ""

    def on_targets(self, case: Case) -> str:
        targets = self.policy.targets(self.levels)
        pressures = self.policy.pressures(self.levels)
        return "\n".join(
            f"L{level}: target {target:g}, pressure {pressure:.2f}"
            + (", base" if level == targets.base_level else "")
            for level, (target, pressure) in enumerate(zip(targets.level_bytes, pressures, strict=True))
            if target or pressure or level == targets.base_level
        )

    def on_choose(self, case: Case) -> str:
        arguments = case.arguments
        busy = frozenset(int(number) for number in arguments.get("busy", "").split(",") if number)
        snapshot = int(arguments["snapshot"]) if "snapshot" in arguments else None
        now_us = int(arguments.get("now", 0)) * 1_000_000
        return format_plan(self.policy.choose(self.levels, busy, now_us, snapshot))

    def on_full(self, case: Case) -> str:
        arguments = case.arguments
        start, stop = (arguments[name].encode() if name in arguments else None for name in ("start", "stop"))
        snapshot = int(arguments["snapshot"]) if "snapshot" in arguments else None
        return format_plan(plan_full(self.levels, start, stop, oldest_snapshot=snapshot))


@pytest.mark.parametrize("name", ["leveled.txt", "tombstones.txt", "joining.txt", "full.txt", "runs.txt"])
def test_policy_by_tables(name):
    run_file(name, Table().handle)
