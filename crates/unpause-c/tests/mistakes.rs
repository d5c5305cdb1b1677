//! Mistakes of C programs are answered, and change nothing.

use std::ffi::CStr;
use std::mem::MaybeUninit;
use std::ptr::{null, null_mut};

use unpause_c::*;

use unpause_status::*;

fn config(kind: unpause_kind, name: &CStr) -> unpause_config {
    let mut config = MaybeUninit::zeroed();
    // SAFETY: there is room for a configuration, and the name ends with a zero.
    let status = unsafe { unpause_config_create(config.as_mut_ptr(), kind as u32, name.as_ptr()) };
    assert_eq!(status, Ok);
    // SAFETY: it began as zeros, and was created.
    unsafe { config.assume_init() }
}

#[test]
fn names_and_values_that_are_not_there() {
    let mut room = MaybeUninit::<unpause_config>::zeroed();
    let place = room.as_mut_ptr();
    let kind = unpause_kind::CongestionPoint as u32;
    // SAFETY: pointers are null or of variables of this function, of which each is used once at a time.
    unsafe {
        assert_eq!(
            unpause_config_create(null_mut(), kind, c"pcn".as_ptr()),
            NullPointer
        );
        assert_eq!(unpause_config_create(place, kind, null()), NullPointer);
        assert_eq!(
            unpause_config_create(place, kind, c"pcn".as_ptr()),
            UnknownMechanism
        );
        assert_eq!(unpause_config_create(place, 6, c"pcn".as_ptr()), OutOfRange);
        assert_eq!(unpause_config_set(place, c"kmin".as_ptr(), 1), NotCreated);
        assert_eq!(unpause_config_create(place, kind, c"red".as_ptr()), Ok);
        assert_eq!(
            unpause_config_set(place, c"kmim".as_ptr(), 1),
            UnknownParameter
        );
        assert_eq!(
            unpause_config_set(place, c"pmax".as_ptr(), (1 << 32) + 1),
            OutOfRange
        );
        assert_eq!(unpause_config_set(place, c"pmax".as_ptr(), 1 << 32), Ok);
        assert_eq!(
            unpause_config_choose(place, c"pmax".as_ptr(), c"all".as_ptr()),
            OutOfRange
        );
        assert_eq!(unpause_config_create(place, kind, c"np-ecn".as_ptr()), Ok);
        let (basis, found, wrong) = (c"mark_basis", c"enqueue-before", c"enqueue");
        assert_eq!(
            unpause_config_choose(place, basis.as_ptr(), found.as_ptr()),
            Ok
        );
        assert_eq!(
            unpause_config_choose(place, basis.as_ptr(), wrong.as_ptr()),
            OutOfRange
        );
        assert_eq!(unpause_config_set(place, basis.as_ptr(), 2), OutOfRange);
        let mut parameter = MaybeUninit::uninit();
        assert_eq!(
            unpause_config_parameter(place, 0, parameter.as_mut_ptr()),
            Ok
        );
        assert_eq!(parameter.assume_init_ref().value, 1);
        assert_eq!(
            unpause_config_parameter(place, 2, parameter.as_mut_ptr()),
            UnknownParameter
        );
        let misplaced = place.cast::<u8>().add(1).cast();
        assert_eq!(unpause_config_set(misplaced, basis.as_ptr(), 0), Unaligned);
    }
    assert!(unpause_mechanism_name(kind, 1000).is_null());
    assert!(unpause_mechanism_name(9, 0).is_null());
}

#[test]
fn states_of_another_kind() {
    let control = config(unpause_kind::CongestionControl, c"pcn");
    let mut point = MaybeUninit::<unpause_congestion_point>::zeroed();
    let mut state = MaybeUninit::<unpause_congestion_control>::zeroed();
    let mut allowance = MaybeUninit::uninit();
    let (point, state) = (point.as_mut_ptr(), state.as_mut_ptr());
    let (rate, window) = (10_000_000_000, UNPAUSE_NO_WINDOW);
    // SAFETY: pointers are null or of variables of this function, of which each is used once at a time.
    unsafe {
        assert_eq!(
            unpause_congestion_point_create(point, &control, 1),
            WrongKind
        );
        assert_eq!(unpause_congestion_point_on_pause(point, 0), NotCreated);
        let out = allowance.as_mut_ptr();
        assert_eq!(unpause_congestion_control_allowance(state, out), NotCreated);
        let status = unpause_congestion_control_create(state, &control, rate, 1000, window, 1);
        assert_eq!(status, Ok);
        assert_eq!(
            unpause_congestion_control_allowance(state, null_mut()),
            NullPointer
        );
        assert_eq!(unpause_congestion_control_allowance(state, out), Ok);
        assert_eq!(allowance.assume_init_ref().rate_bps, rate);
        // A state of one kind is none of another.
        let other = state.cast::<unpause_congestion_point>();
        assert_eq!(unpause_congestion_point_on_pause(other, 0), NotCreated);
        let wrong = unpause_notification {
            kind: 5,
            rec_rate: 0,
            q_offset: 0,
            q_delta: 0,
            qfb: 0,
        };
        let told = unpause_congestion_control_on_notification(state, 0, &wrong);
        assert_eq!(told, OutOfRange);
        assert_eq!(
            unpause_congestion_control_on_loss(state, 0, 4, 0, 0),
            OutOfRange
        );
    }
}

#[test]
fn sprayed_flows() {
    let (reps, nscc) = (
        config(unpause_kind::Spraying, c"reps"),
        config(unpause_kind::SprayedWindow, c"nscc"),
    );
    let mut spraying = MaybeUninit::<unpause_spraying>::zeroed();
    let mut window = MaybeUninit::<unpause_nscc>::zeroed();
    let (spraying, window) = (spraying.as_mut_ptr(), window.as_mut_ptr());
    let mut value = 0;
    // SAFETY: pointers are null or of variables of this function, of which each is used once at a time.
    unsafe {
        assert_eq!(unpause_spraying_create(spraying, &nscc, 1), WrongKind);
        assert_eq!(unpause_spraying_next(spraying, 0, &mut value), NotCreated);
        assert_eq!(unpause_spraying_create(spraying, &reps, 1), Ok);
        assert_eq!(unpause_spraying_on_echo(spraying, 0, 1, 4), OutOfRange);
        assert_eq!(unpause_spraying_next(spraying, 0, null_mut()), NullPointer);
        assert_eq!(unpause_nscc_create(window, &reps, 1), WrongKind);
        assert_eq!(unpause_nscc_on_timeout(window, 1), NotCreated);
        assert_eq!(unpause_nscc_create(window, &nscc, 1), Ok);
        assert_eq!(unpause_nscc_on_ack(window, null()), NullPointer);
        assert_eq!(unpause_nscc_on_nack(window, null()), NullPointer);
        assert_eq!(unpause_nscc_ask(window, null_mut()), NullPointer);
    }
}

#[test]
fn a_panic_inside_is_answered_and_ends_the_state() {
    let receiver = config(unpause_kind::NotificationPoint, c"pcn");
    let mut point = MaybeUninit::<unpause_notification_point>::zeroed();
    let point = point.as_mut_ptr();
    let (mut timer, mut out) = (0, MaybeUninit::uninit());
    // SAFETY: pointers are null or of variables of this function, of which each is used once at a time.
    unsafe {
        assert_eq!(unpause_notification_point_create(point, &receiver), Ok);
        // The largest times: whatever comes of it comes as a status.
        for now in [0, u64::MAX - 1, u64::MAX, 0] {
            let told = unpause_notification_point_on_data(point, now, 1000, true, out.as_mut_ptr());
            assert!(matches!(told, Ok | Panic | NotCreated), "{told:?}");
            let asked = unpause_notification_point_next_timer(point, &mut timer);
            assert!(matches!(asked, Ok | NotCreated), "{asked:?}");
        }
    }
}

#[test]
fn frames_of_any_origin() {
    let mut frame = MaybeUninit::<unpause_frame>::zeroed();
    let out = frame.as_mut_ptr();
    let mut bytes = [0u8; 60];
    let (mut buffer, mut length) = ([0u8; 100], 0);
    // SAFETY: pointers are null or of variables of this function, of which each is used once at a time.
    unsafe {
        assert_eq!(unpause_frame_parse(null(), 60, out), NullPointer);
        assert_eq!(unpause_frame_parse(bytes.as_ptr(), 3, out), Malformed);
        assert_eq!(unpause_frame_parse(bytes.as_ptr(), 60, out), UnknownFrame);
        (*out).kind = unpause_frame_kind::Cnp as u32;
        assert_eq!(
            unpause_frame_build(out, buffer.as_mut_ptr(), 20, &mut length),
            BufferTooShort
        );
        assert_eq!(
            unpause_frame_build(out, buffer.as_mut_ptr(), 100, &mut length),
            Ok
        );
        // 14 B Ethernet, 20 B IPv4, 8 B UDP, 12 B BTH, 16 B reserved, 4 B ICRC.
        assert_eq!(length, 74);
        assert_eq!(
            unpause_frame_mark_ce(buffer.as_mut_ptr(), length),
            OutOfRange
        );
        assert_eq!(unpause_frame_parse(buffer.as_ptr(), length, out), Ok);
        buffer[60] ^= 1;
        assert_eq!(unpause_frame_parse(buffer.as_ptr(), length, out), Malformed);
        (*out).destination_qp = 1 << 24;
        assert_eq!(
            unpause_frame_build(out, buffer.as_mut_ptr(), 100, &mut length),
            OutOfRange
        );
        (*out).destination_qp = 0;
        (*out).ecn = 4;
        assert_eq!(
            unpause_frame_build(out, buffer.as_mut_ptr(), 100, &mut length),
            OutOfRange
        );
        assert_eq!(unpause_frame_mark_ce(bytes.as_mut_ptr(), 60), UnknownFrame);
    }
}
