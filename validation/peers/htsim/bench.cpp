// The cases of `earlydrop bench` in csg-htsim: TCP flows over a dumbbell, over one bare queue, or over queues in a row.
//
//     bench --shape=dumbbell|lean|chain --flows=N --rate=MBPS --duration=S --limit=PACKETS --min-th=N --max-th=N
//           [--access-rate=MBPS] [--access-delay=MS] [--sender-delays=MS,MS,...] [--delay=MS] [--queues=N]
//
// Links are those of the case: a queue with the link's rate and a pipe with its delay, both ways. htsim has no RED: the
// one below is ns-2's in packet mode (ns-2.35 red.cc, wait_, not gentle). It keeps counters and nothing else. TCP is
// htsim's own, NewReno without SACK, with ns-2's initial window and ssthresh. One line of JSON on standard output.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include <deque>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "config.h"
#include "eventlist.h"
#include "network.h"
#include "pipe.h"
#include "queue.h"
#include "route.h"
#include "tcp.h"

namespace {

const int kPacketBytes = 1000;
const mem_b kUnlimited = mem_b(1) << 40;

struct Thresholds {
    double limit, min_th, max_th;
};

/// RED in front of a link; counts packets and drops.
class Red : public Queue {
  public:
    Red(linkspeed_bps rate, EventList& events, const Thresholds& set, uint32_t seed)
        : Queue(rate, memFromPkt(set.limit + 1), events, NULL), set_(set), random_(seed) {
        packets_per_second_ = double(rate) / (8.0 * kPacketBytes);
    }

    void receivePacket(Packet& packet) override {
        arrivals++;
        // The packet in service does not count, as in ns-2.
        const size_t held = _enqueued.size();
        const double length = held > 0 ? double(held - 1) : 0.0;
        if (held == 0) {
            average_ *= pow(1.0 - kWeight, packets_per_second_ * timeAsSec(eventlist().now() - idle_since_));
        }
        average_ += kWeight * (length - average_);
        if (length >= set_.limit || early()) {
            count_ = 0;
            drops++;
            packet.free();
            return;
        }
        Packet* queued = &packet;
        _enqueued.push(queued);
        _queuesize += packet.size();
        if (held == 0) {
            beginService();
        }
    }

    void doNextEvent() override {
        completeService();
        if (_enqueued.empty()) {
            idle_since_ = eventlist().now();
        }
    }

    uint64_t arrivals = 0;
    uint64_t drops = 0;

  private:
    static constexpr double kWeight = 0.002;
    static constexpr double kMaxP = 0.1;

    /// The decision from the average: spacing with `wait_` (no second drop within 1/p packets of the last).
    bool early() {
        if (average_ < set_.min_th) {
            count_ = -1;
            return false;
        }
        if (average_ >= set_.max_th) {
            return true;
        }
        count_++;
        const double base = kMaxP * (average_ - set_.min_th) / (set_.max_th - set_.min_th);
        const double spaced = count_ * base;
        if (spaced < 1.0) {
            return false;
        }
        return spaced >= 2.0 || uniform_(random_) < base / (2.0 - spaced);
    }

    Thresholds set_;
    double packets_per_second_;
    double average_ = 0.0;
    int64_t count_ = -1;
    simtime_picosec idle_since_ = 0;
    std::mt19937 random_;
    std::uniform_real_distribution<double> uniform_{0.0, 1.0};
};

/// Both directions of a network's links, as htsim's routes list them.
struct Net {
    EventList& events;

    void pass(Route& route, BaseQueue* queue, Pipe* pipe) {
        if (queue != nullptr) {
            route.push_back(queue);
        }
        route.push_back(pipe);
    }

    BaseQueue* fifo(double mbps) { return new Queue(speedFromMbps(mbps), kUnlimited, events, NULL); }

    Pipe* pipe(double ms) { return new Pipe(timeFromMs(ms), events); }
};

std::map<std::string, std::string> options(int count, char** words) {
    std::map<std::string, std::string> found;
    for (int i = 1; i < count; i++) {
        const std::string word = words[i];
        const size_t sign = word.find('=');
        if (word.compare(0, 2, "--") != 0 || sign == std::string::npos) {
            fprintf(stderr, "bench: %s is not --key=value\n", words[i]);
            exit(2);
        }
        found[word.substr(2, sign - 2)] = word.substr(sign + 1);
    }
    return found;
}

std::vector<double> numbers(const std::string& list) {
    std::vector<double> found;
    for (size_t at = 0; at < list.size();) {
        size_t used = 0;
        found.push_back(std::stod(list.substr(at), &used));
        at += used + 1;
    }
    return found;
}

double user_seconds() {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_utime.tv_sec + usage.ru_stime.tv_sec + 1e-6 * (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

double peak_mb() {
    double peak = 0;
    char line[256];
    FILE* status = fopen("/proc/self/status", "r");
    while (status != nullptr && fgets(line, sizeof line, status) != nullptr) {
        if (strncmp(line, "VmHWM:", 6) == 0) {
            peak = atof(line + 6) / 1024.0;
        }
    }
    if (status != nullptr) {
        fclose(status);
    }
    return peak;
}

}  // namespace

int main(int count, char** words) {
    const double started = user_seconds();
    std::map<std::string, std::string> given = options(count, words);
    auto number = [&](const char* key, double usual) { return given.count(key) ? std::stod(given[key]) : usual; };
    const std::string shape = given["shape"];
    const int flows = int(number("flows", 100));
    const double rate = number("rate", 10), access = number("access-rate", 100);
    const double access_delay = number("access-delay", 5), delay = number("delay", 20);
    const Thresholds set = {number("limit", 120), number("min-th", 30), number("max-th", 90)};
    const int queues = shape == "chain" ? int(number("queues", 5)) : 1;
    std::vector<double> sender_delays = numbers(given["sender-delays"]);
    if (sender_delays.empty()) {
        sender_delays.push_back(access_delay);
    }
    if (shape != "dumbbell" && shape != "lean" && shape != "chain") {
        fprintf(stderr, "bench: --shape is dumbbell, lean or chain, not '%s'\n", shape.c_str());
        return 2;
    }

    Packet::set_packet_size(kPacketBytes);
    EventList& events = EventList::getTheEventList();
    events.setEndtime(timeFromSec(number("duration", 10)));
    Net net{events};
    std::vector<Red*> reds;
    std::vector<BaseQueue*> backs;
    std::vector<Pipe*> ways, back_ways;
    for (int i = 0; i < queues; i++) {
        reds.push_back(new Red(speedFromMbps(rate), events, set, 1 + i));
        ways.push_back(net.pipe(delay));
        backs.push_back(shape == "lean" ? nullptr : net.fifo(rate));
        back_ways.push_back(net.pipe(delay));
    }
    const bool has_access = shape != "lean";
    TcpRtxTimerScanner scanner(timeFromMs(10), events);
    std::mt19937 random(1);
    std::uniform_real_distribution<double> uniform(0.0, 1.0);
    for (int i = 0; i < flows; i++) {
        TcpSrc* source = new TcpSrc(NULL, NULL, events);
        TcpSink* sink = new TcpSink();
        source->set_cwnd(2 * kPacketBytes);
        source->set_ssthresh(1000 * kPacketBytes);
        scanner.registerTcp(*source);
        Route* there = new Route();
        Route* back = new Route();
        const double sender_delay = sender_delays[i % sender_delays.size()];
        if (has_access) {
            net.pass(*there, net.fifo(access), net.pipe(sender_delay));
            net.pass(*back, net.fifo(access), net.pipe(access_delay));
        }
        for (int k = 0; k < queues; k++) {
            net.pass(*there, reds[k], ways[k]);
            net.pass(*back, backs[queues - 1 - k], back_ways[queues - 1 - k]);
        }
        if (has_access) {
            net.pass(*there, net.fifo(access), net.pipe(access_delay));
            net.pass(*back, net.fifo(access), net.pipe(sender_delay));
        }
        there->push_back(sink);
        back->push_back(source);
        source->connect(*there, *back, *sink, timeFromSec(uniform(random)));
    }

    const double set_up = user_seconds();
    uint64_t run = 0;
    while (events.doNextEvent()) {
        run++;
    }
    const double ended = user_seconds();
    uint64_t arrivals = 0, drops = 0;
    for (const Red* red : reds) {
        arrivals += red->arrivals;
        drops += red->drops;
    }
    printf(
        "{\"user_s\": %.4f, \"setup_user_s\": %.4f, \"arrivals\": %llu, \"drops\": %llu, \"events\": %llu, "
        "\"peak_rss_mb\": %.1f}\n",
        ended - set_up, set_up - started, (unsigned long long)arrivals, (unsigned long long)drops,
        (unsigned long long)run, peak_mb());
    return 0;
}
