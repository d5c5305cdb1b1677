// Paced UDP flows in ns-3, from the files that unpause reads.
//
//   udp --topology=FILE --flows=FILE --rates=8Gbps,2Gbps --disc=ns3::PrioQueueDisc --stop=0.1
//
// A flow of priority p is paced at the p-th of `rates`, headers included: the next packet is due when
// the one before would have left at that rate, which counts from when it was due or, with --paceByWire,
// from when it started. When a flow's last packet has arrived its receiver
// answers with one packet as long as unpause's acknowledgement, in the most urgent priority. Routes are
// those of unpause: the same shortest paths and the same hash; the source port that unpause gives a flow
// stands at the start of the payload. Prints JSON: for each flow the FCT, for each link the packets and
// bytes of its two directions.

#include <cmath>
#include <cstring>
#include <map>
#include <sstream>

#include "fabric.h"
#include "ns3/traffic-control-module.h"

using namespace ns3;
using namespace fabric;

namespace {

constexpr uint32_t kPayloadBytes = 1000;
// UDP 8, IPv4 20, PPP 2.
constexpr uint32_t kHeaderBytes = 30;
// Tells acknowledgements from data on the wire: no flow here has a packet of that length.
constexpr uint32_t kAckPayloadBytes = 66 - kHeaderBytes;
constexpr uint16_t kPort = 9;
constexpr uint16_t kFirstPort = 10000;
// By priority. ns-3's IP layer turns them into 2, 0, 4 and 6, which queue discs see.
constexpr uint8_t kTos[] = {0x08, 0x00, 0x18, 0x10};

int64_t Picoseconds(double seconds) { return std::llround(seconds * 1e12); }

struct Progress {
  const Flow* flow = nullptr;
  uint16_t port = 0;
  uint64_t psPerByte = 0;
  uint64_t sent = 0;
  uint64_t received = 0;
  int64_t fctPs = -1;
};

// A queue for each priority, in discs that would have one for each flow.
class ByPriority : public Ipv4PacketFilter {
 private:
  int32_t DoClassify(Ptr<QueueDiscItem> item) const override {
    SocketPriorityTag tag;
    return item->GetPacket()->PeekPacketTag(tag) ? tag.GetPriority() : 0;
  }
};

struct Count {
  uint64_t packets = 0, bytes = 0;
};

void OnSent(Count* count, Ptr<const Packet> packet) {
  ++count->packets;
  count->bytes += packet->GetSize();
}

// What a payload begins with. The port comes first, where FlowEcmp reads it.
struct Label {
  uint8_t port[2];
  uint8_t isAck;
  uint32_t flow;
};

std::vector<Progress> g_flows;

// All that a host does: it has one socket, and knows flows by their labels.
class Host {
 public:
  void Start(Ptr<Node> node) {
    m_socket = Socket::CreateSocket(node, UdpSocketFactory::GetTypeId());
    m_socket->Bind(InetSocketAddress(Ipv4Address::GetAny(), kPort));
    m_socket->SetRecvCallback(MakeCallback(&Host::OnReceived, this));
  }

  // `paceByWire`: the wire says when a packet starts. A host must then have one flow at a time.
  void SetPaceByWire(Ptr<NetDevice> device) {
    m_paceByWire = true;
    device->TraceConnectWithoutContext("PhyTxBegin", MakeCallback(&Host::OnStarted, this));
  }

  void SendData(uint32_t number) {
    Progress& flow = g_flows[number];
    const uint64_t bytes = std::min<uint64_t>(kPayloadBytes, flow.flow->bytes - flow.sent);
    flow.sent += bytes;
    m_current = number;
    Send(number, false, bytes, flow.flow->dst, kTos[flow.flow->priority]);
    if (!m_paceByWire) {
      Next(number, bytes + kHeaderBytes);
    }
  }

 private:
  void OnStarted(Ptr<const Packet> packet) {
    if (packet->GetSize() != kAckPayloadBytes + kHeaderBytes) {
      Next(m_current, packet->GetSize());
    }
  }

  void Next(uint32_t number, uint64_t frameBytes) {
    const Progress& flow = g_flows[number];
    if (flow.sent < flow.flow->bytes) {
      Simulator::Schedule(PicoSeconds(frameBytes * flow.psPerByte), &Host::SendData, this, number);
    }
  }

  void Send(uint32_t number, bool isAck, uint64_t bytes, uint32_t to, uint8_t tos) {
    const uint16_t port = g_flows[number].port;
    const Label label{{uint8_t(port >> 8), uint8_t(port)}, isAck, number};
    std::vector<uint8_t> payload(bytes);
    std::memcpy(payload.data(), &label, sizeof label);
    InetSocketAddress address(AddressOf(to), kPort);
    address.SetTos(tos);
    m_socket->SendTo(Create<Packet>(payload.data(), bytes), 0, address);
  }

  void OnReceived(Ptr<Socket> socket) {
    while (Ptr<Packet> packet = socket->Recv()) {
      Label label;
      packet->CopyData(reinterpret_cast<uint8_t*>(&label), sizeof label);
      Progress& flow = g_flows[label.flow];
      if (label.isAck) {
        continue;
      }
      flow.received += packet->GetSize();
      if (flow.received == flow.flow->bytes) {
        flow.fctPs = Simulator::Now().GetPicoSeconds() - Picoseconds(flow.flow->start);
        Send(label.flow, true, kAckPayloadBytes, flow.flow->src, kTos[3]);
      }
    }
  }

  bool m_paceByWire = false;
  uint32_t m_current = 0;
  Ptr<Socket> m_socket;
};

std::vector<uint64_t> PicosecondsPerByte(const std::string& rates) {
  std::vector<uint64_t> spans;
  std::stringstream words(rates);
  for (std::string word; std::getline(words, word, ',');) {
    spans.push_back(8'000'000'000'000 / DataRate(word).GetBitRate());
  }
  return spans;
}

// Priorities have bands or queues of their own.
void Install(const std::string& disc, Ptr<NetDevice> device) {
  TrafficControlHelper control;
  if (disc == "ns3::PrioQueueDisc") {
    // Bands of what ns-3's IP layer makes of kTos: 6, 4, 0, 2.
    const uint16_t handle = control.SetRootQueueDisc(
        disc, "Priomap", StringValue("2 2 3 3 1 1 0 0 2 2 2 2 2 2 2 2"));
    auto classes = control.AddQueueDiscClasses(handle, 4, "ns3::QueueDiscClass");
    control.AddChildQueueDiscs(handle, classes, "ns3::FifoQueueDisc");
  } else {
    control.SetRootQueueDisc(disc);
  }
  Ptr<QueueDisc> installed = control.Install(device).Get(0);
  if (disc == "ns3::FqCoDelQueueDisc") {
    installed->AddPacketFilter(CreateObject<ByPriority>());
  }
}

void Print(const Topology& topology, const std::vector<Count>& counts) {
  std::cout.precision(15);
  std::cout << "{\"flows\": [";
  for (size_t i = 0; i < g_flows.size(); ++i) {
    const Progress& flow = g_flows[i];
    std::cout << (i ? "," : "") << "{\"delivered_bytes\":" << flow.received << ",\"fct_ns\":";
    if (flow.fctPs < 0) {
      std::cout << "null";
    } else {
      std::cout << flow.fctPs / 1e3;
    }
    std::cout << "}";
  }
  std::cout << "], \"links\": [";
  for (size_t i = 0; i < counts.size(); ++i) {
    const Link& link = topology.links[i / 2];
    std::cout << (i ? "," : "") << "{\"from\":" << (i % 2 ? link.b : link.a)
              << ",\"to\":" << (i % 2 ? link.a : link.b) << ",\"packets\":" << counts[i].packets
              << ",\"bytes\":" << counts[i].bytes << "}";
  }
  std::cout << "]}\n";
}

}  // namespace

int main(int argc, char** argv) {
  Time::SetResolution(Time::PS);
  Config::SetDefault("ns3::DropTailQueue<Packet>::MaxSize", StringValue("1000000p"));
  Config::SetDefault("ns3::FifoQueueDisc::MaxSize", StringValue("1000000p"));
  std::string topologyFile, flowFile, rates, disc = "ns3::PrioQueueDisc";
  double stop = 0.1;
  bool deviceQueue = false, paceByWire = false;
  uint64_t seed = 1;
  CommandLine arguments(__FILE__);
  arguments.AddValue("topology", "topology file", topologyFile);
  arguments.AddValue("flows", "flow file", flowFile);
  arguments.AddValue("rates", "rate of a flow of each priority", rates);
  arguments.AddValue("disc", "type of the queue discs of switches", disc);
  arguments.AddValue("stop", "seconds", stop);
  arguments.AddValue("deviceQueue", "a packet more waits in the device", deviceQueue);
  arguments.AddValue("paceByWire", "pace from the start of a packet", paceByWire);
  arguments.AddValue("seed", "seed of the paths", seed);
  arguments.Parse(argc, argv);

  const Topology topology = ReadTopology(topologyFile);
  const std::vector<Flow> flows = ReadFlows(flowFile);
  const std::vector<uint64_t> spans = PicosecondsPerByte(rates);
  std::vector<Count> counts(2 * topology.links.size());
  auto install = [&](Fabric& fabric) {
    for (size_t i = 0; i < counts.size(); ++i) {
      const Link& link = topology.links[i / 2];
      const bool isSwitch = topology.isSwitch[i % 2 ? link.b : link.a];
      Ptr<NetDevice> device = fabric.devices.Get(i);
      Install(isSwitch ? disc : "ns3::PrioQueueDisc", device);
      if (deviceQueue) {
        DynamicCast<PointToPointNetDevice>(device)->GetQueue()->SetMaxSize(QueueSize("1p"));
      } else {
        TakeOnlyWhenIdle(device);
      }
      device->TraceConnectWithoutContext("PhyTxBegin", MakeBoundCallback(&OnSent, &counts[i]));
    }
  };
  Fabric fabric = Build(topology, seed, kUdpPayload, install);

  std::vector<Host> hosts(topology.peers.size());
  for (uint32_t node = 0; node < hosts.size(); ++node) {
    if (!topology.isSwitch[node]) {
      hosts[node].Start(fabric.nodes.Get(node));
      if (paceByWire) {
        hosts[node].SetPaceByWire(fabric.nodes.Get(node)->GetDevice(0));
      }
    }
  }
  g_flows.resize(flows.size());
  // As HPCC and unpause count them: for each pair of hosts, in order of start.
  std::map<std::pair<uint32_t, uint32_t>, uint16_t> ports;
  for (uint32_t i = 0; i < flows.size(); ++i) {
    const Flow& flow = flows[i];
    g_flows[i].flow = &flow;
    g_flows[i].port = kFirstPort + ports[{flow.src, flow.dst}]++;
    g_flows[i].psPerByte = spans.at(flow.priority);
    Simulator::Schedule(PicoSeconds(Picoseconds(flow.start)), &Host::SendData, &hosts[flow.src], i);
  }
  Simulator::Stop(Seconds(stop));
  Simulator::Run();

  Print(topology, counts);
  Simulator::Destroy();
  return 0;
}
