//! One fault each of the form of the file.

use crate::check;

#[test]
fn a_fault_of_form_is_found() {
    check(
        r#"
BUFFER_PG Ethernet4|3-4 profile "[BUFFER_PROFILE|pg_losless]" => error dangling-reference $.BUFFER_PG['Ethernet4|3-4'].profile
BUFFER_PG Ethernet4|3-4 profile "[BUFFER_POOL|ingress_lossless_pool]" => error bad-reference $.BUFFER_PG['Ethernet4|3-4'].profile
BUFFER_PROFILE pg_lossless_100000_5m_profile pool "ingress_pool" => error dangling-reference $.BUFFER_PROFILE.pg_lossless_100000_5m_profile.pool
QUEUE Ethernet0|3 scheduler "scheduler.9" => error dangling-reference $.QUEUE['Ethernet0|3'].scheduler
QUEUE Ethernet0|3 wred_profile "[WRED_PROFILE|AZURE]" => error dangling-reference $.QUEUE['Ethernet0|3'].wred_profile
PORT_QOS_MAP Ethernet4 tc_to_pg_map "AZUR" => error dangling-reference $.PORT_QOS_MAP.Ethernet4.tc_to_pg_map
BUFFER_PORT_INGRESS_PROFILE_LIST Ethernet0 profile_list "egress_lossy_profile,none" => error dangling-reference $.BUFFER_PORT_INGRESS_PROFILE_LIST.Ethernet0.profile_list
PORT Ethernet8 - null => error unknown-port $.BUFFER_PG['Ethernet8|3-4']
BUFFER_PG Ethernet0,Ethernet12|5 - {"profile": "pg_lossless_100000_5m_profile"} => error unknown-port $.BUFFER_PG['Ethernet0,Ethernet12|5']
BUFFER_PG Ethernet0,Ethernet4|4-5 - {"profile": "pg_lossless_100000_5m_profile"} => error overlapping-ranges $.BUFFER_PG['Ethernet0|3-4']
QUEUE Ethernet0|2-3 - {"scheduler": "scheduler.0"} => error overlapping-ranges $.QUEUE['Ethernet0|3']
BUFFER_PG Ethernet4|7-6 - {"profile": "pg_lossless_100000_5m_profile"} => error bad-key $.BUFFER_PG['Ethernet4|7-6']
PORT Ethernet0 speed "100G" => error bad-value $.PORT.Ethernet0.speed
PORT Ethernet0 speed 100000 => warning wrong-type $.PORT.Ethernet0.speed
BUFFER_PROFILE pg_lossless_100000_5m_profile xoff "165k" => error bad-value $.BUFFER_PROFILE.pg_lossless_100000_5m_profile.xoff
BUFFER_PROFILE pg_lossless_100000_5m_profile dynamic_th "9" => error bad-value $.BUFFER_PROFILE.pg_lossless_100000_5m_profile.dynamic_th
CABLE_LENGTH AZURE Ethernet0 "5" => error bad-value $.CABLE_LENGTH.AZURE.Ethernet0
CABLE_LENGTH AZURE Ethernet0 null => warning headroom-unknown $.PORT.Ethernet0
PORT_QOS_MAP Ethernet4 pfc_enable ["3", "4"] => error wrong-type $.PORT_QOS_MAP.Ethernet4.pfc_enable
PORT_QOS_MAP Ethernet4 pfc_enable "3;4" => error bad-value $.PORT_QOS_MAP.Ethernet4.pfc_enable
PORT_QOS_MAP Ethernet4 pfc_enable null & PORT_QOS_MAP Ethernet4 pfc_enabled "3,4" => warning unknown-name $.PORT_QOS_MAP.Ethernet4.pfc_enabled
BUFFER_POOL - - [] => error wrong-type $.BUFFER_POOL
PFC_WD GLOBAL - "200" => error wrong-type $.PFC_WD.GLOBAL
"#,
    );
}
