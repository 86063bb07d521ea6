//! The experiments.

use std::fmt;
use std::str::FromStr;

use fairfront_data::{Known, PublishedFile, data_folder, near_names};
use fairfront_run::Error;
use serde::{Deserialize, Serialize};

/// An experiment, which repeats a figure or a table of the paper.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Experiment {
    /// Group counts of the data sets.
    Tables,
    /// Adult by gender.
    AdultGender,
    /// Adult by race.
    AdultRace,
    /// Comparison of the solvers on forty problems.
    Profiles,
    /// COMPAS by race, false negatives.
    CompasOpportunity,
    /// Adult by gender and by race in one problem.
    AdultTwoAttributes,
    /// COMPAS by race, selection rates and false negatives in one problem.
    CompasTwoMeasures,
    /// Adult as a stream.
    Streaming,
    /// The paper's grid search.
    Tuning,
    /// Two explanatory figures.
    Figures,
}

impl Experiment {
    /// All experiments, in the order of the page.
    pub const ALL: [Self; 10] = [
        Self::Tables,
        Self::AdultGender,
        Self::AdultRace,
        Self::Profiles,
        Self::CompasOpportunity,
        Self::AdultTwoAttributes,
        Self::CompasTwoMeasures,
        Self::Streaming,
        Self::Tuning,
        Self::Figures,
    ];

    /// The name on the command line and in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Tables => "tables",
            Self::AdultGender => "adult-gender",
            Self::AdultRace => "adult-race",
            Self::Profiles => "profiles",
            Self::CompasOpportunity => "compas-opportunity",
            Self::AdultTwoAttributes => "adult-two-attributes",
            Self::CompasTwoMeasures => "compas-two-measures",
            Self::Streaming => "streaming",
            Self::Tuning => "tuning",
            Self::Figures => "figures",
        }
    }

    /// A description in one line.
    pub fn about(self) -> &'static str {
        match self {
            Self::Tables => "group counts of Adult and COMPAS",
            Self::AdultGender => {
                "Adult by gender: four panels, many seeds, EPS-fair, balanced samples"
            }
            Self::AdultRace => "Adult by race: four panels, many seeds, EPS-fair, the true maximum",
            Self::Profiles => "PF-SMG, EPS-fair and the exact front on many problems",
            Self::CompasOpportunity => {
                "COMPAS: false negatives, with and without race as a feature, both centers"
            }
            Self::AdultTwoAttributes => "Adult by gender and race in one problem",
            Self::CompasTwoMeasures => "COMPAS: selection rates and false negatives in one problem",
            Self::Streaming => "Adult in batches of 2,000 rows",
            Self::Tuning => "grid search for settings of PF-SMG",
            Self::Figures => "two explanatory figures about PF-SMG and hypervolume",
        }
    }

    /// The known data sets that it requires.
    fn needs(self) -> &'static [&'static str] {
        match self {
            Self::Tables => &["adult:sex", "compas:race"],
            Self::AdultGender | Self::Streaming | Self::Tuning => &["adult:sex"],
            Self::AdultRace => &["adult:race"],
            Self::AdultTwoAttributes => &["adult:sex+race"],
            Self::CompasOpportunity | Self::CompasTwoMeasures => &["compas:race"],
            // Problems without data are left out.
            Self::Profiles | Self::Figures => &[],
        }
    }

    /// The required data sets that are missing. Returns an error if their files are corrupted.
    pub fn lacks(self) -> Result<Vec<&'static str>, Error> {
        let mut lacks = Vec::new();
        for name in self.needs() {
            if !at_hand(name)? {
                lacks.push(*name);
            }
        }
        Ok(lacks)
    }
}

/// Whether a known data set can be read. Returns an error if its files are corrupted or some are missing.
pub(crate) fn at_hand(name: &str) -> Result<bool, Error> {
    let folder = data_folder();
    let Some(known) = Known::named(name)? else {
        return Ok(false);
    };
    let is_there =
        |file: &PublishedFile| folder.as_ref().is_some_and(|f| f.join(file.name).exists());
    match known.files().iter().any(is_there) {
        true => {
            known.paths(folder.as_deref())?;
            Ok(true)
        }
        false => Ok(known.files().is_empty()),
    }
}

impl fmt::Display for Experiment {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Experiment {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let found = Self::ALL.into_iter().find(|one| one.name() == text);
        found.ok_or_else(|| {
            let near = near_names(text, Self::ALL.map(Self::name));
            Error::usage(format!("{text:?} is not an experiment; {near}"))
        })
    }
}
