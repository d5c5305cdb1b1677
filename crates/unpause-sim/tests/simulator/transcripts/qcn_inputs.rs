//! QCN at inputs: a CIOQ fabric whose input buffers have the congestion points.

use unpause_protocols::congestion_point::{self, qcn::Mode};
use unpause_protocols::units::{Rate, Time};
use unpause_sim::config::{CioqConfig, Config, PfcThreshold, SwitchModel};
use unpause_sim::traffic::FlowSpec;

use super::*;

const RATES: Show = Show {
    flows: &[0, 1],
    rates: true,
    ..NOTHING
};

/// Flow 0 from host 1 to host 4, 5 Gb/s, would have 3.3 there beside hosts 2 and 3; flow 1 from host 1 to
/// host 5, 5 Gb/s, is alone. 10 Gb/s and 100 ns a link; equilibrium of the input buffer 60 KB.
fn victim(mode: Mode) -> Config {
    let offered = |spec: FlowSpec, rate| FlowSpec {
        offered: Some(Rate::from_mbps(rate)),
        ..spec
    };
    let mut flows = vec![offered(flow(1, 4), 5_000), offered(flow(1, 5), 5_000)];
    flows.extend([2, 3].map(|src| offered(flow(src, 4), 3_330)));
    let mut config = config(star(&[gbps(10); 5], Time::from_ns(100)), flows, us(1_800));
    config.switch.pfc.threshold = PfcThreshold::Static {
        xoff_bytes: 110_000,
        xon_bytes: 44_000,
    };
    config.switch.model = SwitchModel::Cioq(CioqConfig::default());
    config.scheme = qcn();
    let congestion_point::Config::Qcn(params) = &mut config.scheme.congestion_point else {
        unreachable!("QCN's own")
    };
    (params.q_eq, params.mode) = (60_000, mode);
    config
}

/// The flow that holds most of the input buffer is told, and no other.
#[test]
fn occupancy_tells_the_culprit() {
    assert_snapshot!(page(&victim(Mode::InputOccupancyDet), RATES).0, @r"
          0.100 us  flow 0 may send 10.000 Gb/s
          0.100 us  flow 1 may send 10.000 Gb/s
        846.884 us  sw > 1  CNM to flow 0: Qfb 5, offset 25440 B, delta 26880 B
        950.846 us  sw > 1  CNM to flow 0: Qfb 11, offset -1440 B, delta 26880 B
        951.000 us  flow 0 may send 9.141 Gb/s
       1019.594 us  sw > 1  CNM to flow 0: Qfb 10, offset -18080 B, delta 16640 B
       1019.800 us  flow 0 may send 8.427 Gb/s
       1085.828 us  sw > 1  CNM to flow 0: Qfb 14, offset -34720 B, delta 16640 B
       1086.000 us  flow 0 may send 7.505 Gb/s
       1138.647 us  sw > 1  CNM to flow 0: Qfb 16, offset -48800 B, delta 14080 B
       1138.800 us  flow 0 may send 6.567 Gb/s
       1142.001 us  sw > 1  XOFF p3 for 3.355392ms
       1142.152 us  1 stops p3
       1268.584 us  sw > 1  XON p3
       1268.735 us  1 goes on with p3
       1319.100 us  flow 0 may send 8.283 Gb/s
       1443.222 us  sw > 1  CNM to flow 0: Qfb 20, offset -28320 B, delta 34560 B
       1443.400 us  flow 0 may send 6.989 Gb/s
       1485.142 us  sw > 1  CNM to flow 0: Qfb 12, offset -38560 B, delta 10240 B
       1485.300 us  flow 0 may send 6.334 Gb/s
       1527.901 us  sw > 1  XOFF p3 for 3.355392ms
       1528.052 us  1 stops p3
       1654.248 us  sw > 1  XON p3
       1654.399 us  1 goes on with p3
       1784.451 us  sw > 1  CNM to flow 0: Qfb 15, offset -18080 B, delta 28160 B
       1784.700 us  flow 0 may send 5.592 Gb/s
    flow 0: 811000 B delivered
    flow 1: 924000 B delivered
    ");
}

/// The flow of the frame that happens to be sampled is told: the victim as often.
#[test]
fn arrival_tells_whoever_comes() {
    assert_snapshot!(page(&victim(Mode::InputArrival), RATES).0, @r"
          0.100 us  flow 0 may send 10.000 Gb/s
          0.100 us  flow 1 may send 10.000 Gb/s
        846.884 us  sw > 1  CNM to flow 1: Qfb 5, offset 25440 B, delta 26880 B
        950.846 us  sw > 1  CNM to flow 1: Qfb 11, offset -1440 B, delta 26880 B
        951.000 us  flow 1 may send 9.141 Gb/s
       1019.594 us  sw > 1  CNM to flow 1: Qfb 10, offset -18080 B, delta 16640 B
       1019.800 us  flow 1 may send 8.427 Gb/s
       1085.828 us  sw > 1  CNM to flow 0: Qfb 15, offset -36000 B, delta 17920 B
       1086.000 us  flow 0 may send 8.828 Gb/s
       1138.647 us  sw > 1  CNM to flow 1: Qfb 15, offset -48800 B, delta 12800 B
       1138.800 us  flow 1 may send 7.439 Gb/s
       1139.486 us  sw > 1  XOFF p3 for 3.355392ms
       1139.637 us  1 stops p3
       1266.069 us  sw > 1  XON p3
       1266.220 us  1 goes on with p3
       1319.100 us  flow 1 may send 8.720 Gb/s
       1452.400 us  flow 0 may send 9.414 Gb/s
       1465.021 us  sw > 1  CNM to flow 0: Qfb 22, offset -36000 B, delta 34560 B
       1465.200 us  flow 0 may send 7.796 Gb/s
       1506.941 us  sw > 1  CNM to flow 0: Qfb 14, offset -46240 B, delta 10240 B
       1507.100 us  flow 0 may send 6.943 Gb/s
       1520.355 us  sw > 1  XOFF p3 for 3.355392ms
       1520.506 us  1 stops p3
       1646.702 us  sw > 1  XON p3
       1646.854 us  1 goes on with p3
       1666.200 us  flow 1 may send 9.360 Gb/s
    flow 0: 811000 B delivered
    flow 1: 921000 B delivered
    ");
}
