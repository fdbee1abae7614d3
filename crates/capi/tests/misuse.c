/* What a caller may do wrong is an error with a message, and changes nothing; and what the functions answer. */
#include "earlydrop_queue.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(x)                                                              \
    do {                                                                      \
        if (!(x)) {                                                           \
            fprintf(stderr, "line %d: %s (%s)\n", __LINE__, #x, ed_error()); \
            exit(1);                                                          \
        }                                                                     \
    } while (0)
#define FAILS(x, said) CHECK((x) && strstr(ed_error(), said))

static const ed_packet one = { .flow = 7, .size = 1000, .ecn = 2, .ttl = 64 };
static ed_qdisc *shared;
static int drops, inside;
static uint32_t last_reason;
static void *last_tag;

static void on_drop(void *context, const ed_packet *packet, void *tag, uint32_t reason)
{
    CHECK(context == &drops && packet->flow == 7 && packet->size == 1000);
    last_tag = tag, last_reason = reason;
    drops++;
    inside = ed_queue_enqueue(shared, &one, NULL, NULL, 2) == ED_ERROR && strstr(ed_error(), "from a callback");
    ed_queue_free(shared);
}

static double next_random(void *context) { return *(double *)context; }

static ed_qdisc *made(const char *text)
{
    ed_qdisc *queue = ed_queue_new(text, 1e6, 0.01, 1);
    CHECK(queue);
    return queue;
}

static void texts(void)
{
    static const struct { const char *text; double rate, delay; const char *said; } wrong[] = {
        { NULL, 1e6, 0, "text is NULL" },
        { "", 1e6, 0, "does not begin with a discipline" },
        { "redd", 1e6, 0, "did you mean \"red\"" },
        { "codel target", 1e6, 0, "NAME=VALUE" },
        { "codel target=5", 1e6, 0, "did you mean \"5 ms\"" },
        { "red min_th=90 max_th=30", 1e6, 0, "max_th: does not fit" },
        { "red limit=2bdp", 1e6, 0, "known only with the traffic" },
        { "red limit=0", 1e6, 0, "limit: is out of range" },
        { "re\xff", 1e6, 0, "not UTF-8" },
        { "red", 0, 0, "rate: is out of range" },
        { "red", NAN, 0, "rate: is out of range" },
        { "red", 1e6, -1, "delay: is out of range" },
    };
    CHECK(ed_error()[0] == 0);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        FAILS(!ed_queue_new(wrong[i].text, wrong[i].rate, wrong[i].delay, 1), wrong[i].said);
    FAILS(!ed_queue_new_random("red", 1e6, 0, NULL, NULL), "random is NULL");
}

static void nulls(void)
{
    ed_qdisc *queue = made("red"), *none = NULL;
    ed_queue_free(NULL);
    FAILS(ed_queue_enqueue(none, &one, NULL, NULL, 0) == ED_ERROR, "queue is NULL");
    FAILS(ed_queue_dequeue(none, 0, NULL, NULL) == ED_ERROR, "queue is NULL");
    FAILS(ed_queue_on_timer(none, 0) == ED_ERROR, "queue is NULL");
    FAILS(ed_queue_on_drop(none, NULL, NULL) == ED_ERROR, "queue is NULL");
    CHECK(isinf(ed_queue_held_until(none)) && isinf(ed_queue_next_timer(none)));
    CHECK(!ed_queue_packets(none) && !ed_queue_bytes(none) && !ed_queue_gauge_count(none));
    FAILS(ed_queue_enqueue(queue, NULL, NULL, NULL, 0) == ED_ERROR, "packet is NULL");
    FAILS(ed_queue_counters(queue, NULL) == ED_ERROR, "counters is NULL");
    FAILS(ed_queue_gauges(queue, NULL, 3) == ED_ERROR, "values is NULL");
    FAILS(ed_queue_gauges(queue, (double[4]){ 0 }, 4) == ED_ERROR, "count is 4; allowed 3");
    FAILS(!ed_queue_gauge_name(queue, 3), "given 3; there are 3 gauges");
    CHECK(!strcmp(ed_queue_gauge_name(queue, 0), "avg"));
    ed_queue_free(queue);
}

static void packets_and_times(void)
{
    ed_qdisc *queue = made("cake");
    ed_packet wrong = one;
    ed_header header = { .dscp = 46, .source = 1, .destination = 2 };
    ed_tcp tcp = { .block_count = 5 };
    wrong.ecn = 4;
    FAILS(ed_queue_enqueue(queue, &wrong, NULL, NULL, 0) == ED_ERROR, "ecn is out of range: given 4");
    wrong = one, wrong.priority = 8;
    FAILS(ed_queue_enqueue(queue, &wrong, NULL, NULL, 0) == ED_ERROR, "priority is out of range: given 8");
    wrong = one, wrong.size = 0;
    FAILS(ed_queue_enqueue(queue, &wrong, NULL, NULL, 0) == ED_ERROR, "size is 0");
    header.dscp = 64;
    FAILS(ed_queue_enqueue(queue, &one, &header, NULL, 0) == ED_ERROR, "dscp is out of range: given 64");
    header.dscp = 46, header.tcp = &tcp;
    FAILS(ed_queue_enqueue(queue, &one, &header, NULL, 0) == ED_ERROR, "block_count is out of range: given 5");
    static const double never[] = { -1, NAN, INFINITY, 1.0001e9 };
    for (int i = 0; i < 4; i++)
        FAILS(ed_queue_enqueue(queue, &one, NULL, NULL, never[i]) == ED_ERROR, "now is out of range");
    CHECK(ed_queue_packets(queue) == 0);
    tcp.block_count = 0;
    CHECK(ed_queue_enqueue(queue, &one, &header, &drops, 3) == ED_ADMITTED);
    header.tcp = NULL;
    CHECK(ed_queue_enqueue(queue, &one, &header, &inside, 3) == ED_ADMITTED);
    FAILS(ed_queue_dequeue(queue, 2.999, NULL, NULL) == ED_ERROR, "given 2.999 s; allowed 3 s..");
    FAILS(ed_queue_on_timer(queue, 2) == ED_ERROR, "now is out of range");
    CHECK(ed_queue_packets(queue) == 2 && ed_queue_bytes(queue) == 2000);
    ed_packet left;
    void *tag;
    CHECK(ed_queue_dequeue(queue, 4, &left, &tag) == 1 && tag == &drops);
    CHECK(left.flow == 7 && left.size == 1000 && left.ecn == 2 && left.ttl == 64 && left.enqueued == 3);
    CHECK(ed_queue_dequeue(queue, 4, NULL, NULL) == 1 && ed_queue_dequeue(queue, 4, NULL, NULL) == 0);
    ed_counters counters;
    CHECK(!ed_queue_counters(queue, &counters) && counters.arrivals == 2 && counters.departed_bytes == 2000);
    CHECK(!ed_queue_reset_counters(queue) && !ed_queue_counters(queue, &counters) && counters.arrivals == 0);
    CHECK(ed_queue_reads_headers(queue) == 1 && isinf(ed_queue_next_timer(queue)));
    ed_queue_free(queue);
    queue = made("cake wash=true diffserv=besteffort");
    CHECK(ed_queue_washes(queue, 3) == 1);
    ed_queue_free(queue);
    queue = made("droptail");
    CHECK(ed_queue_washes(queue, 3) == 0 && ed_queue_reads_headers(queue) == 0);
    ed_queue_free(queue);
}

/* A shaper of 8 kbit/s lets 1000 B go each second. */
static void held(void)
{
    ed_qdisc *queue = made("cake bandwidth=8kbit");
    CHECK(ed_queue_enqueue(queue, &one, NULL, NULL, 0) == ED_ADMITTED);
    CHECK(ed_queue_enqueue(queue, &one, NULL, NULL, 0) == ED_ADMITTED);
    CHECK(ed_queue_dequeue(queue, 0, NULL, NULL) == 1 && isinf(ed_queue_held_until(queue)));
    CHECK(ed_queue_dequeue(queue, 0.5, NULL, NULL) == 0 && fabs(ed_queue_held_until(queue) - 1) < 1e-6);
    CHECK(ed_queue_dequeue(queue, 1.000001, NULL, NULL) == 1);
    ed_queue_free(queue);
}

/* Timers that nobody ran run before the next call, each at its own time. */
static void late_timers(void)
{
    ed_qdisc *punctual = made("pie"), *late = made("pie");
    for (double now = 0; now < 3; now += 0.004) {
        while (ed_queue_next_timer(punctual) < now)
            CHECK(!ed_queue_on_timer(punctual, ed_queue_next_timer(punctual)));
        CHECK(ed_queue_enqueue(punctual, &one, NULL, NULL, now) == ed_queue_enqueue(late, &one, NULL, NULL, now));
        if (fmod(now, 0.008) < 0.004)
            ed_queue_dequeue(punctual, now, NULL, NULL), ed_queue_dequeue(late, now, NULL, NULL);
        double p[8] = { 0 }, q[8] = { 0 };
        size_t count = ed_queue_gauge_count(late);
        CHECK(!ed_queue_gauges(punctual, p, count) && !ed_queue_gauges(late, q, count) && !memcmp(p, q, sizeof p));
    }
    ed_counters counters;
    CHECK(!ed_queue_counters(late, &counters) && counters.early_drops > 10);
    CHECK(!ed_queue_on_timer(late, 100) && ed_queue_next_timer(late) > 100);
    ed_queue_free(punctual), ed_queue_free(late);
}

/* Drops are reported with their tags; the callback cannot call the queue. */
static void drops_and_callbacks(void)
{
    shared = made("droptail limit=1p");
    CHECK(!ed_queue_on_drop(shared, on_drop, &drops));
    CHECK(ed_queue_enqueue(shared, &one, NULL, NULL, 1) == ED_ADMITTED);
    CHECK(ed_queue_enqueue(shared, &one, NULL, &held, 1) == ED_DROPPED);
    CHECK(drops == 1 && inside && last_tag == (void *)&held && last_reason == ED_DROP_OVERFLOW);
    CHECK(!ed_queue_on_drop(shared, NULL, NULL) && ed_queue_enqueue(shared, &one, NULL, NULL, 1) == ED_DROPPED);
    CHECK(drops == 1 && ed_queue_packets(shared) == 1);
    ed_queue_free(shared);
}

/* With random numbers of the caller's; one that is none breaks the queue, which can still be freed. */
static void random_numbers(void)
{
    for (int low = 0; low < 2; low++) {
        double u = low ? 0.0001 : 0.9999;
        ed_qdisc *queue = ed_queue_new_random("red w_q=1 min_th=1 max_th=100 ecn=true", 1e6, 0, next_random, &u);
        CHECK(queue && ed_queue_enqueue(queue, &one, NULL, NULL, 0) == ED_ADMITTED);
        for (int i = 0; i < 4; i++)
            ed_queue_enqueue(queue, &one, NULL, NULL, 0);
        int fate = ed_queue_enqueue(queue, &one, NULL, NULL, 0);
        CHECK(fate == (low ? ED_ADMITTED_MARKED : ED_ADMITTED));
        u = 1.5;
        FAILS(ed_queue_enqueue(queue, &one, NULL, NULL, 0) == ED_ERROR, "random gave 1.5; allowed 0..1");
        u = 0.5;
        FAILS(ed_queue_enqueue(queue, &one, NULL, NULL, 0) == ED_ERROR, "the queue is broken: random gave 1.5");
        FAILS(ed_queue_dequeue(queue, 0, NULL, NULL) == ED_ERROR, "the queue is broken");
        ed_queue_free(queue);
    }
}

static void sizes(void)
{
#define S(t) printf("%zu\n", sizeof(t))
#define O(t, f) printf("%zu\n", offsetof(t, f))
    S(ed_tcp); O(ed_tcp, stamps); O(ed_tcp, blocks); O(ed_tcp, block_count); O(ed_tcp, has_stamps); O(ed_tcp, plain_ack);
    O(ed_tcp, acknowledges); O(ed_tcp, ecn_flags); O(ed_tcp, data); O(ed_tcp, other_options);
    S(ed_header); O(ed_header, destination); O(ed_header, tcp); O(ed_header, offset); O(ed_header, dscp);
    S(ed_counters); O(ed_counters, arrived_bytes); O(ed_counters, departures); O(ed_counters, departed_bytes);
    O(ed_counters, early_drops); O(ed_counters, forced_drops); O(ed_counters, overflow_drops); O(ed_counters, marks);
}

int main(void)
{
    texts();
    nulls();
    packets_and_times();
    held();
    late_timers();
    drops_and_callbacks();
    random_numbers();
    sizes();
    return 0;
}
