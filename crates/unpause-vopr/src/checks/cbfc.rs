//! Credits: nothing is lost, no port is paused, and no buffer holds more than its credits.

use unpause_protocols::units::Time;
use unpause_sim::config::Config;
use unpause_sim::results::Results;

use super::facts::{Answer, is_host, largest, ports};

/// Properties of the lossless priorities of links with credits; without credits no port waits for any.
pub fn cbfc(config: &Config, results: &Results) -> Answer {
    let credits = &config.switch.cbfc;
    let links = ports(config);
    for row in &results.ports {
        let place = (row.node, row.port, row.priority);
        let lossless = config.switch.lossless >> row.priority & 1 == 1;
        if credits.is_none() || !lossless {
            if row.credit_wait == Time::ZERO {
                continue;
            } else {
                return Err(format!("{place:?} waited for credits that there are not"));
            }
        }
        if row.headroom_dropped_packets > 0 || row.pause_frames > 0 || row.paused > Time::ZERO {
            return Err(format!(
                "{place:?} drops or pauses although links have credits"
            ));
        }
        let buffer = credits.as_ref().and_then(|credit| credit.buffer_bytes);
        if let Some(buffer) = buffer.filter(|_| !is_host(config, row.node))
            && row.max_ingress_bytes > buffer
        {
            let held = row.max_ingress_bytes;
            return Err(format!(
                "{place:?} held {held} B, there were credits for {buffer} B"
            ));
        }
        let link = links
            .iter()
            .find(|link| (link.node, link.number) == (row.node, row.port));
        let sent = link.map_or(Time::ZERO, |link| {
            link.speed
                .time_for(row.tx_bytes.saturating_sub(largest(config)))
        });
        if row.credit_wait + sent > results.totals.simulated {
            let waited = row.credit_wait;
            return Err(format!("{place:?} waited for {waited} and sent for {sent}"));
        }
    }
    if credits.is_some() && !results.pauses.is_empty() {
        Err("a PAUSE where links have credits".into())
    } else {
        Ok(())
    }
}
