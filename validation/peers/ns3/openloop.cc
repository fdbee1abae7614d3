// Fixed arrivals through one ns-3 queue disc in front of a link, without transport.
//
//     openloop CASE SEED < arrivals.csv
//
// arrivals.csv: time_us,size,flow,ect (1: may be marked). The link takes 8 * size / 10 Mbit/s for a packet; it asks for
// one when a transmission ends, and right after an arrival while it is idle. Prints one line for each drop or mark:
// time_us,kind,arrival with kind d (before it joined the queue), D (afterwards) or m (marked); and at the end
// end,departures,queued.
//
// CASE may be `earlydrop TEXT` where build.sh built it with earlydrop's queue disc.

#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/traffic-control-module.h"

#include <cstdio>
#include <iostream>
#include <string>

using namespace ns3;

static const double RATE = 10e6;

class Item : public QueueDiscItem
{
  public:
    Item(uint32_t size, uint32_t number, uint32_t flow, bool ect)
        : QueueDiscItem(Create<Packet>(size), Address(), 0), number(number), flow(flow), ect(ect)
    {
    }

    void AddHeader() override {}

    bool Mark() override { return ect; }

    // ECT(0), for a queue disc that asks before it marks.
    bool GetUint8Value(QueueItem::Uint8Values, uint8_t& value) const override
    {
        value = ect ? 2 : 0;
        return true;
    }

    uint32_t Hash(uint32_t) const override { return flow; }

    const uint32_t number;
    const uint32_t flow;
    const bool ect;
};

static Ptr<QueueDisc> disc;
static bool busy = false;
static unsigned long departures = 0;

static void
Tell(const char* kind, Ptr<const QueueDiscItem> item)
{
    std::printf("%lld,%s,%u\n",
                static_cast<long long>(Simulator::Now().GetMicroSeconds()),
                kind,
                DynamicCast<const Item>(item)->number);
}

static void Ask();

static void
Ended()
{
    busy = false;
    Ask();
}

static void
Ask()
{
    Ptr<QueueDiscItem> item = disc->Dequeue();
    if (!item)
    {
        return;
    }
    departures++;
    busy = true;
    Simulator::Schedule(NanoSeconds(static_cast<int64_t>(item->GetSize()) * 800), &Ended);
}

static void
Arrive(Ptr<Item> item)
{
    disc->Enqueue(item);
    if (!busy)
    {
        Ask();
    }
}

// The random streams do not have numbers of their own: the run's number makes them differ.
static Ptr<QueueDisc>
Make(const std::string& name)
{
    ObjectFactory factory;
    bool ecn = name.size() > 4 && name.substr(name.size() - 4) == "_ecn";
    std::string kind = ecn ? name.substr(0, name.size() - 4) : name;
    if (kind == "red" || kind == "gentle" || kind == "nlred" || kind == "feng" || kind == "ared")
    {
        factory.SetTypeId("ns3::RedQueueDisc");
        factory.Set("MinTh", DoubleValue(10));
        factory.Set("MaxTh", DoubleValue(30));
        factory.Set("LInterm", DoubleValue(10));
        factory.Set("QW", DoubleValue(0.002));
        factory.Set("MaxSize", QueueSizeValue(QueueSize("100p")));
        factory.Set("Gentle", BooleanValue(kind == "gentle"));
        factory.Set("LinkBandwidth", DataRateValue(DataRate(static_cast<uint64_t>(RATE))));
        factory.Set("LinkDelay", TimeValue(MilliSeconds(10)));
        factory.Set("UseEcn", BooleanValue(ecn));
        factory.Set("NLRED", BooleanValue(kind == "nlred"));
        if (kind == "feng")
        {
            factory.Set("FengAdaptive", BooleanValue(true));
        }
        if (kind == "ared")
        {
            // This sets the thresholds and the weight by ns-3's own rules, gentle on as the scheme wants it.
            factory.Set("ARED", BooleanValue(true));
            factory.Set("Gentle", BooleanValue(true));
        }
    }
    else if (kind == "codel")
    {
        factory.SetTypeId("ns3::CoDelQueueDisc");
        factory.Set("MaxSize", QueueSizeValue(QueueSize("1000p")));
        factory.Set("UseEcn", BooleanValue(ecn));
    }
    else if (kind == "cobalt")
    {
        factory.SetTypeId("ns3::CobaltQueueDisc");
        factory.Set("MaxSize", QueueSizeValue(QueueSize("1000p")));
        factory.Set("UseEcn", BooleanValue(ecn));
    }
    else if (kind == "pie")
    {
        factory.SetTypeId("ns3::PieQueueDisc");
        factory.Set("MaxSize", QueueSizeValue(QueueSize("1000p")));
        factory.Set("UseEcn", BooleanValue(ecn));
    }
    else if (kind == "fq_codel")
    {
        factory.SetTypeId("ns3::FqCoDelQueueDisc");
        factory.Set("MaxSize", QueueSizeValue(QueueSize("1000p")));
        factory.Set("UseEcn", BooleanValue(ecn));
    }
    else if (kind == "fq_pie")
    {
        factory.SetTypeId("ns3::FqPieQueueDisc");
        factory.Set("MaxSize", QueueSizeValue(QueueSize("1000p")));
        factory.Set("UseEcn", BooleanValue(ecn));
    }
    else if (name.rfind("earlydrop ", 0) == 0)
    {
        factory.SetTypeId("ns3::EarlydropQueueDisc");
        factory.Set("Queue", StringValue(name.substr(10)));
        factory.Set("Rate", DataRateValue(DataRate(static_cast<uint64_t>(RATE))));
        factory.Set("Delay", TimeValue(MilliSeconds(10)));
    }
    else
    {
        std::cerr << "no case " << name << "\n";
        std::exit(2);
    }
    Ptr<QueueDisc> made = factory.Create<QueueDisc>();
    if (Ptr<FqCoDelQueueDisc> fair = DynamicCast<FqCoDelQueueDisc>(made))
    {
        fair->SetQuantum(1514);
    }
    if (Ptr<FqPieQueueDisc> fair = DynamicCast<FqPieQueueDisc>(made))
    {
        fair->SetQuantum(1514);
    }
    return made;
}

int
main(int argc, char** argv)
{
    if (argc != 3)
    {
        std::cerr << "usage: openloop CASE SEED < arrivals.csv\n";
        return 2;
    }
    RngSeedManager::SetRun(std::stoul(argv[2]));
    disc = Make(argv[1]);
    disc->TraceConnectWithoutContext(
        "DropBeforeEnqueue",
        Callback<void, Ptr<const QueueDiscItem>, const char*>(
            [](Ptr<const QueueDiscItem> item, const char*) { Tell("d", item); }));
    disc->TraceConnectWithoutContext(
        "DropAfterDequeue",
        Callback<void, Ptr<const QueueDiscItem>, const char*>(
            [](Ptr<const QueueDiscItem> item, const char*) { Tell("D", item); }));
    disc->TraceConnectWithoutContext(
        "Mark",
        Callback<void, Ptr<const QueueDiscItem>, const char*>(
            [](Ptr<const QueueDiscItem> item, const char*) { Tell("m", item); }));
    disc->Initialize();
    unsigned long time, size, flow, ect, number = 0;
    if (std::scanf("time_us,size,flow,ect ") != 0)
    {
        return 2;
    }
    unsigned long last = 0;
    while (std::scanf("%lu,%lu,%lu,%lu ", &time, &size, &flow, &ect) == 4)
    {
        Simulator::Schedule(MicroSeconds(time), &Arrive, Create<Item>(size, number++, flow, ect != 0));
        last = time;
    }
    Simulator::Stop(MicroSeconds(last + 1));
    Simulator::Run();
    std::printf("end,%lu,%u\n", departures, disc->GetNPackets());
    Simulator::Destroy();
    return 0;
}
