"""CoDel of RFC 8289 (section 5), as somebody would write it in Python."""

import math

import earlydrop as ed


class OwnCodel:
    """CoDel: drops at departure, ever closer together, while packets wait too long."""

    target: float = ed.param(0.005, unit="s", range="(0, inf)", doc="Sojourn time that may stand for ever.")
    interval: float = ed.param(0.1, unit="s", range="(0, inf)", doc="About the largest round-trip time.")
    max_packet: float = ed.param(1500, unit="B", range=(0, None), doc="Nothing is dropped while no more waits.")

    count: int = 0
    dropping: bool = False
    drop_next: float = 0.0
    last_count: int = 0
    first_above: float = -1.0  # when the first drop is due; negative: not late
    entering: bool = False  # the packet before was the drop that entered the dropping state
    in_loop: bool = False  # the packet before was dropped within it
    gauges = ("count", "dropping", "drop_next")

    def control_law(self, since):
        return since + self.interval / math.sqrt(max(self.count, 1))

    def late(self, sojourn, queue, cx):
        if sojourn < self.target or queue.bytes <= self.max_packet:
            self.first_above = -1.0
            return False
        if self.first_above < 0:
            self.first_above = cx.now + self.interval
            return False
        return cx.now >= self.first_above

    def enter(self, cx):
        self.dropping = True
        delta = self.count - self.last_count
        self.count = delta if delta > 1 and cx.now - self.drop_next < 16.0 * self.interval else 1
        self.last_count = self.count
        self.drop_next = self.control_law(cx.now)

    def step(self, late, cx):
        """Whether this packet is dropped or marked, which is what `cx.can_mark` says."""
        entering, in_loop = self.entering, self.in_loop
        self.entering = False
        self.in_loop = False
        if entering:
            self.enter(cx)
            return False
        if in_loop:
            if late:
                self.drop_next = self.control_law(self.drop_next)
            else:
                self.dropping = False
        elif self.dropping:
            self.dropping = late
        elif late:
            if cx.can_mark:
                self.enter(cx)
            else:
                self.entering = True
            return True
        if self.dropping and cx.now >= self.drop_next:
            self.count += 1
            if cx.can_mark:
                self.drop_next = self.control_law(self.drop_next)
            else:
                self.in_loop = True
            return True
        return False

    def on_enqueue(self, packet, queue, cx):
        return ed.Verdict.PASS

    def on_dequeue(self, packet, queue, cx):
        if self.step(self.late(cx.now - packet.enqueued, queue, cx), cx):
            return ed.Verdict.signal(forced=True)
        return ed.Verdict.PASS

    def on_empty(self, queue, cx):
        self.first_above = -1.0
        self.step(False, cx)
