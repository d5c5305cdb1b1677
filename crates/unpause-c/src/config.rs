//! Which mechanism, with which parameters.

use core::ffi::{CStr, c_char};
use core::ptr::null;

use unpause_protocols::by_name::{Kind, Parameter};

pub(crate) use unpause_protocols::by_name::Config;

use crate::status::{guard, room, unpause_status};
use crate::storage::{Storage, change, create, look};

/// A kind of mechanism.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum unpause_kind {
    /// Marks, drops or reports packets at a switch queue.
    CongestionPoint,
    /// Feedback from the receiver of a flow to its sender.
    NotificationPoint,
    /// How the sender of a flow sets its rate and its window.
    CongestionControl,
    /// Who may transmit at all: PFC.
    FlowControl,
    /// The path of each packet of a flow.
    Spraying,
    /// How the sender of a sprayed flow sets its window: NSCC.
    SprayedWindow,
}

/// The mechanism of a kind, an `unpause_kind`, for whose name `is` holds.
fn find(
    kind: u32,
    is: impl FnMut(&CStr) -> bool,
) -> Result<(&'static CStr, Config), unpause_status> {
    let kind = *Kind::ALL
        .get(kind as usize)
        .ok_or(unpause_status::OutOfRange)?;
    Config::find(kind, is).ok_or(unpause_status::UnknownMechanism)
}

/// A mechanism with its parameters.
#[repr(C)]
pub struct unpause_config {
    opaque: [u64; 16],
}

/// Describes a parameter. Its strings stay valid.
#[repr(C)]
pub struct unpause_parameter {
    /// As `unpause_config_set` takes it.
    pub name: *const c_char,
    /// Unit of its value: "ps", "bit/s", "bytes", "2^-32", "1"; or "choice".
    pub unit: *const c_char,
    /// Its value; 0 if it is not set.
    pub value: u64,
    /// False while another parameter is set that stands for the same.
    pub is_set: bool,
}

impl Storage for unpause_config {
    type State = Config;
    const MAGIC: u64 = 0x756e_7061_7573_6501;
}

/// # Safety
/// As the crate says.
unsafe fn text<'a>(string: *const c_char) -> Result<&'a CStr, unpause_status> {
    if string.is_null() {
        return Err(unpause_status::NullPointer);
    }
    // SAFETY: it is not null, and ends with a zero, as the crate asks for.
    Ok(unsafe { CStr::from_ptr(string) })
}

/// Name of mechanism `index` of a kind, counted from 0; null beyond the last. `kind` is an `unpause_kind`.
#[unsafe(no_mangle)]
pub extern "C" fn unpause_mechanism_name(kind: u32, index: u32) -> *const c_char {
    let mut at = 0;
    let found = find(kind, |_| {
        at += 1;
        at > index
    });
    found.map_or(null(), |(name, _)| name.as_ptr())
}

/// Chooses a mechanism, "pcn" say, with its default parameters. `kind` is an `unpause_kind`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unpause_config_create(
    config: *mut unpause_config,
    kind: u32,
    mechanism: *const c_char,
) -> unpause_status {
    let state = || {
        // SAFETY: `mechanism` is as the crate requires; `text` requires no more.
        let mechanism = unsafe { text(mechanism)? };
        find(kind, |name| name == mechanism).map(|(_, config)| config)
    };
    // SAFETY: `config` is as the crate requires; `create` requires no more.
    unsafe { create(config, state) }
}

/// Sets a parameter, named as in the mechanism's source and in scenario files, in its unit.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unpause_config_set(
    config: *mut unpause_config,
    parameter: *const c_char,
    value: u64,
) -> unpause_status {
    // SAFETY: `config` and `parameter` are as the crate requires; `change` and `text` require no more.
    unsafe {
        change(config, |config| {
            let wanted = text(parameter)?;
            let set = |it: Parameter<'_>| {
                (it.set)(value)
                    .then_some(())
                    .ok_or(unpause_status::OutOfRange)
            };
            config
                .parameter(|name| name == wanted, set)
                .unwrap_or(Err(unpause_status::UnknownParameter))
        })
    }
}

/// Sets a parameter that is a choice, by name: "mark_basis" to "enqueue-before", say.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unpause_config_choose(
    config: *mut unpause_config,
    parameter: *const c_char,
    choice: *const c_char,
) -> unpause_status {
    // SAFETY: `config`, `parameter` and `choice` are as the crate requires; `change` and `text` require no more.
    unsafe {
        change(config, |config| {
            let (wanted, choice) = (text(parameter)?, text(choice)?);
            let choose = |it: Parameter<'_>| {
                let number = it.choices.iter().position(|name| *name == choice);
                number
                    .filter(|number| (it.set)(*number as u64))
                    .ok_or(unpause_status::OutOfRange)
            };
            config
                .parameter(|name| name == wanted, choose)
                .unwrap_or(Err(unpause_status::UnknownParameter))
                .map(|_| ())
        })
    }
}

/// Says what parameter `index` is, counted from 0; `UNPAUSE_STATUS_UNKNOWN_PARAMETER` beyond the last.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unpause_config_parameter(
    config: *const unpause_config,
    index: u32,
    parameter: *mut unpause_parameter,
) -> unpause_status {
    guard(|| {
        // SAFETY: `config` and `parameter` are as the crate requires; `look` and `room` require no more.
        let (mut config, out) = unsafe { (look(config)?.clone(), room(parameter)?) };
        let found = config.parameter(nth(index), |it| unpause_parameter {
            name: it.name.as_ptr(),
            unit: it.unit.as_ptr(),
            value: it.value.unwrap_or(0),
            is_set: it.value.is_some(),
        });
        let found = found.ok_or(unpause_status::UnknownParameter)?;
        out.write(found);
        Ok(())
    })
}

/// Name of the value `choice` of parameter `index`, as `unpause_config_choose` takes it; null beyond the
/// last, and of a parameter that is no choice.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unpause_config_choice_name(
    config: *const unpause_config,
    index: u32,
    choice: u32,
) -> *const c_char {
    let mut found = null();
    // The null pointer reports the error already.
    let _ = guard(|| {
        // SAFETY: `config` is as the crate requires; `look` requires no more.
        let mut config = unsafe { look(config)? }.clone();
        let asked = config.parameter(nth(index), |it| {
            let name = it.choices.get(choice as usize);
            name.map_or(null(), |name| name.as_ptr())
        });
        found = asked.ok_or(unpause_status::UnknownParameter)?;
        Ok(())
    });
    found
}

/// Finds number `index` of what it is asked for.
fn nth(index: u32) -> impl FnMut(&CStr) -> bool {
    let mut asked = 0;
    move |_| {
        asked += 1;
        asked == u64::from(index) + 1
    }
}
