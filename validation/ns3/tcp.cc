// TCP flows through queue discs in ns-3, from the files that unpause reads.
//
//   tcp --topology=FILE --flows=FILE --bottleneck=a-b --disc=ns3::RedQueueDisc --stop=0.1
//       [--ns3::RedQueueDisc::MinTh=64 ...]
//
// Every egress of a switch has the disc; hosts have FIFOs without end. Every parameter of ns-3 comes
// from the command line, except what makes its TCP the one of unpause: see `Setup`. Prints JSON: for
// each flow the bytes delivered and when the last one came, the bottleneck's queue every `sample`,
// its packets, marks and drops. All but the FCT are from `settled` on.

#include <map>

#include "fabric.h"
#include "ns3/applications-module.h"
#include "ns3/traffic-control-module.h"

using namespace ns3;
using namespace fabric;

namespace {

constexpr uint32_t kSegmentBytes = 1400;

struct Progress {
  uint64_t size = 0;
  uint64_t received = 0;
  double start = 0;
  double fct = -1;
};

void OnReceived(Progress* flow, Ptr<const Packet> packet, const Address&) {
  flow->received += packet->GetSize();
  if (flow->fct < 0 && flow->received >= flow->size) {
    flow->fct = Simulator::Now().GetSeconds() - flow->start;
  }
}

struct Totals {
  uint64_t sent = 0, marked = 0, dropped = 0;
  std::vector<uint64_t> received;
};

Totals Count(Ptr<QueueDisc> disc, const std::vector<Progress>& flows) {
  const QueueDisc::Stats& stats = disc->GetStats();
  Totals totals{stats.nTotalSentPackets, stats.nTotalMarkedPackets, stats.nTotalDroppedPackets, {}};
  for (const Progress& flow : flows) {
    totals.received.push_back(flow.received);
  }
  return totals;
}

struct Sampler {
  Ptr<QueueDisc> disc;
  Ptr<Queue<Packet>> device;
  Time interval;
  std::vector<uint32_t> packets;

  void Take() {
    packets.push_back(disc->GetNPackets() + device->GetNPackets());
    Simulator::Schedule(interval, &Sampler::Take, this);
  }
};

// `progress` is what traces write to, and must stay where it is.
void Start(const std::vector<Flow>& flows, const Fabric& fabric, std::vector<Progress>& progress) {
  std::map<uint32_t, uint16_t> nextPort;
  for (size_t i = 0; i < flows.size(); ++i) {
    const Flow& flow = flows[i];
    const uint16_t port = 10000 + nextPort[flow.dst]++;
    progress[i].size = flow.bytes;
    progress[i].start = flow.start;
    PacketSinkHelper sink("ns3::TcpSocketFactory",
                          InetSocketAddress(Ipv4Address::GetAny(), port));
    ApplicationContainer sinks = sink.Install(fabric.nodes.Get(flow.dst));
    sinks.Get(0)->TraceConnectWithoutContext("Rx", MakeBoundCallback(&OnReceived, &progress[i]));
    BulkSendHelper bulk("ns3::TcpSocketFactory", InetSocketAddress(AddressOf(flow.dst), port));
    bulk.SetAttribute("MaxBytes", UintegerValue(flow.bytes));
    bulk.SetAttribute("SendSize", UintegerValue(kSegmentBytes));
    bulk.Install(fabric.nodes.Get(flow.src)).Start(Seconds(flow.start));
  }
}

void Print(const Sampler& sampler, const Totals& before, const std::vector<Progress>& flows) {
  const Totals after = Count(sampler.disc, flows);
  std::cout.precision(15);
  std::cout << "{\"sent_packets\": " << after.sent - before.sent
            << ", \"marked_packets\": " << after.marked - before.marked
            << ", \"dropped_packets\": " << after.dropped - before.dropped
            << ", \"queue_packets\": [";
  for (size_t i = 0; i < sampler.packets.size(); ++i) {
    std::cout << (i ? "," : "") << sampler.packets[i];
  }
  std::cout << "], \"flows\": [";
  for (size_t i = 0; i < flows.size(); ++i) {
    const Progress& flow = flows[i];
    std::cout << (i ? "," : "") << "{\"delivered_bytes\":"
              << after.received[i] - before.received[i] << ",\"fct_ns\":";
    if (flow.fct < 0) {
      std::cout << "null}";
    } else {
      std::cout << flow.fct * 1e9 << "}";
    }
  }
  std::cout << "]}\n";
}

void Setup() {
  Time::SetResolution(Time::PS);
  auto set = [](const char* name, const AttributeValue& value) {
    Config::SetDefault(name, value);
  };
  set("ns3::DropTailQueue<Packet>::MaxSize", StringValue("1000000p"));
  set("ns3::TcpSocket::SegmentSize", UintegerValue(kSegmentBytes));
  set("ns3::TcpSocket::InitialCwnd", UintegerValue(10));
  set("ns3::TcpSocket::DelAckCount", UintegerValue(1));
  set("ns3::TcpSocket::SndBufSize", UintegerValue(16 << 20));
  set("ns3::TcpSocket::RcvBufSize", UintegerValue(16 << 20));
  set("ns3::TcpSocket::ConnTimeout", TimeValue(MilliSeconds(1)));
  // Options would make headers longer.
  set("ns3::TcpSocketBase::Timestamp", BooleanValue(false));
  set("ns3::TcpSocketBase::Sack", BooleanValue(false));
  set("ns3::TcpSocketBase::MinRto", TimeValue(MilliSeconds(10)));
  set("ns3::TcpSocketBase::ClockGranularity", TimeValue(MicroSeconds(100)));
  set("ns3::RttEstimator::InitialEstimation", TimeValue(MicroSeconds(80)));
}

}  // namespace

int main(int argc, char** argv) {
  Setup();
  std::string topologyFile, flowFile, bottleneck, disc = "ns3::FifoQueueDisc";
  double stop = 0.1, settled = 0;
  Time sample = MicroSeconds(10);
  bool deviceQueue = false;
  uint32_t seed = 1;
  CommandLine arguments(__FILE__);
  arguments.AddValue("topology", "topology file", topologyFile);
  arguments.AddValue("flows", "flow file", flowFile);
  arguments.AddValue("bottleneck", "numbers of two nodes: 18-19", bottleneck);
  arguments.AddValue("disc", "type of the queue discs", disc);
  arguments.AddValue("stop", "seconds", stop);
  arguments.AddValue("settled", "seconds", settled);
  arguments.AddValue("sample", "interval of samples", sample);
  arguments.AddValue("deviceQueue", "a packet more waits in the device", deviceQueue);
  arguments.AddValue("seed", "seed", seed);
  arguments.Parse(argc, argv);
  RngSeedManager::SetSeed(seed);

  const Topology topology = ReadTopology(topologyFile);
  const std::vector<Flow> flows = ReadFlows(flowFile);
  Sampler sampler;
  sampler.interval = sample;
  auto install = [&](Fabric& fabric) {
    TrafficControlHelper control;
    control.SetRootQueueDisc(disc);
    for (size_t i = 0; i < topology.links.size(); ++i) {
      const Link& link = topology.links[i];
      for (int end = 0; end < 2; ++end) {
        const uint32_t from = end ? link.b : link.a, to = end ? link.a : link.b;
        if (!topology.isSwitch[from]) {
          continue;
        }
        auto device = DynamicCast<PointToPointNetDevice>(fabric.devices.Get(2 * i + end));
        Ptr<QueueDisc> installed = control.Install(device).Get(0);
        if (deviceQueue) {
          device->GetQueue()->SetMaxSize(QueueSize("1p"));
        } else {
          TakeOnlyWhenIdle(device);
        }
        if (std::to_string(from) + "-" + std::to_string(to) == bottleneck) {
          sampler.disc = installed;
          sampler.device = device->GetQueue();
        }
      }
    }
  };
  Fabric fabric = Build(topology, seed, kDestinationPort, install);
  if (!sampler.disc) {
    Fail("no egress of a switch is called " + bottleneck);
  }

  std::vector<Progress> progress(flows.size());
  Start(flows, fabric, progress);
  Totals before;
  Simulator::Schedule(Seconds(settled), [&] { before = Count(sampler.disc, progress); });
  Simulator::Schedule(Seconds(settled) + sample, &Sampler::Take, &sampler);
  Simulator::Stop(Seconds(stop));
  Simulator::Run();

  Print(sampler, before, progress);
  Simulator::Destroy();
  return 0;
}
