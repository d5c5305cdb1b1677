//! Values that are worked out once for each key.

use std::cell::RefCell;
use std::collections::BTreeMap;

/// What was worked out, by key.
pub struct Memo<K, V>(RefCell<BTreeMap<K, V>>);

impl<K, V> Default for Memo<K, V> {
    fn default() -> Self {
        Self(RefCell::default())
    }
}

impl<K: Ord, V: Clone> Memo<K, V> {
    /// The value of `key`, which `work_out` answers the first time.
    pub fn get(&self, key: K, work_out: impl FnOnce() -> V) -> V {
        let known = self.0.borrow().get(&key).cloned();
        known.unwrap_or_else(|| {
            let value = work_out();
            self.0.borrow_mut().insert(key, value.clone());
            value
        })
    }
}
