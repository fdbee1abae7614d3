"""The playground: where its page is, and a server for it on this machine."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import partial
from http import HTTPStatus
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import foreign
from .errors import EarlydropError
from .toml_writer import to_toml

if TYPE_CHECKING:
    import earlydrop._core as _core

HOST = "127.0.0.1"
SCENARIO = "scenario.toml"
"""The scenario that the page opens, as the server names it."""


class PlaygroundError(EarlydropError):
    """There is no page, or it cannot be served."""


def page() -> Path:
    """The folder of the built page: that of the checkout, or the package's own.

    Raises:
        PlaygroundError: the page was never built.
    """
    here = Path(__file__).resolve().parent
    for folder in (here.parents[1] / "target" / "web", here / "web"):
        if (folder / "index.html").is_file() and (folder / "earlydrop.wasm").is_file():
            return folder
    raise PlaygroundError("the playground is not built: `make web` in a checkout builds it, with node and npm")


def scenario(file: Path, sets: Sequence[tuple[str, str]] = ()) -> str:
    """A scenario file as the page can open it, as TOML: checked, and with what it takes from other files.

    Raises:
        ScenarioError: the scenario is wrong.
        PlaygroundError: the scenario has disciplines that are not in the catalogue.
    """
    import earlydrop._core as _core
    from .sweeps.base_scenario import overlay_toml, with_traces
    from .tune.search_space import toml_settings

    check(_core.Scenario.load(str(file), list(sets)), str(file))
    document = with_traces(foreign.from_toml(file), file.parent)
    return to_toml(overlay_toml(document, toml_settings(list(sets))))


def check(checked: _core.Scenario, place: str) -> None:
    """Refuse a scenario with disciplines that a page does not have; `place` names it in the message.

    Raises:
        PlaygroundError: the scenario has disciplines that are not in the catalogue.
    """
    import earlydrop._core as _core

    known = {entry["name"] for entry in json.loads(_core.catalogue())}
    queues: Mapping[str, Mapping[str, Any]] = json.loads(checked.to_json())["queue"]
    for name, queue in queues.items():
        if "parent" in queue:
            raise PlaygroundError(
                f"{place}: queue.{name}.parent: given {queue['parent']!r}; the playground has disciplines alone"
            )
        if queue["aqm"] not in known:
            raise PlaygroundError(
                f"{place}: queue.{name}.aqm: given {queue['aqm']!r}; allowed a discipline of `earlydrop list aqms`: "
                "a page runs no code from outside"
            )


class _Handler(SimpleHTTPRequestHandler):
    """Serves the page's files and one scenario."""

    extensions_map = {  # noqa: RUF012
        **SimpleHTTPRequestHandler.extensions_map,
        ".wasm": "application/wasm",
        ".js": "text/javascript",
        "": "application/octet-stream",
    }

    def __init__(self, *args: Any, scenario: str | None, **more: Any) -> None:
        self.scenario = scenario
        super().__init__(*args, **more)

    def parse_request(self) -> bool:
        # A foreign page whose name was made to lead here asks by its own name: it gets nothing.
        if not super().parse_request():
            return False
        if [name.strip().lower() for name in self.headers.get_all("Host", [])] in self.own_names():
            return True
        self.send_error(HTTPStatus.MISDIRECTED_REQUEST)
        return False

    def own_names(self) -> list[list[str]]:
        """The server's names with its port; at port 80 without it too, as browsers write them."""
        port = self.server.server_port  # type: ignore[attr-defined]
        ends = [f":{port}", ""] if port == 80 else [f":{port}"]
        return [[name + end] for name in (HOST, "localhost") for end in ends]

    def do_GET(self) -> None:
        if self.path.partition("?")[0] != f"/{SCENARIO}" or self.scenario is None:
            return super().do_GET()
        content = self.scenario.encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/toml")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)
        return None

    def end_headers(self) -> None:
        # Another version may be served at the same address tomorrow.
        self.send_header("Cache-Control", "no-cache")
        super().end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing: requests are of no interest."""


def server(folder: Path, port: int = 0, opened: str | None = None) -> tuple[ThreadingHTTPServer, str]:
    """A server of the page on this machine alone, and the address to open; port 0 is any free one.

    `opened` is a scenario that the page opens, as TOML.

    Raises:
        PlaygroundError: the port is taken or may not be used.
    """
    handler = partial(_Handler, directory=str(folder), scenario=opened)
    try:
        made = ThreadingHTTPServer((HOST, port), handler)
    except (OSError, OverflowError) as error:
        reason = error.strerror if isinstance(error, OSError) else "ports are 0 to 65535"
        raise PlaygroundError(f"--port {port}: {reason}; without --port a free one is taken") from None
    made.daemon_threads = True
    address = f"http://{HOST}:{made.server_address[1]}/"
    return made, address if opened is None else f"{address}#open={SCENARIO}"
