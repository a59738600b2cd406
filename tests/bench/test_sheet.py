import io

from rich.console import Console

from bench.sheet import Sheet, plain, show

SHEET = Sheet(
    "Title",
    ["workload", "rate", "verdict"],
    [["scan", "1,000", "ahead"], ["a longer name", "2", "behind, target missed"]],
    ["a note [not markup]"],
)


def test_plain_text_has_columns_that_line_up():
    assert plain(SHEET).splitlines() == [
        "Title",
        "  workload        rate                verdict",
        "  scan           1,000                  ahead",
        "  a longer name      2  behind, target missed",
        "  a note [not markup]",
    ]


def test_the_last_column_may_be_text():
    rows = [["x", "1", "one"], ["y", "22", "twenty-two"]]
    sheet = Sheet("Title", ["", "b", "what"], rows, is_last_text=True)

    assert plain(sheet).splitlines()[2:] == ["  x   1  one", "  y  22  twenty-two"]
    file = io.StringIO()
    show(sheet, Console(file=file, force_terminal=True, width=80))
    assert "twenty-two" in file.getvalue()


def test_a_file_gets_plain_text_however_wide():
    file = io.StringIO()
    wide = Sheet("Title", ["a", "b"], [["x" * 200, "y"]])

    show(wide, Console(file=file))

    assert "x" * 200 + "  y" in file.getvalue()


def test_a_terminal_gets_a_ruled_table_with_colours():
    file = io.StringIO()

    show(SHEET, Console(file=file, force_terminal=True, color_system="standard", width=100))

    text = file.getvalue()
    assert "─" in text and "\x1b[31m" in text and "\x1b[32m" in text
    assert "a note [not markup]" in text
