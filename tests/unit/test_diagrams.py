"""The diagrams show the whole table, and a file that does not is found."""

import re
import shutil
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
import typer
from statemachine.io.scxml.processor import SCXMLProcessor
from typer.testing import CliRunner

from actors import diagrams
from statecharts.chart import CONNECTION_STATES, OPEN, ROWS, TABLE
from statecharts.diagrams import Format, html, render, stamp
from statecharts.diagrams.gather import gather
from statecharts.diagrams.layout import PLACES, ROUTES
from statecharts.diagrams.picture import OPEN_TURN, Kind, picture
from statecharts.diagrams.scxml import NAMESPACE
from statecharts.diagrams.sections import Section
from statecharts.guards import QUESTIONS
from statecharts.lines import Line, Row, State
from statecharts.rules import Action, Rule

needs_graphviz = pytest.mark.skipif(shutil.which("dot") is None, reason="needs Graphviz's dot")

PICTURES = (Format.MERMAID, Format.DOT)
STEPS = {(row.source.value, row.target.value) for row in ROWS if row.target}


def base(line: Line) -> str:
    return line.id.partition(":")[0]


def changed(name: str, source: State, **what: object) -> tuple[Line, ...]:
    """Give the table with one line changed, where it is for that state."""
    before = next(line for line in TABLE if base(line) == name and line.source is source)
    return tuple(replace(line, **what) if line is before else line for line in TABLE)  # type: ignore[arg-type]


OTHER_RULE = changed(
    "grace-over", State.DISCONNECTION_GRACE, decision=(Action.FOLD, Rule.TURN_TIMEOUT)
)
OTHER_REASON = changed("acted-again", State.IDLE, why="for another reason")
OTHER_TURN_END = changed("silent-bet", State.ACTING, decision=(Action.CHECK, Rule.TURN_TIMEOUT))


# -- The table, whole


def test_gathered_lines_have_exactly_the_cells_of_the_table() -> None:
    cells = [
        (entry.name, state, trigger)
        for entry in gather(TABLE)
        for state in entry.states
        for trigger in entry.triggers
    ]
    assert len(cells) == len(TABLE)
    assert set(cells) == {(base(line), line.source, line.trigger) for line in TABLE}


def test_a_cell_that_differs_is_gathered_apart() -> None:
    parts = [entry for entry in gather(OTHER_REASON) if entry.name == "acted-again"]
    assert [(len(part.states), part.line.why) for part in parts] == [
        (1, "for another reason"),
        (7, "the turn is closed"),
    ]


def states_of(cell: str) -> set[str]:
    words = {"every state": [*State], "every open turn": [*OPEN]}
    return {str(state) for part in cell.split(", ") for state in words.get(part, [part])}


def markdown_rows() -> list[tuple[str, list[str]]]:
    found, title = [], ""
    for text in render(Format.TABLE).splitlines():
        if text.startswith("## "):
            title = text
        elif text.startswith("| "):
            found.append((title, text.strip("| ").split(" | ")))
    return found


ROWS_OF_TABLE = markdown_rows()


@pytest.mark.parametrize("line", TABLE, ids=lambda line: f"{line.source}-{line.id}")
def test_every_line_stands_in_the_markdown(line: Line) -> None:
    found = [
        cells
        for title, cells in ROWS_OF_TABLE
        if f"{line.trigger}:" in title
        and cells[-1] == base(line)
        and line.source in states_of(cells[0])
    ]
    assert [cells[3] for cells in found] == [line.why]


SCXML = ET.fromstring(render(Format.SCXML))  # noqa: S314 - we have made it
TRANSITIONS = {
    state.attrib["id"]: state.findall(f"{{{NAMESPACE}}}transition")
    for state in SCXML.iter(f"{{{NAMESPACE}}}state")
}


@pytest.mark.parametrize("line", TABLE, ids=lambda line: f"{line.source}-{line.id}")
def test_every_line_stands_in_the_scxml(line: Line) -> None:
    around = [OPEN_TURN] if line.source in OPEN else []
    found = [
        transition
        for state in ("turn", *around, line.source)
        for transition in TRANSITIONS[state]
        if line.trigger in transition.attrib["event"].split()
        and transition[0].attrib == {"label": base(line), "expr": repr(line.why)}
    ]
    target = line.target if isinstance(line, Row) else None
    assert [transition.get("target") for transition in found] == [target]


def test_an_independent_processor_reads_the_scxml() -> None:
    processor = SCXMLProcessor()
    processor.parse_scxml("seat", render(Format.SCXML))
    ids = {state.id for state in processor.start().configuration}  # type: ignore[no-untyped-call]
    assert ids == {"seat", "connection", "connected", "turn", "idle"}


def test_the_turn_in_the_scxml_asks_the_connections_region() -> None:
    text = render(Format.SCXML)
    assert "In('away') and no_storm_holds_it and check_is_free" in text
    assert set(re.findall(r"In\('(\w+)'\)", text)) == set(CONNECTION_STATES)


def test_answers_that_differ_have_different_names() -> None:
    words = [
        words
        for asked, question in QUESTIONS.items()
        if asked != "player"
        for words in question.answers.values()
    ]
    assert len({re.sub(r"\W+", "_", each) for each in words}) == len(words)


# -- The pictures


def drawn_steps(format_: Format) -> set[tuple[str, str]]:
    """Read the edges of a picture: the box's for each state in it, and through the diamonds."""
    text = render(format_)
    if format_ is Format.DOT:
        found = re.findall(r"^ *(\w+) -> (\w+) \[(.*)", text, re.MULTILINE)
        edges = [
            (OPEN_TURN if f"ltail=cluster_{OPEN_TURN}" in look else source, target)
            for source, target, look in found
        ]
    else:
        edges = re.findall(r"^ *(\w+) \S+>\|.*\| (\w+)$", text, re.MULTILINE)
    boxed = [
        (source, target)
        for named, target in edges
        for source in (OPEN if named == OPEN_TURN else (named,))
    ]
    passed = [
        (source, target)
        for source, diamond in boxed
        if diamond.startswith("turn_end")
        for out, target in boxed
        if out == diamond
    ]
    steps = {(str(source), target) for source, target in (*boxed, *passed)}
    return {step for step in steps if set(step) <= set(State)}


@pytest.mark.parametrize("format_", PICTURES)
def test_a_picture_has_every_step_of_the_table_and_no_other(format_: Format) -> None:
    assert drawn_steps(format_) == STEPS


@pytest.mark.parametrize("format_", PICTURES)
@pytest.mark.parametrize("state", [*State, *CONNECTION_STATES])
def test_a_picture_has_every_state(format_: Format, state: str) -> None:
    assert f"<b>{state}</b>" in render(format_)


@pytest.mark.parametrize("format_", PICTURES)
def test_a_picture_names_every_decision(format_: Format) -> None:
    for row in ROWS:
        if row.decision:
            assert f"<b>{' · '.join(row.decision)}</b>" in render(format_)


@pytest.mark.parametrize("format_", PICTURES)
def test_one_state_is_filled(format_: Format) -> None:
    filled = "#ffd54a"
    assert filled not in render(format_)
    marked = [line for line in render(format_, State.BUFFER).splitlines() if filled in line]
    assert len(marked) == 1
    assert "buffer" in marked[0]


def test_ways_back_and_decisions_differ_in_line_and_colour() -> None:
    kinds = {(edge.source, edge.target): edge.kind for edge in picture().turn.edges}
    assert kinds["buffer", "returned"] is Kind.BACK
    assert kinds["buffer", "auto_action"] is Kind.DECISION
    dot = render(Format.DOT).splitlines()
    back = next(line for line in dot if "buffer -> returned" in line)
    decision = next(line for line in dot if "buffer -> auto_action" in line)
    assert "style=dashed" in back
    assert "style=solid" in decision
    assert re.findall("#[0-9a-f]{6}", back) != re.findall("#[0-9a-f]{6}", decision)


def test_every_place_and_route_is_used_and_none_is_missing() -> None:
    seat = picture()
    edges = (*seat.connection.edges, *seat.turn.edges)
    assert {(edge.source, edge.target, edge.kind) for edge in edges} == set(ROUTES)
    names = {*seat.connection.states, *seat.turn.states, *seat.turn.diamonds}
    assert names == set(PLACES)


def test_what_only_one_open_state_does_otherwise_leaves_the_box() -> None:
    table = tuple(line for line in TABLE if line.id != "hand-over:buffer")
    off = {
        edge.source: {case.happens for case in edge.cases}
        for edge in picture(table).turn.edges
        if edge.kind is Kind.OFF
    }
    assert off[OPEN_TURN] == {"new turn", "turn called off", "player left", "table closed"}
    assert off["acting"] == {"hand ended"}
    assert off["buffer"] == {"buffer over"}


def test_turn_ends_that_differ_have_a_diamond_each() -> None:
    assert picture().turn.diamonds == ("turn_end",)
    assert picture(OTHER_TURN_END).turn.diamonds == ("turn_end", "turn_end_2")


# -- The page


def test_the_page_escapes_what_it_is_given() -> None:
    evil = '<script>alert("&")</script>'
    page = html.render("<svg/>", [Section(evil, (evil,), ((evil,),))])
    assert "<script" not in page
    assert page.count("&lt;script&gt;alert(&quot;&amp;&quot;)&lt;/script&gt;") == 4


def test_the_page_needs_nothing_from_elsewhere() -> None:
    page = (diagrams.FOLDER / "seat.html").read_text()
    assert not re.findall(r"""<script|<link|@import|url\(|\ssrc=|\shref=""", page)


def test_the_picture_is_legible_on_a_page_of_a4() -> None:
    svg = (diagrams.FOLDER / "seat.svg").read_text()
    _x, _y, width, height = map(float, re.findall(r'viewBox="([^"]+)"', svg)[0].split())
    scale = min(190 / width, 277 / height) * 72 / 25.4
    assert min(map(float, re.findall(r'font-size="([\d.]+)"', svg))) * scale >= 7


# -- The files


def test_the_files_agree_with_the_table() -> None:
    assert diagrams.check() == []


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in diagrams.FILES:
        shutil.copy(diagrams.FOLDER / name, tmp_path)
    return tmp_path


def test_another_rule_changes_every_file(folder: Path) -> None:
    assert diagrams.check(folder, OTHER_RULE) == list(diagrams.FILES)


def test_another_reason_changes_only_what_tells_reasons(folder: Path) -> None:
    assert diagrams.check(folder, OTHER_REASON) == ["seat.scxml", "table.md", "seat.html"]


@pytest.mark.parametrize("name", diagrams.FILES)
def test_a_file_changed_by_hand_is_found(folder: Path, name: str) -> None:
    text = (folder / name).read_text()
    assert "expired" in text
    (folder / name).write_text(text.replace("expired", "granted", 1))
    assert diagrams.check(folder) == [name]


@pytest.mark.parametrize("name", diagrams.FILES)
def test_a_file_that_is_missing_or_empty_is_found(folder: Path, name: str) -> None:
    (folder / name).write_text("")
    assert diagrams.check(folder) == [name]
    (folder / name).unlink()
    assert diagrams.check(folder) == [name]


def test_a_drawing_of_something_else_is_not_genuine() -> None:
    drawing = stamp.stamped("<svg>1</svg>\n", "digraph {}")
    assert stamp.is_genuine(drawing, "digraph {}")
    assert not stamp.is_genuine(drawing, "digraph { a }")
    assert not stamp.is_genuine(drawing.replace("1", "2"), "digraph {}")
    assert not stamp.is_genuine("<svg>1</svg>\n", "digraph {}")


def test_the_check_needs_no_graphviz(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    assert diagrams.check() == []
    with pytest.raises(diagrams.DiagramError, match="`dot` is not installed: install Graphviz"):
        diagrams.produce(Format.SVG)


@needs_graphviz
def test_what_is_drawn_now_passes_the_check(tmp_path: Path) -> None:
    diagrams.write(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(diagrams.FILES)
    assert diagrams.check(tmp_path) == []


@needs_graphviz
def test_a_table_with_edges_that_have_no_place_yet_is_drawn_whole() -> None:
    drawn = diagrams.produce(Format.SVG, lines=OTHER_TURN_END).decode()
    assert drawn.count(">turn end</text>") == 2
    assert drawn.count("turn_end_2&#45;&gt;") == 5


# -- The command

COMMAND = typer.Typer()
COMMAND.command("diagram")(diagrams.diagram)


def test_text_goes_to_the_terminal() -> None:
    result = CliRunner().invoke(COMMAND, ["--format", "dot", "--highlight", "buffer"])
    assert result.exit_code == 0
    assert result.stdout == render(Format.DOT, State.BUFFER)


@needs_graphviz
def test_a_png_goes_to_a_file(tmp_path: Path) -> None:
    file = tmp_path / "seat.png"
    result = CliRunner().invoke(COMMAND, ["--format", "png", "-o", str(file)])
    assert result.exit_code == 0
    assert file.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    "arguments",
    [["--format", "pdf"], ["--highlight", "asleep"], ["--format", "table", "--highlight", "idle"]],
)
def test_an_unknown_format_or_state_is_refused(arguments: list[str]) -> None:
    assert CliRunner().invoke(COMMAND, arguments).exit_code == 2


def test_the_check_says_that_all_agree() -> None:
    result = CliRunner().invoke(COMMAND, ["--check"])
    assert result.exit_code == 0
    assert result.stdout == "all 6 diagrams agree with the transition table\n"


def test_the_check_names_what_differs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(diagrams, "check", lambda: ["table.md"])
    result = CliRunner().invoke(COMMAND, ["--check"])
    assert result.exit_code == 1
    assert result.stderr.startswith("table.md differs")
    assert "run seatwarden diagram --write" in result.stderr


def test_a_file_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    result = CliRunner().invoke(COMMAND, ["-o", str(tmp_path / "none" / "seat.mmd")])
    assert result.exit_code == 1
    assert "cannot write" in result.stderr
