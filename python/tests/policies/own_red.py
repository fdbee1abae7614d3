"""RED of 1993 (Floyd and Jacobson, Fig. 2), as somebody would write it in Python."""

import earlydrop as ed


class OwnRed:
    """RED: drop probability linear in the averaged queue."""

    min_th: float = ed.param(5, unit="packets", range=(0, None), doc="Lower threshold.", symbol="min_{th}")
    max_th: float = ed.param(15, unit="packets", range=(0, None), doc="Upper threshold.", symbol="max_{th}")
    max_p: float = ed.param(0.02, range="(0, 1]", doc="Drop probability at max_th.", symbol="max_p")
    w_q: float = ed.param(0.002, range="(0, 1]", doc="Weight of a new sample in the average.", symbol="w_q")
    mean_packet: float = ed.param(500, unit="B", range="(0, inf)", doc="Mean packet, for the time of an idle link.")

    avg: float = 0.0
    p_b: float = 0.0
    count: int = -1
    last: float = -1.0
    counted_until: float = 0.0
    packets_per_second: float = 0.0
    gauges = ("avg", "p_b", "count")

    def check(self):
        if self.max_th <= self.min_th:
            return f"max_th must be more than min_th ({self.min_th:g})"
        return None

    def on_start(self, queue, cx):
        self.packets_per_second = cx.link_rate / (8.0 * self.mean_packet)

    def observe(self, queue, cx):
        if queue.idle_since < 0:
            self.last = -1.0
            self.avg = (1.0 - self.w_q) * self.avg + self.w_q * queue.packets
            return
        # An arrival that is dropped at an idle link leaves it idle; what it has not counted, the next one counts.
        since = self.counted_until if self.last == queue.idle_since else queue.idle_since
        m = int(self.packets_per_second * (cx.now - since))
        if m > 0:
            self.avg *= cx.exp(m * cx.log1p(-self.w_q))
        self.last = cx.now
        self.counted_until = since + m / self.packets_per_second

    def on_enqueue(self, packet, queue, cx):
        self.observe(queue, cx)
        if self.avg < self.min_th:
            self.count = -1
            return ed.Verdict.PASS
        if self.avg >= self.max_th:
            self.p_b = 1.0
            self.count = 0
            return ed.Verdict.drop(forced=True)
        self.count += 1
        width = self.max_th - self.min_th
        self.p_b = min(1.0, max(0.0, (1.0 / width * self.avg + -self.min_th / width) * self.max_p))
        used = self.count * self.p_b
        p_a = min(1.0, self.p_b / (1.0 - used)) if used < 1.0 else 1.0
        if p_a > 0.0 and cx.random() <= p_a:
            self.count = 0
            return ed.Verdict.signal()
        return ed.Verdict.PASS

    def average(self):
        return self.avg
