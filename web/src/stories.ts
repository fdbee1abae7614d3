// The guided stories, as data: a setup, steps of text beside the live run, a claim with its paper, and a check on numbers.

import { FLOWS, type Group, SETUP, type Setup } from "./model";
import { percent, short } from "./numbers";

/** A result document, as far as stories look at it. */
export interface Result {
  goodput_total_mbps: number;
  jain: number;
  queues: { bottleneck: Queue };
  flows: { goodput_mbps: number; retransmits: number }[];
  traffic: { goodput_mbps: number; retransmits: number; transfers?: { time_mean_s: number } }[];
}

interface Queue {
  utilisation: number;
  queue_mean_packets: number;
  queue_std_packets: number;
  delay_mean_ms: number;
  delay_p99_ms: number;
  drop_rate: number;
  early_drops: number;
  overflow_drops: number;
  marks: number;
  traffic?: { delay_p50_ms: number; delay_p99_ms: number }[];
}

export interface Step {
  text: string;
  /** What this step changes in the setup of the story. */
  change?: (setup: Setup) => void;
  /** Simulated seconds in a second. */
  speed?: number;
}

export interface Story {
  id: string;
  title: string;
  claim: string;
  paper: string;
  setup: Partial<Setup>;
  steps: Step[];
  /** What is asked before anything is shown; `right` is the place of the answer that `check` finds. */
  guess: { ask: string; answers: string[]; right: number };
  /** What the results show of the claim, by step and discipline, and which answer they give. */
  check: (results: Result[][]) => { answer: number; holds: boolean; says: string };
}

const flows = (count: number, more: Partial<Group> = {}): Group => ({ ...FLOWS, count, ...more });
const RENO = { stack: "ns2-2.35", tcp: "reno" };
const queue = (one: Result | undefined): Queue => one!.queues.bottleneck;
const ms = (value: number): string => `${short(value)} ms`;
const named = (...aqms: string[]): Setup["disciplines"] => aqms.map((aqm) => ({ aqm, set: {} }));

export const STORIES: Story[] = [
  {
    id: "full-buffer",
    title: "Why a full buffer is slow",
    claim: "TCP fills whatever buffer it finds: a large one makes the line slow and hardly any faster.",
    paper: "J. Gettys, K. Nichols: Bufferbloat: Dark Buffers in the Internet. ACM Queue 9(11), 2011",
    guess: {
      ask: "Four downloads share a line of 10 Mbit/s and keep a buffer of 400 packets full. The buffer is cut to 40 packets. How much less of the line is in use?",
      answers: ["Hardly less", "About half", "Nine tenths less"],
      right: 0,
    },
    setup: { disciplines: named("droptail", "codel"), limit: { kind: "packets", size: 400 }, groups: [flows(4)] },
    steps: [
      {
        text: "Four downloads share a line of 10 Mbit/s. DropTail, in the first card, is the plain queue: it drops only when its buffer of 400 packets is full. TCP sends ever faster until a packet is lost, so it keeps the buffer full. Everything that comes last in this line waits for some 400 packets before it.",
      },
      {
        text: "Now the buffer has 40 packets. The delay falls with it; the link is still in use almost all the time. The large buffer bought next to nothing.",
        change: (s) => {
          s.limit = { kind: "packets", size: 40 };
        },
      },
      {
        text: "Nobody has to know the right size: CoDel, in the second card, keeps the delay short with a large buffer too. It drops a packet when all packets have waited too long, and TCP slows down.",
        change: (s) => {
          s.limit = { kind: "packets", size: 400 };
        },
      },
    ],
    check: ([large, small]) => {
      const [a, b, c] = [queue(large![0]), queue(small![0]), queue(large![1])];
      const lost = 1 - b.utilisation / a.utilisation;
      return {
        answer: lost < 0.1 ? 0 : lost < 0.7 ? 1 : 2,
        holds:
          a.delay_mean_ms > 5 * b.delay_mean_ms &&
          a.delay_mean_ms > 5 * c.delay_mean_ms &&
          b.utilisation > 0.9 * a.utilisation,
        says: `Mean delay with DropTail: ${ms(a.delay_mean_ms)} with 400 packets, ${ms(b.delay_mean_ms)} with 40; with CoDel ${ms(c.delay_mean_ms)}. The link is used ${percent(a.utilisation)}, ${percent(b.utilisation)} and ${percent(c.utilisation)} of the time.`,
      };
    },
  },
  {
    id: "red-average",
    title: "RED's average",
    claim: "RED acts on an average of the queue. A slow average lets bursts pass, and lets the queue swing.",
    paper: "S. Floyd, V. Jacobson: Random Early Detection Gateways for Congestion Avoidance. IEEE/ACM ToN 1(4), 1993",
    guess: {
      ask: "RED drops by an average of the queue. One RED's average follows the queue at once, another's a hundred times more slowly. Behind which does the queue swing more?",
      answers: ["The quick one", "Both alike", "The slow one"],
      right: 2,
    },
    setup: {
      disciplines: [
        { aqm: "red", set: { max_p: 0.1, w_q: 0.002 } },
        { aqm: "red", set: { max_p: 0.1, w_q: 0.2 } },
      ],
      groups: [flows(10, RENO)],
    },
    steps: [
      {
        text: "Two REDs that differ in w_q alone, the weight of a new sample in the average. The coloured line is the queue, the bold one the average. In the first card w_q is 0.002, as in the paper: the average hardly moves while the queue jumps. In the second it is 0.2, and the average follows.",
      },
      {
        text: "At a tenth of real time, look at the arrivals. RED drops with a probability that depends on the average alone: the dot on the drop curve. With the slow average a burst that meets a low value passes untouched, however long the queue is for a moment. That is what the average is for.",
        speed: 0.1,
      },
      {
        text: "It has a price. Once the slow average is high, it stays high after the queue has drained, and RED goes on dropping: the flows slow down together, and the queue swings. Move either w_q and look at the bold line.",
        speed: 3,
      },
    ],
    check: ([first]) => {
      const [a, b] = [queue(first![0]), queue(first![1])];
      const ratio = a.queue_std_packets / b.queue_std_packets;
      return {
        answer: ratio > 1.25 ? 2 : ratio < 0.8 ? 0 : 1,
        holds: a.queue_std_packets > 1.5 * b.queue_std_packets,
        says: `The queue varies by ${short(a.queue_std_packets)} packets (standard deviation) with w_q = 0.002, by ${short(b.queue_std_packets)} with 0.2; the link is used ${percent(a.utilisation)} and ${percent(b.utilisation)} of the time.`,
      };
    },
  },
  {
    id: "red-tuning",
    title: "Why RED is hard to tune",
    claim:
      "RED's queue depends on the load: the same parameters hold a short queue with few flows and a long one with many.",
    paper:
      "S. Floyd, R. Gummadi, S. Shenker: Adaptive RED, 2001; M. Christiansen et al.: Tuning RED for Web Traffic, SIGCOMM 2000",
    guess: {
      ask: "RED holds a short queue of five flows. Now there are fifty, and its parameters are the same. What becomes of the queue?",
      answers: ["It gets shorter", "It stays as it is", "It grows by half or more"],
      right: 2,
    },
    setup: {
      disciplines: [
        { aqm: "red", set: { min_th: 20, max_th: 60, max_p: 0.1 } },
        { aqm: "ared", set: { min_th: 20, max_th: 60 } },
      ],
      limit: { kind: "packets", size: 300 },
      groups: [flows(5, RENO)],
    },
    steps: [
      {
        text: "Five flows. RED's average settles near min_th, where the few drops that five flows need are found on the curve.",
      },
      {
        text: "Fifty flows, nothing else changed. More flows need more drops, so the average has to climb up the curve: the queue grows with the load, and with it the delay.",
        change: (s) => {
          s.groups = [flows(50, RENO)];
        },
      },
      {
        text: "Adaptive RED, in the second card, moves the upper end of the curve instead: watch max_p in what it thinks. The average stays about half-way between the thresholds for five flows as for fifty.",
        change: (s) => {
          s.groups = [flows(50, RENO)];
        },
      },
    ],
    check: ([few, many]) => {
      const growth = (k: number): number => queue(many![k]).queue_mean_packets / queue(few![k]).queue_mean_packets;
      const means = (k: number): string =>
        `${short(queue(few![k]).queue_mean_packets)} to ${short(queue(many![k]).queue_mean_packets)} packets`;
      return {
        answer: growth(0) > 1.5 ? 2 : growth(0) > 0.8 ? 1 : 0,
        holds: growth(0) > 1.5 && growth(1) < 0.75 * growth(0),
        says: `From 5 to 50 flows the mean queue grows from ${means(0)} with RED, from ${means(1)} with ARED.`,
      };
    },
  },
  {
    id: "tred",
    title: "TRED against RED at light load",
    claim: "TRED drops more gently than RED at light load, and more firmly at high load.",
    paper:
      "C.-W. Feng, L.-F. Huang, C. Xu, Y.-C. Chang: Congestion Control Scheme Performance Analysis Based on Nonlinear RED. IEEE Systems Journal, 2015",
    guess: {
      ask: "TRED's drop curve has RED's thresholds, but begins flatter and ends steeper. Which queue is longer with four flows?",
      answers: ["RED's", "TRED's", "They are as long"],
      right: 1,
    },
    setup: {
      disciplines: [
        { aqm: "red", set: { min_th: 20, max_th: 60, max_p: 0.1 } },
        { aqm: "tred", set: { min_th: 20, max_th: 60, max_p: 0.1 } },
      ],
      groups: [flows(4, RENO)],
    },
    steps: [
      {
        text: "The same thresholds, two curves: RED's is a line, TRED's begins and ends with a cubic. Compare them just above min_th, where a light load of four flows keeps the average.",
      },
      {
        text: "The few drops that four flows need lie further up on TRED's flat beginning: its average stands higher than RED's, and it drops a little less. The link is used a little better, and packets wait a little longer.",
      },
      {
        text: "Eighty flows drive the average into the upper third, where TRED's curve lies above RED's. Now its queue is the shorter one.",
        change: (s) => {
          s.groups = [flows(80, RENO)];
        },
      },
    ],
    check: ([light, , heavy]) => {
      const means = (step: Result[]): string =>
        `${short(queue(step[0]).queue_mean_packets)} with RED, ${short(queue(step[1]).queue_mean_packets)} with TRED`;
      const ratio = queue(light![1]).queue_mean_packets / queue(light![0]).queue_mean_packets;
      return {
        answer: ratio > 1.03 ? 1 : ratio < 0.97 ? 0 : 2,
        holds:
          queue(light![1]).drop_rate < queue(light![0]).drop_rate &&
          queue(light![1]).queue_mean_packets > queue(light![0]).queue_mean_packets &&
          queue(heavy![1]).queue_mean_packets < queue(heavy![0]).queue_mean_packets,
        says: `With 4 flows, drops: ${percent(queue(light![0]).drop_rate)} with RED, ${percent(queue(light![1]).drop_rate)} with TRED; mean queue in packets: ${means(light!)}. With 80 flows: ${means(heavy!)}.`,
      };
    },
  },
  {
    id: "codel-root",
    title: "CoDel's square root",
    claim: "CoDel drops ever more often, at intervals divided by √count, until the delay is below its target.",
    paper: "K. Nichols, V. Jacobson: Controlling Queue Delay, ACM Queue 10(5), 2012; RFC 8289",
    guess: {
      ask: "CoDel is told how long packets may wait, and nothing of the link. The link gets four times its rate. How long do packets wait then?",
      answers: ["About four times as long", "As long, or shorter", "Until the buffer is full"],
      right: 1,
    },
    setup: { disciplines: named("codel"), limit: { kind: "packets", size: 1000 }, groups: [flows(20)] },
    steps: [
      {
        text: "Twenty flows. CoDel looks at how long each packet waited. When all of them waited for more than 5 ms over 100 ms, it drops one packet; the next follows after 100 ms/√2, then 100 ms/√3, …",
      },
      {
        text: "TCP slows down by 1/√p for drops at rate p, so this series brings the delay down in steps that TCP can follow. Look at the arrivals at a tenth of real time. CoDel's drops are in the lane of forced drops; they come closer and closer.",
        speed: 0.1,
      },
      {
        text: "CoDel knows neither the link nor the number of flows: it works in time. Now the link has 40 Mbit/s, and the delay is again a few times the target or less. Try other rates under “Link, load and run”.",
        change: (s) => {
          s.rate = 40e6;
        },
        speed: 3,
      },
    ],
    check: ([slow, , fast]) => {
      const [a, b] = [queue(slow![0]), queue(fast![0])];
      const ratio = b.delay_mean_ms / a.delay_mean_ms;
      return {
        answer: ratio < 1.2 ? 1 : ratio < 8 ? 0 : 2,
        holds: a.delay_mean_ms < 25 && b.delay_mean_ms < 25 && a.utilisation > 0.9 && b.utilisation > 0.9,
        says: `Mean delay: ${ms(a.delay_mean_ms)} at 10 Mbit/s, ${ms(b.delay_mean_ms)} at 40 Mbit/s; the link is used ${percent(a.utilisation)} and ${percent(b.utilisation)} of the time.`,
      };
    },
  },
  {
    id: "pie",
    title: "PIE holds a delay",
    claim: "PIE keeps the mean delay near its target, whatever the rate of the link and the number of flows.",
    paper: "R. Pan et al.: PIE: A Lightweight Control Scheme to Address the Bufferbloat Problem, HPSR 2013; RFC 8033",
    guess: {
      ask: "PIE holds a delay of some 15 ms at 10 Mbit/s. The link gets four times its rate. What becomes of the delay?",
      answers: ["It falls to a quarter", "It stays", "It rises to four times as much"],
      right: 1,
    },
    setup: { disciplines: named("pie"), limit: { kind: "packets", size: 1000 }, groups: [flows(20)] },
    steps: [
      {
        text: "PIE drops arrivals at random. Every 15 ms it moves its drop probability p: up when the delay is above the target of 15 ms (qdelay_ref) or growing, down when it is below or falling. You see p in what it thinks.",
      },
      {
        text: "Four times the rate: p falls to a fraction, because flows with larger windows need fewer drops. The delay is where it was.",
        change: (s) => {
          s.rate = 40e6;
        },
      },
      { text: "Now move the target, qdelay_ref, while it runs, and see how the queue follows." },
    ],
    check: ([slow, fast]) => {
      const [a, b] = [queue(slow![0]), queue(fast![0])];
      const near = (one: Queue): boolean => one.delay_mean_ms > 8 && one.delay_mean_ms < 25;
      const ratio = b.delay_mean_ms / a.delay_mean_ms;
      return {
        answer: ratio < 0.6 ? 0 : ratio < 1.7 ? 1 : 2,
        holds: near(a) && near(b),
        says: `Mean delay: ${ms(a.delay_mean_ms)} at 10 Mbit/s, ${ms(b.delay_mean_ms)} at 40 Mbit/s; the target is 15 ms.`,
      };
    },
  },
  {
    id: "ecn",
    title: "ECN",
    claim: "With ECN the queue can tell senders to slow down without dropping their packets.",
    paper: "K. Ramakrishnan, S. Floyd, D. Black: RFC 3168, 2001; G. Fairhurst, M. Welzl: RFC 8087, 2017",
    guess: {
      ask: "With ECN a queue marks packets that it would else drop. How many packets do twenty flows send again then?",
      answers: ["As many as before", "About half as many", "Fewer than a tenth"],
      right: 2,
    },
    setup: { disciplines: named("codel", "red"), groups: [flows(20)] },
    steps: [
      {
        text: "Without ECN, the only signal of a queue is a drop. Each dropped packet is sent again, and whatever waits for it waits for a round trip more.",
      },
      {
        text: "With ECN the same queues set a mark in the packet's header instead: look at the lane of marks. The receiver echoes it, the sender slows down as after a loss, and nothing has to be sent again.",
        change: (s) => {
          s.ecn = true;
          s.groups = [flows(20, { ecn: true })];
        },
      },
    ],
    check: ([drops, marks]) => {
      const again = (step: Result[], k: number): number => step[k]!.flows.reduce((n, f) => n + f.retransmits, 0);
      const ratio = again(marks!, 0) / again(drops!, 0);
      return {
        answer: ratio < 0.1 ? 2 : ratio < 0.75 ? 1 : 0,
        holds: again(marks!, 0) < 0.1 * again(drops!, 0) && queue(marks![0]).marks > 100,
        says: `Retransmissions with CoDel: ${again(drops!, 0)} without ECN, ${again(marks!, 0)} with it and ${queue(marks![0]).marks} marks.`,
      };
    },
  },
  {
    id: "unresponsive",
    title: "An unresponsive flow",
    claim: "A flow that does not slow down takes the share of those that do, unless the queue tells flows apart.",
    paper:
      "S. Floyd, K. Fall: Promoting the Use of End-to-End Congestion Control in the Internet. IEEE/ACM ToN 7(4), 1999",
    guess: {
      ask: "Ten TCP flows share a link of 10 Mbit/s with a UDP flow that sends 9 Mbit/s, whatever is lost. What do the ten get together, behind a plain queue?",
      answers: ["Less than 3 Mbit/s", "About 5 Mbit/s", "More than 7 Mbit/s"],
      right: 0,
    },
    setup: { disciplines: named("droptail", "red", "choke", "fq_codel"), groups: [flows(10)], udp: 9e6 },
    steps: [
      {
        text: "Ten TCP flows, and a UDP flow that sends 9 Mbit/s into a link of 10 Mbit/s, whatever is lost. DropTail and RED drop from all alike: TCP slows down, UDP does not. Compare the last bar with the others.",
      },
      {
        text: "CHOKe compares each arrival with a packet drawn from the queue and drops both if they belong to the same flow: the flow that has most packets in the queue is hit most.",
      },
      {
        text: "FQ-CoDel has a queue for each flow and serves them in turn. The UDP flow gets the same share as each TCP flow, and loses the rest of its packets.",
      },
    ],
    check: ([first]) => {
      const tcp = first!.map((one) => one.traffic[0]!.goodput_mbps);
      return {
        answer: tcp[0]! < 3 ? 0 : tcp[0]! < 7 ? 1 : 2,
        holds: tcp[0]! < 3 && tcp[1]! < 3 && tcp[2]! > 1.3 * tcp[1]! && tcp[3]! > 7,
        says: `Goodput of the ten TCP flows together: ${tcp.map((v, k) => `${short(v)} Mbit/s with ${["DropTail", "RED", "CHOKe", "FQ-CoDel"][k]}`).join(", ")}.`,
      };
    },
  },
  {
    id: "rtt",
    title: "The shorter way wins",
    claim: "In one queue, a TCP flow with a short round-trip time gets more than one with a long one.",
    paper: "M. Mathis et al.: The Macroscopic Behavior of the TCP Congestion Avoidance Algorithm. CCR 27(3), 1997",
    guess: {
      ask: "Three flows have a round trip of 20 ms, three others one of 160 ms. They share one queue. Who gets more?",
      answers: ["The far ones", "All about the same", "The near ones, twice as much or more"],
      right: 2,
    },
    setup: {
      disciplines: named("codel"),
      groups: [flows(3, { tcp: "reno", rtt: [0.02, 0.02] }), flows(3, { tcp: "reno", rtt: [0.16, 0.16] })],
    },
    steps: [
      {
        text: "Three flows with a round trip of 20 ms, and three with 160 ms. All see the same drop probability p. Reno's rate goes with 1/(RTT √p): the near ones get several times as much.",
      },
      {
        text: "Their windows, below, are not so far apart. But a window is sent once in a round trip, and it grows by one segment in a round trip.",
      },
    ],
    check: ([first]) => {
      const [near, far] = first![0]!.traffic.map((one) => one.goodput_mbps) as [number, number];
      return {
        answer: near > 2 * far ? 2 : near > 0.5 * far ? 1 : 0,
        holds: near > 2 * far,
        says: `Three flows at 20 ms get ${short(near)} Mbit/s together, three at 160 ms ${short(far)} Mbit/s.`,
      };
    },
  },
  {
    id: "fq",
    title: "FQ isolates",
    claim: "With a queue for each flow, flows get equal shares, and none waits for the packets of others.",
    paper: "T. Høiland-Jørgensen et al.: The FlowQueue-CoDel Packet Scheduler and AQM Algorithm. RFC 8290, 2018",
    guess: {
      ask: "Three near flows and three far ones again, but now each has a queue of its own, served in turn. What do the far ones get?",
      answers: ["Half of what the near ones get, or less", "Nearly as much as the near ones", "More than the near ones"],
      right: 1,
    },
    setup: {
      disciplines: named("codel", "fq_codel"),
      groups: [flows(3, { tcp: "reno", rtt: [0.02, 0.02] }), flows(3, { tcp: "reno", rtt: [0.16, 0.16] })],
    },
    steps: [
      {
        text: "The flows of the story before: three near, three far. CoDel has one queue for all. FQ-CoDel has one for each flow, serves them in turn, and runs CoDel in each.",
      },
      {
        text: "Compare the bars: with FQ-CoDel the shares are nearly equal, whatever the round-trip time. Jain's index says it in one number.",
      },
      {
        text: "Now there is an unresponsive flow of 6 Mbit/s too, the last bar. With CoDel it takes what it likes. With FQ-CoDel its own queue drops what is beyond its share, and the others lose nothing but that share.",
        change: (s) => {
          s.udp = 6e6;
        },
      },
    ],
    check: ([first]) => {
      const [one, many] = [first![0]!.jain, first![1]!.jain];
      const [near, far] = first![1]!.traffic.map((one) => one.goodput_mbps) as [number, number];
      return {
        answer: far < 0.6 * near ? 0 : far < 1.2 * near ? 1 : 2,
        holds: many > 0.95 && one < 0.85,
        says: `Jain's index of the six flows: ${short(one)} with CoDel, ${short(many)} with FQ-CoDel.`,
      };
    },
  },
  {
    id: "web",
    title: "Web pages behind downloads",
    claim: "Pages load much faster behind downloads when short flows do not wait in their queue.",
    paper: "T. Høiland-Jørgensen, P. Hurtig, A. Brunstrom: The Good, the Bad and the WiFi. Computer Networks 89, 2015",
    guess: {
      ask: "Two browsers load pages behind four downloads. Behind which queue does a page take longest?",
      answers: ["CoDel", "DropTail", "FQ-CoDel"],
      right: 1,
    },
    setup: {
      disciplines: named("droptail", "codel", "fq_codel"),
      limit: { kind: "packets", size: 400 },
      groups: [flows(4)],
      browsers: 2,
    },
    steps: [
      {
        text: "Four downloads, and two browsers that load one page of 50 objects after the other. Behind DropTail's full buffer each object waits with every request for the whole queue.",
      },
      {
        text: "CoDel keeps the queue short for all. FQ-CoDel also lets the first packets of a flow pass those that have been sending for long.",
      },
    ],
    check: ([first]) => {
      const pages = first!.map((one) => one.traffic[1]!.transfers!.time_mean_s);
      const longest = pages.indexOf(Math.max(...pages));
      return {
        answer: [1, 0, 2][longest]!,
        holds: pages[0]! > 1.5 * pages[1]! && pages[0]! > 1.5 * pages[2]!,
        says: `A page takes ${short(pages[0]!)} s behind DropTail, ${short(pages[1]!)} s behind CoDel, ${short(pages[2]!)} s behind FQ-CoDel.`,
      };
    },
  },
  {
    id: "buffer-size",
    title: "How small may a buffer be?",
    claim: "With n flows that are not synchronised, a buffer of BDP/√n keeps the link busy.",
    paper: "G. Appenzeller, I. Keslassy, N. McKeown: Sizing Router Buffers. SIGCOMM 2004",
    guess: {
      ask: "One flow with a buffer of an eighth of the bandwidth-delay product lets the link fall idle. What do 64 flows do with the same buffer?",
      answers: ["They leave it idle as long", "They keep it busy", "They leave it idle for longer"],
      right: 1,
    },
    setup: {
      disciplines: named("droptail"),
      rate: 20e6,
      limit: { kind: "bdp", size: 0.12 },
      groups: [flows(1, { tcp: "reno", rtt: [0.1, 0.1] })],
    },
    steps: [
      {
        text: "One flow, and a buffer of an eighth of the bandwidth-delay product (BDP). After each loss Reno halves its window; the buffer is too small to bridge the gap, and the link falls idle.",
      },
      {
        text: "Sixty-four flows, and the same buffer, which is now BDP/√64. While one halves its window the others grow: their sum hardly moves, and the link stays busy.",
        change: (s) => {
          s.groups = [flows(64, { tcp: "reno", rtt: [0.08, 0.12] })];
        },
      },
    ],
    check: ([one, many]) => {
      const [a, b] = [queue(one![0]).utilisation, queue(many![0]).utilisation];
      return {
        answer: b > 0.95 ? 1 : b > a - 0.02 ? 0 : 2,
        holds: b > a + 0.03 && b > 0.95,
        says: `The link is used ${percent(a)} of the time by one flow, ${percent(b)} by 64.`,
      };
    },
  },
  {
    id: "l4s",
    title: "L4S",
    claim: "With L4S, scalable flows see next to no queue beside classic flows, and share the link with them.",
    paper: "B. Briscoe et al.: RFC 9330 and RFC 9332, 2023",
    guess: {
      ask: "Two flows of TCP Prague (L4S) and two of CUBIC share a link with DualPI2. How long do Prague's packets wait?",
      answers: ["As long as CUBIC's", "About half as long", "Less than a quarter as long"],
      right: 2,
    },
    setup: {
      disciplines: named("dualpi2"),
      rate: 40e6,
      ecn: true,
      limit: { kind: "own" },
      groups: [
        flows(2, { stack: "rfc", tcp: "prague", ecn: true, rtt: [0.02, 0.02] }),
        flows(2, { stack: "rfc", tcp: "cubic", rtt: [0.02, 0.02] }),
      ],
    },
    steps: [
      {
        text: "DualPI2 has two queues. Flows of TCP Prague (group 1) mark their packets as L4S and go through one, classic CUBIC flows (group 2) through the other. The L4S queue is served first.",
      },
      {
        text: "It marks as soon as a packet has waited for 1 ms. Prague reduces its window by the fraction of marked packets, a little and often; CUBIC by a third after a drop. The coupling makes the L4S queue mark more when the classic one is long, so that the flows of both get similar shares.",
      },
      { text: "See how long packets waited, below: the curve has two parts, one for each queue." },
    ],
    check: ([first]) => {
      const [prague, cubic] = queue(first![0]).traffic!;
      const [a, b] = first![0]!.traffic.map((one) => one.goodput_mbps) as [number, number];
      const ratio = prague!.delay_p50_ms / cubic!.delay_p50_ms;
      return {
        answer: ratio < 0.25 ? 2 : ratio < 0.75 ? 1 : 0,
        holds: prague!.delay_p50_ms < 0.25 * cubic!.delay_p50_ms && a / b > 0.5 && a / b < 2,
        says: `Half of Prague's packets waited for less than ${ms(prague!.delay_p50_ms)}, of CUBIC's ${ms(cubic!.delay_p50_ms)}. Goodput of two flows each: ${short(a)} and ${short(b)} Mbit/s.`,
      };
    },
  },
];

/** The setup of a story at a step: what its steps up to there have changed. */
export function at(story: Story, step: number): Setup {
  const setup: Setup = structuredClone({ ...SETUP, ...story.setup, story: story.id, step });
  for (const one of story.steps.slice(0, step + 1)) one.change?.(setup);
  return setup;
}
