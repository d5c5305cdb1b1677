//! PCN's marks that forgive PAUSE.

use serde_spanned::Spanned;
use unpause_protocols::congestion_point::Config;
use unpause_protocols::congestion_point::np_ecn::MarkBasis as Basis;
pub(super) use unpause_protocols::congestion_point::np_ecn::Params as NpEcn;
use unpause_text::error::{Checked, Problem};
use unpause_text::quantity::Size;

use super::marker::Marker;
use crate::text::keys::{self, Param};
use crate::text::setting::MarkBasis;

/// Its keys.
#[derive(keys::Keys)]
#[keys("scheme", sets = NpEcn)]
pub(super) struct Keys {
    /// queue length that decides a mark; or `"enqueue-before"`
    #[key(from = "the paper is silent; ns3-rdma evaluates ECN after removal")]
    mark_basis: Param<MarkBasis>,
    /// a packet that leaves no more than this behind is not marked
    #[key(
        from = "the paper's ECN threshold, zero; ns3-rdma does not count the first 1,030 B of a queue, one of its frames"
    )]
    mark_above: Param<Size>,
}

impl Marker for NpEcn {
    const NAME: &'static str = "np-ecn";
    const SUMMARY: &'static str = "PCN's marks that forgive packets held by a PAUSE";
    type Keys = Keys;

    fn check(&mut self, keys: &Keys) -> Checked<()> {
        threshold(self, keys.mark_above.peek())
    }

    fn config(self) -> Config {
        Config::NpEcn(self)
    }
}

/// Refuses a threshold without effect.
pub(in crate::sections) fn threshold(
    params: &NpEcn,
    mark_above: Option<&Spanned<Size>>,
) -> Checked<()> {
    match (params.mark_basis, mark_above) {
        (Basis::EnqueueBefore, Some(written)) => Problem::new("`mark_above` has no effect")
            .at(
                written.span(),
                "`enqueue-before` has no threshold: it marks packets that find a queue",
            )
            .help("remove it, or `mark_basis` = \"enqueue-before\"")
            .err(),
        _ => Ok(()),
    }
}
