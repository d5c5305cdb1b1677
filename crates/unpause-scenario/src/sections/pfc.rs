//! `[pfc]`.

use serde_spanned::Spanned;
use unpause_protocols::flow_control::pfc;
use unpause_protocols::names::Names;
use unpause_sim::config::{HostConfig, MOST_ALPHA_SHIFT, PfcConfig, PfcThreshold};
use unpause_text::error::{Checked, Problem};
use unpause_text::quantity::{Duration, Ratio, Size};

use crate::text::by_rate::{ByRate, NumberByRate, Rated, SizeByRate};
use crate::text::checks::both;
use crate::text::keys::{Keys, Param, WithDefault, Written, set};
use crate::text::kind::OneOf;

/// `[pfc]`
#[derive(Keys)]
#[keys("pfc", sets = PfcConfig)]
pub(crate) struct Pfc {
    /// PAUSE above this
    #[key(unset = "`\"512KB\"`; in a CIOQ fabric `\"110KB\"`", from = "PCN; Qhigh of QCN at inputs", idle = OWN)]
    pub(crate) xoff: Written<Size>,
    /// resume at or below this
    #[key(unset = "two frames below `xoff`; in a CIOQ fabric `\"44KB\"`", from = "our reading of PCN; Qlow of QCN at inputs", idle = OWN)]
    pub(crate) xon: Written<Size>,
    /// instead of `xon`: resume this far below `xoff`
    #[key(unset = "two frames", idle = OWN)]
    pub(crate) xon_gap: Written<Size>,
    /// instead of `xoff`: the threshold is the free shared buffer divided by 2 to the power of this; 3 is one eighth, as in HPCC's simulator at ports as fast as hosts; `{ "10Gbps" = 3, "40Gbps" = 1 }` by link rate
    #[key(idle = ("the buffers of this switch model are not shared", "remove it, or choose model = \"shared-buffer\"; `xoff` and `xon` are thresholds of each input buffer"))]
    pub(crate) dynamic_shift: Written<NumberByRate>,
    /// instead of `dynamic_shift`: the threshold is the free shared buffer times this, a power of two from 1/256 to 256; SONiC's `dynamic_th` is its exponent. Above 1, a port may also take all free memory: a packet that finds none goes to headroom and sends PAUSE
    #[key(idle = ("the buffers of this switch model are not shared", "remove it, or choose model = \"shared-buffer\"; `xoff` and `xon` are thresholds of each input buffer"))]
    pub(crate) alpha: Written<Ratio>,
    /// with `dynamic_shift` or `alpha`: memory reserved for each lossless (port, priority), used before shared memory. Switches then count as in HPCC's simulator: PAUSE at the threshold, not above it, and headroom takes everything that would exceed it, whether PAUSE was sent or not
    #[key(idle = ("only a threshold on shared memory has it", "set `dynamic_shift` or `alpha`, or remove it"))]
    pub(crate) reserve: Written<Size>,
    /// buffer for data that arrive after XOFF, for each port or by link rate. With `dynamic_shift` or `alpha`, switches add room for a frame, the one that crosses XOFF, to the default and to what is written here; with a `reserve` to the default only
    #[key(unset = "by the formula of 802.1Q for each link", idle = ("in this switch model, the input buffer beyond XOFF is the headroom", "remove it, or choose model = \"shared-buffer\""))]
    pub(crate) headroom: Written<SizeByRate>,
    /// headroom shared by all ports of a switch, of which each port may use up to `headroom`. SONiC's shared headroom pool (`xoff` of `BUFFER_POOL`)
    #[key(unset = "enough for all ports", idle = ("in this switch model, the input buffer beyond XOFF is the headroom", "remove it, or choose model = \"shared-buffer\""))]
    pub(crate) headroom_pool: Written<Size>,
    /// instead of `headroom`, and with the same frame added: the bytes that the link carries in this many link delays; 3 in HPCC's simulator
    #[key(idle = ("in this switch model, the input buffer beyond XOFF is the headroom", "remove it, or choose model = \"shared-buffer\""))]
    pub(crate) headroom_delays: Written<u32>,
    /// delay from the arrival of a PAUSE until the transmitter obeys it
    pub(crate) reaction: Param<Duration>,
    /// how PAUSE is repeated and counted, [explained here](mechanisms.md#pause-three-ways-to-count)
    pub(crate) mode: WithDefault<OneOf<PfcMode>>,
    /// duration that a PAUSE requests, in units of 512 bit times
    #[key(unset = "65535; with `\"ns3-rdma\"` `pause_time` = `\"5us\"`", from = "the largest value of a frame; ns3-rdma", idle = FOR_EVER)]
    pub(crate) pause_quanta: Written<u16>,
    /// the same as a time; only one of the two
    #[key(idle = FOR_EVER)]
    pub(crate) pause_time: Written<Duration>,
}

const FOR_EVER: (&str, &str) = (
    "a PAUSE lasts until XON",
    "remove it, or choose mode = \"standard\"",
);
const OWN: (&str, &str) = (
    "this switch model has thresholds of its own",
    "thresholds and sizes of model = \"pipeline\" are in [switch.pipeline]",
);

/// How PAUSE frames are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Names)]
pub(crate) enum PfcMode {
    Standard,
    Ns3Rdma,
    UntilXon,
    Once,
}

/// XOFF and XON where they are not set.
pub(crate) struct PfcDefaults {
    pub xoff_bytes: u64,
    /// Two frames below XOFF if none.
    pub xon_bytes: Option<u64>,
}

/// The settings of every switch model with PFC: when transmitters obey, and how long a PAUSE lasts.
pub(crate) fn pause(file: &Pfc, config: &mut PfcConfig) -> Checked<()> {
    use crate::text::keys::Keys;
    file.apply(config)?;
    if config.params.mode == pfc::PauseMode::UntilXon {
        // Keys of pause times are not read.
        return Ok(());
    }
    match (file.pause_time.get(), file.pause_quanta.get()) {
        (Some(time), Some(quanta)) => return both("pause_time", time, "pause_quanta", quanta),
        (Some(time), None) => {
            config.params.pause_time = pfc::PauseTime::Absolute(time.get_ref().0);
        }
        (None, Some(quanta)) => {
            config.params.pause_time = pfc::PauseTime::Quanta(*quanta.get_ref());
        }
        (None, None) => {}
    }
    Ok(())
}

/// How PAUSE is repeated, with what it asks for if that is not said.
pub(crate) fn mode(file: &Pfc) -> pfc::Params {
    match file.mode.value().0 {
        PfcMode::Standard => pfc::Params::default(),
        PfcMode::Ns3Rdma => pfc::Params::ns3_rdma(),
        PfcMode::UntilXon => pfc::Params::until_xon(),
        PfcMode::Once => pfc::Params {
            mode: pfc::PauseMode::Once,
            ..pfc::Params::default()
        },
    }
}

/// The same where no arrival repeats a PAUSE.
pub(crate) fn mode_by_time(file: &Pfc) -> Checked<pfc::Params> {
    let params = mode(file);
    match file.mode.get() {
        Some(written) if params.mode == pfc::PauseMode::Ns3Rdma => {
            Problem::new("a pipelined switch does not repeat PAUSE for arrivals")
                .at(written.span(), "\"ns3-rdma\" does")
                .help("set mode = \"standard\", \"until-xon\" or \"once\", or remove it")
                .err()
        }
        _ => Ok(params),
    }
}

/// Bytes of two frames.
pub(crate) fn two_frames(host: &HostConfig) -> u64 {
    2 * (u64::from(host.payload_bytes) + u64::from(host.header_bytes))
}

/// Sets a threshold on shared memory, if the file says so; answers whether it does.
pub(crate) fn dynamic(file: &Pfc, host: &HostConfig, config: &mut PfcConfig) -> Checked<bool> {
    let (name, span) = match (file.dynamic_shift.get(), file.alpha.get()) {
        (Some(shift), Some(alpha)) => return both("dynamic_shift", shift, "alpha", alpha),
        (Some(shift), None) => ("dynamic_shift", shift.span()),
        (None, Some(alpha)) => ("alpha", alpha.span()),
        (None, None) => return Ok(false),
    };
    let written = Spanned::new(span, ());
    if let Some(xoff) = file.xoff.get() {
        return both(name, &written, "xoff", xoff);
    }
    if let Some(xon) = file.xon.get() {
        return both(name, &written, "xon", xon);
    }
    let mut xon_gap_bytes = two_frames(host);
    set("xon_gap", &file.xon_gap, &mut xon_gap_bytes)?;
    let mut shifts = Rated::default();
    set("dynamic_shift", &file.dynamic_shift, &mut shifts)?;
    let signed = |shift: u32| i32::try_from(shift).unwrap_or(i32::MAX);
    let shift = shifts.each.iter().map(|(_, shift)| *shift).max();
    let shift = match file.alpha.get() {
        Some(alpha) => shift_of("alpha", alpha)?,
        None => signed(shift.unwrap_or(shifts.same)),
    };
    config.shifts = shifts
        .each
        .iter()
        .map(|(rate, it)| (*rate, signed(*it)))
        .collect();
    config.threshold = match file.reserve.value() {
        None => PfcThreshold::Dynamic {
            shift,
            xon_gap_bytes,
        },
        Some(reserve) => PfcThreshold::Reserved {
            shift,
            xon_gap_bytes,
            reserve_bytes: reserve.0,
        },
    };
    Ok(true)
}

/// The shift of a power of two that switches have.
pub(crate) fn shift_of(key: &str, alpha: &Spanned<Ratio>) -> Checked<i32> {
    let Ratio { num, den } = *alpha.get_ref();
    let most = 1 << MOST_ALPHA_SHIFT;
    // A decimal is not in lowest terms.
    let (large, small) = (num.max(den), num.min(den));
    let is_power = small > 0 && large % small == 0 && (large / small).is_power_of_two();
    if !is_power || large / small > most {
        return Problem::new(format!("`{key}` must be a power of two from 1/256 to 256"))
            .at(alpha.span(), format!("this is {}", alpha.get_ref()))
            .help("switches multiply the free buffer by a power of two: \"1/8\", 1, 8")
            .err();
    }
    let power = (large / small).ilog2().cast_signed();
    Ok(if num > den { -power } else { power })
}

/// Sets headroom, if the file says so.
pub(crate) fn headroom(file: &Pfc, config: &mut PfcConfig) -> Checked<()> {
    if let (Some(bytes), Some(delays)) = (file.headroom.get(), file.headroom_delays.get()) {
        return both("headroom", bytes, "headroom_delays", delays);
    }
    config.headroom_delays = file.headroom_delays.value().copied();
    config.headroom_pool_bytes = file.headroom_pool.value().map(|size| size.0);
    match file.headroom.value() {
        None => {}
        Some(ByRate::Same(size)) => config.headroom_bytes = Some(size.0),
        Some(ByRate::Each(sizes)) => {
            config.headrooms = sizes.iter().map(|(rate, size)| (*rate, size.0)).collect();
        }
    }
    Ok(())
}

/// XOFF and XON, the same at all times.
pub(crate) fn fixed(
    file: &Pfc,
    defaults: &PfcDefaults,
    host: &HostConfig,
) -> Checked<PfcThreshold> {
    let mut xoff_bytes = defaults.xoff_bytes;
    set("xoff", &file.xoff, &mut xoff_bytes)?;
    let two_frames_below = xoff_bytes.saturating_sub(two_frames(host));
    let default = defaults.xon_bytes.map(|xon| xon.min(xoff_bytes));
    let xon_bytes = match (file.xon.get(), file.xon_gap.get()) {
        (Some(xon), Some(gap)) => return both("xon", xon, "xon_gap", gap),
        (Some(xon), None) => xon.get_ref().0,
        (None, Some(gap)) => xoff_bytes.saturating_sub(gap.get_ref().0),
        (None, None) => default.unwrap_or(two_frames_below),
    };
    Ok(PfcThreshold::Static {
        xoff_bytes,
        xon_bytes,
    })
}
