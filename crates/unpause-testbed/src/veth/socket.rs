//! Packet sockets with a ring in memory that is shared with the kernel (packet(7), TPACKET_V2).

use std::ffi::CString;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicU32, Ordering};

use libc::{c_int, c_void, sockaddr_ll, socklen_t, tpacket_req, tpacket2_hdr};

/// Frames that the ring holds.
pub const SLOTS: usize = 256;

/// Beyond a frame, the most that the kernel needs of a slot: its header, the address, alignment.
const SLOT_OVERHEAD: usize = 128;

/// A socket that sends frames into a device and receives those that come out of it.
pub struct PacketSocket {
    fd: OwnedFd,
    ring: NonNull<u8>,
    slot_bytes: usize,
    next: usize,
    /// Where a frame gets its VLAN tag back.
    tagged: Vec<u8>,
}

// SAFETY: the ring belongs to this socket alone, and methods that touch it need `&mut self`.
unsafe impl Send for PacketSocket {}

impl PacketSocket {
    /// At `device` of the network namespace that this thread is in, which is switched on; for frames of up to
    /// `longest` bytes.
    pub fn open(device: &str, longest: usize) -> io::Result<Self> {
        // SAFETY: no pointers are passed.
        let fd = checked(unsafe {
            libc::socket(libc::AF_PACKET, libc::SOCK_RAW | libc::SOCK_CLOEXEC, 0)
        })?;
        // SAFETY: the descriptor is new and nobody else's.
        let fd = unsafe { OwnedFd::from_raw_fd(fd) };
        let slot_bytes = (longest + SLOT_OVERHEAD).next_power_of_two();
        let raw = fd.as_raw_fd();
        option(
            raw,
            libc::PACKET_VERSION,
            &(libc::tpacket_versions::TPACKET_V2 as c_int),
        )?;
        option(raw, libc::PACKET_IGNORE_OUTGOING, &1_i32)?;
        option(raw, libc::PACKET_QDISC_BYPASS, &1_i32)?;
        let block_bytes = slot_bytes.max(page_bytes());
        let request = tpacket_req {
            tp_block_size: block_bytes as u32,
            tp_block_nr: (SLOTS * slot_bytes).div_ceil(block_bytes) as u32,
            tp_frame_size: slot_bytes as u32,
            tp_frame_nr: SLOTS as u32,
        };
        option(raw, libc::PACKET_RX_RING, &request)?;
        // SAFETY: a new mapping of the ring, whose size was just set.
        let ring = unsafe {
            libc::mmap(
                ptr::null_mut(),
                SLOTS * slot_bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED,
                raw,
                0,
            )
        };
        if ring == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let socket = Self {
            fd,
            ring: NonNull::new(ring.cast()).expect("mmap gives no null"),
            slot_bytes,
            next: 0,
            tagged: Vec::new(),
        };
        socket.attach(device)?;
        Ok(socket)
    }

    /// Switches the device on, and binds to it: the other way round, the socket would report that it is down.
    fn attach(&self, device: &str) -> io::Result<()> {
        let fd = self.fd.as_raw_fd();
        let name = CString::new(device)?;
        // SAFETY: zeros are a value of this type.
        let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
        for (to, from) in request.ifr_name.iter_mut().zip(name.as_bytes_with_nul()) {
            *to = *from as _;
        }
        // SAFETY: both requests read and write an ifreq; the flags are what the first has written.
        unsafe {
            checked(libc::ioctl(fd, libc::SIOCGIFFLAGS, &raw mut request))?;
            request.ifr_ifru.ifru_flags |= libc::IFF_UP as i16;
            checked(libc::ioctl(fd, libc::SIOCSIFFLAGS, &raw const request))?;
        }
        // SAFETY: the name ends with a zero.
        let index = unsafe { libc::if_nametoindex(name.as_ptr()) };
        if index == 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: zeros are a value of this type.
        let mut address: sockaddr_ll = unsafe { std::mem::zeroed() };
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_protocol = (libc::ETH_P_ALL as u16).to_be();
        address.sll_ifindex = index as c_int;
        // SAFETY: the address is of the length that is given.
        let bound = unsafe {
            let length = size_of::<sockaddr_ll>() as socklen_t;
            libc::bind(fd, (&raw const address).cast(), length)
        };
        checked(bound).map(drop)
    }

    /// Sends a frame.
    pub fn send(&self, frame: &[u8]) -> io::Result<()> {
        // SAFETY: pointer and length are those of the slice.
        let sent =
            unsafe { libc::send(self.fd.as_raw_fd(), frame.as_ptr().cast(), frame.len(), 0) };
        match usize::try_from(sent) {
            Ok(length) if length == frame.len() => Ok(()),
            Ok(length) => Err(io::Error::other(format!(
                "{length} B of {} sent",
                frame.len()
            ))),
            Err(_) => Err(io::Error::last_os_error()),
        }
    }

    /// Hands over the next frame that has come, with the time of day at which it did, in nanoseconds; gives
    /// the answer, none if no frame has come.
    pub fn receive(&mut self, take: &mut dyn FnMut(&[u8], u64) -> bool) -> Option<bool> {
        // SAFETY: the slot is within the ring, and the kernel has put a header at its beginning. The status
        // is all of it that both may touch at once.
        let (status, header) = unsafe {
            let slot = self
                .ring
                .add(self.next * self.slot_bytes)
                .cast::<tpacket2_hdr>();
            let status = AtomicU32::from_ptr(&raw mut (*slot.as_ptr()).tp_status);
            (status, slot)
        };
        let flags = status.load(Ordering::Acquire);
        if flags & libc::TP_STATUS_USER == 0 {
            return None;
        }
        // SAFETY: the slot is ours until its status says otherwise; the frame lies at `tp_mac` in it, with
        // `tp_snaplen` bytes, which the kernel keeps within the slot.
        let (header, frame) = unsafe {
            let header = header.read();
            let start = self.ring.add(self.next * self.slot_bytes);
            let at = start.add(usize::from(header.tp_mac));
            let length = (header.tp_snaplen as usize).min(self.slot_bytes);
            (header, std::slice::from_raw_parts(at.as_ptr(), length))
        };
        let at = u64::from(header.tp_sec) * 1_000_000_000 + u64::from(header.tp_nsec);
        // The kernel takes a VLAN tag out of the frame.
        let answer = if !(flags & libc::TP_STATUS_VLAN_VALID != 0 && frame.len() >= 12) {
            take(frame, at)
        } else {
            self.tagged.clear();
            self.tagged.extend_from_slice(&frame[..12]);
            self.tagged.extend_from_slice(&[0x81, 0x00]);
            self.tagged
                .extend_from_slice(&header.tp_vlan_tci.to_be_bytes());
            self.tagged.extend_from_slice(&frame[12..]);
            take(&self.tagged, at)
        };
        status.store(libc::TP_STATUS_KERNEL, Ordering::Release);
        self.next = (self.next + 1) % SLOTS;
        Some(answer)
    }

    /// Waits until something has arrived; false if nothing has within this time.
    pub fn wait(&self, milliseconds: i32) -> io::Result<bool> {
        let mut poll = libc::pollfd {
            fd: self.fd.as_raw_fd(),
            events: libc::POLLIN,
            revents: 0,
        };
        // SAFETY: one structure is there.
        let ready = unsafe { libc::poll(&raw mut poll, 1, milliseconds) };
        match checked(ready) {
            Ok(ready) => Ok(ready > 0),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(true),
            Err(error) => Err(error),
        }
    }
}

impl Drop for PacketSocket {
    fn drop(&mut self) {
        // SAFETY: nothing of the mapping is in use any more.
        unsafe { libc::munmap(self.ring.as_ptr().cast::<c_void>(), SLOTS * self.slot_bytes) };
    }
}

fn checked(result: c_int) -> io::Result<c_int> {
    match result {
        -1 => Err(io::Error::last_os_error()),
        value => Ok(value),
    }
}

fn option<T>(fd: RawFd, name: c_int, value: &T) -> io::Result<()> {
    // SAFETY: pointer and length are those of the value.
    let done = unsafe {
        libc::setsockopt(
            fd,
            libc::SOL_PACKET,
            name,
            ptr::from_ref(value).cast(),
            size_of::<T>() as socklen_t,
        )
    };
    checked(done).map(drop)
}

fn page_bytes() -> usize {
    // SAFETY: no pointers are passed.
    let bytes = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    usize::try_from(bytes).unwrap_or(4096)
}
