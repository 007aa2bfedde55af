"""A diagram as SVG, drawn from lines `from, from -> to, to`: boxes in columns by the longest way to
them, arrows from left to right.
"""

from __future__ import annotations

from html import escape

BOX_WIDTH, BOX_HEIGHT = 150, 34
COLUMN_GAP, ROW_GAP, MARGIN = 56, 14, 4


def svg(text: str, label: str) -> str:
    """Draw a description. Text and lines have the color of the page's text. Raises ValueError for a
    line without an arrow, or a cycle.
    """
    edges = [edge for line in text.strip().splitlines() for edge in _edges(line)]
    columns = _columns(edges)
    height = max(map(len, columns)) * (BOX_HEIGHT + ROW_GAP) - ROW_GAP
    places = {}
    for column, names in enumerate(columns):
        top = (height - len(names) * (BOX_HEIGHT + ROW_GAP) + ROW_GAP) / 2
        for row, name in enumerate(names):
            places[name] = (MARGIN + column * (BOX_WIDTH + COLUMN_GAP), MARGIN + top + row * (BOX_HEIGHT + ROW_GAP))
    width = len(columns) * (BOX_WIDTH + COLUMN_GAP) - COLUMN_GAP
    parts = [_arrow(places[source], places[target]) for source, target in edges] + [_box(name, *place) for name, place in places.items()]
    head = f'<svg viewBox="0 0 {width + 2 * MARGIN} {height + 2 * MARGIN}" role="img" aria-label="{escape(label)}"'
    style = 'style="width: 100%; max-width: 48rem; height: auto" fill="none" stroke="currentColor" stroke-width="1.5"'
    return f"{head} {style}>{''.join(parts)}</svg>"


def _edges(line: str) -> list[tuple[str, str]]:
    sources, arrow, targets = line.partition("->")
    if not arrow:
        raise ValueError(f"'{line}': no arrow; expected FROM, FROM -> TO, TO")
    return [(source.strip(), target.strip()) for source in sources.split(",") for target in targets.split(",")]


def _columns(edges: list[tuple[str, str]]) -> list[list[str]]:
    """Put each box behind all that lead to it, in the order of the text."""
    names = list(dict.fromkeys(name for edge in edges for name in edge))
    level = dict.fromkeys(names, 0)
    for _ in names:
        for source, target in edges:
            level[target] = max(level[target], level[source] + 1)
    if max(level.values()) >= len(names):
        raise ValueError("a cycle; expected arrows that lead from left to right")
    return [[name for name in names if level[name] == at] for at in range(max(level.values()) + 1)]


def _box(name: str, x: float, y: float) -> str:
    middle = f'x="{x + BOX_WIDTH / 2:g}" y="{y + BOX_HEIGHT / 2:g}"'
    font = 'font-size="15" text-anchor="middle" dominant-baseline="central" fill="currentColor" stroke="none"'
    return f'<rect x="{x:g}" y="{y:g}" width="{BOX_WIDTH}" height="{BOX_HEIGHT}" rx="6"/><text {middle} {font}>{escape(name)}</text>'


def _arrow(source: tuple[float, float], target: tuple[float, float]) -> str:
    x, y = source[0] + BOX_WIDTH, source[1] + BOX_HEIGHT / 2
    end_x, end_y = target[0], target[1] + BOX_HEIGHT / 2
    bend = (x + end_x) / 2
    curve = f"M{x:g} {y:g}C{bend:g} {y:g} {bend:g} {end_y:g} {end_x:g} {end_y:g}"
    return f'<path d="{curve}M{end_x - 6:g} {end_y - 4:g}L{end_x:g} {end_y:g}L{end_x - 6:g} {end_y + 4:g}" opacity="0.7"/>'
