/* A queue discipline as a shared library, for earlydrop. C11; usable from any language that can speak C.
 *
 * A library exports one function, earlydrop_aqm(), which returns a description that lives as long as the library. The
 * host makes one block of state for each queue, calls init once, then on_enqueue, on_dequeue and on_timer in the order
 * of time. Calls for one block never overlap; calls for different blocks may come from different threads, so a policy
 * keeps nothing outside its block. It reads no clock and no other random numbers than the context's: then a run gives
 * the same bytes each time. Nothing that a call is given may be kept after the call, but the state.
 *
 * Build: cc -O2 -shared -fPIC -o libmine.so mine.c
 */
#ifndef EARLYDROP_AQM_H
#define EARLYDROP_AQM_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Version of this interface. A library with another one is refused. */
#define EARLYDROP_AQM_ABI 1u

/* A packet as a router sees it. */
typedef struct ed_packet {
    uint64_t flow;        /* equal for packets of one flow */
    double enqueued;      /* when it joined the queue, s; 0 at on_enqueue */
    uint32_t size;        /* on the wire, bytes */
    uint16_t rtt_hint_ms; /* round-trip time that the sender wrote into the packet, ms; 0: none (AECN) */
    uint8_t ecn;          /* IP's field: 0 not ECN-capable, 1 ECT(1), 2 ECT(0), 3 CE */
    uint8_t priority;     /* traffic class, 0..7 */
    uint8_t ttl;          /* time to live on arrival */
    uint8_t initial_ttl;  /* as the sender set it; 0: not written (DDRED) */
    uint8_t final_ttl;    /* at the destination; 0: not written (DDRED) */
    uint8_t reserved[5];
} ed_packet;

/* The queue: without the packet that arrives or leaves, and without the one in transmission. */
typedef struct ed_queue {
    uint64_t packets;   /* waiting */
    uint64_t bytes;     /* waiting */
    uint64_t limit;     /* size of the buffer, in packets, or bytes if limit_in_bytes */
    double idle_since;  /* since when the link has been idle, s; negative while it is busy */
    uint32_t limit_in_bytes;
    uint32_t reserved;
} ed_queue;

/* What else a policy is given. */
typedef struct ed_context {
    double now;         /* s since the start */
    double link_rate;   /* bit/s */
    double link_delay;  /* propagation delay, s */
    uint32_t can_mark;  /* whether a signal on this packet would be a mark (ECN on, packet ECN-capable) */
    uint32_t has_room;  /* whether the arrival finds space in the buffer; 1 where there is no arrival */
    void *host;         /* to be handed to the functions below */
    double (*random)(void *host); /* the next random number of this queue's stream, in [0, 1) */
    /* The host's own exp, log, log(1 + x) and pow: the same bits on every machine, which a C library's are not. */
    double (*exp)(double x);
    double (*log)(double x);
    double (*log1p)(double x);
    double (*pow)(double x, double y);
    /* The packet that waits at this position, 0 the oldest; 0 if there is none. Only with ED_NEEDS_CONTENTS. */
    uint32_t (*peek)(void *host, uint64_t position, ed_packet *packet);
    /* Names that packet a victim, for ED_VICTIMS; 0 if there is none. Only with ED_NEEDS_CONTENTS. */
    uint32_t (*victim)(void *host, uint64_t position);
    /* The policy cannot go on: the run ends with this message as its error, whatever the call returns. */
    void (*fault)(void *host, const char *message);
} ed_context;

/* Verdicts. A signal is a mark where the packet can be marked, else a drop; ED_MARK where it cannot lets pass. */
typedef uint32_t ed_verdict;
#define ED_PASS 0u
#define ED_SIGNAL 1u
#define ED_MARK 2u
#define ED_DROP 3u
/* Drops the packets named by victim(); at on_enqueue only. Add ED_WITH_ARRIVAL to drop the arrival too, ED_MARK_VICTIMS
 * to mark the victims that can be marked. */
#define ED_VICTIMS 4u
#define ED_WITH_ARRIVAL 0x10000u
#define ED_MARK_VICTIMS 0x20000u
/* Why, for the counters: added to a signal, a drop or victims. Without: early, by chance. */
#define ED_FORCED 0x100u /* for certain */

/* A parameter. */
#define ED_REAL 0u   /* a number */
#define ED_WHOLE 1u  /* a whole number */
#define ED_FLAG 2u   /* 0 or 1 */
#define ED_CHOICE 3u /* the position of a word in words */
#define ED_UNIT_NONE 0u
#define ED_UNIT_PACKETS 1u
#define ED_UNIT_SECONDS 2u
#define ED_UNIT_BYTES 3u
typedef struct ed_param {
    const char *name;         /* a-z, 0-9 and _ */
    const char *symbol;       /* in LaTeX, or NULL */
    const char *doc;          /* one sentence, or NULL */
    const char *source;       /* where the default comes from, or NULL */
    const char *const *words; /* of ED_CHOICE, with a NULL at the end; else NULL */
    double low, high;         /* range of a number, both ends allowed unless open says otherwise; may be infinite */
    double initial;           /* the default */
    uint32_t kind;
    uint32_t unit;
    uint32_t open;            /* 1: low itself is not allowed, 2: high, 3: neither */
    uint32_t reserved;
} ed_param;

#define ED_NEEDS_CONTENTS 1u

/* The description. Functions may be NULL but on_enqueue. params are the values in the order of the declaration. */
typedef struct ed_aqm {
    uint32_t abi;             /* EARLYDROP_AQM_ABI */
    uint32_t size;            /* sizeof(ed_aqm) */
    const char *name;         /* a-z, 0-9 and _ */
    const char *title;        /* for people, or NULL */
    const char *summary;      /* one line, or NULL */
    const char *source;       /* authors, title, year, or NULL */
    const char *doc;          /* Markdown, or NULL */
    const ed_param *params;
    const char *const *gauges; /* names of inner values, gauge_count of them */
    uint32_t param_count;
    uint32_t gauge_count;     /* at most 64 */
    uint64_t state_size;      /* bytes; a block is aligned to 16 bytes and zero before init */
    uint32_t needs;           /* ED_NEEDS_CONTENTS or 0; other bits are refused */
    uint32_t reserved;
    /* NULL if the values fit together, else a sentence that says what is allowed. */
    const char *(*check)(const double *params, double link_rate, double link_delay);
    void (*init)(void *state, const double *params, const ed_queue *queue, const ed_context *context);
    ed_verdict (*on_enqueue)(void *state, const ed_packet *packet, const ed_queue *queue, const ed_context *context);
    /* The link is ready to transmit: packet has just left the head, or is NULL if nothing waited. After a drop it is
     * called again at once with the next. Without this function the queue runs faster. */
    ed_verdict (*on_dequeue)(void *state, const ed_packet *packet, const ed_queue *queue, const ed_context *context);
    /* When on_timer is to run next, s; negative or infinite: never. Asked after init and after each timer; later than
     * now. */
    double (*next_timer)(const void *state);
    void (*on_timer)(void *state, const ed_queue *queue, const ed_context *context);
    /* The averaged queue, packets. */
    double (*average)(const void *state);
    /* Writes gauge_count values. */
    void (*read_gauges)(const void *state, double *values);
    /* The drop probability at an averaged queue in packets. */
    double (*curve)(const double *params, double link_rate, double link_delay, double average);
} ed_aqm;

/* What a library exports. */
const ed_aqm *earlydrop_aqm(void);

#ifdef __cplusplus
}
#endif
#endif
