use super::*;

const PAUSE: Time = Time::from_us(100);
const XOFF: u64 = 10_000;
const XON: u64 = 8_000;

fn at_us(us: u64) -> Time {
    Time::from_us(us)
}

#[test]
fn quanta_are_512_bit_times() {
    let table = [
        (1, 512_000, 33_553_920_000),
        (10, 51_200, 3_355_392_000),
        (40, 12_800, 838_848_000),
        (100, 5_120, 335_539_200),
    ];
    for (gbps, one, longest) in table {
        let rate = Rate::from_gbps(gbps);
        assert_eq!(quantum(rate).as_ps(), one);
        assert_eq!(
            Params::default().pause_duration(rate),
            Time::from_ns(longest / 1000) + Time::from_ps(longest % 1000)
        );
    }
    let ns3 = Params::ns3_rdma();
    assert_eq!(ns3.pause_duration(Rate::from_gbps(40)), at_us(5));
}

#[test]
fn reaction_times_are_the_standards() {
    let table = [
        (1, 1_024),
        (10, 30_720),
        (25, 40_960),
        (40, 60_416),
        (50, 75_264),
        (100, 201_728),
        (200, 231_936),
        (400, 463_360),
        // Not in the standard's table.
        (75, 201_728),
        (800, 463_360),
    ];
    for (gbps, bit_times) in table {
        let rate = Rate::from_gbps(gbps);
        assert_eq!(reaction_time(rate), rate.time_for(bit_times / 8));
    }
}

#[test]
fn headroom_is_that_of_the_closed_form() {
    for [gbps, metres, frame, _, at_once, standard, _] in crate::link_buffers::rows() {
        let (rate, propagation) = (Rate::from_gbps(gbps), Time::from_ns(5 * metres));
        let bytes = |reaction| headroom(rate, propagation, frame, 64, reaction);
        assert_eq!(bytes(Time::ZERO), at_once, "{gbps} Gb/s, {metres} m");
        assert_eq!(bytes(reaction_time(rate)), standard);
    }
}

#[test]
fn headroom_has_its_golden_values() {
    let golden = [
        (40, at_us(5), 1068, 59_772),
        (10, at_us(5), 1068, 18_560),
        (10, at_us(125), 1068, 318_560),
        (1, Time::from_ns(500), 1542, 3_421),
    ];
    for (gbps, propagation, mtu, bytes) in golden {
        let rate = Rate::from_gbps(gbps);
        let reaction = reaction_time(rate);
        assert_eq!(headroom(rate, propagation, mtu, 84, reaction), bytes);
    }
    let ideal = headroom(Rate::from_gbps(40), Time::ZERO, 1068, 84, Time::ZERO);
    assert_eq!(ideal, 2 * 1068 + 84);
    let begun = headroom(Rate::from_gbps(40), Time::ZERO, 0, 0, Time::from_ps(1));
    assert_eq!(begun, 1);
}

#[test]
fn an_ingress_sends_one_xoff_above_and_one_xon_at_or_below() {
    let params = Params::default();
    let mut ingress = Ingress::new();
    let admit =
        |ingress: &mut Ingress, bytes| ingress.on_admit(Time::ZERO, bytes, XOFF, PAUSE, &params);
    assert_eq!(admit(&mut ingress, 10_000), Action::None);
    assert_eq!(admit(&mut ingress, 1), Action::Xoff);
    assert_eq!(admit(&mut ingress, 1_000), Action::None);
    assert_eq!(ingress.on_release(Time::ZERO, 3_000, XON), Action::None);
    assert_eq!((ingress.bytes(), ingress.is_xoff()), (8_001, true));
    assert_eq!(ingress.on_release(Time::ZERO, 1, XON), Action::Xon);
    assert_eq!(ingress.on_release(Time::ZERO, 1, XON), Action::None);
    assert_eq!(ingress.next_timer(), Time::NEVER);
}

#[test]
fn a_standing_xoff_is_refreshed_every_half_pause() {
    let params = Params::default();
    let mut ingress = Ingress::new();
    ingress.on_admit(Time::ZERO, 20_000, XOFF, PAUSE, &params);
    for refresh in 1..5 {
        let due = at_us(50 * refresh);
        assert_eq!(ingress.next_timer(), due);
        let early = Time::from_ps(due.as_ps() - 1);
        assert_eq!(ingress.on_timer(early, PAUSE, &params), Action::None);
        assert_eq!(ingress.on_timer(due, PAUSE, &params), Action::Xoff);
    }
    ingress.on_release(at_us(210), 20_000, XON);
    assert_eq!(ingress.on_timer(at_us(300), PAUSE, &params), Action::None);
}

#[test]
fn ns3_rdma_repeats_xoff_for_every_arrival_and_every_two_microseconds() {
    let params = Params::ns3_rdma();
    let pause = params.pause_duration(Rate::from_gbps(40));
    let mut ingress = Ingress::new();
    for arrival in 0..5 {
        let now = Time::from_ns(200 * arrival);
        let action = ingress.on_admit(now, 10_001, XOFF, pause, &params);
        assert_eq!(action, Action::Xoff);
        assert_eq!(ingress.next_timer(), now + at_us(2));
    }
    // 1 ms of refreshes: 500 kPAUSE/s.
    let mut refreshes = 0;
    let end = Time::from_ns(800) + Time::from_ms(1);
    while ingress.next_timer() <= end {
        let due = ingress.next_timer();
        assert_eq!(ingress.on_timer(due, pause, &params), Action::Xoff);
        refreshes += 1;
    }
    assert_eq!(refreshes, 500);
}

#[test]
fn until_xon_a_pause_is_sent_once_and_never_runs_out() {
    let params = Params::until_xon();
    let pause = params.pause_duration(Rate::from_gbps(40));
    let (mut ingress, mut egress) = (Ingress::new(), Egress::new());
    let mut admit = |us| ingress.on_admit(at_us(us), 10_001, XOFF, pause, &params);
    assert_eq!((admit(0), admit(1)), (Action::Xoff, Action::None));
    assert_eq!(ingress.next_timer(), Time::NEVER);
    assert!(ingress.is_xoff());
    assert_eq!(egress.on_frame(at_us(0), pause), Change::Paused);
    assert_eq!(egress.next_timer(), Time::NEVER);
    assert!(egress.is_paused());
    assert_eq!(ingress.on_release(at_us(2), 20_002, XON), Action::Xon);
    assert_eq!(egress.on_frame(at_us(3), Time::ZERO), Change::Resumed);
}

#[test]
fn sent_once_a_pause_runs_out_although_the_ingress_is_still_above_xon() {
    let params = Params {
        mode: PauseMode::Once,
        ..Params::default()
    };
    let pause = params.pause_duration(Rate::from_gbps(1));
    let (mut ingress, mut egress) = (Ingress::new(), Egress::new());
    let mut admit = |us| ingress.on_admit(at_us(us), 10_001, XOFF, pause, &params);
    assert_eq!(admit(0), Action::Xoff);
    assert_eq!(egress.on_frame(at_us(0), pause), Change::Paused);
    assert_eq!(egress.next_timer(), pause);
    assert_eq!(egress.on_timer(pause), Change::Resumed);
    // What comes then stops nobody.
    assert_eq!(admit(40_000), Action::None);
    assert_eq!(ingress.next_timer(), Time::NEVER);
    let left = ingress.on_release(at_us(40_001), 20_002, XON);
    assert_eq!((left, ingress.is_xoff()), (Action::Xon, false));
    let again = ingress.on_admit(at_us(40_002), 10_001, XOFF, pause, &params);
    assert_eq!(again, Action::Xoff);
}

#[test]
fn an_egress_pauses_until_xon() {
    let mut egress = Egress::new();
    assert_eq!(egress.on_frame(at_us(0), Time::ZERO), Change::None);
    assert_eq!(egress.on_frame(at_us(1), PAUSE), Change::Paused);
    assert!(egress.is_paused());
    assert_eq!(egress.on_frame(at_us(2), Time::ZERO), Change::Resumed);
    assert_eq!(egress.next_timer(), Time::NEVER);
    assert_eq!(egress.on_timer(at_us(500)), Change::None);
}

#[test]
fn an_egress_resumes_when_the_latest_pause_runs_out() {
    let mut egress = Egress::new();
    egress.on_frame(at_us(0), PAUSE);
    assert_eq!(egress.on_frame(at_us(50), PAUSE), Change::None);
    assert_eq!(egress.on_timer(at_us(100)), Change::None);
    // A shorter pause replaces a longer one.
    assert_eq!(egress.on_frame(at_us(60), at_us(10)), Change::None);
    assert_eq!(egress.next_timer(), at_us(70));
    assert_eq!(egress.on_timer(at_us(70)), Change::Resumed);
    assert!(!egress.is_paused());
}
