"""Runs the `tc` lines of `earlydrop advise` in a Debian kernel under QEMU, which has the qdiscs.

    python validation/peers/qemu/home_lines.py

Every line must pass without a word, and each qdisc must be there afterwards; `dualpi2` is left out: it is younger than
Debian's kernel. Needs what machine.py needs.
"""

from __future__ import annotations

import sys

import machine

from earlydrop import advise
from earlydrop.advise import commands
from earlydrop.advise.model import RUNNABLE
from earlydrop.advise.rules import RULES

LEFT_OUT = ("dualpi2",)


def cases() -> list[tuple[str, str, list[str]]]:
    """Kind of line, queue, and their commands: every queue on one kind of line, two of them on all kinds."""
    return [
        (link, aqm, [x for x in commands.tc_lines(advise.home("50mbit", "10mbit", link=link), aqm)[1:] if x[0] != "#"])
        for link in advise.LINKS
        for aqm in RUNNABLE
        if aqm not in LEFT_OUT and (link == "docsis" or aqm in ("fq_codel", "cake"))
    ]


def kernel_name(aqm: str) -> str:
    """What the kernel calls the qdisc."""
    return str(RULES["qdisc"][aqm].split()[0])


def execute(lines: list[str], modules: set[str]) -> dict[str, str]:
    """Runs the lines in the machine; what each of them wrote."""
    kernel, image = machine.prepare()
    files = {
        "init": machine.HERE / "home_init",
        "lines": "\n".join([*lines, ""]),
        "modules": " ".join(sorted(modules)),
    }
    parts = machine.run_job(kernel, image, files)
    if "end" not in parts:
        sys.exit("home_lines: the virtual machine stopped before the end")
    return parts


def main() -> int:
    """Runs all cases and prints one line for each; 1 if a command was refused."""
    if lacking := machine.missing():
        print(machine.left_out(lacking))
        return 0
    lines: list[str] = []
    for number, (_, _, own) in enumerate(cases()):
        # Remarks keep the answers of equal lines apart.
        lines += [f"{line} # {number}" for line in own]
        lines += [f"tc qdisc show # {number}", f"tc filter show dev $WAN parent ffff: # {number}"]
        lines += [f"{line} # {number}" for line in commands.tc_undo()]
    answers = execute(lines, {f"sch_{kernel_name(aqm)}" for _, aqm, _ in cases()} - {"sch_pfifo", "sch_htb"})
    print(next(name for name in answers if name.startswith("kernel ")))
    wrong = 0
    for number, (link, aqm, own) in enumerate(cases()):
        said = [f"{line}: {answers[f'{line} # {number}']}" for line in own if answers[f"{line} # {number}"]]
        there = answers[f"tc qdisc show # {number}"]
        if there.count(f"qdisc {kernel_name(aqm)} ") < 2:
            said.append(f"not there: {there}")
        if commands.IFB not in answers[f"tc filter show dev $WAN parent ffff: # {number}"]:
            said.append("no redirection")
        print(f"{link:7} {aqm:10} {'; '.join(said) or 'passes'}")
        wrong += bool(said)
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
