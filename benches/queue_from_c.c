/* A queue that stands at twenty packets of eight flows: each arrival pushes one out. Nanoseconds for an arrival and its
 * departure, the least of short passes. queue_from_c.rs has the same loop in Rust.
 *
 *     queue_from_c TEXT PASSES PACKETS
 */
#define _POSIX_C_SOURCE 199309L
#include "earlydrop_queue.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double clock_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1e9 + now.tv_nsec;
}

int main(int argc, char **argv)
{
    if (argc != 4)
        return 2;
    long passes = atol(argv[2]), packets = atol(argv[3]), seen = 0;
    ed_qdisc *queue = ed_queue_new(argv[1], 1e10, 0.01, 1);
    if (!queue) {
        fprintf(stderr, "%s\n", ed_error());
        return 1;
    }
    int reads = ed_queue_reads_headers(queue);
    double now = 0, least = 1e9;
    for (long pass = 0; pass < passes; pass++) {
        double begin = clock_ns();
        for (long i = 0; i < packets; i++) {
            ed_packet packet = { .flow = (uint64_t)(i & 7), .size = 1000, .ecn = 2, .ttl = 64 }, left;
            ed_header header = { .source = packet.flow, .destination = 9 };
            void *tag;
            now += 1e-6;
            ed_queue_enqueue(queue, &packet, reads ? &header : NULL, NULL, now);
            if ((pass || i >= 20) && ed_queue_dequeue(queue, now, &left, &tag) == 1)
                seen += left.size;
        }
        double took = (clock_ns() - begin) / packets;
        least = took < least ? took : least;
    }
    printf("%.3f\n", least);
    ed_queue_free(queue);
    return seen != 1000 * (passes * packets - 20);
}
