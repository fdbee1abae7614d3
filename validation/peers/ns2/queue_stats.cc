// Statistics of one ns-2 queue trace ("+", "-" and "d" rows of a single link).
//
//     queue_stats DURATION_S CAPACITY[B] WINDOW_START_S... < trace
//
// Prints one JSON object a line for each window [start, duration). A dropped
// packet that found fewer than CAPACITY packets (with B: bytes) waiting was
// dropped by the discipline (early), any other for want of room (overflow);
// CAPACITY 0 calls every drop an overflow. The queue is the packets waiting,
// without the one in transmission, weighted by time; a delay is the time from
// "+" to "-"; a mark is a packet that left with CE and came without.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <vector>

namespace {

struct Waiting {
    long packet;
    double since;
    int size;
    bool marked;
};

struct Window {
    double start = 0;
    double bytes = 0;
    double area = 0;         // packets * seconds
    double area_squares = 0; // packets^2 * seconds
    long longest = 0;
    long arrivals = 0;
    long departures = 0;
    long early = 0;
    long overflow = 0;
    long marks = 0;
    std::vector<float> delays;
};

// The smallest delay that a share `p` of the packets did not exceed.
double quantile(std::vector<float>& sorted, double p) {
    if (sorted.empty()) return 0;
    return sorted[static_cast<size_t>(std::ceil(p * sorted.size())) - 1];
}

void print(Window& w, double duration) {
    const double length = duration - w.start;
    const double mean = w.area / length;
    const double variance = std::max(0.0, w.area_squares / length - mean * mean);
    double delay_sum = 0;
    for (float d : w.delays) delay_sum += d;
    std::sort(w.delays.begin(), w.delays.end());
    const double delay_mean = w.delays.empty() ? 0 : delay_sum / w.delays.size();
    std::printf("{\"window_start_s\": %g, \"throughput_mbps\": %.6f, \"queue_mean_packets\": %.4f, "
                "\"queue_std_packets\": %.4f, \"queue_max_packets\": %ld, \"delay_mean_ms\": %.4f, "
                "\"delay_p95_ms\": %.4f, \"delay_p99_ms\": %.4f, \"arrivals\": %ld, \"departures\": %ld, "
                "\"early_drops\": %ld, \"overflow_drops\": %ld, \"marks\": %ld}\n",
                w.start, w.bytes * 8 / length / 1e6, mean, std::sqrt(variance), w.longest,
                delay_mean * 1e3, quantile(w.delays, 0.95) * 1e3, quantile(w.delays, 0.99) * 1e3,
                w.arrivals, w.departures, w.early, w.overflow, w.marks);
}

} // namespace

int main(int argc, char** argv) {
    if (argc < 4) {
        std::fprintf(stderr, "usage: queue_stats DURATION_S CAPACITY[B] WINDOW_START_S...\n");
        return 2;
    }
    const double duration = std::atof(argv[1]);
    char* unit = nullptr;
    const size_t capacity = std::strtoul(argv[2], &unit, 10);
    const bool in_bytes = *unit == 'B';
    size_t waiting_bytes = 0;
    std::vector<Window> windows(argc - 3);
    for (int i = 3; i < argc; i++) windows[i - 3].start = std::atof(argv[i]);

    std::deque<Waiting> queue;
    double last = 0;
    auto advance = [&](double now) {
        const double length = queue.size();
        for (Window& w : windows) {
            const double span = std::min(now, duration) - std::max(last, w.start);
            if (span <= 0) continue;
            w.area += length * span;
            w.area_squares += length * length * span;
            w.longest = std::max(w.longest, static_cast<long>(queue.size()));
        }
        last = now;
    };

    char line[512];
    while (std::fgets(line, sizeof line, stdin)) {
        char kind;
        double now;
        int size;
        long packet;
        char flags[32];
        if (std::sscanf(line, "%c %lf %*s %*s %*s %d %31s %*s %*s %*s %*s %ld", &kind, &now, &size, flags, &packet) != 5) {
            std::fprintf(stderr, "queue_stats: not a trace row: %s", line);
            return 1;
        }
        advance(now);
        if (kind == '+') {
            queue.push_back({packet, now, size, flags[4] == 'E'});
            waiting_bytes += size;
            for (Window& w : windows) w.arrivals += now >= w.start;
        } else if (kind == '-') {
            if (queue.empty() || queue.front().packet != packet) {
                std::fprintf(stderr, "queue_stats: not first come first served at %g\n", now);
                return 1;
            }
            const double delay = now - queue.front().since;
            const bool marked = flags[4] == 'E' && !queue.front().marked;
            waiting_bytes -= queue.front().size;
            queue.pop_front();
            for (Window& w : windows) {
                if (now < w.start) continue;
                w.departures++;
                w.bytes += size;
                w.marks += marked;
                w.delays.push_back(delay);
            }
        } else { // "d": the arrival of the row before
            if (queue.empty() || queue.back().packet != packet) {
                std::fprintf(stderr, "queue_stats: dropped a packet that was waiting at %g\n", now);
                return 1;
            }
            waiting_bytes -= queue.back().size;
            queue.pop_back();
            const bool early = (in_bytes ? waiting_bytes : queue.size()) < capacity;
            for (Window& w : windows) {
                if (now < w.start) continue;
                if (early) w.early++;
                else w.overflow++;
            }
        }
    }
    advance(duration);
    for (Window& w : windows) print(w, duration);
}
