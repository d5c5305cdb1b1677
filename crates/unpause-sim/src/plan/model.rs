//! Requirements of the switch models.

use unpause_protocols::flow_control::capfc::Stop;
use unpause_protocols::units::{LinkSpeed, Time};

use crate::config::invalid::{Invalid, Subject, bytes};
use crate::config::{
    CioqConfig, Config, FullQueue, InputQueuedConfig, InputQueues, MOST_CROSSBAR_PORTS, Memory,
    PfcThreshold, PipelineConfig, SpinesConfig, SwitchModel,
};
use crate::fabric::{Link, NodeId, NodeKind, check_rate};

/// Checks what the switch model needs of a configuration.
pub(super) fn check(config: &Config, links_of: &[u32]) -> Result<(), Invalid> {
    cut_through(config)?;
    nvswitches(config)?;
    match &config.switch.model {
        SwitchModel::SharedBuffer => Ok(()),
        SwitchModel::Pipeline(model) => pipeline(config, model),
        SwitchModel::Cioq(model) => cioq(config, model),
        SwitchModel::InputQueued(model) => input_queued(config, model, links_of),
    }
}

/// NVSwitches are switches, and admit packets into a shared buffer.
fn nvswitches(config: &Config) -> Result<(), Invalid> {
    const FIELD: &str = "fabric.nvswitches";
    let (kinds, all) = (&config.fabric.nodes, &config.fabric.nvswitches);
    let is_switch = |node: &NodeId| kinds.get(*node as usize) == Some(&NodeKind::Switch);
    if !all.is_sorted_by(|a, b| a < b) || !all.iter().all(is_switch) {
        let message = "NVSwitches are not switches in ascending order";
        return Err(Invalid::new(FIELD, message));
    }
    if all.is_empty() && config.switch.nvlink_drops {
        let invalid = Invalid::new("switch.nvlink_drops", "`nvlink_drops` has no effect");
        return Err(invalid
            .label("this fabric has no NVSwitches")
            .help("remove it, or set nvlink_rate in [topology]"));
    }
    if all.is_empty() || config.switch.model == SwitchModel::SharedBuffer {
        return Ok(());
    }
    let message = "NVSwitches have a shared buffer, and no other model";
    Err(Invalid::new("switch.model", message)
        .label("of every switch")
        .and(FIELD, "this fabric has NVSwitches")
        .help("remove it, or leave the NVSwitches out"))
}

/// Cut-through has a part of a frame wait for the rest.
fn cut_through(config: &Config) -> Result<(), Invalid> {
    const FIELD: &str = "switch.cut_through_bytes";
    const STORE: &str = "without the key switches store and forward";
    let Some(header) = config.switch.cut_through_bytes else {
        return Ok(());
    };
    if header == 0 {
        let zero = Invalid::zero(FIELD)
            .label("a switch cannot forward a frame before any of it has arrived");
        return Err(zero.help(format!(
            "set 64B, or the size of the header that switches need; {STORE}"
        )));
    }
    if u64::from(header) >= frame(config) {
        let message = "`cut_through` is not less than a frame";
        let help = format!("frames have up to {}; {STORE}", bytes(frame(config)));
        return Err(Invalid::new(FIELD, message)
            .label(bytes(header.into()))
            .help(help));
    }
    if matches!(config.switch.model, SwitchModel::InputQueued(_)) {
        let message = "input-queued switches store and forward";
        return Err(Invalid::new(FIELD, message)
            .label("cut-through")
            .and(
                "switch.model",
                "its crossbar carries whole frames, cell by cell",
            )
            .help("remove it, or choose another model"));
    }
    Ok(())
}

/// Bytes of the largest frame, without framing.
fn frame(config: &Config) -> u64 {
    config.largest_frame_bytes().into()
}

/// `low` is at most `high`.
fn ordered(low: (&'static str, u64), high: (&'static str, u64)) -> Result<(), Invalid> {
    if low.1 <= high.1 {
        Ok(())
    } else {
        Err(Invalid::above(low, high))
    }
}

/// A buffer that must hold a frame.
fn holds(field: &'static str, buffer: u64, frame: u64) -> Result<(), Invalid> {
    if buffer >= frame {
        return Ok(());
    }
    Err(holds_none(field, buffer, frame))
}

fn holds_none(field: &'static str, buffer: u64, frame: u64) -> Invalid {
    let name = field.rsplit('.').next().unwrap_or(field);
    let name = name.strip_suffix("_bytes").unwrap_or(name);
    let invalid = Invalid::new(field, format!("`{name}` does not hold a frame"));
    let help = format!("a frame has up to {}", bytes(frame));
    invalid.label(bytes(buffer)).help(help)
}

fn pipeline(config: &Config, model: &PipelineConfig) -> Result<(), Invalid> {
    const IN_XOFF: &str = "switch.pipeline.ingress_xoff";
    const OUT_XOFF: &str = "switch.pipeline.egress_xoff";
    let mtu = frame(config) + u64::from(config.fabric.framing_bytes);
    if !(1..=1_000_000_000_000).contains(&model.packets_per_second) {
        let field = "switch.pipeline.packets_per_second";
        let invalid = Invalid::new(field, "`packets_per_second` must be from 1 to 10^12");
        return Err(invalid.label("the processor's speed, for the whole switch"));
    }
    if let FullQueue::Capfc(egress) = model.full_queue {
        if let Stop::Calibrate { cut } = egress.stop
            && cut.as_q32() == 0
        {
            let invalid = Invalid::new("switch.pipeline.cut", "`cut` must be above 0");
            return Err(invalid
                .label("the share of packets whose inputs are marked")
                .help("1 marks every input that has sent to the queue; the paper has 0.8"));
        }
        let xoff = (OUT_XOFF, egress.xoff);
        ordered(("switch.pipeline.egress_xon", egress.xon), xoff)?;
        ordered(("switch.pipeline.egress_warn", egress.warn), xoff)?;
    }
    let xoff = (IN_XOFF, model.ingress.xoff);
    ordered(("switch.pipeline.ingress_xon", model.ingress.xon), xoff)?;
    match model.memory {
        Memory::Dedicated {
            ingress_bytes,
            egress_bytes,
        } => {
            ordered(xoff, ("switch.pipeline.ingress_max", ingress_bytes))?;
            // A queue stays below it.
            if egress_bytes <= mtu {
                let field = "switch.pipeline.egress_max";
                return Err(holds_none(field, egress_bytes, mtu));
            }
        }
        Memory::Shared { pool_bytes, .. } => {
            holds("switch.pipeline.shared.pool", pool_bytes, mtu)?;
        }
    }
    Ok(())
}

/// The largest number of hosts: the fabric keeps a queue for each pair of them.
const MOST_HOSTS: usize = 2048;

/// XOFF, which must not depend on a buffer that is shared.
fn static_xoff(config: &Config) -> Result<u64, Invalid> {
    match config.switch.pfc.threshold {
        PfcThreshold::Static { xoff_bytes, .. } => Ok(xoff_bytes),
        PfcThreshold::Dynamic { .. } | PfcThreshold::Reserved { .. } => Err(Invalid::new(
            "switch.pfc.dynamic_shift",
            "input buffers are not shared",
        )),
    }
}

/// Fields and settings that models with cells and input buffers have in common.
struct Cells {
    cell: (&'static str, u32),
    speedup: (&'static str, u32),
    input_buffer: (&'static str, u64),
    output_buffer: (&'static str, u64),
}

impl Cells {
    /// Room for a frame, and for what comes after XOFF where PAUSE is sent.
    fn check(&self, config: &Config) -> Result<(), Invalid> {
        let frame = frame(config);
        if !(1..=1 << 16).contains(&self.cell.1) {
            let invalid = Invalid::new(self.cell.0, "`cell` must be from 1B to 64KiB");
            return Err(invalid.label(bytes(self.cell.1.into())));
        }
        if !(100..=100_000).contains(&self.speedup.1) {
            let invalid = Invalid::new(self.speedup.0, "`speedup` must be from 1 to 1000");
            return Err(invalid.label("a multiple of the rate of a link"));
        }
        holds(self.output_buffer.0, self.output_buffer.1, frame)?;
        holds(self.input_buffer.0, self.input_buffer.1, frame)?;
        let xoff = static_xoff(config)?;
        let whole = frame.div_ceil(self.cell.1.into()) * u64::from(self.cell.1);
        let (field, buffer) = self.input_buffer;
        if config.switch.lossless != 0 && buffer < xoff + whole {
            let message = "`input_buffer` overflows before PAUSE takes effect";
            let invalid = Invalid::new(field, message);
            return Err(invalid
                .label(format!("{} for a priority of a port", bytes(buffer)))
                .and("switch.pfc.xoff", format!("PAUSE above {}", bytes(xoff)))
                .help(format!(
                    "XOFF and a frame of {} must fit: raise `input_buffer`, or lower `xoff`",
                    bytes(frame)
                )));
        }
        Ok(())
    }
}

/// Checks that no crossbar has more ports than its arbiters can hold.
fn crossbar_ports(config: &Config, links_of: &[u32]) -> Result<(), Invalid> {
    let mut ports = (0..).zip(config.fabric.nodes.iter().zip(links_of));
    let is_too_large = |&(_, (kind, links)): &(NodeId, (&NodeKind, &u32))| {
        *kind == NodeKind::Switch && *links as usize > MOST_CROSSBAR_PORTS
    };
    let Some((node, (_, links))) = ports.find(is_too_large) else {
        return Ok(());
    };
    let message = format!("has {links} ports, a crossbar at most {MOST_CROSSBAR_PORTS}");
    let invalid = Invalid::new("switch.model", message).of(Subject::Switch(node));
    Err(invalid.help("choose another topology, or model = \"shared-buffer\""))
}

fn input_queued(
    config: &Config,
    model: &InputQueuedConfig,
    links_of: &[u32],
) -> Result<(), Invalid> {
    crossbar_ports(config, links_of)?;
    if model.queues == (InputQueues::Voq { iterations: 0 }) {
        let zero = Invalid::zero("switch.input_queued.iterations");
        return Err(zero.label("nothing would ever be matched"));
    }
    let cells = Cells {
        cell: ("switch.input_queued.cell", model.cell_bytes),
        speedup: ("switch.input_queued.speedup", model.speedup_percent),
        input_buffer: ("switch.input_queued.input_buffer", model.input_buffer_bytes),
        output_buffer: (
            "switch.input_queued.output_buffer",
            model.output_buffer_bytes,
        ),
    };
    cells.check(config)?;
    let links = config.fabric.links.iter();
    let fastest = links.filter_map(|link| LinkSpeed::of(link.rate)).max();
    if fastest.is_some_and(|speed| model.slot(speed) == Time::ZERO) {
        let invalid = Invalid::new(cells.speedup.0, "a slot is shorter than a picosecond");
        return Err(invalid.and(cells.cell.0, "a cell takes a slot"));
    }
    Ok(())
}

/// Checks what a CIOQ fabric needs of a configuration.
fn cioq(config: &Config, model: &CioqConfig) -> Result<(), Invalid> {
    let is_switch = |node: NodeId| config.fabric.nodes[node as usize] == NodeKind::Switch;
    let inner = |link: &Link| is_switch(link.a) && is_switch(link.b);
    if config.fabric.links.iter().any(inner) {
        let invalid = Invalid::new("switch.model", "links between cioq switches");
        return Err(invalid
            .label("one such switch is a whole fabric, with leaves and spines inside")
            .help("use [topology] builder = \"single-switch\", and switch.cioq.spines for a fabric inside"));
    }
    let is_host = |kind: &&NodeKind| **kind == NodeKind::Host;
    if config.fabric.nodes.iter().filter(is_host).count() > MOST_HOSTS {
        let message = format!("a cioq switch has at most {MOST_HOSTS} hosts");
        return Err(Invalid::new("fabric.nodes", message));
    }
    if model.latency == Time::ZERO {
        return Err(Invalid::zero("switch.cioq.latency").label("must be above zero"));
    }
    if let Some(model) = &model.spines {
        spines(model)?;
    }
    let cells = Cells {
        cell: ("switch.cioq.cell", model.cell_bytes),
        speedup: ("switch.cioq.speedup", model.speedup_percent),
        input_buffer: ("switch.cioq.input_buffer", model.input_buffer_bytes),
        output_buffer: ("switch.cioq.output_buffer", model.output_buffer_bytes),
    };
    cells.check(config)
}

fn spines(model: &SpinesConfig) -> Result<(), Invalid> {
    for (field, number) in [
        ("switch.cioq.spines", model.count),
        ("switch.cioq.hosts_per_leaf", model.hosts_per_leaf),
        ("switch.cioq.spine_cells", model.buffer_cells),
    ] {
        if number == 0 {
            return Err(Invalid::zero(field).label("must be 1 or more"));
        }
    }
    if let Err(why) = check_rate(model.rate) {
        let invalid = Invalid::new("switch.cioq.spine_rate", why);
        return Err(invalid.label("links inside the fabric"));
    }
    Ok(())
}
