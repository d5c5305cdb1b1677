//! The path of each packet of a flow.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;
use unpause_protocols::spraying::{Echo, Spraying};
use unpause_protocols::units::Time;

use crate::config::{Config, unpause_config};
use crate::status::{room, unpause_status};
use crate::storage::{Storage, change, create, look};

/// The echo of a packet.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum unpause_echo {
    /// It arrived without a mark.
    Clear,
    /// It arrived, marked Congestion Experienced.
    Marked,
    /// Others show that it was lost.
    Lost,
    /// Nothing came back before the retransmission timeout.
    Timeout,
}

/// The entropy values of one flow, at its sender.
#[repr(C)]
pub struct unpause_spraying {
    opaque: [u64; 24],
}

/// A way to spray and what it draws from.
pub(crate) struct State {
    spraying: Spraying,
    rng: Xoshiro256PlusPlus,
}

impl Storage for unpause_spraying {
    type State = State;
    const MAGIC: u64 = 0x756e_7061_7573_6507;
}

/// A flow that has sent nothing. `config` is one of `UNPAUSE_KIND_SPRAYING`; what it draws follows from `seed` alone.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unpause_spraying_create(
    spraying: *mut unpause_spraying,
    config: *const unpause_config,
    seed: u64,
) -> unpause_status {
    // SAFETY: `config` is as the crate requires; `look` requires no more.
    let state = || match unsafe { look(config)? } {
        Config::Spraying(config) => Ok(State {
            spraying: Spraying::new(config),
            rng: Xoshiro256PlusPlus::seed_from_u64(seed),
        }),
        _ => Err(unpause_status::WrongKind),
    };
    // SAFETY: `spraying` is as the crate requires; `create` requires no more.
    unsafe { create(spraying, state) }
}

/// The entropy value of the packet that is sent next, below the number of paths.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unpause_spraying_next(
    spraying: *mut unpause_spraying,
    now_ps: u64,
    value: *mut u16,
) -> unpause_status {
    // SAFETY: `spraying` and `value` are as the crate requires; `change` and `room` require no more.
    unsafe {
        change(spraying, |State { spraying, rng }| {
            let out = room(value)?;
            out.write(spraying.next(Time::from_ps(now_ps), rng));
            Ok(())
        })
    }
}

/// Reports the echo (an `unpause_echo`) of a packet with this value.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unpause_spraying_on_echo(
    spraying: *mut unpause_spraying,
    now_ps: u64,
    value: u16,
    echo: u32,
) -> unpause_status {
    const CLEAR: u32 = unpause_echo::Clear as u32;
    const MARKED: u32 = unpause_echo::Marked as u32;
    const LOST: u32 = unpause_echo::Lost as u32;
    const TIMEOUT: u32 = unpause_echo::Timeout as u32;
    // SAFETY: `spraying` is as the crate requires; `change` requires no more.
    unsafe {
        change(spraying, |State { spraying, .. }| {
            let echo = match echo {
                CLEAR => Echo::Clear,
                MARKED => Echo::Marked,
                LOST => Echo::Lost,
                TIMEOUT => Echo::Timeout,
                _ => return Err(unpause_status::OutOfRange),
            };
            spraying.on_echo(Time::from_ps(now_ps), value, echo);
            Ok(())
        })
    }
}
