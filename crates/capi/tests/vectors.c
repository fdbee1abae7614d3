/* Replays decision vectors (vectors/README.md) through earlydrop_queue.h.
 *
 *     gzip -dc vectors/cake.jsonl.gz | ./vectors
 *
 * Prints the number of cases, of steps and of steps that differ; ends with 0 if none does.
 */
#include "earlydrop_queue.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 4096 };

static char line[1 << 16], text[1 << 14];
static const char *draws;      /* what is left of the step's random numbers; NULL before the first step of a case */
static char answer[1 << 14];   /* the drops of the step, as the record writes them */
static size_t answered;
static int surplus;            /* more random numbers were asked for than recorded */

static const char *find(const char *key)
{
    char quoted[64];
    snprintf(quoted, sizeof quoted, "\"%s\":", key);
    const char *at = strstr(line, quoted);
    return at ? at + strlen(quoted) : NULL;
}

static const char *after(const char *key)
{
    const char *at = find(key);
    if (!at) {
        fprintf(stderr, "no %s in %s", key, line);
        exit(2);
    }
    return at;
}

static double number(const char *key) { return strtod(after(key), NULL); }
static uint64_t whole(const char *key) { return strtoull(after(key), NULL, 10); }
static int is(const char *key, const char *word)
{
    const char *at = after(key) + 1;
    return strncmp(at, word, strlen(word)) == 0 && at[strlen(word)] == '"';
}

static double draw(void *context)
{
    (void)context;
    char *end;
    double u = strtod(draws, &end);
    if (end == draws) {
        surplus = 1;
        return 0.5;
    }
    draws = *end == ',' ? end + 1 : end;
    return u;
}

static void dropped(void *context, const ed_packet *packet, void *tag, uint32_t reason)
{
    static const char *names[] = { "early", "forced", "overflow" };
    (void)context, (void)packet;
    answered += snprintf(answer + answered, sizeof answer - answered, "%s[%" PRIuPTR ",\"%s\"]", answered > 1 ? "," : "",
                         (uintptr_t)tag, names[reason]);
}

/* The text of the queue in the head of a case: all parameters by name, as JSON's values, which are TOML's too. */
static void write_text(void)
{
    char aqm[64], outer[64] = "", unit[16], limit[64], parameters[1 << 13];
    sscanf(after("aqm"), "\"%63[a-z0-9_]", aqm);
    sscanf(after("limit_unit"), "\"%15[a-z]", unit);
    int is_parent = find("parent") != NULL, is_marker = find("marker") != NULL;
    if (is_parent || is_marker)
        sscanf(after(is_parent ? "parent" : "marker"), "\"%63[a-z0-9_]", outer);
    snprintf(limit, sizeof limit, "%" PRIu64 " %s", whole("limit"), unit[0] == 'p' ? "packets" : "B");
    /* "key":value,... becomes key = value, ... within a table, or 'key=value' ... as settings. */
    const char *from = after("parameters") + 1, *end = strchr(from, '}');
    char *to = parameters;
    for (; from < end; from = *from == ',' ? from + 1 : from) {
        const char *name = from + 1, *colon = strstr(from, "\":"), *stop = colon + 2;
        while (stop < end && *stop != ',')
            stop++;
        to += sprintf(to, is_marker ? ", %.*s = %.*s" : " '%.*s=%.*s'", (int)(colon - name), name, (int)(stop - colon - 2),
                      colon + 2);
        from = stop;
    }
    *to = 0;
    const char *ecn = *after("ecn") == 't' ? "true" : "false";
    if (is_marker)
        snprintf(text, sizeof text, "%s 'limit=%s' ecn=%s 'marker={kind = \"%s\"%s}'", aqm, limit, ecn, outer, parameters);
    else if (is_parent)
        snprintf(text, sizeof text, "%s%s 'child={aqm = \"%s\", limit = \"%s\", ecn = %s}'", outer, parameters, aqm, limit, ecn);
    else
        snprintf(text, sizeof text, "%s 'limit=%s' ecn=%s%s", aqm, limit, ecn, parameters);
}

static int gauges_differ(const ed_qdisc *queue)
{
    static double mine[MOST];
    size_t count = ed_queue_gauge_count(queue);
    if (count > MOST || ed_queue_gauges(queue, mine, count))
        return 1;
    const char *at = after("gauges") + 1;
    for (size_t i = 0; i < count; i++) {
        char *end;
        double its = strtod(at, &end);
        if (end == at || fabs(mine[i] - its) > 1e-8 * fmax(1e-3, fabs(its)))
            return 1;
        at = *end == ',' ? end + 1 : end;
    }
    return *at != ']';
}

static int names_differ(const ed_qdisc *queue, const char *head)
{
    for (size_t i = 0; i < ed_queue_gauge_count(queue); i++) {
        const char *name = ed_queue_gauge_name(queue, i);
        size_t length = strlen(name);
        if (*head != '"' || strncmp(head + 1, name, length) || head[length + 1] != '"')
            return 1;
        head += length + 3;
    }
    return 0;
}

static int differs(ed_qdisc *queue)
{
    double now = number("t");
    int wrong = 0;
    answered = 1;
    answer[0] = '[';
    if (is("op", "enqueue")) {
        ed_packet packet = { .flow = whole("flow"), .size = (uint32_t)whole("size"), .ecn = (uint8_t)whole("ecn"),
                             .priority = (uint8_t)whole("class"), .ttl = (uint8_t)whole("ttl"),
                             .initial_ttl = (uint8_t)whole("initial_ttl"), .final_ttl = (uint8_t)whole("final_ttl"),
                             .rtt_hint_ms = (uint16_t)whole("rtt_ms") };
        ed_header header = { 0 };
        ed_tcp tcp = { .plain_ack = 1, .acknowledges = 1, .ecn_flags = packet.ecn == 3 };
        int reads = find("dscp") != NULL;
        if (reads) {
            header.dscp = (uint8_t)whole("dscp");
            header.source = whole("source"), header.destination = whole("destination");
            if (*after("ack") != 'n')
                tcp.ack = (uint32_t)whole("ack"), header.tcp = &tcp;
        }
        wrong |= ed_queue_reads_headers(queue) != reads;
        static const char *verdicts[] = { "admit", "mark", "drop" };
        int fate = ed_queue_enqueue(queue, &packet, reads ? &header : NULL, (void *)(uintptr_t)whole("id"), now);
        wrong |= fate < 0 || !is("verdict", verdicts[fate]);
    } else if (is("op", "dequeue")) {
        ed_packet packet;
        void *tag;
        int found = ed_queue_dequeue(queue, now, &packet, &tag);
        if (*after("id") == 'n')
            wrong |= found != 0;
        else
            wrong |= found != 1 || (uintptr_t)tag != whole("id") || packet.ecn != whole("ecn") || packet.enqueued > now
                || (find("class") && packet.priority != whole("class"));
    } else {
        wrong |= ed_queue_next_timer(queue) != now || ed_queue_on_timer(queue, now) != 0;
    }
    snprintf(answer + answered, sizeof answer - answered, "]");
    const char *record = after("dropped");
    wrong |= strncmp(record, answer, strlen(answer)) != 0 || *draws != ']' || surplus;
    wrong |= ed_queue_packets(queue) != whole("packets") || ed_queue_bytes(queue) != whole("bytes");
    return wrong | gauges_differ(queue);
}

int main(void)
{
    static char head[1 << 13], gauges[1 << 13];
    long cases = 0, steps = 0, wrong = 0;
    double rate = 0, delay = 0;
    ed_qdisc *queue = NULL;
    while (fgets(line, sizeof line, stdin)) {
        if (find("format")) {
            ed_queue_free(queue);
            queue = NULL;
            write_text();
            rate = number("rate_bps"), delay = number("delay_s");
            snprintf(head, sizeof head, "%.*s", 160, line);
            snprintf(gauges, sizeof gauges, "%s", after("gauges") + 1);
            cases++;
            continue;
        }
        draws = after("u") + 1;
        surplus = 0;
        if (!queue) {
            /* What is drawn at set-up stands first in the first step. */
            queue = ed_queue_new_random(text, rate, delay, draw, NULL);
            if (!queue || ed_queue_on_drop(queue, dropped, NULL) || names_differ(queue, gauges)) {
                fprintf(stderr, "%s\n%s: %s\n", head, text, ed_error());
                return 2;
            }
        }
        steps++;
        if (differs(queue) && wrong++ < 3)
            fprintf(stderr, "%s\nstep %ld differs (%s; dropped %s):\n%s", head, steps, ed_error(), answer, line);
    }
    ed_queue_free(queue);
    printf("%ld cases, %ld steps, %ld differ\n", cases, steps, wrong);
    return wrong > 0 || steps == 0;
}
