//! PCN's reaction points against the fluid model of the paper's Appendix A.

use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use unpause_protocols::congestion_control::{Config, CongestionControl, Mechanism as _, Path, pcn};
use unpause_protocols::notification::Notification;
use unpause_protocols::units::{Fraction, Rate, Time};

const CAPACITY: u64 = 4_000_000_000;

/// Sources of one bottleneck; rates are reported to the bit/s, as in the model.
struct Fluid {
    sources: Vec<CongestionControl>,
    /// The queue in bits per control period.
    queue: u64,
    rng: Xoshiro256PlusPlus,
}

impl Fluid {
    fn new(w_min: Fraction, rates: &[u64]) -> Self {
        let config = Config::Pcn(pcn::Params {
            w_min,
            min_rate: Rate::from_bps(1),
            rec_rate_unit: Rate::from_bps(1),
            ..pcn::Params::default()
        });
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
        let source = |rate: &u64| {
            let mut rp =
                CongestionControl::new(&config, &Path::new(Rate::from_bps(CAPACITY), 1000));
            // Undo the discount.
            let received = u128::from(*rate) << 32;
            let received = received.div_ceil(u128::from(w_min.complement().as_q32()));
            notify(&mut rp, true, received as u64, &mut rng);
            rp
        };
        Self {
            sources: rates.iter().map(source).collect(),
            queue: 0,
            rng,
        }
    }

    fn total(&self) -> u64 {
        self.sources.iter().map(|rp| rp.rate().as_bps()).sum()
    }

    /// Share of a source in millionths.
    fn share(&self, source: usize) -> u64 {
        self.sources[source].rate().as_bps() * 1_000_000 / self.total()
    }

    /// One control period; true when it was an increase.
    fn step(&mut self) -> bool {
        let total = self.total();
        self.queue = (self.queue + total).saturating_sub(CAPACITY);
        let congested = self.queue > 0;
        for rp in &mut self.sources {
            let rate = u128::from(rp.rate().as_bps());
            let received = rate * u128::from(CAPACITY) / u128::from(total);
            notify(rp, congested, received as u64, &mut self.rng);
        }
        !congested
    }
}

fn notify(
    rp: &mut CongestionControl,
    congested: bool,
    received: u64,
    rng: &mut Xoshiro256PlusPlus,
) {
    let rec_rate = u32::try_from(received).expect("rates below 4.29 Gb/s");
    let notification = Notification::Pcn {
        congested,
        rec_rate,
    };
    rp.on_notification(Time::ZERO, &notification, rng);
}

#[test]
fn an_overload_is_gone_after_one_period_and_its_queue_after_the_predicted_ones() {
    // 2.99 times the capacity: ceil(1 + 1.99 / w_min) periods.
    for (w_min, periods) in [(Fraction::of(1, 40), 81), (Fraction::of(1, 128), 256)] {
        let rates = [CAPACITY, CAPACITY, CAPACITY / 100 * 99];
        let mut fluid = Fluid::new(w_min, &rates);
        let first_increase = (1..).find(|_| fluid.step()).unwrap_or(0);
        assert_eq!(first_increase, periods);
    }
}

#[test]
fn one_decrease_leaves_exactly_the_discounted_capacity() {
    let w_min = Fraction::of(1, 128);
    let mut fluid = Fluid::new(w_min, &[CAPACITY / 4 * 3, CAPACITY / 2]);
    fluid.step();
    let expected = w_min.complement().of_value(CAPACITY);
    assert!(fluid.total().abs_diff(expected) < 4);
    assert!(fluid.share(0).abs_diff(600_000) <= 1);
}

#[test]
fn shares_converge_along_the_golden_sequence() {
    let fifth = CAPACITY / 5;
    let rates = [CAPACITY / 10 * 7, fifth, fifth, fifth];
    let mut fluid = Fluid::new(Fraction::of(1, 40), &rates);
    while !fluid.step() {}
    let golden = [
        511_005, 486_162, 463_684, 443_345, 424_943, 408_291, 393_225,
    ];
    for share in golden {
        assert!(
            fluid.share(0).abs_diff(share) <= 2,
            "{} is not {share}",
            fluid.share(0)
        );
        // One increase in every N periods.
        let increases: Vec<bool> = (0..rates.len()).map(|_| fluid.step()).collect();
        assert_eq!(increases, [false, false, false, true]);
    }
}
