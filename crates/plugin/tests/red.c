/* RED as Floyd and Jacobson wrote it down (1993, Fig. 2), step for step as the catalogue's paper dialect. */
#include "earlydrop_aqm.h"

enum { MIN_TH, MAX_TH, MAX_P, W_Q, MEAN_PACKET, PARAMS };

typedef struct {
    double min_th, max_th, max_p, w_q, packets_per_second;
    double avg, p_b;
    double last, counted_until; /* the last arrival that found the link idle, and until when it counted the idle time, s */
    int64_t count;              /* packets since the last drop; -1 while avg < min_th */
} red;

static const ed_param params[PARAMS] = {
    {.name = "min_th", .unit = ED_UNIT_PACKETS, .low = 0, .high = 1e9, .initial = 5, .doc = "Lower threshold."},
    {.name = "max_th", .unit = ED_UNIT_PACKETS, .low = 0, .high = 1e9, .initial = 15, .doc = "Upper threshold."},
    {.name = "max_p", .low = 0, .high = 1, .open = 1, .initial = 0.02, .doc = "Drop probability at max_th."},
    {.name = "w_q", .low = 0, .high = 1, .open = 1, .initial = 0.002, .doc = "Weight of a new sample."},
    {.name = "mean_packet", .unit = ED_UNIT_BYTES, .low = 1, .high = 65535, .initial = 500, .doc = "Mean packet."},
};
static const char *const gauges[] = {"avg", "p_b", "count"};

static const char *check(const double *p, double rate, double delay) {
    (void)rate, (void)delay;
    return p[MAX_TH] > p[MIN_TH] ? 0 : "max_th must be more than min_th";
}

static void init(void *state, const double *p, const ed_queue *queue, const ed_context *cx) {
    red *r = state;
    (void)queue;
    r->min_th = p[MIN_TH], r->max_th = p[MAX_TH], r->max_p = p[MAX_P], r->w_q = p[W_Q];
    r->packets_per_second = cx->link_rate / (8.0 * p[MEAN_PACKET]);
    r->count = -1, r->last = -1;
}

static void observe(red *r, const ed_queue *queue, const ed_context *cx) {
    if (queue->idle_since < 0) {
        r->last = -1;
        r->avg = (1.0 - r->w_q) * r->avg + r->w_q * (double)queue->packets;
        return;
    }
    double from = r->last == queue->idle_since ? r->counted_until : queue->idle_since;
    double m = (double)(uint64_t)(r->packets_per_second * (cx->now - from));
    if (m > 0)
        r->avg *= cx->exp(m * cx->log1p(-r->w_q));
    r->last = cx->now;
    r->counted_until = from + m / r->packets_per_second;
}

static ed_verdict on_enqueue(void *state, const ed_packet *packet, const ed_queue *queue, const ed_context *cx) {
    red *r = state;
    (void)packet;
    observe(r, queue, cx);
    if (r->avg < r->min_th) {
        r->count = -1;
        return ED_PASS;
    }
    if (r->avg >= r->max_th) {
        r->p_b = 1;
        r->count = 0;
        return ED_DROP | ED_FORCED;
    }
    r->count++;
    double slope = 1.0 / (r->max_th - r->min_th), offset = -r->min_th / (r->max_th - r->min_th);
    r->p_b = (slope * r->avg + offset) * r->max_p;
    r->p_b = r->p_b < 0 ? 0 : r->p_b > 1 ? 1 : r->p_b;
    double used = (double)r->count * r->p_b, p_a = used < 1 ? r->p_b / (1.0 - used) : 1;
    p_a = p_a > 1 ? 1 : p_a;
    double u = cx->random(cx->host);
    if (!(p_a > 0 && u <= p_a))
        return ED_PASS;
    r->count = 0;
    return ED_SIGNAL;
}

static double average(const void *state) {
    return ((const red *)state)->avg;
}

static void read_gauges(const void *state, double *out) {
    const red *r = state;
    out[0] = r->avg, out[1] = r->p_b, out[2] = (double)r->count;
}

static double curve(const double *p, double rate, double delay, double avg) {
    (void)rate, (void)delay;
    if (avg < p[MIN_TH])
        return 0;
    return avg >= p[MAX_TH] ? 1 : (avg - p[MIN_TH]) / (p[MAX_TH] - p[MIN_TH]) * p[MAX_P];
}

static const ed_aqm description = {
    .abi = EARLYDROP_AQM_ABI, .size = sizeof(ed_aqm), .name = "c_red", .title = "RED in C",
    .summary = "Random early detection: drop probability linear in the averaged queue",
    .source = "Floyd, Jacobson: Random early detection gateways for congestion avoidance, ToN 1(4), 1993",
    .params = params, .param_count = PARAMS, .gauges = gauges, .gauge_count = 3, .state_size = sizeof(red),
    .check = check, .init = init, .on_enqueue = on_enqueue, .average = average, .read_gauges = read_gauges,
    .curve = curve,
};

const ed_aqm *earlydrop_aqm(void) {
    return &description;
}
