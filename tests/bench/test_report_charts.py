"""The charts: they show the figures of the result, and say them in words and in a table."""

import re
from itertools import pairwise
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.report.catalogue import NoChart, charts_of, charts_of_all
from bench.report.chart import NARROW, WIDE, Chart, Table, standalone
from bench.report.charts.frontier import frontier_charts
from bench.report.charts.keys import key_places
from bench.report.charts.lanes import covered, job_lanes
from bench.report.charts.latency import percentile_name
from bench.report.charts.rate import rates_of
from bench.report.charts.write_amp import growth_chart
from bench.report.frame import spread
from bench.report.placing import Labels
from bench.report.runs import make_runs
from bench.report.svg import Canvas
from bench.report.timeline import Timeline, peaks, spaced, timeline_of
from tests.bench import report_examples as examples

OF_AMPLIFY = [
    "write-amp",
    "write-amp-causes",
    "rate",
    "latency",
    "space",
    "space-parts",
    "reads",
    "read-blocks",
    "filters",
    "monkey",
    "levels",
]
OF_SWEEP = ["frontier-space-amp", "frontier-miss-blocks", "frontier-scan-runs", "effects"]
OF_COMPARE = ["ratios", "engine-rates", "engine-latency"]
OF_COMPARE += ["engine-tree-write-amp", "engine-write-amp", "engine-space-amp"]


def run_of(result, name="run"):
    return make_runs([(name, result)])[0]


def drawn(result):
    shown = charts_of(run_of(result))
    assert not [chart for chart in shown if isinstance(chart, NoChart)]
    return {chart.name: chart for chart in shown}


@pytest.mark.parametrize(
    ("result", "names"),
    [(examples.amplify(), OF_AMPLIFY), (examples.sweep(), OF_SWEEP), (examples.compare(), OF_COMPARE)],
    ids=["amplify", "sweep", "compare"],
)
def test_every_part_of_a_result_has_its_chart(result, names):
    found = drawn(result)

    assert sorted(found) == sorted(names)
    for chart in found.values():
        assert chart.summary.endswith(".") and chart.table.rows
        assert all(len(row) == len(chart.table.head) for row in chart.table.rows)


@pytest.mark.parametrize("chart", [*drawn(examples.amplify()).values(), *drawn(examples.compare()).values()])
def test_a_picture_is_well_formed_labelled_and_inside_its_frame(chart):
    for picture, width in ((chart.wide, WIDE), (chart.narrow, NARROW), (standalone(chart), WIDE + 32)):
        root = ET.fromstring(picture)
        left, top, wide, high = map(float, root.get("viewBox").split())
        assert wide == width and high > 40
        for mark in root.iter("{http://www.w3.org/2000/svg}rect"):
            if mark.get("class") and not mark.get("width").endswith("%"):
                assert left - 1 <= float(mark.get("x")) <= wide
                assert float(mark.get("x")) + float(mark.get("width")) <= wide + 1
                assert top - 1 <= float(mark.get("y")) <= high
        assert "nan" not in picture and "inf" not in re.findall(r'="[^"]*"', picture)
    assert f'<title id="run1-{chart.name}-w-title">' in chart.wide and "<desc" in chart.wide
    assert 'role="img"' in chart.wide and 'tabindex="0"' in chart.wide


@pytest.mark.parametrize("name", ["wide", "narrow"])
def test_texts_of_a_legend_and_at_the_right_do_not_touch(name):
    for chart in (*drawn(examples.amplify()).values(), *drawn(examples.compare()).values()):
        root = ET.fromstring(getattr(chart, name))
        boxes = []
        for text in root.iter("{http://www.w3.org/2000/svg}text"):
            if text.get("text-anchor") is None and "halo" not in (text.get("class") or ""):
                x, y = float(text.get("x")), float(text.get("y"))
                boxes.append((x, x + 6 * len(text.text), y - 9, y, text.text))
        for at, one in enumerate(boxes):
            for other in boxes[:at]:
                beside = one[0] >= other[1] or other[0] >= one[1]
                assert beside or one[2] >= other[3] or other[2] >= one[3], (chart.name, one, other)


def test_write_amplification_is_bytes_written_over_bytes_of_users():
    result = examples.amplify()
    result["timeline"] = {
        "seconds": [0, 1, 2],
        "user_bytes": [0, 100, 200],
        "written": {"log": [0, 110, 220], "L1": [0, 100, 400], "flush": [0, 90, 180]},
    }
    del result["predicted_line"], result["figures"]["predicted_write_amp"]

    chart = growth_chart(run_of(result))

    assert chart.table.head == ["written by users", "log", "flush", "L1", "total"]
    assert [row[1:] for row in chart.table.rows] == [
        ["1.10", "0.90", "1.00", "3.00"],
        ["1.10", "0.90", "2.00", "4.00"],
    ]
    assert chart.summary.startswith("4.00 bytes were written for each byte of users")
    assert "theory" not in chart.wide.partition("<rect")[0]


def test_the_theory_line_is_the_predicted_figure_where_there_is_no_line():
    result = examples.amplify()
    del result["predicted_line"]

    assert "Theory says 9.45" in growth_chart(run_of(result)).summary


def test_a_simulation_has_its_line_without_a_timeline():
    result = {"predicted_line": examples.amplify()["predicted_line"]}

    (chart,) = charts_of(run_of(result))

    assert chart.name == "write-amp-simulated" and "9.42 bytes would be written" in chart.summary


def test_false_positives_of_one_size_are_drawn_evenly_and_others_by_logarithm():
    result = examples.amplify()
    assert "0.001 %" in drawn(result)["filters"].wide

    result["reads"]["filters"] = [
        {"level": level, "measured": 0.008, "predicted": 0.0082, "error": 0.001} for level in (1, 2)
    ]

    chart = drawn(result)["filters"]
    assert ">0.0 %<" in chart.wide and chart.wide.count('class="whisker') == 2


def test_the_slowest_interval_is_found_however_long_the_run():
    count = 50_000
    operations = np.arange(count + 1) * 100.0
    operations[30_001:] -= 90
    timeline = Timeline(np.arange(count + 1, dtype=float), {"operations": operations.tolist()})

    rates = rates_of(timeline)

    assert rates.worst == (30_000.5, 10.0)
    assert len(rates.mean) <= 360 and rates.low.min() == 10.0
    assert rates.overall == pytest.approx(100, rel=1e-3)


def test_waiting_for_the_background_at_the_end_is_no_rate():
    timeline = Timeline(np.arange(7.0), {"operations": [0, 100, 160, 260, 260, 260, 260]})

    rates = rates_of(timeline)

    assert rates.worst == (1.5, 60.0) and rates.overall == pytest.approx(260 / 3)
    assert rates.edges[-1] == 3.0


def test_a_run_without_operations_has_no_rate():
    result = {"timeline": {"seconds": [0, 1, 2], "operations": [0, 0, 0]}}

    (shown,) = charts_of(run_of(result))

    assert isinstance(shown, NoChart) and "intervals" in shown.why


def test_levels_have_colours_by_their_depth_and_idle_causes_none():
    result = examples.amplify()
    written = result["timeline"]["written"]
    for level, depth in (("L1", "L4"), ("L2", "L5"), ("L3", "L6")):
        written[depth] = written.pop(level)
    written["read"] = [0] * len(written["log"])
    for level in result["levels"]:
        level["level"] += 3 if level["level"] else 0

    run = run_of(result)

    assert run.first_level == 4
    assert "layer l1" in growth_chart(run).wide and "layer l4" not in growth_chart(run).wide
    assert "read" not in growth_chart(run).table.head


def test_samples_keep_the_ends_and_the_peaks():
    values = np.zeros(100_000)
    values[77_123] = 5

    assert 77_123 in peaks(values) and len(peaks(values)) <= 363
    assert spaced(100_000)[0] == 0 and spaced(100_000)[-1] == 99_999
    assert list(spaced(3)) == [0, 1, 2] and list(peaks(np.array([1.0, 2.0]))) == [0, 1]


@given(
    st.lists(st.tuples(st.integers(0, 30), st.integers(0, 20)), min_size=1, max_size=12),
    st.integers(1, 9),
)
def test_the_share_of_time_that_jobs_cover_is_that_of_their_union(spans, columns):
    edges = np.linspace(0, 36, columns + 1)
    ticks = np.arange(0, 36, 0.25) + 0.125
    busy = np.array([any(start <= tick < start + took for start, took in spans) for tick in ticks])
    wanted = [busy[(ticks >= low) & (ticks < high)].mean() for low, high in pairwise(edges)]

    found = covered(np.array([(start, start + took) for start, took in spans], dtype=float), edges)

    # Columns that do not end at a quarter are off by the part of one.
    assert np.allclose(found, wanted, atol=0.3 * columns / 36 + 1e-9)


def test_merges_have_a_lane_for_each_level():
    lanes = job_lanes(run_of(examples.amplify()), 120.0)

    assert [lane.name for lane in lanes] == ["flush", "merge L1", "merge L2", "merge L3"]
    assert lanes[3].busy.sum() / len(lanes[3].busy) == pytest.approx(0.2, abs=0.01)


def test_thousands_of_tables_are_drawn_together_and_none_is_lost():
    result = examples.amplify()
    tables = [
        {"number": at, "smallest": f"{at:08x}", "largest": f"{at:08x}", "size_bytes": 2, "entries": 1}
        for at in range(20_000)
    ]
    result["levels"] = [{"level": 1, "target_bytes": 80_000, "tables": tables}]

    chart = drawn(result)["levels"]

    drawn_together = [
        int(more.replace(",", "")) + 1 for more in re.findall(r"and ([0-9,]+) more", chart.wide)
    ]
    assert sum(drawn_together) == 20_000 and 100 < len(drawn_together) < 400
    assert "20,000 tables, 39.1 KiB, 50.0 % of its target" in chart.summary


def test_keys_are_placed_evenly_whatever_their_alphabet():
    decimal = [b"key%06d" % number for number in (0, 250_000, 500_000, 999_999)]
    binary = [number.to_bytes(8, "big") for number in (0, 1 << 62, 1 << 63, (1 << 64) - 1)]

    for keys in (decimal, binary):
        assert key_places(keys) == pytest.approx([0, 0.25, 0.5, 1], abs=0.001)
    assert key_places([]) == [] and key_places([b"a", b"a"]) == [0.0, 0.0]
    assert key_places([b"", b"\0"]) == [0.0, 1.0]


@given(st.lists(st.binary(max_size=6), min_size=1, max_size=20))
def test_places_are_in_the_order_of_keys(keys):
    places = key_places(sorted(keys))

    assert places == sorted(places) and min(places) >= 0 and max(places) <= 1


@given(st.lists(st.floats(0, 200), max_size=12))
def test_labels_are_moved_apart(places):
    found = spread(sorted(places), 15, 0, 200)

    assert all(after - before >= 15 - 1e-6 for before, after in pairwise(found))
    if found:
        assert found[-1] <= 200 and (found[0] >= 0 or len(found) > 13)


def test_a_label_without_room_is_left_out():
    labels = Labels(0, 60, 0, 30)
    canvas = Canvas(60, "p")

    assert labels.write(canvas, "abcd", (20, 15))
    assert not labels.write(canvas, "abcdefghijkl", (20, 15))
    assert canvas.body.count("<text") == 1


def test_a_grid_is_grouped_by_the_first_setting_that_varies():
    settings = [(policy, ratio) for policy in ("leveled", "tiered") for ratio in (4, 10)]
    frontier = [
        {
            "label": f"policy {policy}, ratio {ratio}, bits 10",
            "factor": "",
            "write_amp": at + 1,
            "space_amp": 9 - at,
        }
        for at, (policy, ratio) in enumerate(settings)
    ]

    (chart, *_) = frontier_charts(run_of({"frontier": frontier}))

    texts = re.findall(">([^<>]+)</text>", chart.wide)
    assert {"policy leveled", "policy tiered"} <= set(texts) and texts.count("ratio 4") == 2
    assert "stroke" not in chart.wide, "a line through a grid would mean nothing"
    assert chart.table.rows[0][0] == "policy leveled, ratio 4, bits 10"


def test_a_sweep_names_what_nothing_beats():
    charts = frontier_charts(run_of(examples.sweep()))

    assert "policy tiered" in charts[0].summary and "memtable 16MiB" in charts[0].summary
    assert "memtable 1MiB" not in charts[0].summary


def test_settings_of_a_sweep_are_shown_beside_its_base():
    chart = drawn(examples.sweep())["effects"]

    rows = {row[0]: row[1:] for row in chart.table.rows}
    assert rows["policy tiered"] == ["0.43×", "2.32×", "5.62×", "3.50×"]
    assert "base" not in rows and "policy tiered: 0.43× the write amplification of the base" in chart.summary


def test_what_was_measured_is_shown_beside_the_base_that_was_measured():
    result = examples.sweep()
    points = [{"label": "base", "factor": "base", "value": "base"}, {"label": "a", "factor": "a", "value": 1}]
    result["frontier"] = [
        point | {"source": source, "write_amp": write_amp, "space_amp": 1.1}
        for source, costs in (("simulated", (4, 2)), ("measured", (5, 2)))
        for point, write_amp in zip(points, costs, strict=True)
    ]

    rows = {row[0]: row[1] for row in drawn(result)["effects"].table.rows}

    assert rows == {"a, simulated": "0.50×", "a, measured": "0.40×"}


def test_it_is_said_when_figures_are_of_a_part_of_the_run():
    result = examples.amplify()

    assert not drawn(result)["write-amp"].notes
    result["measured_from_user_bytes"] = 8 * 1024 * 1024
    assert "after 8.00 MiB" in drawn(result)["write-amp"].notes[0]


def test_percentiles_have_their_usual_names():
    names = [percentile_name(share) for share in (0, 0.5, 0.99, 0.9999, 1)]

    assert names == ["min", "p50", "p99", "p99.99", "max"]


def test_runs_are_shown_together():
    runs = make_runs(
        [("a", examples.amplify()), ("b", examples.amplify(2, 1.4)), ("c", examples.sweep()), ("a", {})]
    )

    found = charts_of_all(runs)

    assert [run.label for run in runs] == ["a", "b", "c", "a (2)"]
    assert [chart.name for chart in found] == [
        "write-amp",
        "space",
        "misses",
        "frontier-space-amp",
        "rate",
        "latency",
    ]
    assert "a 9.04; b 12.7; c 9.50" in found[0].summary
    assert "total, not by cause" in found[0].wide  # of c nobody knows what has written it
    assert all(isinstance(chart, Chart) for chart in found)


def test_one_bad_run_does_not_keep_the_others_from_being_shown_together():
    bad = examples.amplify()
    bad["timeline"]["operations"] = "many"
    bad["latency_us"]["put"]["us"] = [1]
    runs = make_runs([("a", examples.amplify()), ("b", bad), ("c", examples.amplify(2, 1.4))])

    found = {chart.name: chart for chart in charts_of_all(runs)}

    assert [row[0] for row in found["rate"].table.rows] == ["a", "c"]
    assert {row[0] for row in found["latency"].table.rows} == {"a, put", "c, put"}


def test_a_long_table_is_shortened_and_says_so():
    table = Table(["n"], [[str(at)] for at in range(10_000)]).shortened()

    assert len(table.rows) == 200 and table.rows[0] == ["0"] and table.rows[-1] == ["9999"]
    assert "200 of 10,000 rows" in table.note


def test_a_result_without_timeline_has_none():
    assert timeline_of(run_of({})) is None
    assert charts_of(run_of({})) == []
