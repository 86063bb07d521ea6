//! Which experiments there are.

use std::fmt;
use std::str::FromStr;

use fairfront_data::{Known, PublishedFile, data_folder, near_names};
use fairfront_run::Error;
use serde::{Deserialize, Serialize};

/// An experiment: a figure or a table of the paper.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Experiment {
    /// Who is in the data.
    Tables,
    /// Adult by gender.
    AdultGender,
    /// Adult by race.
    AdultRace,
    /// Solvers on forty problems.
    Profiles,
    /// COMPAS by race, false negatives.
    CompasOpportunity,
    /// Adult by gender and by race at once.
    AdultTwoAttributes,
    /// COMPAS, positive outcomes and false negatives at once.
    CompasTwoMeasures,
    /// Adult as a stream.
    Streaming,
    /// The paper's grid search.
    Tuning,
    /// Two figures that explain.
    Figures,
}

impl Experiment {
    /// All of them, in the order of the page.
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

    /// What it is called.
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

    /// What it is about, in a line.
    pub fn about(self) -> &'static str {
        match self {
            Self::Tables => "who is in Adult and COMPAS",
            Self::AdultGender => {
                "Adult by gender: four panels, many seeds, EPS-fair, balanced samples"
            }
            Self::AdultRace => "Adult by race: four panels, many seeds, EPS-fair, the true maximum",
            Self::Profiles => "PF-SMG, EPS-fair and the exact front on many problems",
            Self::CompasOpportunity => {
                "COMPAS: false negatives, with and without race, both centrings"
            }
            Self::AdultTwoAttributes => "Adult by gender and race at once",
            Self::CompasTwoMeasures => "COMPAS: positive outcomes and false negatives at once",
            Self::Streaming => "Adult in batches of 2,000 rows",
            Self::Tuning => "settings of PF-SMG by grid search",
            Self::Figures => "how PF-SMG moves a front; what hypervolume measures",
        }
    }

    /// The known data sets without which it cannot be done.
    fn needs(self) -> &'static [&'static str] {
        match self {
            Self::Tables => &["adult:gender", "compas:race"],
            Self::AdultGender | Self::Streaming | Self::Tuning => &["adult:gender"],
            Self::AdultRace => &["adult:race"],
            Self::AdultTwoAttributes => &["adult:gender+race"],
            Self::CompasOpportunity | Self::CompasTwoMeasures => &["compas:race"],
            // Those of its problems that can be had are enough.
            Self::Profiles | Self::Figures => &[],
        }
    }

    /// The data sets that are not at hand. Files that are there and damaged are an error.
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

/// Whether a known data set can be read; an error where its files are damaged, or only some of them are there.
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
            Error::usage(format!("there is no experiment {text:?}; {near}"))
        })
    }
}
