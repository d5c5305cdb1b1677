//! One fault each of what the tables mean.

use crate::check;

#[test]
fn a_fault_of_pfc_and_buffers_is_found() {
    check(
        r#"
BUFFER_PROFILE pg_lossless_100000_5m_profile dynamic_th null => error no-threshold $.BUFFER_PROFILE.pg_lossless_100000_5m_profile
BUFFER_PROFILE pg_lossless_100000_5m_profile pool null => error bad-value $.BUFFER_PROFILE.pg_lossless_100000_5m_profile
BUFFER_PROFILE pg_lossless_100000_5m_profile pool "egress_lossy_pool" => error wrong-pool $.BUFFER_PROFILE.pg_lossless_100000_5m_profile.pool
PORT_QOS_MAP Ethernet4 pfc_enable "3" => warning pfc-uneven $.PORT_QOS_MAP.Ethernet4.pfc_enable
BUFFER_PG Ethernet4|3-4 - null => error pfc-without-pg $.PORT_QOS_MAP.Ethernet4.pfc_enable
BUFFER_PG - - {} => error pfc-without-pg $.PORT_QOS_MAP.Ethernet0.pfc_enable
BUFFER_PROFILE pg_lossless_100000_5m_profile xoff null & BUFFER_PG Ethernet4|3-4 profile "egress_lossy_profile" => error pfc-without-pg $.BUFFER_PG['Ethernet4|3-4'].profile
PORT_QOS_MAP Ethernet4 pfc_enable "3" => error pg-without-pfc $.BUFFER_PG['Ethernet4|3-4'].profile
PORT_QOS_MAP Ethernet4 pfc_enable null => error pg-without-pfc $.BUFFER_PG['Ethernet4|3-4'].profile
BUFFER_PROFILE pg_lossless_100000_5m_profile xoff "20000" => error headroom-too-small $.BUFFER_PROFILE.pg_lossless_100000_5m_profile.xoff
CABLE_LENGTH AZURE Ethernet4 "300m" => error headroom-too-small $.BUFFER_PROFILE.pg_lossless_100000_5m_profile.xoff
BUFFER_PG Ethernet8|3-4 profile "pg_lossless_100000_5m_profile" => error headroom-too-small $.BUFFER_PROFILE.pg_lossless_100000_5m_profile.xoff
CABLE_LENGTH AZURE Ethernet4 "40m" => warning profile-of-another-cable $.CABLE_LENGTH.AZURE.Ethernet4
BUFFER_PROFILE pg_lossless_100000_5m_profile xoff "90000" => warning headroom-too-small $.BUFFER_PROFILE.pg_lossless_100000_5m_profile.xoff
BUFFER_POOL ingress_lossless_pool xoff "300000" => error shared-headroom-too-small $.BUFFER_POOL.ingress_lossless_pool.xoff
BUFFER_POOL egress_lossless_pool size "8000000" => error egress-drops-first $.BUFFER_POOL.egress_lossless_pool.size
BUFFER_PROFILE egress_lossless_profile static_th "1000000" => error egress-drops-first $.BUFFER_PROFILE.egress_lossless_profile.static_th
BUFFER_QUEUE Ethernet4|3-4 profile "egress_lossy_profile" => error egress-drops-first $.BUFFER_QUEUE['Ethernet4|3-4'].profile
BUFFER_QUEUE Ethernet4|3-4 - null => warning queue-without-profile $.PORT_QOS_MAP.Ethernet4.pfc_enable
BUFFER_PG Ethernet4|3-4 profile "egress_lossless_profile" => error wrong-pool $.BUFFER_PG['Ethernet4|3-4'].profile
BUFFER_POOL ingress_lossless_pool mode "static" => warning wrong-mode $.BUFFER_PROFILE.pg_lossless_100000_5m_profile.dynamic_th
"#,
    );
}

#[test]
fn a_fault_of_marking_maps_and_the_watchdog_is_found() {
    check(
        r#"
WRED_PROFILE AZURE_LOSSLESS wred_green_enable "false" => warning wred-off $.WRED_PROFILE.AZURE_LOSSLESS.wred_green_enable
PORT_QOS_MAP Ethernet0 pfcwd_sw_enable "3" => warning watchdog-without-pfc $.PORT_QOS_MAP.Ethernet0.pfcwd_sw_enable
PFC_WD Ethernet0 restoration_time null => note watchdog-without-end $.PFC_WD.Ethernet0
WRED_PROFILE AZURE_LOSSLESS green_min_threshold "4000000" & WRED_PROFILE AZURE_LOSSLESS green_max_threshold "8000000" => error wred-unreachable $.WRED_PROFILE.AZURE_LOSSLESS.green_min_threshold
WRED_PROFILE AZURE_LOSSLESS green_min_threshold "2000000" & WRED_PROFILE AZURE_LOSSLESS green_max_threshold "8000000" => note wred-late $.WRED_PROFILE.AZURE_LOSSLESS.green_min_threshold
WRED_PROFILE AZURE_LOSSLESS green_min_threshold "1500000" => error wred-shape $.WRED_PROFILE.AZURE_LOSSLESS.green_min_threshold
WRED_PROFILE AZURE_LOSSLESS ecn "ecn_none" => error wred-drops-lossless $.WRED_PROFILE.AZURE_LOSSLESS.ecn
TC_TO_QUEUE_MAP AZURE 3 "1" => error map-mismatch $.TC_TO_QUEUE_MAP.AZURE['3']
TC_TO_PRIORITY_GROUP_MAP AZURE 3 "0" => error map-mismatch $.TC_TO_PRIORITY_GROUP_MAP.AZURE['3']
TC_TO_PRIORITY_GROUP_MAP AZURE 1 "3" => error map-mismatch $.TC_TO_PRIORITY_GROUP_MAP.AZURE['1']
TC_TO_QUEUE_MAP AZURE 1 "3" => error map-mismatch $.TC_TO_QUEUE_MAP.AZURE['1']
MAP_PFC_PRIORITY_TO_QUEUE AZURE 3 "4" => error map-mismatch $.MAP_PFC_PRIORITY_TO_QUEUE.AZURE['3']
MAP_PFC_PRIORITY_TO_QUEUE AZURE 3 null => warning pfc-map-incomplete $.MAP_PFC_PRIORITY_TO_QUEUE.AZURE
PFC_PRIORITY_TO_PRIORITY_GROUP_MAP AZURE - {"3": "0", "4": "4"} & PORT_QOS_MAP Ethernet4 pfc_to_pg_map "[PFC_PRIORITY_TO_PRIORITY_GROUP_MAP|AZURE]" => error pg-without-pfc $.BUFFER_PG['Ethernet4|3-4'].profile
DSCP_TO_TC_MAP AZURE 3 "1" => error lossless-dscp-lossy $.DSCP_TO_TC_MAP.AZURE['3']
DSCP_TO_TC_MAP AZURE 4 "1" => error lossless-dscp-lossy $.DSCP_TO_TC_MAP.AZURE['4']
DSCP_TO_TC_MAP AZURE 26 "1" => warning lossless-dscp-lossy $.DSCP_TO_TC_MAP.AZURE['26']
DSCP_TO_TC_MAP OTHER - {"3": "3", "4": "4", "26": "1"} & PORT_QOS_MAP Ethernet8 dscp_to_tc_map "OTHER" => error lossless-dscp-lossy $.DSCP_TO_TC_MAP.OTHER['26']
PORT_QOS_MAP Ethernet4 dscp_to_tc_map null => error no-map $.PORT_QOS_MAP.Ethernet4.pfc_enable
PFC_WD Ethernet0 detection_time "100" => error watchdog-faster-than-poll $.PFC_WD.Ethernet0.detection_time
PFC_WD GLOBAL POLL_INTERVAL "400" => error watchdog-faster-than-poll $.PFC_WD.Ethernet0.restoration_time
PFC_WD Ethernet0 detection_time "6000" => error watchdog-range $.PFC_WD.Ethernet0.detection_time
PORT_QOS_MAP Ethernet0 pfcwd_sw_enable "3,5" => warning watchdog-without-pfc $.PORT_QOS_MAP.Ethernet0.pfcwd_sw_enable
PFC_WD Ethernet4 - {"detection_time": "200"} => warning watchdog-without-pfc $.PFC_WD.Ethernet4
"#,
    );
}
