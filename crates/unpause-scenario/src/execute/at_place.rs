//! Files on disk before a result is complete: finished runs, and long series.

use std::path::PathBuf;

use unpause_sim::results::PortSample;

#[cfg(feature = "parquet")]
pub(crate) use self::place::AtPlace;
use unpause_results::outcome::Part;
use unpause_results::run::Run;
use unpause_results::tables::series::SeriesFile;
use unpause_text::error::Error;

/// Who keeps finished runs, and takes series that are too long for memory.
pub(crate) trait Keep: Sync {
    /// Loads the kept tables of a run.
    fn load(&self, run: &Run) -> Option<Part>;
    /// Takes a finished run, whose `run` was this.
    fn save(&self, run: &Run, part: &Part) -> Result<(), Error>;
    /// Where the samples of ports of a run go while it runs; none if they stay in memory.
    fn series(&self, run: &Run) -> Result<Option<SeriesFile>, Error>;
}

/// In memory alone.
pub(crate) struct InMemory;

impl Keep for InMemory {
    fn load(&self, _run: &Run) -> Option<Part> {
        None
    }
    fn save(&self, _run: &Run, _part: &Part) -> Result<(), Error> {
        Ok(())
    }
    fn series(&self, _run: &Run) -> Result<Option<SeriesFile>, Error> {
        Ok(None)
    }
}

/// Samples of ports in `part`'s file instead of its results.
pub(crate) fn last_samples(
    series: Option<SeriesFile>,
    rest: &mut Vec<PortSample>,
) -> Result<Option<PathBuf>, Error> {
    let finish = |series: SeriesFile| series.finish(std::mem::take(rest));
    series.map(finish).transpose()
}

#[cfg(feature = "parquet")]
mod place {
    use std::time::{Duration, Instant};

    use tempfile::TempDir;

    use super::*;
    use unpause_results::outcome::directory::{Cache, Keeper, Place};
    use unpause_results::run::key::key;

    /// Runs that end sooner after the start are as soon run again.
    const SOON: Duration = Duration::from_secs(2);

    /// In a result's directory, and in the cache if there is one.
    pub(crate) struct AtPlace<'a> {
        pub keeper: Keeper,
        pub began: Instant,
        /// For series, if they are long.
        pub scratch: Option<TempDir>,
        /// Names of the swept values.
        pub columns: Vec<String>,
        pub cache: Option<&'a Cache>,
    }

    impl<'a> AtPlace<'a> {
        /// `streams`: the series are long.
        pub fn new(
            place: &Place,
            columns: &[String],
            cache: Option<&'a Cache>,
            streams: bool,
        ) -> Result<Self, Error> {
            Ok(Self {
                columns: columns.to_vec(),
                // Long series are written once.
                cache: cache.filter(|_| !streams),
                keeper: Keeper::at(place),
                began: Instant::now(),
                scratch: streams.then(|| place.scratch()).transpose()?,
            })
        }

        fn path(&self, run: &Run) -> Option<PathBuf> {
            let folder = self.scratch.as_ref()?.path();
            Some(folder.join(format!("port_series-{}.parquet", run.index)))
        }
    }

    impl Keep for AtPlace<'_> {
        fn load(&self, run: &Run) -> Option<Part> {
            // Mostly there is nothing, and no need for keys.
            let some = self.keeper.count() > 0;
            if !some && self.cache.is_none() {
                return None;
            }
            let key = key(run, &self.columns)?;
            let kept = || self.keeper.load(&key, run, self.scratch.is_some());
            let kept = some.then(kept).flatten();
            kept.or_else(|| self.cache?.load(&key, run))
        }

        fn save(&self, run: &Run, part: &Part) -> Result<(), Error> {
            let soon = self.began.elapsed() < SOON;
            if soon && self.cache.is_none() {
                return Ok(());
            }
            let Some(key) = key(run, &self.columns) else {
                return Ok(());
            };
            if let Some(cache) = self.cache {
                cache.save(&key, part);
            }
            if soon {
                return Ok(());
            }
            self.keeper.save(&key, part)
        }

        fn series(&self, run: &Run) -> Result<Option<SeriesFile>, Error> {
            let path = self.path(run);
            path.map(|path| SeriesFile::create(path, run)).transpose()
        }
    }
}
