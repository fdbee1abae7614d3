"""Checks of command-line input: settings, names, counts, folders."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from .failures import InputError


def parse_settings(
    sets: Sequence[str], option: str = "--set", form: str = "PATH=VALUE", example: str = "queue.bottleneck.aqm=red"
) -> list[tuple[str, str]]:
    """Settings given as NAME=VALUE."""
    pairs = []
    for text in sets:
        path, equals, value = text.partition("=")
        if not equals or not path.strip():
            raise InputError(
                f'{option} {text}: given "{text}"; allowed {form}, such as {example}',
                given=text,
                allowed=form,
            )
        pairs.append((path.strip(), value.strip()))
    return [_named(*pair) for pair in pairs] if option == "--set" else pairs


def _named(path: str, value: str) -> tuple[str, str]:
    """A setting in which code that it names as a discipline is loaded, and named by its full path."""
    if not re.fullmatch(r"queue\..+\.aqm", path):
        return path, value
    from ..own_aqms import registry

    source = value.strip("\"'")
    if not registry.is_source(source):
        return path, value
    registry.load(source)
    file, colon, name = source.rpartition(":") if ".py:" in source else (source, "", "")
    return path, f"{Path(file).resolve()}{colon}{name}"


def check_name(what: str, name: str, known: Sequence[str]) -> str:
    """The known name that is meant, however it is written; the error suggests the nearest one."""
    from ..strict_toml import meant, nearest

    found = meant(name, known)
    if found is None:
        near = nearest(name.lower(), known)
        hint = f"; {near}" if near else "."
        raise InputError(
            f'there is no {what} "{name}"{hint} Known: {", ".join(known)}', given=name, allowed=", ".join(known)
        )
    return found


def check_seed(seed: int | None) -> None:
    """A seed within the engine's range."""
    # A scenario can hold no larger seed, and every run can be written down as one.
    top = 2**63 - 1
    if seed is not None and not 0 <= seed <= top:
        raise InputError(f"--seed: given {seed}; allowed 0 to {top}", given=str(seed), allowed=f"0 to {top}")


def check_count(name: str, count: int) -> None:
    """A number of runs, seeds, trials."""
    if not 1 <= count <= 100_000:
        raise InputError(f"{name}: given {count}; allowed 1 to 100000", given=str(count), allowed="1 to 100000")


def check_workers(workers: int | None) -> None:
    """A number of threads."""
    if workers is not None and not 1 <= workers <= 1024:
        raise InputError(f"--workers: given {workers}; allowed 1 to 1024", given=str(workers), allowed="1 to 1024")


def check_out(out: Path | None, kind: str) -> None:
    """Refuse, before anything runs, a folder that results of this kind may not be written to."""
    if out is not None:
        from ..output import check

        check(out, kind)


FORMATS = ("pdf", "svg", "png")


def figure_formats(text: str | None) -> tuple[str, ...]:
    """The formats of figures, given as `pdf,svg`."""
    if text is None:
        return ("pdf", "png")
    formats = tuple(dict.fromkeys(part.strip().lower() for part in text.split(",") if part.strip()))
    if not formats or not set(formats) <= set(FORMATS):
        raise InputError(
            f'--figures: given "{text}"; allowed {", ".join(FORMATS)}', given=text, allowed="pdf, svg, png"
        )
    return formats


FIGURES = (".png", ".pdf", ".svg")


def check_figure(option: str, file: Path | None) -> None:
    """Refuse, before anything runs, a figure's file in a format or a folder that it cannot have."""
    if file is None:
        return
    if file.suffix not in FIGURES:
        given = file.suffix or "no suffix"
        raise InputError(f"{option} {file}: given {given}; allowed {', '.join(FIGURES)}", given=given)
    check_folder(f"{option} {file}", file)


def check_folder(place: str, file: Path) -> None:
    """Refuse, before anything runs, a file to write in a folder that does not exist."""
    if not file.absolute().parent.is_dir():
        raise InputError(f"{place}: there is no folder {file.parent}", given=str(file))
