//! Network namespaces, and what it takes to make them.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::process::{Command, Stdio};
use std::thread;

use unpause_sim::exchange::GlobalPort;

use super::socket::PacketSocket;

/// Why there are no virtual Ethernet devices to be had.
#[derive(Debug, thiserror::Error)]
pub enum Unable {
    /// Capabilities that this process lacks.
    #[error("network namespaces and frames need {0}")]
    Capabilities(String),
    /// There is no program `ip`.
    #[error("the program `ip` is not there")]
    NoIp,
    /// Something else.
    #[error("{what}: {error}")]
    Failed {
        /// The step that failed.
        what: &'static str,
        /// Why.
        error: io::Error,
    },
}

impl Unable {
    fn because(what: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |error| Self::Failed { what, error }
    }
}

/// Bits of the effective set (capabilities(7)).
const NEEDED: [(u32, &str); 3] = [
    (21, "CAP_SYS_ADMIN (to make a network namespace)"),
    (12, "CAP_NET_ADMIN (to make links)"),
    (13, "CAP_NET_RAW (to send and receive frames)"),
];

/// The capabilities that this process lacks.
fn missing() -> Vec<&'static str> {
    let status = std::fs::read_to_string("/proc/thread-self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let bits = line.and_then(|line| u64::from_str_radix(line.trim(), 16).ok());
    let has = |bit: u32| bits.is_none_or(|bits| bits >> bit & 1 == 1);
    let missing = NEEDED.iter().filter(|(bit, _)| !has(*bit));
    missing.map(|(_, name)| *name).collect()
}

/// A network namespace for each shard, kept by nothing but these files.
pub struct Namespaces(Vec<File>);

impl Namespaces {
    /// So many of them.
    pub fn new(count: usize) -> Result<Self, Unable> {
        let missing = missing();
        if !missing.is_empty() {
            return Err(Unable::Capabilities(missing.join(", ")));
        }
        // A thread of its own, as it leaves the namespace that it was in.
        let make = || {
            let mut all = Vec::with_capacity(count);
            for _ in 0..count {
                // SAFETY: no pointers are passed.
                if unsafe { libc::unshare(libc::CLONE_NEWNET) } != 0 {
                    return Err(io::Error::last_os_error());
                }
                // Or the kernel sends frames of its own. Where there is no IPv6, there is no such file.
                let _ = std::fs::write("/proc/sys/net/ipv6/conf/default/disable_ipv6", "1");
                all.push(File::open("/proc/thread-self/ns/net")?);
            }
            Ok(all)
        };
        let made = in_a_thread(make);
        made.map(Self)
            .map_err(Unable::because("no network namespace can be made"))
    }

    /// Path of the namespace of a shard.
    fn path(&self, shard: u16) -> String {
        let fd = self.0[usize::from(shard)].as_raw_fd();
        format!("/proc/{}/fd/{fd}", std::process::id())
    }

    /// Makes a pair of devices for each wire, for frames of up to `longest` bytes.
    pub fn connect(&self, wires: &[[(GlobalPort, u16); 2]], longest: usize) -> Result<(), Unable> {
        let end = |(port, shard): (GlobalPort, u16)| {
            let (device, path) = (device(port), self.path(shard));
            format!("{device} mtu {longest} netns {path}")
        };
        let lines = wires
            .iter()
            .map(|&[a, b]| format!("link add {} type veth peer name {}\n", end(a), end(b)));
        let what = "no virtual Ethernet devices can be made";
        let mut ip = Command::new("ip")
            .args(["-batch", "-"])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| match error.kind() {
                io::ErrorKind::NotFound => Unable::NoIp,
                _ => Unable::because(what)(error),
            })?;
        let mut stdin = ip.stdin.take().expect("it is piped");
        let written = stdin.write_all(lines.collect::<String>().as_bytes());
        drop(stdin);
        let done = ip.wait_with_output().map_err(Unable::because(what))?;
        if !done.status.success() {
            let why = String::from_utf8_lossy(&done.stderr);
            let first = why.lines().next().unwrap_or("ip failed").to_owned();
            return Err(Unable::because(what)(io::Error::other(first)));
        }
        written.map_err(Unable::because(what))
    }

    /// A socket at both ends of each wire.
    pub fn open(
        &self,
        wires: &[[(GlobalPort, u16); 2]],
        longest: usize,
    ) -> Result<Vec<(GlobalPort, PacketSocket)>, Unable> {
        let ends: Vec<(GlobalPort, u16)> = wires.iter().flatten().copied().collect();
        let open = |&(port, shard): &(GlobalPort, u16)| {
            let namespace = self.0[usize::from(shard)].as_raw_fd();
            // SAFETY: no pointers are passed.
            if unsafe { libc::setns(namespace, libc::CLONE_NEWNET) } != 0 {
                return Err(io::Error::last_os_error());
            }
            Ok((port, PacketSocket::open(&device(port), longest)?))
        };
        let opened: io::Result<Vec<_>> = at_once(ends, |end| open(&end)).into_iter().collect();
        opened.map_err(Unable::because("no packet socket can be opened"))
    }
}

/// Name of the device at a port.
fn device(port: GlobalPort) -> String {
    format!("p{port}")
}

/// Does the same with each of several on threads of their own. To open or close a packet socket, the kernel
/// waits some tens of milliseconds for readers of its lists; for several at once it waits once.
pub fn at_once<T: Send, R: Send>(all: Vec<T>, work: impl Fn(T) -> R + Sync) -> Vec<R> {
    const THREADS: usize = 64;
    let mut done = Vec::with_capacity(all.len());
    let mut left = all.into_iter();
    loop {
        let some: Vec<T> = left.by_ref().take(THREADS).collect();
        if some.is_empty() {
            return done;
        }
        thread::scope(|scope| {
            let threads = some.into_iter().map(|one| scope.spawn(|| work(one)));
            let threads: Vec<_> = threads.collect();
            done.extend(threads.into_iter().map(joined));
        });
    }
}

fn in_a_thread<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    thread::scope(|scope| joined(scope.spawn(work)))
}

fn joined<T>(thread: thread::ScopedJoinHandle<'_, T>) -> T {
    let done = thread.join();
    done.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}
