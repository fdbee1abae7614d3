"""Traffic of a network, and the distributions of sizes, times and starts.

Every keyword is a key of `[[traffic]]`; docs/scenarios.md says what each means. Sizes and times are texts with units,
or distributions: `"10 kB"`, `"50 packets"`, `uniform("1 kB", "1 MB")`, `pareto("12 kB", shape=1.2)`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

Document = dict[str, Any]
Law = str | float | Mapping[str, Any]
Start = str | list[str] | Mapping[str, Any]


def uniform(low: str, high: str) -> Document:
    """A time or size drawn evenly between two: `uniform("0 s", "1 s")`."""
    return {"uniform": [low, high]}


def exponential(mean: str) -> Document:
    """An exponential time or size with this mean."""
    return {"exponential": mean}


def pareto(mean: str, *, shape: float, max: str | None = None) -> Document:
    """A Pareto distribution with this mean and shape; values above `max` become `max`."""
    return {"pareto": mean, "shape": shape, **({} if max is None else {"max": max})}


def lognormal(median: str, *, sigma: float, max: str | None = None) -> Document:
    """A log-normal distribution; `sigma` is the standard deviation of the logarithm."""
    return {"lognormal": median, "sigma": sigma, **({} if max is None else {"max": max})}


def geometric(mean: float) -> Document:
    """A number from 1, 2, 3... with a geometric distribution and this mean."""
    return {"geometric": mean}


def sample(values: Sequence[str]) -> Document:
    """A value drawn from these, each as likely as the others."""
    return {"sample": list(values)}


def mix(weights: Mapping[str, float]) -> Document:
    """A value drawn from these by their weights: `mix({"40 B": 5, "1500 B": 3})`."""
    return {"mix": [[value, weight] for value, weight in weights.items()]}


def cdf(points: Mapping[str, float]) -> Document:
    """A distribution function through these points, straight between them: `cdf({"1 kB": 0.5, "1 MB": 1})`."""
    return {"cdf": [[value, chance] for value, chance in points.items()]}


def every(gap: str, *, since: str = "0 s") -> Document:
    """Starts one after the other, a constant time apart."""
    return {"every": gap, "from": since}


def poisson(gap: str, *, since: str = "0 s") -> Document:
    """Starts one after the other with exponential times between them: a Poisson process."""
    return {"poisson": gap, "from": since}


class Sending:
    """What can be sent over a network. Each call adds flows and returns the network, so that calls can be chained."""

    traffic: list[Document]

    def _add(self, kind: str, count: int | None, given: Mapping[str, Any]) -> Self:
        entry = {"kind": kind, "count": count, **given}
        self.traffic.append({key: value for key, value in entry.items() if value is not None})
        return self

    def ftp(
        self,
        count: int | None = None,
        *,
        tcp: str | None = None,
        segment: str | None = None,
        start: Start | None = None,
        window: int | None = None,
        header: str | None = None,
        stack: str | None = None,
        rules: Mapping[str, Any] | None = None,
        reverse_of: str | None = None,
        **more: Any,
    ) -> Self:
        """Add endless files over TCP, one a flow: one of Reno, unless told otherwise.

        With `reverse_of`, the name of flows added before, they send the other way in the connections of these, and have
        their number and TCP.
        """
        if reverse_of is None:
            count, tcp = 1 if count is None else count, tcp or "reno"
        given = {"segment": segment, "start": start, "window": window, "header": header, "stack": stack, **more}
        return self._add("ftp", count, {"tcp": tcp, "reverse_of": reverse_of, "rules": rules, **given})

    def transfers(
        self,
        count: int = 1,
        *,
        size: Law,
        number: int | str | None = None,
        think: Law | None = None,
        connection: str | None = None,
        completion: str | None = None,
        tcp: str = "reno",
        segment: str | None = None,
        start: Start | None = None,
        **more: Any,
    ) -> Self:
        """Add finite transfers over TCP: `number` of them a flow (or `"endless"`), one after the other.

        Each opens a connection of its own unless `connection` is `"same"`.
        """
        given = {"number": number, "think": think, "connection": connection, "completion": completion, "tcp": tcp}
        return self._add("transfers", count, {"size": size, **given, "segment": segment, "start": start, **more})

    def requests(
        self,
        count: int = 1,
        *,
        size: Law,
        request: str | None = None,
        number: int | str | None = None,
        think: Law | None = None,
        connection: str | None = None,
        tcp: str = "reno",
        segment: str | None = None,
        start: Start | None = None,
        **more: Any,
    ) -> Self:
        """Add clients at the receivers' side that ask, and servers that answer with `size` over TCP."""
        given = {"request": request, "number": number, "think": think, "connection": connection, "tcp": tcp}
        return self._add("requests", count, {"size": size, **given, "segment": segment, "start": start, **more})

    def web(
        self,
        count: int | None = None,
        *,
        session_gap: str,
        pages: float | Mapping[str, Any] | None = None,
        page_gap: Law | None = None,
        objects: float | Mapping[str, Any] | None = None,
        object_gap: Law | None = None,
        size: Law | None = None,
        tcp: str = "reno",
        segment: str | None = None,
        start: Start | None = None,
        **more: Any,
    ) -> Self:
        """Add web sessions that start as a Poisson process, over a pool of `count` TCP connections."""
        given = {"pages": pages, "page_gap": page_gap, "objects": objects, "object_gap": object_gap, "size": size}
        last = {"tcp": tcp, "segment": segment, "start": start, **more}
        return self._add("web", count, {"session_gap": session_gap, **given, **last})

    def pages(
        self,
        count: int = 6,
        *,
        size: Law,
        connections: int | None = None,
        objects: float | Mapping[str, Any] | None = None,
        think: Law | None = None,
        number: int | str | None = None,
        connection: str | None = None,
        tcp: str = "reno",
        segment: str | None = None,
        start: Start | None = None,
        **more: Any,
    ) -> Self:
        """Add people who load pages of objects, each over `connections` (6) of the `count` TCP connections."""
        given = {"connections": connections, "objects": objects, "think": think, "number": number}
        last = {"connection": connection, "tcp": tcp, "segment": segment, "start": start, **more}
        return self._add("pages", count, {"size": size, **given, **last})

    def cbr(
        self,
        count: int = 1,
        *,
        rate: str,
        segment: str | Mapping[str, Any] | None = None,
        start: Start | None = None,
        header: str | None = None,
        jitter: bool | None = None,
        stop: str | None = None,
        **more: Any,
    ) -> Self:
        """Add packets at a constant bit rate over UDP, which nothing slows down."""
        given = {"segment": segment, "start": start, "header": header, "jitter": jitter, "stop": stop, **more}
        return self._add("cbr", count, {"rate": rate, **given})

    def onoff(
        self,
        count: int = 1,
        *,
        rate: str | None = None,
        on: str | None = None,
        off: str | None = None,
        law: str | None = None,
        shape: float | None = None,
        segment: str | None = None,
        start: Start | None = None,
        stop: str | None = None,
        **more: Any,
    ) -> Self:
        """Add bursts and pauses over UDP of exponential lengths, or as `law` says: `"pareto"` or `"constant"`."""
        given = {"rate": rate, "on": on, "off": off, "law": law, "shape": shape, "segment": segment}
        return self._add("onoff", count, {**given, "start": start, "stop": stop, **more})

    def poisson(
        self,
        count: int = 1,
        *,
        rate: str,
        segment: str | Mapping[str, Any] | None = None,
        start: Start | None = None,
        stop: str | None = None,
        **more: Any,
    ) -> Self:
        """Add packets at the times of a Poisson process, over UDP."""
        return self._add("poisson", count, {"rate": rate, "segment": segment, "start": start, "stop": stop, **more})

    def voip(
        self,
        count: int = 1,
        *,
        interval: str | None = None,
        on: str | None = None,
        off: str | None = None,
        segment: str | None = None,
        start: Start | None = None,
        stop: str | None = None,
        **more: Any,
    ) -> Self:
        """Add speech over UDP: packets at even intervals while somebody talks."""
        given = {"interval": interval, "on": on, "off": off, "segment": segment, "start": start, "stop": stop, **more}
        return self._add("voip", count, given)

    def video(
        self,
        count: int = 1,
        *,
        interval: str | None = None,
        frame: Law | None = None,
        group: list[float] | None = None,
        segment: str | None = None,
        start: Start | None = None,
        stop: str | None = None,
        **more: Any,
    ) -> Self:
        """Add frames at even intervals over UDP, each in as many packets as it needs."""
        given = {"interval": interval, "frame": frame, "group": group, "segment": segment, "start": start}
        return self._add("video", count, {**given, "stop": stop, **more})

    def media(
        self,
        count: int = 1,
        *,
        control: str | None = None,
        ecn: str | None = None,
        min_rate: str | None = None,
        max_rate: str | None = None,
        start_rate: str | None = None,
        frame_rate: float | None = None,
        encoder_lag: str | None = None,
        variation: float | None = None,
        key_interval: int | None = None,
        start: Start | None = None,
        stop: str | None = None,
        **more: Any,
    ) -> Self:
        """Add real-time video over RTP whose rate SCReAMv2 (`"scream"`) or GCC (`"gcc"`) sets from feedback."""
        given = {"control": control, "ecn": ecn, "min_rate": min_rate, "max_rate": max_rate, "start_rate": start_rate}
        frames = {"frame_rate": frame_rate, "encoder_lag": encoder_lag, "variation": variation}
        last = {"key_interval": key_interval, "start": start, "stop": stop, **more}
        return self._add("media", count, {**given, **frames, **last})
