"""Sections as plain text: columns under each other, sentences wrapped, nothing cut."""

from lsm.explain.page import WIDTH, Section, page_text, without_empty_columns
from lsm.explain.text import plural, python_key, size


def test_a_section_is_a_title_a_table_and_sentences():
    section = Section(
        title="Levels", columns=("level ", "size"), rows=(("L0", "1 B"), ("L6", "10 B")), lines=("All.",)
    )

    assert page_text([section, Section(title="End")]) == (
        "Levels\n  level  size\n  L0      1 B\n  L6     10 B\n  All.\n\nEnd"
    )


def test_the_last_column_is_wrapped_and_loses_no_word():
    words = " ".join(f"word{number}" for number in range(60))
    text = page_text([Section(title="t", columns=("a ", "n", "why "), rows=(("x", "1", words),))])

    assert max(map(len, text.splitlines())) <= WIDTH
    assert text.split()[6:] == words.split()


def test_a_word_longer_than_the_page_is_broken_not_lost():
    text = page_text([Section(title="t", columns=("why ",), rows=(("x" * 500,),))])

    assert text.count("x") == 500
    assert max(map(len, text.splitlines())) <= WIDTH


def test_columns_in_which_nothing_stands_go():
    section = Section(title="t", columns=("a ", "b", "c"), rows=(("1", "", "3"), ("4", "", "")))

    assert without_empty_columns(section).columns == ("a ", "c")
    assert without_empty_columns(section).rows == (("1", "3"), ("4", ""))
    assert without_empty_columns(Section(title="t", columns=("a",))).columns == ()


def test_small_pieces():
    assert [size(count) for count in (0, 1023, 1024, 1536, 2**40 * 3, -2048)] == [
        "0 B",
        "1023 B",
        "1.0 KiB",
        "1.5 KiB",
        "3.0 TiB",
        "-2.0 KiB",
    ]
    assert (plural(1, "table"), plural(2000, "table")) == ("1 table", "2,000 tables")
    assert plural(0, "entry", "entries") == "0 entries"
    assert python_key(b"\x1b\xff") == r"b'\x1b\xff'"
    assert len(python_key(b"\xff" * 1000)) < 200
