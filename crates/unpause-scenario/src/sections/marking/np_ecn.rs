//! PCN's marks that forgive PAUSE.

use unpause_protocols::congestion_point::Config;
pub(super) use unpause_protocols::congestion_point::np_ecn::Params as NpEcn;

use super::marker::Marker;
use crate::text::keys::keys;
use crate::text::setting::MarkBasis;

keys! {
    #[derive(Default)]
    pub(super) Keys at "scheme" for NpEcn {
        mark_basis: MarkBasis "queue length that decides a mark; or `\"enqueue-before\"`"
            from "the paper is silent; ns3-rdma evaluates ECN after removal" => mark_basis;
    }
}

impl Marker for NpEcn {
    const NAME: &'static str = "np-ecn";
    const SUMMARY: &'static str = "PCN's marks that forgive packets held by a PAUSE";
    type Keys = Keys;

    fn config(self) -> Config {
        Config::NpEcn(self)
    }
}
