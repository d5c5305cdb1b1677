//! Mistakes of programs are answered, in words, and change nothing.

use std::ffi::{CStr, CString, c_void};
use std::io::Write;
use std::path::Path;
use std::ptr::{null, null_mut};

use tempfile::NamedTempFile;
use unpause_network::unpause_network_status::*;
use unpause_network::*;

const FABRIC: &str = r#"
duration = "10ms"
[topology]
builder = "single-switch"
hosts = 3
rate = "100Gbps"
delay = "1us"
[[scheme]]
name = "PFC"
"#;

fn file(text: &str) -> (NamedTempFile, CString) {
    let mut file = NamedTempFile::new().expect("a file");
    file.write_all(text.as_bytes()).expect("it can be written");
    let path = CString::new(file.path().to_str().expect("a name")).expect("a name");
    (file, path)
}

fn open() -> u64 {
    let (_file, path) = file(FABRIC);
    let mut network = 0;
    let status = unsafe { unpause_network_open(path.as_ptr(), null(), &raw mut network) };
    assert_eq!(status, Ok, "{}", said());
    network
}

fn said() -> String {
    let said = unsafe { CStr::from_ptr(unpause_network_error()) };
    said.to_str().expect("UTF-8").to_owned()
}

fn send(network: u64, src: u32, dst: u32, bytes: u64) -> unpause_network_status {
    unsafe { unpause_network_send(network, src, dst, 0, bytes, None, null_mut()) }
}

fn close(network: u64) -> unpause_network_status {
    unsafe { unpause_network_close(network, null()) }
}

/// The observations of callbacks.
#[derive(Default)]
struct Seen {
    network: u64,
    statuses: Vec<unpause_network_status>,
    times: Vec<u64>,
}

fn now(network: u64) -> u64 {
    let mut ps = 0;
    let status = unsafe { unpause_network_time(network, &raw mut ps) };
    assert_eq!(status, Ok);
    ps
}

unsafe extern "C" fn note(argument: *mut c_void) {
    let seen = unsafe { &mut *argument.cast::<Seen>() };
    seen.times.push(now(seen.network));
}

unsafe extern "C" fn close_and_run(argument: *mut c_void) {
    let seen = unsafe { &mut *argument.cast::<Seen>() };
    seen.statuses.push(close(seen.network));
    seen.statuses.push(unpause_network_run(seen.network));
    seen.statuses.push(unpause_network_stop(seen.network));
}

#[test]
fn numbers_that_are_no_network() {
    let mut value = 0;
    for network in [0, 12345] {
        assert_eq!(send(network, 0, 1, 1), NoNetwork);
        assert_eq!(unpause_network_run(network), NoNetwork);
        assert_eq!(close(network), NoNetwork);
    }
    assert!(said().contains("never opened"), "{}", said());
    let network = open();
    let elsewhere = std::thread::spawn(move || unpause_network_run(network));
    assert_eq!(elsewhere.join().expect("it answers"), NoNetwork);
    assert_eq!(close(network), Ok);
    let time = unsafe { unpause_network_time(network, &raw mut value) };
    assert_eq!(time, NoNetwork);
    assert!(said().contains("it was closed"), "{}", said());
    assert_ne!(open(), network, "no number comes twice");
}

#[test]
fn pointers_that_are_null() {
    let (_file, path) = file(FABRIC);
    let network = open();
    unsafe {
        assert_eq!(
            unpause_network_open(path.as_ptr(), null(), null_mut()),
            NullPointer
        );
        let mut other = 0;
        assert_eq!(
            unpause_network_open(null(), null(), &raw mut other),
            NullPointer
        );
        assert_eq!(unpause_network_ranks(network, null_mut()), NullPointer);
        assert_eq!(unpause_network_time(network, null_mut()), NullPointer);
        assert_eq!(
            unpause_network_schedule(network, 0, None, null_mut()),
            NullPointer
        );
        assert_eq!(
            unpause_network_receive(network, 0, 1, 0, 1, None, null_mut()),
            NullPointer
        );
        assert_eq!(
            unpause_network_pending(network, &raw mut other, null_mut()),
            NullPointer
        );
    }
    assert_eq!(said(), "`receives` is null");
}

#[test]
fn ranks_and_messages_that_cannot_be() {
    let network = open();
    assert_eq!(send(network, 0, 3, 1), UnknownRank);
    assert_eq!(
        said(),
        "there is no rank 3: this fabric has 3, numbered from 0"
    );
    assert_eq!(send(network, 9, 0, 1), UnknownRank);
    let received = unsafe { unpause_network_receive(network, 0, 7, 0, 1, Some(note), null_mut()) };
    assert_eq!(received, UnknownRank);
    assert_eq!(send(network, 1, 1, 1), Refused);
    assert!(said().contains("H1 cannot send to itself"), "{}", said());
    assert_eq!(send(network, 0, 1, 0), Refused);
    assert!(said().contains("at least 1 byte"), "{}", said());
    let (mut messages, mut receives) = (9, 9);
    let pending = unsafe { unpause_network_pending(network, &raw mut messages, &raw mut receives) };
    assert_eq!(
        (pending, messages, receives),
        (Ok, 0, 0),
        "nothing has changed"
    );
    assert_eq!(close(network), Ok);
}

#[test]
fn scenarios_and_options_that_cannot_be() {
    let mut network = 0;
    let mut options = unpause_network_options {
        scheme: null(),
        duration: null(),
        priority: -1,
        completion: 2,
    };
    let (_file, path) = file(FABRIC);
    let mut open = |path: &CStr, options: &unpause_network_options| unsafe {
        unpause_network_open(path.as_ptr(), options, &raw mut network)
    };
    assert_eq!(open(&path, &options), OutOfRange);
    assert_eq!(said(), "there is no completion 2");
    (options.completion, options.priority) = (1, 300);
    assert_eq!(open(&path, &options), OutOfRange);
    options.priority = 7;
    assert_eq!(open(&path, &options), Scenario);
    assert!(said().contains("carries control frames"), "{}", said());
    options.priority = 2;
    options.scheme = c"PCN".as_ptr();
    assert_eq!(open(&path, &options), Scenario);
    assert!(said().contains("no scheme `PCN`"), "{}", said());
    options.scheme = null();
    options.duration = c"soon".as_ptr();
    assert_eq!(open(&path, &options), OutOfRange);
    options.duration = c"1ms".as_ptr();
    assert_eq!(open(c"/not/there.toml", &options), Scenario);
    let (_file, wrong) = file(&FABRIC.replace("hosts = 3", "hosts = \"many\""));
    assert_eq!(open(&wrong, &options), Scenario);
    assert!(said().contains(":5:"), "it says the line: {}", said());
    assert_eq!(open(&path, &options), Ok, "{}", said());
}

#[test]
fn a_callback_cannot_close_or_run() {
    let network = open();
    let mut seen = Seen {
        network,
        ..Seen::default()
    };
    let argument = (&raw mut seen).cast();
    let scheduled = unsafe { unpause_network_schedule(network, 5, Some(close_and_run), argument) };
    assert_eq!(scheduled, Ok);
    let scheduled = unsafe { unpause_network_schedule(network, 6, Some(note), argument) };
    assert_eq!(scheduled, Ok);
    assert_eq!(unpause_network_run(network), Ok);
    assert_eq!(seen.statuses, [InCallback, InCallback, Ok]);
    assert!(said().contains("runs already"), "{}", said());
    assert!(seen.times.is_empty(), "it was stopped");
    assert_eq!(now(network), 5);
    assert_eq!(unpause_network_run(network), Ok);
    assert_eq!(seen.times, [6]);
    assert_eq!(close(network), Ok);
}

/// Calls of one instant come in the order in which they were asked for, from the loop.
#[test]
fn zero_delays_are_calls_of_the_loop() {
    let network = open();
    let mut seen = Seen {
        network,
        ..Seen::default()
    };
    let argument = (&raw mut seen).cast();
    assert_eq!(send(network, 0, 1, 1000), Ok);
    assert_eq!(unpause_network_run_until(network, 50_000_000), Ok);
    let received = unsafe { unpause_network_receive(network, 1, 0, 0, 1000, Some(note), argument) };
    assert_eq!((received, seen.times.len()), (Ok, 0));
    assert_eq!(unpause_network_run(network), Ok);
    assert_eq!(seen.times, [50_000_000]);
    assert_eq!(close(network), Ok);
}

#[test]
fn results_that_cannot_be_written() {
    let folder = tempfile::tempdir().expect("a folder");
    let name = |path: &Path| CString::new(path.to_str().expect("a name")).expect("a name");
    let taken = folder.path().join("file");
    std::fs::write(&taken, "mine").expect("it can be written");
    let network = open();
    let closed = unsafe { unpause_network_close(network, name(&taken).as_ptr()) };
    assert_eq!(closed, NotWritten);
    assert_eq!(std::fs::read(&taken).expect("it is there"), b"mine");
    assert_eq!(close(network), NoNetwork, "it is closed all the same");
}

#[test]
fn a_fabric_that_needs_more_memory_than_there_is_is_refused() {
    // A sample each nanosecond of every port, for days.
    let huge = FABRIC.to_owned() + "[probes]\nports = [\"*->*\"]\ninterval = \"1us\"\n";
    let (_file, path) = file(&huge);
    let days = CString::new("1000000s").expect("a duration");
    let options = unpause_network_options {
        scheme: null(),
        duration: days.as_ptr(),
        priority: -1,
        completion: 0,
    };
    let mut network = 0;
    let status =
        unsafe { unpause_network_open(path.as_ptr(), &raw const options, &raw mut network) };
    assert_eq!(status, Scenario);
    let why = unsafe { CStr::from_ptr(unpause_network_error()) };
    let why = why.to_string_lossy();
    assert!(
        why.contains("of memory") && why.contains("UNPAUSE_FORCE"),
        "{why}"
    );
}
