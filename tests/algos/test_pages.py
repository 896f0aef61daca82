"""`python -m algos`: the table, a page, a file's table, and bad arguments."""

from __future__ import annotations

import pytest

from algos import algorithms
from algos.__main__ import BEGIN, END, main, table


def test_without_arguments_the_table(capsys):
    assert main([]) == 0
    assert capsys.readouterr().out == table() + "\n"
    assert len({line.count("|") for line in table().splitlines()}) == 1
    for entry in algorithms():
        assert f"| {entry.source} | {entry.summary} |" in table()


@pytest.mark.parametrize("entry", algorithms(), ids=lambda entry: entry.name)
def test_the_page_of_an_algorithm(entry, capsys):
    assert main([entry.name]) == 0
    page = " ".join(capsys.readouterr().out.split())
    for text in (entry.summary, entry.family, entry.source, entry.guarantee, entry.regret,
                 entry.noiseless or "", entry.epsilon_range):  # fmt: skip
        assert text in page
    for parameter in entry.parameters:
        assert f"{parameter.name} = " in page and parameter.range in page
        assert parameter.meaning in page


def test_a_files_table_is_brought_up_to_date(tmp_path, capsys):
    path = tmp_path / "page.md"
    path.write_text(f"before\n{BEGIN}\nold\n{END}\nafter\n", encoding="utf-8")
    assert main([str(path)]) == 0 and capsys.readouterr().out == ""
    expected = f"before\n{BEGIN}\n{table()}\n{END}\nafter\n"
    assert path.read_text(encoding="utf-8") == expected


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["dp_sse"], "closest: dp_se"),
        (["--frob"], "unrecognized arguments: --frob"),
        (["plain.md"], "a file with the lines"),
        (["bytes.md"], "a text file"),
        (["."], "algorithm: got '.'"),
    ],
)
def test_bad_arguments_are_one_line(arguments, says, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "plain.md").write_text("no markers")
    (tmp_path / "bytes.md").write_bytes(b"\xff\xfe")
    assert main(arguments) == 2
    found = capsys.readouterr()
    assert found.out == "" and found.err.count("\n") == 1 and says in found.err
    assert (tmp_path / "plain.md").read_text() == "no markers"


def test_help(capsys):
    with pytest.raises(SystemExit) as end:
        main(["--help"])
    assert end.value.code == 0 and "NAME" in capsys.readouterr().out
