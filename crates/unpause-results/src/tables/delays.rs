//! Table `delays`.

use arrow_array::RecordBatch;
use unpause_sim::results::{DelayRecord, QueueWait};

use super::builder::Builder;
use super::causes::peer;
use crate::columns;
use crate::run::measured::Measured;

pub fn delays(measured: &[Measured]) -> RecordBatch {
    let table = Builder::new(&[columns::DELAYS], measured, |m| {
        m.results.delays.iter().collect()
    })
    .column("flow_id", |_, delay: &DelayRecord| delay.flow)
    .column("message", |_, delay| delay.message)
    .column("sending_ns", |_, delay| delay.sending)
    .column("delay_ns", |_, delay| delay.total())
    .column("turn_ns", |_, delay| delay.turn)
    .column("rate_ns", |_, delay| delay.rate)
    .column("limit_ns", |_, delay| delay.limit)
    .column("open_ns", |_, delay| delay.open)
    .column("window_ns", |_, delay| delay.window)
    .column("pause_ns", |_, delay| delay.pause)
    .column("credit_ns", |_, delay| delay.credit)
    .column("loss_ns", |_, delay| delay.loss)
    .column("timeout_ns", |_, delay| delay.timeout)
    .column("retry_ns", |_, delay| delay.retry)
    .column("queue_ns", |_, delay| delay.queue)
    .column("own_queue_ns", |_, delay| delay.own_queue)
    .column("switch_ns", |_, delay| delay.switches)
    .column("receiver_ns", |_, delay| delay.receiver)
    .column("other_ns", |_, delay| delay.other);
    of_longest(table).build()
}

/// The columns of the longest wait in a queue.
fn of_longest<'a>(table: Builder<'a, &'a DelayRecord>) -> Builder<'a, &'a DelayRecord> {
    let longest = |delay: &'a DelayRecord| -> Option<&'a QueueWait> { delay.longest.as_ref() };
    table
        .column("longest_node", move |run, delay| {
            longest(delay).map(|wait| run.names.name(wait.node))
        })
        .column("longest_port", move |_, delay| {
            longest(delay).map(|wait| wait.port)
        })
        .column("longest_peer", move |run, delay| {
            let wait = longest(delay)?;
            peer(run, wait.node, Some(wait.port))
        })
        .column("longest_ns", move |_, delay| {
            longest(delay).map(|wait| wait.left - wait.joined)
        })
        .column("ahead_bytes", move |_, delay| {
            longest(delay).map(|wait| wait.ahead_bytes)
        })
        .column("own_bytes", move |_, delay| {
            longest(delay).map(|wait| wait.own_bytes)
        })
        .column("largest_flow_id", move |_, delay| {
            Some(longest(delay)?.largest?.0)
        })
        .column("largest_bytes", move |_, delay| {
            Some(longest(delay)?.largest?.1)
        })
}
