//! What a run leaves on the disk before its result is complete: finished runs, and long series.

use std::path::PathBuf;

use unpause_sim::results::PortSample;

#[cfg(feature = "parquet")]
pub(crate) use self::place::AtPlace;
use crate::outcome::Part;
use crate::run::Run;
use crate::series::SeriesFile;
use crate::text::error::Error;

/// Who keeps finished runs, and takes series that are too long for memory.
pub(crate) trait Keep: Sync {
    /// What is kept of a run.
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
    use crate::directory::{Keeper, Place};
    use crate::key::key;

    /// Runs that end sooner after the start are as soon run again.
    const SOON: Duration = Duration::from_secs(2);

    /// In a result's directory.
    pub(crate) struct AtPlace {
        pub keeper: Keeper,
        pub began: Instant,
        /// For series, if they are long.
        pub scratch: Option<TempDir>,
    }

    impl AtPlace {
        /// `streams`: the series are long.
        pub fn new(place: &Place, streams: bool) -> Result<Self, Error> {
            Ok(Self {
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

    impl Keep for AtPlace {
        fn load(&self, run: &Run) -> Option<Part> {
            // Mostly there is nothing, and no need for keys.
            let some = self.keeper.count() > 0;
            some.then(|| self.keeper.load(&key(run)?, run, self.scratch.is_some()))?
        }

        fn save(&self, run: &Run, part: &Part) -> Result<(), Error> {
            if self.began.elapsed() < SOON {
                return Ok(());
            }
            key(run).map_or(Ok(()), |key| self.keeper.save(&key, part))
        }

        fn series(&self, run: &Run) -> Result<Option<SeriesFile>, Error> {
            let path = self.path(run);
            path.map(|path| SeriesFile::create(path, run)).transpose()
        }
    }
}
