"""The colours: enough contrast with their ground, and told apart by eyes of every kind."""

from itertools import combinations, pairwise

import numpy as np
import pytest

from bench.report.theme import GROUND, LEVELS, SERIES, series_style, variables

# What a colour becomes in linear RGB for eyes that lack one kind of cone, after Machado and others (2009).
EYES = {
    "full": np.eye(3),
    "protan": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "deutan": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "tritan": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ],
}
TO_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
WHITE = TO_XYZ.sum(axis=1)


def linear(colour):
    value = np.array([int(colour[at : at + 2], 16) for at in (1, 3, 5)]) / 255
    return np.where(value <= 0.04045, value / 12.92, ((value + 0.055) / 1.055) ** 2.4)


def contrast(one, other):
    low, high = sorted(float(TO_XYZ[1] @ linear(colour)) for colour in (one, other))
    return (high + 0.05) / (low + 0.05)


def distance(one, other, eyes):
    def lab(colour):
        scaled = TO_XYZ @ np.clip(np.array(EYES[eyes]) @ linear(colour), 0, 1) / WHITE
        x, y, z = np.where(scaled > 0.008856, np.cbrt(scaled), 7.787 * scaled + 16 / 116)
        return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])

    return float(np.linalg.norm(lab(one) - lab(other)))


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_every_colour_stands_out_from_its_ground(mode):
    colours = [*SERIES[mode], *LEVELS[mode], variables(mode)["neutral"], variables(mode)["flush"]]

    assert min(contrast(colour, GROUND[mode]) for colour in colours) >= 3


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_text_can_be_read(mode):
    found = variables(mode)

    for ground in (found["ground"], found["wash"]):
        assert contrast(found["ink"], ground) >= 7
        assert contrast(found["soft"], ground) >= 4.5


@pytest.mark.parametrize("eyes", EYES)
@pytest.mark.parametrize("mode", ["light", "dark"])
def test_series_differ_for_every_kind_of_eye(mode, eyes):
    assert min(distance(one, other, eyes) for one, other in combinations(SERIES[mode], 2)) >= 15


@pytest.mark.parametrize("eyes", EYES)
@pytest.mark.parametrize("mode", ["light", "dark"])
def test_neighbouring_levels_differ_for_every_kind_of_eye(mode, eyes):
    assert min(distance(one, other, eyes) for one, other in pairwise(LEVELS[mode])) >= 11


@pytest.mark.parametrize("eyes", EYES)
@pytest.mark.parametrize("mode", ["light", "dark"])
def test_a_flush_differs_from_what_is_drawn_beside_it(mode, eyes):
    found = variables(mode)

    for beside in ("neutral", "l1", "s1"):  # the log, the first level, tombstones and stalls
        assert distance(found["flush"], found[beside], eyes) >= 15


def test_no_two_of_thirty_series_look_the_same():
    styles = [series_style(at) for at in range(30)]

    assert len(set(styles)) == len(styles)
    assert all(one.shape != other.shape and one.dash != other.dash for one, other in pairwise(styles[:6]))
