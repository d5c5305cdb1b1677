//! Tables, entries and fields of a `config_db.json`, and what is wrong with their form.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use super::entry::{Entry, last_ones, part};
use super::finding::{Finding, Given, Severity, Spot};
use super::json::{Member, Node, Value};
use super::known::{self, OTHERS, TABLES};
use super::values::{self, short};

/// The rule of names that SONiC does not have.
const UNKNOWN: &str = "unknown-name";

/// The rule of entries that are about a port of another host or ASIC.
pub(super) const OF_OTHERS: &str = "other-device";

/// The whole file.
pub(super) struct Tables<'a> {
    root: &'a [Member],
    names: BTreeMap<&'static str, Rc<BTreeSet<&'a str>>>,
    /// The switch itself in keys of a chassis: its host, and its ASIC if the file names one.
    pub(super) itself: Option<(String, Option<String>)>,
    pub(super) findings: Vec<Finding>,
    /// Fields that are not read, by table.
    pub(super) unread: BTreeMap<&'static str, BTreeSet<String>>,
}

impl<'a> Tables<'a> {
    pub(super) fn new(root: &'a Node) -> Self {
        let mut tables = Self {
            root: &[],
            names: BTreeMap::new(),
            itself: None,
            findings: Vec::new(),
            unread: BTreeMap::new(),
        };
        match &root.value {
            Value::Object(members) => tables.root = members,
            other => {
                let spot = Spot {
                    at: root.at,
                    path: "$".into(),
                };
                tables.say(Finding::new(
                    Severity::Error,
                    "wrong-type",
                    &spot,
                    format!("the file is {}, not an object of tables", other.kind()),
                    "a config_db.json is {\"TABLE\": {\"key\": {\"field\": \"value\"}}}",
                ));
            }
        }
        tables.names();
        tables
    }

    pub(super) fn say(&mut self, finding: Finding) {
        self.findings.push(finding);
    }

    pub(super) fn error(&mut self, rule: &'static str, spot: &Spot, message: String, fix: &str) {
        self.say(Finding::new(Severity::Error, rule, spot, message, fix));
    }

    pub(super) fn warn(&mut self, rule: &'static str, spot: &Spot, message: String, fix: &str) {
        self.say(Finding::new(Severity::Warning, rule, spot, message, fix));
    }

    /// Names of all tables, in the order of the file.
    pub(super) fn all_names(&self) -> Vec<String> {
        self.root.iter().map(|it| it.key.clone()).collect()
    }

    pub(super) fn has(&self, table: &str) -> bool {
        self.root.iter().any(|it| it.key == table)
    }

    /// Tables that come twice, and names that are none of SONiC's.
    fn names(&mut self) {
        let root = self.root;
        self.twice(root, "$");
        for member in root {
            let name = member.key.as_str();
            if TABLES.contains(&name) || OTHERS.contains(&name) {
                continue;
            }
            let near = TABLES.iter().find(|known| {
                strsim::damerau_levenshtein(&short(name).to_uppercase(), known)
                    <= 1 + known.len() / 12
            });
            let spot = Spot {
                at: member.at,
                path: format!("${}", part(name)),
            };
            if let Some(near) = near.filter(|near| !self.has(near)) {
                let message = format!("SONiC has no table {}; is it {near}?", short(name));
                let fix = "write the table's name as SONiC does";
                self.warn(UNKNOWN, &spot, message, fix);
            } else {
                let message = format!("SONiC has no table {}, so it is not read", short(name));
                let fix = "remove it, or correct its name; a table that is newer than August 2026 is unknown here";
                self.say(Finding::new(Severity::Note, UNKNOWN, &spot, message, fix));
            }
        }
    }

    /// Of keys that come twice, readers of JSON keep the last.
    fn twice(&mut self, members: &[Member], path: &str) {
        let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
        for member in members {
            if seen.insert(&member.key, member.at).is_some() {
                let spot = Spot {
                    at: member.at,
                    path: format!("{path}{}", part(&member.key)),
                };
                self.error(
                    "duplicate-key",
                    &spot,
                    format!(
                        "{} is there twice; only the last one counts",
                        short(&member.key)
                    ),
                    "keep one of them",
                );
            }
        }
    }

    /// The entries of a table; none if it is not there.
    pub(super) fn entries(&mut self, table: &'static str) -> Vec<Entry<'a>> {
        let root = self.root;
        let Some(member) = root.iter().rfind(|it| it.key == table) else {
            return Vec::new();
        };
        let path = format!("${}", part(table));
        let Value::Object(entries) = &member.node.value else {
            self.no_object(member, &path, "a table is an object of entries");
            return Vec::new();
        };
        self.twice(entries, &path);
        let mut all: Vec<Entry<'a>> = Vec::new();
        for entry in last_ones(entries) {
            let path = format!("{path}{}", part(&entry.key));
            let Value::Object(fields) = &entry.node.value else {
                self.no_object(entry, &path, "an entry is an object of fields");
                continue;
            };
            self.twice(fields, &path);
            let entry = Entry {
                table,
                key: &entry.key,
                at: entry.at,
                fields: last_ones(fields),
            };
            self.fields(&entry);
            all.push(entry);
        }
        all
    }

    fn no_object(&mut self, member: &Member, path: &str, fix: &str) {
        let spot = Spot {
            at: member.at,
            path: path.to_owned(),
        };
        let message = format!(
            "{} is {}, not an object",
            short(&member.key),
            member.node.value.kind()
        );
        self.error("wrong-type", &spot, message, fix);
    }

    /// The text of a field; SONiC's values are text, of which only numbers can go without quotes.
    pub(super) fn text(&mut self, entry: &Entry<'_>, field: &str) -> Option<Given<String>> {
        let member = entry.fields.iter().find(|it| it.key == field)?;
        let spot = entry.spot_of(field);
        let value = match &member.node.value {
            Value::Text(text) => text.clone(),
            Value::Number(number) => {
                let message = format!("{} is a number, not text", short(field));
                let fix = format!(
                    "write \"{}\": every value of config_db.json is text",
                    short(number)
                );
                self.warn("wrong-type", &spot, message, &fix);
                number.clone()
            }
            other => {
                let message = format!("{} is {}, not text", short(field), other.kind());
                self.error(
                    "wrong-type",
                    &spot,
                    message,
                    "every value of config_db.json is text",
                );
                return None;
            }
        };
        Some(Given { value, spot })
    }

    /// A text, or the texts of an array, as one with commas.
    pub(super) fn list(&mut self, entry: &Entry<'_>, field: &str) -> Option<Given<String>> {
        let member = entry.fields.iter().find(|it| it.key == field)?;
        if let Value::Array(nodes) = &member.node.value {
            let texts = nodes.iter().map(|node| match &node.value {
                Value::Text(text) => Some(text.as_str()),
                _ => None,
            });
            if let Some(texts) = texts.collect::<Option<Vec<_>>>() {
                let (value, spot) = (texts.join(","), entry.spot_of(field));
                return Some(Given { value, spot });
            }
        }
        self.text(entry, field)
    }

    /// Reads a field's text by `read`.
    pub(super) fn read<T>(
        &mut self,
        entry: &Entry<'_>,
        field: &str,
        read: impl Fn(&str) -> Result<T, String>,
    ) -> Option<Given<T>> {
        let Given { value, spot } = self.text(entry, field)?;
        match read(&value) {
            Ok(value) => Some(Given { value, spot }),
            Err(why) => {
                let message = format!("{}: {why}", short(field));
                self.error(
                    "bad-value",
                    &spot,
                    message,
                    "correct it: SONiC refuses the entry, or takes it as another",
                );
                None
            }
        }
    }

    /// A whole number of a field, within `least` and `most`.
    pub(super) fn number(
        &mut self,
        entry: &Entry<'_>,
        field: &str,
        least: i64,
        most: i64,
    ) -> Option<Given<i64>> {
        self.read(entry, field, |text| {
            let number = values::whole(text)?;
            if number < least {
                Err(format!("{number} is less than {least}"))
            } else if number > most {
                Err(format!("{number} is more than {most}"))
            } else {
                Ok(number)
            }
        })
    }

    /// A number of bytes.
    pub(super) fn bytes(&mut self, entry: &Entry<'_>, field: &str) -> Option<Given<u64>> {
        let given = self.number(entry, field, 0, 1 << 40)?;
        Some(Given {
            value: given.value.unsigned_abs(),
            spot: given.spot,
        })
    }

    /// The name that a field refers to, which must be in `table`.
    pub(super) fn reference(
        &mut self,
        entry: &Entry<'_>,
        field: &str,
        table: &'static str,
    ) -> Option<Given<String>> {
        let given = self.text(entry, field)?;
        self.resolve(&given, table)
    }

    /// The same of a text.
    pub(super) fn resolve(
        &mut self,
        given: &Given<String>,
        table: &'static str,
    ) -> Option<Given<String>> {
        let spot = &given.spot;
        let it = match values::reference(&given.value) {
            Ok(it) => it,
            Err(why) => {
                let fix = format!("write the entry's name, or [{table}|name]");
                self.error("bad-reference", spot, why, &fix);
                return None;
            }
        };
        if let Some(other) = it.table.filter(|other| *other != table) {
            let message = format!("refers to {}, where {table} is meant", short(other));
            let fix = format!("write [{table}|{}], or the name alone", short(it.name));
            self.error("bad-reference", spot, message, &fix);
            return None;
        }
        let names = self.names_of(table);
        if !names.contains(it.name) {
            let message = format!("{table} has no entry {}", short(it.name));
            let fix = match names.len() {
                0 => format!("add it: there is no entry in {table}"),
                _ => {
                    let known: Vec<_> = names.iter().take(12).copied().map(short).collect();
                    format!("{table} has: {}", known.join(", "))
                }
            };
            self.error("dangling-reference", spot, message, &fix);
            return None;
        }
        Some(Given {
            value: it.name.to_owned(),
            spot: spot.clone(),
        })
    }

    /// Keys of a table.
    pub(super) fn names_of(&mut self, table: &'static str) -> Rc<BTreeSet<&'a str>> {
        let root = self.root;
        let names = self.names.entry(table).or_insert_with(|| {
            let member = root.iter().rfind(|it| it.key == table);
            let entries = match member.map(|it| &it.node.value) {
                Some(Value::Object(entries)) => entries.as_slice(),
                _ => &[],
            };
            Rc::new(entries.iter().map(|it| it.key.as_str()).collect())
        });
        names.clone()
    }

    /// Keeps the fields that are not read, and reports those that SONiC does not have.
    fn fields(&mut self, entry: &Entry<'_>) {
        let Some(known) = known::fields(entry.table) else {
            return;
        };
        for name in entry.names() {
            if known.read.contains(&name.as_str()) {
                continue;
            }
            let unread = self.unread.entry(entry.table).or_default();
            unread.insert(short(&name));
            if known.unread.contains(&name.as_str()) {
                continue;
            }
            let spot = entry.spot_of(&name);
            match nearest(&name, entry, known.read) {
                Some(near) => {
                    let message = format!("SONiC has no field {name} here; is it {near}?");
                    let fix = "write the field's name as SONiC does";
                    self.warn(UNKNOWN, &spot, message, fix);
                }
                None => {
                    let message = format!(
                        "SONiC has no field {} in {}, so it is not read",
                        short(&name),
                        entry.table
                    );
                    let fix = "remove it, or correct its name; a field that is newer than August 2026 is unknown here";
                    self.say(Finding::new(Severity::Note, UNKNOWN, &spot, message, fix));
                }
            }
        }
    }

    /// Whether a key of a chassis, whose queues are those towards every port of it, is about a port of this switch.
    fn is_own(&self, host: &str, asic: &str) -> bool {
        let Some((name, own)) = &self.itself else {
            return false;
        };
        let is_asic = own
            .as_ref()
            .is_none_or(|own| own.eq_ignore_ascii_case(asic));
        host == name && is_asic
    }

    /// The ports of a key such as `Ethernet0,Ethernet4|3-4`, and the numbers behind the bar. In a chassis host and ASIC
    /// stand before the ports.
    ///
    /// `None` if it is no such key, or is about a port of another switch. Ports that `PORT` lacks are said, and left out.
    pub(super) fn ports_and_range<'b>(
        &mut self,
        entry: &Entry<'b>,
        most: u8,
    ) -> Option<(Vec<&'b str>, BTreeSet<u8>)> {
        let parts: Vec<&str> = entry.key.split('|').collect();
        let (ports, range) = match parts[..] {
            [ports, range] => (ports, range),
            [host, asic, ports, range] if self.is_own(host, asic) => (ports, range),
            [_, _, _, _] => {
                let message = format!(
                    "the key of {} names a host or an ASIC other than this switch's, so the entry is not read",
                    entry.table
                );
                let fix = "nothing, if it is a queue to a port of another line card; else write hostname and asic_name of \
                           DEVICE_METADATA";
                let severity = Severity::Note;
                self.say(Finding::new(
                    severity,
                    OF_OTHERS,
                    &entry.spot(),
                    message,
                    fix,
                ));
                return None;
            }
            _ => {
                let message = format!("{} is no key such as Ethernet0|3-4", short(entry.key));
                self.error(
                    "bad-key",
                    &entry.spot(),
                    message,
                    "name ports, a bar, and a range",
                );
                return None;
            }
        };
        match values::small_numbers(range, most) {
            Ok(range) => Some((self.known_ports(entry, ports, Severity::Error), range)),
            Err(why) => {
                self.error(
                    "bad-key",
                    &entry.spot(),
                    why,
                    "a range is a number, or two such as 3-4",
                );
                None
            }
        }
    }

    /// The ports of a list that are in `PORT`; of others it is said that they are not.
    pub(super) fn known_ports<'b>(
        &mut self,
        entry: &Entry<'_>,
        list: &'b str,
        severity: Severity,
    ) -> Vec<&'b str> {
        let known = self.names_of("PORT");
        let mut ports = Vec::new();
        for port in list.split(',').map(str::trim) {
            if self.has("PORT") && !known.contains(port) {
                let message = format!("there is no port {} in PORT", short(port));
                let fix = "name a port that PORT has, or remove the entry";
                let finding = Finding::new(severity, "unknown-port", &entry.spot(), message, fix);
                self.say(finding);
                continue;
            }
            ports.push(port);
        }
        ports
    }
}

/// The field that `name` may stand for: one of almost the same name, which the entry lacks.
fn nearest(name: &str, entry: &Entry<'_>, known: &[&'static str]) -> Option<&'static str> {
    if name.len() > 60 {
        return None;
    }
    let lower = name.to_lowercase();
    let is_near = |known: &&str| {
        let distance = strsim::damerau_levenshtein(&lower, &known.to_lowercase());
        distance <= 1 + known.len() / 8 && !entry.has(known)
    };
    known.iter().copied().find(|known| is_near(known))
}
