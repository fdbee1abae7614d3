// Watches an unchanged example of ns-3 3.37: build_example.sh compiles the example with its `main` under the name
// `example_main`, and this file beside it. Options go to the example.
//
//     WATCH="NODE DEVICE FROM TO" PROGRAM [OPTION...]
//
// Prints one JSON object of what happened between FROM and TO, in seconds: what the point-to-point device began to
// transmit (without PPP's 2 B), how long that had waited since its root queue disc took it, the queue disc's drops by
// reason, packets lost at any receiving device, and the payload that each sink received by node. A queue disc must be
// first in, first out, as RED is, and FqCoDel with one flow.
#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

#include <cstdio>
#include <cstdlib>
#include <deque>
#include <map>
#include <string>

using namespace ns3;

int example_main(int argc, char* argv[]);

namespace {

unsigned g_node, g_device;
double g_from, g_to;
std::deque<double> g_taken; // when each packet that waits was taken, in order
unsigned long g_packets, g_bytes, g_lost;
double g_waited;
std::map<std::string, unsigned long> g_drops, g_received;

double Now() { return Simulator::Now().GetSeconds(); }

bool Within() { return Now() >= g_from && Now() < g_to; }

void Taken(Ptr<const QueueDiscItem>) { g_taken.push_back(Now()); }

void Dropped(Ptr<const QueueDiscItem>, const char* reason)
{
    if (Within())
        ++g_drops[reason];
}

void Transmits(Ptr<const Packet> packet)
{
    NS_ABORT_MSG_IF(g_taken.empty(), "watch: a packet left that no queue disc took");
    const double taken = g_taken.front();
    g_taken.pop_front();
    if (!Within())
        return;
    ++g_packets;
    g_bytes += packet->GetSize() - 2;
    g_waited += Now() - taken;
}

void Lost(Ptr<const Packet>) { g_lost += Within(); }

void Received(std::string, Ptr<const Packet> packet, const Address& from)
{
    if (!Within())
        return;
    std::string source = "?";
    if (InetSocketAddress::IsMatchingType(from)) {
        std::ostringstream text;
        text << InetSocketAddress::ConvertFrom(from).GetIpv4();
        source = text.str();
    }
    g_received[source] += packet->GetSize();
}

// The example has built its network when the simulation begins.
void Attach()
{
    const std::string node = "/NodeList/" + std::to_string(g_node) + "/";
    const std::string device = std::to_string(g_device) + "/";
    const std::string disc = node + "$ns3::TrafficControlLayer/RootQueueDiscList/" + device;
    const bool found =
        Config::ConnectWithoutContextFailSafe(disc + "Enqueue", MakeCallback(&Taken)) &&
        Config::ConnectWithoutContextFailSafe(disc + "DropBeforeEnqueue", MakeCallback(&Dropped)) &&
        Config::ConnectWithoutContextFailSafe(node + "DeviceList/" + device + "$ns3::PointToPointNetDevice/PhyTxBegin",
                                              MakeCallback(&Transmits));
    NS_ABORT_MSG_IF(!found, "watch: " << node << " has no point-to-point device " << g_device << " with a queue disc");
    Config::ConnectWithoutContextFailSafe("/NodeList/*/DeviceList/*/$ns3::PointToPointNetDevice/PhyRxDrop",
                                          MakeCallback(&Lost));
    Config::ConnectFailSafe("/NodeList/*/ApplicationList/*/$ns3::PacketSink/Rx", MakeCallback(&Received));
}

std::string Counts(const std::map<std::string, unsigned long>& counts)
{
    std::string text;
    for (const auto& [name, count] : counts)
        text += (text.empty() ? "\"" : ", \"") + name + "\": " + std::to_string(count);
    return "{" + text + "}";
}

void Print()
{
    std::printf("{\"packets\": %lu, \"bytes\": %lu, \"delay_mean_ms\": %.6f, \"lost\": %lu, \"drops\": %s, \"received\": %s}\n",
                g_packets, g_bytes, g_packets ? 1e3 * g_waited / g_packets : 0.0, g_lost, Counts(g_drops).c_str(),
                Counts(g_received).c_str());
}

} // namespace

int main(int argc, char* argv[])
{
    const char* watch = std::getenv("WATCH");
    if (!watch || std::sscanf(watch, "%u %u %lf %lf", &g_node, &g_device, &g_from, &g_to) != 4) {
        std::fprintf(stderr, "watch: WATCH is %s; allowed \"NODE DEVICE FROM TO\"\n", watch ? watch : "not set");
        return 2;
    }
    Simulator::ScheduleNow(&Attach);
    Simulator::ScheduleDestroy(&Print);
    return example_main(argc, argv);
}
