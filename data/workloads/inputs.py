"""Writes the inputs of the workloads into the folder given: a feed, an image, a film, a C program,
a page, words. Same bytes every time.
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Iterator
from pathlib import Path

WORDS = [
    "app",
    "page",
    "swap",
    "phone",
    "camera",
    "river",
    "stone",
    "photo",
    "lamp",
    "garden",
    "window",
    "signal",
    "memory",
    "launch",
    "quiet",
    "green",
    "seven",
    "paper",
]


def feed(seed: random.Random, posts: int) -> list[dict[str, object]]:
    def text() -> str:
        return " ".join(seed.choices(WORDS, k=seed.randint(8, 60)))

    return [{"id": i, "user": f"u{seed.randint(0, 400)}", "likes": seed.randint(0, 9999), "text": text()} for i in range(posts)]


def image(seed: random.Random, width: int, height: int) -> bytes:
    """A PPM of overlapping soft rectangles and noise, so that its JPEG is not trivial."""
    rows = [bytearray(3 * width) for _ in range(height)]
    for _ in range(60):
        x, y, w, h = seed.randrange(width), seed.randrange(height), seed.randrange(40, 500), seed.randrange(40, 400)
        colour = bytes(seed.randrange(256) for _ in range(3))
        for row in rows[y : y + h]:
            row[3 * x : 3 * min(width, x + w)] = colour * (min(width, x + w) - x)
    for row in rows:
        for at in range(0, len(row), seed.randrange(5, 11)):
            row[at] ^= seed.randrange(32)
    return b"P6 %d %d 255\n" % (width, height) + b"".join(rows)


def video(seed: random.Random, width: int, height: int, frames: int) -> Iterator[bytes]:
    """A Y4M film: a camera that pans over a large picture of blocks and grain, with a square that
    crosses it.
    """
    wide, high = 2 * width, 2 * height
    rows = []
    for y in range(high):
        if y % 24 == 0:
            tones = [seed.randrange(30, 220) for _ in range(wide // 40 + 1)]
        line = bytearray(b"".join(bytes([tone]) * 40 for tone in tones)[:wide])
        for x in range(0, wide, seed.randrange(3, 9)):
            line[x] = (line[x] + seed.randrange(24)) % 256
        rows.append(bytes(line))
    yield b"YUV4MPEG2 W%d H%d F25:1 Ip C420\n" % (width, height)
    for frame in range(frames):
        x, y = (5 * frame) % width, (3 * frame) % height
        luma = [bytearray(row[x : x + width]) for row in rows[y : y + height]]
        left = (11 * frame) % (width - 64)
        for row in luma[height // 3 : height // 3 + 64]:
            row[left : left + 64] = b"\xe0" * 64
        chroma = b"".join(bytes(row[::2]) for row in luma[::2])
        yield b"FRAME\n" + b"".join(luma) + chroma + chroma[::-1]


def program(seed: random.Random, functions: int) -> str:
    """C with enough different functions to keep a compiler busy."""
    out = ["typedef struct node { struct node *next; int key; double weight; } node;"]
    for i in range(functions):
        a, b, c = (seed.randint(1, 99) for _ in range(3))
        call = f"f{seed.randrange(i)}(n, x + {c})" if i else "x"
        out.append(
            f"int f{i}(node *n, int x) {{ int sum = {a}; for (node *p = n; p; p = p->next) {{"
            f" switch (p->key % 4) {{ case 0: sum += x * {b}; break; case 1: sum ^= p->key << {a % 8}; break;"
            f" case 2: p->weight *= 1.0 + sum; break; default: sum -= {c}; }} }} return x > {b} ? sum : sum + {call}; }}"
        )
    out.append("int main(int argc, char **argv) { node n = {0, argc, 1.0}; return " + f"f{functions - 1}(&n, argc); }}")
    return "\n".join(out) + "\n"


def page(posts: list[dict[str, object]]) -> str:
    cards = "".join(f"<article id=p{p['id']}><h2>{p['user']}</h2><p>{p['text']}</p><b>{p['likes']}</b></article>" for p in posts)
    style = "article{display:inline-block;width:18em;margin:.5em;padding:.5em;border-radius:.6em;box-shadow:0 0 .4em #888}"
    script = (
        "const all=[...document.querySelectorAll('article')];"
        "all.sort((a,b)=>b.lastChild.textContent-a.lastChild.textContent).forEach(a=>a.parentNode.append(a));"
        "document.title=all.length"
    )
    return f"<!doctype html><style>{style}</style><main>{cards}</main><script>{script}</script>"


def words(seed: random.Random, lines: int) -> str:
    """Words by Zipf's law, twelve a line."""
    known = ["".join(seed.choices("abcdefghijklmnopqrstuvwxyz", k=seed.randint(3, 9))) for _ in range(60_000)]
    weights = [1 / rank for rank in range(1, len(known) + 1)]
    return "".join(" ".join(seed.choices(known, weights, k=12)) + "\n" for _ in range(lines))


def main() -> None:
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    posts = feed(random.Random(1), 5600)
    (folder / "feed.json").write_text(json.dumps(posts[:2600]))
    (folder / "feed.tsv").write_text("".join(f"{p['user']}\t{p['likes']}\t{p['text']}\n" for p in posts))
    (folder / "page.html").write_text(page(posts[:400]))
    (folder / "image.ppm").write_bytes(image(random.Random(2), 2400, 1600))
    with (folder / "film.y4m").open("wb") as film:
        film.writelines(video(random.Random(4), 640, 360, 40))
    (folder / "words.txt").write_text(words(random.Random(5), 60_000))
    (folder / "program.c").write_text(program(random.Random(3), 2))


main()
