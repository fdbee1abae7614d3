"""`earlydrop completion`: completion in a shell, of commands and options and of their values.

The framework of the command line writes a script for commands and options; what is added here are values: names of
disciplines, studies, stacks and topologies, and scenario files. Making it loads every command, so a shell is given the
script once, as a file (docs/cli.md).
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Sequence
from typing import Any, Literal

from .exits import DONE

Shell = Literal["bash", "zsh", "fish"]
SHELLS: tuple[Shell, ...] = ("bash", "zsh", "fish")

OPTIONS = {
    "--aqm": "aqms",
    "--topology": "topologies",
    "--paper": "studies",
    "--against": "stacks",
    "--set": "settings",
}
"""Kinds of names that an option's value may be; `--aqm` takes several names, and a setting's value may follow."""
FOLDERS = ("report", "diff")
"""Commands whose words are folders of results."""
FIRST: dict[str, Sequence[str]] = {
    "show": ("aqms", "stacks"),
    "check": ("studies",),
    "reproduce": ("studies",),
    "vectors": ("aqms",),
    **dict.fromkeys(("run", "compare", "sweep", "tune", "trace", "crosscheck"), ()),
}
"""Kinds of names, beside a file, that a command's first word may be."""


def _names(kinds: Sequence[str]) -> str:
    """All names of the given kinds, with a space between them."""
    from .. import stacks, study
    from ..aqm import entries
    from ..schema import choices

    known = {
        "aqms": [entry["name"] for entry in entries()],
        "stacks": stacks.names(),
        "studies": study.available(),
        "topologies": [one["name"] for one in choices("topologies")],
        "settings": _settings(),
    }
    return " ".join(name for kind in kinds for name in known[kind])


def _settings() -> list[str]:
    """What `--set` can change in the scenario that `init` writes, up to the value."""
    import earlydrop._core as _core

    document = tomllib.loads(_core.template("example", "dumbbell"))
    # `--set` may name the parameters of the scenario's discipline, which the file has as comments.
    document["queue"] = json.loads(_core.Scenario.parse(document, []).to_json())["queue"]
    return [f"{path}=" for path in _paths(document) if path != "name"]


def _paths(value: Any, path: str = "") -> list[str]:
    """The paths of all values in a document."""
    if isinstance(value, list) and all(isinstance(one, dict) for one in value):
        value = dict(enumerate(value))
    if not isinstance(value, dict):
        return [path]
    return [found for key, one in value.items() for found in _paths(one, f"{path}.{key}" if path else str(key))]


def _bash(script: str) -> str:
    options = "\n".join(f'    {option}) known="{_names([kind])}" ;;' for option, kind in OPTIONS.items())
    first = "\n".join(f'    {command}) known="{_names(kinds)}" ;;' for command, kinds in FIRST.items())
    return f"""{script.rstrip()}

# Values of options and of first words; all else as above.
_earlydrop_values() {{
  local cur="${{COMP_WORDS[COMP_CWORD]}}" prev="${{COMP_WORDS[COMP_CWORD-1]}}" option="" known="" i
  for ((i = COMP_CWORD - 1; i > 1; i--)); do
    [[ "${{COMP_WORDS[i]}}" == -* ]] && {{ option="${{COMP_WORDS[i]}}"; break; }}
  done
  [[ "$option" != --aqm && "$option" != "$prev" ]] && option=""
  case "$option" in
{options}
  esac
  if [[ -z "$option" && COMP_CWORD -eq 2 ]]; then
    case "${{COMP_WORDS[1]}}" in
{first}
    {"|".join(FOLDERS)}) COMPREPLY=($(compgen -d -- "$cur")); return ;;
    *) _earlydrop; return ;;
    esac
    if [[ "$cur" != -* ]]; then
      COMPREPLY=($(compgen -W "$known" -- "$cur") $(compgen -f -X '!*.toml' -- "$cur") $(compgen -d -- "$cur"))
      return
    fi
  fi
  if [[ -n "$known" && "$cur" != -* ]]; then
    COMPREPLY=($(compgen -W "$known" -- "$cur"))
    [[ "$option" == --set ]] && compopt -o nospace
  else
    _earlydrop
  fi
}}

complete -F _earlydrop_values earlydrop"""


def _zsh(script: str) -> str:
    for option, kind in OPTIONS.items():
        script = script.replace(f"]:{option[2:]}'", f"]:{option[2:]}:({_names([kind])})'")
    for command, kinds in FIRST.items():
        files = r'"files:file:_files -g \"*.toml(-.) *(-/)\""'
        names = f'"names:name:({_names(kinds)})" ' if kinds else ""
        # The first word's description, up to its action.
        first = rf"(?ms)^        {command}\)\n.*?'[1*]:(?:'\\''|\\:|[^':])*"
        found = re.search(first + r"(:_files)?'", script)
        if found:
            described = re.match(first, found[0])
            assert described is not None
            script = f"{script[: found.start()]}{described[0]}:{{_alternative {names}{files}}}'{script[found.end() :]}"
    return script


def _fish(script: str) -> str:
    lines = []
    for command, options in (("init", ("--topology", "--paper")), ("show", ("--against",))):
        lines += [_fish_option(command, option) for option in options]
    lines += [_fish_option(command, "--aqm") for command in ("compare", "tune", "advise", "reproduce")]
    for command, kinds in FIRST.items():
        using = f"complete -c earlydrop -n '__fish_earlydrop_using_command {command}'"
        lines += [f"{using} -a '{_names(kinds)}'"] if kinds else []
        lines.append(f"{using} -k -a '(__fish_complete_suffix .toml)'")
    return "\n".join([script.rstrip(), "", "# Values of options and of first words.", *lines])


def _fish_option(command: str, option: str) -> str:
    names = _names([OPTIONS[option]])
    return f"complete -c earlydrop -n '__fish_earlydrop_using_command {command}' -l {option[2:]} -x -a '{names}'"


def script(shell: Shell) -> str:
    """The script of a shell."""
    from .commands import app

    return {"bash": _bash, "zsh": _zsh, "fish": _fish}[shell](app.generate_completion(shell=shell))


def completion(shell: Shell, /) -> int:
    """The script that completes earlydrop's commands, options and values in a shell.

    Parameters
    ----------
    shell
        bash, zsh or fish.
    """
    print(script(shell))
    return DONE
