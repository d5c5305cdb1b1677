// The work of `unpause-bench`, case (b), in ns-3: the same fabric and the same flows, read from the
// files that `unpause-bench topology` and `unpause-bench flows` write.
//
//   clos TOPOLOGY FLOWS constant|dctcp
//
// constant: each flow is UDP at 500 Mb/s. dctcp: each flow is TCP with DCTCP, an ACK per packet,
// and RED queue discs that mark by the instantaneous queue.
//
// Routing is ours: shortest paths, equal ones by a hash of addresses and ports. ns-3's own global
// routing spreads packets of one flow over all paths, and looks routes up in a list.

#include <sys/resource.h>

#include <algorithm>
#include <fstream>
#include <iostream>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

using namespace ns3;

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

uint64_t Mix(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

// Address of a node, on all its interfaces: 10.0.0.0 and its number.
Ipv4Address AddressOf(uint32_t node) { return Ipv4Address(0x0a000000u + node); }
uint32_t NodeOf(Ipv4Address address) { return address.Get() - 0x0a000000u; }

// For each destination, the interfaces that lead there on shortest paths. Hosts share the entry of
// the switch that they hang on.
struct Routes {
  // By edge switch of the destination.
  std::vector<std::vector<uint32_t>> nextHops;
  // At an edge switch: interface of each of its hosts.
  std::unordered_map<uint32_t, uint32_t> hosts;
};

std::vector<uint32_t> g_edgeOf;

class FlowEcmp : public Ipv4RoutingProtocol {
 public:
  void Configure(uint32_t node, std::shared_ptr<Routes> routes) {
    m_node = node;
    m_routes = std::move(routes);
  }

  Ptr<Ipv4Route> RouteOutput(Ptr<Packet>, const Ipv4Header& header, Ptr<NetDevice>,
                             Socket::SocketErrno& error) override {
    error = Socket::ERROR_NOTERROR;
    return Route(1, header.GetDestination());
  }

  bool RouteInput(Ptr<const Packet> packet, const Ipv4Header& header, Ptr<const NetDevice> device,
                  UnicastForwardCallback forward, MulticastForwardCallback,
                  LocalDeliverCallback deliver, ErrorCallback error) override {
    Ipv4Address destination = header.GetDestination();
    uint32_t to = NodeOf(destination);
    if (to == m_node) {
      deliver(packet, header, m_ipv4->GetInterfaceForDevice(device));
      return true;
    }
    auto host = m_routes->hosts.find(to);
    uint32_t interface;
    if (host != m_routes->hosts.end()) {
      interface = host->second;
    } else {
      const auto& choices = m_routes->nextHops[g_edgeOf[to]];
      if (choices.empty()) {
        error(packet, header, Socket::ERROR_NOROUTETOHOST);
        return false;
      }
      interface = choices[0];
      if (choices.size() > 1) {
        // Both TCP and UDP begin with the two ports.
        uint8_t ports[4];
        packet->CopyData(ports, sizeof ports);
        uint64_t entropy = uint64_t(ports[0]) << 24 | ports[1] << 16 | ports[2] << 8 | ports[3];
        uint64_t addresses = uint64_t(header.GetSource().Get()) << 32 | destination.Get();
        uint64_t hash = Mix(addresses ^ entropy << 16 ^ Mix(m_node + 1));
        interface = choices[((hash >> 32) * choices.size()) >> 32];
      }
    }
    forward(Route(interface, destination), packet, header);
    return true;
  }

  void NotifyInterfaceUp(uint32_t) override {}
  void NotifyInterfaceDown(uint32_t) override {}
  void NotifyAddAddress(uint32_t, Ipv4InterfaceAddress) override {}
  void NotifyRemoveAddress(uint32_t, Ipv4InterfaceAddress) override {}
  void SetIpv4(Ptr<Ipv4> ipv4) override { m_ipv4 = ipv4; }
  void PrintRoutingTable(Ptr<OutputStreamWrapper>, Time::Unit) const override {}

 private:
  // A route is the same for all packets that leave by an interface, but for the destination, which
  // point-to-point devices do not look at.
  Ptr<Ipv4Route> Route(uint32_t interface, Ipv4Address destination) {
    if (m_made.size() <= interface) {
      m_made.resize(interface + 1);
    }
    Ptr<Ipv4Route>& route = m_made[interface];
    if (!route) {
      route = Create<Ipv4Route>();
      route->SetSource(AddressOf(m_node));
      route->SetGateway(Ipv4Address::GetZero());
      route->SetOutputDevice(m_ipv4->GetNetDevice(interface));
    }
    route->SetDestination(destination);
    return route;
  }

  uint32_t m_node = 0;
  std::shared_ptr<Routes> m_routes;
  Ptr<Ipv4> m_ipv4;
  std::vector<Ptr<Ipv4Route>> m_made;
};

struct Link {
  uint32_t a, b;
  std::string rate, delay;
};

// Routes of every node. `peers[n][i]` is the node at the far end of interface i + 1 of node n.
std::vector<std::shared_ptr<Routes>> ComputeRoutes(const std::vector<std::vector<uint32_t>>& peers,
                                                   const std::vector<bool>& isSwitch) {
  const uint32_t nodes = peers.size();
  std::vector<std::shared_ptr<Routes>> routes(nodes);
  g_edgeOf.assign(nodes, 0);
  std::vector<uint32_t> edges;
  std::vector<uint32_t> indexOf(nodes, UINT32_MAX);
  for (uint32_t node = 0; node < nodes; ++node) {
    routes[node] = std::make_shared<Routes>();
  }
  for (uint32_t node = 0; node < nodes; ++node) {
    if (isSwitch[node]) {
      continue;
    }
    uint32_t edge = peers[node][0];
    if (indexOf[edge] == UINT32_MAX) {
      indexOf[edge] = edges.size();
      edges.push_back(edge);
    }
    g_edgeOf[node] = indexOf[edge];
    auto at = std::find(peers[edge].begin(), peers[edge].end(), node);
    routes[edge]->hosts[node] = 1 + (at - peers[edge].begin());
  }
  for (uint32_t index = 0; index < edges.size(); ++index) {
    std::vector<uint32_t> distance(nodes, UINT32_MAX);
    std::vector<uint32_t> frontier = {edges[index]};
    distance[edges[index]] = 0;
    for (size_t at = 0; at < frontier.size(); ++at) {
      for (uint32_t peer : peers[frontier[at]]) {
        if (isSwitch[peer] && distance[peer] == UINT32_MAX) {
          distance[peer] = distance[frontier[at]] + 1;
          frontier.push_back(peer);
        }
      }
    }
    for (uint32_t node : frontier) {
      auto& hops = routes[node]->nextHops;
      hops.resize(edges.size());
      for (uint32_t i = 0; i < peers[node].size(); ++i) {
        uint32_t peer = peers[node][i];
        if (isSwitch[peer] && distance[peer] + 1 == distance[node]) {
          hops[index].push_back(i + 1);
        }
      }
    }
  }
  return routes;
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

  std::ifstream topology(argv[1]);
  uint32_t nodeCount, switchCount, linkCount;
  topology >> nodeCount >> switchCount >> linkCount;
  std::vector<bool> isSwitch(nodeCount, false);
  for (uint32_t i = 0, node; i < switchCount; ++i) {
    topology >> node;
    isSwitch[node] = true;
  }
  std::vector<Link> links(linkCount);
  for (Link& link : links) {
    std::string errorRate;
    topology >> link.a >> link.b >> link.rate >> link.delay >> errorRate;
  }
  if (!topology) {
    std::cerr << "error: cannot read " << argv[1] << "\n";
    return 1;
  }

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

  NodeContainer nodes;
  nodes.Create(nodeCount);
  std::vector<std::vector<uint32_t>> peers(nodeCount);
  NetDeviceContainer devices;
  PointToPointHelper wire;
  for (const Link& link : links) {
    wire.SetDeviceAttribute("DataRate", StringValue(link.rate));
    wire.SetChannelAttribute("Delay", StringValue(link.delay));
    devices.Add(wire.Install(nodes.Get(link.a), nodes.Get(link.b)));
    peers[link.a].push_back(link.b);
    peers[link.b].push_back(link.a);
  }
  InternetStackHelper stack;
  stack.SetIpv6StackInstall(false);
  Ipv4StaticRoutingHelper none;
  stack.SetRoutingHelper(none);
  stack.Install(nodes);
  // Without queue discs, which ns-3 installs with addresses, packets wait in the devices.
  TrafficControlHelper control;
  control.SetRootQueueDisc("ns3::RedQueueDisc", "LinkBandwidth", StringValue("10Gbps"), "LinkDelay",
                           StringValue("5us"));
  auto routes = ComputeRoutes(peers, isSwitch);
  for (uint32_t i = 0; i < devices.GetN(); ++i) {
    Ptr<NetDevice> device = devices.Get(i);
    device->TraceConnectWithoutContext("PhyTxBegin", MakeCallback(&CountHop));
    device->TraceConnectWithoutContext("MacTxDrop", MakeCallback(&CountDrop));
    if (dctcp) {
      QueueDiscContainer discs = control.Install(device);
      discs.Get(0)->TraceConnectWithoutContext("Drop", MakeCallback(&CountDiscDrop));
    }
  }
  for (uint32_t node = 0; node < nodeCount; ++node) {
    Ptr<Ipv4> ipv4 = nodes.Get(node)->GetObject<Ipv4>();
    auto routing = CreateObject<FlowEcmp>();
    routing->Configure(node, routes[node]);
    for (uint32_t i = 0; i < nodes.Get(node)->GetNDevices(); ++i) {
      Ptr<NetDevice> device = nodes.Get(node)->GetDevice(i);
      if (!DynamicCast<PointToPointNetDevice>(device)) {
        continue;
      }
      uint32_t interface = ipv4->AddInterface(device);
      ipv4->AddAddress(interface,
                       Ipv4InterfaceAddress(AddressOf(node), Ipv4Mask("255.255.255.255")));
      ipv4->SetUp(interface);
    }
    ipv4->SetRoutingProtocol(routing);
  }

  std::ifstream flowFile(argv[2]);
  uint64_t flowCount;
  flowFile >> flowCount;
  std::vector<uint64_t> left(flowCount);
  std::vector<uint16_t> nextPort(nodeCount, 10000);
  double lastStart = 0;
  for (uint64_t flow = 0; flow < flowCount; ++flow) {
    uint32_t src, dst, priority, port;
    uint64_t bytes;
    double start;
    flowFile >> src >> dst >> priority >> port >> bytes >> start;
    lastStart = std::max(lastStart, start);
    left[flow] = bytes;
    port = nextPort[dst]++;
    const char* factory = dctcp ? "ns3::TcpSocketFactory" : "ns3::UdpSocketFactory";
    PacketSinkHelper sink(factory, InetSocketAddress(Ipv4Address::GetAny(), port));
    ApplicationContainer sinks = sink.Install(nodes.Get(dst));
    sinks.Get(0)->TraceConnectWithoutContext("Rx", MakeBoundCallback(&Received, &left[flow]));
    ApplicationContainer sources;
    InetSocketAddress to(AddressOf(dst), port);
    if (dctcp) {
      BulkSendHelper bulk(factory, to);
      bulk.SetAttribute("MaxBytes", UintegerValue(bytes));
      bulk.SetAttribute("SendSize", UintegerValue(kPayloadBytes));
      sources = bulk.Install(nodes.Get(src));
    } else {
      OnOffHelper onOff(factory, to);
      onOff.SetConstantRate(DataRate("500Mbps"), kPayloadBytes);
      // Whole packets, as many as unpause sends.
      uint64_t packets = (bytes + kPayloadBytes - 1) / kPayloadBytes;
      onOff.SetAttribute("MaxBytes", UintegerValue(packets * kPayloadBytes));
      left[flow] = packets * kPayloadBytes;
      sources = onOff.Install(nodes.Get(src));
    }
    sources.Start(Seconds(start));
  }
  if (!flowFile) {
    std::cerr << "error: cannot read " << argv[2] << "\n";
    return 1;
  }

  double built = UserSeconds();
  Simulator::Stop(Seconds(lastStart + 0.5));
  Simulator::Run();
  double end = UserSeconds();
  std::cout << "{\"packet_hops\": " << g_hops << ", \"user_s\": " << end - built
            << ", \"setup_s\": " << built - started << ", \"peak_memory_mb\": " << PeakMegabytes()
            << ", \"events\": " << Simulator::GetEventCount()
            << ", \"flows_completed\": " << g_flowsDone << ", \"flows_started\": " << flowCount
            << ", \"dropped_packets\": " << g_drops << ", \"received_bytes\": " << g_received
            << "}\n";
  Simulator::Destroy();
  return 0;
}
