//! Small runs of each mechanism on a page: who sends what when, who is stopped, which rates are set.
//! TCP's are in `tcp/transcripts.rs`.

mod capfc;
mod dcqcn;
mod go_back_n;
mod pcn;
mod pfc;
mod qcn;
mod qcn_inputs;
mod selective_repeat;
mod swift;
mod timely;

use insta::assert_snapshot;

use crate::common::*;
use crate::transcript::*;
