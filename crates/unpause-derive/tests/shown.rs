//! The calls that a visitor gets from states whose `Show` is derived.

use unpause_protocols::state_visitor::{Show, StateVisitor};
use unpause_protocols::units::{Rate, Time};

/// Writes down what it hears, and moves on what moves.
#[derive(Default)]
struct Notes(Vec<String>);

impl Notes {
    fn add(&mut self, what: &str, value: impl std::fmt::Display) {
        self.0.push(format!("{what} {value}"));
    }
}

impl StateVisitor for Notes {
    fn same(&mut self, value: u64) {
        self.add("same", value);
    }
    fn time(&mut self, time: &mut Time) {
        self.add("time", time.as_ps());
        *time += Time::from_ps(1000);
    }
    fn earliest(&mut self, time: &mut Time) {
        self.add("earliest", time.as_ps());
        *time += Time::from_ps(1000);
    }
    fn deadline(&mut self, time: Time) {
        self.add("deadline", time.as_ps());
    }
    fn total(&mut self, total: &mut u64) {
        self.add("total", *total);
        *total += 10;
    }
    fn number(&mut self, flow: u32, number: &mut u32) {
        self.add("number", format!("{flow} {number}"));
    }
    fn before_end(&mut self, _flow: u32, _number: u32, _end: u32) {}
    fn end(&mut self, _flow: u32, _end: &mut u32) {}
    fn step(&mut self, _step: &mut u32, _last: u32) {}
    fn refuse(&mut self) {
        self.0.push("refuse".into());
    }
}

fn notes_of(state: &mut impl Show) -> Vec<String> {
    let mut notes = Notes::default();
    state.show(&mut notes);
    notes.0
}

fn ps(time: u64) -> Time {
    Time::from_ps(time)
}

#[derive(Clone, Copy, Debug, PartialEq, Show)]
struct Small {
    #[show(same)]
    value: u8,
}

#[derive(Debug, PartialEq, Show)]
struct State {
    #[show(skip)]
    setting: u64,
    #[show(same)]
    flag: bool,
    #[show(same)]
    rate: Rate,
    #[show(same = length.len())]
    length: Vec<u64>,
    #[show(time)]
    #[show(same = at.as_ps() / 2)]
    at: Time,
    #[show(time)]
    perhaps: Option<Time>,
    #[show(earliest)]
    first: Time,
    #[show(deadline)]
    due: Time,
    #[show(deadline = (*due).min(*other))]
    other: Time,
    #[show(total)]
    sum: u64,
    #[show(total)]
    count: u32,
    #[show(total)]
    spent: Time,
    #[show(nested)]
    several: Vec<Small>,
    #[show(by = visitor.number(7, number))]
    number: u32,
    #[show(skip = "nobody asks")]
    rest: u64,
}

fn state() -> State {
    State {
        setting: 99,
        flag: true,
        rate: Rate::from_bps(3),
        length: vec![0; 4],
        at: ps(20),
        perhaps: Some(ps(6)),
        first: ps(7),
        due: ps(9),
        other: ps(8),
        sum: 10,
        count: u32::MAX - 1,
        spent: ps(12),
        several: vec![Small { value: 13 }, Small { value: 14 }],
        number: 15,
        rest: 98,
    }
}

#[test]
fn fields_are_shown_in_order_as_their_words_say() {
    let mut shown = state();
    let expected = [
        "same 1",
        "same 3",
        "same 4",
        "time 20",
        "same 510",
        "same 1",
        "time 6",
        "earliest 7",
        "deadline 9",
        "deadline 8",
        "total 10",
        "total 4294967294",
        "total 12",
        "same 2",
        "same 13",
        "same 14",
        "number 7 15",
    ];
    assert_eq!(notes_of(&mut shown), expected);
    let moved = State {
        at: ps(1020),
        perhaps: Some(ps(1006)),
        first: ps(1007),
        sum: 20,
        count: u32::MAX,
        spent: ps(22),
        ..state()
    };
    assert_eq!(shown, moved);
}

#[test]
fn an_option_without_a_time_says_so() {
    let mut shown = State {
        perhaps: None,
        ..state()
    };
    let notes = notes_of(&mut shown);
    assert_eq!(notes[5..7], ["same 0", "earliest 7"]);
}

#[derive(Show)]
struct Careful {
    #[show(same)]
    value: u64,
    #[show(refuse_if = *marks)]
    marks: bool,
    #[show(refuse_if = *held > 0)]
    #[show(same)]
    held: u32,
}

#[test]
fn nothing_is_shown_of_what_refuses() {
    for (marks, held) in [(true, 0), (false, 1), (true, 1)] {
        let value = 5;
        let notes = notes_of(&mut Careful { value, marks, held });
        assert_eq!(notes, ["refuse"]);
    }
    let (value, marks, held) = (5, false, 0);
    let notes = notes_of(&mut Careful { value, marks, held });
    assert_eq!(notes, ["same 5", "same 0"]);
}

#[derive(Show)]
#[show(refuse)]
struct Unknown {
    _field: String,
}

#[derive(Show)]
struct Nothing;

#[derive(Show)]
struct Of<S>(#[show(nested)] S, #[show(same)] u16);

#[derive(Show)]
enum Kind {
    Idle,
    Until(#[show(time)] Time),
    Named {
        #[show(skip)]
        _setting: u64,
        #[show(total)]
        count: u64,
    },
    #[show(refuse)]
    Other(#[allow(dead_code, reason = "it refuses, whatever it has")] String),
}

#[test]
fn types_of_all_kinds_can_be_shown() {
    let _field = String::new();
    assert_eq!(notes_of(&mut Unknown { _field }), ["refuse"]);
    assert!(notes_of(&mut Nothing).is_empty());
    let value = 1;
    assert_eq!(notes_of(&mut Of(Small { value }, 2)), ["same 1", "same 2"]);
    assert_eq!(notes_of(&mut Kind::Idle), ["same 0"]);
    assert_eq!(notes_of(&mut Kind::Until(ps(4))), ["same 1", "time 4"]);
    let (_setting, count) = (9, 3);
    let mut named = Kind::Named { _setting, count };
    assert_eq!(notes_of(&mut named), ["same 2", "total 3"]);
    assert!(matches!(named, Kind::Named { count: 13, .. }));
    assert_eq!(notes_of(&mut Kind::Other(String::new())), ["refuse"]);
}

#[derive(Show)]
#[show(fn show_for(flow: u32, every: u32))]
struct Packets {
    #[show(by = visitor.number(flow, next))]
    #[show(same = *next % every)]
    next: u32,
}

#[test]
fn a_function_can_take_more() {
    let mut notes = Notes::default();
    Packets { next: 11 }.show_for(3, 4, &mut notes);
    assert_eq!(notes.0, ["number 3 11", "same 3"]);
}
