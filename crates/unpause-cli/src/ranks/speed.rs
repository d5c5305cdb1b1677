//! Whether more machines make a run faster.

use std::time::{Duration, Instant};

use unpause_scenario::{Beginning, Run, beginning};
use unpause_sim::config::{Config, Skipping};
use unpause_sim::exchange::{PACKET_BYTES, Ranks};
use unpause_sim::shards_of_nodes;

use super::world::World;
use crate::text::{size, time};

/// Exchanges by which their cost is found, with messages of this many bytes: of windows in which little is sent, and
/// in which much is.
const SMALL: (u32, usize) = (400, 100);
const LARGE: (u32, usize) = (100, 100_000);

/// A run is tried for so long: its windows are not the same from beginning to end.
const TRIED: Duration = Duration::from_millis(250);

/// The time of an exchange between ranks, in seconds.
#[derive(Clone, Copy, Debug)]
pub struct ExchangeCost {
    least: f64,
    per_byte: f64,
}

impl ExchangeCost {
    /// Exchanges messages with all ranks, which do the same.
    pub fn measured(world: &World) -> Self {
        let mut buffers = vec![Vec::new(); world.count()];
        let mut measure = |(exchanges, bytes): (u32, usize)| {
            let start = Instant::now();
            for _ in 0..exchanges {
                buffers
                    .iter_mut()
                    .for_each(|buffer| buffer.resize(bytes, 0));
                world.exchange(&mut buffers);
            }
            start.elapsed().as_secs_f64() / f64::from(exchanges)
        };
        // The first find their way.
        measure(LARGE);
        let (least, most) = (measure(SMALL), measure(LARGE));
        Self {
            least,
            per_byte: (most - least).max(0.0) / (LARGE.1 - SMALL.1) as f64,
        }
    }

    fn of(&self, bytes: f64) -> f64 {
        self.least + self.per_byte * bytes
    }
}

/// The expected speed of a run on ranks.
#[derive(Clone, Copy, Debug)]
pub struct Speed {
    ranks: usize,
    /// Of each.
    threads: usize,
    /// Work of a window on one core, in seconds.
    window: f64,
    /// Of the message of a window.
    bytes: f64,
    exchange: ExchangeCost,
}

impl Speed {
    /// By the beginning of the run, one shard after the other on one thread; none if nothing happens in it.
    pub fn of(run: &Run, (ranks, threads): (usize, usize), exchange: ExchangeCost) -> Option<Self> {
        let mut run = run.clone();
        // What is skipped is no work for any number of cores.
        run.config.skipping = Skipping::Never;
        let Beginning {
            packet_hops,
            windows,
            time,
        } = beginning(&run, ranks * threads, TRIED)?;
        let windows = (windows > 0).then_some(windows as f64)?;
        let pairs = (ranks * (ranks - 1)) as f64;
        let sent = packet_hops as f64 / windows * cut(&run.config, ranks, threads);
        Some(Self {
            ranks,
            threads,
            window: time.as_secs_f64() / windows,
            bytes: sent * PACKET_BYTES as f64 / pairs,
            exchange,
        })
    }

    /// How many times as fast as one rank.
    fn factor(&self) -> f64 {
        let alone = self.window / self.threads as f64;
        alone / (alone / self.ranks as f64 + self.exchange.of(self.bytes))
    }

    /// Work of a window from which on these ranks are no slower than one; none if messages alone take longer.
    fn pays_from(&self) -> Option<f64> {
        let saved = (1.0 - 1.0 / self.ranks as f64) / self.threads as f64;
        let messages = self.exchange.per_byte * self.bytes / self.window;
        (saved > messages).then(|| self.exchange.least / (saved - messages))
    }

    pub fn text(&self) -> String {
        let said = |seconds: f64| time(seconds * 1e9);
        let Self { ranks, threads, .. } = self;
        let plural = if *threads == 1 { "" } else { "s" };
        let text = format!(
            "{ranks} ranks of {threads} thread{plural}: a window is about {} of work for one core and {} of messages \
             to each rank, which take {}",
            said(self.window),
            size(self.bytes as u64),
            said(self.exchange.of(self.bytes)),
        );
        let factor = self.factor();
        if factor >= 1.0 {
            return format!("{text}: at most {factor:.1} times as fast as one rank\n");
        }
        let from = self.pays_from().map_or(String::new(), |from| {
            let from = said(from);
            format!("; with more hosts, higher rates or longer links, more ranks pay off if a window has at least {from} of work")
        });
        let slower = 1.0 / factor;
        format!(
            "{text}\nwarning: one rank is {slower:.1} times as fast as these\n   hint: do not use mpirun{from}\n"
        )
    }
}

/// The share of packet-hops that leads from rank to rank, if all links are equally busy.
fn cut(config: &Config, ranks: usize, threads: usize) -> f64 {
    let Ok(shard_of) = shards_of_nodes(config, ranks * threads) else {
        return 0.0;
    };
    let rank = |node: u32| usize::from(shard_of[node as usize]) / threads;
    let (mut cut, mut all) = (0.0, 0.0);
    for link in &config.fabric.links {
        let rate = link.rate.as_bps() as f64;
        all += rate;
        if rank(link.a) != rank(link.b) {
            cut += rate;
        }
    }
    cut / f64::max(all, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Messages are shorter where there is less to do.
    fn speed(ranks: usize, threads: usize, window_us: f64) -> Speed {
        Speed {
            ranks,
            threads,
            window: window_us * 1e-6,
            bytes: 100.0 * window_us,
            exchange: ExchangeCost {
                least: 20e-6,
                per_byte: 1e-9,
            },
        }
    }

    fn near(a: f64, b: f64) -> bool {
        (a / b - 1.0).abs() < 1e-9
    }

    #[test]
    fn more_ranks_pay_where_a_window_is_long_beside_an_exchange() {
        // Its half, an exchange of 20 us, and a tenth of it for its message.
        assert!(near(speed(2, 1, 100.0).factor(), 100.0 / 80.0));
        assert!(near(speed(2, 1, 50.0).factor(), 1.0));
        assert!(near(speed(2, 1, 50.0).pays_from().unwrap(), 50e-6));
        assert!(near(speed(4, 2, 400.0).factor(), 200.0 / 110.0));
        // Messages of a tenth of it take as long as a sixteenth rank saves of eight threads.
        assert_eq!(speed(2, 8, 100.0).pays_from(), None);
        let said = speed(2, 1, 100.0).text();
        assert!(said.contains("1.2 times as fast as one rank"), "{said}");
        let said = speed(2, 1, 25.0).text();
        assert!(said.contains("one rank is 1.4 times as fast"), "{said}");
        assert!(said.contains("has at least 50.0 us of work"), "{said}");
        let said = speed(2, 8, 100.0).text();
        assert!(said.ends_with("do not use mpirun\n"), "{said}");
    }
}
