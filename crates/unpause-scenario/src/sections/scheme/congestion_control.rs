//! Descriptions of congestion controls.

use std::fmt;
use unpause_text::error::Checked;

use unpause_protocols::units::Time;
use unpause_sim::config::{Config, SchemeConfig};
use unpause_sim::traffic::Transport;

use crate::text::document::Table;
use crate::text::keys::{self, Key, Keys as _, keys_of};

/// A value of `congestion_control`: the parameters of its points.
pub(super) trait Scheme: Default {
    /// As written in the file; also the name of its table.
    const NAME: &'static str;
    /// One line on what it is.
    const SUMMARY: &'static str;
    /// The transport of the flows that it controls.
    const TRANSPORT: Transport = Transport::Roce;
    /// Its senders obey it.
    const REACTS: bool = true;
    /// Its switches mark packets.
    const MARKS: bool = false;
    /// The notification that it sends to senders, if any.
    const NOTIFIES_BY: Option<&'static str> = None;
    /// Keys of its own congestion point, which another `marking` replaces; none if it cannot do
    /// without its own.
    const REPLACEABLE: Option<&'static [&'static str]> = Some(&[]);
    /// The key of the base RTT, or of what follows from it, if the fabric's is the default.
    const BASE_RTT: Option<&'static str> = None;
    /// Its table.
    type Keys: keys::Keys<Params = Self> + Default;

    /// The parameters before `keys` set theirs.
    fn defaults(_keys: &Self::Keys) -> Self {
        Self::default()
    }

    /// Sets what follows from the base RTT of the fabric, if the key [`BASE_RTT`](Self::BASE_RTT) is not written.
    fn set_base_rtt(&mut self, _base_rtt: Time) {}

    /// Names of its variants with their defaults, if its table chooses among some.
    fn variants() -> Vec<(&'static str, Self)> {
        Vec::new()
    }

    /// Refuses parameters that do not go together.
    fn check(&self, _keys: &Self::Keys) -> Checked<()> {
        Ok(())
    }

    /// Its points.
    fn config(self) -> SchemeConfig;

    /// A warning about a run with it: message and help.
    fn warning(_config: &Config) -> Option<(String, &'static str)> {
        None
    }
}

/// A value of `congestion_control`.
#[derive(Clone, Copy)]
pub struct CongestionControl {
    name: &'static str,
    summary: &'static str,
    transport: Transport,
    reacts: bool,
    marks: bool,
    notifies_by: Option<&'static str>,
    replaceable: Option<&'static [&'static str]>,
    keys: fn() -> Vec<Key>,
    variants: fn() -> Vec<(&'static str, Vec<Key>)>,
    configure: Configure,
    warning: fn(&Config) -> Option<(String, &'static str)>,
}

/// Finds the base RTT of the fabric, which is otherwise said by the key of this name.
pub(crate) type BaseRtt<'a> = &'a dyn Fn(&str) -> Checked<Time>;

type Configure = fn(Option<Table<'_>>, BaseRtt<'_>) -> Checked<SchemeConfig>;

impl CongestionControl {
    pub(super) const fn of<S: Scheme>() -> Self {
        Self {
            name: S::NAME,
            summary: S::SUMMARY,
            transport: S::TRANSPORT,
            reacts: S::REACTS,
            marks: S::MARKS,
            notifies_by: S::NOTIFIES_BY,
            replaceable: S::REPLACEABLE,
            keys: || S::Keys::keys(&S::defaults(&S::Keys::default())),
            variants: || {
                let variants = S::variants().into_iter();
                variants
                    .map(|(name, scheme)| (name, S::Keys::keys(&scheme)))
                    .collect()
            },
            configure: |table, base_rtt| {
                let keys: S::Keys = keys_of(table)?;
                let mut scheme = S::defaults(&keys);
                if let Some(key) = S::BASE_RTT
                    && !keys.written().iter().any(|(written, _)| *written == key)
                {
                    scheme.set_base_rtt(base_rtt(&format!("scheme.{}.{key}", S::NAME))?);
                }
                keys.apply(&mut scheme)?;
                scheme.check(&keys)?;
                Ok(scheme.config())
            },
            warning: S::warning,
        }
    }

    /// As written in the file; also the name of its table.
    pub fn name(self) -> &'static str {
        self.name
    }

    /// One line on what it is.
    pub fn summary(self) -> &'static str {
        self.summary
    }

    /// The keys of its table.
    pub fn keys(self) -> Vec<Key> {
        (self.keys)()
    }

    /// Names of its variants, if its table chooses among some, and the keys with their defaults.
    pub fn variants(self) -> Vec<(&'static str, Vec<Key>)> {
        (self.variants)()
    }

    /// The transport of the flows that it controls.
    pub(crate) fn transport(self) -> Transport {
        self.transport
    }

    /// True of the window laws: flows go over TCP.
    pub fn is_tcp(self) -> bool {
        self.transport == Transport::Tcp
    }

    /// True if senders obey it.
    pub(crate) fn reacts(self) -> bool {
        self.reacts
    }

    /// True if switches mark packets for it.
    pub(crate) fn marks(self) -> bool {
        self.marks
    }

    /// The notification that it sends to senders, if any: CNPs, CNMs.
    pub(crate) fn notifies_by(self) -> Option<&'static str> {
        self.notifies_by
    }

    /// Keys of its table that set its own congestion point, which another `marking` replaces; none if
    /// it cannot do without.
    pub fn replaceable(self) -> Option<&'static [&'static str]> {
        self.replaceable
    }

    /// The check for a configuration with it that is odd: a message, and advice.
    pub(crate) fn warning(self) -> fn(&Config) -> Option<(String, &'static str)> {
        self.warning
    }

    /// The scheme with what its table says, if it has one.
    pub(crate) fn configure(
        self,
        table: Option<Table<'_>>,
        base_rtt: BaseRtt<'_>,
    ) -> Checked<SchemeConfig> {
        (self.configure)(table, base_rtt)
    }
}

impl PartialEq for CongestionControl {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl fmt::Debug for CongestionControl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}
