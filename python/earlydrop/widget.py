"""The playground as a widget of Jupyter notebooks: `net.play()`."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Sequence
from typing import Any

from . import extras, playground

HEIGHT = 760
"""Height of the widget, in pixels."""
_SCRIPT = """
export default {
  render({ model, el }) {
    const url = URL.createObjectURL(new Blob([model.get("page")], { type: "text/html" }));
    const frame = document.createElement("iframe");
    frame.src = url + "#embed";
    frame.title = "earlydrop playground";
    frame.style.cssText = `width: 100%; height: ${model.get("height")}px; border: 0`;
    // The notebook's theme, which need not be the system's.
    const tell = () => {
      const { jpThemeLight } = document.body.dataset;
      if (jpThemeLight) frame.contentWindow?.postMessage({ theme: jpThemeLight === "true" ? "light" : "dark" }, "*");
    };
    const themes = new MutationObserver(tell);
    themes.observe(document.body, { attributes: true, attributeFilter: ["data-jp-theme-light"] });
    frame.addEventListener("load", tell);
    el.append(frame);
    return () => {
      themes.disconnect();
      URL.revokeObjectURL(url);
    };
  },
};
"""


def page(scenario: str | None = None) -> str:
    """The playground in one HTML text that needs no other file; it opens a scenario given as TOML.

    Raises:
        PlaygroundError: the playground was never built.
    """
    folder = playground.page()
    text = (folder / "index.html").read_text(encoding="utf-8")
    given = {"earlydropWasm": base64.b64encode((folder / "earlydrop.wasm").read_bytes()).decode()}
    if scenario is not None:
        given["earlydropScenario"] = scenario
    # Within a script "</" would end it, and "<!--" may hide its end.
    texts = json.dumps(given).replace("<", "\\u003c")
    scripts = [
        f"Object.assign(globalThis, {texts});",
        (folder / "page.js").read_text(encoding="utf-8").replace("</script", "<\\/script"),
    ]
    style = (folder / "page.css").read_text(encoding="utf-8")
    text = re.sub(r"<link [^>]*>", "", text)
    text, tags = re.subn(r"<script defer[^>]*></script>", "", text)
    policy = _policy(scripts, style)
    text, policies = re.subn(
        r'(<meta http-equiv="Content-Security-Policy" content=")[^"]*', lambda found: found[1] + policy, text
    )
    if (tags, policies) != (1, 1):
        raise playground.PlaygroundError(
            f"{folder / 'index.html'}: given {tags} scripts and {policies} policies; allowed one of each: "
            "make web again"
        )
    text = text.replace("</head>", f"<style>{style}</style></head>")
    return text.replace("</body>", "".join(f"<script>{script}</script>" for script in scripts) + "</body>")


def _policy(scripts: Sequence[str], style: str) -> str:
    """The page's content policy: it may load these scripts, this style, the engine and its worker, and no file."""

    def hashed(code: str) -> str:
        return f"'sha256-{base64.b64encode(hashlib.sha256(code.encode()).digest()).decode()}'"

    return "; ".join(
        (
            "default-src 'none'",
            f"script-src {' '.join(map(hashed, scripts))} 'wasm-unsafe-eval'",
            "worker-src blob:",
            f"style-src {hashed(style)}",
            "base-uri 'none'",
            "form-action 'none'",
        )
    )


def widget(scenario: str | None = None, height: int = HEIGHT) -> Any:
    """A widget with the playground, which opens a scenario given as TOML; `height` is in pixels.

    Raises:
        PlaygroundError: the playground was never built, or anywidget is missing.
    """
    try:
        import anywidget
        import traitlets
    except ImportError as error:
        raise playground.PlaygroundError(f"play() needs anywidget: {extras.command('notebook')}") from error
    traits = {"page": traitlets.Unicode(page(scenario)).tag(sync=True), "height": traitlets.Int(height).tag(sync=True)}
    return type("Playground", (anywidget.AnyWidget,), {"_esm": _SCRIPT, **traits})()
