/* One of earlydrop's queues for a program in C, which owns the link behind it, the packets and the time.
 *
 * The program calls ed_queue_enqueue for each arrival and ed_queue_dequeue whenever the link can take a packet: at the
 * end of each transmission, right after an arrival while the link is idle (also if that arrival was dropped), and at
 * ed_queue_held_until. A dequeue that finds nothing begins an idle period. ed_queue_on_timer is called at
 * ed_queue_next_timer; timers that are due before the time of another call run first, at their own times, so that a
 * program without timers, or with late ones, gets the same decisions. Within one instant the decision vectors have this
 * order: the end of a transmission, timers, arrivals.
 *
 * Times are seconds since the queue was made, and never run back; calls with equal times are in order. Calls for one
 * queue never overlap; different queues may belong to different threads. A callback must return, and must not call a
 * function with its own queue. The same text, rate, delay, seed and calls give the same decisions on every machine.
 *
 * Functions that can fail say why by ed_error(): a wrong call changes nothing. A queue in which an error of this library
 * was caught answers all later calls with ED_ERROR; it can still be freed.
 *
 * Build: cc program.c $(pkg-config --cflags --libs earlydrop)
 */
#ifndef EARLYDROP_QUEUE_H
#define EARLYDROP_QUEUE_H

#include <stddef.h>
#include <stdint.h>

#include "earlydrop_aqm.h" /* ed_packet */

#ifdef __cplusplus
extern "C" {
#endif

/* A queue in front of a link. */
typedef struct ed_qdisc ed_qdisc;

#define ED_ERROR (-1)

/* Results of ed_queue_enqueue. */
#define ED_ADMITTED 0
#define ED_ADMITTED_MARKED 1 /* with CE set */
#define ED_DROPPED 2         /* the arrival; others are dropped beside either result */

/* Reasons of a drop. */
#define ED_DROP_EARLY 0u    /* by chance */
#define ED_DROP_FORCED 1u   /* for certain, by the discipline */
#define ED_DROP_OVERFLOW 2u /* for want of room */

/* What CAKE reads of a packet's TCP header. All zero but ack: an ordinary ACK without options has plain_ack and
 * acknowledges 1. */
typedef struct ed_tcp {
    uint32_t ack;          /* acknowledgement number */
    uint32_t stamps[2];    /* TSval and TSecr, if has_stamps */
    uint32_t blocks[4][2]; /* SACK blocks: first number, and the one behind the last */
    uint8_t block_count;   /* at most 4 */
    uint8_t has_stamps;
    uint8_t plain_ack;     /* ACK is set, and none of SYN, FIN, RST, PSH, URG nor a reserved bit */
    uint8_t acknowledges;  /* ACK is set and SYN is not */
    uint8_t ecn_flags;     /* ECE 1, CWR 2 */
    uint8_t data;          /* the segment carries data */
    uint8_t other_options; /* there are options other than SACK and time stamps */
    uint8_t reserved;
} ed_tcp;

/* What CAKE reads of a packet beyond ed_packet, FQ-CoDel with a mask of the DSCP, and a marker. */
typedef struct ed_header {
    uint64_t source;      /* equal for packets from one host */
    uint64_t destination; /* equal for packets to one host */
    const ed_tcp *tcp;    /* or NULL */
    int32_t offset;       /* bytes of the packet's size before its IP header */
    uint8_t dscp;         /* 0..63 */
    uint8_t reserved[3];
} ed_header;

/* What happened since the queue was made, or since its counters were reset. */
typedef struct ed_counters {
    uint64_t arrivals, arrived_bytes;      /* dropped ones included */
    uint64_t departures, departed_bytes;
    uint64_t early_drops, forced_drops, overflow_drops;
    uint64_t marks;                        /* packets marked CE here */
} ed_counters;

/* Called for each packet that the queue drops, with the tag that it was enqueued with, during an enqueue or dequeue. The
 * packet may be read during the call. */
typedef void (*ed_on_drop)(void *context, const ed_packet *packet, void *tag, uint32_t reason);

/* A random number from 0 to 1. */
typedef double (*ed_random)(void *context);

/* The queue that a text such as "cake bandwidth=20mbit" or "red limit=120p ecn=true" stands for (docs/aqms has all
 * disciplines and parameters), in front of a link of rate bit/s with a propagation delay in seconds. Random numbers are
 * those of the queue `bottleneck` of a scenario with this seed. NULL if that is no queue. */
ed_qdisc *ed_queue_new(const char *text, double rate, double delay, uint64_t seed);

/* The same with random numbers from a function, which lives as long as the queue; a number outside 0..1 is an error. A
 * text with `random` has its own. */
ed_qdisc *ed_queue_new_random(const char *text, double rate, double delay, ed_random random, void *context);

/* Frees the queue with the packets in it, which are not reported. NULL is allowed. */
void ed_queue_free(ed_qdisc *queue);

/* Reports drops to on_drop from now on; NULL: to nothing. ED_ERROR or 0. */
int ed_queue_on_drop(ed_qdisc *queue, ed_on_drop on_drop, void *context);

/* Whether the discipline reads headers; others ignore them. */
int ed_queue_reads_headers(const ed_qdisc *queue);

/* A packet arrives at now; its `enqueued` is not read. header may be NULL. The tag is the caller's own, and comes back
 * when the packet leaves. */
int ed_queue_enqueue(ed_qdisc *queue, const ed_packet *packet, const ed_header *header, void *tag, double now);

/* The link asks for a packet at now. 1: *packet and *tag are that packet, its ECN field as it leaves, `enqueued` the
 * time of its admission; 0: there is none. Both pointers may be NULL. */
int ed_queue_dequeue(ed_qdisc *queue, double now, ed_packet *packet, void **tag);

/* When to dequeue again, after a dequeue found nothing because a shaper holds packets back; infinite: at an arrival. */
double ed_queue_held_until(const ed_qdisc *queue);

/* When ed_queue_on_timer is to be called; infinite: never. */
double ed_queue_next_timer(const ed_qdisc *queue);

/* Runs the timers that are due up to now. ED_ERROR or 0. */
int ed_queue_on_timer(ed_qdisc *queue, double now);

/* Packets and bytes that wait. */
uint64_t ed_queue_packets(const ed_qdisc *queue);
uint64_t ed_queue_bytes(const ed_qdisc *queue);

/* Whether a packet that arrives with this priority leaves with DSCP 0: whoever has its bytes clears the field. */
int ed_queue_washes(const ed_qdisc *queue, uint8_t priority);

/* Writes, or sets to zero, the counters. ED_ERROR or 0. */
int ed_queue_counters(const ed_qdisc *queue, ed_counters *counters);
int ed_queue_reset_counters(ed_qdisc *queue);

/* Inner values, such as RED's averaged queue: how many, their names (NULL behind the last), and the values now, count
 * numbers. ED_ERROR or 0. */
size_t ed_queue_gauge_count(const ed_qdisc *queue);
const char *ed_queue_gauge_name(const ed_qdisc *queue, size_t number);
int ed_queue_gauges(const ed_qdisc *queue, double *values, size_t count);

/* Why the last call of this thread that failed did so; valid until the next one fails. */
const char *ed_error(void);

#ifdef __cplusplus
}
#endif
#endif
