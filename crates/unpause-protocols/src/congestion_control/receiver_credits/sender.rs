//! The credit of a flow at its sender.

/// Bytes of a unit, in which pull targets and pulls count.
pub const UNIT_BYTES: u64 = 256;

/// The demand of a sender, as its pull target states it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Demand {
    /// Bytes never sent.
    pub backlog: u64,
    /// Bytes to be sent again.
    pub repairs: u64,
    /// The sender's own window, where NSCC runs, too.
    pub window: Option<u64>,
    /// Flows with something to send at the sender's port, this one included.
    pub flows: u64,
}

/// Credit of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Credit {
    /// Bytes; below zero by less than a packet.
    credit: i64,
    most: i64,
    packet_bytes: i64,
    /// Units pulled.
    pulled: u64,
    speculating: bool,
}

impl Credit {
    /// A flow that has sent nothing and may speculate on `most` bytes, which is also what its credit may grow to.
    pub fn new(most: u64, packet_bytes: u32) -> Self {
        let most = i64::try_from(most.min(1 << 60)).unwrap_or(i64::MAX);
        Self {
            credit: most,
            most,
            packet_bytes: i64::from(packet_bytes),
            pulled: 0,
            speculating: true,
        }
    }

    /// True if another packet may go, of any size.
    #[inline]
    pub fn may_send(&self) -> bool {
        self.credit > 0
    }

    /// Bytes of credit; below zero after a packet larger than what there was.
    pub fn bytes(&self) -> i64 {
        self.credit
    }

    /// Units pulled since the start.
    pub fn pulled(&self) -> u64 {
        self.pulled
    }

    /// A packet of this size has been sent, new or again.
    #[inline]
    pub fn on_sent(&mut self, bytes: u32) {
        self.credit = self.credit.saturating_sub(i64::from(bytes));
    }

    /// An ACK or a NACK has come: the first ends speculation, and what is left of its credit is lost.
    #[inline]
    pub fn on_feedback(&mut self) {
        if self.speculating {
            self.speculating = false;
            self.credit = self.credit.min(0);
        }
    }

    /// A pull has arrived: this many units have been granted since the start.
    pub fn on_pull(&mut self, granted: u64) {
        self.on_feedback();
        let Some(more) = granted.checked_sub(self.pulled) else {
            return;
        };
        self.pulled = granted;
        let more = i64::try_from(more.saturating_mul(UNIT_BYTES)).unwrap_or(i64::MAX);
        self.credit = self.credit.saturating_add(more).min(self.most);
    }

    /// The pull target of the packet that has just been sent, in units since the start: what there is to send but for the
    /// credit, shared with the port's other flows.
    pub fn pull_target(&self, demand: &Demand) -> u64 {
        let bytes = |bytes: u64| i64::try_from(bytes).unwrap_or(i64::MAX);
        let mut wanted = bytes(demand.backlog.saturating_add(demand.repairs));
        if let Some(window) = demand.window {
            wanted = wanted.min(bytes(window).saturating_add(self.packet_bytes));
        }
        wanted = wanted.min(self.most).saturating_sub(self.credit);
        if self.speculating && demand.backlog > 0 {
            wanted = wanted.max(self.packet_bytes);
        }
        let wanted = wanted / bytes(demand.flows.max(1));
        let pulled = self.pulled.saturating_mul(UNIT_BYTES);
        pulled.saturating_add_signed(wanted).div_ceil(UNIT_BYTES)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PACKET: u32 = 4_150;
    const MOST: u64 = 262_926;

    fn demand(backlog: u64) -> Demand {
        Demand {
            backlog,
            repairs: 0,
            window: None,
            flows: 1,
        }
    }

    fn after(packets: u32) -> Credit {
        let mut credit = Credit::new(MOST, PACKET);
        for _ in 0..packets {
            credit.on_sent(PACKET);
        }
        credit
    }

    #[test]
    fn it_speculates_until_the_first_answer() {
        let mut credit = after(63);
        assert!(credit.may_send(), "1 476 B are left");
        credit.on_sent(PACKET);
        assert!(!credit.may_send());
        assert_eq!(credit.bytes(), -2_674);
        credit.on_feedback();
        assert_eq!(credit.bytes(), -2_674, "a debt is not forgiven");
        let mut credit = after(10);
        credit.on_feedback();
        assert_eq!(credit.bytes(), 0);
        credit.on_pull(64);
        credit.on_feedback();
        assert_eq!(credit.bytes(), 16_384, "once");
    }

    #[test]
    fn pulls_count_from_the_start() {
        let mut credit = after(10);
        credit.on_pull(64);
        assert_eq!((credit.bytes(), credit.pulled()), (16_384, 64));
        // One was lost on the way, and an old one comes late.
        credit.on_pull(192);
        credit.on_pull(128);
        assert_eq!((credit.bytes(), credit.pulled()), (3 * 16_384, 192));
        credit.on_pull(10_000);
        assert_eq!(credit.bytes(), MOST as i64);
    }

    #[test]
    fn the_target_is_what_credit_does_not_cover() {
        // 1.5 BDPs at most, of which 221 426 B are credit: 41 500 B are 162.1 units.
        assert_eq!(after(10).pull_target(&demand(2_000_000)), 163);
        // A backlog that credit covers asks for a packet while speculating, and for nothing later.
        assert_eq!(after(10).pull_target(&demand(10_000)), 17);
        assert_eq!(after(10).pull_target(&demand(0)), 0);
        let mut credit = after(10);
        credit.on_pull(64);
        assert_eq!(credit.pull_target(&demand(16_384)), 64);
        assert_eq!(credit.pull_target(&demand(16_385)), 65);
        // What is sent again counts; the window with a packet more bounds it; flows of the port share it.
        let both = Demand {
            repairs: 16_384,
            ..demand(16_384)
        };
        assert_eq!(credit.pull_target(&both), 128);
        let window = Some(20_480 - u64::from(PACKET));
        let bounded = Demand { window, ..both };
        assert_eq!(credit.pull_target(&bounded), 64 + 16);
        let shared = Demand { flows: 4, ..both };
        assert_eq!(credit.pull_target(&shared), 64 + 16);
    }
}
