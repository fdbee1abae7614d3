#include "earlydrop-queue-disc.h"

#include "ns3/ipv4-queue-disc-item.h"
#include "ns3/ipv6-queue-disc-item.h"
#include "ns3/queue.h"
#include "ns3/simulator.h"
#include "ns3/string.h"
#include "ns3/tcp-header.h"
#include "ns3/tcp-option-sack.h"
#include "ns3/tcp-option-ts.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace ns3 {

NS_OBJECT_ENSURE_REGISTERED(EarlydropQueueDisc);

// Where the packets lie: QueueDisc counts what enters and leaves an internal queue, and only that. The library has the
// limit, and says which packet goes, from any place.
class EarlydropStore : public Queue<QueueDiscItem> {
  public:
    EarlydropStore() { SetMaxSize(QueueSize(QueueSizeUnit::PACKETS, UINT32_MAX)); }

    Iterator Put(Ptr<QueueDiscItem> item) {
        Iterator place;
        DoEnqueue(GetContainer().end(), item, place);
        return place;
    }

    Ptr<QueueDiscItem> Take(Iterator place) { return DoDequeue(place); }

    bool Enqueue(Ptr<QueueDiscItem> item) override { return DoEnqueue(GetContainer().end(), item); }
    Ptr<QueueDiscItem> Dequeue() override { return DoDequeue(GetContainer().begin()); }
    Ptr<QueueDiscItem> Remove() override { return DoRemove(GetContainer().begin()); }
    Ptr<const QueueDiscItem> Peek() const override { return DoPeek(GetContainer().begin()); }
};

namespace {

double NowInSeconds() {
    return Simulator::Now().GetNanoSeconds() / 1e9;
}

uint64_t HostOf(const Ipv6Address& address) {
    uint8_t bytes[16];
    uint64_t halves[2];
    address.GetBytes(bytes);
    std::memcpy(halves, bytes, 16);
    return halves[0] * 0x9e3779b97f4a7c15 ^ halves[1];
}

// What the ACK filter reads; false if the packet does not begin with a whole TCP header.
bool ReadTcp(Ptr<const Packet> packet, ed_tcp& tcp) {
    TcpHeader header;
    if (packet->GetSize() < 20 || packet->PeekHeader(header) == 0)
        return false;
    const uint8_t flags = header.GetFlags();
    tcp.ack = header.GetAckNumber().GetValue();
    tcp.plain_ack = (flags & ~(TcpHeader::ECE | TcpHeader::CWR)) == TcpHeader::ACK;
    tcp.acknowledges = (flags & TcpHeader::ACK) && !(flags & TcpHeader::SYN);
    tcp.ecn_flags = (flags & TcpHeader::ECE ? 1 : 0) | (flags & TcpHeader::CWR ? 2 : 0);
    tcp.data = packet->GetSize() > header.GetLength() * 4u;
    for (const auto& option : header.GetOptionList()) {
        if (auto stamp = DynamicCast<const TcpOptionTS>(option)) {
            tcp.has_stamps = 1;
            tcp.stamps[0] = stamp->GetTimestamp();
            tcp.stamps[1] = stamp->GetEcho();
        } else if (auto sack = DynamicCast<const TcpOptionSack>(option)) {
            for (const auto& [first, end] : sack->GetSackList()) {
                uint32_t* block = tcp.blocks[std::min<uint8_t>(tcp.block_count++, 3)];
                block[0] = first.GetValue();
                block[1] = end.GetValue();
            }
            tcp.block_count = std::min<uint8_t>(tcp.block_count, 4);
        } else if (option->GetKind() != TcpOption::NOP && option->GetKind() != TcpOption::END) {
            tcp.other_options = 1;
        }
    }
    return true;
}

} // namespace

TypeId EarlydropQueueDisc::GetTypeId() {
    static TypeId tid = TypeId("ns3::EarlydropQueueDisc")
                            .SetParent<QueueDisc>()
                            .SetGroupName("TrafficControl")
                            .AddConstructor<EarlydropQueueDisc>()
                            .AddAttribute("Queue",
                                          "The discipline with its settings, such as codel target=5ms ecn=true",
                                          StringValue("fq_codel ecn=true"),
                                          MakeStringAccessor(&EarlydropQueueDisc::m_text),
                                          MakeStringChecker())
                            .AddAttribute("Rate",
                                          "Rate of the link behind the queue",
                                          DataRateValue(DataRate("10Mbps")),
                                          MakeDataRateAccessor(&EarlydropQueueDisc::m_rate),
                                          MakeDataRateChecker())
                            .AddAttribute("Delay",
                                          "Propagation delay of the link behind the queue",
                                          TimeValue(MilliSeconds(10)),
                                          MakeTimeAccessor(&EarlydropQueueDisc::m_delay),
                                          MakeTimeChecker(Seconds(0)));
    return tid;
}

EarlydropQueueDisc::EarlydropQueueDisc()
    : QueueDisc(QueueDiscSizePolicy::SINGLE_INTERNAL_QUEUE),
      m_random(CreateObject<UniformRandomVariable>()) {
}

int64_t EarlydropQueueDisc::AssignStreams(int64_t stream) {
    m_random->SetStream(stream);
    return 1;
}

void EarlydropQueueDisc::DoDispose() {
    const uint64_t waiting = ed_queue_packets(m_queue);
    NS_ABORT_MSG_IF(m_queue && (m_store->GetNPackets() != waiting || m_entries.size() != waiting), "packets were lost");
    m_wake.Cancel();
    ed_queue_free(m_queue);
    m_queue = nullptr;
    m_entries.clear();
    m_store = nullptr;
    QueueDisc::DoDispose();
}

bool EarlydropQueueDisc::CheckConfig() {
    NS_ABORT_MSG_IF(GetNQueueDiscClasses() + GetNInternalQueues() + GetNPacketFilters() > 0,
                    "EarlydropQueueDisc has a queue of its own, no classes and no filters");
    m_store = CreateObject<EarlydropStore>();
    AddInternalQueue(m_store);
    auto draw = [](void* self) { return static_cast<EarlydropQueueDisc*>(self)->m_random->GetValue(); };
    m_queue = ed_queue_new_random(m_text.c_str(), m_rate.GetBitRate(), m_delay.GetSeconds(), draw, this);
    NS_ABORT_MSG_IF(!m_queue, m_text << ": " << ed_error());
    auto dropped = [](void* self, const ed_packet*, void* tag, uint32_t reason) {
        static const char* const reasons[] = {"Unforced drop", "Forced drop", "Overflow drop"};
        static_cast<EarlydropQueueDisc*>(self)->Dropped(static_cast<QueueDiscItem*>(tag), reasons[reason]);
    };
    ed_queue_on_drop(m_queue, dropped, this);
    return true;
}

void EarlydropQueueDisc::InitializeParams() {
}

void EarlydropQueueDisc::Dropped(QueueDiscItem* item, const char* reason) {
    auto entry = m_entries.extract(item);
    if (entry.mapped().waits) {
        DropAfterDequeue(m_store->Take(entry.mapped().place), reason);
    } else {
        DropBeforeEnqueue(item, reason);
    }
}

bool EarlydropQueueDisc::DoEnqueue(Ptr<QueueDiscItem> item) {
    ed_packet packet{};
    ed_header header{};
    ed_tcp tcp{};
    uint8_t field = 0;
    bool isTcp = false;
    item->GetUint8Value(QueueItem::IP_DSFIELD, field);
    packet.flow = item->Hash(0);
    packet.size = item->GetSize();
    packet.ecn = field & 3;
    packet.priority = field >> 5;
    header.dscp = field >> 2;
    if (auto four = DynamicCast<Ipv4QueueDiscItem>(item)) {
        const Ipv4Header& ip = four->GetHeader();
        packet.ttl = ip.GetTtl();
        header.source = ip.GetSource().Get();
        header.destination = ip.GetDestination().Get();
        isTcp = ip.GetProtocol() == 6 && ip.GetFragmentOffset() == 0;
    } else if (auto six = DynamicCast<Ipv6QueueDiscItem>(item)) {
        const Ipv6Header& ip = six->GetHeader();
        packet.ttl = ip.GetHopLimit();
        header.source = HostOf(ip.GetSource());
        header.destination = HostOf(ip.GetDestination());
        isTcp = ip.GetNextHeader() == 6;
    }
    if (isTcp && ed_queue_reads_headers(m_queue) == 1 && ReadTcp(item->GetPacket(), tcp))
        header.tcp = &tcp;
    // Whatever the library drops now, others or the arrival itself, it tells to Dropped.
    m_entries[PeekPointer(item)] = {{}, false, packet.ecn};
    const int fate = ed_queue_enqueue(m_queue, &packet, &header, PeekPointer(item), NowInSeconds());
    NS_ABORT_MSG_IF(fate == ED_ERROR, ed_error());
    if (fate == ED_DROPPED)
        return false;
    Entry& entry = m_entries[PeekPointer(item)];
    if (fate == ED_ADMITTED_MARKED) {
        Mark(item, "Mark");
        entry.ecn = 3;
    }
    entry.place = m_store->Put(item);
    entry.waits = true;
    return true;
}

Ptr<QueueDiscItem> EarlydropQueueDisc::DoDequeue() {
    ed_packet packet;
    void* tag;
    const int found = ed_queue_dequeue(m_queue, NowInSeconds(), &packet, &tag);
    NS_ABORT_MSG_IF(found == ED_ERROR, ed_error());
    if (found == 0) {
        const double until = ed_queue_held_until(m_queue);
        if (std::isfinite(until)) {
            const Time wait = NanoSeconds(std::ceil(until * 1e9)) - Simulator::Now();
            m_wake.Cancel();
            m_wake = Simulator::Schedule(std::max(wait, NanoSeconds(1)), &QueueDisc::Run, this);
        }
        return nullptr;
    }
    const Entry entry = m_entries.extract(static_cast<QueueDiscItem*>(tag)).mapped();
    Ptr<QueueDiscItem> item = m_store->Take(entry.place);
    if (packet.ecn == 3 && entry.ecn != 3)
        Mark(item, "Mark");
    return item;
}

} // namespace ns3
