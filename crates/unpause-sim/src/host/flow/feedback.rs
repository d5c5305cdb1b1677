//! A flow at its sender: feedback that it receives, and what follows.

use rand_core::Rng;
use unpause_protocols::congestion_control::{Ack, Loss, Mechanism};
use unpause_protocols::loss_recovery::{Feedback, Repair as _};
use unpause_protocols::notification::Notification;
use unpause_protocols::units::Time;

use super::ack_info::{AckInfo, Trim};
use super::selective::Recovery;
use super::sender::Sender;

impl Sender {
    /// Packets before `seq` have arrived; its law does not need to know.
    #[inline]
    pub fn on_silent_ack(&mut self, now: Time, seq: u32, mut recovery: Recovery<'_>) {
        recovery.on_ack(&mut self.recovery, now, Feedback::cumulative(seq));
        self.next_start = self.next_start.max(now);
    }

    /// Packets before `seq` have arrived.
    pub fn on_ack(&mut self, now: Time, seq: u32, info: &AckInfo<'_>, mut recovery: Recovery<'_>) {
        let news = recovery.on_ack(&mut self.recovery, now, Feedback::cumulative(seq));
        self.tell(now, news, info, &mut recovery);
    }

    /// Reports an acknowledgement of this many packets to the law.
    #[inline]
    fn tell(&mut self, now: Time, packets: u32, info: &AckInfo<'_>, recovery: &mut Recovery<'_>) {
        let sent = match recovery {
            Recovery::GoBackN(_) => self.recovery.next(),
            Recovery::SelectiveRepeat(_) => self.recovery.highest(),
        };
        let bytes_of = |packets: u32| u64::from(packets) * u64::from(self.packet_bytes);
        self.law.on_ack(&Ack {
            rtt: info.rtt,
            bytes: bytes_of(packets),
            ce: info.ce,
            acknowledged: bytes_of(self.recovery.unacknowledged()),
            sent: bytes_of(sent),
            telemetry: info.hops,
            digest: info.digest,
            ..Ack::at(now)
        });
        self.apply_law(recovery);
    }

    /// The receiver misses the packet of this number, and may keep a later one. True if packets count as lost.
    pub fn on_nak(
        &mut self,
        now: Time,
        feedback: Feedback,
        info: &AckInfo<'_>,
        mut recovery: Recovery<'_>,
    ) -> bool {
        let in_flight = self.in_flight(&recovery);
        let mut lost = false;
        if let Some(gap) = recovery.on_nak(&mut self.recovery, now, feedback) {
            lost = gap.lost;
            self.burst_over |= lost;
            self.tell(now, gap.news, info, &mut recovery);
            if lost {
                let arrived = u64::from(gap.news) * u64::from(self.packet_bytes);
                let in_flight = in_flight.saturating_sub(arrived);
                self.lose(now, Loss::Packet, in_flight, &mut recovery);
            }
        }
        lost
    }

    /// A switch has trimmed a packet.
    #[cold]
    pub fn on_trim(
        &mut self,
        now: Time,
        trim: Trim,
        info: &AckInfo<'_>,
        mut recovery: Recovery<'_>,
    ) {
        let in_flight = self.in_flight(&recovery);
        let Trim {
            before,
            number,
            last_hop,
        } = trim;
        let Some(gap) = recovery.on_trim(&mut self.recovery, now, before, number) else {
            return;
        };
        if gap.news > 0 {
            let info = AckInfo { rtt: None, ..*info };
            self.tell(now, gap.news, &info, &mut recovery);
        }
        if gap.lost {
            self.burst_over = true;
            let arrived = u64::from(gap.news) * u64::from(self.packet_bytes);
            let loss = Loss::Trim {
                bytes: self.packet_bytes,
                rtt: info.rtt,
                last_hop,
            };
            self.lose(now, loss, in_flight.saturating_sub(arrived), &mut recovery);
        }
    }

    /// Bytes sent and neither acknowledged nor given up as lost.
    fn in_flight(&self, recovery: &Recovery<'_>) -> u64 {
        u64::from(recovery.in_flight(&self.recovery)) * u64::from(self.packet_bytes)
    }

    fn lose(&mut self, now: Time, loss: Loss, in_flight: u64, recovery: &mut Recovery<'_>) {
        self.law.on_loss(now, loss, in_flight);
        self.apply_law(recovery);
    }

    /// The window may have moved or changed, if the law has one: whole packets, and one at least. Packets in flight count with the
    /// bytes that they have.
    #[inline]
    pub fn open_window(&mut self, recovery: &mut Recovery<'_>) {
        if self.windowed {
            self.count_window(recovery);
        }
    }

    #[inline(never)]
    fn count_window(&mut self, recovery: &mut Recovery<'_>) {
        let short = u64::from(self.short_bytes);
        let of_law = self.law.window().unwrap_or(u64::MAX).saturating_add(short);
        let of_law = of_law / u64::from(self.packet_bytes);
        let own = self
            .window
            .map_or(u64::MAX, |window| window.packets(self.law.rate(), short));
        let packets = of_law.min(own).clamp(1, u64::from(u32::MAX));
        recovery.open_window(&mut self.recovery, packets as u32);
    }

    /// All that it will ever send was acknowledged at `now`.
    pub fn note_end(&mut self, now: Time) {
        self.acknowledged_at = self.acknowledged_at.min(now);
    }

    /// A congestion notification has arrived.
    pub fn on_notification<R: Rng>(
        &mut self,
        now: Time,
        notification: &Notification,
        mut recovery: Recovery<'_>,
        rng: &mut R,
    ) {
        self.notifications += 1;
        self.law.on_notification(now, notification, rng);
        self.apply_law(&mut recovery);
    }

    /// When [`Sender::on_timer`] is due.
    #[inline]
    pub fn next_timer(&self) -> Time {
        self.law_timer.min(self.recovery.next_timer())
    }

    /// Runs what is due.
    pub fn on_timer<R: Rng>(&mut self, now: Time, mut recovery: Recovery<'_>, rng: &mut R) {
        if self.law_timer <= now {
            self.law.on_timer(now, rng);
            self.apply_law(&mut recovery);
        }
        let in_flight = self.in_flight(&recovery);
        if recovery.on_timer(&mut self.recovery, now) {
            self.burst_over = true;
            self.timeouts += 1;
            let loss = Loss::Timeout {
                again: self.is_silent(),
                window: self.law.window().unwrap_or(u64::MAX),
            };
            self.silent_since = self.recovery.unacknowledged() + 1;
            self.lose(now, loss, in_flight, &mut recovery);
        }
    }
}
