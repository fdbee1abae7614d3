"""Runs the `tc` lines of `earlydrop advise` in a Debian kernel under QEMU, which has the qdiscs.

    python validation/peers/qemu/home_lines.py

Every line must pass without a word, and each qdisc must be there afterwards. Needs what kernel_qdiscs.py needs, iperf3
included; `dualpi2` is left out: it is younger than Debian's kernel.
"""

from __future__ import annotations

import base64
import gzip
import subprocess
import sys
import tempfile
from pathlib import Path

import kernel_qdiscs as peer

from earlydrop import advise
from earlydrop.advise import commands
from earlydrop.advise.model import CONFIGURABLE

LEFT_OUT = ("dualpi2",)


def cases() -> list[tuple[str, str, list[str]]]:
    """Kind of line, queue, and their commands: every queue on one kind of line, two of them on all kinds."""
    return [
        (link, aqm, [x for x in commands.tc_lines(advise.home("50mbit", "10mbit", link=link), aqm)[1:] if x[0] != "#"])
        for link in advise.LINKS
        for aqm in (*CONFIGURABLE, "cake")
        if aqm not in LEFT_OUT and (link == "docsis" or aqm in ("fq_codel", "cake"))
    ]


def kernel_name(aqm: str) -> str:
    """What the kernel calls the qdisc."""
    return commands._TC[aqm].split()[0] if aqm != "cake" else "cake"


def execute(lines: list[str], modules: set[str]) -> dict[str, str]:
    """Runs the lines in the machine; what each of them wrote."""
    kernel, image = peer.prepare()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "job"
        folder.mkdir()
        (folder / "lines").write_text("\n".join([*lines, ""]), encoding="ascii")
        (folder / "modules").write_text(" ".join(sorted(modules)), encoding="ascii")
        init = folder / "init"
        init.write_bytes((peer.HERE / "home_init").read_bytes())
        init.chmod(0o755)
        peer._archive(folder, Path(scratch) / "job.cpio.gz")
        initrd = Path(scratch) / "initrd"
        initrd.write_bytes(image.read_bytes() + (Path(scratch) / "job.cpio.gz").read_bytes())
        answer, console = Path(scratch) / "answer", Path(scratch) / "console"
        command = ["qemu-system-x86_64", "-accel", "tcg", "-cpu", "max", "-m", "1024", "-smp", "1", "-no-reboot"]
        command += ["-display", "none", "-monitor", "none", "-nic", "none"]
        command += ["-serial", f"file:{console}", "-serial", f"file:{answer}"]
        command += ["-kernel", str(kernel), "-initrd", str(initrd), "-append", "console=ttyS0 panic=-1 quiet"]
        try:
            subprocess.run(command, check=True, timeout=1200, capture_output=True, text=True)
            text = gzip.decompress(base64.b64decode(answer.read_text(encoding="ascii"))).decode()
        except (subprocess.SubprocessError, ValueError, OSError, EOFError) as error:
            said = console.read_text(encoding="utf-8", errors="replace")[-2000:] if console.exists() else ""
            sys.exit(f"home_lines: the virtual machine gave no answer ({error})\n{said}")
    found: dict[str, str] = {}
    name = ""
    for line in text.splitlines():
        if line.startswith("== "):
            name = line[3:]
            found[name] = ""
        else:
            found[name] += line + "\n"
    if "end" not in found:
        sys.exit("home_lines: the virtual machine stopped before the end")
    return found


def main() -> int:
    """Runs all cases and prints one line for each; 1 if a command was refused."""
    if lacking := peer.missing():
        print(f"home_lines: left out, not here: {', '.join(lacking)} (validation/peers/install.sh qemu iperf3)")
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
