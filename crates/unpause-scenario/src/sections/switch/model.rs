//! `[switch] model`: how switches are built, and which keys each model reads. What it does not read has no
//! effect and is refused.

use unpause_sim::config::{
    CioqConfig, Fabric, HostConfig, InputQueuedConfig, PipelineConfig, SwitchConfig, SwitchModel,
};
use unpause_text::error::Checked;

use super::keys::{ModelKey, Switch, lossless};
use super::{balancing, cells, cioq, input_queued, pipeline, trimming, watchdog};
use crate::sections::link::{self, Link};
use crate::sections::pfc::{self, Pfc, PfcDefaults};
use crate::text::keys::set;

/// The switches, but for how their ports share priorities.
pub(crate) fn switch(
    file: &Switch,
    (link, pfc): (&Link, &Pfc),
    host: &HostConfig,
) -> Checked<SwitchConfig> {
    let mut switch = SwitchConfig {
        lossless: lossless(file, host)?,
        cbfc: link::cbfc(link),
        retry: link::retry(link),
        balancing: balancing::balancing(
            &file.balancing,
            (&file.balancing_min, &file.balancing_max),
            &file.flowlet_gap,
        )?,
        ..SwitchConfig::default()
    };
    match file.model.value().0 {
        ModelKey::SharedBuffer => shared_buffer(file, pfc, host, &mut switch)?,
        ModelKey::Pipeline => {
            let config = match file.pipeline.value() {
                Some(table) => pipeline::config(table)?,
                None => PipelineConfig::default(),
            };
            switch.model = SwitchModel::Pipeline(config);
        }
        ModelKey::Cioq => {
            let config = match file.cioq.value() {
                Some(table) => cioq::config(table)?,
                None => CioqConfig::default(),
            };
            switch.model = SwitchModel::Cioq(config);
            input_buffers(pfc, &cioq::PFC, host, &mut switch)?;
        }
        ModelKey::InputQueued => {
            let config = match file.input_queued.value() {
                Some(table) => input_queued::config(table)?,
                None => InputQueuedConfig::default(),
            };
            switch.model = SwitchModel::InputQueued(config);
            input_buffers(pfc, &SHARED_BUFFER, host, &mut switch)?;
        }
    }
    switch.nvlink_drops = *file.nvlink_drops.value();
    if file.cut_through.get().is_some() {
        set(
            "cut_through",
            &file.cut_through,
            switch.cut_through_bytes.insert(0),
        )?;
    }
    if switch.lossless != 0 && switch.cbfc.is_none() {
        if matches!(switch.model, SwitchModel::Pipeline(_)) {
            switch.pfc.params = pfc::mode_by_time(pfc)?;
        }
        pfc::pause(pfc, &mut switch.pfc)?;
        switch.watchdog = watchdog::watchdog(&file.watchdog)?;
    }
    if frames_wait_at_outputs(&switch) {
        if let Some(packets) = file.lossy_queue_packets.value() {
            switch.lossy_queue_packets = Some(*packets);
            // Packets alone limit the queue unless bytes are said, too.
            if file.lossy_queue.peek().is_none() {
                switch.lossy_queue_bytes = u64::MAX;
            }
        }
        set("queueing", &file.queueing, &mut switch.queueing)?;
    }
    switch.trimming = trimming::trimming(&file.trimming, switch.lossy_queue_bytes);
    Ok(switch)
}

/// XOFF of the PCN paper.
const SHARED_BUFFER: PfcDefaults = PfcDefaults {
    xoff_bytes: 512_000,
    xon_bytes: None,
};

fn shared_buffer(
    file: &Switch,
    pfc: &Pfc,
    host: &HostConfig,
    switch: &mut SwitchConfig,
) -> Checked<()> {
    switch.buffer_bytes = file.buffer.value().map(|size| size.0);
    set(
        "lossy_queue",
        &file.lossy_queue,
        &mut switch.lossy_queue_bytes,
    )?;
    if let Some(alpha) = file.lossy_alpha.get() {
        switch.lossy_shift = Some(pfc::shift_of("lossy_alpha", alpha)?);
    }
    if switch.lossless == 0 || switch.cbfc.is_some() {
        return Ok(());
    }
    switch.pfc.params = pfc::mode(pfc);
    pfc::headroom(pfc, &mut switch.pfc)?;
    if !pfc::dynamic(pfc, host, &mut switch.pfc)? {
        switch.pfc.threshold = pfc::fixed(pfc, &SHARED_BUFFER, host)?;
    }
    Ok(())
}

/// PFC of buffers that each priority of an input has to itself.
fn input_buffers(
    pfc: &Pfc,
    defaults: &PfcDefaults,
    host: &HostConfig,
    switch: &mut SwitchConfig,
) -> Checked<()> {
    if switch.lossless != 0 {
        switch.pfc.params = pfc::mode(pfc);
        switch.pfc.threshold = pfc::fixed(pfc, defaults, host)?;
    }
    Ok(())
}

/// True if what ports do with frames that wait has an effect.
pub(crate) fn frames_wait_at_outputs(switch: &SwitchConfig) -> bool {
    match &switch.model {
        SwitchModel::InputQueued(config) => config.speedup_percent > 100,
        _ => true,
    }
}

/// True if packets that wait for one another in a cycle can be looked for.
pub(crate) fn can_deadlock(switch: &SwitchConfig) -> bool {
    switch.lossless != 0 && !matches!(switch.model, SwitchModel::Cioq(_))
}

/// A note for users about the buffers.
pub(crate) fn note(fabric: &Fabric, switch: &SwitchConfig, host: &HostConfig) -> Option<String> {
    let input_buffer = match &switch.model {
        SwitchModel::SharedBuffer | SwitchModel::Pipeline(_) => return None,
        SwitchModel::Cioq(config) => config.input_buffer_bytes,
        SwitchModel::InputQueued(config) => config.input_buffer_bytes,
    };
    cells::note(input_buffer, fabric, switch, host)
}
