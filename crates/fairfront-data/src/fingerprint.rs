//! Fingerprints of encoded rows, the same for rows in memory and in a file.

use fairfront_core::{Dataset, Error, RowBlock, RowSource, hex};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// Blocks that are read and hashed at once.
const AT_ONCE: usize = 256;

/// SHA-256 over the rows of a split, in hexadecimal: over the digests of its blocks, in order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fingerprint {
    /// Over features, labels, weights and groups.
    pub rows: String,
    /// Over labels and weights.
    pub labels: String,
}

/// Computes the fingerprint of the rows of a split, on all threads.
pub fn fingerprint_rows(rows: &Dataset) -> Result<Fingerprint, Error> {
    let mut all = Sha256::new();
    let mut labels = Sha256::new();
    for hash in [&mut all, &mut labels] {
        hash.update((rows.n_rows() as u64).to_le_bytes());
    }
    let n = rows.n_blocks();
    for first in (0..n).step_by(AT_ONCE) {
        let last = n.min(first + AT_ONCE);
        rows.prefetch(first..n.min(last + AT_ONCE));
        let digests = (first..last)
            .into_par_iter()
            .map(|index| {
                Ok(digests(
                    &*rows.block(index)?,
                    rows.schema().attributes.len(),
                ))
            })
            .collect::<Result<Vec<_>, Error>>()?;
        for (of_rows, of_labels) in digests {
            all.update(of_rows);
            labels.update(of_labels);
        }
    }
    Ok(Fingerprint {
        rows: hex(&all.finalize()),
        labels: hex(&labels.finalize()),
    })
}

/// The digest of a block, and the one of its labels and weights.
fn digests(block: &RowBlock, n_attributes: usize) -> ([u8; 32], [u8; 32]) {
    let mut bytes = Vec::new();
    let numbers = |bytes: &mut Vec<u8>, values: &[f64]| {
        bytes.extend(values.iter().flat_map(|value| value.to_le_bytes()));
    };
    let codes = |bytes: &mut Vec<u8>, values: &[u32]| {
        bytes.extend(values.iter().flat_map(|value| value.to_le_bytes()));
    };
    for row in 0..block.n_rows() {
        numbers(&mut bytes, block.numeric(row));
        codes(&mut bytes, block.codes(row));
    }
    let start = bytes.len();
    numbers(&mut bytes, block.labels());
    numbers(&mut bytes, block.weights());
    let labels = Sha256::digest(&bytes[start..]);
    for attribute in 0..n_attributes {
        codes(&mut bytes, block.groups(attribute));
    }
    (Sha256::digest(&bytes).into(), labels.into())
}
