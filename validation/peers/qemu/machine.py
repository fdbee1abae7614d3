"""A virtual machine with a Debian kernel under QEMU, without hardware virtualisation.

Its clock counts instructions (`-icount`): the machine's speed and its other work do not show in what it measures.

Needs qemu-system-x86_64 (validation/peers/install.sh qemu), iperf3, tc, ip, dash, cpio; fetch.sh fetches the kernel.
"""

from __future__ import annotations

import base64
import gzip
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
FETCHED = HERE.parents[2] / "target" / "qemu"
NEEDED = ("qemu-system-x86_64", "iperf3", "tc", "ip", "dash", "cpio", "ldd", "dpkg-deb", "apt-get")
MODULES = (
    "net/sched",
    "drivers/net/veth.ko",
    "drivers/net/ifb.ko",
    "net/ipv4/tcp_bbr.ko",
    "net/ipv4/tcp_dctcp.ko",
    "lib/crc32c-intel.ko",
    "lib/libcrc32c.ko",
    "crypto/crc32c_generic.ko",
)


def missing() -> list[str]:
    """Programs that are not here."""
    return [name for name in NEEDED if shutil.which(name) is None]


def left_out(lacking: list[str]) -> str:
    """What a program says of itself where something is missing."""
    name = Path(sys.argv[0]).stem
    return f"{name}: left out, not here: {', '.join(lacking)} (validation/peers/install.sh qemu iperf3)"


def run(*words: str | Path, **more: Any) -> str:
    """A program's output; a message and the end where it fails."""
    ended = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False, **more)
    if ended.returncode:
        sys.exit(f"machine: {' '.join(map(str, words))}: {ended.stderr.strip() or ended.stdout.strip()}")
    return ended.stdout


def fetched() -> Path:
    """The folder with Debian's kernel, busybox and kmod, unpacked."""
    root = FETCHED / "root"
    if not list(root.glob("boot/vmlinuz-*")):
        run("sh", HERE / "fetch.sh", FETCHED)
    return root


def prepare() -> tuple[Path, Path]:
    """The kernel and the file system that it begins with, without a job."""
    kernel = max((fetched() / "boot").glob("vmlinuz-*"))
    version = kernel.name.removeprefix("vmlinuz-")
    source = fetched() / "lib" / "modules" / version

    def put_modules(folder: Path) -> None:
        for name in MODULES:
            here, there = source / "kernel" / name, folder / "kernel" / name
            if here.is_dir():
                shutil.copytree(here, there)
            elif here.exists():
                there.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(here, there)
        for name in ("modules.builtin", "modules.order"):
            shutil.copy(source / name, folder / name)

    image = FETCHED / "base.cpio.gz"
    make_image(image, version, put_modules)
    return kernel, image


def make_image(image: Path, version: str, put_modules: Callable[[Path], None]) -> None:
    """Packs the file system of a machine without a job: the programs, and the modules of a kernel."""
    shell = Path(shutil.which("dash") or "/bin/dash")
    with tempfile.TemporaryDirectory() as scratch:
        root = Path(scratch) / "root"
        for name in ("bin", "dev", "proc", "sys", "run", "tmp", "etc"):
            (root / name).mkdir(parents=True)
        # Debian's dash and not busybox's shell, which knows programs of its own by the names of ip and tc.
        _copy(shell, root)
        for name in ("iperf3", "tc", "ip"):
            _copy(Path(shutil.which(name) or name), root)
        shutil.copy(fetched() / "bin" / "busybox", root / "bin" / "busybox")
        (root / "bin" / "sh").symlink_to(shell)
        modules = root / "lib" / "modules" / version
        modules.mkdir(parents=True)
        put_modules(modules)
        # kmod is depmod where it is called so.
        depmod = Path(scratch) / "depmod"
        depmod.symlink_to(shutil.which("depmod") or fetched() / "bin" / "kmod")
        run(depmod, "-b", root, version)
        _archive(root, image)


def _copy(source: Path, root: Path) -> None:
    """A program with its libraries, where the loader looks for them."""
    target = root / source.relative_to("/")
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(source, target)
    ended = subprocess.run(["ldd", str(source)], capture_output=True, text=True, check=False)
    for line in ended.stdout.splitlines():
        words = [word for word in line.split() if word.startswith("/")]
        if words:
            library = root / words[0].lstrip("/")
            library.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(words[0], library)


def _archive(folder: Path, file: Path) -> None:
    names = "\0".join(str(path.relative_to(folder)) for path in sorted(folder.rglob("*")))
    packed = subprocess.run(
        ["cpio", "--null", "--create", "--format=newc", "--quiet", "--owner=0:0"],
        cwd=folder,
        input=names.encode(),
        stdout=subprocess.PIPE,
        check=True,
    ).stdout
    file.write_bytes(gzip.compress(packed, 1, mtime=0))


def run_job(kernel: Path, image: Path, files: Mapping[str, str | Path], timeout: float = 1200) -> dict[str, str]:
    """Boots the machine with these texts and programs, of which `init` runs first; the parts of its answer."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "job"
        for name, content in files.items():
            file = folder / name
            file.parent.mkdir(parents=True, exist_ok=True)
            if isinstance(content, Path):
                file.write_bytes(content.read_bytes())
                file.chmod(0o755)
            else:
                file.write_text(content, encoding="ascii")
        initrd = Path(scratch) / "initrd"
        _archive(folder, initrd)
        # The kernel unpacks both, the job's over the other.
        initrd.write_bytes(image.read_bytes() + initrd.read_bytes())
        return parts_of(_boot(kernel, initrd, Path(scratch), timeout))


def _boot(kernel: Path, initrd: Path, scratch: Path, timeout: float) -> str:
    """What the machine wrote on its second line, packed and in letters."""
    answer, console = scratch / "answer", scratch / "console"
    command = ["qemu-system-x86_64", "-accel", "tcg", "-cpu", "max", "-m", "1024", "-smp", "1", "-no-reboot"]
    command += ["-display", "none", "-monitor", "none", "-nic", "none", "-rtc", "clock=vm"]
    # Time is what the machine's instructions take, 2 ns each; it passes at once while there is nothing to do.
    command += ["-icount", "shift=1,sleep=off,align=off"]
    command += ["-serial", f"file:{console}", "-serial", f"file:{answer}"]
    command += ["-kernel", str(kernel), "-initrd", str(initrd)]
    command += ["-append", "console=ttyS0 panic=-1 quiet mitigations=off tsc=reliable"]
    try:
        subprocess.run(command, check=True, timeout=timeout, capture_output=True, text=True)
        return gzip.decompress(base64.b64decode(answer.read_text(encoding="ascii"))).decode()
    except (subprocess.SubprocessError, ValueError, OSError, EOFError) as error:
        said = console.read_text(encoding="utf-8", errors="replace")[-2000:] if console.exists() else ""
        sys.exit(f"machine: it gave no answer ({error})\n{said}")


def parts_of(text: str) -> dict[str, str]:
    """An answer by its headings; `head` is what comes before the first."""
    parts = {"head": ""}
    name = "head"
    for line in text.splitlines(keepends=True):
        if line.startswith("== "):
            name = line[3:].strip()
            parts[name] = ""
        else:
            parts[name] += line
    return parts
