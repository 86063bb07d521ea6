//! Tables with their spec, as Python holds them.

use std::sync::{Arc, Mutex, PoisonError};

use fairfront_data::{Encoded, Known, Prepared};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::error::Failure;
use crate::work::outside;

/// A prepared table.
#[pyclass(name = "Dataset", module = "fairfront._fairfront", frozen)]
pub(crate) struct PyDataset {
    pub(crate) prepared: Prepared,
    encoded: Mutex<Option<Arc<Encoded>>>,
}

impl PyDataset {
    /// The rows as numbers, found when first asked for.
    pub(crate) fn encoded(&self) -> Result<Arc<Encoded>, Failure> {
        let mut kept = self.encoded.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(encoded) = kept.as_ref() {
            return Ok(Arc::clone(encoded));
        }
        let encoded = Arc::new(Encoded::new(&self.prepared)?);
        *kept = Some(Arc::clone(&encoded));
        Ok(encoded)
    }
}

#[pymethods]
impl PyDataset {
    /// A data set that comes with fairfront.
    #[staticmethod]
    fn known(py: Python<'_>, name: &str) -> PyResult<Self> {
        let Some(known) = Known::named(name).map_err(Failure::from)? else {
            let message = format!("{name:?} is no known data set");
            return Err(PyValueError::new_err(message));
        };
        let prepared = outside(py, 0, || {
            Ok(Prepared::from_known(&known, &known.spec(), None)?)
        })?;
        Ok(Self {
            prepared,
            encoded: Mutex::default(),
        })
    }
}
