//! Defines in one table which splits may influence which decisions.

use fairfront_core::Dataset;

use crate::{Encoded, Part};

/// A decision that rows take part in. [`RowRole::parts`] is the only place that defines which rows may.
///
/// ```
/// use fairfront_data::{Part, RowRole};
/// // Rows that chose something cannot certify it.
/// for part in RowRole::Certification.parts() {
///     assert!(RowRole::ALL.iter().all(|role| !role.chooses() || !role.parts().contains(part)));
/// }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowRole {
    /// The encoding and the parameters of all models.
    Parameters,
    /// The strength of the penalty, by cross-validation.
    Penalty,
    /// Decision thresholds.
    Thresholds,
    /// The conversion of scores to probabilities.
    Calibration,
    /// The models of the front.
    Membership,
    /// How families of models compare: the advantage of models that were fitted on training rows.
    Families,
    /// The order in which models are tested, and the rules that choose among them.
    Order,
    /// Whether a requirement is certified.
    Certification,
    /// The measures reported for the chosen model.
    Reporting,
}

impl RowRole {
    /// All roles.
    pub const ALL: [Self; 9] = [
        Self::Parameters,
        Self::Penalty,
        Self::Thresholds,
        Self::Calibration,
        Self::Membership,
        Self::Families,
        Self::Order,
        Self::Certification,
        Self::Reporting,
    ];

    /// The splits whose rows may take part, the preferred one first.
    pub fn parts(self) -> &'static [Part] {
        match self {
            Self::Parameters | Self::Penalty | Self::Thresholds => &[Part::Train],
            Self::Calibration | Self::Families | Self::Order => &[Part::Validation, Part::Train],
            Self::Membership => &[Part::Train, Part::Validation],
            Self::Certification => &[Part::Certify, Part::Test],
            Self::Reporting => &[Part::Test],
        }
    }

    /// Whether rows in this role choose something that a certificate is about.
    pub fn chooses(self) -> bool {
        !matches!(self, Self::Certification | Self::Reporting)
    }

    /// Whether only the first split with rows is used, rather than all splits together.
    fn takes_first(self) -> bool {
        matches!(
            self,
            Self::Calibration | Self::Families | Self::Order | Self::Certification
        )
    }
}

impl Encoded {
    /// The splits with rows that may take part in this role.
    pub fn parts_for(&self, role: RowRole) -> Vec<Part> {
        let has_rows = |part: &Part| self.part(*part).n_rows() > 0;
        let mut parts: Vec<Part> = role.parts().iter().copied().filter(has_rows).collect();
        if role.takes_first() {
            parts.truncate(1);
        }
        parts
    }

    /// The rows that take part in this role, split by split.
    pub fn rows_for(&self, role: RowRole) -> impl Iterator<Item = &Dataset> {
        self.parts_for(role).into_iter().map(|part| self.part(part))
    }
}
