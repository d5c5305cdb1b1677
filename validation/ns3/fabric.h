// A fabric in ns-3, read from the topology and flow files that unpause reads, too.

#pragma once

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"

namespace fabric {

using namespace ns3;

[[noreturn]] inline void Fail(const std::string& message) {
  std::cerr << "error: " << message << "\n";
  std::exit(1);
}

struct Link {
  uint32_t a, b;
  std::string rate, delay;
};

struct Topology {
  std::vector<bool> isSwitch;
  std::vector<Link> links;
  // `peers[n][i]` is the node at the far end of interface i + 1 of node n.
  std::vector<std::vector<uint32_t>> peers;
};

inline Topology ReadTopology(const std::string& path) {
  std::ifstream file(path);
  uint32_t nodes = 0, switches = 0, links = 0;
  file >> nodes >> switches >> links;
  Topology topology{std::vector<bool>(nodes), std::vector<Link>(links),
                    std::vector<std::vector<uint32_t>>(nodes)};
  for (uint32_t i = 0, node; i < switches && file >> node; ++i) {
    topology.isSwitch.at(node) = true;
  }
  for (Link& link : topology.links) {
    std::string errorRate;
    file >> link.a >> link.b >> link.rate >> link.delay >> errorRate;
    if (!file) {
      break;
    }
    topology.peers.at(link.a).push_back(link.b);
    topology.peers.at(link.b).push_back(link.a);
  }
  if (!file) {
    Fail("cannot read " + path);
  }
  return topology;
}

struct Flow {
  uint32_t src, dst, priority, port;
  uint64_t bytes;
  double start;
};

inline std::vector<Flow> ReadFlows(const std::string& path) {
  std::ifstream file(path);
  uint64_t count = 0;
  file >> count;
  std::vector<Flow> flows(count);
  for (Flow& flow : flows) {
    file >> flow.src >> flow.dst >> flow.priority >> flow.port >> flow.bytes >> flow.start;
  }
  if (!file) {
    Fail("cannot read " + path);
  }
  return flows;
}

inline uint64_t Mix(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

// Address of a node, on all its interfaces: 10.0.0.0 and its number.
inline Ipv4Address AddressOf(uint32_t node) { return Ipv4Address(0x0a000000u + node); }
inline uint32_t NodeOf(Ipv4Address address) { return address.Get() - 0x0a000000u; }

// For each destination, the interfaces that lead there on shortest paths. Hosts share the entry of
// the switch that they hang on.
struct Routes {
  // By edge switch of the destination.
  std::vector<std::vector<uint32_t>> nextHops;
  // At an edge switch: interface of each of its hosts.
  std::unordered_map<uint32_t, uint32_t> hosts;
};

// Where the port that is hashed begins, from the start of the TCP or UDP header.
constexpr uint32_t kDestinationPort = 2;
constexpr uint32_t kUdpPayload = 8;

// Shortest paths, equal ones by a hash of addresses and a port. ns-3's own global routing spreads
// packets of one flow over all paths, and looks routes up in a list.
class FlowEcmp : public Ipv4RoutingProtocol {
 public:
  // `edgeOf` is the edge switch of each host. The port hashed begins at `portByte`.
  void Configure(uint32_t node, Routes routes, std::shared_ptr<std::vector<uint32_t>> edgeOf,
                 uint64_t seed, uint32_t portByte) {
    m_node = node;
    m_routes = std::move(routes);
    m_edgeOf = std::move(edgeOf);
    m_seed = Mix(seed ^ Mix(node + 1));
    m_portByte = portByte;
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
    auto host = m_routes.hosts.find(to);
    uint32_t interface;
    if (host != m_routes.hosts.end()) {
      interface = host->second;
    } else {
      const auto& choices = m_routes.nextHops[(*m_edgeOf)[to]];
      if (choices.empty()) {
        error(packet, header, Socket::ERROR_NOROUTETOHOST);
        return false;
      }
      interface = choices[0];
      if (choices.size() > 1) {
        uint8_t start[16];
        packet->CopyData(start, sizeof start);
        uint64_t port = uint64_t(start[m_portByte]) << 8 | start[m_portByte + 1];
        uint64_t addresses = uint64_t(NodeOf(header.GetSource())) << 32 | to;
        uint64_t hash = Mix(addresses ^ port << 16 ^ m_seed);
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
  Routes m_routes;
  std::shared_ptr<std::vector<uint32_t>> m_edgeOf;
  uint64_t m_seed = 0;
  uint32_t m_portByte = 0;
  Ptr<Ipv4> m_ipv4;
  std::vector<Ptr<Ipv4Route>> m_made;
};

// Routes of every node, and in `edgeOf` the edge switch of every host, as it is numbered in them.
inline std::vector<Routes> ComputeRoutes(const Topology& topology, std::vector<uint32_t>& edgeOf) {
  const auto& peers = topology.peers;
  const uint32_t nodes = peers.size();
  std::vector<Routes> routes(nodes);
  edgeOf.assign(nodes, 0);
  std::vector<uint32_t> edges;
  std::vector<uint32_t> indexOf(nodes, UINT32_MAX);
  for (uint32_t node = 0; node < nodes; ++node) {
    if (topology.isSwitch[node]) {
      continue;
    }
    uint32_t edge = peers[node].at(0);
    if (indexOf[edge] == UINT32_MAX) {
      indexOf[edge] = edges.size();
      edges.push_back(edge);
    }
    edgeOf[node] = indexOf[edge];
    auto at = std::find(peers[edge].begin(), peers[edge].end(), node);
    routes[edge].hosts[node] = 1 + (at - peers[edge].begin());
  }
  for (uint32_t index = 0; index < edges.size(); ++index) {
    std::vector<uint32_t> distance(nodes, UINT32_MAX);
    std::vector<uint32_t> frontier = {edges[index]};
    distance[edges[index]] = 0;
    for (size_t at = 0; at < frontier.size(); ++at) {
      for (uint32_t peer : peers[frontier[at]]) {
        if (topology.isSwitch[peer] && distance[peer] == UINT32_MAX) {
          distance[peer] = distance[frontier[at]] + 1;
          frontier.push_back(peer);
        }
      }
    }
    for (uint32_t node : frontier) {
      auto& hops = routes[node].nextHops;
      hops.resize(edges.size());
      for (uint32_t i = 0; i < peers[node].size(); ++i) {
        uint32_t peer = peers[node][i];
        if (topology.isSwitch[peer] && distance[peer] + 1 == distance[node]) {
          hops[index].push_back(i + 1);
        }
      }
    }
  }
  return routes;
}

// Nodes, and devices in the order of links: first that of `a`, then that of `b`.
struct Fabric {
  NodeContainer nodes;
  NetDeviceContainer devices;
};

// Links, IP and, before there are addresses, whatever `discs` installs on the devices. Without queue
// discs, which ns-3 installs with addresses, packets wait in the devices.
template <typename Install>
Fabric Build(const Topology& topology, uint64_t seed, uint32_t portByte, Install discs) {
  Fabric fabric;
  fabric.nodes.Create(topology.peers.size());
  PointToPointHelper wire;
  for (const Link& link : topology.links) {
    wire.SetDeviceAttribute("DataRate", StringValue(link.rate));
    wire.SetChannelAttribute("Delay", StringValue(link.delay));
    fabric.devices.Add(wire.Install(fabric.nodes.Get(link.a), fabric.nodes.Get(link.b)));
  }
  InternetStackHelper stack;
  stack.SetIpv6StackInstall(false);
  Ipv4StaticRoutingHelper none;
  stack.SetRoutingHelper(none);
  stack.Install(fabric.nodes);
  discs(fabric);
  auto edgeOf = std::make_shared<std::vector<uint32_t>>();
  std::vector<Routes> routes = ComputeRoutes(topology, *edgeOf);
  for (uint32_t node = 0; node < fabric.nodes.GetN(); ++node) {
    Ptr<Ipv4> ipv4 = fabric.nodes.Get(node)->GetObject<Ipv4>();
    auto routing = CreateObject<FlowEcmp>();
    routing->Configure(node, std::move(routes[node]), edgeOf, seed, portByte);
    for (uint32_t i = 0; i < fabric.nodes.Get(node)->GetNDevices(); ++i) {
      Ptr<NetDevice> device = fabric.nodes.Get(node)->GetDevice(i);
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
  return fabric;
}

inline void Hold(NetDeviceQueue* queue, Ptr<const Packet>) { queue->Stop(); }
inline void Release(NetDeviceQueue* queue, Ptr<const Packet>) {
  Simulator::ScheduleNow(&NetDeviceQueue::Wake, queue);
}

// With room for one packet ns-3's device takes the next packet from its queue disc when the one
// before starts on the wire. This makes it take a packet only when the wire is free.
inline void TakeOnlyWhenIdle(Ptr<NetDevice> device) {
  Ptr<NetDeviceQueue> queue = device->GetObject<NetDeviceQueueInterface>()->GetTxQueue(0);
  device->TraceConnectWithoutContext("PhyTxBegin", MakeBoundCallback(&Hold, PeekPointer(queue)));
  device->TraceConnectWithoutContext("PhyTxEnd", MakeBoundCallback(&Release, PeekPointer(queue)));
}

}  // namespace fabric
