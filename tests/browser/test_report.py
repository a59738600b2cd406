"""The report in a real browser: what is seen, reached by keyboard, asked of a network, and never run."""

import json
from itertools import pairwise

import pytest
from typer.testing import CliRunner

from bench.cli import app
from tests.bench import report_examples as examples
from tests.bench.test_report_hostile import NASTY

pytestmark = pytest.mark.xdist_group("browser")  # one browser is enough

CHARTS = 11 + 11 + 4 + 6 + 6  # two of amplify, one of sweep, one of compare, and what they have in common


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("report")


@pytest.fixture(scope="module")
def report(folder):
    results = {
        "uniform": examples.amplify(),
        "zipf": examples.amplify(2, 1.4, 90),
        "sweep": examples.sweep(),
        "compare": examples.compare(),
    }
    paths = []
    for name, result in results.items():
        paths.append(folder / f"{name}.json")
        paths[-1].write_text(json.dumps(result), encoding="utf-8")
    return made(folder / "report.html", paths, "--charts", str(folder / "charts"))


def made(out, paths, *options):
    done = CliRunner().invoke(app, ["report", *map(str, paths), "--out", str(out), *options])
    assert done.exit_code == 0, done.output
    return out


def shown(page):
    """Return how many charts have a size on the screen."""
    return page.eval_on_selector_all(
        "svg.chart", "all => all.filter(e => e.getBoundingClientRect().width > 100).length"
    )


@pytest.mark.parametrize("width", [1500, 800, 390, 320])
def test_every_chart_is_there_and_nothing_is_wider_than_the_screen(watch, report, width):
    with watch(report, width=width) as watched:
        assert shown(watched.page) == CHARTS
        assert watched.page.evaluate("document.documentElement.scrollWidth") <= width
        assert watched.said == []


def test_nothing_is_asked_of_any_network(watch, report):
    with watch(report) as watched:
        watched.page.wait_for_load_state("networkidle")

        assert watched.requests == [report.as_uri()]
        assert watched.page.evaluate("performance.getEntriesByType('resource').length") == 0


def test_marks_of_a_chart_have_colours_and_extent(watch, report):
    with watch(report) as watched:
        sizes = watched.page.eval_on_selector_all(
            "#run1-write-amp .wide .layer",
            "marks => marks.map(e => [getComputedStyle(e).fill, e.getBBox().width, e.getBBox().height])",
        )
    assert len({colour for colour, *_ in sizes}) == 6
    assert all(width > 300 and height > 0 for _, width, height in sizes)


WORDS_THAT_COLLIDE = """() => {
    const bad = [];
    for (const svg of document.querySelectorAll('svg.chart')) {
        const frame = svg.getBoundingClientRect();
        const boxes = [...svg.querySelectorAll('text')].map(e => [e.textContent, e.getBoundingClientRect()]);
        boxes.filter(() => frame.width).forEach(([text, box], at) => {
            if (box.left < frame.left - 2 || box.right > frame.right + 2) bad.push(['outside', text]);
            for (const [other, place] of boxes.slice(0, at)) {
                const across = Math.min(box.right, place.right) - Math.max(box.left, place.left);
                const down = Math.min(box.bottom, place.bottom) - Math.max(box.top, place.top);
                if (across > 2 && down > 5) bad.push([svg.querySelector('title').id, text, other]);
            }
        });
    }
    return bad;
}"""


@pytest.mark.parametrize("width", [1500, 390])
def test_words_of_a_chart_lie_inside_it_and_apart(watch, report, width):
    # Measured by the browser, with its own fonts: the layout only assumes how wide a text is.
    with watch(report, width=width) as watched:
        assert watched.page.evaluate(WORDS_THAT_COLLIDE) == []


def test_the_keyboard_reaches_every_chart_and_every_table(watch, report):
    with watch(report) as watched:
        page = watched.page
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.className") == "skip"
        page.keyboard.press("Enter")
        reached = []
        while len(reached) < 400 and "body" not in reached:
            page.keyboard.press("Tab")
            tag, outline = page.evaluate(
                "(e => [e.tagName.toLowerCase(), getComputedStyle(e).outlineStyle])(document.activeElement)"
            )
            assert tag == "body" or outline == "solid", tag
            reached.append(tag)
    assert reached.count("svg") == CHARTS and reached.count("summary") >= CHARTS


def test_a_table_opens_by_keyboard(watch, report):
    with watch(report) as watched:
        page = watched.page
        page.locator("#run1-latency summary").focus()
        page.keyboard.press("Enter")

        assert page.locator("#run1-latency table").is_visible()
        assert page.locator("#run1-latency tbody tr").count() == 14


def test_charts_and_landmarks_have_names(watch, report):
    with watch(report) as watched:
        page = watched.page
        names = page.get_by_role("img").evaluate_all(
            "all => all.map(e => e.getAttribute('aria-labelledby').split(' ')"
            ".map(id => document.getElementById(id).textContent))"
        )
        landmarks = [
            page.get_by_role(role).count() for role in ("banner", "navigation", "main", "contentinfo")
        ]
        levels = page.eval_on_selector_all("h1,h2,h3", "all => all.map(e => +e.tagName[1])")
        twice = page.evaluate(
            "(() => {const ids = [...document.querySelectorAll('[id]')].map(e => e.id);"
            "return ids.filter((id, at) => ids.indexOf(id) !== at)})()"
        )
    assert len(names) == CHARTS and all(title and about for title, about in names)
    assert landmarks == [1, 1, 1, 1]
    assert levels[0] == 1 and all(after - before <= 1 for before, after in pairwise(levels))
    assert twice == []


def test_links_of_the_contents_lead_somewhere(watch, report):
    with watch(report) as watched:
        lost = watched.page.eval_on_selector_all(
            "a", "all => all.filter(e => !document.querySelector(e.getAttribute('href'))).length"
        )
    assert lost == 0


def test_dark_is_not_light(watch, report):
    colours, pictures = [], []
    for scheme in ("light", "dark"):
        with watch(report, scheme=scheme) as watched:
            page = watched.page
            ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
            text = page.evaluate("getComputedStyle(document.querySelector('svg.chart text')).fill")
            mark = page.evaluate("getComputedStyle(document.querySelector('.layer')).fill")
            colours.append((ground, text, mark))
            pictures.append(page.locator("#run1-rate").screenshot())
    assert all(light != dark for light, dark in zip(*colours, strict=True))
    assert pictures[0] != pictures[1]
    assert colours[0][0] == "rgb(255, 255, 255)"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_chart_is_a_picture_of_its_own(watch, report, folder, scheme):
    files = sorted((folder / "charts").iterdir())
    assert len(files) == CHARTS
    for path in files[::9]:
        with watch(path, scheme=scheme) as watched:
            page = watched.page
            assert page.evaluate("document.documentElement.getBoundingClientRect().height") > 80
            ground = page.evaluate("getComputedStyle(document.querySelector('rect')).fill")
            assert (ground == "rgb(255, 255, 255)") is (scheme == "light")
            assert watched.said == [] and len(watched.requests) == 1


def poisoned(value):
    if isinstance(value, list):
        return [poisoned(item) for item in value]
    if isinstance(value, dict):
        return {key: poisoned(item) for key, item in value.items()}
    return NASTY if isinstance(value, str) else value


def test_hostile_texts_are_shown_and_never_run(watch, folder):
    paths = []
    for number, result in enumerate((examples.amplify(), examples.sweep(), examples.compare())):
        kept = {key: result[key] for key in ("command", "format") if key in result}
        paths.append(folder / f"<img src=x onerror=alert({number})>.json")
        result["figures"] = result.get("figures", {}) | {NASTY: 1.0}
        paths[-1].write_text(json.dumps(poisoned(result) | kept), encoding="utf-8")
    page = made(folder / "hostile.html", paths)

    with watch(page) as watched:
        assert watched.page.locator("script, img, iframe, object, embed, link, form").count() == 0
        assert "<script>alert(1)</script>" in watched.page.inner_text("main")
        assert watched.said == [] and len(watched.requests) == 1
        assert shown(watched.page) > 10


def test_the_policy_of_the_page_holds_whatever_got_in(watch, report, folder):
    """What escaping has missed, if it ever does, the browser must refuse to run and to load."""
    broken = folder / "broken.html"
    extra = "<script>document.title='ran'</script><img src='http://127.0.0.1:9/x.png'><body onload=alert(1)>"
    broken.write_text(report.read_text(encoding="utf-8").replace("<main", f"{extra}<main"), encoding="utf-8")

    with watch(broken) as watched:
        watched.page.wait_for_load_state("networkidle")

        assert watched.page.title() == "Bench report"
        assert watched.requests == [broken.as_uri()]
        assert watched.said and all("Content Security Policy" in said for said in watched.said)
