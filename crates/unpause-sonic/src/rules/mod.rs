//! The rules by which a configuration is checked.

mod classes;
mod egress;
mod fill;
mod groups;
mod headroom;
mod maps;
mod marking;
mod need;
mod pools;
mod watchdog;

use super::finding::{Finding, grouped};
use super::model::ConfigDb;
pub use need::{Cable, Need};

/// Checks `db`: findings, the worst first; one that holds for many ports is reported once.
///
/// `needs` says what headroom a cable needs: by the least that the standard allows first, which is an error
/// where it is missing, then by others, which are warnings.
pub fn lint(db: &ConfigDb, needs: &dyn Fn(&Cable) -> Vec<Need>) -> Vec<Finding> {
    let mut findings = db.findings.clone();
    groups::check(db, &mut findings);
    headroom::check(db, needs, &mut findings);
    pools::check(db, &mut findings);
    marking::check(db, &mut findings);
    maps::check(db, &mut findings);
    classes::check(db, &mut findings);
    egress::check(db, needs, &mut findings);
    watchdog::check(db, &mut findings);
    grouped(findings)
}
