//! The seeds of a fuzzer: inputs out of the project's own files, and dictionaries of the words in them.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// A target's name and inputs for it.
pub type Inputs = (&'static str, Vec<Vec<u8>>);

/// Inputs of each target.
pub fn inputs(root: &Path) -> io::Result<Vec<Inputs>> {
    let tests = root.join("crates/unpause-scenario/tests");
    let mut files = files_under(&root.join("scenarios"))?;
    files.extend(files_under(&tests)?);
    let workloads = files_under(&root.join("crates/unpause-import/workloads"))?;
    let scenarios = contents(&files, "toml")?;
    let quantities = words(&scenarios).into_iter();
    let quantities = quantities.filter(|word| word.starts_with(|c: char| c.is_ascii_digit()));
    let texts = contents(&files, "txt")?;
    let goals = [contents(&files, "goal")?, contents(&files, "bin")?].concat();
    let points = [contents(&workloads, "csv")?, contents(&files, "csv")?].concat();
    let schema = fs::read(root.join("docs/scenario.schema.json"))?;
    let schema = serde_json::from_slice(&schema)?;
    Ok(vec![
        ("quantity", quantities.map(String::into_bytes).collect()),
        ("cdf", points.clone()),
        ("delays", points),
        ("hpcc_topology", texts.clone()),
        ("hpcc_flows", texts),
        ("goal", goals),
        ("simai", contents(&files, "simai")?),
        ("chakra", crate::chakra::seeds(&contents(&files, "et")?)),
        ("htsim", contents(&files, "cm")?),
        ("htsim_topology", contents(&files, "topo")?),
        ("config_db", configurations(root)?),
        (
            "scenario",
            [with_bases(scenarios), crate::keys::seeds(&schema)].concat(),
        ),
        ("results", crate::results::seeds()),
        ("directories", crate::directories::seeds()),
        ("frame", frames(root)?),
        ("capture", captures(root)?),
        ("testbed", crate::testbed::seeds()),
    ])
}

/// The scenarios, and the same again as bases of one that changes a little.
fn with_bases(mut scenarios: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
    const CHANGES: &str =
        "base = \"base.toml\"\nwithout = [\"scheme.0\"]\nseed = 2\n[[scheme]]\nname = \"PFC\"";
    let begin = [CHANGES, crate::scenario::BASE].concat().into_bytes();
    let based: Vec<_> = scenarios
        .iter()
        .map(|base| [&begin[..], base].concat())
        .collect();
    scenarios.extend(based);
    scenarios
}

/// The frames of unpause-wire's tests: `name hexadecimal` on each line.
fn frames(root: &Path) -> io::Result<Vec<Vec<u8>>> {
    let tables = files_under(&root.join("crates/unpause-wire/tests/frames"))?;
    let mut frames = Vec::new();
    for table in contents(&tables, "txt")? {
        let table = String::from_utf8_lossy(&table);
        let digits = table.lines().filter_map(|line| line.split_once(' '));
        frames.extend(digits.filter_map(|(_, digits)| unhex(digits)));
    }
    Ok(frames)
}

fn unhex(digits: &str) -> Option<Vec<u8>> {
    let byte = |at| u8::from_str_radix(digits.get(at..at + 2)?, 16).ok();
    (0..digits.len()).step_by(2).map(byte).collect()
}

/// Configurations of switches with SONiC.
fn configurations(root: &Path) -> io::Result<Vec<Vec<u8>>> {
    let mut files = files_under(&root.join("crates/unpause-cli/tests/data"))?;
    files.extend(files_under(&root.join("examples/sonic"))?);
    contents(&files, "json")
}

fn captures(root: &Path) -> io::Result<Vec<Vec<u8>>> {
    let files = files_under(&root.join("crates/unpause-capture/tests/data"))?;
    Ok([contents(&files, "pcap")?, contents(&files, "pcapng")?].concat())
}

/// Writes the inputs of each target into `directory/<target>` and their words into
/// `directory/<target>.dict`. `root` is the project's.
pub fn write(root: &Path, directory: &Path) -> io::Result<()> {
    for (target, inputs) in inputs(root)? {
        let corpus = directory.join(target);
        fs::create_dir_all(&corpus)?;
        for (index, input) in inputs.iter().enumerate() {
            fs::write(corpus.join(format!("seed-{index:03}")), input)?;
        }
        fs::write(corpus.with_extension("dict"), dictionary(&inputs))?;
    }
    crate::results::clean();
    crate::directories::clean();
    Ok(())
}

/// Words of the inputs of a target as libFuzzer's dictionary: keys, units, names and what is quoted.
fn dictionary(inputs: &[Vec<u8>]) -> String {
    let escape = |word: String| {
        let escaped = word.bytes().map(|byte| match byte {
            b'"' | b'\\' | 0x7f.. | ..0x20 => format!("\\x{byte:02x}"),
            _ => char::from(byte).to_string(),
        });
        format!("\"{}\"\n", escaped.collect::<String>())
    };
    // libFuzzer refuses a file of nothing; frames and captures have no words.
    let head = String::from("# Words of the inputs.\n");
    words(inputs)
        .into_iter()
        .map(escape)
        .fold(head, |all, word| all + &word)
}

/// Longest word of a dictionary.
const WORD: usize = 40;

fn words(inputs: &[Vec<u8>]) -> BTreeSet<String> {
    let mut words = BTreeSet::new();
    for input in inputs {
        let Ok(text) = std::str::from_utf8(input) else {
            continue;
        };
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let ends = |c: char| c.is_whitespace() || "\"'=[]{},".contains(c);
            words.extend(line.split(ends).map(str::to_owned));
            words.extend(line.split('"').skip(1).step_by(2).map(str::to_owned));
        }
    }
    words.retain(|word| (1..=WORD).contains(&word.len()));
    words
}

fn files_under(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        if path.is_dir() {
            files.extend(files_under(&path)?)
        } else {
            files.push(path)
        }
    }
    files.sort();
    Ok(files)
}

fn contents(files: &[PathBuf], extension: &str) -> io::Result<Vec<Vec<u8>>> {
    let wanted = |file: &&PathBuf| file.extension().is_some_and(|found| found == extension);
    files.iter().filter(wanted).map(fs::read).collect()
}
