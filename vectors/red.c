/* RED as Floyd and Jacobson wrote it down in 1993, in C, tested against the decision vectors without any code of
 * earlydrop. It shows that the format suffices, and is a pattern for testing another implementation.
 *
 *     cc -O2 -o red vectors/red.c -lm && gzip -dc vectors/red.jsonl.gz | ./red
 *
 * Reads the first case of red.jsonl.gz (its defaults, ECN on) and ends with 0 if every decision is the same.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum verdict { ADMIT, MARK, DROP };

/* ---- RED ------------------------------------------------------------------------------------------------------- */

static double min_th, max_th, max_p, w_q;   /* packets, packets, 1, 1 */
static double avg, packets_per_second;      /* packets; of the mean size, what the link can send */
static long count = -1;                     /* packets since the last drop or mark; -1 below min_th */
static int idle = 1;                        /* the link asked for a packet and found none */
static double idle_since, p_b;
static double (*draw)(void);                /* a uniform random number */

static enum verdict red_enqueue(double now, long waiting, long limit, int ecn_capable)
{
    if (idle) {
        double missed = floor(packets_per_second * (now - idle_since));
        avg *= pow(1 - w_q, missed);
        idle_since += missed / packets_per_second;  /* after a drop at an idle link, the rest counts later */
    } else {
        avg = (1 - w_q) * avg + w_q * waiting;
    }
    if (avg < min_th) {
        count = -1;
    } else if (avg >= max_th) {
        count = 0;
        p_b = 1;
        return DROP;
    } else {
        count++;
        p_b = max_p * (avg - min_th) / (max_th - min_th);
        double p_a = count * p_b < 1 ? p_b / (1 - count * p_b) : 1;
        if (draw() <= p_a && p_a > 0) {
            count = 0;
            if (!ecn_capable)
                return DROP;
            if (waiting < limit)
                return MARK;
        }
    }
    return waiting < limit ? ADMIT : DROP;
}

static void red_dequeue(double now, int found)
{
    if (!found && !idle) {
        idle = 1;
        idle_since = now;
    }
}

/* ---- the vectors ----------------------------------------------------------------------------------------------- */

static char line[1 << 16];
static const char *next_draw;

static const char *after(const char *key)
{
    char quoted[64];
    snprintf(quoted, sizeof quoted, "\"%s\":", key);
    const char *at = strstr(line, quoted);
    if (!at) {
        fprintf(stderr, "no %s in %s", key, line);
        exit(2);
    }
    return at + strlen(quoted);
}

static double number(const char *key) { return atof(after(key)); }

static double recorded_draw(void)
{
    char *end;
    double u = strtod(next_draw, &end);
    if (end == next_draw) {
        fprintf(stderr, "one random number more than recorded: %s", line);
        exit(1);
    }
    next_draw = *end == ',' ? end + 1 : end;
    return u;
}

int main(void)
{
    long steps = 0, waiting = 0, limit, wrong = 0;
    if (!fgets(line, sizeof line, stdin) || !strstr(line, "\"aqm\":\"red\""))
        return 2;
    min_th = number("min_th"), max_th = number("max_th"), max_p = number("max_p"), w_q = number("w_q");
    packets_per_second = number("rate_bps") / (8 * number("mean_packet"));
    limit = (long)number("limit");
    draw = recorded_draw;
    while (fgets(line, sizeof line, stdin) && !strstr(line, "\"format\"")) {
        double now = number("t");
        next_draw = after("u") + 1;
        if (strstr(line, "\"op\":\"enqueue\"")) {
            static const char *names[] = { "\"admit\"", "\"mark\"", "\"drop\"" };
            enum verdict mine = red_enqueue(now, waiting, limit, number("ecn") != 0);
            double its_avg, its_p_b, its_count;
            sscanf(after("gauges"), "[%lf,%lf,%lf]", &its_avg, &its_p_b, &its_count);
            int same = strncmp(after("verdict"), names[mine], strlen(names[mine])) == 0 && *next_draw == ']'
                && fabs(avg - its_avg) <= 1e-8 * (1 + avg) && fabs(p_b - its_p_b) <= 1e-8 && count == its_count;
            if (!same && wrong++ < 5)
                fprintf(stderr, "step %ld: %s, avg %.10g, where the record has\n%s", steps, names[mine], avg, line);
            if (mine != DROP) {
                waiting++;
                idle = 0;
            }
        } else {
            int found = *after("id") != 'n';
            red_dequeue(now, found);
            waiting -= found;
        }
        wrong += waiting != (long)number("packets");
        steps++;
    }
    printf("%ld steps, %ld differ\n", steps, wrong);
    return wrong > 0 || steps == 0;
}
