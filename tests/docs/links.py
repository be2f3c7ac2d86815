#!/usr/bin/env python3
"""Checks links and headings between pages, and the list of questions.

usage: links.py SOURCE

SOURCE is the checkout. Each relative link in README.md, CHANGELOG.md, CONTRIBUTING.md and docs must name a file or folder
that exists, and each #fragment a heading of that page. Each row of tests/docs/questions.md names a page and a heading that
exist; README, tutorials, how-to guides and explanations each have a row, and there are at least FEWEST rows.
"""

import pathlib
import re
import sys

FEWEST = 60
LINK = re.compile(r"(?<!\\)\]\(([^)\s]+)\)|<img [^>]*src=\"([^\"]+)\"")
QUESTIONS = "tests/docs/questions.md"


def pages(source):
    return [source / "README.md", source / "CHANGELOG.md", source / "CONTRIBUTING.md", *sorted((source / "docs").rglob("*.md"))]


def prose(text):
    return re.sub(r"```.*?```|`[^`\n]*`", lambda m: re.sub(r"[^\n]", " ", m.group()), text, flags=re.S)


def anchor(heading):
    """GitHub's fragment of a heading."""
    plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "").strip().lower()
    return re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")


def headings(page):
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.S)
    return [h.strip() for h in re.findall(r"^#{1,6} (.+)$", text, flags=re.M)]


def anchors(page):
    seen, names = {}, set()
    for heading in headings(page):
        name = anchor(heading)
        count = seen.get(name, 0)
        seen[name] = count + 1
        names.add(name if count == 0 else f"{name}-{count}")
    return names


def broken_links(source):
    for page in pages(source):
        text = prose(page.read_text(encoding="utf-8"))
        for match in LINK.finditer(text):
            target = match.group(1) or match.group(2)
            if re.match(r"[a-z]+:", target):
                continue
            path, _, fragment = target.partition("#")
            place = f"{page.relative_to(source)}:{text.count(chr(10), 0, match.start()) + 1}"
            file = (page.parent / path).resolve() if path else page
            if not file.exists():
                yield f"{place}: no file {target}"
            elif fragment and (file.suffix != ".md" or fragment not in anchors(file)):
                yield f"{place}: no heading #{fragment} in {path or page.name}"


def wrong_questions(source):
    asked = set()
    rows = 0
    for line in (source / QUESTIONS).read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if not line.startswith("|") or len(cells) != 3 or cells[0] == "question" or set(cells[0]) <= set("-: "):
            continue
        rows += 1
        page = source / cells[1]
        asked.add(cells[1])
        if not page.is_file():
            yield f"{QUESTIONS}: no page {cells[1]}"
        elif cells[2] not in headings(page):
            yield f"{QUESTIONS}: {cells[1]} has no heading \"{cells[2]}\""
    if rows < FEWEST:
        yield f"{QUESTIONS}: {rows} questions, expected {FEWEST} or more"
    for page in ["README.md", *(str(p.relative_to(source)) for kind in ("tutorials", "how-to", "explanation")
                               for p in sorted((source / "docs" / kind).glob("*.md")))]:
        if page not in asked:
            yield f"{QUESTIONS}: no question about {page}"


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    source = pathlib.Path(sys.argv[1]).resolve()
    wrong = [*broken_links(source), *wrong_questions(source)]
    print("\n".join(wrong) or f"{len(pages(source))} pages: every link and every question leads to a heading")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
