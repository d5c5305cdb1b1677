//! A scenario that compares a suggestion with the defaults: an incast of which one flow crosses a link, beside it on that
//! link a flow that has nothing to do with it, as in Fig. 2 of the PCN paper.

use std::path::Path;

use unpause_protocols::units::{Rate, Time};
use unpause_scenario::{Error, Scenario};
use unpause_sim::config::HostConfig;

use super::lines::wrong;

/// The parts in which comparisons differ.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// The command that makes it, and what its scenario is about.
    pub command: &'static str,
    pub title: &'static str,
    /// Of every link.
    pub rate: Rate,
    pub delay: Time,
    /// Largest frame, bytes; that of the default payload if none.
    pub frame: Option<u64>,
    /// Hosts that send to one, at least two.
    pub senders: u16,
    /// When the run ends.
    pub duration: Time,
    /// Tables `[switch]` and `[pfc]`, and `[[scheme]]`.
    pub switches: String,
    pub schemes: String,
}

/// The incast lasts so long at the receiver's rate,
const BURST: Time = Time::from_ms(1);
/// and starts here.
const START: Time = Time::from_us(200);
/// Enough for it, its recovery and a few hundred round trips of a data centre.
pub const DURATION: Time = Time::from_ms(5);

impl Comparison {
    /// The scenario, to be written to `path`; it can be run.
    pub fn text(&self, path: &Path) -> Result<String, Error> {
        let text = format!(
            "# Written by `unpause suggest {command}`: a0 and {local} neighbours of b0 send to b0 at once. The bystander\n\
             # shares the link between the switches with a0, but not the congested one to b0.\n\
             title = \"{title}\"\n\
             duration = \"{duration}\"\n\
             \n\
             [topology]\n\
             builder = \"two-switch\"\n\
             left = [\"a0\", \"a1\"]\n\
             right = [\"b0..b{senders}\"]\n\
             rate = \"{rate}\"\n\
             delay = \"{delay}\"\n\
             \n\
             {payload}{switches}{schemes}\
             [[traffic]]\n\
             name = \"incast\"\n\
             kind = \"burst\"\n\
             from = [\"a0\", \"b2..b{senders}\"]\n\
             to = \"b0\"\n\
             size = \"{size}B\"\n\
             start = \"{START}\"\n\
             \n\
             [[traffic]]\n\
             name = \"bystander\"\n\
             kind = \"flow\"\n\
             from = \"a1\"\n\
             to = \"b1\"\n\
             watch = true\n\
             \n\
             [probes]\n\
             causes = true\n",
            command = self.command,
            senders = self.senders,
            local = self.senders - 1,
            title = self.title,
            duration = self.duration,
            rate = self.rate,
            delay = self.delay,
            payload = self.payload(),
            switches = self.switches,
            schemes = self.schemes,
            size = (self.rate.bytes_in(BURST) / u64::from(self.senders)).max(1),
        );
        // What is written must run.
        match Scenario::parse(&text, path) {
            Ok(_) => Ok(text),
            Err(error) => Err(wrong(
                format!("the comparison would not run: {error}"),
                "omit --write, or change the option that decides this value",
            )),
        }
    }

    /// `[host]`, if frames have a size of their own: 64 bytes or more, and RoCE's headers are fewer.
    fn payload(&self) -> String {
        let headers = u64::from(HostConfig::default().header_bytes);
        self.frame.map_or(String::new(), |frame| {
            let payload = frame.saturating_sub(headers);
            format!("[host]\npayload = \"{payload}B\"\n\n")
        })
    }
}
