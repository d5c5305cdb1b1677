//! MAC control frames: PAUSE (IEEE 802.3, Annex 31B) and PFC (Annex 31D, IEEE 802.1Qbb).

use crate::bytes::{Writer, take};
use crate::error::{Layer, Result, field};

const PAUSE: u16 = 0x0001;
const PFC: u16 = 0x0101;

/// The request of a MAC control frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum MacControl {
    Pause(Pause),
    Pfc(Pfc),
}

impl MacControl {
    /// Reads what follows the EtherType; gives the padding.
    pub(crate) fn parse(bytes: &[u8]) -> Result<(Self, &[u8])> {
        let (opcode, rest) = take::<2>(Layer::Pause, bytes)?;
        match u16::from_be_bytes(*opcode) {
            PAUSE => {
                let (quanta, rest) = take::<2>(Layer::Pause, rest)?;
                let quanta = u16::from_be_bytes(*quanta);
                Ok((Self::Pause(Pause { quanta }), rest))
            }
            PFC => Pfc::parse(rest).map(|(pfc, rest)| (Self::Pfc(pfc), rest)),
            other => field(Layer::Pause, "MAC control opcode", other),
        }
    }
}

/// 802.3x PAUSE: stops the whole link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Pause {
    /// For how long, in quanta of 512 bit times; 0 resumes.
    pub quanta: u16,
}

impl Pause {
    /// Bytes after the EtherType, without padding.
    pub const LENGTH: usize = 4;

    pub(crate) fn build(self, out: &mut [u8]) -> Result<usize> {
        let mut writer = Writer::new(Layer::Pause, out);
        writer.put(&PAUSE.to_be_bytes())?;
        writer.put(&self.quanta.to_be_bytes())?;
        Ok(writer.written())
    }
}

/// Priority-based flow control: stops priorities.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Pfc {
    /// Class-enable vector: bit n is set if `quanta[n]` counts.
    pub enabled: u8,
    /// For how long, in quanta of 512 bit times, for priority 0 to 7; 0 resumes.
    pub quanta: [u16; 8],
}

impl Pfc {
    /// Bytes after the EtherType, without padding.
    pub const LENGTH: usize = 20;

    /// A frame about one priority, of which the three low bits count.
    pub const fn of_priority(priority: u8, quanta: u16) -> Self {
        let priority = priority & 7;
        let mut all = [0; 8];
        all[priority as usize] = quanta;
        Self {
            enabled: 1 << priority,
            quanta: all,
        }
    }

    /// The priorities that it is about, and for how many quanta each is to stop.
    pub fn classes(&self) -> impl Iterator<Item = (u8, u16)> {
        let enabled = self.enabled;
        let all = (0..8_u8).zip(self.quanta);
        all.filter(move |(priority, _)| enabled & 1 << priority != 0)
    }

    fn parse(bytes: &[u8]) -> Result<(Self, &[u8])> {
        let (vector, rest) = take::<2>(Layer::Pfc, bytes)?;
        let (times, rest) = take::<16>(Layer::Pfc, rest)?;
        let [reserved, enabled] = *vector;
        if reserved != 0 {
            let vector = u16::from_be_bytes(*vector);
            return field(Layer::Pfc, "class-enable vector", vector);
        }
        let mut quanta = [0; 8];
        for (quanta, time) in quanta.iter_mut().zip(times.as_chunks::<2>().0) {
            *quanta = u16::from_be_bytes(*time);
        }
        Ok((Self { enabled, quanta }, rest))
    }

    pub(crate) fn build(&self, out: &mut [u8]) -> Result<usize> {
        let mut writer = Writer::new(Layer::Pfc, out);
        writer.put(&PFC.to_be_bytes())?;
        writer.put(&[0, self.enabled])?;
        for quanta in self.quanta {
            writer.put(&quanta.to_be_bytes())?;
        }
        Ok(writer.written())
    }
}
