"""PIE of RFC 8033, as somebody would write it in Python."""

import earlydrop as ed


class OwnPie:
    """PIE: drops arrivals with a probability that holds the queueing delay at a reference."""

    qdelay_ref: float = ed.param(0.015, unit="s", range="(0, inf)", doc="Delay to hold.")
    tupdate: float = ed.param(0.015, unit="s", range="(0, inf)", doc="Time between updates.")
    alpha: float = ed.param(0.125, range=(0, None), doc="Weight of the distance from the reference.")
    beta: float = ed.param(1.25, range=(0, None), doc="Weight of the change.")
    max_burst: float = ed.param(0.15, unit="s", range=(0, None), doc="Burst that is let through.")
    mean_packet: float = ed.param(1000, unit="B", range="(0, inf)", doc="Mean packet.")
    mark_ecnth: float = ed.param(0.1, range=(0, 1), doc="Marks below this probability, drops above.")

    p: float = 0.0
    qdelay: float = 0.0
    burst_allowance: float = 0.0
    qdelay_old: float = 0.0
    next_update: float = 0.0
    gauges = ("p", "qdelay", "burst_allowance")

    def on_start(self, queue, cx):
        self.burst_allowance = self.max_burst
        self.next_update = self.tupdate

    def low(self, delay):
        return delay < self.qdelay_ref / 2.0

    def on_enqueue(self, packet, queue, cx):
        if not cx.has_room:
            return ed.Verdict.PASS  # the buffer drops it
        if self.p == 0.0 and self.low(self.qdelay) and self.low(self.qdelay_old):
            self.burst_allowance = self.max_burst
        if self.burst_allowance > 0.0:
            return ed.Verdict.PASS
        if (self.low(self.qdelay_old) and self.p < 0.2) or queue.bytes <= 2.0 * self.mean_packet:
            return ed.Verdict.PASS
        if not cx.random() < self.p:
            return ed.Verdict.PASS
        forced = self.p >= 1.0
        if self.p < self.mark_ecnth and cx.can_mark:
            return ed.Verdict.signal(forced)
        return ed.Verdict.drop(forced)

    def on_dequeue(self, packet, queue, cx):
        self.qdelay = cx.now - packet.enqueued if queue.bytes > 0 else 0.0
        return ed.Verdict.PASS

    def tuning(self):
        if self.p >= 0.1:
            return 1.0
        if self.p >= 0.01:
            return 2.0
        if self.p >= 0.001:
            return 8.0
        if self.p >= 0.0001:
            return 32.0
        if self.p >= 0.00001:
            return 128.0
        return 512.0 if self.p >= 0.000001 else 2048.0

    def next_timer(self):
        return self.next_update

    def on_timer(self, queue, cx):
        self.next_update += self.tupdate
        change = self.alpha * (self.qdelay - self.qdelay_ref) + self.beta * (self.qdelay - self.qdelay_old)
        change /= self.tuning()
        if self.p >= 0.1 and change > 0.02:
            change = 0.02
        p = self.p + change
        if self.qdelay == 0.0 and self.qdelay_old == 0.0:
            p *= 0.98
        self.p = min(1.0, max(0.0, p))
        self.burst_allowance -= self.tupdate
        if self.burst_allowance < 1e-9:
            self.burst_allowance = 0.0
        self.qdelay_old = self.qdelay
