// The work of `unpause-bench`, case (b), in ns-3: the same fabric and the same flows, read from the
// files that `unpause-bench topology` and `unpause-bench flows` write.
//
//   clos TOPOLOGY FLOWS constant|dctcp
//
// constant: each flow is UDP at 500 Mb/s. dctcp: each flow is TCP with DCTCP, an ACK per packet,
// and RED queue discs that mark by the instantaneous queue.

#include <sys/resource.h>

#include "fabric.h"
#include "ns3/applications-module.h"
#include "ns3/traffic-control-module.h"

using namespace ns3;
using namespace fabric;

namespace {

constexpr uint32_t kPayloadBytes = 1000;

uint64_t g_hops = 0;
uint64_t g_drops = 0;
uint64_t g_received = 0;
uint64_t g_flowsDone = 0;

void CountHop(Ptr<const Packet>) { ++g_hops; }
void CountDrop(Ptr<const Packet>) { ++g_drops; }
void CountDiscDrop(Ptr<const QueueDiscItem>) { ++g_drops; }

double UserSeconds() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_utime.tv_sec + usage.ru_utime.tv_usec * 1e-6;
}

double PeakMegabytes() {
  std::ifstream status("/proc/self/status");
  std::string word;
  while (status >> word && word != "VmHWM:") {
  }
  double kilobytes = 0;
  status >> kilobytes;
  return kilobytes * 1024 / 1e6;
}

void Received(uint64_t* left, Ptr<const Packet> packet, const Address&) {
  uint64_t bytes = packet->GetSize();
  g_received += bytes;
  if (*left > 0 && bytes >= *left) {
    ++g_flowsDone;
  }
  *left -= std::min(*left, bytes);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::cerr << "usage: clos TOPOLOGY FLOWS constant|dctcp\n";
    return 2;
  }
  const bool dctcp = std::string(argv[3]) == "dctcp";
  double started = UserSeconds();

  const Topology topology = ReadTopology(argv[1]);
  const std::vector<Flow> flows = ReadFlows(argv[2]);

  Config::SetDefault("ns3::DropTailQueue<Packet>::MaxSize", StringValue(dctcp ? "1p" : "2000p"));
  Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(TcpDctcp::GetTypeId()));
  Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(kPayloadBytes));
  Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(1));
  Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(1 << 20));
  Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(1 << 20));
  Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(MilliSeconds(5)));
  Config::SetDefault("ns3::RedQueueDisc::UseEcn", BooleanValue(true));
  Config::SetDefault("ns3::RedQueueDisc::UseHardDrop", BooleanValue(false));
  Config::SetDefault("ns3::RedQueueDisc::QW", DoubleValue(1.0));
  Config::SetDefault("ns3::RedQueueDisc::MeanPktSize", UintegerValue(kPayloadBytes));
  Config::SetDefault("ns3::RedQueueDisc::MaxSize", QueueSizeValue(QueueSize("2000p")));
  Config::SetDefault("ns3::RedQueueDisc::MinTh", DoubleValue(20));
  Config::SetDefault("ns3::RedQueueDisc::MaxTh", DoubleValue(60));

  Fabric fabric = Build(topology, 1, kDestinationPort, [&](Fabric& made) {
    TrafficControlHelper control;
    control.SetRootQueueDisc("ns3::RedQueueDisc", "LinkBandwidth", StringValue("10Gbps"),
                             "LinkDelay", StringValue("5us"));
    for (uint32_t i = 0; i < made.devices.GetN(); ++i) {
      Ptr<NetDevice> device = made.devices.Get(i);
      device->TraceConnectWithoutContext("PhyTxBegin", MakeCallback(&CountHop));
      device->TraceConnectWithoutContext("MacTxDrop", MakeCallback(&CountDrop));
      if (dctcp) {
        QueueDiscContainer discs = control.Install(device);
        discs.Get(0)->TraceConnectWithoutContext("Drop", MakeCallback(&CountDiscDrop));
      }
    }
  });

  std::vector<uint64_t> left(flows.size());
  std::vector<uint16_t> nextPort(topology.peers.size(), 10000);
  double lastStart = 0;
  for (size_t i = 0; i < flows.size(); ++i) {
    const Flow& flow = flows[i];
    lastStart = std::max(lastStart, flow.start);
    left[i] = flow.bytes;
    const uint16_t port = nextPort[flow.dst]++;
    const char* factory = dctcp ? "ns3::TcpSocketFactory" : "ns3::UdpSocketFactory";
    PacketSinkHelper sink(factory, InetSocketAddress(Ipv4Address::GetAny(), port));
    ApplicationContainer sinks = sink.Install(fabric.nodes.Get(flow.dst));
    sinks.Get(0)->TraceConnectWithoutContext("Rx", MakeBoundCallback(&Received, &left[i]));
    ApplicationContainer sources;
    InetSocketAddress to(AddressOf(flow.dst), port);
    if (dctcp) {
      BulkSendHelper bulk(factory, to);
      bulk.SetAttribute("MaxBytes", UintegerValue(flow.bytes));
      bulk.SetAttribute("SendSize", UintegerValue(kPayloadBytes));
      sources = bulk.Install(fabric.nodes.Get(flow.src));
    } else {
      OnOffHelper onOff(factory, to);
      onOff.SetConstantRate(DataRate("500Mbps"), kPayloadBytes);
      // Whole packets, as many as unpause sends.
      uint64_t packets = (flow.bytes + kPayloadBytes - 1) / kPayloadBytes;
      onOff.SetAttribute("MaxBytes", UintegerValue(packets * kPayloadBytes));
      left[i] = packets * kPayloadBytes;
      sources = onOff.Install(fabric.nodes.Get(flow.src));
    }
    sources.Start(Seconds(flow.start));
  }
  double built = UserSeconds();
  Simulator::Stop(Seconds(lastStart + 0.5));
  Simulator::Run();
  double end = UserSeconds();
  std::cout << "{\"packet_hops\": " << g_hops << ", \"user_s\": " << end - built
            << ", \"setup_s\": " << built - started << ", \"peak_memory_mb\": " << PeakMegabytes()
            << ", \"events\": " << Simulator::GetEventCount()
            << ", \"flows_completed\": " << g_flowsDone << ", \"flows_started\": " << flows.size()
            << ", \"dropped_packets\": " << g_drops << ", \"received_bytes\": " << g_received
            << "}\n";
  Simulator::Destroy();
  return 0;
}
