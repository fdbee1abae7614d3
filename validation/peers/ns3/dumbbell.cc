// One bottleneck between two routers, n TCP senders on the left and their
// receivers on the right, for ns-3 3.37.
//
// The queue under test is the root queue disc of the left router's bottleneck
// device, which itself holds one packet; with --reverse-limit the right router's
// has one of its own. Every other device has no queue disc and a queue that
// never fills. TCP NewReno with ns-3's defaults but for segment
// size, window, clock granularity and delayed acknowledgements, which are off.
// Prints one JSON object: user seconds of set-up and run, peak memory, the
// queue's counters, and with --statistics what the queue did after the warm-up.

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <list>
#include <memory>
#include <sstream>
#include <string>
#include <sys/resource.h>
#include <vector>

using namespace ns3;

namespace
{

constexpr uint32_t kPayloadBytes = 960; // 1000 bytes with the IP and TCP headers

struct Options
{
    uint32_t flows = 6;
    uint32_t seed = 1;
    uint32_t limit = 120;
    uint32_t reverseLimit = 0;
    uint32_t uploads = 0;
    uint32_t window = 1000;
    std::string queue = "red";
    double minTh = 24;
    double maxTh = 72;
    double maxP = 0.1;
    double wQ = 0.002;
    bool gentle = false;
    std::string rate = "5Mbps";
    std::string reverseRate; // empty: rate
    std::string delay = "10ms";
    std::string accessRate = "5Mbps";
    std::string accessDelay = "20ms";
    std::string senderDelays; // a comma-separated list; empty: accessDelay
    double starts = 1;
    double duration = 200;
    double warmup = 50;
    bool sack = true;
    bool timestamps = false;
    uint32_t ackEvery = 1;
    std::string tcp = "NewReno";
    bool ecn = false;
    uint32_t payload = kPayloadBytes;
    uint32_t initialCwnd = 2;
    uint32_t minRto = 200;
    uint32_t granularity = 10;
    bool statistics = false;
    std::string recovery; // empty: ns-3's default
    bool freshSamples = false;
    bool ownStreams = false;
    bool perFlow = false;
    std::string trace;
    uint32_t traceFlow = 0;
};

Options
Parse(int argc, char** argv)
{
    Options o;
    CommandLine cmd;
    cmd.AddValue("flows", "number of TCP flows", o.flows);
    cmd.AddValue("seed", "run number of the random streams", o.seed);
    cmd.AddValue("limit", "buffer in packets", o.limit);
    cmd.AddValue("reverse-limit", "the other direction's buffer in packets; 0: no queue disc there", o.reverseLimit);
    cmd.AddValue("uploads", "flows from receivers to senders besides", o.uploads);
    cmd.AddValue("window", "send and receive buffer in segments", o.window);
    cmd.AddValue("queue", "red, droptail, codel, fq_codel, or earlydrop|TEXT (| for each space) with its queue disc", o.queue);
    cmd.AddValue("min-th", "RED's lower threshold in packets", o.minTh);
    cmd.AddValue("max-th", "RED's upper threshold in packets", o.maxTh);
    cmd.AddValue("max-p", "RED's probability at the upper threshold", o.maxP);
    cmd.AddValue("w-q", "RED's averaging weight", o.wQ);
    cmd.AddValue("gentle", "gentle RED", o.gentle);
    cmd.AddValue("rate", "bottleneck rate", o.rate);
    cmd.AddValue("reverse-rate", "the bottleneck's rate in the other direction", o.reverseRate);
    cmd.AddValue("delay", "bottleneck delay", o.delay);
    cmd.AddValue("access-rate", "rate of every access link", o.accessRate);
    cmd.AddValue("access-delay", "delay of every access link", o.accessDelay);
    cmd.AddValue("sender-delays", "delays of the senders' links, gone through in turn", o.senderDelays);
    cmd.AddValue("starts", "flows start within so many seconds", o.starts);
    cmd.AddValue("duration", "simulated seconds", o.duration);
    cmd.AddValue("warmup", "seconds left out of the statistics", o.warmup);
    cmd.AddValue("sack", "selective acknowledgements", o.sack);
    cmd.AddValue("timestamps", "time stamps", o.timestamps);
    cmd.AddValue("ack-every", "segments for each ACK; more than 1 delays ACKs", o.ackEvery);
    cmd.AddValue("tcp", "NewReno, LinuxReno, Cubic, Dctcp or Bbr", o.tcp);
    cmd.AddValue("ecn", "ECN at the senders and in RED", o.ecn);
    cmd.AddValue("payload", "payload of a segment in bytes", o.payload);
    cmd.AddValue("initial-cwnd", "initial window in segments", o.initialCwnd);
    cmd.AddValue("min-rto", "shortest retransmission timeout in ms", o.minRto);
    cmd.AddValue("granularity", "clock granularity in ms", o.granularity);
    cmd.AddValue("statistics", "measure the queue (slower)", o.statistics);
    cmd.AddValue("recovery", "Prr or Classic", o.recovery);
    cmd.AddValue("fresh-samples", "samples of the rate as in Linux, not as in TcpRateLinux", o.freshSamples);
    cmd.AddValue("own-streams", "random numbers of its own for each sender of BBR, which are all the same else", o.ownStreams);
    cmd.AddValue("per-flow", "print what each receiver gets after the warm-up", o.perFlow);
    cmd.AddValue("trace", "a file for the variables of a sender", o.trace);
    cmd.AddValue("trace-flow", "which sender, from 0", o.traceFlow);
    cmd.Parse(argc, argv);
    return o;
}

void
SetTcpDefaults(const Options& o)
{
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(TypeId::LookupByName("ns3::Tcp" + o.tcp)));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(o.payload));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(o.initialCwnd));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(o.ackEvery));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(o.window * o.payload));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(o.window * o.payload));
    if (o.ecn)
    {
        Config::SetDefault("ns3::TcpSocketBase::UseEcn", StringValue("On"));
    }
    Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(o.timestamps));
    Config::SetDefault("ns3::TcpSocketBase::Sack", BooleanValue(o.sack));
    Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(MilliSeconds(o.minRto)));
    Config::SetDefault("ns3::TcpSocketBase::ClockGranularity", TimeValue(MilliSeconds(o.granularity)));
    if (!o.sack || o.recovery == "Classic")
    {
        Config::SetDefault("ns3::TcpL4Protocol::RecoveryType",
                           TypeIdValue(TcpClassicRecovery::GetTypeId()));
    }
}

// What happens at the queue from the end of the warm-up on.
class QueueMeter
{
  public:
    QueueMeter(Ptr<QueueDisc> disc, double warmup, double duration)
        : m_disc(disc),
          m_warmup(warmup),
          m_duration(duration)
    {
        disc->TraceConnectWithoutContext("PacketsInQueue", MakeCallback(&QueueMeter::OnLength, this));
        disc->TraceConnectWithoutContext("Dequeue", MakeCallback(&QueueMeter::OnDequeue, this));
        disc->TraceConnectWithoutContext("SojournTime", MakeCallback(&QueueMeter::OnSojourn, this));
        Simulator::Schedule(Seconds(warmup), &QueueMeter::OnWarm, this);
    }

    void Print()
    {
        Advance(m_duration);
        const double length = m_duration - m_warmup;
        const double mean = m_area / length;
        const double variance = std::max(0.0, m_areaSquares / length - mean * mean);
        double sum = 0;
        for (float d : m_delays)
        {
            sum += d;
        }
        std::sort(m_delays.begin(), m_delays.end());
        const size_t n = m_delays.size();
        const double p99 = n ? m_delays[static_cast<size_t>(std::ceil(0.99 * n)) - 1] : 0;
        std::printf(", \"throughput_mbps\": %.6f, \"queue_mean_packets\": %.4f, \"queue_std_packets\": %.4f, "
                    "\"delay_mean_ms\": %.4f, \"delay_p99_ms\": %.4f, \"early_drops\": %lu, \"overflow_drops\": %lu, "
                    "\"marks\": %lu, \"dequeued\": %lu",
                    m_bytes * 8 / length / 1e6, mean, std::sqrt(variance), n ? sum / n * 1e3 : 0, p99 * 1e3,
                    static_cast<unsigned long>(Early() - m_earlyBefore),
                    static_cast<unsigned long>(Overflow() - m_overflowBefore),
                    static_cast<unsigned long>(m_disc->GetStats().nTotalMarkedPackets - m_marksBefore),
                    static_cast<unsigned long>(n));
    }

  private:
    void Advance(double now)
    {
        const double span = std::min(now, m_duration) - std::max(m_last, m_warmup);
        if (span > 0)
        {
            m_area += m_length * span;
            m_areaSquares += m_length * m_length * span;
        }
        m_last = now;
    }

    bool Measured() const { return Simulator::Now().GetSeconds() >= m_warmup; }

    uint64_t Early() const
    {
        const QueueDisc::Stats s = m_disc->GetStats();
        return s.GetNDroppedPackets(RedQueueDisc::UNFORCED_DROP) + s.GetNDroppedPackets(RedQueueDisc::FORCED_DROP);
    }

    uint64_t Overflow() const { return m_disc->GetStats().nTotalDroppedPackets - Early(); }

    void OnWarm()
    {
        m_earlyBefore = Early();
        m_overflowBefore = Overflow();
        m_marksBefore = m_disc->GetStats().nTotalMarkedPackets;
    }

    void OnLength(uint32_t, uint32_t length)
    {
        Advance(Simulator::Now().GetSeconds());
        m_length = length;
    }

    void OnDequeue(Ptr<const QueueDiscItem> item)
    {
        if (Measured())
        {
            m_bytes += item->GetSize();
        }
    }

    void OnSojourn(Time sojourn)
    {
        if (Measured())
        {
            m_delays.push_back(sojourn.GetSeconds());
        }
    }

    Ptr<QueueDisc> m_disc;
    double m_warmup;
    double m_duration;
    double m_last = 0;
    double m_length = 0;
    double m_area = 0;
    double m_areaSquares = 0;
    double m_bytes = 0;
    uint64_t m_earlyBefore = 0;
    uint64_t m_overflowBefore = 0;
    uint64_t m_marksBefore = 0;
    std::vector<float> m_delays;
};

// Every change of a sender's variables, and what it sends: time, name, value; windows and sequence numbers in segments, times in
// seconds.
class SenderTrace
{
  public:
    SenderTrace(const std::string& path, Ptr<Node> node, uint32_t payload)
        : m_file(path),
          m_payload(payload)
    {
        m_file.precision(9);
        const std::string socket =
            "/NodeList/" + std::to_string(node->GetId()) + "/$ns3::TcpL4Protocol/SocketList/0/";
        auto connect = [&](const char* name, auto method) {
            Config::ConnectWithoutContext(socket + name, MakeCallback(method, this));
        };
        connect("CongestionWindow", &SenderTrace::OnWindow);
        connect("SlowStartThreshold", &SenderTrace::OnThreshold);
        connect("BytesInFlight", &SenderTrace::OnFlight);
        connect("CongState", &SenderTrace::OnState);
        connect("RTO", &SenderTrace::OnTimeout);
        connect("RTT", &SenderTrace::OnRtt);
        connect("PacingRate", &SenderTrace::OnPace);
        connect("Tx", &SenderTrace::OnSent);
    }

  private:
    template <class T>
    void Line(const char* name, T value)
    {
        m_file << Simulator::Now().GetSeconds() << ' ' << name << ' ' << value << '\n';
    }

    double Segments(uint32_t bytes) const { return static_cast<double>(bytes) / m_payload; }

    void OnWindow(uint32_t, uint32_t bytes) { Line("cwnd", Segments(bytes)); }

    void OnThreshold(uint32_t, uint32_t bytes) { Line("ssthresh", Segments(bytes)); }

    void OnFlight(uint32_t, uint32_t bytes) { Line("pipe", Segments(bytes)); }

    void OnState(TcpSocketState::TcpCongState_t, TcpSocketState::TcpCongState_t state)
    {
        Line("state", TcpSocketState::TcpCongStateName[state]);
    }

    void OnTimeout(Time, Time rto) { Line("rto", rto.GetSeconds()); }

    void OnRtt(Time, Time rtt) { Line("srtt", rtt.GetSeconds()); }

    // Segments a second.
    void OnPace(DataRate, DataRate rate) { Line("pace", rate.GetBitRate() / 8.0 / m_payload); }

    void OnSent(Ptr<const Packet>, const TcpHeader& header, Ptr<const TcpSocketBase>)
    {
        Line("sent", Segments(header.GetSequenceNumber().GetValue()));
    }

    std::ofstream m_file;
    double m_payload;
};

// Samples of the delivery rate as draft-cheng-iccrg-delivery-rate-estimation has them: one for the segments that an ACK says have
// arrived, over the time from the ACK that was the last before the segment was sent. TcpRateLinux keeps a sample from ACK to
// ACK, and takes the time from the beginning of the sample before.
class FreshRate : public TcpRateOps
{
  public:
    static TypeId GetTypeId()
    {
        static TypeId tid = TypeId("FreshRate").SetParent<TcpRateOps>().AddConstructor<FreshRate>();
        return tid;
    }

    void SkbSent(TcpTxItem* item, bool first) override
    {
        const Time now = Simulator::Now();
        if (first)
        {
            m_connection.m_firstSentTime = now;
            m_connection.m_deliveredTime = now;
        }
        TcpTxItem::RateInformation& known = item->GetRateInformation();
        known.m_firstSent = m_connection.m_firstSentTime;
        known.m_deliveredTime = m_connection.m_deliveredTime;
        known.m_delivered = m_connection.m_delivered;
        known.m_isAppLimited = m_connection.m_appLimited != 0;
    }

    void SkbDelivered(TcpTxItem* item) override
    {
        TcpTxItem::RateInformation& known = item->GetRateInformation();
        if (known.m_deliveredTime == Time::Max())
        {
            return; // It has been reported before.
        }
        m_connection.m_delivered += item->GetSeqSize();
        m_connection.m_deliveredTime = Simulator::Now();
        m_connection.m_txItemDelivered = known.m_delivered;
        const bool later = known.m_delivered > m_sample.m_priorDelivered ||
                           (known.m_delivered == m_sample.m_priorDelivered && item->GetLastSent() > m_newest);
        if (!m_any || later)
        {
            m_any = true;
            m_newest = item->GetLastSent();
            m_sample.m_priorDelivered = known.m_delivered;
            m_sample.m_priorTime = known.m_deliveredTime;
            m_sample.m_isAppLimited = known.m_isAppLimited;
            m_sample.m_sendElapsed = item->GetLastSent() - known.m_firstSent;
            m_connection.m_firstSentTime = item->GetLastSent();
        }
        known.m_deliveredTime = Time::Max();
    }

    void CalculateAppLimited(uint32_t window,
                             uint32_t inFlight,
                             uint32_t segment,
                             const SequenceNumber32& tail,
                             const SequenceNumber32& next,
                             const uint32_t lost,
                             const uint32_t again) override
    {
        if (tail - next < static_cast<int32_t>(segment) && inFlight < window && lost <= again)
        {
            m_connection.m_appLimited = std::max<uint64_t>(m_connection.m_delivered + inFlight, 1);
        }
    }

    const TcpRateSample& GenerateSample(uint32_t delivered,
                                        uint32_t lost,
                                        bool,
                                        uint32_t inFlightBefore,
                                        const Time& minRtt) override
    {
        if (m_connection.m_appLimited != 0 && m_connection.m_delivered > m_connection.m_appLimited)
        {
            m_connection.m_appLimited = 0;
        }
        m_sample.m_ackedSacked = delivered;
        m_sample.m_bytesLoss = lost;
        m_sample.m_priorInFlight = inFlightBefore;
        m_sample.m_deliveryRate = DataRate(0);
        m_sample.m_delivered = -1;
        m_sample.m_interval = Time(0);
        if (m_any)
        {
            m_any = false;
            m_sample.m_ackElapsed = m_connection.m_deliveredTime - m_sample.m_priorTime;
            const Time took = std::max(m_sample.m_sendElapsed, m_sample.m_ackElapsed);
            m_sample.m_delivered = m_connection.m_delivered - m_sample.m_priorDelivered;
            if (took >= minRtt && took > Time(0))
            {
                m_sample.m_interval = took;
                m_sample.m_deliveryRate = DataRate(m_sample.m_delivered * 8.0 / took.GetSeconds());
            }
        }
        return m_sample;
    }

    const TcpRateConnection& GetConnectionRate() override { return m_connection; }

  private:
    TcpRateConnection m_connection;
    TcpRateSample m_sample;
    Time m_newest;
    bool m_any = false;
};

// Where a socket keeps what measures its rate, and its congestion control.
struct PartsOfSocket : public TcpSocketBase
{
    static Ptr<TcpRateOps> TcpSocketBase::*Rate() { return &PartsOfSocket::m_rateOps; }

    static Ptr<TcpCongestionOps> TcpSocketBase::*Control() { return &PartsOfSocket::m_congestionControl; }
};

double
UserSeconds()
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_utime.tv_sec + usage.ru_utime.tv_usec * 1e-6;
}

// Not ru_maxrss: that starts at the peak of the program that started this one.
double
PeakMegabytes()
{
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);)
    {
        if (line.rfind("VmHWM:", 0) == 0)
        {
            return std::stod(line.substr(6)) / 1024;
        }
    }
    return 0;
}

} // namespace

int
main(int argc, char** argv)
{
    const Options o = Parse(argc, argv);
    RngSeedManager::SetSeed(12345);
    RngSeedManager::SetRun(o.seed);
    SetTcpDefaults(o);

    NodeContainer routers;
    NodeContainer senders;
    NodeContainer receivers;
    routers.Create(2);
    senders.Create(o.flows);
    receivers.Create(o.flows);
    InternetStackHelper internet;
    Ipv4StaticRoutingHelper routing;
    internet.SetIpv6StackInstall(false);
    internet.SetRoutingHelper(routing);
    internet.InstallAll();

    PointToPointHelper access;
    access.SetDeviceAttribute("DataRate", StringValue(o.accessRate));
    access.SetChannelAttribute("Delay", StringValue(o.accessDelay));
    access.SetQueue("ns3::DropTailQueue<Packet>", "MaxSize", StringValue("20000p"));
    PointToPointHelper bottleneck;
    bottleneck.SetDeviceAttribute("DataRate", StringValue(o.rate));
    bottleneck.SetChannelAttribute("Delay", StringValue(o.delay));
    bottleneck.SetQueue("ns3::DropTailQueue<Packet>", "MaxSize", StringValue("1p"));

    NetDeviceContainer middle = bottleneck.Install(routers);
    NetDeviceContainer plain;
    if (!o.reverseLimit)
    {
        plain.Add(middle.Get(1));
    }
    Ptr<PointToPointNetDevice> back = DynamicCast<PointToPointNetDevice>(middle.Get(1));
    back->GetQueue()->SetMaxSize(QueueSize(o.reverseLimit ? "1p" : "20000p"));
    if (!o.reverseRate.empty())
    {
        back->SetDataRate(DataRate(o.reverseRate));
    }

    auto install = [&o](Ptr<NetDevice> device, uint32_t packets) {
        TrafficControlHelper control;
        const QueueSizeValue limit(QueueSize(QueueSizeUnit::PACKETS, packets));
        if (o.queue == "droptail")
        {
            control.SetRootQueueDisc("ns3::FifoQueueDisc", "MaxSize", limit);
        }
        else if (o.queue == "codel")
        {
            control.SetRootQueueDisc("ns3::CoDelQueueDisc", "MaxSize", limit);
        }
        else if (o.queue == "fq_codel")
        {
            control.SetRootQueueDisc("ns3::FqCoDelQueueDisc", "MaxSize", limit);
        }
        else if (o.queue.rfind("earlydrop|", 0) == 0)
        {
            // ns-3 reads a value up to its first space.
            std::string text = o.queue.substr(10);
            std::replace(text.begin(), text.end(), '|', ' ');
            control.SetRootQueueDisc("ns3::EarlydropQueueDisc",
                                     "Queue", StringValue(text),
                                     "Rate", StringValue(o.rate),
                                     "Delay", StringValue(o.delay));
        }
        else
        {
            control.SetRootQueueDisc("ns3::RedQueueDisc",
                                     "MaxSize", limit,
                                     "MinTh", DoubleValue(o.minTh),
                                     "MaxTh", DoubleValue(o.maxTh),
                                     "LInterm", DoubleValue(1.0 / o.maxP),
                                     "QW", DoubleValue(o.wQ),
                                     "Gentle", BooleanValue(o.gentle),
                                     "Wait", BooleanValue(true),
                                     "MeanPktSize", UintegerValue(o.payload + 40),
                                     "LinkBandwidth", StringValue(o.rate),
                                     "LinkDelay", StringValue(o.delay),
                                     "UseEcn", BooleanValue(o.ecn),
                                     "UseHardDrop", BooleanValue(!o.ecn));
        }
        return control.Install(device).Get(0);
    };
    Ptr<QueueDisc> disc = install(middle.Get(0), o.limit);
    Ptr<QueueDisc> backDisc = o.reverseLimit ? install(back, o.reverseLimit) : nullptr;

    Ipv4AddressHelper addresses("10.0.0.0", "255.255.255.252");
    auto connect = [&](NetDeviceContainer devices) {
        Ipv4InterfaceContainer interfaces = addresses.Assign(devices);
        addresses.NewNetwork();
        return interfaces;
    };
    auto setDefaultRoute = [&](Ptr<Node> node, Ipv4Address next) {
        routing.GetStaticRouting(node->GetObject<Ipv4>())->SetDefaultRoute(next, 1);
    };
    Ipv4InterfaceContainer core = connect(middle);
    setDefaultRoute(routers.Get(0), core.GetAddress(1));
    setDefaultRoute(routers.Get(1), core.GetAddress(0));

    std::vector<std::string> senderDelays;
    std::istringstream list(o.senderDelays.empty() ? o.accessDelay : o.senderDelays);
    for (std::string delay; std::getline(list, delay, ',');)
    {
        senderDelays.push_back(delay);
    }

    std::unique_ptr<SenderTrace> trace;
    std::vector<Ptr<PacketSink>> sinks;
    std::vector<uint64_t> before(o.flows);
    const uint16_t port = 9;
    Ptr<UniformRandomVariable> starts = CreateObject<UniformRandomVariable>();
    for (uint32_t i = 0; i < o.flows; i++)
    {
        access.SetChannelAttribute("Delay", StringValue(senderDelays[i % senderDelays.size()]));
        NetDeviceContainer left = access.Install(senders.Get(i), routers.Get(0));
        access.SetChannelAttribute("Delay", StringValue(o.accessDelay));
        NetDeviceContainer right = access.Install(routers.Get(1), receivers.Get(i));
        Ipv4InterfaceContainer leftAddresses = connect(left);
        Ipv4InterfaceContainer rightAddresses = connect(right);
        plain.Add(left);
        plain.Add(right);
        setDefaultRoute(senders.Get(i), leftAddresses.GetAddress(1));
        setDefaultRoute(receivers.Get(i), rightAddresses.GetAddress(0));

        PacketSinkHelper sink("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), port));
        ApplicationContainer receiving = sink.Install(receivers.Get(i));
        receiving.Start(Seconds(0));
        sinks.push_back(DynamicCast<PacketSink>(receiving.Get(0)));
        BulkSendHelper source("ns3::TcpSocketFactory", InetSocketAddress(rightAddresses.GetAddress(1), port));
        source.SetAttribute("SendSize", UintegerValue(o.payload));
        const Time start = Seconds(starts->GetValue(0, o.starts));
        ApplicationContainer sending = source.Install(senders.Get(i));
        sending.Start(start);
        // The socket is there once the application has begun.
        if (o.freshSamples || o.ownStreams)
        {
            Simulator::Schedule(start + NanoSeconds(1), [&o, i, application = sending.Get(0)] {
                Ptr<Socket> made = DynamicCast<BulkSendApplication>(application)->GetSocket();
                TcpSocketBase& socket = *DynamicCast<TcpSocketBase>(made);
                if (o.freshSamples)
                {
                    socket.*PartsOfSocket::Rate() = CreateObject<FreshRate>();
                }
                if (o.ownStreams)
                {
                    DynamicCast<TcpBbr>(socket.*PartsOfSocket::Control())->SetStream(1000 + i);
                }
            });
        }
        if (i == o.traceFlow && !o.trace.empty())
        {
            Simulator::Schedule(start + NanoSeconds(1), [&trace, &o, &senders] {
                trace = std::make_unique<SenderTrace>(o.trace, senders.Get(o.traceFlow), o.payload);
            });
        }
    }
    for (uint32_t i = 0; i < o.uploads; i++)
    {
        PacketSinkHelper sink("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), port));
        sink.Install(senders.Get(i)).Start(Seconds(0));
        Ipv4Address to = senders.Get(i)->GetObject<Ipv4>()->GetAddress(1, 0).GetLocal();
        BulkSendHelper source("ns3::TcpSocketFactory", InetSocketAddress(to, port));
        source.SetAttribute("SendSize", UintegerValue(o.payload));
        source.Install(receivers.Get(i)).Start(Seconds(starts->GetValue(0, o.starts)));
    }
    // Assigning addresses put a default queue disc on every device.
    TrafficControlHelper().Uninstall(plain);

    std::unique_ptr<QueueMeter> meter;
    if (o.statistics)
    {
        meter = std::make_unique<QueueMeter>(disc, o.warmup, o.duration);
    }
    Simulator::Schedule(Seconds(o.warmup), [&sinks, &before] {
        std::transform(sinks.begin(), sinks.end(), before.begin(), [](auto sink) { return sink->GetTotalRx(); });
    });
    Simulator::Stop(Seconds(o.duration));
    const double setup = UserSeconds();
    Simulator::Run();
    const double user = UserSeconds() - setup;

    uint32_t arrivals = 0;
    uint32_t drops = 0;
    for (Ptr<QueueDisc> one : {disc, backDisc})
    {
        arrivals += one ? one->GetStats().nTotalReceivedPackets : 0;
        drops += one ? one->GetStats().nTotalDroppedPackets : 0;
    }
    std::printf("{\"user_s\": %.4f, \"setup_user_s\": %.4f, \"arrivals\": %u, \"drops\": %u, \"events\": %lu, "
                "\"peak_rss_mb\": %.1f",
                user, setup, arrivals, drops,
                static_cast<unsigned long>(Simulator::GetEventCount()), PeakMegabytes());
    if (meter)
    {
        meter->Print();
    }
    for (uint32_t i = 0; o.perFlow && i < o.flows; i++)
    {
        const double bits = 8.0 * (sinks[i]->GetTotalRx() - before[i]);
        std::printf("%s%.6f%s", i ? ", " : ", \"flow_mbps\": [", bits / (o.duration - o.warmup) / 1e6,
                    i + 1 < o.flows ? "" : "]");
    }
    std::printf("}\n");
    Simulator::Destroy();
    return 0;
}
