// A queue disc of ns-3 that is one of earlydrop's queues, by the C library (docs/how-to/queue-from-c.md).
//
//     TrafficControlHelper helper;
//     helper.SetRootQueueDisc("ns3::EarlydropQueueDisc", "Queue", StringValue("cake bandwidth=20mbit"),
//                             "Rate", DataRateValue(DataRate("50Mbps")), "Delay", TimeValue(MilliSeconds(20)));
//
// Every text of the command line works; ECN is off unless it says `ecn=true`. Sizes are those of ns-3's items, IP header
// included; flows are told apart by QueueDiscItem::Hash, hosts by addresses, and CAKE's ACK filter reads the TCP header.
// The options that DDRED and AECN read are zero: no packet of ns-3 has them. Random numbers come from a
// UniformRandomVariable, so RngSeedManager and AssignStreams rule them.

#ifndef EARLYDROP_QUEUE_DISC_H
#define EARLYDROP_QUEUE_DISC_H

#include <earlydrop_queue.h>

#include "ns3/data-rate.h"
#include "ns3/event-id.h"
#include "ns3/nstime.h"
#include "ns3/queue-disc.h"
#include "ns3/random-variable-stream.h"

#include <list>
#include <string>
#include <unordered_map>

namespace ns3 {

class EarlydropStore;

class EarlydropQueueDisc : public QueueDisc {
  public:
    static TypeId GetTypeId();
    EarlydropQueueDisc();
    int64_t AssignStreams(int64_t stream);

  protected:
    void DoDispose() override;

  private:
    bool DoEnqueue(Ptr<QueueDiscItem> item) override;
    Ptr<QueueDiscItem> DoDequeue() override;
    bool CheckConfig() override;
    void InitializeParams() override;
    void Dropped(QueueDiscItem* item, const char* reason);

    // A packet that the library has: its place in the store once it waits there, and its ECN field as admitted.
    struct Entry {
        std::list<Ptr<QueueDiscItem>>::iterator place;
        bool waits;
        uint8_t ecn;
    };

    std::string m_text;
    DataRate m_rate;
    Time m_delay;
    Ptr<UniformRandomVariable> m_random;
    Ptr<EarlydropStore> m_store;
    std::unordered_map<QueueDiscItem*, Entry> m_entries;
    ed_qdisc* m_queue{nullptr};
    EventId m_wake;
};

} // namespace ns3

#endif
