"""Result files that nobody should have written: the page is whole, and says what it could not draw."""

import copy
import json
import math
from html.parser import HTMLParser
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.report.catalogue import NoChart
from bench.report.chart import Chart, standalone
from bench.report.command import make_page
from bench.report.page import POLICY, render
from tests.bench import report_examples as examples

NASTY = "</title></script><script>alert(1)</script><img src=x onerror=alert(2)>\"'&\u202e\x00\ud800"
VALUES = st.sampled_from(
    [
        *(None, True, "", "12", NASTY, [], {}, [[]], {"a": 1}, math.nan, math.inf, -math.inf, -1, 0, 1e308),
        *(1e-308, 10**400, 1e18, -0.0, 2**53, [1, 2], [None], ["x"], {"q": [0.5], "us": [0]}, 0.5, 1),
    ]
)
VOID = {"meta", "line", "rect", "path", "circle", "br"}


class Tags(HTMLParser):
    """Counts elements, and checks that they close in order and that nothing can run or load."""

    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.open, self.seen = [], []

    def handle_starttag(self, tag, attributes):
        self.seen.append(tag)
        if tag not in VOID or not self.get_starttag_text().endswith("/>"):
            self.open += [tag] if tag != "meta" else []
        for name, value in attributes:
            assert not name.startswith("on") and name not in ("src", "srcset", "data", "action"), name
            assert name not in ("href", "xlink:href") or value.startswith("#"), value

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def page_of(*results):
    page = make_page([(f"run {NASTY}", result) for result in results], [NASTY])
    text = render(page)
    check(text)
    for one in page.sections:
        for chart in one.charts:
            if isinstance(chart, Chart):
                ET.fromstring(standalone(chart))
    return page, text


def check(text):
    tags = Tags()
    tags.feed(text)
    tags.close()
    assert tags.open == [] and not set(tags.seen) & {
        "script",
        "img",
        "iframe",
        "object",
        "link",
        "base",
        "form",
    }
    assert "url(" not in text.replace("url(#", "") and "@import" not in text
    text.encode("utf-8")


def reasons(page):
    return [chart.why for one in page.sections for chart in one.charts if isinstance(chart, NoChart)]


def test_an_empty_result_has_a_page():
    _, text = page_of({"command": "run"})

    assert "nothing that is drawn" in text and POLICY.replace("'", "&#x27;") in text


def test_all_texts_of_a_result_are_escaped():
    def poisoned(value):
        if isinstance(value, str):
            return NASTY
        if isinstance(value, list):
            return [poisoned(item) for item in value]
        return {key: poisoned(item) for key, item in value.items()} if isinstance(value, dict) else value

    for result in (examples.amplify(), examples.sweep(), examples.compare()):
        named = {f"{key}": value for key, value in result.items()}
        page_of(poisoned(named))


def test_names_that_are_keys_are_escaped_too():
    result = examples.amplify()
    result["timeline"]["written"] = {NASTY: result["timeline"]["written"]["log"]}
    result["latency_us"] = {NASTY: result["latency_us"]["put"]}
    result["figures"] = {NASTY: 3, "write_amp": 2}
    result["settings"] = {NASTY: NASTY}

    page, text = page_of(result, result)

    assert not reasons(page) and "&lt;script&gt;" in text


def places(value, path=()):
    """Yield the path of everything inside a result; of a long list, its first two items."""
    yield path
    items = (
        value.items() if isinstance(value, dict) else enumerate(value[:2]) if isinstance(value, list) else ()
    )
    for key, item in items:
        yield from places(item, (*path, key))


EXAMPLES = [examples.amplify(samples=12), examples.sweep(), examples.compare()]
PATHS = [[path for path in places(result) if path] for result in EXAMPLES]


@given(st.data(), st.integers(0, len(EXAMPLES) - 1))
def test_any_value_may_stand_anywhere(data, number):
    result = EXAMPLES[number]
    for path in data.draw(st.lists(st.sampled_from(PATHS[number]), min_size=1, max_size=4)):
        result = changed(result, path, data.draw(VALUES))

    page_of(result, result)


def changed(result, path, value):
    """Return a result with one value replaced; a path that an earlier change has cut off changes nothing."""
    result = copy.copy(result)
    try:
        inside = result[path[0]]
        result[path[0]] = changed(inside, path[1:], value) if len(path) > 1 else value
    except (KeyError, IndexError, TypeError):
        pass
    return result


@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_every_part_may_be_missing(number):
    for key in EXAMPLES[number]:
        page_of({name: value for name, value in EXAMPLES[number].items() if name != key})


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"operations": [1]}, "operations has 1 items, but seconds has 121"),
        ({"seconds": []}, "samples in the timeline"),
        ({"seconds": [3, 2, 1]}, "do not go up"),
        ({"user_bytes": "many"}, "user_bytes is not a list"),
        ({"table_bytes": [math.inf] * 121}, "table_bytes has numbers"),
        ({"written": []}, "written is not an object"),
        ({"operations": [float(at) for at in range(121, 0, -1)]}, "goes down"),
        ({"user_bytes": [0] * 121}, "nothing was written"),
    ],
)
def test_a_chart_that_cannot_be_drawn_says_why_and_the_others_stay(change, why):
    result = examples.amplify()
    result["timeline"] |= change

    page, text = page_of(result)

    assert any(why in reason for reason in reasons(page)), reasons(page)
    assert sum(isinstance(chart, Chart) for chart in page.sections[0].charts) >= 8
    assert text.count("cannot be drawn") == len(reasons(page))


def test_a_million_items_are_drawn_small():
    count = 1_000_000
    column = list(range(count))
    result = examples.amplify()
    result["timeline"] = {
        "seconds": column,
        "operations": column,
        "user_bytes": column,
        "table_bytes": column,
    }
    result["timeline"]["written"] = {"log": column}
    result["jobs"] = [examples.job("flush", at, 0.5, None, 0) for at in range(0, count, 10)]
    result["notes"] = ["x"] * count
    result["reads"]["hit"]["histogram"] = {str(at): 1 for at in range(100_000)}
    result["settings"] = {str(at): at for at in range(100_000)}
    result["frontier"] = [{"write_amp": at, "space_amp": 1} for at in range(50_000)]

    page, text = page_of(result)

    assert not reasons(page) and len(text) < 2_000_000


@pytest.mark.parametrize("name", ["write_amp_rows", "levels", "latency_us", "frontier"])
def test_too_much_is_refused_by_name(name):
    result = examples.amplify()
    row = {"name": "x", "level": 1, "tables": [], "q": [0.5], "us": [1.0], "measured": 1, "write_amp": 1}
    many = 200_000 if name == "frontier" else 1_000
    result[name] = {str(at): row for at in range(many)} if name == "latency_us" else [row] * many

    page, _ = page_of(result)

    assert [why for why in reasons(page) if name in why]


def test_a_page_is_the_same_every_time():
    assert page_of(*EXAMPLES)[1] == page_of(*json.loads(json.dumps(EXAMPLES)))[1]
