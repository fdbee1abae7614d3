"""Hooks of mkdocs: pages from outside docs/, from declarations, the playground, and links as the checkout has them.

Pages link to files as a reader of the checkout finds them. A page of the site is linked as such; of a file that is no
page only its name is left.
"""

from __future__ import annotations

import csv
import html
import io
import posixpath
import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
OUTSIDE = {
    "README.md": "project/README.md",
    "CHANGELOG.md": "project/CHANGELOG.md",
    "CONTRIBUTING.md": "project/CONTRIBUTING.md",
    "vectors/README.md": "project/vectors.md",
    "vectors/options.csv": "project/options.csv",
    "vectors/mutants.md": "project/mutants.md",
    "vectors/mutants.csv": "project/mutants.csv",
    "validation/README.md": "project/validation.md",
    **{f"crates/{name}/README.md": f"project/crates/{name}.md" for name in ("aqm", "net", "sim")},
    **{
        f"studies/{path.parent.name}/README.md": f"project/studies/{path.parent.name}.md"
        for path in sorted(ROOT.glob("studies/*/README.md"))
    },
}
"""Pages and data outside docs/, and their places in the site."""
PLACES = {site: source for source, site in OUTSIDE.items()}
LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\[\]]*\])*)\]\(([^)\s]+)\)")
CODE = re.compile(r"(^ *```[^\n]*\n(?:[^\n]*\n)*? *```$|^(?: {4}[^\n]*\n)+)", re.MULTILINE)
"""Fenced and indented code."""
API = """# Python API

Signatures and docstrings of what `import earlydrop as ed` offers; the classes of `ed.aqm` are the
[disciplines](../aqms/README.md). `ScenarioError` is raised where a scenario is wrong; all errors are
`EarlydropError`s. [Python](../python.md) shows how the parts are used.

{entries}
"""
DATA = re.compile(r'<p><a href="([^":]+\.csv)">[^<]*</a></p>')
"""A paragraph that is a link to data and nothing else: the site shows the data in its place."""
SEARCHED = """<div class="data" data-file="{file}">
<p><input type="search" placeholder="Search these rows" aria-label="Search the rows of {name}">
<output></output> <a href="{file}" download>{name}</a></p>
<div><table class="rows">
<thead><tr>{head}</tr></thead>
<tbody>
{body}
</tbody>
</table></div>
</div>
"""
WIDTH = 98
"""Columns of a page's code."""
PLAYGROUND = ROOT / "target" / "web"
"""The built page of the playground; without it the site has none, and says so."""
BUILT = (PLAYGROUND / "index.html").is_file() and (PLAYGROUND / "earlydrop.wasm").is_file()
FRAME = """<iframe class="playground" src="{up}playground/index.html#aqm={aqms}&embed" loading="lazy"
title="{title} in the playground"></iframe>

<a class="md-button" href="{up}playground/index.html#aqm={aqms}">Open it in the whole playground</a>
"""
HERO = """<div class="hero" markdown="block">
<iframe class="playground" src="playground/index.html#aqm=droptail,fq_codel&embed" loading="lazy"
title="DropTail and FQ-CoDel in the playground"></iframe>
<noscript markdown="block">
{picture}
</noscript>
</div>
"""
"""The home's live queue: a page without script shows the picture that the checkout's readers see."""
RANKS = {
    # What answers a question.
    3.0: ("tutorials/", "how-to/", "faq.md", "home.md", "statistics.md", "playground.md", "link.md", "sweeps.md"),
    # What nobody looks for by a word of it: sentences of papers, records of the work, data, the project itself.
    0.001: ("claims.md", "lab-notes/", "data/", "decisions/", "project/", "misprints.md", "readings", "sources.md"),
    0.1: ("study-", "reference/", "README.md"),
}
"""How much words count in the search on these pages; 1 on all others."""
FOUND_BY = {
    "home.md": "bufferbloat, video call, OpenWrt, tc, satellite, router, ping, lag",
    "media.md": "video call, video conference, WebRTC",
    "how-to/l4s.md": "L4S",
    "how-to/upload.md": "bufferbloat",
    "how-to/figures.md": "plot, congestion window, cwnd, figure",
    "how-to/packets.md": "pcap, Wireshark, tcpdump",
    "how-to/wireless.md": "Wi-Fi, LTE, 5G",
    "tutorials/3-own-aqm.md": "own AQM",
    "tutorials/5-real-link.md": "real link",
    "link.md": "real link, netem",
    "coming-from.md": "ns-3, ns-2, Mahimahi, Flent, tc",
    "quic.md": "QUIC",
    "scenarios.md": "ECN",
    "glossary.md": "ECN",
    "sweeps.md": "sweep",
    "statistics.md": "confidence interval",
    "install.md": "install, pip, wheel",
    "python.md": "notebook, Jupyter",
}
"""Words for which a page is looked for, beside those in it; a discipline's page also has its name."""
ABSENT = "This copy of the site was built without the playground: `make web` builds it, and `make docs` takes it in."
NAMES = {
    "Links and networks": "link dumbbell load parse Network Scenario parking_lot star two_flow bus flower sfred nlred "
    "random_network graph join node schedule trace",
    "Distributions and times": "uniform exponential lognormal pareto geometric poisson every mix cdf sample",
    "Results and comparisons": "Result compare Compared break_",
    "Disciplines of your own": "policy param array Verdict Policy get_include",
    "Runs in steps": "Simulation",
    "Protocol stacks of your own": "path",
    "Errors and warnings": "EarlydropError CompareError PolicyError PolicyWarning ScenarioWarning",
}
"""Names on the page of the Python API; those of `earlydrop` in the order in which they are needed."""
ELSEWHERE = {
    "Results and comparisons": ["earlydrop.api_sweep.sweep", "earlydrop.sweeps.shown.Swept"],
    "Runs in steps": ["earlydrop.gym.AqmEnv"],
    "Protocol stacks of your own": ["earlydrop.paths.Path", "earlydrop.paths.Endpoint"],
}
"""Names that are elsewhere: `ed.sweep(...)`, what it returns, and the class of `ed.gym`."""


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """In the navigation, a folder stands for its pages."""
    for section in config.nav or []:
        for title, pages in section.items():
            section[title] = [_unfolded(page) for page in pages] if isinstance(pages, list) else pages
    return config


def _unfolded(page: Any) -> Any:
    if not isinstance(page, dict):
        return page
    ((title, place),) = page.items()
    made = [site for site in PLACES if site.startswith(f"{place}/")]
    if made:
        return {title: made}
    if not str(place).endswith("/"):
        return page
    names = sorted(path.name for path in (DOCS / place).glob("*.md") if path.name != "README.md")
    return {title: [f"{place}{name}" for name in ["README.md", *names]]}


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages and data that are not in docs/."""
    from mkdocs.structure.files import File

    made = {site: (ROOT / source).read_text(encoding="utf-8") for source, site in OUTSIDE.items()}
    made["reference/commands.md"] = _commands()
    made["reference/api.md"] = _api()
    for place, text in made.items():
        files.append(File.generated(config, place, content=text))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Turn links of the checkout into links of the site; leave code alone."""
    del config
    here = page.file.src_uri
    folder = (ROOT / PLACES[here]).parent if here in PLACES else (DOCS / here).parent
    known = {file.src_uri for file in files}

    def turned(found: re.Match[str]) -> str:
        image, text, target = found.groups()
        path, hash_, anchor = target.partition("#")
        if not path or re.match(r"[a-z]+:", target):
            return found[0]
        # The text of a link may be an image.
        text = LINK.sub(turned, text)
        place = _place((folder / path).resolve())
        if place is None or place not in known:
            return "" if image else text
        up = "../" * here.count("/")
        return f"{image}[{text}]({up}{place}{hash_}{anchor})"

    _rank(here, page)
    markdown = _with_playground(here, markdown)
    # A block's kind may be followed by a second word, for the tests.
    parts = CODE.split(re.sub(r"^( *```\w+) [^\n]+$", r"\1", markdown, flags=re.MULTILINE))
    return _nested("".join(_folded(part) if k % 2 else LINK.sub(turned, part) for k, part in enumerate(parts)))


def _rank(here: str, page: Page) -> None:
    """What the search index is told of a page."""
    page.meta["search"] = {"boost": next((rank for rank, names in RANKS.items() if here.startswith(names)), 1.0)}
    if here in FOUND_BY:
        page.meta["tags"] = FOUND_BY[here].split(", ")
    elif re.fullmatch(r"aqms/(?!README)\w+\.md", here):
        page.meta["tags"] = [here.removeprefix("aqms/").removesuffix(".md").replace("_", "-")]
    if here == "README.md":
        page.meta["hide"] = ["navigation", "toc", "path"]


def on_page_content(content: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Data that a page links in a paragraph of its own become a table that can be searched; the home gets its parts."""
    del config
    if page.file.src_uri == "README.md":
        content = _home(content)

    def searched(link: re.Match[str]) -> str:
        file = files.get_file_from_path(posixpath.normpath(posixpath.join(page.file.src_uri, "..", link[1])))
        # Without data the link stays, as a link to any other file does.
        return link[0] if file is None else _searched(link[1], file.content_string)

    return DATA.sub(searched, content)


def _home(content: str) -> str:
    """The three paths side by side, and the list of pages folded."""
    before, *parts = re.split(r"(?=<h2 )", content)
    paths = "".join(f"<section>{part}</section>" for part in parts[:3])
    *rest, pages = parts[3:]
    title = re.sub(r"<a .*?</a>", "", pages.partition("</h2>")[0]).partition(">")[2]
    listed = pages.partition("</h2>")[2]
    folded = f'<details id="all-pages"><summary>{title}</summary>{listed}</details>'
    return f'<div class="home">{before}<div class="paths">{paths}</div>{"".join(rest)}{folded}</div>'


def _searched(link: str, text: str) -> str:
    """Data as a table; all rows are in the page, so it needs no server. assets/site.js searches them."""
    head, *rows = csv.reader(io.StringIO(text, newline=""))
    body = ("".join(f"<td>{_code(cell)}</td>" for cell in row) for row in rows)
    return SEARCHED.format(
        file=link,
        name=posixpath.basename(link),
        head="".join(f"<th>{_code(cell)}</th>" for cell in head),
        body="\n".join(f"<tr>{row}</tr>" for row in body),
    )


def _code(text: str) -> str:
    """Text of a cell, with code where it stands between backticks."""
    return re.sub("`([^`]+)`", r"<code>\1</code>", html.escape(text))


def _folded(code: str) -> str:
    """Commands that are longer than a page is wide go on in the next line, as a shell has it."""
    lines = []
    for line in code.split("\n"):
        margin = len(line) - len(line.lstrip())
        if len(line) - margin <= WIDTH or not re.match(r" *(\$ )?(sudo )?earlydrop ", line):
            lines.append(line)
            continue
        # An option stays with its values, and what follows "--" is one piece.
        units = [""]
        for word in re.findall(r" *(?:'[^']*'|\"[^\"]*\"|[^\s'\"])+", line):
            if word.startswith(" --") and not units[-1].startswith(" -- "):
                units.append("")
            units[-1] += word
        made = [units[0]]
        for unit in units[1:]:
            if len(made[-1]) - margin + len(unit) + 2 > WIDTH:
                made[-1] += " \\"
                made.append(" " * (margin + 3))
            made[-1] += unit
        lines += made
    return "\n".join(lines)


def _nested(markdown: str) -> str:
    """Lists as Python's Markdown asks for them.

    What belongs to an item is indented by four, not to the column of its text; and an item is a paragraph of its own
    where one before it has several.
    """
    lines: list[str] = []
    column = 0
    fence = loose = False
    for line in markdown.split("\n"):
        fence ^= line.lstrip().startswith("```")
        item = None if fence else re.match(r"(?:[-*]|\d+\.) +", line)
        if line and not line.startswith(" "):
            column = len(item[0]) if item else 0
            loose = loose and item is not None
        inside = 0 < column < 4 and line.startswith(" " * column)
        loose |= inside and lines[-1] == ""
        if item and loose and lines[-1]:
            lines.append("")
        lines.append(" " * (4 - column) + line if inside else line)
    return "\n".join(lines)


def _with_playground(here: str, markdown: str) -> str:
    """A page with the playground in it: on its own page, and on those of the disciplines."""
    if here == "README.md" and BUILT:
        picture = re.compile(r"^\[!\[.*\]\(images/playground\.png\)\]\(playground\.md\)$", re.MULTILINE)
        return picture.sub(lambda found: HERO.format(picture=found[0]), markdown)
    if here == "playground.md":
        frame = FRAME.format(up="", aqms="droptail,codel", title="DropTail and CoDel") if BUILT else f"*{ABSENT}*"
        return markdown.replace("<!-- the playground -->", frame)
    folder, _, name = here.rpartition("/")
    if folder != "aqms" or name == "README.md" or not BUILT:
        return markdown
    title = markdown.partition("\n")[0].removeprefix("# ")
    frame = FRAME.format(up="../", aqms=name.removesuffix(".md"), title=title)
    return markdown.replace("\n## Parameters\n", f"\n## Try it\n\n{frame}\n## Parameters\n", 1)


def on_post_build(config: MkDocsConfig) -> None:
    """Lay the playground beside the pages, which link to it."""
    place = Path(config.site_dir) / "playground"
    shutil.rmtree(place, ignore_errors=True)
    if not BUILT:
        print(f"site: {ABSENT}")
        return
    place.mkdir()
    for file in sorted(PLAYGROUND.iterdir()):
        if file.suffix in {".html", ".js", ".css", ".wasm", ".svg", ".txt", ".png"}:
            shutil.copy(file, place)
    index = place / "index.html"
    index.write_text(index.read_text(encoding="utf-8").replace("<html ", '<html data-docs="../" ', 1), encoding="utf-8")


def _place(path: Path) -> str | None:
    """The place in the site of a file of the checkout."""
    if path.is_relative_to(DOCS):
        return path.relative_to(DOCS).as_posix()
    return OUTSIDE.get(path.relative_to(ROOT).as_posix()) if path.is_relative_to(ROOT) else None


def _commands() -> str:
    """Every command with its options, as `--help` has them."""
    from earlydrop.cli.commands import app

    text: Any = app.generate_docs(output_format="markdown", heading_level=1)
    return str(text)


def _api() -> str:
    import earlydrop

    entries = []
    for title, names in NAMES.items():
        entries.append(f"## {title}\n")
        places = [f"earlydrop.{earlydrop._HOME[name]}.{name}" for name in names.split()]
        for place in [*places, *ELSEWHERE.get(title, [])]:
            entries.append(f"::: {place}\n    options:\n      heading_level: 3\n      show_root_full_path: false\n")
    return API.format(entries="\n".join(entries))
