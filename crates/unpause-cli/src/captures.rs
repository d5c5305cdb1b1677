//! Captures: `unpause export --pcapng`, `unpause import pcap`.

use std::fs;
use std::io::{self, BufReader, BufWriter, Write};
use std::num::NonZero;
use std::path::Path;
use std::time::Duration;

use unpause_capture::{Error as CaptureError, Flows, Reader, write_flow_file, write_pcapng};
use unpause_scenario::{Error, Saved, Summary, count, counted, file_name, were};

use crate::args::{Export, ImportPcap};
use crate::output::show;
use crate::target;

/// Hosts named in what `import` shows; a capture may have thousands.
const SHOWN_HOSTS: usize = 16;

/// `unpause export --pcapng`
pub fn export(args: &Export) -> Result<(), Error> {
    let saved = Saved::load(&args.directory)?;
    let out = target::folder(args.out.as_deref(), &args.directory, "pcapng")?;
    let snap = args.snap.map_or(0, NonZero::get);
    let mut written = 0;
    for (run, summary) in Summary::of(&saved.tables).iter().enumerate() {
        let name = format!("{run}-{}.pcapng", file_name(&summary.scheme));
        let path = out.path_of(&name);
        let mut packets = Ok(0);
        let write = |file: &mut fs::File| {
            let mut file = BufWriter::new(file);
            packets = write_pcapng(&saved.tables, run as u32, snap, &mut file);
            match &packets {
                Ok(_) => file.flush(),
                Err(_) => Err(io::Error::other("not written")),
            }
        };
        let done = target::write_in(&out, &name, args.force, write);
        match packets {
            // Another run of the same result may have some.
            Err(CaptureError::NoPackets { .. }) => continue,
            Err(error) => return Err(failed(&path, "write", error)),
            Ok(packets) => {
                done?;
                let packets = counted(packets, "packet");
                show(&format!("{}: {packets}\n", path.display()));
            }
        }
        written += 1;
    }
    if written == 0 {
        return Err(Error::Other {
            message: format!("{} has no packets", args.directory.display()),
            help: Some(
                "name ports under [probes] packets, such as [\"S0->H0\"], and run again".into(),
            ),
        });
    }
    Ok(())
}

fn failed(path: &Path, action: &'static str, error: CaptureError) -> Error {
    match error {
        CaptureError::Io(error) => Error::io(action, path, error),
        other => Error::Other {
            message: format!("{}: {other}", path.display()),
            help: None,
        },
    }
}

/// `unpause import pcap`
pub fn import(args: &ImportPcap) -> Result<(), Error> {
    target::spare(&args.out, [args.file.as_path()])?;
    let file = fs::File::open(&args.file).map_err(|error| Error::io("read", &args.file, error))?;
    let reader = Reader {
        idle: Duration::from_nanos(args.idle.as_ps() / 1000),
        priority: args.priority.clone(),
    };
    let flows = reader
        .read(BufReader::new(file))
        .map_err(|error| failed(&args.file, "read", error))?;
    target::write_whole(&args.out, args.force, |file| {
        let mut file = BufWriter::new(file);
        write_flow_file(&flows, &mut file)?;
        file.flush()
    })?;
    let mut text = format!(
        "{}: {} between {} hosts, of {} ({} without data)\n",
        args.out.display(),
        counted(flows.flows.len(), "flow"),
        flows.hosts.len(),
        counted(flows.packets, "packet"),
        flows.skipped - flows.fragments
    );
    text += &notes(&flows);
    for (number, address) in flows.hosts.iter().enumerate().take(SHOWN_HOSTS) {
        text += &format!("host {number} is {address}\n");
    }
    if flows.hosts.len() > SHOWN_HOSTS {
        text += "and so on, in the order of addresses\n";
    }
    show(&text);
    Ok(())
}

/// How a capture was understood, a line for each thing that may surprise.
fn notes(flows: &Flows) -> String {
    let mut text = format!("priority: {}\n", flows.priority.describe());
    if flows.fragments > 0 {
        text += &format!(
            "{} skipped: their bytes are missing from the flows\n",
            match flows.fragments {
                1 => "one IP fragment was".to_owned(),
                some => format!("{} IP fragments were", count(some as u64)),
            }
        );
    }
    if flows.lowered > 0 {
        text += &format!(
            "{} of priority 7, which carries control frames, {} given 6\n",
            counted(flows.lowered, "flow"),
            were(flows.lowered as u64)
        );
    }
    if flows.seen_again > 0 {
        text += &format!(
            "{} {} also captured on another interface and counted once\n",
            counted(flows.seen_again, "packet"),
            were(flows.seen_again as u64)
        );
    }
    if flows.other_links > 0 {
        text += &format!(
            "{} of interfaces with an unknown link type {} skipped\n",
            counted(flows.other_links, "packet"),
            were(flows.other_links as u64)
        );
    }
    if flows.cut_off {
        text += &format!(
            "the file ends within packet {}; the {} before it were read\n",
            flows.packets + 1,
            flows.packets
        );
    }
    text
}
