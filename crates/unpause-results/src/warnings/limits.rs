//! The most that an egress queue of a switch may hold, and the setting that limits it.

use unpause_sim::config::{Config, Memory, NodeId, QueueLimit, SwitchModel};
use unpause_sim::shared_memory;

use crate::run::Run;
use crate::warnings::in_force::{self, Place};
use unpause_text::count::{count, size, size_at_least};

/// The largest share of the free buffer that a switch can give a queue is 2 to the power of this.
const MOST_SHARE: i32 = unpause_sim::config::MOST_ALPHA_SHIFT;

/// A setting that ends a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Setting {
    /// `switch.lossy_queue`; true: that of an override.
    LossyQueue(bool),
    /// `switch.lossy_queue_packets`, this many.
    LossyPackets(u32),
    /// `switch.lossy_alpha`, a share of this many free bytes.
    LossyAlpha(i32, u64),
    /// `queue_limit` of an override.
    QueueLimit,
    /// `queue_alpha` of an override, a share of this many free bytes.
    QueueAlpha(i32, u64),
    /// The whole buffer, without headroom.
    Buffer,
    /// The output buffer of another model of a switch, by its key.
    Output(&'static str),
}

/// The most that a queue may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    /// Bytes.
    pub bytes: u64,
    /// The setting that says so.
    pub setting: Setting,
}

impl Limit {
    fn new(bytes: u64, setting: Setting) -> Self {
        Self { bytes, setting }
    }

    /// The setting and its value, as in `lossy_queue 200 KB`.
    pub fn name(&self) -> String {
        let bytes = size(self.bytes);
        let of_share = |key: &str, shift: i32, free: u64| {
            format!(
                "the {bytes} that {key} leaves one queue, alpha B / (1 + alpha) with alpha = {}, B = {}",
                alpha(shift),
                size(free)
            )
        };
        match self.setting {
            Setting::LossyQueue(false) => format!("lossy_queue {bytes}"),
            Setting::LossyQueue(true) => format!("lossy_queue {bytes} of its override"),
            Setting::LossyPackets(packets) => {
                format!("lossy_queue_packets {} ({bytes})", count(packets.into()))
            }
            Setting::LossyAlpha(shift, free) => of_share("lossy_alpha", shift, free),
            Setting::QueueLimit => format!("queue_limit {bytes} of its override"),
            Setting::QueueAlpha(shift, free) => {
                of_share("queue_alpha of its override", shift, free)
            }
            Setting::Buffer => format!("the {bytes} of switch.buffer that headroom leaves"),
            Setting::Output(key) => format!("{key} {bytes}"),
        }
    }

    /// How the setting makes room for `bytes`, after the word "raise".
    pub fn raise(&self, bytes: u64) -> String {
        let to = size_at_least(bytes);
        let share = |key: &str, free: u64| {
            let shifts = (-MOST_SHARE..=MOST_SHARE).rev();
            let mut enough = shifts.filter(|shift| share(*shift, free, 0) >= bytes);
            match enough.next() {
                Some(shift) => format!("{key} to {} or more", alpha(shift)),
                None => "switch.buffer".to_owned(),
            }
        };
        match self.setting {
            Setting::LossyQueue(false) => format!("switch.lossy_queue to {to} or more"),
            Setting::LossyQueue(true) => {
                format!("lossy_queue of that [[override]] to {to} or more")
            }
            Setting::LossyPackets(packets) => {
                let each = (self.bytes / u64::from(packets).max(1)).max(1);
                let packets = count(bytes.div_ceil(each));
                format!("switch.lossy_queue_packets to {packets} or more")
            }
            Setting::LossyAlpha(_, free) => share("switch.lossy_alpha", free),
            Setting::QueueLimit => format!("queue_limit of that [[override]] to {to} or more"),
            Setting::QueueAlpha(_, free) => share("queue_alpha of that [[override]]", free),
            Setting::Buffer => "switch.buffer".to_owned(),
            Setting::Output(key) => format!("{key} to {to} or more"),
        }
    }

    /// The share, with its key, as in `lossy_alpha 1/16 of`.
    pub fn share_of(&self, shift: i32) -> String {
        let key = match self.setting {
            Setting::QueueAlpha(..) => "queue_alpha of its override,",
            _ => "lossy_alpha,",
        };
        format!("{key} {} of", alpha(shift))
    }
}

/// `1/16` or `4`: the share of a shift.
fn alpha(shift: i32) -> String {
    let power = 1_u64 << shift.unsigned_abs().min(63);
    if shift > 0 {
        format!("1/{power}")
    } else {
        power.to_string()
    }
}

/// The longest queue that a share of the free memory allows when nothing else takes any. The last packet, of `frame`
/// bytes, is compared with what was free before it: q <= alpha (B - q + frame).
fn share(shift: i32, free: u64, frame: u64) -> u64 {
    let (free, frame) = (u128::from(free), u128::from(frame));
    let one = 1_u128 << shift.unsigned_abs().min(63);
    let (alpha, of) = if shift < 0 { (one, 1) } else { (1, one) };
    let most = (free + frame) * alpha / (of + alpha);
    most.min(free) as u64
}

/// The limits of all queues of a run.
pub struct Limits<'a> {
    config: &'a Config,
    /// By node.
    shared: Vec<u64>,
}

impl<'a> Limits<'a> {
    /// `None` if the configuration cannot be run.
    pub fn of(run: &'a Run) -> Option<Self> {
        let config = &run.config;
        let shared = match config.switch.model {
            SwitchModel::SharedBuffer => shared_memory(config).ok()?,
            _ => Vec::new(),
        };
        Some(Self { config, shared })
    }

    /// The tightest limit of the egress queue of packets of a priority; `None` if PFC alone limits it.
    pub fn at(&self, at: Place) -> Option<Limit> {
        let switch = &self.config.switch;
        match &switch.model {
            SwitchModel::SharedBuffer => self.of_shared_buffer(at),
            SwitchModel::Pipeline(model) => Some(match model.memory {
                Memory::Dedicated { egress_bytes, .. } => {
                    Limit::new(egress_bytes, Setting::Output("switch.pipeline.egress_max"))
                }
                Memory::Shared {
                    queue_bytes,
                    queue_share_bytes,
                    ..
                } => Limit::new(
                    queue_bytes + queue_share_bytes,
                    Setting::Output("switch.pipeline.shared"),
                ),
            }),
            SwitchModel::Cioq(model) => {
                let key = Setting::Output("switch.cioq.output_buffer");
                Some(Limit::new(model.output_buffer_bytes, key))
            }
            SwitchModel::InputQueued(model) => {
                let key = Setting::Output("switch.input_queued.output_buffer");
                Some(Limit::new(model.output_buffer_bytes, key))
            }
        }
    }

    fn of_shared_buffer(&self, at: Place) -> Option<Limit> {
        let (config, switch) = (self.config, &self.config.switch);
        let frame = u64::from(config.largest_frame_bytes());
        let shared = self.shared[at.node as usize];
        let queue = Place {
            priority: in_force::queue(config, at.node, at.priority),
            ..at
        };
        let group = in_force::group(config, at.node, at.priority);
        let is_lossy = in_force::lossless(config, at.node) >> group & 1 == 0;
        let own = in_force::own(config, queue, |it| it.queue_limit).map(|limit| match limit {
            QueueLimit::Bytes(bytes) => Limit::new(bytes, Setting::QueueLimit),
            QueueLimit::Shift(shift) => {
                let setting = Setting::QueueAlpha(shift, shared);
                Limit::new(share(shift, shared, frame), setting)
            }
        });
        let mut all = Vec::from_iter(own);
        if is_lossy {
            if own.is_none() {
                let fixed = in_force::lossy_queue(config, at.node);
                let is_own = fixed != switch.lossy_queue_bytes;
                all.push(Limit::new(fixed, Setting::LossyQueue(is_own)));
                all.extend(switch.lossy_shift.map(|shift| {
                    let setting = Setting::LossyAlpha(shift, shared);
                    Limit::new(share(shift, shared, frame), setting)
                }));
            }
            all.extend(switch.lossy_queue_packets.map(|packets| {
                let setting = Setting::LossyPackets(packets);
                Limit::new(u64::from(packets) * frame, setting)
            }));
            if in_force::buffer(config, at.node).is_some() {
                all.push(Limit::new(shared, Setting::Buffer));
            }
        }
        all.into_iter().min_by_key(|limit| limit.bytes)
    }

    /// Shared memory of a switch with a shared buffer, without headroom, bytes.
    pub fn shared(&self, node: NodeId) -> Option<u64> {
        self.shared.get(node as usize).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_of_the_free_memory_ends_a_queue_at_alpha_b_by_one_plus_alpha() {
        assert_eq!(share(4, 2_000_000, 0), 117_647);
        assert_eq!(share(0, 2_000_000, 0), 1_000_000);
        assert_eq!(share(-3, 900_000, 0), 800_000);
        // The last packet finds 2,000 of 3,000 bytes free and brings 1,000.
        assert_eq!(share(0, 3_000, 1_000), 2_000);
        assert_eq!([alpha(4), alpha(0), alpha(-3)], ["1/16", "1", "8"]);
    }
}
